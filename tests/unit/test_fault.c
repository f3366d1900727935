/* SPDX-License-Identifier: ISC */
/* Goal: every fault and every kind of error has its answer on the wire. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "app/fault.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "http/res.h"
#include "rpc/msg.h"

static struct arena *arena;
static struct conf conf = {
	.prm_url = "https://h/.well-known/oauth-protected-resource/mcp",
};

static int
setup(void **state)
{
	arena = arena_new((size_t)1 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(arena);
	return 0;
}

static void
respond(struct res *r, enum fault f, const struct fault_answer *answer)
{
	res_init(r, arena);
	fault_respond(r, &conf, f, answer);
}

static void
test_every_row(void **state)
{
	struct res r;
	int f;

	for (f = 0; f < FAULT__MAX; f++) {
		respond(&r, (enum fault)f, NULL);
		assert_in_range(r.status, 400, 503);
		assert_int_equal(r.status, fault_status((enum fault)f));
		assert_string_equal(r.content_type, "application/json");
		assert_true(r.body.len > 10);
		assert_non_null(fault_name((enum fault)f));
	}
}

static void
test_every_kind(void **state)
{
	struct err e;
	int k;

	for (k = 0; k < ERR__MAX; k++) {
		e.kind = (enum err_kind)k;
		assert_in_range(fault_of(&e), 0, FAULT__MAX - 1);
	}
	e.kind = ERR_UNAVAILABLE;
	assert_int_equal(fault_of(&e), FAULT_DOWN);
	e.kind = ERR_INTERNAL;
	assert_int_equal(fault_of(&e), FAULT_INTERNAL);
}

/* BEHAVIOUR 3, byte for byte. */
static void
test_challenges(void **state)
{
	struct res r;

	respond(&r, FAULT_TOKEN_ABSENT, NULL);
	assert_int_equal(r.status, 401);
	assert_string_equal(r.body.data, "{\"error\":\"unauthorized\"}");
	assert_string_equal(r.headers.data,
		"WWW-Authenticate: Bearer resource_metadata=\""
		"https://h/.well-known/oauth-protected-resource/mcp\"\r\n");
	respond(&r, FAULT_TOKEN_EXPIRED, NULL);
	assert_string_equal(r.headers.data,
		"WWW-Authenticate: Bearer error=\"invalid_token\", "
		"error_description=\"The access token expired\", "
		"resource_metadata=\""
		"https://h/.well-known/oauth-protected-resource/mcp\"\r\n");
	respond(&r, FAULT_TOKEN_INVALID, NULL);
	assert_string_equal(r.body.data, "{\"error\":\"unauthorized\"}");
	assert_string_equal(r.headers.data,
		"WWW-Authenticate: Bearer error=\"invalid_token\", "
		"error_description=\"The access token is invalid\", "
		"resource_metadata=\""
		"https://h/.well-known/oauth-protected-resource/mcp\"\r\n");
}

/* BEHAVIOUR 4 and 5. */
static void
test_contract(void **state)
{
	struct res r;

	respond(&r, FAULT_AUTH_DOWN, NULL);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.headers.data, "Retry-After: 2\r\n"));
	assert_non_null(strstr(r.body.data, "temporarily unavailable"));
	assert_non_null(strstr(r.body.data, "\"code\":-32001"));
	assert_non_null(strstr(r.body.data, "\"id\":null"));
	respond(&r, FAULT_NO_ORGANIZATION, NULL);
	assert_int_equal(r.status, 403);
	assert_non_null(strstr(r.body.data, "No organization"));
	respond(&r, FAULT_SESSION_GONE, NULL);
	assert_int_equal(r.status, 404);
	assert_non_null(strstr(r.body.data, "timed out"));
	respond(&r, FAULT_SESSION_FOREIGN, NULL);
	assert_int_equal(r.status, 403);
	assert_non_null(strstr(r.body.data, "-32003"));
	assert_non_null(strstr(r.body.data, "does not belong"));
}

static void
test_answer(void **state)
{
	struct msg m = { .id = "\"x\"", .id_len = 3 };
	struct fault_answer answer = { .text = "T", .msg = &m,
		.data = "{\"k\":1}" };
	struct res r;

	respond(&r, FAULT_MESSAGE, &answer);
	assert_string_equal(r.body.data,
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32600,"
		"\"message\":\"T\",\"data\":{\"k\":1}}}");
	m.id = NULL;
	answer.omit_id = true;
	answer.data = NULL;
	respond(&r, FAULT_MESSAGE, &answer);
	assert_string_equal(r.body.data,
		"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"
		"\"message\":\"T\"}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_challenges),
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_answer),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
