/* SPDX-License-Identifier: ISC */
/* Goal: a parent that cannot have its socket says which and why. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/err.h"
#include "http/worker.h"

int __wrap_socket(int domain, int type, int protocol);

/* No socket is to be had in these tests. */
int
__wrap_socket(int domain UNUSED, int type UNUSED, int protocol UNUSED)
{
	errno = EAFNOSUPPORT;
	return -1;
}

static void
test_no_socket(void **state UNUSED)
{
	static const struct {
		const char *listen;
		enum err_kind kind;
		const char *detail;
	} CASES[] = {
		{ "127.0.0.1:9", ERR_INTERNAL, "127.0.0.1:9: Address family" },
		{ "[::1]:9", ERR_INTERNAL, "[::1]:9: Address family" },
		{ "127.0.0.1", ERR_INVALID, "--listen takes" },
		{ ":9", ERR_INVALID, "--listen takes" },
		{ "host.example:9", ERR_INVALID, "host.example:9: " },
		{ "127.0.0.1:http", ERR_INVALID, "127.0.0.1:http: " },
	};
	struct worker_options o = { .workers = 1 };
	struct err e;
	size_t i;

	for (i = 0; i < NELEM(CASES); i++) {
		err_clear(&e);
		o.listen = CASES[i].listen;
		assert_int_equal(worker_run(&o, &e), -1);
		if (e.kind != CASES[i].kind ||
			strncmp(e.detail, CASES[i].detail,
				strlen(CASES[i].detail)) != 0)
			fail_msg("%s: %s", CASES[i].listen, e.detail);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_socket),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
