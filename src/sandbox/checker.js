/* SPDX-License-Identifier: ISC */
/*
 * checker: what JSON Schema says of a value, and how a schema reads as a
 * TypeScript type.  Evaluated once, after validator.js and in a realm where no
 * program runs, when the heap image is made; its value is the function that
 * engine.c calls:
 *	check(what, schema, value)	all texts; returns JSON
 * what 0: {outcome, message?, faults?}; what 1: {signature?}.  Outcomes are
 * those of run/check.h, by number.  Bounded here in depth and size; time and
 * memory are the process's.
 */
(() => {
"use strict";

const VALID = 0, INVALID = 1, BAD_SCHEMA = 2, TOO_COSTLY = 3;

const MAX_FAULTS = 20;
const MAX_MESSAGE = 300;	/* characters of one fault */
const MAX_DEPTH = 100;		/* of a schema */
const MAX_NODES = 200000;	/* values in a schema */
const MAX_KEPT = 64;		/* schemas prepared before */
const MAX_KEPT_LENGTH = 1 << 20;	/* their text, all together */

const Validator = globalThis.__Validator;
for (const name of ["check", "compile", "line", "drop", "refused", "call",
	"__Validator"])
	delete globalThis[name];

const DRAFTS = new Map([
	["json-schema.org/draft/2020-12/schema", "2020-12"],
	["json-schema.org/draft/2019-09/schema", "2019-09"],
	["json-schema.org/draft-07/schema", "7"],
	/* What 6 has, 7 has. */
	["json-schema.org/draft-06/schema", "7"],
	["json-schema.org/draft-04/schema", "4"],
]);

class SchemaError extends Error {}

/* Whole values without prototypes: a property is there or it is not. */
function bare(v)
{
	if (v === null || typeof v !== "object")
		return v;
	if (Array.isArray(v))
		return v.map(bare);
	const o = Object.create(null);
	for (const key of Object.keys(v))
		o[key] = bare(v[key]);
	return o;
}

function draftOf(schema)
{
	if (schema === null || typeof schema !== "object"
		|| schema.$schema === undefined)
		return "2020-12";
	const name = String(schema.$schema).replace(/^https?:\/\//, "")
		.replace(/#$/, "");
	const draft = DRAFTS.get(name);
	if (draft === undefined)
		throw new SchemaError("The schema says it is of " + JSON
			.stringify(String(schema.$schema).slice(0, 100))
			+ ", which is not known here");
	return draft;
}

/* Keywords whose value is data, not a schema. */
const DATA = new Set(["const", "default", "enum", "example", "examples"]);
/* Keywords whose value maps names of the user's choice. */
const NAMES = new Set(["properties", "patternProperties", "$defs",
	"definitions", "dependentSchemas", "dependentRequired",
	"dependencies"]);

/*
 * SCHEMA as the validator takes it.  Dynamic references, which it does not
 * know, become plain ones: the same for all schemas that are not made to be
 * extended.  `nullable` and a boolean exclusiveMinimum are OpenAPI 3.0's.
 */
function adapt(schema, draft, depth, count)
{
	if (depth > MAX_DEPTH || ++count.nodes > MAX_NODES)
		throw new SchemaError("The schema is too deep or too large");
	if (Array.isArray(schema)) {
		return schema.map((s) => adapt(s, draft, depth + 1, count));
	}
	if (schema === null || typeof schema !== "object")
		return schema;
	const o = Object.create(null);
	for (const key of Object.keys(schema)) {
		const v = schema[key];
		if (DATA.has(key)) {
			o[key] = v;
		} else if (NAMES.has(key) && v !== null
			&& typeof v === "object" && !Array.isArray(v)) {
			o[key] = Object.create(null);
			for (const name of Object.keys(v))
				o[key][name] = adapt(v[name], draft, depth + 2,
					count);
		} else {
			o[key] = adapt(v, draft, depth + 1, count);
		}
	}
	if (typeof o.$dynamicRef === "string" && o.$ref === undefined)
		o.$ref = o.$dynamicRef;
	if (typeof o.$dynamicAnchor === "string" && o.$anchor === undefined)
		o.$anchor = o.$dynamicAnchor;
	delete o.$dynamicRef;
	delete o.$dynamicAnchor;
	for (const [bound, limit] of [["exclusiveMinimum", "minimum"],
		["exclusiveMaximum", "maximum"]]) {
		if (typeof o[bound] !== "boolean" || draft === "4")
			continue;
		if (o[bound] && typeof o[limit] === "number") {
			o[bound] = o[limit];
			delete o[limit];
		} else {
			delete o[bound];
		}
	}
	if (o.nullable === true && typeof o.type === "string") {
		o.type = [o.type, "null"];
		if (Array.isArray(o.enum) && !o.enum.includes(null))
			o.enum = [...o.enum, null];
	}
	checkKeywords(o);
	return o;
}

const TYPES = new Set(["null", "boolean", "object", "array", "number",
	"string", "integer"]);

/* What would otherwise be found out in the middle of a value, or never. */
function checkKeywords(o)
{
	const types = Array.isArray(o.type) ? o.type
		: o.type === undefined ? [] : [o.type];
	for (const t of types)
		if (!TYPES.has(t))
			throw new SchemaError("The schema has the type "
				+ JSON.stringify(t));
	if (o.$ref !== undefined && typeof o.$ref !== "string")
		throw new SchemaError("The schema has a $ref that is no text");
	for (const key of ["required", "enum", "allOf", "anyOf", "oneOf",
		"prefixItems"])
		if (o[key] !== undefined && !Array.isArray(o[key]))
			throw new SchemaError("The schema's " + key
				+ " is no array");
	for (const key of ["properties", "patternProperties", "$defs",
		"definitions"])
		if (o[key] !== undefined && (o[key] === null
			|| typeof o[key] !== "object"
			|| Array.isArray(o[key])))
			throw new SchemaError("The schema's " + key
				+ " is no object");
	const patterns = o.patternProperties === undefined ? []
		: Object.keys(o.patternProperties);
	if (o.pattern !== undefined)
		patterns.push(o.pattern);
	for (const p of patterns) {
		try {
			new RegExp(p, "u");
		} catch {
			throw new SchemaError("The schema's pattern "
				+ JSON.stringify(String(p).slice(0, 100))
				+ " is no regular expression");
		}
	}
}

/* Recently used last. */
const kept = new Map();
let keptLength = 0;

function prepare(text)
{
	let v = kept.get(text);
	if (v !== undefined) {
		kept.delete(text);
		kept.set(text, v);
		return v;
	}
	let schema;
	try {
		schema = bare(JSON.parse(text));
	} catch {
		throw new SchemaError("The schema is not JSON");
	}
	if (schema === null || (typeof schema !== "boolean"
		&& (typeof schema !== "object" || Array.isArray(schema))))
		throw new SchemaError("The schema is no object");
	const draft = draftOf(schema);
	schema = adapt(schema, draft, 0, { nodes: 0 });
	v = new Validator(schema, draft, false);
	for (const key of Object.keys(v.lookup)) {
		const s = v.lookup[key];
		if (s !== null && typeof s === "object" && s.$ref !== undefined
			&& v.lookup[s.__absolute_ref__] === undefined)
			throw new SchemaError("The schema refers to "
				+ JSON.stringify(s.$ref.slice(0, 200))
				+ ", which is not in it; nothing is fetched");
	}
	if (text.length <= MAX_KEPT_LENGTH >> 2) {
		kept.set(text, v);
		keptLength += text.length;
	}
	for (const old of kept.keys()) {
		if (kept.size <= MAX_KEPT && keptLength <= MAX_KEPT_LENGTH)
			break;
		kept.delete(old);
		keptLength -= old.length;
	}
	return v;
}

/* Faults that only say that there is one further in. */
const OUTER = new Set(["$ref", "$recursiveRef", "properties",
	"patternProperties", "additionalProperties", "unevaluatedProperties",
	"items", "prefixItems", "additionalItems", "unevaluatedItems", "allOf",
	"if", "dependentSchemas", "propertyNames"]);

function faultsOf(errors)
{
	const faults = [];
	const seen = new Set();
	const inner = errors.filter((e) => !OUTER.has(e.keyword));
	for (const e of inner.length > 0 ? inner : errors) {
		const path = decodePointer(e.instanceLocation);
		let message = e.error;
		if (e.keyword === "false")
			message = "is not allowed here";
		else if (e.keyword === "pattern" || e.keyword === "enum"
			|| e.keyword === "const" || e.keyword === "format")
			message = e.error;
		message = message.replace(/^Instance type "(\w+)" is invalid\. /,
			"is of type $1. ")
			.replace(/^Instance does not have required property /,
				"lacks the required property ")
			.replace(/^Instance does not /, "does not ")
			.replace(/^Instance (has|matched) /, "$1 ");
		if (message.length > MAX_MESSAGE)
			message = message.slice(0, MAX_MESSAGE)
				.toWellFormed() + "...";
		const key = path + "\n" + message;
		if (seen.has(key))
			continue;
		seen.add(key);
		faults.push({ path, message });
		if (faults.length === MAX_FAULTS)
			break;
	}
	return faults;
}

function decodePointer(location)
{
	const p = location.replace(/^#/, "");
	try {
		return decodeURI(p);
	} catch {
		return p;
	}
}

function checkValue(schemaText, valueText)
{
	let value;
	try {
		value = bare(JSON.parse(valueText));
	} catch {
		return { outcome: INVALID, faults: [{ path: "",
			message: "is not JSON" }] };
	}
	const result = prepare(schemaText).validate(value);
	if (result.valid)
		return { outcome: VALID };
	return { outcome: INVALID, faults: faultsOf(result.errors) };
}

/* Types. */

const MAX_TYPE = 4000;		/* characters, about */
const MAX_TYPE_DEPTH = 6;
const MAX_MEMBERS = 60;
const MAX_COMMENT = 120;

class Types {
	constructor(root)
	{
		this.root = root;
		this.left = MAX_TYPE;
		this.refs = [];
	}

	/* The schema that a local $ref names, or undefined. */
	find(ref)
	{
		if (ref === "#")
			return this.root;
		if (ref.startsWith("#/")) {
			let s = this.root;
			for (const part of ref.slice(2).split("/")) {
				let name = part;
				try {
					name = decodeURIComponent(part);
				} catch {
					/* as it is */
				}
				name = name.replace(/~1/g, "/")
					.replace(/~0/g, "~");
				if (s === null || typeof s !== "object")
					return undefined;
				s = s[name];
			}
			return s;
		}
		const defs = { ...this.root.$defs, ...this.root.definitions };
		return Object.values(defs).find((s) => s !== null
			&& typeof s === "object" && (s.$anchor === ref.slice(1)
				|| s.$dynamicAnchor === ref.slice(1)));
	}

	type(s, depth)
	{
		const text = this.raw(s, depth);
		this.left -= text.length;
		return text;
	}

	raw(s, depth)
	{
		if (s === true || s === undefined)
			return "unknown";
		if (s === false)
			return "never";
		if (s === null || typeof s !== "object" || Array.isArray(s))
			return "unknown";
		const ref = s.$ref !== undefined ? s.$ref : s.$dynamicRef;
		if (typeof ref === "string") {
			if (this.refs.includes(ref) || depth > MAX_TYPE_DEPTH)
				return "unknown /* " + comment(ref) + " */";
			this.refs.push(ref);
			const text = this.raw(this.find(ref), depth);
			this.refs.pop();
			return text;
		}
		if (s.const !== undefined)
			return literal(s.const);
		if (Array.isArray(s.enum))
			return this.union(s.enum.slice(0, 40).map(literal)
				.concat(s.enum.length > 40 ? ["unknown"] : []));
		if (this.left <= 0 || depth > MAX_TYPE_DEPTH)
			return s.type === "object" || s.properties ? "object"
				: typeof s.type === "string" && s.type
				in NAMES_OF ? NAMES_OF[s.type] : "unknown";
		const parts = [];
		for (const key of ["oneOf", "anyOf"])
			if (Array.isArray(s[key]) && s[key].length > 0)
				parts.push(this.union(s[key].slice(0, 20)
					.map((m) => this.type(m, depth + 1))));
		if (Array.isArray(s.allOf))
			for (const m of s.allOf.slice(0, 20))
				parts.push(this.type(m, depth + 1));
		let types = Array.isArray(s.type) ? s.type
			: s.type !== undefined ? [s.type] : [];
		if (types.length === 0 && (s.properties !== undefined
			|| s.additionalProperties !== undefined))
			types = ["object"];
		if (types.length === 0 && (s.items !== undefined
			|| s.prefixItems !== undefined))
			types = ["array"];
		const own = this.union(types.map((t) => t === "object"
			? this.object(s, depth) : t === "array"
			? this.array(s, depth) : NAMES_OF[t] || "unknown")
			.concat(s.nullable === true ? ["null"] : []));
		const isBare = own === "object" || own === "unknown";
		if (own !== "" && (parts.length === 0 || !isBare))
			parts.unshift(own);
		const kinds = [...new Set(parts.filter((p) =>
			p !== "unknown"))];
		if (kinds.length === 0)
			return "unknown";
		if (kinds.length === 1)
			return kinds[0];
		return kinds.map((p) => p.includes(" | ") ? "(" + p + ")" : p)
			.join(" & ");
	}

	union(texts)
	{
		const different = [...new Set(texts)];
		if (different.includes("unknown"))
			return "unknown";
		return different.join(" | ");
	}

	array(s, depth)
	{
		const fixed = Array.isArray(s.prefixItems) ? s.prefixItems
			: Array.isArray(s.items) ? s.items : null;
		if (fixed !== null)
			return "[" + fixed.slice(0, 20).map((m) =>
				this.type(m, depth + 1)).join(", ") + "]";
		const of = this.type(s.items, depth + 1);
		return / [|&] /.test(of) && !of.startsWith("{")
			? "(" + of + ")[]" : of + "[]";
	}

	object(s, depth)
	{
		const properties = s.properties !== null
			&& typeof s.properties === "object" ? s.properties : {};
		const names = Object.keys(properties);
		const required = new Set(Array.isArray(s.required)
			? s.required : []);
		/* What must be there is shown first when not all fits. */
		names.sort((a, b) => required.has(b) - required.has(a));
		const indent = "\t".repeat(depth + 1);
		const lines = [];
		for (const name of names) {
			if (lines.length >= MAX_MEMBERS || this.left <= 0) {
				lines.push(indent + "/* " + (names.length
					- lines.length) + " more */");
				break;
			}
			const p = properties[name];
			const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name
				: JSON.stringify(name);
			const note = p !== null && typeof p === "object"
				&& typeof p.description === "string"
				&& p.description.trim() !== ""
				? " // " + comment(p.description) : "";
			lines.push(indent + key + (required.has(name) ? "" : "?")
				+ ": " + this.type(p, depth + 1) + ";" + note);
			this.left -= key.length + note.length + depth + 4;
		}
		const rest = s.additionalProperties;
		if (rest !== undefined && rest !== false)
			lines.push(indent + "[key: string]: "
				+ this.type(rest, depth + 1) + ";");
		if (lines.length === 0)
			return rest === false || s.properties !== undefined
				? "{}" : "object";
		return "{\n" + lines.join("\n") + "\n" + "\t".repeat(depth)
			+ "}";
	}
}

const NAMES_OF = { __proto__: null, string: "string", number: "number",
	integer: "number", boolean: "boolean", null: "null",
	array: "unknown[]", object: "object" };

function literal(v)
{
	const text = JSON.stringify(v);
	return text.length > 100 ? NAMES_OF[typeof v] || "unknown" : text;
}

/* On one line, and without what would end a comment. */
function comment(s)
{
	s = s.slice(0, 400).replace(/\s+/g, " ").trim()
		.replaceAll("*/", "* /");
	return (s.length > MAX_COMMENT ? s.slice(0, MAX_COMMENT) + "..." : s)
		.toWellFormed();
}

function signature(text)
{
	let schema;
	try {
		schema = bare(JSON.parse(text));
	} catch {
		return {};
	}
	if (typeof schema !== "boolean" && (schema === null
		|| typeof schema !== "object" || Array.isArray(schema)))
		return {};
	return { signature: new Types(schema).type(schema, 0) };
}

const answer = (what, schema, value) => what === 1 ? signature(schema)
	: checkValue(schema, value);

/* No text that a careful JSON parser refuses. */
const write = (v) => JSON.stringify(v, (key, member) =>
	typeof member === "string"
		? member.toWellFormed().replaceAll("\0", "\ufffd") : member);

return (what, schema, value) => {
	try {
		return write(answer(what, schema, value));
	} catch (e) {
		if (e instanceof SchemaError)
			return write({ outcome: BAD_SCHEMA,
				message: e.message });
		/* References in a circle, and schemas deeper than the stack */
		if (e instanceof RangeError || e instanceof InternalError)
			return write({ outcome: TOO_COSTLY, message:
				"The schema is nested too deeply or refers "
				+ "to itself without end" });
		return write({ outcome: BAD_SCHEMA, message:
			"The schema is not understood: "
			+ String(e.message).slice(0, 200) });
	}
};
})()
