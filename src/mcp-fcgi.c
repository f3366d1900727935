/* SPDX-License-Identifier: ISC */
/* mcp-fcgi: the responder (mcp-fcgi(8)). */
#include "base/compat.h"

#include <getopt.h>

#include "app/app.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "http/fcgi.h"
#include "http/worker.h"

#define CONF_BYTES_MAX ((size_t)16 << 20)
#define WORKERS_MAX    1024

struct options {
	const char *file;
	const char *listen;
	int workers;
	int mode;
	bool is_test;
};

static const char USAGE[] =
	"usage: mcp-fcgi [-c file] [-t]\n"
	"       mcp-fcgi [-c file] --listen unix:/path|address:port\n"
	"                [--workers n] [--mode octal]\n"
	"       mcp-fcgi -V | -h\n"
	"\n"
	"Without --listen: serve the FastCGI socket on standard input (as\n"
	"mod_fcgid and lighttpd start it), or one CGI request.\n"
	"  -c file    configuration (default: $MCP_FCGI_CONF, else\n"
	"             " SYSCONFDIR "/mcp-fcgi/mcp-fcgi.conf)\n"
	"  -t         check configuration, database and schema, then exit\n"
	"  -V, -h     version, this text\n";

static bool
parse_number(const char *s, int base, long min, long max, int *out)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, base);
	if (errno != 0 || end == s || *end != '\0' || n < min || n > max)
		return false;
	*out = (int)n;
	return true;
}

/* -1: go on; else the exit status. */
static int
parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_LISTEN = 256, OPT_WORKERS, OPT_MODE };
	static const struct option LONG[] = {
		{ "listen", required_argument, NULL, OPT_LISTEN },
		{ "workers", required_argument, NULL, OPT_WORKERS },
		{ "mode", required_argument, NULL, OPT_MODE },
		{ "config", required_argument, NULL, 'c' },
		{ "test", no_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "c:tVh", LONG, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->file = optarg;
			break;
		case 't':
			o->is_test = true;
			break;
		case OPT_LISTEN:
			o->listen = optarg;
			break;
		case OPT_WORKERS:
			ok = ok && parse_number(optarg, 10, 1, WORKERS_MAX,
					   &o->workers);
			break;
		case OPT_MODE:
			ok = ok && parse_number(optarg, 8, 0, 0777, &o->mode);
			break;
		case 'V':
			printf("mcp-fcgi %s\n", PACKAGE_VERSION);
			return 0;
		case 'h':
			fputs(USAGE, stdout);
			return 0;
		default:
			ok = false;
		}
	}
	if (ok && optind == argc)
		return -1;
	fputs(USAGE, stderr);
	return 2;
}

static int
fail(bool is_test, const struct err *e)
{
	if (is_test) { /* somebody waits for the answer */
		fprintf(stderr, "mcp-fcgi: %s\n", e->detail);
		return 1;
	}
	log_event(LOG_LEVEL_ERR, "start.failed", "kind",
		err_kind_name(e->kind), "detail", e->detail, NULL);
	/* To both: a web server shows stderr in its own error log. */
	if (!log_is_stderr())
		fprintf(stderr, "mcp-fcgi: %s\n", e->detail);
	return 1;
}

static int
check(struct app *app)
{
	struct err e;

	err_clear(&e);
	if (app_check_schema(app, &e) != 0)
		return fail(true, &e);
	puts("mcp-fcgi: configuration and database are fine");
	return 0;
}

/* The parent of --listen; its responders run without --listen. */
static int
run_workers(const struct options *o, char *program)
{
	char option[] = "-c";
	char *argv[] = { program, o->file != NULL ? option : NULL,
		(char *)(uintptr_t)o->file, NULL };
	struct worker_options w = {
		.listen = o->listen,
		.mode = o->mode,
		.workers = o->workers,
		.argv = argv,
	};
	struct err e;

	err_clear(&e);
	return worker_run(&w, &e) == 0 ? 0 : fail(false, &e);
}

static int
serve(struct app *app)
{
	bool is_cgi = getenv("GATEWAY_INTERFACE") != NULL;
	int fd = fcgi_is_socket(STDIN_FILENO) ? STDIN_FILENO : -1;
	struct err e;

	if (fd < 0 && !is_cgi) {
		fputs(USAGE, stderr);
		return 2;
	}
	err_clear(&e);
	return app_serve(app, fd, &e) == 0 ? 0 : fail(false, &e);
}

static int
run(const struct options *o, struct arena *a, char *program)
{
	struct conf *conf;
	struct app app;
	struct err e;
	int status;

	err_clear(&e);
	if (conf_load(a, o->file, CONF_FOR_FCGI, &conf, &e) != 0)
		return fail(o->is_test, &e);
	log_open("mcp-fcgi", conf->log_target, conf->log_level);
	if (o->listen != NULL && !o->is_test)
		return run_workers(o, program);
	if (app_init(&app, conf, &e) != 0)
		return fail(o->is_test, &e);
	status = o->is_test ? check(&app) : serve(&app);
	app_release(&app);
	return status;
}

/*
 * Whether a web server may have made arguments of the client's query string:
 * it does for CGI programs when there is no "=" in it (RFC 3875 4.4).
 */
static bool
has_foreign_arguments(void)
{
	const char *query = getenv("QUERY_STRING");

	return getenv("GATEWAY_INTERFACE") != NULL && query != NULL &&
		*query != '\0' && strchr(query, '=') == NULL;
}

int
main(int argc, char **argv)
{
	struct options o = { .workers = 4, .mode = 0660 };
	struct arena *a;
	int status;

	if (has_foreign_arguments())
		argc = 1;
	status = parse_options(argc, argv, &o);
	if (status >= 0)
		return status;
	log_open("mcp-fcgi", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	a = arena_new(CONF_BYTES_MAX);
	status = run(&o, a, argv[0]);
	arena_free(a);
	return status;
}
