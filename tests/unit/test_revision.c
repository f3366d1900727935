/* SPDX-License-Identifier: ISC */
/* Goal: versions are negotiated as the lifecycle of 2025-11-25 says. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "mcp/revision.h"

static void
test_negotiate(void **state)
{
	static const struct {
		const char *asked;
		const char *answer;
	} CASES[] = {
		{ "2024-11-05", "2024-11-05" },
		{ "2025-03-26", "2025-03-26" },
		{ "2025-06-18", "2025-06-18" },
		{ "2025-11-25", "2025-11-25" },
		/* N-03: 2026-07-28 has no handshake */
		{ "2026-07-28", "2025-11-25" },
		{ "1999-01-01", "2025-11-25" },
		{ "", "2025-11-25" },
		{ "2025-03-26 ", "2025-11-25" },
	};
	size_t i;

	for (i = 0; i < NELEM(CASES); i++)
		assert_string_equal(
			revision_name(revision_negotiate(CASES[i].asked)),
			CASES[i].answer);
}

/* The list names exactly what is served, newest first. */
static void
test_list(void **state)
{
	char want[128] = "[";
	size_t len = 1;
	int r;

	for (r = REVISION__MAX - 1; r >= 0; r--)
		len += (size_t)snprintf(want + len, sizeof(want) - len,
			"\"%s\"%s", revision_name((enum revision)r),
			r > 0 ? "," : "]");
	assert_string_equal(revision_list_json(), want);
}

static void
test_features(void **state)
{
	assert_true(REVISION_HAS_BATCH(REVISION_2025_03_26));
	assert_false(REVISION_HAS_BATCH(REVISION_2025_06_18));
	assert_false(REVISION_HAS_ANNOTATIONS(REVISION_2024_11_05));
	assert_true(REVISION_HAS_ANNOTATIONS(REVISION_2025_03_26));
	assert_false(REVISION_HAS_OUTPUT_SCHEMA(REVISION_2025_03_26));
	assert_true(REVISION_HAS_OUTPUT_SCHEMA(REVISION_2025_06_18));
	assert_false(REVISION_HAS_STRUCTURED(REVISION_2024_11_05));
	assert_true(REVISION_HAS_STRUCTURED(REVISION_2025_03_26));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_negotiate),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
