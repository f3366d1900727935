/* SPDX-License-Identifier: ISC */
/* Goal: a response is put together as given, and can start again. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "http/res.h"

static struct arena *arena;

static int
setup(void **state)
{
	arena = arena_new((size_t)1 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(arena);
	return 0;
}

static void
test_build(void **state)
{
	struct res r;

	res_init(&r, arena);
	assert_int_equal(r.status, 200);
	assert_null(r.content_type);
	res_header(&r, "A", "1");
	res_header(&r, "B", "2");
	res_body(&r, 404, "application/json", "{}", 2);
	assert_string_equal(r.headers.data, "A: 1\r\nB: 2\r\n");
	assert_string_equal(r.body.data, "{}");
	assert_int_equal(r.status, 404);
	assert_string_equal(r.content_type, "application/json");
}

static void
test_clear(void **state)
{
	struct res r;

	res_init(&r, arena);
	res_header(&r, "A", "1");
	res_body(&r, 500, "x/y", "abc", 3);
	res_clear(&r);
	assert_int_equal(r.status, 200);
	assert_null(r.content_type);
	assert_int_equal(r.headers.len, 0);
	assert_int_equal(r.body.len, 0);
}

static void
test_body_replaces(void **state)
{
	struct res r;

	res_init(&r, arena);
	res_body(&r, 200, "x/y", "abc", 3);
	res_body(&r, 201, "x/z", "d", 1);
	assert_string_equal(r.body.data, "d");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_body_replaces),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
