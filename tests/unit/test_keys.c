/* SPDX-License-Identifier: ISC */
/*
 * keys: real processes over a real row (B-35).  What a single process does is
 * in test_bearer.  Needs MCP_TEST_DSN, see with-db.
 */
#include "base/compat.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "auth/bearer.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "net/fetch.h"
#include "store/db.h"
#include "stubhttp.h"
#include "testkey.h"

#define AUD "https://mcp.example/mcp"

enum { PROCESSES = 6, TOKENS = 1000 / PROCESSES + 1 };

static struct stubhttp *http;
static struct arena *arena;
static struct conf conf;
static struct db *db;

static struct db *
connect(void)
{
	struct db_options o = { .application_name = "test_keys" };

	o.conninfo = getenv("MCP_TEST_DSN");
	return db_new(&o);
}

static void
publish(unsigned n, const char *kid)
{
	const char *jwk =
		testkey_jwk(arena, testkey_get("Ed25519", n), kid, "");

	stubhttp_set(http, "/jwks", 200, testkey_jwks(arena, &jwk, 1));
}

static int
setup(void **state UNUSED)
{
	static const char *audience[] = { AUD };
	struct err e;

	signal(SIGPIPE, SIG_IGN);
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	http = stubhttp_start();
	arena = arena_new(64 << 20);
	/* the port makes it a row of its own */
	conf.issuer = arena_strdup(arena, stubhttp_url(http, ""));
	conf.jwks_url = arena_strdup(arena, stubhttp_url(http, "/jwks"));
	conf.audience.item = audience;
	conf.audience.n = 1;
	conf.claim_account = "sub";
	conf.claim_organization = "org_id";
	conf.jwks_ttl_s = 3600;
	conf.jwks_hard_ttl_s = 86400;
	conf.jwks_min_interval_s = 30;
	publish(0, "k0");
	/* made before fork, once */
	testkey_get("Ed25519", 1);
	db = connect();
	return db_script(db, "SELECT 1", &e);
}

static int
teardown(void **state UNUSED)
{
	struct err e;
	char *sql;
	int rc;

	sql = arena_printf(
		arena, "DELETE FROM mcp.jwks WHERE issuer = '%s'", conf.issuer);
	rc = db_script(db, sql, &e);
	db_free(db);
	stubhttp_stop(http);
	testkey_release();
	arena_free(arena);
	return rc;
}

static char *
token(struct arena *a, unsigned n, const char *kid)
{
	char *header, *payload;

	header = arena_printf(a, "{\"alg\":\"EdDSA\",\"kid\":\"%s\"}", kid);
	payload = arena_printf(a,
		"{\"iss\":\"%s\",\"aud\":\"" AUD "\",\"sub\":\"alice\","
		"\"exp\":%lld}",
		conf.issuer, (long long)time(NULL) + 600);
	return arena_printf(a, "Bearer %s",
		testkey_token(a, testkey_get("Ed25519", n), "EdDSA", header,
			payload));
}

/* In a process of its own; true when all goes as it should. */
static bool
responder(unsigned n, const char *kid, bool is_flooding)
{
	static const char *loopback[] = { "127.0.0.0/8" };
	static const struct conf_list allow = { loopback, 1 };
	struct fetch_options o = { 2000, 100000, &allow };
	struct arena *a = arena_new(64 << 20);
	enum bearer_outcome outcome;
	struct principal who;
	struct fetch *fetch;
	struct db *own = connect();
	struct bearer *b;
	const char *why;
	bool ok = true;
	struct err e;
	int i;

	if (fetch_new(&o, &fetch, &e) != 0)
		return false;
	b = bearer_new(&conf, fetch);
	for (i = 0; ok && i < TOKENS; i++) {
		if (is_flooding)
			kid = arena_printf(a, "%d-%d", (int)getpid(), i);
		if (bearer_check(b, own, a, token(a, n, kid), &outcome, &who,
			    &why, &e) != 0) {
			fprintf(stderr, "# %s\n", e.detail);
			ok = false;
		} else {
			ok = outcome ==
			     (is_flooding ? BEARER_INVALID : BEARER_OK);
		}
	}
	bearer_free(b);
	fetch_free(fetch);
	db_free(own);
	arena_free(a);
	return ok;
}

static void
all_at_once(unsigned n, const char *kid, bool is_flooding)
{
	pid_t pid[PROCESSES];
	int i, status;

	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0)
			_exit(responder(n, kid, is_flooding) ? 0 : 1);
	}
	for (i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
}

static void
pass_interval(void)
{
	struct err e;
	char *sql;

	sql = arena_printf(arena,
		"UPDATE mcp.jwks SET attempted_at = attempted_at - interval "
		"'1 minute', fetched_at = fetched_at - interval '1 minute' "
		"WHERE issuer = '%s'",
		conf.issuer);
	assert_int_equal(db_script(db, sql, &e), 0);
}

static void
test_processes(void **state UNUSED)
{
	/* a cold start: everybody's first request at the same time */
	stubhttp_set_delay(http, "/jwks", 200);
	all_at_once(0, "k0", false);
	assert_int_equal(stubhttp_hits(http, "/jwks"), 1);

	/* a thousand tokens with made-up key names */
	all_at_once(1, NULL, true);
	assert_int_equal(stubhttp_hits(http, "/jwks"), 1);
	pass_interval();
	all_at_once(1, NULL, true);
	assert_int_equal(stubhttp_hits(http, "/jwks"), 2);

	/* a new key: everybody's first token signed with it is accepted */
	pass_interval();
	publish(1, "k1");
	stubhttp_set_delay(http, "/jwks", 200);
	all_at_once(1, "k1", false);
	assert_int_equal(stubhttp_hits(http, "/jwks"), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
	};

	if (getenv("MCP_TEST_DSN") == NULL) {
		puts("1..0 # SKIP no MCP_TEST_DSN (tests/unit/with-db)");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
