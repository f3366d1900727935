/* SPDX-License-Identifier: ISC */
/*
 * bearer, keys, seen: who a header speaks for, and what finding out costs.
 * Several bearers over one fake store are several processes.
 */
#include "base/compat.h"

#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>
#include <openssl/sha.h>

#include "auth/bearer.h"
#include "auth/keys.h"
#include "auth/opaque.h"
#include "auth/seen.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "fakestore.h"
#include "net/fetch.h"
#include "stubhttp.h"
#include "testkey.h"

#define AUD "https://mcp.example/mcp"

enum { TTL = 3600, HARD_TTL = 86400, INTERVAL = 30 };

struct fixture {
	struct stubhttp *http;
	struct fetch *fetch;
	struct arena *a;
	struct conf conf;
	struct bearer *b;
	struct bearer *other; /* another process */
	struct principal who;
	const char *why;
	struct err e;
};

static const char *audience[] = { AUD };

static int
group_setup(void **state)
{
	static const char *loopback[] = { "127.0.0.0/8" };
	static const struct conf_list allow = { loopback, 1 };
	struct fetch_options o = { 1000, 300000, &allow };
	struct fixture *t = calloc(1, sizeof(*t));
	struct err e;

	signal(SIGPIPE, SIG_IGN);
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	t->http = stubhttp_start();
	t->a = arena_new(256 << 20);
	assert_int_equal(fetch_new(&o, &t->fetch, &e), 0);
	*state = t;
	return 0;
}

static int
group_teardown(void **state)
{
	struct fixture *t = *state;

	fetch_free(t->fetch);
	arena_free(t->a);
	stubhttp_stop(t->http);
	testkey_release();
	free(t);
	return 0;
}

/* The issuer publishes key N of Ed25519 under the name KID. */
static char *
document(struct fixture *t, unsigned n, const char *kid)
{
	const char *jwk = testkey_jwk(t->a, testkey_get("Ed25519", n), kid, "");

	return testkey_jwks(t->a, &jwk, 1);
}

static int
setup(void **state)
{
	struct fixture *t = *state;

	fakestore_reset();
	memset(&t->conf, 0, sizeof(t->conf));
	t->conf.issuer = arena_strdup(t->a, stubhttp_url(t->http, ""));
	t->conf.jwks_url = arena_strdup(t->a, stubhttp_url(t->http, "/jwks"));
	t->conf.audience.item = audience;
	t->conf.audience.n = 1;
	t->conf.claim_account = "sub";
	t->conf.claim_organization = "org_id";
	t->conf.leeway_s = 30;
	t->conf.jwks_ttl_s = TTL;
	t->conf.jwks_hard_ttl_s = HARD_TTL;
	t->conf.jwks_min_interval_s = INTERVAL;
	t->b = bearer_new(&t->conf, t->fetch);
	t->other = bearer_new(&t->conf, t->fetch);
	stubhttp_set(t->http, "/jwks", 200, document(t, 0, "k0"));
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	bearer_free(t->b);
	bearer_free(t->other);
	fakestore_reset();
	return 0;
}

/* A token of key N called KID, valid for the next LIFE_S seconds. */
static char *
token(struct fixture *t, unsigned n, const char *kid, int life_s)
{
	char *header, *payload;

	header = arena_printf(t->a, "{\"alg\":\"EdDSA\",\"kid\":\"%s\"}", kid);
	payload = arena_printf(t->a,
		"{\"iss\":\"%s\",\"aud\":\"" AUD "\",\"sub\":\"alice\","
		"\"org_id\":\"org_1\",\"exp\":%lld}",
		t->conf.issuer, (long long)fakestore_wall_s() + life_s);
	return testkey_token(
		t->a, testkey_get("Ed25519", n), "EdDSA", header, payload);
}

enum { UNDECIDED = 100 };

/* The outcome, or UNDECIDED with t->e set. */
static int
check_header(struct fixture *t, struct bearer *b, const char *header)
{
	enum bearer_outcome outcome;

	err_clear(&t->e);
	t->why = NULL;
	if (bearer_check(b, NULL, t->a, header, &outcome, &t->who, &t->why,
		    &t->e) != 0) {
		assert_int_equal(t->e.kind, ERR_UNAVAILABLE);
		return UNDECIDED;
	}
	if (outcome == BEARER_OK)
		assert_null(t->why);
	else
		assert_non_null(t->why);
	return (int)outcome;
}

static int
check(struct fixture *t, struct bearer *b, const char *tok)
{
	return check_header(t, b, arena_printf(t->a, "Bearer %s", tok));
}

static int
fetches(struct fixture *t)
{
	static int seen;
	int now = stubhttp_hits(t->http, "/jwks"), n = now - seen;

	seen = now;
	return n;
}

static void
test_scheme(void **state)
{
	static const char *const absent[] = { "", "Basic dXNlcjpwYXNz",
		"Bearerx", "Bearer\tx", "Bear er x", "DPoP x", " Bearer x",
		"Digest username=\"a\", realm=\"b\"", "Bearer:x", "Bearer=x" };
	static const char *const malformed[] = { "Bearer", "Bearer ",
		"Bearer    ", "Bearer a b", "Bearer a, Bearer b", "Bearer a,b",
		"Bearer \"a\"", "Bearer a;b", "Bearer =", "Bearer a=b",
		"Bearer a\tb", "Bearer \xc3\xa9", "Bearer a\x01",
		"Bearer Bearer a", "bearer <script>" };
	struct fixture *t = *state;
	char *tok = token(t, 0, "k0", 300);
	size_t i;

	assert_int_equal(check_header(t, t->b, NULL), BEARER_ABSENT);
	assert_string_equal(t->why, "absent");
	for (i = 0; i < NELEM(absent); i++)
		if (check_header(t, t->b, absent[i]) != BEARER_ABSENT)
			fail_msg("%s", absent[i]);
	for (i = 0; i < NELEM(malformed); i++) {
		if (check_header(t, t->b, malformed[i]) != BEARER_INVALID)
			fail_msg("%s", malformed[i]);
		if (i < 14)
			assert_int_equal(fakestore.finds, 0);
	}
	assert_int_equal(
		check_header(t, t->b,
			arena_printf(t->a, "Bearer %s, Bearer %s", tok, tok)),
		BEARER_INVALID);
	assert_int_equal(
		check_header(t, t->b, arena_printf(t->a, "bearer %s", tok)),
		BEARER_OK);
	assert_int_equal(
		check_header(t, t->b, arena_printf(t->a, "BEARER   %s ", tok)),
		BEARER_OK);
	assert_string_equal(t->who.issuer, t->conf.issuer);
	assert_string_equal(t->who.account_id, "alice");
	assert_string_equal(t->who.organization_id, "org_1");
	assert_null(t->who.token_sha256);
	fetches(t);
}

/* Malformed tokens never cause a statement or a fetch. */
static void
test_malformed_costs_nothing(void **state)
{
	static const char *const bad[] = { "x", "a.b.c",
		"eyJhbGciOiJub25lIn0.e30.AA", "eyJhbGciOiJIUzI1NiJ9.e30.AA",
		"..", "a.b", "a.b.c.d", "mcp_", "mcp_short", "mcp_!",
		"mcp_x.y.z" };
	struct fixture *t = *state;
	size_t i;

	fetches(t);
	for (i = 0; i < NELEM(bad); i++)
		if (check(t, t->b, bad[i]) != BEARER_INVALID)
			fail_msg("%s", bad[i]);
	assert_int_equal(fetches(t), 0);
	assert_int_equal(
		fakestore.finds + fakestore.claims + fakestore.token_finds, 0);
}

static void
test_first_use_fetches_once(void **state)
{
	struct fixture *t = *state;
	int i, finds;

	fetches(t);
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 300)), BEARER_OK);
	assert_int_equal(fetches(t), 1);
	assert_int_equal(fakestore.saves, 1);
	/* the other process reads what this one fetched */
	assert_int_equal(check(t, t->other, token(t, 0, "k0", 301)), BEARER_OK);
	assert_int_equal(fetches(t), 0);
	finds = fakestore.finds;
	for (i = 0; i < 50; i++) {
		assert_int_equal(
			check(t, t->b, token(t, 0, "k0", 310 + i)), BEARER_OK);
		assert_int_equal(check(t, t->other, token(t, 0, "k0", 310 + i)),
			BEARER_OK);
	}
	assert_int_equal(fakestore.finds, finds);
	assert_int_equal(fetches(t), 0);
}

/* B-35: the new key is accepted at its first use, in every process. */
static void
test_rotation(void **state)
{
	struct fixture *t = *state;
	char *old = token(t, 0, "k0", 30000);

	assert_int_equal(check(t, t->b, old), BEARER_OK);
	assert_int_equal(check(t, t->other, old), BEARER_OK);
	stubhttp_set(t->http, "/jwks", 200, document(t, 1, "k1"));
	fakestore.ahead_s += INTERVAL;
	fetches(t);
	assert_int_equal(check(t, t->b, token(t, 1, "k1", 300)), BEARER_OK);
	assert_int_equal(fetches(t), 1);
	assert_int_equal(check(t, t->other, token(t, 1, "k1", 300)), BEARER_OK);
	assert_int_equal(fetches(t), 0);
	/* the old key is gone, for tokens seen before too */
	assert_int_equal(check(t, t->b, old), BEARER_INVALID);
	assert_string_equal(t->why, "kid");
	assert_int_equal(check(t, t->other, old), BEARER_INVALID);
}

/* The same name, another key: the signature is checked anew. */
static void
test_key_replaced_under_its_name(void **state)
{
	struct fixture *t = *state;
	char *old = token(t, 0, "k0", 30000);

	assert_int_equal(check(t, t->b, old), BEARER_OK);
	assert_int_equal(check(t, t->b, old), BEARER_OK);
	stubhttp_set(t->http, "/jwks", 200, document(t, 1, "k0"));
	fakestore.ahead_s += TTL + 1;
	assert_int_equal(check(t, t->b, old), BEARER_INVALID);
	assert_string_equal(t->why, "signature");
}

/* B-35: made-up names cost at most one fetch an interval over all processes,
 * and none of them delays the others for long. */
static void
test_flood(void **state)
{
	struct fixture *t = *state;
	char *good = token(t, 0, "k0", 3000);
	int i;

	assert_int_equal(check(t, t->b, good), BEARER_OK);
	assert_int_equal(check(t, t->other, good), BEARER_OK);
	fetches(t);
	fakestore.ahead_s += INTERVAL;
	for (i = 0; i < 1000; i++)
		assert_int_equal(
			check(t, i % 2 == 0 ? t->b : t->other,
				token(t, 1, arena_printf(t->a, "r%d", i), 300)),
			BEARER_INVALID);
	assert_int_equal(fetches(t), 1);
	assert_string_equal(t->why, "kid");
	fakestore.ahead_s += INTERVAL;
	for (i = 0; i < 100; i++)
		assert_int_equal(check(t, t->b, token(t, 1, "zz", 300 + i)),
			BEARER_INVALID);
	assert_int_equal(fetches(t), 1);
	assert_int_equal(check(t, t->b, good), BEARER_OK);
}

/* The issuer is down: known keys serve until the hard limit, an unknown one
 * is invalid rather than a doubt, and nobody fetches all the time. */
static void
test_issuer_down(void **state)
{
	struct fixture *t = *state;
	char *good = token(t, 0, "k0", 900000);
	int64_t start;
	int i;

	assert_int_equal(check(t, t->b, good), BEARER_OK);
	stubhttp_set(t->http, "/jwks", 503, "busy");
	fakestore.ahead_s += TTL + 1;
	fetches(t);
	for (i = 0; i < 50; i++) {
		assert_int_equal(check(t, t->b, good), BEARER_OK);
		assert_int_equal(check(t, t->other, good), BEARER_OK);
	}
	assert_int_equal(fetches(t), 1);
	assert_int_equal(fakestore.fails, 1);
	assert_string_equal(fakestore.failure, "unavailable");
	assert_int_equal(
		check(t, t->b, token(t, 1, "new", 300)), BEARER_INVALID);
	assert_int_equal(fetches(t), 0);
	fakestore.ahead_s += INTERVAL;
	assert_int_equal(
		check(t, t->b, token(t, 1, "new", 300)), BEARER_INVALID);
	assert_int_equal(fetches(t), 1);

	/* with keys in hand nobody waits for another process's try */
	fakestore.ahead_s += TTL + 1;
	fakestore.attempted_s = fakestore_wall_s();
	start = fakestore_real_ms();
	assert_int_equal(check(t, t->b, good), BEARER_OK);
	assert_in_range(fakestore_real_ms() - start, 0, 500);

	/* beyond the hard limit there are no keys */
	fakestore.ahead_s = HARD_TTL + 10;
	assert_int_equal(check(t, t->b, good), UNDECIDED);
	assert_string_equal(t->e.pub,
		"Authentication temporarily unavailable - please retry");
	assert_int_equal(check(t, t->other, good), UNDECIDED);
	/* malformed is invalid all the same */
	assert_int_equal(check(t, t->b, "a.b.c"), BEARER_INVALID);

	/* and back */
	stubhttp_set(t->http, "/jwks", 200, document(t, 0, "k0"));
	fakestore.ahead_s += INTERVAL;
	assert_int_equal(check(t, t->b, good), BEARER_OK);
	assert_int_equal(check(t, t->other, good), BEARER_OK);
}

static void
test_no_keys_at_all(void **state)
{
	static const char *const bodies[] = { "", "<html>", "[]", "{}",
		"{\"keys\":{}}", "{\"keys\":[],\"keys\":[]}", "null" };
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(bodies); i++) {
		stubhttp_set(t->http, "/jwks", 200, bodies[i]);
		assert_int_equal(
			check(t, t->b, token(t, 0, "k0", 300)), UNDECIDED);
		fakestore.ahead_s += INTERVAL;
	}
	assert_int_equal(fakestore.saves, 0);
	stubhttp_set(t->http, "/jwks", 302, "");
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 300)), UNDECIDED);
	fakestore.ahead_s += INTERVAL;
	/* a set without keys is a set: invalid, not unavailable */
	stubhttp_set(t->http, "/jwks", 200, "{\"keys\":[]}");
	assert_int_equal(
		check(t, t->b, token(t, 0, "k0", 300)), BEARER_INVALID);
	assert_string_equal(t->why, "kid");
}

/* A broken document does not replace a good one. */
static void
test_garbage_keeps_the_old_set(void **state)
{
	struct fixture *t = *state;
	char *good = token(t, 0, "k0", 30000), *big;

	assert_int_equal(check(t, t->b, good), BEARER_OK);
	stubhttp_set(t->http, "/jwks", 200, "{\"keys\":");
	fakestore.ahead_s += TTL + 1;
	assert_int_equal(check(t, t->b, good), BEARER_OK);
	big = arena_alloc(t->a, 300002);
	memset(big, ' ', 300001);
	big[300001] = '\0';
	stubhttp_set(t->http, "/jwks", 200, big);
	fakestore.ahead_s += TTL + 1;
	assert_int_equal(check(t, t->b, good), BEARER_OK);
	assert_int_equal(fakestore.saves, 1);
	assert_string_equal(fakestore.failure, "limit");
}

/* A row that does not parse is mended by a fetch. */
static void
test_garbage_in_the_row(void **state)
{
	struct fixture *t = *state;

	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	fakestore.document = strdup("{\"keys\":7}");
	fakestore.version = 7;
	fakestore.fetched_s = fakestore_wall_s();
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 300)), BEARER_OK);
	assert_int_equal(fakestore.saves, 1);
}

/* Somebody else is fetching: wait for the result, but once an interval. */
static void
test_waiting_for_another_process(void **state)
{
	struct fixture *t = *state;
	int64_t start;

	/* at a cold start */
	fakestore.attempted_s = fakestore_wall_s();
	fakestore.late = document(t, 0, "k0");
	fakestore.late_after = 3;
	fetches(t);
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 300)), BEARER_OK);
	assert_int_equal(fetches(t), 0);

	/* at a rotation */
	fakestore.ahead_s += INTERVAL;
	fakestore.attempted_s = fakestore_wall_s();
	fakestore.late = document(t, 1, "k1");
	fakestore.late_after = 3;
	assert_int_equal(check(t, t->b, token(t, 1, "k1", 300)), BEARER_OK);
	assert_int_equal(fetches(t), 0);

	/* in vain, and then no more */
	fakestore.ahead_s += INTERVAL + 5;
	fakestore.attempted_s = fakestore_wall_s();
	start = fakestore_real_ms();
	assert_int_equal(
		check(t, t->b, token(t, 2, "k2", 300)), BEARER_INVALID);
	assert_in_range(fakestore_real_ms() - start, 900, 1800);
	start = fakestore_real_ms();
	assert_int_equal(
		check(t, t->b, token(t, 2, "k3", 300)), BEARER_INVALID);
	assert_in_range(fakestore_real_ms() - start, 0, 500);
}

static void
test_database_down(void **state)
{
	struct fixture *t = *state;
	char *good = token(t, 0, "k0", 30000), api[OPAQUE_LEN + 1];

	fakestore.is_down = true;
	assert_int_equal(check(t, t->b, good), UNDECIDED);
	opaque_make(api);
	assert_int_equal(check(t, t->b, api), UNDECIDED);
	fakestore.is_down = false;
	assert_int_equal(check(t, t->b, good), BEARER_OK);
	fakestore.is_down = true;
	assert_int_equal(check(t, t->b, good), BEARER_OK);
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 301)), BEARER_OK);
	assert_int_equal(check(t, t->b, token(t, 0, "x", 301)), UNDECIDED);
	fakestore.ahead_s += TTL + 1;
	assert_int_equal(check(t, t->b, good), BEARER_OK);
}

/* It goes away in the middle: whatever was learnt is used, a doubt is one. */
static void
test_database_lost_between_statements(void **state)
{
	struct fixture *t = *state;

	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	/* found nothing, claimed, fetched; cannot be saved */
	fakestore.down_after = 2;
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 300)), BEARER_OK);
	assert_true(fakestore.is_down);
	assert_null(fakestore.document);
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 301)), BEARER_OK);

	/* looked for an unknown key, cannot claim */
	fakestore.is_down = false;
	fakestore.down_after = 1;
	assert_int_equal(check(t, t->b, token(t, 1, "k1", 300)), UNDECIDED);

	/* another process may be at it, and there is no more looking */
	fakestore.ahead_s += INTERVAL;
	fakestore.is_down = false;
	fakestore.down_after = 2;
	fakestore.attempted_s = fakestore_wall_s();
	assert_int_equal(check(t, t->b, token(t, 1, "k1", 300)), UNDECIDED);

	/* no keys, and the failure cannot be noted */
	stubhttp_set(t->http, "/jwks", 500, "");
	fakestore.ahead_s += INTERVAL;
	fakestore.is_down = false;
	fakestore.down_after = 2;
	assert_int_equal(check(t, t->other, token(t, 0, "k0", 300)), UNDECIDED);
	assert_int_equal(fakestore.fails, 1);
}

static void
test_huge_header(void **state)
{
	struct fixture *t = *state;
	char *tok = arena_alloc(t->a, 60001);

	memset(tok, 'A', 60000);
	tok[60000] = '\0';
	assert_int_equal(check(t, t->b, tok), BEARER_INVALID);
	assert_string_equal(t->why, "size");
	memcpy(tok, "mcp_", 4);
	assert_int_equal(check(t, t->b, tok), BEARER_INVALID);
	assert_string_equal(t->why, "apitoken");
}

static void
test_expiry_of_a_seen_token(void **state)
{
	struct fixture *t = *state;
	char *tok = token(t, 0, "k0", 10);

	assert_int_equal(check(t, t->b, tok), BEARER_OK);
	fakestore.ahead_s += 35;
	assert_int_equal(check(t, t->b, tok), BEARER_OK);
	fakestore.ahead_s += 10;
	assert_int_equal(check(t, t->b, tok), BEARER_EXPIRED);
	assert_int_equal(check(t, t->b, tok), BEARER_EXPIRED);
	/* never seen, and over */
	assert_int_equal(check(t, t->other, tok), BEARER_EXPIRED);
	/* over, and forged */
	assert_int_equal(
		check(t, t->b, token(t, 1, "k0", -100)), BEARER_INVALID);
}

static void
test_bad_tokens_are_not_remembered(void **state)
{
	struct fixture *t = *state;
	char *forged = token(t, 1, "k0", 300);
	char *good = token(t, 0, "k0", 300);
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(check(t, t->b, forged), BEARER_INVALID);
		assert_string_equal(t->why, "signature");
		assert_int_equal(check(t, t->b, good), BEARER_OK);
	}
	good[strlen(good) - 2] ^= 1;
	assert_int_equal(check(t, t->b, good), BEARER_INVALID);
}

/* No issuer: API tokens only, and not a thought about JWTs. */
static void
test_no_issuer(void **state)
{
	struct fixture *t = *state;
	char *tok = token(t, 0, "k0", 300);

	t->conf.issuer = "";
	fetches(t);
	assert_int_equal(check(t, t->b, tok), BEARER_INVALID);
	assert_string_equal(t->why, "issuer");
	assert_int_equal(fetches(t), 0);
	assert_int_equal(fakestore.finds, 0);
}

static void
test_api_token(void **state)
{
	struct fixture *t = *state;
	char api[OPAQUE_LEN + 1], other[OPAQUE_LEN + 1];
	int i;

	opaque_make(api);
	opaque_make(other);
	opaque_hash(api, OPAQUE_LEN, fakestore.sha256);
	for (i = 0; i < 5; i++) {
		assert_int_equal(check(t, t->b, api), BEARER_OK);
		assert_string_equal(t->who.issuer, "local");
		assert_string_equal(t->who.account_id, "bot");
		assert_string_equal(t->who.organization_id, "org_2");
		assert_int_equal(t->who.expires_at_s, 0);
		assert_memory_equal(t->who.token_sha256, fakestore.sha256, 32);
	}
	assert_int_equal(fakestore.token_finds, 1);
	/* a no is asked again each time: it may be issued meanwhile */
	assert_int_equal(check(t, t->b, other), BEARER_INVALID);
	assert_int_equal(check(t, t->b, other), BEARER_INVALID);
	assert_int_equal(fakestore.token_finds, 3);
	/* revoked: ENTER says so */
	fakestore.outcome = APITOKEN_BAD;
	bearer_forget(t->b, fakestore.sha256);
	assert_int_equal(check(t, t->b, api), BEARER_INVALID);
	assert_string_equal(t->why, "apitoken");
	fakestore.outcome = APITOKEN_EXPIRED;
	assert_int_equal(check(t, t->b, api), BEARER_EXPIRED);
	/* keys have nothing to do with it */
	assert_int_equal(fakestore.finds, 0);
}

/* The issuer names its own key URL. */
static void
test_discovery(void **state)
{
	struct fixture *t = *state;

	t->conf.jwks_url = "";
	stubhttp_set(t->http, "/.well-known/oauth-authorization-server", 200,
		arena_printf(t->a, "{\"issuer\":\"%s\",\"jwks_uri\":\"%s\"}",
			t->conf.issuer, stubhttp_url(t->http, "/jwks")));
	fetches(t);
	assert_int_equal(check(t, t->b, token(t, 0, "k0", 300)), BEARER_OK);
	assert_int_equal(fetches(t), 1);
	assert_non_null(fakestore.metadata);
	assert_int_equal(stubhttp_hits(t->http,
				 "/.well-known/oauth-authorization-server"),
		1);
	/* known by now */
	fakestore.ahead_s += INTERVAL;
	assert_int_equal(
		check(t, t->b, token(t, 1, "k1", 300)), BEARER_INVALID);
	assert_int_equal(stubhttp_hits(t->http,
				 "/.well-known/oauth-authorization-server"),
		1);
	assert_int_equal(fetches(t), 1);
}

static void
test_doctor(void **state)
{
	struct fixture *t = *state;
	struct keys *k = keys_new(&t->conf, t->fetch);
	size_t n = 0;

	assert_int_equal(keys_fetch(k, NULL, t->a, &n, &t->e), 0);
	assert_int_equal(n, 1);
	stubhttp_set(t->http, "/jwks", 500, "");
	assert_int_equal(keys_fetch(k, NULL, t->a, &n, &t->e), -1);
	assert_int_equal(t->e.kind, ERR_UNAVAILABLE);
	keys_free(k);
}

static void
test_seen_is_bounded(void **state)
{
	struct seen_token v = {
		.generation = 1, .issuer = "i", .account_id = "a"
	};
	struct seen *s = seen_new();
	unsigned char hash[32];
	int i, n = 0;

	for (i = 0; i < 5 * SEEN_MAX; i++) {
		SHA256((unsigned char *)&i, sizeof(i), hash);
		v.expires_at_s = i;
		seen_put(s, hash, &v);
		assert_int_equal(seen_find(s, hash, 1)->expires_at_s, i);
		assert_null(seen_find(s, hash, 1)->organization_id);
	}
	for (i = 0; i < 5 * SEEN_MAX; i++) {
		SHA256((unsigned char *)&i, sizeof(i), hash);
		n += seen_find(s, hash, 1) != NULL;
	}
	assert_in_range(n, SEEN_MAX / 2, SEEN_MAX);
	/* the latest is there; of another generation it is not */
	i = 5 * SEEN_MAX - 1;
	SHA256((unsigned char *)&i, sizeof(i), hash);
	assert_non_null(seen_find(s, hash, 1));
	v.account_id = "b";
	seen_put(s, hash, &v);
	assert_string_equal(seen_find(s, hash, 1)->account_id, "b");
	seen_put(s, hash, seen_find(s, hash, 1));
	assert_string_equal(seen_find(s, hash, 1)->account_id, "b");
	assert_null(seen_find(s, hash, 2));
	assert_null(seen_find(s, hash, 1));
	seen_put(s, hash, &v);
	seen_forget(s, hash);
	seen_forget(s, hash);
	assert_null(seen_find(s, hash, 1));
	seen_free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_scheme),
		TEST(test_malformed_costs_nothing),
		TEST(test_first_use_fetches_once),
		TEST(test_rotation),
		TEST(test_key_replaced_under_its_name),
		TEST(test_flood),
		TEST(test_issuer_down),
		TEST(test_no_keys_at_all),
		TEST(test_garbage_keeps_the_old_set),
		TEST(test_garbage_in_the_row),
		TEST(test_waiting_for_another_process),
		TEST(test_database_down),
		TEST(test_database_lost_between_statements),
		TEST(test_huge_header),
		TEST(test_expiry_of_a_seen_token),
		TEST(test_bad_tokens_are_not_remembered),
		TEST(test_no_issuer),
		TEST(test_api_token),
		TEST(test_discovery),
		TEST(test_doctor),
		TEST(test_seen_is_bounded),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
