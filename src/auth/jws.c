/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/jws.h"

#include <math.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/arena.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/hex.h"

enum {
	HEADER_MAX = 4096,
	DEPTH_MAX = 16,
	VALUES_MAX = 4096,
	SIG_MAX = 1024 /* RSA 8192 */
};

/* 9999-12-31: later is a unit mistaken (milliseconds), not a date. */
#define NUMERIC_DATE_MAX 253402300799.0

struct jws {
	const struct jws_alg *alg;
	const char *kid;
	const char *signed_part; /* header.payload, as received */
	size_t signed_len;
	const char *payload; /* decoded, not yet looked at */
	size_t payload_len;
	const unsigned char *sig;
	size_t sig_len;
};

static const struct jws_alg algs[] = {
	{ "RS256", JWS_RSA, "SHA256", 0, false },
	{ "RS384", JWS_RSA, "SHA384", 0, false },
	{ "RS512", JWS_RSA, "SHA512", 0, false },
	{ "PS256", JWS_RSA, "SHA256", 0, true },
	{ "PS384", JWS_RSA, "SHA384", 0, true },
	{ "PS512", JWS_RSA, "SHA512", 0, true },
	{ "ES256", JWS_P256, "SHA256", 64, false },
	{ "ES384", JWS_P384, "SHA384", 96, false },
	{ "ES512", JWS_P521, "SHA512", 132, false },
	{ "EdDSA", JWS_ED25519, NULL, 64, false },
};

const struct jws_alg *
jws_alg_find(const char *name)
{
	size_t i;

	for (i = 0; i < NELEM(algs); i++)
		if (strcmp(algs[i].name, name) == 0)
			return &algs[i];
	return NULL;
}

const struct jws_alg *
jws_algorithm(const struct jws *jws)
{
	return jws->alg;
}

const char *
jws_kid(const struct jws *jws)
{
	return jws->kid;
}

static void *
refuse(const char **why, const char *word)
{
	*why = word;
	return NULL;
}

/* RFC 8725 3.11: an access token, or a token of no declared type. */
static bool
type_is_ours(const char *typ)
{
	if (strncasecmp(typ, "application/", 12) == 0)
		typ += 12;
	return strcasecmp(typ, "JWT") == 0 || strcasecmp(typ, "at+jwt") == 0;
}

/* LEN characters of base64url as bytes in A with a NUL after them. */
static char *
decode(struct arena *a, const char *s, size_t len, size_t *out_len)
{
	char *out = arena_alloc(a, len * 3 / 4 + 1);
	ssize_t n = hex_b64url_decode(out, s, len);

	if (n < 0)
		return NULL;
	out[n] = '\0';
	*out_len = (size_t)n;
	return out;
}

static bool
parse_object(
	struct arena *a, const char *text, size_t len, const struct cJSON **out)
{
	/* Repeated names: two readers of one token must not disagree. */
	static const struct cj_limits limits = { .depth_max = DEPTH_MAX,
		.dup = CJ_DUP_REFUSE,
		.values_max = VALUES_MAX };
	struct cJSON *v;
	struct err e;

	if (cj_parse(a, text, len, &limits, &v, &e) != 0 || !cj_is_object(v))
		return false;
	*out = v;
	return true;
}

static bool
header_read(struct jws *jws, struct arena *a, const char *text, size_t len,
	const char **why)
{
	const struct cJSON *h, *v;
	const char *s;

	if (!parse_object(a, text, len, &h)) {
		*why = "header";
		return false;
	}
	/* We understand no extension, so each critical one is one too many. */
	if (cj_get(h, "crit") != NULL) {
		*why = "crit";
		return false;
	}
	if ((v = cj_get(h, "typ")) != NULL &&
		((s = cj_string(v)) == NULL || !type_is_ours(s))) {
		*why = "typ";
		return false;
	}
	s = cj_get_string(h, "alg");
	if (s == NULL || (jws->alg = jws_alg_find(s)) == NULL) {
		*why = "alg";
		return false;
	}
	if ((v = cj_get(h, "kid")) != NULL &&
		(jws->kid = cj_string(v)) == NULL) {
		*why = "kid";
		return false;
	}
	return true;
}

struct jws *
jws_parse(struct arena *a, const char *token, size_t len, const char **why)
{
	const char *end = token + len, *dot1, *dot2, *header;
	struct jws *jws;
	size_t header_len;

	if (len > JWS_TOKEN_MAX)
		return refuse(why, "size");
	dot1 = memchr(token, '.', len);
	dot2 = dot1 == NULL ? NULL
			    : memchr(dot1 + 1, '.', (size_t)(end - dot1 - 1));
	if (dot2 == NULL || dot1 == token || dot2 == dot1 + 1 ||
		dot2 + 1 == end ||
		memchr(dot2 + 1, '.', (size_t)(end - dot2 - 1)) != NULL)
		return refuse(why, "parts");
	if (dot1 - token > HEADER_MAX)
		return refuse(why, "size");

	jws = arena_zalloc(a, sizeof(*jws));
	jws->signed_part = token;
	jws->signed_len = (size_t)(dot2 - token);
	header = decode(a, token, (size_t)(dot1 - token), &header_len);
	jws->payload = decode(
		a, dot1 + 1, (size_t)(dot2 - dot1 - 1), &jws->payload_len);
	jws->sig = (unsigned char *)decode(
		a, dot2 + 1, (size_t)(end - dot2 - 1), &jws->sig_len);
	if (header == NULL || jws->payload == NULL || jws->sig == NULL)
		return refuse(why, "base64");
	if (!header_read(jws, a, header, header_len, why))
		return NULL;
	if (jws->alg->sig_len != 0 ? jws->sig_len != jws->alg->sig_len
				   : jws->sig_len > SIG_MAX)
		return refuse(why, "signature");
	return jws;
}

/* RFC 7518 3.4: r and s, each of the curve's size, to what OpenSSL takes. */
static int
ecdsa_der(const struct jws *jws, unsigned char **der)
{
	size_t half = jws->sig_len / 2;
	ECDSA_SIG *sig = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(jws->sig, (int)half, NULL);
	BIGNUM *s = BN_bin2bn(jws->sig + half, (int)half, NULL);
	int len = -1;

	if (sig != NULL && r != NULL && s != NULL &&
		ECDSA_SIG_set0(sig, r, s) == 1) {
		r = s = NULL;
		len = i2d_ECDSA_SIG(sig, der);
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(sig);
	return len;
}

static bool
is_ecdsa(const struct jws_alg *alg)
{
	return alg->family == JWS_P256 || alg->family == JWS_P384 ||
	       alg->family == JWS_P521;
}

bool
jws_verify(const struct jws *jws, void *pkey)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx;
	unsigned char *der = NULL;
	const unsigned char *sig = jws->sig;
	size_t sig_len = jws->sig_len;
	bool ok;
	int n;

	ok = ctx != NULL &&
	     EVP_DigestVerifyInit_ex(
		     ctx, &pctx, jws->alg->digest, NULL, NULL, pkey, NULL) == 1;
	/* RFC 7518 3.5: the salt is as long as the digest, not "any". */
	if (ok && jws->alg->is_pss)
		ok = EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING) >
			     0 &&
		     EVP_PKEY_CTX_set_rsa_pss_saltlen(
			     pctx, RSA_PSS_SALTLEN_DIGEST) > 0;
	if (ok && is_ecdsa(jws->alg)) {
		n = ecdsa_der(jws, &der);
		ok = n > 0;
		sig = der;
		sig_len = ok ? (size_t)n : 0;
	}
	if (ok)
		ok = EVP_DigestVerify(ctx, sig, sig_len,
			     (const unsigned char *)jws->signed_part,
			     jws->signed_len) == 1;
	OPENSSL_free(der);
	EVP_MD_CTX_free(ctx);
	if (!ok)
		ERR_clear_error();
	return ok;
}

/* True when the member is absent or a date; *HAS tells which. */
static bool
read_date(const struct cJSON *claims, const char *name, double *out, bool *has)
{
	*has = cj_get(claims, name) != NULL;
	if (!*has)
		return true;
	return cj_get_number(claims, name, out) && isfinite(*out) &&
	       *out >= 0 && *out <= NUMERIC_DATE_MAX;
}

static bool
audience_has(const struct conf_list *list, const char *aud)
{
	size_t i;

	for (i = 0; aud != NULL && i < list->n; i++)
		if (strcmp(list->item[i], aud) == 0)
			return true;
	return false;
}

static bool
audience_is_ours(const struct cJSON *claims, const struct conf_list *list)
{
	const struct cJSON *aud = cj_get(claims, "aud"), *v;

	if (!cj_is_array(aud))
		return audience_has(list, aud != NULL ? cj_string(aud) : NULL);
	/* RFC 7519 4.1.3: an array of strings, and nothing but strings. */
	for (v = cj_first(aud); v != NULL; v = cj_next(v))
		if (!cj_is_string(v))
			return false;
	for (v = cj_first(aud); v != NULL; v = cj_next(v))
		if (audience_has(list, cj_string(v)))
			return true;
	return false;
}

bool
jws_is_over(int64_t expires_at_s, int64_t leeway_s, int64_t now_s)
{
	return now_s - leeway_s >= expires_at_s;
}

enum jws_verdict
jws_judge(const struct jws *jws, struct arena *a, const struct jws_rules *rules,
	int64_t now_s, struct jws_claims *out, const char **why)
{
	const struct cJSON *claims, *v;
	const char *s;
	double exp = 0, nbf = 0, iat = 0;
	bool has_exp, has_nbf, has_iat;

	*why = "claims";
	if (!parse_object(a, jws->payload, jws->payload_len, &claims))
		return JWS_INVALID;

	*why = "iss";
	s = cj_get_string(claims, "iss");
	if (s == NULL || strcmp(s, rules->issuer) != 0)
		return JWS_INVALID;

	*why = "aud";
	if (!audience_is_ours(claims, rules->audience))
		return JWS_INVALID;

	*why = "account";
	s = cj_get_string(claims, rules->claim_account);
	if (s == NULL || *s == '\0' || strlen(s) > JWS_ID_MAX)
		return JWS_INVALID;
	out->account_id = s;

	*why = "organization";
	out->organization_id = NULL;
	v = cj_get(claims, rules->claim_organization);
	if (v != NULL && !cj_is_null(v)) {
		s = cj_string(v);
		if (s == NULL || strlen(s) > JWS_ID_MAX)
			return JWS_INVALID;
		if (*s != '\0')
			out->organization_id = s;
	}

	*why = "nbf";
	if (!read_date(claims, "nbf", &nbf, &has_nbf) ||
		(has_nbf && nbf > (double)(now_s + rules->leeway_s)))
		return JWS_INVALID;
	*why = "iat";
	if (!read_date(claims, "iat", &iat, &has_iat) ||
		(has_iat && iat > (double)(now_s + rules->leeway_s)))
		return JWS_INVALID;
	*why = "exp";
	if (!read_date(claims, "exp", &exp, &has_exp) || !has_exp)
		return JWS_INVALID;
	out->expires_at_s = (int64_t)exp;
	if (jws_is_over(out->expires_at_s, rules->leeway_s, now_s)) {
		*why = "expired";
		return JWS_EXPIRED;
	}
	*why = NULL;
	return JWS_OK;
}
