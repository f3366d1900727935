/* SPDX-License-Identifier: ISC */
/*
 * jws: JSON Web Tokens in compact form (RFC 7515, 7519, 8725).  Knows tokens;
 * knows nothing of where keys come from.
 *
 * The token chooses nothing: its algorithm must be of a fixed asymmetric
 * list and fit the key, keys are found by name only, and header members that
 * carry or point to keys (jku, jwk, x5u, x5c) are ignored.  Nothing of the
 * payload is parsed before the signature is found genuine.
 *
 * libjwt is not used: 1.10.2 refuses EdDSA and PS* headers while parsing, and
 * accepts five parts, repeated claims and characters outside base64url.
 */
#ifndef AUTH_JWS_H
#define AUTH_JWS_H

struct arena;
struct conf_list;
struct jws;

enum {
	JWS_TOKEN_MAX = 16384, /* bytes of a token */
	JWS_ID_MAX = 512       /* bytes of an account or organisation id */
};

enum jws_family { JWS_RSA, JWS_P256, JWS_P384, JWS_P521, JWS_ED25519 };

struct jws_alg {
	const char *name;
	enum jws_family family;
	const char *digest; /* NULL: the algorithm has its own */
	size_t sig_len;	    /* exact; 0: that of the key */
	bool is_pss;
};

struct jws_rules {
	const char *issuer; /* exact */
	const struct conf_list *audience;
	const char *claim_account;
	const char *claim_organization;
	int64_t leeway_s;
};

struct jws_claims {
	const char *account_id;
	const char *organization_id; /* NULL: the token names none */
	int64_t expires_at_s;
};

enum jws_verdict { JWS_OK, JWS_EXPIRED, JWS_INVALID };

/* The algorithm called NAME, by case; NULL when not on the list. */
const struct jws_alg *jws_alg_find(const char *name);

/*
 * Take TOKEN apart: three parts of strict base64url, a header that we
 * understand, a signature of the right length.  NULL, with *WHY set to a
 * literal word for the log, when it is not that.  The result lives in A.
 */
struct jws *jws_parse(
	struct arena *a, const char *token, size_t len, const char **why);

const struct jws_alg *jws_algorithm(const struct jws *jws);
const char *jws_kid(const struct jws *jws); /* NULL: none */

/* Whether the signature is genuine.  PKEY is an EVP_PKEY of the algorithm's
 * family; the caller has seen to that. */
bool jws_verify(const struct jws *jws, void *pkey);

/*
 * Judge the claims of a token whose signature is genuine, at NOW_S (seconds
 * since the epoch).  Everything else is judged before expiry, so that
 * JWS_EXPIRED means: was good.  With JWS_OK *OUT lives in A, else *WHY is
 * set.
 */
enum jws_verdict jws_judge(const struct jws *jws, struct arena *a,
	const struct jws_rules *rules, int64_t now_s, struct jws_claims *out,
	const char **why);

/* Whether a token valid until EXPIRES_AT_S is over, as jws_judge sees it. */
bool jws_is_over(int64_t expires_at_s, int64_t leeway_s, int64_t now_s);

#endif
