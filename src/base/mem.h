/* SPDX-License-Identifier: ISC */
/*
 * mem: memory for what outlives a request, given back with free(3).  Never
 * NULL: like an arena beyond its cap, a process without memory logs and
 * exits, and the process manager starts another.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

/* N * SIZE zeroed bytes. */
void *mem_zalloc(size_t n, size_t size) MALLOC_LIKE;
/* Copy of LEN bytes with a NUL after them; of a string. */
char *mem_dup(const void *p, size_t len) MALLOC_LIKE;
char *mem_strdup(const char *s) MALLOC_LIKE;
/* P (may be NULL) with room for N * SIZE bytes; the old ones are kept. */
MUST_CHECK void *mem_grow(void *p, size_t n, size_t size);

#endif
