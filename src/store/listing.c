/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/listing.h"

#include "base/err.h"
#include "store/db.h"

/* Written out: mcp_readonly, which lists too, may not call mcp.iso. */
#define ISO(column)                        \
	"to_char(" column " AT TIME ZONE " \
	"'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

DB_STMT(ORGANIZATIONS, "listing_organizations_1",
	"SELECT organization_id, name, members, tokens_live, sessions_live, "
	ISO("last_activity_at")
	" FROM mcp.organization_usage ORDER BY organization_id",
	0, LISTING_ORGANIZATION_COLUMNS);

DB_STMT(MEMBERS, "listing_members_1",
	"SELECT organization_id, account_id, " ISO("created_at")
	" FROM mcp.membership"
	" WHERE $1::text IS NULL OR organization_id = $1"
	" ORDER BY organization_id, account_id",
	1, LISTING_MEMBER_COLUMNS);

DB_STMT(TOKENS, "listing_tokens_1",
	"SELECT api_token_id, token_hint, organization_id, account_id, name, "
	ISO("created_at") ", " ISO("expires_at") ", " ISO("last_used_at") ","
	" state FROM (SELECT api_token_id, token_hint, organization_id,"
	"  account_id, name, created_at, expires_at, last_used_at,"
	"  CASE WHEN revoked_at IS NOT NULL THEN 'revoked'"
	"   WHEN expires_at <= now() THEN 'expired' ELSE 'live' END AS state"
	"  FROM mcp.api_token) t"
	" WHERE ($1::text IS NULL OR organization_id = $1)"
	" AND ($2::boolean OR state = 'live') ORDER BY api_token_id",
	2, LISTING_TOKEN_COLUMNS);

DB_STMT(SESSIONS, "listing_sessions_1",
	"SELECT session_hint, organization_id, account_id, client_name,"
	" protocol_version, " ISO("created_at") ", " ISO("at") ", state"
	" FROM (SELECT session_hint, organization_id, account_id,"
	"   client_name, protocol_version, created_at,"
	"   last_activity_at AS at, 'live' AS state FROM mcp.session_live"
	"  UNION ALL SELECT session_hint, organization_id, account_id,"
	"   NULL, NULL, created_at, last_activity_at,"
	"   'expired (' || expired_by || ')'"
	"   FROM mcp.session_expired WHERE $3::boolean"
	"  UNION ALL SELECT session_hint, organization_id, account_id,"
	"   NULL, NULL, NULL, ended_at, 'ended (' || reason || ')'"
	"   FROM mcp.session_ended WHERE $3::boolean) s"
	" WHERE ($1::text IS NULL OR organization_id = $1)"
	" AND ($2::text IS NULL OR account_id = $2)"
	" ORDER BY at DESC, session_hint LIMIT $4::bigint",
	4, LISTING_SESSION_COLUMNS);

/* 'g' sorts behind every hex digit. */
DB_STMT(SESSION, "listing_session_1",
	"(SELECT left(s.session_id, 8),"
	" CASE WHEN x.expired_by IS NULL THEN 'live' ELSE 'expired' END,"
	" x.expired_by, s.organization_id, s.account_id, s.issuer,"
	" s.protocol_version, s.client_info::text,"
	" s.client_capabilities::text, " ISO("s.created_at") ", "
	ISO("s.initialized_at") ", " ISO("s.last_activity_at") ", "
	ISO("least(s.last_activity_at + make_interval(secs => s.idle_s),"
	    " CASE WHEN s.lifetime_s > 0 THEN"
	    " s.created_at + make_interval(secs => s.lifetime_s) END)") ", "
	ISO("s.alarm_at") ", NULL, NULL, s.idle_s, s.lifetime_s, s.readopt_s"
	" FROM mcp.session s CROSS JOIN LATERAL (SELECT"
	"  mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s,"
	"   s.lifetime_s) AS expired_by) x"
	" WHERE s.session_id >= $1 AND s.session_id < $1 || 'g' LIMIT 2)"
	" UNION ALL "
	"(SELECT left(d.session_id, 8), 'ended', d.reason,"
	" d.organization_id, d.account_id, d.issuer, NULL, NULL, NULL, NULL,"
	" NULL, NULL, NULL, NULL, " ISO("d.ended_at") ", "
	ISO("d.readopt_until") ", NULL, NULL, NULL"
	" FROM mcp.session_tombstone d"
	" WHERE d.session_id >= $1 AND d.session_id < $1 || 'g'"
	" AND NOT EXISTS (SELECT FROM mcp.session s"
	"  WHERE s.session_id = d.session_id) LIMIT 2)",
	1, LISTING_SHOW_COLUMNS);

int
listing_organizations(
	struct db *db, struct arena *a, struct db_res *out, struct err *e)
{
	if (db_run(db, a, &ORGANIZATIONS, NULL, out, e) != 0)
		return err_wrap(e, "organizations");
	return 0;
}

int
listing_members(struct db *db, struct arena *a, const char *organization_id,
	struct db_res *out, struct err *e)
{
	if (db_run(db, a, &MEMBERS, &organization_id, out, e) != 0)
		return err_wrap(e, "members");
	return 0;
}

int
listing_tokens(struct db *db, struct arena *a, const char *organization_id,
	bool want_dead, struct db_res *out, struct err *e)
{
	const char *params[2] = { organization_id, db_flag(want_dead) };

	if (db_run(db, a, &TOKENS, params, out, e) != 0)
		return err_wrap(e, "tokens");
	return 0;
}

int
listing_sessions(struct db *db, struct arena *a,
	const struct listing_session_query *q, struct db_res *out,
	struct err *e)
{
	const char *params[4] = { q->organization_id, q->account_id,
		db_flag(q->want_ended), db_number(a, q->limit) };

	if (db_run(db, a, &SESSIONS, params, out, e) != 0)
		return err_wrap(e, "sessions");
	return 0;
}

int
listing_session(struct db *db, struct arena *a, const char *prefix,
	struct db_res *out, struct err *e)
{
	if (db_run(db, a, &SESSION, &prefix, out, e) != 0)
		return err_wrap(e, "session");
	return 0;
}
