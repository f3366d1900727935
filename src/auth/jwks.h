/* SPDX-License-Identifier: ISC */
/*
 * jwks: a JSON Web Key Set (RFC 7517) as keys that OpenSSL can use at once.
 *
 * Kept: RSA of 2048 to 8192 bits, P-256, P-384, P-521 with the point on the
 * curve, Ed25519.  Skipped, as if absent: symmetric keys, other types and
 * curves, keys not for verifying signatures (use, key_ops), keys whose alg is
 * not on our list or not of their type, keys published with their private
 * part, and whatever is malformed.  Equal keys count as one.
 *
 * A set never changes once parsed.
 */
#ifndef AUTH_JWKS_H
#define AUTH_JWKS_H

struct arena;
struct err;
struct jws_alg;
struct jwks;

enum {
	JWKS_DOCUMENT_MAX = 262144, /* bytes */
	JWKS_KEYS_MAX = 64,	    /* kept; further ones are skipped */
	JWKS_ENTRIES_MAX = 1024	    /* looked at */
};

enum jwks_found {
	JWKS_FOUND,
	JWKS_UNKNOWN,  /* no key of that name; without a name: none that fits */
	JWKS_UNFIT,    /* a key of that name, but not for the algorithm */
	JWKS_AMBIGUOUS /* several would fit */
};

/*
 * Parse TEXT (LEN bytes and a NUL).  A is for the parsing only; *OUT is the
 * caller's.  Fails with ERR_INVALID unless it is an object with an array
 * "keys"; a set without a usable key is a set.
 */
MUST_CHECK int jwks_parse(struct arena *a, const char *text, size_t len,
	struct jwks **out, struct err *e);
void jwks_free(struct jwks *set);

size_t jwks_count(const struct jwks *set);

/*
 * The key for ALG called KID; with KID NULL the one key that fits.  *PKEY (an
 * EVP_PKEY of the set's) is for jws_verify.
 */
enum jwks_found jwks_find(const struct jwks *set, const struct jws_alg *alg,
	const char *kid, void **pkey);

#endif
