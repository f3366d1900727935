/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "testkey.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hex.h"

enum { KEYS_MAX = 32 };

static struct {
	char name[32];
	EVP_PKEY *pkey;
} keys[KEYS_MAX];

static EVP_PKEY *
make(const char *type)
{
	if (strcmp(type, "RSA1024") == 0)
		return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
	if (strcmp(type, "RSA2048") == 0)
		return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
	if (strcmp(type, "Ed25519") == 0)
		return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	return EVP_PKEY_Q_keygen(NULL, NULL, "EC", type);
}

EVP_PKEY *
testkey_get(const char *type, unsigned n)
{
	char name[sizeof(keys[0].name)];
	size_t i;

	snprintf(name, sizeof(name), "%s/%u", type, n);
	for (i = 0; i < KEYS_MAX && keys[i].pkey != NULL; i++)
		if (strcmp(keys[i].name, name) == 0)
			return keys[i].pkey;
	assert(i < KEYS_MAX);
	memcpy(keys[i].name, name, sizeof(name));
	keys[i].pkey = make(type);
	assert(keys[i].pkey != NULL);
	return keys[i].pkey;
}

void
testkey_release(void)
{
	size_t i;

	for (i = 0; i < KEYS_MAX; i++)
		EVP_PKEY_free(keys[i].pkey);
	memset(keys, 0, sizeof(keys));
}

char *
testkey_b64(struct arena *a, const void *p, size_t len)
{
	char *out = arena_alloc(a, (len * 4 + 2) / 3 + 1);

	hex_b64url_encode(out, p, len);
	return out;
}

static char *
number(struct arena *a, EVP_PKEY *key, const char *param, int len)
{
	BIGNUM *bn = NULL;
	unsigned char *bytes;

	if (EVP_PKEY_get_bn_param(key, param, &bn) != 1)
		abort();
	if (len == 0)
		len = BN_num_bytes(bn);
	bytes = arena_alloc(a, (size_t)len);
	BN_bn2binpad(bn, bytes, len);
	BN_free(bn);
	return testkey_b64(a, bytes, (size_t)len);
}

char *
testkey_jwk(struct arena *a, EVP_PKEY *key, const char *kid, const char *extra)
{
	unsigned char raw[32];
	size_t raw_len = sizeof(raw);
	struct buf b;
	const char *crv;
	int len;

	buf_init(&b, a);
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_RSA:
		buf_printf(&b, "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"",
			number(a, key, OSSL_PKEY_PARAM_RSA_N, 0),
			number(a, key, OSSL_PKEY_PARAM_RSA_E, 0));
		break;
	case EVP_PKEY_EC:
		len = (EVP_PKEY_get_bits(key) + 7) / 8;
		crv = len == 32 ? "P-256" : len == 48 ? "P-384" : "P-521";
		buf_printf(&b,
			"{\"kty\":\"EC\",\"crv\":\"%s\",\"x\":\"%s\","
			"\"y\":\"%s\"",
			crv, number(a, key, OSSL_PKEY_PARAM_EC_PUB_X, len),
			number(a, key, OSSL_PKEY_PARAM_EC_PUB_Y, len));
		break;
	default:
		if (EVP_PKEY_get_raw_public_key(key, raw, &raw_len) != 1)
			abort();
		buf_printf(&b,
			"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"",
			testkey_b64(a, raw, raw_len));
	}
	if (kid != NULL)
		buf_printf(&b, ",\"kid\":\"%s\"", kid);
	buf_printf(&b, "%s}", extra);
	return b.data;
}

char *
testkey_jwks(struct arena *a, const char *const jwk[], size_t n)
{
	struct buf b;
	size_t i;

	buf_init(&b, a);
	buf_puts(&b, "{\"keys\":[");
	for (i = 0; i < n; i++) {
		if (i > 0)
			buf_putc(&b, ',');
		buf_puts(&b, jwk[i]);
	}
	buf_puts(&b, "]}");
	return b.data;
}

/* DER to r||s, the reverse of what the verifier does. */
static unsigned char *
ecdsa_raw(struct arena *a, EVP_PKEY *key, const unsigned char *der, size_t len,
	size_t *out_len)
{
	int half = (EVP_PKEY_get_bits(key) + 7) / 8;
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
	unsigned char *out = arena_alloc(a, (size_t)half * 2);

	BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, half);
	BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + half, half);
	ECDSA_SIG_free(sig);
	*out_len = (size_t)half * 2;
	return out;
}

unsigned char *
testkey_sign(struct arena *a, EVP_PKEY *key, const char *alg, const char *text,
	size_t *len)
{
	const char *digest = NULL;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx;
	unsigned char *sig;
	char name[8];

	if (strcmp(alg, "EdDSA") != 0) {
		snprintf(name, sizeof(name), "SHA%.3s", alg + 2);
		digest = name;
	}
	if (EVP_DigestSignInit_ex(ctx, &pctx, digest, NULL, NULL, key, NULL) !=
		1)
		abort();
	if (*alg == 'P' && (EVP_PKEY_CTX_set_rsa_padding(
				    pctx, RSA_PKCS1_PSS_PADDING) <= 0 ||
				   EVP_PKEY_CTX_set_rsa_pss_saltlen(
					   pctx, RSA_PSS_SALTLEN_DIGEST) <= 0))
		abort();
	if (EVP_DigestSign(ctx, NULL, len, (const unsigned char *)text,
		    strlen(text)) != 1)
		abort();
	sig = arena_alloc(a, *len);
	if (EVP_DigestSign(ctx, sig, len, (const unsigned char *)text,
		    strlen(text)) != 1)
		abort();
	EVP_MD_CTX_free(ctx);
	if (*alg == 'E' && digest != NULL)
		sig = ecdsa_raw(a, key, sig, *len, len);
	return sig;
}

char *
testkey_token(struct arena *a, EVP_PKEY *key, const char *alg,
	const char *header, const char *payload)
{
	unsigned char *sig;
	size_t len;
	char *text;

	text = arena_printf(a, "%s.%s", testkey_b64(a, header, strlen(header)),
		testkey_b64(a, payload, strlen(payload)));
	sig = testkey_sign(a, key, alg, text, &len);
	return arena_printf(a, "%s.%s", text, testkey_b64(a, sig, len));
}
