/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "rpc/reply.h"

#include "base/buf.h"
#include "rpc/msg.h"

static void
open_reply(struct buf *b, const struct msg *m)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_put(b, m->id, m->id_len);
}

static void
put_error(struct buf *b, int code, const char *message, const char *data)
{
	buf_printf(b, ",\"error\":{\"code\":%d,\"message\":", code);
	buf_jsons(b, message);
	if (data != NULL) {
		buf_puts(b, ",\"data\":");
		buf_puts(b, data);
	}
	buf_puts(b, "}}");
}

void
reply_result(struct buf *b, const struct msg *m, const char *result,
	size_t len)
{
	open_reply(b, m);
	buf_puts(b, ",\"result\":");
	buf_put(b, result, len);
	buf_putc(b, '}');
}

void
reply_error(struct buf *b, const struct msg *m, int code, const char *message,
	const char *data)
{
	open_reply(b, m);
	put_error(b, code, message, data);
}

void
reply_error_bare(struct buf *b, enum reply_id id, int code,
	const char *message, const char *data)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\"");
	if (id == REPLY_ID_NULL)
		buf_puts(b, ",\"id\":null");
	put_error(b, code, message, data);
}
