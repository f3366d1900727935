/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "http/sse.h"

#include "base/buf.h"

void
sse_comment(struct buf *b, const char *text)
{
	buf_printf(b, ": %s\n\n", text);
}

void
sse_retry(struct buf *b, int64_t retry_ms)
{
	/* A block with no data dispatches no event; the hint is kept. */
	buf_printf(b, "retry: %" PRId64 "\n\n", retry_ms);
}

void
sse_message(struct buf *b, const char *id, const char *json, size_t len)
{
	assert(memchr(json, '\n', len) == NULL);
	assert(memchr(json, '\r', len) == NULL);
	if (id != NULL)
		buf_printf(b, "id: %s\n", id);
	buf_puts(b, "event: message\ndata: ");
	buf_put(b, json, len);
	buf_puts(b, "\n\n");
}
