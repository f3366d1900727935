/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/cj.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

static const struct cj_limits STRICT = { .depth_max = 5,
	.dup = CJ_DUP_REFUSE };
static const struct cj_limits LOOSE = { .depth_max = 5, .dup = CJ_DUP_ALLOW };

/* From memory of exactly LEN + 1 bytes, so that reads beyond are seen. */
static int
parse(struct arena *a, const char *text, size_t len,
	const struct cj_limits *limits, struct cJSON **out, struct err *e)
{
	char *copy = malloc(len + 1);
	int rc;

	memcpy(copy, text, len);
	copy[len] = '\0';
	err_clear(e);
	rc = cj_parse(a, copy, len, limits, out, e);
	free(copy);
	return rc;
}

static struct cJSON *
parsed(struct arena *a, const char *text)
{
	struct cJSON *v;
	struct err e;

	if (parse(a, text, strlen(text), &LOOSE, &v, &e) != 0)
		fail_msg("%s: %s", text, e.detail);
	return v;
}

static void
test_parse(void **state UNUSED)
{
	enum { OK = 0, NOT_JSON = -32700, REFUSED = -32600 };
	static const struct {
		const char *name, *text;
		size_t len;
		int code;
		enum err_kind kind;
	} cases[] = {
#define T(name, s) name, s, sizeof(s) - 1
		{ T("object", "{}"), OK, 0 },
		{ T("array", " [ ] "), OK, 0 },
		{ T("scalars", "[1,-1,0,1.5,1e5,1E-5,-0.0e+1]"), OK, 0 },
		{ T("words", "[true,false,null]"), OK, 0 },
		{ T("top-level string", "\"a\""), OK, 0 },
		{ T("top-level number", "12"), OK, 0 },
		{ T("all white space", "\t\r\n [\t1\r,\n2 ]\n"), OK, 0 },
		{ T("escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""), OK,
			0 },
		{ T("surrogate pair", "\"\\ud83d\\uDE00\""), OK, 0 },
		{ T("UTF-8", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""), OK,
			0 },
		{ T("depth 5", "[[[[[]]]]]"), OK, 0 },
		{ T("mixed depth", "{\"a\":[{\"b\":[{}]}]}"), OK, 0 },
		{ T("63 digits", "123456789012345678901234567890123456789012345"
			"678901234567890123"), OK, 0 },
		{ T("same name in two objects", "[{\"a\":1},{\"a\":1}]"), OK,
			0 },
		{ T("same name within", "{\"a\":{\"a\":{\"a\":1}}}"), OK, 0 },
		{ T("case differs", "{\"a\":1,\"A\":2}"), OK, 0 },
		{ T("prefix", "{\"a\":1,\"ab\":2,\"\":3}"), OK, 0 },

		{ T("empty", ""), NOT_JSON, ERR_INVALID },
		{ T("white space only", " \n"), NOT_JSON, ERR_INVALID },
		{ T("byte order mark", "\xef\xbb\xbf{}"), NOT_JSON,
			ERR_INVALID },
		{ T("trailing text", "{} x"), NOT_JSON, ERR_INVALID },
		{ T("two values", "{}{}"), NOT_JSON, ERR_INVALID },
		{ T("trailing NUL", "{}\0"), NOT_JSON, ERR_INVALID },
		{ T("NUL inside", "[\"a\0b\"]"), NOT_JSON, ERR_INVALID },
		{ T("form feed", "[\f1]"), NOT_JSON, ERR_INVALID },
		{ T("no-break space", "[\xc2\xa0" "1]"), NOT_JSON,
			ERR_INVALID },
		{ T("comment", "[1/* */]"), NOT_JSON, ERR_INVALID },
		{ T("unfinished array", "[1"), NOT_JSON, ERR_INVALID },
		{ T("unfinished object", "{\"a\":1"), NOT_JSON, ERR_INVALID },
		{ T("no value", "{\"a\":"), NOT_JSON, ERR_INVALID },
		{ T("no colon", "{\"a\" 1}"), NOT_JSON, ERR_INVALID },
		{ T("only a name", "{\"a\"}"), NOT_JSON, ERR_INVALID },
		{ T("bare name", "{a:1}"), NOT_JSON, ERR_INVALID },
		{ T("single quotes", "['a']"), NOT_JSON, ERR_INVALID },
		{ T("trailing comma", "[1,]"), NOT_JSON, ERR_INVALID },
		{ T("trailing comma, object", "{\"a\":1,}"), NOT_JSON,
			ERR_INVALID },
		{ T("leading comma", "[,1]"), NOT_JSON, ERR_INVALID },
		{ T("no comma", "[1 2]"), NOT_JSON, ERR_INVALID },
		{ T("wrong bracket", "[1}"), NOT_JSON, ERR_INVALID },
		{ T("wrong brace", "{\"a\":1]"), NOT_JSON, ERR_INVALID },
		{ T("closing alone", "]"), NOT_JSON, ERR_INVALID },
		{ T("leading zero", "01"), NOT_JSON, ERR_INVALID },
		{ T("minus alone", "-"), NOT_JSON, ERR_INVALID },
		{ T("plus", "+1"), NOT_JSON, ERR_INVALID },
		{ T("dot first", ".5"), NOT_JSON, ERR_INVALID },
		{ T("dot last", "1."), NOT_JSON, ERR_INVALID },
		{ T("no exponent", "1e"), NOT_JSON, ERR_INVALID },
		{ T("no exponent digits", "1e+"), NOT_JSON, ERR_INVALID },
		{ T("hexadecimal", "0x10"), NOT_JSON, ERR_INVALID },
		{ T("NaN", "NaN"), NOT_JSON, ERR_INVALID },
		{ T("Infinity", "-Infinity"), NOT_JSON, ERR_INVALID },
		{ T("word cut", "tru"), NOT_JSON, ERR_INVALID },
		{ T("word long", "truee"), NOT_JSON, ERR_INVALID },
		{ T("word case", "True"), NOT_JSON, ERR_INVALID },
		{ T("unfinished string", "\"abc"), NOT_JSON, ERR_INVALID },
		{ T("unfinished escape", "\"\\"), NOT_JSON, ERR_INVALID },
		{ T("escaped end", "\"\\\""), NOT_JSON, ERR_INVALID },
		{ T("unknown escape", "\"\\x41\""), NOT_JSON, ERR_INVALID },
		{ T("escape of NUL", "\"\\\0\""), NOT_JSON, ERR_INVALID },
		{ T("short \\u", "\"\\u12\""), NOT_JSON, ERR_INVALID },
		{ T("cut \\u", "\"\\u12"), NOT_JSON, ERR_INVALID },
		{ T("bad \\u", "\"\\u12g4\""), NOT_JSON, ERR_INVALID },
		{ T("control in string", "\"a\nb\""), NOT_JSON, ERR_INVALID },
		{ T("high alone", "\"\\ud83d\""), NOT_JSON, ERR_INVALID },
		{ T("high, then text", "\"\\ud83dabcdef\""), NOT_JSON,
			ERR_INVALID },
		{ T("high twice", "\"\\ud83d\\ud83d\""), NOT_JSON,
			ERR_INVALID },
		{ T("low alone", "\"\\ude00\""), NOT_JSON, ERR_INVALID },
		{ T("high, cut", "\"\\ud83d\\ude"), NOT_JSON, ERR_INVALID },
		{ T("overlong", "\"\xc0\x80\""), NOT_JSON, ERR_INVALID },
		{ T("raw surrogate", "\"\xed\xa0\x80\""), NOT_JSON,
			ERR_INVALID },
		{ T("above U+10FFFF", "\"\xf4\x90\x80\x80\""), NOT_JSON,
			ERR_INVALID },
		{ T("Latin-1", "\"\xe9\""), NOT_JSON, ERR_INVALID },
		{ T("cut UTF-8", "\"\xe2\x82\""), NOT_JSON, ERR_INVALID },
		{ T("bad UTF-8 in a name", "{\"\xff\":1}"), NOT_JSON,
			ERR_INVALID },

		{ T("\\u0000", "\"a\\u0000b\""), REFUSED, ERR_INVALID },
		{ T("\\u0000 in a name", "{\"a\\u0000\":1}"), REFUSED,
			ERR_INVALID },
		{ T("depth 6", "[[[[[[]]]]]]"), REFUSED, ERR_LIMIT },
		{ T("unclosed depth 6", "[[[[[["), REFUSED, ERR_LIMIT },
		{ T("64 digits", "123456789012345678901234567890123456789012345"
			"6789012345678901234"), REFUSED, ERR_LIMIT },
		{ T("long fraction", "0.12345678901234567890123456789012345678"
			"90123456789012345678901234567890"), REFUSED,
			ERR_LIMIT },
		{ T("repeated", "{\"a\":1,\"b\":2,\"a\":3}"), REFUSED,
			ERR_INVALID },
		{ T("repeated, escaped", "{\"method\":1,\"m\\u0065thod\":2}"),
			REFUSED, ERR_INVALID },
		{ T("repeated, escaped and raw", "{\"\xf0\x9f\x98\x80\":1,"
			"\"\\ud83d\\ude00\":2}"), REFUSED, ERR_INVALID },
		{ T("repeated, longer characters",
			"{\"\xc3\xa9\xe2\x82\xac\":"
			"1,\"\\u00E9\\u20aC\":2}"), REFUSED, ERR_INVALID },
		{ T("repeated, short escapes", "{\"\\\"\\\\\\/\\b\\f\\n\\r"
			"\\t\":1,\"\\u0022\\u005c/\\u0008\\u000c\\u000a"
			"\\u000d\\u0009\":2}"), REFUSED, ERR_INVALID },
		{ T("repeated, empty", "{\"\":1,\"\":2}"), REFUSED,
			ERR_INVALID },
		{ T("repeated within", "[{\"a\":{\"b\":1,\"b\":1}}]"),
			REFUSED, ERR_INVALID },
		{ T("repeated around", "{\"a\":{\"b\":1},\"a\":1}"), REFUSED,
			ERR_INVALID },
	};
	struct arena *a = arena_new(1 << 20);
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		struct cJSON *v;
		struct err e;
		int rc = parse(a, cases[i].text, cases[i].len, &STRICT, &v, &e);

		if (rc != (cases[i].code == OK ? 0 : -1) ||
			e.rpc_code != cases[i].code || e.kind != cases[i].kind)
			fail_msg("%s: %d %d %s", cases[i].name, rc, e.rpc_code,
				e.detail);
		assert_true((v != NULL) == (rc == 0));
		arena_reset(a);
	}
	arena_free(a);
}

static void
test_dup_allowed(void **state UNUSED)
{
	struct arena *a = arena_new(1 << 20);
	const char *text = "{\"a\":1,\"b\":0,\"\\u0061\":2}";
	struct cJSON *v = parsed(a, text);
	size_t off, len;
	int64_t n;

	assert_true(cj_get_int(v, "a", 0, 9, &n));
	assert_int_equal(n, 2);
	assert_true(cj_raw_member(text, strlen(text), "a", &off, &len));
	assert_int_equal(len, 1);
	assert_int_equal(text[off], '2');
	arena_free(a);
}

static void
test_get(void **state UNUSED)
{
	struct arena *a = arena_new(1 << 20);
	struct cJSON *v = parsed(a, "{\"s\":\"x\",\"o\":{},\"l\":[1,\"y\"],"
		"\"t\":true,\"f\":false,\"n\":null,\"i\":5}");
	bool b = false;
	int64_t n;
	double d;

	assert_string_equal(cj_get_string(v, "s"), "x");
	assert_null(cj_get_string(v, "S"));
	assert_null(cj_get_string(v, "i"));
	assert_null(cj_get_string(v, "absent"));
	assert_null(cj_get_string(NULL, "s"));
	assert_null(cj_get(cj_get(v, "l"), "s"));
	assert_non_null(cj_get_object(v, "o"));
	assert_null(cj_get_object(v, "l"));
	assert_non_null(cj_get_array(v, "l"));
	assert_null(cj_get_array(v, "o"));
	assert_true(cj_get_bool(v, "t", &b) && b);
	assert_true(cj_get_bool(v, "f", &b) && !b);
	assert_false(cj_get_bool(v, "n", &b));
	assert_false(cj_get_bool(v, "i", &b));
	assert_false(cj_get_int(v, "s", 0, 9, &n));
	assert_false(cj_get_number(v, "s", &d));
	assert_false(cj_get_number(v, "absent", &d));
	assert_true(cj_get_number(v, "i", &d) && d == 5);
	assert_int_equal(cj_array_len(cj_get(v, "l")), 2);
	assert_int_equal(cj_array_len(v), 0);
	assert_string_equal(cj_string(cj_array_at(cj_get(v, "l"), 1)), "y");
	assert_null(cj_array_at(cj_get(v, "l"), 2));
	assert_null(cj_array_at(v, 0));
	assert_string_equal(cj_name(cj_first(v)), "s");
	assert_string_equal(cj_name(cj_next(cj_first(v))), "o");
	assert_null(cj_first(cj_get(v, "o")));
	assert_null(cj_first(cj_get(v, "s")));
	assert_true(cj_is_object(v) && !cj_is_array(v) && !cj_is_string(v));
	assert_true(cj_is_number(cj_get(v, "i")));
	assert_false(cj_is_number(cj_get(v, "s")));
	assert_true(cj_is_null(cj_get(v, "n")));
	assert_false(cj_is_null(cj_get(v, "absent")));
	assert_false(cj_is_object(NULL));
	assert_null(cj_string(NULL));
	arena_free(a);
}

static void
test_int(void **state UNUSED)
{
	static const struct {
		const char *text;
		int64_t min, max;
		bool is_ok;
		int64_t value;
	} cases[] = {
		{ "0", -9, 9, true, 0 },
		{ "-0", -9, 9, true, 0 },
		{ "9", -9, 9, true, 9 },
		{ "1e0", -9, 9, true, 1 },
		{ "2.0", -9, 9, true, 2 },
		{ "9007199254740991", 0, INT64_MAX, true, 9007199254740991 },
		{ "-9007199254740991", INT64_MIN, 0, true,
			-9007199254740991 },
		{ "10", -9, 9, false, 0 },
		{ "-10", -9, 9, false, 0 },
		{ "1.5", -9, 9, false, 0 },
		{ "9007199254740992", 0, INT64_MAX, false, 0 },
		{ "9007199254740993", 0, INT64_MAX, false, 0 },
		{ "1e400", 0, INT64_MAX, false, 0 },
		{ "-1e400", INT64_MIN, 0, false, 0 },
		{ "1e19", 0, INT64_MAX, false, 0 },
		{ "\"1\"", -9, 9, false, 0 },
		{ "true", -9, 9, false, 0 },
	};
	struct arena *a = arena_new(1 << 20);
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		struct cJSON *v = parsed(a, arena_printf(a, "{\"n\":%s}",
			cases[i].text));
		int64_t n = 0;

		if (cj_get_int(v, "n", cases[i].min, cases[i].max, &n) !=
			cases[i].is_ok || n != cases[i].value)
			fail_msg("%s: %lld", cases[i].text, (long long)n);
	}
	arena_free(a);
}

static void
test_print(void **state UNUSED)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ " { } ", "{}" },
		{ "[ ]", "[]" },
		{ "[1, -2 ,3.5]", "[1,-2,3.5]" },
		{ "9007199254740991", "9007199254740991" },
		{ "1e2", "100" },
		{ "-0", "0" },
		{ "0.1", "0.1" },
		{ "0.30000000000000004", "0.30000000000000004" },
		{ "1e400", "null" },
		{ "{\"a\":{\"b\":[true,false,null]}}",
			"{\"a\":{\"b\":[true,false,null]}}" },
		{ "\"\\u00e9\\n\\\"\"", "\"\xc3\xa9\\n\\\"\"" },
		{ "{\"\\\"\":\"\\u2028\"}", "{\"\\\"\":\"\\u2028\"}" },
	};
	struct arena *a = arena_new(1 << 20);
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		char *s = cj_print(a, parsed(a, cases[i].in));

		if (strcmp(s, cases[i].out) != 0)
			fail_msg("%s: %s", cases[i].in, s);
	}
	arena_free(a);
}

static void
test_raw_member(void **state UNUSED)
{
	static const struct {
		const char *text, *name, *raw; /* NULL: not found */
	} cases[] = {
		{ "{\"id\":1}", "id", "1" },
		{ " \n{ \"id\" : 12345678901234567890 , \"x\":1}", "id",
			"12345678901234567890" },
		{ "{\"x\":{\"id\":1},\"id\":\"a\\\"b\"}", "id", "\"a\\\"b\"" },
		{ "{\"x\":\"\\\"id\\\":5\",\"id\":2}", "id", "2" },
		{ "{\"x\":[{},[],\"]\"],\"id\":[1,{\"a\":2}]}", "id",
			"[1,{\"a\":2}]" },
		{ "{\"id\":{\"a\":[\"}\"]} }", "id", "{\"a\":[\"}\"]}" },
		{ "{\"i\\u0064\":null}", "id", "null" },
		{ "{\"id\":1.50e+1}", "id", "1.50e+1" },
		{ "{\"\":true}", "", "true" },
		{ "{}", "id", NULL },
		{ "[\"id\",1]", "id", NULL },
		{ "\"id\"", "id", NULL },
		{ "{\"ID\":1,\"idx\":2,\"i\":3}", "id", NULL },
		{ "{\"a\":{\"id\":1}}", "id", NULL },
		{ "", "id", NULL },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		const char *t = cases[i].text;
		size_t off = 0, len = 0;
		bool is_found = cj_raw_member(t, strlen(t), cases[i].name,
			&off, &len);

		if (is_found != (cases[i].raw != NULL) || (is_found &&
			(len != strlen(cases[i].raw) ||
				memcmp(t + off, cases[i].raw, len) != 0)))
			fail_msg("%s: %.*s", t, (int)len, t + off);
	}
}

static void
test_raw_element(void **state UNUSED)
{
	static const struct {
		const char *text;
		size_t i;
		const char *raw;
	} cases[] = {
		{ "[1]", 0, "1" },
		{ " [ {\"a\":\",]\"} , [1,2] ,\"x,y\"]", 0, "{\"a\":\",]\"}" },
		{ " [ {\"a\":\",]\"} , [1,2] ,\"x,y\"]", 1, "[1,2]" },
		{ " [ {\"a\":\",]\"} , [1,2] ,\"x,y\"]", 2, "\"x,y\"" },
		{ " [ {\"a\":\",]\"} , [1,2] ,\"x,y\"]", 3, NULL },
		{ "[]", 0, NULL },
		{ "[ ]", 0, NULL },
		{ "{}", 0, NULL },
		{ "", 0, NULL },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		const char *t = cases[i].text;
		size_t off = 0, len = 0;
		bool is_found = cj_raw_element(t, strlen(t), cases[i].i, &off,
			&len);

		if (is_found != (cases[i].raw != NULL) || (is_found &&
			(len != strlen(cases[i].raw) ||
				memcmp(t + off, cases[i].raw, len) != 0)))
			fail_msg("%s %zu: %.*s", t, cases[i].i, (int)len,
				t + off);
	}
}

/* Descending: the text of a member is given again. */
static void
test_raw_nested(void **state UNUSED)
{
	const char *t = "{\"params\":{\"_meta\":{\"progressToken\":1.0}}}";
	static const char *const path[] = { "params", "_meta",
		"progressToken" };
	size_t len = strlen(t), off, i;

	for (i = 0; i < NELEM(path); i++) {
		assert_true(cj_raw_member(t, len, path[i], &off, &len));
		t += off;
	}
	assert_int_equal(len, 3);
	assert_memory_equal(t, "1.0", 3);
}

/* 4 MiB of the worst there is: seconds here would be minutes if quadratic. */
static void
test_hostile(void **state UNUSED)
{
	enum { LEN = 4 << 20 };
	struct cj_limits limits = { .depth_max = 64, .dup = CJ_DUP_REFUSE };
	struct arena *a = arena_new(1 << 20);
	char *t = malloc(LEN + 64);
	int64_t began = clock_mono_ms();
	struct cJSON *v;
	struct err e;
	size_t n, i;

	memset(t, '[', LEN);
	assert_int_equal(parse(a, t, LEN, &limits, &v, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);

	/* Without a limit worth the name it is still no stack overflow. */
	limits.depth_max = SIZE_MAX;
	assert_int_equal(parse(a, t, LEN, &limits, &v, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	memset(t + CJ_DEPTH_MAX, ']', CJ_DEPTH_MAX);
	assert_int_equal(parse(a, t, 2 * CJ_DEPTH_MAX, &limits, &v, &e), 0);
	assert_int_equal(strlen(cj_print(a, v)), 2 * CJ_DEPTH_MAX);
	arena_reset(a);

	for (n = 0, i = 0; i < 200000; i++)
		n += (size_t)snprintf(t + n, LEN + 64 - n, ",\"%zx\":1", i);
	t[0] = '{';
	t[n++] = '}';
	assert_int_equal(parse(a, t, n, &limits, &v, &e), 0);
	arena_reset(a);

	memset(t, '1', LEN);
	for (i = 0; i < LEN; i += 2)
		t[i] = ',';
	t[0] = '[';
	t[LEN - 1] = ']';
	t[LEN - 2] = '1';
	assert_int_equal(parse(a, t, LEN, &limits, &v, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);

	for (i = 1; i + 6 < LEN; i += 6)
		memcpy(t + i, "\\u0041", 6);
	t[0] = '"';
	t[i] = '"';
	assert_int_equal(parse(a, t, i + 1, &limits, &v, &e), 0);
	assert_true(cj_is_string(v));
	assert_true(clock_mono_ms() - began < 20000);
	free(t);
	arena_free(a);
}

static void
test_values_max(void **state UNUSED)
{
	struct cj_limits limits = { .depth_max = 5, .values_max = 3 };
	struct arena *a = arena_new(1 << 20);
	struct cJSON *v;
	struct err e;

	assert_int_equal(parse(a, "[1,2]", 5, &limits, &v, &e), 0);
	assert_int_equal(parse(a, "{\"a\":[]}", 8, &limits, &v, &e), 0);
	assert_int_equal(parse(a, "[1,2,3]", 7, &limits, &v, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(e.rpc_code, -32600);
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_dup_allowed),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_int),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_raw_member),
		cmocka_unit_test(test_raw_element),
		cmocka_unit_test(test_raw_nested),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_values_max),
	};

	return cmocka_run_group_tests_name("cj", tests, NULL, NULL);
}
