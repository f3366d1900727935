/* SPDX-License-Identifier: ISC */
/* membership: yes, no, and "don't know", which must never look like a no. */
#include "base/compat.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "auth/membership.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"
#include "stubhttp.h"

#define PATH "/m?user=alice&org=org_1"

enum { UNKNOWN = 100 };

struct fixture {
	struct stubhttp *http;
	struct fetch *fetch;
	struct arena *a;
	struct conf conf;
	struct err e;
};

static int
setup(void **state)
{
	static const char *loopback[] = { "127.0.0.0/8" };
	static const struct conf_list allow = { loopback, 1 };
	struct fetch_options o = { 500, 100000, &allow };
	struct fixture *t = calloc(1, sizeof(*t));

	signal(SIGPIPE, SIG_IGN);
	t->http = stubhttp_start();
	t->a = arena_new(16 << 20);
	assert_int_equal(fetch_new(&o, &t->fetch, &t->e), 0);
	t->conf.membership = CONF_MEMBERSHIP_HTTP;
	t->conf.membership_url = arena_strdup(t->a,
		stubhttp_url(t->http, "/m?user={account}&org={organization}"));
	t->conf.membership_token_file = "";
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
	free(t);
	return 0;
}

static int
ask_as(struct fixture *t, const char *account, const char *organization)
{
	enum session_membership answer;

	err_clear(&t->e);
	if (membership_ask(&t->conf, t->fetch, t->a, account, organization,
		    &answer, &t->e) == 0)
		return (int)answer;
	assert_int_equal(t->e.kind, ERR_UNAVAILABLE);
	assert_string_equal(t->e.pub,
		"Authentication temporarily unavailable - please retry");
	return UNKNOWN;
}

static int
ask(struct fixture *t)
{
	return ask_as(t, "alice", "org_1");
}

static void
test_sql_asks_nobody(void **state)
{
	struct fixture *t = *state;
	int before = stubhttp_connections(t->http);

	t->conf.membership = CONF_MEMBERSHIP_SQL;
	assert_int_equal(ask(t), SESSION_MEMBER_SQL);
	t->conf.membership = CONF_MEMBERSHIP_HTTP;
	assert_int_equal(stubhttp_connections(t->http), before);
}

static void
test_bodies(void **state)
{
	static const struct {
		const char *body;
		int answer;
	} cases[] = {
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"status\":\"active\"}]}",
			SESSION_MEMBER_YES },
		{ "{\"data\":[{\"organizationId\":\"org_1\","
		  "\"status\":\"active\"}]}",
			SESSION_MEMBER_YES },
		{ "{\"object\":\"list\",\"data\":[{\"organization_id\":\"x\","
		  "\"status\":\"active\"},{\"id\":\"om_1\",\"user_id\":"
		  "\"alice\",\"organization_id\":\"org_1\",\"status\":"
		  "\"active\"}],\"list_metadata\":{\"after\":\"om_1\"}}",
			SESSION_MEMBER_YES },
		{ "{\"data\":[]}", SESSION_MEMBER_NO },
		{ "{\"data\":[],\"list_metadata\":{\"before\":null,"
		  "\"after\":null}}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"status\":\"inactive\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"status\":\"pending\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"status\":\"Active\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"status\":true}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"active\":true}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"status\":\"active\"}]}", SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_11\","
		  "\"status\":\"active\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"ORG_1\","
		  "\"status\":\"active\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\","
		  "\"organizationId\":\"x\",\"status\":\"active\"}]}",
			SESSION_MEMBER_NO },
		/* an API that ignores the filter lists other people */
		{ "{\"data\":[{\"organization_id\":\"org_1\",\"user_id\":"
		  "\"bob\",\"status\":\"active\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[{\"organization_id\":\"org_1\",\"userId\":7,"
		  "\"status\":\"active\"}]}",
			SESSION_MEMBER_NO },
		{ "{\"data\":[null,1,\"x\",[]]}", SESSION_MEMBER_NO },
		/* bare objects */
		{ "{\"active\":true}", SESSION_MEMBER_YES },
		{ "{\"active\":false}", SESSION_MEMBER_NO },
		{ "{\"active\":\"true\"}", SESSION_MEMBER_NO },
		{ "{\"active\":null}", SESSION_MEMBER_NO },
		{ "{\"active\":1}", SESSION_MEMBER_NO },
		{ "{\"status\":\"active\"}", SESSION_MEMBER_YES },
		{ "{\"status\":\"suspended\"}", SESSION_MEMBER_NO },
		{ "{\"status\":null}", SESSION_MEMBER_NO },
		{ "{\"status\":\"active\",\"active\":false}",
			SESSION_MEMBER_NO },
		{ "{\"status\":\"suspended\",\"active\":true}",
			SESSION_MEMBER_NO },
		{ "{\"status\":\"active\",\"organization_id\":\"org_1\"}",
			SESSION_MEMBER_YES },
		{ "{\"status\":\"active\",\"organization_id\":\"x\"}",
			SESSION_MEMBER_NO },
		{ "{\"active\":true,\"account_id\":\"bob\"}",
			SESSION_MEMBER_NO },
		{ "{\"active\":true,\"account_id\":\"alice\"}",
			SESSION_MEMBER_YES },
		/* not an answer */
		{ "", UNKNOWN },
		{ "{}", UNKNOWN },
		{ "[]", UNKNOWN },
		{ "true", UNKNOWN },
		{ "null", UNKNOWN },
		{ "<html>Please log in</html>", UNKNOWN },
		{ "{\"data\":", UNKNOWN },
		{ "{\"data\":null}", UNKNOWN },
		{ "{\"data\":{}}", UNKNOWN },
		{ "{\"error\":\"rate limited\"}", UNKNOWN },
		{ "{\"active\":true,\"active\":false}", UNKNOWN },
		{ "{\"active\":true}x", UNKNOWN },
		/* the entry may be on a page that was not read */
		{ "{\"data\":[],\"list_metadata\":{\"after\":\"om_9\"}}",
			UNKNOWN },
		{ "{\"data\":[],\"listMetadata\":{\"after\":\"om_9\"}}",
			UNKNOWN },
	};
	struct fixture *t = *state;
	size_t i;
	int got;

	for (i = 0; i < NELEM(cases); i++) {
		stubhttp_set(t->http, PATH, 200, cases[i].body);
		got = ask(t);
		if (got != cases[i].answer)
			fail_msg("%s: %d", cases[i].body, got);
	}
}

static void
test_statuses(void **state)
{
	static const struct {
		int status, answer;
	} cases[] = { { 200, SESSION_MEMBER_YES }, { 201, SESSION_MEMBER_YES },
		{ 401, SESSION_MEMBER_NO }, { 403, SESSION_MEMBER_NO },
		{ 404, SESSION_MEMBER_NO }, { 301, UNKNOWN }, { 302, UNKNOWN },
		{ 304, UNKNOWN }, { 400, UNKNOWN }, { 402, UNKNOWN },
		{ 405, UNKNOWN }, { 408, UNKNOWN }, { 409, UNKNOWN },
		{ 410, UNKNOWN }, { 418, UNKNOWN }, { 422, UNKNOWN },
		{ 429, UNKNOWN }, { 500, UNKNOWN }, { 501, UNKNOWN },
		{ 502, UNKNOWN }, { 503, UNKNOWN }, { 504, UNKNOWN },
		{ 599, UNKNOWN } };
	struct fixture *t = *state;
	size_t i;
	int got;

	for (i = 0; i < NELEM(cases); i++) {
		stubhttp_set(
			t->http, PATH, cases[i].status, "{\"active\":true}");
		got = ask(t);
		if (got != cases[i].answer)
			fail_msg("%d: %d", cases[i].status, got);
	}
}

static void
test_out_of_reach(void **state)
{
	struct fixture *t = *state;
	const char *url = t->conf.membership_url;

	stubhttp_set(t->http, PATH, 200, "{\"active\":true}");
	stubhttp_set_delay(t->http, PATH, 1500);
	assert_int_equal(ask(t), UNKNOWN);
	stubhttp_set_raw(t->http, PATH, "");
	assert_int_equal(ask(t), UNKNOWN);
	stubhttp_set_raw(t->http, PATH,
		"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
		"{\"data\":[]}");
	assert_int_equal(ask(t), UNKNOWN);
	t->conf.membership_url = "http://127.0.0.1:1/{account}";
	assert_int_equal(ask(t), UNKNOWN);
	t->conf.membership_url = "http://10.0.0.1/{account}";
	assert_int_equal(ask(t), UNKNOWN);
	t->conf.membership_url = "file:///etc/{account}";
	assert_int_equal(ask(t), UNKNOWN);
	t->conf.membership_url = "http://127.0.0.1/everybody";
	assert_int_equal(ask(t), UNKNOWN);
	t->conf.membership_url = url;
}

/* Asked each time: a removed member is refused at the next request. */
static void
test_no_cache(void **state)
{
	struct fixture *t = *state;
	int before = stubhttp_hits(t->http, PATH);

	stubhttp_set(t->http, PATH, 200, "{\"active\":true}");
	assert_int_equal(ask(t), SESSION_MEMBER_YES);
	assert_int_equal(ask(t), SESSION_MEMBER_YES);
	stubhttp_set(t->http, PATH, 404, "");
	assert_int_equal(ask(t), SESSION_MEMBER_NO);
	stubhttp_set(t->http, PATH, 200, "{\"active\":true}");
	assert_int_equal(ask(t), SESSION_MEMBER_YES);
	assert_int_equal(stubhttp_hits(t->http, PATH), before + 4);
}

static void
test_url(void **state)
{
	static const struct {
		const char *template, *account, *organization, *url;
	} cases[] = {
		{ "https://x/{account}", "alice", "o", "https://x/alice" },
		{ "https://x/{organization}/m/{account}?a={account}", "a", "o",
			"https://x/o/m/a?a=a" },
		{ "https://x/{account}", "a/../b?c#d&e=f%20g h", "o",
			"https://x/a%2F..%2Fb%3Fc%23d%26e%3Df%2520g%20h" },
		{ "https://x/{account}", "auth0|123", "o",
			"https://x/auth0%7C123" },
		{ "https://x/{account}", "\xc3\xa9", "o", "https://x/%C3%A9" },
		{ "https://x/{account}", "A-Z.a_z~09", "o",
			"https://x/A-Z.a_z~09" },
		{ "https://x/{account}", "\r\nHost: evil", "o",
			"https://x/%0D%0AHost%3A%20evil" },
		/* what is put in is not looked at again */
		{ "https://x/{account}/{organization}", "{organization}",
			"{account}",
			"https://x/%7Borganization%7D/"
			"%7Baccount%7D" },
		{ "https://x/{Account}/{account}/{", "a", "o",
			"https://x/{Account}/a/{" },
		{ "https://x/{account}", "...", "o", "https://x/..." },
		{ "https://x/", "a", "o", NULL },
		{ "https://x/{organization}", "a", "o", NULL },
		{ "https://x/{account}", ".", "o", NULL },
		{ "https://x/{account}", "..", "o", NULL },
		{ "https://x/{account}", "a", "..", NULL },
	};
	struct fixture *t = *state;
	size_t i;
	char *url;

	for (i = 0; i < NELEM(cases); i++) {
		url = membership_url(t->a, cases[i].template, cases[i].account,
			cases[i].organization);
		if (cases[i].url == NULL)
			assert_null(url);
		else
			assert_string_equal(url, cases[i].url);
	}
	/* nobody is called so */
	assert_int_equal(ask_as(t, "..", "org_1"), SESSION_MEMBER_NO);
	assert_int_equal(ask_as(t, "alice", "."), SESSION_MEMBER_NO);
}

static void
test_token_file(void **state)
{
	struct fixture *t = *state;
	char path[] = "/tmp/test_membership.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(write(fd, "sk_test_1\n", 10), 10);
	close(fd);
	stubhttp_set(t->http, PATH, 200, "{\"active\":true}");
	t->conf.membership_token_file = path;
	assert_int_equal(ask(t), SESSION_MEMBER_YES);
	assert_non_null(strstr(stubhttp_request(t->http),
		"\r\nAuthorization: Bearer sk_test_1\r\n"));
	unlink(path);
	assert_int_equal(ask(t), UNKNOWN);
	assert_null(strstr(t->e.detail, "sk_test_1"));
	t->conf.membership_token_file = "";
	assert_int_equal(ask(t), SESSION_MEMBER_YES);
	assert_null(strstr(stubhttp_request(t->http), "Authorization"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sql_asks_nobody),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_out_of_reach),
		cmocka_unit_test(test_no_cache),
		cmocka_unit_test(test_url),
		cmocka_unit_test(test_token_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
