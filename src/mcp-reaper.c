/* SPDX-License-Identifier: ISC */
/* mcp-reaper: one bounded sweep, from cron or a timer (mcp-reaper(8)). */
#include "base/compat.h"

#include <getopt.h>

#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "store/db.h"
#include "store/sweep.h"

#define EXIT_TRY_LATER 75 /* EX_TEMPFAIL of sysexits.h */

struct options {
	const char *conf;
	const char *dsn;
	int64_t budget_s;
	int64_t batch;
	bool is_dry_run;
	bool is_json;
};

static void
usage(FILE *f)
{
	fputs("usage: mcp-reaper [-nV] [-c file] [-d conninfo] [--json]\n"
	      "                  [--budget seconds] [--batch rows]\n"
	      "  -c, --config FILE   settings (mcp-fcgi.conf)\n"
	      "  -d, --database DSN  instead of reaper_database\n"
	      "  -n, --dry-run       say what would be done, change nothing\n"
	      "      --json          the summary as one JSON object\n"
	      "      --budget S      stop after S seconds (50)\n"
	      "      --batch N       rows of one transaction (2000)\n"
	      "exit: 0 done, 75 database away or out of budget, 1 fault\n",
		f);
}

/* 0, or -1 when S is not a number of MIN to MAX. */
static int
number_parse(const char *s, int64_t min, int64_t max, int64_t *out)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || v < min || v > max)
		return -1;
	*out = v;
	return 0;
}

/* -1 to go on, else the exit status. */
static int
options_parse(int argc, char **argv, struct options *o)
{
	enum { OPT_JSON = 256, OPT_BUDGET, OPT_BATCH };
	static const struct option LONG[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "database", required_argument, NULL, 'd' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "budget", required_argument, NULL, OPT_BUDGET },
		{ "batch", required_argument, NULL, OPT_BATCH },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:d:nhV", LONG, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->conf = optarg;
			break;
		case 'd':
			o->dsn = optarg;
			break;
		case 'n':
			o->is_dry_run = true;
			break;
		case OPT_JSON:
			o->is_json = true;
			break;
		case OPT_BUDGET:
			if (number_parse(optarg, 1, 86400, &o->budget_s) != 0)
				goto bad;
			break;
		case OPT_BATCH:
			if (number_parse(optarg, 1, 100000, &o->batch) != 0)
				goto bad;
			break;
		case 'h':
			usage(stdout);
			return EXIT_SUCCESS;
		case 'V':
			puts("mcp-reaper " PACKAGE_VERSION);
			return EXIT_SUCCESS;
		default:
			goto bad;
		}
	}
	if (optind == argc)
		return -1;
bad:
	usage(stderr);
	return EXIT_FAILURE;
}

/* Whether a sweep that failed has come to do something. */
static bool
has_begun(const struct sweep *s)
{
	return s->expired + s->renewed + s->purged + s->runs_failed +
		       s->runs_expired + s->calls_declined >
	       0;
}

/* The exit status of a sweep that failed. */
static int
failure(const struct db *db, const struct err *e)
{
	switch (e->kind) {
	case ERR_UNAVAILABLE:
		return db_is_refused(db) ? EXIT_FAILURE : EXIT_TRY_LATER;
	case ERR_TIMEOUT:
	case ERR_CONFLICT:
		return EXIT_TRY_LATER;
	default:
		return EXIT_FAILURE;
	}
}

static void
summary_print(const struct options *o, const struct sweep *s)
{
	const char *complete = s->is_complete ? "true" : "false";
	const char *dry_run = o->is_dry_run ? "true" : "false";

	if (o->is_json)
		printf("{\"expired\":%" PRId64 ",\"renewed\":%" PRId64
		       ",\"purged\":%" PRId64 ",\"runs_failed\":%" PRId64
		       ",\"runs_expired\":%" PRId64
		       ",\"calls_declined\":%" PRId64
		       ",\"elapsed_ms\":%" PRId64
		       ",\"complete\":%s,\"dry_run\":%s}\n",
			s->expired, s->renewed, s->purged, s->runs_failed,
			s->runs_expired, s->calls_declined, s->elapsed_ms,
			complete, dry_run);
	else
		printf("expired=%" PRId64 " renewed=%" PRId64 " purged=%" PRId64
		       " runs_failed=%" PRId64 " runs_expired=%" PRId64
		       " calls_declined=%" PRId64 " elapsed_ms=%" PRId64
		       " complete=%s dry_run=%s\n",
			s->expired, s->renewed, s->purged, s->runs_failed,
			s->runs_expired, s->calls_declined, s->elapsed_ms,
			complete, dry_run);
}

static int
sweep_once(struct db *db, const struct conf *conf, const struct options *o,
	struct sweep *out, struct err *e)
{
	/* Apart from the settings' arena: sweep_run resets this one. */
	struct arena *a = arena_new(1 << 20);
	char host[256] = "";
	struct sweep_options so = { .batch = o->batch,
		.heartbeat_s = conf->heartbeat_s,
		.retention_s = conf->execution_retention_s,
		.budget_ms = o->budget_s * 1000,
		.host = host };
	int rc;

	gethostname(host, sizeof(host) - 1);
	rc = o->is_dry_run ? sweep_preview(db, a, &so, out, e)
			   : sweep_run(db, a, &so, out, e);
	arena_free(a);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options o = { .budget_s = 50, .batch = 2000 };
	struct arena *a;
	struct conf *conf;
	struct sweep s = { 0 };
	struct err e = { 0 };
	struct db *db;
	int rc, status;

	if ((rc = options_parse(argc, argv, &o)) != -1)
		return rc;
	log_open("mcp-reaper", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	a = arena_new(1 << 20);
	/* The database is a required setting, but -d alone is enough. */
	if (o.dsn != NULL) {
		setenv("MCP_FCGI_DATABASE", o.dsn, 1);
		setenv("MCP_FCGI_REAPER_DATABASE", o.dsn, 1);
	}
	if (conf_load(a, o.conf, CONF_FOR_REAPER, &conf, &e) != 0) {
		log_event(LOG_LEVEL_ERR, "start.failed", "kind",
			err_kind_name(e.kind), "detail", e.detail, NULL);
		arena_free(a);
		return EXIT_FAILURE;
	}
	log_open("mcp-reaper", conf->log_target, conf->log_level);
	db = db_new(&(const struct db_options){
		.conninfo = conf->reaper_database,
		.application_name = "mcp-reaper",
		.is_pooled = conf->database_pooler == CONF_POOLER_TRANSACTION,
		.statement_timeout_ms = 30000,
		.lock_timeout_ms = conf->lock_timeout_ms,
		.connect_timeout_s = 5 });
	rc = sweep_once(db, conf, &o, &s, &e);
	if (rc != 0)
		log_err(LOG_LEVEL_ERR, "sweep.failed", &e);
	if (rc == 0 || has_begun(&s))
		summary_print(&o, &s);
	if (fflush(stdout) != 0 && rc == 0)
		rc = err_set(&e, ERR_INTERNAL, NULL, "standard output");
	if (rc != 0)
		status = failure(db, &e);
	else
		status = s.is_complete ? EXIT_SUCCESS : EXIT_TRY_LATER;
	db_free(db);
	arena_free(a);
	return status;
}
