/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/keys.h"

#include <openssl/sha.h>

#include "auth/metadata.h"
#include "auth/outage.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/fetch.h"
#include "store/keyset.h"

enum {
	WAIT_MS = 1000,	   /* for the fetch of another process */
	WAIT_STEP_MS = 50, /* between two looks at the row */
	VERSION_MAX = 64
};

struct keys {
	const struct conf *conf;
	struct fetch *fetch;
	struct jwks *set; /* NULL: none yet */
	uint64_t generation;
	unsigned char digest[SHA256_DIGEST_LENGTH]; /* of the document */
	char version[VERSION_MAX]; /* of the row it came from; "" not known */
	int64_t born_ms;	   /* when it was fetched, monotonic clock */
	int64_t look_ms;	   /* an old set: not looked at before this */
	int64_t wait_ms;	   /* not waited for others before this */
};

struct keys *
keys_new(const struct conf *conf, struct fetch *fetch)
{
	struct keys *k = mem_zalloc(1, sizeof(*k));

	k->conf = conf;
	k->fetch = fetch;
	k->look_ms = k->wait_ms = INT64_MIN;
	return k;
}

void
keys_free(struct keys *k)
{
	if (k == NULL)
		return;
	jwks_free(k->set);
	free(k);
}

static bool
is_younger(const struct keys *k, int64_t max_age_s)
{
	return k->set != NULL &&
	       clock_mono_ms() - k->born_ms <= max_age_s * 1000;
}

static bool
is_fresh(const struct keys *k)
{
	return is_younger(k, k->conf->jwks_ttl_s);
}

static bool
is_usable(const struct keys *k)
{
	return is_younger(k, k->conf->jwks_hard_ttl_s);
}

uint64_t
keys_generation(const struct keys *k)
{
	return is_fresh(k) ? k->generation : 0;
}

/* Make DOCUMENT, AGE_S old, the set in hand; the same text keeps the keys. */
static int
install(struct keys *k, struct arena *a, const char *document,
	const char *version, int64_t age_s, struct err *e)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	size_t len = strlen(document);
	struct jwks *set;

	SHA256((const unsigned char *)document, len, digest);
	if (k->set == NULL || memcmp(digest, k->digest, sizeof(digest)) != 0) {
		if (jwks_parse(a, document, len, &set, e) != 0)
			return -1;
		jwks_free(k->set);
		k->set = set;
		k->generation++;
		memcpy(k->digest, digest, sizeof(digest));
	}
	snprintf(k->version, sizeof(k->version), "%s", version);
	k->born_ms = clock_mono_ms() - age_s * 1000;
	return 0;
}

/* The latest right to fetch was used up AGE_S ago: no waiting for it. */
static void
settle(struct keys *k, int64_t age_s)
{
	int64_t left_s = k->conf->jwks_min_interval_s - age_s;

	if (left_s > 0)
		k->wait_ms = clock_mono_ms() + left_s * 1000;
}

/* Take up what the row has, if it is another version than ours. */
static int
look(struct keys *k, struct db *db, struct arena *a, struct err *e)
{
	struct keyset row;

	if (keyset_find(db, a, k->conf->issuer, &row, e) != 0)
		return -1;
	/* Fetched within the interval: nobody can be at it again. */
	if (row.document != NULL)
		settle(k, row.document_age_s);
	if (row.document == NULL || strcmp(row.version, k->version) == 0)
		return 0;
	if (install(k, a, row.document, row.version, row.document_age_s, e) !=
		0)
		/* Not from us: fetching will mend it. */
		log_err(LOG_LEVEL_WARN, "jwks.stored", e);
	return 0;
}

static int
fetch_set(struct keys *k, struct db *db, struct arena *a, struct err *e)
{
	struct fetch_request req = { 0 };
	struct fetch_response res;
	struct err save;

	req.accept = "application/json, application/jwk-set+json";
	if (metadata_jwks_url(k->conf, k->fetch, db, a, &req.url, e) != 0 ||
		fetch_get(k->fetch, a, &req, &res, e) != 0)
		return -1;
	if (res.status != 200)
		return err_set(
			e, ERR_UNAVAILABLE, NULL, "status %d", res.status);
	if (install(k, a, res.body, "", 0, e) != 0)
		return -1;
	/* Ours to use even when the others cannot have it. */
	if (keyset_save(db, a, k->conf->issuer, KEYSET_KEYS, res.body, &save) !=
		0)
		log_err(LOG_LEVEL_WARN, "jwks.save", &save);
	return 0;
}

int
keys_fetch(struct keys *k, struct db *db, struct arena *a, size_t *count,
	struct err *e)
{
	if (fetch_set(k, db, a, e) != 0)
		return outage(e, "key set");
	*count = jwks_count(k->set);
	return 0;
}

/*
 * Another process has the right to fetch, perhaps this moment: a token whose
 * key it is about to bring must not be refused.  Once per interval, so that
 * made-up key names cannot hold up every process.
 */
static int
wait_for_others(struct keys *k, struct db *db, struct arena *a, struct err *e)
{
	static const struct timespec step = { 0, WAIT_STEP_MS * 1000000L };
	uint64_t generation = k->generation;
	int64_t now = clock_mono_ms(), until = now + WAIT_MS;
	char version[VERSION_MAX];

	if (now < k->wait_ms)
		return 0;
	settle(k, 0);
	snprintf(version, sizeof(version), "%s", k->version);
	while (clock_mono_ms() < until) {
		nanosleep(&step, NULL);
		if (look(k, db, a, e) != 0)
			return -1;
		if (k->generation != generation ||
			strcmp(version, k->version) != 0)
			break;
	}
	return 0;
}

/*
 * Fetch if nobody has within the interval, else perhaps wait for who does.
 * Fails when the database does; that the fetch failed is told in WHY alone.
 */
static int
renew(struct keys *k, struct db *db, struct arena *a, bool may_wait,
	struct err *why, struct err *e)
{
	struct err ignored;
	bool is_ours;

	if (keyset_claim(db, a, k->conf->issuer, KEYSET_KEYS,
		    k->conf->jwks_min_interval_s, &is_ours, e) != 0)
		return -1;
	if (!is_ours)
		return may_wait ? wait_for_others(k, db, a, e) : 0;
	settle(k, 0);
	if (fetch_set(k, db, a, why) == 0)
		return 0;
	log_err(LOG_LEVEL_WARN, "jwks.fetch", why);
	if (keyset_fail(db, a, k->conf->issuer, err_kind_name(why->kind),
		    &ignored) != 0)
		err_clear(&ignored);
	return 0;
}

/* Have a usable set in hand; a fresh one if that can be. */
static int
ensure(struct keys *k, struct db *db, struct arena *a, struct err *e)
{
	bool was_usable = is_usable(k);

	if (is_fresh(k) || (was_usable && clock_mono_ms() < k->look_ms))
		return 0;
	/* With an old set requests go on: look again only after a while. */
	k->look_ms = clock_mono_ms() + k->conf->jwks_min_interval_s * 1000;
	err_set(e, ERR_UNAVAILABLE, NULL, "none to be had");
	if (look(k, db, a, e) != 0 ||
		(!is_fresh(k) && renew(k, db, a, !was_usable, e, e) != 0))
		/* The database failed, and fails fast: ask it again. */
		k->look_ms = INT64_MIN;
	return is_usable(k) ? 0 : outage(e, "key set");
}

int
keys_find(struct keys *k, struct db *db, struct arena *a,
	const struct jws_alg *alg, const char *kid, enum jwks_found *found,
	void **pkey, struct err *e)
{
	struct err why;

	if (ensure(k, db, a, e) != 0)
		return -1;
	*found = jwks_find(k->set, alg, kid, pkey);
	if (*found != JWKS_UNKNOWN)
		return 0;

	if (look(k, db, a, e) != 0)
		return outage(e, "key set");
	*found = jwks_find(k->set, alg, kid, pkey);
	if (*found != JWKS_UNKNOWN)
		return 0;

	/* The issuer out of reach does not make an unknown key a doubt. */
	if (renew(k, db, a, true, &why, e) != 0)
		return outage(e, "key set");
	*found = jwks_find(k->set, alg, kid, pkey);
	return 0;
}
