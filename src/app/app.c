/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/app.h"

#include "app/pipeline.h"
#include "auth/bearer.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/seal.h"
#include "http/fcgi.h"
#include "mcp/listed.h"
#include "net/fetch.h"
#include "run/check.h"
#include "store/db.h"
#include "store/dbtask.h"
#include "store/migration.h"

/*
 * What one request may take: the body, its tree (a cJSON item is 64 bytes and
 * two bytes of text can make one), the answer, and room.
 */
#define ARENA_FACTOR 48
#define ARENA_BASE   ((size_t)64 << 20)

/* One question to the judge of arguments. */
#define CHECK_WALL_MS 2000

int
app_init(struct app *app, const struct conf *conf, struct err *e)
{
	struct fetch_options fetch = {
		.timeout_ms = conf->fetch_timeout_ms,
		.max_bytes = conf->fetch_max_bytes,
		.allow = &conf->fetch_allow,
	};
	struct db_options db = {
		.conninfo = conf->database,
		.application_name = "mcp-fcgi",
		.is_pooled = conf->database_pooler == CONF_POOLER_TRANSACTION,
		.statement_timeout_ms = conf->statement_timeout_ms,
		.lock_timeout_ms = conf->lock_timeout_ms,
		.connect_timeout_s = 5,
	};

	struct fetch_options tools = {
		.timeout_ms = conf->call_timeout_ms,
		.max_bytes = conf->call_result_max_bytes,
	};
	const struct check_limits check = {
		.program = conf->sandbox,
		.wall_ms = CHECK_WALL_MS,
		.heap_bytes = (uint64_t)conf->execute_heap_bytes,
	};

	memset(app, 0, sizeof(*app));
	app->conf = conf;
	app->arena = arena_new(
		ARENA_BASE + ARENA_FACTOR * (size_t)conf->max_body_bytes);
	if (fetch_new(&fetch, &app->fetch, e) != 0 ||
		fetch_new(&tools, &app->tool_fetch, e) != 0 ||
		(conf->keyring_dir[0] != '\0' &&
			seal_open(conf->keyring_dir, &app->keys, e) != 0)) {
		app_release(app);
		return -1;
	}
	app->pool = dbtask_pool_new();
	app->check = check_open(&check);
	app->listed = listed_cache_new();
	app->db = db_new(&db);
	app->bearer = bearer_new(conf, app->fetch);
	return 0;
}

void
app_release(struct app *app)
{
	bearer_free(app->bearer);
	db_free(app->db);
	fetch_free(app->fetch);
	fetch_free(app->tool_fetch);
	dbtask_pool_free(app->pool);
	check_close(app->check);
	seal_close(app->keys);
	listed_cache_free(app->listed);
	arena_free(app->arena);
	memset(app, 0, sizeof(*app));
}

int
app_check_schema(struct app *app, struct err *e)
{
	if (app->is_schema_checked)
		return 0;
	if (migration_check(app->db, app->arena, e) != 0)
		return -1;
	app->is_schema_checked = true;
	return 0;
}

int
app_serve(struct app *app, int fd, struct err *e)
{
	int64_t left = app->conf->requests_per_process;
	enum fcgi_got got;

	if (fcgi_open(fd, &app->fcgi, e) != 0)
		return -1;
	do {
		got = fcgi_accept(app->fcgi);
		if (got == FCGI_REQUEST)
			pipeline_run(app);
	} while (got == FCGI_REQUEST && --left > 0);
	fcgi_close(app->fcgi);
	app->fcgi = NULL;
	if (got == FCGI_BROKEN)
		return err_set(e, ERR_INTERNAL, NULL,
			"the listening socket is broken");
	return 0;
}
