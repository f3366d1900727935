/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/fault.h"

#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "http/res.h"
#include "rpc/msg.h"
#include "rpc/reply.h"

enum challenge {
	CHALLENGE_NONE,
	CHALLENGE_PLAIN, /* no credentials came: no error (RFC 6750 3.1) */
	CHALLENGE_EXPIRED,
	CHALLENGE_INVALID
};

struct row {
	const char *name;
	int status;
	int code; /* JSON-RPC; 0: the body is {"error":TEXT} */
	const char *text;
	enum challenge challenge;
	bool has_retry; /* retry-after: 2 */
};

static const struct row ROWS[FAULT__MAX] = {
	[FAULT_PATH] = { "path", 404, 0, "not_found" },
	[FAULT_METHOD] = { "method", 405, -32001, "Method not allowed" },
	[FAULT_REQUEST] = { "request", 400, -32600, "Bad Request" },
	[FAULT_HEADERS] = { "headers", 431, -32000,
		"Request headers too large" },
	[FAULT_BODY] = { "body", 413, -32000, "Request body too large" },
	[FAULT_HOST] = { "host", 421, -32000,
		"Host is not one of this endpoint" },
	[FAULT_ORIGIN] = { "origin", 403, -32000, "Origin is not allowed" },
	[FAULT_TOKEN_ABSENT] = { "token_absent", 401, 0, "unauthorized",
		CHALLENGE_PLAIN },
	[FAULT_TOKEN_EXPIRED] = { "token_expired", 401, 0, "unauthorized",
		CHALLENGE_EXPIRED },
	[FAULT_TOKEN_INVALID] = { "token_invalid", 401, 0, "unauthorized",
		CHALLENGE_INVALID },
	[FAULT_AUTH_DOWN] = { "auth_down", 503, -32001,
		"Authentication temporarily unavailable - please retry",
		CHALLENGE_NONE, true },
	[FAULT_CONTENT_TYPE] = { "content_type", 415, -32000,
		"Unsupported Media Type: Content-Type must be "
		"application/json" },
	[FAULT_ACCEPT_POST] = { "accept", 406, -32000,
		"Not Acceptable: Client must accept application/json or "
		"text/event-stream" },
	[FAULT_ACCEPT_GET] = { "accept", 406, -32000,
		"Not Acceptable: Client must accept text/event-stream" },
	[FAULT_PARSE] = { "parse", 400, -32700, "Parse error: Invalid JSON" },
	[FAULT_MESSAGE] = { "message", 400, -32600, "Invalid Request" },
	[FAULT_NO_ORGANIZATION] = { "no_organization", 403, -32001,
		"No organization in session \xe2\x80\x94 log in via the web "
		"app first" },
	[FAULT_SESSION_ABSENT_GET] = { "session_absent", 400, -32000,
		"mcp-session-id header required for SSE" },
	[FAULT_SESSION_ABSENT] = { "session_absent", 400, -32000,
		"Bad Request: mcp-session-id header is required" },
	[FAULT_SESSION_GONE] = { "session_gone", 404, -32001,
		"Session timed out due to inactivity \xe2\x80\x94 please "
		"reconnect" },
	[FAULT_SESSION_FOREIGN] = { "session_foreign", 403, -32003,
		"MCP session does not belong to the current bearer" },
	[FAULT_VERSION] = { "version", 400, -32022,
		"Unsupported protocol version" },
	[FAULT_DOWN] = { "down", 503, -32001,
		"Service temporarily unavailable - please retry",
		CHALLENGE_NONE, true },
	[FAULT_UPSTREAM] = { "upstream", 502, 0, "upstream_error" },
	[FAULT_INTERNAL] = { "internal", 500, -32603, "Internal error" },
};

/* What a step did not give a fault of its own is a fault of ours. */
static const enum fault BY_KIND[ERR__MAX] = {
	[ERR_NONE] = FAULT_INTERNAL,
	[ERR_INVALID] = FAULT_REQUEST,
	[ERR_UNAUTH] = FAULT_INTERNAL,
	[ERR_FORBIDDEN] = FAULT_INTERNAL,
	[ERR_NOTFOUND] = FAULT_INTERNAL,
	[ERR_CONFLICT] = FAULT_DOWN, /* a lost race, after the retry */
	[ERR_LIMIT] = FAULT_INTERNAL,
	[ERR_UNAVAILABLE] = FAULT_DOWN,
	[ERR_TIMEOUT] = FAULT_DOWN,
	[ERR_INTERNAL] = FAULT_INTERNAL,
};

enum fault
fault_of(const struct err *e)
{
	return BY_KIND[e->kind];
}

int
fault_status(enum fault fault)
{
	return ROWS[fault].status;
}

const char *
fault_name(enum fault fault)
{
	return ROWS[fault].name;
}

/* RFC 6750 3 and RFC 9728 5.1; BEHAVIOUR 3 fixes text and order. */
static void
put_challenge(struct res *r, const struct conf *conf, enum challenge c)
{
	static const char *const ERRORS[] = {
		[CHALLENGE_PLAIN] = "",
		[CHALLENGE_EXPIRED] = "error=\"invalid_token\", "
				      "error_description=\"The access token "
				      "expired\", ",
		[CHALLENGE_INVALID] = "error=\"invalid_token\", "
				      "error_description=\"The access token is "
				      "invalid\", ",
	};
	struct buf b;

	buf_init(&b, r->body.arena);
	buf_printf(&b, "Bearer %sresource_metadata=\"%s\"", ERRORS[c],
		conf->prm_url);
	res_header(r, "WWW-Authenticate", b.data);
}

void
fault_respond(struct res *r, const struct conf *conf, enum fault fault,
	const struct fault_answer *answer)
{
	static const struct fault_answer NO_ANSWER;
	const struct row *row = &ROWS[fault];
	const char *text = row->text;
	struct buf b;

	if (answer == NULL)
		answer = &NO_ANSWER;
	if (answer->text != NULL)
		text = answer->text;
	buf_init(&b, r->body.arena);
	if (row->code == 0) {
		buf_puts(&b, "{\"error\":");
		buf_jsons(&b, text);
		buf_putc(&b, '}');
	} else if (answer->msg != NULL && answer->msg->id != NULL) {
		reply_error(&b, answer->msg, row->code, text, answer->data);
	} else {
		reply_error_bare(&b,
			answer->omit_id ? REPLY_ID_OMIT : REPLY_ID_NULL,
			row->code, text, answer->data);
	}
	res_body(r, row->status, "application/json", b.data, b.len);
	if (row->challenge != CHALLENGE_NONE)
		put_challenge(r, conf, row->challenge);
	if (row->has_retry)
		res_header(r, "Retry-After", "2");
}
