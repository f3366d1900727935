/* SPDX-License-Identifier: ISC */
/*
 * sse: the text/event-stream format (WHATWG HTML 9.2.5), as bytes in a buf.
 */
#ifndef HTTP_SSE_H
#define HTTP_SSE_H

struct buf;

/* A comment line and an empty one: keeps a quiet stream alive. */
void sse_comment(struct buf *b, const char *text);

/* Tell the client to reconnect after RETRY_MS. */
void sse_retry(struct buf *b, int64_t retry_ms);

/*
 * One message: compact JSON without raw line breaks (asserted), as the data
 * of one event.  ID NULL: no id line.
 */
void sse_message(struct buf *b, const char *id, const char *json, size_t len);

#endif
