/* SPDX-License-Identifier: ISC */
/*
 * fetch: outbound HTTP, many requests at once.  The only libcurl user.
 *
 * Every request is checked at the address it is really sent to (after DNS, so
 * rebinding does not help; on connections in reuse, so one request's
 * permission is not another's; on every redirect): what net/addr does not
 * call public is refused unless a CIDR of the allow-lists contains it.  No
 * proxy from the environment (httpoxy), only http and https, no credentials
 * in URLs, TLS verified, no cookies; capped in size (after decompression,
 * whatever Content-Length says), headers, time and redirects.
 *
 * A request that could have had an effect is never sent twice: libcurl's own
 * second attempt, when a kept connection turns out to be dead, is stopped.
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
struct fetch_call;
struct pollfd;

struct fetch_options {
	int64_t timeout_ms;
	int64_t max_bytes;
	const struct conf_list
		*allow; /* CIDRs, e.g. 127.0.0.0/8; may be NULL */
};

struct fetch_header {
	const char *name;
	const char *value;
	bool is_secret; /* not sent to another origin, nor kept in memory */
};

/* Everything may be zero but the URL. */
struct fetch_request {
	const char *url;
	const char *bearer;	/* NULL: none; never logged */
	const char *accept;	/* NULL: application/json */
	const char *user_agent; /* NULL: ours; "": none */
	const char *method;	/* NULL: POST with a body, else GET */
	const struct fetch_header *header;
	size_t n_header;
	/* Added to the URL's query, percent-encoded; not after a redirect. */
	const struct fetch_header *query;
	size_t n_query;
	const void *body; /* NULL: none */
	size_t body_len;
	const char *content_type;      /* of the body; NULL: application/json */
	int64_t timeout_ms;	       /* all hops together; 0: the handle's */
	size_t max_bytes;	       /* 0: the handle's */
	const struct conf_list *allow; /* CIDRs besides the handle's */
	unsigned redirects_max;	       /* 0: a redirect is an answer */
	bool may_compress;
	bool may_cut; /* too much is cut (is_cut), not an error */
	/*
	 * Gets the body as it comes, instead of the response; STATUS is never
	 * that of a redirect followed.  False: enough, the answer is complete.
	 */
	bool (*on_data)(void *arg, int status, const char *p, size_t len);
	void *on_data_arg;
};

struct fetch_response {
	int status;
	const char *body; /* in the arena, NUL after body_len bytes */
	size_t body_len;
	const char *content_type; /* "" when absent */
	const char *authenticate; /* WWW-Authenticate, "" when absent */
	const struct fetch_header *header; /* of the last hop */
	size_t n_header;
	bool is_cut;
	/* The server may have seen the request; meaningful in failure too. */
	bool was_sent;
};

/* RES in the request's arena.  E is NULL, or says why there is no answer. */
typedef void (*fetch_done_fn)(
	void *arg, const struct fetch_response *res, const struct err *e);

/* Fails with ERR_INVALID for a bad CIDR.  Keeps connections open between
 * requests.  OPTIONS is copied. */
MUST_CHECK int fetch_new(
	const struct fetch_options *options, struct fetch **out, struct err *e);
void fetch_free(struct fetch *f); /* cancels what is under way */

/*
 * Begin a request, also from within DONE or on_data.  What REQ points to is
 * copied, but the body, which must last.  DONE is called once, from fetch_poll,
 * unless *CALL (may be NULL) is cancelled; the call is gone then.  A must last
 * until then.  Blocks never. Fails with ERR_INVALID (URL, header, CIDR),
 * ERR_INTERNAL.
 *
 * Any HTTP status is a success.  Errors of DONE: ERR_UNAVAILABLE,
 * ERR_TIMEOUT, ERR_LIMIT (size, redirects), ERR_FORBIDDEN (address refused,
 * redirect from https to http), ERR_INVALID (redirect to no URL).
 *
 * Redirects (RFC 9110 15.4): 303 becomes GET, 301 and 302 of POST too; 307
 * and 308 repeat the request.  Secret headers, the bearer and a body do not go
 * to another origin: there a request with a body, or one that may change
 * something, is not repeated, its redirect is the answer.
 */
MUST_CHECK int fetch_start(struct fetch *f, struct arena *a,
	const struct fetch_request *req, fetch_done_fn done, void *arg,
	struct fetch_call **call, struct err *e);
void fetch_cancel(struct fetch_call *call); /* NULL is fine */

/*
 * Send REQ, body included copied, and forget it: nobody waits for its answer,
 * which fetch_poll takes when it comes.  Fails as fetch_start.
 */
MUST_CHECK int fetch_forget(
	struct fetch *f, const struct fetch_request *req, struct err *e);

/*
 * Do what can be done; wait up to TIMEOUT_MS for more when nothing ended, or
 * until one of the N (at most FETCH_EXTRA_MAX) EXTRA is ready, whose revents
 * are set.  Fails with ERR_INTERNAL.
 */
enum { FETCH_EXTRA_MAX = 256 };
MUST_CHECK int fetch_poll(struct fetch *f, struct pollfd *extra, size_t n,
	int timeout_ms, struct err *e);
/* Requests under way. */
size_t fetch_pending(const struct fetch *f);

/* A header of RES by its name without case, NULL when absent. */
const char *fetch_header(const struct fetch_response *res, const char *name);

/* One request, waited for (others go on meanwhile): the same errors. */
MUST_CHECK int fetch_do(struct fetch *f, struct arena *a,
	const struct fetch_request *req, struct fetch_response *out,
	struct err *e);

/* GET, as REQ says otherwise. */
MUST_CHECK int fetch_get(struct fetch *f, struct arena *a,
	const struct fetch_request *req, struct fetch_response *out,
	struct err *e);

/* POST of JSON, otherwise the same.  For mcp-admin doctor. */
MUST_CHECK int fetch_post(struct fetch *f, struct arena *a,
	const struct fetch_request *req, const char *json,
	struct fetch_response *out, struct err *e);

#endif
