/* SPDX-License-Identifier: ISC */
/*
 * The store against a database: what the C side makes of each outcome, and
 * migrations from nothing, twice, at once, edited, and from the future.
 */
#include "base/compat.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/apitoken.h"
#include "store/audit.h"
#include "store/db.h"
#include "store/keyset.h"
#include "store/migration.h"
#include "store/session.h"
#include "store/sweep.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct arena *arena;
static struct db *db;
static struct err err;

static const struct session_caller ALICE = { "i", "alice", "x", NULL };
static const struct session_caller BOB = { "i", "bob", "y", NULL };
static const struct session_caller NOBODY = { "i", "alice", NULL, NULL };
static const struct session_limits LIMITS = { 300, 0, 0, 30, 2 };

#define OK(call)                                                               \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("%s: %s", err.detail, db_message(db));        \
	} while (0)

/* Each test in a transaction that is undone. */
static int
begin(void **state UNUSED)
{
	static struct db_options o = { .application_name = "test_store" };

	o.conninfo = getenv("MCP_TEST_DSN");
	arena = arena_new(16 << 20);
	db = db_new(&o);
	return db_script(db, "BEGIN", &err);
}

static int
rollback(void **state UNUSED)
{
	db_free(db);
	arena_free(arena);
	return 0;
}

static enum session_outcome
enter(const char *id, const struct session_caller *c, struct session *s)
{
	enum session_outcome o = SESSION_OUTCOME__MAX;

	OK(session_enter(db, arena, id, c, SESSION_MEMBER_SQL, &o, s, &err));
	return o;
}

static void
test_session(void **state UNUSED)
{
	struct session_new n = { ID_A, "2025-11-25", "{\"name\":\"c\"}",
		"{\"roots\":{}}" };
	enum session_outcome o;
	struct session s;
	int64_t displaced;
	bool was_there;

	assert_int_equal(enter(NULL, &ALICE, &s), SESSION_NOT_MEMBER);
	OK(db_script(db,
		"INSERT INTO mcp.membership (account_id, organization_id) "
		"VALUES ('alice', 'x'), ('bob', 'y')",
		&err));
	assert_int_equal(enter(NULL, &ALICE, &s), SESSION_OK);
	assert_string_equal(s.account_id, "alice");
	assert_null(s.protocol_version);
	assert_int_equal(enter(ID_A, &ALICE, &s), SESSION_NONE);
	assert_null(s.end_reason);

	OK(session_open(db, arena, &ALICE, &n, &LIMITS, &displaced, &err));
	assert_int_equal(displaced, 0);
	assert_int_equal(enter(ID_A, &ALICE, &s), SESSION_OK);
	assert_string_equal(s.protocol_version, "2025-11-25");
	assert_string_equal(s.client_capabilities, "{\"roots\": {}}");
	assert_false(s.is_initialized);
	OK(session_initialized(db, arena, ID_A, &err));
	assert_int_equal(enter(ID_A, &ALICE, &s), SESSION_OK);
	assert_true(s.is_initialized);
	assert_int_equal(enter(ID_A, &BOB, &s), SESSION_FOREIGN);
	assert_int_equal(enter(ID_A, &NOBODY, &s), SESSION_NOT_MEMBER);
	assert_int_equal(enter(ID_A, &ALICE, &s), SESSION_OK);

	/* What a client may send as an id is never an error. */
	assert_int_equal(enter("", &ALICE, &s), SESSION_NONE);
	assert_int_equal(enter("\xff\xfe", &ALICE, &s), SESSION_NONE);
	assert_int_equal(enter("' OR 1=1 --", &ALICE, &s), SESSION_NONE);

	OK(session_end(db, arena, ID_A, &BOB, &o, &err));
	assert_int_equal(o, SESSION_FOREIGN);
	OK(session_end(db, arena, ID_A, &ALICE, &o, &err));
	assert_int_equal(o, SESSION_OK);
	OK(session_end(db, arena, ID_A, &ALICE, &o, &err));
	assert_int_equal(o, SESSION_NONE);
	OK(session_end(db, arena, "\xff", &ALICE, &o, &err));
	assert_int_equal(o, SESSION_NONE);
	assert_int_equal(enter(ID_A, &ALICE, &s), SESSION_NONE);
	assert_string_equal(s.end_reason, "deleted");

	n.id = ID_B;
	OK(session_open(db, arena, &ALICE, &n, &LIMITS, NULL, &err));
	OK(session_kill(db, arena, "bbbbbbbb", &was_there, &err));
	assert_true(was_there);
	OK(session_kill(db, arena, ID_B, &was_there, &err));
	assert_false(was_there);
	assert_int_not_equal(
		session_kill(db, arena, "bb", &was_there, &err), 0);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void
test_denied(void **state UNUSED)
{
	struct session_new n = { ID_A, "2025-11-25", "{}", "{}" };
	enum session_outcome o;
	struct session s;

	OK(session_open(db, arena, &ALICE, &n, &LIMITS, NULL, &err));
	OK(session_enter(
		db, arena, ID_A, &BOB, SESSION_MEMBER_NO, &o, &s, &err));
	assert_int_equal(o, SESSION_NOT_MEMBER);
	OK(session_enter(
		db, arena, ID_A, &ALICE, SESSION_MEMBER_YES, &o, &s, &err));
	assert_int_equal(o, SESSION_OK);
	OK(session_enter(
		db, arena, ID_A, &ALICE, SESSION_MEMBER_NO, &o, &s, &err));
	assert_int_equal(o, SESSION_NOT_MEMBER);
	OK(session_enter(
		db, arena, ID_A, &ALICE, SESSION_MEMBER_YES, &o, &s, &err));
	assert_int_equal(o, SESSION_NONE);
	assert_string_equal(s.end_reason, "revoked");
}

static void
test_too_long(void **state UNUSED)
{
	struct session_new n = { ID_A, "2025-11-25", "{}", "{}" };
	char *big = arena_zalloc(arena, 70001);

	memset(big, 'x', 70000);
	n.client_info = arena_printf(arena, "{\"name\":\"%s\"}", big);
	assert_int_not_equal(
		session_open(db, arena, &ALICE, &n, &LIMITS, NULL, &err), 0);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void
test_apitoken(void **state UNUSED)
{
	struct apitoken_owner in = { "local", "alice", "x" }, out;
	struct apitoken_new t = { { 1, 2, 3 }, "abcd", "laptop", 0 };
	struct session_caller c = { NULL, NULL, NULL, t.sha256 };
	enum apitoken_outcome o;
	struct session s;
	bool was_live;
	int64_t id;

	OK(apitoken_find(db, arena, t.sha256, &o, &out, &err));
	assert_int_equal(o, APITOKEN_BAD);
	assert_int_equal(enter(NULL, &c, &s), SESSION_BAD_TOKEN);
	OK(apitoken_issue(db, arena, &in, &t, &id, &err));
	OK(apitoken_find(db, arena, t.sha256, &o, &out, &err));
	assert_int_equal(o, APITOKEN_OK);
	assert_string_equal(out.issuer, "local");
	assert_string_equal(out.account_id, "alice");
	assert_string_equal(out.organization_id, "x");
	OK(db_script(db,
		"INSERT INTO mcp.membership (account_id, organization_id) "
		"VALUES ('alice', 'x')",
		&err));
	assert_int_equal(enter(NULL, &c, &s), SESSION_OK);
	assert_string_equal(s.issuer, "local");
	assert_string_equal(s.account_id, "alice");
	OK(apitoken_revoke(db, arena, id, &was_live, &err));
	assert_true(was_live);
	OK(apitoken_revoke(db, arena, id, &was_live, &err));
	assert_false(was_live);
	OK(apitoken_find(db, arena, t.sha256, &o, &out, &err));
	assert_int_equal(o, APITOKEN_BAD);
	assert_int_equal(enter(NULL, &c, &s), SESSION_BAD_TOKEN);

	t.sha256[0] = 9;
	t.ttl_s = 60;
	OK(apitoken_issue(db, arena, &in, &t, &id, &err));
	assert_int_equal(enter(NULL, &c, &s), SESSION_OK);
	OK(db_script(db, "UPDATE mcp.api_token SET expires_at = now()", &err));
	assert_int_equal(enter(NULL, &c, &s), SESSION_EXPIRED_TOKEN);
	OK(apitoken_find(db, arena, t.sha256, &o, &out, &err));
	assert_int_equal(o, APITOKEN_EXPIRED);
	assert_int_not_equal(apitoken_issue(db, arena, &in, &t, &id, &err), 0);
	assert_int_equal(err.kind, ERR_CONFLICT);
}

static void
test_keyset(void **state UNUSED)
{
	struct keyset k;
	bool granted;

	OK(keyset_find(db, arena, "i", &k, &err));
	assert_null(k.document);
	assert_null(k.metadata);
	assert_null(k.version);
	OK(keyset_claim(db, arena, "i", KEYSET_KEYS, 30, &granted, &err));
	assert_true(granted);
	OK(keyset_claim(db, arena, "i", KEYSET_KEYS, 30, &granted, &err));
	assert_false(granted);
	OK(keyset_claim(db, arena, "i", KEYSET_METADATA, 30, &granted, &err));
	assert_true(granted);
	OK(keyset_save(db, arena, "i", KEYSET_KEYS, "{\"keys\":[]}", &err));
	OK(keyset_save(db, arena, "i", KEYSET_METADATA, "{}", &err));
	OK(keyset_fail(db, arena, "i", "timeout", &err));
	OK(keyset_find(db, arena, "i", &k, &err));
	assert_string_equal(k.document, "{\"keys\":[]}");
	assert_string_equal(k.metadata, "{}");
	assert_non_null(k.version);
	assert_int_equal(k.document_age_s, 0);
}

static void
test_audit(void **state UNUSED)
{
	struct audit_event ev = { "member.added", NULL, "alice", "x", NULL };

	OK(audit_write(db, arena, &ev, &err));
	ev.detail = "{\"by\":\"me\"}";
	OK(audit_write(db, arena, &ev, &err));
}

static void
test_sweep(void **state UNUSED)
{
	struct sweep_options o = { .batch = 10,
		.heartbeat_s = 30,
		.retention_s = 604800,
		.budget_ms = 10000,
		.host = "here" };
	struct sweep s;

	OK(db_script(db,
		"INSERT INTO mcp.session (session_id, issuer, account_id, "
		"organization_id, last_activity_at, alarm_at) "
		"SELECT lpad(to_hex(n), 64, '0'), 'i', 'a', 'o', now() - "
		"n % 2 * interval '1 hour', now() - interval '1 s' "
		"FROM generate_series(1, 45) n",
		&err));
	OK(sweep_preview(db, arena, &o, &s, &err));
	assert_int_equal(s.expired, 23);
	assert_int_equal(s.renewed, 22);
	o.budget_ms = 0;
	OK(sweep_run(db, arena, &o, &s, &err));
	assert_int_equal(s.expired, 0);
	assert_false(s.is_complete);
	o.budget_ms = 10000;
	OK(sweep_run(db, arena, &o, &s, &err));
	assert_int_equal(s.expired, 23);
	assert_int_equal(s.renewed, 22);
	assert_true(s.is_complete);
	OK(sweep_run(db, arena, &o, &s, &err));
	assert_int_equal(s.expired + s.renewed + s.purged, 0);
}

/*
 * Migrations.
 */

static void
report_count(void *ctx, const char *step UNUSED)
{
	++*(int *)ctx;
}

/* A connection to database NAME of the test's cluster as USER (or NULL). */
static struct db *
other_open(const char *name, const char *user)
{
	struct db_options o = { .application_name = "test_store" };

	/* Of repeated keywords the last counts. */
	o.conninfo = arena_printf(arena, "%s dbname=%s%s%s",
		getenv("MCP_TEST_DSN"), name,
		user == NULL ? "" : " user=", user == NULL ? "" : user);
	return db_new(&o);
}

static const char *
sql_dir(void)
{
	const char *src = getenv("MCP_SRC");

	return arena_printf(arena, "%s/sql", src == NULL ? "." : src);
}

/* A copy of sql/ with one byte more in the first migration. */
static const char *
edited_dir(void)
{
	char *dir = arena_strdup(arena, "/tmp/test_store.XXXXXX");

	assert_non_null(mkdtemp(dir));
	assert_int_equal(0, chdir(dir));
	/* cp -R is not ours to write again. */
	switch (fork()) {
	case 0:
		execlp("sh", "sh", "-c",
			"cp -R \"$0\"/. . && chmod -R u+w . && "
			"echo >>migrations/0001-tables.sql",
			sql_dir(), (char *)NULL);
		_exit(127);
	default: {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	}
	return dir;
}

static void
remove_dir(const char *dir)
{
	int status;

	assert_int_equal(0, chdir("/"));
	if (fork() == 0) {
		execlp("rm", "rm", "-rf", dir, (char *)NULL);
		_exit(127);
	}
	assert_true(wait(&status) > 0);
}

static void
test_migrate(void **state UNUSED)
{
	int applied, n = 0;
	const char *dir;
	int64_t version;
	struct db *m;

	OK(db_script(db, "ROLLBACK", &err));
	OK(db_script(db, "CREATE DATABASE store_super", &err));
	m = other_open("store_super", NULL);
	assert_int_not_equal(migration_check(m, arena, &err), 0);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_non_null(strstr(err.detail, "migrate"));
	OK(migration_run(
		m, arena, sql_dir(), report_count, &n, &applied, &err));
	assert_int_equal(applied, MIGRATION_CURRENT);
	assert_int_equal(n, MIGRATION_CURRENT + 2); /* roles, privileges */
	OK(migration_check(m, arena, &err));
	OK(migration_run(
		m, arena, sql_dir(), report_count, &n, &applied, &err));
	assert_int_equal(applied, 0);

	/* Edited after it was applied. */
	dir = edited_dir();
	assert_int_not_equal(
		migration_run(m, arena, dir, report_count, &n, &applied, &err),
		0);
	remove_dir(dir);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_non_null(strstr(err.detail, "0001-tables was edited"));

	/* From a newer release. */
	OK(db_script(m,
		arena_printf(arena,
			"INSERT INTO mcp.migration (migration_id, slug, "
			"sha256) "
			"VALUES (%d, 'future', repeat('0', 64))",
			MIGRATION_CURRENT + 1),
		&err));
	OK(migration_version(m, arena, &version, &err));
	assert_int_equal(version, MIGRATION_CURRENT + 1);
	assert_int_not_equal(migration_check(m, arena, &err), 0);
	assert_non_null(strstr(err.detail, "newer"));
	assert_int_not_equal(migration_run(m, arena, sql_dir(), report_count,
				     &n, &applied, &err),
		0);
	assert_non_null(strstr(err.detail, "newer"));
	db_free(m);
	OK(db_script(db, "DROP DATABASE store_super", &err));
}

static void
test_migrate_broken(void **state UNUSED)
{
	const char *dir;
	int64_t version;
	int applied, n = 0;
	struct db *m;

	OK(db_script(db, "ROLLBACK", &err));
	OK(db_script(db, "CREATE DATABASE store_broken", &err));
	m = other_open("store_broken", NULL);
	dir = edited_dir();
	{
		FILE *f = fopen("migrations/0002-functions.sql", "a");

		assert_non_null(f);
		fputs("SELECT 1/0;\n", f);
		assert_int_equal(fclose(f), 0);
	}
	assert_int_not_equal(
		migration_run(m, arena, dir, report_count, &n, &applied, &err),
		0);
	remove_dir(dir);
	assert_non_null(strstr(err.detail, "0002-functions"));
	assert_non_null(strstr(err.detail, "division by zero"));
	assert_int_equal(applied, 1);
	/* The broken step is undone whole, and the connection goes on. */
	OK(db_script(m,
		"DO $$ BEGIN ASSERT (SELECT count(*) FROM mcp.migration) = 1; "
		"ASSERT to_regproc('mcp.enter') IS NULL; END $$",
		&err));
	assert_int_not_equal(migration_version(m, arena, &version, &err), 0);
	db_free(m);
	OK(db_script(db, "DROP DATABASE store_broken", &err));
}

static void
test_migrate_at_once(void **state UNUSED)
{
	int i, status, applied = 0, n = 0, sum = 0, fds[2];
	struct db *m;

	OK(db_script(db, "ROLLBACK", &err));
	OK(db_script(db, "CREATE DATABASE store_race", &err));
	assert_int_equal(pipe(fds), 0);
	for (i = 0; i < 4; i++) {
		if (fork() == 0) {
			m = other_open("store_race", NULL);
			if (migration_run(m, arena, sql_dir(), report_count, &n,
				    &applied, &err) != 0)
				fprintf(stderr, "# %s\n", err.detail);
			if (write(fds[1], &applied, sizeof(applied)) < 0)
				_exit(1);
			_exit(migration_check(m, arena, &err) != 0);
		}
	}
	for (i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_int_equal(read(fds[0], &applied, sizeof(applied)),
			sizeof(applied));
		sum += applied;
	}
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(sum, MIGRATION_CURRENT);
	OK(db_script(db, "DROP DATABASE store_race", &err));
}

/* Shared hosting: no group roles, and none can be made. */
static void
test_migrate_one_role(void **state UNUSED)
{
	static const char RENAME[] =
		"DO $$ DECLARE r text; BEGIN FOR r IN SELECT rolname "
		"FROM pg_roles WHERE rolname ~ '^%s(owner|responder|reaper|"
		"admin|readonly)$' LOOP EXECUTE format('ALTER ROLE %%I RENAME "
		"TO %%I', r, replace(r, '%s', '%s')); END LOOP; END $$";
	int applied, n = 0;
	enum session_outcome o;
	struct session s;
	struct db *m;

	OK(db_script(db, "ROLLBACK", &err));
	OK(db_script(db, arena_printf(arena, RENAME, "mcp_", "mcp_", "away_"),
		&err));
	OK(db_script(db, "CREATE ROLE tenant LOGIN", &err));
	OK(db_script(db, "CREATE DATABASE store_tenant OWNER tenant", &err));
	m = other_open("store_tenant", "tenant");
	OK(migration_run(
		m, arena, sql_dir(), report_count, &n, &applied, &err));
	assert_int_equal(applied, MIGRATION_CURRENT);
	assert_int_equal(n, MIGRATION_CURRENT + 1); /* no roles */
	OK(migration_check(m, arena, &err));
	OK(session_enter(
		m, arena, NULL, &ALICE, SESSION_MEMBER_YES, &o, &s, &err));
	assert_int_equal(o, SESSION_OK);
	OK(migration_run(
		m, arena, sql_dir(), report_count, &n, &applied, &err));
	db_free(m);
	OK(db_script(db, "DROP DATABASE store_tenant", &err));
	OK(db_script(db, arena_printf(arena, RENAME, "away_", "away_", "mcp_"),
		&err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_session, begin, rollback),
		cmocka_unit_test_setup_teardown(test_denied, begin, rollback),
		cmocka_unit_test_setup_teardown(test_too_long, begin, rollback),
		cmocka_unit_test_setup_teardown(test_apitoken, begin, rollback),
		cmocka_unit_test_setup_teardown(test_keyset, begin, rollback),
		cmocka_unit_test_setup_teardown(test_audit, begin, rollback),
		cmocka_unit_test_setup_teardown(test_sweep, begin, rollback),
		cmocka_unit_test_setup_teardown(test_migrate, begin, rollback),
		cmocka_unit_test_setup_teardown(
			test_migrate_broken, begin, rollback),
		cmocka_unit_test_setup_teardown(
			test_migrate_at_once, begin, rollback),
		cmocka_unit_test_setup_teardown(
			test_migrate_one_role, begin, rollback),
	};

	if (getenv("MCP_TEST_DSN") == NULL) {
		puts("1..0 # SKIP MCP_TEST_DSN is not set");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
