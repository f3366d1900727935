/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/resume.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "mcp/method.h"
#include "mcp/tools.h"
#include "run/run.h"

static const char DESCRIPTION[] =
	"Pass a human's decision on to a program that waits for it: a result "
	"of `execute` (or of another tool) with status "
	"waiting_for_interaction.\n\n"
	"- Never call this without the user's own decision.\n"
	"- `action`: accept, decline or cancel. `seq`: which question, as "
	"given with it. `content`: what a question with a schema asks for.\n"
	"- The program goes on where it stopped; the result is its result, or "
	"the next thing that it waits for.\n"
	"- Calling it again with the same values gives the same outcome and "
	"does nothing twice.";

static const char INPUT_SCHEMA[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"executionId\":{\"type\":\"string\",\"description\":\"As given by "
	"the result that waits.\"},"
	"\"action\":{\"type\":\"string\",\"enum\":[\"accept\",\"decline\","
	"\"cancel\"],\"description\":\"What the user decided.\"},"
	"\"content\":{\"type\":\"object\",\"description\":\"The answer to a "
	"question, by its requestedSchema.\"},"
	"\"seq\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Which "
	"question, where several were asked.\"}},"
	"\"required\":[\"executionId\",\"action\"],"
	"\"additionalProperties\":false}";

static const char ANNOTATIONS[] =
	"{\"title\":\"Resume\",\"readOnlyHint\":false,"
	"\"destructiveHint\":true,\"idempotentHint\":true,"
	"\"openWorldHint\":true}";

bool
resume_is_there(const struct method_caller *c)
{
	return c->keys != NULL && c->catalog_version > 0;
}

void
resume_list(const struct method_caller *c, struct buf *out)
{
	buf_puts(out, ",{\"name\":\"resume\"");
	if (REVISION_HAS_TITLE(c->revision))
		buf_puts(out, ",\"title\":\"Resume\"");
	buf_puts(out, ",\"description\":");
	buf_jsons(out, DESCRIPTION);
	buf_puts(out, ",\"inputSchema\":");
	buf_puts(out, INPUT_SCHEMA);
	if (REVISION_HAS_ANNOTATIONS(c->revision)) {
		buf_puts(out, ",\"annotations\":");
		buf_puts(out, ANNOTATIONS);
	}
	buf_putc(out, '}');
}

/*
 * Models write the content as an object or as the text of one; {} is none,
 * and so is what is no object (PRIOR-SYSTEM 4.3).
 */
static const char *
content_of(const struct method_caller *c, const struct cJSON *v)
{
	const struct cj_limits limits = { .depth_max = 64 };
	struct cJSON *parsed;
	struct err e;

	err_clear(&e);
	if (cj_string(v) != NULL && cj_parse(c->arena, cj_string(v),
					    strlen(cj_string(v)), &limits,
					    &parsed, &e) == 0)
		v = parsed;
	if (!cj_is_object(v) || cj_first(v) == NULL)
		return NULL;
	return cj_print(c->arena, v);
}

static bool
is_action(const char *s)
{
	return s != NULL && (strcmp(s, "accept") == 0 ||
		strcmp(s, "decline") == 0 || strcmp(s, "cancel") == 0);
}

int
resume_call(const struct method_caller *c, const struct cJSON *arguments,
	struct buf *result, struct err *e)
{
	struct run_word word = { .id = cj_get_string(arguments,
					 "executionId"),
		.action = cj_get_string(arguments, "action"),
		.seq = -1 };
	const struct cJSON *seq = cj_get(arguments, "seq");
	struct run_env env = tools_env(c);

	if (word.id == NULL || !is_action(word.action)) {
		tools_bad_arguments(result,
			"Invalid arguments for tool resume: `executionId` "
			"must be a string and `action` one of accept, "
			"decline, cancel");
		return 0;
	}
	if (seq != NULL && !cj_is_null(seq) &&
		!cj_get_int(arguments, "seq", 0, INT32_MAX, &word.seq)) {
		tools_bad_arguments(result,
			"Invalid arguments for tool resume: `seq` must be a "
			"whole number");
		return 0;
	}
	word.content = content_of(c, cj_get(arguments, "content"));
	return run_resume(&env, &word, result, e);
}
