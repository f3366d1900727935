/* SPDX-License-Identifier: ISC */
/*
 * res: one HTTP response.  Status, headers and body are put together in the
 * request's arena and leave in one piece; a stream leaves bit by bit.
 */
#ifndef HTTP_RES_H
#define HTTP_RES_H

#include "base/buf.h"

struct arena;
struct fcgi;

struct res {
	int status;
	struct buf headers; /* "Name: value\r\n" ... */
	struct buf body;
	const char *content_type; /* NULL: none is sent (202, 204) */
};

void res_init(struct res *r, struct arena *a);

/* Start again from nothing, for an error after half an answer. */
void res_clear(struct res *r);

/* VALUE must not hold CR or LF: programmer's error, asserted. */
void res_header(struct res *r, const char *name, const char *value);

/* A whole answer of TYPE with the bytes of BODY. */
void res_body(struct res *r, int status, const char *type, const char *body,
	size_t len);

/*
 * Send it all.  A 202 or 204 has no content type and no bytes; a HEAD request
 * gets no body.  -1 when the peer has gone.
 */
MUST_CHECK int res_send(const struct res *r, struct fcgi *f, bool is_head);

/* Send the head of a stream: no Content-Length, flushed at once. */
MUST_CHECK int res_send_head(const struct res *r, struct fcgi *f);

#endif
