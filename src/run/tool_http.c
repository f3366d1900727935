/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/tool_http.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/log.h"
#include "net/fetch.h"
#include "run/call.h"
#include "run/httpargs.h"
#include "run/httpbody.h"
#include "run/outbound.h"

enum {
	DETAILS_MAX = 16384, /* of an error's body, beyond it is cut */
	PREVIEW_MAX = 2048,
	MESSAGE_MAX = 1000
};

struct tool_http {
	struct arena *a;
	struct outbound config;
	struct httpargs http;
	size_t max_bytes;
	size_t result_max; /* of its JSON */
	struct fetch_call *call; /* NULL: over */
	struct call_answer answer;
};

static struct tool_http *
refuse(struct tool_http *t, struct call_answer *answer, const char *code,
	const char *message)
{
	struct call_fault fault = { .code = code, .message = message };

	call_fail(answer, t->a, CALL_FAILED, &fault);
	tool_http_close(t);
	return NULL;
}

/*
 * Errors of the service.
 */

static const char *
code_of(int status)
{
	static const struct {
		int status;
		const char *code;
	} codes[] = {
		{ 400, "bad_request" },
		{ 401, "unauthorized" },
		{ 403, "forbidden" },
		{ 404, "not_found" },
		{ 405, "method_not_allowed" },
		{ 408, "timeout" },
		{ 409, "conflict" },
		{ 410, "gone" },
		{ 412, "precondition_failed" },
		{ 413, "request_too_large" },
		{ 415, "unsupported_media_type" },
		{ 422, "unprocessable" },
		{ 429, "rate_limited" },
		{ 503, "unavailable" },
		{ 504, "timeout" },
	};
	size_t i;

	for (i = 0; i < NELEM(codes); i++)
		if (codes[i].status == status)
			return codes[i].code;
	if (status >= 500)
		return "upstream_error";
	return status >= 400 ? "client_error" : "unexpected_status";
}

/* Where APIs put the sentence that says what went wrong. */
static const char *
message_in(const struct cJSON *body)
{
	static const char *const names[] = { "message", "error_description",
		"detail", "title", "error", "msg", "reason" };
	const struct cJSON *v;
	const char *s;
	size_t i;

	for (i = 0; i < NELEM(names); i++) {
		v = cj_get(body, names[i]);
		if (cj_is_string(v) && cj_string(v)[0] != '\0')
			return cj_string(v);
		s = cj_get_string(v, "message");
		if (s != NULL && s[0] != '\0')
			return s;
	}
	v = cj_first(cj_get_array(body, "errors"));
	if (v == NULL)
		return NULL;
	return cj_is_string(v) ? cj_string(v) : cj_get_string(v, "message");
}

static const char *
message_of(struct arena *a, int status, const struct httpbody_data *data)
{
	static const struct cj_limits limits = { 64, CJ_DUP_ALLOW, 0 };
	const char *found = NULL;
	struct cJSON *body;
	struct err e;
	size_t len;

	if (data->is_json && cj_parse(a, arena_memdup(a, data->json, data->len),
				     data->len, &limits, &body, &e) == 0)
		found = message_in(body);
	if (found == NULL)
		return arena_printf(
			a, "The service answered with status %d", status);
	len = buf_utf8_prefix(found, strlen(found), MESSAGE_MAX);
	return arena_memdup(a, found, len);
}

static const char *
preview(struct arena *a, const char *data, size_t len, size_t max, size_t limit)
{
	struct buf b;

	buf_init(&b, a);
	buf_puts(&b, "{\"truncated\":true,\"preview\":");
	buf_json(&b, data, buf_utf8_prefix(data, len, max));
	if (limit > 0)
		buf_printf(&b, ",\"limitBytes\":%zu", limit);
	buf_putc(&b, '}');
	return b.data;
}

static void
answer_error(struct tool_http *t, const struct fetch_response *res,
	const char *body, size_t len)
{
	struct call_fault fault = { .http_status = res->status };
	const char *after = fetch_header(res, "Retry-After");
	struct httpbody_data data;
	int s = res->status;

	httpbody_read(t->a, res->content_type, body, len, &data);
	fault.code = code_of(s);
	fault.message = message_of(t->a, s, &data);
	if (after != NULL && strlen(after) < 40 &&
		strspn(after, "0123456789") == strlen(after))
		fault.message = arena_printf(
			t->a, "%s (retry after %s s)", fault.message, after);
	/* Refused before anything was done, or of no effect anyway. */
	fault.is_retryable = s == 429 || s == 503 ||
			     (t->http.is_safe && (s == 408 || s >= 500));
	fault.details = data.len <= DETAILS_MAX && !res->is_cut
				? arena_memdup(t->a, data.json, data.len)
				: preview(t->a, body, len, PREVIEW_MAX, 0);
	if (data.is_json && data.len == 4)
		fault.details = NULL;
	call_fail(&t->answer, t->a, CALL_FAILED, &fault);
}

/*
 * Data.
 */

static void
put_cut_text(struct tool_http *t, const char *body, size_t len,
	struct buf *json)
{
	struct buf text;

	buf_init(&text, t->a);
	buf_put(&text, body, buf_utf8_prefix(body, len, len));
	buf_printf(&text,
		"\n[truncated: the answer is longer than %zu bytes]",
		t->max_bytes);
	buf_init(json, t->a);
	buf_json(json, text.data, text.len);
}

/* A text that was cut says so in the end; half a JSON is no data. */
static void
answer_cut(struct tool_http *t, const struct fetch_response *res,
	const char *body, size_t len)
{
	struct call_fault fault = { .code = "response_too_large",
		.http_status = res->status };
	struct buf json;

	if (strncasecmp(res->content_type, "text/plain", 10) == 0) {
		put_cut_text(t, body, len, &json);
		/* Some characters take more room in JSON. */
		while (json.len > t->result_max && len > 0) {
			size_t excess = json.len - t->result_max;

			len = excess < len / 2 ? len - excess : len / 2;
			put_cut_text(t, body, len, &json);
		}
		call_succeed(&t->answer, json.data, json.len);
		return;
	}
	fault.message = arena_printf(t->a,
		"The service answered with status %d, but with more than %zu "
		"bytes%s",
		res->status, t->max_bytes,
		t->http.is_safe ? "" : "; the call has taken effect");
	fault.details = preview(t->a, body, len, PREVIEW_MAX, t->max_bytes);
	call_fail(&t->answer, t->a, CALL_FAILED, &fault);
}

static void
answer_data(struct tool_http *t, const struct fetch_response *res,
	const char *body, size_t len)
{
	struct httpbody_data data;

	httpbody_read(t->a, res->content_type, body, len, &data);
	call_succeed(&t->answer, data.json, data.len);
	t->answer.content = data.content;
	t->answer.content_len = data.content_len;
}

static void
done(void *arg, const struct fetch_response *res, const struct err *e)
{
	struct tool_http *t = arg;
	const char *body;
	size_t len;

	t->call = NULL;
	if (e != NULL) {
		log_err(LOG_LEVEL_INFO, "tool.http", e);
		outbound_fail(
			&t->answer, t->a, e, res->was_sent, t->http.is_safe);
		outbound_lock(&t->config);
		return;
	}
	len = res->body_len;
	body = outbound_redact(&t->config, t->a, res->body, &len);
	if (res->status < 200 || res->status > 299)
		answer_error(t, res, body, len);
	else if (res->is_cut)
		answer_cut(t, res, body, len);
	else
		answer_data(t, res, body, len);
	outbound_lock(&t->config);
}

struct tool_http *
tool_http_start(const struct outbound_env *env, struct arena *a,
	const char *config, const char *definition, const char *args,
	size_t args_len, struct call_answer *answer)
{
	struct tool_http *t = arena_zalloc(a, sizeof(*t));
	struct fetch_request req = { .may_cut = true };
	const char *why;
	bool is_ours;
	struct err e;

	t->a = a;
	if ((why = outbound_configure(a, config, &t->config)) != NULL) {
		log_event(LOG_LEVEL_WARN, "tool.config", "why", why, NULL);
		return refuse(t, answer, "misconfigured",
			"The source of this tool is not configured correctly; "
			"its administrator can see why in the log");
	}
	why = httpargs_build(a, t->config.url, definition, args, args_len,
		&t->http, &req, &is_ours);
	if (why != NULL && is_ours) {
		log_event(LOG_LEVEL_WARN, "tool.definition", "why", why, NULL);
		return refuse(t, answer, "misconfigured",
			"This tool is not defined correctly; its "
			"administrator can see why in the log");
	}
	if (why != NULL)
		return refuse(t, answer, "invalid_arguments", why);
	if (outbound_unlock(env, &t->config, &e) != 0)
		goto fail;
	outbound_request(env, &t->config, a, &req);
	t->max_bytes = req.max_bytes;
	t->result_max = env->max_bytes;
	if (fetch_start(env->fetch, a, &req, done, t, &t->call, &e) == 0)
		return t;
fail:
	log_err(LOG_LEVEL_WARN, "tool.http", &e);
	outbound_fail(answer, a, &e, false, false);
	tool_http_close(t);
	return NULL;
}

bool
tool_http_step(struct tool_http *t, struct call_answer *answer)
{
	if (t->call != NULL)
		return false;
	*answer = t->answer;
	return true;
}

void
tool_http_close(struct tool_http *t)
{
	if (t == NULL)
		return;
	fetch_cancel(t->call);
	t->call = NULL;
	outbound_lock(&t->config);
}
