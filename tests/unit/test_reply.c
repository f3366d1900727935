/* SPDX-License-Identifier: ISC */
/* Goal: responses echo the id's own text and escape what they carry. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "rpc/msg.h"
#include "rpc/reply.h"

static struct arena *arena;
static struct buf out;

static int
setup(void **state)
{
	arena = arena_new((size_t)1 << 20);
	buf_init(&out, arena);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(arena);
	return 0;
}

static void
test_result(void **state)
{
	struct msg m = { .id = "9007199254740993,", .id_len = 16 };

	buf_clear(&out);
	reply_result(&out, &m, "{\"x\":1}", 7);
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,"
		"\"result\":{\"x\":1}}");
}

static void
test_error(void **state)
{
	struct msg m = { .id = "\"\\u0031\"", .id_len = 8 };

	buf_clear(&out);
	reply_error(&out, &m, -32602, "say \"no\"", "{\"d\":2}");
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0031\",\"error\":{\"code\":"
		"-32602,\"message\":\"say \\\"no\\\"\",\"data\":{\"d\":2}}}");
}

static void
test_bare(void **state)
{
	buf_clear(&out);
	reply_error_bare(&out, REPLY_ID_NULL, -32700, "m", NULL);
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		"\"message\":\"m\"}}");
	buf_clear(&out);
	reply_error_bare(&out, REPLY_ID_OMIT, -32700, "m", NULL);
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,"
		"\"message\":\"m\"}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_bare),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
