/* SPDX-License-Identifier: ISC */
/*
 * listing: what mcp-admin lists, as results to print.  Times are text in UTC,
 * ISO 8601.  No whole session id and no token digest is in any of them.
 */
#ifndef STORE_LISTING_H
#define STORE_LISTING_H

struct arena;
struct db;
struct db_res;
struct err;

/* organization_id, name, members, tokens_live, sessions_live,
 * last_activity_at */
enum { LISTING_ORGANIZATION_COLUMNS = 6 };
MUST_CHECK int listing_organizations(
	struct db *db, struct arena *a, struct db_res *out, struct err *e);

/* organization_id, account_id, created_at; ORGANIZATION_ID NULL: of all */
enum { LISTING_MEMBER_COLUMNS = 3 };
MUST_CHECK int listing_members(struct db *db, struct arena *a,
	const char *organization_id, struct db_res *out, struct err *e);

/* api_token_id, token_hint, organization_id, account_id, name, created_at,
 * expires_at, last_used_at, state (live, expired, revoked) */
enum { LISTING_TOKEN_COLUMNS = 9 };
MUST_CHECK int listing_tokens(struct db *db, struct arena *a,
	const char *organization_id, bool want_dead, struct db_res *out,
	struct err *e);

struct listing_session_query {
	const char *organization_id; /* NULL: all */
	const char *account_id;	     /* NULL: all */
	bool want_ended;	     /* expired and ended ones, too */
	int64_t limit;
};

/* session_hint, organization_id, account_id, client_name, protocol_version,
 * created_at, last_activity_at, state; most recent activity first */
enum { LISTING_SESSION_COLUMNS = 8 };
MUST_CHECK int listing_sessions(struct db *db, struct arena *a,
	const struct listing_session_query *q, struct db_res *out,
	struct err *e);

/*
 * The sessions and tombstones whose ids begin with PREFIX, two at most:
 * session_hint, state, reason, organization_id, account_id, issuer,
 * protocol_version, client_info, client_capabilities, created_at,
 * initialized_at, last_activity_at, expires_at, alarm_at, ended_at,
 * readopt_until, idle_s, lifetime_s, readopt_s
 */
enum { LISTING_SHOW_COLUMNS = 19 };
MUST_CHECK int listing_session(struct db *db, struct arena *a,
	const char *prefix, struct db_res *out, struct err *e);

#endif
