/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "store/db.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

static struct arena *arena;

static struct db *
open_db(const char *conninfo)
{
	const struct db_options o = {
		.conninfo = conninfo,
		.application_name = "test_db",
		.statement_timeout_ms = 1000,
		.connect_timeout_s = 1,
	};

	return db_new(&o);
}

static int
set_up(void **state UNUSED)
{
	arena = arena_new(16 << 20);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	arena_free(arena);
	return 0;
}

static const struct db_stmt ONE = { "test_one_1", "SELECT 1", 0, 1 };

static void
test_backoff(void **state UNUSED)
{
	struct db *d = open_db("host=/nonexistent dbname=x");
	int64_t began = clock_mono_ms();
	struct db_res r;
	struct err e;
	int i, tries = 0;

	assert_int_equal(db_fd(d), -1);
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_null(strstr(e.detail, "next try"));
	assert_null(strchr(e.detail, '\n'));
	/* At once again: told to wait, and not made to wait. */
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_non_null(strstr(e.detail, "next try"));
	assert_non_null(strstr(e.detail, "/nonexistent"));
	assert_non_null(strstr(db_message(d), "/nonexistent"));
	assert_true(clock_mono_ms() - began < 90);
	/* Later a real try: 100, 200, 400 ms less a quarter at most. */
	for (i = 0; i < 90; i++) {
		assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
		tries += strstr(e.detail, "next try") == NULL;
		usleep(5000);
	}
	assert_in_range(tries, 1, 3);
	assert_int_equal(db_round_trips(d), 0);
	db_free(d);
}

/* A server that accepts and says nothing holds nobody for ever. */
static void
test_mute(void **state UNUSED)
{
	char dir[] = "/tmp/test_db.XXXXXX";
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int64_t began = clock_mono_ms();
	struct db_res r;
	struct err e;
	struct db *d;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/.s.PGSQL.5432",
		dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(listen(fd, 5), 0);
	d = open_db(arena_printf(arena, "host=%s port=5432 dbname=x user=x",
		dir));
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_in_range(clock_mono_ms() - began, 900, 4000);
	assert_int_equal(db_fd(d), -1);
	db_free(d);
	close(fd);
	unlink(sun.sun_path);
	rmdir(dir);
}

static void
test_bad_conninfo(void **state UNUSED)
{
	struct db *d = open_db("nonsense=s3cret");
	struct db_res r;
	struct err e;

	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_null(strstr(e.detail, "s3cret"));
	db_free(d);
	db_free(NULL);
}

static void
test_bytea(void **state UNUSED)
{
	assert_string_equal(db_bytea(arena, "\x00\xff", 2), "\\x00ff");
	assert_string_equal(db_bytea(arena, "", 0), "\\x");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		TEST(test_backoff),
		TEST(test_mute),
		TEST(test_bad_conninfo),
		TEST(test_bytea),
	};

	return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
