/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/arena.h"

#include "base/log.h"

enum { BLOCK_BYTES = 65536 };

struct block {
	struct block *next;
	size_t cap;
	size_t used;
	max_align_t data[];
};

struct defer {
	struct defer *next;
	void (*fn)(void *);
	void *p;
};

struct arena {
	struct block *head; /* the block that allocations come from */
	struct defer *defer;
	size_t cap;
	size_t used;
};

static NORETURN void
exhausted(size_t len)
{
	log_event(LOG_LEVEL_ERR, "arena.exhausted", "bytes",
		log_num((long long)len), NULL);
	exit(EXIT_FAILURE);
}

static struct block *
block_new(size_t len)
{
	struct block *b;
	size_t bytes;

	if (__builtin_add_overflow(len, sizeof(*b), &bytes))
		exhausted(len);
	b = malloc(bytes);
	if (b == NULL)
		exhausted(len);
	b->next = NULL;
	b->cap = len;
	b->used = 0;
	return b;
}

struct arena *
arena_new(size_t cap_bytes)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (a == NULL)
		exhausted(sizeof(*a));
	a->cap = cap_bytes;
	return a;
}

static void
free_blocks(struct arena *a, bool is_one_kept)
{
	struct block *b = a->head;
	struct block *kept = NULL;

	while (b != NULL) {
		struct block *next = b->next;

		if (is_one_kept && kept == NULL && b->cap == BLOCK_BYTES)
			kept = b;
		else
			free(b);
		b = next;
	}
	if (kept != NULL) {
		kept->next = NULL;
		kept->used = 0;
	}
	a->head = kept;
}

static void
run_deferred(struct arena *a)
{
	while (a->defer != NULL) {
		struct defer *d = a->defer;

		/* D itself is arena memory: nothing to free here. */
		a->defer = d->next;
		d->fn(d->p);
	}
}

void
arena_reset(struct arena *a)
{
	run_deferred(a);
#ifdef ARENA_DEBUG
	free_blocks(a, false);
#else
	free_blocks(a, true);
#endif
	a->used = 0;
}

void
arena_free(struct arena *a)
{
	if (a == NULL)
		return;
	run_deferred(a);
	free_blocks(a, false);
	free(a);
}

void *
arena_alloc(struct arena *a, size_t len)
{
	const size_t align = _Alignof(max_align_t);
	struct block *b;
	size_t room;
	void *p;

	if (len > a->cap - a->used)
		exhausted(len);
	a->used += len;
#ifdef ARENA_DEBUG
	/* Exactly LEN bytes, so that the byte after them is out of bounds. */
	(void)align;
	(void)room;
	b = block_new(len);
	b->next = a->head;
	a->head = b;
	p = b->data;
#else
	if (__builtin_add_overflow(len, align - 1, &room))
		exhausted(len);
	room -= room % align;
	b = a->head;
	if (b == NULL || room > b->cap - b->used) {
		b = block_new(room > BLOCK_BYTES / 4 ? room : BLOCK_BYTES);
		if (b->cap != BLOCK_BYTES && a->head != NULL) {
			/* A large one goes behind: the head still has room. */
			b->next = a->head->next;
			a->head->next = b;
		} else {
			b->next = a->head;
			a->head = b;
		}
	}
	p = (char *)b->data + b->used;
	b->used += room;
#endif
	return p;
}

void *
arena_zalloc(struct arena *a, size_t len)
{
	return memset(arena_alloc(a, len), 0, len);
}

void *
arena_calloc(struct arena *a, size_t n, size_t size)
{
	size_t len;

	if (__builtin_mul_overflow(n, size, &len))
		exhausted(SIZE_MAX);
	return arena_zalloc(a, len);
}

char *
arena_memdup(struct arena *a, const void *p, size_t len)
{
	size_t room;
	char *copy;

	if (__builtin_add_overflow(len, 1, &room))
		exhausted(len);
	copy = arena_alloc(a, room);
	if (len > 0)
		memcpy(copy, p, len);
	copy[len] = '\0';
	return copy;
}

char *
arena_strdup(struct arena *a, const char *s)
{
	return arena_memdup(a, s, strlen(s));
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		exhausted(0);
	s = arena_alloc(a, (size_t)len + 1);
	(void)vsnprintf(s, (size_t)len + 1, fmt, again);
	va_end(again);
	return s;
}

void
arena_defer(struct arena *a, void (*fn)(void *), void *p)
{
	struct defer *d = arena_alloc(a, sizeof(*d));

	d->fn = fn;
	d->p = p;
	d->next = a->defer;
	a->defer = d;
}

size_t
arena_used(const struct arena *a)
{
	return a->used;
}

size_t
arena_left(const struct arena *a)
{
	return a->cap - a->used;
}
