/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/buf.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"

static void
test_grow(void **state UNUSED)
{
	struct arena *a = arena_new(1 << 20);
	struct buf b;
	size_t i;

	buf_init(&b, a);
	assert_string_equal(b.data, "");
	buf_clear(&b);
	assert_int_equal(b.len, 0);
	buf_put(&b, NULL, 0);
	for (i = 0; i < 10000; i++)
		buf_putc(&b, (char)('a' + i % 26));
	assert_int_equal(b.len, 10000);
	assert_int_equal(strlen(b.data), 10000);
	for (i = 0; i < 10000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	buf_clear(&b);
	assert_string_equal(b.data, "");
	buf_puts(&b, "x");
	buf_printf(&b, "%d%s", 12, "");
	buf_printf(&b, "%500d", 3);
	assert_int_equal(b.len, 503);
	assert_int_equal(b.data[502], '3');
	memcpy(buf_reserve(&b, 3), "abc", 3);
	buf_commit(&b, 2);
	assert_string_equal(b.data + 503, "ab");
	arena_free(a);
}

static void
test_json(void **state UNUSED)
{
	static const struct {
		const char *name, *in;
		size_t len;
		const char *out;
	} cases[] = {
#define IN(s) s, sizeof(s) - 1
		{ "empty", IN(""), "\"\"" },
		{ "plain", IN("abc"), "\"abc\"" },
		{ "quote", IN("a\"b"), "\"a\\\"b\"" },
		{ "backslash", IN("\\"), "\"\\\\\"" },
		{ "solidus stays", IN("</a>"), "\"</a>\"" },
		{ "short escapes", IN("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
		{ "NUL", IN("a\0b"), "\"a\\u0000b\"" },
		{ "other controls", IN("\x01\x1f\x7f"),
			"\"\\u0001\\u001f\\u007f\"" },
		{ "two bytes", IN("\xc3\xa9"), "\"\xc3\xa9\"" },
		{ "three bytes", IN("\xe2\x82\xac"), "\"\xe2\x82\xac\"" },
		{ "four bytes", IN("\xf0\x9f\x98\x80"),
			"\"\xf0\x9f\x98\x80\"" },
		{ "line separators", IN("\xe2\x80\xa8\xe2\x80\xa9"),
			"\"\\u2028\\u2029\"" },
		{ "neighbours of those", IN("\xe2\x80\xa7\xe2\x80\xaa"),
			"\"\xe2\x80\xa7\xe2\x80\xaa\"" },
		{ "lone continuation", IN("a\x80"), "\"a\xef\xbf\xbd\"" },
		{ "overlong", IN("\xc0\x80"),
			"\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "surrogate", IN("\xed\xa0\x80"),
			"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "beyond U+10FFFF", IN("\xf4\x90\x80\x80"),
			"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef"
			"\xbf\xbd\"" },
		{ "cut character", IN("\xe2\x82"),
			"\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "fe and ff", IN("\xfe\xff"), "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	};
	struct arena *a = arena_new(1 << 20);
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		/* On the heap and without a NUL: reads beyond are seen. */
		char *in = malloc(cases[i].len + (cases[i].len == 0));
		struct buf b;

		memcpy(in, cases[i].in, cases[i].len);
		buf_init(&b, a);
		buf_json(&b, in, cases[i].len);
		free(in);
		if (strcmp(b.data, cases[i].out) != 0)
			fail_msg("%s: %s", cases[i].name, b.data);
	}
	arena_free(a);
}

static void
test_utf8_prefix(void **state UNUSED)
{
	static const struct {
		const char *name, *in;
		size_t max, want;
	} cases[] = {
		{ "shorter", "abc", 5, 3 },
		{ "equal", "abc", 3, 3 },
		{ "ascii", "abcd", 2, 2 },
		{ "nothing", "abc", 0, 0 },
		{ "before two", "a\xc3\xa9", 2, 1 },
		{ "after two", "a\xc3\xa9" "b", 3, 3 },
		{ "in three", "a\xe2\x82\xac", 3, 1 },
		{ "in four", "\xf0\x9f\x98\x80", 3, 0 },
		{ "in the second four", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7,
			4 },
		{ "not UTF-8: cut anywhere", "a\x80\x80\x80\x80\x80\x80", 6,
			6 },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		size_t got = buf_utf8_prefix(cases[i].in, strlen(cases[i].in),
			cases[i].max);

		if (got != cases[i].want)
			fail_msg("%s: %zu", cases[i].name, got);
	}
}

static void
test_utf8_len(void **state UNUSED)
{
	static const struct {
		const char *name, *in;
		size_t want;
	} cases[] = {
		{ "ascii", "a", 1 },
		{ "first of two", "\xc2\x80", 2 },
		{ "last of two", "\xdf\xbf", 2 },
		{ "first of three", "\xe0\xa0\x80", 3 },
		{ "below surrogates", "\xed\x9f\xbf", 3 },
		{ "above surrogates", "\xee\x80\x80", 3 },
		{ "first of four", "\xf0\x90\x80\x80", 4 },
		{ "last", "\xf4\x8f\xbf\xbf", 4 },
		{ "empty", "", 0 },
		{ "continuation", "\x80", 0 },
		{ "overlong two", "\xc1\xbf", 0 },
		{ "overlong three", "\xe0\x9f\xbf", 0 },
		{ "overlong four", "\xf0\x8f\xbf\xbf", 0 },
		{ "surrogate", "\xed\xa0\x80", 0 },
		{ "too high", "\xf4\x90\x80\x80", 0 },
		{ "f5", "\xf5\x80\x80\x80", 0 },
		{ "cut two", "\xc3", 0 },
		{ "cut three", "\xe2\x82", 0 },
		{ "cut four", "\xf0\x9f\x98", 0 },
		{ "bad second", "\xe2\x28\xa1", 0 },
		{ "bad last", "\xf0\x9f\x98\x28", 0 },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		size_t got = buf_utf8_len(cases[i].in, strlen(cases[i].in));

		if (got != cases[i].want)
			fail_msg("%s: %zu", cases[i].name, got);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_utf8_prefix),
		cmocka_unit_test(test_utf8_len),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
