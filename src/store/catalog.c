/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/catalog.h"

#include "base/arena.h"
#include "base/err.h"
#include "store/db.h"

DB_STMT(FIND, "catalog_find_1",
	"SELECT outcome, tool_id, source_id, kind, source_name, name, path,"
	" title, description, config, definition, input_schema,"
	" output_schema, annotations, action, policy_pattern, approval_text,"
	" suggestions FROM mcp.tool_find($1, $2)",
	2, 18);

DB_STMT(LISTED, "catalog_listed_1",
	"SELECT path, title, description, input_schema, output_schema,"
	" annotations FROM mcp.tool_listed($1)",
	1, 6);

DB_STMT(SEARCH, "catalog_search_1",
	"SELECT total, items FROM mcp.tool_search($1, $2, $3, $4, $5)", 5, 2);

DB_STMT(SOURCES, "catalog_sources_1",
	"SELECT name, title, kind, tools FROM mcp.source_inventory($1)", 1, 4);

static const char *const KINDS[CATALOG_KIND__MAX] = {
	[CATALOG_SCRIPT] = "script",
	[CATALOG_SQL] = "sql",
	[CATALOG_HTTP] = "http",
	[CATALOG_MCP] = "mcp",
};

const char *
catalog_kind_name(enum catalog_kind kind)
{
	return KINDS[kind];
}

int
catalog_kind_parse(const char *name, enum catalog_kind *out)
{
	size_t i;

	for (i = 0; name != NULL && i < NELEM(KINDS); i++) {
		if (strcmp(KINDS[i], name) == 0) {
			*out = (enum catalog_kind)i;
			return 0;
		}
	}
	return -1;
}

int
catalog_find(struct db *db, struct arena *a, const char *organization_id,
	const char *path, enum catalog_outcome *outcome,
	struct catalog_tool *out, const char **suggestions, struct err *e)
{
	const char *params[2] = { organization_id, path };
	const char *s;
	struct db_res r;

	*out = (struct catalog_tool){ 0 };
	if (suggestions != NULL)
		*suggestions = NULL;
	if (db_run(db, a, &FIND, params, &r, e) != 0)
		return err_wrap(e, "tool");
	s = db_text(&r, 0, 0);
	out->path = db_text(&r, 0, 6);
	out->policy = db_text(&r, 0, 15);
	if (s != NULL && strcmp(s, "not_found") == 0) {
		*outcome = CATALOG_NOT_FOUND;
		if (suggestions != NULL)
			*suggestions = db_text(&r, 0, 17);
		return 0;
	}
	if (s != NULL && strcmp(s, "blocked") == 0) {
		*outcome = CATALOG_BLOCKED;
		return 0;
	}
	if (s == NULL || strcmp(s, "ok") != 0 ||
		catalog_kind_parse(db_text(&r, 0, 3), &out->kind) != 0)
		return err_set(e, ERR_INTERNAL, NULL, "tool: unknown answer");
	*outcome = CATALOG_OK;
	out->tool_id = db_int(&r, 0, 1);
	out->source_id = db_int(&r, 0, 2);
	out->source = db_text(&r, 0, 4);
	out->name = db_text(&r, 0, 5);
	out->title = db_text(&r, 0, 7);
	out->description = db_text(&r, 0, 8);
	out->config = db_text(&r, 0, 9);
	out->definition = db_text(&r, 0, 10);
	out->input_schema = db_text(&r, 0, 11);
	out->output_schema = db_text(&r, 0, 12);
	out->annotations = db_text(&r, 0, 13);
	/* Anything but a clear "approve" asks. */
	s = db_text(&r, 0, 14);
	out->needs_approval = s == NULL || strcmp(s, "approve") != 0;
	out->approval_text = db_text(&r, 0, 16);
	return 0;
}

int
catalog_listed(struct db *db, struct arena *a, const char *organization_id,
	struct catalog_tool **out, size_t *n, struct err *e)
{
	struct catalog_tool *t;
	struct db_res r;
	int i;

	if (db_run(db, a, &LISTED, &organization_id, &r, e) != 0)
		return err_wrap(e, "listed tools");
	*n = (size_t)r.n_rows;
	*out = arena_calloc(a, *n + 1, sizeof(**out));
	for (i = 0; i < r.n_rows; i++) {
		t = &(*out)[i];
		t->path = db_text(&r, i, 0);
		t->title = db_text(&r, i, 1);
		t->description = db_text(&r, i, 2);
		t->input_schema = db_text(&r, i, 3);
		t->output_schema = db_text(&r, i, 4);
		t->annotations = db_text(&r, i, 5);
	}
	return 0;
}

int
catalog_search(struct db *db, struct arena *a, const char *organization_id,
	const struct catalog_query *q, int64_t *total, const char **items,
	struct err *e)
{
	const char *params[5];
	struct db_res r;

	params[0] = organization_id;
	params[1] = q->query;
	params[2] = q->name_space;
	params[3] = db_number(a, q->limit);
	params[4] = db_number(a, q->offset);
	if (db_run(db, a, &SEARCH, params, &r, e) != 0)
		return err_wrap(e, "search");
	*total = db_int(&r, 0, 0);
	*items = db_text(&r, 0, 1);
	return 0;
}

int
catalog_sources(struct db *db, struct arena *a, const char *organization_id,
	struct catalog_source **out, size_t *n, struct err *e)
{
	struct db_res r;
	int i;

	if (db_run(db, a, &SOURCES, &organization_id, &r, e) != 0)
		return err_wrap(e, "sources");
	*n = (size_t)r.n_rows;
	*out = arena_calloc(a, *n + 1, sizeof(**out));
	for (i = 0; i < r.n_rows; i++) {
		struct catalog_source *s = &(*out)[i];

		s->name = db_text(&r, i, 0);
		s->title = db_text(&r, i, 1);
		if (catalog_kind_parse(db_text(&r, i, 2), &s->kind) != 0)
			return err_set(e, ERR_INTERNAL, NULL, "unknown kind");
		s->n_tools = db_int(&r, i, 3);
	}
	return 0;
}
