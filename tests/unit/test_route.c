/* SPDX-License-Identifier: ISC */
/* Goal: every path that clients try finds its resource, no other does. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "http/req.h"
#include "http/route.h"

static const struct {
	const char *path;
	const char *endpoint;
	enum route_kind kind;
} CASES[] = {
	{ "/mcp", "/mcp", ROUTE_ENDPOINT },
	{ "/mcp/", "/mcp", ROUTE_ENDPOINT },
	{ "/a/b/mcp", "/a/b/mcp", ROUTE_ENDPOINT },
	{ "/.well-known/oauth-protected-resource", "/mcp", ROUTE_RESOURCE },
	{ "/.well-known/oauth-protected-resource/mcp", "/mcp", ROUTE_RESOURCE },
	{ "/.well-known/oauth-protected-resource/mcp/", "/mcp",
		ROUTE_RESOURCE },
	{ "/mcp/.well-known/oauth-protected-resource", "/mcp", ROUTE_RESOURCE },
	{ "/.well-known/oauth-authorization-server", "/mcp", ROUTE_ISSUER },
	{ "/.well-known/oauth-authorization-server/mcp", "/mcp", ROUTE_ISSUER },
	{ "/mcp/.well-known/oauth-authorization-server", "/mcp", ROUTE_ISSUER },
	{ "/", "/mcp", ROUTE_NONE },
	{ "", "/mcp", ROUTE_NONE },
	{ "/mc", "/mcp", ROUTE_NONE },
	{ "/mcpx", "/mcp", ROUTE_NONE },
	{ "/mcp//", "/mcp", ROUTE_NONE },
	{ "/mcp/x", "/mcp", ROUTE_NONE },
	{ "/MCP", "/mcp", ROUTE_NONE },
	{ "/%6dcp", "/mcp", ROUTE_NONE },
	{ "/.well-known/oauth-protected-resource/", "/mcp", ROUTE_NONE },
	{ "/.well-known/oauth-protected-resource/other", "/mcp", ROUTE_NONE },
	{ "/.well-known/oauth-protected-resourcex", "/mcp", ROUTE_NONE },
	{ "/x/.well-known/oauth-protected-resource", "/mcp", ROUTE_NONE },
	{ "/.well-known/acme-challenge/x", "/mcp", ROUTE_NONE },
};

static void
test_find(void **state)
{
	size_t i;

	for (i = 0; i < NELEM(CASES); i++)
		if (route_find(CASES[i].path, CASES[i].endpoint)->kind !=
			CASES[i].kind)
			fail_msg("%s", CASES[i].path);
}

static void
test_methods(void **state)
{
	const struct route *r = route_find("/mcp", "/mcp");

	assert_int_equal(r->methods,
		REQ_GET | REQ_POST | REQ_DELETE | REQ_OPTIONS);
	assert_string_equal(r->allow, "GET, POST, DELETE, OPTIONS");
	r = route_find("/.well-known/oauth-protected-resource", "/mcp");
	assert_int_equal(r->methods, REQ_GET | REQ_HEAD | REQ_OPTIONS);
	assert_string_equal(r->allow, "GET, HEAD, OPTIONS");
	assert_int_equal(route_find("/x", "/mcp")->methods, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
