/* SPDX-License-Identifier: ISC */
/*
 * prelude: what a program finds in the sandbox, and how one is run.  Evaluated
 * once in each realm, most of them when the heap image is made; its value is
 * the function `run`, which engine.c calls:
 *	run(code, outputBytes, argsBytes, callsMax, kind, args, ctx)
 *				start the program; argsBytes 0: no tools
 *	run.end()		its outcome, once no job is pending; undefined
 *				while it waits for calls
 *	run.settle(number, answer, json)
 *				a call is answered
 *	run.uncaught(error)	its outcome when the engine gave up
 *	run.rejection(...)	a promise was rejected, or handled later
 * Between realms go numbers and strings only, through engine.c: no object of
 * one is ever seen by another.
 * What is used after the program has had its turn is taken here first: a
 * program may change every prototype, which must spoil no more than its own
 * result.
 */
(() => {
"use strict";

/* enum frame_error in frame.h */
const SYNTAX = 0, SCRIPT = 1, MEMORY = 4, STACK = 5;

/* enum frame_answer in frame.h */
const ANSWER_ERROR = 0, ANSWER_OK = 1, ANSWER_THROW = 2;

/* What runs in this realm; see engine.h */
const PROGRAM = 0, ROOT_SCRIPT = 1, INNER_SCRIPT = 2;

const MAX_DEPTH = 60;		/* of a result; deeper parts become a text */
const MAX_LINE = 16384;		/* characters of a console line */
const MAX_MESSAGE = 4000;	/* characters of an error message */
const MAX_PATH = 160;		/* characters of a tool's path */

const { check, compile, line, drop, refused, call } = globalThis;
const typescript = globalThis.__ts;	/* not in every realm */
for (const name of ["check", "compile", "line", "drop", "refused", "call",
	"__ts"])
	delete globalThis[name];

const apply = Reflect.apply;
const uncurry = (f) => (self, ...args) => apply(f, self, args);
const hasOwn = uncurry(Object.prototype.hasOwnProperty);
const stringify = JSON.stringify, parseJson = JSON.parse;
const { keys, getPrototypeOf, defineProperty } = Object;
const { iterator, asyncIterator } = Symbol;
const isArray = Array.isArray;
const isView = ArrayBuffer.isView;
const functionText = uncurry(Function.prototype.toString);
const S = String.prototype;
const slice = uncurry(S.slice), indexOf = uncurry(S.indexOf),
	split = uncurry(S.split), startsWith = uncurry(S.startsWith),
	isWellFormed = uncurry(S.isWellFormed),
	toWellFormed = uncurry(S.toWellFormed),
	charCodeAt = uncurry(S.charCodeAt);
const join = uncurry(Array.prototype.join);
const then = uncurry(Promise.prototype.then);
const mapForEach = uncurry(Map.prototype.forEach);
const setForEach = uncurry(Set.prototype.forEach);
const setHas = uncurry(Set.prototype.has), setAdd = uncurry(Set.prototype.add);
const mapGet = uncurry(Map.prototype.get),
	mapSet = uncurry(Map.prototype.set),
	mapDelete = uncurry(Map.prototype.delete);
const regexpText = uncurry(RegExp.prototype.toString);
const regexpExec = RegExp.prototype.exec;
const numberText = uncurry(Number.prototype.toString);
const InternalErrorClass = InternalError;
const $ = {
	Error, TypeError, Map, Set, Promise, RegExp, ArrayBuffer, Uint8Array,
	Uint8ClampedArray, DataView, Number, String, Boolean, BigInt, Proxy,
};
const str = $.String;

/* exec of R whatever becomes of RegExp.prototype */
const match = (r, s) => apply(regexpExec, r, [s]);
const isAscii = (s) => match(/[^\x00-\x7f]/, s) === null;

/* Text that every JSON parser and PostgreSQL take: no NUL, no lone surrogate */
function clean(s)
{
	if (!isWellFormed(s))
		s = toWellFormed(s);
	if (indexOf(s, "\0") >= 0)
		s = join(split(s, "\0"), "\ufffd");
	return s;
}

function cutText(s, max)
{
	if (s.length <= max)
		return s;
	return toWellFormed(slice(s, 0, max)) + "... [" + (s.length - max)
		+ " more characters]";
}

/*
 * JSON of any value in about BUDGET bytes.  What does not fit is left out
 * with a mark in its place, and `cut` is set; the text stays valid.
 *	undefined, functions, symbols	left out of objects, null in arrays
 *	NaN, Infinity			null
 *	BigInt				string of its digits
 *	Date, anything with toJSON	what that returns
 *	Map				object if all keys are strings, else
 *					array of pairs
 *	Set, typed arrays		array
 *	bytes (Uint8Array, ArrayBuffer)	{type, base64}
 *	Error				{name, message, ...own, cause}
 *	a reference to an outer object	"[Circular]"
 * With WHAT, the name of what is written, nothing is left out or changed
 * silently: what has no JSON is a TypeError.
 */
class Writer {
	constructor(budget, what)
	{
		this.left = budget;
		this.what = what;
		this.cut = false;
		this.out = [];
		this.outer = [];
	}

	put(s)
	{
		this.left -= isAscii(s) ? s.length : 3 * s.length;
		this.out[this.out.length] = s;
	}

	/* Strictly, KEY cannot be written because of WHY. */
	refuse(key, why)
	{
		if (this.what !== undefined)
			throw new $.TypeError(this.what + (key === "" ||
				key === undefined ? "" : ": " + stringify(key))
				+ " " + why);
	}

	string(s, key)
	{
		const raw = s;
		s = clean(s);
		if (s !== raw)
			this.refuse(key, "holds NUL or half a character");
		let q = stringify(s);
		const cost = isAscii(q) ? q.length : 3 * q.length;
		if (cost > this.left && s.length > 64) {
			this.cut = true;
			let n = s.length;
			let c = cost;
			while (n > 32 && c > this.left) {
				n = n >> 1;
				q = stringify(cutText(s, n));
				c = isAscii(q) ? q.length : 3 * q.length;
			}
		}
		this.put(q);
	}

	/* False: V is not representable and was not written. */
	value(v, key)
	{
		switch (typeof v) {
		case "string":
			this.string(v, key);
			return true;
		case "number":
			if (v - v !== 0)
				this.refuse(key, "is " + v);
			this.put(v - v === 0 ? numberText(v) : "null");
			return true;
		case "boolean":
			this.put(v ? "true" : "false");
			return true;
		case "bigint":
			this.refuse(key, "is a BigInt: use Number() or "
				+ "String()");
			this.string(str(v));
			return true;
		case "object":
			break;
		case "undefined":
			return false;
		default:
			this.refuse(key, "is a " + typeof v);
			return false;
		}
		if (v === null) {
			this.put("null");
			return true;
		}
		const toJSON = v.toJSON;
		if (typeof toJSON === "function") {
			const j = apply(toJSON, v, [key]);
			if (j !== v)
				return this.value(j, key);
		}
		const outer = this.outer, depth = outer.length;
		for (let i = 0; i < depth; i++) {
			if (outer[i] === v) {
				this.refuse(key, "refers to what it is in");
				this.put('"[Circular]"');
				return true;
			}
		}
		if (depth >= MAX_DEPTH) {
			this.refuse(key, "is nested too deeply");
			this.cut = true;
			this.put('"[deeper levels left out]"');
			return true;
		}
		outer[depth] = v;
		this.object(v, key);
		outer.length = depth;
		return true;
	}

	object(v, key)
	{
		if (isArray(v))
			return this.array(v, v.length, (i) => v[i]);
		if (v instanceof $.Map)
			return this.map(v);
		if (v instanceof $.Set) {
			const a = [];
			setForEach(v, (e) => { a[a.length] = e; });
			return this.array(a, a.length, (i) => a[i]);
		}
		if (v instanceof $.Uint8Array || v instanceof $.ArrayBuffer
			|| v instanceof $.Uint8ClampedArray
			|| v instanceof $.DataView)
			return this.bytes(v);
		if (isView(v))
			return this.array(v, v.length, (i) => v[i]);
		if (v instanceof $.Error)
			return this.error(v);
		if (v instanceof $.Promise) {
			this.refuse(key, "is a promise: await it first");
			return this.put('"[Promise: await it]"');
		}
		if (v instanceof $.RegExp)
			return this.string(regexpText(v));
		if (v instanceof $.Number || v instanceof $.String
			|| v instanceof $.Boolean || v instanceof $.BigInt)
			return this.value(v.valueOf());
		const names = keys(v);
		this.members(names, (i) => v[names[i]]);
	}

	array(v, length, get)
	{
		this.put("[");
		for (let i = 0; i < length; i++) {
			if (this.left <= 0) {
				this.more(i > 0, length - i, "items");
				break;
			}
			if (i > 0)
				this.put(",");
			if (!this.value(get(i), str(i)))
				this.put("null");
		}
		this.put("]");
	}

	members(names, get)
	{
		let some = false;
		const seen = new $.Set();
		this.put("{");
		for (let i = 0; i < names.length; i++) {
			if (this.left <= 0) {
				this.cut = true;
				this.put((some ? "," : "") + '"...":"'
					+ (names.length - i) + ' more keys"');
				break;
			}
			/* Write the name, take it back if there is no value. */
			const mark = this.out.length, left = this.left;
			/* Names that clean() makes equal stay different. */
			let name = clean(names[i]);
			if (setHas(seen, name))
				name += "#" + i;
			setAdd(seen, name);
			if (some)
				this.put(",");
			this.string(name);
			this.put(":");
			if (this.value(get(i), names[i])) {
				some = true;
			} else {
				this.out.length = mark;
				this.left = left;
			}
		}
		this.put("}");
	}

	more(some, n, what)
	{
		this.cut = true;
		this.put((some ? "," : "") + '"... ' + n + " more " + what + '"');
	}

	map(v)
	{
		const ks = [], vs = [];
		let named = true;
		mapForEach(v, (value, key) => {
			if (typeof key !== "string")
				named = false;
			ks[ks.length] = key;
			vs[vs.length] = value;
		});
		if (named)
			this.members(ks, (i) => vs[i]);
		else
			this.array(ks, ks.length, (i) => [ks[i], vs[i]]);
	}

	error(v)
	{
		const names = ["name", "message"];
		const own = keys(v);
		if (v.cause !== undefined)
			names[names.length] = "cause";
		for (let i = 0; i < own.length; i++)
			if (own[i] !== "name" && own[i] !== "message"
				&& own[i] !== "cause" && own[i] !== "stack")
				names[names.length] = own[i];
		this.members(names, (i) => v[names[i]]);
	}

	bytes(v)
	{
		const b = v instanceof $.ArrayBuffer ? new $.Uint8Array(v)
			: new $.Uint8Array(v.buffer, v.byteOffset, v.byteLength);
		const max = this.left > 400 ? (this.left - 100) * 3 / 4 | 0 : 300;
		const n = b.length <= max ? b.length : max - max % 3;
		let type = "Uint8Array";
		if (v instanceof $.ArrayBuffer)
			type = "ArrayBuffer";
		else if (v instanceof $.DataView)
			type = "DataView";
		this.put('{"type":"' + type + '","base64":"' + base64(b, n)
			+ '"');
		if (n < b.length) {
			this.cut = true;
			this.put(',"...":"' + (b.length - n) + ' more bytes"');
		}
		this.put("}");
	}

	text()
	{
		return join(this.out, "");
	}
}

const DIGITS =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function base64(b, n)
{
	const out = [];
	for (let i = 0; i < n; i += 3) {
		const v = b[i] << 16 | (i + 1 < n ? b[i + 1] << 8 : 0)
			| (i + 2 < n ? b[i + 2] : 0);
		out[out.length] = DIGITS[v >> 18] + DIGITS[v >> 12 & 63]
			+ (i + 1 < n ? DIGITS[v >> 6 & 63] : "=")
			+ (i + 2 < n ? DIGITS[v & 63] : "=");
	}
	return join(out, "");
}

/* Functions and symbols have no JSON; alone they are worth a word. */
function nameOf(v)
{
	if (typeof v === "symbol")
		return str(v);
	/* A tool has no text, and asking for it would be a call. */
	const path = toolPath(v);
	if (path !== undefined)
		return path === "" ? "[tools]" : "[tools." + path + "]";
	const isClass = match(/^class\b/, functionText(v)) !== null;
	const name = typeof v.name === "string" ? v.name : "";
	return (isClass ? "[Class: " : "[Function: ")
		+ (name || "anonymous") + "]";
}

/* Errors. */

/* The first place of the user's program in the stack of E. */
function placeOf(e)
{
	let stack;
	try {
		stack = e.stack;
	} catch {
		return null;
	}
	if (typeof stack !== "string")
		return null;
	const m = match(/program\.js:(\d+)(?::(\d+))?/, stack);
	if (m === null)
		return null;
	/* The line before is run's own, and the engine's "somewhere". */
	if (m[1] < 2)
		return null;
	return { line: m[1] - 1, column: m[2] === undefined ? 0 : +m[2] };
}

const WORLD = "Code here reaches the outside world through tools.* only";
const absent = {
	process: "there is no Node.js here, and no environment. " + WORLD,
	Buffer: "there is no Node.js here. Use Uint8Array and strings",
	module: "there are no modules here; end with `return value`",
	exports: "there are no modules here; end with `return value`",
	__dirname: "there are no files here",
	__filename: "there are no files here",
	Deno: "there is no Deno here. " + WORLD,
	Bun: "there is no Bun here. " + WORLD,
	window: "there is no browser here. Use globalThis for globals",
	document: "there is no browser here",
	navigator: "there is no browser here",
	localStorage: "nothing is kept between runs; return what you need",
	sessionStorage: "nothing is kept between runs; return what you need",
	crypto: "there is no crypto here. Math.random() is seeded anew in "
		+ "each run",
	URL: "URL is not part of this engine. Build addresses with "
		+ "encodeURIComponent()",
	URLSearchParams: "it is not part of this engine. Build queries with "
		+ "encodeURIComponent()",
	TextEncoder: "it is not part of this engine",
	TextDecoder: "it is not part of this engine",
	Intl: "it is not part of this engine",
	structuredClone: "it is not part of this engine. "
		+ "Use JSON.parse(JSON.stringify(value))",
};

function messageOf(e)
{
	if (typeof e === "string")
		return e;
	if (typeof e === "function" || typeof e === "symbol")
		return nameOf(e);
	if (!(e instanceof $.Error)) {
		const w = new Writer(MAX_MESSAGE);
		return w.value(e) ? w.text() : str(e);
	}
	let name = e.name, text = e.message;
	name = typeof name === "string" ? name : "Error";
	text = typeof text === "string" ? text : str(text);
	if (name === "ReferenceError") {
		const m = match(/^'?([\w$]+)'? is not defined$/, text);
		if (m !== null && hasOwn(absent, m[1]))
			text += ": " + absent[m[1]];
	}
	if (name === "Error")
		return text || "Error";
	return text ? name + ": " + text : name;
}

function isOutOfMemory(e)
{
	try {
		if (e === null || e === undefined)
			return refused();
		return e instanceof InternalErrorClass
			&& (e.message === "out of memory"
				|| e.message === "string too long");
	} catch {
		return refused();
	}
}

function isOutOfStack(e)
{
	try {
		return e instanceof $.Error
			&& match(/stack (size )?(exceeded|overflow)/i,
				str(e.message)) !== null;
	} catch {
		return false;
	}
}

function failure(what, e, place)
{
	const f = { ok: 0, what, line: 0, column: 0, text: "" };
	if (place === undefined)
		place = placeOf(e);
	if (place !== null) {
		f.line = place.line;
		f.column = place.column;
	}
	if (isOutOfMemory(e)) {
		f.what = MEMORY;
	} else if (isOutOfStack(e)) {
		f.what = STACK;
	} else {
		try {
			f.text = clean(cutText(messageOf(e), MAX_MESSAGE))
				|| "The program threw an empty string";
		} catch {
			f.text = "The program threw a value that cannot be "
				+ "shown";
		}
	}
	return f;
}

/* The console. */

function show(v)
{
	switch (typeof v) {
	case "string":
		return v;
	case "undefined":
		return "undefined";
	case "bigint":
		return str(v);
	}
	try {
		if (typeof v === "function" || typeof v === "symbol")
			return nameOf(v);
		if (v instanceof $.Error) {
			const at = locate(v);
			const text = v.name + ": " + v.message;
			return at === null ? text : text + " (line " + at.line
				+ ", column " + at.column + ")";
		}
		const w = new Writer(MAX_LINE);
		return w.value(v) ? w.text() : str(v);
	} catch (e) {
		return "[cannot be shown: " + messageOf(e) + "]";
	}
}

let more = true;

function lineOf(args)
{
	let s = "";
	for (let i = 0; i < args.length; i++)
		s += (i > 0 ? " " : "") + show(args[i]);
	return cutText(s, MAX_LINE);
}

function print(level, args)
{
	/* A tool's console is not for the program that calls it. */
	if (state.kind === INNER_SCRIPT) {
		tell("$log", { level: level === "log" ? "info"
			: level === "warn" ? "warning" : level,
			message: lineOf(args) });
		return;
	}
	if (!more) {
		drop();
		return;
	}
	more = line(clean(cutText("[" + level + "] " + lineOf(args),
		MAX_LINE)));
}

const console = {};
for (const [name, level] of [
	["log", "log"], ["info", "info"], ["debug", "debug"],
	["warn", "warn"], ["error", "error"], ["dir", "log"],
	["table", "log"], ["trace", "debug"],
])
	console[name] = (...args) => print(level, args);
console.assert = (ok, ...args) => {
	if (!ok)
		print("error", ["Assertion failed", ...args]);
};
for (const name of ["group", "groupCollapsed", "groupEnd", "time", "timeEnd",
	"timeLog", "count", "countReset", "clear"])
	console[name] = () => {};

function define(name, value)
{
	defineProperty(globalThis, name, {
		value, writable: true, configurable: true, enumerable: false,
	});
}

define("console", console);

/* What programs written elsewhere expect, and what to do instead. */
const NETWORK = " is not available: the sandbox has no network. " + WORLD
	+ ".";
const TIMER = " is not available: there are no timers here. Do the work at "
	+ "once and await the promises it returns.";
for (const [name, text] of [
	["fetch", NETWORK], ["XMLHttpRequest", NETWORK],
	["WebSocket", NETWORK], ["EventSource", NETWORK],
	["setTimeout", TIMER], ["setInterval", TIMER],
	["setImmediate", TIMER],
	["require", " is not available: the sandbox has no modules. Write "
		+ "plain JavaScript. " + WORLD + "."],
	["importScripts", " is not available: the sandbox has no modules."],
])
	define(name, { [name]: function () {
		throw new $.Error(name + text);
	} }[name]);

const toolPaths = new WeakMap();
const weakGet = uncurry(WeakMap.prototype.get),
	weakSet = uncurry(WeakMap.prototype.set);
const toolPath = (v) => weakGet(toolPaths, v);

/* Calls without an answer: by number {path, resolve, reject, error, plain} */
const pending = new Map();

/*
 * Send a call; ERROR was made where the program called, and becomes what the
 * promise rejects with.  PLAIN: it resolves to the data itself.
 */
function send(path, json, error, plain)
{
	const number = call(path, json, false);
	if (number <= 0)
		return refuseCall(error, number === -1
			? "too many tool calls: a program has " + state.callsMax
				+ ". Do more in each of them"
			: number === -2 ? "the arguments of all calls together "
				+ "are too large"
			: number === -3 ? "too many calls wait for an answer. "
				+ "Await some before making more"
			: "tools cannot be called any more");
	state.open++;
	return new $.Promise((resolve, reject) => mapSet(pending, number,
		{ __proto__: null, path, resolve, reject, error, plain }));
}

function refuseCall(error, text)
{
	defineProperty(error, "message", { __proto__: null, value: text,
		writable: true, configurable: true, enumerable: false });
	return $.Promise.reject(error);
}

function settle(number, answer, json)
{
	const p = mapGet(pending, number);
	if (p === undefined)
		return;
	mapDelete(pending, number);
	state.open--;
	let v;
	try {
		v = parseJson(json);
	} catch {
		answer = ANSWER_THROW;
		v = { message: "The answer to tools." + p.path
			+ " is not JSON" };
	}
	if (answer === ANSWER_THROW || (p.plain && answer !== ANSWER_OK)) {
		defineProperty(p.error, "message", { __proto__: null,
			value: v !== null && typeof v.message === "string"
				? v.message : "Internal tool error",
			writable: true, configurable: true,
			enumerable: false });
		p.reject(p.error);
	} else if (p.plain) {
		p.resolve(v);
	} else {
		p.resolve(answer === ANSWER_OK ? { ok: true, data: v }
			: { ok: false, error: v });
	}
}

/* The object ARGS as JSON; WHAT is named in what is thrown. */
function argsJson(args, what)
{
	if (args === undefined || args === null)
		return "{}";
	if (typeof args !== "object" || isArray(args))
		throw new $.TypeError(what + " takes one object: " + what
			+ "({ name: value })");
	const w = new Writer(state.argsBytes, what);
	w.value(args, "");
	const json = w.text();
	if (w.cut || json.length > state.argsBytes)
		throw new $.TypeError(what + ": the arguments are larger than "
			+ state.argsBytes + " bytes");
	if (json[0] !== "{")
		throw new $.TypeError(what + " takes a plain object");
	return json;
}

/* What the built-in tools take, checked and completed. */
const builtins = {
	__proto__: null,
	search(args)
	{
		const o = args === undefined ? {} : args;
		if (o === null || typeof o !== "object" || isArray(o))
			throw new $.TypeError("tools.search takes one object: "
				+ 'tools.search({ query: "words" })');
		const { query = "", namespace, limit = 12, offset = 0 } = o;
		if (typeof query !== "string")
			throw new $.TypeError("tools.search: query must be a "
				+ "string");
		if (namespace !== undefined && typeof namespace !== "string")
			throw new $.TypeError("tools.search: namespace must be "
				+ "a string");
		if (!isCount(limit) || limit === 0)
			throw new $.TypeError("tools.search: limit must be a "
				+ "whole number above 0");
		if (!isCount(offset))
			throw new $.TypeError("tools.search: offset must be a "
				+ "whole number, 0 or above");
		return { query, namespace, limit, offset };
	},
	describe(args)
	{
		let path = args;
		if (args !== null && typeof args === "object") {
			path = args.path;
			if (args.includeSchemas !== undefined)
				throw new $.TypeError("tools.describe: "
					+ "includeSchemas is not known");
		}
		if (typeof path === "function")
			path = toolPath(path);
		if (typeof path !== "string" || path === "")
			throw new $.TypeError("tools.describe takes the path "
				+ 'of a tool: tools.describe({ path: "a.b" })');
		if (startsWith(path, "tools."))
			path = slice(path, 6);
		return { path };
	},
};
builtins["describe.tool"] = builtins.describe;

function isCount(v)
{
	return typeof v === "number" && v >= 0 && v <= 0x7fffffff
		&& v % 1 === 0;
}

function invoke(path, args)
{
	/* Here, so that it knows the line that calls. */
	const error = new $.Error("");
	try {
		if (path === "")
			return refuseCall(error,
				"Tool path missing in invocation");
		const what = "tools." + path;
		if (state.argsBytes === 0)
			return refuseCall(error, what + " cannot be called: no "
				+ "tools are connected.");
		if (path.length > MAX_PATH || path[0] === "$"
			|| clean(path) !== path)
			return refuseCall(error, cutText(what, 80)
				+ " is not the path of a tool");
		const builtin = builtins[path];
		if (builtin !== undefined)
			return send(path === "search" ? "$search" : "$describe",
				argsJson(builtin(args), what), error, true);
		return send(path, argsJson(args, what), error, false);
	} catch (e) {
		/* Found too deep in the arguments to know where they are. */
		return placeOf(e) === null && e instanceof $.TypeError
			? refuseCall(error, e.message) : $.Promise.reject(e);
	}
}

const LIST = "tools cannot be listed: there may be thousands. Find some with "
	+ 'await tools.search({ query: "words" }), then look at one with '
	+ "await tools.describe({ path })";

function toolsAt(path)
{
	const tool = new $.Proxy(() => {}, {
		__proto__: null,
		get(target, key) {
			/* [...tools], for of, JSON.stringify(tools) */
			if (state.argsBytes !== 0 && (key === iterator
				|| key === asyncIterator || key === "toJSON"))
				throw new $.TypeError(LIST);
			if (typeof key !== "string" || key === "then"
				|| key === "toJSON" || key === "valueOf")
				return undefined;
			if (key === "toString")
				return () => nameOf(tool);
			return toolsAt(path === "" ? key : path + "." + key);
		},
		apply(target, self, args) {
			return invoke(path, args[0]);
		},
		set() {
			throw new $.TypeError("tools cannot be changed");
		},
		has() {
			if (state.argsBytes === 0)
				return false;
			throw new $.TypeError(LIST);
		},
		ownKeys() {
			if (state.argsBytes === 0)
				return [];
			throw new $.TypeError(LIST);
		},
		getOwnPropertyDescriptor() {
			return undefined;
		},
	});
	weakSet(toolPaths, tool, path);
	return tool;
}
define("tools", toolsAt(""));

/* What a script tool gets beside `args` and `tools`. */

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical",
	"alert", "emergency"];

function tell(path, value)
{
	const w = new Writer(MAX_LINE);
	if (w.value(value, ""))
		call(path, w.text(), true);
}

function contextOf(members)
{
	const ctx = { ...members };
	ctx.log = (level, ...args) => {
		let known = false;
		for (let i = 0; i < LEVELS.length; i++)
			known = known || LEVELS[i] === level;
		if (!known || args.length === 0) {
			args = [level, ...args];
			level = "info";
		}
		tell("$log", { level, message: lineOf(args) });
	};
	ctx.progress = (progress, total, message) => {
		if (progress !== null && typeof progress === "object")
			({ progress, total, message } = progress);
		if (typeof progress !== "number" || progress - progress !== 0)
			throw new $.TypeError("ctx.progress takes a number: "
				+ "ctx.progress(done, total, message)");
		if (message !== undefined)
			message = str(message);
		tell("$progress", { progress, total, message });
	};
	ctx.elicit = (o) => {
		const error = new $.Error("");
		try {
			if (state.argsBytes === 0)
				return refuseCall(error, "ctx.elicit: nobody "
					+ "can be asked here");
			if (o === null || typeof o !== "object"
				|| typeof o.message !== "string")
				throw new $.TypeError("ctx.elicit takes "
					+ "{ message, requestedSchema }");
			const { message, requestedSchema } = o;
			return send("$elicit", argsJson({ message,
				requestedSchema }, "ctx.elicit"), error, true);
		} catch (e) {
			return $.Promise.reject(e);
		}
	};
	return ctx;
}

/* From text to a function. */

/*
 * No regular expression looks at a whole program here: the engine's keep a
 * state for each character that they may come back to.
 */
function isSpace(c)
{
	return c === 32 || (c >= 9 && c <= 13) || c === 0xa0 || c === 0xfeff
		|| c === 0x2028 || c === 0x2029;
}

/* The index after spaces and comments (and characters of ALSO) from I on. */
function skip(code, i, also)
{
	for (; i < code.length; i++) {
		if (isSpace(charCodeAt(code, i))
			|| indexOf(also, code[i]) >= 0)
			continue;
		const two = slice(code, i, i + 2);
		if (two !== "//" && two !== "/*")
			break;
		const end = indexOf(code, two === "//" ? "\n" : "*/", i + 2);
		if (end < 0)
			return code.length;
		i = two === "//" ? end : end + 1;
	}
	return i;
}

/* CODE without spaces and semicolons at its end */
function trimTail(code)
{
	let n = code.length;
	while (n > 0 && (code[n - 1] === ";"
		|| isSpace(charCodeAt(code, n - 1))))
		n--;
	return slice(code, 0, n);
}

function blank(s)
{
	const lines = s.split("\n");
	for (let i = 0; i < lines.length; i++)
		lines[i] = " ".repeat(lines[i].length);
	return lines.join("\n");
}

/* The text inside a ``` fence, at the lines and columns it had; else null. */
function unfence(code)
{
	if (indexOf(code, "```") < 0)
		return null;
	const lines = code.split("\n");
	const out = [];
	let fence = null;
	for (const l of lines) {
		if (fence === null) {
			const m = match(/^[ \t]*(`{3,})[^`]*$/, l);
			if (m !== null)
				fence = m[1];
			out.push("");
			continue;
		}
		const t = l.trimEnd();
		if (t.endsWith(fence)
			&& t.indexOf("`") === t.length - fence.length) {
			out.push(t.slice(0, -fence.length));
			break;
		}
		out.push(l);
	}
	return fence === null ? null : out.join("\n");
}

/*
 * CODE between `before` and `after`, as a function.  A program could close
 * what `before` opens, and would then run while it is still being compiled:
 * so it has to parse between the other pair too, which no text does that
 * leaves either of them.
 */
function compileAs(form, code)
{
	const text = "\n" + code + "\n";
	try {
		check(form.other[0] + text + form.other[1]);
		const fn = compile(form.pair[0] + text + form.pair[1]);
		return typeof fn === "function" ? { fn, code } : {};
	} catch (error) {
		return { error };
	}
}

/* What an unmatched ) leaves is not what an unmatched ] leaves. */
const EXPRESSION = { pair: ["(async () => (", "))"],
	other: ["(async () => [", "])"] };
/* After an unmatched } goes ) or a comma; or a comma and a method's name. */
const BODY = { pair: ["(async () => {", "})"],
	other: ["({ async m() {", "} })"] };

function asExpression(code)
{
	const end = trimTail(code);
	if (end === "")
		return {};
	const r = compileAs(EXPRESSION, end);
	if (r.fn !== undefined)
		return r;
	/* A comment at the end may hide a semicolon: `f(); // why` */
	const cuts = [];
	if (end.endsWith("*/")) {
		cuts.push(end.lastIndexOf("/*"));
	} else {
		const last = end.lastIndexOf("\n") + 1;
		for (let i = last; cuts.length < 4; i += 2) {
			i = end.indexOf("//", i);
			if (i < 0)
				break;
			cuts.push(i);
		}
	}
	for (const cut of cuts) {
		const bare = trimTail(end.slice(0, cut));
		if (cut <= 0 || bare === "")
			continue;
		const b = compileAs(EXPRESSION, bare);
		if (b.fn !== undefined)
			return b;
	}
	return r;
}

const asBody = (code) => compileAs(BODY, code);

/*
 * The ways to read CODE, first that parses.  `call`: if the value is a
 * function whose text is the whole program, or a part of it, that is what is
 * to be run.
 */
function parse(code)
{
	const at = skip(code, 0, "");
	const head = match(/^export\s+default\b/, slice(code, at, at + 200));
	if (head !== null) {
		const r = asExpression(slice(code, 0, at) + blank(head[0])
			+ slice(code, at + head[0].length));
		if (r.fn !== undefined)
			return { fn: r.fn, code, call: "whole" };
	}
	const expression = asExpression(code);
	if (expression.fn !== undefined)
		return { fn: expression.fn, code, call: "whole" };
	const body = asBody(code);
	if (body.fn !== undefined)
		return { fn: body.fn, code, call: "" };
	const inner = match(/(?:^|\n)[ \t]*(export[ \t]+default\b)/, code);
	if (inner !== null) {
		const end = inner.index + inner[0].length;
		const r = asBody(slice(code, 0, end - inner[1].length)
			+ "return" + blank(slice(inner[1], 6))
			+ slice(code, end));
		if (r.fn !== undefined)
			return { fn: r.fn, code, call: "part" };
	}
	return body;
}

/* Is F written in the program; is it, but for parentheses, all of it? */
function isProgram(f, code, whole)
{
	if (toolPath(f) !== undefined)
		return false;
	const text = functionText(f);
	const at = indexOf(code, text);
	if (at < 0 || match(/^class\b/, text) !== null)
		return false;
	if (!whole)
		return true;
	const before = slice(code, 0, at);
	let i = skip(before, 0, "(;");
	const head = match(/^export\s+default\b/, slice(before, i, i + 200));
	if (head !== null)
		i = skip(before, i + head[0].length, "(");
	return i === at && skip(code, at + text.length, ");") === code.length;
}

const BASE64 = {};
for (let i = 0; i < DIGITS.length; i++)
	BASE64[DIGITS[i]] = i;

/* Where the place (line, column) of the TypeScript output came from. */
function originOf(mappings, place)
{
	const lines = mappings.split(";");
	let fromLine = 0, fromColumn = 0, best = null;
	for (let i = 0; i < place.line && i < lines.length; i++) {
		let column = 0;
		if (lines[i] === "")
			continue;
		for (const segment of lines[i].split(",")) {
			const n = [];
			let value = 0, shift = 0;
			for (const c of segment) {
				const d = BASE64[c];
				value |= (d & 31) << shift;
				shift += 5;
				if (d & 32)
					continue;
				n.push(value & 1 ? -(value >> 1) : value >> 1);
				value = shift = 0;
			}
			column += n[0];
			if (n.length < 4)
				continue;
			fromLine += n[2];
			fromColumn += n[3];
			if (i === place.line - 1 && column <= place.column - 1)
				best = { line: fromLine + 1, column: fromColumn
					+ place.column - column };
		}
	}
	return best === null ? place : best;
}

function mappingsOf(unit)
{
	if (unit.mappings === undefined)
		unit.mappings = typescript(unit.source, true)
			.sourceMap.mappings;
	return unit.mappings;
}

/*
 * Types in call position read as comparisons in JavaScript: f<T>(x).  Such a
 * program is asked about as TypeScript first.
 */
const GENERIC_CALL = /[\w$]<[\w$\s,.[\]{}|&:"'<>?]{1,200}>\s{0,9}\(/;

function prepare(code)
{
	let source = code;
	/*
	 * A fence at the start of a line cannot be JavaScript that means
	 * anything, though it may parse, as templates that tag templates.
	 */
	const fenced = unfence(code);
	if (fenced !== null)
		source = fenced;
	let js = null;
	if (typescript === undefined)
		return parse(source);
	if (match(GENERIC_CALL, source) === null) {
		js = parse(source);
		if (js.fn !== undefined)
			return js;
	}
	let out;
	try {
		out = typescript(source, false).code;
	} catch (error) {
		return badTypescript(js !== null ? js : parse(source), error,
			source);
	}
	if (out === source)
		return js !== null ? js : parse(source);
	const ts = parse(out);
	ts.source = source;
	return ts;
}

/*
 * The engine's error is the better worded one, but where it stopped at a type
 * the other's place is further on.
 */
function badTypescript(js, error, source)
{
	if (js.fn !== undefined)
		return js;
	const m = match(/^(?:Error transforming [^:]*: )?([\s\S]*?) \((\d+):(\d+)\)$/,
		str(error.message));
	const at = placeOf(js.error);
	if (m === null || (at !== null && (at.line > m[2]
		|| (at.line === +m[2] && at.column >= m[3]))))
		return js;
	return { error: new SyntaxError(m[1]), source,
		place: { line: +m[2], column: +m[3] } };
}

function explainSyntax(unit, code)
{
	const error = unit.error;
	let place = unit.place !== undefined ? unit.place : placeOf(error);
	if (place !== null && unit.place === undefined
		&& unit.source !== undefined)
		place = originOf(mappingsOf(unit), place);
	const f = failure(SYNTAX, error, place);
	if (place === null)
		return f;
	const lines = code.split("\n");
	/* The end of the text is on a line that only `run` has. */
	if (place.line > lines.length) {
		f.line = lines.length;
		f.column = lines[lines.length - 1].length + 1;
		f.text = "SyntaxError: unexpected end of the program";
	}
	const text = lines[f.line - 1] || "";
	if (/^\s*import\b(?!\s*\()/.test(text))
		f.text = "SyntaxError: import is not available: the sandbox "
			+ "has no modules. Write plain JavaScript. " + WORLD
			+ ".";
	else if (/^\s*export\b/.test(text))
		f.text = "SyntaxError: export is not available here. End the "
			+ "program with `return value`.";
	return f;
}

/* One run. */

/* Without a prototype: what a program adds to Object's is not to show here. */
const state = { __proto__: null, done: false, ok: false, value: undefined,
	unit: null, failure: undefined, budget: 0, argsBytes: 0, callsMax: 0,
	kind: PROGRAM, open: 0, rejected: new Map() };

function run(code, budget, argsBytes, callsMax, kind, args, ctx)
{
	state.budget = budget;
	state.argsBytes = argsBytes;
	state.callsMax = callsMax;
	state.kind = kind;
	if (kind !== PROGRAM) {
		define("args", parseJson(args));
		define("ctx", contextOf(parseJson(ctx)));
	}
	if (code.startsWith("\ufeff"))
		code = code.slice(1);
	if (code.startsWith("#!")) {
		const end = (code + "\n").indexOf("\n");
		code = " ".repeat(end) + code.slice(end);
	}
	if (code.includes("\r"))
		code = code.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
	const unit = prepare(code);
	state.unit = unit;
	if (unit.fn === undefined) {
		state.done = true;
		state.failure = unit.error !== undefined
			? explainSyntax(unit, code)
			: failure(SYNTAX, new SyntaxError("not a program"));
		return $.Promise.resolve();
	}
	const finish = (ok) => (v) => {
		state.done = true;
		state.ok = ok;
		state.value = v;
	};
	return then(then(unit.fn(), (v) => {
		if (unit.call === "" || typeof v !== "function"
			|| !isProgram(v, unit.code, unit.call === "whole"))
			return v;
		return v();
	}), finish(true), finish(false));
}

/* Called for every rejection without a handler, and when one comes late. */
run.rejection = (promise, reason, isHandled) => {
	if (isHandled)
		mapDelete(state.rejected, promise);
	else
		mapSet(state.rejected, promise, reason);
};

run.settle = settle;

run.end = () => {
	if (state.failure === undefined && !state.done && state.open > 0)
		return undefined;
	const end = ending();
	return state.kind === INNER_SCRIPT ? scriptEnd(end) : end;
};

/* What a script tool gives to the call that it is to answer. */
function scriptEnd(end)
{
	if (end.what === MEMORY)
		return end;
	if (end.ok && end.cut)
		end = { ok: 0, text: "The result of the tool is too large" };
	if (end.ok)
		return { ok: 1, text: end.has ? end.text : "null" };
	const error = { __proto__: null, code: "script_error", message:
		end.what === STACK ? "The tool's calls are nested too deeply"
		: end.text };
	if (end.line > 0)
		error.details = { line: end.line, column: end.column };
	return { ok: 0, text: stringify(error) };
}

function ending()
{
	if (state.failure !== undefined)
		return state.failure;
	mapForEach(state.rejected, (reason) =>
		print("error", ["Unhandled promise rejection:", reason]));
	if (state.open > 0) {
		const paths = [];
		mapForEach(pending, (p) => {
			if (paths.length < 5)
				paths[paths.length] = "tools." + p.path;
		});
		print("warn", ["The program ended while " + state.open
			+ " of its tool calls were under way: "
			+ join(paths, ", ")]);
	}
	if (!state.done)
		return { ok: 0, what: SCRIPT, line: 0, column: 0, text:
			"The program waits for a promise that nothing will "
			+ "settle. There are no timers and no events here: "
			+ "await only what is running." };
	if (!state.ok)
		return scriptFailure(state.value);
	try {
		return outcome(state.value);
	} catch (e) {
		return scriptFailure(e);
	}
}

/* E came out of the program although errors do not: the engine's own. */
run.uncaught = (e) => scriptFailure(e);

/* The place of E in the text as the user wrote it. */
function locate(e)
{
	const place = placeOf(e), unit = state.unit;
	if (place === null || unit === null || !hasOwn(unit, "source"))
		return place;
	try {
		return originOf(mappingsOf(unit), place);
	} catch {
		return place; /* the program spoilt what the library needs */
	}
}

const scriptFailure = (e) => failure(SCRIPT, e, locate(e));

function outcome(v)
{
	if (v === undefined)
		return { ok: 1, has: 0, cut: 0, text: "" };
	if (typeof v === "function" || typeof v === "symbol")
		v = nameOf(v);
	const reserve = state.budget < 8192 ? state.budget >> 1 : 4096;
	const w = new Writer(state.budget - reserve);
	if (!w.value(v, ""))
		return { ok: 1, has: 0, cut: 0, text: "" };
	const text = w.text();
	if (text === "")
		throw new $.Error("The result cannot be written: the program "
			+ "changed Array.prototype");
	return { ok: 1, has: 1, cut: w.cut ? 1 : 0, text };
}

return run;
})()
