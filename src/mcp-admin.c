/* SPDX-License-Identifier: ISC */
/* mcp-admin: what an administrator does by hand.  See mcp-admin(8). */
#include "base/compat.h"

#include <signal.h>

#include "admin/admin.h"
#include "admin/doctor.h"
#include "admin/options.h"
#include "admin/verbs.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "store/db.h"
#include "store/migration.h"

/* An OpenAPI document takes some 40 times its size. */
#define ARENA_BYTES_MAX ((size_t)4 << 30)

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
	if (v->need != VERBS_NOTHING && *conf->admin_database == '\0') {
		err_set(&e, ERR_INVALID, NULL,
			"which database?  Give -d, or "
			"set admin_database or database in mcp-fcgi.conf");
		return fail(ad, &e);
	}
	/* A migration takes as long as it takes. */
	ad->db = admin_db(ad, conf->admin_database,
		v->need == VERBS_SCHEMA ? ADMIN_TIMEOUT_MS : 0);
	if ((v->need == VERBS_SCHEMA &&
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
		verbs_usage(stdout);
		return ADMIN_OK;
	case OPTIONS_VERSION:
		puts("mcp-admin " PACKAGE_VERSION);
		return ADMIN_OK;
	case OPTIONS_BAD:
		verbs_usage(stderr);
		return ADMIN_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	log_open("mcp-admin", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	ad.arena = arena_new(ARENA_BYTES_MAX);
	status = ADMIN_USAGE;
	v = verbs_find(&ad, argv + optind, argc - optind, &skip);
	if (v != NULL) {
		ad.verb = v->words;
		status = verb_run(
			&ad, v, argv + optind + skip, argc - optind - skip);
	}
	/* Of a write that failed earlier only the fact is kept. */
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == ADMIN_OK) {
		admin_note("standard output: %s",
			errno != 0 ? strerror(errno) : "not all was written");
		status = ADMIN_FAILED;
	}
	db_free(ad.db);
	arena_free(ad.arena);
	return status;
}
