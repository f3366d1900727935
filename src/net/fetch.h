/* SPDX-License-Identifier: ISC */
/*
 * fetch: outbound HTTP.  The only libcurl user.
 *
 * Every connection is checked at the address really connected to (after DNS,
 * so rebinding does not help): what net/addr does not call public is refused
 * unless a CIDR of the allow-list contains it.  No redirects, no proxy from
 * the environment (httpoxy), only http and https, no credentials in URLs, TLS
 * verified, no compression, capped in size (as received, whatever
 * Content-Length says) and time.
 *
 * A handle belongs to the process that made it: make it after fork.  The
 * process ignores SIGPIPE.
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
	const struct conf_list
		*allow; /* CIDRs, e.g. 127.0.0.0/8; may be NULL */
};

struct fetch_request {
	const char *url;
	const char *bearer; /* NULL: none; never logged */
	const char *accept; /* NULL: application/json */
	const char *user_agent; /* NULL: ours; "": none */
};

struct fetch_response {
	int status;
	const char *body; /* in the arena, NUL after body_len bytes */
	size_t body_len;
	const char *content_type; /* "" when absent */
	const char *authenticate; /* WWW-Authenticate, "" when absent */
};

/* Fails with ERR_INVALID for a bad CIDR.  Keeps connections open between
 * requests.  OPTIONS is copied. */
MUST_CHECK int fetch_new(
	const struct fetch_options *options, struct fetch **out, struct err *e);
void fetch_free(struct fetch *f);

/*
 * GET.  Any HTTP status is a success here, redirects too.  Blocks up to
 * timeout_ms.  Fails with ERR_UNAVAILABLE, ERR_TIMEOUT, ERR_LIMIT (size),
 * ERR_FORBIDDEN (address refused) or ERR_INVALID (URL).
 */
MUST_CHECK int fetch_get(struct fetch *f, struct arena *a,
	const struct fetch_request *req, struct fetch_response *out,
	struct err *e);

/* POST of JSON, otherwise the same.  For mcp-admin doctor. */
MUST_CHECK int fetch_post(struct fetch *f, struct arena *a,
	const struct fetch_request *req, const char *json,
	struct fetch_response *out, struct err *e);

#endif
