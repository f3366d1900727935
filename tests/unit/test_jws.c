/* SPDX-License-Identifier: ISC */
/* jws: tokens good and bad.  The bad ones are attacks that worked somewhere. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>
#ifdef HAVE_JWT
#include <jwt.h>
#endif
#include <openssl/core_names.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "auth/jwks.h"
#include "auth/jws.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "testkey.h"

#define ISSUER "https://issuer.example"
#define AUD    "https://mcp.example/mcp"
#define NOW    1800000000

/* Claims of a good token, to be followed by more and the brace. */
#define CLAIMS                                                                 \
	"{\"iss\":\"" ISSUER "\",\"aud\":\"" AUD "\",\"sub\":\"alice\","       \
	"\"org_id\":\"org_1\""
#define GOOD CLAIMS ",\"exp\":1800000300}"

static const struct {
	const char *alg, *type;
} algs[] = { { "RS256", "RSA2048" }, { "RS384", "RSA2048" },
	{ "RS512", "RSA2048" }, { "PS256", "RSA2048" }, { "PS384", "RSA2048" },
	{ "PS512", "RSA2048" }, { "ES256", "P-256" }, { "ES384", "P-384" },
	{ "ES512", "P-521" }, { "EdDSA", "Ed25519" } };

struct fixture {
	struct arena *a;
	struct jwks *set;
	struct jws_rules rules;
	struct jws_claims claims; /* of the latest good token */
	const char *why;	  /* of the latest bad one */
};

static const char *audience[] = { AUD, AUD "/", "client_7" };
static const struct conf_list audience_list = { audience, NELEM(audience) };

static int
setup(void **state)
{
	static const char *const types[] = { "RSA2048", "P-256", "P-384",
		"P-521", "Ed25519" };
	struct fixture *t = calloc(1, sizeof(*t));
	const char *jwk[NELEM(types)];
	char *text;
	struct err e;
	size_t i;

	t->a = arena_new(512 << 20);
	for (i = 0; i < NELEM(types); i++)
		jwk[i] = testkey_jwk(
			t->a, testkey_get(types[i], 0), types[i], "");
	text = testkey_jwks(t->a, jwk, NELEM(types));
	assert_int_equal(jwks_parse(t->a, text, strlen(text), &t->set, &e), 0);
	t->rules.issuer = ISSUER;
	t->rules.audience = &audience_list;
	t->rules.claim_account = "sub";
	t->rules.claim_organization = "org_id";
	t->rules.leeway_s = 30;
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	jwks_free(t->set);
	testkey_release();
	arena_free(t->a);
	free(t);
	return 0;
}

/* All that auth/bearer does with a token. */
static enum jws_verdict
judge_bytes(struct fixture *t, const char *token, size_t len)
{
	struct jws *jws;
	void *pkey;

	t->why = NULL;
	jws = jws_parse(t->a, token, len, &t->why);
	if (jws == NULL) {
		assert_non_null(t->why);
		return JWS_INVALID;
	}
	if (jwks_find(t->set, jws_algorithm(jws), jws_kid(jws), &pkey) !=
		JWKS_FOUND) {
		t->why = "kid";
		return JWS_INVALID;
	}
	if (!jws_verify(jws, pkey)) {
		t->why = "signature";
		return JWS_INVALID;
	}
	return jws_judge(jws, t->a, &t->rules, NOW, &t->claims, &t->why);
}

static enum jws_verdict
judge(struct fixture *t, const char *token)
{
	return judge_bytes(t, token, strlen(token));
}

static void
refused(struct fixture *t, const char *token, const char *why)
{
	enum jws_verdict v = judge(t, token);

	if (v != JWS_INVALID)
		fail_msg("verdict %d, not refused (%s): %s", v, why, token);
	if (why != NULL && strcmp(t->why, why) != 0)
		fail_msg("refused for %s, not %s: %s", t->why, why, token);
}

static void
accepted(struct fixture *t, const char *token)
{
	if (judge(t, token) != JWS_OK)
		fail_msg("refused for %s: %s", t->why, token);
	assert_null(t->why);
}

/* PAYLOAD signed by the Ed25519 key of the set. */
static char *
claims_token(struct fixture *t, const char *payload)
{
	return testkey_token(t->a, testkey_get("Ed25519", 0), "EdDSA",
		"{\"alg\":\"EdDSA\"}", payload);
}

/* The same with HEADER. */
static char *
header_token(struct fixture *t, const char *header)
{
	return testkey_token(
		t->a, testkey_get("Ed25519", 0), "EdDSA", header, GOOD);
}

/* HEADER and GOOD with these bytes for a signature. */
static char *
signed_by(struct fixture *t, const char *header, const void *sig, size_t len)
{
	return arena_printf(t->a, "%s.%s.%s",
		testkey_b64(t->a, header, strlen(header)),
		testkey_b64(t->a, GOOD, strlen(GOOD)),
		testkey_b64(t->a, sig, len));
}

static void
test_every_algorithm(void **state)
{
	struct fixture *t = *state;
	char *header, *token;
	size_t i, j;

	for (i = 0; i < NELEM(algs); i++) {
		header = arena_printf(t->a,
			"{\"typ\":\"JWT\",\"kid\":\"%s\",\"alg\":\"%s\"}",
			algs[i].type, algs[i].alg);
		token = testkey_token(t->a, testkey_get(algs[i].type, 0),
			algs[i].alg, header, GOOD);
		accepted(t, token);
		assert_string_equal(t->claims.account_id, "alice");
		assert_string_equal(t->claims.organization_id, "org_1");
		assert_int_equal(t->claims.expires_at_s, NOW + 300);

		/* another key of the same kind */
		token = testkey_token(t->a, testkey_get(algs[i].type, 1),
			algs[i].alg, header, GOOD);
		refused(t, token, "signature");

		/* signed by one algorithm, declared as another */
		for (j = 0; j < NELEM(algs); j++) {
			if (j == i || strcmp(algs[j].type, algs[i].type) != 0)
				continue;
			token = testkey_token(t->a,
				testkey_get(algs[i].type, 0), algs[j].alg,
				header, GOOD);
			refused(t, token, "signature");
		}
	}
}

/* A signer that is not ours. */
#ifdef HAVE_JWT
static void
test_signed_by_libjwt(void **state)
{
	static const struct {
		jwt_alg_t alg;
		const char *type;
	} cases[] = { { JWT_ALG_RS256, "RSA2048" },
		{ JWT_ALG_RS512, "RSA2048" }, { JWT_ALG_ES256, "P-256" },
		{ JWT_ALG_ES384, "P-384" }, { JWT_ALG_ES512, "P-521" } };
	struct fixture *t = *state;
	unsigned char *pem;
	jwt_t *jwt;
	char *token;
	size_t i;
	BIO *bio;
	long len;

	for (i = 0; i < NELEM(cases); i++) {
		bio = BIO_new(BIO_s_mem());
		PEM_write_bio_PrivateKey(bio, testkey_get(cases[i].type, 0),
			NULL, NULL, 0, NULL, NULL);
		len = BIO_get_mem_data(bio, &pem);
		assert_int_equal(jwt_new(&jwt), 0);
		assert_int_equal(jwt_add_grants_json(jwt, GOOD), 0);
		assert_int_equal(
			jwt_set_alg(jwt, cases[i].alg, pem, (int)len), 0);
		token = jwt_encode_str(jwt);
		assert_non_null(token);
		accepted(t, token);
		free(token);
		jwt_free(jwt);
		BIO_free(bio);
	}
}
#else
static void
test_signed_by_libjwt(void **state UNUSED)
{
	print_message("# configure found no libjwt\n");
	skip();
}
#endif

static void
test_alg_none(void **state)
{
	static const char *const none[] = { "none", "None", "NONE", "nOnE", "",
		"null", "unsecured" };
	struct fixture *t = *state;
	char *header, *body;
	size_t i;

	for (i = 0; i < NELEM(none); i++) {
		header = arena_printf(
			t->a, "{\"alg\":\"%s\",\"kid\":\"RSA2048\"}", none[i]);
		body = arena_printf(t->a, "%s.%s",
			testkey_b64(t->a, header, strlen(header)),
			testkey_b64(t->a, GOOD, strlen(GOOD)));
		refused(t, body, "parts");
		refused(t, arena_printf(t->a, "%s.", body), "parts");
		refused(t, arena_printf(t->a, "%s.AA", body), "alg");
	}
	/* no alg, and alg of other types */
	refused(t, header_token(t, "{}"), "alg");
	refused(t, header_token(t, "{\"alg\":null}"), "alg");
	refused(t, header_token(t, "{\"alg\":false}"), "alg");
	refused(t, header_token(t, "{\"alg\":[\"EdDSA\"]}"), "alg");
	refused(t, header_token(t, "{\"Alg\":\"EdDSA\"}"), "alg");
	refused(t, header_token(t, "{\"alg\":\"eddsa\"}"), "alg");
	refused(t, header_token(t, "{\"alg\":\"EdDSA \"}"), "alg");
	refused(t, header_token(t, "{\"alg\":\"EdDSA\\u0000\"}"), "header");
	refused(t, header_token(t, "{\"alg\":\"\\uff25dDSA\"}"), "alg");
	accepted(t, header_token(t, "{\"alg\":\"\\u0045dDSA\"}"));
}

/* The public key as HMAC secret: verifies wherever the token's header chooses
 * the algorithm. */
static void
test_hmac_with_public_key(void **state)
{
	static const struct {
		const char *alg;
		const char *digest;
	} macs[] = { { "HS256", "SHA256" }, { "HS384", "SHA384" },
		{ "HS512", "SHA512" } };
	struct fixture *t = *state;
	EVP_PKEY *rsa = testkey_get("RSA2048", 0);
	const char *secret[3];
	size_t secret_len[3], i, j;
	unsigned char mac[EVP_MAX_MD_SIZE], *pem, *der = NULL;
	unsigned mac_len;
	char *header, *text;
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PUBKEY(bio, rsa);
	secret_len[0] = (size_t)BIO_get_mem_data(bio, &pem);
	secret[0] = (char *)pem;
	secret_len[1] = (size_t)i2d_PUBKEY(rsa, &der);
	secret[1] = (char *)der;
	secret[2] = testkey_jwk(t->a, rsa, "RSA2048", "");
	secret_len[2] = strlen(secret[2]);
	for (i = 0; i < NELEM(macs); i++) {
		for (j = 0; j < NELEM(secret); j++) {
			header = arena_printf(t->a,
				"{\"alg\":\"%s\",\"kid\":\"RSA2048\"}",
				macs[i].alg);
			text = arena_printf(t->a, "%s.%s",
				testkey_b64(t->a, header, strlen(header)),
				testkey_b64(t->a, GOOD, strlen(GOOD)));
			assert_non_null(HMAC(
				EVP_get_digestbyname(macs[i].digest), secret[j],
				(int)secret_len[j], (unsigned char *)text,
				strlen(text), mac, &mac_len));
			refused(t, signed_by(t, header, mac, mac_len), "alg");
			/* and the same bytes as an RSA signature */
			refused(t,
				signed_by(
					t, "{\"alg\":\"RS256\"}", mac, mac_len),
				"signature");
		}
	}
	OPENSSL_free(der);
	BIO_free(bio);
}

static void
test_kid(void **state)
{
	static const char *const unknown[] = { "../../../../dev/null",
		"/etc/passwd", "..\\\\..", "' OR 1=1 --", "http://evil/k",
		"ed25519", "Ed25519 ", "Ed2551", "", "\\u00e9", "*", "0" };
	static const char *const wrong[] = { "7", "null", "true", "{}",
		"[\"Ed25519\"]", "[]" };
	struct fixture *t = *state;
	size_t i;

	accepted(t, header_token(t, "{\"alg\":\"EdDSA\",\"kid\":\"Ed25519\"}"));
	for (i = 0; i < NELEM(unknown); i++)
		refused(t,
			header_token(
				t, arena_printf(t->a,
					   "{\"alg\":\"EdDSA\",\"kid\":\"%s\"}",
					   unknown[i])),
			"kid");
	for (i = 0; i < NELEM(wrong); i++)
		refused(t,
			header_token(
				t, arena_printf(t->a,
					   "{\"alg\":\"EdDSA\",\"kid\":%s}",
					   wrong[i])),
			"kid");
	/* the name of a key of another kind */
	refused(t, header_token(t, "{\"alg\":\"EdDSA\",\"kid\":\"P-256\"}"),
		"kid");
	refused(t,
		header_token(
			t, "{\"alg\":\"EdDSA\",\"kid\":\"Ed25519\\u0000x\"}"),
		"header");
}

/* Keys that the token brings or points to are not looked at. */
static void
test_key_in_header(void **state)
{
	static const char *const members[] = { "\"jku\":\"https://evil/jwks\"",
		"\"x5u\":\"https://evil/cert\"", "\"x5c\":[\"MIIBIjAN\"]",
		"\"x5t\":\"AAAA\"", "\"jwk\":null" };
	struct fixture *t = *state;
	EVP_PKEY *evil = testkey_get("Ed25519", 1);
	char *header;
	size_t i;

	header = arena_printf(t->a, "{\"alg\":\"EdDSA\",\"jwk\":%s}",
		testkey_jwk(t->a, evil, "Ed25519", ""));
	refused(t, testkey_token(t->a, evil, "EdDSA", header, GOOD),
		"signature");
	accepted(t, header_token(t, header));
	for (i = 0; i < NELEM(members); i++) {
		header = arena_printf(
			t->a, "{\"alg\":\"EdDSA\",%s}", members[i]);
		refused(t, testkey_token(t->a, evil, "EdDSA", header, GOOD),
			"signature");
		accepted(t, header_token(t, header));
	}
}

static void
test_header(void **state)
{
	static const struct {
		const char *header, *why;
	} bad[] = {
		{ "", "parts" },
		{ " ", "header" },
		{ "[]", "header" },
		{ "\"EdDSA\"", "header" },
		{ "{\"alg\":\"EdDSA\"", "header" },
		{ "{\"alg\":\"EdDSA\"}x", "header" },
		{ "{\"alg\":\"EdDSA\"}{}", "header" },
		{ "{\"alg\":\"none\",\"alg\":\"EdDSA\"}", "header" },
		{ "{\"alg\":\"EdDSA\",\"alg\":\"EdDSA\"}", "header" },
		{ "{\"alg\":\"EdDSA\",\"\\u0061lg\":\"none\"}", "header" },
		{ "{\"alg\":\"EdDSA\",\"x\":{\"y\":1,\"y\":2}}", "header" },
		{ "{\"alg\":\"EdDSA\",\"x\":\"\xff\"}", "header" },
		{ "{\"alg\":\"EdDSA\",\"x\":\"\\ud800\"}", "header" },
		{ "{\"alg\":\"EdDSA\",\"x\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"
		  "]]}",
			"header" },
		{ "{\"alg\":\"EdDSA\",\"crit\":[\"exp\"]}", "crit" },
		{ "{\"alg\":\"EdDSA\",\"crit\":[\"b64\"],\"b64\":false}",
			"crit" },
		{ "{\"alg\":\"EdDSA\",\"crit\":[]}", "crit" },
		{ "{\"alg\":\"EdDSA\",\"crit\":null}", "crit" },
		{ "{\"alg\":\"EdDSA\",\"typ\":\"JWE\"}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":\"\"}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":\"dpop+jwt\"}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":\"logout+jwt\"}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":\"text/JWT\"}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":\"application/\"}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":1}", "typ" },
		{ "{\"alg\":\"EdDSA\",\"typ\":null}", "typ" },
	};
	static const char *const good[] = {
		"{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}",
		"{\"alg\":\"EdDSA\",\"typ\":\"jwt\"}",
		"{\"alg\":\"EdDSA\",\"typ\":\"at+jwt\"}",
		"{\"alg\":\"EdDSA\",\"typ\":\"AT+JWT\"}",
		"{\"alg\":\"EdDSA\",\"typ\":\"application/at+jwt\"}",
		"{\"alg\":\"EdDSA\",\"typ\":\"application/jwt\"}",
		"{\"alg\":\"EdDSA\",\"b64\":false}",
		"{\"alg\":\"EdDSA\",\"x\":\"\xc3\xa9\\ud83d\\ude00\"}",
		" {\n\t\"alg\" : \"EdDSA\" } ",
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(bad); i++)
		refused(t, header_token(t, bad[i].header), bad[i].why);
	for (i = 0; i < NELEM(good); i++)
		accepted(t, header_token(t, good[i]));
}

/* PSS with a salt of another length than the digest's. */
static void
test_pss_salt(void **state)
{
	static const int salts[] = { 0, 20, 31, 33, 48, RSA_PSS_SALTLEN_MAX };
	static const char header[] = "{\"alg\":\"PS256\"}";
	struct fixture *t = *state;
	unsigned char sig[256];
	EVP_PKEY_CTX *pctx;
	EVP_MD_CTX *ctx;
	size_t i, len;
	char *text;

	text = arena_printf(t->a, "%s.%s",
		testkey_b64(t->a, header, strlen(header)),
		testkey_b64(t->a, GOOD, strlen(GOOD)));
	for (i = 0; i < NELEM(salts); i++) {
		ctx = EVP_MD_CTX_new();
		len = sizeof(sig);
		assert_int_equal(
			EVP_DigestSignInit_ex(ctx, &pctx, "SHA256", NULL, NULL,
				testkey_get("RSA2048", 0), NULL),
			1);
		assert_true(EVP_PKEY_CTX_set_rsa_padding(
				    pctx, RSA_PKCS1_PSS_PADDING) > 0);
		assert_true(
			EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, salts[i]) > 0);
		assert_int_equal(EVP_DigestSign(ctx, sig, &len,
					 (unsigned char *)text, strlen(text)),
			1);
		EVP_MD_CTX_free(ctx);
		refused(t, signed_by(t, header, sig, len), "signature");
	}
}

static void
test_ecdsa_form(void **state)
{
	/* the order of P-256 */
	static const unsigned char order[32] = { 0xff, 0xff, 0xff, 0xff, 0, 0,
		0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
		0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca,
		0xc2, 0xfc, 0x63, 0x25, 0x51 };
	static const char header[] = "{\"alg\":\"ES256\"}";
	struct fixture *t = *state;
	EVP_PKEY *key = testkey_get("P-256", 0);
	unsigned char der[80], raw[200] = { 0 }, *good;
	size_t len = sizeof(der), good_len;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	char *text;

	text = arena_printf(t->a, "%s.%s",
		testkey_b64(t->a, header, strlen(header)),
		testkey_b64(t->a, GOOD, strlen(GOOD)));
	good = testkey_sign(t->a, key, "ES256", text, &good_len);
	assert_int_equal(good_len, 64);
	accepted(t, signed_by(t, header, good, 64));

	/* ASN.1, as OpenSSL makes it */
	assert_int_equal(EVP_DigestSignInit_ex(
				 ctx, NULL, "SHA256", NULL, NULL, key, NULL),
		1);
	assert_int_equal(EVP_DigestSign(ctx, der, &len, (unsigned char *)text,
				 strlen(text)),
		1);
	EVP_MD_CTX_free(ctx);
	refused(t, signed_by(t, header, der, len), "signature");

	/* r = s = 0 (CVE-2022-21449), r or s out of range */
	refused(t, signed_by(t, header, raw, 64), "signature");
	memcpy(raw, order, 32);
	memcpy(raw + 32, order, 32);
	refused(t, signed_by(t, header, raw, 64), "signature");
	memcpy(raw, good, 64);
	memset(raw, 0, 32);
	refused(t, signed_by(t, header, raw, 64), "signature");
	memcpy(raw, good, 64);
	memset(raw + 32, 0, 32);
	refused(t, signed_by(t, header, raw, 64), "signature");

	/* other lengths, also those of the other curves */
	memcpy(raw, good, 64);
	refused(t, signed_by(t, header, raw, 63), "signature");
	refused(t, signed_by(t, header, raw, 65), "signature");
	refused(t, signed_by(t, header, raw, 96), "signature");
	refused(t, signed_by(t, header, raw, 132), "signature");
	refused(t, signed_by(t, header, raw, 1), "signature");
	memset(raw, 0, sizeof(raw));
	memcpy(raw + 16, good, 32);
	memcpy(raw + 64, good + 32, 32);
	refused(t, signed_by(t, header, raw, 96), "signature");
}

/* A P-384 key and SHA-256 is no algorithm of the list. */
static void
test_wrong_curve(void **state)
{
	struct fixture *t = *state;

	refused(t,
		testkey_token(t->a, testkey_get("P-384", 0), "ES256",
			"{\"alg\":\"ES256\",\"kid\":\"P-384\"}", GOOD),
		"signature");
	refused(t,
		testkey_token(t->a, testkey_get("P-256", 0), "ES256",
			"{\"alg\":\"ES256\",\"kid\":\"P-384\"}", GOOD),
		"kid");
	refused(t,
		testkey_token(t->a, testkey_get("P-256", 0), "ES256",
			"{\"alg\":\"ES384\",\"kid\":\"P-384\"}", GOOD),
		"signature");
	refused(t,
		testkey_token(t->a, testkey_get("secp256k1", 0), "ES256",
			"{\"alg\":\"ES256\",\"kid\":\"P-256\"}", GOOD),
		"signature");
}

static void
test_small_rsa(void **state)
{
	struct fixture *t = *state;
	EVP_PKEY *small = testkey_get("RSA1024", 0);
	const char *jwk = testkey_jwk(t->a, small, "small", "");
	struct jwks *full = t->set;
	char *text = testkey_jwks(t->a, &jwk, 1);
	struct err e;

	assert_int_equal(jwks_parse(t->a, text, strlen(text), &t->set, &e), 0);
	refused(t,
		testkey_token(t->a, small, "RS256",
			"{\"alg\":\"RS256\",\"kid\":\"small\"}", GOOD),
		"kid");
	jwks_free(t->set);
	t->set = full;
}

static void
test_parts(void **state)
{
	struct fixture *t = *state;
	char *good = claims_token(t, GOOD), *p;
	const char *dot1 = strchr(good, '.'), *dot2 = strrchr(good, '.');

	refused(t, "", "parts");
	refused(t, ".", "parts");
	refused(t, "..", "parts");
	refused(t, "...", "parts");
	refused(t, "a.b", "parts");
	refused(t, arena_printf(t->a, "%s.", good), "parts");
	refused(t, arena_printf(t->a, ".%s", good), "parts");
	refused(t, arena_printf(t->a, "%s.e30", good), "parts");
	refused(t, arena_printf(t->a, "%s.e30.e30", good), "parts");
	refused(t, arena_printf(t->a, "%.*s", (int)(dot2 - good), good),
		"parts");
	refused(t,
		arena_printf(t->a, "%.*s.%s", (int)(dot1 - good), good, dot2),
		"parts");
	/* characters that a lenient decoder skips or maps */
	refused(t, arena_printf(t->a, "%s=", good), "base64");
	refused(t, arena_printf(t->a, "%s==", good), "base64");
	refused(t, arena_printf(t->a, "%s\n", good), "base64");
	refused(t, arena_printf(t->a, " %s", good), "base64");
	refused(t, arena_printf(t->a, "%s%%", good), "base64");
	refused(t, arena_printf(t->a, "\xef\xbb\xbf%s", good), "base64");
	for (p = good; *p != '\0'; p++)
		if (*p == '-' || *p == '_')
			break;
	if (*p != '\0') {
		*p = *p == '-' ? '+' : '/';
		refused(t, good, "base64");
	}
	/* a NUL inside */
	good = claims_token(t, GOOD);
	assert_int_equal(judge_bytes(t, arena_printf(t->a, "%s%c", good, '\0'),
				 strlen(good) + 1),
		JWS_INVALID);
	/* a token in a token */
	refused(t, claims_token(t, good), "claims");
}

/* 64 bytes are 86 characters with 4 unused bits: 15 other spellings. */
static void
test_unused_bits(void **state)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-_";
	struct fixture *t = *state;
	char *token = claims_token(t, GOOD), *last = strrchr(token, '\0') - 1;
	const char *value = strchr(digits, *last);
	int i;

	assert_int_equal((value - digits) % 16, 0);
	for (i = 1; i < 16; i++) {
		*last = value[i];
		refused(t, token, "base64");
	}
}

/* No change of a single bit goes unnoticed, in no part, for any kind of key. */
static void
test_bit_flips(void **state)
{
	static const size_t tried[] = { 0, 3, 6, 9 };
	struct fixture *t = *state;
	char *token, *header;
	size_t i, j, len;
	unsigned bit;

	for (i = 0; i < NELEM(tried); i++) {
		header = arena_printf(t->a, "{\"alg\":\"%s\",\"kid\":\"%s\"}",
			algs[tried[i]].alg, algs[tried[i]].type);
		token = testkey_token(t->a, testkey_get(algs[tried[i]].type, 0),
			algs[tried[i]].alg, header, GOOD);
		accepted(t, token);
		len = strlen(token);
		for (j = 0; j < len; j++) {
			for (bit = 0; bit < 8; bit++) {
				token[j] ^= (char)(1U << bit);
				if (judge_bytes(t, token, len) != JWS_INVALID)
					fail_msg("%s: byte %zu bit %u",
						algs[tried[i]].alg, j, bit);
				token[j] ^= (char)(1U << bit);
			}
		}
	}
}

static void
test_truncated(void **state)
{
	struct fixture *t = *state;
	char *token, *header;
	size_t i, j;

	for (i = 0; i < NELEM(algs); i += 3) {
		header = arena_printf(t->a, "{\"alg\":\"%s\",\"kid\":\"%s\"}",
			algs[i].alg, algs[i].type);
		token = testkey_token(t->a, testkey_get(algs[i].type, 0),
			algs[i].alg, header, GOOD);
		for (j = 0; j < strlen(token); j++) {
			assert_int_equal(judge_bytes(t, token, j), JWS_INVALID);
			assert_int_equal(judge(t, token + j) == JWS_OK, j == 0);
		}
	}
}

static void
test_size(void **state)
{
	struct fixture *t = *state;
	char *pad = arena_alloc(t->a, JWS_TOKEN_MAX), *token;

	memset(pad, 'x', JWS_TOKEN_MAX - 1);
	pad[11000] = '\0';
	token = claims_token(
		t, arena_printf(t->a,
			   CLAIMS ",\"exp\":1800000300,\"x\":\"%s\"}", pad));
	assert_true(strlen(token) < JWS_TOKEN_MAX);
	accepted(t, token);
	pad[11000] = 'x';
	pad[12500] = '\0';
	token = claims_token(
		t, arena_printf(t->a,
			   CLAIMS ",\"exp\":1800000300,\"x\":\"%s\"}", pad));
	assert_true(strlen(token) > JWS_TOKEN_MAX);
	refused(t, token, "size");
	/* a long header */
	pad[4000] = '\0';
	refused(t,
		header_token(
			t, arena_printf(t->a,
				   "{\"alg\":\"EdDSA\",\"x\":\"%s\"}", pad)),
		"size");
	/* a signature longer than any */
	token = claims_token(t, GOOD);
	refused(t, signed_by(t, "{\"alg\":\"RS256\"}", pad, 1025), "signature");
	refused(t, signed_by(t, "{\"alg\":\"RS256\"}", pad, 1024), "signature");
	refused(t, signed_by(t, "{\"alg\":\"RS256\"}", pad, 255), "signature");
	refused(t, signed_by(t, "{\"alg\":\"RS256\"}", pad, 1), "signature");
	/* an identity too long for a row */
	memset(pad, 'x', JWS_ID_MAX + 1);
	pad[JWS_ID_MAX + 1] = '\0';
	token = arena_printf(t->a,
		"{\"iss\":\"" ISSUER "\",\"aud\":\"" AUD
		"\",\"exp\":1800000300,\"sub\":\"%s\"}",
		pad);
	refused(t, claims_token(t, token), "account");
	pad[JWS_ID_MAX] = '\0';
	token = arena_printf(t->a,
		"{\"iss\":\"" ISSUER "\",\"aud\":\"" AUD
		"\",\"exp\":1800000300,\"sub\":\"%s\"}",
		pad);
	accepted(t, claims_token(t, token));
}

static void
test_dates(void **state)
{
	static const struct {
		const char *members;
		enum jws_verdict verdict;
		const char *why;
	} cases[] = {
		{ "", JWS_INVALID, "exp" },
		{ ",\"exp\":1800000300", JWS_OK, NULL },
		{ ",\"exp\":1800000300.75", JWS_OK, NULL },
		{ ",\"exp\":1.8000003e9", JWS_OK, NULL },
		/* leeway 30: the last second */
		{ ",\"exp\":1799999971", JWS_OK, NULL },
		{ ",\"exp\":1799999970", JWS_EXPIRED, "expired" },
		{ ",\"exp\":1799999970.9", JWS_EXPIRED, "expired" },
		{ ",\"exp\":0", JWS_EXPIRED, "expired" },
		{ ",\"exp\":-1", JWS_INVALID, "exp" },
		{ ",\"exp\":-1800000300", JWS_INVALID, "exp" },
		{ ",\"exp\":\"1800000300\"", JWS_INVALID, "exp" },
		{ ",\"exp\":null", JWS_INVALID, "exp" },
		{ ",\"exp\":true", JWS_INVALID, "exp" },
		{ ",\"exp\":[1800000300]", JWS_INVALID, "exp" },
		{ ",\"exp\":{}", JWS_INVALID, "exp" },
		{ ",\"Exp\":1800000300", JWS_INVALID, "exp" },
		/* milliseconds, and what overflows */
		{ ",\"exp\":1800000300000", JWS_INVALID, "exp" },
		{ ",\"exp\":9223372036854775808", JWS_INVALID, "exp" },
		{ ",\"exp\":18446744073709551617", JWS_INVALID, "exp" },
		{ ",\"exp\":1e300", JWS_INVALID, "exp" },
		{ ",\"exp\":1e999", JWS_INVALID, NULL },
		{ ",\"exp\":NaN", JWS_INVALID, "claims" },
		{ ",\"exp\":Infinity", JWS_INVALID, "claims" },
		{ ",\"exp\":0x7fffffff", JWS_INVALID, "claims" },
		{ ",\"exp\":01800000300", JWS_INVALID, "claims" },
		{ ",\"exp\":253402300799", JWS_OK, NULL },
		{ ",\"exp\":1800000300,\"exp\":1800000301", JWS_INVALID,
			"claims" },
		{ ",\"exp\":1800000300,\"nbf\":1800000030", JWS_OK, NULL },
		{ ",\"exp\":1800000300,\"nbf\":1800000031", JWS_INVALID,
			"nbf" },
		{ ",\"exp\":1800000300,\"nbf\":0", JWS_OK, NULL },
		{ ",\"exp\":1800000300,\"nbf\":-5", JWS_INVALID, "nbf" },
		{ ",\"exp\":1800000300,\"nbf\":\"0\"", JWS_INVALID, "nbf" },
		{ ",\"exp\":1800000300,\"nbf\":null", JWS_INVALID, "nbf" },
		{ ",\"exp\":1800000300,\"nbf\":1e300", JWS_INVALID, "nbf" },
		{ ",\"exp\":1800000300,\"iat\":1800000030", JWS_OK, NULL },
		{ ",\"exp\":1800000300,\"iat\":1800000031", JWS_INVALID,
			"iat" },
		{ ",\"exp\":1800000300,\"iat\":\"x\"", JWS_INVALID, "iat" },
		{ ",\"exp\":1800000300,\"iat\":1500000000", JWS_OK, NULL },
		/* not yet valid and over: not "expired" */
		{ ",\"exp\":1799999000,\"nbf\":1800009000", JWS_INVALID,
			"nbf" },
	};
	struct fixture *t = *state;
	enum jws_verdict v;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		v = judge(t, claims_token(t, arena_printf(t->a, CLAIMS "%s}",
						     cases[i].members)));
		if (v != cases[i].verdict)
			fail_msg("%s: %d %s", cases[i].members, v, t->why);
		if (cases[i].why != NULL)
			assert_string_equal(t->why, cases[i].why);
	}
}

#define REST ",\"exp\":1800000300}"
#define ISS  "{\"iss\":\"" ISSUER "\""

static void
test_claims(void **state)
{
	static const struct {
		const char *payload, *why; /* NULL: accepted */
	} cases[] = {
		{ "[]", "claims" },
		{ "null", "claims" },
		{ "\"x\"", "claims" },
		{ "{", "claims" },
		{ GOOD "x", "claims" },
		{ GOOD " ", NULL },
		{ CLAIMS ",\"sub\":\"bob\"" REST, "claims" },
		{ CLAIMS ",\"\\u0073ub\":\"bob\"" REST, "claims" },
		{ CLAIMS ",\"x\":\"\\u0000\"" REST, "claims" },
		{ CLAIMS ",\"x\":\"\xed\xa0\x80\"" REST, "claims" },
		{ CLAIMS ",\"x\":\"\xc0\xaf\"" REST, "claims" },
		{ CLAIMS ",\"Sub\":\"bob\",\"SUB\":\"eve\"" REST, NULL },
		{ "{\"aud\":\"" AUD "\",\"sub\":\"a\"" REST, "iss" },
		{ "{\"iss\":\"" ISSUER "/\",\"aud\":\"" AUD
		  "\",\"sub\":\"a\"" REST,
			"iss" },
		{ "{\"iss\":\"HTTPS://issuer.example\",\"aud\":\"" AUD
		  "\",\"sub\":\"a\"" REST,
			"iss" },
		{ "{\"iss\":\"" ISSUER ".evil.example\",\"aud\":\"" AUD
		  "\",\"sub\":\"a\"" REST,
			"iss" },
		{ "{\"iss\":[\"" ISSUER "\"],\"aud\":\"" AUD
		  "\",\"sub\":\"a\"" REST,
			"iss" },
		{ "{\"iss\":\"\",\"aud\":\"" AUD "\",\"sub\":\"a\"" REST,
			"iss" },
		{ ISS ",\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":null,\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":\"\",\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":\"https://mcp.example\",\"sub\":\"a\"" REST,
			"aud" },
		{ ISS ",\"aud\":\"https://mcp.example/"
		      "mcp2\",\"sub\":\"a\"" REST,
			"aud" },
		{ ISS ",\"aud\":\"https://mcp.example/MCP\",\"sub\":\"a\"" REST,
			"aud" },
		{ ISS ",\"aud\":\"" AUD "//\",\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":\"" AUD " client_7\",\"sub\":\"a\"" REST,
			"aud" },
		{ ISS ",\"aud\":{\"" AUD "\":1},\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":[],\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":[\"x\"],\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":[[\"" AUD "\"]],\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":[\"" AUD "\",1],\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":[\"" AUD "\",null],\"sub\":\"a\"" REST, "aud" },
		{ ISS ",\"aud\":[\"x\",\"" AUD "\"],\"sub\":\"a\"" REST, NULL },
		{ ISS ",\"aud\":\"" AUD "/\",\"sub\":\"a\"" REST, NULL },
		{ ISS ",\"aud\":\"client_7\",\"sub\":\"a\"" REST, NULL },
		{ ISS ",\"aud\":\"" AUD "\"" REST, "account" },
		{ ISS ",\"aud\":\"" AUD "\",\"sub\":\"\"" REST, "account" },
		{ ISS ",\"aud\":\"" AUD "\",\"sub\":7" REST, "account" },
		{ ISS ",\"aud\":\"" AUD "\",\"sub\":null" REST, "account" },
		{ ISS ",\"aud\":\"" AUD "\",\"sub\":[\"a\"]" REST, "account" },
		{ ISS ",\"aud\":\"" AUD "\",\"sub\":\"\xc3\xa9\xf0\x9f\x98\x80"
		      "\"" REST,
			NULL },
		{ ISS ",\"aud\":\"" AUD "\",\"sub\":\"a\",\"org_id\":7" REST,
			"organization" },
		{ ISS ",\"aud\":\"" AUD
		      "\",\"sub\":\"a\",\"org_id\":[\"o\"]" REST,
			"organization" },
	};
	static const char *const no_org[] = { "", ",\"org_id\":null",
		",\"org_id\":\"\"", ",\"Org_id\":\"o\"",
		",\"organization\":\"o\"" };
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		if (cases[i].why != NULL)
			refused(t, claims_token(t, cases[i].payload),
				cases[i].why);
		else
			accepted(t, claims_token(t, cases[i].payload));
	}
	for (i = 0; i < NELEM(no_org); i++) {
		accepted(t,
			claims_token(t, arena_printf(t->a,
						ISS ",\"aud\":\"" AUD
						    "\",\"sub\":\"a\"%s" REST,
						no_org[i])));
		assert_null(t->claims.organization_id);
	}
}

static void
test_claim_names(void **state)
{
	struct fixture *t = *state;

	t->rules.claim_account = "https://x.example/account";
	t->rules.claim_organization = "tenant";
	accepted(t,
		claims_token(t, CLAIMS ",\"https://x.example/account\":\"bob\","
				       "\"tenant\":\"t1\"" REST));
	assert_string_equal(t->claims.account_id, "bob");
	assert_string_equal(t->claims.organization_id, "t1");
	refused(t, claims_token(t, GOOD), "account");
	t->rules.claim_account = "sub";
	t->rules.claim_organization = "org_id";
}

/* "Expired" is said only of a token that was good. */
static void
test_expired_and_forged(void **state)
{
	static const char old[] = CLAIMS ",\"exp\":1700000000}";
	struct fixture *t = *state;

	assert_int_equal(judge(t, claims_token(t, old)), JWS_EXPIRED);
	refused(t,
		testkey_token(t->a, testkey_get("Ed25519", 1), "EdDSA",
			"{\"alg\":\"EdDSA\"}", old),
		"signature");
	refused(t,
		claims_token(t, ISS ",\"aud\":\"other\",\"sub\":\"a\","
				    "\"exp\":1700000000}"),
		"aud");
	refused(t,
		claims_token(t, "{\"iss\":\"https://other\",\"aud\":\"" AUD
				"\",\"sub\":\"a\",\"exp\":1700000000}"),
		"iss");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_algorithm),
		cmocka_unit_test(test_signed_by_libjwt),
		cmocka_unit_test(test_alg_none),
		cmocka_unit_test(test_hmac_with_public_key),
		cmocka_unit_test(test_kid),
		cmocka_unit_test(test_key_in_header),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_pss_salt),
		cmocka_unit_test(test_ecdsa_form),
		cmocka_unit_test(test_wrong_curve),
		cmocka_unit_test(test_small_rsa),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_unused_bits),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claim_names),
		cmocka_unit_test(test_expired_and_forged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
