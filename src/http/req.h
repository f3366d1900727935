/* SPDX-License-Identifier: ISC */
/*
 * req: one HTTP request, from CGI variables to typed fields (RFC 3875 4.1).
 * Everything the endpoint reads of a request is read here and nowhere else.
 *
 * Header values are trimmed of blanks.  A header sent twice arrives joined
 * by ", " (all supported front servers do that) and then fails its check.
 */
#ifndef HTTP_REQ_H
#define HTTP_REQ_H

struct arena;
struct err;

enum req_method {
	REQ_GET = 1,
	REQ_HEAD = 2,
	REQ_POST = 4,
	REQ_DELETE = 8,
	REQ_OPTIONS = 16,
	REQ_OTHER = 32
};

struct req {
	enum req_method method;
	const char *path; /* of REQUEST_URI: query cut off, not decoded */
	const char *host;   /* these are NULL when the header is absent */
	const char *origin;
	const char *authorization;
	const char *content_type;
	const char *accept;
	const char *session_id;	      /* Mcp-Session-Id */
	const char *protocol_version; /* MCP-Protocol-Version */
	const char *last_event_id;
	size_t header_bytes; /* names and values of all headers together */
	int64_t content_length; /* -1: not given */
	const char *body; /* NUL after body_len bytes; "" before req_read */
	size_t body_len;
};

/*
 * Parse ENVP ("NAME=value", NULL at the end; all of it belongs to the
 * request).  R and its strings live in A.  Fails with ERR_INVALID for a
 * request that no front server should have let through.
 */
MUST_CHECK int req_parse(struct req *r, struct arena *a,
	const char *const *envp, struct err *e);

/*
 * Read the body through READ (returns bytes, 0 at the end, -1 on failure), at
 * most MAX bytes.  Fails with ERR_LIMIT when there is more, ERR_INVALID when
 * less came than announced.
 */
typedef ssize_t req_read_fn(void *arg, void *p, size_t len);
MUST_CHECK int req_read(struct req *r, struct arena *a, size_t max,
	req_read_fn *read_fn, void *arg, struct err *e);

/*
 * Whether the media type of VALUE ("application/json; charset=utf-8") is
 * TYPE, without regard to case (RFC 9110 8.3.1).
 */
bool req_is_type(const char *value, const char *type);

/*
 * Whether ACCEPT admits TYPE ("application/json"): exact, type wildcard or
 * full wildcard with a weight above 0, the most specific range deciding
 * (RFC 9110 12.5.1).  An absent header admits everything.
 */
bool req_accepts(const char *accept, const char *type);

#endif
