/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/arena.h"

#include <setjmp.h>
#include <sys/wait.h>

#include <cmocka.h>

static char order[8];

static void
note(void *p)
{
	size_t n = strlen(order);

	order[n] = *(const char *)p;
	order[n + 1] = '\0';
}

static void
test_alignment(void **state UNUSED)
{
	struct arena *a = arena_new(1 << 20);
	size_t len;

	for (len = 0; len < 200; len++) {
		unsigned char *p = arena_alloc(a, len);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		memset(p, 0xff, len);
	}
	arena_free(a);
}

static void
test_blocks(void **state UNUSED)
{
	struct arena *a = arena_new(64 << 20);
	char *p[64];
	size_t i, k;

	/* Small between large, over several blocks, none overlaps another. */
	for (i = 0; i < NELEM(p); i++) {
		size_t len = i % 3 == 0 ? 100000 : 700 + i;

		p[i] = arena_alloc(a, len);
		memset(p[i], (int)i, len);
	}
	for (i = 0; i < NELEM(p); i++)
		for (k = 0; k < 700; k++)
			assert_int_equal(p[i][k], i);
	arena_free(a);
}

static void
test_reset(void **state UNUSED)
{
	struct arena *a = arena_new(1000000);
	int i;

	for (i = 0; i < 50; i++) {
		assert_int_equal(arena_used(a), 0);
		memset(arena_alloc(a, 900000), 1, 900000);
		arena_reset(a);
	}
	arena_reset(a);
	arena_free(a);
	arena_free(NULL);
}

static void
test_zeroed(void **state UNUSED)
{
	struct arena *a = arena_new(100000);
	unsigned char *p;
	size_t i;

	memset(arena_alloc(a, 500), 0xff, 500);
	arena_reset(a);
	p = arena_zalloc(a, 500);
	for (i = 0; i < 500; i++)
		assert_int_equal(p[i], 0);
	p = arena_calloc(a, 10, 50);
	for (i = 0; i < 500; i++)
		assert_int_equal(p[i], 0);
	arena_free(a);
}

static void
test_strings(void **state UNUSED)
{
	struct arena *a = arena_new(100000);
	char *s;

	assert_string_equal(arena_strdup(a, ""), "");
	assert_string_equal(arena_strdup(a, "abc"), "abc");
	assert_string_equal(arena_memdup(a, NULL, 0), "");
	s = arena_memdup(a, "a\0b", 3);
	assert_memory_equal(s, "a\0b", 4);
	assert_string_equal(arena_printf(a, "%s-%d", "x", 7), "x-7");
	s = arena_printf(a, "%3000s", "y");
	assert_int_equal(strlen(s), 3000);
	arena_free(a);
}

static void
test_defer(void **state UNUSED)
{
	struct arena *a = arena_new(100000);
	char *one = arena_strdup(a, "1");

	order[0] = '\0';
	arena_defer(a, note, one);
	arena_defer(a, note, arena_strdup(a, "2"));
	arena_defer(a, note, arena_strdup(a, "3"));
	arena_reset(a);
	assert_string_equal(order, "321");
	arena_reset(a);
	assert_string_equal(order, "321");
	arena_defer(a, note, arena_strdup(a, "4"));
	arena_free(a);
	assert_string_equal(order, "3214");
}

/*
 * Ends of the process, each seen from outside.
 */

static void
over_cap(struct arena *a)
{
	(void)arena_alloc(a, 1001);
}

static void
over_cap_in_sum(struct arena *a)
{
	int i;

	for (i = 0; i < 11; i++)
		(void)arena_alloc(a, 100);
}

static void
product_overflows(struct arena *a)
{
	(void)arena_calloc(a, SIZE_MAX / 2, 3);
}

static void
whole_address_space(struct arena *a)
{
	(void)arena_alloc(a, SIZE_MAX);
}

static void
printf_over_cap(struct arena *a)
{
	(void)arena_printf(a, "%2000s", "");
}

static void
test_exhausted(void **state UNUSED)
{
	static const struct {
		const char *name;
		void (*fn)(struct arena *);
	} cases[] = {
		{ "one allocation", over_cap },
		{ "the sum", over_cap_in_sum },
		{ "product overflows", product_overflows },
		{ "whole address space", whole_address_space },
		{ "printf", printf_over_cap },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			struct arena *a = arena_new(1000);

			if (freopen("/dev/null", "w", stderr) == NULL)
				_exit(9);
			cases[i].fn(a);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) == 0)
			fail_msg("%s: status %#x", cases[i].name, status);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_defer),
		cmocka_unit_test(test_exhausted),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
