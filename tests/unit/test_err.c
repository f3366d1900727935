/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/err.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"

static void
test_set(void **state UNUSED)
{
	struct err e;

	memset(&e, 0xff, sizeof(e));
	assert_int_equal(err_set(&e, ERR_LIMIT, "Too much", "%d of %s", 3, "x"),
		-1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(e.rpc_code, 0);
	assert_string_equal(e.detail, "3 of x");
	assert_string_equal(e.pub, "Too much");
	assert_non_null(strstr(e.at, "test_err.c:"));
	err_clear(&e);
	assert_int_equal(e.kind, ERR_NONE);
	assert_string_equal(e.detail, "");
	assert_null(e.at);
}

static void
test_kinds(void **state UNUSED)
{
	struct err e;
	int k, j;

	for (k = ERR_NONE + 1; k < ERR__MAX; k++) {
		err_set(&e, (enum err_kind)k, NULL, "x");
		assert_true(strlen(e.pub) > 0);
		assert_string_not_equal(err_kind_name((enum err_kind)k),
			"unknown");
		for (j = ERR_NONE; j < k; j++)
			assert_string_not_equal(err_kind_name((enum err_kind)k),
				err_kind_name((enum err_kind)j));
	}
	assert_string_equal(err_kind_name(ERR__MAX), "unknown");
}

static bool
is_utf8(const char *s)
{
	size_t len = strlen(s), i, n;

	for (i = 0; i < len; i += n) {
		n = buf_utf8_len(s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

static void
test_long(void **state UNUSED)
{
	char text[600];
	struct err e;
	size_t shift, i;

	/* However the characters fall, none is cut in two. */
	for (shift = 0; shift < 4; shift++) {
		memset(text, 'a', shift);
		for (i = shift; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 4);
		text[i] = '\0';
		err_set(&e, ERR_INVALID, text, "%s", text);
		assert_true(strlen(e.detail) < sizeof(e.detail));
		assert_true(strlen(e.detail) > sizeof(e.detail) - 6);
		assert_true(strlen(e.pub) < sizeof(e.pub));
		assert_true(is_utf8(e.detail));
		assert_true(is_utf8(e.pub));
		assert_int_equal(err_wrap(&e, text), -1);
		assert_true(is_utf8(e.detail));
	}
}

static void
test_wrap(void **state UNUSED)
{
	struct err e;

	err_set(&e, ERR_TIMEOUT, NULL, "late");
	assert_int_equal(err_wrap(&e, "outer"), -1);
	assert_int_equal(err_wrap(&e, "%s"), -1);
	assert_string_equal(e.detail, "%s: outer: late");
	assert_int_equal(e.kind, ERR_TIMEOUT);
	/* A sentence of its own stays one; the next error is not one. */
	assert_int_equal(err_whole(&e), -1);
	assert_int_equal(err_wrap(&e, "outermost"), -1);
	assert_string_equal(e.detail, "%s: outer: late");
	err_set(&e, ERR_TIMEOUT, NULL, "late");
	err_wrap(&e, "outer");
	assert_string_equal(e.detail, "outer: late");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_wrap),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
