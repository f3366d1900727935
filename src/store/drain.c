/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/drain.h"

#include "base/err.h"
#include "store/db.h"

/* MATERIALIZED: the function deletes from the table that is read. */
DB_STMT(ACCOUNT, "drain_account_1",
	"WITH id AS MATERIALIZED (SELECT session_id FROM mcp.session"
	" WHERE organization_id = $1 AND account_id = $2)"
	" SELECT count(*) FILTER (WHERE mcp.kill_session(session_id))"
	" FROM id",
	2, 1);

DB_STMT(ALL, "drain_all_1", "SELECT mcp.drain()", 0, 1);

int
drain_account(struct db *db, struct arena *a, const char *organization_id,
	const char *account_id, int64_t *n, struct err *e)
{
	const char *params[2] = { organization_id, account_id };
	struct db_res r;

	if (db_run(db, a, &ACCOUNT, params, &r, e) != 0)
		return err_wrap(e, "session kill");
	*n = db_int(&r, 0, 0);
	return 0;
}

int
drain_all(struct db *db, struct arena *a, int64_t *n, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &ALL, NULL, &r, e) != 0)
		return err_wrap(e, "session kill");
	*n = db_int(&r, 0, 0);
	return 0;
}
