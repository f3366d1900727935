/* SPDX-License-Identifier: ISC */
/* Goal: a request is read from CGI variables exactly, or refused. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "http/req.h"

static struct arena *arena;

static int
setup(void **state)
{
	arena = arena_new((size_t)8 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(arena);
	return 0;
}

static void
parse(struct req *r, const char *const *env)
{
	struct err e;

	err_clear(&e);
	assert_int_equal(req_parse(r, arena, env, &e), 0);
}

static void
refuse(const char *const *env)
{
	struct req r;
	struct err e;

	err_clear(&e);
	assert_int_equal(req_parse(&r, arena, env, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
}

static void
test_fields(void **state)
{
	const char *env[] = { "REQUEST_METHOD=POST",
		"REQUEST_URI=/mcp?x=1#y", "HTTP_HOST=h:80",
		"HTTP_AUTHORIZATION=Bearer  t ", "CONTENT_TYPE=application/json",
		"HTTP_ACCEPT=*/*", "HTTP_MCP_SESSION_ID=\t abc ",
		"HTTP_MCP_PROTOCOL_VERSION=2025-06-18", "HTTP_ORIGIN=null",
		"HTTP_LAST_EVENT_ID=7", "CONTENT_LENGTH=12", NULL };
	struct req r;

	parse(&r, env);
	assert_int_equal(r.method, REQ_POST);
	assert_string_equal(r.path, "/mcp");
	assert_string_equal(r.host, "h:80");
	assert_string_equal(r.authorization, "Bearer  t");
	assert_string_equal(r.content_type, "application/json");
	assert_string_equal(r.session_id, "abc");
	assert_string_equal(r.protocol_version, "2025-06-18");
	assert_string_equal(r.origin, "null");
	assert_string_equal(r.last_event_id, "7");
	assert_int_equal(r.content_length, 12);
	assert_int_equal(r.body_len, 0);
	assert_string_equal(r.body, "");
}

static void
test_absent(void **state)
{
	const char *env[] = { "REQUEST_METHOD=GET", "REQUEST_URI=/mcp", NULL };
	struct req r;

	parse(&r, env);
	assert_null(r.host);
	assert_null(r.authorization);
	assert_null(r.content_type);
	assert_null(r.accept);
	assert_null(r.session_id);
	assert_int_equal(r.content_length, -1);
	assert_int_equal(r.header_bytes, 0);
}

/* B-32: mod_rewrite renames the variable. */
static void
test_redirected_authorization(void **state)
{
	const char *env[] = { "REQUEST_METHOD=GET", "REQUEST_URI=/mcp",
		"REDIRECT_HTTP_AUTHORIZATION=Bearer r", NULL };
	const char *both[] = { "REQUEST_METHOD=GET", "REQUEST_URI=/mcp",
		"REDIRECT_HTTP_AUTHORIZATION=Bearer r",
		"HTTP_AUTHORIZATION=Bearer h", NULL };
	struct req r;

	parse(&r, env);
	assert_string_equal(r.authorization, "Bearer r");
	parse(&r, both);
	assert_string_equal(r.authorization, "Bearer h");
}

/* A name that only begins like the variable is another one. */
static void
test_names_are_whole(void **state)
{
	const char *env[] = { "REQUEST_METHOD=GET", "REQUEST_URI=/mcp",
		"HTTP_HOSTX=evil", "HTTP_AUTHORIZATION_X=Bearer x", NULL };
	struct req r;

	parse(&r, env);
	assert_null(r.host);
	assert_null(r.authorization);
}

static void
test_methods(void **state)
{
	static const struct {
		const char *line;
		enum req_method method;
	} CASES[] = {
		{ "REQUEST_METHOD=GET", REQ_GET },
		{ "REQUEST_METHOD=HEAD", REQ_HEAD },
		{ "REQUEST_METHOD=POST", REQ_POST },
		{ "REQUEST_METHOD=DELETE", REQ_DELETE },
		{ "REQUEST_METHOD=OPTIONS", REQ_OPTIONS },
		{ "REQUEST_METHOD=PUT", REQ_OTHER },
		{ "REQUEST_METHOD=get", REQ_OTHER },
		{ "REQUEST_METHOD=", REQ_OTHER },
	};
	const char *env[] = { NULL, "REQUEST_URI=/", NULL };
	struct req r;
	size_t i;

	for (i = 0; i < NELEM(CASES); i++) {
		env[0] = CASES[i].line;
		parse(&r, env);
		assert_int_equal(r.method, CASES[i].method);
	}
}

static void
test_paths(void **state)
{
	static const struct {
		const char *line;
		const char *path;
	} CASES[] = {
		{ "REQUEST_URI=/", "/" },
		{ "REQUEST_URI=/mcp", "/mcp" },
		{ "REQUEST_URI=/mcp?", "/mcp" },
		{ "REQUEST_URI=/mcp?access_token=x", "/mcp" },
		{ "REQUEST_URI=/%6dcp", "/%6dcp" },
		{ "REQUEST_URI=http://h/mcp?q", "/mcp" },
		{ "REQUEST_URI=HTTPS://h:1", "/" },
	};
	const char *env[] = { "REQUEST_METHOD=GET", NULL, NULL };
	struct req r;
	size_t i;

	for (i = 0; i < NELEM(CASES); i++) {
		env[1] = CASES[i].line;
		parse(&r, env);
		assert_string_equal(r.path, CASES[i].path);
	}
}

static void
test_refused(void **state)
{
	const char *no_method[] = { "REQUEST_URI=/", NULL };
	const char *no_uri[] = { "REQUEST_METHOD=GET", NULL };
	const char *bad_uri[] = { "REQUEST_METHOD=GET", "REQUEST_URI=*", NULL };
	const char *lengths[] = { "CONTENT_LENGTH=-1", "CONTENT_LENGTH=1x",
		"CONTENT_LENGTH= 1", "CONTENT_LENGTH=99999999999999999999",
		"CONTENT_LENGTH=0x10", "CONTENT_LENGTH=1, 1" };
	const char *env[] = { "REQUEST_METHOD=POST", "REQUEST_URI=/", NULL,
		NULL };
	size_t i;

	refuse(no_method);
	refuse(no_uri);
	refuse(bad_uri);
	for (i = 0; i < NELEM(lengths); i++) {
		env[2] = lengths[i];
		refuse(env);
	}
}

static void
test_header_bytes(void **state)
{
	const char *env[] = { "REQUEST_METHOD=GET", "REQUEST_URI=/",
		"HTTP_A=12", "HTTP_B=", "SERVER_NAME=x", NULL };
	struct req r;

	parse(&r, env);
	assert_int_equal(r.header_bytes, 9 + 7);
}

/* A body in pieces of at most 3 bytes. */
struct source {
	const char *data;
	size_t len;
	size_t at;
	bool breaks; /* fails instead of ending */
};

static ssize_t
read_source(void *arg, void *p, size_t len)
{
	struct source *s = arg;
	size_t n = s->len - s->at;

	if (n == 0)
		return s->breaks ? -1 : 0;
	if (n > 3)
		n = 3;
	if (n > len)
		n = len;
	memcpy(p, s->data + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static int
read_body(struct req *r, int64_t length, struct source *s, size_t max,
	struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->content_length = length;
	err_clear(e);
	return req_read(r, arena, max, read_source, s, e);
}

static void
test_read(void **state)
{
	struct source s = { "0123456789", 10, 0, false };
	struct req r;
	struct err e;

	assert_int_equal(read_body(&r, 10, &s, 10, &e), 0);
	assert_int_equal(r.body_len, 10);
	assert_string_equal(r.body, "0123456789");
	s.at = 0;
	assert_int_equal(read_body(&r, -1, &s, 10, &e), 0);
	assert_string_equal(r.body, "0123456789");
	s.at = 10;
	assert_int_equal(read_body(&r, 0, &s, 10, &e), 0);
	assert_int_equal(r.body_len, 0);
}

static void
test_read_limits(void **state)
{
	struct source s = { "0123456789", 10, 0, false };
	struct req r;
	struct err e;

	assert_int_equal(read_body(&r, 11, &s, 10, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(s.at, 0); /* refused before a byte was read */
	assert_int_equal(read_body(&r, -1, &s, 9, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	s.at = 0;
	assert_int_equal(read_body(&r, 11, &s, 20, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	s.at = 0;
	s.breaks = true;
	assert_int_equal(read_body(&r, -1, &s, 20, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
}

/* A chunked body larger than the first buffer. */
static void
test_read_grows(void **state)
{
	size_t len = 100000;
	char *data = arena_alloc(arena, len);
	struct source s = { data, len, 0, false };
	struct req r;
	struct err e;

	memset(data, 'x', len);
	assert_int_equal(read_body(&r, -1, &s, len, &e), 0);
	assert_int_equal(r.body_len, len);
	assert_memory_equal(r.body, data, len);
	assert_int_equal(r.body[len], 0);
}

static void
test_is_type(void **state)
{
	assert_true(req_is_type("application/json", "application/json"));
	assert_true(req_is_type("Application/JSON", "application/json"));
	assert_true(req_is_type("application/json; charset=utf-8",
		"application/json"));
	assert_true(req_is_type("application/json ;x", "application/json"));
	assert_false(req_is_type(NULL, "application/json"));
	assert_false(req_is_type("", "application/json"));
	assert_false(req_is_type("application/jsonp", "application/json"));
	assert_false(req_is_type("text/application/json", "application/json"));
	assert_false(req_is_type("text/plain; application/json",
		"application/json"));
	assert_false(req_is_type("application/json, text/plain",
		"application/json"));
}

static void
test_accepts(void **state)
{
	static const struct {
		const char *accept;
		bool json;
		bool sse;
	} CASES[] = {
		{ NULL, true, true },
		{ "*/*", true, true },
		{ "application/json", true, false },
		{ "text/event-stream", false, true },
		{ "application/json, text/event-stream", true, true },
		{ "text/event-stream , Application/JSON;q=0.5", true, true },
		{ "application/*", true, false },
		{ "text/*", false, true },
		{ "text/html", false, false },
		{ "", false, false },
		{ ",,", false, false },
		{ "application/json;q=0", false, false },
		{ "application/json;q=0.000", false, false },
		{ "application/json;q=0.001", true, false },
		{ "application/json; charset=x; q=0", false, false },
		{ "application/json;q=0, */*", false, true },
		{ "*/*, application/json;q=0", false, true },
		{ "*/*;q=0, application/json", true, false },
		{ "application/*;q=0, */*", false, true },
		{ "application/jsonx", false, false },
		{ "json", false, false },
	};
	size_t i;

	for (i = 0; i < NELEM(CASES); i++) {
		if (req_accepts(CASES[i].accept, "application/json") !=
			CASES[i].json)
			fail_msg("json: %s", CASES[i].accept);
		if (req_accepts(CASES[i].accept, "text/event-stream") !=
			CASES[i].sse)
			fail_msg("sse: %s", CASES[i].accept);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_redirected_authorization),
		cmocka_unit_test(test_names_are_whole),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_header_bytes),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_limits),
		cmocka_unit_test(test_read_grows),
		cmocka_unit_test(test_is_type),
		cmocka_unit_test(test_accepts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
