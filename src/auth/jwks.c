/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "auth/jws.h"
#include "base/arena.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/hex.h"

enum {
	DEPTH_MAX = 16,
	VALUES_MAX = 65536,
	RSA_BITS_MIN = 2048,
	RSA_BITS_MAX = 8192,
	RSA_E_BYTES_MAX = 8 /* a huge exponent makes verifying slow */
};

struct key {
	EVP_PKEY *pkey;
	char *kid; /* NULL: none */
	enum jws_family family;
	const struct jws_alg *alg; /* NULL: any of the family */
};

struct jwks {
	size_t n;
	struct key key[JWKS_KEYS_MAX];
};

static const struct curve {
	const char *crv;   /* RFC 7518 6.2.1.1 */
	const char *group; /* OpenSSL's name */
	enum jws_family family;
	size_t len;
} curves[] = {
	{ "P-256", "P-256", JWS_P256, 32 },
	{ "P-384", "P-384", JWS_P384, 48 },
	{ "P-521", "P-521", JWS_P521, 66 },
};

/* Member NAME as bytes in A; NULL when it is not base64url. */
static unsigned char *
member_bytes(
	struct arena *a, const struct cJSON *jwk, const char *name, size_t *len)
{
	const char *s = cj_get_string(jwk, name);
	unsigned char *out;
	ssize_t n;

	if (s == NULL || *s == '\0')
		return NULL;
	out = arena_alloc(a, strlen(s));
	n = hex_b64url_decode(out, s, strlen(s));
	if (n <= 0)
		return NULL;
	*len = (size_t)n;
	return out;
}

/* A public key of TYPE from what BLD holds; NULL when OpenSSL refuses it. */
static EVP_PKEY *
pkey_build(const char *type, OSSL_PARAM_BLD *bld)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(bld);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *pkey = NULL;

	if (params == NULL || ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
		EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
		pkey = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return pkey;
}

static EVP_PKEY *
pkey_rsa(struct arena *a, const struct cJSON *jwk)
{
	unsigned char *n, *e;
	size_t n_len, e_len;
	OSSL_PARAM_BLD *bld;
	BIGNUM *bn, *be;
	EVP_PKEY *pkey = NULL;

	n = member_bytes(a, jwk, "n", &n_len);
	e = member_bytes(a, jwk, "e", &e_len);
	/* One byte more than the bits need: some write a leading zero. */
	if (n == NULL || e == NULL || n_len > RSA_BITS_MAX / 8 + 1 ||
		e_len > RSA_E_BYTES_MAX)
		return NULL;
	bld = OSSL_PARAM_BLD_new();
	bn = BN_bin2bn(n, (int)n_len, NULL);
	be = BN_bin2bn(e, (int)e_len, NULL);
	/* Odd modulus, odd exponent over 1: anything else is no RSA key. */
	if (bld != NULL && bn != NULL && be != NULL &&
		BN_num_bits(bn) >= RSA_BITS_MIN &&
		BN_num_bits(bn) <= RSA_BITS_MAX && BN_is_odd(bn) &&
		BN_is_odd(be) && !BN_is_one(be) &&
		OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_N, bn) == 1 &&
		OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_E, be) == 1)
		pkey = pkey_build("RSA", bld);
	OSSL_PARAM_BLD_free(bld);
	BN_free(bn);
	BN_free(be);
	return pkey;
}

/* An invalid point gives an attacker room on some curves: check it. */
static bool
point_is_good(EVP_PKEY *pkey)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
	bool ok = ctx != NULL && EVP_PKEY_public_check(ctx) == 1;

	EVP_PKEY_CTX_free(ctx);
	return ok;
}

static EVP_PKEY *
pkey_ec(struct arena *a, const struct cJSON *jwk, enum jws_family *family)
{
	const char *crv = cj_get_string(jwk, "crv");
	const struct curve *c = NULL;
	unsigned char *x, *y, *point;
	size_t x_len, y_len, i;
	OSSL_PARAM_BLD *bld;
	EVP_PKEY *pkey = NULL;

	for (i = 0; crv != NULL && i < NELEM(curves); i++)
		if (strcmp(curves[i].crv, crv) == 0)
			c = &curves[i];
	if (c == NULL)
		return NULL;
	x = member_bytes(a, jwk, "x", &x_len);
	y = member_bytes(a, jwk, "y", &y_len);
	/* RFC 7518 6.2.1.2: always the full size of a coordinate. */
	if (x == NULL || y == NULL || x_len != c->len || y_len != c->len)
		return NULL;
	point = arena_alloc(a, 1 + 2 * c->len);
	point[0] = 4; /* uncompressed */
	memcpy(point + 1, x, c->len);
	memcpy(point + 1 + c->len, y, c->len);

	bld = OSSL_PARAM_BLD_new();
	if (bld != NULL &&
		OSSL_PARAM_BLD_push_utf8_string(
			bld, OSSL_PKEY_PARAM_GROUP_NAME, c->group, 0) == 1 &&
		OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY,
			point, 1 + 2 * c->len) == 1)
		pkey = pkey_build("EC", bld);
	OSSL_PARAM_BLD_free(bld);
	if (pkey != NULL && !point_is_good(pkey)) {
		EVP_PKEY_free(pkey);
		pkey = NULL;
	}
	*family = c->family;
	return pkey;
}

static EVP_PKEY *
pkey_okp(struct arena *a, const struct cJSON *jwk)
{
	const char *crv = cj_get_string(jwk, "crv");
	unsigned char *x;
	size_t len;

	if (crv == NULL || strcmp(crv, "Ed25519") != 0)
		return NULL;
	x = member_bytes(a, jwk, "x", &len);
	if (x == NULL || len != 32)
		return NULL;
	return EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, x, len);
}

/* RFC 7517 4.2 and 4.3: for verifying signatures, as far as it says. */
static bool
is_for_signatures(const struct cJSON *jwk)
{
	const struct cJSON *use = cj_get(jwk, "use");
	const struct cJSON *ops = cj_get(jwk, "key_ops"), *v;

	if (use != NULL &&
		(cj_string(use) == NULL || strcmp(cj_string(use), "sig") != 0))
		return false;
	if (ops == NULL)
		return true;
	if (!cj_is_array(ops))
		return false;
	for (v = cj_first(ops); v != NULL; v = cj_next(v))
		if (cj_string(v) != NULL && strcmp(cj_string(v), "verify") == 0)
			return true;
	return false;
}

static bool
key_read(struct arena *a, const struct cJSON *jwk, struct key *out)
{
	const char *kty = cj_get_string(jwk, "kty");
	const struct cJSON *alg = cj_get(jwk, "alg"), *kid = cj_get(jwk, "kid");

	memset(out, 0, sizeof(*out));
	/* Who publishes "d" has told the world how to sign. */
	if (kty == NULL || cj_get(jwk, "d") != NULL || !is_for_signatures(jwk))
		return false;
	if (kid != NULL && !cj_is_string(kid))
		return false;
	if (alg != NULL &&
		(cj_string(alg) == NULL ||
			(out->alg = jws_alg_find(cj_string(alg))) == NULL))
		return false;
	if (strcmp(kty, "RSA") == 0) {
		out->family = JWS_RSA;
		out->pkey = pkey_rsa(a, jwk);
	} else if (strcmp(kty, "EC") == 0) {
		out->pkey = pkey_ec(a, jwk, &out->family);
	} else if (strcmp(kty, "OKP") == 0) {
		out->family = JWS_ED25519;
		out->pkey = pkey_okp(a, jwk);
	}
	if (out->pkey == NULL)
		return false;
	if ((out->alg != NULL && out->alg->family != out->family) ||
		(kid != NULL && (out->kid = strdup(cj_string(kid))) == NULL)) {
		EVP_PKEY_free(out->pkey);
		return false;
	}
	return true;
}

static void
key_release(struct key *k)
{
	EVP_PKEY_free(k->pkey);
	free(k->kid);
}

static bool
str_eq(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

int
jwks_parse(struct arena *a, const char *text, size_t len, struct jwks **out,
	struct err *e)
{
	static const struct cj_limits limits = { .depth_max = DEPTH_MAX,
		.dup = CJ_DUP_REFUSE,
		.values_max = VALUES_MAX };
	const struct cJSON *keys, *v;
	struct cJSON *doc;
	struct jwks *set;
	struct key k;
	size_t seen = 0;

	*out = NULL;
	if (len > JWKS_DOCUMENT_MAX)
		return err_set(e, ERR_INVALID, NULL, "key set over %d bytes",
			JWKS_DOCUMENT_MAX);
	if (cj_parse(a, text, len, &limits, &doc, e) != 0) {
		e->kind = ERR_INVALID;
		e->rpc_code = 0;
		return err_wrap(e, "key set");
	}
	if ((keys = cj_get_array(doc, "keys")) == NULL)
		return err_set(e, ERR_INVALID, NULL,
			"not a key set: no array \"keys\"");
	if ((set = calloc(1, sizeof(*set))) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	for (v = cj_first(keys); v != NULL; v = cj_next(v)) {
		if (++seen > JWKS_ENTRIES_MAX || set->n == JWKS_KEYS_MAX)
			break;
		if (key_read(a, v, &k))
			set->key[set->n++] = k;
	}
	ERR_clear_error();
	*out = set;
	return 0;
}

void
jwks_free(struct jwks *set)
{
	size_t i;

	if (set == NULL)
		return;
	for (i = 0; i < set->n; i++)
		key_release(&set->key[i]);
	free(set);
}

size_t
jwks_count(const struct jwks *set)
{
	return set->n;
}

enum jwks_found
jwks_find(const struct jwks *set, const struct jws_alg *alg, const char *kid,
	void **pkey)
{
	const struct key *k;
	bool is_named = false;
	size_t i, fit = 0;

	for (i = 0; i < set->n; i++) {
		k = &set->key[i];
		if (kid != NULL && !str_eq(k->kid, kid))
			continue;
		is_named = kid != NULL;
		if (k->family != alg->family ||
			(k->alg != NULL && k->alg != alg))
			continue;
		/* Listed twice, perhaps with and without alg: one key. */
		if (fit > 0 && EVP_PKEY_eq(*pkey, k->pkey) == 1)
			continue;
		*pkey = k->pkey;
		fit++;
	}
	if (fit == 1)
		return JWKS_FOUND;
	if (fit > 1)
		return JWKS_AMBIGUOUS;
	return is_named ? JWKS_UNFIT : JWKS_UNKNOWN;
}
