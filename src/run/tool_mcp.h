/* SPDX-License-Identifier: ISC */
/*
 * tool_mcp: tools of upstream MCP servers.
 *
 * source.config: see run/outbound.h, and "era": "modern" or "legacy" (the
 * default); tool.definition: {"name": at the upstream, "param_headers":
 * [{"name", "path": [names of properties]}]}.
 *
 * A legacy server's session is shared by all processes.  A server that lost
 * it (it says so with 404, 400, 401, or an error in a 200) gets one new one;
 * the call is repeated only when it was refused as a whole, or when the tool
 * says that this does no harm.  What the tool returns is its
 * structuredContent, else its text, as JSON when it is JSON.
 */
#ifndef RUN_TOOL_MCP_H
#define RUN_TOOL_MCP_H

struct arena;
struct call_answer;
struct err;
struct outbound_env;
struct tool_mcp;
struct upstream_session;

/* Where sessions are kept: store/upstream.h for one source. */
struct tool_mcp_store {
	int (*find)(void *arg, struct arena *a, struct upstream_session *out,
		struct err *e);
	int (*save)(void *arg, struct arena *a,
		const struct upstream_session *s, bool *was_saved,
		struct err *e);
	int (*drop)(void *arg, struct arena *a, const char *session_id,
		struct err *e);
	void *arg;
};

struct tool_mcp_call {
	const char *config;
	const char *definition;
	const char *annotations; /* JSON, or NULL */
	const char *args;	 /* a JSON object */
	size_t args_len;
};

/*
 * Begin a call.  NULL: it cannot begin, *ANSWER in A says why.  ENV, STORE
 * (NULL: a session for this call alone) and what CALL points to last as long
 * as it.  Goes on in fetch_poll.
 */
struct tool_mcp *tool_mcp_start(const struct outbound_env *env,
	const struct tool_mcp_store *store, struct arena *a,
	const struct tool_mcp_call *call, struct call_answer *answer);

/* True: it is over, with *ANSWER in the arena. */
bool tool_mcp_step(struct tool_mcp *t, struct call_answer *answer);

/* Cancels it, at the server too, when it is not over. */
void tool_mcp_close(struct tool_mcp *t);

#endif
