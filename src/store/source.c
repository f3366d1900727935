/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/source.h"

#include "base/err.h"
#include "store/db.h"

/* The audit row is part of the statement: neither exists without the other. */
DB_STMT(SAVE, "source_save_1",
	"WITH put AS ("
	" INSERT INTO mcp.source AS s (organization_id, name, kind, title,"
	"  config) VALUES ($1, $2, $3, $4, $5)"
	" ON CONFLICT (organization_id, name) DO UPDATE"
	"  SET title = excluded.title, config = excluded.config"
	"  WHERE s.kind = excluded.kind"
	" RETURNING source_id, organization_id, name, kind"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, organization_id, detail)"
	" SELECT 'source.saved', organization_id,"
	"  jsonb_build_object('name', name, 'kind', kind) FROM put"
	") SELECT source_id FROM put",
	5, 1);

DB_STMT(FIND, "source_find_1",
	"SELECT source_id, kind, title, config, is_enabled FROM mcp.source"
	" WHERE organization_id = $1 AND name = $2",
	2, SOURCE_FIND_COLUMNS);

DB_STMT(REMOVE, "source_remove_1",
	"WITH gone AS ("
	" DELETE FROM mcp.source WHERE organization_id = $1 AND name = $2"
	" RETURNING organization_id, name"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, organization_id, detail)"
	" SELECT 'source.removed', organization_id,"
	"  jsonb_build_object('name', name) FROM gone"
	") SELECT count(*) FROM gone",
	2, 1);

DB_STMT(ENABLE, "source_enable_1",
	"WITH done AS ("
	" UPDATE mcp.source SET is_enabled = $3"
	" WHERE organization_id = $1 AND name = $2 RETURNING source_id"
	") SELECT count(*) FROM done",
	3, 1);

DB_STMT(IMPORT, "source_import_1",
	"SELECT added, changed, removed FROM mcp.tool_import($1, $2)", 2, 3);

DB_STMT(TOOL_SAVE, "source_tool_save_1", "SELECT mcp.tool_save($1, $2)", 2, 1);

DB_STMT(TOOL_REMOVE, "source_tool_remove_1",
	"WITH gone AS ("
	" DELETE FROM mcp.tool WHERE organization_id = $1 AND path = $2"
	" RETURNING tool_id"
	") SELECT count(*) FROM gone",
	2, 1);

DB_STMT(TOOL_SET, "source_tool_set_1",
	"WITH done AS ("
	" UPDATE mcp.tool SET is_listed = coalesce($3, is_listed),"
	"  is_enabled = coalesce($4, is_enabled)"
	" WHERE organization_id = $1 AND path = $2 RETURNING tool_id"
	") SELECT count(*) FROM done",
	4, 1);

DB_STMT(TOOL_FIND, "source_tool_find_1",
	"SELECT t.path, s.kind, t.title, t.description, t.is_listed,"
	" t.is_enabled, s.is_enabled,"
	" coalesce(mcp.policy_action(t.organization_id, t.path),"
	"  CASE WHEN t.needs_approval THEN 'require_approval'"
	"   ELSE 'approve' END),"
	" t.needs_approval, t.approval_text, mcp.iso(t.updated_at),"
	" t.annotations, t.input_schema, t.output_schema, t.definition"
	" FROM mcp.tool t JOIN mcp.source s USING (source_id)"
	" WHERE t.organization_id = $1 AND t.path = $2",
	2, SOURCE_TOOL_FIND_COLUMNS);

DB_STMT(ROLE, "source_role_1",
	"SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = $1"
	" AND (rolsuper OR pg_catalog.has_schema_privilege(oid, 'mcp',"
	"  'USAGE'))",
	1, 1);

DB_STMT(LIST, "source_list_1",
	"SELECT s.organization_id, s.name, s.kind, s.title, s.is_enabled,"
	" (SELECT count(*) FROM mcp.tool t WHERE t.source_id = s.source_id),"
	" mcp.iso(s.refreshed_at) FROM mcp.source s"
	" WHERE $1::text IS NULL OR s.organization_id = $1"
	" ORDER BY s.organization_id, s.name",
	1, SOURCE_LIST_COLUMNS);

DB_STMT(TOOL_LIST, "source_tool_list_1",
	"SELECT t.path, s.kind, t.is_listed, t.is_enabled AND s.is_enabled,"
	" coalesce(mcp.policy_action(t.organization_id, t.path),"
	"  CASE WHEN t.needs_approval THEN 'require_approval'"
	"   ELSE 'approve' END), t.title"
	" FROM mcp.tool t JOIN mcp.source s USING (source_id)"
	" WHERE t.organization_id = $1"
	" AND ($2::text IS NULL OR t.source_name = $2) ORDER BY t.path",
	2, SOURCE_TOOL_LIST_COLUMNS);

/* Run S, whose one column says how many rows it met. */
static int
run_count(struct db *db, struct arena *a, const struct db_stmt *s,
	const char *const *params, bool *was_there, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, s, params, &r, e) != 0)
		return err_wrap(e, "catalogue");
	*was_there = db_int(&r, 0, 0) > 0;
	return 0;
}

int
source_save(struct db *db, struct arena *a, const struct source *s,
	int64_t *id, struct err *e)
{
	const char *params[5] = { s->organization_id, s->name, s->kind,
		s->title, s->config };
	struct db_res r;

	if (db_run(db, a, &SAVE, params, &r, e) != 0)
		return err_wrap(e, "source");
	if (r.n_rows == 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"there is a source of that name and another kind");
	*id = db_int(&r, 0, 0);
	return 0;
}

int
source_find(struct db *db, struct arena *a, const char *organization_id,
	const char *name, struct db_res *out, struct err *e)
{
	const char *params[2] = { organization_id, name };

	if (db_run(db, a, &FIND, params, out, e) != 0)
		return err_wrap(e, "source");
	return 0;
}

int
source_remove(struct db *db, struct arena *a, const char *organization_id,
	const char *name, bool *was_there, struct err *e)
{
	const char *params[2] = { organization_id, name };

	return run_count(db, a, &REMOVE, params, was_there, e);
}

int
source_enable(struct db *db, struct arena *a, const char *organization_id,
	const char *name, bool is_enabled, bool *was_there, struct err *e)
{
	const char *params[3] = { organization_id, name,
		db_flag(is_enabled) };

	return run_count(db, a, &ENABLE, params, was_there, e);
}

int
source_import(struct db *db, struct arena *a, int64_t id, const char *tools,
	struct source_import *out, struct err *e)
{
	const char *params[2] = { db_number(a, id), tools };
	struct db_res r;

	if (db_run(db, a, &IMPORT, params, &r, e) != 0)
		return err_wrap(e, "import");
	out->added = db_int(&r, 0, 0);
	out->changed = db_int(&r, 0, 1);
	out->removed = db_int(&r, 0, 2);
	return 0;
}

int
source_tool_save(struct db *db, struct arena *a, int64_t id,
	const char *tool, bool *is_new, struct err *e)
{
	const char *params[2] = { db_number(a, id), tool };
	struct db_res r;

	if (db_run(db, a, &TOOL_SAVE, params, &r, e) != 0)
		return err_wrap(e, "tool");
	*is_new = db_bool(&r, 0, 0);
	return 0;
}

int
source_tool_remove(struct db *db, struct arena *a,
	const char *organization_id, const char *path, bool *was_there,
	struct err *e)
{
	const char *params[2] = { organization_id, path };

	return run_count(db, a, &TOOL_REMOVE, params, was_there, e);
}

static const char *
flag(const bool *b)
{
	return b == NULL ? NULL : db_flag(*b);
}

int
source_tool_set(struct db *db, struct arena *a, const char *organization_id,
	const char *path, const bool *is_listed, const bool *is_enabled,
	bool *was_there, struct err *e)
{
	const char *params[4] = { organization_id, path, flag(is_listed),
		flag(is_enabled) };

	return run_count(db, a, &TOOL_SET, params, was_there, e);
}

int
source_tool_find(struct db *db, struct arena *a, const char *organization_id,
	const char *path, struct db_res *out, struct err *e)
{
	const char *params[2] = { organization_id, path };

	if (db_run(db, a, &TOOL_FIND, params, out, e) != 0)
		return err_wrap(e, "tool");
	return 0;
}

int
source_role_is_ours(struct db *db, struct arena *a, const char *role,
	bool *out, struct err *e)
{
	return run_count(db, a, &ROLE, &role, out, e);
}

int
source_list(struct db *db, struct arena *a, const char *organization_id,
	struct db_res *out, struct err *e)
{
	if (db_run(db, a, &LIST, &organization_id, out, e) != 0)
		return err_wrap(e, "sources");
	return 0;
}

int
source_tool_list(struct db *db, struct arena *a, const char *organization_id,
	const char *source, struct db_res *out, struct err *e)
{
	const char *params[2] = { organization_id, source };

	if (db_run(db, a, &TOOL_LIST, params, out, e) != 0)
		return err_wrap(e, "tools");
	return 0;
}
