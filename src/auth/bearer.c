/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/bearer.h"

#include <openssl/sha.h>

#include "auth/jwks.h"
#include "auth/jws.h"
#include "auth/keys.h"
#include "auth/opaque.h"
#include "auth/seen.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/mem.h"
#include "store/apitoken.h"

/* Generation of what no key set vouches for; sets count from 1. */
enum { NO_KEYS = 0 };

struct bearer {
	const struct conf *conf;
	struct keys *keys;
	struct seen *seen;
	struct jws_rules rules;
};

struct bearer *
bearer_new(const struct conf *conf, struct fetch *fetch)
{
	struct bearer *b = mem_zalloc(1, sizeof(*b));

	b->conf = conf;
	b->keys = keys_new(conf, fetch);
	b->seen = seen_new();
	b->rules.issuer = conf->issuer;
	b->rules.audience = &conf->audience;
	b->rules.claim_account = conf->claim_account;
	b->rules.claim_organization = conf->claim_organization;
	b->rules.leeway_s = conf->leeway_s;
	return b;
}

void
bearer_free(struct bearer *b)
{
	if (b == NULL)
		return;
	keys_free(b->keys);
	seen_free(b->seen);
	free(b);
}

void
bearer_forget(struct bearer *b, const unsigned char token_sha256[32])
{
	seen_forget(b->seen, token_sha256);
}

/* False: not the Bearer scheme.  *LEN 0: the scheme and nothing good. */
static bool
header_token(const char *header, const char **token, size_t *len)
{
	static const char scheme[] = "Bearer";
	const char *p = header, *end;

	*len = 0;
	if (header == NULL || strncasecmp(p, scheme, sizeof(scheme) - 1) != 0)
		return false;
	p += sizeof(scheme) - 1;
	if (*p != ' ' && *p != '\0')
		return false;
	p += strspn(p, " ");
	/* token68, RFC 9110 11.2 */
	end = p + strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789-._~+/");
	end += strspn(end, "=");
	if (end[strspn(end, " ")] == '\0') {
		*token = p;
		*len = (size_t)(end - p);
	}
	return true;
}

static void
principal_set(
	struct principal *out, struct arena *a, const struct seen_token *t)
{
	memset(out, 0, sizeof(*out));
	out->issuer = arena_strdup(a, t->issuer);
	out->account_id = arena_strdup(a, t->account_id);
	if (t->organization_id != NULL)
		out->organization_id = arena_strdup(a, t->organization_id);
	out->expires_at_s = t->expires_at_s;
}

static enum bearer_outcome
refuse(const char **why, const char *word)
{
	*why = word;
	return BEARER_INVALID;
}

static int
check_apitoken(struct bearer *b, struct db *db, struct arena *a,
	const char *token, size_t len, enum bearer_outcome *outcome,
	struct principal *out, const char **why, struct err *e)
{
	unsigned char hash[OPAQUE_HASH_LEN];
	struct apitoken_owner owner;
	enum apitoken_outcome found;
	struct seen_token t = { 0 };
	const struct seen_token *known;

	if (!opaque_is_valid(token, len)) {
		*outcome = refuse(why, "apitoken");
		return 0;
	}
	opaque_hash(token, len, hash);
	known = seen_find(b->seen, hash, NO_KEYS);
	if (known == NULL) {
		if (apitoken_find(db, a, hash, &found, &owner, e) != 0)
			return -1;
		if (found != APITOKEN_OK) {
			*outcome = refuse(why, "apitoken");
			if (found == APITOKEN_EXPIRED) {
				*outcome = BEARER_EXPIRED;
				*why = "expired";
			}
			return 0;
		}
		t.issuer = owner.issuer;
		t.account_id = owner.account_id;
		t.organization_id = owner.organization_id;
		seen_put(b->seen, hash, &t);
		known = &t;
	}
	principal_set(out, a, known);
	out->token_sha256 =
		(const unsigned char *)arena_memdup(a, hash, sizeof(hash));
	*outcome = BEARER_OK;
	*why = NULL;
	return 0;
}

static int
verify(struct bearer *b, struct db *db, struct arena *a, const struct jws *jws,
	bool *is_genuine, const char **why, struct err *e)
{
	enum jwks_found found;
	void *pkey;

	*is_genuine = false;
	if (keys_find(b->keys, db, a, jws_algorithm(jws), jws_kid(jws), &found,
		    &pkey, e) != 0)
		return -1;
	if (found != JWKS_FOUND) {
		*why = found == JWKS_UNKNOWN ? "kid" : "key";
		return 0;
	}
	*is_genuine = jws_verify(jws, pkey);
	if (!*is_genuine)
		*why = "signature";
	return 0;
}

static int
check_jwt(struct bearer *b, struct db *db, struct arena *a, const char *token,
	size_t len, enum bearer_outcome *outcome, struct principal *out,
	const char **why, struct err *e)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	const struct seen_token *known = NULL;
	struct seen_token t = { 0 };
	struct jws_claims claims;
	enum jws_verdict verdict;
	int64_t now_s = clock_wall_s();
	struct jws *jws;
	bool is_genuine;

	*outcome = BEARER_INVALID;
	if (len > JWS_TOKEN_MAX) {
		*outcome = refuse(why, "size");
		return 0;
	}
	SHA256((const unsigned char *)token, len, hash);
	if (keys_generation(b->keys) != 0)
		known = seen_find(b->seen, hash, keys_generation(b->keys));
	if (known != NULL) {
		if (jws_is_over(
			    known->expires_at_s, b->rules.leeway_s, now_s)) {
			*outcome = BEARER_EXPIRED;
			*why = "expired";
			return 0;
		}
		principal_set(out, a, known);
		*outcome = BEARER_OK;
		*why = NULL;
		return 0;
	}

	if ((jws = jws_parse(a, token, len, why)) == NULL)
		return 0;
	if (verify(b, db, a, jws, &is_genuine, why, e) != 0)
		return -1;
	if (!is_genuine)
		return 0;
	verdict = jws_judge(jws, a, &b->rules, now_s, &claims, why);
	if (verdict != JWS_OK) {
		if (verdict == JWS_EXPIRED)
			*outcome = BEARER_EXPIRED;
		return 0;
	}
	t.generation = keys_generation(b->keys);
	t.expires_at_s = claims.expires_at_s;
	t.issuer = b->conf->issuer;
	t.account_id = claims.account_id;
	t.organization_id = claims.organization_id;
	/* Signed by a set that is being renewed: not for later. */
	if (t.generation != 0)
		seen_put(b->seen, hash, &t);
	principal_set(out, a, &t);
	*outcome = BEARER_OK;
	return 0;
}

int
bearer_check(struct bearer *b, struct db *db, struct arena *a,
	const char *header, enum bearer_outcome *outcome, struct principal *out,
	const char **why, struct err *e)
{
	const char *token;
	size_t len;

	*outcome = BEARER_INVALID;
	if (!header_token(header, &token, &len)) {
		*outcome = BEARER_ABSENT;
		*why = header == NULL ? "absent" : "scheme";
		return 0;
	}
	if (len == 0) {
		*outcome = refuse(why, "malformed");
		return 0;
	}
	if (opaque_has_prefix(token, len))
		return check_apitoken(
			b, db, a, token, len, outcome, out, why, e);
	if (*b->conf->issuer == '\0') {
		*outcome = refuse(why, "issuer");
		return 0;
	}
	return check_jwt(b, db, a, token, len, outcome, out, why, e);
}
