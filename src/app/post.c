/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/post.h"

#include "app/admit.h"
#include "app/app.h"
#include "app/turn.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "http/sse.h"
#include "mcp/lifecycle.h"
#include "mcp/method.h"
#include "rpc/reply.h"

/* In params._meta of every request from 2026-07-28 on. */
#define MODERN_KEY "io.modelcontextprotocol/protocolVersion"

/* With so much of a reply, or half of the memory gone, a batch has enough. */
#define BATCH_REPLY_ENOUGH ((size_t)4 << 20)
/* A run may take this much longer than execute_wall_ms. */
#define BATCH_MARGIN_MS 5000
#define BATCH_LEAST_MS	1000
#define BATCH_TOO_MUCH	(-32000)

/* The id could not be read: null before 2025-11-25, absent from then on. */
static bool
omits_id(const struct turn *t)
{
	enum revision r;

	return t->req.protocol_version != NULL &&
		revision_find(t->req.protocol_version, &r) &&
		REVISION_OMITS_ID(r);
}

/* Answer -32600 (or the like) for one message, HTTP 400. */
static int
fail_message(struct turn *t, const struct msg *m, const char *text)
{
	struct fault_answer answer = { .msg = m, .text = text,
		.omit_id = omits_id(t) };

	return turn_fail_with(t, FAULT_MESSAGE, &answer);
}

static int
check_media_types(struct turn *t)
{
	if (!req_is_type(t->req.content_type, "application/json"))
		return turn_fail(t, FAULT_CONTENT_TYPE);
	if (!req_accepts(t->req.accept, "application/json") &&
		!req_accepts(t->req.accept, "text/event-stream"))
		return turn_fail(t, FAULT_ACCEPT_POST);
	return 0;
}

static int
parse_body(struct turn *t)
{
	struct msg_limits limits = { (size_t)t->conf->json_depth,
		(size_t)t->conf->max_batch };
	struct fault_answer answer = { .omit_id = omits_id(t) };
	struct err e;

	err_clear(&e);
	if (msg_parse(&t->body, t->arena, t->req.body, t->req.body_len,
		    &limits, &e) != 0) {
		t->why = e.detail[0] == '\0' ? NULL :
					       arena_strdup(t->arena, e.detail);
		if (e.rpc_code == MSG_PARSE_ERROR)
			return turn_fail_with(t, FAULT_PARSE, &answer);
		answer.text = e.pub;
		return turn_fail_with(t, FAULT_MESSAGE, &answer);
	}
	if (!t->body.is_batch && t->body.msg->kind == MSG_INVALID &&
		t->body.msg->code == MSG_INVALID_REQUEST)
		return fail_message(t, t->body.msg, t->body.msg->why);
	return 0;
}

static struct method_caller
caller_of(const struct turn *t)
{
	struct method_caller c = {
		.arena = t->arena,
		.conf = t->conf,
		.db = t->app->db,
		.session_id = t->req.session_id,
		.revision = t->revision,
		.request_id = t->rid,
		.catalog_version = t->session.catalog_version,
		.listed_tools = t->session.listed_tools,
		.fetch = t->app->tool_fetch,
		.pool = t->app->pool,
		.check = t->app->check,
		.keys = t->app->keys,
		.listed = t->app->listed,
	};

	/* As ENTER resolved it: for an API token the row's principal. */
	c.caller.issuer = t->session.issuer;
	c.caller.account_id = t->session.account_id;
	c.caller.organization_id = t->session.organization_id;
	return c;
}

/*
 * Put the response to request or invalid message M into OUT.  -1 when the
 * whole HTTP request fails with it.
 */
static int
answer_message(struct turn *t, const struct msg *m, struct buf *out)
{
	struct method_caller c = caller_of(t);
	const char *data = NULL;
	struct buf result;
	struct err e;
	int code;

	if (m->kind == MSG_INVALID) {
		if (m->id != NULL)
			reply_error(out, m, m->code, m->why, NULL);
		else
			reply_error_bare(out, REPLY_ID_NULL, m->code, m->why,
				NULL);
		return 0;
	}
	err_clear(&e);
	buf_init(&result, t->arena);
	if (method_call(&c, m, &result, &e) == 0) {
		reply_result(out, m, result.data, result.len);
		return 0;
	}
	if (e.kind == ERR_UNAVAILABLE || e.kind == ERR_TIMEOUT)
		return turn_fail_err(t, FAULT_DOWN, &e);
	code = e.rpc_code;
	if (code == 0) {
		log_err(LOG_LEVEL_ERR, "method.failed", &e);
		code = MSG_INTERNAL_ERROR;
		data = arena_printf(t->arena, "{\"requestId\":\"%s\"}", t->rid);
	}
	reply_error(out, m, code, e.pub, data);
	return 0;
}

/* 202 without content type and bytes (T-08). */
static void
answer_accepted(struct turn *t)
{
	t->res.status = 202;
	t->event = "request.accepted";
}

static int
take_notification(struct turn *t, const struct msg *m)
{
	struct method_caller c = caller_of(t);
	struct err e;

	err_clear(&e);
	if (method_notify(&c, m, &e) != 0)
		return turn_fail_err(t, fault_of(&e), &e);
	return 0;
}

/* Also with params that are none: the answer is -32602, not "no session". */
static bool
is_initialize(const struct msg *m)
{
	return m->id != NULL && m->method != NULL &&
		strcmp(m->method, "initialize") == 0;
}

static int
handle_initialize(struct turn *t, const struct msg *m)
{
	struct method_caller c;
	char id[SESSION_ID_LEN + 1];
	struct buf result, out;
	struct err e;

	/*
	 * An old session id on it is ignored (T-26): the client begins anew
	 * after a 404.
	 */
	if (admit_enter(t, NULL) != 0)
		return -1;
	c = caller_of(t);
	err_clear(&e);
	buf_init(&result, t->arena);
	buf_init(&out, t->arena);
	if (m->kind == MSG_INVALID) {
		reply_error(&out, m, m->code, m->why, NULL);
		t->event = "session.refused";
	} else if (lifecycle_initialize(&c, m, id, &result, &e) == 0) {
		res_header(&t->res, "Mcp-Session-Id", id);
		log_context(t->rid, id, t->principal.account_id);
		reply_result(&out, m, result.data, result.len);
		t->event = "session.open";
	} else if (e.rpc_code != 0) {
		reply_error(&out, m, e.rpc_code, e.pub, NULL);
		t->event = "session.refused";
	} else {
		return turn_fail_err(t, fault_of(&e), &e);
	}
	turn_json(t, &out);
	return 0;
}

static int
handle_single(struct turn *t, const struct msg *m)
{
	struct buf out;

	switch (m->kind) {
	case MSG_NOTIFICATION:
		if (take_notification(t, m) != 0)
			return -1;
		answer_accepted(t);
		return 0;
	case MSG_RESPONSE:
		/* No request of ours is open: late ones are dropped (J-19). */
		answer_accepted(t);
		return 0;
	case MSG_INVALID:
		if (m->id == NULL)
			return fail_message(t, m, m->why);
		break;
	case MSG_REQUEST:
		break;
	}
	buf_init(&out, t->arena);
	if (answer_message(t, m, &out) != 0)
		return -1;
	turn_json(t, &out);
	t->event = "request.done";
	return 0;
}

/* What a batch may hold (J-09 to J-14). */
static int
check_batch(struct turn *t)
{
	bool has_call = false, has_response = false;
	const struct msg *m;
	size_t i;

	if (!REVISION_HAS_BATCH(t->revision))
		return fail_message(t, NULL,
			"Batches are not part of this protocol revision");
	for (i = 0; i < t->body.n; i++) {
		m = &t->body.msg[i];
		if (m->kind == MSG_REQUEST &&
			strcmp(m->method, "initialize") == 0)
			return fail_message(t, NULL,
				"initialize must not be in a batch");
		/* The revisions with this key have no batches (J-14). */
		if (cj_get(cj_get(m->params, "_meta"), MODERN_KEY) != NULL)
			return fail_message(t, NULL,
				"A request of this kind must not be in a "
				"batch");
		has_call = has_call || m->kind == MSG_REQUEST ||
			m->kind == MSG_NOTIFICATION;
		has_response = has_response || m->kind == MSG_RESPONSE;
	}
	if (has_call && has_response)
		return fail_message(t, NULL,
			"A batch must not mix requests and responses");
	return 0;
}

/* Replies as an array, or each as an event of its own (J-10, J-15). */
static void
put_reply(const struct turn *t, struct buf *out, const struct buf *reply)
{
	if (turn_wants_events(t)) {
		sse_message(out, NULL, reply->data, reply->len);
		return;
	}
	buf_putc(out, out->len == 0 ? '[' : ',');
	buf_put(out, reply->data, reply->len);
}

/*
 * Whether a batch that began at START_MS may go on to its next request: the
 * reply has to be complete before the front server gives up, and while there
 * is memory for it.
 */
static bool
has_budget(const struct turn *t, int64_t start_ms, size_t reply_len)
{
	int64_t budget_ms = t->conf->front_timeout_s * 1000 -
		t->conf->execute_wall_ms - BATCH_MARGIN_MS;

	if (budget_ms < BATCH_LEAST_MS)
		budget_ms = BATCH_LEAST_MS;
	return clock_mono_ms() - start_ms < budget_ms &&
		reply_len < BATCH_REPLY_ENOUGH &&
		arena_used(t->arena) < arena_left(t->arena);
}

static void
refuse_late(const struct msg *m, struct buf *out)
{
	reply_error(out, m, BATCH_TOO_MUCH,
		"Not started: this batch has used up its time or its memory; "
		"send this request again in another one",
		NULL);
}

static int
handle_batch(struct turn *t)
{
	int64_t start_ms = clock_mono_ms();
	const struct msg *m;
	struct buf out, reply;
	bool is_first = true;
	size_t i;

	if (check_batch(t) != 0)
		return -1;
	buf_init(&out, t->arena);
	buf_init(&reply, t->arena);
	for (i = 0; i < t->body.n; i++) {
		m = &t->body.msg[i];
		if (m->kind == MSG_RESPONSE)
			continue;
		if (m->kind == MSG_NOTIFICATION) {
			if (take_notification(t, m) != 0)
				return -1;
			continue;
		}
		buf_clear(&reply);
		if (m->kind == MSG_REQUEST && !is_first &&
			!has_budget(t, start_ms, out.len))
			refuse_late(m, &reply);
		else if (answer_message(t, m, &reply) != 0)
			return -1;
		is_first = false;
		put_reply(t, &out, &reply);
	}
	if (out.len == 0) {
		answer_accepted(t);
		return 0;
	}
	t->event = "request.done";
	if (turn_wants_events(t)) {
		res_body(&t->res, 200, "text/event-stream", out.data, out.len);
		return 0;
	}
	buf_putc(&out, ']');
	res_body(&t->res, 200, "application/json", out.data, out.len);
	return 0;
}

int
post_handle(struct turn *t)
{
	const struct msg *m;

	if (check_media_types(t) != 0 || parse_body(t) != 0)
		return -1;
	m = t->body.msg;
	if (!t->body.is_batch && is_initialize(m))
		return handle_initialize(t, m);
	if (admit_enter(t, t->req.session_id) != 0)
		return -1;
	if (t->req.session_id == NULL) {
		/* Nobody's revision is known, so the newest rules hold. */
		t->revision = REVISION_NEWEST;
		if (t->body.is_batch)
			return check_batch(t);
		return turn_fail_with(t, FAULT_SESSION_ABSENT,
			&(struct fault_answer){ .msg = m });
	}
	if (admit_version(t, t->body.is_batch ? NULL : m) != 0)
		return -1;
	return t->body.is_batch ? handle_batch(t) : handle_single(t, m);
}
