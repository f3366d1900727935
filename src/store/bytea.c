/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/bytea.h"

#include "base/arena.h"
#include "base/hex.h"

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
	if (n % 2 != 0 || !hex_is_lower(text, n))
		return NULL;
	out = arena_alloc(a, n / 2 + 1);
	for (i = 0; i < n; i += 2)
		out[i / 2] = (unsigned char)(hex_digit(text[i]) << 4 |
			hex_digit(text[i + 1]));
	*len = n / 2;
	return out;
}
