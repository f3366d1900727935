/* SPDX-License-Identifier: ISC */
/*
 * dbtask: one statement of somebody else's making, run beside others, on a
 * connection that the program's own statements never use.  The second libpq
 * user: db waits for its answers, and its connection holds what belongs to
 * the responder.
 *
 * The statement and its settings are one implicit transaction and one round
 * trip.  Whatever it leaves in its session is discarded before another task
 * gets the connection.  All waiting is the caller's poll loop.
 */
#ifndef STORE_DBTASK_H
#define STORE_DBTASK_H

struct arena;
struct dbtask;
struct dbtask_pool;
struct err;

struct dbtask_request {
	const char *conninfo;
	bool is_pooled;	     /* PgBouncer transaction mode */
	const char *role;    /* as SET LOCAL ROLE; NULL: the login's own */
	bool is_read_only;
	int64_t timeout_ms;  /* the server's statement_timeout; > 0 */
	const char *sql;     /* one statement; its first column is taken */
	const char *const *params; /* text form */
	int n_params;
	size_t max_bytes;    /* of all rows; what is over it is dropped */
};

enum dbtask_end {
	DBTASK_OK,
	DBTASK_REFUSED,	    /* the server says no; nothing has been changed */
	DBTASK_UNREACHABLE, /* not sent */
	DBTASK_TIMEOUT,	    /* no answer in time; what it did is not known */
	DBTASK_LOST,	    /* nor here */
	DBTASK_END__MAX
};

struct dbtask_result {
	enum dbtask_end end;
	const char **row; /* NULL: SQL NULL */
	size_t n_rows;
	bool is_cut; /* max_bytes */
	/* DBTASK_REFUSED; for programs only as far as tool_sql lets them */
	const char *sqlstate;
	const char *message;
	const char *hint; /* may be NULL */
	bool is_raised;	  /* by RAISE in a PL/pgSQL function */
	bool is_setup;	  /* the role or a setting, not the statement */
};

struct dbtask_pool *dbtask_pool_new(void);
void dbtask_pool_free(struct dbtask_pool *pool);

/*
 * Begin R, whose strings must last as long as *TASK.  Does not block, but for
 * the look-up of a host name.  Never fails: see the result.  Rows live in A.
 */
struct dbtask *dbtask_start(struct dbtask_pool *pool, struct arena *a,
	const struct dbtask_request *r);

/* Go on as far as that goes; the result once it is there, else NULL. */
const struct dbtask_result *dbtask_step(struct dbtask *task);

/* What to poll for until the next step; fd -1: step at once. */
int dbtask_fd(const struct dbtask *task);
short dbtask_poll_events(const struct dbtask *task);
/* Milliseconds until the next step at the latest. */
int dbtask_timeout_ms(const struct dbtask *task);

/*
 * Give the connection back, or close it when the statement is under way: the
 * server ends that at its timeout, or when it notices.
 */
void dbtask_close(struct dbtask *task);

/* Step until there is a result; for mcp-admin. */
const struct dbtask_result *dbtask_wait(struct dbtask *task);

#endif
