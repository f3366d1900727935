/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/dbtask.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	IDLE_MAX = 8,	     /* connections kept */
	IDLE_MS_MAX = 60000, /* for how long */
	CONNECT_MS_MAX = 5000,
	/* How much longer than the server's own limit we wait for it. */
	ANSWER_MARGIN_MS = 1000,
};

struct idle {
	PGconn *pg;
	char *conninfo;
	int64_t since_ms;
};

struct dbtask_pool {
	struct idle idle[IDLE_MAX];
	size_t n;
};

enum state {
	CONNECTING,
	READING,
	DONE,
};

struct dbtask {
	struct dbtask_pool *pool;
	struct arena *arena;
	struct dbtask_request r;
	PGconn *pg;
	enum state state;
	PostgresPollingStatusType wants; /* CONNECTING */
	int64_t deadline_ms;
	bool is_clean; /* the server awaits the next statement */
	int n_results; /* how many of the two statements are answered */
	size_t cap_rows;
	size_t bytes;
	struct dbtask_result result;
};

/*
 * Settings that end with the transaction.  A statement that has begun cannot
 * leave READ ONLY again.  client_connection_check_interval (PostgreSQL 14):
 * a statement whose task was closed does not go on for long.
 */
#define SET_ROLE \
	" set_config('role', coalesce($1, current_setting('role')), true)"
/*
 * A role that may use the server's own schema could approve its own calls and
 * read what is not its own; there is none of the name that is set then.
 */
#define REFUSE_OWN_ROLES \
	", CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_namespace n" \
	" WHERE n.nspname = 'mcp' AND pg_catalog.has_schema_privilege(" \
	"coalesce($1, current_user)::name, n.oid, 'USAGE'))" \
	" OR EXISTS (SELECT FROM pg_catalog.pg_roles r" \
	" WHERE r.rolname = $1 AND r.rolsuper)" \
	" THEN set_config('role', coalesce($1, current_user)" \
	" || ', no superuser, without rights in schema mcp', true) END"
static const char SETTINGS[] =
	"SELECT set_config('statement_timeout', $2, true),"
	" set_config('transaction_read_only', $3, true)," SET_ROLE
	REFUSE_OWN_ROLES;
static const char SETTINGS_14[] =
	"SELECT set_config('statement_timeout', $2, true),"
	" set_config('client_connection_check_interval', '1000', true),"
	" set_config('transaction_read_only', $3, true)," SET_ROLE
	REFUSE_OWN_ROLES;

static const char *const END_NAMES[DBTASK_END__MAX] = {
	[DBTASK_OK] = "ok",
	[DBTASK_REFUSED] = "refused",
	[DBTASK_UNREACHABLE] = "unreachable",
	[DBTASK_TIMEOUT] = "timeout",
	[DBTASK_LOST] = "lost",
};

/*
 * Idle connections.
 */

struct dbtask_pool *
dbtask_pool_new(void)
{
	return mem_zalloc(1, sizeof(struct dbtask_pool));
}

static PGconn *
pool_take(struct dbtask_pool *pool, size_t i)
{
	PGconn *pg = pool->idle[i].pg;

	free(pool->idle[i].conninfo);
	pool->idle[i] = pool->idle[--pool->n];
	return pg;
}

void
dbtask_pool_free(struct dbtask_pool *pool)
{
	if (pool == NULL)
		return;
	while (pool->n > 0)
		PQfinish(pool_take(pool, 0));
	free(pool);
}

/* Whether the answer to DISCARD ALL has come, and nothing else. */
static bool
is_discarded(PGconn *pg)
{
	bool has_synced = false;
	PGresult *res;
	int nulls = 0;

	if (PQconsumeInput(pg) == 0)
		return false;
	while (!has_synced && nulls < 2 && !PQisBusy(pg)) {
		res = PQgetResult(pg);
		if (res == NULL) {
			nulls++;
			continue;
		}
		nulls = 0;
		has_synced = PQresultStatus(res) == PGRES_PIPELINE_SYNC;
		if (!has_synced && PQresultStatus(res) != PGRES_COMMAND_OK)
			nulls = 2;
		PQclear(res);
	}
	return has_synced && PQstatus(pg) == CONNECTION_OK;
}

static PGconn *
pool_find(struct dbtask_pool *pool, const char *conninfo)
{
	int64_t now = clock_mono_ms();
	size_t i = pool->n;
	PGconn *pg;

	while (i-- > 0) {
		if (now - pool->idle[i].since_ms > IDLE_MS_MAX) {
			PQfinish(pool_take(pool, i));
			continue;
		}
		if (strcmp(pool->idle[i].conninfo, conninfo) != 0)
			continue;
		pg = pool_take(pool, i);
		if (is_discarded(pg))
			return pg;
		PQfinish(pg);
	}
	return NULL;
}

static void
pool_give(struct dbtask_pool *pool, PGconn *pg, const char *conninfo)
{
	struct idle *idle;

	if (pool->n == IDLE_MAX)
		PQfinish(pool_take(pool, 0));
	if (PQsendQueryParams(pg, "DISCARD ALL", 0, NULL, NULL, NULL, NULL,
		    0) == 0 ||
		PQpipelineSync(pg) == 0 || PQflush(pg) != 0) {
		PQfinish(pg);
		return;
	}
	idle = &pool->idle[pool->n++];
	idle->pg = pg;
	idle->since_ms = clock_mono_ms();
	idle->conninfo = mem_strdup(conninfo);
}

/*
 * One task.
 */

static void
finish(struct dbtask *t, enum dbtask_end end)
{
	if (end != DBTASK_OK && end != DBTASK_REFUSED)
		log_event(LOG_LEVEL_WARN, "dbtask.failed", "why",
			t->pg == NULL ? "no memory" : PQerrorMessage(t->pg),
			"end", END_NAMES[end], NULL);
	t->state = DONE;
	t->result.end = end;
}

/* Everything is in the socket's buffer or libpq's: flushing goes on later. */
static void
send_all(struct dbtask *t)
{
	char timeout[24];
	const char *settings[3] = { t->r.role, timeout,
		t->r.is_read_only ? "on" : "off" };

	snprintf(timeout, sizeof(timeout), "%" PRId64, t->r.timeout_ms);
	t->deadline_ms = clock_mono_ms() + t->r.timeout_ms + ANSWER_MARGIN_MS;
	t->state = READING;
	if (PQsendQueryParams(t->pg,
		    PQserverVersion(t->pg) >= 140000 ? SETTINGS_14 : SETTINGS,
		    3, NULL, settings, NULL, NULL, 0) == 0 ||
		PQsendQueryParams(t->pg, t->r.sql, t->r.n_params, NULL,
			t->r.params, NULL, NULL, 0) == 0) {
		finish(t, DBTASK_UNREACHABLE);
		return;
	}
	if (PQpipelineSync(t->pg) == 0)
		finish(t, DBTASK_LOST);
}

static void
connected(struct dbtask *t)
{
	if (PQsetnonblocking(t->pg, 1) != 0 ||
		fcntl(PQsocket(t->pg), F_SETFD, FD_CLOEXEC) != 0 ||
		PQenterPipelineMode(t->pg) == 0) {
		finish(t, DBTASK_UNREACHABLE);
		return;
	}
	send_all(t);
}

static void
ignore_notice(void *arg UNUSED, const PGresult *res UNUSED)
{
}

static void
connect_start(struct dbtask *t)
{
	const char *keys[] = { "dbname", "application_name",
		"client_encoding", NULL };
	const char *values[] = { t->r.conninfo, "mcp-fcgi tool", "UTF8",
		NULL };

	t->state = CONNECTING;
	t->wants = PGRES_POLLING_WRITING;
	t->deadline_ms = clock_mono_ms() + CONNECT_MS_MAX;
	t->pg = PQconnectStartParams(keys, values, 1);
	if (t->pg == NULL || PQstatus(t->pg) == CONNECTION_BAD) {
		finish(t, DBTASK_UNREACHABLE);
		return;
	}
	(void)PQsetNoticeReceiver(t->pg, ignore_notice, NULL);
}

struct dbtask *
dbtask_start(struct dbtask_pool *pool, struct arena *a,
	const struct dbtask_request *r)
{
	struct dbtask *t = mem_zalloc(1, sizeof(*t));

	t->pool = pool;
	t->arena = a;
	t->r = *r;
	t->pg = pool_find(pool, r->conninfo);
	if (t->pg != NULL)
		send_all(t);
	else
		connect_start(t);
	return t;
}

static void
add_row(struct dbtask *t, const PGresult *res)
{
	struct dbtask_result *r = &t->result;
	size_t len = (size_t)PQgetlength(res, 0, 0), cap;
	const char **bigger;

	if (len > t->r.max_bytes - t->bytes) {
		/* Later ones are read and dropped: the statement must end, or
		 * what it changed would be undone. */
		t->bytes = t->r.max_bytes;
		r->is_cut = true;
		return;
	}
	t->bytes += len;
	if (r->n_rows == t->cap_rows) {
		cap = t->cap_rows * 2 + 16;
		bigger = arena_calloc(t->arena, cap, sizeof(*bigger));
		if (r->n_rows > 0)
			memcpy(bigger, r->row, r->n_rows * sizeof(*bigger));
		r->row = bigger;
		t->cap_rows = cap;
	}
	r->row[r->n_rows++] = PQgetisnull(res, 0, 0) ? NULL :
		arena_memdup(t->arena, PQgetvalue(res, 0, 0), len);
}

static const char *
field(struct dbtask *t, const PGresult *res, int code)
{
	const char *s = PQresultErrorField(res, code);

	return s != NULL ? arena_strdup(t->arena, s) : NULL;
}

static void
refused(struct dbtask *t, const PGresult *res)
{
	struct dbtask_result *r = &t->result;
	const char *by = PQresultErrorField(res, PG_DIAG_SOURCE_FUNCTION);

	r->end = DBTASK_REFUSED;
	r->is_setup = t->n_results == 0;
	r->sqlstate = field(t, res, PG_DIAG_SQLSTATE);
	r->message = field(t, res, PG_DIAG_MESSAGE_PRIMARY);
	r->hint = field(t, res, PG_DIAG_MESSAGE_HINT);
	r->is_raised = by != NULL && strcmp(by, "exec_stmt_raise") == 0;
}

/* Take RES; true when it is the last. */
static bool
take(struct dbtask *t, const PGresult *res)
{
	switch (PQresultStatus(res)) {
	case PGRES_SINGLE_TUPLE:
		if (t->n_results == 1 && PQnfields(res) > 0)
			add_row(t, res);
		return false;
	case PGRES_TUPLES_OK:
	case PGRES_COMMAND_OK:
	case PGRES_EMPTY_QUERY:
		return false;
	case PGRES_PIPELINE_ABORTED:
		return false;
	case PGRES_PIPELINE_SYNC:
		t->is_clean = true;
		/* The commit comes with it: an answer before it is none. */
		if (t->result.sqlstate != NULL)
			finish(t, DBTASK_REFUSED);
		else if (t->n_results == 2)
			finish(t, DBTASK_OK);
		else
			finish(t, DBTASK_LOST);
		return true;
	case PGRES_FATAL_ERROR:
		if (t->result.sqlstate == NULL)
			refused(t, res);
		/* Without a state it is libpq's own: the connection is gone. */
		if (t->result.sqlstate == NULL)
			finish(t, DBTASK_LOST);
		return t->state == DONE;
	default:
		finish(t, DBTASK_LOST); /* COPY */
		return true;
	}
}

static void
read_all(struct dbtask *t)
{
	int nulls = 0;
	PGresult *res;

	if (PQflush(t->pg) < 0 || PQconsumeInput(t->pg) == 0) {
		finish(t, t->result.sqlstate != NULL ? DBTASK_REFUSED :
						       DBTASK_LOST);
		return;
	}
	while (t->state == READING && !PQisBusy(t->pg)) {
		res = PQgetResult(t->pg);
		if (res == NULL) {
			/* Ends one statement's results; two are no progress. */
			if (++nulls > 1)
				break;
			t->n_results++;
			if (t->n_results == 1)
				(void)PQsetSingleRowMode(t->pg);
			continue;
		}
		nulls = 0;
		(void)take(t, res);
		PQclear(res);
	}
	if (t->state == READING && PQstatus(t->pg) == CONNECTION_BAD)
		finish(t, DBTASK_LOST);
}

const struct dbtask_result *
dbtask_step(struct dbtask *t)
{
	if (t->state == CONNECTING) {
		struct pollfd p = { PQsocket(t->pg),
			t->wants == PGRES_POLLING_READING ? POLLIN : POLLOUT,
			0 };

		if (poll(&p, 1, 0) > 0)
			t->wants = PQconnectPoll(t->pg);
		if (t->wants == PGRES_POLLING_OK)
			connected(t);
		else if (t->wants == PGRES_POLLING_FAILED ||
			clock_mono_ms() >= t->deadline_ms)
			finish(t, DBTASK_UNREACHABLE);
	}
	if (t->state == READING)
		read_all(t);
	if (t->state == READING && clock_mono_ms() >= t->deadline_ms)
		finish(t, DBTASK_TIMEOUT);
	return t->state == DONE ? &t->result : NULL;
}

int
dbtask_fd(const struct dbtask *t)
{
	return t->state == DONE ? -1 : PQsocket(t->pg);
}

short
dbtask_poll_events(const struct dbtask *t)
{
	if (t->state == CONNECTING)
		return t->wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
	return PQflush(t->pg) == 1 ? POLLIN | POLLOUT : POLLIN;
}

int
dbtask_timeout_ms(const struct dbtask *t)
{
	int64_t left = t->deadline_ms - clock_mono_ms();

	if (t->state == DONE || left < 0)
		return 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

void
dbtask_close(struct dbtask *t)
{
	if (t == NULL)
		return;
	if (t->is_clean && !t->r.is_pooled && t->result.end != DBTASK_LOST)
		pool_give(t->pool, t->pg, t->r.conninfo);
	else
		PQfinish(t->pg);
	free(t);
}

const struct dbtask_result *
dbtask_wait(struct dbtask *t)
{
	const struct dbtask_result *r;

	while ((r = dbtask_step(t)) == NULL) {
		struct pollfd p = { dbtask_fd(t), dbtask_poll_events(t), 0 };

		(void)poll(&p, 1, dbtask_timeout_ms(t));
	}
	return r;
}
