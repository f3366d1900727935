/* SPDX-License-Identifier: ISC */
/* confurl: the URLs, hosts, networks and connection strings of settings. */
#ifndef BASE_CONFURL_H
#define BASE_CONFURL_H

struct confurl {
	bool is_https;
	const char *authority; /* host[:port] within the text */
	size_t authority_len;
	size_t host_len; /* without the port; brackets included */
	const char *path; /* up to the end of the text; may be "" */
};

/* All: NULL when S is acceptable, else what is wrong with it. */

/*
 * An absolute https URL, or http on a loopback host (tests, demo), without
 * user, fragment, white space.
 */
const char *confurl_parse(const char *s, struct confurl *out);
/* host[:port], a bracketed IPv6 address included. */
const char *confurl_host(const char *s);
/* scheme://host[:port] and nothing after it. */
const char *confurl_origin(const char *s);
/* address/bits, of either family. */
const char *confurl_network(const char *s);
/* A conninfo string or URI of libpq that holds no password. */
const char *confurl_conninfo(const char *s);

#endif
