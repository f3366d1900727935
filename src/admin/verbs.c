/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/verbs.h"

#include "admin/doctor.h"
#include "admin/executions.h"
#include "admin/keyring.h"
#include "admin/login.h"
#include "admin/members.h"
#include "admin/migrate.h"
#include "admin/orgs.h"
#include "admin/policies.h"
#include "admin/secrets.h"
#include "admin/sessions.h"
#include "admin/sources.h"
#include "admin/tokens.h"
#include "admin/tools.h"

/* Of sources that are reached by HTTP. */
#define OUTBOUND_OPTIONS                                                       \
	(ADMIN_OPT_TITLE | ADMIN_OPT_HEADER | ADMIN_OPT_QUERY |                \
		ADMIN_OPT_ALLOW | ADMIN_OPT_TIMEOUT | ADMIN_OPT_JSON)
#define OUTBOUND_USAGE                                                         \
	"[--title TEXT] [--header 'NAME: VALUE'] "                             \
	"[--query NAME=VALUE] [--allow CIDR] [--timeout-ms N]"

static const struct verb VERBS[] = {
	{ "migrate", 0, 0, ADMIN_OPT_DIR | ADMIN_OPT_CHECK, VERBS_DATABASE,
		migrate_run, "[--dir DIR] [--check]" },
	{ "login-role", 2, 2, 0, VERBS_NOTHING, login_role,
		"NAME responder|reaper|admin|readonly|owner" },
	{ "org add", 1, 2, 0, VERBS_SCHEMA, orgs_add, "ID [NAME]" },
	{ "org list", 0, 0, ADMIN_OPT_JSON, VERBS_SCHEMA, orgs_list, "" },
	{ "org remove", 1, 1, ADMIN_OPT_REVOKE, VERBS_SCHEMA, orgs_remove,
		"ID [--revoke]" },
	{ "member add", 2, 2, 0, VERBS_SCHEMA, members_add, "ORG ACCOUNT" },
	{ "member list", 0, 1, ADMIN_OPT_JSON, VERBS_SCHEMA, members_list,
		"[ORG]" },
	{ "member remove", 2, 2, ADMIN_OPT_REVOKE, VERBS_SCHEMA, members_remove,
		"ORG ACCOUNT [--revoke]" },
	{ "token issue", 2, 2, ADMIN_OPT_NAME | ADMIN_OPT_TTL, VERBS_SCHEMA,
		tokens_issue, "ORG ACCOUNT [--name TEXT] [--ttl 30d|12h|60s]" },
	{ "token list", 0, 1, ADMIN_OPT_JSON | ADMIN_OPT_ALL, VERBS_SCHEMA,
		tokens_list, "[ORG] [--all]" },
	{ "token revoke", 1, 1, 0, VERBS_SCHEMA, tokens_revoke, "ID" },
	{ "session list", 0, 0,
		ADMIN_OPT_JSON | ADMIN_OPT_ALL | ADMIN_OPT_ORG |
			ADMIN_OPT_ACCOUNT | ADMIN_OPT_LIMIT,
		VERBS_SCHEMA, sessions_list,
		"[--org ORG] [--account A] [--all] [--limit N]" },
	{ "session show", 1, 1, ADMIN_OPT_JSON, VERBS_SCHEMA, sessions_show,
		"ID" },
	{ "session kill", 0, 1, ADMIN_OPT_ALL | ADMIN_OPT_ACCOUNT, VERBS_SCHEMA,
		sessions_kill, "ID | --account ORG ACCOUNT | --all" },
	{ "source add script", 2, 2, ADMIN_OPT_TITLE, VERBS_SCHEMA,
		sources_add_script, "ORG NAME [--title TEXT]" },
	{ "source add sql", 2, 2,
		ADMIN_OPT_TITLE | ADMIN_OPT_SERVICE | ADMIN_OPT_ROLE |
			ADMIN_OPT_SCHEMA | ADMIN_OPT_FUNCTION |
			ADMIN_OPT_TIMEOUT | ADMIN_OPT_ROWS | ADMIN_OPT_JSON,
		VERBS_SCHEMA, sources_add_sql,
		"ORG NAME --schema S|--function S.F ... [--role R] "
		"[--service NAME] [--title TEXT] [--timeout-ms N] "
		"[--max-rows N]" },
	{ "source add openapi", 3, 3, OUTBOUND_OPTIONS | ADMIN_OPT_BASE_URL,
		VERBS_SCHEMA, sources_add_openapi,
		"ORG NAME FILE|URL [--base-url URL] " OUTBOUND_USAGE },
	{ "source add mcp", 3, 3, OUTBOUND_OPTIONS, VERBS_SCHEMA,
		sources_add_mcp, "ORG NAME URL " OUTBOUND_USAGE },
	{ "source list", 0, 1, ADMIN_OPT_JSON, VERBS_SCHEMA, sources_list,
		"[ORG]" },
	{ "source show", 2, 2, ADMIN_OPT_JSON, VERBS_SCHEMA, sources_show,
		"ORG NAME" },
	{ "source refresh", 2, 3, ADMIN_OPT_JSON, VERBS_SCHEMA, sources_refresh,
		"ORG NAME [FILE|URL]" },
	{ "source remove", 2, 2, 0, VERBS_SCHEMA, sources_remove, "ORG NAME" },
	{ "source enable", 2, 2, 0, VERBS_SCHEMA, sources_enable, "ORG NAME" },
	{ "source disable", 2, 2, 0, VERBS_SCHEMA, sources_disable,
		"ORG NAME" },
	{ "tool add", 3, 3,
		ADMIN_OPT_TITLE | ADMIN_OPT_DESCRIPTION | ADMIN_OPT_INPUT |
			ADMIN_OPT_OUTPUT | ADMIN_OPT_LISTED |
			ADMIN_OPT_READ_ONLY | ADMIN_OPT_DESTRUCTIVE,
		VERBS_SCHEMA, tools_add,
		"ORG SOURCE.NAME FILE|- [--description TEXT] [--title TEXT] "
		"[--input-schema FILE] [--output-schema FILE] [--listed] "
		"[--read-only|--destructive]" },
	{ "tool list", 1, 1, ADMIN_OPT_JSON | ADMIN_OPT_SOURCE, VERBS_SCHEMA,
		tools_list, "ORG [--source NAME]" },
	{ "tool show", 2, 2, ADMIN_OPT_JSON, VERBS_SCHEMA, tools_show,
		"ORG PATH" },
	{ "tool remove", 2, 2, 0, VERBS_SCHEMA, tools_remove, "ORG PATH" },
	{ "tool enable", 2, 2, 0, VERBS_SCHEMA, tools_enable, "ORG PATH" },
	{ "tool disable", 2, 2, 0, VERBS_SCHEMA, tools_disable, "ORG PATH" },
	{ "tool list-in", 2, 2, 0, VERBS_SCHEMA, tools_list_in, "ORG PATH" },
	{ "tool unlist", 2, 2, 0, VERBS_SCHEMA, tools_unlist, "ORG PATH" },
	{ "tool approval", 3, 3, 0, VERBS_SCHEMA, tools_approval,
		"ORG PATH on|off|default" },
	{ "policy add", 3, 3,
		ADMIN_OPT_BEFORE | ADMIN_OPT_POSITION | ADMIN_OPT_NOTE,
		VERBS_SCHEMA, policies_add,
		"ORG PATTERN approve|require_approval|block "
		"[--before ID|--position N] [--note TEXT]" },
	{ "policy list", 0, 1, ADMIN_OPT_JSON, VERBS_SCHEMA, policies_list,
		"[ORG]" },
	{ "policy remove", 2, 2, 0, VERBS_SCHEMA, policies_remove, "ORG ID" },
	{ "policy test", 2, 2, ADMIN_OPT_JSON, VERBS_SCHEMA, policies_test,
		"ORG PATH" },
	{ "secret set", 2, 2, 0, VERBS_SCHEMA, secrets_set, "ORG NAME" },
	{ "secret list", 0, 1, ADMIN_OPT_JSON, VERBS_SCHEMA, secrets_list,
		"[ORG]" },
	{ "secret remove", 2, 2, 0, VERBS_SCHEMA, secrets_remove, "ORG NAME" },
	{ "secret rotate", 0, 1, 0, VERBS_SCHEMA, secrets_rotate, "[ORG]" },
	{ "keyring init", 1, 1, 0, VERBS_NOTHING, keyring_init, "DIR" },
	{ "keyring add", 1, 1, 0, VERBS_NOTHING, keyring_add, "DIR" },
	{ "execution list", 0, 0,
		ADMIN_OPT_JSON | ADMIN_OPT_ORG | ADMIN_OPT_STATUS |
			ADMIN_OPT_LIMIT,
		VERBS_SCHEMA, executions_list,
		"[--org ORG] [--status STATUS] [--limit N]" },
	{ "execution show", 1, 1, ADMIN_OPT_JSON, VERBS_SCHEMA, executions_show,
		"ID" },
	{ "execution approve", 1, 1, ADMIN_OPT_SEQ | ADMIN_OPT_NOTE,
		VERBS_SCHEMA, executions_approve,
		"ID [--seq N] [--note TEXT]" },
	{ "execution decline", 1, 1, ADMIN_OPT_SEQ | ADMIN_OPT_NOTE,
		VERBS_SCHEMA, executions_decline,
		"ID [--seq N] [--note TEXT]" },
	{ "execution cancel", 1, 1, ADMIN_OPT_NOTE, VERBS_SCHEMA,
		executions_cancel, "ID [--note TEXT]" },
	{ "doctor", 0, 0, ADMIN_OPT_EXTERNAL | ADMIN_OPT_WORKERS, VERBS_NOTHING,
		doctor_run, "[--external] [--workers N]" },
};

static void
line(FILE *f, const char *before, const struct verb *v)
{
	fprintf(f, "%s%s%s%s\n", before, v->words, *v->usage != '\0' ? " " : "",
		v->usage);
}

void
verbs_usage(FILE *f)
{
	size_t i;

	fputs("usage: mcp-admin [-c file] [-d conninfo] [--json] VERB ...\n",
		f);
	for (i = 0; i < NELEM(VERBS); i++)
		line(f, "  ", &VERBS[i]);
	fputs("options:\n"
	      "  -c, --config FILE   settings (mcp-fcgi.conf)\n"
	      "  -d, --database DSN  instead of admin_database\n"
	      "      --json          listings as JSON\n"
	      "  -h, -V              this text, version\n"
	      "exit: 0 done, 1 failed, 2 usage, 3 not found\n",
		f);
}

/* How many words of ARGV are V's, 0 when it is another. */
static int
match(const struct verb *v, char **argv, int n)
{
	const char *p = v->words;
	size_t len;
	int i;

	for (i = 0; *p != '\0'; i++) {
		len = strcspn(p, " ");
		if (i == n || strlen(argv[i]) != len ||
			memcmp(argv[i], p, len) != 0)
			return 0;
		p += len + (p[len] == ' ');
	}
	return i;
}

static bool
is_noun(const struct verb *v, const char *word)
{
	size_t len = strcspn(v->words, " ");

	return strlen(word) == len && memcmp(v->words, word, len) == 0;
}

/* The verbs of the noun that was meant, or all. */
static void
usage_of(const char *word)
{
	bool is_known = false;
	size_t i;

	for (i = 0; word != NULL && i < NELEM(VERBS); i++)
		if (is_noun(&VERBS[i], word)) {
			line(stderr,
				is_known ? "       mcp-admin "
					 : "usage: mcp-admin ",
				&VERBS[i]);
			is_known = true;
		}
	if (!is_known)
		verbs_usage(stderr);
}

const struct verb *
verbs_find(const struct admin *ad, char **argv, int n, int *skip)
{
	const struct verb *v;

	for (v = VERBS; v < VERBS + NELEM(VERBS); v++) {
		if ((*skip = match(v, argv, n)) == 0)
			continue;
		n -= *skip;
		if (n >= v->args_min && n <= v->args_max &&
			(ad->given & ~v->allow) == 0)
			return v;
		admin_note("usage: mcp-admin %s %s", v->words, v->usage);
		return NULL;
	}
	usage_of(n > 0 ? argv[0] : NULL);
	return NULL;
}
