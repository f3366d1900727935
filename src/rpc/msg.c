/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "rpc/msg.h"

#include "base/arena.h"
#include "base/cj.h"
#include "base/err.h"

/* An id is a string or an integer (schema.json of every revision). */
static bool
is_id(const char *raw, size_t len)
{
	size_t i = raw[0] == '-';

	if (raw[0] == '"')
		return true;
	if (i == len)
		return false;
	for (; i < len; i++)
		if (raw[i] < '0' || raw[i] > '9')
			return false;
	return true;
}

static void
invalid(struct msg *m, int code, const char *why)
{
	m->kind = MSG_INVALID;
	m->code = code;
	m->why = why;
}

/* TEXT is the source of V. */
static void
parse_message(struct msg *m, const struct cJSON *v, const char *text,
	size_t len)
{
	const struct cJSON *params;
	size_t off, raw_len;
	bool has_id, has_result, has_error;

	memset(m, 0, sizeof(*m));
	if (!cj_is_object(v)) {
		invalid(m, MSG_INVALID_REQUEST, "A message must be an object");
		return;
	}
	has_id = cj_raw_member(text, len, "id", &off, &raw_len);
	if (has_id && is_id(text + off, raw_len)) {
		m->id = text + off;
		m->id_len = raw_len;
	}
	if (cj_get_string(v, "jsonrpc") == NULL ||
		strcmp(cj_get_string(v, "jsonrpc"), "2.0") != 0) {
		invalid(m, MSG_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
		return;
	}
	if (has_id && m->id == NULL) {
		invalid(m, MSG_INVALID_REQUEST,
			"id must be a string or an integer");
		return;
	}

	has_result = cj_get(v, "result") != NULL;
	has_error = cj_get(v, "error") != NULL;
	if (cj_get(v, "method") == NULL) {
		if (!has_id || has_result == has_error) {
			invalid(m, MSG_INVALID_REQUEST,
				"A message needs a method, a result or an "
				"error");
			return;
		}
		m->kind = MSG_RESPONSE;
		return;
	}
	m->method = cj_get_string(v, "method");
	if (m->method == NULL || has_result || has_error) {
		invalid(m, MSG_INVALID_REQUEST, "method must be a string");
		return;
	}
	m->kind = has_id ? MSG_REQUEST : MSG_NOTIFICATION;

	params = cj_get(v, "params");
	if (params == NULL)
		return;
	if (!cj_is_object(params)) {
		invalid(m, MSG_INVALID_PARAMS, "params must be an object");
		return;
	}
	m->params = params;
	if (cj_raw_member(text, len, "params", &off, &raw_len)) {
		m->params_text = text + off;
		m->params_len = raw_len;
	}
}

static int
parse_batch(struct msg_body *out, struct arena *a, const struct cJSON *v,
	const char *text, size_t len, const struct msg_limits *limits,
	struct err *e)
{
	const struct cJSON *element = cj_first(v);
	size_t i, off = 0, raw_len = 0;

	out->is_batch = true;
	out->n = cj_array_len(v);
	if (out->n == 0) {
		err_set(e, ERR_INVALID, "A batch must not be empty",
			"empty batch");
		e->rpc_code = MSG_INVALID_REQUEST;
		return -1;
	}
	if (out->n > limits->batch_max) {
		err_set(e, ERR_INVALID, "Too many messages in a batch",
			"batch of %zu", out->n);
		e->rpc_code = MSG_INVALID_REQUEST;
		return -1;
	}
	out->msg = arena_calloc(a, out->n, sizeof(*out->msg));
	for (i = 0; i < out->n; i++, element = cj_next(element)) {
		if (!cj_raw_next(text, len, &off, &raw_len))
			return err_set(e, ERR_INTERNAL, NULL,
				"batch element %zu is not found again", i);
		parse_message(&out->msg[i], element, text + off, raw_len);
	}
	return 0;
}

int
msg_parse(struct msg_body *out, struct arena *a, const char *text, size_t len,
	const struct msg_limits *limits, struct err *e)
{
	struct cj_limits cj = { .depth_max = limits->depth_max,
		.dup = CJ_DUP_REFUSE };
	struct cJSON *v;

	memset(out, 0, sizeof(*out));
	if (cj_parse(a, text, len, &cj, &v, e) != 0)
		return -1;
	if (cj_is_array(v))
		return parse_batch(out, a, v, text, len, limits, e);
	if (!cj_is_object(v)) {
		err_set(e, ERR_INVALID, "A message must be an object",
			"the body is a scalar");
		e->rpc_code = MSG_INVALID_REQUEST;
		return -1;
	}
	out->n = 1;
	out->msg = arena_zalloc(a, sizeof(*out->msg));
	parse_message(out->msg, v, text, len);
	return 0;
}
