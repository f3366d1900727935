/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/health.h"

#include "base/err.h"
#include "store/db.h"

/*
 * What the group may do must the role be able to do, and where there are no
 * groups, the functions of every request.  By name, so that a change of
 * parameters is not a missing privilege.
 */
DB_STMT(ROLE, "health_role_2",
	"SELECT current_user, current_database(),"
	" current_setting('server_version'),"
	" (SELECT string_agg(DISTINCT p.proname, ', ')"
	"  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
	"  WHERE n.nspname = 'mcp'"
	"  AND (p.proname IN ('enter', 'api_token_find', 'session_open',"
	"    'session_initialized', 'session_end', 'jwks_find',"
	"    'jwks_claim', 'jwks_save', 'jwks_fail', 'schema_version')"
	"   OR has_function_privilege((SELECT oid FROM pg_roles"
	"    WHERE rolname = 'mcp_responder'), p.oid, 'EXECUTE'))"
	"  AND NOT has_function_privilege(p.oid, 'EXECUTE')),"
	" has_table_privilege((SELECT c.oid FROM pg_class c"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace"
	"  WHERE n.nspname = 'mcp' AND c.relname = 'session'), 'SELECT'),"
	" current_setting('server_encoding')",
	0, 6);

/* reserved_connections is of PostgreSQL 16. */
DB_STMT(CAPACITY, "health_capacity_1",
	"SELECT current_setting('max_connections')::bigint,"
	" current_setting('superuser_reserved_connections')::bigint"
	"  + coalesce(current_setting('reserved_connections', true),"
	"   '0')::bigint,"
	" coalesce(least(nullif((SELECT rolconnlimit FROM pg_roles"
	"   WHERE rolname = session_user), -1),"
	"  nullif((SELECT datconnlimit FROM pg_database"
	"   WHERE datname = current_database()), -1)), -1)::bigint,"
	" count(*) FILTER (WHERE application_name = 'mcp-fcgi'),"
	" count(*) FILTER (WHERE application_name <> 'mcp-fcgi'"
	"  AND pid <> pg_backend_pid() AND datid IS NOT NULL)"
	" FROM pg_stat_activity",
	0, 5);

DB_STMT(CLOCK, "health_clock_1",
	"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", 0, 1);

DB_STMT(SWEEP, "health_sweep_1",
	"SELECT coalesce(floor(extract(epoch FROM"
	"  now() - w.finished_at))::bigint, -1),"
	" w.host, w.is_complete,"
	" (SELECT count(*) FROM mcp.session_expired"
	"  WHERE alarm_at < now() - interval '5 minutes')"
	" FROM (SELECT) one LEFT JOIN LATERAL (SELECT finished_at, host,"
	"  is_complete FROM mcp.sweep_recent"
	"  ORDER BY finished_at DESC LIMIT 1) w ON true",
	0, 4);

int
health_role(struct db *db, struct arena *a, struct health_role *out,
	struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &ROLE, NULL, &r, e) != 0)
		return err_wrap(e, "role");
	out->role = db_text(&r, 0, 0);
	out->database = db_text(&r, 0, 1);
	out->server = db_text(&r, 0, 2);
	out->missing = db_text(&r, 0, 3);
	out->can_read_sessions = db_bool(&r, 0, 4);
	out->encoding = db_text(&r, 0, 5);
	return 0;
}

int
health_capacity(struct db *db, struct arena *a, struct health_capacity *out,
	struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &CAPACITY, NULL, &r, e) != 0)
		return err_wrap(e, "connections");
	out->max_connections = db_int(&r, 0, 0);
	out->reserved = db_int(&r, 0, 1);
	out->limit = db_int(&r, 0, 2);
	out->responders = db_int(&r, 0, 3);
	out->others = db_int(&r, 0, 4);
	return 0;
}

int
health_clock(struct db *db, struct arena *a, int64_t *now_ms, struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &CLOCK, NULL, &r, e) != 0)
		return err_wrap(e, "clock");
	*now_ms = db_int(&r, 0, 0);
	return 0;
}

int
health_sweep(struct db *db, struct arena *a, struct health_sweep *out,
	struct err *e)
{
	struct db_res r;

	if (db_run(db, a, &SWEEP, NULL, &r, e) != 0)
		return err_wrap(e, "sweep");
	out->age_s = db_int(&r, 0, 0);
	out->host = db_text(&r, 0, 1);
	out->is_complete = db_bool(&r, 0, 2);
	out->overdue = db_int(&r, 0, 3);
	return 0;
}
