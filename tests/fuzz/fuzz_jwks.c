/* SPDX-License-Identifier: ISC */
/*
 * A key set.  Whatever key it yields is fit for the algorithm asked for and
 * can be used; a token that nobody signed is not genuine by it.
 */
#include "base/compat.h"

#include "auth/jwks.h"

#include <openssl/evp.h>

#include "auth/jws.h"
#include "base/arena.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct {
	const char *alg;
	int type, bits_min, bits_max;
	const char *token;
} algs[] = {
	{ "RS256", EVP_PKEY_RSA, 2048, 8192,
		"eyJhbGciOiJSUzI1NiJ9.e30.AAECAwQFBgcICQ" },
	{ "PS512", EVP_PKEY_RSA, 2048, 8192,
		"eyJhbGciOiJQUzUxMiJ9.e30.AAECAwQFBgcICQ" },
	{ "ES256", EVP_PKEY_EC, 256, 256,
		"eyJhbGciOiJFUzI1NiJ9.e30."
		"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
		"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ" },
	{ "ES384", EVP_PKEY_EC, 384, 384, NULL },
	{ "ES512", EVP_PKEY_EC, 521, 521, NULL },
	{ "EdDSA", EVP_PKEY_ED25519, 253, 256,
		"eyJhbGciOiJFZERTQSJ9.e30."
		"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
		"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ" },
};

static void
use(struct arena *a, const struct jwks *set, const char *kid)
{
	const char *why;
	struct jws *jws;
	void *pkey;
	size_t i;

	for (i = 0; i < NELEM(algs); i++) {
		if (jwks_find(set, jws_alg_find(algs[i].alg), kid, &pkey) !=
			JWKS_FOUND)
			continue;
		if (EVP_PKEY_get_base_id(pkey) != algs[i].type ||
			EVP_PKEY_get_bits(pkey) < algs[i].bits_min ||
			EVP_PKEY_get_bits(pkey) > algs[i].bits_max)
			abort();
		if (algs[i].token == NULL)
			continue;
		jws = jws_parse(a, algs[i].token, strlen(algs[i].token), &why);
		if (jws == NULL || jws_verify(jws, pkey))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena *a = arena_new(256 << 20);
	char *text = arena_memdup(a, data, len);
	struct jwks *set;
	struct err e = { 0 };

	if (jwks_parse(a, text, len, &set, &e) != 0) {
		if (e.kind != ERR_INVALID || e.detail[0] == '\0' || set != NULL)
			abort();
	} else {
		if (jwks_count(set) > JWKS_KEYS_MAX)
			abort();
		use(a, set, NULL);
		use(a, set, "a");
		jwks_free(set);
	}
	arena_free(a);
	return 0;
}
