/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/member.h"

#include "base/err.h"
#include "store/db.h"

/* The audit row is part of the statement: neither exists without the other. */
DB_STMT(ADD, "member_add_1",
	"WITH made AS ("
	" INSERT INTO mcp.membership (organization_id, account_id)"
	" VALUES ($1, $2) ON CONFLICT DO NOTHING"
	" RETURNING organization_id, account_id"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, account_id, organization_id)"
	" SELECT 'member.added', account_id, organization_id FROM made"
	") SELECT count(*) FROM made",
	2, 1);

DB_STMT(REMOVE, "member_remove_1",
	"WITH gone AS ("
	" DELETE FROM mcp.membership"
	" WHERE organization_id = $1 AND account_id = $2"
	" RETURNING organization_id, account_id"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, account_id, organization_id)"
	" SELECT 'member.removed', account_id, organization_id FROM gone"
	") SELECT count(*) FROM gone",
	2, 1);

DB_STMT(REVOKE, "member_revoke_1",
	"SELECT memberships, tokens, sessions FROM mcp.revoke_account($1, $2)",
	2, 3);

DB_STMT(FIND, "member_find_1",
	"SELECT EXISTS (SELECT FROM mcp.membership"
	" WHERE organization_id = $1 AND account_id = $2)",
	2, 1);

int
member_add(struct db *db, struct arena *a, const char *organization_id,
	const char *account_id, bool *was_added, struct err *e)
{
	const char *params[2] = { organization_id, account_id };
	struct db_res r;

	if (db_run(db, a, &ADD, params, &r, e) != 0)
		return err_wrap(e, "member add");
	*was_added = db_int(&r, 0, 0) > 0;
	return 0;
}

int
member_remove(struct db *db, struct arena *a, const char *organization_id,
	const char *account_id, bool *was_there, struct err *e)
{
	const char *params[2] = { organization_id, account_id };
	struct db_res r;

	if (db_run(db, a, &REMOVE, params, &r, e) != 0)
		return err_wrap(e, "member remove");
	*was_there = db_int(&r, 0, 0) > 0;
	return 0;
}

int
member_revoke(struct db *db, struct arena *a, const char *organization_id,
	const char *account_id, struct member_revoked *out, struct err *e)
{
	const char *params[2] = { organization_id, account_id };
	struct db_res r;

	if (db_run(db, a, &REVOKE, params, &r, e) != 0)
		return err_wrap(e, "member revoke");
	out->memberships = db_int(&r, 0, 0);
	out->tokens = db_int(&r, 0, 1);
	out->sessions = db_int(&r, 0, 2);
	return 0;
}

int
member_find(struct db *db, struct arena *a, const char *organization_id,
	const char *account_id, bool *is_member, struct err *e)
{
	const char *params[2] = { organization_id, account_id };
	struct db_res r;

	if (db_run(db, a, &FIND, params, &r, e) != 0)
		return err_wrap(e, "member");
	*is_member = db_bool(&r, 0, 0);
	return 0;
}
