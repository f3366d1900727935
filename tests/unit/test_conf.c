/* SPDX-License-Identifier: ISC */
#include "base/compat.h"
#include "base/conf.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"

/* What mcp-fcgi needs at least; cases add to it. */
#define BASE "resource_url = https://mcp.example.com/mcp\n" \
	"database = host=/run/postgresql dbname=mcp\n"

static struct arena *arena;

static int
set_up(void **state UNUSED)
{
	arena = arena_new(1 << 20);
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	arena_free(arena);
	return 0;
}

static int
parse(const char *text, size_t len, struct conf **c, struct err *e)
{
	char *copy = malloc(len + (len == 0));
	int rc;

	memcpy(copy, text, len);
	err_clear(e);
	rc = conf_parse(arena, "f", copy, len, CONF_FOR_FCGI, c, e);
	free(copy);
	return rc;
}

static struct conf *
parsed(const char *text)
{
	struct conf *c;
	struct err e;

	if (parse(text, strlen(text), &c, &e) != 0)
		fail_msg("%s", e.detail);
	return c;
}

static const char *
joined(const struct conf_list *l)
{
	char *s = arena_strdup(arena, "");
	size_t i;

	for (i = 0; i < l->n; i++)
		s = arena_printf(arena, "%s%s%s", s, i > 0 ? "," : "",
			l->item[i]);
	return s;
}

static void
test_defaults(void **state UNUSED)
{
	struct conf *c = parsed(BASE);

	assert_string_equal(c->resource_host, "mcp.example.com");
	assert_string_equal(c->resource_path, "/mcp");
	assert_string_equal(c->prm_url, "https://mcp.example.com/.well-known/"
		"oauth-protected-resource/mcp");
	assert_string_equal(joined(&c->audience),
		"https://mcp.example.com/mcp,https://mcp.example.com/mcp/");
	assert_string_equal(joined(&c->allowed_hosts),
		"localhost,127.0.0.1,[::1],mcp.example.com");
	assert_string_equal(joined(&c->allowed_origins), "*");
	assert_int_equal(c->scopes_supported.n, 0);
	assert_string_equal(c->issuer, "");
	assert_string_equal(c->claim_account, "sub");
	assert_string_equal(c->claim_organization, "org_id");
	assert_int_equal(c->membership, CONF_MEMBERSHIP_SQL);
	assert_int_equal(c->database_pooler, CONF_POOLER_NONE);
	assert_string_equal(c->admin_database, c->database);
	assert_string_equal(c->reaper_database, c->database);
	assert_int_equal(c->session_idle_s, 300);
	assert_int_equal(c->max_body_bytes, 4 << 20);
	assert_int_equal(c->log_level, LOG_LEVEL_INFO);
	assert_int_equal(c->log_target, LOG_TARGET_STDERR);
	assert_non_null(strstr(c->sandbox, "/mcp-sandbox"));
}

static void
test_syntax(void **state UNUSED)
{
	struct conf *c = parsed("\xef\xbb\xbf# comment\n; comment\n\n"
		"  \nresource_url=https://h/mcp\r\n"
		"database : host=/run/x ; where\n"
		"\tdbname=mcp\n"
		"    ; a comment between\n"
		"  user=a;b\n"
		"leeway_s\t=\t5");

	assert_string_equal(c->database, "host=/run/x dbname=mcp user=a;b");
	assert_int_equal(c->leeway_s, 5);
}

static void
test_values(void **state UNUSED)
{
	struct conf *c = parsed(BASE
		"allowed_hosts = A.example, b.example:8443 ,[::1]:80\n"
		"allowed_origins = https://A.example, vscode-webview://x\n"
		"scopes_supported = a,b:c,\n"
		"  d\n"
		"audience = urn:x, https://mcp.example.com/mcp/\n"
		"issuer = https://issuer.example/\n"
		"jwks_url = http://127.0.0.1:99/jwks?x=1\n"
		"membership = http\n"
		"membership_url = https://m.example/o/{organization}/m?u="
		"{account}\n"
		"fetch_allow = 127.0.0.0/8, ::1/128, 10.0.0.0/8\n"
		"reaper_database = service=reaper\n"
		"database_pooler = transaction\n"
		"log_level = debug\nlog_target = syslog\n"
		"sandbox = /opt/x\n");

	assert_string_equal(joined(&c->allowed_hosts),
		"a.example,b.example:8443,[::1]:80,mcp.example.com");
	assert_string_equal(joined(&c->allowed_origins),
		"https://a.example,vscode-webview://x");
	assert_string_equal(joined(&c->scopes_supported), "a,b:c,d");
	assert_string_equal(joined(&c->audience), "urn:x,"
		"https://mcp.example.com/mcp/,https://mcp.example.com/mcp");
	assert_string_equal(joined(&c->fetch_allow),
		"127.0.0.0/8,::1/128,10.0.0.0/8");
	assert_int_equal(c->membership, CONF_MEMBERSHIP_HTTP);
	assert_int_equal(c->database_pooler, CONF_POOLER_TRANSACTION);
	assert_string_equal(c->reaper_database, "service=reaper");
	assert_int_equal(c->log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(c->log_target, LOG_TARGET_SYSLOG);
	assert_string_equal(c->sandbox, "/opt/x");
	/* An audience without the resource stays as it was asked for. */
	c = parsed(BASE "audience = urn:x\n");
	assert_string_equal(joined(&c->audience), "urn:x");
}

static void
test_resource(void **state UNUSED)
{
	static const struct {
		const char *url, *host, *path, *prm;
	} cases[] = {
		{ "https://h/mcp/", "h", "/mcp/",
			"https://h/.well-known/oauth-protected-resource/mcp/" },
		{ "https://H.Example:8443/a/b", "h.example:8443", "/a/b",
			"https://h.example:8443/.well-known/"
			"oauth-protected-resource/a/b" },
		{ "https://h", "h", "/",
			"https://h/.well-known/oauth-protected-resource" },
		{ "https://h/", "h", "/",
			"https://h/.well-known/oauth-protected-resource" },
		{ "http://127.0.0.1:8080/mcp", "127.0.0.1:8080", "/mcp",
			"http://127.0.0.1:8080/.well-known/"
			"oauth-protected-resource/mcp" },
		{ "http://localhost/mcp", "localhost", "/mcp",
			"http://localhost/.well-known/"
			"oauth-protected-resource/mcp" },
		{ "http://[::1]:1/mcp", "[::1]:1", "/mcp",
			"http://[::1]:1/.well-known/"
			"oauth-protected-resource/mcp" },
		{ "http://h.example/mcp", NULL, NULL, NULL },
		{ "http://128.0.0.1/mcp", NULL, NULL, NULL },
		{ "http://127.0.0.1.example/mcp", NULL, NULL, NULL },
		{ "http://localhost.example/mcp", NULL, NULL, NULL },
		{ "h/mcp", NULL, NULL, NULL },
		{ "/mcp", NULL, NULL, NULL },
		{ "ftp://h/mcp", NULL, NULL, NULL },
		{ "HTTPS://h/mcp", NULL, NULL, NULL },
		{ "https:///mcp", NULL, NULL, NULL },
		{ "https://:80/mcp", NULL, NULL, NULL },
		{ "https://h:0/mcp", NULL, NULL, NULL },
		{ "https://h:65536/mcp", NULL, NULL, NULL },
		{ "https://h:/mcp", NULL, NULL, NULL },
		{ "https://h:8a/mcp", NULL, NULL, NULL },
		{ "https://[::1/mcp", NULL, NULL, NULL },
		{ "https://[::zz]/mcp", NULL, NULL, NULL },
		{ "https://u@h/mcp", NULL, NULL, NULL },
		{ "https://u:p@h/mcp", NULL, NULL, NULL },
		{ "https://h/mcp#a", NULL, NULL, NULL },
		{ "https://h/mcp?a", NULL, NULL, NULL },
		{ "https://h/m cp", NULL, NULL, NULL },
		{ "https://h/m\"cp", NULL, NULL, NULL },
		{ "https://h/m\xc3\xa9", NULL, NULL, NULL },
		{ "https://h/a/../b", NULL, NULL, NULL },
		{ "https://h//mcp", NULL, NULL, NULL },
		{ "https://h/%6dcp", NULL, NULL, NULL },
		{ "https://h_ost,/mcp", NULL, NULL, NULL },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		char *text = arena_printf(arena,
			"database = service=x\nresource_url = %s\n",
			cases[i].url);
		struct conf *c;
		struct err e;
		int rc = parse(text, strlen(text), &c, &e);

		if (cases[i].host == NULL) {
			if (rc == 0 || strstr(e.detail, "f:2: resource_url: ")
				== NULL)
				fail_msg("%s: %s", cases[i].url, e.detail);
			continue;
		}
		if (rc != 0)
			fail_msg("%s: %s", cases[i].url, e.detail);
		assert_string_equal(c->resource_host, cases[i].host);
		assert_string_equal(c->resource_path, cases[i].path);
		assert_string_equal(c->prm_url, cases[i].prm);
	}
}

static void
test_refused(void **state UNUSED)
{
	static const struct {
		const char *text;
		const char *detail; /* part of the message */
	} cases[] = {
		/* syntax */
		{ "[mcp]\n" BASE, "f:1: sections are not used" },
		{ BASE "\n  [x]\n", "f:4: sections" },
		{ BASE "nonsense\n", "f:3: not \"key = value\"" },
		{ BASE "= 3\n", "f:3: unknown setting" },
		{ BASE "unknown = 1\n", "f:3: unknown setting: unknown" },
		{ BASE "Leeway_s = 1\n", "f:3: unknown setting" },
		{ BASE "leeway = 1\n", "f:3: unknown setting" },
		{ BASE "leeway_s = 1\n\nleeway_s = 1\n",
			"f:5: leeway_s is set twice (before: f:3)" },
		{ BASE "  leeway_s = 1\n",
			"f:3: a setting does not begin with white space" },
		{ BASE "issuer = https://a.example # x\n",
			"f:3: issuer: a comment" },
		{ BASE "issuer = \"https://a.example\"\n",
			"f:3: issuer: values are written without quotes" },
		{ BASE "audience = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			"f:3: longer than" },
		/* required */
		{ "", "resource_url is required: set it in f, or "
			"MCP_FCGI_RESOURCE_URL in the environment" },
		{ "database = service=x\n", "resource_url is required" },
		{ "resource_url = https://h/mcp\n", "database is required" },
		{ "resource_url =\ndatabase = service=x\n",
			"resource_url is required" },
		/* numbers */
		{ BASE "leeway_s =\n", "f:3: leeway_s: a number is needed" },
		{ BASE "leeway_s = -1\n", "not a whole number" },
		{ BASE "leeway_s = +1\n", "not a whole number" },
		{ BASE "leeway_s = 1s\n", "not a whole number" },
		{ BASE "leeway_s = 1.5\n", "not a whole number" },
		{ BASE "leeway_s = 0x1\n", "not a whole number" },
		{ BASE "leeway_s = 1 2\n", "not a whole number" },
		{ BASE "leeway_s = 601\n", "must be between 0 and 600" },
		{ BASE "json_depth = 3\n", "must be between 4 and 512" },
		{ BASE "leeway_s = 99999999999999999999\n",
			"number too large" },
		{ BASE "leeway_s = 5\n  6\n", "f:3: leeway_s: not a whole" },
		/* words */
		{ BASE "membership = SQL\n", "f:3: membership: not one of" },
		{ BASE "membership =\n", "not one of" },
		{ BASE "membership = sql http\n", "not one of" },
		{ BASE "log_level = notice\n", "not one of" },
		{ BASE "database_pooler = session\n", "not one of" },
		/* texts */
		{ BASE "claim_account =\n", "must not be empty" },
		{ BASE "sandbox = bin/x\n", "absolute path" },
		{ BASE "issuer = issuer.example\n", "absolute URL" },
		{ BASE "issuer = http://issuer.example\n", "must be https" },
		{ BASE "jwks_url = https://a.example/\n", "issuer is empty" },
		/* lists */
		{ BASE "audience = a,,b\n", "item of the list is empty" },
		{ BASE "audience = a,\n", "item of the list is empty" },
		{ BASE "audience = ,a\n", "item of the list is empty" },
		{ BASE "audience = a b\n", "white space" },
		{ BASE "scopes_supported = a\\b\n", "not a scope" },
		{ BASE "allowed_hosts = https://a\n", "not a host" },
		{ BASE "allowed_hosts = a/b\n", "not a host" },
		{ BASE "allowed_hosts = *\n", "not a host" },
		{ BASE "allowed_hosts = a:b\n", "not a host" },
		{ BASE "allowed_origins = a.example\n", "not an origin" },
		{ BASE "allowed_origins = https://a.example/\n", "not a host" },
		{ BASE "allowed_origins = null\n", "opaque" },
		{ BASE "allowed_origins = *, https://a.example\n",
			"stands alone" },
		{ BASE "allowed_origins = ://a\n", "not an origin" },
		{ BASE "fetch_allow = 127.0.0.1\n", "not a network" },
		{ BASE "fetch_allow = 127.0.0.1/33\n", "more bits" },
		{ BASE "fetch_allow = ::1/129\n", "more bits" },
		{ BASE "fetch_allow = 127.0.0.1/8\n", "bits are set" },
		{ BASE "fetch_allow = 127.0.0/8\n", "not a network" },
		{ BASE "fetch_allow = 127.0.0.0/\n", "not a network" },
		{ BASE "fetch_allow = localhost/8\n", "not a network" },
		{ BASE "fetch_allow = 10.0.0.0/8x\n", "not a network" },
		{ BASE "fetch_allow = /8\n", "not a network" },
		/* templates */
		{ BASE "membership = http\n", "needs membership_url" },
		{ BASE "membership_url = https://h/{organization}\n",
			"{account} is missing" },
		{ BASE "membership_url = https://h/{account}/{org}\n",
			"only {account}" },
		{ BASE "membership_url = https://h/{account}}\n",
			"only {account}" },
		{ BASE "membership_url = https://{account}/\n", "host" },
		{ BASE "membership_url = https://h.{account}/\n", "host" },
		/* passwords */
		{ BASE "admin_database = dbname=x password=y\n",
			"a password here is not allowed" },
		{ BASE "admin_database = password = 'y' dbname=x\n",
			"a password here is not allowed" },
		{ BASE "admin_database = dbname='a b' sslpassword=y\n",
			"a password here is not allowed" },
		{ BASE "admin_database = dbname=\\' password=y\n",
			"a password here is not allowed" },
		{ BASE "admin_database = postgresql://u:p@h/db\n",
			"a password here is not allowed" },
		{ BASE "admin_database = postgres://h/db?password=p\n",
			"a password here is not allowed" },
		{ BASE "admin_database = postgres://h/db?a=b&p%61ssword=p\n",
			"a password here is not allowed" },
		{ BASE "admin_database = dbname\n", "not a conninfo string" },
		{ BASE "admin_database = dbname='x\n", "does not end" },
		/* against each other */
		{ BASE "fetch_timeout_ms = 30000\n",
			"fetch_timeout_ms (30000) must be less than "
			"execute_wall_ms (30000)" },
		{ BASE "front_timeout_s = 30\n",
			"execute_wall_ms (30000) must be less than "
			"front_timeout_s (30" },
		{ BASE "stream_hold_s = 60\n", "stream_hold_s (60)" },
		{ BASE "jwks_ttl_s = 86401\n", "jwks_hard_ttl_s (86400)" },
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		struct conf *c;
		struct err e;
		int rc = parse(cases[i].text, strlen(cases[i].text), &c, &e);

		if (rc == 0 || e.kind != ERR_INVALID ||
			strstr(e.detail, cases[i].detail) == NULL)
			fail_msg("%s -> %d %s", cases[i].text, rc, e.detail);
	}
}

static void
test_passwordless(void **state UNUSED)
{
	static const char *const cases[] = {
		"service=mcp", "dbname=password", "dbname='a password=b'",
		"host=/x passfile=/etc/mcp.pgpass", "user=password dbname=x",
		"postgresql://u@h:5432/db", "postgresql:///mcp?host=/run",
		"postgresql://h/db?passfile=/x", "dbname = x",
		"dbname='it\\'s'",
	};
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		struct conf *c = parsed(arena_printf(arena,
			"resource_url = https://h/mcp\ndatabase = %s\n",
			cases[i]));

		assert_string_equal(c->database, cases[i]);
	}
}

static void
test_nul(void **state UNUSED)
{
	static const char text[] = BASE "issuer =\0x\n";
	struct conf *c;
	struct err e;

	assert_int_equal(parse(text, sizeof(text) - 1, &c, &e), -1);
	assert_string_equal(e.detail, "f:3: a NUL character");
}

static void
test_programs(void **state UNUSED)
{
	struct conf *c;
	struct err e;

	/* With -d nothing else is needed. */
	assert_int_equal(conf_parse(arena, "f", "", 0, CONF_FOR_REAPER, &c, &e),
		0);
	assert_string_equal(c->reaper_database, "");
	assert_string_equal(c->resource_url, "");
	assert_string_equal(c->prm_url, "");
	assert_int_equal(c->audience.n, 0);
	assert_int_equal(conf_parse(arena, "f", "", 0, CONF_FOR_ADMIN, &c, &e),
		0);
	assert_int_equal(conf_parse(arena, "f", "x = 1", 5, CONF_FOR_ADMIN, &c,
		&e), -1);
}

/* B-29: a host that keeps /.well-known/ to itself. */
static void
test_metadata_url(void **state UNUSED)
{
	struct conf *c = parsed(BASE
		"resource_metadata_url = https://mcp.example.com/mcp/"
		".well-known/oauth-protected-resource\n");

	assert_string_equal(c->prm_url, "https://mcp.example.com/mcp/"
		".well-known/oauth-protected-resource");
	assert_string_equal(c->resource_path, "/mcp");
}

static char *
write_file(const char *text, mode_t mode)
{
	char *path = arena_strdup(arena, "/tmp/test_conf.XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static void
test_load(void **state UNUSED)
{
	char *path = write_file(BASE "leeway_s = 7\n", 0600);
	struct conf *c;
	struct err e;

	assert_int_equal(conf_load(arena, path, CONF_FOR_FCGI, &c, &e), 0);
	assert_int_equal(c->leeway_s, 7);

	/* The environment wins, and names itself in messages. */
	setenv("MCP_FCGI_LEEWAY_S", "8", 1);
	assert_string_equal(conf_file(NULL),
		SYSCONFDIR "/mcp-fcgi/mcp-fcgi.conf");
	setenv("MCP_FCGI_CONF", path, 1);
	assert_string_equal(conf_file(NULL), path);
	assert_string_equal(conf_file("/x"), "/x");
	assert_int_equal(conf_load(arena, NULL, CONF_FOR_FCGI, &c, &e), 0);
	assert_int_equal(c->leeway_s, 8);
	setenv("MCP_FCGI_LEEWAY_S", "x", 1);
	assert_int_equal(conf_load(arena, NULL, CONF_FOR_FCGI, &c, &e), -1);
	assert_string_equal(e.detail,
		"MCP_FCGI_LEEWAY_S: leeway_s: not a whole number");
	unsetenv("MCP_FCGI_LEEWAY_S");
	setenv("MCP_FCGI_LEEWAY", "1", 1);
	assert_int_equal(conf_load(arena, NULL, CONF_FOR_FCGI, &c, &e), -1);
	assert_non_null(strstr(e.detail, "MCP_FCGI_LEEWAY: no such setting"));
	unsetenv("MCP_FCGI_LEEWAY");
	setenv("MCP_FCGI_leeway_s", "1", 1);
	assert_int_equal(conf_load(arena, NULL, CONF_FOR_FCGI, &c, &e), -1);
	unsetenv("MCP_FCGI_leeway_s");

	unlink(path);
	assert_int_equal(conf_load(arena, path, CONF_FOR_FCGI, &c, &e), -1);
	assert_non_null(strstr(e.detail, "No such file"));
	assert_int_equal(conf_load(arena, NULL, CONF_FOR_FCGI, &c, &e), -1);
	assert_non_null(strstr(e.detail, "No such file"));
	assert_int_equal(conf_load(arena, "/", CONF_FOR_FCGI, &c, &e), -1);
	unsetenv("MCP_FCGI_CONF");
}

static void
test_secret(void **state UNUSED)
{
	static const struct {
		const char *name, *text;
		mode_t mode;
		const char *want, *detail;
	} cases[] = {
		{ "line", "s3cret\n", 0600, "s3cret", NULL },
		{ "no line feed", "s3cret", 0640, "s3cret", NULL },
		{ "CRLF", "s3cret\r\n", 0400, "s3cret", NULL },
		{ "everyone", "s3cret\n", 0604, NULL, "everyone can read" },
		{ "empty", "", 0600, NULL, "one line" },
		{ "only a line feed", "\n", 0600, NULL, "one line" },
		{ "two lines", "a\nb\n", 0600, NULL, "one line" },
	};
	struct err e;
	size_t i;
	char *s;

	for (i = 0; i < NELEM(cases); i++) {
		char *path = write_file(cases[i].text, cases[i].mode);
		int rc = conf_secret(arena, path, &s, &e);

		unlink(path);
		if (rc != (cases[i].want != NULL ? 0 : -1))
			fail_msg("%s", cases[i].name);
		if (rc == 0) {
			assert_string_equal(s, cases[i].want);
			continue;
		}
		assert_non_null(strstr(e.detail, cases[i].detail));
		assert_null(strstr(e.detail, "s3cret"));
	}
	assert_int_equal(conf_secret(arena, "/nonexistent", &s, &e), -1);
	assert_int_equal(conf_secret(arena, "/dev/null", &s, &e), -1);
	assert_int_equal(conf_secret(arena, "/", &s, &e), -1);
}

/* Each default is itself a valid value of its row. */
static void
test_rows(void **state UNUSED)
{
	char line[256];
	size_t i, n = 0;

	for (i = 0; conf_row(i, line, sizeof(line)) != NULL; i++) {
		char *name = line, *def = strchr(name, '\t'), *text;
		struct conf *c;

		assert_non_null(def);
		*def++ = '\0';
		*strchr(def, '\t') = '\0';
		n++;
		if (strcmp(def, "required") == 0)
			continue;
		text = arena_printf(arena, BASE "%s = %s\n", name, def);
		c = parsed(text);
		assert_non_null(c);
	}
	assert_true(n > 40);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		TEST(test_defaults),
		TEST(test_syntax),
		TEST(test_values),
		TEST(test_resource),
		TEST(test_refused),
		TEST(test_passwordless),
		TEST(test_nul),
		TEST(test_programs),
		TEST(test_metadata_url),
		TEST(test_load),
		TEST(test_secret),
		TEST(test_rows),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
