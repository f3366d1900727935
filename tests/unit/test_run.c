/* SPDX-License-Identifier: ISC */
/* Goal: what came of a run is told in text and in structure, valid always. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "run/call.h"
#include "run/render.h"
#include "run/sandbox.h"
#include "store/ledger.h"

static struct arena *arena;

static int
setup(void **state)
{
	arena = arena_new((size_t)64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(arena);
	return 0;
}

static const struct cJSON *
render(const struct sandbox_result *r, bool is_structured)
{
	const struct cj_limits limits = { .depth_max = 64 };
	struct cJSON *v;
	struct buf b;
	struct err e;

	err_clear(&e);
	buf_init(&b, arena);
	(void)render_result(
		&(struct render_run){ .result = r, .request_id = "0123" },
		is_structured, &b);
	assert_int_equal(cj_parse(arena, b.data, b.len, &limits, &v, &e), 0);
	return v;
}

static const char *
text_of(const struct cJSON *v)
{
	const struct cJSON *block = cj_array_at(cj_get_array(v, "content"), 0);

	assert_string_equal(cj_get_string(block, "type"), "text");
	return cj_get_string(block, "text");
}

static struct sandbox_result
completed(const char *json)
{
	struct sandbox_result r = { .status = SANDBOX_COMPLETED,
		.has_started = true,
		.json = json,
		.json_len = json == NULL ? 0 : strlen(json) };

	return r;
}

static void
test_value_texts(void **state)
{
	static const struct {
		const char *json;
		const char *text;
	} CASES[] = {
		{ "2", "2" },
		{ "\"two\\nlines \\u00e9\"", "two\nlines \xc3\xa9" },
		{ "\"\"", "" },
		{ NULL, "(no result)" },
		{ "null", "(no result)" },
		{ "false", "false" },
		{ "{\"x\":1}", "{\n  \"x\": 1\n}" },
		{ "[]", "[]" },
		{ "{\"a\":[1,{\"b\":\"],{\\\"\"}],\"c\":{}}",
			"{\n  \"a\": [\n    1,\n    {\n      \"b\": "
			"\"],{\\\"\"\n    }\n  ],\n  \"c\": {}\n}" },
		{ "[[[]],{}]",
			"[\n  [\n    []\n  ],\n  {}\n]" },
	};
	struct sandbox_result r;
	const struct cJSON *v;
	size_t i;

	for (i = 0; i < NELEM(CASES); i++) {
		r = completed(CASES[i].json);
		v = render(&r, true);
		assert_string_equal(text_of(v), CASES[i].text);
		assert_null(cj_get(v, "isError"));
	}
}

static void
test_structured(void **state)
{
	const char *logs[] = { "[log] a", "[warn] \"b\"" };
	struct sandbox_result r = completed("{\"n\":9007199254740991}");
	const struct cJSON *v, *s;
	int64_t n;
	bool b;

	r.logs = logs;
	r.log_count = 2;
	v = render(&r, true);
	s = cj_get_object(v, "structuredContent");
	assert_string_equal(cj_get_string(s, "status"), "completed");
	assert_true(cj_get_int(cj_get(s, "result"), "n", 0, INT64_MAX, &n));
	assert_int_equal(n, 9007199254740991);
	assert_int_equal(cj_array_len(cj_get_array(s, "logs")), 2);
	assert_string_equal(cj_get_string(s, "outcome"), "finished");
	assert_true(cj_get_bool(s, "started", &b) && b);
	assert_null(cj_get(s, "truncated"));
	assert_int_equal(cj_array_len(cj_get_array(s, "calls")), 0);
	assert_non_null(
		strstr(text_of(v), "\n\nLogs:\n[log] a\n[warn] \"b\""));
	assert_null(cj_get(render(&r, false), "structuredContent"));
	r.is_cut = true;
	s = cj_get_object(render(&r, true), "structuredContent");
	assert_true(cj_get_bool(s, "truncated", &b) && b);
}

static void
test_no_result_is_null(void **state)
{
	struct sandbox_result r = completed(NULL);
	const struct cJSON *s =
		cj_get_object(render(&r, true), "structuredContent");

	assert_non_null(cj_get(s, "result"));
	assert_string_equal(cj_print(arena, cj_get(s, "result")), "null");
}

static void
test_error(void **state)
{
	struct sandbox_result r = { .status = SANDBOX_FAILED,
		.has_started = true,
		.message = "boom",
		.line = 3,
		.column = 7 };
	const struct cJSON *v = render(&r, true), *s;
	int64_t line;
	bool b;

	assert_true(cj_get_bool(v, "isError", &b) && b);
	assert_string_equal(text_of(v),
		"Error: boom\n    at line 3, column 7");
	s = cj_get_object(v, "structuredContent");
	assert_string_equal(cj_get_string(s, "status"), "error");
	assert_string_equal(cj_get_string(s, "error"), "boom");
	assert_string_equal(cj_get_string(s, "outcome"), "failed");
	assert_true(cj_get_int(s, "line", 3, 3, &line));
	assert_null(cj_get(s, "result"));
}

/* B-57: ran, or never ran. */
static void
test_started_or_not(void **state)
{
	struct sandbox_result r = { .status = SANDBOX_FAILED,
		.message = "SyntaxError: x" };
	const struct cJSON *v = render(&r, true);

	assert_non_null(
		strstr(text_of(v), "Nothing of the program has run."));
	assert_string_equal(
		cj_get_string(cj_get(v, "structuredContent"), "outcome"),
		"not_started");
	r.status = SANDBOX_TIMED_OUT;
	r.has_started = true;
	v = render(&r, true);
	assert_non_null(strstr(text_of(v), "did not finish"));
	assert_string_equal(
		cj_get_string(cj_get(v, "structuredContent"), "outcome"),
		"timed_out");
}

/* What a broken sandbox sends never breaks the envelope. */
static void
test_no_json(void **state)
{
	static const char *const BAD[] = { "{", "1,\"x\":2", "undefined",
		"{}]}", "", "\"\\ud800\"" };
	struct sandbox_result r;
	const struct cJSON *v;
	size_t i;
	bool b;

	for (i = 0; i < NELEM(BAD); i++) {
		r = completed(BAD[i]);
		v = render(&r, true);
		assert_true(cj_get_bool(v, "isError", &b) && b);
		assert_string_equal(
			cj_get_string(cj_get(v, "structuredContent"),
				"outcome"),
			"crashed");
		assert_non_null(strstr(text_of(v), "[request 0123]"));
	}
}

static void
test_text_is_cut(void **state)
{
	struct sandbox_result r;
	struct buf b;
	const char *text;
	size_t i;

	/* 30,001 characters of two bytes each */
	buf_init(&b, arena);
	buf_putc(&b, '"');
	for (i = 0; i < RENDER_TEXT_CHARS_MAX + 1; i++)
		buf_puts(&b, "\xc3\xa9");
	buf_putc(&b, '"');
	r = completed(b.data);
	text = text_of(render(&r, true));
	assert_int_equal(strlen(text),
		2 * RENDER_TEXT_CHARS_MAX +
			strlen("\n... [truncated 1 chars]"));
	assert_non_null(strstr(text, "\n... [truncated 1 chars]"));

	/* exactly as many as fit */
	buf_clear(&b);
	buf_putc(&b, '"');
	for (i = 0; i < RENDER_TEXT_CHARS_MAX; i++)
		buf_putc(&b, 'x');
	buf_putc(&b, '"');
	r = completed(b.data);
	text = text_of(render(&r, true));
	assert_int_equal(strlen(text), RENDER_TEXT_CHARS_MAX);
}

static const struct sandbox_result WAITING = { .status = SANDBOX_SUSPENDED };

static void
test_waiting(void **state)
{
	const struct ledger_call call[] = {
		{ .seq = 2, .path = "a.b", .args = "{\"x\":\"\\u2028\"}",
			.message = "May \"it\"?", .deadline = "2026-01-01" },
		{ .seq = 5, .path = "$elicit", .is_elicit = true,
			.message = "Who?", .schema = "{\"type\":\"object\"}" },
	};
	const struct ledger_call *const question[] = { &call[0], &call[1] };
	const struct render_call made = { .seq = 2, .path = "a.b",
		.status = "waiting", .ms = -1 };
	const struct render_run r = { .result = &WAITING, .call = &made,
		.n_calls = 1, .execution_id = "id", .request_id = "r" };
	const struct cj_limits limits = { .depth_max = 64 };
	const struct cJSON *s, *q;
	struct cJSON *v;
	struct buf b;
	struct err e;

	err_clear(&e);
	buf_init(&b, arena);
	render_waiting(&r, question, 2, "2026-01-01", true, &b);
	assert_int_equal(cj_parse(arena, b.data, b.len, &limits, &v, &e), 0);
	assert_null(cj_get(v, "isError"));
	s = cj_get_object(v, "structuredContent");
	assert_string_equal(cj_get_string(s, "status"),
		"waiting_for_interaction");
	assert_int_equal(cj_array_len(cj_get_array(s, "interactions")), 2);
	q = cj_get_object(s, "interaction");
	assert_string_equal(cj_get_string(q, "tool"), "a.b");
	assert_string_equal(cj_get_string(q, "kind"), "approval");
	assert_non_null(strstr(text_of(v), "executionId: id"));

	buf_clear(&b);
	render_refusal(&(struct render_refusal){ .status = "execution_expired",
			       .message = "Too late.",
			       .must_run_again = true },
		&r, true, &b);
	assert_int_equal(cj_parse(arena, b.data, b.len, &limits, &v, &e), 0);
	assert_string_equal(
		cj_get_string(cj_get_object(v, "structuredContent"),
			"recovery"),
		"re_execute");
	buf_clear(&b);
	render_again("{\"content\":[1],\"structuredContent\":{},"
		     "\"isError\":true}",
		false, &b);
	assert_string_equal(b.data, "{\"content\":[1],\"isError\":true}");
}

static void
test_answers(void **state)
{
	const struct call_answer ok = { .status = CALL_OK,
		.json = "{\"n\":9007199254740993}", .len = 22 };
	const struct call_answer list = { .status = CALL_OK, .json = "[1]",
		.len = 3 };
	const struct call_answer bad = { .status = CALL_FAILED,
		.json = "{\"code\":\"c\",\"message\":\"m\"}", .len = 26 };
	struct buf b;

	buf_init(&b, arena);
	render_answer(&ok, true, &b);
	assert_non_null(strstr(b.data,
		"\"structuredContent\":{\"n\":9007199254740993}"));
	buf_clear(&b);
	render_answer(&list, true, &b);
	assert_null(strstr(b.data, "structuredContent"));
	buf_clear(&b);
	render_answer(&bad, true, &b);
	assert_non_null(strstr(b.data, "\"isError\":true"));
	assert_non_null(strstr(b.data, "Error: m"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value_texts),
		cmocka_unit_test(test_structured),
		cmocka_unit_test(test_no_result_is_null),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_started_or_not),
		cmocka_unit_test(test_no_json),
		cmocka_unit_test(test_text_is_cut),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
