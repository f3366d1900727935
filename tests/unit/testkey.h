/* SPDX-License-Identifier: ISC */
/*
 * testkey: keys made when the test runs, their JWKs, and tokens signed with
 * them, well-formed or as malformed as the test wants.  No private key is
 * kept in the tree.
 */
#ifndef TESTS_TESTKEY_H
#define TESTS_TESTKEY_H

#include <openssl/evp.h>

struct arena;

/* "RSA1024" "RSA2048" "P-256" "P-384" "P-521" "Ed25519" "secp256k1": one of
 * each per process, number N; freed by testkey_release. */
EVP_PKEY *testkey_get(const char *type, unsigned n);
void testkey_release(void);

/* The public JWK; KID NULL: none; EXTRA: "" or ",\"use\":\"sig\"". */
char *testkey_jwk(
	struct arena *a, EVP_PKEY *key, const char *kid, const char *extra);
/* {"keys":[...]} of N keys. */
char *testkey_jwks(struct arena *a, const char *const jwk[], size_t n);

char *testkey_b64(struct arena *a, const void *p, size_t len);
/* The signature of TEXT as ALG says (RS*, PS*, ES*, EdDSA), as raw bytes. */
unsigned char *testkey_sign(struct arena *a, EVP_PKEY *key, const char *alg,
	const char *text, size_t *len);
/* HEADER and PAYLOAD as given, signed as ALG says. */
char *testkey_token(struct arena *a, EVP_PKEY *key, const char *alg,
	const char *header, const char *payload);

#endif
