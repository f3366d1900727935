/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/builtin.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/log.h"
#include "run/call.h"
#include "run/check.h"
#include "run/run.h"
#include "run/sandbox.h"
#include "store/catalog.h"

enum { LIMIT_DEFAULT = 12, LIMIT_MAX = 100 };

static void
unavailable(struct call_answer *answer, struct arena *a, struct err *e)
{
	log_err(LOG_LEVEL_WARN, "call.failed", e);
	call_fail(answer, a, CALL_FAILED,
		&(struct call_fault){ .code = "unavailable",
			.message = "The catalogue cannot be read at the "
				   "moment; try again",
			.is_retryable = true });
}

static const struct cJSON *
parse(struct arena *a, const struct sandbox_call *c)
{
	const struct cj_limits limits = { .depth_max = 16,
		.dup = CJ_DUP_ALLOW };
	struct cJSON *v;
	struct err e;

	err_clear(&e);
	return cj_parse(a, c->args, c->args_len, &limits, &v, &e) == 0 ? v :
									 NULL;
}

static void
search(const struct run_env *env, struct arena *a,
	const struct sandbox_call *c, struct call_answer *answer)
{
	const struct cJSON *args = parse(a, c);
	struct catalog_query q = { .query = cj_get_string(args, "query"),
		.name_space = cj_get_string(args, "namespace"),
		.limit = LIMIT_DEFAULT };
	const char *items;
	int64_t total, next;
	struct buf b;
	struct err e;

	(void)cj_get_int(args, "limit", 1, INT32_MAX, &q.limit);
	(void)cj_get_int(args, "offset", 0, INT32_MAX, &q.offset);
	if (q.limit > LIMIT_MAX)
		q.limit = LIMIT_MAX;
	err_clear(&e);
	if (catalog_search(env->db, a, env->owner.organization_id, &q, &total,
		    &items, &e) != 0) {
		unavailable(answer, a, &e);
		return;
	}
	next = q.offset + q.limit;
	buf_init(&b, a);
	buf_printf(&b, "{\"items\":%s,\"total\":%" PRId64 ",", items, total);
	if (next < total)
		buf_printf(&b, "\"hasMore\":true,\"nextOffset\":%" PRId64 "}",
			next);
	else
		buf_puts(&b, "\"hasMore\":false,\"nextOffset\":null}");
	call_succeed(answer, b.data, b.len);
}

/* ,"NAME":the type of SCHEMA, or the schema itself if it is no good. */
static void
put_type(const struct run_env *env, struct buf *b, const char *name,
	const char *schema_name, const char *schema)
{
	const char *type = NULL;
	struct err e;

	if (schema == NULL)
		return;
	err_clear(&e);
	if (env->check != NULL &&
		check_signature(env->check, schema, strlen(schema), b->arena,
			&type, &e) != 0) {
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
		type = NULL;
	}
	if (type == NULL) {
		buf_printf(b, ",\"%s\":%s", schema_name, schema);
		return;
	}
	buf_printf(b, ",\"%s\":", name);
	buf_jsons(b, type);
}

static void
put_tool(const struct run_env *env, struct buf *b,
	const struct catalog_tool *t)
{
	buf_puts(b, "{\"path\":");
	buf_jsons(b, t->path);
	buf_puts(b, ",\"name\":");
	buf_jsons(b, t->name);
	if (t->title != NULL) {
		buf_puts(b, ",\"title\":");
		buf_jsons(b, t->title);
	}
	if (t->description != NULL) {
		buf_puts(b, ",\"description\":");
		buf_jsons(b, t->description);
	}
	put_type(env, b, "inputTypeScript", "inputSchema", t->input_schema);
	put_type(env, b, "outputTypeScript", "outputSchema",
		t->output_schema);
	buf_puts(b, ",\"call\":");
	buf_jsons(b, arena_printf(b->arena, "await tools.%s(args)", t->path));
	buf_printf(b, ",\"needsApproval\":%s}",
		t->needs_approval ? "true" : "false");
}

static void
describe(const struct run_env *env, struct arena *a,
	const struct sandbox_call *c, struct call_answer *answer)
{
	const char *path = cj_get_string(parse(a, c), "path"), *suggestions;
	enum catalog_outcome outcome;
	struct catalog_tool t;
	struct buf b;
	struct err e;

	if (path == NULL)
		path = "";
	err_clear(&e);
	if (catalog_find(env->db, a, env->owner.organization_id, path,
		    &outcome, &t, &suggestions, &e) != 0) {
		unavailable(answer, a, &e);
		return;
	}
	buf_init(&b, a);
	if (outcome == CATALOG_OK) {
		put_tool(env, &b, &t);
	} else {
		builtin_not_found(answer, a, path, suggestions);
		buf_puts(&b, "{\"path\":");
		buf_jsons(&b, path);
		buf_puts(&b, ",\"name\":");
		buf_jsons(&b, path);
		buf_printf(&b, ",\"error\":%s}", answer->json);
	}
	call_succeed(answer, b.data, b.len);
}

bool
builtin_call(const struct run_env *env, struct arena *a,
	const struct sandbox_call *c, struct call_answer *answer)
{
	if (strcmp(c->path, SANDBOX_CALL_SEARCH) == 0)
		search(env, a, c, answer);
	else if (strcmp(c->path, SANDBOX_CALL_DESCRIBE) == 0)
		describe(env, a, c, answer);
	else
		return false;
	return true;
}

void
builtin_not_found(struct call_answer *answer, struct arena *a,
	const char *path, const char *suggestions)
{
	bool has_any = suggestions != NULL && strcmp(suggestions, "[]") != 0;
	const char *shown = arena_memdup(a, path,
		buf_utf8_prefix(path, strlen(path), 200));

	call_fail(answer, a, CALL_FAILED,
		&(struct call_fault){ .code = "tool_not_found",
			.message = arena_printf(a,
				"There is no tool %s. %s", shown,
				has_any ? "Perhaps one of the suggestions is "
					  "meant." :
					  "Find one with await tools.search({ "
					  "query: \"words\" })."),
			.details = has_any ? arena_printf(a,
						     "{\"suggestions\":%s}",
						     suggestions) :
					     NULL });
}
