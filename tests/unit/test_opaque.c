/* SPDX-License-Identifier: ISC */
/* opaque: the form of API tokens and their digest. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "auth/opaque.h"
#include "base/hex.h"

#define A43 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define A42 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static bool
is_valid(const char *s)
{
	return opaque_is_valid(s, strlen(s));
}

static void
test_make(void **state)
{
	char a[OPAQUE_LEN + 1], b[OPAQUE_LEN + 1];
	int i;

	for (i = 0; i < 1000; i++) {
		opaque_make(a);
		opaque_make(b);
		assert_int_equal(strlen(a), OPAQUE_LEN);
		assert_true(is_valid(a));
		assert_string_not_equal(a, b);
		assert_int_equal(strspn(a + 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					       "abcdefghijklmnopqrstuvwxyz"
					       "0123456789-_"),
			43);
	}
}

static void
test_form(void **state)
{
	assert_true(is_valid("mcp_" A43));
	assert_true(is_valid("mcp_" A42 "E"));
	assert_false(is_valid(""));
	assert_false(is_valid("mcp_"));
	assert_false(is_valid("mcp_" A42));
	assert_false(is_valid("mcp_" A43 "A"));
	assert_false(is_valid("mcp_" A43 "="));
	assert_false(is_valid("MCP_" A43));
	assert_false(is_valid("mcp-" A43));
	assert_false(is_valid(" mcp_" A42));
	assert_false(is_valid("mcp_" A42 "+"));
	assert_false(is_valid("mcp_" A42 "."));
	assert_false(is_valid("mcp_" A42 "\xc3"));
	/* unused bits: another spelling of the same bytes */
	assert_false(is_valid("mcp_" A42 "B"));
	/* a NUL within */
	assert_false(
		opaque_is_valid("mcp_\0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
				  "AAAAAAAA",
			OPAQUE_LEN));
	assert_true(opaque_has_prefix("mcp_", 4));
	assert_false(opaque_has_prefix("mcp", 3));
	assert_false(opaque_has_prefix("eyJhbGciOiJSUzI1NiJ9", 20));
}

static void
test_hash(void **state)
{
	unsigned char hash[OPAQUE_HASH_LEN];
	char hex[2 * OPAQUE_HASH_LEN + 1];

	/* FIPS 180-2 B.1 */
	opaque_hash("abc", 3, hash);
	hex_encode(hex, hash, sizeof(hash));
	assert_string_equal(hex,
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015"
		"ad");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_form),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
