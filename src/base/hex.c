/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/hex.h"

static const char B64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void
hex_encode(char *out, const void *p, size_t len)
{
	const unsigned char *in = p;
	size_t i;

	for (i = 0; i < len; i++) {
		*out++ = "0123456789abcdef"[in[i] >> 4];
		*out++ = "0123456789abcdef"[in[i] & 15];
	}
	*out = '\0';
}

int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
hex_is_lower(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!((s[i] >= '0' && s[i] <= '9') ||
			(s[i] >= 'a' && s[i] <= 'f')))
			return false;
	return s[len] == '\0';
}

static int
b64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

ssize_t
hex_b64url_decode(void *out, const char *s, size_t len)
{
	unsigned char *o = out;
	uint32_t bits = 0;
	unsigned n_bits = 0;
	size_t i;

	if (len % 4 == 1)
		return -1;
	for (i = 0; i < len; i++) {
		int v = b64_value(s[i]);

		if (v < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			*o++ = (unsigned char)(bits >> n_bits);
			bits &= (1u << n_bits) - 1;
		}
	}
	/* RFC 4648 3.5: two spellings of one value are an attack surface. */
	if (bits != 0)
		return -1;
	return o - (unsigned char *)out;
}

void
hex_b64url_encode(char *out, const void *p, size_t len)
{
	const unsigned char *in = p;
	uint32_t bits = 0;
	unsigned n_bits = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		bits = bits << 8 | in[i];
		n_bits += 8;
		while (n_bits >= 6) {
			n_bits -= 6;
			*out++ = B64[bits >> n_bits & 63];
		}
		bits &= (1u << n_bits) - 1;
	}
	if (n_bits > 0)
		*out++ = B64[bits << (6 - n_bits) & 63];
	*out = '\0';
}
