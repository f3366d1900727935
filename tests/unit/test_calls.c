/* SPDX-License-Identifier: ISC */
/*
 * Programs with tools: calls and their answers, scripts, suspension.  The
 * host that answers is a table in this file.
 */
#include "base/compat.h"

#include "run/sandbox.h"

#include <sys/wait.h>

#include <poll.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

static const char *program;
static struct arena *arena;

/* The limits last as long as a sandbox. */
static struct sandbox_limits limits;

static int
set_up(void **state UNUSED)
{
	arena = arena_new(256 << 20);
	limits = (struct sandbox_limits){
		.program = program,
		.wall_ms = 20000,
		.cpu_ms = 10000,
		.heap_bytes = 64ULL << 20,
		.stack_bytes = 1 << 20,
		.output_bytes = 1 << 20,
		.log_lines = 1000,
		.calls_max = 200,
		.args_bytes = 1 << 20,
		.args_total_bytes = 8 << 20,
		.returns_bytes = 16 << 20,
		.kept_bytes = 16 << 20,
	};
	return 0;
}

/* Whatever happened: no child left. */
static int
tear_down(void **state UNUSED)
{
	arena_free(arena);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static void
wait_for(struct sandbox *sb)
{
	struct pollfd p = { .fd = sandbox_fd(sb),
		.events = sandbox_poll_events(sb) };
	int ms = sandbox_timeout_ms(sb);

	if (poll(&p, 1, ms < 0 || ms > 20000 ? 20000 : ms) < 0)
		fail_msg("poll: %s", strerror(errno));
}

/* The next event that is not NONE. */
static struct sandbox_event
next(struct sandbox *sb)
{
	struct sandbox_event ev;

	for (;;) {
		sandbox_next(sb, &ev);
		if (ev.kind != SANDBOX_EVENT_NONE)
			return ev;
		wait_for(sb);
	}
}

static struct sandbox_event
expect(struct sandbox *sb, enum sandbox_event_kind kind)
{
	struct sandbox_event ev = next(sb);

	if (ev.kind != kind && ev.result != NULL)
		fail_msg("event %d: %s, %s, %s", ev.kind,
			sandbox_status_name(ev.result->status),
			ev.result->message, ev.result->detail);
	assert_int_equal(ev.kind, kind);
	return ev;
}

static struct sandbox *
start(const char *code)
{
	const struct sandbox_program p = { .code = code,
		.code_len = strlen(code) };
	struct sandbox *sb = NULL;
	struct err e = { 0 };

	if (sandbox_start(&limits, &p, arena, &sb, &e) != 0)
		fail_msg("not started: %s", e.detail);
	return sb;
}

static void
answer(struct sandbox *sb, uint32_t number, enum sandbox_answer how,
	const char *json)
{
	struct err e = { 0 };

	if (sandbox_return(sb, number, how, json, strlen(json), &e) != 0)
		fail_msg("not answered: %s", e.detail);
}

static void
ok(struct sandbox *sb, uint32_t number, const char *json)
{
	answer(sb, number, SANDBOX_ANSWER_OK, json);
}

static const struct sandbox_result *
end(struct sandbox *sb)
{
	return expect(sb, SANDBOX_EVENT_END).result;
}

/* How the host answers by itself. */
static void
serve(struct sandbox *sb, const struct sandbox_call *c)
{
	char json[64];

	if (c->is_oneway)
		return;
	if (strcmp(c->path, "t.echo") == 0 || c->path[0] == '$') {
		ok(sb, c->number, arena_memdup(arena, c->args, c->args_len));
	} else if (strcmp(c->path, "t.number") == 0) {
		snprintf(json, sizeof(json), "%" PRIu32, c->number);
		ok(sb, c->number, json);
	} else if (strcmp(c->path, "t.fail") == 0) {
		answer(sb, c->number, SANDBOX_ANSWER_ERROR,
			"{\"code\":\"upstream\",\"message\":\"no\","
			"\"status\":502,\"retryable\":true}");
	} else if (strcmp(c->path, "t.throw") == 0) {
		answer(sb, c->number, SANDBOX_ANSWER_THROW,
			"{\"message\":\"Internal tool error [0badcafe]\"}");
	} else if (strcmp(c->path, "t.big") == 0) {
		ok(sb, c->number,
			"[9007199254740993,1e400,-0,1.10,\"\\u0000\"]");
	} else if (strcmp(c->path, "t.nonsense") == 0) {
		ok(sb, c->number, "{nonsense");
	} else {
		answer(sb, c->number, SANDBOX_ANSWER_ERROR,
			"{\"code\":\"tool_not_found\",\"message\":\"?\"}");
	}
}

static const struct sandbox_result *
serve_to_end(struct sandbox *sb)
{
	for (;;) {
		struct sandbox_event ev = next(sb);

		if (ev.kind == SANDBOX_EVENT_END)
			return ev.result;
		if (ev.kind == SANDBOX_EVENT_CALL)
			serve(sb, &ev.call);
		else
			assert_int_equal(ev.kind, SANDBOX_EVENT_IDLE);
	}
}

struct row {
	const char *name;
	const char *code;
	const char *json;    /* the result; NULL: it fails */
	const char *message; /* part of it */
	uint32_t line;
	const char *log; /* the first line; NULL: any */
};

static const struct row rows[] = {
	{ "data", "return await tools.t.echo({ a: [1, 'x'] })",
		"{\"ok\":true,\"data\":{\"a\":[1,\"x\"]}}" },
	{ "expression", "tools.t.echo({})", "{\"ok\":true,\"data\":{}}" },
	{ "no argument", "tools.t.echo()", "{\"ok\":true,\"data\":{}}" },
	{ "null argument", "tools.t.echo(null)", "{\"ok\":true,\"data\":{}}" },
	{ "first argument only", "tools.t.echo({ a: 1 }, { b: 2 })",
		"{\"ok\":true,\"data\":{\"a\":1}}" },
	{ "failure is a value", "tools.t.fail()",
		"{\"ok\":false,\"error\":{\"code\":\"upstream\","
		"\"message\":\"no\",\"status\":502,\"retryable\":true}}" },
	{ "fault is thrown", "\nawait tools.t.throw()", NULL,
		"Internal tool error [0badcafe]", 2 },
	{ "fault can be caught",
		"try { await tools.t.throw() } catch (e) { return e.message }",
		"\"Internal tool error [0badcafe]\"" },
	{ "fault has the line that called",
		"const a = await tools.t.echo()\n"
		"const p = tools.t.throw()\n\n\nawait p",
		NULL, "Internal tool error", 2 },
	{ "line after an await",
		"await tools.t.echo()\nawait tools.t.echo()\n\nnull.x", NULL,
		"TypeError", 4 },
	{ "line in a function after an await",
		"const f = async () => {\n  await tools.t.echo()\n"
		"  throw new Error('here')\n}\n\nawait f()",
		NULL, "here", 3 },
	{ "TypeScript",
		"interface A { a: number }\nconst x: A = { a: 1 }\n"
		"const r = await tools.t.echo(x)\nnull!.y as any",
		NULL, "TypeError", 4 },
	{ "exactly the JSON", "const r = await tools.t.big(); return r.data",
		"[9007199254740992,null,0,1.1,\"\xef\xbf\xbd\"]" },
	{ "answer that is no JSON", "tools.t.nonsense()", NULL, "is not JSON" },
	{ "names of any kind", "tools['t'].echo({ 'a b': 'ü' })",
		"{\"ok\":true,\"data\":{\"a b\":\"ü\"}}" },
	{ "unknown tool", "tools.no.such.thing()",
		"{\"ok\":false,\"error\":{\"code\":\"tool_not_found\","
		"\"message\":\"?\"}}" },
	{ "destructured", "const { echo } = tools.t; return echo({ a: 1 })",
		"{\"ok\":true,\"data\":{\"a\":1}}" },
	{ "as a callback",
		"const r = await Promise.all([1, 2].map(n => "
		"tools.t.echo({ n }))); return r.map(x => x.data.n)",
		"[1,2]" },
	{ "Map and Date are written",
		"tools.t.echo({ m: new Map([['k', 1]]), d: new Date(0) })",
		"{\"ok\":true,\"data\":{\"m\":{\"k\":1},"
		"\"d\":\"1970-01-01T00:00:00.000Z\"}}" },
	{ "undefined is left out", "tools.t.echo({ a: undefined, b: 1 })",
		"{\"ok\":true,\"data\":{\"b\":1}}" },

	/* what cannot be an argument */
	{ "text", "tools.t.echo('x')", NULL,
		"tools.t.echo takes one object", 1 },
	{ "array", "\ntools.t.echo([1])", NULL, "takes one object", 2 },
	{ "circle", "const a = {}; a.self = a; return tools.t.echo({ a })",
		NULL, "\"self\" refers to what it is in", 1 },
	{ "BigInt", "tools.t.echo({ n: 1n })", NULL, "\"n\" is a BigInt", 1 },
	{ "NaN", "tools.t.echo({ n: 0 / 0 })", NULL, "\"n\" is NaN", 1 },
	{ "function", "tools.t.echo({ f: () => 1 })", NULL,
		"\"f\" is a function", 1 },
	{ "promise", "tools.t.echo({ p: tools.t.echo() })", NULL,
		"\"p\" is a promise: await it first", 1 },
	{ "tool", "tools.t.echo({ p: tools.t.echo })", NULL,
		"\"p\" is a function", 1 },
	{ "NUL", "tools.t.echo({ p: 'a\\0b' })", NULL, "\"p\" holds NUL", 1 },
	{ "half a character", "tools.t.echo({ p: '\\ud800' })", NULL,
		"half a character", 1 },
	{ "too deep",
		"let a = {}; for (let i = 0; i < 70; i++) a = { a }; "
		"return tools.t.echo(a)",
		NULL, "nested too deeply", 1 },
	{ "too large", "tools.t.echo({ s: 'x'.repeat(2000000) })", NULL,
		"larger than 1048576 bytes", 1 },
	{ "throws on the way",
		"tools.t.echo({ get a() { throw new Error('mine') } })", NULL,
		"mine", 1 },

	/* what is not a tool */
	{ "root", "tools({})", NULL, "Tool path missing in invocation", 1 },
	{ "the host's own", "tools.$elicit({ message: 'x' })", NULL,
		"tools.$elicit is not the path of a tool", 1 },
	{ "long path", "tools['x'.repeat(300)]()", NULL,
		"is not the path of a tool", 1 },
	{ "then", "typeof tools.then + typeof tools.a.then", NULL },
	{ "symbols", "String(tools[Symbol.iterator])", "\"undefined\"" },
	{ "as text", "`${tools.a.b}` + tools", "\"[tools.a.b][tools]\"" },
	{ "Object.keys", "\nObject.keys(tools)", NULL,
		"tools cannot be listed", 2 },
	{ "for in", "for (const k in tools.a) ;", NULL, "tools.search", 1 },
	{ "in", "'a' in tools", NULL, "tools cannot be listed", 1 },
	{ "spread", "({ ...tools })", NULL, "tools cannot be listed", 1 },
	{ "assignment", "'use strict'; tools.a = 1", NULL,
		"tools cannot be changed", 1 },
	{ "shown", "console.log(tools.a); return 1", "1", NULL, 0,
		"[log] [tools.a]" },

	/* built in */
	{ "search", "tools.search({ query: 'x' })",
		"{\"query\":\"x\",\"limit\":12,\"offset\":0}" },
	{ "search all", "tools.search()",
		"{\"query\":\"\",\"limit\":12,\"offset\":0}" },
	{ "search more",
		"tools.search({ query: 'x', namespace: 'n', limit: 3, "
		"offset: 6 })",
		"{\"query\":\"x\",\"namespace\":\"n\",\"limit\":3,"
		"\"offset\":6}" },
	{ "search text", "tools.search('x')", NULL,
		"tools.search takes one object", 1 },
	{ "search query", "tools.search({ query: 1 })", NULL,
		"tools.search: query must be a string", 1 },
	{ "search namespace", "tools.search({ namespace: null })", NULL,
		"tools.search: namespace must be", 1 },
	{ "search limit", "tools.search({ limit: 0 })", NULL,
		"tools.search: limit must be", 1 },
	{ "search half", "tools.search({ limit: 1.5 })", NULL,
		"tools.search: limit must be", 1 },
	{ "search offset", "\ntools.search({ offset: -1 })", NULL,
		"tools.search: offset must be", 2 },
	{ "describe", "tools.describe({ path: 'a.b' })",
		"{\"path\":\"a.b\"}" },
	{ "describe by name", "tools.describe('tools.a.b')",
		"{\"path\":\"a.b\"}" },
	{ "describe a tool", "tools.describe({ path: tools.a.b })",
		"{\"path\":\"a.b\"}" },
	{ "describe nothing", "tools.describe({})", NULL,
		"tools.describe takes the path", 1 },
	{ "describe schemas",
		"tools.describe({ path: 'a', includeSchemas: true })", NULL,
		"includeSchemas", 1 },

	/* promises */
	{ "nobody's promise", "await new Promise(() => {})", NULL,
		"waits for a promise that nothing will settle", 0 },
	{ "nobody's promise after a call",
		"await tools.t.echo(); await new Promise(() => {})", NULL,
		"waits for a promise that nothing will settle", 0 },
	{ "nobody's promise beside a call",
		"await Promise.race([tools.t.echo({ a: 1 }), "
		"new Promise(() => {})])",
		"{\"ok\":true,\"data\":{\"a\":1}}" },
	{ "not awaited", "tools.t.echo(); tools.t.big(); return 1", "1", NULL,
		0,
		"[warn] The program ended while 2 of its tool calls were "
		"under way: tools.t.echo, tools.t.big" },
	{ "many, one after the other",
		"let s = 0; for (let i = 0; i < 150; i++) "
		"s += (await tools.t.number()).data; return s",
		"11325" },
	{ "many at once",
		"const r = await Promise.all(Array.from({ length: 150 }, () =>"
		" tools.t.number())); return r.reduce((a, x) => a + x.data, 0)",
		"11325" },
	{ "too many", "for (;;) await tools.t.echo()", NULL,
		"too many tool calls: a program has 200", 1 },
	{ "too many arguments",
		"for (;;) await tools.t.echo({ s: 'x'.repeat(1000000) })", NULL,
		"the arguments of all calls together are too large", 1 },
	{ "a spoilt world",
		"Object.prototype.then = f => f(1); Map.prototype.set = null;"
		"Promise.prototype.then = null; JSON.parse = null;"
		"Array.prototype.push = null; delete Object.prototype.then;"
		"const r = await tools.t.echo({ a: 1 }); return r.data.a",
		"1" },
};

static void
test_row(void **state)
{
	const struct row *row = *state;
	struct sandbox *sb = start(row->code);
	const struct sandbox_result *r = serve_to_end(sb);

	if (row->json == NULL && row->message == NULL) {
		assert_int_equal(r->status, SANDBOX_COMPLETED);
	} else if (row->json != NULL) {
		if (r->status != SANDBOX_COMPLETED)
			fail_msg("%s: %s (%s)", sandbox_status_name(r->status),
				r->message, r->detail);
		assert_string_equal(r->json, row->json);
	} else {
		assert_int_equal(r->status, SANDBOX_FAILED);
		if (strstr(r->message, row->message) == NULL)
			fail_msg("message: %s", r->message);
		if (row->line != 0)
			assert_int_equal(r->line, row->line);
	}
	if (row->log != NULL) {
		assert_true(r->log_count > 0);
		assert_string_equal(r->logs[0], row->log);
	}
	sandbox_close(sb);
}

static void
test_order(void **state UNUSED)
{
	struct sandbox *sb = start(
		"console.log('a');"
		"const p = [1, 2, 3].map(n => tools.t.wait({ n }));"
		"console.log('b');"
		"const first = (await Promise.race(p)).data;"
		"const all = (await Promise.all(p)).map(x => x.data);"
		"return { first, all }");
	struct err e = { 0 };

	for (uint32_t i = 1; i <= 3; i++) {
		struct sandbox_event ev = expect(sb, SANDBOX_EVENT_CALL);

		assert_int_equal(ev.call.number, i);
		assert_int_equal(ev.call.parent, 0);
		assert_string_equal(ev.call.path, "t.wait");
		assert_false(ev.call.is_oneway);
	}
	expect(sb, SANDBOX_EVENT_IDLE);
	assert_int_equal(sandbox_timeout_ms(sb), -1);
	/* numbers that are not open */
	assert_int_equal(
		sandbox_return(sb, 0, SANDBOX_ANSWER_OK, "1", 1, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_int_equal(
		sandbox_return(sb, 4, SANDBOX_ANSWER_OK, "1", 1, &e), -1);
	/* text that is none */
	assert_int_equal(
		sandbox_return(sb, 2, SANDBOX_ANSWER_OK, "\xff", 1, &e), -1);
	ok(sb, 3, "\"c\"");
	assert_true(sandbox_timeout_ms(sb) > 0);
	assert_int_equal(
		sandbox_return(sb, 3, SANDBOX_ANSWER_OK, "1", 1, &e), -1);
	expect(sb, SANDBOX_EVENT_IDLE);
	/* two at once: idle is said when both are taken */
	ok(sb, 1, "\"a\"");
	ok(sb, 2, "\"b\"");
	assert_string_equal(
		end(sb)->json, "{\"first\":\"c\",\"all\":[\"a\",\"b\",\"c\"]}");
	/* too late is no fault */
	ok(sb, 1, "1");
	assert_int_equal(end(sb)->log_count, 2);
	sandbox_close(sb);
}

/* While it waits for an answer a program has all the time in the world. */
static void
test_clock_stands_still(void **state UNUSED)
{
	struct sandbox *sb;
	const struct sandbox_result *r;

	limits.wall_ms = 400;
	sb = start("await tools.t.wait(); await tools.t.wait(); for (;;) ;");
	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(
			expect(sb, SANDBOX_EVENT_CALL).call.number, i);
		expect(sb, SANDBOX_EVENT_IDLE);
		poll(NULL, 0, 700);
		ok(sb, i, "1");
	}
	r = end(sb);
	assert_int_equal(r->status, SANDBOX_TIMED_OUT);
	assert_true(r->wall_ms >= 350 && r->wall_ms < 1000);
	sandbox_close(sb);

	limits.cpu_ms = 200;
	limits.wall_ms = 20000;
	sb = start("await tools.t.wait(); for (;;) ;");
	expect(sb, SANDBOX_EVENT_CALL);
	expect(sb, SANDBOX_EVENT_IDLE);
	ok(sb, 1, "1");
	assert_int_equal(end(sb)->status, SANDBOX_CPU);
	sandbox_close(sb);
}

/* Both sides have more to say than a socket holds. */
static void
test_no_deadlock(void **state UNUSED)
{
	static char big[1 << 20];
	struct sandbox *sb = start(
		"let n = 0; await Promise.all(Array.from({ length: 7 }, "
		"async () => { const r = await tools.t.a({ s: 'x'.repeat("
		"1000000) }); n += r.data.length }));"
		"for (let i = 0; i < 900; i++) console.log('y'.repeat(1000));"
		"return n");
	const struct sandbox_result *r;
	uint32_t count = 0;

	memset(big, 'z', sizeof(big));
	big[0] = big[sizeof(big) - 1] = '"';
	while (count < 7) {
		struct sandbox_event ev = expect(sb, SANDBOX_EVENT_CALL);
		struct err e = { 0 };

		assert_int_equal(ev.call.args_len, 1000008);
		count++;
		assert_int_equal(sandbox_return(sb, count, SANDBOX_ANSWER_OK,
					 big, sizeof(big), &e),
			0);
	}
	r = serve_to_end(sb);
	assert_int_equal(r->status, SANDBOX_COMPLETED);
	assert_string_equal(r->json, "7340018");
	assert_int_equal(r->log_count, 900);
	sandbox_close(sb);
}

static void
test_returns_are_bounded(void **state UNUSED)
{
	static char big[1 << 20];
	struct sandbox *sb;
	struct err e = { 0 };

	memset(big, '1', sizeof(big));
	limits.returns_bytes = 100000;
	sb = start("return await tools.t.a()");
	expect(sb, SANDBOX_EVENT_CALL);
	assert_int_equal(sandbox_return(sb, 1, SANDBOX_ANSWER_OK, big,
				 sizeof(big), &e),
		-1);
	assert_int_equal(e.kind, ERR_LIMIT);
	answer(sb, 1, SANDBOX_ANSWER_ERROR, "{\"code\":\"too_large\"}");
	assert_string_equal(serve_to_end(sb)->json,
		"{\"ok\":false,\"error\":{\"code\":\"too_large\"}}");
	sandbox_close(sb);
}

static void
test_no_tools(void **state UNUSED)
{
	struct sandbox *sb;
	const struct sandbox_result *r;

	limits.calls_max = 0;
	sb = start("Object.keys(tools).length || await tools.a.b()");
	r = end(sb);
	assert_int_equal(r->status, SANDBOX_FAILED);
	assert_string_equal(r->message,
		"tools.a.b cannot be called: no tools are connected.");
	sandbox_close(sb);
}

static void
test_closed_while_it_waits(void **state UNUSED)
{
	struct sandbox *sb = start("await tools.t.a()");
	struct err e = { 0 };

	/* not idle: not suspended */
	assert_int_equal(sandbox_suspend(sb, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	expect(sb, SANDBOX_EVENT_CALL);
	expect(sb, SANDBOX_EVENT_IDLE);
	sandbox_close(sb);
	sandbox_close(start("for (;;) ;"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest plain[] = {
		TEST(test_order),
		TEST(test_clock_stands_still),
		TEST(test_no_deadlock),
		TEST(test_returns_are_bounded),
		TEST(test_no_tools),
		TEST(test_closed_while_it_waits),
	};
	struct CMUnitTest tests[NELEM(rows) + NELEM(plain)];
	size_t n = 0;

	program = getenv("MCP_SANDBOX");
	if (program == NULL || access(program, X_OK) != 0) {
		printf("1..0 # SKIP MCP_SANDBOX does not name mcp-sandbox\n");
		return 0;
	}
	for (size_t i = 0; i < NELEM(rows); i++)
		tests[n++] = (struct CMUnitTest){ rows[i].name, test_row,
			set_up, tear_down, (void *)&rows[i] };
	for (size_t i = 0; i < NELEM(plain); i++)
		tests[n++] = plain[i];
	return _cmocka_run_group_tests("calls", tests, n, NULL, NULL);
}
