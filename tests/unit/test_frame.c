/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include <setjmp.h>

#include <cmocka.h>

static const struct frame_run RUN = {
	.wall_ms = 30000,
	.cpu_ms = 10000,
	.stack_bytes = 1 << 20,
	.heap_bytes = 64ULL << 20,
	.output_bytes = 1 << 20,
	.log_lines = 1000,
	.log_bytes = 1 << 20,
	.calls_max = 200,
	.args_bytes = 1 << 20,
	.args_total = 8 << 20,
	.is_script = true,
};

static void
test_header_both_ways(void **state UNUSED)
{
	static const struct {
		enum frame_kind kind;
		enum frame_from from;
		uint32_t min, max;
	} rows[] = {
		{ FRAME_LOG, FRAME_FROM_SANDBOX, 0, FRAME_LOG_MAX },
		{ FRAME_RESULT, FRAME_FROM_SANDBOX, FRAME_RESULT_LEN,
			FRAME_RESULT_LEN + FRAME_VALUE_MAX },
		{ FRAME_ERROR, FRAME_FROM_SANDBOX, FRAME_ERROR_LEN,
			FRAME_ERROR_LEN + FRAME_MESSAGE_MAX },
		{ FRAME_RUN, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN + 2 * FRAME_CODE_MAX + FRAME_CTX_MAX },
		{ FRAME_RESUME, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN },
		{ FRAME_CHECKER, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN },
		{ FRAME_CALL, FRAME_FROM_SANDBOX, FRAME_CALL_LEN + 1,
			FRAME_CALL_LEN + FRAME_PATH_MAX + FRAME_VALUE_MAX },
		{ FRAME_IDLE, FRAME_FROM_SANDBOX, FRAME_IDLE_LEN,
			FRAME_IDLE_LEN },
		{ FRAME_SCRIPTED, FRAME_FROM_SANDBOX, FRAME_RETURN_LEN,
			FRAME_RETURN_LEN + FRAME_VALUE_MAX },
		{ FRAME_CHECKED, FRAME_FROM_SANDBOX, FRAME_RETURN_LEN,
			FRAME_RETURN_LEN + FRAME_VALUE_MAX },
		{ FRAME_RETURN, FRAME_FROM_PARENT, FRAME_RETURN_LEN,
			FRAME_RETURN_LEN + FRAME_VALUE_MAX },
		{ FRAME_SCRIPT, FRAME_FROM_PARENT, FRAME_SCRIPT_LEN,
			FRAME_SCRIPT_LEN + FRAME_CODE_MAX + FRAME_VALUE_MAX +
				FRAME_CTX_MAX },
		{ FRAME_SUSPEND, FRAME_FROM_PARENT, 0, 0 },
		{ FRAME_CHECK, FRAME_FROM_PARENT, FRAME_CHECK_LEN,
			FRAME_CHECK_LEN + FRAME_CODE_MAX + FRAME_VALUE_MAX },
	};
	uint8_t h[FRAME_HEADER_LEN];
	struct frame_header out;

	for (size_t i = 0; i < NELEM(rows); i++) {
		enum frame_from other = rows[i].from == FRAME_FROM_PARENT
						? FRAME_FROM_SANDBOX
						: FRAME_FROM_PARENT;

		frame_put_header(h, rows[i].max, rows[i].kind, 7);
		assert_int_equal(
			frame_get_header(h, rows[i].from, 7, &out), FRAME_OK);
		assert_int_equal(out.len, rows[i].max);
		assert_int_equal(out.kind, rows[i].kind);
		assert_int_equal(out.seq, 7);
		assert_int_equal(frame_get_header(h, rows[i].from, 8, &out),
			FRAME_BAD_SEQ);
		assert_int_equal(
			frame_get_header(h, other, 7, &out), FRAME_BAD_KIND);
		frame_put_header(h, rows[i].max + 1, rows[i].kind, 7);
		assert_int_equal(frame_get_header(h, rows[i].from, 7, &out),
			FRAME_BAD_LEN);
		if (rows[i].min == 0)
			continue;
		frame_put_header(h, rows[i].min - 1, rows[i].kind, 7);
		assert_int_equal(frame_get_header(h, rows[i].from, 7, &out),
			FRAME_BAD_LEN);
	}
}

static void
test_header_of_unknown_kind(void **state UNUSED)
{
	uint8_t h[FRAME_HEADER_LEN];
	struct frame_header out;

	for (int kind = 0; kind < 256; kind++) {
		bool known = (kind >= FRAME_LOG && kind <= FRAME_CHECKED) ||
			     (kind >= FRAME_RUN && kind <= FRAME_CHECK);

		if (known)
			continue;
		frame_put_header(h, 20, FRAME_LOG, 1);
		h[4] = kind;
		assert_int_equal(
			frame_get_header(h, FRAME_FROM_SANDBOX, 1, &out),
			FRAME_BAD_KIND);
		assert_int_equal(
			frame_get_header(h, FRAME_FROM_PARENT, 1, &out),
			FRAME_BAD_KIND);
	}
}

static void
test_header_reserved(void **state UNUSED)
{
	struct frame_header out;

	for (int i = 5; i < 8; i++) {
		uint8_t h[FRAME_HEADER_LEN];

		frame_put_header(h, 20, FRAME_LOG, 1);
		h[i] = 1;
		assert_int_equal(
			frame_get_header(h, FRAME_FROM_SANDBOX, 1, &out),
			FRAME_BAD_RESERVED);
	}
}

static void
test_run(void **state UNUSED)
{
	uint8_t p[FRAME_RUN_LEN + 8];
	struct frame_run out;

	frame_put_run(p, &RUN);
	memcpy(p + FRAME_RUN_LEN, "return 1", 8);
	assert_int_equal(frame_get_run(p, sizeof(p), &out), FRAME_OK);
	assert_int_equal(out.wall_ms, RUN.wall_ms);
	assert_int_equal(out.cpu_ms, RUN.cpu_ms);
	assert_int_equal(out.stack_bytes, RUN.stack_bytes);
	assert_int_equal(out.heap_bytes, RUN.heap_bytes);
	assert_int_equal(out.output_bytes, RUN.output_bytes);
	assert_int_equal(out.log_lines, RUN.log_lines);
	assert_int_equal(out.log_bytes, RUN.log_bytes);
	assert_int_equal(out.code_len, 8);
	assert_memory_equal(out.code, "return 1", 8);
	/* an empty program is one */
	assert_int_equal(frame_get_run(p, FRAME_RUN_LEN, &out), FRAME_OK);
	assert_int_equal(out.code_len, 0);
}

static void
test_run_refused(void **state UNUSED)
{
	/* byte AT of the payload becomes VALUE */
	static const struct {
		size_t at;
		uint8_t value;
		enum frame_fault fault;
	} rows[] = {
		{ 0, 1, FRAME_BAD_VERSION },
		{ 3, 1, FRAME_BAD_VERSION },
		{ 23, 1, FRAME_BAD_VALUE },    /* heap_bytes 2^56 */
		{ 27, 0xff, FRAME_BAD_VALUE }, /* output_bytes */
		{ 35, 0xff, FRAME_BAD_VALUE }, /* log_bytes */
		{ 43, 0xff, FRAME_BAD_VALUE }, /* args_bytes */
		{ 48, 2, FRAME_BAD_VALUE },    /* is_script */
		{ 52, 9, FRAME_BAD_LEN },      /* args_len */
		{ 55, 0xff, FRAME_BAD_LEN },
		{ 56, 9, FRAME_BAD_LEN }, /* ctx_len */
		{ 59, 0xff, FRAME_BAD_LEN },
		{ FRAME_RUN_LEN, 0, FRAME_BAD_TEXT },
		{ FRAME_RUN_LEN, 0xff, FRAME_BAD_TEXT },
		{ FRAME_RUN_LEN + 7, 0xc3, FRAME_BAD_TEXT },
	};
	struct frame_run zero = RUN, out;
	uint8_t p[FRAME_RUN_LEN + 8];

	for (size_t i = 0; i < NELEM(rows); i++) {
		frame_put_run(p, &RUN);
		memcpy(p + FRAME_RUN_LEN, "return 1", 8);
		p[rows[i].at] = rows[i].value;
		assert_int_equal(
			frame_get_run(p, sizeof(p), &out), rows[i].fault);
	}
	assert_int_equal(
		frame_get_run(p, FRAME_RUN_LEN - 1, &out), FRAME_BAD_LEN);
	zero.wall_ms = 0;
	frame_put_run(p, &zero);
	assert_int_equal(
		frame_get_run(p, FRAME_RUN_LEN, &out), FRAME_BAD_VALUE);
	zero = RUN;
	zero.heap_bytes = 0;
	frame_put_run(p, &zero);
	assert_int_equal(
		frame_get_run(p, FRAME_RUN_LEN, &out), FRAME_BAD_VALUE);
}

static void
test_result(void **state UNUSED)
{
	const struct frame_result in = {
		.has_value = true, .is_cut = true, .dropped = 3
	};
	uint8_t p[FRAME_RESULT_LEN + 2];
	struct frame_result out;

	frame_put_result(p, &in);
	memcpy(p + FRAME_RESULT_LEN, "12", 2);
	assert_int_equal(frame_get_result(p, sizeof(p), &out), FRAME_OK);
	assert_true(out.has_value);
	assert_true(out.is_cut);
	assert_int_equal(out.dropped, 3);
	assert_int_equal(out.json_len, 2);
	assert_memory_equal(out.json, "12", 2);

	/* a value where none is, none where one is */
	assert_int_equal(
		frame_get_result(p, FRAME_RESULT_LEN, &out), FRAME_BAD_VALUE);
	p[0] = 0;
	assert_int_equal(frame_get_result(p, sizeof(p), &out), FRAME_BAD_VALUE);
	assert_int_equal(frame_get_result(p, FRAME_RESULT_LEN, &out), FRAME_OK);
	p[0] = 2;
	assert_int_equal(frame_get_result(p, sizeof(p), &out), FRAME_BAD_VALUE);
	p[0] = 1;
	p[3] = 1;
	assert_int_equal(
		frame_get_result(p, sizeof(p), &out), FRAME_BAD_RESERVED);
	p[3] = 0;
	p[FRAME_RESULT_LEN] = 0;
	assert_int_equal(frame_get_result(p, sizeof(p), &out), FRAME_BAD_TEXT);
	assert_int_equal(
		frame_get_result(p, FRAME_RESULT_LEN - 1, &out), FRAME_BAD_LEN);
}

static void
test_error(void **state UNUSED)
{
	const struct frame_failure in = { .what = FRAME_ERROR_STACK,
		.dropped = 1,
		.line = 70000,
		.column = 9 };
	uint8_t p[FRAME_ERROR_LEN + 4];
	struct frame_failure out;

	frame_put_error(p, &in);
	memcpy(p + FRAME_ERROR_LEN, "deep", 4);
	assert_int_equal(frame_get_error(p, sizeof(p), &out), FRAME_OK);
	assert_int_equal(out.what, FRAME_ERROR_STACK);
	assert_int_equal(out.line, 70000);
	assert_int_equal(out.column, 9);
	assert_int_equal(out.dropped, 1);
	assert_int_equal(out.message_len, 4);
	assert_memory_equal(out.message, "deep", 4);

	p[0] = FRAME_ERROR__MAX;
	assert_int_equal(frame_get_error(p, sizeof(p), &out), FRAME_BAD_VALUE);
	p[0] = 0;
	p[1] = 1;
	assert_int_equal(
		frame_get_error(p, sizeof(p), &out), FRAME_BAD_RESERVED);
	p[1] = 0;
	p[FRAME_ERROR_LEN + 3] = 0xe2;
	assert_int_equal(frame_get_error(p, sizeof(p), &out), FRAME_BAD_TEXT);
	assert_int_equal(
		frame_get_error(p, FRAME_ERROR_LEN - 1, &out), FRAME_BAD_LEN);
}

static void
test_text(void **state UNUSED)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = {
		{ "", true },
		{ "plain", true },
		{ "\xc3\xa4", true },
		{ "\xe2\x82\xac", true },
		{ "\xf0\x9f\x98\x80", true },
		{ "\xf4\x8f\xbf\xbf", true },
		{ "\xed\x9f\xbf\xee\x80\x80", true },
		{ "\x80", false },
		{ "\xc0\x80", false }, /* overlong NUL */
		{ "\xc1\xbf", false },
		{ "\xe0\x9f\xbf", false },     /* overlong */
		{ "\xf0\x8f\xbf\xbf", false }, /* overlong */
		{ "\xed\xa0\x80", false },     /* surrogate */
		{ "\xf4\x90\x80\x80", false }, /* beyond U+10FFFF */
		{ "\xf5\x80\x80\x80", false },
		{ "\xc3", false },
		{ "\xe2\x82", false },
		{ "\xe2\x28\xa1", false },
	};

	for (size_t i = 0; i < NELEM(rows); i++)
		assert_int_equal(frame_is_text((const uint8_t *)rows[i].text,
					 strlen(rows[i].text)),
			rows[i].ok);
	assert_false(frame_is_text((const uint8_t *)"a\0b", 3));
}

static void
test_every_fault_has_a_text(void **state UNUSED)
{
	for (int i = 0; i < FRAME_FAULT__MAX; i++)
		assert_true(strlen(frame_fault_text(i)) > 3);
}

static void
test_run_texts(void **state UNUSED)
{
	struct frame_run in = RUN, out;
	uint8_t p[FRAME_RUN_LEN + 8];

	in.args_len = 2;
	in.ctx_len = 3;
	frame_put_run(p, &in);
	memcpy(p + FRAME_RUN_LEN, "aabbbccc", 8);
	assert_int_equal(frame_get_run(p, sizeof(p), &out), FRAME_OK);
	assert_true(out.is_script);
	assert_int_equal(out.calls_max, RUN.calls_max);
	assert_int_equal(out.args_bytes, RUN.args_bytes);
	assert_int_equal(out.args_total, RUN.args_total);
	assert_memory_equal(out.args, "aa", 2);
	assert_memory_equal(out.ctx, "bbb", 3);
	assert_int_equal(out.code_len, 3);
	assert_memory_equal(out.code, "ccc", 3);
	in.args_len = 6;
	frame_put_run(p, &in);
	assert_int_equal(frame_get_run(p, sizeof(p), &out), FRAME_BAD_LEN);
}

static void
test_call(void **state UNUSED)
{
	const struct frame_call in = {
		.number = 7, .parent = 3, .path_len = 3
	};
	uint8_t p[FRAME_CALL_LEN + 5];
	struct frame_call out;

	frame_put_call(p, &in);
	memcpy(p + FRAME_CALL_LEN, "a.b{}", 5);
	assert_int_equal(frame_get_call(p, sizeof(p), &out), FRAME_OK);
	assert_int_equal(out.number, 7);
	assert_int_equal(out.parent, 3);
	assert_memory_equal(out.path, "a.b", 3);
	assert_int_equal(out.args_len, 2);
	assert_memory_equal(out.args, "{}", 2);
	/* no arguments, no path, a path beyond the frame */
	assert_int_equal(frame_get_call(p, sizeof(p) - 2, &out), FRAME_BAD_LEN);
	p[8] = 0;
	assert_int_equal(frame_get_call(p, sizeof(p), &out), FRAME_BAD_LEN);
	p[8] = 6;
	assert_int_equal(frame_get_call(p, sizeof(p), &out), FRAME_BAD_LEN);
	p[11] = 0xff;
	assert_int_equal(frame_get_call(p, sizeof(p), &out), FRAME_BAD_LEN);
	frame_put_call(p, &in);
	p[FRAME_CALL_LEN] = 0;
	assert_int_equal(frame_get_call(p, sizeof(p), &out), FRAME_BAD_TEXT);
	p[FRAME_CALL_LEN] = 'a';
	p[FRAME_CALL_LEN + 4] = 0xff;
	assert_int_equal(frame_get_call(p, sizeof(p), &out), FRAME_BAD_TEXT);
}

static void
test_return(void **state UNUSED)
{
	const struct frame_return in = { .number = 9,
		.answer = FRAME_ANSWER_THROW };
	uint8_t p[FRAME_RETURN_LEN + 4];
	struct frame_return out;

	frame_put_return(p, &in);
	memcpy(p + FRAME_RETURN_LEN, "null", 4);
	assert_int_equal(frame_get_return(p, sizeof(p), &out), FRAME_OK);
	assert_int_equal(out.number, 9);
	assert_int_equal(out.answer, FRAME_ANSWER_THROW);
	assert_int_equal(out.json_len, 4);
	assert_int_equal(frame_get_return(p, 7, &out), FRAME_BAD_LEN);
	p[4] = FRAME_ANSWER__MAX;
	assert_int_equal(frame_get_return(p, sizeof(p), &out), FRAME_BAD_VALUE);
	p[4] = 0;
	p[7] = 1;
	assert_int_equal(
		frame_get_return(p, sizeof(p), &out), FRAME_BAD_RESERVED);
	p[7] = 0;
	p[9] = 0xc0;
	assert_int_equal(frame_get_return(p, sizeof(p), &out), FRAME_BAD_TEXT);
}

static void
test_script_and_check(void **state UNUSED)
{
	const struct frame_script in = {
		.number = 4, .args_len = 2, .ctx_len = 1
	};
	const struct frame_check ask = {
		.number = 5, .what = FRAME_QUESTION_SIGNATURE, .schema_len = 3
	};
	uint8_t p[FRAME_SCRIPT_LEN + 5];
	struct frame_script out;
	struct frame_check q;

	frame_put_script(p, &in);
	memcpy(p + FRAME_SCRIPT_LEN, "aabcc", 5);
	assert_int_equal(frame_get_script(p, sizeof(p), &out), FRAME_OK);
	assert_memory_equal(out.args, "aa", 2);
	assert_memory_equal(out.ctx, "b", 1);
	assert_int_equal(out.body_len, 2);
	assert_int_equal(frame_get_script(p, 11, &out), FRAME_BAD_LEN);
	p[7] = 0xff;
	assert_int_equal(frame_get_script(p, sizeof(p), &out), FRAME_BAD_LEN);
	frame_put_check(p, &ask);
	memcpy(p + FRAME_CHECK_LEN, "aaabb", 5);
	assert_int_equal(frame_get_check(p, sizeof(p), &q), FRAME_OK);
	assert_int_equal(q.what, FRAME_QUESTION_SIGNATURE);
	assert_memory_equal(q.schema, "aaa", 3);
	assert_int_equal(q.value_len, 2);
	p[8] = 6;
	assert_int_equal(frame_get_check(p, sizeof(p), &q), FRAME_BAD_LEN);
	p[8] = 3;
	p[4] = FRAME_QUESTION__MAX;
	assert_int_equal(frame_get_check(p, sizeof(p), &q), FRAME_BAD_VALUE);
}

static struct frame_state state_in, state_out;
static uint8_t heap[FRAME_HEAP_MAX];

static size_t
put_state(void)
{
	memset(&state_in, 0, sizeof(state_in));
	for (size_t i = 0; i < FRAME_ENGINE_LEN; i++)
		state_in.engine[i] = i + 1;
	state_in.pages = 60;
	state_in.stack_pointer = 1 << 20;
	state_in.runtime = 1;
	state_in.calls = 5;
	state_in.output_bytes = 1000;
	state_in.mono_ns = 1ULL << 40;
	state_in.real_ns = 1ULL << 60;
	state_in.realm_count = 2;
	state_in.realms[1].call = 3;
	state_in.open_count = 2;
	state_in.open[0].number = 4;
	state_in.open[0].realm = 1;
	state_in.open[1].number = 5;
	state_in.open[1].realm = FRAME_REALMS_MAX;
	return frame_put_state(heap, &state_in);
}

static void
test_state(void **state UNUSED)
{
	/* byte AT of the payload becomes VALUE */
	static const struct {
		size_t at;
		uint8_t value;
		enum frame_fault fault;
	} rows[] = {
		{ 0, FRAME_PART_PAGES, FRAME_BAD_VALUE },
		{ 0, FRAME_PART__MAX, FRAME_BAD_VALUE },
		{ 1, 1, FRAME_BAD_RESERVED },
		{ 39, 1, FRAME_BAD_VALUE },    /* pages */
		{ 67, 0xff, FRAME_BAD_VALUE }, /* output_bytes */
		{ 68, 1, FRAME_BAD_RESERVED },
		{ 88, 0, FRAME_BAD_VALUE }, /* no realm */
		{ 88, 3, FRAME_BAD_LEN },
		{ 88, FRAME_REALMS_MAX + 1, FRAME_BAD_VALUE },
		{ 92, 1, FRAME_BAD_LEN }, /* open calls */
		{ 95, 1, FRAME_BAD_VALUE },
		{ FRAME_STATE_LEN + 32, 0, FRAME_BAD_VALUE }, /* call 0 */
		{ FRAME_STATE_LEN + 32, 6, FRAME_BAD_VALUE }, /* not made */
		{ FRAME_STATE_LEN + 36, 2, FRAME_BAD_VALUE }, /* realm */
	};
	size_t len = put_state();

	assert_true(len <= sizeof(heap));
	assert_int_equal(frame_get_state(heap, len, &state_out), FRAME_OK);
	assert_memory_equal(&state_in, &state_out, sizeof(state_in));
	assert_int_equal(
		frame_get_state(heap, len - 1, &state_out), FRAME_BAD_LEN);
	assert_int_equal(
		frame_get_state(heap, len + 1, &state_out), FRAME_BAD_LEN);
	for (size_t i = 0; i < NELEM(rows); i++) {
		put_state();
		heap[rows[i].at] = rows[i].value;
		if (frame_get_state(heap, len, &state_out) != rows[i].fault)
			fail_msg("row %zu: %s", i,
				frame_fault_text(frame_get_state(
					heap, len, &state_out)));
	}
}

static void
test_pages(void **state UNUSED)
{
	uint8_t page[FRAME_PAGE] = { 1, 2, 3 };
	struct frame_pages out;
	const uint8_t *bytes;
	uint32_t next = 0, count;
	size_t len = frame_put_pages(heap);

	assert_int_equal(
		frame_get_pages(heap, len, &next, &out), FRAME_BAD_VALUE);
	for (uint32_t i = 0; i < FRAME_PAGES_MAX; i++)
		len = frame_put_page(heap, len, 10 + 2 * i, page);
	assert_true(len <= sizeof(heap));
	assert_int_equal(frame_get_pages(heap, len, &next, &out), FRAME_OK);
	assert_int_equal(out.count, FRAME_PAGES_MAX);
	assert_int_equal(next, 10 + 2 * FRAME_PAGES_MAX - 1);
	assert_int_equal(frame_page(&out, 1, &bytes), 12);
	assert_memory_equal(bytes, page, sizeof(page));
	/* the same again is not ascending */
	assert_int_equal(
		frame_get_pages(heap, len, &next, &out), FRAME_BAD_VALUE);
	next = 0;
	assert_int_equal(
		frame_get_pages(heap, len - 1, &next, &out), FRAME_BAD_LEN);
	/* one page fewer than there are, and one beyond 4 GiB */
	heap[FRAME_HEAP_LEN] = FRAME_PAGES_MAX - 1;
	next = 0;
	assert_int_equal(
		frame_get_pages(heap, len, &next, &out), FRAME_BAD_LEN);
	len = frame_put_pages(heap);
	len = frame_put_page(heap, len, 1 << 20, page);
	assert_int_equal(
		frame_get_pages(heap, len, &next, &out), FRAME_BAD_VALUE);

	len = frame_put_heap_end(heap, 7);
	assert_int_equal(frame_get_heap_end(heap, len, &count), FRAME_OK);
	assert_int_equal(count, 7);
	assert_int_equal(
		frame_get_heap_end(heap, len + 1, &count), FRAME_BAD_LEN);
	assert_int_equal(frame_get_idle(heap, 4, &count), FRAME_OK);
	assert_int_equal(frame_get_idle(heap, 5, &count), FRAME_BAD_LEN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_both_ways),
		cmocka_unit_test(test_header_of_unknown_kind),
		cmocka_unit_test(test_header_reserved),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_run_refused),
		cmocka_unit_test(test_run_texts),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_return),
		cmocka_unit_test(test_script_and_check),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_every_fault_has_a_text),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
