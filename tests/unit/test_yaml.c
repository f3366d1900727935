/* SPDX-License-Identifier: ISC */
/* yaml: what becomes of each kind of scalar, and of documents that grow. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "run/yaml.h"

static struct arena *a;

static const char *
convert(const char *text, enum err_kind *kind)
{
	struct buf b;
	struct err e;

	buf_init(&b, a);
	err_clear(&e);
	*kind = yaml_to_json(&b, text, strlen(text), 100000, &e) == 0 ? ERR_NONE
								      : e.kind;
	return b.data;
}

static void
test_scalars(void **state)
{
	static const struct {
		const char *yaml, *json;
	} cases[] = {
		{ "null", "null" },
		{ "~", "null" },
		{ "a:", "{\"a\":null}" },
		{ "true", "true" },
		{ "FALSE", "false" },
		{ "yes", "\"yes\"" },
		{ "no", "\"no\"" },
		{ "on", "\"on\"" },
		{ "0", "0" },
		{ "-0", "0" },
		{ "007", "7" },
		{ "+5", "5" },
		{ "-12", "-12" },
		{ "0o17", "15" },
		{ "0x1F", "31" },
		{ "0x", "\"0x\"" },
		{ "1_000", "\"1_000\"" },
		{ "12345678901234567890123", "12345678901234567890123" },
		{ "1.5", "1.5" },
		{ "1.", "1" },
		{ ".5", "0.5" },
		{ "-.5e+10", "-0.5e10" },
		{ "1E-2", "1e-2" },
		{ "00.5", "0.5" },
		{ ".", "\".\"" },
		{ "1e", "\"1e\"" },
		{ "-", "[null]" },
		{ "+", "\"+\"" },
		{ ".inf", "\".inf\"" },
		{ "1.2.3", "\"1.2.3\"" },
		{ "2024-01-01", "\"2024-01-01\"" },
		{ "12:30:45", "\"12:30:45\"" },
		{ "'5'", "\"5\"" },
		{ "\"true\"", "\"true\"" },
		{ "!x 5", "\"5\"" },
		{ "\"a\\tb\"", "\"a\\tb\"" },
		{ "|\n  x\n  y\n", "\"x\\ny\\n\"" },
		{ "\xc3\xa4", "\"\xc3\xa4\"" },
		{ "{200: x, null: y, 1.5: z}",
			"{\"200\":\"x\",\"null\":\"y\",\"1.5\":\"z\"}" },
		{ "[]", "[]" },
		{ "{}", "{}" },
		{ "a: [1, {b: 2}]\nc: d # e",
			"{\"a\":[1,{\"b\":2}],\"c\":\"d\"}" },
		{ "--- 1\n--- 2\n", "1" },
	};
	enum err_kind kind;
	const char *got;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		got = convert(cases[i].yaml, &kind);
		if (kind != ERR_NONE || strcmp(got, cases[i].json) != 0)
			fail_msg("%s: %s", cases[i].yaml, got);
	}
}

static void
test_aliases(void **state)
{
	enum err_kind kind;
	const char *bomb =
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e]\n";

	assert_string_equal(convert("a: &x {k: 1}\nb: *x", &kind),
		"{\"a\":{\"k\":1},\"b\":{\"k\":1}}");
	/* merged; what the mapping says itself counts, then the first */
	assert_string_equal(
		convert("a: &x {k: 1, l: 2}\nb: {k: 3, <<: *x}", &kind),
		"{\"a\":{\"k\":1,\"l\":2},\"b\":{\"k\":3,\"l\":2}}");
	assert_string_equal(
		convert("- &x {k: 1}\n- &y {k: 2, l: 2}\n- <<: [*x, *y]",
			&kind),
		"[{\"k\":1},{\"k\":2,\"l\":2},{\"k\":1,\"l\":2}]");
	convert(bomb, &kind);
	assert_int_equal(kind, ERR_LIMIT);
	/* itself within itself */
	convert("&a [*a]", &kind);
	assert_true(kind == ERR_LIMIT || kind == ERR_INVALID);
}

static void
test_faults(void **state)
{
	static const char *const bad[] = { "", "a: [1", "{a: b", "a: b: c",
		"\t- x", "*nowhere", "? [1]\n: 2", "\"\\q\"", "a: \xff",
		"- x\ny" };
	enum err_kind kind;
	char deep[2001];
	size_t i;

	for (i = 0; i < NELEM(bad); i++) {
		convert(bad[i], &kind);
		if (kind != ERR_INVALID)
			fail_msg("%s: %d", bad[i], kind);
	}
	memset(deep, '[', 1000);
	memset(deep + 1000, ']', 1000);
	deep[2000] = '\0';
	convert(deep, &kind);
	assert_true(kind == ERR_LIMIT || kind == ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_faults),
	};
	int rc;

	a = arena_new(64 << 20);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	arena_free(a);
	return rc;
}
