/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/pipeline.h"

#include "app/app.h"
#include "app/fault.h"
#include "app/hold.h"
#include "auth/bearer.h"
#include "auth/membership.h"
#include "auth/metadata.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/rnd.h"
#include "http/fcgi.h"
#include "http/req.h"
#include "http/res.h"
#include "http/route.h"
#include "http/sse.h"
#include "mcp/lifecycle.h"
#include "mcp/method.h"
#include "rpc/msg.h"
#include "rpc/reply.h"
#include "store/db.h"
#include "store/session.h"

/* In params._meta of every request from 2026-07-28 on. */
#define MODERN_KEY "io.modelcontextprotocol/protocolVersion"

/* One turn: a request on its way to its answer. */
struct turn {
	struct app *app;
	const struct conf *conf;
	struct arena *arena;
	char rid[17]; /* request id: 8 random bytes in hex */
	const char *event; /* what the log line at the end is about */
	const char *why;   /* a word for it, or NULL */
	struct req req;
	struct res res;
	struct principal principal;
	struct msg_body body;
	struct session_caller caller;
	struct session session;
	enum revision revision;
	bool is_document; /* discovery metadata, for everybody */
	bool is_stream;	  /* the answer has left already */
};

/* --- answers ------------------------------------------------------------ */

/*
 * BEHAVIOUR 9: on every response, errors included, for browsers.  The
 * preflight alone keeps the exact value of BEHAVIOUR 1.
 */
static void
common_headers(struct turn *t)
{
	struct res *r = &t->res;
	bool is_preflight = t->req.method == REQ_OPTIONS;
	const struct conf_list *origins = &t->conf->allowed_origins;

	if (t->is_document ||
		(origins->n == 1 && strcmp(origins->item[0], "*") == 0))
		res_header(r, "Access-Control-Allow-Origin", "*");
	else if (t->req.origin != NULL && strpbrk(t->req.origin, "\r\n") == NULL)
		res_header(r, "Access-Control-Allow-Origin", t->req.origin);
	res_header(r, "Access-Control-Expose-Headers",
		is_preflight ? "mcp-session-id" :
			       "mcp-session-id, www-authenticate");
	res_header(r, "Cache-Control", "no-store");
	res_header(r, "Vary", "authorization, origin");
	res_header(r, "X-Content-Type-Options", "nosniff");
	res_header(r, "X-Request-Id", t->rid);
}

/* The id could not be read: null before 2025-11-25, absent from then on. */
static bool
omits_id(const struct turn *t)
{
	return t->req.protocol_version != NULL &&
		strcmp(t->req.protocol_version, "2025-11-25") == 0;
}

/* Answer with FAULT; returns -1, so that steps can say return fail(...). */
static int
fail_with(struct turn *t, enum fault fault, const struct fault_answer *answer)
{
	res_clear(&t->res);
	common_headers(t);
	fault_respond(&t->res, t->conf, fault, answer);
	t->event = "request.refused";
	if (t->why == NULL)
		t->why = fault_name(fault);
	return -1;
}

static int
fail(struct turn *t, enum fault fault)
{
	return fail_with(t, fault, NULL);
}

/* A failure that ends here: the log has the details, the client the rest. */
static int
fail_err(struct turn *t, enum fault fault, const struct err *e)
{
	struct fault_answer answer = { .data = arena_printf(t->arena,
					       "{\"requestId\":\"%s\"}",
					       t->rid) };

	log_err(fault_status(fault) == 500 ? LOG_LEVEL_ERR : LOG_LEVEL_WARN,
		"request.failed", e);
	return fail_with(t, fault, &answer);
}

/* Whether the client takes nothing but an event stream (B-21). */
static bool
wants_events(const struct turn *t)
{
	return !req_accepts(t->req.accept, "application/json");
}

static void
answer_json(struct turn *t, const struct buf *json)
{
	struct buf b;

	if (!wants_events(t)) {
		res_body(&t->res, 200, "application/json", json->data,
			json->len);
		return;
	}
	/* One event, then the end. */
	buf_init(&b, t->arena);
	sse_message(&b, NULL, json->data, json->len);
	res_body(&t->res, 200, "text/event-stream", b.data, b.len);
}

/* --- steps that need no identity ---------------------------------------- */

static bool
in_list(const struct conf_list *list, const char *s)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcasecmp(list->item[i], s) == 0)
			return true;
	return false;
}

/*
 * A list entry without a port stands for every port: the port that a front
 * server listens on is not this program's business.
 */
static bool
is_host_allowed(const struct turn *t, const char *host)
{
	const char *colon = strrchr(host, ':');
	const char *bracket = strrchr(host, ']');
	char *name;

	if (in_list(&t->conf->allowed_hosts, "*") ||
		in_list(&t->conf->allowed_hosts, host))
		return true;
	if (colon == NULL || (bracket != NULL && colon < bracket))
		return false;
	name = arena_memdup(t->arena, host, (size_t)(colon - host));
	return in_list(&t->conf->allowed_hosts, name);
}

static bool
is_origin_allowed(const struct turn *t, const char *origin)
{
	if (in_list(&t->conf->allowed_origins, "*"))
		return true;
	return in_list(&t->conf->allowed_origins, origin);
}

/*
 * DNS rebinding (MCP "Security Warning" of the transport; T-02, T-03).  The
 * metadata is for every origin: a browser client reads it before it is let in
 * (X-29).
 */
static int
check_host_and_origin(struct turn *t)
{
	if (t->req.host != NULL && !is_host_allowed(t, t->req.host))
		return fail(t, FAULT_HOST);
	if (!t->is_document && t->req.origin != NULL &&
		!is_origin_allowed(t, t->req.origin))
		return fail(t, FAULT_ORIGIN);
	return 0;
}

static int
read_request(struct turn *t)
{
	struct err e;

	if (t->req.header_bytes > (size_t)t->conf->max_header_bytes)
		return fail(t, FAULT_HEADERS);
	if (t->req.method != REQ_POST)
		return 0;
	err_clear(&e);
	if (req_read(&t->req, t->arena, (size_t)t->conf->max_body_bytes,
		    fcgi_read, t->app->fcgi, &e) == 0)
		return 0;
	return fail(t, e.kind == ERR_LIMIT ? FAULT_BODY : FAULT_REQUEST);
}

static void
answer_preflight(struct turn *t, const struct route *route)
{
	t->res.status = 204;
	res_header(&t->res, "Access-Control-Allow-Methods",
		"GET, POST, DELETE, OPTIONS");
	res_header(&t->res, "Access-Control-Allow-Headers",
		"authorization, content-type, mcp-session-id, accept, "
		"mcp-protocol-version, last-event-id, mcp-method, mcp-name");
	res_header(&t->res, "Access-Control-Max-Age", "600");
	t->event = "request.preflight";
}

static void
put_list(struct buf *b, const struct conf_list *list)
{
	size_t i;

	buf_putc(b, '[');
	for (i = 0; i < list->n; i++) {
		if (i > 0)
			buf_putc(b, ',');
		buf_jsons(b, list->item[i]);
	}
	buf_putc(b, ']');
}

static void
answer_resource_metadata(struct turn *t)
{
	struct buf b;

	buf_init(&b, t->arena);
	buf_puts(&b, "{\"resource\":");
	buf_jsons(&b, t->conf->resource_url);
	buf_puts(&b, ",\"authorization_servers\":[");
	if (t->conf->issuer[0] != '\0')
		buf_jsons(&b, t->conf->issuer);
	buf_puts(&b, "],\"bearer_methods_supported\":[\"header\"],"
		     "\"scopes_supported\":");
	put_list(&b, &t->conf->scopes_supported);
	buf_putc(&b, '}');
	res_body(&t->res, 200, "application/json", b.data, b.len);
	t->event = "request.metadata";
}

static int
answer_issuer_metadata(struct turn *t)
{
	const char *document;
	struct err e;
	size_t len;

	err_clear(&e);
	if (metadata_get(t->conf, t->app->fetch, t->app->db, t->arena,
		    &document, &len, &e) != 0)
		return fail_err(t, FAULT_UPSTREAM, &e);
	res_body(&t->res, 200, "application/json", document, len);
	t->event = "request.metadata";
	return 0;
}

/* --- identity ------------------------------------------------------------ */

static int
check_bearer(struct turn *t)
{
	enum bearer_outcome outcome;
	struct err e;

	err_clear(&e);
	if (bearer_check(t->app->bearer, t->app->db, t->arena,
		    t->req.authorization, &outcome, &t->principal, &t->why,
		    &e) != 0)
		return fail_err(t, FAULT_AUTH_DOWN, &e);
	switch (outcome) {
	case BEARER_OK:
		t->why = NULL;
		log_context(t->rid, t->req.session_id,
			t->principal.account_id);
		return 0;
	case BEARER_ABSENT:
		/*
		 * Apache passes the header on only with CGIPassAuth On: the
		 * most frequent fault of an installation (B-32).
		 */
		if (t->req.authorization == NULL)
			t->why = "header absent: check CGIPassAuth";
		return fail(t, FAULT_TOKEN_ABSENT);
	case BEARER_EXPIRED:
		return fail(t, FAULT_TOKEN_EXPIRED);
	case BEARER_INVALID:
		break;
	}
	return fail(t, FAULT_TOKEN_INVALID);
}

/*
 * ENTER once more after a serialization failure or deadlock (40001, 40P01):
 * nothing has happened then.
 */
static int
enter_row(struct turn *t, const char *id, enum session_membership member,
	enum session_outcome *outcome, struct err *e)
{
	int rc = session_enter(t->app->db, t->arena, id, &t->caller, member,
		outcome, &t->session, e);

	if (rc != 0 && db_is_retryable(t->app->db)) {
		err_clear(e);
		rc = session_enter(t->app->db, t->arena, id, &t->caller,
			member, outcome, &t->session, e);
	}
	return rc;
}

static int
ask_membership(struct turn *t, enum session_membership *member)
{
	static const enum session_membership MEMBER[] = {
		[MEMBERSHIP_SQL] = SESSION_MEMBER_SQL,
		[MEMBERSHIP_YES] = SESSION_MEMBER_YES,
		[MEMBERSHIP_NO] = SESSION_MEMBER_NO,
	};
	enum membership_answer answer;
	struct err e;

	err_clear(&e);
	if (membership_ask(t->conf, t->app->fetch, t->arena,
		    t->principal.account_id, t->principal.organization_id,
		    &answer, &e) != 0)
		return fail_err(t, FAULT_AUTH_DOWN, &e);
	*member = MEMBER[answer];
	return 0;
}

/*
 * ENTER: membership, owner, session, in one round trip.  ID NULL: no session
 * is meant.
 */
static int
enter(struct turn *t, const char *id)
{
	enum session_membership member = SESSION_MEMBER_NO;
	enum session_outcome outcome;
	bool is_known_form = id == NULL || hex_is_lower(id, SESSION_ID_LEN);
	struct err e;

	if (t->principal.organization_id == NULL)
		return fail(t, FAULT_NO_ORGANIZATION);
	t->caller.issuer = t->principal.issuer;
	t->caller.account_id = t->principal.account_id;
	t->caller.organization_id = t->principal.organization_id;
	t->caller.token_sha256 = t->principal.token_sha256;
	if (ask_membership(t, &member) != 0)
		return -1;

	err_clear(&e);
	/* A malformed id is asked for too: membership comes before it. */
	if (enter_row(t, is_known_form ? id : NULL, member, &outcome, &e) != 0)
		return fail_err(t, fault_of(&e), &e);
	switch (outcome) {
	case SESSION_OK:
		break;
	case SESSION_BAD_TOKEN:
		bearer_forget(t->app->bearer, t->principal.token_sha256);
		return fail(t, FAULT_TOKEN_INVALID);
	case SESSION_EXPIRED_TOKEN:
		bearer_forget(t->app->bearer, t->principal.token_sha256);
		return fail(t, FAULT_TOKEN_EXPIRED);
	case SESSION_NOT_MEMBER:
		return fail(t, FAULT_NO_ORGANIZATION);
	case SESSION_NONE:
		t->why = t->session.end_reason;
		return fail(t, FAULT_SESSION_GONE);
	case SESSION_FOREIGN:
		return fail(t, FAULT_SESSION_FOREIGN);
	case SESSION_OUTCOME__MAX:
		break;
	}
	if (!is_known_form)
		return fail(t, FAULT_SESSION_GONE);
	if (id == NULL)
		return 0;
	res_header(&t->res, "Mcp-Session-Id", id);
	if (!revision_find(t->session.protocol_version, &t->revision))
		t->revision = REVISION_NEWEST;
	return 0;
}

/* --- protocol ------------------------------------------------------------- */

/*
 * MCP-Protocol-Version: an unknown one is refused; a known one that differs
 * from the negotiated one only SHOULD not happen, the session's counts (N-06,
 * N-08).
 */
static int
check_version(struct turn *t, const struct msg *m)
{
	struct fault_answer answer = { .msg = m };
	enum revision r;
	struct buf data;

	if (t->req.protocol_version == NULL ||
		revision_find(t->req.protocol_version, &r))
		return 0;
	buf_init(&data, t->arena);
	buf_printf(&data, "{\"supported\":%s,\"requested\":",
		revision_list_json());
	buf_json(&data, t->req.protocol_version,
		buf_utf8_prefix(t->req.protocol_version,
			strlen(t->req.protocol_version), 64));
	buf_putc(&data, '}');
	answer.data = data.data;
	return fail_with(t, FAULT_VERSION, &answer);
}

/* Answer -32600 (or the like) for one message, HTTP 400. */
static int
fail_message(struct turn *t, const struct msg *m, const char *text)
{
	struct fault_answer answer = { .msg = m, .text = text,
		.omit_id = omits_id(t) };

	return fail_with(t, FAULT_MESSAGE, &answer);
}

static int
check_media_types(struct turn *t)
{
	if (!req_is_type(t->req.content_type, "application/json"))
		return fail(t, FAULT_CONTENT_TYPE);
	if (!req_accepts(t->req.accept, "application/json") &&
		!req_accepts(t->req.accept, "text/event-stream"))
		return fail(t, FAULT_ACCEPT_POST);
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
			return fail_with(t, FAULT_PARSE, &answer);
		answer.text = e.pub;
		return fail_with(t, FAULT_MESSAGE, &answer);
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
		return fail_err(t, FAULT_DOWN, &e);
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
		return fail_err(t, fault_of(&e), &e);
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
	if (enter(t, NULL) != 0)
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
		return fail_err(t, fault_of(&e), &e);
	}
	answer_json(t, &out);
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
	answer_json(t, &out);
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
	if (wants_events(t)) {
		sse_message(out, NULL, reply->data, reply->len);
		return;
	}
	buf_putc(out, out->len == 0 ? '[' : ',');
	buf_put(out, reply->data, reply->len);
}

static int
handle_batch(struct turn *t)
{
	const struct msg *m;
	struct buf out, reply;
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
		if (answer_message(t, m, &reply) != 0)
			return -1;
		put_reply(t, &out, &reply);
	}
	if (out.len == 0) {
		answer_accepted(t);
		return 0;
	}
	t->event = "request.done";
	if (wants_events(t)) {
		res_body(&t->res, 200, "text/event-stream", out.data, out.len);
		return 0;
	}
	buf_putc(&out, ']');
	res_body(&t->res, 200, "application/json", out.data, out.len);
	return 0;
}

static int
handle_post(struct turn *t)
{
	const struct msg *m;

	if (check_media_types(t) != 0 || parse_body(t) != 0)
		return -1;
	m = t->body.msg;
	if (!t->body.is_batch && is_initialize(m))
		return handle_initialize(t, m);
	if (enter(t, t->req.session_id) != 0)
		return -1;
	if (t->req.session_id == NULL) {
		/* Nobody's revision is known, so the newest rules hold. */
		t->revision = REVISION_NEWEST;
		if (t->body.is_batch)
			return check_batch(t);
		return fail_with(t, FAULT_SESSION_ABSENT,
			&(struct fault_answer){ .msg = m });
	}
	if (check_version(t, t->body.is_batch ? NULL : m) != 0)
		return -1;
	return t->body.is_batch ? handle_batch(t) : handle_single(t, m);
}

static int
handle_get(struct turn *t)
{
	enum hold_end end;

	if (!req_accepts(t->req.accept, "text/event-stream"))
		return fail(t, FAULT_ACCEPT_GET);
	if (t->req.session_id == NULL)
		return fail(t, FAULT_SESSION_ABSENT_GET);
	if (enter(t, t->req.session_id) != 0 || check_version(t, NULL) != 0)
		return -1;
	t->res.status = 200;
	t->res.content_type = "text/event-stream";
	res_header(&t->res, "X-Accel-Buffering", "no");
	t->is_stream = true;
	end = hold_stream(t->app, &t->res);
	t->event = "stream.end";
	t->why = hold_end_name(end);
	return 0;
}

static int
handle_delete(struct turn *t)
{
	enum session_outcome outcome;
	struct err e;

	if (t->req.session_id == NULL)
		return fail(t, FAULT_SESSION_ABSENT);
	if (enter(t, t->req.session_id) != 0 || check_version(t, NULL) != 0)
		return -1;
	err_clear(&e);
	if (session_end(t->app->db, t->arena, t->req.session_id, &t->caller,
		    &outcome, &e) != 0)
		return fail_err(t, fault_of(&e), &e);
	/* Between ENTER and here another DELETE can have been faster. */
	if (outcome != SESSION_OK)
		return fail(t, FAULT_SESSION_GONE);
	t->res.status = 204;
	t->event = "session.end";
	return 0;
}

static int
check_schema(struct turn *t)
{
	struct err e;

	err_clear(&e);
	if (app_check_schema(t->app, &e) == 0)
		return 0;
	return fail_err(t, FAULT_DOWN, &e);
}

static int
handle_endpoint(struct turn *t)
{
	if (check_bearer(t) != 0 || check_schema(t) != 0)
		return -1;
	switch (t->req.method) {
	case REQ_POST:
		return handle_post(t);
	case REQ_GET:
		return handle_get(t);
	case REQ_DELETE:
		return handle_delete(t);
	default:
		return fail(t, FAULT_METHOD);
	}
}

/* --- the line ------------------------------------------------------------- */

static int
answer(struct turn *t)
{
	const struct route *route;
	struct err e;

	err_clear(&e);
	if (req_parse(&t->req, t->arena, fcgi_env(t->app->fcgi), &e) != 0)
		return fail(t, FAULT_REQUEST);
	log_context(t->rid, t->req.session_id, NULL);
	route = route_find(t->req.path, t->conf->resource_path);
	t->is_document = route->kind == ROUTE_RESOURCE ||
		route->kind == ROUTE_ISSUER;
	common_headers(t);

	if (route->kind == ROUTE_NONE)
		return fail(t, FAULT_PATH);
	if ((route->methods & t->req.method) == 0) {
		fail(t, FAULT_METHOD);
		res_header(&t->res, "Allow", route->allow);
		return -1;
	}
	if (read_request(t) != 0 || check_host_and_origin(t) != 0)
		return -1;
	if (t->req.method == REQ_OPTIONS) {
		answer_preflight(t, route);
		return 0;
	}
	switch (route->kind) {
	case ROUTE_RESOURCE:
		answer_resource_metadata(t);
		return 0;
	case ROUTE_ISSUER:
		return answer_issuer_metadata(t);
	case ROUTE_ENDPOINT:
		return handle_endpoint(t);
	case ROUTE_NONE:
		break;
	}
	return fail(t, FAULT_PATH);
}

static void
log_turn(const struct turn *t, int64_t start_ms, bool is_gone)
{
	const char *method = NULL;

	if (!t->body.is_batch && t->body.n == 1)
		method = t->body.msg->method;
	log_event(t->res.status >= 500 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
		t->event, "status", log_num(t->res.status), "why", t->why,
		"method", method, "ms", log_num(clock_mono_ms() - start_ms),
		"peer", is_gone ? "gone" : NULL, NULL);
}

void
pipeline_run(struct app *app)
{
	int64_t start_ms = clock_mono_ms();
	unsigned char random[8];
	struct turn t;
	int rc = 0;

	memset(&t, 0, sizeof(t));
	t.app = app;
	t.conf = app->conf;
	t.arena = app->arena;
	t.event = "request.done";
	rnd_bytes(random, sizeof(random));
	hex_encode(t.rid, random, sizeof(random));
	log_context(t.rid, NULL, NULL);
	res_init(&t.res, app->arena);

	(void)answer(&t);
	if (!t.is_stream)
		rc = res_send(&t.res, app->fcgi, t.req.method == REQ_HEAD);
	fcgi_finish(app->fcgi);
	log_turn(&t, start_ms, rc != 0);
	log_context_clear();
	arena_reset(app->arena);
}
