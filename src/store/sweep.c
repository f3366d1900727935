/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/sweep.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/db.h"

DB_STMT(SESSIONS, "sweep_sessions_1",
	"SELECT due, expired, renewed, last_alarm_at "
	"FROM mcp.reap_sessions($1, $2, $3)",
	3, 4);

DB_STMT(EXECUTIONS, "sweep_executions_1",
	"SELECT due, declined, failed, expired, purged "
	"FROM mcp.reap_executions($1, $2)",
	2, 5);

DB_STMT(RECORDS, "sweep_records_1", "SELECT mcp.reap_records($1)", 1, 1);

DB_STMT(PREVIEW, "sweep_preview_2",
	"SELECT expired, renewed, purged, runs_failed, runs_expired, "
	"calls_declined FROM mcp.reap_preview($1)",
	1, 6);

DB_STMT(SAVE, "sweep_save_2",
	"SELECT mcp.sweep_save($1, $2, $3, $4, $5, $6, $7, $8, $9)", 9, 1);

/* What outlives a batch and its arena. */
struct progress {
	char after[64]; /* alarm at which the last batch ended */
	bool is_last;	/* nothing is left behind it */
};

/*
 * A deadlock or serialization failure undid its batch and nothing else, so
 * the batch is simply run again.
 */
static int
run_batch(struct db *db, struct arena *a, const struct db_stmt *s,
	const char *const *params, struct db_res *r, struct err *e)
{
	if (db_run(db, a, s, params, r, e) == 0)
		return 0;
	if (!db_is_retryable(db))
		return -1;
	err_clear(e);
	return db_run(db, a, s, params, r, e);
}

static int
sweep_sessions(struct db *db, struct arena *a, const struct sweep_options *o,
	struct sweep *out, struct progress *p, struct err *e)
{
	const char *params[3], *last;
	struct db_res r;

	params[0] = db_number(a, o->batch);
	params[1] = db_number(a, o->heartbeat_s);
	params[2] = p->after;
	if (run_batch(db, a, &SESSIONS, params, &r, e) != 0)
		return err_wrap(e, "sessions");
	out->expired += db_int(&r, 0, 1);
	out->renewed += db_int(&r, 0, 2);
	p->is_last = db_int(&r, 0, 0) < o->batch;
	last = db_text(&r, 0, 3);
	if (last != NULL)
		(void)snprintf(p->after, sizeof(p->after), "%s", last);
	return 0;
}

/* One batch of runs, and one of those to be removed. */
static int
sweep_executions(struct db *db, struct arena *a,
	const struct sweep_options *o, struct sweep *out, struct progress *p,
	struct err *e)
{
	const char *params[2];
	struct db_res r;

	params[0] = db_number(a, o->batch);
	params[1] = db_number(a, o->retention_s);
	if (run_batch(db, a, &EXECUTIONS, params, &r, e) != 0)
		return err_wrap(e, "executions");
	out->calls_declined += db_int(&r, 0, 1);
	out->runs_failed += db_int(&r, 0, 2);
	out->runs_expired += db_int(&r, 0, 3);
	out->purged += db_int(&r, 0, 4);
	p->is_last = db_int(&r, 0, 0) < o->batch && db_int(&r, 0, 4) < o->batch;
	return 0;
}

static int
sweep_records(struct db *db, struct arena *a, const struct sweep_options *o,
	struct sweep *out, struct progress *p, struct err *e)
{
	const char *params[1];
	struct db_res r;

	params[0] = db_number(a, o->batch);
	if (run_batch(db, a, &RECORDS, params, &r, e) != 0)
		return err_wrap(e, "records");
	out->purged += db_int(&r, 0, 0);
	p->is_last = db_int(&r, 0, 0) == 0;
	return 0;
}

static int
sweep_save(struct db *db, struct arena *a, const struct sweep_options *o,
	const struct sweep *s, struct err *e)
{
	const char *params[9];
	struct db_res r;

	params[0] = db_number(a, s->elapsed_ms);
	params[1] = o->host;
	params[2] = db_number(a, s->expired);
	params[3] = db_number(a, s->renewed);
	params[4] = db_number(a, s->purged);
	params[5] = db_flag(s->is_complete);
	params[6] = db_number(a, s->runs_failed);
	params[7] = db_number(a, s->runs_expired);
	params[8] = db_number(a, s->calls_declined);
	if (db_run(db, a, &SAVE, params, &r, e) != 0)
		return err_wrap(e, "sweep row");
	return 0;
}

int
sweep_run(struct db *db, struct arena *a, const struct sweep_options *o,
	struct sweep *out, struct err *e)
{
	static int (*const STEPS[])(struct db *, struct arena *,
		const struct sweep_options *, struct sweep *, struct progress *,
		struct err *) = { sweep_sessions,
		sweep_executions, sweep_records };
	int64_t start_ms = clock_mono_ms();
	size_t step = 0;
	struct progress p = { .after = "-infinity" };

	*out = (struct sweep){ 0 };
	while (step < NELEM(STEPS)) {
		out->elapsed_ms = clock_mono_ms() - start_ms;
		if (out->elapsed_ms >= o->budget_ms)
			break;
		if (STEPS[step](db, a, o, out, &p, e) != 0)
			return -1;
		arena_reset(a);
		if (p.is_last)
			step++;
	}
	out->elapsed_ms = clock_mono_ms() - start_ms;
	out->is_complete = step == NELEM(STEPS);
	return sweep_save(db, a, o, out, e);
}

int
sweep_preview(struct db *db, struct arena *a, const struct sweep_options *o,
	struct sweep *out, struct err *e)
{
	const char *params[1];
	struct db_res r;

	*out = (struct sweep){ .is_complete = true };
	params[0] = db_number(a, o->retention_s);
	if (db_run(db, a, &PREVIEW, params, &r, e) != 0)
		return err_wrap(e, "preview");
	out->expired = db_int(&r, 0, 0);
	out->renewed = db_int(&r, 0, 1);
	out->purged = db_int(&r, 0, 2);
	out->runs_failed = db_int(&r, 0, 3);
	out->runs_expired = db_int(&r, 0, 4);
	out->calls_declined = db_int(&r, 0, 5);
	return 0;
}
