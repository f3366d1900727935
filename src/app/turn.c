/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/turn.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "http/sse.h"

void
turn_headers(struct turn *t)
{
	struct res *r = &t->res;
	bool is_preflight = t->req.method == REQ_OPTIONS;

	/* Also with a list of origins: no cookies, nothing to protect here. */
	res_header(r, "Access-Control-Allow-Origin", "*");
	res_header(r, "Access-Control-Expose-Headers",
		is_preflight ? "mcp-session-id" :
			       "mcp-session-id, www-authenticate");
	res_header(r, "Cache-Control", "no-store");
	res_header(r, "Vary", "authorization, origin");
	res_header(r, "X-Content-Type-Options", "nosniff");
	res_header(r, "X-Request-Id", t->rid);
}

int
turn_fail_with(struct turn *t, enum fault fault,
	const struct fault_answer *answer)
{
	res_clear(&t->res);
	turn_headers(t);
	fault_respond(&t->res, t->conf, fault, answer);
	t->event = "request.refused";
	if (t->why == NULL)
		t->why = fault_name(fault);
	return -1;
}

int
turn_fail(struct turn *t, enum fault fault)
{
	return turn_fail_with(t, fault, NULL);
}

int
turn_fail_err(struct turn *t, enum fault fault, const struct err *e)
{
	struct fault_answer answer = { .data = arena_printf(t->arena,
					       "{\"requestId\":\"%s\"}",
					       t->rid) };

	log_err(fault_status(fault) == 500 ? LOG_LEVEL_ERR : LOG_LEVEL_WARN,
		"request.failed", e);
	return turn_fail_with(t, fault, &answer);
}

bool
turn_wants_events(const struct turn *t)
{
	return !req_accepts(t->req.accept, "application/json");
}

void
turn_json(struct turn *t, const struct buf *json)
{
	struct buf b;

	if (!turn_wants_events(t)) {
		res_body(&t->res, 200, "application/json", json->data,
			json->len);
		return;
	}
	/* One event, then the end. */
	buf_init(&b, t->arena);
	sse_message(&b, NULL, json->data, json->len);
	res_body(&t->res, 200, "text/event-stream", b.data, b.len);
}
