/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/secret.h"

#include "base/err.h"
#include "store/bytea.h"
#include "store/db.h"

DB_STMT(FIND, "secret_find_1",
	"SELECT key_id, sealed FROM mcp.secret_find($1, $2)", 2, 2);

DB_STMT(SAVE, "secret_save_1", "SELECT mcp.secret_save($1, $2, $3, $4)", 4, 1);

DB_STMT(ROTATE, "secret_rotate_1",
	"SELECT mcp.secret_rotate($1, $2, $3, $4, $5)", 5, 1);

DB_STMT(REMOVE, "secret_remove_1", "SELECT mcp.secret_remove($1, $2)", 2, 1);

DB_STMT(LIST, "secret_list_2",
	"SELECT organization_id, name, key_id, mcp.iso(updated_at)"
	" FROM mcp.secret"
	" WHERE ($1::text IS NULL OR organization_id = $1)"
	" AND ($2::text IS NULL OR key_id <> $2)"
	" ORDER BY organization_id, name",
	2, SECRET_LIST_COLUMNS);

int
secret_find(struct db *db, struct arena *a, const char *organization_id,
	const char *name, struct secret *out, struct err *e)
{
	const char *params[2] = { organization_id, name };
	struct db_res r;

	*out = (struct secret){ 0 };
	if (db_run(db, a, &FIND, params, &r, e) != 0)
		return err_wrap(e, "secret");
	if (r.n_rows > 0) {
		out->key_id = db_text(&r, 0, 0);
		out->sealed = bytea_parse(a, db_text(&r, 0, 1),
			&out->sealed_len);
	}
	return 0;
}

int
secret_save(struct db *db, struct arena *a, const char *organization_id,
	const char *name, const struct secret *s, bool *is_new, struct err *e)
{
	const char *params[4] = { organization_id, name, s->key_id,
		db_bytea(a, s->sealed, s->sealed_len) };
	struct db_res r;

	if (db_run(db, a, &SAVE, params, &r, e) != 0)
		return err_wrap(e, "secret set");
	*is_new = db_bool(&r, 0, 0);
	return 0;
}

int
secret_remove(struct db *db, struct arena *a, const char *organization_id,
	const char *name, bool *was_there, struct err *e)
{
	const char *params[2] = { organization_id, name };
	struct db_res r;

	if (db_run(db, a, &REMOVE, params, &r, e) != 0)
		return err_wrap(e, "secret remove");
	*was_there = db_bool(&r, 0, 0);
	return 0;
}

int
secret_rotate(struct db *db, struct arena *a, const char *organization_id,
	const char *name, const struct secret *old, const struct secret *s,
	bool *was_replaced, struct err *e)
{
	const char *params[5] = { organization_id, name,
		db_bytea(a, old->sealed, old->sealed_len), s->key_id,
		db_bytea(a, s->sealed, s->sealed_len) };
	struct db_res r;

	if (db_run(db, a, &ROTATE, params, &r, e) != 0)
		return err_wrap(e, "secret rotate");
	*was_replaced = db_bool(&r, 0, 0);
	return 0;
}

int
secret_list(struct db *db, struct arena *a, const char *organization_id,
	const char *except_key_id, struct db_res *out, struct err *e)
{
	const char *params[2] = { organization_id, except_key_id };

	if (db_run(db, a, &LIST, params, out, e) != 0)
		return err_wrap(e, "secrets");
	return 0;
}
