/* SPDX-License-Identifier: ISC */
/* The connection, against a server: tests/unit/with-db gives one. */
#include "base/compat.h"
#include "store/db.h"

#include <fcntl.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

static struct arena *arena;
static struct db *db;

static struct db *
open_db(const char *dsn, bool is_pooled, int64_t statement_timeout_ms)
{
	const struct db_options o = {
		.conninfo = dsn,
		.application_name = "test_dblive",
		.is_pooled = is_pooled,
		.statement_timeout_ms = statement_timeout_ms,
		.lock_timeout_ms = 300,
		.connect_timeout_s = 1,
	};

	return db_new(&o);
}

static const char *
dsn(void)
{
	return getenv("MCP_TEST_DSN");
}

static int
set_up(void **state UNUSED)
{
	arena = arena_new(16 << 20);
	db = open_db(dsn(), false, 5000);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	arena_free(arena);
	db_free(db);
	return 0;
}

static const struct db_stmt ONE = { "test_one_1", "SELECT 1", 0, 1 };
static const struct db_stmt ECHO = { "test_echo_1",
	"SELECT $1::text, $2::int, $3::bool, $4::bytea", 4, 4 };
static const struct db_stmt PID = { "test_pid_1", "SELECT pg_backend_pid()", 0,
	1 };
static const struct db_stmt SLEEP = { "test_sleep_1",
	"SELECT 1 FROM pg_sleep($1::float8)", 1, 1 };
static const struct db_stmt TERMINATE = { "test_terminate_1",
	"SELECT pg_terminate_backend($1::int, 5000)", 1, 1 };
static const struct db_stmt SHOW = { "test_show_1",
	"SELECT current_setting($1)", 1, 1 };

static const char *
show(struct db *d, const char *setting)
{
	const char *params[] = { setting };
	struct db_res r;
	struct err e;

	if (db_run(d, arena, &SHOW, params, &r, &e) != 0)
		fail_msg("%s", e.detail);
	return db_text(&r, 0, 0);
}

static int64_t
pid_of(struct db *d)
{
	struct db_res r;
	struct err e;

	if (db_run(d, arena, &PID, NULL, &r, &e) != 0)
		fail_msg("%s", e.detail);
	return db_int(&r, 0, 0);
}

static void
terminate(int64_t pid)
{
	struct db *other = open_db(dsn(), false, 10000);
	const char *params[] = {
		arena_printf(arena, "%" PRId64, pid)
	};
	struct db_res r;
	struct err e;

	if (db_run(other, arena, &TERMINATE, params, &r, &e) != 0)
		fail_msg("%s", e.detail);
	assert_true(db_bool(&r, 0, 0));
	db_free(other);
}

static void
test_values(void **state UNUSED)
{
	const char *params[] = { "a'b\"\\ \xc3\xa9", "-7", "t", NULL };
	struct db_res r;
	struct err e;
	int i;

	params[3] = db_bytea(arena, "\x01\x02", 2);
	for (i = 0; i < 3; i++) {
		assert_int_equal(db_run(db, arena, &ECHO, params, &r, &e), 0);
		assert_int_equal(r.n_rows, 1);
		assert_string_equal(db_text(&r, 0, 0), params[0]);
		assert_int_equal(db_int(&r, 0, 1), -7);
		assert_true(db_bool(&r, 0, 2));
		assert_string_equal(db_text(&r, 0, 3), "\\x0102");
	}
	/* Prepared once, then one round trip each. */
	assert_int_equal(db_round_trips(db), 4);
	params[0] = params[1] = params[2] = params[3] = NULL;
	assert_int_equal(db_run(db, arena, &ECHO, params, &r, &e), 0);
	assert_null(db_text(&r, 0, 0));
	assert_int_equal(db_int(&r, 0, 1), 0);
	assert_false(db_bool(&r, 0, 2));
}

static void
test_settings(void **state UNUSED)
{
	assert_string_equal(show(db, "search_path"),
		"pg_catalog,mcp,pg_temp");
	assert_string_equal(show(db, "statement_timeout"), "5s");
	assert_string_equal(show(db, "lock_timeout"), "300ms");
	assert_string_equal(show(db, "idle_in_transaction_session_timeout"),
		"10s");
	assert_string_equal(show(db, "application_name"), "test_dblive");
	assert_string_equal(show(db, "client_encoding"), "UTF8");
	assert_true(db_fd(db) >= 0);
	assert_true(fcntl(db_fd(db), F_GETFD) & FD_CLOEXEC);
}

static void
test_options_joined(void **state UNUSED)
{
	struct db *d;

	d = open_db(arena_printf(arena, "%s options='-c work_mem=1MB "
		"-c search_path=public'", dsn()), false, 1000);
	assert_string_equal(show(d, "work_mem"), "1MB");
	assert_string_equal(show(d, "search_path"), "pg_catalog,mcp,pg_temp");
	db_free(d);
}

static void
test_pooled(void **state UNUSED)
{
	struct db *d;
	struct db_res r;
	struct err e;

	d = open_db(dsn(), true, 5000);
	assert_string_equal(show(d, "statement_timeout"), "0");
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), 0);
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), 0);
	/* Nothing is prepared: one round trip each, nothing left behind. */
	assert_int_equal(db_round_trips(d), 3);
	{
		static const struct db_stmt count = { "test_count_1",
			"SELECT count(*) FROM pg_prepared_statements", 0, 1 };

		assert_int_equal(db_run(d, arena, &count, NULL, &r, &e), 0);
		assert_int_equal(db_int(&r, 0, 0), 0);
	}
	db_free(d);
}

static void
test_kinds(void **state UNUSED)
{
	static const struct {
		struct db_stmt stmt;
		enum err_kind kind;
		bool is_retryable;
	} cases[] = {
#define RAISE(state) { "test_raise_" state "_1", \
		"SELECT pg_temp.fail('" state "')", 0, 1 }
		{ RAISE("23505"), ERR_CONFLICT, false },
		{ RAISE("23503"), ERR_INVALID, false },
		{ RAISE("23514"), ERR_INVALID, false },
		{ RAISE("22P02"), ERR_INVALID, false },
		{ RAISE("40001"), ERR_CONFLICT, true },
		{ RAISE("40P01"), ERR_CONFLICT, true },
		{ RAISE("57014"), ERR_TIMEOUT, false },
		{ RAISE("55P03"), ERR_TIMEOUT, false },
		{ RAISE("08006"), ERR_UNAVAILABLE, false },
		{ RAISE("53300"), ERR_UNAVAILABLE, false },
		{ RAISE("53100"), ERR_UNAVAILABLE, false },
		{ RAISE("42501"), ERR_INTERNAL, false },
		{ RAISE("P0001"), ERR_INTERNAL, false },
		{ RAISE("XX000"), ERR_INTERNAL, false },
		/* last: the connection is given up */
		{ RAISE("57P01"), ERR_UNAVAILABLE, false },
	};
	struct db_res r;
	struct err e;
	size_t i;

	if (db_script(db, "CREATE FUNCTION pg_temp.fail(s text) RETURNS int "
		"LANGUAGE plpgsql AS $$ BEGIN RAISE 'value s3cret' USING "
		"ERRCODE = s; END $$", &e) != 0)
		fail_msg("%s", e.detail);
	for (i = 0; i < NELEM(cases); i++) {
		if (db_run(db, arena, &cases[i].stmt, NULL, &r, &e) != -1 ||
			e.kind != cases[i].kind ||
			db_is_retryable(db) != cases[i].is_retryable ||
			db_is_denied(db) !=
				(strstr(e.detail, "42501") != NULL))
			fail_msg("%s: %s", cases[i].stmt.name, e.detail);
		assert_null(strstr(e.detail, "s3cret"));
		assert_string_equal(db_message(db), "value s3cret");
	}
	assert_int_equal(db_run(db, arena, &ONE, NULL, &r, &e), 0);
	assert_string_equal(db_message(db), "");
	assert_false(db_is_denied(db));
}

static void
test_columns(void **state UNUSED)
{
	static const struct db_stmt two = { "test_two_1", "SELECT 1, 2", 0, 1 };
	static const struct db_stmt none = { "test_none_1", "SELECT 1", 0, 0 };
	static const struct db_stmt bad = { "test_bad_1", "SELEC 1", 0, 1 };
	static const struct db_stmt update = { "test_update_1",
		"UPDATE pg_temp.t SET a = 2", 0, 0 };
	struct db_res r;
	struct err e;

	assert_int_equal(db_run(db, arena, &two, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_int_equal(db_run(db, arena, &none, NULL, &r, &e), -1);
	assert_int_equal(db_run(db, arena, &bad, NULL, &r, &e), -1);
	assert_non_null(strstr(e.detail, "test_bad_1: SQLSTATE 42601"));
	assert_int_equal(db_script(db, "CREATE TEMP TABLE t(a int); "
		"INSERT INTO t VALUES (1), (1), (1)", &e), 0);
	assert_int_equal(db_run(db, arena, &update, NULL, &r, &e), 0);
	assert_int_equal(r.affected, 3);
	assert_int_equal(r.n_rows, 0);
}

static void
test_describe(void **state UNUSED)
{
	static const struct db_stmt few = { "test_few_1", "SELECT $1::int", 0,
		1 };
	static const struct db_stmt many = { "test_many_1", "SELECT 1", 0, 2 };
	struct err e;

	assert_int_equal(db_describe(db, &ECHO, &e), 0);
	assert_int_equal(db_describe(db, &few, &e), -1);
	assert_non_null(strstr(e.detail, "1 parameters where 0"));
	assert_int_equal(db_describe(db, &many, &e), -1);
	assert_non_null(strstr(e.detail, "1 columns where 2"));
}

static void
test_timeouts(void **state UNUSED)
{
	const char *params[] = { "30" };
	struct db *d;
	struct db_res r;
	struct err e;
	int64_t began = clock_mono_ms();

	d = open_db(dsn(), false, 200);
	assert_int_equal(db_run(d, arena, &SLEEP, params, &r, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_non_null(strstr(e.detail, "57014"));
	assert_in_range(clock_mono_ms() - began, 150, 1500);
	assert_true(db_fd(d) >= 0);

	/* The server does not stop it: we stop waiting. */
	began = clock_mono_ms();
	assert_int_equal(db_script(d, "SET statement_timeout = 0", &e), 0);
	assert_int_equal(db_run(d, arena, &SLEEP, params, &r, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_in_range(clock_mono_ms() - began, 2000, 4000);
	assert_int_equal(db_fd(d), -1);
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), 0);
	db_free(d);
}

static void
test_killed_idle(void **state UNUSED)
{
	struct db_res r;
	struct err e;
	int i;

	for (i = 0; i < 5; i++) {
		int64_t pid = pid_of(db);

		terminate(pid);
		/* Replaced without anybody noticing, statements prepared. */
		if (db_run(db, arena, &ONE, NULL, &r, &e) != 0)
			fail_msg("%s", e.detail);
		assert_int_not_equal(pid_of(db), pid);
	}
}

static void
test_killed_in_transaction(void **state UNUSED)
{
	struct db_res r;
	struct err e;

	assert_int_equal(db_script(db, "BEGIN", &e), 0);
	terminate(pid_of(db));
	assert_int_equal(db_run(db, arena, &ONE, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_int_equal(db_run(db, arena, &ONE, NULL, &r, &e), 0);
}

static void
test_killed_running(void **state UNUSED)
{
	static const struct db_stmt suicide = { "test_suicide_1",
		"SELECT pg_terminate_backend(pg_backend_pid())", 0, 1 };
	uint64_t trips;
	struct db_res r;
	struct err e;

	assert_int_equal(db_describe(db, &suicide, &e), 0);
	trips = db_round_trips(db);
	/* Sent: whether it was done is not known, so not sent again. */
	assert_int_equal(db_run(db, arena, &suicide, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_int_equal(db_round_trips(db), trips + 1);
	assert_int_equal(db_fd(db), -1);
	assert_int_equal(db_run(db, arena, &ONE, NULL, &r, &e), 0);
}

static void
test_stale_plan(void **state UNUSED)
{
	static const struct db_stmt all = { "test_all_1",
		"SELECT * FROM public.test_db_stale", 0, 1 };
	struct db_res r;
	struct err e;
	struct db *d;

	d = open_db(dsn(), false, 5000);
	assert_int_equal(db_script(d, "DROP TABLE IF EXISTS "
		"public.test_db_stale; CREATE TABLE public.test_db_stale("
		"a int)", &e), 0);
	assert_int_equal(db_run(d, arena, &all, NULL, &r, &e), 0);
	assert_int_equal(db_script(d, "ALTER TABLE public.test_db_stale "
		"ALTER a TYPE text", &e), 0);
	assert_int_equal(db_run(d, arena, &all, NULL, &r, &e), 0);
	assert_int_equal(db_script(d, "DEALLOCATE ALL", &e), 0);
	assert_int_equal(db_run(d, arena, &all, NULL, &r, &e), 0);
	assert_int_equal(db_script(d, "DROP TABLE public.test_db_stale", &e),
		0);
	assert_int_equal(db_run(d, arena, &all, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	db_free(d);
}

static void
test_script(void **state UNUSED)
{
	struct err e;

	assert_int_equal(db_script(db, "SELECT 1; SELECT 2", &e), 0);
	assert_int_equal(db_script(db, "", &e), 0);
	assert_int_equal(db_script(db, "SELECT 1; SELECT 1/0; SELECT 2", &e),
		-1);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_string_equal(db_message(db), "division by zero");
	assert_int_equal(db_script(db, "COPY pg_class TO STDOUT", &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_int_equal(db_script(db, "SELECT 1", &e), 0);
}

static void
test_large(void **state UNUSED)
{
	static const struct db_stmt length = { "test_length_1",
		"SELECT length($1), $1", 1, 2 };
	enum { LEN = 4 << 20 };
	const char *params[1];
	struct db_res r;
	struct err e;
	char *text;

	text = arena_alloc(arena, LEN + 1);
	memset(text, 'x', LEN);
	text[LEN] = '\0';
	params[0] = text;
	assert_int_equal(db_run(db, arena, &length, params, &r, &e), 0);
	assert_int_equal(db_int(&r, 0, 0), LEN);
	assert_int_equal(strlen(db_text(&r, 0, 1)), LEN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		TEST(test_values),
		TEST(test_settings),
		TEST(test_options_joined),
		TEST(test_pooled),
		TEST(test_kinds),
		TEST(test_columns),
		TEST(test_describe),
		TEST(test_timeouts),
		TEST(test_killed_idle),
		TEST(test_killed_in_transaction),
		TEST(test_killed_running),
		TEST(test_stale_plan),
		TEST(test_script),
		TEST(test_large),
	};

	if (dsn() == NULL) {
		puts("1..0 # SKIP MCP_TEST_DSN is not set: see "
		     "tests/unit/with-db");
		return 0;
	}
	return cmocka_run_group_tests_name("dblive", tests, NULL, NULL);
}
