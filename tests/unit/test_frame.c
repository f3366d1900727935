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
			FRAME_RUN_LEN + FRAME_CODE_MAX },
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
		bool known = kind == FRAME_LOG || kind == FRAME_RESULT ||
			     kind == FRAME_ERROR || kind == FRAME_RUN;

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
		{ 0, 2, FRAME_BAD_VERSION },
		{ 3, 1, FRAME_BAD_VERSION },
		{ 23, 1, FRAME_BAD_VALUE },    /* heap_bytes 2^56 */
		{ 27, 0xff, FRAME_BAD_VALUE }, /* output_bytes */
		{ 35, 0xff, FRAME_BAD_VALUE }, /* log_bytes */
		{ 36, 1, FRAME_BAD_RESERVED },
		{ 43, 1, FRAME_BAD_RESERVED },
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_both_ways),
		cmocka_unit_test(test_header_of_unknown_kind),
		cmocka_unit_test(test_header_reserved),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_run_refused),
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_every_fault_has_a_text),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
