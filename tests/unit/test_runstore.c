/* SPDX-License-Identifier: ISC */
/*
 * The store of catalogue, secrets, runs and ledger against a database: what
 * the C side makes of each outcome, and that bytes stay bytes.
 */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/bytea.h"
#include "store/catalog.h"
#include "store/db.h"
#include "store/execution.h"
#include "store/ledger.h"
#include "store/policy.h"
#include "store/secret.h"
#include "store/source.h"
#include "store/upstream.h"

static struct arena *arena;
static struct db *db;
static struct err err;

static const unsigned char SHA[32] = { 1, 2, 3 };
/* every byte that text would trip over */
static const unsigned char BYTES[] = { 0, 255, '\'', '\\', 0, 10, 128, 'x', 9,
	8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
static const struct execution_owner ALICE = { "i", "alice", "o" };
static const struct execution_owner BOB = { "i", "bob", "o" };

#define OK(call)                                                               \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("%s: %s", err.detail, db_message(db));        \
	} while (0)

/* Each test in a transaction that is undone. */
static int
begin(void **state UNUSED)
{
	static struct db_options o = { .application_name = "test_runstore" };

	o.conninfo = getenv("MCP_TEST_DSN");
	arena = arena_new(16 << 20);
	db = db_new(&o);
	return db_script(db, "BEGIN", &err);
}

static int
rollback(void **state UNUSED)
{
	db_free(db);
	arena_free(arena);
	return 0;
}

static void
test_bytea(void **state UNUSED)
{
	static const char *const BAD[] = { "", "x", "\\", "\\y00", "\\x0",
		"\\x0g", "\\xAB", "abc" };
	size_t i, len;

	assert_null(bytea_parse(arena, NULL, &len));
	for (i = 0; i < NELEM(BAD); i++) {
		assert_null(bytea_parse(arena, BAD[i], &len));
		assert_int_equal(len, 0);
	}
	assert_non_null(bytea_parse(arena, "\\x", &len));
	assert_int_equal(len, 0);
	assert_memory_equal(bytea_parse(arena,
		db_bytea(arena, BYTES, sizeof(BYTES)), &len), BYTES,
		sizeof(BYTES));
	assert_int_equal(len, sizeof(BYTES));
}

static int64_t
make_source(void)
{
	struct source s = { "o", "gh", "http", "GitHub",
		"{\"base_url\":\"x\"}" };
	struct source_import n;
	int64_t id;

	OK(source_save(db, arena, &s, &id, &err));
	OK(source_import(db, arena, id,
		"[{\"name\":\"issues.create\",\"title\":\"Create an issue\","
		"\"input_schema\":{\"type\":\"object\",  \"x\":1},"
		"\"needs_approval\":true,\"approval_text\":\"POST /issues\"},"
		"{\"name\":\"issues.list\"}]",
		&n, &err));
	assert_int_equal(n.added, 2);
	return id;
}

static void
test_catalog(void **state UNUSED)
{
	struct catalog_query q = { "create issue", NULL, 12, 0 };
	const bool yes = true, no = false;
	enum catalog_outcome outcome;
	struct catalog_source *sources;
	struct catalog_tool t, *listed;
	const char *text;
	struct db_res r;
	int64_t id, policy, total;
	bool was_there, is_new;
	size_t n;

	id = make_source();
	OK(catalog_find(db, arena, "o", "gh.issues.create", &outcome, &t, &text,
		&err));
	assert_int_equal(outcome, CATALOG_OK);
	assert_int_equal(t.source_id, id);
	assert_int_equal(t.kind, CATALOG_HTTP);
	assert_string_equal(t.source, "gh");
	assert_string_equal(t.name, "issues.create");
	assert_string_equal(t.input_schema, "{\"type\":\"object\",  \"x\":1}");
	assert_null(t.output_schema);
	assert_true(t.needs_approval);
	assert_null(t.policy);
	assert_string_equal(t.approval_text, "POST /issues");
	assert_null(text);

	OK(catalog_find(db, arena, "o", "gh.issue.creat", &outcome, &t, &text,
		&err));
	assert_int_equal(outcome, CATALOG_NOT_FOUND);
	assert_string_equal(text, "[\"gh.issues.create\"]");

	OK(policy_add(db, arena, "o", "gh.issues.*", "approve", NULL, NULL,
		&policy, &err));
	OK(catalog_find(db, arena, "o", "gh.issues.create", &outcome, &t, NULL,
		&err));
	assert_false(t.needs_approval);
	assert_string_equal(t.policy, "gh.issues.*");
	OK(policy_add(db, arena, "o", "gh.issues.list", "block", "0.5", "no",
		&policy, &err));
	OK(catalog_find(db, arena, "o", "gh.issues.list", &outcome, &t, NULL,
		&err));
	assert_int_equal(outcome, CATALOG_BLOCKED);
	OK(policy_list(db, arena, "o", &r, &err));
	assert_int_equal(r.n_rows, 2);
	assert_string_equal(db_text(&r, 0, 4), "block");
	assert_int_equal(db_int(&r, 1, 6), 2);

	OK(catalog_search(db, arena, "o", &q, &total, &text, &err));
	assert_int_equal(total, 1);
	assert_non_null(strstr(text, "\"path\":\"gh.issues.create\""));
	OK(policy_remove(db, arena, "o", policy, &was_there, &err));
	assert_true(was_there);
	q.query = NULL;
	q.name_space = "gh";
	OK(catalog_search(db, arena, "o", &q, &total, &text, &err));
	assert_int_equal(total, 2);

	OK(catalog_listed(db, arena, "o", &listed, &n, &err));
	assert_int_equal(n, 0);
	OK(source_tool_set(db, arena, "o", "gh.issues.list", &yes, NULL,
		&was_there, &err));
	OK(catalog_listed(db, arena, "o", &listed, &n, &err));
	assert_int_equal(n, 1);
	assert_string_equal(listed[0].path, "gh.issues.list");
	OK(source_tool_set(db, arena, "o", "gh.issues.list", NULL, &no,
		&was_there, &err));
	OK(catalog_sources(db, arena, "o", &sources, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(sources[0].n_tools, 1);
	assert_string_equal(sources[0].title, "GitHub");

	OK(source_tool_save(db, arena, id, "{\"name\":\"x\"}", &is_new, &err));
	assert_true(is_new);
	OK(source_tool_list(db, arena, "o", "gh", &r, &err));
	assert_int_equal(r.n_rows, 3);
	OK(source_tool_remove(db, arena, "o", "gh.x", &was_there, &err));
	assert_true(was_there);
	OK(source_enable(db, arena, "o", "gh", false, &was_there, &err));
	OK(catalog_find(db, arena, "o", "gh.issues.create", &outcome, &t, NULL,
		&err));
	assert_int_equal(outcome, CATALOG_NOT_FOUND);
	OK(source_find(db, arena, "o", "gh", &r, &err));
	assert_int_equal(r.n_rows, 1);
	OK(source_list(db, arena, NULL, &r, &err));
	assert_int_equal(r.n_rows, 1);
	OK(source_remove(db, arena, "o", "gh", &was_there, &err));
	assert_true(was_there);
	OK(source_remove(db, arena, "o", "gh", &was_there, &err));
	assert_false(was_there);
}

static void
test_catalog_refused(void **state UNUSED)
{
	struct source s = { "o", "gh", "sql", NULL, "{}" };
	int64_t id;

	make_source();
	assert_int_equal(source_save(db, arena, &s, &id, &err), -1);
	assert_int_equal(err.kind, ERR_CONFLICT);
	s.name = "Not A Name";
	assert_int_equal(source_save(db, arena, &s, &id, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void
test_secret(void **state UNUSED)
{
	struct secret s = { "k1", BYTES, sizeof(BYTES) }, found;
	bool b;

	OK(secret_find(db, arena, "o", "T", &found, &err));
	assert_null(found.sealed);
	OK(secret_save(db, arena, "o", "T", &s, &b, &err));
	assert_true(b);
	OK(secret_find(db, arena, "o", "T", &found, &err));
	assert_string_equal(found.key_id, "k1");
	assert_int_equal(found.sealed_len, sizeof(BYTES));
	assert_memory_equal(found.sealed, BYTES, sizeof(BYTES));
	s.key_id = "k2";
	OK(secret_rotate(db, arena, "o", "T", &found, &s, &b, &err));
	assert_true(b);
	OK(secret_remove(db, arena, "o", "T", &b, &err));
	assert_true(b);
	s.sealed_len = 3;
	assert_int_equal(secret_save(db, arena, "o", "T", &s, &b, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void
test_upstream(void **state UNUSED)
{
	struct upstream_session s = { "2025-06-18", "sess", 0 }, found;
	int64_t id = make_source();
	bool b;

	OK(upstream_find(db, arena, "o", id, &found, &err));
	assert_null(found.protocol_version);
	OK(upstream_save(db, arena, "o", id, &s, &b, &err));
	assert_true(b);
	OK(upstream_save(db, arena, "o", id, &s, &b, &err));
	assert_false(b);
	OK(upstream_find(db, arena, "o", id, &found, &err));
	assert_string_equal(found.session_id, "sess");
	OK(upstream_drop(db, arena, "o", id, "other", &b, &err));
	assert_false(b);
	OK(upstream_drop(db, arena, "o", id, "sess", &b, &err));
	assert_true(b);
}

static void
test_id(void **state UNUSED)
{
	static const char *const BAD[] = { "", "exec_1",
		"11111111-1111-4111-8111-11111111111",
		"11111111-1111-4111-8111-1111111111111",
		"11111111-1111-4111-8111-11111111111G",
		"11111111-1111-4111-8111-11111111111A",
		"11111111 1111-4111-8111-111111111111",
		"{11111111-1111-4111-8111-11111111111" };
	char a[EXECUTION_ID_LEN + 1], b[EXECUTION_ID_LEN + 1];
	enum execution_outcome o;
	struct execution x;
	uint64_t before;
	size_t i;

	execution_id_make(a);
	execution_id_make(b);
	assert_true(execution_id_is_valid(a));
	assert_string_not_equal(a, b);
	assert_int_equal(a[14], '4');
	before = db_round_trips(db);
	for (i = 0; i < NELEM(BAD); i++) {
		assert_false(execution_id_is_valid(BAD[i]));
		OK(execution_state(db, arena, BAD[i], &ALICE, &o, &x, &err));
		assert_int_equal(o, EXECUTION_NOT_FOUND);
	}
	assert_int_equal(db_round_trips(db), before);
	OK(execution_state(db, arena, a, &ALICE, &o, &x, &err));
	assert_int_equal(o, EXECUTION_NOT_FOUND);
	for (i = 0; i < EXECUTION_OUTCOME__MAX; i++) {
		OK(execution_outcome_parse(execution_outcome_name(
			(enum execution_outcome)i), &o, &err));
		assert_int_equal(o, i);
	}
	assert_int_equal(execution_outcome_parse("x", &o, &err), -1);
	assert_int_equal(execution_outcome_parse(NULL, &o, &err), -1);
}

/* A run that makes a call, asks, is suspended, approved, resumed, settled. */
static void
test_run(void **state UNUSED)
{
	char id[EXECUTION_ID_LEN + 1];
	struct execution_new n = { id, NULL, SHA, "e1", 30 };
	struct ledger_key k = { id, 1, 0 };
	struct ledger_value args = { "{\"a\":1}", SHA }, none = { NULL, SHA };
	struct ledger_question q = { false, "Post?", "{}", BYTES, sizeof(BYTES),
		60 };
	struct execution_decision d = { -1, NULL, NULL };
	struct execution_end end = { "completed", "finished", "{\"r\":1}", NULL,
		77 };
	enum execution_outcome o;
	struct ledger_call *calls;
	const char *text;
	struct execution x;
	struct db_res r;
	size_t n_calls;

	execution_id_make(id);
	OK(execution_open(db, arena, &ALICE, &n, &err));
	OK(execution_renew(db, arena, id, 1, 30, &o, &err));
	assert_int_equal(o, EXECUTION_OK);
	OK(ledger_begin(db, arena, &k, "s.get", &args, &o, &err));
	assert_int_equal(o, EXECUTION_OK);
	OK(ledger_settle(db, arena, &k, LEDGER_DONE, false, &none, &o, &err));
	assert_int_equal(o, EXECUTION_OK);
	OK(ledger_settle(db, arena, &k, LEDGER_DONE, false, &none, &o, &err));
	assert_int_equal(o, EXECUTION_AGAIN);
	k.seq = 1;
	OK(ledger_ask(db, arena, &k, "s.post", &none, &q, &o, &text, &err));
	assert_int_equal(o, EXECUTION_OK);
	assert_int_equal(strlen(text), strlen("2026-01-01T00:00:00Z"));
	OK(ledger_go(db, arena, &k, &o, &err));
	assert_int_equal(o, EXECUTION_REFUSED);
	OK(execution_suspend(db, arena, id, 1, BYTES, sizeof(BYTES), 5, 60, &o,
		&err));
	assert_int_equal(o, EXECUTION_OK);

	OK(execution_state(db, arena, id, &ALICE, &o, &x, &err));
	assert_int_equal(o, EXECUTION_WAITING);
	assert_false(x.is_claimable);
	OK(execution_state(db, arena, id, &BOB, &o, &x, &err));
	assert_int_equal(o, EXECUTION_FORBIDDEN);
	OK(execution_resume(db, arena, id, &ALICE, &d, "e1", 30, &o, &x, &err));
	assert_int_equal(o, EXECUTION_WAITING);
	d.seq = INT64_MAX;
	d.action = "accept";
	OK(execution_resume(db, arena, id, &ALICE, &d, "e1", 30, &o, &x, &err));
	assert_int_equal(o, EXECUTION_NO_CALL);
	d.seq = -1;
	OK(execution_resume(db, arena, id, &ALICE, &d, "e2", 30, &o, &x, &err));
	assert_int_equal(o, EXECUTION_OTHER_ENGINE);
	OK(execution_approve(db, arena, id, 1, NULL, &text, &err));
	assert_non_null(strstr(text, "was decided before: accept"));
	d.action = NULL;
	OK(execution_resume(db, arena, id, &ALICE, &d, "e1", 30, &o, &x, &err));
	assert_int_equal(o, EXECUTION_CLAIMED);
	assert_int_equal(x.generation, 2);
	assert_int_equal(x.heap_generation, 1);
	assert_int_equal(x.wall_used_ms, 5);
	assert_int_equal(x.heap_len, sizeof(BYTES));
	assert_memory_equal(x.heap, BYTES, sizeof(BYTES));

	OK(ledger_calls(db, arena, id, &calls, &n_calls, &err));
	assert_int_equal(n_calls, 2);
	assert_int_equal(calls[0].status, LEDGER_DONE);
	assert_string_equal(calls[0].args, "{\"a\":1}");
	assert_true(calls[0].ms >= 0);
	assert_false(calls[0].is_question);
	assert_int_equal(calls[1].status, LEDGER_WAITING);
	assert_null(calls[1].args);
	assert_true(calls[1].is_question && !calls[1].is_elicit);
	assert_string_equal(calls[1].action, "accept");
	assert_int_equal(calls[1].pending_len, sizeof(BYTES));
	assert_memory_equal(calls[1].pending, BYTES, sizeof(BYTES));
	assert_int_equal(calls[1].ms, -1);

	OK(ledger_go(db, arena, &k, &o, &err));
	assert_int_equal(o, EXECUTION_LOST);
	k.generation = 2;
	OK(ledger_go(db, arena, &k, &o, &err));
	assert_int_equal(o, EXECUTION_OK);
	OK(ledger_settle(db, arena, &k, LEDGER_FAILED, true, NULL, &o, &err));
	assert_int_equal(o, EXECUTION_OK);
	OK(execution_settle(db, arena, id, 2, &end, &o, &err));
	assert_int_equal(o, EXECUTION_OK);
	OK(execution_settle(db, arena, id, 2, &end, &o, &err));
	assert_int_equal(o, EXECUTION_AGAIN);
	OK(execution_resume(db, arena, id, &ALICE, &d, "e1", 30, &o, &x, &err));
	assert_int_equal(o, EXECUTION_SETTLED);
	assert_string_equal(x.result, "{\"r\":1}");
	assert_string_equal(x.run_outcome, "finished");
	assert_null(x.heap);

	OK(execution_list(db, arena, "o", "completed", 10, &r, &err));
	assert_int_equal(r.n_rows, 1);
	OK(execution_show(db, arena, id, &r, &err));
	assert_string_equal(db_text(&r, 0, 5), "completed");
	OK(ledger_list(db, arena, id, &r, &err));
	assert_int_equal(r.n_rows, 2);
}

static void
test_cancel(void **state UNUSED)
{
	char id[EXECUTION_ID_LEN + 1];
	struct execution_new n = { id, NULL, SHA, "e1", 30 };
	struct ledger_key k = { id, 1, 0 };
	struct ledger_value args = { "{}", SHA };
	enum execution_outcome o;
	const char *text;
	bool b;

	execution_id_make(id);
	OK(execution_open(db, arena, &ALICE, &n, &err));
	OK(execution_cancel(db, arena, id, "enough", &b, &err));
	assert_true(b);
	OK(execution_cancel(db, arena, id, NULL, &b, &err));
	assert_false(b);
	OK(ledger_begin(db, arena, &k, "s.get", &args, &o, &err));
	assert_int_equal(o, EXECUTION_CANCELLED);
	OK(execution_renew(db, arena, id, 1, 30, &o, &err));
	assert_int_equal(o, EXECUTION_CANCELLED);
	assert_int_equal(
		execution_decline(db, arena, id, -1, NULL, &text, &err), -1);
	assert_string_equal(db_message(db), "the run is over: cancelled");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytea, begin, rollback),
		cmocka_unit_test_setup_teardown(test_catalog, begin, rollback),
		cmocka_unit_test_setup_teardown(
			test_catalog_refused, begin, rollback),
		cmocka_unit_test_setup_teardown(test_secret, begin, rollback),
		cmocka_unit_test_setup_teardown(test_upstream, begin, rollback),
		cmocka_unit_test_setup_teardown(test_id, begin, rollback),
		cmocka_unit_test_setup_teardown(test_run, begin, rollback),
		cmocka_unit_test_setup_teardown(test_cancel, begin, rollback),
	};

	if (getenv("MCP_TEST_DSN") == NULL) {
		puts("1..0 # SKIP MCP_TEST_DSN is not set: see "
		     "tests/unit/with-db");
		return 0;
	}
	return cmocka_run_group_tests_name("runstore", tests, NULL, NULL);
}
