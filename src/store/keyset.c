/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/keyset.h"

#include "base/err.h"
#include "store/db.h"

DB_STMT(FIND, "keyset_find_1",
	"SELECT document, document_age_s, document_version, metadata, "
	"metadata_age_s FROM mcp.jwks_find($1)",
	1, 5);

DB_STMT(CLAIM, "keyset_claim_1", "SELECT mcp.jwks_claim($1, $2, $3)", 3, 1);

DB_STMT(SAVE, "keyset_save_1", "SELECT mcp.jwks_save($1, $2, $3)", 3, 1);

DB_STMT(FAIL, "keyset_fail_1", "SELECT mcp.jwks_fail($1, $2)", 2, 1);

int
keyset_find(struct db *db, struct arena *a, const char *issuer,
	struct keyset *out, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &FIND, &issuer, &r, e) != 0)
		return err_wrap(e, "key set");
	out->document = db_text(&r, 0, 0);
	out->document_age_s = db_int(&r, 0, 1);
	out->version = db_text(&r, 0, 2);
	out->metadata = db_text(&r, 0, 3);
	out->metadata_age_s = db_int(&r, 0, 4);
	return 0;
}

int
keyset_claim(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, int64_t min_interval_s, bool *is_granted,
	struct err *e)
{
	const char *params[3];
	struct db_res r;

	params[0] = issuer;
	params[1] = db_flag(part == KEYSET_METADATA);
	params[2] = db_number(a, min_interval_s);
	if (db_run(db, a, &CLAIM, params, &r, e) != 0)
		return err_wrap(e, "key set claim");
	*is_granted = db_bool(&r, 0, 0);
	return 0;
}

int
keyset_save(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, const char *document, struct err *e)
{
	const char *params[3];
	struct db_res r;

	params[0] = issuer;
	params[1] = db_flag(part == KEYSET_METADATA);
	params[2] = document;
	if (db_run(db, a, &SAVE, params, &r, e) != 0)
		return err_wrap(e, "key set save");
	return 0;
}

int
keyset_fail(struct db *db, struct arena *a, const char *issuer, const char *why,
	struct err *e)
{
	const char *params[2];
	struct db_res r;

	params[0] = issuer;
	params[1] = why;
	if (db_run(db, a, &FAIL, params, &r, e) != 0)
		return err_wrap(e, "key set failure");
	return 0;
}
