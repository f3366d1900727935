/* SPDX-License-Identifier: ISC */
/*
 * sweep: one bounded run of the reaper, as short transactions over batches.
 * Any number may run at once, on any hosts; killed at any instant, a sweep
 * leaves whole batches done and nothing else.
 */
#ifndef STORE_SWEEP_H
#define STORE_SWEEP_H

struct arena;
struct db;
struct err;

struct sweep_options {
	int64_t batch;	     /* rows of one transaction */
	int64_t heartbeat_s; /* next alarm of a live session */
	int64_t retention_s; /* how long a run is kept once it is over */
	int64_t budget_ms;   /* stop beginning batches after that */
	const char *host;    /* for the row in mcp.sweep */
};

struct sweep {
	int64_t expired; /* sessions removed */
	int64_t renewed; /* sessions alive */
	int64_t purged;	 /* old tombstones, audit events, sweeps, runs */
	int64_t runs_failed;	/* their process was gone */
	int64_t runs_expired;	/* they waited too long */
	int64_t calls_declined; /* nobody decided in time */
	int64_t elapsed_ms;
	bool is_complete; /* false: out of budget with work left */
};

/*
 * Sweep and leave a row in mcp.sweep.  A is reset between batches.  Blocks up
 * to the budget plus one batch.  *OUT says what was done, on failure too.
 */
MUST_CHECK int sweep_run(struct db *db, struct arena *a,
	const struct sweep_options *o, struct sweep *out, struct err *e);

/* What sweep_run would do now. */
MUST_CHECK int sweep_preview(struct db *db, struct arena *a,
	const struct sweep_options *o, struct sweep *out, struct err *e);

#endif
