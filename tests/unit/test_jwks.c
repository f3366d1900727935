/* SPDX-License-Identifier: ISC */
/* jwks: which keys of a document are kept, and which is found. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "auth/jwks.h"
#include "auth/jws.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "testkey.h"

static int
setup(void **state)
{
	*state = arena_new(64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	testkey_release();
	arena_free(*state);
	return 0;
}

static struct jwks *
parse(struct arena *a, const char *text)
{
	struct jwks *set;
	struct err e;

	if (jwks_parse(a, text, strlen(text), &set, &e) != 0) {
		assert_int_equal(e.kind, ERR_INVALID);
		assert_null(set);
		return NULL;
	}
	return set;
}

/* How many keys of the one JWK are kept: 0 or 1. */
static size_t
kept(struct arena *a, const char *jwk)
{
	struct jwks *set = parse(a, testkey_jwks(a, &jwk, 1));
	size_t n;

	assert_non_null(set);
	n = jwks_count(set);
	jwks_free(set);
	return n;
}

static enum jwks_found
find(const struct jwks *set, const char *alg, const char *kid)
{
	void *pkey = NULL;
	enum jwks_found found = jwks_find(set, jws_alg_find(alg), kid, &pkey);

	assert_true(found != JWKS_FOUND || pkey != NULL);
	return found;
}

static void
test_not_a_set(void **state)
{
	static const char *const bad[] = { "", " ", "{", "[]", "null", "1",
		"\"keys\"", "{}", "{\"keys\":null}", "{\"keys\":{}}",
		"{\"keys\":\"\"}", "{\"Keys\":[]}", "[{\"keys\":[]}]",
		"{\"keys\":[]}x", "{\"keys\":[],\"keys\":[]}",
		"{\"keys\":[{\"kty\":\"RSA\",\"kty\":\"EC\"}]}",
		"{\"keys\":[\"\\u0000\"]}", "{\"keys\":[\"\xff\"]}",
		"<html>502</html>", "{\"error\":\"unavailable\"}",
		"{\"keys\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}" };
	size_t i;

	for (i = 0; i < NELEM(bad); i++)
		if (parse(*state, bad[i]) != NULL)
			fail_msg("accepted: %s", bad[i]);
}

static void
test_nothing_usable_is_a_set(void **state)
{
	static const char *const empty[] = { "{\"keys\":[]}",
		"{\"x\":1,\"keys\":[]}", "{\"keys\":[null,1,\"a\",[],{}]}",
		"{\"keys\":[{\"kty\":1},{\"kty\":\"XYZ\"}]}",
		"{\"keys\":[{\"kty\":\"RSA\"},{\"kty\":\"OKP\"}]}",
		"{\"keys\":[{\"kty\":\"EC\"},{\"kty\":\"EC\",\"crv\":7}]}",
		"{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2Vj\",\"kid\":\"a\"}]}" };
	struct jwks *set;
	size_t i;

	for (i = 0; i < NELEM(empty); i++) {
		set = parse(*state, empty[i]);
		assert_non_null(set);
		assert_int_equal(jwks_count(set), 0);
		assert_int_equal(find(set, "RS256", "a"), JWKS_UNKNOWN);
		assert_int_equal(find(set, "RS256", NULL), JWKS_UNKNOWN);
		jwks_free(set);
	}
}

static void
test_kinds(void **state)
{
	static const char *const types[] = { "RSA2048", "P-256", "P-384",
		"P-521", "Ed25519" };
	static const struct {
		const char *alg;
		size_t fits;
	} algs[] = { { "RS256", 0 }, { "RS384", 0 }, { "RS512", 0 },
		{ "PS256", 0 }, { "PS384", 0 }, { "PS512", 0 }, { "ES256", 1 },
		{ "ES384", 2 }, { "ES512", 3 }, { "EdDSA", 4 } };
	const char *jwk[NELEM(types)];
	struct arena *a = *state;
	struct jwks *set;
	size_t i, j;

	for (i = 0; i < NELEM(types); i++)
		jwk[i] = testkey_jwk(a, testkey_get(types[i], 0), types[i], "");
	set = parse(a, testkey_jwks(a, jwk, NELEM(types)));
	assert_int_equal(jwks_count(set), NELEM(types));
	for (i = 0; i < NELEM(algs); i++) {
		for (j = 0; j < NELEM(types); j++)
			assert_int_equal(find(set, algs[i].alg, types[j]),
				j == algs[i].fits ? JWKS_FOUND : JWKS_UNFIT);
		assert_int_equal(find(set, algs[i].alg, NULL), JWKS_FOUND);
		assert_int_equal(find(set, algs[i].alg, "p-256"), JWKS_UNKNOWN);
		assert_int_equal(find(set, algs[i].alg, ""), JWKS_UNKNOWN);
	}
	jwks_free(set);
}

static void
test_purpose(void **state)
{
	static const struct {
		const char *extra;
		size_t kept;
	} cases[] = {
		{ "", 1 },
		{ ",\"use\":\"sig\"", 1 },
		{ ",\"use\":\"enc\"", 0 },
		{ ",\"use\":\"Sig\"", 0 },
		{ ",\"use\":[\"sig\"]", 0 },
		{ ",\"use\":null", 0 },
		{ ",\"key_ops\":[\"verify\"]", 1 },
		{ ",\"key_ops\":[\"sign\",\"verify\"]", 1 },
		{ ",\"key_ops\":[\"encrypt\"]", 0 },
		{ ",\"key_ops\":[]", 0 },
		{ ",\"key_ops\":\"verify\"", 0 },
		{ ",\"use\":\"sig\",\"key_ops\":[\"sign\"]", 0 },
		{ ",\"alg\":\"RS256\"", 1 },
		{ ",\"alg\":\"PS512\"", 1 },
		{ ",\"alg\":\"ES256\"", 0 },
		{ ",\"alg\":\"HS256\"", 0 },
		{ ",\"alg\":\"none\"", 0 },
		{ ",\"alg\":\"RSA-OAEP\"", 0 },
		{ ",\"alg\":\"rs256\"", 0 },
		{ ",\"alg\":256", 0 },
		{ ",\"kid\":7", 0 },
		{ ",\"kid\":\"\"", 1 },
		{ ",\"d\":\"AQAB\"", 0 },
		{ ",\"x5c\":[\"MIIB\"],\"x5t\":\"a\",\"x5u\":\"http://x/\"",
			1 },
	};
	struct arena *a = *state;
	EVP_PKEY *rsa = testkey_get("RSA2048", 0);
	size_t i;

	for (i = 0; i < NELEM(cases); i++)
		if (kept(a, testkey_jwk(a, rsa, NULL, cases[i].extra)) !=
			cases[i].kept)
			fail_msg("%s", cases[i].extra);
}

static char *
rsa_jwk(struct arena *a, const char *n, const char *e)
{
	return arena_printf(
		a, "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}", n, e);
}

static void
test_rsa(void **state)
{
	struct arena *a = *state;
	unsigned char n[2049];
	const char *good;

	assert_int_equal(
		kept(a, testkey_jwk(a, testkey_get("RSA1024", 0), "a", "")), 0);
	memset(n, 0xff, sizeof(n));
	good = testkey_b64(a, n, 256);
	assert_int_equal(kept(a, rsa_jwk(a, good, "AQAB")), 1);
	assert_int_equal(kept(a, rsa_jwk(a, good, "Aw")), 1);
	/* exponents 0, 1, 2, 65536, longer than eight bytes */
	assert_int_equal(kept(a, rsa_jwk(a, good, "AA")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "AQ")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "Ag")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "AQAA")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, testkey_b64(a, n, 9))), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, "", "AQAB")), 0);
	/* padding, foreign alphabet, unused bits, white space */
	assert_int_equal(kept(a, rsa_jwk(a, good, "Aw==")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "A+AB")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "Ax")), 0);
	assert_int_equal(kept(a, rsa_jwk(a, good, "AQ AB")), 0);
	/* size: 8192 bits yes, 8200 and 16384 no, 2040 no */
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 1024), "AQAB")), 1);
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 1025), "AQAB")), 0);
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 2048), "AQAB")), 0);
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 255), "AQAB")), 0);
	/* leading zeroes do not make it longer */
	memset(n, 0, 129);
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 257), "AQAB")), 0);
	n[0] = 0;
	memset(n + 1, 0xff, 256);
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 257), "AQAB")), 1);
	/* an even modulus */
	n[256] = 0xfe;
	assert_int_equal(
		kept(a, rsa_jwk(a, testkey_b64(a, n, 257), "AQAB")), 0);
}

static char *
ec_jwk(struct arena *a, const char *crv, const void *x, size_t x_len,
	const void *y, size_t y_len)
{
	return arena_printf(a,
		"{\"kty\":\"EC\",\"crv\":\"%s\",\"x\":\"%s\",\"y\":\"%s\"}",
		crv, testkey_b64(a, x, x_len), testkey_b64(a, y, y_len));
}

static void
test_ec(void **state)
{
	/* RFC 7515 A.3 */
	static const unsigned char x[33] = { 127, 205, 206, 39, 112, 246, 196,
		93, 65, 131, 203, 238, 111, 219, 75, 123, 88, 7, 51, 53, 123,
		233, 239, 19, 186, 207, 110, 60, 123, 209, 84, 69 };
	static const unsigned char y[33] = { 199, 241, 68, 205, 27, 189, 155,
		126, 135, 44, 223, 237, 185, 238, 185, 244, 179, 105, 93, 110,
		169, 11, 36, 173, 138, 70, 35, 40, 133, 136, 229, 173 };
	unsigned char off[32], zero[66] = { 0 };
	struct arena *a = *state;
	char *jwk;

	assert_int_equal(kept(a, ec_jwk(a, "P-256", x, 32, y, 32)), 1);
	memcpy(off, y, 32);
	off[31] ^= 1;
	assert_int_equal(kept(a, ec_jwk(a, "P-256", x, 32, off, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "P-256", y, 32, x, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "P-256", x, 31, y, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "P-256", x, 33, y, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "P-256", zero, 32, zero, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "P-384", x, 32, y, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "P-521", zero, 66, zero, 66)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "p-256", x, 32, y, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "secp256k1", x, 32, y, 32)), 0);
	assert_int_equal(kept(a, ec_jwk(a, "", x, 32, y, 32)), 0);
	/* the private half with it */
	jwk = testkey_jwk(a, testkey_get("P-256", 0), "a", ",\"d\":\"AQ\"");
	assert_int_equal(kept(a, jwk), 0);
	/* the same of Ed25519 */
	jwk = testkey_jwk(a, testkey_get("Ed25519", 0), "a", ",\"d\":\"AQ\"");
	assert_int_equal(kept(a, jwk), 0);
	assert_int_equal(kept(a, arena_printf(a,
					 "{\"kty\":\"OKP\",\"crv\":\"Ed25519\","
					 "\"x\":\"%s\"}",
					 testkey_b64(a, x, 31))),
		0);
	assert_int_equal(kept(a, arena_printf(a,
					 "{\"kty\":\"OKP\",\"crv\":\"X25519\","
					 "\"x\":\"%s\"}",
					 testkey_b64(a, x, 32))),
		0);
	assert_int_equal(kept(a, arena_printf(a,
					 "{\"kty\":\"OKP\",\"crv\":\"Ed448\","
					 "\"x\":\"%s\"}",
					 testkey_b64(a, x, 32))),
		0);
}

static void
test_names(void **state)
{
	struct arena *a = *state;
	EVP_PKEY *rsa0 = testkey_get("RSA2048", 0);
	EVP_PKEY *rsa1 = testkey_get("RSA2048", 1);
	EVP_PKEY *ec = testkey_get("P-256", 0);
	const char *jwk[3];
	struct jwks *set;

	/* without a name in the token: only when one key fits */
	jwk[0] = testkey_jwk(a, rsa0, "a", "");
	jwk[1] = testkey_jwk(a, rsa1, "b", "");
	jwk[2] = testkey_jwk(a, ec, NULL, "");
	set = parse(a, testkey_jwks(a, jwk, 3));
	assert_int_equal(find(set, "RS256", NULL), JWKS_AMBIGUOUS);
	assert_int_equal(find(set, "RS256", "a"), JWKS_FOUND);
	assert_int_equal(find(set, "ES256", NULL), JWKS_FOUND);
	assert_int_equal(find(set, "ES256", "a"), JWKS_UNFIT);
	assert_int_equal(find(set, "ES384", NULL), JWKS_UNKNOWN);
	/* a key without a name is not found by one */
	assert_int_equal(find(set, "ES256", "x"), JWKS_UNKNOWN);
	jwks_free(set);

	/* one name, two types: the algorithm tells them apart */
	jwk[1] = testkey_jwk(a, ec, "a", "");
	set = parse(a, testkey_jwks(a, jwk, 2));
	assert_int_equal(find(set, "RS256", "a"), JWKS_FOUND);
	assert_int_equal(find(set, "ES256", "a"), JWKS_FOUND);
	jwks_free(set);

	/* one name, two keys of a type: neither */
	jwk[1] = testkey_jwk(a, rsa1, "a", "");
	set = parse(a, testkey_jwks(a, jwk, 2));
	assert_int_equal(find(set, "RS256", "a"), JWKS_AMBIGUOUS);
	jwks_free(set);

	/* the same key twice is one key */
	jwk[1] = testkey_jwk(a, rsa0, "a", ",\"alg\":\"RS256\"");
	jwk[2] = testkey_jwk(a, rsa0, "a", "");
	set = parse(a, testkey_jwks(a, jwk, 3));
	assert_int_equal(find(set, "RS256", "a"), JWKS_FOUND);
	assert_int_equal(find(set, "PS256", NULL), JWKS_FOUND);
	jwks_free(set);

	/* alg pins */
	jwk[0] = testkey_jwk(a, rsa0, "a", ",\"alg\":\"PS256\"");
	set = parse(a, testkey_jwks(a, jwk, 1));
	assert_int_equal(find(set, "PS256", "a"), JWKS_FOUND);
	assert_int_equal(find(set, "RS256", "a"), JWKS_UNFIT);
	assert_int_equal(find(set, "PS384", "a"), JWKS_UNFIT);
	assert_int_equal(find(set, "RS256", NULL), JWKS_UNKNOWN);
	jwks_free(set);
}

static void
test_many(void **state)
{
	struct arena *a = *state;
	EVP_PKEY *ed = testkey_get("Ed25519", 0);
	struct jwks *set;
	struct buf b;
	int i;

	/* the first of hundreds are kept */
	buf_init(&b, a);
	buf_puts(&b, "{\"keys\":[");
	for (i = 0; i < 500; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "",
			testkey_jwk(a, ed, arena_printf(a, "k%d", i), ""));
	buf_puts(&b, "]}");
	set = parse(a, b.data);
	assert_int_equal(jwks_count(set), JWKS_KEYS_MAX);
	assert_int_equal(find(set, "EdDSA", "k63"), JWKS_FOUND);
	assert_int_equal(find(set, "EdDSA", "k64"), JWKS_UNKNOWN);
	jwks_free(set);

	/* no end of entries that are no keys */
	buf_clear(&b);
	buf_puts(&b, "{\"keys\":[");
	for (i = 0; i < JWKS_ENTRIES_MAX; i++)
		buf_puts(&b, "0,");
	buf_printf(&b, "%s]}", testkey_jwk(a, ed, "late", ""));
	set = parse(a, b.data);
	assert_int_equal(jwks_count(set), 0);
	jwks_free(set);

	/* too long altogether */
	buf_clear(&b);
	buf_puts(&b, "{\"keys\":[]");
	for (i = 0; i < JWKS_DOCUMENT_MAX; i++)
		buf_putc(&b, ' ');
	buf_putc(&b, '}');
	assert_null(parse(a, b.data));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_a_set),
		cmocka_unit_test(test_nothing_usable_is_a_set),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_purpose),
		cmocka_unit_test(test_rsa),
		cmocka_unit_test(test_ec),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
