/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/mem.h"

#include "base/log.h"

static void *
given(void *p)
{
	if (p == NULL) {
		log_event(LOG_LEVEL_ERR, "mem.exhausted", NULL);
		exit(EXIT_FAILURE);
	}
	return p;
}

void *
mem_zalloc(size_t n, size_t size)
{
	return given(calloc(n, size));
}

void *
mem_grow(void *p, size_t n, size_t size)
{
	size_t bytes;

	/* Looked at here: the sanitizers take the product for a fault. */
	return given(__builtin_mul_overflow(n, size, &bytes) ?
			NULL :
			realloc(p, bytes));
}

char *
mem_dup(const void *p, size_t len)
{
	char *copy = mem_zalloc(len + 1, 1);

	if (len > 0)
		memcpy(copy, p, len);
	return copy;
}

char *
mem_strdup(const char *s)
{
	return mem_dup(s, strlen(s));
}
