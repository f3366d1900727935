/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "net/addr.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff,
	0xff };
static const unsigned char nat64[12] = { 0, 0x64, 0xff, 0x9b };

/* IANA special-purpose registries, and what clouds use for metadata. */
static const struct {
	unsigned char net[4];
	unsigned bits;
} special4[] = {
	{ { 0, 0, 0, 0 }, 8 },
	{ { 10, 0, 0, 0 }, 8 },
	{ { 100, 64, 0, 0 }, 10 }, /* RFC 6598, and 100.100.100.200 */
	{ { 127, 0, 0, 0 }, 8 },
	{ { 168, 63, 129, 16 }, 32 }, /* Azure wire server */
	{ { 169, 254, 0, 0 }, 16 },
	{ { 172, 16, 0, 0 }, 12 },
	{ { 192, 0, 0, 0 }, 24 },
	{ { 192, 0, 2, 0 }, 24 },
	{ { 192, 88, 99, 0 }, 24 },
	{ { 192, 168, 0, 0 }, 16 },
	{ { 198, 18, 0, 0 }, 15 },
	{ { 198, 51, 100, 0 }, 24 },
	{ { 203, 0, 113, 0 }, 24 },
	{ { 224, 0, 0, 0 }, 4 },
	{ { 240, 0, 0, 0 }, 4 },
};

/* Parts of 2000::/3 that are not the world; the rest of IPv6 is refused. */
static const struct {
	unsigned char net[4];
	unsigned bits;
} special6[] = {
	{ { 0x20, 0x01, 0x00, 0x00 }, 23 }, /* IETF protocols, Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
	{ { 0x3f, 0xff, 0x00, 0x00 }, 20 }, /* documentation, RFC 9637 */
};

static bool
prefix_eq(const unsigned char *a, const unsigned char *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	unsigned mask = 0xffU << (8 - rest) & 0xffU;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || ((a[whole] ^ b[whole]) & mask) == 0;
}

/* The IPv4 address that ADDR carries; NULL when it carries none. */
static const unsigned char *
embedded4(const struct addr *addr)
{
	if (memcmp(addr->b, mapped, sizeof(mapped)) == 0 ||
		memcmp(addr->b, nat64, sizeof(nat64)) == 0)
		return addr->b + 12;
	if (addr->b[0] == 0x20 && addr->b[1] == 0x02)
		return addr->b + 2;
	return NULL;
}

static void
from4(struct addr *out, const void *v4)
{
	memcpy(out->b, mapped, sizeof(mapped));
	memcpy(out->b + 12, v4, 4);
}

bool
addr_of_sockaddr(const struct sockaddr *sa, struct addr *out)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	switch (sa->sa_family) {
	case AF_INET:
		memcpy(&in4, sa, sizeof(in4));
		from4(out, &in4.sin_addr);
		return true;
	case AF_INET6:
		memcpy(&in6, sa, sizeof(in6));
		memcpy(out->b, &in6.sin6_addr, sizeof(out->b));
		return true;
	default:
		return false;
	}
}

bool
addr_parse(const char *s, struct addr *out)
{
	unsigned char v4[4];

	if (inet_pton(AF_INET, s, v4) == 1) {
		from4(out, v4);
		return true;
	}
	return inet_pton(AF_INET6, s, out->b) == 1;
}

bool
addr_parse_cidr(const char *s, struct addr_cidr *out)
{
	const char *slash = strchr(s, '/');
	size_t len = slash != NULL ? (size_t)(slash - s) : strlen(s);
	char text[64];
	bool is_v4;
	unsigned bits = 0, i;
	const char *p;

	if (len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	if (!addr_parse(text, &out->net))
		return false;
	is_v4 = strchr(text, ':') == NULL;
	if (slash == NULL) {
		out->bits = 128;
		return true;
	}
	p = slash + 1;
	if (*p == '\0' || strlen(p) > 3)
		return false;
	for (; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return false;
		bits = bits * 10 + (unsigned)(*p - '0');
	}
	if (bits > (is_v4 ? 32U : 128U))
		return false;
	out->bits = is_v4 ? bits + 96 : bits;
	/* 10.1.2.3/8 is more likely a slip than a wish. */
	for (i = out->bits; i < 128; i++)
		if (out->net.b[i / 8] & (0x80U >> i % 8))
			return false;
	return true;
}

bool
addr_in(const struct addr *addr, const struct addr_cidr *c)
{
	const unsigned char *v4;
	struct addr carried;

	if (prefix_eq(addr->b, c->net.b, c->bits))
		return true;
	v4 = embedded4(addr);
	if (v4 == NULL)
		return false;
	from4(&carried, v4);
	return prefix_eq(carried.b, c->net.b, c->bits);
}

bool
addr_is_public(const struct addr *addr)
{
	const unsigned char *v4 = embedded4(addr);
	size_t i;

	if (v4 != NULL) {
		for (i = 0; i < NELEM(special4); i++)
			if (prefix_eq(v4, special4[i].net, special4[i].bits))
				return false;
		return true;
	}
	if ((addr->b[0] & 0xe0) != 0x20)
		return false;
	for (i = 0; i < NELEM(special6); i++)
		if (prefix_eq(addr->b, special6[i].net, special6[i].bits))
			return false;
	return true;
}

const char *
addr_list_parse(const char *const *text, size_t n, struct addr_list *out)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	out->cidr = calloc(n + 1, sizeof(*out->cidr));
	assert(out->cidr != NULL);
	for (i = 0; i < n; i++)
		if (!addr_parse_cidr(text[i], &out->cidr[i])) {
			addr_list_release(out);
			return text[i];
		}
	out->n = n;
	return NULL;
}

void
addr_list_release(struct addr_list *list)
{
	free(list->cidr);
	list->cidr = NULL;
	list->n = 0;
}

bool
addr_list_has(const struct addr_list *list, const struct addr *addr)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (addr_in(addr, &list->cidr[i]))
			return true;
	return false;
}
