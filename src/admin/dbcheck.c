/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/dbcheck.h"

#include "admin/admin.h"
#include "admin/report.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "store/db.h"
#include "store/health.h"
#include "store/migration.h"

enum {
	REAPER_AGE_MAX_S = 300,
	SKEW_WARN_MS = 2000,
	SPARE = 3 /* the reaper, mcp-admin, and somebody looking */
};

/* What the server said, else what we know. */
static const char *
why(const struct db *db, const struct err *e)
{
	const char *said = db_message(db);

	return *said != '\0' ? said : e->detail;
}

static bool
schema_check(struct admin *ad, struct db *db)
{
	struct err e = { 0 };

	if (migration_check(db, ad->arena, &e) == 0) {
		report_pass("schema", "version %d", MIGRATION_CURRENT);
		return true;
	}
	if (db_is_denied(db))
		report_fail("schema",
			"give the role of key \"database\" the group "
			"mcp_responder: mcp-admin login-role",
			"%s", why(db, &e));
	else if (e.kind == ERR_CONFLICT && !db_is_retryable(db))
		report_fail("schema",
			"mcp-admin migrate, then restart the "
			"responders",
			"%s", e.detail);
	else
		report_fail(
			"schema", "see the server's log", "%s", why(db, &e));
	return false;
}

static void
role_check(const struct health_role *r)
{
	if (r->missing != NULL)
		report_fail("privileges",
			"mcp-admin login-role makes a fitting role; mcp-admin "
			"migrate grants again what the groups need",
			"%s may not call %.200s", r->role, r->missing);
	else if (r->can_read_sessions)
		report_warn("privileges",
			"mcp-admin login-role makes one with less; one role "
			"for all is for hosts that give no second one",
			"%s has more rights than a responder needs", r->role);
	else
		report_pass("privileges",
			"%s may do what a responder does, "
			"and no more",
			r->role);
}

static void
clock_check(struct admin *ad, struct db *db)
{
	const char *remedy = "synchronise the clocks (chrony, ntpd): tokens "
			     "are judged by this host's";
	struct timespec before, after;
	int64_t theirs, ours, skew;
	struct err e = { 0 };

	clock_gettime(CLOCK_REALTIME, &before);
	if (health_clock(db, ad->arena, &theirs, &e) != 0) {
		report_warn("clock", NULL, "%s", why(db, &e));
		return;
	}
	clock_gettime(CLOCK_REALTIME, &after);
	ours = ((int64_t)before.tv_sec + after.tv_sec) * 500 +
	       (before.tv_nsec + after.tv_nsec) / 2000000;
	skew = llabs(theirs - ours);
	if (skew > ad->conf->leeway_s * 1000 && skew > SKEW_WARN_MS)
		report_fail("clock", remedy,
			"%.3f s from the database's, "
			"over leeway_s",
			(double)skew / 1000);
	else if (skew > SKEW_WARN_MS)
		report_warn("clock", remedy, "%.3f s from the database's",
			(double)skew / 1000);
	else
		report_pass("clock", "%.3f s from the database's",
			(double)skew / 1000);
}

/* Field report B-54: too many clients. */
static void
capacity_check(struct admin *ad, struct db *db, int64_t workers)
{
	const char *remedy = "fewer responders over all hosts, a larger "
			     "max_connections, or PgBouncer "
			     "(database_pooler = transaction)";
	struct health_capacity c;
	struct err e = { 0 };
	int64_t room, wanted;

	if (ad->conf->database_pooler == CONF_POOLER_TRANSACTION) {
		report_pass("connections",
			"through a pooler: its "
			"default_pool_size counts, not the responders");
		return;
	}
	if (health_capacity(db, ad->arena, &c, &e) != 0) {
		report_warn("connections", NULL, "%s", why(db, &e));
		return;
	}
	room = c.max_connections - c.reserved - c.others;
	if (c.limit >= 0 && c.limit < room)
		room = c.limit;
	wanted = (workers > 0 ? workers : c.responders) + SPARE;
	if (workers == 0 && c.responders == 0) {
		report_warn("connections",
			"give --workers with the number of responders of all "
			"hosts and pools",
			"no responder is connected now; room for %" PRId64
			" (max_connections %" PRId64 ", %" PRId64
			" reserved, %" PRId64 " in use by others)",
			room - SPARE, c.max_connections, c.reserved, c.others);
		return;
	}
	if (wanted > room)
		report_fail("connections", remedy,
			"%" PRId64 " responder%s %sand %d to spare, but room "
			"for %" PRId64 " (max_connections %" PRId64 ", %" PRId64
			" reserved, %" PRId64
			" in use by others, limit of role or database %" PRId64
			")",
			wanted - SPARE, admin_plural(wanted - SPARE),
			workers > 0 ? "" : "connected now ",
			SPARE, room, c.max_connections, c.reserved, c.others,
			c.limit);
	else
		report_pass("connections",
			"%" PRId64 " responder%s %sand %d to spare, room for "
			"%" PRId64 " (max_connections %" PRId64 ", %" PRId64
			" reserved, %" PRId64 " in use by others)",
			wanted - SPARE, admin_plural(wanted - SPARE),
			workers > 0 ? "" : "connected now ",
			SPARE, room, c.max_connections, c.reserved, c.others);
}

static void
encoding_check(const struct health_role *r)
{
	if (strcmp(r->encoding, "UTF8") == 0)
		report_pass("encoding", "UTF8");
	else
		report_fail("encoding",
			"make another database: createdb -E UTF8 -T template0",
			"%s is in %s; it must be UTF8", r->database,
			r->encoding);
}

bool
dbcheck_responder(struct admin *ad, struct db *db, int64_t workers)
{
	struct health_role r;
	struct err e = { 0 };

	if (health_role(db, ad->arena, &r, &e) != 0) {
		if (db_is_refused(db))
			report_fail("database",
				"the role and the database of key "
				"\"database\" must be there, and a line of "
				"pg_hba.conf let it in; its password, if any, "
				"belongs in ~/.pgpass or a service file",
				"%s", why(db, &e));
		else if (e.kind == ERR_UNAVAILABLE || e.kind == ERR_TIMEOUT)
			report_fail("database",
				"is PostgreSQL up, and does key \"database\" "
				"say where?  Its password, if any, belongs in "
				"~/.pgpass or a service file",
				"%s", why(db, &e));
		else
			report_fail("database",
				"mcp-admin migrate, then "
				"mcp-admin login-role",
				"%s", why(db, &e));
		return false;
	}
	report_pass("database", "%s as %s, PostgreSQL %s", r.database, r.role,
		r.server);
	/* Also where the schema is absent. */
	encoding_check(&r);
	clock_check(ad, db);
	capacity_check(ad, db, workers);
	if (!schema_check(ad, db))
		return false;
	role_check(&r);
	return true;
}

void
dbcheck_reaper(struct admin *ad, struct db *db)
{
	const char *remedy = "crontab of the reaper's user: * * * * * "
			     "mcp-reaper (or the timer of mcp-reaper(8))";
	struct health_sweep s;
	struct err e = { 0 };

	if (health_sweep(db, ad->arena, &s, &e) != 0) {
		report_warn("reaper",
			db_is_denied(db) ? "set admin_database, or give -d: a "
					   "role of the group mcp_admin"
					 : NULL,
			"cannot tell: %s", why(db, &e));
		return;
	}
	if (s.age_s < 0)
		report_fail("reaper", remedy, "has not run for a day");
	else if (s.age_s > REAPER_AGE_MAX_S)
		report_fail("reaper", remedy,
			"ran last %" PRId64 " s ago, on %s", s.age_s, s.host);
	else if (!s.is_complete && s.overdue > 0)
		report_warn("reaper", "raise --budget of mcp-reaper",
			"ran %" PRId64 " s ago but does not keep up: %" PRId64
			" session%s overdue",
			s.age_s, s.overdue, admin_plural(s.overdue));
	else
		report_pass("reaper", "ran %" PRId64 " s ago on %s", s.age_s,
			s.host);
}
