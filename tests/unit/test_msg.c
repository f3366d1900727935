/* SPDX-License-Identifier: ISC */
/* Goal: what is a JSON-RPC message is one, byte for byte; the rest is not. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "rpc/msg.h"

static struct arena *arena;
static const struct msg_limits LIMITS = { 64, 4 };

static int
setup(void **state)
{
	arena = arena_new((size_t)64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(arena);
	return 0;
}

static int
parse(struct msg_body *b, const char *text, struct err *e)
{
	err_clear(e);
	return msg_parse(b, arena, text, strlen(text), &LIMITS, e);
}

static const struct {
	const char *text;
	enum msg_kind kind;
	const char *id; /* NULL: none */
	int code;	/* MSG_INVALID */
} SINGLES[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MSG_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}", MSG_REQUEST, "0" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"p\"}", MSG_REQUEST, "-7" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"p\"}",
		MSG_REQUEST, "9007199254740993" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,"
	  "\"method\":\"p\"}",
		MSG_REQUEST, "123456789012345678901234567890" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"9007199254740993\",\"method\":\"p\"}",
		MSG_REQUEST, "\"9007199254740993\"" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"p\"}", MSG_REQUEST,
		"\"\"" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\\n\",\"method\":\"p\"}",
		MSG_REQUEST, "\"\\u00e9\\n\"" },
	{ " { \"method\" : \"p\" , \"id\" : 5 , \"jsonrpc\" : \"2.0\" } ",
		MSG_REQUEST, "5" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}",
		MSG_NOTIFICATION, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MSG_RESPONSE, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,"
	  "\"message\":\"m\"}}",
		MSG_RESPONSE, "1" },
	/* not the protocol */
	{ "{}", MSG_INVALID, NULL, MSG_INVALID_REQUEST },
	{ "{\"id\":1,\"method\":\"p\"}", MSG_INVALID, "1",
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"p\"}", MSG_INVALID, "1",
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"p\"}", MSG_INVALID, "1",
		MSG_INVALID_REQUEST },
	/* ids */
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"p\"}", MSG_INVALID,
		NULL, MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"p\"}", MSG_INVALID,
		NULL, MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"p\"}", MSG_INVALID, NULL,
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"p\"}", MSG_INVALID,
		NULL, MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"p\"}", MSG_INVALID,
		NULL, MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"p\"}", MSG_INVALID,
		NULL, MSG_INVALID_REQUEST },
	/* method, params, result */
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MSG_INVALID, "1",
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"Method\":\"p\"}", MSG_INVALID, "1",
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1}", MSG_INVALID, "1",
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"result\":{}}", MSG_INVALID, NULL,
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
		MSG_INVALID, "1", MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"result\":{}}",
		MSG_INVALID, "1", MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":[]}",
		MSG_INVALID, "1", MSG_INVALID_PARAMS },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":null}",
		MSG_INVALID, "1", MSG_INVALID_PARAMS },
};

static void
test_singles(void **state)
{
	struct msg_body b;
	struct err e;
	size_t i;

	for (i = 0; i < NELEM(SINGLES); i++) {
		if (parse(&b, SINGLES[i].text, &e) != 0 || b.is_batch ||
			b.n != 1 || b.msg->kind != SINGLES[i].kind)
			fail_msg("%s: %s", SINGLES[i].text, e.detail);
		if (SINGLES[i].id == NULL)
			assert_null(b.msg->id);
		else if (b.msg->id_len != strlen(SINGLES[i].id) ||
			memcmp(b.msg->id, SINGLES[i].id, b.msg->id_len) != 0)
			fail_msg("id of %s", SINGLES[i].text);
		if (b.msg->kind == MSG_INVALID) {
			assert_int_equal(b.msg->code, SINGLES[i].code);
			assert_non_null(b.msg->why);
		}
	}
}

static const struct {
	const char *text;
	int code;
} REFUSED[] = {
	{ "", MSG_PARSE_ERROR },
	{ "{", MSG_PARSE_ERROR },
	{ "{\"a\":1}x", MSG_PARSE_ERROR },
	{ "{'a':1}", MSG_PARSE_ERROR },
	{ "{\"a\":\"\xff\"}", MSG_PARSE_ERROR },
	{ "7", MSG_INVALID_REQUEST },
	{ "null", MSG_INVALID_REQUEST },
	{ "\"x\"", MSG_INVALID_REQUEST },
	{ "[]", MSG_INVALID_REQUEST },
	{ "[1,2,3,4,5]", MSG_INVALID_REQUEST }, /* over batch_max */
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"method\":\"b\"}",
		MSG_INVALID_REQUEST },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\\u0000x\"}",
		MSG_INVALID_REQUEST },
};

static void
test_refused(void **state)
{
	struct msg_body b;
	struct err e;
	size_t i;

	for (i = 0; i < NELEM(REFUSED); i++) {
		if (parse(&b, REFUSED[i].text, &e) != -1)
			fail_msg("accepted: %s", REFUSED[i].text);
		if (e.rpc_code != REFUSED[i].code)
			fail_msg("%s: %d", REFUSED[i].text, e.rpc_code);
	}
}

static void
test_depth(void **state)
{
	struct msg_body b;
	struct buf text;
	struct err e;
	int i;

	buf_init(&text, arena);
	buf_puts(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"p\",\"params\":"
			"{\"a\":");
	for (i = 0; i < 100000; i++)
		buf_putc(&text, '[');
	for (i = 0; i < 100000; i++)
		buf_putc(&text, ']');
	buf_puts(&text, "}}");
	assert_int_equal(parse(&b, text.data, &e), -1);
}

static void
test_params_text(void **state)
{
	struct msg_body b;
	struct err e;

	assert_int_equal(parse(&b,
				 "{\"params\": {\"x\": 1e2} ,\"id\":1,"
				 "\"jsonrpc\":\"2.0\",\"method\":\"p\"}",
				 &e),
		0);
	assert_int_equal(b.msg->params_len, 10);
	assert_memory_equal(b.msg->params_text, "{\"x\": 1e2}", 10);
	assert_non_null(cj_get(b.msg->params, "x"));
}

/* A broken element does not keep the others from being answered. */
static void
test_batch(void **state)
{
	struct msg_body b;
	struct err e;

	assert_int_equal(
		parse(&b,
			"[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"p\"},"
			" 1 ,{\"jsonrpc\":\"2.0\",\"method\":\"n\"} ,"
			"{\"jsonrpc\":\"2.0\",\"id\":18446744073709551617,"
			"\"method\":\"q\"}]",
			&e),
		0);
	assert_true(b.is_batch);
	assert_int_equal(b.n, 4);
	assert_int_equal(b.msg[0].kind, MSG_REQUEST);
	assert_memory_equal(b.msg[0].id, "\"a\"", 3);
	assert_int_equal(b.msg[1].kind, MSG_INVALID);
	assert_int_equal(b.msg[2].kind, MSG_NOTIFICATION);
	assert_int_equal(b.msg[3].id_len, 20);
	assert_memory_equal(b.msg[3].id, "18446744073709551617", 20);
	assert_string_equal(b.msg[3].method, "q");
}

static void
test_batch_of_one(void **state)
{
	struct msg_body b;
	struct err e;

	assert_int_equal(
		parse(&b, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\"}]",
			&e),
		0);
	assert_true(b.is_batch);
	assert_int_equal(b.n, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_singles),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_params_text),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_of_one),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
