/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/executions.h"

#include "admin/table.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/db.h"
#include "store/execution.h"
#include "store/ledger.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000000, NOTE_MAX = 4096 };

static const struct table_column COLUMNS[EXECUTION_LIST_COLUMNS] = {
	{ "execution", TABLE_TEXT, 0 },
	{ "organization", TABLE_TEXT, 0 },
	{ "account", TABLE_TEXT, 0 },
	{ "status", TABLE_TEXT, 0 },
	{ "outcome", TABLE_TEXT, 0 },
	{ "created_at", TABLE_TEXT, 0 },
	{ "ended_at", TABLE_TEXT, 0 },
	{ "calls", TABLE_NUMBER, 0 },
	{ "heap_bytes", TABLE_NUMBER, 0 },
};

static const struct table_column SHOW[EXECUTION_SHOW_COLUMNS] = {
	{ "execution", TABLE_TEXT, 0 },
	{ "organization", TABLE_TEXT, 0 },
	{ "account", TABLE_TEXT, 0 },
	{ "issuer", TABLE_TEXT, 0 },
	{ "session", TABLE_TEXT, 0 },
	{ "status", TABLE_TEXT, 0 },
	{ "outcome", TABLE_TEXT, 0 },
	{ "error", TABLE_TEXT, 0 },
	{ "engine", TABLE_TEXT, 0 },
	{ "generation", TABLE_NUMBER, 0 },
	{ "code_sha256", TABLE_TEXT, 0 },
	{ "created_at", TABLE_TEXT, 0 },
	{ "waiting_since", TABLE_TEXT, 0 },
	{ "deadline_at", TABLE_TEXT, 0 },
	{ "ended_at", TABLE_TEXT, 0 },
	{ "wall_used_ms", TABLE_NUMBER, 0 },
	{ "result", TABLE_TEXT, 0 },
};

static const struct table_column CALLS[LEDGER_LIST_COLUMNS] = {
	{ "seq", TABLE_NUMBER, 0 },
	{ "path", TABLE_TEXT, 0 },
	{ "status", TABLE_TEXT, 0 },
	{ "started_at", TABLE_TEXT, 0 },
	{ "ms", TABLE_NUMBER, 0 },
	{ "is_error", TABLE_FLAG, 0 },
	{ "asked", TABLE_TEXT, 0 },
	{ "message", TABLE_TEXT, 60 },
	{ "action", TABLE_TEXT, 0 },
	{ "decided_at", TABLE_TEXT, 0 },
	{ "decided_via", TABLE_TEXT, 0 },
	{ "decided_by", TABLE_TEXT, 0 },
	{ "note", TABLE_TEXT, 40 },
	{ "args", TABLE_TEXT, 80 },
	{ "result", TABLE_TEXT, 80 },
};

/* ID in lower case, or the error that there is none. */
static int
find(struct admin *ad, const char *id, char **out, struct db_res *r,
	struct err *e)
{
	char *p, *s = arena_strdup(ad->arena, id);

	for (p = s; *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'F')
			*p = (char)(*p - 'A' + 'a');
	*out = s;
	if (!execution_id_is_valid(s))
		return err_set(e, ERR_INVALID, NULL,
			"a run is named by its execution id, a UUID");
	if (execution_show(ad->db, ad->arena, s, r, e) != 0)
		return -1;
	if (r->n_rows == 0)
		return err_set(e, ERR_NOTFOUND, NULL, "no execution %s", s);
	return 0;
}

int
executions_list(
	struct admin *ad, char **argv UNUSED, int n UNUSED, struct err *e)
{
	static const char *const STATUS[] = { "running", "waiting", "completed",
		"failed", "expired", "cancelled" };
	int64_t limit = LIMIT_DEFAULT;
	struct db_res r;
	size_t i;

	if ((ad->given & ADMIN_OPT_LIMIT) != 0 &&
		admin_number("--limit", ad->limit, 1, LIMIT_MAX, &limit, e) !=
			0)
		return -1;
	for (i = 0; ad->status_wanted != NULL && i < NELEM(STATUS); i++)
		if (strcmp(ad->status_wanted, STATUS[i]) == 0)
			break;
	if (i == NELEM(STATUS))
		return err_set(e, ERR_INVALID, NULL,
			"--status is running, waiting, completed, failed, "
			"expired or cancelled");
	if (execution_list(ad->db, ad->arena, ad->org, ad->status_wanted, limit,
		    &r, e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	if (r.n_rows == limit)
		admin_note("the latest %" PRId64 "; --limit gives more", limit);
	return 0;
}

/* What waits for a word, whole: a table cuts its cells. */
static void
print_questions(struct admin *ad, const struct db_res *c)
{
	enum { SEQ, PATH, STATUS, MESSAGE = 7, ACTION, ARGS = 13 };
	int i;

	for (i = 0; i < c->n_rows; i++) {
		if (strcmp(db_text(c, i, STATUS), "waiting") != 0 ||
			db_text(c, i, ACTION) != NULL)
			continue;
		printf("\ncall %s waits: %s\n", db_text(c, i, SEQ),
			table_visible(ad->arena, db_text(c, i, MESSAGE)));
		printf("  %s %s\n", db_text(c, i, PATH),
			db_text(c, i, ARGS) != NULL ?
				table_visible(ad->arena, db_text(c, i, ARGS)) :
				"(its arguments are too long to be kept here; "
				"the owner's client shows their beginning)");
	}
}

int
executions_show(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool is_json = (ad->given & ADMIN_OPT_JSON) != 0;
	struct table_more calls = { "calls", TABLE_JSON, NULL };
	struct db_res r, c;
	char *id;

	if (find(ad, argv[0], &id, &r, e) != 0 ||
		ledger_list(ad->db, ad->arena, id, &c, e) != 0)
		return -1;
	if (is_json)
		calls.value = table_json(ad->arena, CALLS, &c);
	table_print_more(ad->arena, SHOW, &r, 0, &calls, 1, is_json);
	if (!is_json && c.n_rows > 0) {
		putchar('\n');
		table_print(ad->arena, CALLS, &c, false);
		print_questions(ad, &c);
	}
	return 0;
}

typedef int decide_fn(struct db *db, struct arena *a, const char *id,
	int64_t seq, const char *note, const char **message, struct err *e);

static int
decide(struct admin *ad, const char *given_id, decide_fn *fn, struct err *e)
{
	const char *message;
	int64_t seq = -1;
	struct db_res r;
	char *id;

	if ((ad->given & ADMIN_OPT_SEQ) != 0 &&
		admin_number("--seq", ad->seq, 0, INT32_MAX, &seq, e) != 0)
		return -1;
	if ((ad->given & ADMIN_OPT_NOTE) != 0 &&
		admin_check_text("--note", ad->note, NOTE_MAX, e) != 0)
		return -1;
	if (find(ad, given_id, &id, &r, e) != 0 || admin_begin(ad, e) != 0)
		return -1;
	if (fn(ad->db, ad->arena, id, seq, ad->note, &message, e) != 0)
		return admin_refused(ad, e);
	if (admin_commit(ad, db_text(&r, 0, 1), db_text(&r, 0, 2), e) != 0)
		return -1;
	admin_note("%s", table_visible(ad->arena, message));
	return 0;
}

int
executions_approve(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return decide(ad, argv[0], execution_approve, e);
}

int
executions_decline(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return decide(ad, argv[0], execution_decline, e);
}

int
executions_cancel(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_there;
	struct db_res r;
	char *id;

	if ((ad->given & ADMIN_OPT_NOTE) != 0 &&
		admin_check_text("--note", ad->note, NOTE_MAX, e) != 0)
		return -1;
	if (find(ad, argv[0], &id, &r, e) != 0 || admin_begin(ad, e) != 0 ||
		execution_cancel(
			ad->db, ad->arena, id, ad->note, &was_there, e) != 0)
		return -1;
	if (!was_there)
		return err_set(e, ERR_CONFLICT, NULL, "the run is over: %s",
			db_text(&r, 0, 5));
	if (admin_commit(ad, db_text(&r, 0, 1), db_text(&r, 0, 2), e) != 0)
		return -1;
	admin_note("execution %s cancelled", id);
	return 0;
}
