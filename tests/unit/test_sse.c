/* SPDX-License-Identifier: ISC */
/* Goal: frames of an event stream are what the format says. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "http/sse.h"

static void
test_frames(void **state)
{
	struct arena *a = arena_new((size_t)1 << 20);
	struct buf b;

	buf_init(&b, a);
	sse_comment(&b, "ka");
	assert_string_equal(b.data, ": ka\n\n");
	buf_clear(&b);
	sse_retry(&b, 3000);
	assert_string_equal(b.data, "retry: 3000\n\n");
	buf_clear(&b);
	sse_message(&b, NULL, "{\"a\":1}", 7);
	assert_string_equal(b.data, "event: message\ndata: {\"a\":1}\n\n");
	buf_clear(&b);
	sse_message(&b, "s:1", "{}", 2);
	assert_string_equal(b.data, "id: s:1\nevent: message\ndata: {}\n\n");
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
