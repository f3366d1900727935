/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/ledger.h"

#include "base/arena.h"
#include "base/err.h"
#include "store/bytea.h"
#include "store/db.h"

DB_STMT(BEGIN, "ledger_begin_1",
	"SELECT mcp.call_begin($1, $2, $3, $4, $5, $6)", 6, 1);

DB_STMT(ASK, "ledger_ask_1",
	"SELECT outcome, deadline FROM mcp.call_ask($1, $2, $3, $4, $5, $6,"
	" $7, $8, $9, $10, $11)",
	11, 2);

DB_STMT(GO, "ledger_go_1", "SELECT mcp.call_go($1, $2, $3)", 3, 1);

DB_STMT(SETTLE, "ledger_settle_1",
	"SELECT mcp.call_settle($1, $2, $3, $4, $5, $6, $7)", 7, 1);

DB_STMT(CALLS, "ledger_calls_1",
	"SELECT seq, path, status, generation, args, args_sha256, pending,"
	" interaction_kind, message, schema, deadline, action, answer,"
	" decided_via, note, is_error, ms FROM mcp.execution_calls($1)",
	1, 17);

DB_STMT(LIST, "ledger_list_1",
	"SELECT c.seq, c.path, c.status, mcp.iso(c.started_at),"
	" (extract(epoch FROM c.ended_at - c.started_at) * 1000)::bigint,"
	" c.is_error, c.interaction_kind, c.message, c.action,"
	" mcp.iso(c.decided_at), c.decided_via, c.decided_by, c.note, c.args,"
	" c.result FROM mcp.execution_call c WHERE c.execution_id = $1"
	" ORDER BY c.seq",
	1, LEDGER_LIST_COLUMNS);

static const char *const STATUSES[LEDGER_STATUS__MAX] = {
	[LEDGER_RUNNING] = "running",
	[LEDGER_WAITING] = "waiting",
	[LEDGER_DONE] = "done",
	[LEDGER_FAILED] = "failed",
	[LEDGER_UNKNOWN] = "unknown",
	[LEDGER_DECLINED] = "declined",
	[LEDGER_CANCELLED] = "cancelled",
};

const char *
ledger_status_name(enum ledger_status s)
{
	return STATUSES[s];
}

static const char *
digest(struct arena *a, const struct ledger_value *v)
{
	return v == NULL || v->sha256 == NULL ? NULL :
						db_bytea(a, v->sha256, 32);
}

int
ledger_begin(struct db *db, struct arena *a, const struct ledger_key *key,
	const char *path, const struct ledger_value *args,
	enum execution_outcome *outcome, struct err *e)
{
	const char *params[6] = { key->execution_id,
		db_number(a, key->generation), db_number(a, key->seq), path,
		args->value, digest(a, args) };
	struct db_res r;

	if (db_run(db, a, &BEGIN, params, &r, e) != 0)
		return err_wrap(e, "ledger begin");
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

int
ledger_ask(struct db *db, struct arena *a, const struct ledger_key *key,
	const char *path, const struct ledger_value *args,
	const struct ledger_question *q, enum execution_outcome *outcome,
	const char **deadline, struct err *e)
{
	const char *params[11] = { key->execution_id,
		db_number(a, key->generation), db_number(a, key->seq), path,
		args->value, digest(a, args),
		q->pending == NULL ? NULL :
				     db_bytea(a, q->pending, q->pending_len),
		q->is_elicit ? "elicit" : "approval", q->message, q->schema,
		db_number(a, q->window_s) };
	struct db_res r;

	if (db_run(db, a, &ASK, params, &r, e) != 0)
		return err_wrap(e, "ledger ask");
	*deadline = db_text(&r, 0, 1);
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

int
ledger_go(struct db *db, struct arena *a, const struct ledger_key *key,
	enum execution_outcome *outcome, struct err *e)
{
	const char *params[3] = { key->execution_id,
		db_number(a, key->generation), db_number(a, key->seq) };
	struct db_res r;

	if (db_run(db, a, &GO, params, &r, e) != 0)
		return err_wrap(e, "ledger go");
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

int
ledger_settle(struct db *db, struct arena *a, const struct ledger_key *key,
	enum ledger_status status, bool is_error,
	const struct ledger_value *result, enum execution_outcome *outcome,
	struct err *e)
{
	const char *params[7] = { key->execution_id,
		db_number(a, key->generation), db_number(a, key->seq),
		STATUSES[status], db_flag(is_error),
		result == NULL ? NULL : result->value, digest(a, result) };
	struct db_res r;

	if (db_run(db, a, &SETTLE, params, &r, e) != 0)
		return err_wrap(e, "ledger settle");
	return execution_outcome_parse(db_text(&r, 0, 0), outcome, e);
}

static int
status_parse(const char *s, enum ledger_status *out, struct err *e)
{
	size_t i;

	for (i = 0; s != NULL && i < NELEM(STATUSES); i++) {
		if (strcmp(STATUSES[i], s) == 0) {
			*out = (enum ledger_status)i;
			return 0;
		}
	}
	return err_set(e, ERR_INTERNAL, NULL, "unknown status of a call");
}

int
ledger_calls(struct db *db, struct arena *a, const char *id,
	struct ledger_call **out, size_t *n, struct err *e)
{
	const char *kind;
	struct db_res r;
	int i;

	if (db_run(db, a, &CALLS, &id, &r, e) != 0)
		return err_wrap(e, "ledger");
	*n = (size_t)r.n_rows;
	*out = arena_calloc(a, *n + 1, sizeof(**out));
	for (i = 0; i < r.n_rows; i++) {
		struct ledger_call *c = &(*out)[i];

		c->seq = db_int(&r, i, 0);
		c->path = db_text(&r, i, 1);
		if (status_parse(db_text(&r, i, 2), &c->status, e) != 0)
			return -1;
		c->generation = db_int(&r, i, 3);
		c->args = db_text(&r, i, 4);
		c->args_sha256 = db_text(&r, i, 5);
		c->pending = bytea_parse(a, db_text(&r, i, 6),
			&c->pending_len);
		kind = db_text(&r, i, 7);
		c->is_question = kind != NULL;
		c->is_elicit = kind != NULL && strcmp(kind, "elicit") == 0;
		c->message = db_text(&r, i, 8);
		c->schema = db_text(&r, i, 9);
		c->deadline = db_text(&r, i, 10);
		c->action = db_text(&r, i, 11);
		c->answer = db_text(&r, i, 12);
		c->decided_via = db_text(&r, i, 13);
		c->note = db_text(&r, i, 14);
		c->is_error = db_bool(&r, i, 15);
		c->ms = db_text(&r, i, 16) == NULL ? -1 : db_int(&r, i, 16);
	}
	return 0;
}

int
ledger_list(struct db *db, struct arena *a, const char *id,
	struct db_res *out, struct err *e)
{
	if (db_run(db, a, &LIST, &id, out, e) != 0)
		return err_wrap(e, "ledger");
	return 0;
}
