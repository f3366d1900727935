/* SPDX-License-Identifier: ISC */
/*
 * The whole way of a program: run/sandbox.c, the frames, mcp-sandbox (path in
 * MCP_SANDBOX) and its image.  For hostile sandboxes this program plays one:
 * started with an argument it is not a test.
 */
#include "base/compat.h"

#include "run/sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "sandbox/frame.h"

extern char **environ;

static const char *program;
static struct arena *arena;

static struct sandbox_limits
limits(void)
{
	return (struct sandbox_limits){
		.program = program,
		.wall_ms = 20000,
		.cpu_ms = 10000,
		.heap_bytes = 64ULL << 20,
		.stack_bytes = 1 << 20,
		.output_bytes = 1 << 20,
		.log_lines = 1000,
	};
}

static struct sandbox_result *
run_with(const struct sandbox_limits *l, const char *code, int watch_fd)
{
	struct sandbox_result *r = NULL;
	struct err e = { 0 };

	if (sandbox_run(l, code, strlen(code), watch_fd, arena, &r, &e) != 0)
		fail_msg("not run: %s", e.detail);
	return r;
}

static struct sandbox_result *
run(const char *code)
{
	const struct sandbox_limits l = limits();

	return run_with(&l, code, -1);
}

static int
set_up(void **state UNUSED)
{
	arena = arena_new(256 << 20);
	return 0;
}

/* Whatever happened: no child left, no descriptor. */
static int
tear_down(void **state UNUSED)
{
	arena_free(arena);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

/* What programs give. */

struct row {
	const char *name;
	const char *code;
	enum sandbox_status status;
	const char *json;    /* expected result; NULL: none */
	const char *message; /* a part of the message; NULL: any */
	uint32_t line, column;
	const char *logs; /* joined by newlines; NULL: none */
};

#define OK(name, code, json)                                                   \
	{                                                                      \
		name, code, SANDBOX_COMPLETED, json, NULL, 0, 0, NULL          \
	}
#define LOGS(name, code, json, logs)                                           \
	{                                                                      \
		name, code, SANDBOX_COMPLETED, json, NULL, 0, 0, logs          \
	}
#define BAD(name, code, line, column, message)                                 \
	{                                                                      \
		name, code, SANDBOX_FAILED, NULL, message, line, column, NULL  \
	}
#define FENCE "```"

static const struct row rows[] = {
	/* the forms of a program */
	OK("return", "return 1", "1"),
	OK("expression", "1 + 1", "2"),
	OK("expression with semicolons", "1 + 1;;\n", "2"),
	OK("expression with comments", "/* a */ 2 // b\n", "2"),
	OK("expression, semicolon, comment", "f(1); // b\nfunction f() {}",
		NULL),
	OK("expression then line comment", "[1]; // one", "[1]"),
	OK("object literal in parentheses", "({ a: 1 })", "{\"a\":1}"),
	OK("object literal", "{ a: 1, b: [2] }", "{\"a\":1,\"b\":[2]}"),
	OK("block", "{ return 3 }", "3"),
	OK("string", "'a string'", "\"a string\""),
	OK("template", "`a ${1 + 1}`", "\"a 2\""),
	OK("await expression", "await Promise.resolve(4)", "4"),
	OK("promise expression", "Promise.resolve(5)", "5"),
	OK("assignment", "x = 5", "5"),
	OK("top-level await", "const a = await 1; return a + await 2", "3"),
	OK("return in blocks", "if (true) { for (;;) { return 'in' } }",
		"\"in\""),
	OK("statements without return", "const a = 1; a", NULL),
	OK("nothing", "", NULL),
	OK("only a comment", "// nothing", NULL),
	OK("undefined", "return undefined", NULL),
	OK("null", "return null", "null"),
	OK("arrow", "() => 6", "6"),
	OK("async arrow in parentheses", "(async () => { return 7 });", "7"),
	OK("arrow with a body and a comment",
		"// go\nasync () => {\n"
		"  const a = 1\n  return a\n}\n",
		"1"),
	OK("function expression", "(function () { return 8 })", "8"),
	OK("named function", "function main() { return 9 }", "9"),
	OK("async named function",
		"async function main() {\n"
		"  return await 10\n}\n",
		"10"),
	OK("function that is not the program's text", "Math.max",
		"\"[Function: max]\""),
	OK("called function", "(() => 11)()", "11"),
	OK("class", "class A {}", "\"[Class: A]\""),
	OK("export default arrow", "export default async () => 12", "12"),
	OK("export default function",
		"export default function main() {\n"
		"  return 13\n}",
		"13"),
	OK("export default value", "export default { a: 1 };", "{\"a\":1}"),
	OK("export default class", "export default class B {}",
		"\"[Class: B]\""),
	OK("export default after statements",
		"const a = 14;\n"
		"export default () => a;\n",
		"14"),
	OK("fence", FENCE "js\nreturn 15\n" FENCE, "15"),
	OK("fence in talk",
		"Here it is:\n\n" FENCE "typescript\n"
		"const a: number = 16\nreturn a\n" FENCE "\nThat's all.",
		"16"),
	OK("fence after one word", "Code\n" FENCE "\nreturn 17\n" FENCE, "17"),
	OK("open fence", FENCE "js\nreturn 18", "18"),
	OK("fence closed on the last line", FENCE "js\nreturn 18" FENCE, "18"),
	OK("fence in a comment is none",
		"/**\n * " FENCE "\n * no\n * " FENCE "\n */\nreturn 19", "19"),
	OK("byte order mark and CR LF",
		"\xef\xbb\xbf"
		"const a = 20;\r\n"
		"return a\r\n",
		"20"),
	OK("sloppy mode", "undeclared = 21; return undeclared", "21"),
	OK("generator, Map, destructuring, spread, regexp",
		"function* g() {"
		"yield* [1, 2] } const [a, ...b] = [...g(), 3];"
		"return { a, b, m: new Map([['k', 1]]).get('k'),"
		"r: 'x1y22'.match(/\\d+/g), u: a?.b ?? 'no', n: 2n ** 64n }",
		"{\"a\":1,\"b\":[2,3],\"m\":1,\"r\":[\"1\",\"22\"],"
		"\"u\":\"no\",\"n\":\"18446744073709551616\"}"),

	/* TypeScript */
	OK("types", "const a: number = 1; return a as unknown as string", "1"),
	OK("interface and generics",
		"interface A<T> { x: T }\n"
		"type B = A<number> | null;\n"
		"function f<T extends object>(x: T, y?: B): T { return x }\n"
		"return f<A<number>>({ x: 2 } satisfies A<number>)",
		"{\"x\":2}"),
	OK("generic call that reads as comparisons",
		"const id = (x) => x;\n"
		"return id<string>('a')",
		"\"a\""),
	OK("comparisons that read as generics",
		"const a = 1, b = 2, c = 3;\n"
		"return [a < b, a < b && b > (c)]",
		"[true,false]"),
	OK("non-null and enum",
		"enum E { A, B = 5 }\n"
		"const o: { v?: number } = { v: E.B };\nreturn o.v!",
		"5"),
	OK("typed arrow", "async (): Promise<number> => { return 3 }", "3"),
	OK("class with modifiers",
		"class P { constructor(private a: number,"
		" readonly b = 2) {} sum(): number { return this.a + this.b } }"
		"\nreturn new P(1).sum()",
		"3"),

	/* results */
	OK("number of no JSON", "[NaN, Infinity, -0, 1e21]",
		"[null,null,0,1e+21]"),
	OK("BigInt", "123n", "\"123\""),
	OK("Date", "new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
	OK("invalid Date", "[new Date(NaN)]", "[null]"),
	OK("Map of strings", "new Map([['a', 1]])", "{\"a\":1}"),
	OK("Map of others", "new Map([[1, 2]])", "[[1,2]]"),
	OK("Set", "new Set([1, 'b'])", "[1,\"b\"]"),
	OK("Error", "new TypeError('t')",
		"{\"name\":\"TypeError\",\"message\":\"t\"}"),
	OK("Error with cause and code",
		"Object.assign(new Error('t', "
		"{ cause: 1 }), { code: 'E' })",
		"{\"name\":\"Error\",\"message\":\"t\",\"cause\":1,"
		"\"code\":\"E\"}"),
	OK("circular", "const o = { a: [] }; o.a.push(o); return o",
		"{\"a\":[\"[Circular]\"]}"),
	OK("shared is not circular", "const o = {}; return [o, o]", "[{},{}]"),
	OK("functions and symbols within",
		"({ f() {}, s: Symbol('x'), "
		"a: [() => 1, Symbol('y'), undefined], u: undefined })",
		"{\"a\":[null,null,null]}"),
	OK("symbol", "Symbol('x')", "\"Symbol(x)\""),
	OK("bytes", "new Uint8Array([1, 2, 3])",
		"{\"type\":\"Uint8Array\",\"base64\":\"AQID\"}"),
	OK("ArrayBuffer", "new Uint8Array([255]).buffer",
		"{\"type\":\"ArrayBuffer\",\"base64\":\"/w==\"}"),
	OK("typed array", "new Float64Array([1.5, 2])", "[1.5,2]"),
	OK("promise within", "({ p: Promise.resolve(1) })",
		"{\"p\":\"[Promise: await it]\"}"),
	OK("regexp", "/a/g", "\"/a/g\""),
	OK("boxed", "[new Number(1), new String('s'), Object(true)]",
		"[1,\"s\",true]"),
	OK("toJSON", "({ toJSON(k) { return [k] } })", "[\"\"]"),
	OK("sparse array", "[1, , 3]", "[1,null,3]"),
	OK("object without prototype",
		"Object.assign(Object.create(null), "
		"{ a: 1 })",
		"{\"a\":1}"),
	OK("NUL and lone surrogates", "['a\\0b', '\\ud800', '\\u{1f600}']",
		"[\"a\xef\xbf\xbd"
		"b\",\"\xef\xbf\xbd\","
		"\"\xf0\x9f\x98\x80\"]"),
	OK("names that become equal", "({ 'a\\0': 1, 'a\\ufffd': 2 })",
		"{\"a\xef\xbf\xbd\":1,\"a\xef\xbf\xbd#1\":2}"),
	OK("escapes", "'\"\\\\\\n\\u0001'", "\"\\\"\\\\\\n\\u0001\""),

	/* the console */
	LOGS("levels",
		"console.log('a', 1, { b: [2] }); console.info('i');"
		"console.debug(null, undefined); console.warn('w');"
		"console.error(new TypeError('e')); return 0",
		"0",
		"[log] a 1 {\"b\":[2]}\n[info] i\n[debug] null undefined\n"
		"[warn] w\n[error] TypeError: e (line 1, column 120)"),
	LOGS("what JSON lacks",
		"console.log(1n, Symbol('s'), () => 1, "
		"class A {}, new Map([['a', 1]]))",
		NULL,
		"[log] 1 Symbol(s) [Function: anonymous] [Class: A] "
		"{\"a\":1}"),
	LOGS("a getter that throws",
		"console.log({ get a() { throw "
		"new Error('no') } })",
		NULL, "[log] [cannot be shown: no]"),
	LOGS("rejection without handler",
		"Promise.reject(new Error('lost'));"
		" return 1",
		"1",
		"[error] Unhandled promise rejection: Error: lost "
		"(line 1, column 20)"),
	LOGS("an error in TypeScript",
		"const a: number = 1; const b: string ="
		" 'x'; console.log(new Error('t'))",
		NULL, "[log] Error: t (line 1, column 61)"),
	LOGS("a rejection handled later",
		"const p = Promise.reject(1); "
		"await null; p.catch(() => {}); return 2",
		"2", NULL),
	LOGS("work that is not awaited is finished",
		"(async () => { await 1; "
		"console.log('late') })(); return 1",
		"1", "[log] late"),

	/* errors of the program */
	BAD("throw", "\n  throw new Error('boom')", 2, 13, "boom"),
	BAD("throw, name", "throw new RangeError('far')", 1, 11,
		"RangeError: far"),
	BAD("throw, string", "throw 'text'", 0, 0, "text"),
	BAD("throw, object", "throw { code: 5 }", 0, 0, "{\"code\":5}"),
	BAD("throw, nothing to say", "throw ''", 0, 0, "empty string"),
	BAD("throw, null", "throw null", 0, 0, "null"),
	BAD("throw, empty", "throw new Error()", 1, 11, "Error"),
	BAD("throw after await", "await 1;\nawait 2;\nnull.x", 3, 0, NULL),
	BAD("throw in a function",
		"const f = () => {\n  return g.h\n}\n"
		"let g\nreturn f()",
		2, 10, "TypeError"),
	BAD("throw from the called function",
		"async () => {\n"
		"  await 1\n  throw new Error('x')\n}",
		3, 13, "x"),
	BAD("rejected", "return Promise.reject(new Error('r'))", 1, 27, "r"),
	BAD("throw in a fence",
		"Look:\n" FENCE "js\nconst a = 1\n"
		"throw new Error('f')\n" FENCE,
		4, 11, "f"),
	BAD("throw in TypeScript",
		"const a: string = 'x';\n"
		"function f(b: number): void { throw new Error('ts') }\n"
		"f(1 as number)",
		2, 41, "ts"),
	BAD("toJSON throws", "({ toJSON() { throw new Error('tj') } })", 1, 25,
		"tj"),
	BAD("syntax", "const a = ;", 1, 11, "SyntaxError"),
	BAD("syntax on a later line", "const a = 1;\nlet b = a +* 2", 2, 12,
		"SyntaxError"),
	BAD("syntax in a fence", FENCE "\nlet b = )\n" FENCE, 2, 9,
		"SyntaxError"),
	BAD("syntax in TypeScript", "const a: number = 1;\nif (", 2, 5,
		"SyntaxError"),
	BAD("end too early", "function f() {", 1, 15, "end of the program"),
	BAD("English", "please list my files", 1, 0, "SyntaxError"),
	BAD("nothing to wait for", "await new Promise(() => {})", 0, 0,
		"nothing will settle"),

	/* nothing runs while it is compiled, not even on purpose */
	BAD("leaves the function", "}); console.log('out'); (() => {", 1, 2,
		"SyntaxError"),
	BAD("leaves and calls it", "})(); console.log('out'); (() => {", 1, 2,
		"SyntaxError"),
	BAD("leaves with a comma", "}, console.log('out'), () => {", 1, 0,
		"SyntaxError"),
	BAD("leaves the parentheses", "1), console.log('out'), (2", 1, 0,
		"SyntaxError"),
	BAD("leaves the brackets", "1], console.log('out'), [2", 1, 0,
		"SyntaxError"),
	BAD("leaves the method", "} , [console.log('out')]: { a() {", 1, 0,
		"SyntaxError"),
	BAD("leaves in TypeScript",
		"const a: number = 1 });"
		"console.log('out'); (() => {",
		1, 0, "SyntaxError"),
	OK("declared twice",
		"function a() { return 1 } var a = 2; var b = a;"
		"function c() {} function c() {} return b",
		"2"),
	OK("#! line", "#!/usr/bin/env node\nreturn 1", "1"),

	/* what is not here, and what to use instead */
	BAD("fetch", "await fetch('http://x')", 1, 7, "tools.*"),
	BAD("XMLHttpRequest", "new XMLHttpRequest()", 1, 0, "no network"),
	BAD("setTimeout", "await new Promise(r => setTimeout(r, 1))", 1, 0,
		"no timers"),
	BAD("setInterval", "setInterval(() => {}, 1)", 1, 1, "no timers"),
	BAD("require", "const fs = require('fs')\nreturn 1", 1, 12,
		"no modules"),
	BAD("import", "import fs from 'fs'\nreturn 1", 1, 8, "no modules"),
	BAD("import()", "await import('fs')", 0, 0, "no modules"),
	BAD("export", "const a = 1;\nexport const b = 2;", 2, 1,
		"return value"),
	BAD("process", "return process.env.HOME", 1, 8, "no Node.js"),
	BAD("Deno", "Deno.readTextFile('x')", 1, 1, "no Deno"),
	BAD("Buffer", "Buffer.from('x')", 1, 1, "Uint8Array"),
	OK("absent things can be asked for", "typeof process + typeof Deno",
		"\"undefinedundefined\""),
	BAD("tools", "await tools.github.issues.list({})", 1, 0,
		"tools.github.issues.list cannot be called: no tools"),
	BAD("tools itself", "await tools({})", 1, 0, "Tool path missing"),
	OK("tools is no promise", "await tools; return typeof tools.a.then",
		"\"undefined\""),
	OK("tools is empty",
		"const k = []; for (const n in tools) k.push(n); "
		"return [k, Object.keys(tools), 'x' in tools, tools.a, "
		"JSON.stringify({ tools })]",
		"[[],[],false,null,\"{}\"]"),
	LOGS("tools can be shown", "console.log(tools, tools.a)", NULL,
		"[log] [tools] [tools.a]"),
	OK("a tool is not called by naming it", "tools.a.b", "\"[tools.a.b]\""),
	BAD("tools cannot be changed", "'use strict'; tools.a = 1", 1, 0,
		"cannot be changed"),
	OK("queueMicrotask",
		"let n = 0; queueMicrotask(() => n++); await 0; "
		"return n",
		"1"),
	OK("UTC",
		"new Date(2020, 0, 1).toISOString() + "
		"new Date().getTimezoneOffset()",
		"\"2020-01-01T00:00:00.000Z0\""),
	OK("the clock runs", "Date.now() > 1.6e12", "true"),

	/* from inside, nothing is outside */
	OK("Function constructor",
		"new Function('return this')() === "
		"globalThis && (0, eval)('1 + 1')",
		"2"),
	OK("constructor chain",
		"console.log.constructor.constructor("
		"'return typeof compile + typeof line + typeof __ts')()",
		"\"undefinedundefinedundefined\""),
	OK("no WebAssembly, no std, no os",
		"typeof WebAssembly + typeof std "
		"+ typeof os + typeof scriptArgs",
		"\"undefinedundefinedundefinedundefined\""),
	OK("globals",
		"Object.getOwnPropertyNames(globalThis).filter(n => "
		"/qjs|std|host|run|native/i.test(n))",
		"[]"),
	OK("callers are not seen",
		"(function f() { return String(f.caller) "
		"})().includes('prelude')",
		"false"),
	OK("prototypes spoilt",
		"Object.prototype.failure = { ok: 1 };"
		"Object.prototype.source = 'x';"
		"Array.prototype.push = Array.prototype.join = () => { throw 1 "
		"};"
		"String.prototype.split = RegExp.prototype.exec = "
		"JSON.stringify = Promise.prototype.then = () => 'spoilt';"
		"return { a: ['b'] }",
		"{\"a\":[\"b\"]}"),
	BAD("prepareStackTrace",
		"Error.prepareStackTrace = () => "
		"({ toString() { throw 1 } }); throw new Error('p')",
		0, 0, "p"),
	BAD("message that throws",
		"throw Object.defineProperty(new Error, "
		"'message', { get() { throw 1 } })",
		1, 0, "cannot be shown"),
};

static void
test_row(void **state)
{
	const struct row *row = *state;
	struct sandbox_result *r = run(row->code);
	char logs[4096] = "";
	size_t len = 0;

	for (size_t i = 0; i < r->log_count; i++)
		len += snprintf(logs + len, sizeof(logs) - len, "%s%s",
			i > 0 ? "\n" : "", r->logs[i]);
	if (r->status != row->status)
		fail_msg("status %s: %s (%s)", sandbox_status_name(r->status),
			r->message ? r->message : "",
			r->detail ? r->detail : "");
	if (row->json == NULL)
		assert_null(r->json);
	else if (r->json == NULL)
		fail_msg("no result");
	else
		assert_string_equal(r->json, row->json);
	if (row->message != NULL && strstr(r->message, row->message) == NULL)
		fail_msg("message: %s", r->message);
	if (row->status == SANDBOX_FAILED) {
		if (r->line != row->line ||
			(row->column != 0 && r->column != row->column))
			fail_msg(
				"at %u:%u: %s", r->line, r->column, r->message);
	} else {
		assert_null(r->message);
	}
	assert_string_equal(logs, row->logs != NULL ? row->logs : "");
}

static void
test_has_started(void **state UNUSED)
{
	assert_false(run("const a = ;")->has_started);
	assert_true(run("throw 1")->has_started);
	assert_true(run("return 1")->has_started);
}

/* An image is one state: what is random must not be in it. */
static void
test_random_differs(void **state UNUSED)
{
	const char *a = run("Math.random()")->json;
	const char *b = run("Math.random()")->json;

	assert_string_not_equal(a, b);
}

static void
test_program_that_is_no_text(void **state UNUSED)
{
	const struct sandbox_limits l = limits();
	struct sandbox_result *r;
	struct err e = { 0 };

	assert_int_equal(sandbox_run(&l, "1\0 2", 4, -1, arena, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_int_equal(sandbox_run(&l, "'\xff'", 3, -1, arena, &r, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
}

static void
test_long_program(void **state UNUSED)
{
	size_t len = 3 << 20;
	char *code = arena_alloc(arena, len + 1);
	struct sandbox_result *r;

	memset(code, ' ', len);
	code[len] = '\0';
	memcpy(code, "return 'long' /*", 16);
	memcpy(code + len - 2, "*/", 2);
	r = run(code);
	assert_int_equal(r->status, SANDBOX_COMPLETED);
	assert_string_equal(r->json, "\"long\"");
}

/* Limits. */

static void
test_wall(void **state UNUSED)
{
	struct sandbox_limits l = limits();
	struct sandbox_result *r;

	l.wall_ms = 300;
	r = run_with(&l, "console.log('before'); for (;;);", -1);
	assert_int_equal(r->status, SANDBOX_TIMED_OUT);
	assert_non_null(strstr(r->message, "300 ms"));
	assert_int_equal(r->log_count, 1);
	assert_string_equal(r->logs[0], "[log] before");
	assert_in_range(r->wall_ms, 290, 900);
}

static void
test_cpu_limits(void **state UNUSED)
{
	static const char *const codes[] = {
		"for (;;);",
		"try { for (;;); } finally { for (;;); }",
		"const f = () => Promise.resolve().then(f); await f()",
		"(function f() { queueMicrotask(f) })(); return 1",
		/* the engine asks nobody in here */
		"/(a+)+$/.test('a'.repeat(60) + 'b')",
		"new Array(2 ** 31).indexOf(1)",
		"return { toJSON() { for (;;); } }",
		"const a = []; a[4e9] = 1; for (;;) a.sort()",
	};
	struct sandbox_limits l = limits();

	l.cpu_ms = 200;
	for (size_t i = 0; i < NELEM(codes); i++) {
		struct sandbox_result *r = run_with(&l, codes[i], -1);

		if (r->status != SANDBOX_CPU)
			fail_msg("%s: %s: %s", codes[i],
				sandbox_status_name(r->status),
				r->message ? r->message : r->json);
		assert_non_null(strstr(r->message, "200 ms"));
		/* the timer counts in ticks */
		assert_in_range(r->cpu_ms, 50, 1500);
	}
}

static void
test_memory_limits(void **state UNUSED)
{
	static const char *const codes[] = {
		"const a = []; for (;;) a.push(new Array(1000).fill(1.5))",
		"const a = []; for (;;) a.push({ a: [] })",
		"new ArrayBuffer(1e9)",
		"const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))",
		"let s = 'x'; for (;;) s += s",
		"let s = 'x'; for (;;) s = (s + s + '\\u20ac').slice(1)",
		"'x'.repeat(2 ** 27).split('')",
		"const m = new Map(); for (let i = 0; ; i++) m.set(i, i)",
		"JSON.stringify(new Array(1e7).fill('xxxxxxxxxxxxxxx'))",
		"try { new ArrayBuffer(1e9) } catch { return 'caught' }",
		"await 1; const a = []; for (;;) a.push([a])",
	};
	struct sandbox_limits l = limits();

	l.heap_bytes = 32 << 20;
	for (size_t i = 0; i < NELEM(codes); i++) {
		struct sandbox_result *r = run_with(&l, codes[i], -1);

		if (r->status != SANDBOX_MEMORY)
			fail_msg("%s: %s: %s (%s)", codes[i],
				sandbox_status_name(r->status),
				r->message ? r->message : r->json,
				r->detail ? r->detail : "");
		assert_non_null(strstr(r->message, "32768 KiB"));
	}
}

static void
test_garbage_is_collected(void **state UNUSED)
{
	struct sandbox_limits l = limits();
	struct sandbox_result *r;

	l.heap_bytes = 32 << 20;
	r = run_with(&l,
		"for (let i = 0; i < 3e5; i++) { const a = {}, b = "
		"{ a }; a.b = b; a.x = new Array(10).fill(i) }"
		"return 'done'",
		-1);
	assert_int_equal(r->status, SANDBOX_COMPLETED);
}

static void
test_stack_limits(void **state UNUSED)
{
	static const char *const codes[] = {
		"function f() { return f() + 1 } return f()",
		"const f = (...a) => f(...a) + 1; f(1)",
		"await 1; const o = { get a() { return this.a } }; o.a",
		"class A { constructor() { new A() } } new A()",
		"const f = () => [1].map(f); f()",
		"const f = () => JSON.stringify({ toJSON: f }); f()",
		"const f = () => 'a'.replace(/a/, f); f()",
		"const f = () => eval('f()'); f()",
		"const f = () => new Proxy({}, { get: f }).x; f()",
		"eval('('.repeat(5000) + '1' + ')'.repeat(5000))",
		("let s = ''; for (let i = 0; i < 1e5; i++) s += '[';"
		 "JSON.parse(s)"),
		"new RegExp('(?:'.repeat(1e5))",
		("let a = []; for (let i = 0; i < 1e5; i++) a = [a];"
		 "return String(a)"),
		("let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, "
		 "{});"
		 "p.x"),
		("let p = {}; for (let i = 0; i < 1e5; i++) "
		 "p = Object.create(new Proxy(p, {})); 'x' in p"),
		("const f = () => Reflect.construct(f2, [], f2); function f2() "
		 "{ f() } f()"),
		"const f = () => { [3, 1, 2].sort(f) }; f()",
	};

	for (size_t i = 0; i < NELEM(codes); i++) {
		struct sandbox_result *r = run(codes[i]);

		if (r->status != SANDBOX_STACK)
			fail_msg("%s: %s: %s (%s)", codes[i],
				sandbox_status_name(r->status),
				r->message ? r->message : r->json,
				r->detail ? r->detail : "");
	}
}

static void
test_deep_but_within(void **state UNUSED)
{
	struct sandbox_result *r = run("function f(n) { return n ? f(n - 1) + "
				       "1 : 0 } return f(1500)");

	assert_string_equal(r->json, "1500");
	r = run("function f() { f() } try { f() } catch (e) "
		"{ return e.message }");
	assert_non_null(strstr(r->json, "stack"));
}

static void
test_console_limits(void **state UNUSED)
{
	struct sandbox_limits l = limits();
	struct sandbox_result *r;

	l.log_lines = 3;
	r = run_with(&l,
		"for (let i = 0; i < 10; i++) console.log(i); "
		"return 1",
		-1);
	assert_int_equal(r->status, SANDBOX_COMPLETED);
	assert_int_equal(r->dropped, 7);
	assert_int_equal(r->log_count, 4);
	assert_string_equal(r->logs[2], "[log] 2");
	assert_string_equal(r->logs[3], "... 7 more lines dropped");

	r = run_with(&l, "for (;;) console.log('x')", -1);
	assert_int_equal(r->status, SANDBOX_OUTPUT);
	assert_int_equal(r->log_count, 4);

	l.log_lines = 1000;
	l.output_bytes = 10000;
	r = run_with(&l,
		"for (let i = 0; i < 20; i++) "
		"console.log('y'.repeat(1000)); return 1",
		-1);
	assert_int_equal(r->status, SANDBOX_COMPLETED);
	assert_in_range(r->log_count, 9, 11);
	assert_in_range(r->dropped, 10, 12);

	r = run("console.log('z'.repeat(1e6))");
	assert_int_equal(r->log_count, 1);
	assert_non_null(strstr(r->logs[0], "more characters]"));
	assert_in_range(strlen(r->logs[0]), 16000, 17000);

	l.log_lines = 0;
	r = run_with(&l, "console.log(1); return 1", -1);
	assert_int_equal(r->log_count, 1);
	assert_string_equal(r->logs[0], "... 1 more lines dropped");
}

/* Enough of JSON to see that brackets and strings are closed. */
static bool
is_balanced(const char *s)
{
	char stack[128];
	size_t depth = 0;
	bool in_string = false;

	for (; *s != '\0'; s++) {
		if (in_string) {
			if (*s == '\\')
				s++;
			else if (*s == '"')
				in_string = false;
		} else if (*s == '"') {
			in_string = true;
		} else if (*s == '[' || *s == '{') {
			if (depth == sizeof(stack))
				return false;
			stack[depth++] = *s == '[' ? ']' : '}';
		} else if (*s == ']' || *s == '}') {
			if (depth == 0 || stack[--depth] != *s)
				return false;
		}
	}
	return depth == 0 && !in_string;
}

static void
test_long_results_are_cut(void **state UNUSED)
{
	static const char *const codes[] = {
		"'x'.repeat(1e6)",
		"'\\u20ac'.repeat(1e6)",
		"'\\n'.repeat(1e6)",
		"'\\u0001\"'.repeat(1e6)",
		"Array.from({ length: 1e5 }, (_, i) => i)",
		"Array.from({ length: 1e5 }, () => ({ a: ['b', { c: 1 }] }))",
		("Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => "
		 "['k' + i, i]))"),
		"new Array(1e9)",
		"new Uint8Array(1e6)",
		"new Map(Array.from({ length: 1e5 }, (_, i) => [i, i]))",
		"({ ['k'.repeat(1e6)]: 1 })",
		"let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
		"let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return a",
		"let a = []; for (let i = 0; i < 40; i++) a = [a, a]; return a",
	};
	struct sandbox_limits l = limits();

	l.output_bytes = 20000;
	for (size_t i = 0; i < NELEM(codes); i++) {
		struct sandbox_result *r = run_with(&l, codes[i], -1);

		if (r->status != SANDBOX_COMPLETED)
			fail_msg("%s: %s (%s)", codes[i],
				sandbox_status_name(r->status),
				r->detail ? r->detail : "");
		if (!r->is_cut || r->json_len > l.output_bytes ||
			!is_balanced(r->json))
			fail_msg("%s: %zu bytes, cut %d: %.300s", codes[i],
				r->json_len, r->is_cut, r->json);
	}
	assert_false(run("'x'.repeat(1e6)")->is_cut);
}

/* The caller. */

static int hang_up_fd = -1;

static void
hang_up(int sig UNUSED)
{
	close(hang_up_fd);
}

static void
test_caller_goes_away(void **state UNUSED)
{
	struct itimerval t = { .it_value = { .tv_usec = 100000 } };
	struct sigaction sa = { .sa_handler = hang_up };
	const struct sandbox_limits l = limits();
	struct sandbox_result *r;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	r = run_with(&l, "return 1", fds[0]);
	assert_int_equal(r->status, SANDBOX_COMPLETED);

	hang_up_fd = fds[1];
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	r = run_with(&l, "for (;;);", fds[0]);
	assert_int_equal(r->status, SANDBOX_CANCELLED);
	assert_in_range(r->wall_ms, 50, 3000);
	close(fds[0]);
}

/* A responder that is killed leaves no program running behind it. */
static void
test_dies_with_its_parent(void **state UNUSED)
{
	int64_t start_ms = clock_mono_ms();
	int status;
	pid_t pid, orphan;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)run("for (;;);");
		_exit(0);
	}
	usleep(200000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	orphan = waitpid(-1, &status, 0);
	assert_true(orphan > 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_true(clock_mono_ms() - start_ms < 3000);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

static bool
is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
	return true;
#endif
#endif
	return false;
}

/* Too little address space is said, and nothing has run. */
static void
test_address_space(void **state UNUSED)
{
	struct rlimit before, low;
	struct sandbox_result *r;

	/* A test under AddressSanitizer needs terabytes of it itself. */
	if (is_sanitized()) {
		print_message("# test_address_space: not under a sanitizer\n");
		return;
	}
	getrlimit(RLIMIT_AS, &before);
	low = before;
	low.rlim_cur = 4ULL << 30;
	assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
	r = run("return 1");
	setrlimit(RLIMIT_AS, &before);
	assert_int_equal(r->status, SANDBOX_NOT_STARTED);
	assert_string_equal(r->detail, "no address space for the engine");
	assert_false(r->has_started);
}

static size_t
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void
test_no_leaks(void **state UNUSED)
{
	size_t before = open_fds();

	for (int i = 0; i < 20; i++)
		(void)run(i % 2 ? "return 1" : "throw 1");
	assert_int_equal(open_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void
test_no_such_program(void **state UNUSED)
{
	struct sandbox_limits l = limits();
	struct sandbox_result *r;
	struct err e = { 0 };

	l.program = "/nonexistent/mcp-sandbox";
	assert_int_equal(sandbox_run(&l, "1", 1, -1, arena, &r, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_non_null(strstr(e.detail, "/nonexistent/mcp-sandbox"));
}

static void
test_image(void **state UNUSED)
{
	struct sandbox_limits l = limits();
	char name[] = "/tmp/test-sandbox-XXXXXX";
	char id[16384] = "MCPHEAP2";
	struct sandbox_result *r;
	int fd;

	l.image = "/nonexistent/image";
	r = run_with(&l, "return 1", -1);
	assert_int_equal(r->status, SANDBOX_NOT_STARTED);
	assert_false(r->has_started);
	assert_string_equal(r->detail, "the heap image is missing");

	fd = mkstemp(name);
	assert_true(fd >= 0);
	l.image = name;
	r = run_with(&l, "return 1", -1);
	assert_int_equal(r->status, SANDBOX_NOT_STARTED);
	assert_string_equal(r->detail, "the heap image is damaged");
	assert_int_equal(write(fd, id, sizeof(id)), sizeof(id));
	r = run_with(&l, "return 1", -1);
	assert_int_equal(r->status, SANDBOX_NOT_STARTED);
	assert_string_equal(r->detail, "the heap image is of another build");
	close(fd);
	unlink(name);
}

/* Sandboxes that are not what they should be. */

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
say_result(const char *json)
{
	uint8_t p[256];
	const struct frame_result r = { .has_value = *json != '\0' };

	frame_put_result(p, &r);
	memcpy(p + FRAME_RESULT_LEN, json, strlen(json));
	say(FRAME_RESULT, p, FRAME_RESULT_LEN + strlen(json));
}

static void
hear(void)
{
	char buf[4096];

	(void)!read(FRAME_FD, buf, sizeof(buf));
}

static void
fake_silent(void)
{
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

static void
fake_exit(void)
{
	_exit(3);
}

static void
fake_killed(void)
{
	raise(SIGKILL);
}

static void
fake_cpu(void)
{
	raise(SIGXCPU);
}

static void
fake_garbage(void)
{
	for (int i = 0; i < 100; i++)
		(void)!write(FRAME_FD, "GET / HTTP/1.1\r\n\r\n", 18);
}

static void
fake_zeros(void)
{
	char zeros[4096] = { 0 };

	(void)!write(FRAME_FD, zeros, sizeof(zeros));
}

static void
fake_huge(void)
{
	uint8_t h[FRAME_HEADER_LEN];

	frame_put_header(h, 0xfffffff0, FRAME_RESULT, 1);
	(void)!write(FRAME_FD, h, sizeof(h));
	fake_silent();
}

static void
fake_too_much(void)
{
	uint8_t h[FRAME_HEADER_LEN];

	/* within the protocol, beyond what was asked for */
	frame_put_header(h, 4 << 20, FRAME_RESULT, 1);
	(void)!write(FRAME_FD, h, sizeof(h));
	fake_silent();
}

static void
fake_half_header(void)
{
	(void)!write(FRAME_FD, "\1\0", 2);
}

static void
fake_half_payload(void)
{
	uint8_t h[FRAME_HEADER_LEN];

	frame_put_header(h, 100, FRAME_LOG, 1);
	(void)!write(FRAME_FD, h, sizeof(h));
	(void)!write(FRAME_FD, "abc", 3);
}

static void
fake_seq_gap(void)
{
	fake_seq = 1;
	say(FRAME_LOG, "a", 1);
}

static void
fake_wrong_way(void)
{
	uint8_t p[FRAME_RUN_LEN];
	const struct frame_run r = { .wall_ms = 1 };

	frame_put_run(p, &r);
	say(FRAME_RUN, p, sizeof(p));
}

static void
fake_bad_text(void)
{
	say(FRAME_LOG, "\xff\xfe", 2);
}

static void
fake_empty_value(void)
{
	say(FRAME_RESULT, "\1\0\0\0\0\0\0\0", 8);
}

static void
fake_bad_error(void)
{
	say(FRAME_ERROR, "\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static void
fake_many_lines(void)
{
	for (int i = 0; i < 2000; i++)
		say(FRAME_LOG, "x", 1);
	say_result("1");
}

static void
fake_closes(void)
{
	close(FRAME_FD);
	fake_silent();
}

static void
fake_reads_nothing(void)
{
	fake_silent();
}

/* honest ones */
static void
fake_slow(void)
{
	static const uint8_t frame[] = { 9, 0, 0, 0, FRAME_RESULT, 0, 0, 0, 1,
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, '7' };

	for (size_t i = 0; i < sizeof(frame); i++) {
		(void)!write(FRAME_FD, frame + i, 1);
		usleep(1000);
	}
}

static void
fake_twice(void)
{
	say_result("1");
	say_result("2");
}

/* A result of what the process finds: descriptors, environment, signals. */
static void
fake_surroundings(void)
{
	char json[200];
	int n = 0, len;
	struct stat st;
	sigset_t set;

	for (int fd = 4; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	sigprocmask(SIG_SETMASK, NULL, &set);
	len = snprintf(json, sizeof(json),
		"{\"fds\":%d,\"env\":%d,\"null\":%d,\"group\":%d,"
		"\"blocked\":%d,\"pipe\":%d}",
		n, environ[0] != NULL,
		fstat(0, &st) == 0 && S_ISCHR(st.st_mode) &&
			fstat(2, &st) == 0 && S_ISCHR(st.st_mode),
		getpgrp() == getpid(), sigismember(&set, SIGUSR2),
		signal(SIGPIPE, SIG_DFL) == SIG_DFL);
	if (len > 0)
		say_result(json);
}

static const struct fake {
	const char *name;
	void (*fn)(void);
	enum sandbox_status status;
	const char *detail; /* a part of it */
} fakes[] = {
	{ "silent", fake_silent, SANDBOX_TIMED_OUT, NULL },
	{ "exit", fake_exit, SANDBOX_CRASHED, "status 3" },
	{ "killed", fake_killed, SANDBOX_CRASHED, "signal 9" },
	{ "cpu", fake_cpu, SANDBOX_CPU, NULL },
	{ "garbage", fake_garbage, SANDBOX_CRASHED, "reserved" },
	{ "zeros", fake_zeros, SANDBOX_CRASHED, "kind" },
	{ "huge", fake_huge, SANDBOX_CRASHED, "length" },
	{ "too_much", fake_too_much, SANDBOX_CRASHED, "length" },
	{ "half_header", fake_half_header, SANDBOX_CRASHED, "no result" },
	{ "half_payload", fake_half_payload, SANDBOX_CRASHED, "no result" },
	{ "seq_gap", fake_seq_gap, SANDBOX_CRASHED, "number" },
	{ "wrong_way", fake_wrong_way, SANDBOX_CRASHED, "kind" },
	{ "bad_text", fake_bad_text, SANDBOX_CRASHED, "UTF-8" },
	{ "empty_value", fake_empty_value, SANDBOX_CRASHED, "range" },
	{ "bad_error", fake_bad_error, SANDBOX_CRASHED, "range" },
	{ "many_lines", fake_many_lines, SANDBOX_CRASHED, "agreed" },
	{ "closes", fake_closes, SANDBOX_CRASHED, "signal 9" },
	{ "slow", fake_slow, SANDBOX_COMPLETED, NULL },
	{ "twice", fake_twice, SANDBOX_COMPLETED, NULL },
	{ "surroundings", fake_surroundings, SANDBOX_COMPLETED, NULL },
	{ "reads_nothing", fake_reads_nothing, SANDBOX_TIMED_OUT, NULL },
};

static void
test_fake(void **state)
{
	const struct fake *f = *state;
	struct sandbox_limits l = limits();
	struct sandbox_result *r;
	char *code = arena_alloc(arena, 1 << 20);

	/* a program longer than a socket takes without a reader */
	memset(code, ' ', 1 << 20);
	code[(1 << 20) - 1] = '\0';
	l.program = "/proc/self/exe";
	l.image = f->name;
	l.wall_ms = 200;
	r = run_with(&l, f->fn == fake_reads_nothing ? code : "return 1", -1);
	assert_int_equal(r->status, f->status);
	assert_true(r->wall_ms < 2500);
	if (f->detail != NULL) {
		if (r->detail == NULL || strstr(r->detail, f->detail) == NULL)
			fail_msg("detail: %s", r->detail ? r->detail : "none");
	}
	if (f->fn == fake_slow)
		assert_string_equal(r->json, "7");
	if (f->fn == fake_twice)
		assert_string_equal(r->json, "1");
	if (f->fn == fake_surroundings)
		assert_string_equal(r->json,
			"{\"fds\":0,\"env\":0,\"null\":1,\"group\":1,"
			"\"blocked\":0,\"pipe\":1}");
}

/* What the sandbox does with a parent that is not what it should be. */

static int
end_of_sandbox(const void *bytes, size_t len, uint8_t *answer, size_t *n)
{
	int fds[2], status;
	ssize_t got;
	pid_t pid;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (fds[1] == FRAME_FD)
			fcntl(FRAME_FD, F_SETFD, 0);
		else
			dup2(fds[1], FRAME_FD);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	assert_int_equal(write(fds[0], bytes, len), (ssize_t)len);
	shutdown(fds[0], SHUT_WR);
	*n = 0;
	while ((got = read(fds[0], answer + *n, 4096 - *n)) > 0)
		*n += got;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
test_hostile_parent(void **state UNUSED)
{
	static const struct {
		uint32_t len;
		uint8_t kind;
		uint32_t seq;
		size_t at;     /* this byte of the payload ... */
		uint8_t value; /* ... becomes this */
		const char *text;
	} bad[] = {
		{ 0, FRAME_RUN, 1, 0, 1, "length out of bounds" },
		{ 0xffffffff, FRAME_RUN, 1, 0, 1, "length out of bounds" },
		{ 68, FRAME_RESULT, 1, 0, 1, "unexpected kind of frame" },
		{ 68, FRAME_RUN, 2, 0, 1, "wrong frame number" },
		{ 68, FRAME_RUN, 1, 0, 9, "protocol version not known" },
		{ 68, FRAME_RUN, 1, 48, 9, "field out of range" },
		{ 68, FRAME_RUN, 1, 52, 9, "length out of bounds" },
		{ 68, FRAME_RETURN, 1, 0, 2, "unexpected kind of frame" },
		{ 0, FRAME_SUSPEND, 1, 0, 2, "unexpected kind of frame" },
		{ 68, FRAME_RUN, 1, 23, 9, "field out of range" },
		{ 68, FRAME_RUN, 1, 66, 0, "text is not UTF-8" },
	};
	const struct frame_run request = { .wall_ms = 1000,
		.cpu_ms = 1000,
		.stack_bytes = 1 << 20,
		.heap_bytes = 1 << 20,
		.output_bytes = 1000,
		.log_lines = 1,
		.log_bytes = 1000 };
	uint8_t in[FRAME_HEADER_LEN + FRAME_RUN_LEN + 8], out[4096];
	struct frame_failure failure;
	struct frame_header h;
	size_t n;
	int status;

	for (size_t i = 0; i < NELEM(bad); i++) {
		frame_put_header(in, bad[i].len, bad[i].kind, bad[i].seq);
		frame_put_run(in + FRAME_HEADER_LEN, &request);
		memcpy(in + FRAME_HEADER_LEN + FRAME_RUN_LEN, "return 1", 8);
		in[FRAME_HEADER_LEN + bad[i].at] = bad[i].value;
		status = end_of_sandbox(in, sizeof(in), out, &n);
		assert_true(WIFEXITED(status));
		assert_true(n >= FRAME_HEADER_LEN + FRAME_ERROR_LEN);
		assert_int_equal(
			frame_get_header(out, FRAME_FROM_SANDBOX, 1, &h),
			FRAME_OK);
		assert_int_equal(h.kind, FRAME_ERROR);
		assert_int_equal(frame_get_error(out + FRAME_HEADER_LEN, h.len,
					 &failure),
			FRAME_OK);
		assert_int_equal(failure.what, FRAME_ERROR_START);
		if (failure.message_len != strlen(bad[i].text) ||
			memcmp(failure.message, bad[i].text,
				failure.message_len) != 0)
			fail_msg("%zu: %.*s", i, (int)failure.message_len,
				failure.message);
	}

	/* a parent that ends in the middle */
	status = end_of_sandbox(in, 5, out, &n);
	assert_true(WIFEXITED(status));
	assert_int_equal(n, 0);
	status = end_of_sandbox(in, sizeof(in) - 3, out, &n);
	assert_true(WIFEXITED(status));
	assert_int_equal(n, 0);
}

static void
test_status_names(void **state UNUSED)
{
	for (int i = 0; i < SANDBOX__MAX; i++)
		assert_string_not_equal(sandbox_status_name(i), "unknown");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(int argc, char **argv)
{
	const struct CMUnitTest plain[] = {
		TEST(test_has_started),
		TEST(test_random_differs),
		TEST(test_program_that_is_no_text),
		TEST(test_long_program),
		TEST(test_wall),
		TEST(test_cpu_limits),
		TEST(test_memory_limits),
		TEST(test_garbage_is_collected),
		TEST(test_stack_limits),
		TEST(test_deep_but_within),
		TEST(test_console_limits),
		TEST(test_long_results_are_cut),
		TEST(test_caller_goes_away),
		TEST(test_dies_with_its_parent),
		TEST(test_address_space),
		TEST(test_no_leaks),
		TEST(test_no_such_program),
		TEST(test_image),
		TEST(test_hostile_parent),
		TEST(test_status_names),
	};
	struct CMUnitTest tests[NELEM(rows) + NELEM(fakes) + NELEM(plain)];
	size_t n = 0;

	if (argc == 2) {
		for (size_t i = 0; i < NELEM(fakes); i++) {
			if (strcmp(fakes[i].name, argv[1]) != 0)
				continue;
			if (fakes[i].fn != fake_reads_nothing)
				hear();
			fakes[i].fn();
			return 0;
		}
		return 2;
	}
	program = getenv("MCP_SANDBOX");
	if (program == NULL || access(program, X_OK) != 0) {
		printf("1..0 # SKIP MCP_SANDBOX does not name mcp-sandbox\n");
		return 0;
	}
	for (size_t i = 0; i < NELEM(rows); i++)
		tests[n++] = (struct CMUnitTest){ rows[i].name, test_row,
			set_up, tear_down, (void *)&rows[i] };
	for (size_t i = 0; i < NELEM(fakes); i++)
		tests[n++] = (struct CMUnitTest){ fakes[i].name, test_fake,
			set_up, tear_down, (void *)&fakes[i] };
	for (size_t i = 0; i < NELEM(plain); i++)
		tests[n++] = plain[i];
	return _cmocka_run_group_tests("sandbox", tests, n, NULL, NULL);
}
