/* SPDX-License-Identifier: ISC */
/* mcp-admin: what an administrator does by hand.  See mcp-admin(8). */
#include "base/compat.h"

#include "admin/admin.h"
#include "admin/doctor.h"
#include "admin/login.h"
#include "admin/members.h"
#include "admin/migrate.h"
#include "admin/options.h"
#include "admin/orgs.h"
#include "admin/sessions.h"
#include "admin/tokens.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "store/db.h"
#include "store/migration.h"

#define ARENA_BYTES_MAX ((size_t)1 << 30)

/* What a verb needs before it runs. */
enum need { NEED_NOTHING, NEED_DATABASE, NEED_SCHEMA };

static const struct verb {
	const char *noun;
	const char *name; /* NULL: the noun alone */
	int args_min, args_max;
	unsigned allow;
	enum need need;
	admin_fn *fn;
	const char *usage;
} VERBS[] = {
	{ "migrate", NULL, 0, 0, ADMIN_OPT_DIR | ADMIN_OPT_CHECK, NEED_DATABASE,
		migrate_run, "[--dir DIR] [--check]" },
	{ "org", "add", 1, 2, 0, NEED_SCHEMA, orgs_add, "ID [NAME]" },
	{ "org", "list", 0, 0, ADMIN_OPT_JSON, NEED_SCHEMA, orgs_list, "" },
	{ "org", "remove", 1, 1, ADMIN_OPT_REVOKE, NEED_SCHEMA, orgs_remove,
		"ID [--revoke]" },
	{ "member", "add", 2, 2, 0, NEED_SCHEMA, members_add, "ORG ACCOUNT" },
	{ "member", "list", 0, 1, ADMIN_OPT_JSON, NEED_SCHEMA, members_list,
		"[ORG]" },
	{ "member", "remove", 2, 2, ADMIN_OPT_REVOKE, NEED_SCHEMA,
		members_remove, "ORG ACCOUNT [--revoke]" },
	{ "token", "issue", 2, 2, ADMIN_OPT_NAME | ADMIN_OPT_TTL, NEED_SCHEMA,
		tokens_issue, "ORG ACCOUNT [--name TEXT] [--ttl 30d|12h|60s]" },
	{ "token", "list", 0, 1, ADMIN_OPT_JSON | ADMIN_OPT_ALL, NEED_SCHEMA,
		tokens_list, "[ORG] [--all]" },
	{ "token", "revoke", 1, 1, 0, NEED_SCHEMA, tokens_revoke, "ID" },
	{ "session", "list", 0, 0,
		ADMIN_OPT_JSON | ADMIN_OPT_ALL | ADMIN_OPT_ORG |
			ADMIN_OPT_ACCOUNT | ADMIN_OPT_LIMIT,
		NEED_SCHEMA, sessions_list,
		"[--org ORG] [--account A] [--all] [--limit N]" },
	{ "session", "show", 1, 1, ADMIN_OPT_JSON, NEED_SCHEMA, sessions_show,
		"ID" },
	{ "session", "kill", 0, 1, ADMIN_OPT_ALL | ADMIN_OPT_ACCOUNT,
		NEED_SCHEMA, sessions_kill,
		"ID | --account ORG ACCOUNT | --all" },
	{ "login-role", NULL, 2, 2, 0, NEED_NOTHING, login_role,
		"NAME responder|reaper|admin|readonly|owner" },
	{ "doctor", NULL, 0, 0, ADMIN_OPT_EXTERNAL | ADMIN_OPT_WORKERS,
		NEED_NOTHING, doctor_run, "[--external] [--workers N]" },
};

static void
usage(FILE *f)
{
	size_t i;

	fputs("usage: mcp-admin [-c file] [-d conninfo] [--json] VERB ...\n",
		f);
	for (i = 0; i < NELEM(VERBS); i++)
		fprintf(f, "  %s%s%s%s%s\n", VERBS[i].noun,
			VERBS[i].name != NULL ? " " : "",
			VERBS[i].name != NULL ? VERBS[i].name : "",
			*VERBS[i].usage != '\0' ? " " : "", VERBS[i].usage);
	fputs("options:\n"
	      "  -c, --config FILE   settings (mcp-fcgi.conf)\n"
	      "  -d, --database DSN  instead of admin_database\n"
	      "      --json          listings as JSON\n"
	      "  -h, -V              this text, version\n"
	      "exit: 0 done, 1 failed, 2 usage, 3 not found\n",
		f);
}

/* NULL, after a message, when the command line names none. */
static const struct verb *
verb_find(struct admin *ad, char **argv, int n, int *skip)
{
	const struct verb *v;

	for (v = VERBS; n > 0 && v < VERBS + NELEM(VERBS); v++) {
		*skip = v->name != NULL ? 2 : 1;
		if (strcmp(argv[0], v->noun) != 0 || n < *skip ||
			(v->name != NULL && strcmp(argv[1], v->name) != 0))
			continue;
		ad->verb = v->name == NULL ? v->noun
					   : arena_printf(ad->arena, "%s %s",
						     v->noun, v->name);
		n -= *skip;
		if (n >= v->args_min && n <= v->args_max &&
			(ad->given & ~v->allow) == 0)
			return v;
		admin_note("usage: mcp-admin %s %s", ad->verb, v->usage);
		return NULL;
	}
	usage(stderr);
	return NULL;
}

static int
fail(const struct admin *ad, const struct err *e)
{
	const char *said = ad->db != NULL ? db_message(ad->db) : "";

	if (ad->status != 0)
		return ad->status;
	admin_note("%s", e->detail);
	if (*said != '\0' && strstr(e->detail, said) == NULL)
		admin_note("the database says: %s", said);
	if (ad->db != NULL && db_is_denied(ad->db))
		admin_note("admin_database, or -d, must name a role of the "
			   "group mcp_admin");
	return admin_status(e);
}

static int
verb_run(struct admin *ad, const struct verb *v, char **argv, int n)
{
	struct conf *conf;
	struct err e = { 0 };

	if (v->fn == doctor_run) /* loads it itself, to report on it */
		return doctor_run(ad, argv, n, &e) == 0 ? 0 : fail(ad, &e);
	if (conf_load(ad->arena, ad->file, CONF_FOR_ADMIN, &conf, &e) != 0) {
		e.kind = ERR_CONFLICT;
		return fail(ad, &e);
	}
	ad->conf = conf;
	if (v->need != NEED_NOTHING && *conf->admin_database == '\0') {
		err_set(&e, ERR_INVALID, NULL,
			"which database?  Give -d, or "
			"set admin_database or database in mcp-fcgi.conf");
		return fail(ad, &e);
	}
	/* A migration takes as long as it takes. */
	ad->db = admin_db(ad, conf->admin_database,
		v->need == NEED_SCHEMA ? ADMIN_TIMEOUT_MS : 0);
	if ((v->need == NEED_SCHEMA &&
		    migration_check(ad->db, ad->arena, &e) != 0) ||
		v->fn(ad, argv, n, &e) != 0)
		return fail(ad, &e);
	return ADMIN_OK;
}

int
main(int argc, char **argv)
{
	struct admin ad = { 0 };
	const struct verb *v;
	int status, skip;

	switch (options_parse(argc, argv, &ad)) {
	case OPTIONS_OK:
		break;
	case OPTIONS_HELP:
		usage(stdout);
		return ADMIN_OK;
	case OPTIONS_VERSION:
		puts("mcp-admin " PACKAGE_VERSION);
		return ADMIN_OK;
	case OPTIONS_BAD:
		usage(stderr);
		return ADMIN_USAGE;
	}
	log_open("mcp-admin", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	ad.arena = arena_new(ARENA_BYTES_MAX);
	status = ADMIN_USAGE;
	v = verb_find(&ad, argv + optind, argc - optind, &skip);
	if (v != NULL)
		status = verb_run(
			&ad, v, argv + optind + skip, argc - optind - skip);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == ADMIN_OK) {
		admin_note("standard output: %s", strerror(errno));
		status = ADMIN_FAILED;
	}
	db_free(ad.db);
	arena_free(ad.arena);
	return status;
}
