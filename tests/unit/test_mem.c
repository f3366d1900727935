/* SPDX-License-Identifier: ISC */
/* Goal: memory comes zeroed and copied whole, or the process ends. */
#include "base/compat.h"

#include <setjmp.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/mem.h"

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool is_exhausted;

void *
__wrap_calloc(size_t n, size_t size)
{
	return is_exhausted ? NULL : __real_calloc(n, size);
}

static void
test_given(void **state UNUSED)
{
	unsigned char *p = mem_zalloc(3, 5);
	char *s = mem_dup("a\0b", 3), *t = mem_strdup("x"), *u = mem_dup("", 0);
	size_t i;

	for (i = 0; i < 15; i++)
		assert_int_equal(p[i], 0);
	assert_memory_equal(s, "a\0b", 4);
	assert_string_equal(t, "x");
	assert_string_equal(u, "");
	p = mem_grow(p, 100, 1000);
	assert_int_equal(p[14], 0);
	p[99999] = 1;
	free(p);
	free(s);
	free(t);
	free(u);
}

static void
take_string(void)
{
	is_exhausted = true;
	free(mem_strdup("x"));
}

static void
take_too_much(void)
{
	free(mem_grow(NULL, SIZE_MAX / 2, 4));
}

static void
check_exhausted(void (*take)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		take();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void
test_exhausted(void **state UNUSED)
{
	check_exhausted(take_string);
	check_exhausted(take_too_much);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_exhausted),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
