/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/policy.h"

#include "base/err.h"
#include "store/db.h"

/* The audit row is part of the statement: neither exists without the other. */
DB_STMT(ADD, "policy_add_1",
	"WITH made AS ("
	" INSERT INTO mcp.tool_policy (organization_id, pattern, action,"
	"  position, note)"
	" SELECT $1, $2, $3, coalesce($4::numeric, (SELECT"
	"  floor(max(p.position)) + 1 FROM mcp.tool_policy p"
	"  WHERE p.organization_id = $1), 1), coalesce($5, '')"
	" RETURNING tool_policy_id, organization_id, pattern, action, position"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, organization_id, detail)"
	" SELECT 'policy.added', organization_id, jsonb_build_object("
	"  'tool_policy_id', tool_policy_id, 'pattern', pattern,"
	"  'action', action, 'position', position) FROM made"
	") SELECT tool_policy_id FROM made",
	5, 1);

DB_STMT(REMOVE, "policy_remove_1",
	"WITH gone AS ("
	" DELETE FROM mcp.tool_policy"
	" WHERE organization_id = $1 AND tool_policy_id = $2"
	" RETURNING tool_policy_id, organization_id, pattern, action"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, organization_id, detail)"
	" SELECT 'policy.removed', organization_id, jsonb_build_object("
	"  'tool_policy_id', tool_policy_id, 'pattern', pattern,"
	"  'action', action) FROM gone"
	") SELECT count(*) FROM gone",
	2, 1);

DB_STMT(REMOVE_EXACT, "policy_remove_exact_1",
	"WITH gone AS ("
	" DELETE FROM mcp.tool_policy"
	" WHERE organization_id = $1 AND pattern = $2 AND action <> 'block'"
	" RETURNING tool_policy_id, organization_id, pattern, action"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, organization_id, detail)"
	" SELECT 'policy.removed', organization_id, jsonb_build_object("
	"  'tool_policy_id', tool_policy_id, 'pattern', pattern,"
	"  'action', action) FROM gone"
	") SELECT count(*) FROM gone",
	2, 1);

/* $2 NULL: before all.  * 0.5 is exact, / 2 would round. */
DB_STMT(PLACE, "policy_place_1",
	"SELECT CASE WHEN $2::bigint IS NULL THEN (SELECT"
	"  (coalesce(floor(min(p.position)), 2) - 1)::text"
	"  FROM mcp.tool_policy p WHERE p.organization_id = $1)"
	" ELSE (SELECT CASE WHEN q.position IS NULL"
	"   THEN (floor(p.position) - 1)::text"
	"   WHEN q.position = p.position THEN ''"
	"   ELSE trim_scale((p.position + q.position) * 0.5)::text END"
	"  FROM mcp.tool_policy p LEFT JOIN LATERAL (SELECT x.position"
	"   FROM mcp.tool_policy x WHERE x.organization_id = p.organization_id"
	"   AND (x.position, x.tool_policy_id) < (p.position, p.tool_policy_id)"
	"   ORDER BY x.position DESC, x.tool_policy_id DESC LIMIT 1) q ON true"
	"  WHERE p.organization_id = $1 AND p.tool_policy_id = $2) END",
	2, 1);

DB_STMT(DECIDE, "policy_decide_1",
	"SELECT p.tool_policy_id, p.position, p.pattern, p.action, p.note"
	" FROM mcp.tool_policy p WHERE p.organization_id = $1"
	" AND mcp.policy_matches(p.pattern, $2)"
	" ORDER BY p.position, p.tool_policy_id LIMIT 1",
	2, POLICY_DECIDE_COLUMNS);

DB_STMT(LIST, "policy_list_1",
	"SELECT p.tool_policy_id, p.organization_id, p.position, p.pattern,"
	" p.action, p.note, (SELECT count(*) FROM mcp.tool t"
	"  WHERE t.organization_id = p.organization_id"
	"  AND mcp.policy_matches(p.pattern, t.path))"
	" FROM mcp.tool_policy p"
	" WHERE $1::text IS NULL OR p.organization_id = $1"
	" ORDER BY p.organization_id, p.position, p.tool_policy_id",
	1, POLICY_LIST_COLUMNS);

int
policy_add(struct db *db, struct arena *a, const char *organization_id,
	const char *pattern, const char *action, const char *position,
	const char *note, int64_t *id, struct err *e)
{
	const char *params[5] = { organization_id, pattern, action, position,
		note };
	struct db_res r;

	if (db_run(db, a, &ADD, params, &r, e) != 0)
		return err_wrap(e, "policy");
	*id = db_int(&r, 0, 0);
	return 0;
}

int
policy_remove(struct db *db, struct arena *a, const char *organization_id,
	int64_t id, bool *was_there, struct err *e)
{
	const char *params[2] = { organization_id,
		db_number(a, id) };
	struct db_res r;

	if (db_run(db, a, &REMOVE, params, &r, e) != 0)
		return err_wrap(e, "policy");
	*was_there = db_int(&r, 0, 0) > 0;
	return 0;
}

int
policy_remove_exact(struct db *db, struct arena *a,
	const char *organization_id, const char *pattern, int64_t *n,
	struct err *e)
{
	const char *params[2] = { organization_id, pattern };
	struct db_res r;

	if (db_run(db, a, &REMOVE_EXACT, params, &r, e) != 0)
		return err_wrap(e, "policy");
	*n = db_int(&r, 0, 0);
	return 0;
}

int
policy_place(struct db *db, struct arena *a, const char *organization_id,
	int64_t id, const char **position, struct err *e)
{
	const char *params[2] = { organization_id,
		id < 0 ? NULL : db_number(a, id) };
	struct db_res r;

	if (db_run(db, a, &PLACE, params, &r, e) != 0)
		return err_wrap(e, "policy");
	*position = db_text(&r, 0, 0);
	return 0;
}

int
policy_decide(struct db *db, struct arena *a, const char *organization_id,
	const char *path, struct db_res *out, struct err *e)
{
	const char *params[2] = { organization_id, path };

	if (db_run(db, a, &DECIDE, params, out, e) != 0)
		return err_wrap(e, "policy");
	return 0;
}

int
policy_list(struct db *db, struct arena *a, const char *organization_id,
	struct db_res *out, struct err *e)
{
	if (db_run(db, a, &LIST, &organization_id, out, e) != 0)
		return err_wrap(e, "policies");
	return 0;
}
