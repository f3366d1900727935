/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/upstream.h"

#include "base/err.h"
#include "store/db.h"

DB_STMT(FIND, "upstream_find_1",
	"SELECT session_id, protocol_version, age_s"
	" FROM mcp.upstream_find($1, $2)",
	2, 3);

DB_STMT(SAVE, "upstream_save_1", "SELECT mcp.upstream_save($1, $2, $3, $4)",
	4, 1);

DB_STMT(DROP, "upstream_drop_1", "SELECT mcp.upstream_drop($1, $2, $3)", 3, 1);

int
upstream_find(struct db *db, struct arena *a, const char *organization_id,
	int64_t source_id, struct upstream_session *out, struct err *e)
{
	const char *params[2] = { organization_id,
		db_number(a, source_id) };
	struct db_res r;

	*out = (struct upstream_session){ 0 };
	if (db_run(db, a, &FIND, params, &r, e) != 0)
		return err_wrap(e, "upstream session");
	if (r.n_rows > 0) {
		out->session_id = db_text(&r, 0, 0);
		out->protocol_version = db_text(&r, 0, 1);
		out->age_s = db_int(&r, 0, 2);
	}
	return 0;
}

int
upstream_save(struct db *db, struct arena *a, const char *organization_id,
	int64_t source_id, const struct upstream_session *s, bool *was_saved,
	struct err *e)
{
	const char *params[4] = { organization_id,
		db_number(a, source_id), s->session_id,
		s->protocol_version };
	struct db_res r;

	if (db_run(db, a, &SAVE, params, &r, e) != 0)
		return err_wrap(e, "upstream session");
	*was_saved = db_bool(&r, 0, 0);
	return 0;
}

int
upstream_drop(struct db *db, struct arena *a, const char *organization_id,
	int64_t source_id, const char *session_id, bool *was_there,
	struct err *e)
{
	const char *params[3] = { organization_id,
		db_number(a, source_id), session_id };
	struct db_res r;

	if (db_run(db, a, &DROP, params, &r, e) != 0)
		return err_wrap(e, "upstream session");
	*was_there = db_bool(&r, 0, 0);
	return 0;
}
