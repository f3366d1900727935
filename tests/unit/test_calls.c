/* SPDX-License-Identifier: ISC */
/*
 * Programs with tools: calls and their answers, scripts, suspension.  The
 * host that answers is a table in this file.  For hostile sandboxes this
 * program plays one: started with an argument it is not a test.
 */
#include "base/compat.h"

#include "run/sandbox.h"

#include <sys/wait.h>

#include <poll.h>
#include <setjmp.h>
#include <time.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/heap.h"
#include "run/link.h"
#include "run/process.h"

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
	{ "text", "tools.t.echo('x')", NULL, "tools.t.echo takes one object",
		1 },
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
	{ "symbols", "String(tools[Symbol.toPrimitive])", "\"undefined\"" },
	{ "as text", "`${tools.a.b}` + tools", "\"[tools.a.b][tools]\"" },
	{ "Object.keys", "\nObject.keys(tools)", NULL, "tools cannot be listed",
		2 },
	{ "for in", "for (const k in tools.a) ;", NULL, "tools.search", 1 },
	{ "in", "'a' in tools", NULL, "tools cannot be listed", 1 },
	{ "spread", "({ ...tools })", NULL, "tools cannot be listed", 1 },
	{ "spread into an array", "\nreturn [...tools]", NULL,
		"tools cannot be listed", 2 },
	{ "for of", "for (const t of tools.a) ;", NULL, "tools.search", 1 },
	{ "for await", "for await (const t of tools) ;", NULL,
		"tools cannot be listed", 1 },
	{ "Array.from", "Array.from(tools)", NULL, "tools cannot be listed" },
	{ "stringify", "\nJSON.stringify(tools)", NULL,
		"tools cannot be listed", 2 },
	{ "stringify inner", "JSON.stringify({ t: tools.a })", NULL,
		"tools cannot be listed" },
	{ "returned", "({ t: tools.a, all: [tools], n: 1 })",
		"{\"all\":[null],\"n\":1}" },
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
	{ "describe", "tools.describe({ path: 'a.b' })", "{\"path\":\"a.b\"}" },
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
	struct sandbox *sb =
		start("console.log('a');"
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

	limits.wall_ms = 1000;
	sb = start("await tools.t.wait(); await tools.t.wait(); for (;;) ;");
	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(expect(sb, SANDBOX_EVENT_CALL).call.number, i);
		expect(sb, SANDBOX_EVENT_IDLE);
		poll(NULL, 0, 700);
		ok(sb, i, "1");
	}
	r = end(sb);
	assert_int_equal(r->status, SANDBOX_TIMED_OUT);
	assert_true(r->wall_ms >= 900 && r->wall_ms < 10000);
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
	assert_int_equal(
		sandbox_return(sb, 1, SANDBOX_ANSWER_OK, big, sizeof(big), &e),
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

/* Suspension. */

static struct sandbox *
resume(const void *heap, size_t len)
{
	const struct sandbox_program p = { .heap = heap, .heap_len = len };
	struct sandbox *sb = NULL;
	struct err e = { 0 };

	if (sandbox_start(&limits, &p, arena, &sb, &e) != 0)
		fail_msg("not resumed: %s", e.detail);
	return sb;
}

/* The heap of SB, which is idle and gone then. */
static struct sandbox_heap
suspend(struct sandbox *sb)
{
	struct sandbox_heap heap;
	struct err e = { 0 };

	if (sandbox_suspend(sb, &e) != 0)
		fail_msg("not suspended: %s", e.detail);
	heap = expect(sb, SANDBOX_EVENT_HEAP).heap;
	heap.data = arena_memdup(arena, heap.data, heap.len);
	sandbox_close(sb);
	return heap;
}

/* Calls until it is idle; their number. */
static uint32_t
calls_until_idle(struct sandbox *sb)
{
	for (uint32_t n = 0;; n++) {
		struct sandbox_event ev = next(sb);

		if (ev.kind == SANDBOX_EVENT_IDLE)
			return n;
		if (ev.kind == SANDBOX_EVENT_END)
			fail_msg("%s: %s (%s)",
				sandbox_status_name(ev.result->status),
				ev.result->message, ev.result->detail);
		assert_int_equal(ev.kind, SANDBOX_EVENT_CALL);
	}
}

/*
 * Each of these makes calls to t.wait that are answered with their number,
 * and must give the same, suspended at every single wait or never.
 */
static const struct row programs[] = {
	{ "one call", "return (await tools.t.wait()).data + 1", "2" },
	{ "generator, Map, closures",
		"function* count() { let i = 0; while (true) yield i++ }"
		"const g = count(), m = new Map(), fs = [];"
		"for (let i = 0; i < 3; i++) {"
		"  m.set({ i }, g.next().value);"
		"  fs.push(() => i * 10);"
		"  m.set('r' + i, (await tools.t.wait({ i })).data);"
		"}"
		"return [[...m.values()], fs.map(f => f()), g.next().value,"
		" [...m.keys()].map(k => typeof k == 'string' ? k : k.i)]",
		"[[0,1,1,2,2,3],[0,10,20],3,[0,\"r0\",1,\"r1\",2,\"r2\"]]" },
	{ "10,000 objects",
		"const a = Array.from({ length: 10000 }, (x, i) => "
		"({ i, s: 'n' + i, d: new Date(i) }));"
		"await tools.t.wait();"
		"return a.reduce((s, o) => s + o.i + o.s.length + "
		"o.d.getTime(), 0) + a[9999].s",
		"\"100038890n9999\"" },
	{ "20,000 live objects",
		"let list = null;"
		"for (let i = 0; i < 20000; i++) list = { next: list, i };"
		"const s = new Set(); for (let p = list; p; p = p.next) "
		"if (p.i % 1000 == 0) s.add(p);"
		"await tools.t.wait();"
		"let n = 0, t = 0; for (let p = list; p; p = p.next) "
		"{ n++; if (s.has(p)) t += p.i }"
		"return [n, t]",
		"[20000,190000]" },
	{ "several pending",
		"const order = [];"
		"const all = Promise.all([1, 2, 3].map(async n => {"
		"  const a = await tools.t.wait({ n });"
		"  order.push(n); const b = await tools.t.wait({ n });"
		"  return a.data + '/' + b.data }));"
		"return { all: await all, order }",
		"{\"all\":[\"1/4\",\"2/5\",\"3/6\"],\"order\":[1,2,3]}" },
	{ "TypeScript",
		"interface P { x: number }\n"
		"class A<T> { constructor(private v: T) {}"
		"  async get(): Promise<T> { await tools.t.wait(); "
		"return this.v } }\n"
		"const p: P = await new A<P>({ x: 4 }).get()\n"
		"enum Color { Red = 2 }\n"
		"return p.x + Color.Red",
		"6" },
	{ "line numbers of TypeScript",
		"interface P { x: number }\n\n"
		"const f = async (p: P) => {\n"
		"  await tools.t.wait()\n"
		"  try { (null as any).x } catch (e) { console.log(e); "
		"return 'caught' }\n"
		"}\nreturn await f({ x: 1 })",
		"\"caught\"", NULL, 0,
		"[log] TypeError: cannot read property 'x' of null "
		"(line 5, column 9)" },
	{ "async generator",
		"async function* g() { for (let i = 0; i < 3; i++) "
		"yield (await tools.t.wait()).data }"
		"const r = []; for await (const x of g()) r.push(x); return r",
		"[1,2,3]" },
	{ "try and finally",
		"let s = ''; try { try { await tools.t.wait(); throw 1 } "
		"finally { s += (await tools.t.wait()).data } } "
		"catch (e) { s += e } return s",
		"\"21\"" },
	{ "symbols, proxies, typed arrays",
		"const k = Symbol('k'), u = new Uint8Array([1, 2, 3]),"
		" w = new WeakMap(), o = { [k]: 5 };"
		"w.set(o, u); const p = new Proxy(o, { get: (t, n) => "
		"n === k ? t[n] * 2 : 7 });"
		"await tools.t.wait();"
		"return [p[k], p.x, w.get(o)[2], Symbol.for('a') === "
		"Symbol.for('a'), 2n ** 70n, /a(b)/.exec('xab')[1]]",
		"[10,7,3,true,\"1180591620717411303424\",\"b\"]" },
	{ "a megabyte of text",
		"const s = 'abcdefghij'.repeat(100000); await tools.t.wait();"
		"return [s.length, s.slice(-3), (s + 'k').length]",
		"[1000000,\"hij\",1000001]" },
	{ "after collections",
		"let keep = [];"
		"for (let i = 0; i < 300000; i++) "
		"{ const o = { i }; o.o = o; if (i % 1000 == 0) keep.push(o) }"
		"await tools.t.wait(); for (let i = 0; i < 300000; i++) "
		"{ const o = { i }; o.o = o }"
		"await tools.t.wait();"
		"return keep.every((o, i) => o.o === o && o.i === i * 1000)",
		"true" },
};

static void
test_suspended(void **state)
{
	const struct row *row = *state;

	/* never, at each wait, and at each wait twice */
	for (int how = 0; how < 3; how++) {
		struct sandbox *sb = start(row->code);
		const struct sandbox_result *r = NULL;
		const char *log = NULL;
		uint32_t made = 0, done = 0;
		struct sandbox_heap heap;

		while (r == NULL) {
			struct sandbox_event ev = next(sb);

			if (ev.kind == SANDBOX_EVENT_CALL) {
				assert_int_equal(ev.call.number, ++made);
				continue;
			}
			if (ev.kind == SANDBOX_EVENT_END) {
				r = ev.result;
				break;
			}
			assert_int_equal(ev.kind, SANDBOX_EVENT_IDLE);
			for (int i = 0; i < how; i++) {
				heap = suspend(sb);
				sb = resume(heap.data, heap.len);
				if (i + 1 < how)
					expect(sb, SANDBOX_EVENT_IDLE);
			}
			/* the last one is answered before it can be idle */
			for (; done < made; done++)
				ok(sb, done + 1,
					arena_printf(
						arena, "%" PRIu32, done + 1));
		}
		if (r->status != SANDBOX_COMPLETED)
			fail_msg("%d: %s: %s (%s)", how,
				sandbox_status_name(r->status), r->message,
				r->detail);
		assert_string_equal(r->json, row->json);
		if (row->log != NULL) {
			log = r->log_count > 0 ? r->logs[0] : "none";
			assert_string_equal(log, row->log);
		}
		sandbox_close(sb);
	}
}

static void
test_suspended_numbers(void **state UNUSED)
{
	struct sandbox *sb =
		start("console.log('one');"
		      "const a = tools.t.a(), b = tools.t.b();"
		      "const r = [(await b).data, (await tools.t.c()).data];"
		      "console.log('two');"
		      "for (let i = 0; i < 3000; i++) console.log(i);"
		      "return [...r, (await a).data, Math.random() != "
		      "Math.random()]");
	struct sandbox_event ev;
	struct sandbox_heap heap;
	const struct sandbox_result *r;
	struct err e = { 0 };

	limits.log_lines = 100;
	assert_int_equal(calls_until_idle(sb), 2);
	assert_int_equal(sandbox_suspend(sb, &e), 0);
	/* too late for answers, and for another */
	assert_int_equal(
		sandbox_return(sb, 1, SANDBOX_ANSWER_OK, "1", 1, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(sandbox_suspend(sb, &e), -1);
	ev = expect(sb, SANDBOX_EVENT_HEAP);
	assert_int_equal(ev.result->status, SANDBOX_SUSPENDED);
	assert_int_equal(ev.result->log_count, 1);
	assert_string_equal(ev.result->logs[0], "[log] one");
	assert_int_equal(strlen(ev.heap.engine), 64);
	assert_int_equal(next(sb).kind, SANDBOX_EVENT_HEAP);
	heap = ev.heap;
	heap.data = arena_memdup(arena, heap.data, heap.len);
	sandbox_close(sb);

	sb = resume(heap.data, heap.len);
	assert_int_equal(
		sandbox_return(sb, 3, SANDBOX_ANSWER_OK, "1", 1, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	ok(sb, 2, "\"b\"");
	ev = expect(sb, SANDBOX_EVENT_CALL);
	assert_int_equal(ev.call.number, 3);
	assert_string_equal(ev.call.path, "t.c");
	ok(sb, 3, "\"c\"");
	expect(sb, SANDBOX_EVENT_IDLE);
	ok(sb, 1, "\"a\"");
	r = end(sb);
	assert_string_equal(r->json, "[\"b\",\"c\",\"a\",true]");
	/* one line was before: the limit is the run's */
	assert_int_equal(r->log_count, 99 + 1);
	assert_string_equal(r->logs[0], "[log] two");
	assert_int_equal(r->dropped, 3002 - 100);
	sandbox_close(sb);
}

/* From the same heap: a run is never resumed twice, but it could be. */
static void
test_suspended_clock(void **state UNUSED)
{
	struct sandbox *sb =
		start("const t = performance.now(), d = Date.now();"
		      "const r = Math.random(); await tools.t.a();"
		      "return [performance.now() - t, Date.now() - d, r, "
		      "Math.random()]");
	struct sandbox_heap heap;
	double ran, passed, a, b;

	calls_until_idle(sb);
	heap = suspend(sb);
	poll(NULL, 0, 100);
	sb = resume(heap.data, heap.len);
	ok(sb, 1, "1");
	if (sscanf(end(sb)->json, "[%lf,%lf,%lf,%lf]", &ran, &passed, &a, &b) !=
		4)
		fail_msg("%s", end(sb)->json);
	assert_true(ran >= 99 && ran < 5000);
	assert_true(passed >= 99 && passed < 5000);
	assert_true(a != b);
	sandbox_close(sb);
}

static void
expect_refused(const void *heap, size_t len, enum sandbox_status status)
{
	struct sandbox *sb = resume(heap, len);
	const struct sandbox_result *r = end(sb);

	if (r->status != status)
		fail_msg("%s: %s", sandbox_status_name(r->status), r->detail);
	if (status != SANDBOX_MEMORY)
		assert_false(r->has_started);
	assert_non_null(r->message);
	sandbox_close(sb);
}

static void
test_damaged_heaps(void **state UNUSED)
{
	struct sandbox *sb = start("return (await tools.t.a()).data");
	struct sandbox_heap heap;
	uint8_t *copy;

	calls_until_idle(sb);
	heap = suspend(sb);
	expect_refused("", 0, SANDBOX_BAD_HEAP);
	expect_refused("no heap at all", 14, SANDBOX_BAD_HEAP);
	for (size_t len = 1; len < heap.len; len += heap.len / 40 + 1)
		expect_refused(heap.data, len, SANDBOX_BAD_HEAP);
	expect_refused(heap.data, heap.len - 1, SANDBOX_BAD_HEAP);
	copy = (uint8_t *)arena_memdup(arena, heap.data, heap.len);
	for (size_t i = 0; i < heap.len; i += heap.len / 40 + 1) {
		struct sandbox_event ev;

		copy[i] ^= 0x10;
		sb = resume(copy, heap.len);
		ev = next(sb);
		copy[i] ^= 0x10;
		/* A zero may be copied from elsewhere: the same heap. */
		if (ev.kind == SANDBOX_EVENT_IDLE) {
			ok(sb, 1, "7");
			assert_string_equal(end(sb)->json, "7");
		} else {
			assert_int_equal(ev.kind, SANDBOX_EVENT_END);
			assert_int_equal(ev.result->status, SANDBOX_BAD_HEAP);
			assert_false(ev.result->has_started);
		}
		sandbox_close(sb);
	}
	sb = resume(copy, heap.len);
	ok(sb, 1, "7");
	assert_string_equal(end(sb)->json, "7");
	sandbox_close(sb);
}

/*
 * Heaps that are made with the right check sums: what a parent could be made
 * to say by whoever has its key.
 */
struct forged {
	struct heap *heap;
	size_t change_at; /* byte of payload CHANGE_PART */
	uint8_t change;
	enum frame_part part;
	bool is_twice; /* the payload comes twice */
	bool is_left_out;
};

static bool
forge(void *arg, const uint8_t *p, size_t len)
{
	static uint8_t copy[FRAME_HEAP_MAX];
	struct forged *f = arg;

	memcpy(copy, p, len);
	if (p[0] == f->part) {
		if (f->is_left_out)
			return true;
		if (f->change_at < len)
			copy[f->change_at] ^= f->change;
		if (f->is_twice && heap_add(f->heap, copy, len) != 0)
			return false;
	}
	return heap_add(f->heap, copy, len) == 0;
}

static void
test_forged_heaps(void **state UNUSED)
{
	static const struct {
		enum frame_part part;
		size_t at;
		uint8_t change;
		bool is_twice, is_left_out;
		enum sandbox_status status;
	} bad[] = {
		{ FRAME_PART_STATE, 4, 1, false, false, SANDBOX_OTHER_BUILD },
		{ FRAME_PART_STATE, 35, 1, false, false, SANDBOX_OTHER_BUILD },
		/* pages of memory, stack pointer, runtime */
		{ FRAME_PART_STATE, 37, 16, false, false, SANDBOX_MEMORY },
		{ FRAME_PART_STATE, 38, 2, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_STATE, 36, 1 << 5, false, false,
			SANDBOX_BAD_HEAP },
		{ FRAME_PART_STATE, 40, 1, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_STATE, 44, 1, false, false, SANDBOX_BAD_HEAP },
		/* the program's context, a spare one's */
		{ FRAME_PART_STATE, 96, 8, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_STATE, 96 + 16 + 3, 0xff, false, false,
			SANDBOX_BAD_HEAP },
		{ FRAME_PART_STATE, 0, 0, true, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_STATE, 0, 0, false, true, SANDBOX_BAD_HEAP },
		/* a page far away, and one that comes again */
		{ FRAME_PART_PAGES, 9, 0x40, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_PAGES, 10, 0x08, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_PAGES, 0, 0, true, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_PAGES, 0, 0, false, true, SANDBOX_BAD_HEAP },
		{ FRAME_PART_PAGES, 4, 1, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_END, 4, 1, false, false, SANDBOX_BAD_HEAP },
		{ FRAME_PART_END, 0, 3, false, false, SANDBOX_BAD_HEAP },
		/* without an end the parent has nothing more to send */
	};
	struct sandbox *sb = start("return (await tools.t.a()).data");
	struct sandbox_heap heap;

	calls_until_idle(sb);
	heap = suspend(sb);
	for (size_t i = 0; i < NELEM(bad); i++) {
		struct forged f = { .heap = heap_new(64 << 20),
			.change_at = bad[i].change != 0 ? bad[i].at : SIZE_MAX,
			.change = bad[i].change,
			.part = bad[i].part,
			.is_twice = bad[i].is_twice,
			.is_left_out = bad[i].is_left_out };
		const void *data;
		size_t len, raw_len;

		assert_null(
			heap_read(heap.data, heap.len, 64 << 20, forge, &f));
		assert_int_equal(heap_end(f.heap), 0);
		data = heap_data(f.heap, &len, &raw_len);
		expect_refused(data, len, bad[i].status);
		heap_free(f.heap);
	}
}

static void
test_big_heap(void **state UNUSED)
{
	struct sandbox *sb;
	const struct sandbox_result *r;
	struct sandbox_heap heap;
	struct err e = { 0 };

	limits.kept_bytes = 200000;
	sb = start("const a = []; for (let i = 0; i < 100000; i++) "
		   "a.push(Math.random()); await tools.t.a(); return a.length");
	calls_until_idle(sb);
	assert_int_equal(sandbox_suspend(sb, &e), 0);
	r = end(sb);
	assert_int_equal(r->status, SANDBOX_BIG_HEAP);
	assert_non_null(strstr(r->message, "195 KiB"));
	sandbox_close(sb);

	/* within the limits of the first, beyond those of the second */
	limits.kept_bytes = 64 << 20;
	sb = start("const a = []; for (let i = 0; i < 1000000; i++) "
		   "a.push(Math.random()); await tools.t.a(); return a.length");
	calls_until_idle(sb);
	heap = suspend(sb);
	limits.heap_bytes = 1 << 20;
	expect_refused(heap.data, heap.len, SANDBOX_MEMORY);
	limits.heap_bytes = 64 << 20;
	sb = resume(heap.data, heap.len);
	ok(sb, 1, "1");
	assert_string_equal(end(sb)->json, "1000000");
	sandbox_close(sb);
}

/* Limits hold on after a suspension. */
static void
test_suspended_limits(void **state UNUSED)
{
	struct sandbox *sb;
	struct sandbox_heap heap;
	const struct sandbox_result *r;

	limits.calls_max = 3;
	sb = start("await tools.t.a(); for (;;) await tools.t.echo()");
	calls_until_idle(sb);
	heap = suspend(sb);
	sb = resume(heap.data, heap.len);
	ok(sb, 1, "1");
	r = serve_to_end(sb);
	assert_non_null(strstr(r->message, "too many tool calls"));
	sandbox_close(sb);

	limits.calls_max = 100;
	sb = start("await tools.t.a(); const a = []; for (;;) "
		   "a.push(new Array(1000).fill(1))");
	calls_until_idle(sb);
	heap = suspend(sb);
	sb = resume(heap.data, heap.len);
	ok(sb, 1, "1");
	assert_int_equal(end(sb)->status, SANDBOX_MEMORY);
	sandbox_close(sb);

	sb = start("await tools.t.a(); const f = () => f() + 1; return f()");
	calls_until_idle(sb);
	heap = suspend(sb);
	sb = resume(heap.data, heap.len);
	ok(sb, 1, "1");
	assert_int_equal(end(sb)->status, SANDBOX_STACK);
	sandbox_close(sb);

	limits.wall_ms = 1000;
	sb = start("await tools.t.a(); for (;;) ;");
	calls_until_idle(sb);
	heap = suspend(sb);
	sb = resume(heap.data, heap.len);
	ok(sb, 1, "1");
	assert_int_equal(end(sb)->status, SANDBOX_TIMED_OUT);
	sandbox_close(sb);
}

static int64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Figures; they fail only where something is very wrong. */
static void
test_figures(void **state UNUSED)
{
	static const char code[] =
		"const r = []; for (let i = 0; i < 20; i++) "
		"r.push((await tools.t.number()).data); await tools.t.a();"
		"return r.length";
	int64_t best_suspend = INT64_MAX, best_resume = INT64_MAX, t, calls;
	struct sandbox_heap heap = { 0 };
	struct sandbox *sb;

	sb = start("for (let i = 0; i < 200; i++) await tools.t.number()");
	t = now_us();
	serve_to_end(sb);
	calls = (now_us() - t) / 200;
	sandbox_close(sb);
	for (int i = 0; i < 20; i++) {
		sb = start(code);
		for (int n = 0; n < 20;) {
			struct sandbox_event ev = next(sb);

			if (ev.kind != SANDBOX_EVENT_CALL)
				continue;
			serve(sb, &ev.call);
			n++;
		}
		while (calls_until_idle(sb) == 0)
			;
		t = now_us();
		heap = suspend(sb);
		if (now_us() - t < best_suspend)
			best_suspend = now_us() - t;
		t = now_us();
		sb = resume(heap.data, heap.len);
		expect(sb, SANDBOX_EVENT_IDLE);
		if (now_us() - t < best_resume)
			best_resume = now_us() - t;
		sandbox_close(sb);
	}
	print_message("call %d us, suspend %d us, resume %d us, %zu bytes "
		      "(%zu before)\n",
		(int)calls, (int)best_suspend, (int)best_resume, heap.len,
		heap.raw_len);
	assert_true(calls < 3000);
	assert_true(heap.len < 150000);
	assert_true(best_suspend < 300000 && best_resume < 300000);
}

/* Scripts. */

static void
script(struct sandbox *sb, uint32_t number, const char *body, const char *args)
{
	static const char ctx[] = "{\"tool\":\"s.t\"}";
	struct err e = { 0 };

	if (sandbox_script(sb, number, body, strlen(body), args, strlen(args),
		    ctx, strlen(ctx), &e) != 0)
		fail_msg("no script: %s", e.detail);
}

/* Body of the script "s.*" after it in a program's first call. */
struct script_row {
	const char *name;
	const char *body;
	const char *code; /* NULL: return (await tools.s.t({ a: 1 })) */
	const char *json; /* of the program */
	const char *told; /* the first call without an answer; NULL: none */
};

static const struct script_row script_rows[] = {
	{ "args", "return args.a + 1", NULL, "{\"ok\":true,\"data\":2}" },
	{ "expression", "({ b: args.a })", NULL,
		"{\"ok\":true,\"data\":{\"b\":1}}" },
	{ "arrow", "async () => args.a * 5", NULL, "{\"ok\":true,\"data\":5}" },
	{ "nothing", "", NULL, "{\"ok\":true,\"data\":null}" },
	{ "ctx", "return [ctx.tool, Object.keys(ctx).sort()]", NULL,
		"{\"ok\":true,\"data\":[\"s.t\",[\"elicit\",\"log\","
		"\"progress\",\"tool\"]]}" },
	{ "throws", "\nthrow new TypeError('bad')", NULL,
		"{\"ok\":false,\"error\":{\"code\":\"script_error\","
		"\"message\":\"TypeError: bad\","
		"\"details\":{\"line\":2,\"column\":11}}}" },
	{ "does not parse", "return }", NULL, NULL },
	{ "waits for nothing", "await new Promise(() => {})", NULL, NULL },
	{ "too deep", "const f = () => f() + 1; return f()", NULL,
		"{\"ok\":false,\"error\":{\"code\":\"script_error\","
		"\"message\":\"The tool's calls are nested too deeply\","
		"\"details\":{\"line\":1,\"column\":17}}}" },
	{ "too much", "return 'x'.repeat(5e6)", NULL,
		"{\"ok\":false,\"error\":{\"code\":\"script_error\","
		"\"message\":\"The result of the tool is too large\"}}" },
	{ "calls",
		"const r = await tools.t.echo({ b: args.a }); "
		"return r.data",
		NULL, "{\"ok\":true,\"data\":{\"b\":1}}" },
	{ "elicits",
		"return await ctx.elicit({ message: 'sure?', "
		"requestedSchema: { type: 'object' } })",
		NULL,
		"{\"ok\":true,\"data\":{\"message\":\"sure?\","
		"\"requestedSchema\":{\"type\":\"object\"}}}" },
	{ "elicits nothing", "await ctx.elicit('sure?')", NULL,
		"{\"ok\":false,\"error\":{\"code\":\"script_error\","
		"\"message\":\"TypeError: ctx.elicit takes { message, "
		"requestedSchema }\",\"details\":{\"line\":1,"
		"\"column\":11}}}" },
	{ "progress", "ctx.progress(1, 2, 'half'); return 1", NULL,
		"{\"ok\":true,\"data\":1}",
		"$progress {\"progress\":1,\"total\":2,"
		"\"message\":\"half\"}" },
	{ "log", "ctx.log('error', 'x', { a: 1 }); return 1", NULL,
		"{\"ok\":true,\"data\":1}",
		"$log {\"level\":\"error\",\"message\":\"x {\\\"a\\\":1}\"}" },
	{ "console", "console.warn('x'); return 1", NULL,
		"{\"ok\":true,\"data\":1}",
		"$log {\"level\":\"warning\",\"message\":\"x\"}" },
	{ "the program's console is empty", "console.log('secret'); return 1",
		"await tools.s.t(); console.log('mine'); return 1", "1",
		"$log {\"level\":\"info\",\"message\":\"secret\"}" },
	{ "rejections are its own", "Promise.reject(new Error('r')); return 1",
		"const r = await tools.s.t(); return r.data", "1",
		"$log {\"level\":\"error\",\"message\":\"Unhandled promise "
		"rejection: Error: r (line 1, column 20)\"}" },

	/* what the program may do to it: nothing */
	{ "globals are its own", "return [typeof spoilt, typeof args]",
		"globalThis.spoilt = 1; return (await tools.s.t()).data",
		"[\"undefined\",\"object\"]" },
	{ "prototypes are its own",
		"return [{}.spoilt, [].map(x => 1), JSON.stringify({ a: 1 }),"
		" [1].concat([2]), 'a'.toUpperCase(), Symbol.for('x').spoilt]",
		"Object.prototype.spoilt = 1; Array.prototype.map = () => 0;"
		"Array.prototype.concat = null; JSON.stringify = () => '0';"
		"String.prototype.toUpperCase = () => 0;"
		"Symbol.prototype.spoilt = 1;"
		"Function.prototype.call = () => 0;"
		"const r = await tools.s.t();"
		"delete Object.prototype.spoilt; return r.data.length",
		"6" },
	{ "and stay so",
		"return [typeof {}.spoilt, typeof [].map, "
		"JSON.stringify({ a: 1 })].join()",
		"Object.prototype.spoilt = 1; Array.prototype.map = null;"
		"JSON.stringify = () => '0'; const r = await tools.s.t();"
		"return r.data",
		"\"undefined,function,{\\\"a\\\":1}\"" },
	{ "traps see nothing of it", "return { then: 1, deep: [args] }",
		"const seen = new Set();"
		"for (const k of ['then', 'ok', 'run', 'number', 'text',"
		" 'resolve', 'path', 'toJSON', 'code', 'data', 'deep'])"
		"Object.defineProperty(Object.prototype, k, "
		"{ configurable: true,"
		" get() { seen.add(this); return undefined },"
		" set(v) { seen.add(this).add(v) } });"
		"const d = (await tools.s.t({ a: 1 })).data;"
		"for (const o of seen) if (Object(o) === o && "
		"!(o instanceof Object || o === Object.prototype)) "
		"return 'foreign';"
		"return d.constructor === Object && d.deep.constructor === "
		"Array && d.deep[0].constructor === Object",
		"true" },
	{ "errors are the program's", "throw new Error('x')",
		"const r = await tools.s.t(); "
		"return [r.error instanceof Error, r.error.constructor === "
		"Object, r.constructor === Object]",
		"[false,true,true]" },
	{ "stack traces are its own",
		"try { null.x } catch (e) { return typeof e.stack }",
		"Error.prepareStackTrace = (e, s) => { "
		"return 1 }; Error.stackTraceLimit = 0; "
		"const r = await tools.s.t(); return r.data",
		"\"string\"" },
	{ "no way back through functions",
		"return typeof (await tools.t.echo({ a: 1 })).data"
		".constructor.constructor('return globalThis.mine')()",
		"globalThis.mine = 1; return (await tools.s.t()).data",
		"\"undefined\"" },
	{ "its own Math.random", "return Math.random()",
		"const a = Math.random(); "
		"return (await tools.s.t()).data !== a",
		"true" },
	{ "no TypeScript in it", "const a: number = 1; return a", NULL, NULL },
	{ "import is an error of its own",
		"try { await import('x') } catch (e) { "
		"return [e instanceof Error, e.message.length > 10] }",
		NULL, "{\"ok\":true,\"data\":[true,true]}" },
};

static void
test_script(void **state)
{
	const struct script_row *row = *state;
	struct sandbox *sb =
		start(row->code != NULL ? row->code
					: "return (await tools.s.t({ a: 1 "
					  "}))");
	const struct sandbox_result *r = NULL;
	const char *told = NULL;

	while (r == NULL) {
		struct sandbox_event ev = next(sb);
		const struct sandbox_script *s = &ev.script;

		switch (ev.kind) {
		case SANDBOX_EVENT_CALL:
			if (ev.call.is_oneway) {
				assert_int_equal(ev.call.parent, 1);
				if (told == NULL)
					told = arena_printf(arena, "%s %.*s",
						ev.call.path,
						(int)ev.call.args_len,
						ev.call.args);
			} else if (ev.call.path[0] == 's') {
				script(sb, ev.call.number, row->body,
					arena_memdup(arena, ev.call.args,
						ev.call.args_len));
			} else {
				assert_int_equal(ev.call.parent, 1);
				serve(sb, &ev.call);
			}
			break;
		case SANDBOX_EVENT_SCRIPT:
			answer(sb, s->number, s->answer,
				arena_memdup(arena, s->json, s->json_len));
			break;
		case SANDBOX_EVENT_END:
			r = ev.result;
			break;
		default:
			break;
		}
	}
	if (r->status != SANDBOX_COMPLETED)
		fail_msg("%s: %s (%s)", sandbox_status_name(r->status),
			r->message, r->detail);
	if (row->json != NULL)
		assert_string_equal(r->json, row->json);
	else if (strstr(r->json, "\"code\":\"script_error\"") == NULL)
		fail_msg("%s", r->json);
	if (row->told != NULL) {
		assert_non_null(told);
		assert_string_equal(told, row->told);
	}
	assert_true(r->log_count == 0 || strstr(r->logs[0], "secret") == NULL);
	sandbox_close(sb);
}

/* Many at once, one in another, and suspended in the middle. */
static void
test_scripts_suspended(void **state UNUSED)
{
	static const char outer[] =
		"const r = await tools.s.inner({ n: args.n });"
		"await tools.t.wait(); return r.data * 2";
	static const char inner[] =
		"const m = new Map([['n', args.n]]);"
		"await tools.t.wait(); return m.get('n') + 1";
	struct sandbox *sb =
		start("const r = await Promise.all([1, 2, 3, 4, 5].map(n => "
		      "tools.s.outer({ n }))); return r.map(x => x.data)");
	uint32_t waiting[64], waits = 0, suspensions = 0, parents = 0;
	const struct sandbox_result *r = NULL;

	while (r == NULL) {
		struct sandbox_event ev = next(sb);
		struct sandbox_heap heap;

		switch (ev.kind) {
		case SANDBOX_EVENT_CALL:
			if (strcmp(ev.call.path, "t.wait") == 0) {
				waiting[waits++] = ev.call.number;
				break;
			}
			if (ev.call.parent != 0)
				parents++;
			script(sb, ev.call.number,
				strcmp(ev.call.path, "s.outer") == 0 ? outer
								     : inner,
				arena_memdup(
					arena, ev.call.args, ev.call.args_len));
			break;
		case SANDBOX_EVENT_SCRIPT:
			answer(sb, ev.script.number, ev.script.answer,
				arena_memdup(arena, ev.script.json,
					ev.script.json_len));
			break;
		case SANDBOX_EVENT_END:
			r = ev.result;
			break;
		default:
			heap = suspend(sb);
			sb = resume(heap.data, heap.len);
			suspensions++;
			assert_true(waits > 0);
			ok(sb, waiting[--waits], "1");
			break;
		}
	}
	assert_int_equal(parents, 5);
	assert_int_equal(suspensions, 10);
	assert_string_equal(r->json, "[4,6,8,10,12]");
	sandbox_close(sb);
}

/* Realms are given back: 180 of them would not fit. */
static void
test_scripts_in_a_row(void **state UNUSED)
{
	struct sandbox *sb;
	const struct sandbox_result *r = NULL;

	limits.heap_bytes = 16 << 20;
	sb = start("let n = 0; for (let i = 0; i < 180; i++) "
		   "n += (await tools.s.t({ a: i })).data.a; return n");
	while (r == NULL) {
		struct sandbox_event ev = next(sb);

		if (ev.kind == SANDBOX_EVENT_CALL)
			script(sb, ev.call.number,
				"globalThis.x = (globalThis.x || 0) + 1; "
				"return { a: args.a, x }",
				arena_memdup(
					arena, ev.call.args, ev.call.args_len));
		else if (ev.kind == SANDBOX_EVENT_SCRIPT) {
			assert_non_null(strstr(ev.script.json, "\"x\":1"));
			answer(sb, ev.script.number, ev.script.answer,
				arena_memdup(arena, ev.script.json,
					ev.script.json_len));
		} else if (ev.kind == SANDBOX_EVENT_END)
			r = ev.result;
	}
	if (r->status != SANDBOX_COMPLETED)
		fail_msg("%s %s", r->message, r->detail);
	assert_string_equal(r->json, "16110");
	sandbox_close(sb);
}

static void
test_too_many_scripts(void **state UNUSED)
{
	struct sandbox *sb =
		start("const r = await Promise.all(Array.from({ length: 80 }, "
		      "() => tools.s.t())); return r.filter(x => !x.ok)"
		      ".map(x => x.error.code)");
	const struct sandbox_result *r = NULL;
	uint32_t waiting[80], waits = 0;

	while (r == NULL) {
		struct sandbox_event ev = next(sb);

		if (ev.kind == SANDBOX_EVENT_CALL &&
			strcmp(ev.call.path, "t.wait") == 0)
			waiting[waits++] = ev.call.number;
		else if (ev.kind == SANDBOX_EVENT_CALL)
			script(sb, ev.call.number, "await tools.t.wait()",
				"{}");
		else if (ev.kind == SANDBOX_EVENT_SCRIPT)
			answer(sb, ev.script.number, ev.script.answer,
				arena_memdup(arena, ev.script.json,
					ev.script.json_len));
		else if (ev.kind == SANDBOX_EVENT_IDLE)
			while (waits > 0)
				ok(sb, waiting[--waits], "1");
		else
			r = ev.result;
	}
	if (r->status != SANDBOX_COMPLETED)
		fail_msg("%s %s", r->message, r->detail);
	assert_non_null(strstr(r->json, "too_many_scripts"));
	sandbox_close(sb);
}

static void
test_root_script(void **state UNUSED)
{
	struct sandbox_program p = { .code = "console.log('log');"
					     "const { action } = await "
					     "ctx.elicit({ message: args.q });"
					     "return [ctx.tool, action, (await "
					     "tools.t.echo(args)).data]",
		.is_script = true,
		.args = "{\"q\":\"really?\"}",
		.args_len = 15,
		.ctx = "{\"tool\":\"s.root\"}",
		.ctx_len = 17 };
	struct sandbox *sb;
	struct sandbox_event ev;
	struct err e = { 0 };
	const struct sandbox_result *r;

	p.code_len = strlen(p.code);
	assert_int_equal(sandbox_start(&limits, &p, arena, &sb, &e), 0);
	ev = expect(sb, SANDBOX_EVENT_CALL);
	assert_string_equal(ev.call.path, SANDBOX_CALL_ELICIT);
	assert_string_equal(arena_memdup(arena, ev.call.args, ev.call.args_len),
		"{\"message\":\"really?\"}");
	ok(sb, 1, "{\"action\":\"accept\"}");
	r = serve_to_end(sb);
	assert_string_equal(
		r->json, "[\"s.root\",\"accept\",{\"q\":\"really?\"}]");
	assert_string_equal(r->logs[0], "[log] log");
	sandbox_close(sb);

	/* a program has neither */
	sb = start("return typeof args + typeof ctx");
	assert_string_equal(end(sb)->json, "\"undefinedundefined\"");
	sandbox_close(sb);
}

/* Sandboxes that are not what they should be: "/proc/self/exe NAME". */

static uint32_t fake_seq;

static void
say(enum frame_kind kind, const void *p, size_t len)
{
	uint8_t h[FRAME_HEADER_LEN];

	frame_put_header(h, len, kind, ++fake_seq);
	if (write(FRAME_FD, h, sizeof(h)) < 0 ||
		(len > 0 && write(FRAME_FD, p, len) < 0))
		_exit(1);
}

static void
say_call(uint32_t number, uint32_t parent, const char *args)
{
	const struct frame_call c = {
		.number = number, .parent = parent, .path_len = 3
	};
	uint8_t p[FRAME_CALL_LEN + 3 + 64];

	frame_put_call(p, &c);
	memcpy(p + FRAME_CALL_LEN, "t.a", 3);
	memcpy(p + FRAME_CALL_LEN + 3, args, strlen(args));
	say(FRAME_CALL, p, FRAME_CALL_LEN + 3 + strlen(args));
}

static void
say_idle(uint32_t taken)
{
	uint8_t p[FRAME_IDLE_LEN];

	frame_put_idle(p, taken);
	say(FRAME_IDLE, p, sizeof(p));
}

static void
say_scripted(uint32_t number, enum frame_answer how)
{
	const struct frame_return r = { .number = number, .answer = how };
	uint8_t p[FRAME_RETURN_LEN + 1];

	frame_put_return(p, &r);
	p[FRAME_RETURN_LEN] = '1';
	say(FRAME_SCRIPTED, p, sizeof(p));
}

static void
fake_gap(void)
{
	say_call(2, 0, "{}");
}

static void
fake_again(void)
{
	say_call(1, 0, "{}");
	say_call(1, 0, "{}");
}

static void
fake_parent(void)
{
	say_call(1, 0, "{}");
	say_call(2, 1, "{}");
}

static void
fake_large(void)
{
	say_call(1, 0, "\"01234567890123456789012345678901234567890123\"");
}

static void
fake_told(void)
{
	for (int i = 0; i < 2000; i++)
		say_call(0, 0, "{}");
}

static void
fake_idle(void)
{
	say_idle(0);
}

static void
fake_taken(void)
{
	say_call(1, 0, "{}");
	say_idle(7);
}

static void
fake_idle_call(void)
{
	say_call(1, 0, "{}");
	say_idle(0);
	say_call(2, 0, "{}");
}

static void
fake_scripted(void)
{
	say_call(1, 0, "{}");
	say_scripted(1, FRAME_ANSWER_OK);
}

static void
fake_heap(void)
{
	uint8_t p[FRAME_HEAP_LEN + 4];

	say(FRAME_HEAP, p, frame_put_heap_end(p, 0));
}

/* One call was made; the state says otherwise. */
static void
fake_state(void)
{
	static struct frame_state s = { .calls = 2,
		.output_bytes = 1,
		.realm_count = 1,
		.open_count = 1,
		.open = { { .number = 2 } } };
	static uint8_t p[FRAME_HEAP_MAX];
	size_t want = 2 * FRAME_HEADER_LEN + FRAME_RUN_LEN + 8;
	ssize_t n;

	say_call(1, 0, "{}");
	say_idle(0);
	/* RUN with "return 1", then SUSPEND */
	while (want > 0 && (n = read(FRAME_FD, p, want)) > 0)
		want -= n;
	say(FRAME_HEAP, p, frame_put_state(p, &s));
}

static void
fake_checked(void)
{
	uint8_t p[FRAME_RETURN_LEN] = { 1 };

	say(FRAME_CHECKED, p, sizeof(p));
}

static const struct fake {
	const char *name;
	void (*fn)(void);
	const char *detail; /* a part of it */
} fakes[] = {
	{ "gap", fake_gap, "not agreed" },
	{ "again", fake_again, "not agreed" },
	{ "parent", fake_parent, "not agreed" },
	{ "large", fake_large, "not agreed" },
	{ "told", fake_told, "not agreed" },
	{ "idle", fake_idle, "range" },
	{ "taken", fake_taken, "range" },
	{ "idle_call", fake_idle_call, "not agreed" },
	{ "scripted", fake_scripted, "not agreed" },
	{ "heap", fake_heap, "kind" },
	{ "checked", fake_checked, "kind" },
	{ "state", fake_state, "range" },
};

static void
test_fake(void **state)
{
	const struct fake *f = *state;
	struct sandbox *sb;
	struct sandbox_event ev;

	limits.program = "/proc/self/exe";
	limits.image = f->name;
	limits.args_bytes = 40;
	sb = start("return 1");
	do {
		struct err e;

		ev = next(sb);
		if (ev.kind == SANDBOX_EVENT_IDLE && f->fn == fake_state)
			assert_int_equal(sandbox_suspend(sb, &e), 0);
	} while (
		ev.kind == SANDBOX_EVENT_CALL || ev.kind == SANDBOX_EVENT_IDLE);
	assert_int_equal(ev.kind, SANDBOX_EVENT_END);
	assert_int_equal(ev.result->status, SANDBOX_CRASHED);
	if (strstr(ev.result->detail, f->detail) == NULL)
		fail_msg("detail: %s", ev.result->detail);
	sandbox_close(sb);
}

/* And what the sandbox makes of a parent that speaks nonsense. */
static void
test_hostile_parent(void **state UNUSED)
{
	static const struct {
		enum frame_kind kind;
		uint32_t len;
		uint8_t bytes[16];
		const char *text; /* of the ERROR */
	} bad[] = {
		{ FRAME_RETURN, 3, { 0 }, "length out of bounds" },
		{ FRAME_RETURN, 9, { 1, 0, 0, 0, 9, 0, 0, 0, '1' },
			"field out of range" },
		{ FRAME_RETURN, 9, { 1, 0, 0, 0, 1, 1, 0, 0, '1' },
			"reserved field is not zero" },
		{ FRAME_RETURN, 9, { 1, 0, 0, 0, 1, 0, 0, 0, 0xff },
			"text is not UTF-8" },
		{ FRAME_SCRIPT, 12, { 1, 0, 0, 0, 9 }, "length out of bounds" },
		{ FRAME_CHECK, 12, { 0 }, "unexpected kind of frame" },
		{ FRAME_HEAP, 4, { 0 }, "unexpected kind of frame" },
		{ FRAME_SUSPEND, 1, { 0 }, "length out of bounds" },
		{ FRAME_CALL, 13, { 0 }, "unexpected kind of frame" },
		{ FRAME_RUN, FRAME_RUN_LEN, { 0 }, "unexpected kind of frame" },
	};
	static const char code[] = "await tools.t.a()";
	const struct frame_run r = { .wall_ms = 5000,
		.cpu_ms = 5000,
		.stack_bytes = 1 << 20,
		.heap_bytes = 1 << 20,
		.output_bytes = 1000,
		.calls_max = 9,
		.args_bytes = 99,
		.args_total = 999 };

	for (size_t i = 0; i < NELEM(bad); i++) {
		struct process p;
		struct process_end pe;
		struct link l;
		struct err e = { 0 };
		uint8_t fixed[FRAME_RUN_LEN], *payload = NULL;
		enum frame_fault f;
		enum link_state s;
		struct frame_failure failure;

		assert_int_equal(process_start(program, NULL, &p, &e), 0);
		link_init(&l, p.fd);
		frame_put_run(fixed, &r);
		link_put(&l, FRAME_RUN, fixed, sizeof(fixed), NULL, 0, code,
			strlen(code));
		/* an answer to nobody's call is no fault */
		link_put(&l, FRAME_RETURN, "\x09\0\0\0\1\0\0\0", 8, "1", 1,
			NULL, 0);
		link_put(&l, bad[i].kind, bad[i].bytes,
			bad[i].len < 16 ? bad[i].len : 16, fixed,
			bad[i].len < 16 ? 0 : bad[i].len - 16, NULL, 0);
		do {
			struct pollfd fd = { .fd = p.fd, .events = POLLIN };

			link_flush(&l);
			s = link_next(&l, arena, &payload, &f);
			if (s == LINK_NONE)
				poll(&fd, 1, 1000);
		} while (s == LINK_NONE ||
			 (s == LINK_FRAME && l.frame.kind != FRAME_ERROR));
		assert_int_equal(s, LINK_FRAME);
		assert_int_equal(
			frame_get_error(payload, l.frame.len, &failure),
			FRAME_OK);
		assert_int_equal(failure.what, FRAME_ERROR_INTERNAL);
		assert_string_equal(failure.message, bad[i].text);
		process_end(&p, true, &pe);
		link_release(&l);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(int argc, char **argv)
{
	const struct CMUnitTest plain[] = {
		TEST(test_order),
		TEST(test_clock_stands_still),
		TEST(test_no_deadlock),
		TEST(test_returns_are_bounded),
		TEST(test_no_tools),
		TEST(test_closed_while_it_waits),
		TEST(test_suspended_numbers),
		TEST(test_suspended_clock),
		TEST(test_suspended_limits),
		TEST(test_damaged_heaps),
		TEST(test_forged_heaps),
		TEST(test_big_heap),
		TEST(test_scripts_suspended),
		TEST(test_scripts_in_a_row),
		TEST(test_too_many_scripts),
		TEST(test_root_script),
		TEST(test_hostile_parent),
		TEST(test_figures),
	};
	struct CMUnitTest tests[NELEM(rows) + NELEM(programs) +
				NELEM(script_rows) + NELEM(fakes) +
				NELEM(plain)];
	size_t n = 0;

	for (size_t i = 0; argc == 2 && i < NELEM(fakes); i++) {
		if (strcmp(fakes[i].name, argv[1]) != 0)
			continue;
		fakes[i].fn();
		/* It does not end by itself. */
		(void)!read(FRAME_FD, (char[64]){ 0 }, 64);
		pause();
	}
	program = getenv("MCP_SANDBOX");
	if (program == NULL || access(program, X_OK) != 0) {
		printf("1..0 # SKIP MCP_SANDBOX does not name mcp-sandbox\n");
		return 0;
	}
	for (size_t i = 0; i < NELEM(rows); i++)
		tests[n++] = (struct CMUnitTest){ rows[i].name, test_row,
			set_up, tear_down, (void *)&rows[i] };
	for (size_t i = 0; i < NELEM(programs); i++)
		tests[n++] =
			(struct CMUnitTest){ programs[i].name, test_suspended,
				set_up, tear_down, (void *)&programs[i] };
	for (size_t i = 0; i < NELEM(script_rows); i++)
		tests[n++] =
			(struct CMUnitTest){ script_rows[i].name, test_script,
				set_up, tear_down, (void *)&script_rows[i] };
	for (size_t i = 0; i < NELEM(fakes); i++)
		tests[n++] = (struct CMUnitTest){ fakes[i].name, test_fake,
			set_up, tear_down, (void *)&fakes[i] };
	for (size_t i = 0; i < NELEM(plain); i++)
		tests[n++] = plain[i];
	return _cmocka_run_group_tests("calls", tests, n, NULL, NULL);
}
