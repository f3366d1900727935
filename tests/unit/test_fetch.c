/* SPDX-License-Identifier: ISC */
/* fetch, addr: what may be reached, how much of it, and what is sent. */
#include "base/compat.h"

#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/addr.h"
#include "net/fetch.h"
#include "stubhttp.h"

enum { MAX_BYTES = 10000 };

struct fixture {
	struct stubhttp *http;
	struct arena *a;
	struct fetch *open;   /* allows loopback */
	struct fetch *closed; /* allows nothing special */
};

static int
setup(void **state)
{
	static const char *loopback[] = { "127.0.0.0/8", "::1" };
	static const struct conf_list allow = { loopback, NELEM(loopback) };
	struct fetch_options o = { .timeout_ms = 400, .max_bytes = MAX_BYTES };
	struct fixture *t = calloc(1, sizeof(*t));
	struct err e;

	signal(SIGPIPE, SIG_IGN);
	t->http = stubhttp_start();
	t->a = arena_new(8 << 20);
	assert_int_equal(fetch_new(&o, &t->closed, &e), 0);
	o.allow = &allow;
	assert_int_equal(fetch_new(&o, &t->open, &e), 0);
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	fetch_free(t->open);
	fetch_free(t->closed);
	arena_free(t->a);
	stubhttp_stop(t->http);
	free(t);
	return 0;
}

static enum err_kind
get(struct fixture *t, struct fetch *f, const char *url,
	struct fetch_response *res)
{
	struct fetch_request req = { .url = url };
	struct fetch_response unused;
	struct err e;

	err_clear(&e);
	if (fetch_get(f, t->a, &req, res != NULL ? res : &unused, &e) == 0)
		return ERR_NONE;
	return e.kind;
}

static void
test_address(void **state)
{
	static const struct {
		const char *text;
		bool is_public;
	} cases[] = {
		{ "8.8.8.8", true },
		{ "1.1.1.1", true },
		{ "172.15.255.255", true },
		{ "172.32.0.0", true },
		{ "100.63.255.255", true },
		{ "100.128.0.0", true },
		{ "223.255.255.255", true },
		{ "0.0.0.0", false },
		{ "0.1.2.3", false },
		{ "10.0.0.1", false },
		{ "100.64.0.1", false },
		{ "100.100.100.200", false },
		{ "127.0.0.1", false },
		{ "127.255.255.254", false },
		{ "168.63.129.16", false },
		{ "169.254.169.254", false },
		{ "172.16.0.1", false },
		{ "172.31.255.255", false },
		{ "192.0.0.192", false },
		{ "192.0.2.1", false },
		{ "192.88.99.1", false },
		{ "192.168.0.1", false },
		{ "198.18.0.1", false },
		{ "198.19.255.255", false },
		{ "198.51.100.1", false },
		{ "203.0.113.1", false },
		{ "224.0.0.1", false },
		{ "239.255.255.255", false },
		{ "240.0.0.1", false },
		{ "255.255.255.255", false },
		{ "2606:4700:4700::1111", true },
		{ "2a00:1450:4001::1", true },
		{ "2001:4860:4860::8888", true },
		{ "::", false },
		{ "::1", false },
		{ "::127.0.0.1", false },
		{ "::8.8.8.8", false },
		{ "::ffff:127.0.0.1", false },
		{ "::ffff:169.254.169.254", false },
		{ "::ffff:8.8.8.8", true },
		{ "64:ff9b::8.8.8.8", true },
		{ "64:ff9b::10.0.0.1", false },
		{ "64:ff9b::a9fe:a9fe", false },
		{ "64:ff9b:1::8.8.8.8", false },
		{ "2002:0808:0808::1", true },
		{ "2002:7f00:0001::1", false },
		{ "2002:c0a8:0101::1", false },
		{ "2001::1", false },
		{ "2001:1ff:ffff::1", false },
		{ "2001:200::1", true },
		{ "2001:db8::1", false },
		{ "3fff:fff::1", false },
		{ "3fff:1000::1", true },
		{ "4000::1", false },
		{ "fc00::1", false },
		{ "fd00:ec2::254", false },
		{ "fe80::1", false },
		{ "fec0::1", false },
		{ "ff02::1", false },
		{ "100::1", false },
	};
	struct addr addr;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		if (!addr_parse(cases[i].text, &addr))
			fail_msg("%s does not parse", cases[i].text);
		if (addr_is_public(&addr) != cases[i].is_public)
			fail_msg("%s", cases[i].text);
	}
}

static void
test_cidr(void **state)
{
	static const char *const bad[] = { "", "/", "/8", "10.0.0.0/",
		"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/0008",
		"10.0.0.1/8", "10.0.0/8", "::/129", "fd00::1/8", "localhost",
		"10.0.0.0/8 ", " 10.0.0.0/8", "fe80::1%lo/64", "0x0a000000/8",
		/* longer than any address */
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1/8" };
	static const struct {
		const char *net, *addr;
		bool is_in;
	} cases[] = {
		{ "127.0.0.0/8", "127.9.9.9", true },
		{ "127.0.0.0/8", "128.0.0.0", false },
		{ "127.0.0.0/8", "::ffff:127.0.0.1", true },
		{ "127.0.0.0/8", "::1", false },
		{ "10.0.0.0/8", "64:ff9b::10.1.2.3", true },
		{ "10.0.0.0/8", "2002:a01:203::1", true },
		{ "192.168.4.0/22", "192.168.7.255", true },
		{ "192.168.4.0/22", "192.168.8.0", false },
		{ "10.1.2.3", "10.1.2.3", true },
		{ "10.1.2.3", "10.1.2.2", false },
		{ "::1", "::1", true },
		{ "fd00::/8", "fdff::1", true },
		{ "fd00::/8", "fe00::1", false },
		{ "0.0.0.0/0", "192.168.0.1", true },
		{ "0.0.0.0/0", "fd00::1", false },
		{ "::/0", "fd00::1", true },
	};
	struct addr_cidr c;
	struct addr addr;
	size_t i;

	for (i = 0; i < NELEM(bad); i++)
		if (addr_parse_cidr(bad[i], &c))
			fail_msg("accepted: %s", bad[i]);
	for (i = 0; i < NELEM(cases); i++) {
		assert_true(addr_parse_cidr(cases[i].net, &c));
		assert_true(addr_parse(cases[i].addr, &addr));
		if (addr_in(&addr, &c) != cases[i].is_in)
			fail_msg("%s in %s", cases[i].addr, cases[i].net);
	}
}

static void
test_bad_allow(void **state)
{
	static const char *item[] = { "127.0.0.0/8", "intranet" };
	struct conf_list allow = { item, 2 };
	struct fetch_options o = { 1000, 1000, &allow };
	struct fetch *f;
	struct err e;

	assert_int_equal(fetch_new(&o, &f, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_null(f);
}

static void
test_get(void **state)
{
	struct fixture *t = *state;
	struct fetch_response res;
	int before = stubhttp_connections(t->http), i;

	stubhttp_set(t->http, "/doc", 200, "{\"a\":1}");
	for (i = 0; i < 3; i++) {
		assert_int_equal(
			get(t, t->open, stubhttp_url(t->http, "/doc"), &res),
			ERR_NONE);
		assert_int_equal(res.status, 200);
		assert_int_equal(res.body_len, 7);
		assert_string_equal(res.body, "{\"a\":1}");
		assert_string_equal(res.content_type, "application/json");
	}
	/* one connection for all three */
	assert_int_equal(stubhttp_connections(t->http), before + 1);

	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/none"), &res),
		ERR_NONE);
	assert_int_equal(res.status, 404);
	assert_int_equal(res.body_len, 0);
	assert_string_equal(res.content_type, "");
}

static void
test_request_headers(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .bearer = "sesame", .accept = "a/b" };
	struct fetch_response res;
	const char *head;
	struct err e;

	stubhttp_set(t->http, "/h", 200, "{}");
	req.url = stubhttp_url(t->http, "/h");
	assert_int_equal(fetch_get(t->open, t->a, &req, &res, &e), 0);
	head = stubhttp_request(t->http);
	assert_non_null(strstr(head, "\r\nAuthorization: Bearer sesame\r\n"));
	assert_non_null(strstr(head, "\r\nAccept: a/b\r\n"));
	assert_non_null(strstr(head, "\r\nUser-Agent: mcp-fcgi/"));
	assert_null(strcasestr(head, "\r\nAccept-Encoding:"));
	assert_null(strcasestr(head, "\r\nCookie:"));

	/* and nothing of it in the next request */
	assert_int_equal(get(t, t->open, req.url, &res), ERR_NONE);
	head = stubhttp_request(t->http);
	assert_null(strcasestr(head, "Authorization"));
	assert_non_null(strstr(head, "\r\nAccept: application/json\r\n"));
}

static void
test_bearer_with_line_feed(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .bearer = "a\r\nX: y" };
	struct fetch_response res;
	struct err e;

	req.url = stubhttp_url(t->http, "/h");
	assert_int_equal(fetch_get(t->open, t->a, &req, &res, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
}

static void
test_post(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .user_agent = "probe/1" };
	struct fetch_response res;
	const char *head;
	struct err e;

	stubhttp_set_raw(t->http, "/post",
		"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n"
		"WWW-Authenticate: Bearer resource_metadata=\"https://x/\"\r\n"
		"\r\n{}");
	req.url = stubhttp_url(t->http, "/post");
	assert_int_equal(
		fetch_post(t->open, t->a, &req, "{\"a\":[1]}", &res, &e), 0);
	assert_int_equal(res.status, 401);
	assert_string_equal(
		res.authenticate, "Bearer resource_metadata=\"https://x/\"");
	head = stubhttp_request(t->http);
	assert_memory_equal(head, "POST /post ", 11);
	assert_non_null(strstr(head, "\r\nUser-Agent: probe/1\r\n"));
	assert_non_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
	assert_string_equal(strstr(head, "\r\n\r\n"), "\r\n\r\n{\"a\":[1]}");
	/* the same guards */
	assert_int_equal(fetch_post(t->closed, t->a, &req, "{}", &res, &e), -1);
	assert_int_equal(e.kind, ERR_FORBIDDEN);

	/* and a GET after it is a GET */
	stubhttp_set(t->http, "/get", 200, "{}");
	assert_int_equal(
		get(t, t->open, stubhttp_url(t->http, "/get"), &res), ERR_NONE);
	assert_string_equal(res.authenticate, "");
	head = stubhttp_request(t->http);
	assert_memory_equal(head, "GET /get ", 9);
	assert_null(strstr(head, "Content-"));
	assert_non_null(strstr(head, "\r\nUser-Agent: mcp-fcgi/"));
	/* no agent at all */
	req.user_agent = "";
	req.url = stubhttp_url(t->http, "/get");
	assert_int_equal(fetch_get(t->open, t->a, &req, &res, &e), 0);
	assert_null(strstr(stubhttp_request(t->http), "User-Agent"));
}

/* Also: all the ways of writing 127.0.0.1 in a URL. */
static void
test_refused_addresses(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost", "0",
		"127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]" };
	struct fixture *t = *state;
	int before = stubhttp_connections(t->http);
	enum err_kind kind;
	size_t i;
	char *url;

	for (i = 0; i < NELEM(hosts); i++) {
		url = arena_printf(t->a, "http://%s:%d/doc", hosts[i],
			stubhttp_port(t->http));
		kind = get(t, t->closed, url, NULL);
		if (kind != ERR_FORBIDDEN)
			fail_msg("%s: %s", url, err_kind_name(kind));
	}
	assert_int_equal(stubhttp_connections(t->http), before);
	/* v4-mapped is what its IPv4 address is, also when allowed */
	url = arena_printf(t->a, "http://[::ffff:127.0.0.1]:%d/none",
		stubhttp_port(t->http));
	kind = get(t, t->open, url, NULL);
	assert_true(kind == ERR_NONE || kind == ERR_UNAVAILABLE);
}

static void
test_bad_urls(void **state)
{
	static const char *const urls[] = { "", "x", "file:///etc/passwd",
		"ftp://127.0.0.1/", "gopher://127.0.0.1/", "//127.0.0.1/",
		"http:/127.0.0.1/", "http://", "http:///x", "https://?x",
		"http://user:pass@127.0.0.1/", "http://u@127.0.0.1/",
		"http://127.0.0.1/a b", "http://127.0.0.1/\r\nX:y",
		"http://127.0.0.1/\xc3\xa9", " http://127.0.0.1/",
		"unix:/run/x.sock", "dict://127.0.0.1:11211/" };
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(urls); i++)
		if (get(t, t->open, urls[i], NULL) != ERR_INVALID)
			fail_msg("accepted: %s", urls[i]);
}

static void
test_no_redirect(void **state)
{
	struct fixture *t = *state;
	struct fetch_response res;

	stubhttp_set(t->http, "/target", 200, "{}");
	stubhttp_set_raw(t->http, "/moved",
		"HTTP/1.1 302 Found\r\nLocation: /target\r\n"
		"Content-Length: 0\r\n\r\n");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/moved"), &res),
		ERR_NONE);
	assert_int_equal(res.status, 302);
	assert_int_equal(stubhttp_hits(t->http, "/target"), 0);
}

/* HTTP_PROXY as a CGI request header would set it, and its relatives. */
static void
test_no_proxy_from_environment(void **state)
{
	static const char *const names[] = { "http_proxy", "HTTP_PROXY",
		"all_proxy", "ALL_PROXY", "https_proxy" };
	struct fixture *t = *state;
	size_t i;

	stubhttp_set(t->http, "/direct", 200, "{}");
	for (i = 0; i < NELEM(names); i++)
		setenv(names[i], "http://127.0.0.1:1", 1);
	assert_int_equal(
		get(t, t->open, stubhttp_url(t->http, "/direct"), NULL),
		ERR_NONE);
	for (i = 0; i < NELEM(names); i++)
		unsetenv(names[i]);
	assert_int_equal(stubhttp_hits(t->http, "/direct"), 1);
}

static void
test_size(void **state)
{
	struct fixture *t = *state;
	struct fetch_response res;
	char *body = arena_alloc(t->a, MAX_BYTES + 2);

	memset(body, 'x', MAX_BYTES + 1);
	body[MAX_BYTES + 1] = '\0';
	stubhttp_set(t->http, "/big", 200, body);
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/big"), &res),
		ERR_LIMIT);
	body[MAX_BYTES] = '\0';
	stubhttp_set(t->http, "/full", 200, body);
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/full"), &res),
		ERR_NONE);
	assert_int_equal(res.body_len, MAX_BYTES);

	/* no length, never ends */
	stubhttp_set_endless(t->http, "/endless",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx");
	assert_int_equal(
		get(t, t->open, stubhttp_url(t->http, "/endless"), &res),
		ERR_LIMIT);
	/* one chunk of 2 GB announced */
	stubhttp_set_endless(t->http, "/chunk",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"7fffffff\r\nx");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/chunk"), &res),
		ERR_LIMIT);
	/* an endless header */
	stubhttp_set_endless(t->http, "/header", "HTTP/1.1 200 OK\r\nX-A: a");
	assert_int_not_equal(
		get(t, t->open, stubhttp_url(t->http, "/header"), &res),
		ERR_NONE);
	/* and all is well afterwards */
	stubhttp_set(t->http, "/full", 200, "{}");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/full"), &res),
		ERR_NONE);
	assert_string_equal(res.body, "{}");
}

static void
test_lies(void **state)
{
	struct fixture *t = *state;
	struct fetch_response res;

	/* shorter than announced: cut off, not a document */
	stubhttp_set_raw(t->http, "/short",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/short"), &res),
		ERR_UNAVAILABLE);
	/* longer than announced: the rest does not count */
	stubhttp_set_raw(t->http, "/long",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}{}");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/long"), &res),
		ERR_NONE);
	assert_string_equal(res.body, "{}");
	/* compressed though not asked for: left as it is */
	stubhttp_set_raw(t->http, "/gzip",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
		"Content-Length: 4\r\n\r\n\x1f\x8b\x08\x01");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/gzip"), &res),
		ERR_NONE);
	assert_int_equal(res.body_len, 4);
	/* not HTTP */
	stubhttp_set_raw(t->http, "/0.9", "{\"keys\":[]}");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/0.9"), &res),
		ERR_UNAVAILABLE);
	stubhttp_set_raw(t->http, "/nul", "");
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/nul"), &res),
		ERR_UNAVAILABLE);
}

static void
test_time(void **state)
{
	struct fixture *t = *state;

	stubhttp_set(t->http, "/slow", 200, "{}");
	stubhttp_set_delay(t->http, "/slow", 1500);
	assert_int_equal(get(t, t->open, stubhttp_url(t->http, "/slow"), NULL),
		ERR_TIMEOUT);
	/* nobody there */
	assert_int_equal(
		get(t, t->open, "http://127.0.0.1:1/", NULL), ERR_UNAVAILABLE);
	/* no TLS there */
	assert_int_not_equal(get(t, t->open,
				     arena_printf(t->a, "https://127.0.0.1:%d/",
					     stubhttp_port(t->http)),
				     NULL),
		ERR_NONE);
}

/* RFC 6761 6.4: .invalid never resolves. */
static void
test_no_such_host(void **state)
{
	struct fixture *t = *state;
	enum err_kind kind = get(t, t->open, "http://host.invalid/", NULL);

	assert_true(kind == ERR_UNAVAILABLE || kind == ERR_TIMEOUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_cidr),
		cmocka_unit_test(test_bad_allow),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_request_headers),
		cmocka_unit_test(test_bearer_with_line_feed),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_refused_addresses),
		cmocka_unit_test(test_bad_urls),
		cmocka_unit_test(test_no_redirect),
		cmocka_unit_test(test_no_proxy_from_environment),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_no_such_host),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
