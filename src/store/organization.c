/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/organization.h"

#include "base/err.h"
#include "store/db.h"

DB_STMT(ADD, "organization_add_1",
	"INSERT INTO mcp.organization (organization_id, name) "
	"VALUES ($1, $2) ON CONFLICT DO NOTHING",
	2, 0);

DB_STMT(REMOVE, "organization_remove_1",
	"DELETE FROM mcp.organization WHERE organization_id = $1", 1, 0);

DB_STMT(FIND, "organization_find_1",
	"SELECT (SELECT name FROM mcp.organization"
	"  WHERE organization_id = $1),"
	" (SELECT count(*) FROM mcp.membership WHERE organization_id = $1),"
	" (SELECT count(*) FROM mcp.api_token_live"
	"  WHERE organization_id = $1),"
	" (SELECT count(*) FROM mcp.session WHERE organization_id = $1)",
	1, 4);

/* MATERIALIZED: the function changes the tables that the list is read from. */
DB_STMT(REVOKE_ALL, "organization_revoke_1",
	"WITH account AS MATERIALIZED ("
	" SELECT account_id FROM mcp.membership WHERE organization_id = $1"
	" UNION SELECT account_id FROM mcp.api_token_live"
	"  WHERE organization_id = $1"
	" UNION SELECT account_id FROM mcp.session"
	"  WHERE organization_id = $1"
	") SELECT count(r.memberships) FROM account a"
	" CROSS JOIN LATERAL mcp.revoke_account($1, a.account_id) r",
	1, 1);

int
organization_add(struct db *db, struct arena *a, const char *id,
	const char *name, bool *was_added, struct err *e)
{
	const char *params[2] = { id, name };
	struct db_res r;

	if (db_run(db, a, &ADD, params, &r, e) != 0)
		return err_wrap(e, "organization add");
	*was_added = r.affected > 0;
	return 0;
}

int
organization_remove(struct db *db, struct arena *a, const char *id,
	bool *was_there, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &REMOVE, &id, &r, e) != 0)
		return err_wrap(e, "organization remove");
	*was_there = r.affected > 0;
	return 0;
}

int
organization_find(struct db *db, struct arena *a, const char *id,
	struct organization_usage *out, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &FIND, &id, &r, e) != 0)
		return err_wrap(e, "organization");
	out->name = db_text(&r, 0, 0);
	out->members = db_int(&r, 0, 1);
	out->tokens = db_int(&r, 0, 2);
	out->sessions = db_int(&r, 0, 3);
	return 0;
}

int
organization_revoke(struct db *db, struct arena *a, const char *id,
	int64_t *accounts, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &REVOKE_ALL, &id, &r, e) != 0)
		return err_wrap(e, "organization revoke");
	*accounts = db_int(&r, 0, 0);
	return 0;
}
