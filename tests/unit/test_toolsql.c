/* SPDX-License-Identifier: ISC */
/* PostgreSQL functions as tools: tests/unit/with-db gives a database. */
#include "base/compat.h"

#include "run/tool_sql.h"

#include <poll.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "run/call.h"
#include "run/sqlimport.h"
#include "store/db.h"
#include "store/dbtask.h"

static struct arena *arena;
static struct tool_sql_env env;

static const char CONFIG[] = "{\"role\":\"tool_role\",\"max_rows\":3,"
			     "\"timeout_ms\":400}";

static const char SCHEMA[] =
	"DROP SCHEMA IF EXISTS tt CASCADE; DROP ROLE IF EXISTS tool_role;"
	"CREATE ROLE tool_role NOLOGIN; CREATE SCHEMA tt;"
	"GRANT USAGE ON SCHEMA tt TO tool_role;"
	"CREATE TABLE tt.secret_table (n integer UNIQUE);"
	"CREATE TABLE tt.log (n integer UNIQUE CHECK (n < 100));"
	"GRANT INSERT, SELECT ON tt.log TO tool_role;"
	"CREATE TYPE tt.mood AS ENUM ('glad', 'sad');"
	"CREATE FUNCTION tt.add(a bigint, b bigint DEFAULT 10) RETURNS bigint "
	"IMMUTABLE LANGUAGE sql AS 'SELECT a + b';"
	"COMMENT ON FUNCTION tt.add(bigint, bigint) IS "
	"E'Add two numbers.\\n@param a the first\\nExactly.';"
	"CREATE FUNCTION tt.series(n integer) RETURNS TABLE (i integer, t text)"
	" STABLE LANGUAGE sql AS "
	"'SELECT g, g::text || ''\"x'' FROM generate_series(1, n) g';"
	"CREATE FUNCTION tt.put(n integer) RETURNS void VOLATILE "
	"LANGUAGE sql AS 'INSERT INTO tt.log VALUES (n)';"
	"CREATE FUNCTION tt.liar() RETURNS void STABLE LANGUAGE plpgsql AS "
	"'BEGIN PERFORM tt.put(50); END';"
	"CREATE FUNCTION tt.who() RETURNS text STABLE LANGUAGE sql "
	"AS 'SELECT current_user::text';"
	"CREATE FUNCTION tt.peek() RETURNS bigint STABLE LANGUAGE sql AS "
	"'SELECT count(*) FROM tt.secret_table';"
	"CREATE FUNCTION tt.slow() RETURNS void VOLATILE LANGUAGE sql AS "
	"'SELECT pg_sleep(20)';"
	"CREATE FUNCTION tt.complain() RETURNS void LANGUAGE plpgsql AS "
	"'BEGIN RAISE EXCEPTION ''No such customer'' USING HINT = ''Try 7'', "
	"ERRCODE = ''P0002''; END';"
	"CREATE FUNCTION tt.types(l text[], m tt.mood, j jsonb, d date DEFAULT "
	"NULL, VARIADIC v integer[] DEFAULT '{}') RETURNS json IMMUTABLE "
	"LANGUAGE sql AS 'SELECT json_build_object(''l'', l, ''m'', m, ''j'', "
	"j, ''d'', d, ''v'', v)';"
	"CREATE FUNCTION tt.big(n integer) RETURNS SETOF text STABLE LANGUAGE "
	"sql AS 'SELECT repeat(''x'', 40000) FROM generate_series(1, n)';"
	"CREATE FUNCTION tt.spoil() RETURNS void VOLATILE LANGUAGE sql AS "
	"'SELECT set_config(''statement_timeout'', ''1'', false), "
	"set_config(''mcp.left'', ''behind'', false)';"
	"CREATE FUNCTION tt.trail() RETURNS text STABLE LANGUAGE sql AS "
	"'SELECT current_setting(''mcp.left'', true)';"
	"CREATE FUNCTION tt.\"Odd name\"() RETURNS integer LANGUAGE sql "
	"AS 'SELECT 1';"
	"CREATE FUNCTION tt.unnamed(integer) RETURNS integer LANGUAGE sql "
	"AS 'SELECT $1';"
	"CREATE FUNCTION tt.trig() RETURNS trigger LANGUAGE plpgsql "
	"AS 'BEGIN RETURN NEW; END';"
	"CREATE PROCEDURE tt.proc() LANGUAGE sql AS 'SELECT 1';"
	"CREATE FUNCTION tt.add(a text) RETURNS text IMMUTABLE LANGUAGE sql "
	"AS 'SELECT a';";

static int
set_up_all(void **state UNUSED)
{
	struct db_options o = { .conninfo = getenv("MCP_TEST_DSN"),
		.application_name = "test_toolsql" };
	struct db *db = db_new(&o);
	struct err e;

	err_clear(&e);
	if (db_script(db, SCHEMA, &e) != 0) {
		fprintf(stderr, "%s %s\n", e.detail, db_message(db));
		return -1;
	}
	db_free(db);
	return 0;
}

static int
set_up(void **state UNUSED)
{
	arena = arena_new(64 << 20);
	env = (struct tool_sql_env){ .pool = dbtask_pool_new(),
		.database = getenv("MCP_TEST_DSN"),
		.timeout_ms = 10000,
		.max_bytes = 100000 };
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	dbtask_pool_free(env.pool);
	arena_free(arena);
	return 0;
}

static struct call_answer
finish(struct tool_sql *t)
{
	struct call_answer answer;

	while (!tool_sql_step(t, &answer)) {
		struct pollfd p = { dbtask_fd(tool_sql_task(t)),
			dbtask_poll_events(tool_sql_task(t)), 0 };

		(void)poll(&p, 1, dbtask_timeout_ms(tool_sql_task(t)));
	}
	tool_sql_close(t);
	return answer;
}

static struct call_answer
call_with(const char *config, const char *definition, const char *args)
{
	struct call_answer answer;
	struct tool_sql *t = tool_sql_start(&env, arena, config, definition,
		args, strlen(args), &answer);

	return t != NULL ? finish(t) : answer;
}

static struct call_answer
call(const char *definition, const char *args)
{
	return call_with(CONFIG, definition, args);
}

#define DEF(fn, names, types, optional, is_volatile, is_set, returns)          \
	"{\"schema\":\"tt\",\"function\":\"" fn "\",\"arg_names\":[" names     \
	"],\"arg_types\":[" types "],\"optional\":" optional                   \
	",\"volatile\":" is_volatile ",\"returns_set\":" is_set                \
	",\"returns\":\"" returns "\"}"

#define ADD                                                                    \
	DEF("add", "\"a\",\"b\"", "\"bigint\",\"bigint\"", "1", "false",       \
		"false", "bigint")
#define SERIES                                                                 \
	DEF("series", "\"n\"", "\"integer\"", "0", "false", "true", "record")
#define PUT DEF("put", "\"n\"", "\"integer\"", "0", "true", "false", "void")
#define NONE(fn, is_volatile, returns)                                         \
	DEF(fn, "", "", "0", is_volatile, "false", returns)

static void
assert_data(struct call_answer answer, const char *json)
{
	if (answer.status != CALL_OK)
		fprintf(stderr, "%s\n", answer.json);
	assert_int_equal(answer.status, CALL_OK);
	assert_string_equal(answer.json, json);
}

static void
assert_code(struct call_answer answer, const char *code)
{
	char want[80];

	assert_int_equal(answer.status, CALL_FAILED);
	snprintf(want, sizeof(want), "{\"code\":\"%s\",", code);
	if (strncmp(answer.json, want, strlen(want)) != 0)
		fail_msg("%s: %s", code, answer.json);
}

static void
test_values(void **state UNUSED)
{
	assert_data(call(ADD, "{\"a\":1,\"b\":2}"), "3");
	assert_data(call(ADD, "{\"b\":2,\"a\":1}"), "3");
	assert_data(call(ADD, "{\"a\":1}"), "11");
	/* more than a double holds */
	assert_data(call(ADD, "{\"a\":9007199254740993,\"b\":0}"),
		"9007199254740993");
	assert_data(call(ADD, "{\"a\":1,\"b\":null}"), "null");
	assert_data(call(NONE("who", "false", "text"), "{}"),
		"\"tool_role\"");
	assert_data(call(PUT, "{\"n\":1}"), "null");
	assert_data(call("{\"schema\":\"tt\",\"function\":\"types\","
			 "\"arg_names\":[\"l\",\"m\",\"j\",\"d\",\"v\"],"
			 "\"arg_types\":[\"text[]\",\"tt.mood\",\"jsonb\","
			 "\"date\",\"integer[]\"],\"optional\":1,"
			 "\"is_variadic\":true,\"volatile\":false,"
			 "\"returns_set\":false,\"returns\":\"json\"}",
			    "{\"l\":[\"a\\\"\",\"b\"],\"m\":\"sad\",\"j\":"
			    "{\"k\":[1]},\"d\":null}"),
		"{\"l\" : [\"a\\\"\",\"b\"], \"m\" : \"sad\", \"j\" : "
		"{\"k\": [1]}, \"d\" : null, \"v\" : []}");
}

static void
test_rows(void **state UNUSED)
{
	assert_data(call(SERIES, "{\"n\":2}"),
		"{\"rows\":[{\"i\":1,\"t\":\"1\\\"x\"},"
		"{\"i\":2,\"t\":\"2\\\"x\"}],\"truncated\":false}");
	assert_data(call(SERIES, "{\"n\":0}"),
		"{\"rows\":[],\"truncated\":false}");
	assert_data(call(SERIES, "{\"n\":1000000}"),
		"{\"rows\":[{\"i\":1,\"t\":\"1\\\"x\"},"
		"{\"i\":2,\"t\":\"2\\\"x\"},{\"i\":3,\"t\":\"3\\\"x\"}],"
		"\"truncated\":true}");
}

static void
test_size(void **state UNUSED)
{
	struct call_answer answer = call(DEF("big", "\"n\"", "\"integer\"",
						 "0", "false", "true",
						 "text"),
		"{\"n\":3}");

	assert_int_equal(answer.status, CALL_OK);
	assert_true(answer.len < 100000);
	assert_non_null(strstr(answer.json, "],\"truncated\":true}"));
}

static void
test_arguments(void **state UNUSED)
{
	assert_code(call(ADD, "{}"), "invalid_tool_arguments");
	assert_code(call(ADD, "{\"a\":1,\"c\":1}"), "invalid_tool_arguments");
	assert_code(call(ADD, "{\"a\":\"x\"}"), "invalid_tool_arguments");
	assert_code(call(ADD, "[]"), "invalid_tool_arguments");
	assert_code(call(ADD, "{\"a\":\"\\u0000\"}"),
		"invalid_tool_arguments");
	assert_code(call(ADD, "{\"a\":1e400}"), "invalid_tool_arguments");
}

static void
test_refusals(void **state UNUSED)
{
	struct call_answer answer;

	assert_code(call(NONE("liar", "false", "void"), "{}"), "read_only");
	assert_code(call(NONE("peek", "false", "bigint"), "{}"),
		"permission_denied");
	assert_code(call(NONE("gone", "false", "bigint"), "{}"),
		"tool_misconfigured");
	assert_code(call(PUT, "{\"n\":200}"), "constraint");
	answer = call(NONE("complain", "true", "void"), "{}");
	assert_code(answer, "sql_error");
	assert_non_null(strstr(answer.json, "No such customer"));
	assert_non_null(strstr(answer.json, "Try 7"));
	assert_null(strstr(answer.json, "SELECT"));
	answer = call(NONE("slow", "true", "void"), "{}");
	assert_code(answer, "timeout");
}

static void
test_configuration(void **state UNUSED)
{
	static const char *const BAD[] = { "{}", "[]", "{\"role\":1}",
		"{\"role\":\"none\"}", "{\"role\":\"\"}",
		"{\"role\":\"tool_role\",\"max_rows\":0}",
		"{\"service\":\"a b\"}", "{\"service\":\"x host=y\"}",
		"{\"role\":\"tool_role\",\"timeout_ms\":\"1\"}" };
	static const char *const ROLES[] = { "{\"role\":\"no_such_role\"}",
		"{\"role\":\"mcp_responder\"}", "{\"role\":\"mcp_admin\"}",
		"{\"role\":\"mcp_owner\"}", "{\"role\":\"postgres\"}" };
	size_t i;

	for (i = 0; i < NELEM(BAD); i++)
		assert_code(call_with(BAD[i], ADD, "{\"a\":1}"),
			"tool_misconfigured");
	/* what ends the list of types */
	assert_code(call(DEF("add", "\"a\"",
				 "\"bigint); DROP TABLE tt.log; --\"", "0",
				 "true", "false", "bigint"),
			    "{\"a\":1}"),
		"tool_misconfigured");
	/* none, and those that could approve their own calls */
	for (i = 0; i < NELEM(ROLES); i++)
		assert_code(call_with(ROLES[i], ADD, "{\"a\":1}"),
			"tool_misconfigured");
	assert_code(call_with("{\"service\":\"no_such_service\"}", ADD,
			    "{\"a\":1}"),
		"unavailable");
}

static void
test_connections_are_clean(void **state UNUSED)
{
	assert_data(call(NONE("spoil", "true", "void"), "{}"), "null");
	usleep(20000);
	assert_data(call(NONE("trail", "false", "text"), "{}"), "\"\"");
	assert_data(call(NONE("who", "false", "text"), "{}"),
		"\"tool_role\"");
}

static void
test_beside_each_other(void **state UNUSED)
{
	const char *def = DEF("slow", "", "", "0", "true", "false", "void");
	struct call_answer answer;
	struct tool_sql *t[5];
	int64_t start = clock_mono_ms();
	size_t i, n_done = 0;

	for (i = 0; i < NELEM(t); i++)
		t[i] = tool_sql_start(&env, arena, CONFIG, def, "{}", 2,
			&answer);
	while (n_done < NELEM(t)) {
		usleep(2000);
		for (i = 0; i < NELEM(t); i++) {
			if (t[i] == NULL || !tool_sql_step(t[i], &answer))
				continue;
			assert_code(answer, "timeout");
			tool_sql_close(t[i]);
			t[i] = NULL;
			n_done++;
		}
	}
	assert_true(clock_mono_ms() - start < 1500);
}

static void
test_import(void **state UNUSED)
{
	struct sqlimport import;
	struct err e;
	size_t i;

	err_clear(&e);
	assert_int_equal(sqlimport_run(&env, arena, CONFIG, "tt", "%",
				 &import, &e),
		0);
	assert_non_null(strstr(import.tools,
		"{\"name\":\"add\",\"description\":\"Add two numbers.\\n"
		"Exactly.\",\"input_schema\":{\"type\":\"object\","
		"\"properties\":{\"a\":{\"type\":\"integer\",\"description\":"
		"\"the first\"},\"b\":{\"type\":\"integer\",\"default\":10}},"
		"\"required\":[\"a\"],\"additionalProperties\":false}"));
	assert_non_null(strstr(import.tools, "\"name\":\"add_2\""));
	assert_non_null(strstr(import.tools,
		"\"m\":{\"type\":\"string\",\"enum\":[\"glad\",\"sad\"]}"));
	assert_non_null(strstr(import.tools,
		"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"));
	assert_non_null(strstr(import.tools, "\"j\":{}"));
	assert_non_null(strstr(import.tools,
		"\"d\":{\"type\":\"string\",\"format\":\"date\"}"));
	assert_int_equal(import.n_refused, 4);
	for (i = 0; i < import.n_refused; i++)
		assert_true(import.refused[i].reason[0] != '\0');
	assert_int_equal(sqlimport_run(&env, arena, CONFIG, "tt", "add",
				 &import, &e),
		0);
	assert_int_equal(import.n_tools, 2);
	assert_int_not_equal(sqlimport_run(&env, arena, "{}", "tt", "%",
				     &import, &e),
		0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		TEST(test_values),
		TEST(test_rows),
		TEST(test_size),
		TEST(test_arguments),
		TEST(test_refusals),
		TEST(test_configuration),
		TEST(test_connections_are_clean),
		TEST(test_beside_each_other),
		TEST(test_import),
	};

	if (getenv("MCP_TEST_DSN") == NULL) {
		puts("1..0 # SKIP MCP_TEST_DSN is not set: see "
		     "tests/unit/with-db");
		return 0;
	}
	return cmocka_run_group_tests_name("toolsql", tests, set_up_all, NULL);
}
