/* SPDX-License-Identifier: ISC */
/*
 * addr: which addresses an outbound connection may go to.
 *
 * Public means: of the world at large.  Private, loopback, link-local, shared,
 * multicast, documentation, reserved and cloud metadata addresses are not,
 * and neither are the IPv6 forms that carry one of them (v4-mapped, NAT64,
 * 6to4).  Pure functions, no name is resolved here.
 */
#ifndef NET_ADDR_H
#define NET_ADDR_H

struct sockaddr;

/* 16 bytes always: IPv4 as ::ffff:a.b.c.d. */
struct addr {
	unsigned char b[16];
};

struct addr_cidr {
	struct addr net;
	unsigned bits; /* of 128 */
};

/* False for another family than IPv4 and IPv6. */
bool addr_of_sockaddr(const struct sockaddr *sa, struct addr *out);
/* A literal of either family, no zone. */
bool addr_parse(const char *s, struct addr *out);
/* ADDRESS or ADDRESS/BITS; bits below the mask must be zero. */
bool addr_parse_cidr(const char *s, struct addr_cidr *out);

/* Also true when ADDR carries (NAT64, 6to4) an IPv4 address in C. */
bool addr_in(const struct addr *addr, const struct addr_cidr *c);
bool addr_is_public(const struct addr *addr);

struct addr_list {
	struct addr_cidr *cidr;
	size_t n;
};

/* NULL, or the one of the N texts that is no CIDR; OUT is then empty. */
const char *addr_list_parse(
	const char *const *text, size_t n, struct addr_list *out);
void addr_list_release(struct addr_list *list);
bool addr_list_has(const struct addr_list *list, const struct addr *addr);

#endif
