/* SPDX-License-Identifier: ISC */
/* tool_http: where arguments go, what comes back, what does not get out. */
#include "base/compat.h"

#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "net/fetch.h"
#include "run/call.h"
#include "run/outbound.h"
#include "run/tool_http.h"
#include "stubhttp.h"

enum { MAX_BYTES = 20000 };

struct fixture {
	struct stubhttp *http;
	struct arena *a;
	struct fetch *fetch;
	struct outbound_env env;
	struct call_answer answer;
	const char *config; /* members after base_url */
	int port;	    /* 0: the server's */
};

static char *
secret(void *arg, const char *name, struct err *e)
{
	if (strcmp(name, "KEY") == 0)
		return strdup("sesame/\"open\"");
	if (strcmp(name, "TOKEN") == 0)
		return strdup("t0ken-t0ken");
	if (strcmp(name, "LINE") == 0)
		return strdup("a\r\nX-Evil: 1");
	err_set(e, strcmp(name, "BROKEN") == 0 ? ERR_INVALID : ERR_NOTFOUND,
		NULL, "no secret %s", name);
	return NULL;
}

static int
setup(void **state)
{
	struct fetch_options o = { .timeout_ms = 5000, .max_bytes = 1000 };
	struct fixture *t = calloc(1, sizeof(*t));
	struct err e;

	signal(SIGPIPE, SIG_IGN);
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	t->http = stubhttp_start();
	t->a = arena_new(64 << 20);
	assert_int_equal(fetch_new(&o, &t->fetch, &e), 0);
	t->env.fetch = t->fetch;
	t->env.secret = secret;
	t->env.timeout_ms = 5000;
	t->env.max_bytes = MAX_BYTES;
	t->config = "";
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

static enum call_status
call(struct fixture *t, const char *definition, const char *args)
{
	const char *config = arena_printf(t->a,
		"{\"base_url\":\"http://127.0.0.1:%d/\","
		"\"allow\":[\"127.0.0.0/8\"]%s}",
		t->port > 0 ? t->port : stubhttp_port(t->http), t->config);
	struct tool_http *tool;
	struct err e;

	memset(&t->answer, 0, sizeof(t->answer));
	tool = tool_http_start(&t->env, t->a, config, definition, args,
		strlen(args), &t->answer);
	if (tool != NULL) {
		while (!tool_http_step(tool, &t->answer))
			assert_int_equal(
				fetch_poll(t->fetch, NULL, 0, 1000, &e), 0);
		tool_http_close(tool);
	}
	assert_non_null(t->answer.json);
	assert_int_equal(strlen(t->answer.json) >= t->answer.len, 1);
	return t->answer.status;
}

static bool
says(const struct fixture *t, const char *text)
{
	return memmem(t->answer.json, t->answer.len, text, strlen(text)) !=
	       NULL;
}

static void
test_parameters(void **state)
{
	static const struct {
		const char *path, *params, *args, *want;
	} cases[] = {
		{ "/a", "", "{}", "/a" },
		{ "/a b/c%20d", "", "{}", "/a%20b/c%20d" },
		/* paths */
		{ "/{id}", "{\"name\":\"id\",\"in\":\"path\"}",
			"{\"id\":\"a/b?c#d e\\u00e4%\"}",
			"/a%2Fb%3Fc%23d%20e%C3%A4%25" },
		{ "/x/{id}/y", "{\"name\":\"id\",\"in\":\"path\"}",
			"{\"id\":1234567890123}", "/x/1234567890123/y" },
		{ "/{id}", "{\"name\":\"id\",\"in\":\"path\"}",
			"{\"id\":[1,\"b,c\"]}", "/1,b%2Cc" },
		{ "/{id}", "{\"name\":\"id\",\"in\":\"path\"}",
			"{\"id\":{\"k\":1,\"l\":2}}", "/k,1,l,2" },
		{ "/{id}", "{\"name\":\"id\",\"in\":\"path\",\"explode\":true}",
			"{\"id\":{\"k\":1,\"l\":2}}", "/k=1,l=2" },
		{ "/{id}",
			"{\"name\":\"id\",\"in\":\"path\",\"style\":\"label\","
			"\"explode\":true}",
			"{\"id\":[1,2]}", "/.1.2" },
		{ "/a{id}",
			"{\"name\":\"id\",\"in\":\"path\","
			"\"style\":\"matrix\",\"explode\":true}",
			"{\"id\":[1,2]}", "/a;id=1;id=2" },
		{ "/a{id}",
			"{\"name\":\"id\",\"in\":\"path\","
			"\"style\":\"matrix\"}",
			"{\"id\":[1,2]}", "/a;id=1,2" },
		{ "/c/{path}",
			"{\"name\":\"path\",\"in\":\"path\","
			"\"reserved\":true}",
			"{\"path\":\"a/b c\"}", "/c/a/b%20c" },
		{ "/{id}", "{\"name\":\"id\",\"in\":\"path\",\"arg\":\"x\"}",
			"{\"id\":1,\"x\":2}", "/2" },
		/* queries */
		{ "/q", "{\"name\":\"a b\",\"in\":\"query\"}",
			"{\"a b\":\"c&d=e+f\"}", "/q?a%20b=c%26d%3De%2Bf" },
		{ "/q?v=1", "{\"name\":\"a\",\"in\":\"query\"}", "{\"a\":true}",
			"/q?v=1&a=true" },
		{ "/q", "{\"name\":\"a\",\"in\":\"query\"}", "{\"a\":null}",
			"/q" },
		{ "/q", "{\"name\":\"a\",\"in\":\"query\"}",
			"{\"a\":[1,\"b\"]}", "/q?a=1&a=b" },
		{ "/q",
			"{\"name\":\"a\",\"in\":\"query\","
			"\"explode\":false}",
			"{\"a\":[1,\"b,c\"]}", "/q?a=1,b%2Cc" },
		{ "/q", "{\"name\":\"a\",\"in\":\"query\"}",
			"{\"a\":{\"k\":1,\"l\":\"m\"}}", "/q?k=1&l=m" },
		{ "/q",
			"{\"name\":\"a\",\"in\":\"query\","
			"\"style\":\"spaceDelimited\"}",
			"{\"a\":[1,2]}", "/q?a=1%202" },
		{ "/q",
			"{\"name\":\"a\",\"in\":\"query\","
			"\"style\":\"pipeDelimited\"}",
			"{\"a\":[1,2]}", "/q?a=1%7C2" },
		{ "/q",
			"{\"name\":\"a\",\"in\":\"query\","
			"\"style\":\"deepObject\"}",
			"{\"a\":{\"k\":1,\"l\":{\"m\":[2]}}}",
			"/q?a[k]=1&a[l][m][0]=2" },
		{ "/q", "{\"name\":\"a[]\",\"in\":\"query\"}",
			"{\"a[]\":[1,2]}", "/q?a[]=1&a[]=2" },
		{ "/q",
			"{\"name\":\"a\",\"in\":\"query\","
			"\"content\":\"application/json\"}",
			"{\"a\":{\"k\":\"v\"}}",
			"/q?a=%7B%22k%22%3A%22v%22%7D" },
		{ "/q", "{\"name\":\"a\",\"in\":\"query\",\"reserved\":true}",
			"{\"a\":\"x:/y&z\"}", "/q?a=x:/y%26z" },
		{ "/q", "{\"name\":\"a\",\"in\":\"query\"}", "{\"a\":[]}",
			"/q" },
	};
	struct fixture *t = *state;
	const char *definition;
	char path[200];
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		definition = arena_printf(t->a,
			"{\"method\":\"GET\",\"path\":\"%s\",\"params\":[%s]}",
			cases[i].path, cases[i].params);
		call(t, definition, cases[i].args);
		if (sscanf(stubhttp_request(t->http), "GET %199s HTTP/1.1",
			    path) != 1 ||
			strcmp(path, cases[i].want) != 0)
			fail_msg(
				"case %zu: %s, not %s", i, path, cases[i].want);
	}
}

static void
test_headers(void **state)
{
	static const char definition[] =
		"{\"method\":\"GET\",\"path\":\"/h\",\"accept\":\"text/csv\","
		"\"params\":[{\"name\":\"X-Num\",\"in\":\"header\"},"
		"{\"name\":\"X-List\",\"in\":\"header\"},"
		"{\"name\":\"X-Own\",\"in\":\"header\",\"arg\":\"own\"}]}";
	static const char *const bad[] = { "Cookie", "Host", "Content-Length",
		"Proxy-Authorization", "X Y" };
	struct fixture *t = *state;
	const char *head;
	size_t i;

	t->config = ",\"headers\":{\"x-own\":\"ours\"}";
	stubhttp_set(t->http, "/h", 200, "{}");
	assert_int_equal(call(t, definition,
				 "{\"X-Num\":5,\"X-List\":[\"a\",2],\"own\":"
				 "\"theirs\"}"),
		CALL_OK);
	head = stubhttp_request(t->http);
	assert_non_null(strstr(head, "\r\nX-Num: 5\r\n"));
	assert_non_null(strstr(head, "\r\nX-List: a,2\r\n"));
	assert_non_null(strstr(head, "\r\nAccept: text/csv\r\n"));
	assert_non_null(strstr(head, "\r\nx-own: ours\r\n"));
	assert_null(strstr(head, "theirs"));
	assert_int_equal(
		call(t, definition, "{\"X-Num\":\"a\\r\\nX-Evil: 1\"}"),
		CALL_FAILED);
	assert_true(says(t, "\"code\":\"invalid_arguments\""));
	for (i = 0; i < NELEM(bad); i++) {
		assert_int_equal(
			call(t,
				arena_printf(t->a,
					"{\"method\":\"GET\",\"path\":\"/"
					"h\",\"params\":["
					"{\"name\":\"%s\",\"in\":\"header\"}]}",
					bad[i]),
				arena_printf(t->a, "{\"%s\":\"x\"}", bad[i])),
			CALL_FAILED);
	}
}

static void
test_bad_arguments(void **state)
{
	static const struct {
		const char *definition, *args, *says;
	} cases[] = {
		{ "{\"method\":\"GET\",\"path\":\"/{id}\",\"params\":["
		  "{\"name\":\"id\",\"in\":\"path\"}]}",
			"{}", "id: is required" },
		{ "{\"method\":\"GET\",\"path\":\"/{id}\",\"params\":["
		  "{\"name\":\"id\",\"in\":\"path\"}]}",
			"{\"id\":\"\"}", "must not be empty" },
		{ "{\"method\":\"GET\",\"path\":\"/{id}\",\"params\":["
		  "{\"name\":\"id\",\"in\":\"path\"}]}",
			"{\"id\":\"..\"}", "cannot be in a path" },
		{ "{\"method\":\"GET\",\"path\":\"/{id}\",\"params\":["
		  "{\"name\":\"id\",\"in\":\"path\",\"reserved\":true}]}",
			"{\"id\":\"a/../b\"}", "cannot be in a path" },
		{ "{\"method\":\"GET\",\"path\":\"/\",\"params\":["
		  "{\"name\":\"q\",\"in\":\"query\",\"required\":true}]}",
			"{}", "q: is required" },
		{ "{\"method\":\"POST\",\"path\":\"/\",\"body\":"
		  "{\"content_type\":\"application/json\","
		  "\"required\":true}}",
			"{}", "body: is required" },
		{ "{\"method\":\"POST\",\"path\":\"/\",\"body\":"
		  "{\"content_type\":\"application/json\"}}",
			"{\"body\":1,\"contentType\":\"text/plain\"}",
			"contentType" },
		{ "{\"method\":\"GET\",\"path\":\"/\"}", "[]",
			"no JSON object" },
		{ "{\"method\":\"GET\",\"path\":\"/\"}", "{",
			"no JSON object" },
		/* definitions that came to harm */
		{ "{\"path\":\"/\"}", "{}", "misconfigured" },
		{ "{\"method\":\"GET\",\"path\":\"x\"}", "{}",
			"misconfigured" },
		{ "{\"method\":\"GET\",\"path\":\"/{x}\"}", "{}",
			"misconfigured" },
		{ "{\"method\":\"GET\",\"path\":\"/{x\"}", "{}",
			"misconfigured" },
		{ "{\"method\":\"GET\",\"path\":\"/\",\"params\":["
		  "{\"name\":\"c\",\"in\":\"cookie\"}]}",
			"{\"c\":1}", "misconfigured" },
		{ "no", "{}", "misconfigured" },
		{ "{\"method\":\"get it\",\"path\":\"/\"}", "{}",
			"invalid_request" },
	};
	struct fixture *t = *state;
	int before = stubhttp_connections(t->http);
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		assert_int_equal(call(t, cases[i].definition, cases[i].args),
			CALL_FAILED);
		if (!says(t, cases[i].says))
			fail_msg("case %zu: %s", i, t->answer.json);
	}
	assert_int_equal(stubhttp_connections(t->http), before);
}

static void
test_bodies(void **state)
{
	static const struct {
		const char *type, *more, *args, *want_type, *want;
	} cases[] = {
		{ "application/json", "",
			"{\"body\":{\"n\": 12345678901234567890,\"s\":\"\\u00e4"
			"\"}}",
			"application/json",
			"{\"n\": 12345678901234567890,\"s\":\"\\u00e4\"}" },
		{ "application/merge-patch+json", "", "{\"input\":[1]}",
			"application/merge-patch+json", "[1]" },
		{ "application/json", "", "{\"body\":null}", "application/json",
			"null" },
		{ "application/x-www-form-urlencoded", "",
			"{\"body\":{\"a b\":\"c&d e\",\"n\":1,\"l\":[1,2],"
			"\"o\":{\"k\":1}}}",
			"application/x-www-form-urlencoded",
			"a+b=c%26d+e&n=1&l=1&l=2&o=%7B%22k%22%3A1%7D" },
		{ "application/x-www-form-urlencoded", ",\"deep\":true",
			"{\"body\":{\"o\":{\"k\":[\"x\",{\"y\":2}]},"
			"\"e\":[]}}",
			"application/x-www-form-urlencoded",
			"o[k][0]=x&o[k][1][y]=2" },
		{ "text/plain", "", "{\"body\":\"h\\u00e9\"}", "text/plain",
			"h\xc3\xa9" },
		{ "application/octet-stream", "",
			"{\"body\":{\"base64\":\"aGVsbG8=\"}}",
			"application/octet-stream", "hello" },
		{ "application/json",
			",\"content_types\":[\"text/x\",\"text/y\"]",
			"{\"body\":\"z\",\"contentType\":\"text/y\"}", "text/y",
			"z" },
	};
	struct fixture *t = *state;
	const char *head, *body;
	size_t i;

	stubhttp_set(t->http, "/b", 200, "{}");
	for (i = 0; i < NELEM(cases); i++) {
		assert_int_equal(call(t,
					 arena_printf(t->a,
						 "{\"method\":\"POST\","
						 "\"path\":\"/b\",\"body\":"
						 "{\"content_type\":\"%s\"%s}}",
						 cases[i].type, cases[i].more),
					 cases[i].args),
			CALL_OK);
		head = stubhttp_request(t->http);
		body = strstr(head, "\r\n\r\n") + 4;
		if (strcmp(body, cases[i].want) != 0)
			fail_msg("case %zu: %s", i, body);
		assert_non_null(strstr(
			head, arena_printf(t->a, "\r\nContent-Type: %s\r\n",
				      cases[i].want_type)));
	}
	/* without a body where it may be absent */
	assert_int_equal(
		call(t,
			"{\"method\":\"POST\",\"path\":\"/b\",\"body\":"
			"{\"content_type\":\"application/json\"}}",
			"{}"),
		CALL_OK);
	assert_null(strstr(stubhttp_request(t->http), "Content-Type"));
}

static void
test_multipart(void **state)
{
	struct fixture *t = *state;
	char boundary[80];
	const char *head, *type, *want;

	stubhttp_set(t->http, "/m", 200, "{}");
	assert_int_equal(
		call(t,
			"{\"method\":\"POST\",\"path\":\"/m\",\"body\":"
			"{\"content_type\":\"multipart/form-data\"}}",
			"{\"body\":{\"a\\\"\\r\\nb\":\"x\",\"n\":[1,{\"k\":2}],"
			"\"f\":{\"base64\":\"aGk=\",\"filename\":\"a\\\"b."
			"txt\","
			"\"mimeType\":\"text/plain\"}}}"),
		CALL_OK);
	head = stubhttp_request(t->http);
	type = strstr(head, "boundary=");
	assert_non_null(type);
	assert_int_equal(sscanf(type, "boundary=%79s", boundary), 1);
	want = arena_printf(t->a,
		"\r\n\r\n--%s\r\nContent-Disposition: form-data; "
		"name=\"a%%22%%0D%%0Ab\"\r\n\r\nx\r\n"
		"--%s\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n"
		"1\r\n"
		"--%s\r\nContent-Disposition: form-data; name=\"n\"\r\n"
		"Content-Type: application/json\r\n\r\n{\"k\":2}\r\n"
		"--%s\r\nContent-Disposition: form-data; name=\"f\"; "
		"filename=\"a%%22b.txt\"\r\nContent-Type: text/plain\r\n\r\n"
		"hi\r\n--%s--\r\n",
		boundary, boundary, boundary, boundary, boundary);
	assert_string_equal(strstr(head, "\r\n\r\n"), want);
	assert_int_equal(
		call(t,
			"{\"method\":\"POST\",\"path\":\"/m\",\"body\":"
			"{\"content_type\":\"multipart/form-data\"}}",
			"{\"body\":{\"f\":{\"base64\":\"a\"}}}"),
		CALL_FAILED);
	assert_int_equal(
		call(t,
			"{\"method\":\"POST\",\"path\":\"/m\",\"body\":"
			"{\"content_type\":\"multipart/form-data\"}}",
			"{\"body\":{\"f\":{\"base64\":\"\","
			"\"mimeType\":\"a/b\\r\\nX: y\"}}}"),
		CALL_FAILED);
}

static void
answer_with(struct fixture *t, const char *status, const char *type,
	const char *body, size_t len)
{
	struct buf b;

	buf_init(&b, t->a);
	buf_printf(&b,
		"HTTP/1.1 %s\r\nConnection: close\r\n"
		"Content-Length: %zu\r\n",
		status, len);
	if (type != NULL)
		buf_printf(&b, "Content-Type: %s\r\n", type);
	buf_puts(&b, "\r\n");
	buf_put(&b, body, len);
	stubhttp_set_bytes(t->http, "/r", b.data, b.len);
}

#define GET  "{\"method\":\"GET\",\"path\":\"/r\"}"
#define POST "{\"method\":\"POST\",\"path\":\"/r\"}"

static void
test_data(void **state)
{
	static const struct {
		const char *type, *body, *want;
	} cases[] = {
		{ "application/json", "{\"n\":12345678901234567890}",
			"{\"n\":12345678901234567890}" },
		{ "application/vnd.x+json; charset=utf-8", "[1 ,2]", "[1 ,2]" },
		{ "application/json", "\xef\xbb\xbf{}", "{}" },
		{ "application/json", "", "null" },
		{ "application/json", " \n", "null" },
		{ "application/json", "not json", "\"not json\"" },
		{ "application/json", "{\"a\":1}{}", "\"{\\\"a\\\":1}{}\"" },
		{ "text/plain", "{\"a\":1}", "{\"a\":1}" },
		{ "text/plain", "12", "\"12\"" },
		{ NULL, "[1]", "[1]" },
		{ NULL, "hello", "\"hello\"" },
		{ "text/html", "{}", "\"{}\"" },
		{ "text/html", "<p>\xc3\xa4", "\"<p>\xc3\xa4\"" },
		{ "text/plain; charset=ISO-8859-1", "\xe4", "\"\xc3\xa4\"" },
		{ "text/plain", "\xe4", "\"\xef\xbf\xbd\"" },
		{ "application/x-custom", "text after all",
			"\"text after all\"" },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		answer_with(t, "200 OK", cases[i].type, cases[i].body,
			strlen(cases[i].body));
		assert_int_equal(call(t, GET, "{}"), CALL_OK);
		if (t->answer.len != strlen(cases[i].want) ||
			memcmp(t->answer.json, cases[i].want, t->answer.len))
			fail_msg("case %zu: %s", i, t->answer.json);
		assert_null(t->answer.content);
	}
	answer_with(t, "204 No Content", NULL, "", 0);
	assert_int_equal(call(t, GET, "{}"), CALL_OK);
	assert_true(says(t, "null"));
}

static void
test_files(void **state)
{
	struct fixture *t = *state;

	answer_with(t, "200 OK", "image/png", "\x89PNG\0\xff", 6);
	assert_int_equal(call(t, GET, "{}"), CALL_OK);
	assert_string_equal(
		t->answer.json, "{\"mimeType\":\"image/png\",\"bytes\":6}");
	assert_string_equal(t->answer.content,
		"[{\"type\":\"image\",\"data\":\"iVBORwD/\","
		"\"mimeType\":\"image/png\"}]");
	answer_with(t, "200 OK", "application/pdf", "%PDF\xff", 5);
	assert_int_equal(call(t, GET, "{}"), CALL_OK);
	assert_string_equal(t->answer.content,
		"[{\"type\":\"resource\",\"resource\":{\"uri\":"
		"\"attachment:response\",\"blob\":\"JVBERv8=\","
		"\"mimeType\":\"application/pdf\"}}]");
}

static void
test_errors(void **state)
{
	static const struct {
		const char *status, *body, *code, *message;
		bool is_retryable;
	} cases[] = {
		{ "400 Bad", "{\"message\":\"no name\"}", "bad_request",
			"no name", false },
		{ "401 No", "{\"error\":\"bad_token\"}", "unauthorized",
			"bad_token", false },
		{ "403 No", "{\"error\":{\"message\":\"not you\"}}",
			"forbidden", "not you", false },
		{ "404 No", "", "not_found",
			"The service answered with status 404", false },
		{ "409 No", "{\"title\":\"clash\"}", "conflict", "clash",
			false },
		{ "418 No", "[]", "client_error",
			"The service answered with status 418", false },
		{ "422 No", "{\"errors\":[{\"message\":\"first\"}]}",
			"unprocessable", "first", false },
		{ "429 No\r\nRetry-After: 7", "{\"detail\":\"slow\"}",
			"rate_limited", "slow (retry after 7 s)", true },
		{ "500 No", "{\"detail\":\"boom\"}", "upstream_error", "boom",
			true },
		{ "503 No", "", "unavailable",
			"The service answered with status 503", true },
		{ "304 No", "", "unexpected_status",
			"The service answered with status 304", false },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		answer_with(t, cases[i].status, "application/json",
			cases[i].body, strlen(cases[i].body));
		assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
		if (!says(t, arena_printf(t->a,
				     "{\"code\":\"%s\",\"message\":\"%s\","
				     "\"retryable\":%s,\"status\":%.3s",
				     cases[i].code, cases[i].message,
				     cases[i].is_retryable ? "true" : "false",
				     cases[i].status)))
			fail_msg("case %zu: %s", i, t->answer.json);
		if (cases[i].body[0] != '\0')
			assert_true(
				says(t, arena_printf(t->a, "\"details\":%s}",
						cases[i].body)));
		else
			assert_false(says(t, "details"));
	}
	/* what may have had an effect is not called harmless to repeat */
	answer_with(t, "500 No", "application/json", "{}", 2);
	assert_int_equal(call(t, POST, "{}"), CALL_FAILED);
	assert_true(says(t, "\"retryable\":false"));
}

static void
test_no_answer(void **state)
{
	struct fixture *t = *state;

	t->env.timeout_ms = 200;
	stubhttp_set(t->http, "/r", 200, "{}");
	stubhttp_set_delay(t->http, "/r", 500);
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "\"code\":\"timeout\""));
	assert_true(says(t, "\"retryable\":true"));
	assert_int_equal(call(t, POST, "{}"), CALL_UNKNOWN);
	assert_true(says(t, "may have taken effect"));
	assert_true(says(t, "\"retryable\":false"));
	/* the row may ask for less, not for more */
	t->env.timeout_ms = 5000;
	t->config = ",\"timeout_ms\":100";
	assert_int_equal(call(t, POST, "{}"), CALL_UNKNOWN);
	t->config = "";
	stubhttp_set_raw(t->http, "/r", "");
	assert_int_equal(call(t, POST, "{}"), CALL_UNKNOWN);
	assert_true(says(t, "\"code\":\"unavailable\""));
	/* never sent */
	t->port = 1;
	assert_int_equal(call(t, POST, "{}"), CALL_FAILED);
	assert_true(says(t, "could not be reached"));
	assert_true(says(t, "\"retryable\":true"));
	assert_false(says(t, "127."));
}

static void
test_forbidden_address(void **state)
{
	static const char definition[] = GET;
	struct fixture *t = *state;
	struct tool_http *tool;
	struct call_answer answer;
	struct err e;

	tool = tool_http_start(&t->env, t->a,
		arena_printf(t->a, "{\"base_url\":\"http://127.0.0.1:%d\"}",
			stubhttp_port(t->http)),
		definition, "{}", 2, &answer);
	assert_non_null(tool);
	while (!tool_http_step(tool, &answer))
		assert_int_equal(fetch_poll(t->fetch, NULL, 0, 1000, &e), 0);
	tool_http_close(tool);
	assert_int_equal(answer.status, CALL_FAILED);
	assert_non_null(strstr(answer.json, "network_forbidden"));
	assert_null(strstr(answer.json, "127.0"));
}

static void
test_secrets(void **state)
{
	struct fixture *t = *state;
	const char *head, *body;
	int before;

	t->config = ",\"headers\":{\"Authorization\":{\"secret\":\"TOKEN\","
		    "\"prefix\":\"Bearer \"},\"X-Fixed\":\"1\"},"
		    "\"query\":{\"key\":{\"secret\":\"KEY\"},\"v\":\"2\"}";
	/* an upstream that repeats all that it got */
	body = "{\"h\":\"Bearer t0ken-t0ken\",\"k\":\"sesame/\\\"open\\\"\","
	       "\"t\":\"t0ken-t0ke\",\"tt\":\"t0ken-t0ken-t0ken\"}";
	stubhttp_set(t->http, "/r?key=sesame%2F%22open%22&v=2", 200, body);
	assert_int_equal(call(t, GET, "{}"), CALL_OK);
	head = stubhttp_request(t->http);
	assert_non_null(
		strstr(head, "\r\nAuthorization: Bearer t0ken-t0ken\r\n"));
	assert_non_null(strstr(head, "\r\nX-Fixed: 1\r\n"));
	assert_string_equal(t->answer.json,
		"{\"h\":\"Bearer [secret]\",\"k\":\"[secret]\","
		"\"t\":\"t0ken-t0ke\",\"tt\":\"[secret]-t0ken\"}");
	stubhttp_set(t->http, "/r?key=sesame%2F%22open%22&v=2", 401,
		"{\"message\":\"bad token t0ken-t0ken\"}");
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "bad token [secret]"));
	assert_false(says(t, "t0ken"));

	before = stubhttp_connections(t->http);
	t->config = ",\"headers\":{\"X-A\":{\"secret\":\"KEY\"},"
		    "\"X-B\":{\"secret\":\"GONE\"}}";
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "credentials_missing"));
	t->config = ",\"query\":{\"X-A\":{\"secret\":\"BROKEN\"}}";
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "credentials_missing"));
	t->config = ",\"headers\":{\"X-A\":{\"secret\":\"LINE\"}}";
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "invalid_request"));
	assert_false(says(t, "Evil"));
	t->env.secret = NULL;
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "credentials_missing"));
	assert_int_equal(stubhttp_connections(t->http), before);
}

static void
test_config(void **state)
{
	static const char *const bad[] = { "no", "[]", "{}", "{\"base_url\":1}",
		"{\"base_url\":\"ftp://x/\"}",
		"{\"base_url\":\"http://u:p@x/\"}",
		"{\"base_url\":\"http://x/#f\"}",
		"{\"base_url\":\"http://x/\",\"headers\":[]}",
		"{\"base_url\":\"http://x/\",\"headers\":{\"A\":1}}",
		"{\"base_url\":\"http://x/\",\"headers\":{\"A\":{}}}",
		"{\"base_url\":\"http://x/\",\"headers\":{\"A B\":\"\"}}",
		"{\"base_url\":\"http://x/\",\"headers\":{\"Host\":\"y\"}}",
		"{\"base_url\":\"http://x/\",\"headers\":"
		"{\"A\":{\"secret\":\"S\",\"prefix\":1}}}",
		"{\"base_url\":\"http://x/\",\"headers\":"
		"{\"A\":{\"secret\":\"S\",\"prefix\":\"a\\nb\"}}}",
		"{\"base_url\":\"http://x/\",\"query\":{\"A\":null}}",
		"{\"base_url\":\"http://x/\",\"allow\":\"10.0.0.0/8\"}",
		"{\"base_url\":\"http://x/\",\"allow\":[\"10.0.0.1/8\"]}",
		"{\"base_url\":\"http://x/\",\"timeout_ms\":0}",
		"{\"base_url\":\"http://x/\",\"timeout_ms\":\"1\"}",
		"{\"base_url\":\"http://x/\",\"redirects\":11}" };
	struct fixture *t = *state;
	struct outbound o;
	size_t i;

	for (i = 0; i < NELEM(bad); i++)
		if (outbound_configure(t->a, bad[i], &o) == NULL)
			fail_msg("accepted: %s", bad[i]);
	assert_null(outbound_configure(t->a,
		"{\"url\":\"https://x/mcp\",\"headers\":{\"A\":\"b\"},"
		"\"era\":\"legacy\",\"redirects\":0}",
		&o));
	assert_string_equal(o.url, "https://x/mcp");
	assert_int_equal(o.redirects, 0);
}

static void
test_too_much(void **state)
{
	struct fixture *t = *state;
	char *big = arena_alloc(t->a, MAX_BYTES + 10);

	memset(big, 'x', MAX_BYTES + 9);
	big[MAX_BYTES + 9] = '\0';
	big[0] = '"';
	answer_with(t, "200 OK", "application/json", big, MAX_BYTES + 9);
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "\"code\":\"response_too_large\""));
	assert_true(says(t, "\"truncated\":true,\"preview\":\"\\\"xxx"));
	assert_true(says(t, "\"limitBytes\":20000"));
	assert_in_range(t->answer.len, 2000, 3000);
	assert_int_equal(call(t, POST, "{}"), CALL_FAILED);
	assert_true(says(t, "the call has taken effect"));
	answer_with(t, "200 OK", "text/plain", big, MAX_BYTES + 9);
	assert_int_equal(call(t, GET, "{}"), CALL_OK);
	assert_true(says(t, "\\n[truncated: the answer is longer than 20000 "
			    "bytes]\""));
	answer_with(t, "400 No", "application/json", big, MAX_BYTES + 9);
	assert_int_equal(call(t, GET, "{}"), CALL_FAILED);
	assert_true(says(t, "\"details\":{\"truncated\":true"));
}

static void
test_cancel(void **state)
{
	struct fixture *t = *state;
	struct call_answer answer;
	struct tool_http *tool;
	struct err e;

	stubhttp_set(t->http, "/r", 200, "{}");
	stubhttp_set_delay(t->http, "/r", 300);
	tool = tool_http_start(&t->env, t->a,
		arena_printf(t->a,
			"{\"base_url\":\"http://127.0.0.1:%d\","
			"\"allow\":[\"127.0.0.1\"]}",
			stubhttp_port(t->http)),
		GET, "{}", 2, &answer);
	assert_non_null(tool);
	assert_int_equal(fetch_poll(t->fetch, NULL, 0, 50, &e), 0);
	assert_false(tool_http_step(tool, &answer));
	tool_http_close(tool);
	assert_int_equal(fetch_pending(t->fetch), 0);
	tool_http_close(NULL);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_parameters),
		TEST(test_headers),
		TEST(test_bad_arguments),
		TEST(test_bodies),
		TEST(test_multipart),
		TEST(test_data),
		TEST(test_files),
		TEST(test_errors),
		TEST(test_no_answer),
		TEST(test_forbidden_address),
		TEST(test_secrets),
		TEST(test_config),
		TEST(test_too_much),
		TEST(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
