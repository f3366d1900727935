/* SPDX-License-Identifier: ISC */
/*
 * arena: memory that lives as long as one request.
 *
 * Nothing in an arena is freed singly; arena_reset frees it all and runs the
 * deferred functions, last registered first.  Allocation never returns NULL:
 * beyond the cap the process logs and exits, the process manager starts
 * another and PostgreSQL rolls back.  The caps on input make that unreachable
 * for a client.  With ARENA_DEBUG each allocation is its own malloc, so that
 * the sanitizers see what pools hide.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

struct arena;

/* CAP_BYTES: what one request may take at most.  Owned by the caller. */
struct arena *arena_new(size_t cap_bytes);
void arena_free(struct arena *a);

/* Run deferred functions, free everything but one block kept for reuse. */
void arena_reset(struct arena *a);

/* LEN bytes aligned for any type, not initialised; arena_zalloc: zeroed. */
void *arena_alloc(struct arena *a, size_t len) MALLOC_LIKE;
void *arena_zalloc(struct arena *a, size_t len) MALLOC_LIKE;
/* N * SIZE zeroed bytes; exits when the product overflows. */
void *arena_calloc(struct arena *a, size_t n, size_t size) MALLOC_LIKE;
char *arena_strdup(struct arena *a, const char *s) MALLOC_LIKE;
/* Copy of LEN bytes with a NUL after them. */
char *arena_memdup(struct arena *a, const void *p, size_t len) MALLOC_LIKE;
char *arena_printf(struct arena *a, const char *fmt, ...)
	MALLOC_LIKE PRINTF(2, 3);

/* Call FN(P) at reset.  For handles of other libraries (PGresult, cJSON). */
void arena_defer(struct arena *a, void (*fn)(void *), void *p);

/* Bytes handed out since the last reset. */
size_t arena_used(const struct arena *a);
/* Bytes that it still has. */
size_t arena_left(const struct arena *a);

#endif
