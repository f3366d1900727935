/* SPDX-License-Identifier: ISC */
/*
 * app: what a responder process holds between requests: settings and
 * handles, and nothing that a correct answer needs.
 */
#ifndef APP_APP_H
#define APP_APP_H

struct arena;
struct bearer;
struct check;
struct conf;
struct db;
struct dbtask_pool;
struct err;
struct fcgi;
struct fetch;
struct listed_cache;
struct seal;

struct app {
	const struct conf *conf;
	struct arena *arena; /* the request's, reset after each */
	struct db *db;
	struct fetch *fetch;
	struct bearer *bearer;
	struct fcgi *fcgi;
	/* for calls of tools */
	struct fetch *tool_fetch; /* without fetch_allow: rows say what is */
	struct dbtask_pool *pool;
	struct check *check;
	struct seal *keys; /* NULL: keyring_dir is not set */
	struct listed_cache *listed;
	bool is_schema_checked;
};

/*
 * Make the handles.  CONF outlives APP.  Nothing is connected yet, so a
 * responder starts while the database is down.
 */
MUST_CHECK int app_init(struct app *app, const struct conf *conf,
	struct err *e);
void app_release(struct app *app);

/*
 * Refuse a schema that this program was not built for.  One round trip at
 * the first call, none after success: a migration while responders run is
 * followed by their restart.  Fails with ERR_CONFLICT (another version) or
 * ERR_UNAVAILABLE (cannot tell); either way the next call looks again.
 */
MUST_CHECK int app_check_schema(struct app *app, struct err *e);

/*
 * Serve FD (see fcgi_open) until told to stop or requests_per_process is
 * reached.
 */
MUST_CHECK int app_serve(struct app *app, int fd, struct err *e);

#endif
