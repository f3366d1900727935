/* SPDX-License-Identifier: ISC */
/* openapi: names, schemas, placement and refusals, from small documents. */
#include "base/compat.h"

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "run/openapi.h"
#include "run/openapi_name.h"

struct fixture {
	struct arena *a;
	struct openapi out;
	struct err e;
	const struct cJSON *tools;
};

static int
setup(void **state)
{
	struct fixture *t = calloc(1, sizeof(*t));

	t->a = arena_new(512 << 20);
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;

	arena_free(t->a);
	free(t);
	return 0;
}

static int
import_at(struct fixture *t, const char *text, const char *url)
{
	static const struct cj_limits limits = { 200, CJ_DUP_REFUSE, 0 };
	struct openapi_options o = { .url = url };
	struct cJSON *tree;

	if (openapi_import(t->a, text, strlen(text), &o, &t->out, &t->e) != 0)
		return -1;
	assert_int_equal(cj_parse(t->a, t->out.tools, t->out.tools_len, &limits,
				 &tree, &t->e),
		0);
	t->tools = tree;
	assert_int_equal(cj_array_len(tree), t->out.n_tools);
	return 0;
}

static void
import(struct fixture *t, const char *text)
{
	if (import_at(t, text, NULL) != 0)
		fail_msg("%s", t->e.detail);
}

static const struct cJSON *
tool(const struct fixture *t, const char *name)
{
	const struct cJSON *m;

	for (m = cj_first(t->tools); m != NULL; m = cj_next(m))
		if (strcmp(cj_get_string(m, "name"), name) == 0)
			return m;
	fail_msg("no tool %s in %s", name, t->out.tools);
	return NULL;
}

static const char *
part(const struct fixture *t, const char *name, const char *member)
{
	return cj_print(t->a, cj_get(tool(t, name), member));
}

#define PATHS(text)                                                            \
	"{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"A b!\","                 \
	"\"version\":\"1\"},\"paths\":{" text "}}"

static void
test_names(void **state)
{
	static const struct {
		struct openapi_name op;
		const char *want;
	} cases[] = {
		{ { "GET", "/pets", "Pets", "listPets" }, "pets.listPets" },
		{ { "GET", "/x", "issues", "issues/list-for-org" },
			"issues.listForOrg" },
		{ { "GET", "/x", "code-scanning", "code-scanning/get_it" },
			"codeScanning.getIt" },
		{ { "GET", "/x", "Pet Store", "pet_store.find" },
			"petStore.find" },
		{ { "GET", "/api/v1/users/{id}", NULL, NULL }, "users.getOne" },
		{ { "POST", "/api/v1/users", NULL, NULL }, "users.post" },
		{ { "GET", "/users/{id}/posts", NULL, NULL },
			"users.getPosts" },
		{ { "DELETE", "/{id}", NULL, NULL }, "root.deleteOne" },
		{ { "GET", "/", NULL, "" }, "root.get" },
		{ { "GET", "/x", "2FA", "2fa" }, "_2fa._2fa" },
		{ { "GET", "/x", "API Keys", "APIKeys" }, "apiKeys.apiKeys" },
		{ { "GET", "/x", "\xc3\xa4", "\xc3\xa4" }, "x.get" },
		{ { "GET", "/x", "then", "constructor" },
			"then_.constructor_" },
		{ { "GET", "/x", "list", "list" }, "list.list" },
	};
	struct openapi_name same[] = {
		{ "GET", "/v1/a", "t", "op" },
		{ "GET", "/v2/a", "t", "op" },
		{ "GET", "/v3/a", "t", "op" },
		{ "POST", "/v3/a", "t", "op" },
		{ "GET", "/v4/a", "t", "op" },
		{ "GET", "/v4/b", "t", "op" },
		{ "GET", "/v5/c", "t", "alone" },
	};
	struct fixture *t = *state;
	struct openapi_name one;
	size_t i, j;

	for (i = 0; i < NELEM(cases); i++) {
		one = cases[i].op;
		openapi_name_give(t->a, &one, 1);
		if (strcmp(one.name, cases[i].want) != 0)
			fail_msg("case %zu: %s", i, one.name);
	}
	openapi_name_give(t->a, same, NELEM(same));
	assert_string_equal(same[0].name, "t.v1.op");
	assert_string_equal(same[1].name, "t.v2.op");
	assert_string_equal(same[2].name, "t.v3.opGet");
	assert_string_equal(same[3].name, "t.v3.opPost");
	assert_int_equal(strlen(same[4].name), strlen("t.v4.opGet") + 8);
	assert_string_equal(same[6].name, "t.alone");
	for (i = 0; i < NELEM(same); i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(same[i].name, same[j].name);
}

static void
test_operation(void **state)
{
	static const char text[] = PATHS(
		"\"/things/{id}\":{\"parameters\":["
		"{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
		"\"schema\":{\"type\":\"integer\"}},"
		"{\"name\":\"q\",\"in\":\"query\",\"description\":\"old\"}],"
		"\"put\":{\"tags\":[\"Things\"],\"operationId\":\"replace\","
		"\"summary\":\"Replace it\",\"description\":\"All of it.\","
		"\"parameters\":["
		"{\"name\":\"q\",\"in\":\"query\",\"description\":\"new\","
		"\"explode\":false,"
		"\"schema\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}"
		"}},"
		"{\"name\":\"id\",\"in\":\"query\",\"schema\":{}},"
		"{\"name\":\"body\",\"in\":\"query\",\"schema\":{}},"
		"{\"name\":\"Accept\",\"in\":\"header\"},"
		"{\"name\":\"X-H\",\"in\":\"header\",\"required\":true,"
		"\"schema\":{\"type\":\"string\"}}],"
		"\"requestBody\":{\"required\":true,\"content\":{"
		"\"text/plain\":{\"schema\":{\"type\":\"string\"}},"
		"\"application/json\":{\"schema\":{\"type\":\"object\"}}}},"
		"\"responses\":{\"200\":{\"content\":{\"application/json\":"
		"{\"schema\":{\"type\":\"array\",\"items\":{}}}}}}}}");
	struct fixture *t = *state;

	import(t, text);
	assert_string_equal(t->out.title, "A b!");
	assert_string_equal(t->out.name, "a_b");
	assert_int_equal(t->out.n_tools, 1);
	assert_int_equal(t->out.n_refused, 0);
	assert_string_equal(
		part(t, "things.replace", "title"), "\"Replace it\"");
	assert_string_equal(
		part(t, "things.replace", "description"), "\"All of it.\"");
	assert_string_equal(part(t, "things.replace", "input_schema"),
		"{\"type\":\"object\",\"properties\":{"
		"\"id\":{\"type\":\"integer\"},"
		"\"q\":{\"type\":\"array\",\"description\":\"new\","
		"\"items\":{\"type\":\"string\"}},"
		"\"query_id\":{},\"query_body\":{},"
		"\"X-H\":{\"type\":\"string\"},"
		"\"body\":{\"type\":\"object\"},"
		"\"contentType\":{\"enum\":[\"text/plain\","
		"\"application/json\"],\"description\":"
		"\"Media type of body, by default application/json\"}},"
		"\"required\":[\"id\",\"X-H\",\"body\"],"
		"\"additionalProperties\":false}");
	assert_string_equal(part(t, "things.replace", "output_schema"),
		"{\"type\":\"array\",\"items\":{}}");
	assert_string_equal(part(t, "things.replace", "definition"),
		"{\"method\":\"PUT\",\"path\":\"/things/{id}\",\"params\":["
		"{\"name\":\"id\",\"in\":\"path\",\"required\":true},"
		"{\"name\":\"q\",\"in\":\"query\",\"explode\":false},"
		"{\"name\":\"id\",\"in\":\"query\",\"arg\":\"query_id\"},"
		"{\"name\":\"body\",\"in\":\"query\",\"arg\":\"query_body\"},"
		"{\"name\":\"X-H\",\"in\":\"header\",\"required\":true}],"
		"\"body\":{\"content_type\":\"application/json\","
		"\"content_types\":[\"text/plain\",\"application/json\"],"
		"\"required\":true}}");
	assert_string_equal(part(t, "things.replace", "annotations"),
		"{\"readOnlyHint\":false,\"idempotentHint\":true,"
		"\"openWorldHint\":true}");
	assert_string_equal(
		part(t, "things.replace", "needs_approval"), "true");
	assert_string_equal(part(t, "things.replace", "approval_text"),
		"\"PUT /things/{id}\"");
}

static void
test_get_runs_freely(void **state)
{
	struct fixture *t = *state;

	import(t, PATHS("\"/a\":{\"get\":{\"deprecated\":true,"
			"\"responses\":{\"200\":{\"content\":{\"text/csv\":"
			"{\"schema\":{\"type\":\"string\"}}}}}},"
			"\"post\":{},\"x-other\":1,\"trace\":{}}"));
	assert_int_equal(t->out.n_tools, 2);
	assert_null(cj_get(tool(t, "a.get"), "needs_approval"));
	assert_null(cj_get(tool(t, "a.get"), "output_schema"));
	assert_string_equal(part(t, "a.get", "annotations"),
		"{\"readOnlyHint\":true,\"openWorldHint\":true}");
	assert_string_equal(
		part(t, "a.get", "description"), "\"Deprecated. GET /a\"");
	assert_string_equal(part(t, "a.get", "definition"),
		"{\"method\":\"GET\",\"path\":\"/a\",\"params\":[],"
		"\"accept\":\"text/csv\"}");
	assert_string_equal(part(t, "a.post", "needs_approval"), "true");
	assert_int_equal(t->out.n_refused, 1);
	assert_string_equal(t->out.refused[0].operation, "TRACE /a");
}

/* SCHEMA as the body of an operation, with COMPONENTS; its translation. */
static const char *
body_of(struct fixture *t, const char *version, const char *schema,
	const char *components)
{
	const struct cJSON *input;

	import(t, arena_printf(t->a,
			  "{\"openapi\":\"%s\",\"paths\":{\"/a\":{\"post\":{"
			  "\"requestBody\":{\"content\":{\"application/json\":"
			  "{\"schema\":%s}}}}}},\"components\":{\"schemas\":{%"
			  "s}}}",
			  version, schema, components));
	if (t->out.n_tools == 0)
		return t->out.refused[0].reason;
	input = cj_get(tool(t, "a.post"), "input_schema");
	if (cj_get(input, "$defs") != NULL)
		return arena_printf(t->a, "%s %s",
			cj_print(t->a,
				cj_get(cj_get(input, "properties"), "body")),
			cj_print(t->a, cj_get(input, "$defs")));
	return cj_print(t->a, cj_get(cj_get(input, "properties"), "body"));
}

static void
test_schemas(void **state)
{
	static const struct {
		const char *version, *schema, *components, *want;
	} cases[] = {
		{ "3.0.0", "{\"type\":\"string\",\"nullable\":true}", "",
			"{\"type\":[\"string\",\"null\"]}" },
		{ "3.0.0",
			"{\"type\":\"string\",\"nullable\":true,"
			"\"enum\":[\"a\"]}",
			"",
			"{\"type\":[\"string\",\"null\"],"
			"\"enum\":[\"a\",null]}" },
		{ "3.0.0",
			"{\"nullable\":true,\"description\":\"d\","
			"\"allOf\":[{\"$ref\":\"#/components/schemas/A\"}]}",
			"\"A\":{\"type\":\"string\"}",
			"{\"anyOf\":[{\"allOf\":[{\"type\":\"string\"}]},"
			"{\"type\":\"null\"}],\"description\":\"d\"}" },
		{ "3.1.0", "{\"type\":[\"string\",\"null\"],\"nullable\":true}",
			"", "{\"type\":[\"string\",\"null\"]}" },
		{ "3.0.0",
			"{\"type\":\"integer\",\"minimum\":1,"
			"\"exclusiveMinimum\":true,\"maximum\":9,"
			"\"exclusiveMaximum\":false}",
			"",
			"{\"type\":\"integer\",\"exclusiveMinimum\":1,"
			"\"maximum\":9}" },
		{ "3.1.0", "{\"exclusiveMinimum\":1,\"const\":5}", "",
			"{\"exclusiveMinimum\":1,\"const\":5}" },
		{ "3.0.0",
			"{\"type\":\"object\",\"required\":[\"a\",\"b\"],"
			"\"properties\":{\"a\":{\"readOnly\":true},"
			"\"b\":{\"writeOnly\":true},"
			"\"c\":{\"$ref\":\"#/components/schemas/R\"}}}",
			"\"R\":{\"readOnly\":true}",
			"{\"type\":\"object\",\"properties\":{\"b\":{}},"
			"\"required\":[\"b\"]}" },
		{ "3.0.0",
			"{\"type\":\"object\",\"example\":1,\"xml\":{},"
			"\"x-a\":1,\"discriminator\":{},"
			"\"additionalProperties\":false}",
			"",
			"{\"type\":\"object\",\"additionalProperties\":"
			"false}" },
		{ "3.0.0",
			"{\"type\":\"object\",\"additionalProperties\":"
			"{\"type\":\"file\"}}",
			"",
			"{\"type\":\"object\",\"additionalProperties\":{}}" },
		{ "3.0.0", "{\"$ref\":\"#/components/schemas/A~1b%20c\"}",
			"\"A/b c\":{\"type\":\"boolean\"}",
			"{\"type\":\"boolean\"}" },
		/* beside a reference: nothing in 3.0, all in 3.1 */
		{ "3.0.0",
			"{\"$ref\":\"#/components/schemas/A\","
			"\"minLength\":1,\"description\":\"d\"}",
			"\"A\":{\"type\":\"string\"}",
			"{\"type\":\"string\"}" },
		{ "3.1.0",
			"{\"$ref\":\"#/components/schemas/A\","
			"\"description\":\"d\"}",
			"\"A\":{\"type\":\"string\",\"description\":\"a\"}",
			"{\"type\":\"string\",\"description\":\"d\"}" },
		{ "3.1.0",
			"{\"$ref\":\"#/components/schemas/A\",\"minLength\":1}",
			"\"A\":{\"type\":\"string\"}",
			"{\"allOf\":[{\"type\":\"string\"},{\"minLength\":1}]"
			"}" },
		/* cycles */
		{ "3.0.0", "{\"$ref\":\"#/components/schemas/T\"}",
			"\"T\":{\"type\":\"object\",\"properties\":{\"kids\":"
			"{\"type\":\"array\",\"items\":"
			"{\"$ref\":\"#/components/schemas/T\"}}}}",
			"{\"type\":\"object\",\"properties\":{\"kids\":"
			"{\"type\":\"array\",\"items\":"
			"{\"$ref\":\"#/$defs/T\"}}}} "
			"{\"T\":{\"type\":\"object\",\"properties\":{\"kids\":"
			"{\"type\":\"array\",\"items\":"
			"{\"$ref\":\"#/$defs/T\"}}}}}" },
		{ "3.0.0", "{\"$ref\":\"#/components/schemas/A\"}",
			"\"A\":{\"items\":{\"$ref\":\"#/components/schemas/"
			"B\"}},"
			"\"B\":{\"not\":{\"$ref\":\"#/components/schemas/A\"}}",
			"{\"items\":{\"not\":{\"$ref\":\"#/$defs/A\"}}} "
			"{\"A\":{\"items\":{\"not\":{\"$ref\":\"#/$defs/"
			"A\"}}}}" },
		{ "3.1.0", "true", "", "{}" },
		{ "3.1.0", "false", "", "{\"not\":{}}" },
		{ "3.0.0", "{\"$ref\":\"#/components/schemas/None\"}", "",
			"a reference to nowhere: #/components/schemas/None" },
		{ "3.0.0", "{\"$ref\":\"other.yaml#/A\"}", "",
			"a reference to another document: other.yaml#/A" },
	};
	struct fixture *t = *state;
	const char *got;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		got = body_of(t, cases[i].version, cases[i].schema,
			cases[i].components);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("case %zu: %s", i, got);
	}
}

/* Each of N levels has two of the next: 2^N when all is replaced. */
static void
test_schemas_that_grow(void **state)
{
	struct fixture *t = *state;
	const struct cJSON *input;
	struct buf b;
	int i;

	buf_init(&b, t->a);
	for (i = 0; i < 40; i++)
		buf_printf(&b,
			"%s\"L%d\":{\"properties\":{"
			"\"a\":{\"$ref\":\"#/components/schemas/L%d\"},"
			"\"b\":{\"$ref\":\"#/components/schemas/L%d\"}}}",
			i > 0 ? "," : "", i, i + 1, i + 1);
	buf_puts(&b, ",\"L40\":{\"type\":\"string\"}");
	(void)body_of(
		t, "3.0.0", "{\"$ref\":\"#/components/schemas/L0\"}", b.data);
	input = cj_get(tool(t, "a.post"), "input_schema");
	assert_string_equal(
		cj_print(t->a, cj_get(cj_get(input, "properties"), "body")),
		"{\"$ref\":\"#/$defs/L0\"}");
	assert_non_null(cj_get(cj_get(input, "$defs"), "L40"));
	assert_in_range(t->out.tools_len, 1000, 20000);

	/* wide: the rest is left out, and that is told */
	buf_clear(&b);
	for (i = 0; i < 300; i++)
		buf_printf(&b,
			"\"W%d\":{\"description\":\"%0500d\","
			"\"items\":{\"$ref\":\"#/components/schemas/W%d\"}},",
			i, 0, i + 1);
	buf_puts(&b, "\"W300\":{\"type\":\"string\"}");
	(void)body_of(
		t, "3.0.0", "{\"$ref\":\"#/components/schemas/W0\"}", b.data);
	assert_int_equal(t->out.n_tools, 1);
	assert_in_range(t->out.tools_len, 60000, 90000);
	assert_string_equal(
		t->out.noted[0].reason, "its input schema is abridged");

	/* one that cannot be made shorter */
	buf_clear(&b);
	buf_puts(&b, "{\"type\":\"object\",\"properties\":{");
	for (i = 0; i < 2000; i++)
		buf_printf(&b, "%s\"p%d\":{\"title\":\"%0300d\"}",
			i > 0 ? "," : "", i, 0);
	buf_puts(&b, "}}");
	assert_string_equal(
		body_of(t, "3.0.0", b.data, ""), "the schema is too large");
	/* deep */
	buf_clear(&b);
	for (i = 0; i < 90; i++)
		buf_puts(&b, "{\"items\":");
	buf_puts(&b, "{}");
	for (i = 0; i < 90; i++)
		buf_putc(&b, '}');
	assert_string_equal(
		body_of(t, "3.0.0", b.data, ""), "the schema is too deep");
}

static void
test_forms(void **state)
{
	struct fixture *t = *state;
	const struct cJSON *props;

	import(t, PATHS("\"/up\":{\"post\":{\"requestBody\":{\"content\":{"
			"\"multipart/"
			"form-data\":{\"schema\":{\"type\":\"object\","
			"\"properties\":{\"f\":{\"type\":\"string\","
			"\"format\":\"binary\"},\"n\":{\"type\":\"string\"}}}}}"
			"}}},"
			"\"/form\":{\"post\":{\"requestBody\":{\"content\":{"
			"\"application/x-www-form-urlencoded\":{\"encoding\":"
			"{\"a\":{\"style\":\"deepObject\",\"explode\":true}},"
			"\"schema\":{\"type\":\"object\"}}}}}}"));
	props = cj_get(cj_get(cj_get(cj_get(tool(t, "up.post"), "input_schema"),
				      "properties"),
			       "body"),
		"properties");
	assert_string_equal(cj_print(t->a, cj_get(props, "f")),
		"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\","
		"\"properties\":{\"base64\":{\"type\":\"string\"},"
		"\"filename\":{\"type\":\"string\"},"
		"\"mimeType\":{\"type\":\"string\"}},"
		"\"required\":[\"base64\"]}],\"description\":\"A file\"}");
	assert_string_equal(
		cj_print(t->a, cj_get(props, "n")), "{\"type\":\"string\"}");
	assert_string_equal(cj_print(t->a, cj_get(cj_get(tool(t, "form.post"),
							  "definition"),
						   "body")),
		"{\"content_type\":\"application/x-www-form-urlencoded\","
		"\"deep\":true}");
}

static void
test_refusals(void **state)
{
	static const struct {
		const char *op, *reason;
	} cases[] = {
		{ "\"/a\":{\"get\":1}", "it is no object" },
		{ "\"a\":{\"get\":{}}", "it is no path" },
		{ "\"/a\":{\"$ref\":\"#/x\"}",
			"a reference to nowhere or to another document" },
		{ "\"/a\":{\"get\":{\"parameters\":[{\"name\":\"c\","
		  "\"in\":\"cookie\",\"required\":true}]}}",
			"it needs the cookie c" },
		{ "\"/a\":{\"get\":{\"parameters\":[{\"name\":\"Host\","
		  "\"in\":\"header\",\"required\":true}]}}",
			"it needs the header Host" },
		{ "\"/a\":{\"get\":{\"parameters\":[{\"name\":\"x\","
		  "\"in\":\"matrix\"}]}}",
			"a parameter in \"matrix\"" },
		{ "\"/a\":{\"get\":{\"parameters\":[{\"in\":\"query\"}]}}",
			"a parameter without name or place" },
		{ "\"/a\":{\"get\":{\"parameters\":[{\"$ref\":\"x.json\"}]}}",
			"a parameter that refers to nowhere or to another "
			"document" },
		{ "\"/a/{b\":{\"get\":{}}", "its path is no template" },
		{ "\"/a\":{\"post\":{\"requestBody\":{\"$ref\":\"#/y\"}}}",
			"its body refers to nowhere or to another document" },
		{ "\"/a\":{\"get\":{\"servers\":[{\"url\":"
		  "\"https://other.test\"}]}}",
			"it has a server of its own: https://other.test" },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		import(t, arena_printf(t->a, PATHS("%s"), cases[i].op));
		assert_int_equal(t->out.n_tools, 0);
		assert_int_equal(t->out.n_refused, 1);
		if (strcmp(t->out.refused[0].reason, cases[i].reason) != 0)
			fail_msg("case %zu: %s", i, t->out.refused[0].reason);
	}
	/* left out, and noted */
	import(t, PATHS("\"/a/{id}\":{\"get\":{\"parameters\":["
			"{\"name\":\"c\",\"in\":\"cookie\"},"
			"{\"name\":\"Cookie\",\"in\":\"header\"}],"
			"\"responses\":{\"200\":{\"content\":{"
			"\"application/json\":{\"schema\":"
			"{\"$ref\":\"#/nowhere\"}}}}}}}"));
	assert_int_equal(t->out.n_tools, 1);
	assert_int_equal(t->out.n_noted, 4);
	assert_string_equal(t->out.noted[0].operation, "GET /a/{id}");
	assert_string_equal(t->out.noted[0].reason, "without the cookie c");
	assert_string_equal(t->out.noted[3].reason,
		"without output schema: a reference to nowhere: #/nowhere");
}

static void
test_servers(void **state)
{
	static const struct {
		const char *servers, *url, *want;
	} cases[] = {
		{ "[{\"url\":\"https://a.test/v1\"},{\"url\":\"x\"}]", NULL,
			"https://a.test/v1" },
		{ "[{\"url\":\"https://{h}.test/{v}\",\"variables\":"
		  "{\"h\":{\"default\":\"eu\"},\"v\":{\"default\":\"2\"}}}]",
			NULL, "https://eu.test/2" },
		{ "[{\"url\":\"https://{h}.test\"}]", NULL, NULL },
		{ "[{\"url\":\"/v1\"}]", NULL, NULL },
		{ "[{\"url\":\"/v1\"}]", "https://a.test/x/spec.json",
			"https://a.test/v1" },
		{ "[{\"url\":\"../v1\"}]", "https://a.test/x/spec.json",
			"https://a.test/v1" },
		{ "[]", "https://a.test/x/spec.json", "https://a.test/" },
		{ "[{\"url\":\"ftp://a.test\"}]", "https://a.test/x", NULL },
		{ "[{\"url\":\"https://u:p@a.test\"}]", NULL, NULL },
	};
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		assert_int_equal(import_at(t,
					 arena_printf(t->a,
						 "{\"openapi\":\"3.1.0\","
						 "\"paths\":{},\"servers\":%s}",
						 cases[i].servers),
					 cases[i].url),
			0);
		if (cases[i].want == NULL
				? t->out.base_url != NULL
				: (t->out.base_url == NULL ||
					  strcmp(t->out.base_url,
						  cases[i].want) != 0))
			fail_msg("case %zu: %s", i, t->out.base_url);
	}
}

static void
test_security(void **state)
{
	static const char text[] =
		"{\"openapi\":\"3.0.0\",\"security\":[{\"token\":[]}],"
		"\"paths\":{\"/a\":{\"get\":{},\"put\":{\"security\":"
		"[{\"key\":[]},{\"token\":[]}]},"
		"\"post\":{\"security\":[]}}},"
		"\"components\":{\"securitySchemes\":{"
		"\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
		"\"basic\":{\"type\":\"http\",\"scheme\":\"Basic\"},"
		"\"key\":{\"type\":\"apiKey\",\"in\":\"query\",\"name\":\"k\"},"
		"\"cookie\":{\"type\":\"apiKey\",\"in\":\"cookie\","
		"\"name\":\"c\"},"
		"\"oauth\":{\"type\":\"oauth2\"},"
		"\"tls\":{\"type\":\"mutualTLS\"}}}}";
	struct fixture *t = *state;
	const struct openapi_security *s;

	import(t, text);
	s = t->out.security;
	assert_int_equal(t->out.n_security, 6);
	assert_string_equal(s[0].in, "header");
	assert_string_equal(s[0].field, "Authorization");
	assert_string_equal(s[0].prefix, "Bearer ");
	assert_int_equal(s[0].n_operations, 2);
	assert_string_equal(s[1].prefix, "Basic ");
	assert_string_equal(s[2].in, "query");
	assert_string_equal(s[2].field, "k");
	assert_int_equal(s[2].n_operations, 1);
	assert_null(s[3].in);
	assert_string_equal(s[4].prefix, "Bearer ");
	assert_null(s[5].in);
}

static void
test_documents(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "yaml" },
		{ "{", "json" },
		{ "[]", "not an OpenAPI document" },
		{ "{}", "not an OpenAPI document" },
		{ "{\"swagger\":\"2.0\"}", "Swagger 2.0" },
		{ "{\"openapi\":\"4.0.0\",\"paths\":{}}", "not known" },
		{ "{\"openapi\":\"3.0.0\"}", "no paths" },
		{ "openapi: 3.0.0\npaths: [", "yaml: line" },
		{ "just text", "not an OpenAPI document" },
	};
	static const char yaml[] =
		"openapi: \"3.0.0\"\n"
		"info: {title: Y, version: 1.0}\n"
		"paths:\n"
		"  /a:\n"
		"    get:\n"
		"      operationId: getA\n"
		"      responses:\n"
		"        200:\n"
		"          content:\n"
		"            application/json:\n"
		"              schema: {type: string, enum: [yes, no]}\n";
	struct fixture *t = *state;
	size_t i;

	for (i = 0; i < NELEM(bad); i++) {
		assert_int_equal(import_at(t, bad[i].text, NULL), -1);
		if (strstr(t->e.detail, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].text, t->e.detail);
	}
	import(t, yaml);
	assert_string_equal(part(t, "a.getA", "output_schema"),
		"{\"type\":\"string\",\"enum\":[\"yes\",\"no\"]}");
	import(t, "\xef\xbb\xbf{\"openapi\":\"3.0.0\",\"paths\":{}}");
	assert_int_equal(t->out.n_tools, 0);
	assert_string_equal(t->out.name, "api");
}

static void
test_read(void **state)
{
	struct fixture *t = *state;
	struct openapi_options o = { 0 };
	char *text;
	size_t len;

	assert_int_equal(openapi_read(NULL, t->a, "/nonexistent/x.json", &text,
				 &len, &o, &t->e),
		-1);
	assert_int_equal(t->e.kind, ERR_INVALID);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_operation),
		TEST(test_get_runs_freely),
		TEST(test_schemas),
		TEST(test_schemas_that_grow),
		TEST(test_forms),
		TEST(test_refusals),
		TEST(test_servers),
		TEST(test_security),
		TEST(test_documents),
		TEST(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
