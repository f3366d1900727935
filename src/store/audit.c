/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/audit.h"

#include "base/err.h"
#include "store/db.h"

DB_STMT(WRITE, "audit_write_1",
	"INSERT INTO mcp.audit_event (event, issuer, account_id, "
	"organization_id, detail) VALUES ($1, $2, $3, $4, "
	"coalesce($5::jsonb, '{}'))",
	5, 0);

int
audit_write(struct db *db, struct arena *a, const struct audit_event *ev,
	struct err *e)
{
	const char *params[5];
	struct db_res r;

	params[0] = ev->event;
	params[1] = ev->issuer;
	params[2] = ev->account_id;
	params[3] = ev->organization_id;
	params[4] = ev->detail;
	if (db_run(db, a, &WRITE, params, &r, e) != 0)
		return err_wrap(e, "audit");
	return 0;
}
