/* SPDX-License-Identifier: ISC */
/*
 * tool_http: operations of HTTP APIs as tools.
 *
 * source.config: see run/outbound.h; tool.definition: see run/httpargs.h.
 *
 * An answer of 200 to 299 is data (run/httpbody.h says how), any other an
 * error {code, message, status, retryable, details}, details being its body.
 * No answer to a request that may have had an effect is CALL_UNKNOWN.
 */
#ifndef RUN_TOOL_HTTP_H
#define RUN_TOOL_HTTP_H

struct arena;
struct call_answer;
struct outbound_env;
struct tool_http;

/*
 * Begin a call with ARGS, the text of a JSON object.  NULL: it cannot begin,
 * *ANSWER in A says why.  CONFIG, DEFINITION, ARGS and ENV last as long as it.
 * Goes on in fetch_poll.
 */
struct tool_http *tool_http_start(const struct outbound_env *env,
	struct arena *a, const char *config, const char *definition,
	const char *args, size_t args_len, struct call_answer *answer);

/* True: it is over, with *ANSWER in the arena. */
bool tool_http_step(struct tool_http *t, struct call_answer *answer);

/* Cancels it when it is not over. */
void tool_http_close(struct tool_http *t);

#endif
