/* SPDX-License-Identifier: ISC */
/*
 * reply: JSON-RPC 2.0 responses as compact text, member order jsonrpc, id,
 * then result or error.
 */
#ifndef RPC_REPLY_H
#define RPC_REPLY_H

struct buf;
struct msg;

enum reply_id {
	REPLY_ID_NULL, /* "id":null: the id could not be read */
	REPLY_ID_OMIT  /* 2025-11-25 schema: no id then */
};

/* RESULT is JSON text. */
void reply_result(struct buf *b, const struct msg *m, const char *result,
	size_t len);

/* DATA is JSON text or NULL; M has an id. */
void reply_error(struct buf *b, const struct msg *m, int code,
	const char *message, const char *data);

/* An error that belongs to no message, or to one without an id to echo. */
void reply_error_bare(struct buf *b, enum reply_id id, int code,
	const char *message, const char *data);

#endif
