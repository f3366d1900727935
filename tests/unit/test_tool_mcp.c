/* SPDX-License-Identifier: ISC */
/*
 * tool_mcp, mcpimport: upstream servers of both eras, and all the ways they
 * have of answering, losing sessions and mislabelling.
 */
#include "base/compat.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "net/fetch.h"
#include "net/header.h"
#include "run/call.h"
#include "run/eventstream.h"
#include "run/mcpimport.h"
#include "run/mcpwire.h"
#include "run/outbound.h"
#include "run/tool_mcp.h"
#include "store/upstream.h"

/*
 * A server with a script: what has an id and a method gets the next answer,
 * $ID in it replaced; anything else is an aside and gets 202.  Shared memory.
 */
enum { STEPS_MAX = 16, TEXT_MAX = 8000 };

struct script {
	int n, served, asides;
	char answer[STEPS_MAX][TEXT_MAX];
	char asked[STEPS_MAX][TEXT_MAX];
	char aside[STEPS_MAX][TEXT_MAX];
};

struct fixture {
	struct script *script;
	pid_t pid;
	int port;
	struct arena *a;
	struct fetch *fetch;
	struct outbound_env env;
	struct call_answer answer;
	const char *more; /* of the config */
	const char *annotations;
	/* the store */
	char session[100], version[20];
	bool has_session, races;
	int saves, drops;
};

static void
serve_one(struct script *s, int fd)
{
	char in[TEXT_MAX], out[TEXT_MAX + 100], *id, *p, *at;
	size_t len = 0, want;
	ssize_t n;

	in[0] = '\0';
	while ((at = strstr(in, "\r\n\r\n")) == NULL) {
		if ((n = recv(fd, in + len, sizeof(in) - 1 - len, 0)) <= 0)
			return;
		in[len += (size_t)n] = '\0';
	}
	want = (size_t)(at - in) + 4;
	if ((p = strcasestr(in, "\r\nContent-Length:")) != NULL)
		want += strtoul(p + 17, NULL, 10);
	while (len < want) {
		if ((n = recv(fd, in + len, sizeof(in) - 1 - len, 0)) <= 0)
			return;
		in[len += (size_t)n] = '\0';
	}
	id = strstr(at, "\"id\":");
	if (id == NULL || strstr(at, "\"method\":") == NULL) {
		memcpy(s->aside[s->asides], in, len + 1);
		__atomic_add_fetch(&s->asides, 1, __ATOMIC_SEQ_CST);
		(void)!write(fd,
			"HTTP/1.1 202 Accepted\r\n"
			"Content-Length: 0\r\nConnection: close\r\n\r\n",
			64);
		return;
	}
	memcpy(s->asked[s->served], in, len + 1);
	if (s->served >= s->n)
		return;
	p = s->answer[s->served];
	__atomic_add_fetch(&s->served, 1, __ATOMIC_SEQ_CST);
	if (strcmp(p, "HANG") == 0) {
		(void)recv(fd, in, 1, 0);
		return;
	}
	len = 0;
	while (*p != '\0' && len < sizeof(out) - 30) {
		if (strncmp(p, "$ID", 3) == 0) {
			len += (size_t)snprintf(out + len, 30, "%lu",
				strtoul(id + 5, NULL, 10));
			p += 3;
		} else {
			out[len++] = *p++;
		}
	}
	(void)!write(fd, out, len);
}

static void
serve(struct script *s, int listener)
{
	int fd;

	for (;;) {
		if ((fd = accept(listener, NULL, NULL)) < 0)
			_exit(0);
		serve_one(s, fd);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
}

static int
setup(void **state)
{
	struct fetch_options o = { .timeout_ms = 5000, .max_bytes = 100000 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct fixture *t = calloc(1, sizeof(*t));
	socklen_t len = sizeof(sin);
	struct err e;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	t->script = mmap(NULL, sizeof(*t->script), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(t->script != MAP_FAILED);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	t->port = ntohs(sin.sin_port);
	if ((t->pid = fork()) == 0)
		serve(t->script, fd);
	close(fd);
	t->a = arena_new(256 << 20);
	assert_int_equal(fetch_new(&o, &t->fetch, &e), 0);
	t->env.fetch = t->fetch;
	t->env.timeout_ms = 5000;
	t->env.max_bytes = 100000;
	t->more = "";
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	fetch_free(t->fetch);
	arena_free(t->a);
	munmap(t->script, sizeof(*t->script));
	free(t);
	return 0;
}

static void
reset(struct fixture *t)
{
	struct err e;
	int i;

	/* what was sent without waiting */
	for (i = 0; i < 100 && fetch_pending(t->fetch) > 0; i++)
		assert_int_equal(fetch_poll(t->fetch, NULL, 0, 20, &e), 0);
	t->script->n = t->script->served = t->script->asides = 0;
	t->has_session = t->races = false;
	t->saves = t->drops = 0;
	t->more = "";
	t->annotations = NULL;
}

/* The next answer: STATUS with its reason, header lines, body. */
static void
then(struct fixture *t, const char *status, const char *headers,
	const char *body)
{
	snprintf(t->script->answer[t->script->n++], TEXT_MAX,
		"HTTP/1.1 %s\r\nConnection: close\r\n%s\r\n%s", status, headers,
		body);
}

#define JSON "Content-Type: application/json\r\n"
#define SSE  "Content-Type: text/event-stream\r\n"
#define INIT                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{"                         \
	"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"              \
	"\"serverInfo\":{\"name\":\"up\",\"version\":\"1\"}}}"
#define RESULT(r) "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":" r "}"
#define OK	  RESULT("{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
#define ERROR(code, text)                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{"                          \
	"\"code\":" #code ",\"message\":\"" text "\"}}"

static void
then_session(struct fixture *t, const char *id)
{
	then(t, "200 OK", arena_printf(t->a, JSON "Mcp-Session-Id: %s\r\n", id),
		INIT);
}

static int
find(void *arg, struct arena *a, struct upstream_session *out, struct err *e)
{
	struct fixture *t = arg;

	memset(out, 0, sizeof(*out));
	if (t->has_session) {
		out->session_id = arena_strdup(a, t->session);
		out->protocol_version = arena_strdup(a, t->version);
	}
	return 0;
}

static int
save(void *arg, struct arena *a, const struct upstream_session *s,
	bool *was_saved, struct err *e)
{
	struct fixture *t = arg;

	*was_saved = !t->races;
	t->has_session = true;
	t->saves++;
	snprintf(t->session, sizeof(t->session), "%s",
		t->races ? "theirs" : s->session_id);
	snprintf(t->version, sizeof(t->version), "%s", s->protocol_version);
	return 0;
}

static int
drop(void *arg, struct arena *a, const char *session_id, struct err *e)
{
	struct fixture *t = arg;

	assert_string_equal(session_id, t->session);
	t->has_session = false;
	t->drops++;
	return 0;
}

static enum call_status
call_with(struct fixture *t, const char *definition, const char *args,
	bool is_stored)
{
	struct tool_mcp_store store = { find, save, drop, t };
	struct tool_mcp_call call = {
		.config = arena_printf(t->a,
			"{\"url\":\"http://127.0.0.1:%d/mcp\","
			"\"allow\":[\"127.0.0.0/8\"]%s}",
			t->port, t->more),
		.definition = definition,
		.annotations = t->annotations,
		.args = args,
		.args_len = strlen(args),
	};
	struct tool_mcp *tool;
	struct err e;

	memset(&t->answer, 0, sizeof(t->answer));
	tool = tool_mcp_start(
		&t->env, is_stored ? &store : NULL, t->a, &call, &t->answer);
	if (tool != NULL) {
		while (!tool_mcp_step(tool, &t->answer))
			assert_int_equal(
				fetch_poll(t->fetch, NULL, 0, 1000, &e), 0);
		tool_mcp_close(tool);
	}
	assert_non_null(t->answer.json);
	t->answer.json = arena_memdup(t->a, t->answer.json, t->answer.len);
	return t->answer.status;
}

static enum call_status
call(struct fixture *t)
{
	return call_with(t, "{\"name\":\"Do It\"}", "{\"n\":1.50}", true);
}

static bool
says(const struct fixture *t, const char *text)
{
	return strstr(t->answer.json, text) != NULL;
}

static bool
asked(const struct fixture *t, int i, const char *text)
{
	return strstr(t->script->asked[i], text) != NULL;
}

static bool
aside(struct fixture *t, const char *text)
{
	struct err e;
	int i, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < t->script->asides; i++)
			if (strstr(t->script->aside[i], text) != NULL)
				return true;
		assert_int_equal(fetch_poll(t->fetch, NULL, 0, 20, &e), 0);
	}
	return false;
}

static void
test_session(void **state)
{
	struct fixture *t = *state;

	then_session(t, "s-1");
	then(t, "200 OK", JSON, OK);
	assert_int_equal(call(t), CALL_OK);
	assert_string_equal(t->answer.json, "\"done\"");
	assert_true(asked(t, 0, "\"method\":\"initialize\""));
	assert_true(asked(t, 0, "\"protocolVersion\":\"2025-11-25\""));
	assert_true(asked(
		t, 0, "\r\nAccept: application/json, text/event-stream\r\n"));
	assert_false(asked(t, 0, "MCP-Protocol-Version"));
	assert_true(asked(t, 1, "\r\nMcp-Session-Id: s-1\r\n"));
	assert_true(asked(t, 1, "\r\nMCP-Protocol-Version: 2025-06-18\r\n"));
	assert_true(asked(t, 1,
		"\"params\":{\"name\":\"Do It\","
		"\"arguments\":{\"n\":1.50}}}"));
	/* before the call */
	assert_int_equal(t->script->asides, 1);
	assert_non_null(
		strstr(t->script->aside[0], "\"notifications/initialized\""));
	assert_non_null(strstr(t->script->aside[0], "Mcp-Session-Id: s-1"));
	assert_int_equal(t->saves, 1);

	/* and the next call uses it */
	then(t, "200 OK", SSE, "data: " OK "\n\n");
	assert_int_equal(call(t), CALL_OK);
	assert_int_equal(t->script->served, 3);
	assert_true(asked(t, 2, "\r\nMcp-Session-Id: s-1\r\n"));
	assert_int_equal(t->saves, 1);

	/* another process was first */
	reset(t);
	t->races = true;
	then_session(t, "mine");
	then(t, "200 OK", JSON, OK);
	assert_int_equal(call(t), CALL_OK);
	assert_true(asked(t, 1, "Mcp-Session-Id: theirs"));
	assert_true(aside(t, "DELETE /mcp"));
	assert_true(aside(t, "Mcp-Session-Id: mine"));

	/* nowhere to keep it: ended with the call */
	reset(t);
	then_session(t, "once");
	then(t, "200 OK", JSON, OK);
	assert_int_equal(
		call_with(t, "{\"name\":\"x\"}", "{}", false), CALL_OK);
	assert_true(aside(t, "DELETE /mcp"));

	/* a server without sessions */
	reset(t);
	then(t, "200 OK", JSON, INIT);
	then(t, "200 OK", JSON, OK);
	assert_int_equal(
		call_with(t, "{\"name\":\"x\"}", "{}", false), CALL_OK);
	assert_false(asked(t, 1, "Mcp-Session-Id"));
}

static void
test_modern(void **state)
{
	static const char definition[] =
		"{\"name\":\"caf\xc3\xa9\",\"param_headers\":["
		"{\"name\":\"Region\",\"path\":[\"a\",\"region\"]},"
		"{\"name\":\"N\",\"path\":[\"n\"]},"
		"{\"name\":\"Gone\",\"path\":[\"gone\"]},"
		"{\"name\":\"Null\",\"path\":[\"null\"]}]}";
	struct fixture *t = *state;

	t->more = ",\"era\":\"modern\"";
	then(t, "200 OK", JSON,
		RESULT("{\"resultType\":\"complete\","
		       "\"structuredContent\":{\"big\":12345678901234567890},"
		       "\"content\":[]}"));
	assert_int_equal(
		call_with(t, definition,
			"{\"a\":{\"region\":\" x\"},\"n\":5,\"null\":null}",
			true),
		CALL_OK);
	assert_string_equal(t->answer.json, "{\"big\":12345678901234567890}");
	assert_int_equal(t->script->served, 1);
	assert_true(asked(t, 0, "\r\nMCP-Protocol-Version: 2026-07-28\r\n"));
	assert_true(asked(t, 0, "\r\nMcp-Method: tools/call\r\n"));
	assert_true(asked(t, 0, "\r\nMcp-Name: =?base64?Y2Fmw6k=?=\r\n"));
	assert_true(asked(t, 0, "\r\nMcp-Param-Region: =?base64?IHg=?=\r\n"));
	assert_true(asked(t, 0, "\r\nMcp-Param-N: 5\r\n"));
	assert_false(asked(t, 0, "Mcp-Param-Gone"));
	assert_false(asked(t, 0, "Mcp-Param-Null"));
	assert_true(asked(t, 0,
		"\"io.modelcontextprotocol/protocolVersion\":"
		"\"2026-07-28\""));
	assert_true(asked(t, 0,
		"\"io.modelcontextprotocol/"
		"clientCapabilities\":{}"));
	assert_false(asked(t, 0, "Mcp-Session-Id"));

	then(t, "200 OK", JSON, RESULT("{\"resultType\":\"input_required\"}"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"input_required\""));
	then(t, "400 Bad", JSON, ERROR(-32020, "Mcp-Param-X is missing"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"upstream_changed\""));
	then(t, "404 No", JSON, ERROR(-32601, "Method not found"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"upstream_changed\""));
	assert_int_equal(t->saves + t->drops, 0);
}

/* B-24: JSON labelled as events and the reverse, and what else is sent. */
static void
test_forms_of_answers(void **state)
{
	static const struct {
		const char *headers, *body;
	} cases[] = {
		{ JSON, OK },
		{ SSE, "data: " OK "\n\n" },
		{ SSE, OK },
		{ JSON, "data: " OK "\n\n" },
		{ "", "event: message\nid: 1\ndata: " OK "\n\n" },
		{ "Content-Type: text/html\r\n", "\n " OK },
		{ SSE, ": ping\n\nretry: 5\nid: 0\ndata:\n\ndata:" OK "\n\n" },
		{ SSE, "data: " OK "\r\n\r\n" },
		{ SSE, "\xef\xbb\xbf"
		       "data: " OK "\r\r" },
		{ SSE, "data: " OK }, /* cut before the empty line */
		{ SSE, "event: other\ndata: {}\n\ndata: not json\n\n"
		       "data: {\"jsonrpc\":\"2.0\",\"method\":"
		       "\"notifications/progress\",\"params\":{}}\n\n"
		       "data: {\"jsonrpc\":\"2.0\",\"id\":999999,"
		       "\"result\":{}}\n\ndata: " OK "\n\n" },
		{ JSON, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}," OK "]" },
		{ SSE, "data: {\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\n"
		       "data: \"result\":{\"content\":[{\"type\":\"text\","
		       "\"text\":\"done\"}]}}\n\n" },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		reset(t);
		t->has_session = true;
		snprintf(t->session, sizeof(t->session), "s");
		snprintf(t->version, sizeof(t->version), "2025-03-26");
		then(t, "200 OK", cases[i].headers, cases[i].body);
		if (call(t) != CALL_OK || !says(t, "done"))
			fail_msg("case %zu: %s", i, t->answer.json);
	}
}

static void
test_results(void **state)
{
	static const struct {
		const char *result, *want, *content;
	} cases[] = {
		{ "{\"content\":[]}", "null", NULL },
		{ "{}", "null", NULL },
		{ "{\"content\":[{\"type\":\"text\",\"text\":"
		  "\"{\\\"a\\\":1}\"}]}",
			"{\"a\":1}", NULL },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"12\"}]}",
			"\"12\"", NULL },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
		  "{\"type\":\"text\",\"text\":\"b\"}]}",
			"\"a\\nb\"", NULL },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],"
		  "\"structuredContent\":{\"b\": [1.0]}}",
			"{\"b\": [1.0]}", NULL },
		{ "{\"content\":[{\"type\":\"image\",\"data\":\"AA==\","
		  "\"mimeType\":\"image/png\"}]}",
			"null",
			"[{\"type\":\"image\",\"data\":\"AA==\","
			"\"mimeType\":\"image/png\"}]" },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		reset(t);
		t->more = ",\"era\":\"modern\"";
		then(t, "200 OK", JSON,
			arena_printf(t->a,
				"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":%"
				"s}",
				cases[i].result));
		if (call(t) != CALL_OK ||
			strcmp(t->answer.json, cases[i].want) != 0)
			fail_msg("case %zu: %s", i, t->answer.json);
		if (cases[i].content == NULL)
			assert_null(t->answer.content);
		else
			assert_memory_equal(t->answer.content, cases[i].content,
				t->answer.content_len);
	}
	reset(t);
	t->more = ",\"era\":\"modern\"";
	then(t, "200 OK", JSON,
		RESULT("{\"isError\":true,\"content\":["
		       "{\"type\":\"text\",\"text\":\"no such file\"}],"
		       "\"structuredContent\":{\"path\":\"/x\"}}"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_string_equal(t->answer.json,
		"{\"code\":\"tool_error\",\"message\":\"no such file\","
		"\"retryable\":false,\"details\":{\"path\":\"/x\"}}");
}

static void
with_session(struct fixture *t)
{
	reset(t);
	t->has_session = true;
	snprintf(t->session, sizeof(t->session), "old");
	snprintf(t->version, sizeof(t->version), "2025-06-18");
}

static void
test_lost_session(void **state)
{
	static const struct {
		const char *status, *body;
		bool is_refused; /* as a whole */
	} cases[] = {
		{ "404 Not Found", ERROR(-32001, "Session not found"), true },
		{ "404 Not Found", "", true },
		{ "404 Not Found", "<html>", true },
		{ "400 Bad Request",
			ERROR(-32000,
				"Bad Request: No valid session ID provided"),
			true },
		{ "400 Bad Request",
			ERROR(-32000, "Bad Request: Server not initialized"),
			true },
		{ "401 Unauthorized", "", true },
		{ "200 OK", ERROR(-32600, "Session terminated"), false },
		{ "200 OK", ERROR(-32603, "Server not initialized"), false },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		/* a new session and the call again, where that is safe */
		with_session(t);
		if (!cases[i].is_refused)
			t->annotations = "{\"idempotentHint\":true}";
		then(t, cases[i].status, JSON, cases[i].body);
		then_session(t, "new");
		then(t, "200 OK", JSON, OK);
		if (call(t) != CALL_OK)
			fail_msg("case %zu: %s", i, t->answer.json);
		assert_int_equal(t->script->served, 3);
		assert_true(asked(t, 0, "Mcp-Session-Id: old"));
		assert_false(asked(t, 1, "Mcp-Session-Id"));
		assert_true(asked(t, 2, "Mcp-Session-Id: new"));
		assert_int_equal(t->drops, 1);
		assert_int_equal(t->saves, 1);

		/* once */
		with_session(t);
		t->annotations = "{\"readOnlyHint\":true}";
		then(t, cases[i].status, JSON, cases[i].body);
		then_session(t, "new");
		then(t, cases[i].status, JSON, cases[i].body);
		assert_int_equal(call(t), CALL_FAILED);
		assert_int_equal(t->script->served, 3);

		/* not where it may have run */
		with_session(t);
		then(t, cases[i].status, JSON, cases[i].body);
		if (cases[i].is_refused)
			continue;
		assert_int_equal(call(t), CALL_FAILED);
		assert_true(says(t, "\"code\":\"session_lost\""));
		assert_true(says(t, "\"retryable\":true"));
		assert_int_equal(t->script->served, 1);
		assert_int_equal(t->drops, 1);
	}
	/* it failed in the middle of something */
	with_session(t);
	then(t, "500 Oops", JSON, ERROR(-32603, "session store: disk full"));
	then_session(t, "new");
	then(t, "200 OK", JSON, OK);
	assert_int_equal(call(t), CALL_UNKNOWN);
	assert_true(says(t, "\"code\":\"session_lost\""));
	assert_true(says(t, "\"retryable\":false"));
	assert_int_equal(t->script->served, 1);
	assert_int_equal(t->drops, 1);
	/* an error that has nothing to do with it */
	with_session(t);
	then(t, "200 OK", JSON, ERROR(-32602, "Unknown tool"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"invalid_arguments\""));
	assert_int_equal(t->drops, 0);
	then(t, "400 Bad Request", JSON, ERROR(-32602, "n: required"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"invalid_arguments\""));
	assert_int_equal(t->drops, 0);
	/* refused with and without a session */
	with_session(t);
	then(t, "401 No", "", "");
	then(t, "401 No", "", "");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"unauthorized\""));
	/* of another kind altogether */
	reset(t);
	then(t, "200 OK", JSON, RESULT("{\"protocolVersion\":\"1999-01-01\"}"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"upstream_changed\""));
}

static void
test_no_answer(void **state)
{
	struct fixture *t = *state;

	/* the stream ends before the answer */
	with_session(t);
	then(t, "200 OK", SSE, ": hello\n\n");
	assert_int_equal(call(t), CALL_UNKNOWN);
	assert_true(says(t, "without a result"));
	with_session(t);
	t->annotations = "{\"readOnlyHint\":true}";
	then(t, "200 OK", SSE, "");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"retryable\":true"));
	with_session(t);
	then(t, "500 Oops", "Content-Type: text/html\r\n", "<h1>");
	assert_int_equal(call(t), CALL_UNKNOWN);
	with_session(t);
	then(t, "503 Later", "", "");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"retryable\":true"));
	/* in time */
	with_session(t);
	t->more = ",\"timeout_ms\":200";
	then(t, "HANG", "", "");
	snprintf(t->script->answer[0], TEXT_MAX, "HANG");
	assert_int_equal(call(t), CALL_UNKNOWN);
	assert_true(says(t, "\"code\":\"timeout\""));
	assert_true(aside(t, "\"method\":\"notifications/cancelled\","
			     "\"params\":{\"requestId\":"));
	/* not even the handshake: nothing can have run */
	reset(t);
	t->more = ",\"timeout_ms\":200";
	then(t, "HANG", "", "");
	snprintf(t->script->answer[0], TEXT_MAX, "HANG");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"retryable\":true"));
	assert_int_equal(fetch_pending(t->fetch), 0);
}

/* What the server asks on the way. */
static void
test_requests_of_server(void **state)
{
	struct fixture *t = *state;

	with_session(t);
	then(t, "200 OK", SSE,
		"data: {\"jsonrpc\":\"2.0\",\"id\":\"p-1\","
		"\"method\":\"ping\"}\n\n"
		"data: {\"jsonrpc\":\"2.0\",\"id\":77,\"method\":"
		"\"elicitation/create\",\"params\":{}}\n\n"
		"data: " OK "\n\n");
	assert_int_equal(call(t), CALL_OK);
	assert_true(aside(t, "{\"jsonrpc\":\"2.0\",\"id\":\"p-1\","
			     "\"result\":{}}"));
	assert_true(aside(t, "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":"
			     "{\"code\":-32601,"));
	assert_true(aside(t, "Mcp-Session-Id: old"));
}

static void
test_cancel(void **state)
{
	struct tool_mcp_store store = { find, save, drop, *state };
	struct fixture *t = *state;
	struct tool_mcp_call c = {
		.definition = "{\"name\":\"x\"}", .args = "{}", .args_len = 2
	};
	struct tool_mcp *tool;
	struct err e;
	int i;

	with_session(t);
	snprintf(t->script->answer[t->script->n++], TEXT_MAX, "HANG");
	c.config = arena_printf(t->a,
		"{\"url\":\"http://127.0.0.1:%d/mcp\","
		"\"allow\":[\"127.0.0.1\"]}",
		t->port);
	tool = tool_mcp_start(&t->env, &store, t->a, &c, &t->answer);
	assert_non_null(tool);
	for (i = 0; i < 100 && t->script->served == 0; i++)
		assert_int_equal(fetch_poll(t->fetch, NULL, 0, 10, &e), 0);
	assert_false(tool_mcp_step(tool, &t->answer));
	tool_mcp_close(tool);
	assert_true(aside(t, "\"method\":\"notifications/cancelled\","
			     "\"params\":{\"requestId\":"));
	tool_mcp_close(NULL);
}

static char *
secret(void *arg, const char *name, struct err *e)
{
	return strdup("t0ken-t0ken");
}

static void
test_secrets(void **state)
{
	struct fixture *t = *state;

	t->env.secret = secret;
	t->more = ",\"era\":\"modern\",\"headers\":{\"Authorization\":"
		  "{\"secret\":\"T\",\"prefix\":\"Bearer \"}}";
	then(t, "200 OK", SSE,
		"data: " RESULT("{\"content\":["
				"{\"type\":\"text\",\"text\":\"got "
				"t0ken-t0ken\"}]}") "\n\n");
	assert_int_equal(call(t), CALL_OK);
	assert_true(asked(t, 0, "\r\nAuthorization: Bearer t0ken-t0ken\r\n"));
	assert_string_equal(t->answer.json, "\"got [secret]\"");
	then(t, "400 No", JSON, ERROR(-32000, "bad t0ken-t0ken"));
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "bad [secret]"));
}

/* A 403 that says which scopes are wanted. */
static void
test_scope(void **state)
{
	struct fixture *t = *state;
	char out[8];

	t->env.secret = secret;
	t->more = ",\"headers\":{\"Authorization\":"
		  "{\"secret\":\"T\",\"prefix\":\"Bearer \"}}";
	then_session(t, "one");
	then(t, "403 Forbidden",
		JSON "WWW-Authenticate: Basic realm=\"a, error=b\"\r\n"
		     "WWW-Authenticate: Bearer error=\"insufficient_scope\", "
		     "scope=\"files:read t0ken-t0ken \\\"x\\\"\", "
		     "resource_metadata=\"https://x/\"\r\n",
		"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32000,"
		"\"message\":\"no session for you\",\"data\":{\"a\":1}}}");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"oauth_scope_insufficient\""));
	assert_true(says(t, "asks for the scope files:read [secret]"));
	assert_true(says(t, "\"status\":403"));
	assert_true(says(t, "\"details\":{\"scope\":\"files:read [secret] "
			    "\\\"x\\\"\"}"));
	assert_int_equal(t->script->served, 2);
	then(t, "403 Forbidden",
		"WWW-Authenticate: Bearer Error = insufficient_scope\r\n", "");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"oauth_scope_insufficient\""));
	assert_false(says(t, "details"));
	then(t, "403 Forbidden",
		"WWW-Authenticate: Bearer error=\"invalid_token\", "
		"error_description=\"error=insufficient_scope\"\r\n",
		"");
	assert_int_equal(call(t), CALL_FAILED);
	assert_true(says(t, "\"code\":\"unauthorized\""));
	then(t, "401 Unauthorized",
		"WWW-Authenticate: Bearer error=insufficient_scope\r\n", "");
	then_session(t, "two");
	then(t, "200 OK", JSON, OK);
	assert_int_equal(call(t), CALL_OK);

	assert_true(header_auth_param("B x=\"1\\2\"", "X", out, 8));
	assert_string_equal(out, "12");
	assert_true(header_auth_param("B abc==, C y=1,z=\"\"", "z", out, 8));
	assert_string_equal(out, "");
	assert_true(header_auth_param("x=1234567", "x", out, 8));
	assert_false(header_auth_param("x=12345678", "x", out, 8));
	assert_false(header_auth_param("B x", "x", out, 8));
	assert_false(header_auth_param("\"x=1", "x", out, 8));
	assert_false(header_auth_param("y=\"x=1\\", "x", out, 8));
	assert_false(header_auth_param("", "x", out, 8));
}

static void
test_bad_rows(void **state)
{
	struct fixture *t = *state;

	assert_int_equal(call_with(t, "{}", "{}", true), CALL_FAILED);
	assert_true(says(t, "misconfigured"));
	assert_int_equal(
		call_with(t, "{\"name\":\"x\"}", "[]", true), CALL_FAILED);
	t->more = ",\"timeout_ms\":-1";
	assert_int_equal(call(t), CALL_FAILED);
	assert_int_equal(t->script->served, 0);
}

/*
 * Import.
 */

static int
import(struct fixture *t, struct mcpimport *out, struct err *e)
{
	return mcpimport_run(&t->env, t->a,
		arena_printf(t->a,
			"{\"url\":\"http://127.0.0.1:%d/mcp\","
			"\"allow\":[\"127.0.0.0/8\"]}",
			t->port),
		out, e);
}

static void
test_import_legacy(void **state)
{
	static const char *const probes[] = { "400 Bad Request",
		"404 Not Found", "405 Not Allowed", "500 Oops", "200 OK" };
	struct fixture *t = *state;
	struct mcpimport out;
	struct err e;
	size_t i;

	for (i = 0; i < NELEM(probes); i++) {
		reset(t);
		then(t, probes[i], JSON, ERROR(-32000, "session required"));
		then_session(t, "imp");
		then(t, "200 OK", JSON,
			RESULT("{\"tools\":["
			       "{\"name\":\"Get-It\",\"title\":\"T\","
			       "\"description\":\"d\",\"inputSchema\":"
			       "{\"type\": \"object\",\"x\":1.0},"
			       "\"outputSchema\":{\"type\":\"object\"},"
			       "\"annotations\":{\"readOnlyHint\": true}},"
			       "{\"name\":\"get.it\",\"inputSchema\":{}}],"
			       "\"nextCursor\":\"c\\\"1\"}"));
		then(t, "200 OK", SSE,
			"data: " RESULT("{\"tools\":["
					"{\"name\":\"rm\",\"inputSchema\":{},"
					"\"annotations\":{\"destructiveHint\":"
					"true,"
					"\"title\":\"Remove\"}},"
					"{\"name\":\"bad\"},{\"inputSchema\":{}"
					"},"
					"{\"name\":\"t\",\"inputSchema\":{},"
					"\"execution\":"
					"{\"taskSupport\":\"required\"}},"
					"{\"name\":\"---\",\"inputSchema\":{}}]"
					"}") "\n\n");
		if (import(t, &out, &e) != 0)
			fail_msg("%s: %s", probes[i], e.detail);
		assert_string_equal(out.era, "legacy");
		assert_string_equal(out.version, "2025-06-18");
		assert_string_equal(out.server, "up 1");
		assert_int_equal(out.n_tools, 4);
		assert_int_equal(out.n_refused, 3);
		assert_string_equal(out.tools,
			"[\n{\"name\":\"get_it\",\"title\":\"T\","
			"\"description\":\"d\",\"input_schema\":"
			"{\"type\": \"object\",\"x\":1.0},"
			"\"output_schema\":{\"type\":\"object\"},"
			"\"annotations\":{\"readOnlyHint\": true},"
			"\"definition\":{\"name\":\"Get-It\"}},"
			"\n{\"name\":\"get_it_2\",\"input_schema\":{},"
			"\"definition\":{\"name\":\"get.it\"}},"
			"\n{\"name\":\"rm\",\"title\":\"Remove\","
			"\"input_schema\":{},"
			"\"annotations\":{\"destructiveHint\":true,"
			"\"title\":\"Remove\"},\"needs_approval\":true,"
			"\"approval_text\":\"Remove\","
			"\"definition\":{\"name\":\"rm\"}},"
			"\n{\"name\":\"tool\",\"input_schema\":{},"
			"\"definition\":{\"name\":\"---\"}}]\n");
		assert_true(asked(t, 3, "\"cursor\":\"c\\\"1\""));
		assert_true(asked(t, 3, "Mcp-Session-Id: imp"));
		assert_true(aside(t, "DELETE /mcp"));
	}
}

static void
test_import_modern(void **state)
{
	struct fixture *t = *state;
	struct mcpimport out;
	struct err e;

	then(t, "200 OK", JSON,
		RESULT("{\"resultType\":\"complete\","
		       "\"supportedVersions\":[\"2026-07-28\"],"
		       "\"capabilities\":{},"
		       "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"
		       "{\"name\":\"new\",\"version\":\"2\"}}}"));
	then(t, "200 OK", JSON,
		RESULT("{\"resultType\":\"complete\","
		       "\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":"
		       "\"object\",\"properties\":{\"r\":{\"type\":\"string\","
		       "\"x-mcp-header\":\"Region\"},\"o\":{\"properties\":{"
		       "\"n\":"
		       "{\"type\":\"integer\",\"x-mcp-header\":\"N\"}}},"
		       "\"f\":{\"type\":\"number\",\"x-mcp-header\":\"F\"}}}}]"
		       "}"));
	if (import(t, &out, &e) != 0)
		fail_msg("%s", e.detail);
	assert_string_equal(out.era, "modern");
	assert_string_equal(out.server, "new 2");
	assert_int_equal(t->script->served, 2);
	assert_true(asked(t, 0, "\r\nMcp-Method: server/discover\r\n"));
	assert_true(asked(t, 1, "\r\nMcp-Method: tools/list\r\n"));
	assert_non_null(strstr(out.tools,
		"\"definition\":{\"name\":\"a\",\"param_headers\":["
		"{\"name\":\"Region\",\"path\":[\"r\"]},"
		"{\"name\":\"N\",\"path\":[\"o\",\"n\"]}]}"));
	assert_int_equal(t->script->asides, 0);
}

static void
test_import_faults(void **state)
{
	struct fixture *t = *state;
	struct mcpimport out;
	struct err e;

	then(t, "401 No", "WWW-Authenticate: Bearer\r\n", "");
	assert_int_equal(import(t, &out, &e), -1);
	assert_int_equal(e.kind, ERR_UNAUTH);
	reset(t);
	then(t, "404 No", "", "<html>");
	then(t, "404 No", "", "<html>");
	assert_int_equal(import(t, &out, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	/* a cursor that leads to itself */
	reset(t);
	then(t, "400 No", "", "");
	then_session(t, "s");
	then(t, "200 OK", JSON, RESULT("{\"tools\":[],\"nextCursor\":\"x\"}"));
	then(t, "200 OK", JSON, RESULT("{\"tools\":[],\"nextCursor\":\"x\"}"));
	assert_int_equal(import(t, &out, &e), -1);
	assert_non_null(strstr(e.detail, "again and again"));
	/* an address that is not allowed */
	assert_int_equal(mcpimport_run(&t->env, t->a,
				 "{\"url\":\"http://127.0.0.1:1/\"}", &out, &e),
		-1);
	assert_int_equal(e.kind, ERR_FORBIDDEN);
}

/* The same events however they are cut. */
static bool
collect(void *arg, const char *data, size_t len)
{
	struct buf *b = arg;

	buf_put(b, data, len);
	buf_putc(b, '|');
	return true;
}

static void
test_eventstream(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf: c\r\ndata: a\r\ndata:b\r\n\r\nevent: x\ndata: "
		"n\n"
		"\nid: 1\rdata: c: d\r\rdata\ndata:  e\n\ndatum: f\n\n";
	struct fixture *t = *state;
	struct eventstream s;
	struct buf got;
	size_t step, i, n;

	for (step = 1; step < sizeof(text); step++) {
		buf_init(&got, t->a);
		eventstream_init(&s, t->a, collect, &got);
		for (i = 0; i < sizeof(text) - 1; i += n) {
			n = sizeof(text) - 1 - i;
			if (n > step)
				n = step;
			assert_true(eventstream_feed(&s, text + i, n));
		}
		assert_string_equal(got.data, "a\nb|c: d|\n e|");
		assert_int_equal(s.kind, EVENTSTREAM_EVENTS);
	}
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_session),
		TEST(test_modern),
		TEST(test_forms_of_answers),
		TEST(test_results),
		TEST(test_lost_session),
		TEST(test_no_answer),
		TEST(test_requests_of_server),
		TEST(test_cancel),
		TEST(test_secrets),
		TEST(test_scope),
		TEST(test_bad_rows),
		TEST(test_import_legacy),
		TEST(test_import_modern),
		TEST(test_import_faults),
		TEST(test_eventstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
