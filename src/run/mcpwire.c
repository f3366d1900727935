/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/mcpwire.h"

#include <openssl/evp.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/log.h"
#include "net/fetch.h"
#include "net/header.h"
#include "run/eventstream.h"
#include "run/outbound.h"

enum {
	DEPTH_MAX = 200,
	HEADERS_MAX = 40,
	ASKED_MAX = 100,
	SCOPE_MAX = 1000
};

#define ACCEPT "application/json, text/event-stream"
#define META   "io.modelcontextprotocol/"

struct mcpwire {
	struct mcpwire_peer peer;
	struct arena *a;
	uint64_t id;
	struct fetch_call *call;
	struct eventstream stream;
	struct mcpwire_reply reply;
	bool is_notification;
	bool has_answer;
	unsigned asked;
	mcpwire_done_fn done;
	void *arg;
};

const char *
mcpwire_header_value(struct arena *a, const char *value)
{
	size_t len = strlen(value), i;
	bool is_plain = true;
	char *out;

	for (i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] > '~' ||
			value[i] < 0)
			is_plain = false;
	/* Not what would be trimmed, nor what looks encoded. */
	if (len > 0 && (value[0] == ' ' || value[len - 1] == ' '))
		is_plain = false;
	if (strncmp(value, "=?base64?", 9) == 0)
		is_plain = false;
	if (is_plain)
		return value;
	out = arena_alloc(a, (len + 2) / 3 * 4 + 1);
	EVP_EncodeBlock(
		(unsigned char *)out, (const unsigned char *)value, (int)len);
	return arena_printf(a, "=?base64?%s?=", out);
}

static size_t
put_headers(const struct mcpwire_peer *peer, struct arena *a,
	const char *method, const char *name, struct fetch_header *h)
{
	size_t n = 0;

	if (peer->version != NULL)
		h[n++] = (struct fetch_header){ "MCP-Protocol-Version",
			peer->version, false };
	if (!peer->is_modern && peer->session_id != NULL)
		/* As good as a password to the upstream. */
		h[n++] = (struct fetch_header){ "Mcp-Session-Id",
			peer->session_id, true };
	if (peer->is_modern && method != NULL)
		h[n++] = (struct fetch_header){ "Mcp-Method", method, false };
	if (peer->is_modern && name != NULL)
		h[n++] = (struct fetch_header){ "Mcp-Name",
			mcpwire_header_value(a, name), false };
	return n;
}

static void
put_params(const struct mcpwire_peer *peer, struct buf *b, const char *params)
{
	buf_puts(b, ",\"params\":{");
	if (peer->is_modern)
		buf_printf(b,
			"\"_meta\":{\"" META "protocolVersion\":\"%s\","
			"\"" META "clientInfo\":{\"name\":\"mcp-fcgi\","
			"\"version\":\"" PACKAGE_VERSION "\"},"
			"\"" META "clientCapabilities\":{}}%s",
			peer->version, params[0] != '\0' ? "," : "");
	buf_printf(b, "%s}", params);
}

/*
 * Without an answer.
 */

static void
send_away(const struct mcpwire_peer *peer, struct arena *a, const char *http,
	const char *method, const char *body)
{
	struct fetch_header header[HEADERS_MAX];
	struct fetch_request req = { .url = peer->config->url,
		.method = http,
		.accept = ACCEPT,
		.body = body,
		.body_len = body != NULL ? strlen(body) : 0,
		.header = header };
	struct err e;

	req.n_header = put_headers(peer, a, method, NULL, header);
	outbound_request(peer->env, peer->config, a, &req);
	req.redirects_max = 0;
	if (fetch_forget(peer->env->fetch, &req, &e) != 0)
		log_err(LOG_LEVEL_INFO, "tool.mcp", &e);
}

void
mcpwire_notify(const struct mcpwire_peer *peer, struct arena *a,
	const char *method, const char *params)
{
	struct buf b;

	buf_init(&b, a);
	buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
	if (params[0] != '\0')
		put_params(peer, &b, params);
	buf_putc(&b, '}');
	send_away(peer, a, "POST", method, b.data);
}

void
mcpwire_end_session(const struct mcpwire_peer *peer, struct arena *a)
{
	if (!peer->is_modern && peer->session_id != NULL)
		send_away(peer, a, "DELETE", NULL, NULL);
}

/*
 * The answer to W is not waited for any more.  To a modern server the closed
 * connection says it all; an initialize is not to be cancelled.
 */
static void
tell_cancelled(const struct mcpwire *w)
{
	if (w->peer.is_modern || w->peer.version == NULL || w->is_notification)
		return;
	mcpwire_notify(&w->peer, w->a, "notifications/cancelled",
		arena_printf(w->a, "\"requestId\":%llu",
			(unsigned long long)w->id));
}

/* The server asks something of us. */
static void
answer_server(struct mcpwire *w, const struct cJSON *message, const char *text,
	size_t len)
{
	const char *method = cj_get_string(message, "method");
	size_t off, id_len;
	struct buf b;

	if (w->peer.is_modern || w->asked++ > ASKED_MAX ||
		!cj_raw_member(text, len, "id", &off, &id_len))
		return;
	buf_init(&b, w->a);
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_put(&b, text + off, id_len);
	if (strcmp(method, "ping") == 0)
		buf_puts(&b, ",\"result\":{}}");
	else
		buf_puts(&b, ",\"error\":{\"code\":-32601,\"message\":"
			     "\"Method not found\"}}");
	send_away(&w->peer, w->a, "POST", NULL, b.data);
}

/*
 * The answer.
 */

static bool
is_our_id(const struct mcpwire *w, const struct cJSON *message)
{
	const struct cJSON *id = cj_get(message, "id");
	int64_t n;

	if (cj_get_int(message, "id", 0, INT64_MAX / 2048, &n))
		return (uint64_t)n == w->id;
	/* Refused before its id was read; some make it a string. */
	if (cj_is_string(id))
		return strtoull(cj_string(id), NULL, 10) == w->id;
	return cj_get(message, "error") != NULL;
}

/* True: it is the answer. */
static bool
take_message(struct mcpwire *w, const struct cJSON *message, const char *text,
	size_t len)
{
	size_t off, n;

	if (!cj_is_object(message))
		return false;
	if (cj_get_string(message, "method") != NULL) {
		if (cj_get(message, "id") != NULL)
			answer_server(w, message, text, len);
		return false;
	}
	if (!is_our_id(w, message))
		return false;
	w->reply.error = cj_get_object(message, "error");
	w->reply.result = w->reply.error == NULL
				  ? cj_get_object(message, "result")
				  : NULL;
	if (w->reply.result != NULL &&
		cj_raw_member(text, len, "result", &off, &n)) {
		w->reply.result_text = text + off;
		w->reply.result_len = n;
	}
	w->has_answer = w->reply.result != NULL || w->reply.error != NULL;
	return w->has_answer;
}

/* One message, or several in an array (2025-03-26). */
static bool
take_text(struct mcpwire *w, const char *data, size_t len)
{
	static const struct cj_limits limits = { DEPTH_MAX, CJ_DUP_ALLOW,
		1 << 19 };
	const char *text = arena_memdup(w->a, data, len);
	struct cJSON *tree;
	struct err e;
	size_t i, off, n;

	text = outbound_redact(w->peer.config, w->a, text, &len);
	if (cj_parse(w->a, text, len, &limits, &tree, &e) != 0)
		return false;
	if (!cj_is_array(tree))
		return take_message(w, tree, text, len);
	for (i = 0; cj_raw_element(text, len, i, &off, &n); i++)
		if (take_message(w, cj_array_at(tree, i), text + off, n))
			return true;
	return false;
}

static bool
take_event(void *arg, const char *data, size_t len)
{
	return !take_text(arg, data, len);
}

static bool
take_data(void *arg, int status, const char *p, size_t len)
{
	struct mcpwire *w = arg;

	return eventstream_feed(&w->stream, p, len);
}

/* RFC 6750 3.1, in any of the challenges. */
static const char *
missing_scope(const struct mcpwire *w, const struct fetch_response *res)
{
	char error[40], scope[SCOPE_MAX + 1];
	size_t i, len;

	for (i = 0; res->status == 403 && i < res->n_header; i++) {
		const struct fetch_header *h = &res->header[i];

		if (strcasecmp(h->name, "WWW-Authenticate") != 0 ||
			!header_auth_param(
				h->value, "error", error, sizeof(error)) ||
			strcmp(error, "insufficient_scope") != 0)
			continue;
		if (!header_auth_param(
			    h->value, "scope", scope, sizeof(scope)))
			return "";
		len = strlen(scope);
		return outbound_redact(w->peer.config, w->a,
			arena_strdup(w->a, scope), &len);
	}
	return NULL;
}

static void
fetch_done(void *arg, const struct fetch_response *res, const struct err *e)
{
	struct mcpwire *w = arg;

	w->call = NULL;
	w->reply.was_sent = res->was_sent;
	err_clear(&w->reply.err);
	if (e != NULL) {
		w->reply.err = *e;
		if (e->kind == ERR_TIMEOUT && res->was_sent)
			tell_cancelled(w);
	} else {
		w->reply.status = res->status;
		w->reply.session_id = fetch_header(res, "Mcp-Session-Id");
		w->reply.scope = missing_scope(w, res);
		if (!w->has_answer && w->stream.kind == EVENTSTREAM_JSON)
			(void)take_text(
				w, w->stream.text.data, w->stream.text.len);
		/* A last event without the empty line after it. */
		else if (!w->has_answer)
			(void)eventstream_feed(&w->stream, "\n\n", 2);
	}
	w->done(w->arg, &w->reply);
}

struct mcpwire *
mcpwire_start(const struct mcpwire_peer *peer, struct arena *a,
	const struct mcpwire_request *r, mcpwire_done_fn done, void *arg,
	struct err *e)
{
	static uint64_t last_id;
	struct mcpwire *w = arena_zalloc(a, sizeof(*w));
	struct fetch_header header[HEADERS_MAX];
	struct fetch_request req = { .url = peer->config->url,
		.method = "POST",
		.accept = ACCEPT,
		.header = header,
		.on_data = take_data,
		.on_data_arg = w };
	struct buf b;
	size_t i;

	w->peer = *peer;
	w->a = a;
	w->id = ++last_id;
	w->is_notification = r->is_notification;
	w->done = done;
	w->arg = arg;
	eventstream_init(&w->stream, a, take_event, w);
	buf_init(&b, a);
	buf_puts(&b, "{\"jsonrpc\":\"2.0\"");
	if (!r->is_notification)
		buf_printf(&b, ",\"id\":%llu", (unsigned long long)w->id);
	buf_printf(&b, ",\"method\":\"%s\"", r->method);
	put_params(peer, &b, r->params);
	buf_putc(&b, '}');
	req.body = b.data;
	req.body_len = b.len;
	req.n_header = put_headers(peer, a, r->method, r->name, header);
	for (i = 0; i < r->n_header && req.n_header < HEADERS_MAX; i++)
		header[req.n_header++] = r->header[i];
	outbound_request(peer->env, peer->config, a, &req);
	if (r->timeout_ms > 0 && r->timeout_ms < req.timeout_ms)
		req.timeout_ms = r->timeout_ms;
	if (fetch_start(
		    peer->env->fetch, a, &req, fetch_done, w, &w->call, e) != 0)
		return NULL;
	return w;
}

void
mcpwire_cancel(struct mcpwire *w)
{
	if (w == NULL || w->call == NULL)
		return;
	fetch_cancel(w->call);
	w->call = NULL;
	tell_cancelled(w);
}
