/* SPDX-License-Identifier: ISC */
/*
 * mcpwire: requests to an upstream MCP server over Streamable HTTP, of both
 * eras: with a session (2024-11-05 to 2025-11-25) and without (2026-07-28).
 *
 * What the server asks on the way is answered: a ping, and for anything else
 * that it is not supported; progress and log messages are ignored.
 */
#ifndef RUN_MCPWIRE_H
#define RUN_MCPWIRE_H

#include "base/err.h"

struct arena;
struct cJSON;
struct fetch_header;
struct mcpwire;
struct outbound;
struct outbound_env;

#define MCPWIRE_LEGACY "2025-11-25" /* offered */
#define MCPWIRE_MODERN "2026-07-28"

struct mcpwire_peer {
	const struct outbound_env *env;
	const struct outbound *config; /* its secrets unlocked */
	bool is_modern;
	const char *version;	/* negotiated; NULL before initialize */
	const char *session_id; /* NULL: none */
};

struct mcpwire_reply {
	struct err err; /* kind ERR_NONE: there is an answer */
	bool was_sent;
	int status;
	/* Of the JSON-RPC answer, without secrets; both NULL: it was none. */
	const struct cJSON *result, *error;
	const char *result_text; /* its source */
	size_t result_len;
	const char *session_id; /* Mcp-Session-Id, or NULL */
	/* The scopes that a 403 asks for, "" unsaid; NULL: it asks for none. */
	const char *scope;
};

typedef void (*mcpwire_done_fn)(void *arg, const struct mcpwire_reply *reply);

struct mcpwire_request {
	const char *method;
	const char *params; /* members of params, "\"name\":..."; or "" */
	const char *name;   /* Mcp-Name, or NULL */
	const struct fetch_header *header; /* Mcp-Param-..., or NULL */
	size_t n_header;
	int64_t timeout_ms;
	bool is_notification; /* done when the server has it */
};

/*
 * Begin a request.  DONE is called once from fetch_poll, unless it is
 * cancelled.  All lives in A.  NULL: it cannot be sent.
 */
struct mcpwire *mcpwire_start(const struct mcpwire_peer *peer, struct arena *a,
	const struct mcpwire_request *req, mcpwire_done_fn done, void *arg,
	struct err *e);

/* Stop, and tell the server.  NULL is fine. */
void mcpwire_cancel(struct mcpwire *w);

/* Send and forget: a notification, or the end of the peer's session. */
void mcpwire_notify(const struct mcpwire_peer *peer, struct arena *a,
	const char *method, const char *params);
void mcpwire_end_session(const struct mcpwire_peer *peer, struct arena *a);

/* VALUE as the value of Mcp-Name or Mcp-Param-...: base64 where it must. */
const char *mcpwire_header_value(struct arena *a, const char *value);

#endif
