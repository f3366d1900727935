/* SPDX-License-Identifier: ISC */
/* metadata: where it is looked for, which document counts, how long. */
#include "base/compat.h"

#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>

#include "auth/metadata.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "fakestore.h"
#include "net/fetch.h"
#include "stubhttp.h"

enum { TTL = 3600, HARD_TTL = 86400, INTERVAL = 30 };

#define OAUTH "/.well-known/oauth-authorization-server/tenant"
#define OIDC  "/tenant/.well-known/openid-configuration"
#define OIDC2 "/.well-known/openid-configuration/tenant"

struct fixture {
	struct stubhttp *http;
	struct fetch *fetch;
	struct arena *a;
	struct conf conf;
	const char *text;
	size_t len;
	struct err e;
};

static int
setup(void **state)
{
	static const char *loopback[] = { "127.0.0.0/8" };
	static const struct conf_list allow = { loopback, 1 };
	struct fetch_options o = { 500, 300000, &allow };
	struct fixture *t = calloc(1, sizeof(*t));

	signal(SIGPIPE, SIG_IGN);
	fakestore_reset();
	t->http = stubhttp_start();
	t->a = arena_new(16 << 20);
	assert_int_equal(fetch_new(&o, &t->fetch, &t->e), 0);
	t->conf.issuer = arena_strdup(t->a, stubhttp_url(t->http, "/tenant"));
	t->conf.jwks_url = "";
	t->conf.jwks_ttl_s = TTL;
	t->conf.jwks_hard_ttl_s = HARD_TTL;
	t->conf.jwks_min_interval_s = INTERVAL;
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	fetch_free(t->fetch);
	arena_free(t->a);
	stubhttp_stop(t->http);
	fakestore_reset();
	free(t);
	return 0;
}

static char *
document(struct fixture *t, const char *issuer, const char *more)
{
	return arena_printf(t->a, "{\"issuer\":\"%s\"%s}", issuer, more);
}

static bool
get(struct fixture *t)
{
	err_clear(&t->e);
	if (metadata_get(&t->conf, t->fetch, NULL, t->a, &t->text, &t->len,
		    &t->e) == 0) {
		assert_int_equal(t->len, strlen(t->text));
		return true;
	}
	assert_int_equal(t->e.kind, ERR_UNAVAILABLE);
	return false;
}

/* The key URL, or NULL. */
static const char *
jwks_url(struct fixture *t)
{
	const char *url;

	err_clear(&t->e);
	if (metadata_jwks_url(&t->conf, t->fetch, NULL, t->a, &url, &t->e) == 0)
		return url;
	assert_int_equal(t->e.kind, ERR_UNAVAILABLE);
	return NULL;
}

static void
test_urls(void **state)
{
	static const struct {
		const char *issuer;
		size_t n;
		const char *url[3];
	} cases[] = {
		{ "https://a.example", 2,
			{ "https://a.example/.well-known/"
			  "oauth-authorization-server",
				"https://a.example/.well-known/"
				"openid-configuration" } },
		{ "https://a.example/", 2,
			{ "https://a.example/.well-known/"
			  "oauth-authorization-server",
				"https://a.example/.well-known/"
				"openid-configuration" } },
		{ "https://a.example:8443/x/y/", 3,
			{ "https://a.example:8443/.well-known/"
			  "oauth-authorization-server/x/y",
				"https://a.example:8443/x/y/.well-known/"
				"openid-configuration",
				"https://a.example:8443/.well-known/"
				"openid-configuration/x/y" } },
	};
	struct fixture *t = *state;
	const char *url[3];
	size_t i, j;

	for (i = 0; i < NELEM(cases); i++) {
		assert_int_equal(
			metadata_urls(t->a, cases[i].issuer, url), cases[i].n);
		for (j = 0; j < cases[i].n; j++)
			assert_string_equal(url[j], cases[i].url[j]);
	}
}

static void
test_kept(void **state)
{
	struct fixture *t = *state;
	char *doc = document(t, t->conf.issuer, ",\"x\":[1]");
	int i;

	stubhttp_set(t->http, OAUTH, 200, doc);
	for (i = 0; i < 5; i++) {
		assert_true(get(t));
		assert_string_equal(t->text, doc);
	}
	assert_int_equal(stubhttp_hits(t->http, OAUTH), 1);
	fakestore.ahead_s += TTL + 1;
	assert_true(get(t));
	assert_int_equal(stubhttp_hits(t->http, OAUTH), 2);
}

static void
test_other_places(void **state)
{
	struct fixture *t = *state;

	stubhttp_set(t->http, OIDC2, 200, document(t, t->conf.issuer, ""));
	assert_true(get(t));
	assert_int_equal(stubhttp_hits(t->http, OIDC2), 1);
	fakestore.ahead_s += TTL + 1;
	stubhttp_set(t->http, OIDC, 200, document(t, t->conf.issuer, ""));
	assert_true(get(t));
	assert_int_equal(stubhttp_hits(t->http, OIDC2), 1);
	/* another issuer's document in the first place does not count */
	fakestore.ahead_s += TTL + 1;
	stubhttp_set(t->http, OAUTH, 200,
		document(t, "https://other.example", ",\"x\":1"));
	assert_true(get(t));
	assert_null(strstr(t->text, "other.example"));
	assert_int_equal(stubhttp_hits(t->http, OIDC), 2);
}

static void
test_not_ours(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "null", "{}",
		"{\"issuer\":null}", "{\"issuer\":[\"%s\"]}",
		"{\"issuer\":\"%s/\"}", "{\"Issuer\":\"%s\"}",
		"{\"issuer\":\"x\",\"issuer\":\"%s\"}", "{\"issuer\":\"%s\"}x",
		"{\"issuer\":\"%s\\u0000\"}" };
	struct fixture *t = *state;
	const char *p;
	char *doc;
	size_t i;

	for (i = 0; i < NELEM(bad); i++) {
		p = strstr(bad[i], "%s");
		doc = p == NULL ? arena_strdup(t->a, bad[i])
				: arena_printf(t->a, "%.*s%s%s",
					  (int)(p - bad[i]), bad[i],
					  t->conf.issuer, p + 2);
		stubhttp_set(t->http, OAUTH, 200, doc);
		if (get(t))
			fail_msg("accepted: %s", doc);
		assert_null(jwks_url(t));
		fakestore.ahead_s += INTERVAL;
	}
	assert_int_equal(fakestore.saves, 0);
}

/* Anybody may ask for it: at most one fetch an interval, also of failures,
 * and never at the cost of the keys' own right to fetch. */
static void
test_interval(void **state)
{
	struct fixture *t = *state;
	int i;

	stubhttp_set(t->http, OAUTH, 500, "");
	for (i = 0; i < 20; i++)
		assert_false(get(t));
	assert_int_equal(stubhttp_hits(t->http, OAUTH), 1);
	assert_int_equal(fakestore.attempted_s, -1);
	stubhttp_set(t->http, OAUTH, 200, document(t, t->conf.issuer, ""));
	assert_false(get(t));
	fakestore.ahead_s += INTERVAL;
	assert_true(get(t));
}

static void
test_issuer_down(void **state)
{
	struct fixture *t = *state;

	stubhttp_set(t->http, OAUTH, 200, document(t, t->conf.issuer, ""));
	assert_true(get(t));
	stubhttp_set_raw(t->http, OAUTH, "");
	fakestore.ahead_s += TTL + 1;
	assert_true(get(t));
	assert_true(get(t));
	assert_int_equal(stubhttp_hits(t->http, OIDC), 0);
	fakestore.ahead_s = HARD_TTL + 2;
	assert_false(get(t));
	fakestore.is_down = true;
	assert_false(get(t));
}

static void
test_database_lost_between_statements(void **state)
{
	struct fixture *t = *state;

	stubhttp_set(t->http, OAUTH, 200, document(t, t->conf.issuer, ""));
	fakestore.down_after = 1;
	assert_false(get(t));
	assert_int_equal(stubhttp_hits(t->http, OAUTH), 0);
	assert_null(jwks_url(t));
	/* what was fetched is given even if it cannot be kept */
	fakestore.is_down = false;
	fakestore.down_after = 2;
	assert_true(get(t));
	assert_null(fakestore.metadata);
}

static void
test_too_long(void **state)
{
	struct fixture *t = *state;
	char *pad = arena_alloc(t->a, 270001);

	memset(pad, ' ', 270000);
	pad[270000] = '\0';
	stubhttp_set(t->http, OAUTH, 200, document(t, t->conf.issuer, pad));
	assert_false(get(t));
	assert_null(fakestore.metadata);
}

static void
test_no_issuer(void **state)
{
	struct fixture *t = *state;

	t->conf.issuer = "";
	assert_false(get(t));
	assert_int_equal(fakestore.finds, 0);
}

static void
test_jwks_url(void **state)
{
	static const char *const bad[] = { "", ",\"jwks_uri\":7",
		",\"jwks_uri\":\"\"", ",\"jwks_uri\":\"file:///etc/passwd\"",
		",\"jwks_uri\":\"//x/jwks\"", ",\"jwks_uri\":\"ftp://x/\"",
		",\"jwks_uri\":\"HTTPS\"" };
	struct fixture *t = *state;
	size_t i;

	t->conf.jwks_url = "https://configured.example/jwks";
	assert_string_equal(jwks_url(t), t->conf.jwks_url);
	assert_int_equal(fakestore.finds, 0);
	t->conf.jwks_url = "";
	for (i = 0; i < NELEM(bad); i++) {
		stubhttp_set(t->http, OAUTH, 200,
			document(t, t->conf.issuer, bad[i]));
		if (jwks_url(t) != NULL)
			fail_msg("accepted: %s", bad[i]);
		fakestore.ahead_s += TTL + 1;
	}
	stubhttp_set(t->http, OAUTH, 200,
		document(t, t->conf.issuer,
			",\"jwks_uri\":\"https://keys.example/j\""));
	assert_string_equal(jwks_url(t), "https://keys.example/j");
}

/* An https issuer's keys do not come over http. */
static void
test_no_downgrade(void **state)
{
	struct fixture *t = *state;

	t->conf.issuer = "https://issuer.example";
	fakestore.metadata = strdup("{\"issuer\":\"https://issuer.example\","
				    "\"jwks_uri\":\"http://x.example/j\"}");
	fakestore.metadata_fetched_s = fakestore_wall_s();
	assert_null(jwks_url(t));
	t->conf.issuer = "http://issuer.example";
	free(fakestore.metadata);
	fakestore.metadata = strdup("{\"issuer\":\"http://issuer.example\","
				    "\"jwks_uri\":\"http://x.example/j\"}");
	assert_string_equal(jwks_url(t), "http://x.example/j");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_urls),
		TEST(test_kept),
		TEST(test_other_places),
		TEST(test_not_ours),
		TEST(test_interval),
		TEST(test_issuer_down),
		TEST(test_database_lost_between_statements),
		TEST(test_too_long),
		TEST(test_no_issuer),
		TEST(test_jwks_url),
		TEST(test_no_downgrade),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
