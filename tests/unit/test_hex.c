/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/hex.h"

#include <ctype.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rnd.h"

static void
test_hex(void **state UNUSED)
{
	char out[65];
	static const struct {
		const char *name, *s;
		size_t len;
		bool want;
	} cases[] = {
		{ "digits", "09af", 4, true },
		{ "nothing", "", 0, true },
		{ "short", "09a", 4, false },
		{ "long", "09aff", 4, false },
		{ "upper case", "09aF", 4, false },
		{ "g", "09ag", 4, false },
		{ "space", " 9af", 4, false },
		{ "below 0", "/9af", 4, false },
		{ "above 9", ":9af", 4, false },
		{ "above ASCII", "\xc3\xa9" "af", 4, false },
	};
	size_t i;

	hex_encode(out, "\x00\x9a\xff", 3);
	assert_string_equal(out, "009aff");
	hex_encode(out, "", 0);
	assert_string_equal(out, "");
	for (i = 0; i < NELEM(cases); i++)
		if (hex_is_lower(cases[i].s, cases[i].len) != cases[i].want)
			fail_msg("%s", cases[i].name);
}

static void
test_digit(void **state UNUSED)
{
	int c;

	for (c = 0; c < 256; c++) {
		char s[2] = { (char)c, '\0' };
		long want = isxdigit(c) ? strtol(s, NULL, 16) : -1;

		if (hex_digit((char)c) != want)
			fail_msg("character %d: %d", c, hex_digit((char)c));
	}
}

static void
test_b64url(void **state UNUSED)
{
	static const struct {
		const char *name, *text, *bytes;
		ssize_t len;
	} cases[] = {
		/* RFC 4648 10, without the padding */
		{ "empty", "", "", 0 },
		{ "f", "Zg", "f", 1 },
		{ "fo", "Zm8", "fo", 2 },
		{ "foo", "Zm9v", "foo", 3 },
		{ "foobar", "Zm9vYmFy", "foobar", 6 },
		{ "both special", "-_-_", "\xfb\xff\xbf", 3 },
		{ "one character", "Z", NULL, -1 },
		{ "five characters", "Zm9vY", NULL, -1 },
		{ "padding", "Zg==", NULL, -1 },
		{ "plus", "+_-_", NULL, -1 },
		{ "solidus", "-/-_", NULL, -1 },
		{ "space", "Zm 9", NULL, -1 },
		{ "line feed", "Zm9v\n", NULL, -1 },
		{ "unused bits, two", "Zh", NULL, -1 },
		{ "unused bits, four", "Zm9", NULL, -1 },
		{ "above ASCII", "Zm\xc3\xa9", NULL, -1 },
	};
	char bytes[16], text[16];
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		ssize_t n = hex_b64url_decode(bytes, cases[i].text,
			strlen(cases[i].text));

		if (n != cases[i].len)
			fail_msg("%s: %zd", cases[i].name, n);
		if (n < 0)
			continue;
		assert_memory_equal(bytes, cases[i].bytes, (size_t)n);
		hex_b64url_encode(text, bytes, (size_t)n);
		assert_string_equal(text, cases[i].text);
	}
	/* A NUL is a character like others. */
	assert_int_equal(hex_b64url_decode(bytes, "Zg\0g", 4), -1);
}

static void
test_round(void **state UNUSED)
{
	unsigned char in[64], out[64];
	char text[100];
	size_t len;

	for (len = 0; len <= sizeof(in); len++) {
		rnd_bytes(in, sizeof(in));
		hex_b64url_encode(text, in, len);
		assert_int_equal(strlen(text), (len * 4 + 2) / 3);
		assert_int_equal(hex_b64url_decode(out, text, strlen(text)),
			len);
		assert_memory_equal(in, out, len);
	}
}

static void
test_rnd(void **state UNUSED)
{
	unsigned char a[32] = { 0 }, b[32] = { 0 };

	rnd_bytes(a, 0);
	rnd_bytes(a, sizeof(a));
	rnd_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
}

static void
test_clock(void **state UNUSED)
{
	int64_t a = clock_mono_ms();

	assert_true(clock_wall_s() > 1600000000);
	assert_true(clock_mono_ms() >= a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_digit),
		cmocka_unit_test(test_b64url),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_rnd),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests_name("hex", tests, NULL, NULL);
}
