/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "store/db.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <arpa/inet.h>
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
	assert_false(db_is_refused(d));
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

/* What a server says to a client that comes, before it hangs up. */
static void
answer_once(int listener, const char *said, size_t len)
{
	int fd = accept(listener, NULL, NULL);
	char hello[4096];

	if (fd < 0 || read(fd, hello, sizeof(hello)) <= 0 ||
		write(fd, said, len) != (ssize_t)len)
		_exit(1);
	shutdown(fd, SHUT_WR);
	while (read(fd, hello, sizeof(hello)) > 0)
		;
	close(fd);
}

#define FATAL(state, text) \
	"SFATAL\0VFATAL\0C" state "\0M" text "\0\0"

/* Refused for good, or only for now. */
static void
test_refused(void **state UNUSED)
{
#define SAYS(type, text) type, text, sizeof(text) - 1
	static const struct {
		char type;
		const char *body;
		size_t len;
		bool is_refused;
		const char *message; /* part of it */
	} cases[] = {
		{ SAYS('E', FATAL("28P01", "no: such")), true,
			"failed: FATAL:  no: such" },
		{ SAYS('E', FATAL("28000", "no role")), true, "no role" },
		{ SAYS('E', FATAL("3D000", "no database")), true,
			"no database" },
		{ SAYS('E', FATAL("42501", "no CONNECT")), true, "no CONNECT" },
		{ SAYS('E', FATAL("57P03", "starting up")), false,
			"starting up" },
		{ SAYS('E', FATAL("53300", "too many")), false, "too many" },
		{ SAYS('E', FATAL("XX000", "28P01")), false, "28P01" },
		/* AuthenticationCleartextPassword */
		{ SAYS('R', "\0\0\0\3"), true, "no password supplied" },
		/* hangs up within a message */
		{ SAYS('R', "\0"), false, "closed the connection" },
	};
	char dir[] = "/tmp/test_db.XXXXXX";
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), status;
	const char *conninfo;
	char said[256];
	struct db_res r;
	struct err e;
	struct db *d;
	uint32_t len;
	pid_t pid;
	size_t i;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/.s.PGSQL.5432",
		dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(listen(fd, 5), 0);
	/* That another host is not there does not hide what this one says. */
	conninfo = arena_printf(arena, "host=/nonexistent,%s port=5432 "
		"dbname=x user=x passfile=/nonexistent sslmode=disable", dir);
	for (i = 0; i < NELEM(cases); i++) {
		len = htonl((uint32_t)(4 + (cases[i].len == 1 ?
			4 : cases[i].len)));
		said[0] = cases[i].type;
		memcpy(said + 1, &len, 4);
		memcpy(said + 5, cases[i].body, cases[i].len);
		fflush(stdout);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			answer_once(fd, said, 5 + cases[i].len);
			_exit(0);
		}
		d = open_db(conninfo);
		assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
		assert_int_equal(e.kind, ERR_UNAVAILABLE);
		if (strstr(db_message(d), cases[i].message) == NULL)
			fail_msg("%s: %s", cases[i].message, db_message(d));
		if (db_is_refused(d) != cases[i].is_refused)
			fail_msg("%s: %d", db_message(d), db_is_refused(d));
		/* Nothing was tried since: still so. */
		assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
		assert_int_equal(db_is_refused(d), cases[i].is_refused);
		err_wrap(&e, "what for");
		assert_null(strstr(e.detail, "what for"));
		db_free(d);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	close(fd);
	unlink(sun.sun_path);
	rmdir(dir);
}

/* A service that is in no file. */
static void
test_no_service(void **state UNUSED)
{
	struct db *d = open_db("service=nowhere");
	struct db_res r;
	struct err e;

	setenv("PGSERVICEFILE", "/dev/null", 1);
	assert_int_equal(db_run(d, arena, &ONE, NULL, &r, &e), -1);
	assert_true(db_is_refused(d));
	assert_non_null(strstr(e.detail, "nowhere"));
	db_free(d);
	unsetenv("PGSERVICEFILE");
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
		TEST(test_refused),
		TEST(test_no_service),
		TEST(test_bad_conninfo),
		TEST(test_bytea),
	};

	return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
