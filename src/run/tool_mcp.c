/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/tool_mcp.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "net/fetch.h"
#include "run/call.h"
#include "run/httpbody.h"
#include "run/mcpwire.h"
#include "run/outbound.h"
#include "store/upstream.h"

enum { HEADERS_MAX = 20, MESSAGE_MAX = 1000, DETAILS_MAX = 16384 };

static const struct cj_limits LIMITS = { 128, CJ_DUP_ALLOW, 0 };

struct tool_mcp {
	const struct tool_mcp_store *store;
	struct arena *a;
	struct outbound config;
	struct mcpwire_peer peer;
	const char *name;
	const char *params;
	struct fetch_header *header;
	size_t n_header;
	bool is_safe; /* to repeat, whatever became of it */
	bool was_renewed;
	bool is_own;	/* the session is this call's alone */
	bool is_called; /* the call itself is under way, not a handshake */
	int64_t deadline_ms;
	struct mcpwire *wire; /* NULL: over */
	struct call_answer answer;
};

static void begin_call(struct tool_mcp *t);
static void begin_session(struct tool_mcp *t);

static void
over(struct tool_mcp *t)
{
	t->wire = NULL;
	if (t->is_own)
		mcpwire_end_session(&t->peer, t->a);
	t->is_own = false;
	outbound_lock(&t->config);
}

static void
fail_as(struct tool_mcp *t, enum call_status status, const char *code,
	const char *message, bool is_retryable)
{
	struct call_fault fault = {
		.code = code, .message = message, .is_retryable = is_retryable
	};

	call_fail(&t->answer, t->a, status, &fault);
	over(t);
}

static void
fail_err(struct tool_mcp *t, const struct err *e, bool was_sent, bool is_safe)
{
	log_err(LOG_LEVEL_INFO, "tool.mcp", e);
	outbound_fail(&t->answer, t->a, e, was_sent, is_safe);
	over(t);
}

static void
post(struct tool_mcp *t, struct mcpwire_request *req, mcpwire_done_fn done)
{
	struct err e;

	req->timeout_ms = t->deadline_ms - clock_mono_ms();
	if (req->timeout_ms < 1)
		req->timeout_ms = 1;
	t->wire = mcpwire_start(&t->peer, t->a, req, done, t, &e);
	if (t->wire == NULL)
		fail_err(t, &e, false, false);
}

/*
 * What the server says of itself.
 */

static const char *
message_of(const struct tool_mcp *t, const struct mcpwire_reply *r)
{
	const char *s = cj_get_string(r->error, "message");

	if (s == NULL || s[0] == '\0')
		return arena_printf(t->a,
			"The upstream server answered with status %d",
			r->status);
	return arena_memdup(
		t->a, s, buf_utf8_prefix(s, strlen(s), MESSAGE_MAX));
}

static void
lacks_scope(
	struct tool_mcp *t, const char *scope, struct call_fault *fault)
{
	struct buf b;

	fault->code = "oauth_scope_insufficient";
	fault->message = "The credentials of this source do not allow this "
			 "call; its administrator can give it others";
	if (scope[0] == '\0')
		return;
	fault->message = arena_printf(t->a,
		"The credentials of this source do not allow this call: the "
		"upstream server asks for the scope %.*s",
		(int)buf_utf8_prefix(scope, strlen(scope), MESSAGE_MAX), scope);
	buf_init(&b, t->a);
	buf_puts(&b, "{\"scope\":");
	buf_jsons(&b, scope);
	buf_putc(&b, '}');
	fault->details = b.data;
}

static void
fail_reply(struct tool_mcp *t, const struct mcpwire_reply *r)
{
	struct call_fault fault = { .code = "upstream_error" };
	const struct cJSON *data = cj_get(r->error, "data");
	enum call_status status = CALL_FAILED;
	int64_t code = 0;

	fault.message = message_of(t, r);
	if (r->status >= 300)
		fault.http_status = r->status;
	(void)cj_get_int(r->error, "code", INT32_MIN, INT32_MAX, &code);
	if (r->scope != NULL) {
		lacks_scope(t, r->scope, &fault);
	} else if (r->status == 401 || r->status == 403) {
		fault.code = "unauthorized";
		fault.message = "The upstream server does not accept the "
				"credentials of this source";
	} else if (code == -32602) {
		fault.code = "invalid_arguments";
	} else if (code == -32020 || code == -32022 || code == -32601) {
		fault.code = "upstream_changed";
		fault.message = arena_printf(t->a,
			"%s (the source needs to be refreshed)", fault.message);
	} else if (r->status == 429 || r->status == 503) {
		fault.code = r->status == 429 ? "rate_limited" : "unavailable";
		fault.is_retryable = true;
	} else if (r->error == NULL && r->status < 300) {
		/* The stream ended before its answer. */
		fault.message = "The upstream server ended its answer without "
				"a result";
		fault.is_retryable = t->is_safe;
		status = t->is_safe ? CALL_FAILED : CALL_UNKNOWN;
	} else if (r->error == NULL && r->status >= 500) {
		status = t->is_safe ? CALL_FAILED : CALL_UNKNOWN;
		fault.is_retryable = t->is_safe;
	}
	if (data != NULL && r->scope == NULL) {
		fault.details = cj_print(t->a, data);
		if (strlen(fault.details) > DETAILS_MAX)
			fault.details = NULL;
	}
	call_fail(&t->answer, t->a, status, &fault);
	over(t);
}

/*
 * The session.
 */

static bool
is_known_version(const char *v)
{
	static const char *const versions[] = { "2024-11-05", "2025-03-26",
		"2025-06-18", "2025-11-25" };
	size_t i;

	for (i = 0; v != NULL && i < NELEM(versions); i++)
		if (strcmp(versions[i], v) == 0)
			return true;
	return false;
}

static void
initialized(void *arg, const struct mcpwire_reply *r)
{
	struct tool_mcp *t = arg;
	struct upstream_session s = { t->peer.version, t->peer.session_id, 0 };
	struct mcpwire_peer mine = t->peer;
	bool was_saved = false;
	struct err e;

	t->wire = NULL;
	if (r->err.kind != ERR_NONE) {
		fail_err(t, &r->err, false, true);
		return;
	}
	t->is_own = t->store == NULL;
	if (t->store != NULL) {
		if (t->store->save(t->store->arg, t->a, &s, &was_saved, &e) !=
			0) {
			/* It serves this call, and is ended after it. */
			log_err(LOG_LEVEL_WARN, "tool.mcp", &e);
			t->is_own = true;
		} else if (!was_saved &&
			   t->store->find(t->store->arg, t->a, &s, &e) == 0 &&
			   s.protocol_version != NULL) {
			/* Another process was first: one session for all. */
			t->peer.version = s.protocol_version;
			t->peer.session_id = s.session_id;
			mcpwire_end_session(&mine, t->a);
		}
	}
	begin_call(t);
}

static void
session_begun(void *arg, const struct mcpwire_reply *r)
{
	struct mcpwire_request req = { .method = "notifications/initialized",
		.params = "",
		.is_notification = true };
	struct tool_mcp *t = arg;
	const char *version;

	t->wire = NULL;
	if (r->err.kind != ERR_NONE) {
		fail_err(t, &r->err, r->was_sent, true);
		return;
	}
	version = cj_get_string(r->result, "protocolVersion");
	if (r->result == NULL) {
		fail_reply(t, r);
		return;
	}
	if (!is_known_version(version)) {
		fail_as(t, CALL_FAILED, "upstream_changed",
			"The upstream server speaks another version of MCP; "
			"the source needs to be refreshed",
			false);
		return;
	}
	t->peer.version = arena_strdup(t->a, version);
	t->peer.session_id = r->session_id != NULL && r->session_id[0] != '\0'
				     ? arena_strdup(t->a, r->session_id)
				     : NULL;
	post(t, &req, initialized);
}

static void
begin_session(struct tool_mcp *t)
{
	struct mcpwire_request req = { .method = "initialize",
		.params = "\"protocolVersion\":\"" MCPWIRE_LEGACY "\","
			  "\"capabilities\":{},\"clientInfo\":{"
			  "\"name\":\"mcp-fcgi\",\"version\":\"" PACKAGE_VERSION
			  "\"}" };

	t->is_called = false;
	t->peer.version = t->peer.session_id = NULL;
	post(t, &req, session_begun);
}

/* 404 is what the protocol says; the others are what servers do. */
static bool
is_lost(const struct tool_mcp *t, const struct mcpwire_reply *r)
{
	const char *s = cj_get_string(r->error, "message");
	int64_t code = 0;

	if (t->peer.is_modern || t->was_renewed || r->scope != NULL)
		return false;
	/* Some refuse bad arguments with 400. */
	(void)cj_get_int(r->error, "code", INT32_MIN, INT32_MAX, &code);
	if (code == -32602)
		return false;
	if (t->peer.session_id != NULL &&
		(r->status == 404 || r->status == 400 || r->status == 401))
		return true;
	return s != NULL && (strcasestr(s, "session") != NULL ||
				    strcasestr(s, "not initialized") != NULL ||
				    strcasestr(s, "initialize first") != NULL);
}

static void
renew(struct tool_mcp *t, const struct mcpwire_reply *r)
{
	struct err e;

	t->was_renewed = true;
	if (t->store != NULL && !t->is_own &&
		t->store->drop(t->store->arg, t->a, t->peer.session_id, &e) !=
			0)
		log_err(LOG_LEVEL_WARN, "tool.mcp", &e);
	t->is_own = false;
	/* Refused by status: nothing has run.  An error within a 200 may
	   also come from the tool, and so may a 500. */
	if ((r->status >= 400 && r->status < 500) || t->is_safe)
		begin_session(t);
	else if (r->status >= 500)
		fail_as(t, CALL_UNKNOWN, "session_lost",
			arena_printf(t->a,
				"The upstream server failed and lost its "
				"session; the call may have taken effect (%s)",
				message_of(t, r)),
			false);
	else
		fail_as(t, CALL_FAILED, "session_lost",
			arena_printf(t->a,
				"The upstream server lost its session; the "
				"next call "
				"begins a new one (%s)",
				message_of(t, r)),
			true);
}

/*
 * The result.
 */

/* All text blocks, a line each; *OTHERS: there are blocks of other kinds. */
static const char *
text_of(struct tool_mcp *t, const struct cJSON *content, bool *others)
{
	const struct cJSON *m;
	const char *type, *text;
	struct buf b;

	*others = false;
	buf_init(&b, t->a);
	for (m = cj_first(content); m != NULL; m = cj_next(m)) {
		type = cj_get_string(m, "type");
		text = cj_get_string(m, "text");
		if (type == NULL || strcmp(type, "text") != 0 || text == NULL) {
			*others = true;
			continue;
		}
		if (b.len > 0)
			buf_putc(&b, '\n');
		buf_puts(&b, text);
	}
	return b.data;
}

static void
take_result(struct tool_mcp *t, const struct mcpwire_reply *r)
{
	const struct cJSON *content = cj_get_array(r->result, "content");
	const char *kind = cj_get_string(r->result, "resultType"), *text;
	struct call_fault fault = { .code = "tool_error" };
	struct httpbody_data data;
	bool is_error = false, others;
	size_t off, len;

	if (kind != NULL && strcmp(kind, "complete") != 0) {
		fail_as(t, CALL_FAILED, "input_required",
			"The upstream tool asks for something that cannot be "
			"answered here",
			false);
		return;
	}
	(void)cj_get_bool(r->result, "isError", &is_error);
	text = text_of(t, content, &others);
	if (is_error) {
		len = buf_utf8_prefix(text, strlen(text), MESSAGE_MAX);
		fault.message = len > 0 ? arena_memdup(t->a, text, len)
					: "The tool failed";
		if (cj_raw_member(r->result_text, r->result_len,
			    "structuredContent", &off, &len) &&
			len <= DETAILS_MAX)
			fault.details =
				arena_memdup(t->a, r->result_text + off, len);
		call_fail(&t->answer, t->a, CALL_FAILED, &fault);
		over(t);
		return;
	}
	if (cj_get(r->result, "structuredContent") != NULL &&
		cj_raw_member(r->result_text, r->result_len,
			"structuredContent", &off, &len)) {
		call_succeed(&t->answer, r->result_text + off, len);
	} else if (text[0] != '\0') {
		/* JSON when it looks so, else a string */
		httpbody_read(t->a, "text/plain", text, strlen(text), &data);
		call_succeed(&t->answer, data.json, data.len);
	} else {
		call_succeed(&t->answer, "null", 4);
	}
	if (others && cj_raw_member(r->result_text, r->result_len, "content",
			      &off, &len)) {
		t->answer.content = r->result_text + off;
		t->answer.content_len = len;
	}
	over(t);
}

static void
called(void *arg, const struct mcpwire_reply *r)
{
	struct tool_mcp *t = arg;

	t->wire = NULL;
	if (r->err.kind != ERR_NONE)
		fail_err(t, &r->err, r->was_sent, t->is_safe);
	else if (r->result != NULL)
		take_result(t, r);
	else if (is_lost(t, r))
		renew(t, r);
	else
		fail_reply(t, r);
}

static void
begin_call(struct tool_mcp *t)
{
	struct mcpwire_request req = { .method = "tools/call",
		.params = t->params,
		.name = t->name,
		.header = t->header,
		.n_header = t->n_header };

	t->is_called = true;
	post(t, &req, called);
}

/*
 * The beginning.
 */

/* Mcp-Param-... for properties that the schema marks (x-mcp-header). */
static const char *
read_param_headers(struct tool_mcp *t, const struct cJSON *definition,
	const struct cJSON *args)
{
	const struct cJSON *list = cj_get_array(definition, "param_headers");
	const struct cJSON *m, *p, *v;
	const char *name, *text;

	t->header = arena_calloc(t->a, HEADERS_MAX, sizeof(*t->header));
	for (m = cj_first(list); m != NULL; m = cj_next(m)) {
		name = cj_get_string(m, "name");
		v = args;
		for (p = cj_first(cj_get_array(m, "path")); p != NULL;
			p = cj_next(p))
			v = cj_string(p) != NULL ? cj_get(v, cj_string(p))
						 : NULL;
		if (name == NULL || v == NULL || cj_is_null(v) ||
			cj_is_object(v) || cj_is_array(v))
			continue;
		if (t->n_header == HEADERS_MAX)
			return "too many param_headers";
		text = cj_is_string(v) ? cj_string(v) : cj_print(t->a, v);
		t->header[t->n_header].name =
			arena_printf(t->a, "Mcp-Param-%s", name);
		t->header[t->n_header].value = mcpwire_header_value(t->a, text);
		t->n_header++;
	}
	return NULL;
}

/* NULL, or what is wrong with the rows. */
static const char *
read_rows(struct tool_mcp *t, const struct tool_mcp_call *call)
{
	struct cJSON *definition, *config, *args, *hints;
	const char *why, *era;
	bool is_read_only = false, is_idempotent = false;
	struct err e;
	struct buf b;

	if ((why = outbound_configure(t->a, call->config, &t->config)) != NULL)
		return why;
	if (cj_parse(t->a, call->config, strlen(call->config), &LIMITS, &config,
		    &e) != 0 ||
		cj_parse(t->a, call->definition, strlen(call->definition),
			&LIMITS, &definition, &e) != 0 ||
		(t->name = cj_get_string(definition, "name")) == NULL)
		return "a definition without name";
	era = cj_get_string(config, "era");
	t->peer.is_modern = era != NULL && strcmp(era, "modern") == 0;
	if (t->peer.is_modern)
		t->peer.version = MCPWIRE_MODERN;
	if (call->annotations != NULL &&
		cj_parse(t->a, call->annotations, strlen(call->annotations),
			&LIMITS, &hints, &e) == 0) {
		(void)cj_get_bool(hints, "readOnlyHint", &is_read_only);
		(void)cj_get_bool(hints, "idempotentHint", &is_idempotent);
	}
	t->is_safe = is_read_only || is_idempotent;
	if (cj_parse(t->a, call->args, call->args_len, &LIMITS, &args, &e) !=
			0 ||
		!cj_is_object(args))
		return "arguments that are no JSON object";
	if (t->peer.is_modern &&
		(why = read_param_headers(t, definition, args)) != NULL)
		return why;
	buf_init(&b, t->a);
	buf_puts(&b, "\"name\":");
	buf_jsons(&b, t->name);
	buf_puts(&b, ",\"arguments\":");
	buf_put(&b, call->args, call->args_len);
	t->params = b.data;
	return NULL;
}

struct tool_mcp *
tool_mcp_start(const struct outbound_env *env,
	const struct tool_mcp_store *store, struct arena *a,
	const struct tool_mcp_call *call, struct call_answer *answer)
{
	struct tool_mcp *t = arena_zalloc(a, sizeof(*t));
	struct upstream_session s = { 0 };
	const char *why;
	struct err e;

	t->store = store;
	t->a = a;
	t->peer.env = env;
	t->peer.config = &t->config;
	if ((why = read_rows(t, call)) != NULL) {
		log_event(LOG_LEVEL_WARN, "tool.config", "why", why, NULL);
		fail_as(t, CALL_FAILED, "misconfigured",
			"This tool or its source is not configured correctly; "
			"its administrator can see why in the log",
			false);
		goto fail;
	}
	t->deadline_ms = env->timeout_ms;
	if (t->config.timeout_ms > 0 && t->config.timeout_ms < t->deadline_ms)
		t->deadline_ms = t->config.timeout_ms;
	t->deadline_ms += clock_mono_ms();
	if (outbound_unlock(env, &t->config, &e) != 0) {
		fail_err(t, &e, false, false);
		goto fail;
	}
	if (!t->peer.is_modern && store != NULL &&
		store->find(store->arg, a, &s, &e) != 0) {
		fail_err(t, &e, false, false);
		goto fail;
	}
	if (t->peer.is_modern) {
		begin_call(t);
	} else if (s.protocol_version != NULL) {
		t->peer.version = s.protocol_version;
		t->peer.session_id = s.session_id;
		begin_call(t);
	} else {
		begin_session(t);
	}
	if (t->wire != NULL)
		return t;
fail:
	*answer = t->answer;
	return NULL;
}

bool
tool_mcp_step(struct tool_mcp *t, struct call_answer *answer)
{
	if (t->wire != NULL)
		return false;
	*answer = t->answer;
	return true;
}

void
tool_mcp_close(struct tool_mcp *t)
{
	if (t == NULL || t->wire == NULL)
		return;
	mcpwire_cancel(t->wire);
	over(t);
}
