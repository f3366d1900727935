/* SPDX-License-Identifier: ISC */
/*
 * Values against JSON Schema, and schemas as types, through the checker's own
 * mcp-sandbox.
 */
#include "base/compat.h"

#include "run/check.h"

#include <sys/wait.h>

#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"

static const char *program;
static struct arena *arena;
static struct check *check;

static int
set_up(void **state UNUSED)
{
	const struct check_limits limits = {
		.program = program, .wall_ms = 1000, .heap_bytes = 64ULL << 20
	};

	arena = arena_new(256 << 20);
	check = check_open(&limits);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	check_close(check);
	arena_free(arena);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static struct check_verdict *
ask(const char *schema, const char *value)
{
	struct check_verdict *v = NULL;
	struct err e = { 0 };

	if (check_value(check, schema, strlen(schema), value, strlen(value),
		    arena, &v, &e) != 0)
		fail_msg("not asked: %s", e.detail);
	return v;
}

struct row {
	const char *name;
	const char *schema;
	const char *value;
	enum check_outcome outcome;
	const char *message; /* all of it, or a part where it is bad */
};

#define D20 "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\""
#define D7  "\"$schema\":\"http://json-schema.org/draft-07/schema#\""

static const struct row rows[] = {
	{ "anything", "{}", "[1]", CHECK_VALID, NULL },
	{ "true", "true", "1", CHECK_VALID, NULL },
	{ "false", "false", "1", CHECK_INVALID,
		"the value: is not allowed here" },
	{ "type", "{\"type\":\"object\"}", "[]", CHECK_INVALID,
		"the value: is of type array. Expected \"object\"." },
	{ "required", "{\"type\":\"object\",\"required\":[\"a\",\"b\"]}",
		"{\"a\":1}", CHECK_INVALID,
		"the value: lacks the required property \"b\"." },
	{ "required constructor", "{\"required\":[\"constructor\"]}", "{}",
		CHECK_INVALID,
		"the value: lacks the required property \"constructor\"." },
	{ "property named as in Object.prototype",
		"{\"properties\":{\"toString\":{\"type\":\"number\"}}}", "{}",
		CHECK_VALID, NULL },
	{ "__proto__", "{\"properties\":{\"__proto__\":{\"type\":\"number\"}}}",
		"{\"__proto__\":\"x\"}", CHECK_INVALID,
		"/__proto__: is of type string. Expected \"number\"." },
	{ "deep", "{\"properties\":{\"a\":{\"items\":{\"type\":\"integer\"}}}}",
		"{\"a\":[1,2.5,\"x\"]}", CHECK_INVALID,
		"/a/1: is of type number. Expected \"integer\".; "
		"/a/2: is of type string. Expected \"integer\"." },
	{ "unknown property",
		"{\"properties\":{\"a\":{}},\"additionalProperties\":false}",
		"{\"a\":1,\"b/c\":2}", CHECK_INVALID,
		"/b~1c: is not allowed here" },
	{ "enum", "{\"enum\":[\"a\",1]}", "2", CHECK_INVALID,
		"the value: does not match any of [\"a\",1]." },
	{ "const", "{\"const\":{\"a\":[1]}}", "{\"a\":[1]}", CHECK_VALID,
		NULL },
	{ "bounds", "{\"minimum\":1,\"exclusiveMaximum\":3}", "3",
		CHECK_INVALID, NULL },
	{ "text", "{\"minLength\":2,\"pattern\":\"^[a-z]+$\"}", "\"x1\"",
		CHECK_INVALID, NULL },
	{ "unicode length", "{\"maxLength\":1}", "\"\xf0\x9f\x98\x80\"",
		CHECK_VALID, NULL },
	{ "format", "{\"format\":\"email\"}", "\"nobody\"", CHECK_INVALID,
		NULL },
	{ "unknown format", "{\"format\":\"x-mine\"}", "\"x\"", CHECK_VALID,
		NULL },
	{ "unknown keyword", "{\"x-mine\":{\"type\":\"none\"}}", "1",
		CHECK_BAD_SCHEMA, "the type \"none\"" },
	{ "anyOf", "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "7",
		CHECK_VALID, NULL },
	{ "oneOf", "{\"oneOf\":[{\"type\":\"number\"},{\"minimum\":5}]}", "7",
		CHECK_INVALID, NULL },
	{ "not", "{\"not\":{\"type\":\"number\"}}", "7", CHECK_INVALID, NULL },
	{ "if", "{\"if\":{\"type\":\"number\"},\"then\":{\"minimum\":5}}", "3",
		CHECK_INVALID, NULL },
	{ "tuples",
		"{" D20 ",\"prefixItems\":[{\"type\":\"string\"}],"
		"\"items\":false}",
		"[\"a\"]", CHECK_VALID, NULL },
	{ "tuples of draft 7",
		"{" D7 ",\"items\":[{\"type\":\"string\"}],"
		"\"additionalItems\":false}",
		"[\"a\",1]", CHECK_INVALID, NULL },
	{ "dependencies of draft 7",
		"{" D7 ",\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}",
		CHECK_INVALID, NULL },
	{ "unevaluated",
		"{" D20 ",\"allOf\":[{\"properties\":{\"a\":{}}}],"
		"\"unevaluatedProperties\":false}",
		"{\"a\":1,\"b\":1}", CHECK_INVALID, "/b: is not allowed here" },
	{ "$defs",
		"{" D20 ",\"$defs\":{\"n\":{\"type\":\"number\"}},"
		"\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"}}}",
		"{\"a\":\"x\"}", CHECK_INVALID,
		"/a: is of type string. Expected \"number\"." },
	{ "definitions",
		"{" D7 ",\"definitions\":{\"a b/c\":{\"type\":\"number\"}},"
		"\"$ref\":\"#/definitions/a%20b~1c\"}",
		"\"x\"", CHECK_INVALID, NULL },
	{ "anchors",
		"{" D20 ",\"$defs\":{\"n\":{\"$anchor\":\"num\","
		"\"type\":\"number\"}},\"items\":{\"$ref\":\"#num\"}}",
		"[\"x\"]", CHECK_INVALID, NULL },
	{ "dynamic anchors",
		"{" D20 ",\"$dynamicAnchor\":\"node\",\"type\":\"object\","
		"\"properties\":{\"next\":{\"$dynamicRef\":\"#node\"}}}",
		"{\"next\":{\"next\":1}}", CHECK_INVALID, NULL },
	{ "trees",
		"{\"type\":\"object\",\"properties\":{\"kids\":{"
		"\"items\":{\"$ref\":\"#\"}}}}",
		"{\"kids\":[{\"kids\":[{},1]}]}", CHECK_INVALID, NULL },
	{ "embedded $id",
		"{\"$id\":\"https://a.example/s\",\"$defs\":{\"n\":{\"$id\":"
		"\"n\",\"type\":\"number\"}},\"items\":{\"$ref\":\"n\"}}",
		"[\"x\"]", CHECK_INVALID, NULL },
	{ "nullable of OpenAPI",
		"{\"type\":\"string\",\"enum\":[\"a\"],\"nullable\":true}",
		"null", CHECK_VALID, NULL },
	{ "exclusiveMinimum of OpenAPI",
		"{\"minimum\":3,\"exclusiveMinimum\":true}", "3", CHECK_INVALID,
		NULL },
	{ "keywords as names of properties",
		"{\"properties\":{\"type\":{\"type\":\"string\"},"
		"\"enum\":{\"type\":\"number\"},\"$ref\":{}}}",
		"{\"type\":\"x\",\"enum\":1,\"$ref\":2}", CHECK_VALID, NULL },
	{ "schemas in examples are data",
		"{\"default\":{\"type\":\"none\"},\"const\":{\"$ref\":\"x\"}}",
		"{\"$ref\":\"x\"}", CHECK_VALID, NULL },
	{ "value that is no JSON", "{}", "{", CHECK_INVALID,
		"the value: is not JSON" },

	{ "other dialect", "{\"$schema\":\"https://x.example/mine\"}", "1",
		CHECK_BAD_SCHEMA, "https://x.example/mine" },
	{ "reference elsewhere", "{\"$ref\":\"https://x.example/s.json\"}", "1",
		CHECK_BAD_SCHEMA, "nothing is fetched" },
	{ "reference to nothing", "{\"items\":{\"$ref\":\"#/$defs/no\"}}", "1",
		CHECK_BAD_SCHEMA, "#/$defs/no" },
	{ "reference in a circle",
		"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},"
		"\"b\":{\"$ref\":\"#/$defs/a\"}},\"$ref\":\"#/$defs/a\"}",
		"1", CHECK_TOO_COSTLY, "without end" },
	{ "no schema", "[]", "1", CHECK_BAD_SCHEMA, "no object" },
	{ "schema that is no JSON", "{", "1", CHECK_BAD_SCHEMA, "not JSON" },
	{ "pattern that is none", "{\"pattern\":\"(\"}", "\"x\"",
		CHECK_BAD_SCHEMA, "no regular expression" },
	{ "properties that are none", "{\"properties\":[1]}", "{}",
		CHECK_BAD_SCHEMA, "no object" },
	{ "required that is none", "{\"required\":\"a\"}", "{}",
		CHECK_BAD_SCHEMA, "no array" },
};

static void
test_row(void **state)
{
	const struct row *row = *state;
	const struct check_verdict *v = ask(row->schema, row->value);

	if (v->outcome != row->outcome)
		fail_msg("outcome %d: %s", v->outcome, v->message);
	if (v->outcome == CHECK_VALID) {
		assert_null(v->message);
		return;
	}
	assert_non_null(v->message);
	assert_int_equal(v->fault_count > 0, v->outcome == CHECK_INVALID);
	if (row->message != NULL && v->outcome == CHECK_INVALID)
		assert_string_equal(v->message, row->message);
	else if (row->message != NULL &&
		 strstr(v->message, row->message) == NULL)
		fail_msg("%s", v->message);
}

/* Schemas that would take forever end the process, not the next question. */
static void
test_bombs(void **state UNUSED)
{
	static char deep[200000], wide[4000];
	size_t n;

	/* 2^30 ways */
	n = snprintf(wide, sizeof(wide), "{\"$defs\":{\"a0\":{}");
	for (int i = 1; i <= 30; i++)
		n += snprintf(wide + n, sizeof(wide) - n,
			",\"a%d\":{\"allOf\":[{\"$ref\":\"#/$defs/a%d\"},"
			"{\"$ref\":\"#/$defs/a%d\"}]}",
			i, i - 1, i - 1);
	snprintf(wide + n, sizeof(wide) - n, "},\"$ref\":\"#/$defs/a30\"}");
	assert_int_equal(ask(wide, "1")->outcome, CHECK_TOO_COSTLY);
	assert_int_equal(ask("{}", "1")->outcome, CHECK_VALID);

	/* a regular expression that comes back and back */
	assert_int_equal(
		ask("{\"pattern\":\"^(a+)+$\"}",
			"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"")
			->outcome,
		CHECK_TOO_COSTLY);
	assert_int_equal(ask("{}", "1")->outcome, CHECK_VALID);

	n = 0;
	for (int i = 0; i < 10000; i++)
		n += snprintf(deep + n, sizeof(deep) - n, "{\"not\":");
	n += snprintf(deep + n, sizeof(deep) - n, "{}");
	for (int i = 0; i < 10000; i++)
		n += snprintf(deep + n, sizeof(deep) - n, "}");
	assert_int_not_equal(ask(deep, "1")->outcome, CHECK_VALID);
	assert_int_equal(ask("{}", "1")->outcome, CHECK_VALID);

	n = 0;
	for (int i = 0; i < 50000; i++)
		deep[n++] = '[';
	for (int i = 0; i < 50000; i++)
		deep[n++] = ']';
	deep[n] = '\0';
	assert_int_not_equal(ask("{\"items\":{\"$ref\":\"#\"}}", deep)->outcome,
		CHECK_VALID);
	assert_int_equal(ask("{}", "1")->outcome, CHECK_VALID);
}

static void
test_many(void **state UNUSED)
{
	char schema[128];
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 300; i++) {
		snprintf(schema, sizeof(schema),
			"{\"properties\":{\"p%d\":{\"const\":%d}}}", i % 200,
			i);
		assert_int_equal(ask(schema, "{\"p7\":7}")->outcome,
			i == 207 ? CHECK_INVALID : CHECK_VALID);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	print_message("%d us for a question\n",
		(int)(((b.tv_sec - a.tv_sec) * 1000000 +
			      (b.tv_nsec - a.tv_nsec) / 1000) /
			300));
}

static void
test_faults_are_bounded(void **state UNUSED)
{
	char value[4000];
	size_t n = 1;
	const struct check_verdict *v;

	value[0] = '[';
	for (int i = 0; i < 100; i++)
		n += snprintf(value + n, sizeof(value) - n, "\"%d\",", i);
	value[n - 1] = ']';
	v = ask("{\"items\":{\"type\":\"number\"}}", value);
	assert_int_equal(v->outcome, CHECK_INVALID);
	assert_int_equal(v->fault_count, 20);
	assert_string_equal(v->faults[3].path, "/3");
}

static const char *
type(const char *schema)
{
	const char *out = NULL;
	struct err e = { 0 };

	if (check_signature(check, schema, strlen(schema), arena, &out, &e) !=
		0)
		fail_msg("not asked: %s", e.detail);
	return out;
}

static void
test_signature(void **state UNUSED)
{
	static const struct {
		const char *schema;
		const char *type;
	} rows_of[] = {
		{ "{}", "unknown" },
		{ "true", "unknown" },
		{ "false", "never" },
		{ "{\"type\":\"string\"}", "string" },
		{ "{\"type\":\"integer\"}", "number" },
		{ "{\"type\":[\"string\",\"null\"]}", "string | null" },
		{ "{\"type\":\"string\",\"nullable\":true}", "string | null" },
		{ "{\"enum\":[\"a\",1,null]}", "\"a\" | 1 | null" },
		{ "{\"const\":\"a\"}", "\"a\"" },
		{ "{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}}",
			"(\"a\" | \"b\")[]" },
		{ "{\"type\":\"array\"}", "unknown[]" },
		{ "{\"prefixItems\":[{\"type\":\"string\"},{}]}",
			"[string, unknown]" },
		{ "{\"type\":\"object\"}", "object" },
		{ "{\"type\":\"object\",\"properties\":{}}", "{}" },
		{ "{\"type\":\"object\",\"required\":[\"b\"],\"properties\":{"
		  "\"a-x\":{\"type\":\"string\",\"description\":\"The\\n a\"},"
		  "\"b\":{\"type\":\"object\",\"properties\":{\"c\":{}}}}}",
			"{\n\tb: {\n\t\tc?: unknown;\n\t};\n"
			"\t\"a-x\"?: string; // The a\n}" },
		{ "{\"type\":\"object\",\"additionalProperties\":"
		  "{\"type\":\"number\"}}",
			"{\n\t[key: string]: number;\n}" },
		{ "{\"$defs\":{\"n\":{\"type\":\"number\"}},"
		  "\"$ref\":\"#/$defs/n\"}",
			"number" },
		{ "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}",
			"string | number" },
		{ "{\"allOf\":[{\"$ref\":\"#/$defs/a\"},{\"properties\":{"
		  "\"b\":{\"type\":\"string\"}}}],\"$defs\":{\"a\":{"
		  "\"properties\":{\"a\":{\"type\":\"number\"}}}}}",
			"{\n\t\ta?: number;\n\t} & {\n\t\tb?: string;\n\t}" },
	};
	const struct check_limits long_limits = {
		.program = program, .wall_ms = 60000, .heap_bytes = 64ULL << 20
	};
	struct check *patient;
	struct err e = { 0 };
	const char *text;
	char *big;
	size_t n;

	for (size_t i = 0; i < NELEM(rows_of); i++)
		assert_string_equal(type(rows_of[i].schema), rows_of[i].type);
	assert_null(type("[]"));
	assert_null(type("{"));
	/* a tree ends */
	assert_non_null(strstr(type("{\"properties\":{\"kids\":{\"items\":{"
				    "\"$ref\":\"#\"}}}}"),
		"unknown /* # */"));
	/* and so does a schema of a megabyte */
	big = arena_alloc(arena, 2 << 20);
	n = snprintf(big, 2 << 20, "{\"properties\":{");
	for (int i = 0; i < 20000; i++)
		n += snprintf(big + n, (2 << 20) - n,
			"%s\"p%d\":{\"type\":\"string\",\"description\":"
			"\"some text of it\"}",
			i > 0 ? "," : "", i);
	snprintf(big + n, (2 << 20) - n, "}}");
	/* which takes its time on a busy machine */
	patient = check_open(&long_limits);
	assert_int_equal(check_signature(patient, big, strlen(big), arena,
				 &text, &e),
		0);
	assert_non_null(text);
	assert_true(strlen(text) < 8000);
	check_close(patient);
}

static void
test_no_program(void **state UNUSED)
{
	const struct check_limits limits = { .program = "/nonexistent/x",
		.wall_ms = 1000,
		.heap_bytes = 1 << 20 };
	struct check *c = check_open(&limits);
	struct check_verdict *v;
	struct err e = { 0 };

	assert_int_equal(check_value(c, "{}", 2, "1", 1, arena, &v, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	check_close(c);

	/* text that is none, or too much of it */
	assert_int_equal(
		check_value(check, "\xff", 1, "1", 1, arena, &v, &e), 0);
	assert_int_equal(v->outcome, CHECK_TOO_COSTLY);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest plain[] = {
		TEST(test_bombs),
		TEST(test_many),
		TEST(test_faults_are_bounded),
		TEST(test_signature),
		TEST(test_no_program),
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
	return _cmocka_run_group_tests("check", tests, n, NULL, NULL);
}
