/* SPDX-License-Identifier: ISC */
/*
 * fetch: requests of every kind, many at once, along redirects and past names
 * that lie about where they lead.
 */
#include "base/compat.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"
#include "net/url.h"
#include "stubhttp.h"

enum { MAX_BYTES = 20000 };

/*
 * The resolver, for libcurl too: names below .test lead where the test says,
 * numbers to themselves.
 */
static const char *fake_addr[4]; /* of every name */
static int fake_asked;

#define EXPORTED __attribute__((__visibility__("default")))

EXPORTED int getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **out);
EXPORTED void freeaddrinfo(struct addrinfo *ai);

static struct addrinfo *
one(const char *text, const char *service, const struct addrinfo *hints)
{
	struct addrinfo *ai =
		calloc(1, sizeof(*ai) + sizeof(struct sockaddr_in6));
	struct sockaddr_in *in4 = (void *)(ai + 1);
	struct sockaddr_in6 *in6 = (void *)(ai + 1);
	uint16_t port = htons(
		(uint16_t)strtoul(service != NULL ? service : "0", NULL, 10));

	ai->ai_addr = (void *)(ai + 1);
	ai->ai_socktype = hints != NULL ? hints->ai_socktype : SOCK_STREAM;
	ai->ai_protocol = IPPROTO_TCP;
	if (inet_pton(AF_INET, text, &in4->sin_addr) == 1) {
		ai->ai_family = in4->sin_family = AF_INET;
		ai->ai_addrlen = sizeof(*in4);
		in4->sin_port = port;
		return ai;
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		ai->ai_family = in6->sin6_family = AF_INET6;
		ai->ai_addrlen = sizeof(*in6);
		in6->sin6_port = port;
		return ai;
	}
	free(ai);
	return NULL;
}

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
	struct addrinfo **out)
{
	struct addrinfo **end = out;
	size_t i;

	*out = NULL;
	if ((*out = one(node, service, hints)) != NULL)
		return 0;
	__atomic_add_fetch(&fake_asked, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < NELEM(fake_addr) && fake_addr[i] != NULL; i++) {
		*end = one(fake_addr[i], service, hints);
		assert(*end != NULL);
		end = &(*end)->ai_next;
	}
	return *out != NULL ? 0 : EAI_NONAME;
}

void
freeaddrinfo(struct addrinfo *ai)
{
	struct addrinfo *next;

	for (; ai != NULL; ai = next) {
		next = ai->ai_next;
		free(ai);
	}
}

struct fixture {
	struct stubhttp *http;
	struct stubhttp *other; /* another port is another origin */
	struct arena *a;
	struct fetch *f; /* allows nothing special */
	struct err e;
	struct fetch_response res;
};

static const char *loopback[] = { "127.0.0.0/8" };
static const struct conf_list LOOPBACK = { loopback, 1 };

static int
setup(void **state)
{
	struct fetch_options o = { .timeout_ms = 8000, .max_bytes = MAX_BYTES };
	struct fixture *t = calloc(1, sizeof(*t));

	signal(SIGPIPE, SIG_IGN);
	t->http = stubhttp_start();
	t->other = stubhttp_start();
	t->a = arena_new(64 << 20);
	assert_int_equal(fetch_new(&o, &t->f, &t->e), 0);
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	fetch_free(t->f);
	arena_free(t->a);
	stubhttp_stop(t->http);
	stubhttp_stop(t->other);
	free(t);
	return 0;
}

static enum err_kind
run(struct fixture *t, struct fetch_request *req, const char *url)
{
	req->url = url;
	if (req->allow == NULL)
		req->allow = &LOOPBACK;
	err_clear(&t->e);
	memset(&t->res, 0, sizeof(t->res));
	if (fetch_do(t->f, t->a, req, &t->res, &t->e) == 0)
		return ERR_NONE;
	return t->e.kind;
}

static void
redirect_to(struct stubhttp *s, const char *path, int status, const char *to)
{
	char raw[1024];

	snprintf(raw, sizeof(raw),
		"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 5\r\n"
		"Connection: close\r\n\r\nmoved",
		status, to);
	stubhttp_set_raw(s, path, raw);
}

static bool
sent(struct stubhttp *s, const char *text)
{
	return strcasestr(stubhttp_request(s), text) != NULL;
}

static void
test_methods(void **state)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH",
		"DELETE", "OPTIONS", "QUERY" };
	struct fixture *t = *state;
	struct fetch_request req = { 0 };
	char start[40];
	size_t i;

	stubhttp_set(t->http, "/m", 200, "{}");
	for (i = 0; i < NELEM(methods); i++) {
		req = (struct fetch_request){ .method = methods[i] };
		assert_int_equal(
			run(t, &req, stubhttp_url(t->http, "/m")), ERR_NONE);
		snprintf(
			start, sizeof(start), "%s /m HTTP/1.1\r\n", methods[i]);
		assert_memory_equal(
			stubhttp_request(t->http), start, strlen(start));
		assert_false(sent(t->http, "\r\nContent-Type:"));
		assert_false(sent(t->http, "\r\nExpect:"));
		assert_true(t->res.was_sent);

		req.body = "a=1&b=2";
		req.body_len = 3;
		req.content_type = "application/x-www-form-urlencoded";
		assert_int_equal(
			run(t, &req, stubhttp_url(t->http, "/m")), ERR_NONE);
		assert_memory_equal(
			stubhttp_request(t->http), start, strlen(start));
		assert_true(sent(t->http, "\r\nContent-Length: 3\r\n"));
		assert_true(sent(t->http,
			"\r\nContent-Type: application/x-www-form-urlencoded"));
		assert_string_equal(
			strstr(stubhttp_request(t->http), "\r\n\r\n"),
			"\r\n\r\na=1");
	}
	/* a body larger than what others wait for a 100 with */
	req = (struct fetch_request){ .body = arena_zalloc(t->a, 5000),
		.body_len = 5000 };
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/m")), ERR_NONE);
	assert_false(sent(t->http, "Expect:"));
	assert_true(sent(t->http, "Content-Type: application/json"));

	stubhttp_set_raw(t->http, "/head",
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
	req = (struct fetch_request){ .method = "HEAD" };
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/head")), ERR_NONE);
	assert_int_equal(t->res.body_len, 0);
	assert_string_equal(fetch_header(&t->res, "content-length"), "1000");

	req.method = "GET /x";
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/m")), ERR_INVALID);
	req.method = "CONNECT";
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/m")), ERR_INVALID);
}

static void
test_headers_and_query(void **state)
{
	static const struct fetch_header header[] = {
		{ "X-Plain", "a b", false },
		{ "X-Empty", "", false },
		{ "X-Key", "sesame", true },
		{ "accept", "text/plain", false },
	};
	static const struct fetch_header query[] = {
		{ "api key", "s&s=m/e?", true },
		{ "z", "\xc3\xa4", false },
	};
	static const struct {
		const char *name, *value;
	} bad[] = { { "X-A", "a\r\nX-B: b" }, { "X-A", "a\nb" }, { "X A", "a" },
		{ "", "a" }, { "X-A:", "a" }, { "X\r\nY", "" }, { "Host", "x" },
		{ "content-length", "1" }, { "Transfer-Encoding", "chunked" },
		{ "Proxy", "x" }, { "Proxy-Authorization", "x" },
		{ "Cookie", "a=b" }, { "Connection", "close" },
		{ "Upgrade", "h2c" } };
	struct fixture *t = *state;
	struct fetch_request req = { .header = header,
		.n_header = NELEM(header),
		.query = query,
		.n_query = NELEM(query) };
	const char *path = "/h?a=1&api%20key=s%26s%3Dm%2Fe%3F&z=%C3%A4";
	struct fetch_header one_bad;
	size_t i;

	stubhttp_set_raw(t->http, path,
		"HTTP/1.1 200 OK\r\nX-One: 1\r\nx-two:   2  \r\n"
		"Mcp-Session-Id: abc\r\nContent-Length: 2\r\n\r\n{}");
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/h?a=1#part")), ERR_NONE);
	assert_int_equal(t->res.status, 200);
	assert_true(sent(t->http, "\r\nX-Plain: a b\r\n"));
	assert_true(sent(t->http, "\r\nX-Empty:\r\n"));
	assert_true(sent(t->http, "\r\nX-Key: sesame\r\n"));
	assert_true(sent(t->http, "\r\naccept: text/plain\r\n"));
	assert_false(sent(t->http, "application/json"));
	assert_string_equal(fetch_header(&t->res, "MCP-SESSION-ID"), "abc");
	assert_string_equal(fetch_header(&t->res, "X-Two"), "2");
	assert_null(fetch_header(&t->res, "X-Three"));

	for (i = 0; i < NELEM(bad); i++) {
		one_bad.name = bad[i].name;
		one_bad.value = bad[i].value;
		one_bad.is_secret = i % 2;
		req = (struct fetch_request){ .header = &one_bad,
			.n_header = 1 };
		if (run(t, &req, stubhttp_url(t->http, "/h")) != ERR_INVALID)
			fail_msg("sent: %s", bad[i].name);
	}
}

/* One origin: method and body as RFC 9110 15.4 says. */
static void
test_redirect_methods(void **state)
{
	static const struct {
		int status;
		const char *from, *to;
		bool keeps_body;
	} cases[] = {
		{ 301, "GET", "GET", false },
		{ 301, "POST", "GET", false },
		{ 301, "PUT", "PUT", true },
		{ 302, "POST", "GET", false },
		{ 302, "DELETE", "DELETE", false },
		{ 303, "POST", "GET", false },
		{ 303, "PUT", "GET", false },
		{ 303, "GET", "GET", false },
		{ 307, "POST", "POST", true },
		{ 307, "GET", "GET", false },
		{ 308, "PATCH", "PATCH", true },
	};
	struct fixture *t = *state;
	struct fetch_request req;
	char start[40];
	size_t i;

	stubhttp_set(t->http, "/end", 200, "{\"end\":1}");
	for (i = 0; i < NELEM(cases); i++) {
		req = (struct fetch_request){ .method = cases[i].from,
			.bearer = "sesame",
			.redirects_max = 1 };
		if (strcmp(cases[i].from, "GET") != 0 &&
			strcmp(cases[i].from, "DELETE") != 0) {
			req.body = "{\"b\":1}";
			req.body_len = 7;
		}
		redirect_to(t->http, "/begin", cases[i].status, "/end");
		if (run(t, &req, stubhttp_url(t->http, "/begin")) != ERR_NONE)
			fail_msg("case %zu: %s", i, t->e.detail);
		assert_string_equal(t->res.body, "{\"end\":1}");
		snprintf(start, sizeof(start), "%s /end ", cases[i].to);
		if (strncmp(stubhttp_request(t->http), start, strlen(start)))
			fail_msg("case %zu: %s", i, stubhttp_request(t->http));
		assert_int_equal(
			sent(t->http, "{\"b\":1}"), cases[i].keeps_body);
		assert_int_equal(
			sent(t->http, "Content-Type"), cases[i].keeps_body);
		assert_true(sent(t->http, "Bearer sesame"));
	}
	/* not asked to follow: the redirect is the answer */
	req = (struct fetch_request){ 0 };
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/begin")), ERR_NONE);
	assert_int_equal(t->res.status, 308);
	assert_string_equal(t->res.body, "moved");
	/* nowhere to go */
	stubhttp_set(t->http, "/lost", 302, "{}");
	req.redirects_max = 3;
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/lost")), ERR_NONE);
	assert_int_equal(t->res.status, 302);
}

static void
test_redirect_chain(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .redirects_max = 4 };
	char from[20], to[20];
	int i;

	stubhttp_set(t->http, "/4", 200, "{}");
	for (i = 0; i < 4; i++) {
		snprintf(from, sizeof(from), "/%d", i);
		snprintf(to, sizeof(to), "/%d", i + 1);
		redirect_to(t->http, from, 302, to);
	}
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/0")), ERR_NONE);
	assert_int_equal(t->res.status, 200);
	req.redirects_max = 3;
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/0")), ERR_LIMIT);
	/* in a circle */
	redirect_to(t->http, "/4", 302, "/0");
	req.redirects_max = 20;
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/0")), ERR_LIMIT);
	/* slowly: the time is that of all hops */
	redirect_to(t->http, "/s", 302, "/s");
	stubhttp_set_delay(t->http, "/s", 100);
	req.timeout_ms = 450;
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/s")), ERR_TIMEOUT);
	assert_in_range(stubhttp_hits(t->http, "/s"), 3, 6);
}

static void
test_redirect_elsewhere(void **state)
{
	static const struct fetch_header header[] = {
		{ "X-Plain", "plain", false },
		{ "X-Key", "sesame", true },
	};
	struct fixture *t = *state;
	struct fetch_request req = { .bearer = "open",
		.header = header,
		.n_header = 2,
		.redirects_max = 5 };
	static const struct fetch_header query = { "key", "hidden", true };

	/* there and back: what was dropped does not return */
	redirect_to(
		t->http, "/x?key=hidden", 302, stubhttp_url(t->other, "/y"));
	redirect_to(t->other, "/y", 302, stubhttp_url(t->http, "/z"));
	stubhttp_set(t->http, "/z", 200, "{}");
	req.query = &query;
	req.n_query = 1;
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/x")), ERR_NONE);
	assert_int_equal(t->res.status, 200);
	assert_true(sent(t->other, "X-Plain: plain"));
	assert_false(sent(t->other, "sesame") || sent(t->other, "Authoriz") ||
		     sent(t->other, "hidden") || sent(t->other, "Referer"));
	assert_false(sent(t->http, "sesame") || sent(t->http, "Authoriz"));

	/* a body does not go elsewhere */
	stubhttp_set(t->other, "/post", 200, "{}");
	redirect_to(t->http, "/p", 307, stubhttp_url(t->other, "/post"));
	req = (struct fetch_request){
		.body = "{}", .body_len = 2, .redirects_max = 5
	};
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/p")), ERR_NONE);
	assert_int_equal(t->res.status, 307);
	assert_int_equal(stubhttp_hits(t->other, "/post"), 0);
	/* nor does what changes something */
	redirect_to(t->http, "/d", 307, stubhttp_url(t->other, "/post"));
	req = (struct fetch_request){ .method = "DELETE", .redirects_max = 5 };
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/d")), ERR_NONE);
	assert_int_equal(t->res.status, 307);
	assert_int_equal(stubhttp_hits(t->other, "/post"), 0);
	/* but a GET that a POST became does */
	req = (struct fetch_request){
		.body = "{}", .body_len = 2, .redirects_max = 5
	};
	redirect_to(t->http, "/q", 303, stubhttp_url(t->other, "/post"));
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/q")), ERR_NONE);
	assert_int_equal(t->res.status, 200);
	assert_memory_equal(stubhttp_request(t->other), "GET ", 4);
}

static void
test_redirect_to_forbidden(void **state)
{
	static const char *const to[] = { "http://169.254.169.254/latest/",
		"http://10.0.0.1/", "http://[::1]/", "http://192.168.1.1/",
		"http://[fd00:ec2::254]/", "http://metadata.test/",
		"http://0x7f.1.test/" };
	static const char *one_host[] = { "127.0.0.1/32" };
	static const struct conf_list allow = { one_host, 1 };
	struct fixture *t = *state;
	struct fetch_request req = { .redirects_max = 3, .allow = &allow };
	static const char *const odd[] = { "file:///etc/passwd",
		"gopher://127.0.0.1/", "ftp://127.0.0.1/",
		"http://user:pass@127.0.0.1/", "javascript:1" };
	size_t i;

	fake_addr[0] = "169.254.169.254";
	fake_addr[1] = NULL;
	for (i = 0; i < NELEM(to); i++) {
		redirect_to(t->http, "/out", 302, to[i]);
		if (run(t, &req, stubhttp_url(t->http, "/out")) !=
			ERR_FORBIDDEN)
			fail_msg("%s: %s", to[i], t->e.detail);
		assert_true(t->res.was_sent);
	}
	/* loopback, but not the one that is allowed */
	redirect_to(t->http, "/out", 302,
		arena_printf(
			t->a, "http://127.0.0.2:%d/", stubhttp_port(t->http)));
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/out")), ERR_FORBIDDEN);
	for (i = 0; i < NELEM(odd); i++) {
		enum err_kind kind;

		redirect_to(t->http, "/out", 302, odd[i]);
		kind = run(t, &req, stubhttp_url(t->http, "/out"));
		/* followed it is not: refused, or itself the answer */
		if (kind != ERR_INVALID &&
			!(kind == ERR_NONE && t->res.status == 302))
			fail_msg("%s: %s", odd[i], err_kind_name(kind));
	}
}

/* A name that leads to the world when looked at and home when connected to. */
static void
test_rebinding(void **state)
{
	struct fixture *t = *state;
	const struct conf_list none = { NULL, 0 };
	struct fetch_request req = { .allow = &none, .timeout_ms = 300 };
	int before = stubhttp_connections(t->http);
	const char *url = arena_printf(
		t->a, "http://rebind.test:%d/r", stubhttp_port(t->http));
	enum err_kind kind;

	stubhttp_set(t->http, "/r", 200, "{}");
	/* a public one (nobody is there), then a private one, in one answer */
	fake_addr[0] = "203.0.112.1";
	fake_addr[1] = "127.0.0.1";
	fake_addr[2] = NULL;
	kind = run(t, &req, url);
	assert_true(kind == ERR_FORBIDDEN || kind == ERR_TIMEOUT ||
		    kind == ERR_UNAVAILABLE);
	assert_false(t->res.was_sent);
	/* only the private one */
	url = arena_printf(
		t->a, "http://rebind2.test:%d/r", stubhttp_port(t->http));
	fake_addr[0] = "127.0.0.1";
	fake_addr[1] = NULL;
	assert_int_equal(run(t, &req, url), ERR_FORBIDDEN);
	fake_addr[0] = "::ffff:127.0.0.1";
	url = arena_printf(
		t->a, "http://rebind3.test:%d/r", stubhttp_port(t->http));
	assert_int_equal(run(t, &req, url), ERR_FORBIDDEN);
	assert_int_equal(stubhttp_connections(t->http), before);
	assert_true(fake_asked > 0);
}

/* What one source may, another may not: not even over the same connection. */
static void
test_kept_connection_is_checked(void **state)
{
	struct fixture *t = *state;
	const struct conf_list none = { NULL, 0 };
	static const char *elsewhere[] = { "10.0.0.0/8" };
	const struct conf_list other = { elsewhere, 1 };
	struct fetch_request req = { 0 }, closed = { .allow = &none };
	const char *url;
	int before;

	stubhttp_set(t->http, "/k", 200, "{}");
	fake_addr[0] = "127.0.0.1";
	fake_addr[1] = NULL;
	url = arena_printf(
		t->a, "http://kept.test:%d/k", stubhttp_port(t->http));
	assert_int_equal(run(t, &req, url), ERR_NONE);
	before = stubhttp_connections(t->http);
	assert_int_equal(run(t, &req, url), ERR_NONE);
	assert_int_equal(stubhttp_connections(t->http), before);
	assert_int_equal(stubhttp_hits(t->http, "/k"), 2);
	assert_int_equal(run(t, &closed, url), ERR_FORBIDDEN);
	assert_false(t->res.was_sent);
	closed.allow = &other;
	assert_int_equal(run(t, &closed, url), ERR_FORBIDDEN);
	assert_int_equal(stubhttp_hits(t->http, "/k"), 2);
	assert_int_equal(run(t, &req, url), ERR_NONE);
}

/* libcurl sends a request again when a kept connection ends without a byte:
 * the server may have done its part before. */
static void
test_nothing_is_sent_twice(void **state)
{
	struct fixture *t = *state;
	struct fetch_request get = { 0 };
	struct fetch_request post = { .body = "{}", .body_len = 2 };
	struct fetch_request delete = { .method = "DELETE" };

	stubhttp_set(t->http, "/alive", 200, "{}");
	stubhttp_set_raw(t->http, "/die", "");
	assert_int_equal(
		run(t, &get, stubhttp_url(t->http, "/alive")), ERR_NONE);
	assert_int_equal(
		run(t, &post, stubhttp_url(t->http, "/die")), ERR_UNAVAILABLE);
	assert_true(t->res.was_sent);
	assert_int_equal(stubhttp_hits(t->http, "/die"), 1);
	assert_int_equal(
		run(t, &get, stubhttp_url(t->http, "/alive")), ERR_NONE);
	assert_int_equal(run(t, &delete, stubhttp_url(t->http, "/die")),
		ERR_UNAVAILABLE);
	assert_int_equal(stubhttp_hits(t->http, "/die"), 2);
	/* nobody there: it was not sent */
	assert_int_equal(run(t, &post, "http://127.0.0.1:1/"), ERR_UNAVAILABLE);
	assert_false(t->res.was_sent);
	/* on its way when time was up */
	stubhttp_set_delay(t->http, "/alive", 600);
	post.timeout_ms = 200;
	assert_int_equal(
		run(t, &post, stubhttp_url(t->http, "/alive")), ERR_TIMEOUT);
	assert_true(t->res.was_sent);
}

static const char *
deflated(struct fixture *t, size_t len, const char *prefix, size_t *out_len)
{
	unsigned char *plain = arena_zalloc(t->a, len), *out;
	z_stream z = { 0 };
	uLong cap = compressBound((uLong)len) + 100;

	memset(plain, 'a', len);
	out = arena_alloc(t->a, cap + strlen(prefix));
	memcpy(out, prefix, strlen(prefix));
	assert_int_equal(
		deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	z.next_in = plain;
	z.avail_in = (uInt)len;
	z.next_out = out + strlen(prefix);
	z.avail_out = (uInt)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*out_len = strlen(prefix) + z.total_out;
	deflateEnd(&z);
	return (char *)out;
}

static void
test_compression(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n"
				   "Content-Encoding: gzip\r\n"
				   "Connection: close\r\n\r\n";
	struct fixture *t = *state;
	struct fetch_request req = { .may_compress = true };
	const char *raw;
	size_t len;

	raw = deflated(t, MAX_BYTES, head, &len);
	stubhttp_set_bytes(t->http, "/gz", raw, len);
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/gz")), ERR_NONE);
	assert_true(sent(t->http, "\r\nAccept-Encoding: "));
	assert_int_equal(t->res.body_len, MAX_BYTES);
	/* a thousand times what it looks like */
	raw = deflated(t, 4 << 20, head, &len);
	assert_in_range(len, 1, MAX_BYTES);
	stubhttp_set_bytes(t->http, "/bomb", raw, len);
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/bomb")), ERR_LIMIT);
	req.may_cut = true;
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/bomb")), ERR_NONE);
	assert_true(t->res.is_cut);
	assert_int_equal(t->res.body_len, MAX_BYTES);
}

static void
test_limits_of_one_request(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .max_bytes = 10 };
	struct buf b;
	int i;

	stubhttp_set(t->http, "/l", 200, "0123456789");
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/l")), ERR_NONE);
	stubhttp_set(t->http, "/l", 200, "0123456789a");
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/l")), ERR_LIMIT);
	req.may_cut = true;
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/l")), ERR_NONE);
	assert_string_equal(t->res.body, "0123456789");
	assert_true(t->res.is_cut);

	buf_init(&b, t->a);
	buf_puts(&b, "HTTP/1.1 200 OK\r\n");
	for (i = 0; i < 3000; i++)
		buf_printf(&b, "X-%d: %0100d\r\n", i, 0);
	buf_puts(&b, "Content-Length: 0\r\n\r\n");
	stubhttp_set_raw(t->http, "/head", b.data);
	req = (struct fetch_request){ 0 };
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/head")), ERR_LIMIT);
}

/*
 * Many at once.
 */

struct counter {
	struct fixture *t;
	int done, failed;
	struct fetch_call *other;
	bool starts_another;
};

static void
count_done(void *arg, const struct fetch_response *res, const struct err *e)
{
	struct counter *c = arg;
	struct fetch_request req = { .allow = &LOOPBACK };

	c->done++;
	c->failed += e != NULL || res->status != 200;
	if (c->other != NULL) {
		fetch_cancel(c->other);
		c->other = NULL;
	}
	if (c->starts_another) {
		c->starts_another = false;
		req.url = stubhttp_url(c->t->http, "/slow");
		assert_int_equal(fetch_start(c->t->f, c->t->a, &req, count_done,
					 c, NULL, &c->t->e),
			0);
	}
}

static void
drain(struct fixture *t)
{
	while (fetch_pending(t->f) > 0)
		assert_int_equal(fetch_poll(t->f, NULL, 0, 500, &t->e), 0);
}

static void
test_many(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .allow = &LOOPBACK };
	struct counter c = { .t = t };
	int64_t before;
	int i;

	stubhttp_set(t->http, "/slow", 200, "{}");
	stubhttp_set_delay(t->http, "/slow", 200);
	before = clock_mono_ms();
	for (i = 0; i < 10; i++) {
		req.url = stubhttp_url(t->http, "/slow");
		assert_int_equal(fetch_start(t->f, t->a, &req, count_done, &c,
					 NULL, &t->e),
			0);
	}
	assert_int_equal(c.done, 0);
	assert_int_equal(fetch_pending(t->f), 10);
	drain(t);
	assert_int_equal(c.done, 10);
	assert_int_equal(c.failed, 0);
	/* as long as one, not as ten */
	assert_in_range(clock_mono_ms() - before, 150, 1500);
}

static void
test_cancel_and_start_within(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .allow = &LOOPBACK };
	struct counter c = { .t = t, .starts_another = true };
	struct fetch_call *call;

	stubhttp_set(t->http, "/fast", 200, "{}");
	stubhttp_set(t->http, "/slow", 200, "{}");
	stubhttp_set_delay(t->http, "/slow", 200);
	req.url = stubhttp_url(t->http, "/slow");
	assert_int_equal(
		fetch_start(t->f, t->a, &req, count_done, &c, &call, &t->e), 0);
	c.other = call;
	req.url = stubhttp_url(t->http, "/fast");
	assert_int_equal(
		fetch_start(t->f, t->a, &req, count_done, &c, NULL, &t->e), 0);
	drain(t);
	/* fast, which cancelled slow and started one more */
	assert_int_equal(c.done, 2);
	assert_int_equal(c.failed, 0);
	fetch_cancel(NULL);

	/* one that is left behind goes with the handle */
	req.url = stubhttp_url(t->http, "/slow");
	assert_int_equal(
		fetch_start(t->f, t->a, &req, count_done, &c, NULL, &t->e), 0);
	assert_int_equal(fetch_poll(t->f, NULL, 0, 10, &t->e), 0);
	assert_int_equal(fetch_pending(t->f), 1);
}

static void
test_extra(void **state)
{
	struct fixture *t = *state;
	struct fetch_request req = { .allow = &LOOPBACK };
	struct counter c = { .t = t };
	struct pollfd extra[2];
	int one_pipe[2], other[2];
	int64_t before;

	assert_int_equal(pipe(one_pipe), 0);
	assert_int_equal(pipe(other), 0);
	extra[0] = (struct pollfd){ one_pipe[0], POLLIN, 0 };
	extra[1] = (struct pollfd){ other[0], POLLIN, 0 };
	stubhttp_set(t->http, "/slow", 200, "{}");
	stubhttp_set_delay(t->http, "/slow", 300);
	req.url = stubhttp_url(t->http, "/slow");
	assert_int_equal(
		fetch_start(t->f, t->a, &req, count_done, &c, NULL, &t->e), 0);
	assert_int_equal(write(other[1], "x", 1), 1);
	before = clock_mono_ms();
	do {
		assert_int_equal(fetch_poll(t->f, extra, 2, 1000, &t->e), 0);
	} while (extra[1].revents == 0);
	assert_in_range(clock_mono_ms() - before, 0, 200);
	assert_int_equal(extra[0].revents, 0);
	assert_int_equal(extra[1].revents, POLLIN);
	assert_int_equal(c.done, 0);
	/* the other end gone */
	close(one_pipe[1]);
	assert_int_equal(fetch_poll(t->f, extra, 1, 1000, &t->e), 0);
	assert_true(extra[0].revents != 0);
	close(one_pipe[0]);
	drain(t);
	assert_int_equal(c.done, 1);
	/* with nothing under way it waits for time and descriptors alone */
	before = clock_mono_ms();
	extra[0] = (struct pollfd){ other[0], POLLOUT, 0 };
	assert_int_equal(fetch_poll(t->f, NULL, 0, 50, &t->e), 0);
	assert_in_range(clock_mono_ms() - before, 40, 500);
	close(other[0]);
	close(other[1]);
}

struct taken {
	char text[200];
	int status;
	size_t enough;
};

static bool
take(void *arg, int status, const char *p, size_t len)
{
	struct taken *k = arg;
	size_t at = strlen(k->text);

	k->status = status;
	if (len >= sizeof(k->text) - at)
		len = sizeof(k->text) - at - 1;
	memcpy(k->text + at, p, len);
	k->text[at + len] = '\0';
	return strlen(k->text) < k->enough;
}

static void
test_stream(void **state)
{
	struct fixture *t = *state;
	struct taken k = { .enough = 1000 };
	struct fetch_request req = {
		.on_data = take, .on_data_arg = &k, .redirects_max = 1
	};

	stubhttp_set(t->http, "/s", 201, "data: 1\n\n");
	redirect_to(t->http, "/to", 302, "/s");
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/to")), ERR_NONE);
	assert_string_equal(k.text, "data: 1\n\n");
	assert_int_equal(k.status, 201);
	assert_int_equal(t->res.status, 201);
	assert_int_equal(t->res.body_len, 0);

	/* an endless one, until it is enough */
	k = (struct taken){ .enough = 50 };
	stubhttp_set_endless(
		t->http, "/e", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx");
	stubhttp_set(t->http, "/after", 200, "{}");
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/e")), ERR_NONE);
	assert_in_range(strlen(k.text), 50, sizeof(k.text));
	/* or too much, or too long */
	k = (struct taken){ .enough = 1000 };
	assert_int_equal(run(t, &req, stubhttp_url(t->http, "/e")), ERR_LIMIT);
	stubhttp_set_delay(t->http, "/s", 300);
	req.timeout_ms = 100;
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/s")), ERR_TIMEOUT);
	/* and all is well afterwards */
	req = (struct fetch_request){ 0 };
	assert_int_equal(
		run(t, &req, stubhttp_url(t->http, "/after")), ERR_NONE);
	assert_string_equal(t->res.body, "{}");
}

static void
test_url(void **state)
{
	static const struct {
		const char *base, *ref, *want;
	} resolve[] = {
		{ "http://a/b/c/d?q", "g", "http://a/b/c/g" },
		{ "http://a/b/c/d?q", "./g", "http://a/b/c/g" },
		{ "http://a/b/c/d?q", "/g", "http://a/g" },
		{ "http://a/b/c/d?q", "//g", "http://g" },
		{ "http://a/b/c/d?q", "?y", "http://a/b/c/d?y" },
		{ "http://a/b/c/d?q", "", "http://a/b/c/d" },
		{ "http://a/b/c/d?q", "..", "http://a/b/" },
		{ "http://a/b/c/d?q", "../g/", "http://a/b/g/" },
		{ "http://a/b/c/d?q", "../../../g", "http://a/g" },
		{ "http://a/b/c/d?q", "/./g/../h", "http://a/h" },
		{ "http://a/b/c/d?q", "g?y/../x", "http://a/b/c/g?y/../x" },
		{ "https://a", "v1", "https://a/v1" },
		{ "https://a/x", "https://b/y", "https://b/y" },
		{ "https://a/x", "ftp://b/y", NULL },
	};
	static const struct {
		const char *a, *b;
		bool is_same;
	} origin[] = {
		{ "http://a/", "http://A/x", true },
		{ "http://a:80/", "http://a", true },
		{ "https://a:443/", "https://a?x", true },
		{ "https://a:80/", "https://a/", false },
		{ "http://a/", "https://a/", false },
		{ "http://a:8080/", "http://a/", false },
		{ "http://a.b/", "http://a.bc/", false },
	};
	struct fixture *t = *state;
	const char *got;
	struct buf b;
	size_t i;

	for (i = 0; i < NELEM(resolve); i++) {
		got = url_resolve(t->a, resolve[i].base, resolve[i].ref);
		if (resolve[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, resolve[i].want);
	}
	for (i = 0; i < NELEM(origin); i++)
		if (url_same_origin(origin[i].a, origin[i].b) !=
			origin[i].is_same)
			fail_msg("%s %s", origin[i].a, origin[i].b);
	buf_init(&b, t->a);
	url_encode(&b, "a/b c?\xc3\xa4%~", 10, "");
	assert_string_equal(b.data, "a%2Fb%20c%3F%C3%A4%25~");
	buf_clear(&b);
	url_encode(&b, "a/b", 3, "/");
	assert_string_equal(b.data, "a/b");
	assert_non_null(url_check("http://a\\@b/"));
	assert_null(url_check("http://a/\\b"));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_methods),
		TEST(test_headers_and_query),
		TEST(test_redirect_methods),
		TEST(test_redirect_chain),
		TEST(test_redirect_elsewhere),
		TEST(test_redirect_to_forbidden),
		TEST(test_rebinding),
		TEST(test_kept_connection_is_checked),
		TEST(test_nothing_is_sent_twice),
		TEST(test_compression),
		TEST(test_limits_of_one_request),
		TEST(test_many),
		TEST(test_cancel_and_start_within),
		TEST(test_extra),
		TEST(test_stream),
		TEST(test_url),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
