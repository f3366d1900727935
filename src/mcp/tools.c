/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/tools.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "mcp/method.h"
#include "rpc/msg.h"
#include "run/run.h"

/*
 * The description is for a model that has never seen this tool: what it gets,
 * what it must not try, what comes back.  It is short, since every
 * conversation carries it (PRIOR-SYSTEM 8, "Context bloat").
 */
static const char EXECUTE_DESCRIPTION[] =
	"Run a JavaScript (or TypeScript) program in a fresh sandbox and get "
	"its result.\n\n"
	"- `code` is the body of an async function: use `await` freely and "
	"`return` the value you want. A single expression such as `1 + 1` or a "
	"single function returns its value without `return`.\n"
	"- The value comes back as JSON in `structuredContent.result` and as "
	"text. Return only what you need: filter and summarise in the program. "
	"Text over 30,000 characters is cut and says so.\n"
	"- `console.log` and its kin come back in `structuredContent.logs`.\n"
	"- Types are stripped, not checked. Modern JavaScript works; there is "
	"no DOM, no Node.js, no `fetch`, no timers, no `import` or `require`, "
	"no files and no network.\n"
	"- Nothing is kept between calls. Each run has a time and a memory "
	"limit; a failed run says which line failed or which limit it hit.";

static const char EXECUTE_INPUT_SCHEMA[] =
	"{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\","
	"\"minLength\":1,\"description\":\"JavaScript or TypeScript source: "
	"the body of an async function, one expression, or one "
	"function.\"}},\"required\":[\"code\"],"
	"\"additionalProperties\":false}";

static const char EXECUTE_OUTPUT_SCHEMA[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"status\":{\"type\":\"string\",\"enum\":[\"completed\",\"error\"]},"
	"\"result\":{\"description\":\"What the program returned; null when "
	"nothing.\"},"
	"\"logs\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"error\":{\"type\":\"string\"},"
	"\"line\":{\"type\":\"integer\"},"
	"\"column\":{\"type\":\"integer\"},"
	"\"outcome\":{\"type\":\"string\",\"description\":\"finished, failed, "
	"not_started, or the limit that ended the run.\"},"
	"\"started\":{\"type\":\"boolean\",\"description\":\"Whether any of "
	"the program may have run.\"},"
	"\"truncated\":{\"type\":\"boolean\",\"description\":\"True when "
	"parts of result were left out to fit.\"},"
	"\"calls\":{\"type\":\"array\",\"description\":\"Host calls made by "
	"the program.\",\"items\":{\"type\":\"object\"}}},"
	"\"required\":[\"status\",\"logs\"]}";

/* Each run starts afresh and reaches nothing: it cannot change anything. */
static const char EXECUTE_ANNOTATIONS[] =
	"{\"title\":\"Execute code\",\"readOnlyHint\":true,"
	"\"destructiveHint\":false,\"idempotentHint\":true,"
	"\"openWorldHint\":false}";

static void
put_execute(struct buf *b, enum revision r)
{
	buf_puts(b, "{\"name\":\"execute\"");
	if (REVISION_HAS_TITLE(r))
		buf_puts(b, ",\"title\":\"Execute code\"");
	buf_puts(b, ",\"description\":");
	buf_jsons(b, EXECUTE_DESCRIPTION);
	buf_puts(b, ",\"inputSchema\":");
	buf_puts(b, EXECUTE_INPUT_SCHEMA);
	if (REVISION_HAS_OUTPUT_SCHEMA(r)) {
		buf_puts(b, ",\"outputSchema\":");
		buf_puts(b, EXECUTE_OUTPUT_SCHEMA);
	}
	if (REVISION_HAS_ANNOTATIONS(r)) {
		buf_puts(b, ",\"annotations\":");
		buf_puts(b, EXECUTE_ANNOTATIONS);
	}
	buf_putc(b, '}');
}

static int
invalid_params(struct err *e, const char *pub)
{
	err_set(e, ERR_INVALID, pub, "%s", pub);
	e->rpc_code = MSG_INVALID_PARAMS;
	return -1;
}

int
tools_list(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e)
{
	/* One page holds it all, so no cursor was ever given out. */
	if (cj_get(m->params, "cursor") != NULL)
		return invalid_params(e, "Invalid cursor");
	buf_puts(result, "{\"tools\":[");
	put_execute(result, c->revision);
	buf_puts(result, "]}");
	return 0;
}

/*
 * Wrong arguments are a result with isError in every revision: only so does
 * the model see the text and can do better (2025-11-25 tools, "Error
 * Handling").
 */
static void
put_argument_error(struct buf *result, const char *text)
{
	buf_puts(result, "{\"content\":[{\"type\":\"text\",\"text\":");
	buf_jsons(result, text);
	buf_puts(result, "}],\"isError\":true}");
}

static int
call_execute(const struct method_caller *c, const struct cJSON *arguments,
	struct buf *result, struct err *e)
{
	const char *code = cj_get_string(arguments, "code");
	const struct cJSON *v;

	for (v = cj_first(arguments); v != NULL; v = cj_next(v))
		if (strcmp(cj_name(v), "code") != 0) {
			put_argument_error(result,
				"Invalid arguments for tool execute: the only "
				"argument is `code`");
			return 0;
		}
	if (code == NULL || code[strspn(code, " \t\r\n")] == '\0') {
		put_argument_error(result,
			"Invalid arguments for tool execute: `code` must be a "
			"string that is not blank");
		return 0;
	}
	return run_execute(c->conf, c->arena, code,
		REVISION_HAS_STRUCTURED(c->revision), c->request_id, result,
		e);
}

int
tools_call(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e)
{
	const char *name = cj_get_string(m->params, "name");
	const struct cJSON *arguments = cj_get(m->params, "arguments");
	char pub[96];

	if (name == NULL)
		return invalid_params(e, "name must be a string");
	if (arguments != NULL && !cj_is_object(arguments))
		return invalid_params(e, "arguments must be an object");
	if (strcmp(name, "execute") == 0)
		return call_execute(c, arguments, result, e);
	snprintf(pub, sizeof(pub), "Unknown tool: %.*s",
		(int)buf_utf8_prefix(name, strlen(name), 64), name);
	return invalid_params(e, pub);
}
