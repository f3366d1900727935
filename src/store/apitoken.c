/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/apitoken.h"

#include "base/err.h"
#include "store/db.h"

DB_STMT(FIND, "apitoken_find_1",
	"SELECT outcome, issuer, account_id, organization_id "
	"FROM mcp.api_token_find($1)",
	1, 4);

/* The audit row is part of the statement: neither exists without the other. */
DB_STMT(ISSUE, "apitoken_issue_1",
	"WITH made AS ("
	" INSERT INTO mcp.api_token (token_sha256, token_hint, issuer,"
	"  account_id, organization_id, name, expires_at)"
	" VALUES ($1, $2, $3, $4, $5, $6,"
	"  now() + make_interval(secs => nullif($7::bigint, 0)))"
	" RETURNING api_token_id, token_hint, issuer, account_id,"
	"  organization_id"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, issuer, account_id,"
	"  organization_id, detail)"
	" SELECT 'token.issued', issuer, account_id, organization_id,"
	"  jsonb_build_object('api_token_id', api_token_id,"
	"   'token_hint', token_hint) FROM made"
	") SELECT api_token_id FROM made",
	7, 1);

DB_STMT(REVOKE, "apitoken_revoke_1",
	"WITH gone AS ("
	" UPDATE mcp.api_token SET revoked_at = now()"
	" WHERE api_token_id = $1 AND revoked_at IS NULL"
	" RETURNING api_token_id, token_hint, issuer, account_id,"
	"  organization_id"
	"), noted AS ("
	" INSERT INTO mcp.audit_event (event, issuer, account_id,"
	"  organization_id, detail)"
	" SELECT 'token.revoked', issuer, account_id, organization_id,"
	"  jsonb_build_object('api_token_id', api_token_id,"
	"   'token_hint', token_hint) FROM gone"
	") SELECT count(*) FROM gone",
	1, 1);

int
apitoken_find(struct db *db, struct arena *a, const unsigned char sha256[32],
	enum apitoken_outcome *outcome, struct apitoken_owner *out,
	struct err *e)
{
	const char *params[1];
	const char *s;
	struct db_res r;

	params[0] = db_bytea(a, sha256, 32);
	if (db_run(db, a, &FIND, params, &r, e) != 0)
		return err_wrap(e, "API token");
	s = db_text(&r, 0, 0);
	if (s != NULL && strcmp(s, "ok") == 0)
		*outcome = APITOKEN_OK;
	else if (s != NULL && strcmp(s, "expired_token") == 0)
		*outcome = APITOKEN_EXPIRED;
	else
		*outcome = APITOKEN_BAD;
	out->issuer = db_text(&r, 0, 1);
	out->account_id = db_text(&r, 0, 2);
	out->organization_id = db_text(&r, 0, 3);
	return 0;
}

int
apitoken_issue(struct db *db, struct arena *a,
	const struct apitoken_owner *owner, const struct apitoken_new *t,
	int64_t *id, struct err *e)
{
	const char *params[7];
	struct db_res r;

	params[0] = db_bytea(a, t->sha256, 32);
	params[1] = t->hint;
	params[2] = owner->issuer;
	params[3] = owner->account_id;
	params[4] = owner->organization_id;
	params[5] = t->name;
	params[6] = db_number(a, t->ttl_s);
	if (db_run(db, a, &ISSUE, params, &r, e) != 0)
		return err_wrap(e, "API token issue");
	*id = db_int(&r, 0, 0);
	return 0;
}

int
apitoken_revoke(struct db *db, struct arena *a, int64_t id, bool *was_live,
	struct err *e)
{
	const char *params[1];
	struct db_res r;

	params[0] = db_number(a, id);
	if (db_run(db, a, &REVOKE, params, &r, e) != 0)
		return err_wrap(e, "API token revoke");
	*was_live = db_int(&r, 0, 0) > 0;
	return 0;
}
