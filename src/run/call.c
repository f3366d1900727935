/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/call.h"

#include "base/buf.h"

void
call_fail(struct call_answer *answer, struct arena *a,
	enum call_status status, const struct call_fault *fault)
{
	struct buf b;

	buf_init(&b, a);
	buf_puts(&b, "{\"code\":");
	buf_jsons(&b, fault->code);
	buf_puts(&b, ",\"message\":");
	buf_jsons(&b, fault->message);
	buf_printf(&b, ",\"retryable\":%s",
		fault->is_retryable ? "true" : "false");
	if (fault->http_status > 0)
		buf_printf(&b, ",\"status\":%" PRId64, fault->http_status);
	if (fault->details != NULL)
		buf_printf(&b, ",\"details\":%s", fault->details);
	buf_putc(&b, '}');
	*answer = (struct call_answer){ .status = status, .json = b.data,
		.len = b.len };
}

void
call_succeed(struct call_answer *answer, const char *json, size_t len)
{
	*answer = (struct call_answer){ .status = CALL_OK, .json = json,
		.len = len };
}
