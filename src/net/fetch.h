/* SPDX-License-Identifier: ISC */
/*
 * fetch: outbound HTTP.  The only libcurl user.
 *
 * Every connection is checked at the address really connected to (after DNS,
 * so rebinding does not help): private, loopback, link-local, multicast,
 * unspecified, metadata and IPv4-mapped forms of them are refused unless a
 * CIDR of the allow-list contains them.  No redirects, no proxy from the
 * environment (httpoxy), only http and https, TLS verified, capped in size
 * and time.
 */
#ifndef NET_FETCH_H
#define NET_FETCH_H

struct arena;
struct conf_list;
struct err;
struct fetch;

struct fetch_options {
	int64_t timeout_ms;
	int64_t max_bytes;
	const struct conf_list *allow; /* CIDRs, e.g. 127.0.0.0/8 */
};

struct fetch_request {
	const char *url;
	const char *bearer; /* NULL: none; never logged */
	const char *accept; /* NULL: application/json */
};

struct fetch_response {
	int status;
	const char *body; /* in the arena, NUL after body_len bytes */
	size_t body_len;
	const char *content_type; /* "" when absent */
};

/* Fails with ERR_INVALID for a bad CIDR.  Keeps connections open between
 * requests. */
MUST_CHECK int fetch_new(const struct fetch_options *options,
	struct fetch **out, struct err *e);
void fetch_free(struct fetch *f);

/*
 * GET.  Any HTTP status is a success here.  Fails with ERR_UNAVAILABLE,
 * ERR_TIMEOUT, ERR_LIMIT (size) or ERR_FORBIDDEN (address refused).
 */
MUST_CHECK int fetch_get(struct fetch *f, struct arena *a,
	const struct fetch_request *req, struct fetch_response *out,
	struct err *e);

#endif
