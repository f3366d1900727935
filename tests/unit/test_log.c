/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <syslog.h>

#include <cmocka.h>

#include "base/err.h"

static char line[8192];

/* Which of the two libc's header calls depends on the build's hardening. */
void __wrap_syslog(int priority, const char *fmt, ...) PRINTF(2, 3);
void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...)
	PRINTF(3, 4);
static int last_priority = -1;

void
__wrap_syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	last_priority = priority;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

void
__wrap___syslog_chk(int priority, int flag UNUSED, const char *fmt, ...)
{
	va_list ap;

	last_priority = priority;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

/* What FN writes to standard error, without the time and process in front. */
static const char *
captured(void (*fn)(const void *), const void *arg)
{
	FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	const char *level;
	size_t n;

	assert_non_null(f);
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	fn(arg);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(f);
	n = fread(line, 1, sizeof(line) - 1, f);
	line[n] = '\0';
	fclose(f);
	level = strstr(line, "level=");
	return level != NULL ? level : line;
}

static void
with_value(const void *value)
{
	log_event(LOG_LEVEL_WARN, "test.event", "k", (const char *)value, NULL);
}

static void
test_escape(void **state UNUSED)
{
	static const struct {
		const char *name, *in, *out;
	} cases[] = {
		{ "plain", "abc", "k=abc" },
		{ "empty", "", "k=\"\"" },
		{ "space", "a b", "k=\"a b\"" },
		{ "equals", "a=b", "k=\"a=b\"" },
		{ "quote", "a\"b", "k=\"a\\\"b\"" },
		{ "backslash", "a\\b", "k=\"a\\\\b\"" },
		{ "line feed", "a\nlevel=err", "k=\"a\\nlevel=err\"" },
		{ "carriage return", "a\rb", "k=\"a\\x0db\"" },
		{ "escape", "\033[2J", "k=\"\\x1b[2J\"" },
		{ "delete", "\x7f", "k=\"\\x7f\"" },
		{ "C1 control", "\xc2\x9b", "k=\"\\xc2\\x9b\"" },
		{ "line separator", "\xe2\x80\xa8", "k=\"\\xe2\\x80\\xa8\"" },
		{ "direction", "\xe2\x80\xae", "k=\"\\xe2\\x80\\xae\"" },
		{ "not UTF-8", "a\xff", "k=\"a\\xff\"" },
		{ "UTF-8", "\xc3\xa9\xe2\x82\xac", "k=\xc3\xa9\xe2\x82\xac" },
	};
	size_t i;

	log_context_clear();
	for (i = 0; i < NELEM(cases); i++) {
		const char *got = captured(with_value, cases[i].in);
		char want[256];

		(void)snprintf(want, sizeof(want),
			"level=warn ev=test.event %s\n", cases[i].out);
		if (strcmp(got, want) != 0)
			fail_msg("%s: %s", cases[i].name, got);
	}
}

static void
with_pairs(const void *arg UNUSED)
{
	log_event(LOG_LEVEL_ERR, "test.pairs", "a", "1", "absent", NULL, "b",
		log_num(-7), NULL);
}

static void
test_pairs(void **state UNUSED)
{
	assert_string_equal(captured(with_pairs, NULL),
		"level=err ev=test.pairs a=1 b=-7\n");
}

static void
test_context(void **state UNUSED)
{
	char subject[300];

	log_context("r1", "0123456789abcdef", "user 1");
	assert_string_equal(captured(with_value, "v"),
		"level=warn ev=test.event rid=r1 sid=01234567 sub=\"user 1\" "
		"k=v\n");
	log_context(NULL, "short", NULL);
	assert_string_equal(captured(with_value, "v"),
		"level=warn ev=test.event sid=short k=v\n");
	log_context_clear();
	assert_string_equal(captured(with_value, "v"),
		"level=warn ev=test.event k=v\n");
	/* Cut between characters, not within one. */
	memset(subject, 'x', 61);
	memcpy(subject + 61, "\xe2\x82\xac", 4);
	log_context(NULL, NULL, subject);
	subject[61] = '\0';
	assert_non_null(strstr(captured(with_value, "v"), subject));
	assert_null(strstr(line, "\\x"));
	log_context_clear();
}

static void
test_long(void **state UNUSED)
{
	static char value[9000];
	const char *got;
	size_t len;

	memset(value, '\n', sizeof(value) - 1);
	got = captured(with_value, value);
	len = strlen(line);
	assert_true(len <= 2048 && len <= PIPE_BUF);
	assert_string_equal(line + len - 5, " ...\n");
	assert_ptr_equal(strchr(got, '\n'), line + len - 1);
}

static void
with_err(const void *e)
{
	log_err(LOG_LEVEL_INFO, "test.err", e);
}

static void
test_err(void **state UNUSED)
{
	struct err e;

	err_set(&e, ERR_TIMEOUT, NULL, "too late");
	assert_non_null(strstr(captured(with_err, &e),
		"kind=timeout detail=\"too late\" at="));
	err_clear(&e);
	assert_non_null(strstr(captured(with_err, &e), "kind=none"));
}

static void
test_level(void **state UNUSED)
{
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	assert_string_equal(captured(with_value, "v"), "");
	assert_non_null(strstr(captured(with_pairs, NULL), "ev=test.pairs"));
	assert_non_null(strstr(line, " test["));
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	assert_non_null(strstr(captured(with_value, "v"), "k=v"));
}

static void
test_syslog(void **state UNUSED)
{
	log_open("test", LOG_TARGET_SYSLOG, LOG_LEVEL_INFO);
	with_value("%s%n a");
	assert_string_equal(line, "level=warn ev=test.event k=\"%s%n a\"");
	assert_int_equal(last_priority, LOG_WARNING);
	with_pairs(NULL);
	assert_int_equal(last_priority, LOG_ERR);
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
}

static void
test_num(void **state UNUSED)
{
	const char *a = log_num(1), *b = log_num(LLONG_MIN);

	assert_string_equal(a, "1");
	assert_string_equal(b, "-9223372036854775808");
}

static void
test_closed(void **state UNUSED)
{
	int saved = dup(STDERR_FILENO);

	/* A log that cannot be written does not end anything. */
	close(STDERR_FILENO);
	with_value("v");
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_syslog),
		cmocka_unit_test(test_num),
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
