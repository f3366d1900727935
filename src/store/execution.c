/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/execution.h"

#include "base/err.h"
#include "base/hex.h"
#include "base/rnd.h"
#include "store/bytea.h"
#include "store/db.h"

DB_STMT(OPEN, "execution_open_1",
	"SELECT mcp.execution_open($1, $2, $3, $4, $5, $6, $7, $8)", 8, 1);

DB_STMT(RELEASE, "execution_release_1", "SELECT mcp.execution_release($1, $2)",
	2, 1);
DB_STMT(RENEW, "execution_renew_1", "SELECT mcp.execution_renew($1, $2, $3)",
	3, 1);

DB_STMT(SUSPEND, "execution_suspend_1",
	"SELECT mcp.execution_suspend($1, $2, $3, $4, $5)", 5, 1);

DB_STMT(SETTLE, "execution_settle_1",
	"SELECT mcp.execution_settle($1, $2, $3, $4, $5, $6, $7)", 7, 1);

DB_STMT(STATE, "execution_state_1",
	"SELECT outcome, status, generation, wall_used_ms, run_outcome, result,"
	" error, deadline, is_claimable"
	" FROM mcp.execution_state($1, $2, $3, $4)",
	4, 9);

DB_STMT(RESUME, "execution_resume_1",
	"SELECT outcome, status, generation, wall_used_ms, run_outcome, result,"
	" error, engine, heap_generation, heap"
	" FROM mcp.execution_resume($1, $2, $3, $4, $5, $6, $7, $8, $9)",
	9, 10);

DB_STMT(APPROVE, "execution_approve_1",
	"SELECT mcp.approve($1, $2::integer, $3)", 3, 1);

DB_STMT(DECLINE, "execution_decline_1",
	"SELECT mcp.decline($1, $2::integer, $3)", 3, 1);

DB_STMT(CANCEL, "execution_cancel_1", "SELECT mcp.cancel_execution($1, $2)", 2,
	1);

/* As in store/listing: mcp_readonly lists too, and may not call mcp.iso. */
#define ISO(column)                        \
	"to_char(" column " AT TIME ZONE " \
	"'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

DB_STMT(LIST, "execution_list_2",
	"SELECT e.execution_id, e.organization_id, e.account_id, e.status,"
	" e.outcome, " ISO("e.created_at") ", " ISO("e.ended_at")
	", e.calls, e.heap_bytes FROM mcp.execution_recent e"
	" WHERE ($1::text IS NULL OR e.organization_id = $1)"
	" AND ($2::text IS NULL OR e.status = $2)"
	" ORDER BY e.created_at DESC, e.execution_id LIMIT $3::bigint",
	3, EXECUTION_LIST_COLUMNS);

DB_STMT(SHOW, "execution_show_1",
	"SELECT e.execution_id, e.organization_id, e.account_id, e.issuer,"
	" e.session_hint, e.status, e.outcome, e.error, e.engine,"
	" e.generation, encode(e.code_sha256, 'hex'), mcp.iso(e.created_at),"
	" mcp.iso(e.waiting_since), mcp.iso(e.deadline_at),"
	" mcp.iso(e.ended_at), e.wall_used_ms, e.result"
	" FROM mcp.execution e WHERE e.execution_id = $1",
	1, EXECUTION_SHOW_COLUMNS);

static const char *const OUTCOMES[EXECUTION_OUTCOME__MAX] = {
	[EXECUTION_OK] = "ok",
	[EXECUTION_AGAIN] = "again",
	[EXECUTION_LATE] = "late",
	[EXECUTION_REFUSED] = "refused",
	[EXECUTION_CANCELLED] = "cancelled",
	[EXECUTION_LOST] = "lost",
	[EXECUTION_CLAIMED] = "claimed",
	[EXECUTION_RUNNING] = "running",
	[EXECUTION_WAITING] = "waiting",
	[EXECUTION_SETTLED] = "settled",
	[EXECUTION_EXPIRED] = "expired",
	[EXECUTION_SEQ_REQUIRED] = "seq_required",
	[EXECUTION_NO_CALL] = "no_call",
	[EXECUTION_OTHER_ENGINE] = "other_engine",
	[EXECUTION_NOT_FOUND] = "not_found",
	[EXECUTION_FORBIDDEN] = "forbidden",
};

const char *
execution_outcome_name(enum execution_outcome o)
{
	return OUTCOMES[o];
}

int
execution_outcome_parse(
	const char *name, enum execution_outcome *out, struct err *e)
{
	size_t i;

	for (i = 0; name != NULL && i < NELEM(OUTCOMES); i++) {
		if (strcmp(OUTCOMES[i], name) == 0) {
			*out = (enum execution_outcome)i;
			return 0;
		}
	}
	return err_set(e, ERR_INTERNAL, NULL, "unknown execution outcome");
}

/* Where the hyphens of a uuid are. */
static bool
is_hyphen(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

bool
execution_id_is_valid(const char *s)
{
	size_t i;

	for (i = 0; i < EXECUTION_ID_LEN; i++) {
		if (is_hyphen(i) ? s[i] != '-' :
				   !((s[i] >= '0' && s[i] <= '9') ||
					   (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	}
	return s[i] == '\0';
}

void
execution_id_make(char out[EXECUTION_ID_LEN + 1])
{
	unsigned char r[16];
	char digits[33];
	size_t i, k = 0;

	rnd_bytes(r, sizeof(r));
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	hex_encode(digits, r, sizeof(r));
	for (i = 0; i < EXECUTION_ID_LEN; i++)
		out[i] = is_hyphen(i) ? '-' : digits[k++];
	out[i] = '\0';
}

/* Run S, whose one column is an outcome. */
static int
run_outcome(struct db *db, struct arena *a, const struct db_stmt *s,
	const char *const *params, enum execution_outcome *outcome,
	struct err *e)
{
	struct db_res r;

	if (db_run(db, a, s, params, &r, e) != 0)
		return err_wrap(e, "execution");
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

int
execution_open(struct db *db, struct arena *a,
	const struct execution_owner *owner, const struct execution_new *n,
	struct err *e)
{
	const char *params[8] = { n->id, owner->issuer, owner->account_id,
		owner->organization_id, n->session_id,
		db_bytea(a, n->code_sha256, 32), n->engine,
		db_number(a, n->lease_s) };
	struct db_res r;

	if (db_run(db, a, &OPEN, params, &r, e) != 0)
		return err_wrap(e, "execution");
	return 0;
}

int
execution_renew(struct db *db, struct arena *a, const char *id,
	int64_t generation, int64_t lease_s, enum execution_outcome *outcome,
	struct err *e)
{
	const char *params[3] = { id, db_number(a, generation),
		db_number(a, lease_s) };

	return run_outcome(db, a, &RENEW, params, outcome, e);
}

int
execution_release(struct db *db, struct arena *a, const char *id,
	int64_t generation, enum execution_outcome *outcome, struct err *e)
{
	const char *params[2] = { id, db_number(a, generation) };

	return run_outcome(db, a, &RELEASE, params, outcome, e);
}

int
execution_suspend(struct db *db, struct arena *a, const char *id,
	int64_t generation, const void *heap, size_t heap_len,
	int64_t wall_used_ms, int64_t keep_s, enum execution_outcome *outcome,
	struct err *e)
{
	const char *params[5] = { id, db_number(a, generation),
		db_bytea(a, heap, heap_len), db_number(a, wall_used_ms),
		db_number(a, keep_s) };

	return run_outcome(db, a, &SUSPEND, params, outcome, e);
}

int
execution_settle(struct db *db, struct arena *a, const char *id,
	int64_t generation, const struct execution_end *end,
	enum execution_outcome *outcome, struct err *e)
{
	const char *params[7] = { id, db_number(a, generation), end->status,
		end->run_outcome, end->result, end->error,
		db_number(a, end->wall_used_ms) };

	return run_outcome(db, a, &SETTLE, params, outcome, e);
}

/* The columns that STATE and RESUME begin with. */
static void
execution_fill(const struct db_res *r, struct execution *out)
{
	out->status = db_text(r, 0, 1);
	out->generation = db_int(r, 0, 2);
	out->wall_used_ms = db_int(r, 0, 3);
	out->run_outcome = db_text(r, 0, 4);
	out->result = db_text(r, 0, 5);
	out->error = db_text(r, 0, 6);
}

int
execution_state(struct db *db, struct arena *a, const char *id,
	const struct execution_owner *owner, enum execution_outcome *outcome,
	struct execution *out, struct err *e)
{
	const char *params[4] = { id, owner->issuer, owner->account_id,
		owner->organization_id };
	struct db_res r;

	*out = (struct execution){ 0 };
	if (!execution_id_is_valid(id)) {
		*outcome = EXECUTION_NOT_FOUND;
		return 0;
	}
	if (db_run(db, a, &STATE, params, &r, e) != 0)
		return err_wrap(e, "execution");
	execution_fill(&r, out);
	out->deadline = db_text(&r, 0, 7);
	out->is_claimable = db_bool(&r, 0, 8);
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

int
execution_resume(struct db *db, struct arena *a, const char *id,
	const struct execution_owner *owner,
	const struct execution_decision *d, const char *engine,
	int64_t lease_s, enum execution_outcome *outcome,
	struct execution *out, struct err *e)
{
	const char *params[9] = { id, owner->issuer, owner->account_id,
		owner->organization_id, NULL, d->action, d->answer, engine,
		NULL };
	struct db_res r;

	*out = (struct execution){ 0 };
	if (!execution_id_is_valid(id)) {
		*outcome = EXECUTION_NOT_FOUND;
		return 0;
	}
	if (d->seq > INT32_MAX) {
		*outcome = EXECUTION_NO_CALL;
		return 0;
	}
	params[4] = d->seq < 0 ? NULL : db_number(a, d->seq);
	params[8] = db_number(a, lease_s);
	if (db_run(db, a, &RESUME, params, &r, e) != 0)
		return err_wrap(e, "execution");
	execution_fill(&r, out);
	out->engine = db_text(&r, 0, 7);
	out->heap_generation = db_int(&r, 0, 8);
	out->heap = bytea_parse(a, db_text(&r, 0, 9), &out->heap_len);
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

static int
decide(struct db *db, struct arena *a, const struct db_stmt *s,
	const char *id, int64_t seq, const char *note, const char **message,
	struct err *e)
{
	const char *params[3] = { id, seq < 0 ? NULL : db_number(a, seq),
		note };
	struct db_res r;

	if (db_run(db, a, s, params, &r, e) != 0)
		return err_wrap(e, "decision");
	*message = db_text(&r, 0, 0);
	return 0;
}

int
execution_approve(struct db *db, struct arena *a, const char *id, int64_t seq,
	const char *note, const char **message, struct err *e)
{
	return decide(db, a, &APPROVE, id, seq, note, message, e);
}

int
execution_decline(struct db *db, struct arena *a, const char *id, int64_t seq,
	const char *note, const char **message, struct err *e)
{
	return decide(db, a, &DECLINE, id, seq, note, message, e);
}

int
execution_cancel(struct db *db, struct arena *a, const char *id,
	const char *note, bool *was_there, struct err *e)
{
	const char *params[2] = { id, note };
	struct db_res r;

	if (db_run(db, a, &CANCEL, params, &r, e) != 0)
		return err_wrap(e, "cancel");
	*was_there = db_bool(&r, 0, 0);
	return 0;
}

int
execution_list(struct db *db, struct arena *a, const char *organization_id,
	const char *status, int64_t limit, struct db_res *out, struct err *e)
{
	const char *params[3] = { organization_id, status,
		db_number(a, limit) };

	if (db_run(db, a, &LIST, params, out, e) != 0)
		return err_wrap(e, "executions");
	return 0;
}

int
execution_show(struct db *db, struct arena *a, const char *id,
	struct db_res *out, struct err *e)
{
	if (db_run(db, a, &SHOW, &id, out, e) != 0)
		return err_wrap(e, "execution");
	return 0;
}
