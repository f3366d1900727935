/* SPDX-License-Identifier: ISC */
/*
 * Every statement of the program, prepared against the migrated schema and
 * compared with what its declaration says: a typo cannot reach production.
 */
#include "base/compat.h"
#include "store/db.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/err.h"

static void
test_names(void **state UNUSED)
{
	const struct db_stmt *s, *t;
	size_t i, k;

	for (i = 0; (s = db_stmt_at(i)) != NULL; i++) {
		size_t len = strlen(s->name);

		if (len < 3 || len > 62 || s->name[len - 1] < '0' ||
			s->name[len - 1] > '9')
			fail_msg("%s: not a name ending in a number", s->name);
		for (k = 0; k < i; k++) {
			t = db_stmt_at(k);
			if (strcmp(s->name, t->name) == 0)
				fail_msg("%s: twice", s->name);
		}
	}
	print_message("# %zu statements\n", i);
	assert_true(i > 0);
}

static void
test_prepare(void **state UNUSED)
{
	const struct db_options o = {
		.conninfo = getenv("MCP_TEST_DSN"),
		.application_name = "test_dbstmt",
		.statement_timeout_ms = 10000,
	};
	const struct db_stmt *s;
	struct db *db;
	struct err e;
	size_t i, n_bad = 0;

	db = db_new(&o);
	for (i = 0; (s = db_stmt_at(i)) != NULL; i++)
		if (db_describe(db, s, &e) != 0) {
			print_message("# %s: %s: %s\n", s->name, e.detail,
				db_message(db));
			n_bad++;
		}
	db_free(db);
	assert_int_equal(n_bad, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_prepare),
	};

	if (getenv("MCP_TEST_DSN") == NULL) {
		puts("1..0 # SKIP MCP_TEST_DSN is not set: see "
		     "tests/unit/with-db");
		return 0;
	}
	return cmocka_run_group_tests_name("dbstmt", tests, NULL, NULL);
}
