/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/tools.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "mcp/listed.h"
#include "mcp/method.h"
#include "mcp/resume.h"
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

/* What there is more when the organisation has tools. */
static const char EXECUTE_TOOLS[] =
	"\n\nTools: the program calls the organisation's tools.\n"
	"1. `await tools.search({ query, namespace?, limit?, offset? })` gives "
	"`{ items: [{ path, description }], total, hasMore, nextOffset }`.\n"
	"2. `await tools.describe({ path })` gives the types of its argument "
	"and its result.\n"
	"3. `await tools.<path>({ ... })` calls it with one object and gives "
	"`{ ok: true, data }` or `{ ok: false, error: { code, message, "
	"retryable } }`. Independent calls: `await Promise.all([...])`.\n"
	"- `tools` cannot be enumerated: search.\n"
	"- Some calls need a human's approval. Then the program waits where it "
	"is and the result has status `waiting_for_interaction`: ask the user "
	"and pass the answer on with `resume`.\n"
	"- `structuredContent.calls` lists every call that was made.";

static const char EXECUTE_INPUT_SCHEMA[] =
	"{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\","
	"\"minLength\":1,\"description\":\"JavaScript or TypeScript source: "
	"the body of an async function, one expression, or one "
	"function.\"}},\"required\":[\"code\"],"
	"\"additionalProperties\":false}";

static const char EXECUTE_OUTPUT_SCHEMA[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"status\":{\"type\":\"string\",\"description\":\"completed, error, "
	"or waiting_for_interaction: then see interaction.\"},"
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
	"\"executionId\":{\"type\":\"string\"},"
	"\"deadline\":{\"type\":\"string\"},"
	"\"interaction\":{\"type\":\"object\",\"description\":\"What is asked: "
	"kind, message, requestedSchema, tool, args, seq.\"},"
	"\"interactions\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
	"\"calls\":{\"type\":\"array\",\"description\":\"Host calls made by "
	"the program.\",\"items\":{\"type\":\"object\"}}},"
	"\"required\":[\"status\",\"logs\"]}";

/* Without tools each run starts afresh and reaches nothing. */
static const char EXECUTE_ANNOTATIONS[] =
	"{\"title\":\"Execute code\",\"readOnlyHint\":true,"
	"\"destructiveHint\":false,\"idempotentHint\":true,"
	"\"openWorldHint\":false}";
static const char EXECUTE_TOOLS_ANNOTATIONS[] =
	"{\"title\":\"Execute code\",\"readOnlyHint\":false,"
	"\"destructiveHint\":true,\"idempotentHint\":false,"
	"\"openWorldHint\":true}";

static void
put_execute(struct buf *b, const struct method_caller *c,
	const char *inventory)
{
	enum revision r = c->revision;

	buf_puts(b, "{\"name\":\"execute\"");
	if (REVISION_HAS_TITLE(r))
		buf_puts(b, ",\"title\":\"Execute code\"");
	buf_puts(b, ",\"description\":");
	if (inventory == NULL)
		buf_jsons(b, EXECUTE_DESCRIPTION);
	else
		buf_jsons(b, arena_printf(c->arena, "%s%s%s",
			EXECUTE_DESCRIPTION, EXECUTE_TOOLS, inventory));
	buf_puts(b, ",\"inputSchema\":");
	buf_puts(b, EXECUTE_INPUT_SCHEMA);
	if (REVISION_HAS_OUTPUT_SCHEMA(r)) {
		buf_puts(b, ",\"outputSchema\":");
		buf_puts(b, EXECUTE_OUTPUT_SCHEMA);
	}
	if (REVISION_HAS_ANNOTATIONS(r)) {
		buf_puts(b, ",\"annotations\":");
		buf_puts(b, inventory == NULL ? EXECUTE_ANNOTATIONS :
						EXECUTE_TOOLS_ANNOTATIONS);
	}
	buf_putc(b, '}');
}

int
tools_list(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e)
{
	const char *inventory, *others;

	/* One page holds it all, so no cursor was ever given out. */
	if (cj_get(m->params, "cursor") != NULL)
		return method_bad_params(e, "Invalid cursor");
	buf_puts(result, "{\"tools\":[");
	if (c->catalog_version == 0) {
		put_execute(result, c, NULL);
	} else {
		if (listed_get(c, &inventory, &others, e) != 0)
			return -1;
		put_execute(result, c, inventory);
		if (resume_is_there(c))
			resume_list(c, result);
		buf_puts(result, others);
	}
	buf_puts(result, "]}");
	return 0;
}

/*
 * Wrong arguments are a result with isError in every revision: only so does
 * the model see the text and can do better (2025-11-25 tools, "Error
 * Handling").
 */
void
tools_bad_arguments(struct buf *result, const char *text)
{
	buf_puts(result, "{\"content\":[{\"type\":\"text\",\"text\":");
	buf_jsons(result, text);
	buf_puts(result, "}],\"isError\":true}");
}

static bool
has_tools(const struct method_caller *c)
{
	return c->catalog_version > 0;
}

struct run_env
tools_env(const struct method_caller *c)
{
	return (struct run_env){
		.conf = c->conf,
		.arena = c->arena,
		.db = c->db,
		.fetch = c->fetch,
		.pool = c->pool,
		.check = c->check,
		.keys = c->keys,
		.owner = { .issuer = c->caller.issuer,
			.account_id = c->caller.account_id,
			.organization_id = c->caller.organization_id },
		.session_id = c->session_id,
		.request_id = c->request_id,
		.deadline_ms = clock_mono_ms() + c->conf->front_timeout_s * 900,
		.has_tools = has_tools(c),
		.is_structured = REVISION_HAS_STRUCTURED(c->revision),
	};
}

static int
call_execute(const struct method_caller *c, const struct cJSON *arguments,
	struct buf *result, struct err *e)
{
	const char *code = cj_get_string(arguments, "code");
	struct run_env env = tools_env(c);
	const struct cJSON *v;

	for (v = cj_first(arguments); v != NULL; v = cj_next(v))
		if (strcmp(cj_name(v), "code") != 0) {
			tools_bad_arguments(result,
				"Invalid arguments for tool execute: the only "
				"argument is `code`");
			return 0;
		}
	if (code == NULL || code[strspn(code, " \t\r\n")] == '\0') {
		tools_bad_arguments(result,
			"Invalid arguments for tool execute: `code` must be a "
			"string that is not blank");
		return 0;
	}
	return run_execute(&env, code, result, e);
}

/* A tool of the catalogue that is listed; *IS_THERE false: NAME is none. */
static int
call_listed(const struct method_caller *c, const char *name,
	const struct msg *m, bool *is_there, struct buf *result,
	struct err *e)
{
	struct run_env env = tools_env(c);
	size_t off = 0, len = 0;
	const char *path;

	*is_there = false;
	if (c->listed_tools == 0)
		return 0;
	if (listed_find(c, name, &path, e) != 0)
		return -1;
	if (path == NULL)
		return 0;
	*is_there = true;
	if (cj_raw_member(m->params_text, m->params_len, "arguments", &off,
		    &len))
		return run_tool(&env, path,
			arena_memdup(c->arena, m->params_text + off, len),
			len, result, e);
	return run_tool(&env, path, "{}", 2, result, e);
}

int
tools_call(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e)
{
	const char *name = cj_get_string(m->params, "name");
	const struct cJSON *arguments = cj_get(m->params, "arguments");
	bool is_there;
	char pub[96];

	if (name == NULL)
		return method_bad_params(e, "name must be a string");
	if (arguments != NULL && !cj_is_object(arguments))
		return method_bad_params(e, "arguments must be an object");
	if (strcmp(name, "execute") == 0)
		return call_execute(c, arguments, result, e);
	if (strcmp(name, "resume") == 0 && resume_is_there(c))
		return resume_call(c, arguments, result, e);
	if (call_listed(c, name, m, &is_there, result, e) != 0)
		return -1;
	if (is_there)
		return 0;
	snprintf(pub, sizeof(pub), "Unknown tool: %.*s",
		(int)buf_utf8_prefix(name, strlen(name), 64), name);
	return method_bad_params(e, pub);
}
