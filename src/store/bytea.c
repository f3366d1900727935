/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/bytea.h"

#include "base/arena.h"

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

unsigned char *
bytea_parse(struct arena *a, const char *text, size_t *len)
{
	unsigned char *out;
	size_t i, n;

	*len = 0;
	if (text == NULL || text[0] != '\\' || text[1] != 'x')
		return NULL;
	text += 2;
	n = strlen(text);
	if (n % 2 != 0)
		return NULL;
	out = arena_alloc(a, n / 2 + 1);
	for (i = 0; i < n; i += 2) {
		int hi = digit(text[i]), lo = digit(text[i + 1]);

		if (hi < 0 || lo < 0)
			return NULL;
		out[i / 2] = (unsigned char)(hi << 4 | lo);
	}
	*len = n / 2;
	return out;
}
