/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/sessions.h"

#include "admin/table.h"
#include "base/err.h"
#include "store/db.h"
#include "store/drain.h"
#include "store/listing.h"
#include "store/session.h"

enum { PREFIX_MIN = 8, LIMIT_DEFAULT = 1000, LIMIT_MAX = 1000000 };

static const struct table_column COLUMNS[LISTING_SESSION_COLUMNS] = {
	{ "session", TABLE_TEXT },
	{ "organization", TABLE_TEXT },
	{ "account", TABLE_TEXT },
	{ "client", TABLE_TEXT },
	{ "protocol", TABLE_TEXT },
	{ "created_at", TABLE_TEXT },
	{ "last_activity_at", TABLE_TEXT },
	{ "state", TABLE_TEXT },
};

static const struct table_column SHOW[LISTING_SHOW_COLUMNS] = {
	{ "session", TABLE_TEXT },
	{ "state", TABLE_TEXT },
	{ "reason", TABLE_TEXT },
	{ "organization", TABLE_TEXT },
	{ "account", TABLE_TEXT },
	{ "issuer", TABLE_TEXT },
	{ "protocol", TABLE_TEXT },
	{ "client_info", TABLE_JSON },
	{ "client_capabilities", TABLE_JSON },
	{ "created_at", TABLE_TEXT },
	{ "initialized_at", TABLE_TEXT },
	{ "last_activity_at", TABLE_TEXT },
	{ "expires_at", TABLE_TEXT },
	{ "alarm_at", TABLE_TEXT },
	{ "ended_at", TABLE_TEXT },
	{ "readopt_until", TABLE_TEXT },
	{ "idle_s", TABLE_NUMBER },
	{ "lifetime_s", TABLE_NUMBER },
	{ "readopt_s", TABLE_NUMBER },
};

static int
prefix_check(const char *id, struct err *e)
{
	size_t len = strlen(id);

	if (len < PREFIX_MIN || len > SESSION_ID_LEN ||
		strspn(id, "0123456789abcdef") != len)
		return err_set(e, ERR_INVALID, NULL,
			"a session is named by its id, 64 hexadecimal digits, "
			"or by the first %d or more of them",
			PREFIX_MIN);
	return 0;
}

/* The rows of ID: one, or the error why not. */
static int
session_find(struct admin *ad, const char *id, struct db_res *r, struct err *e)
{
	if (prefix_check(id, e) != 0 ||
		listing_session(ad->db, ad->arena, id, r, e) != 0)
		return -1;
	if (r->n_rows == 0)
		return err_set(e, ERR_NOTFOUND, NULL, "no session %.8s", id);
	if (r->n_rows > 1)
		return err_set(e, ERR_CONFLICT, NULL,
			"several sessions begin with %.8s...: give more of "
			"the id",
			id);
	return 0;
}

int
sessions_list(struct admin *ad, char **argv UNUSED, int n UNUSED, struct err *e)
{
	struct listing_session_query q = {
		.organization_id = ad->org,
		.account_id = ad->account,
		.want_ended = (ad->given & ADMIN_OPT_ALL) != 0,
		.limit = LIMIT_DEFAULT,
	};
	struct db_res r;

	if ((ad->given & ADMIN_OPT_LIMIT) != 0 &&
		admin_number("--limit", ad->limit, 1, LIMIT_MAX, &q.limit, e) !=
			0)
		return -1;
	if (listing_sessions(ad->db, ad->arena, &q, &r, e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	if (r.n_rows == q.limit)
		admin_note("the %" PRId64 " last active ones; --limit gives "
			   "more",
			q.limit);
	return 0;
}

int
sessions_show(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct db_res r;

	if (session_find(ad, argv[0], &r, e) != 0)
		return -1;
	table_print_row(
		ad->arena, SHOW, &r, 0, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

static int
kill_one(struct admin *ad, const char *id, struct err *e)
{
	bool was_there = false;
	struct db_res r;

	/* Says whether it is ambiguous, and why it is gone. */
	if (session_find(ad, id, &r, e) != 0)
		return -1;
	if (strcmp(db_text(&r, 0, 1), "ended") == 0)
		return err_set(e, ERR_NOTFOUND, NULL,
			"session %.8s has ended already (%s)", id,
			db_text(&r, 0, 2));
	if (admin_begin(ad, e) != 0 ||
		session_kill(ad->db, ad->arena, id, &was_there, e) != 0)
		return -1;
	if (!was_there)
		return err_set(e, ERR_NOTFOUND, NULL, "no session %.8s", id);
	if (admin_commit(ad, db_text(&r, 0, 3), db_text(&r, 0, 4), e) != 0)
		return -1;
	admin_note("session %.8s ended", id);
	return 0;
}

static int
kill_account(
	struct admin *ad, const char *org, const char *account, struct err *e)
{
	int64_t ended;

	if (admin_check_id("organization", org, e) != 0 ||
		admin_check_id("account", account, e) != 0 ||
		admin_begin(ad, e) != 0 ||
		drain_account(ad->db, ad->arena, org, account, &ended, e) != 0)
		return -1;
	if (ended == 0)
		return err_set(e, ERR_NOTFOUND, NULL,
			"%.96s has no session in %.96s", account, org);
	if (admin_commit(ad, org, account, e) != 0)
		return -1;
	admin_note("%" PRId64 " session%s ended", ended, admin_plural(ended));
	return 0;
}

static int
kill_all(struct admin *ad, struct err *e)
{
	int64_t ended;

	if (admin_begin(ad, e) != 0 ||
		drain_all(ad->db, ad->arena, &ended, e) != 0 ||
		admin_commit(ad, NULL, NULL, e) != 0)
		return -1;
	admin_note("%" PRId64 " session%s ended", ended, admin_plural(ended));
	return 0;
}

/* ID | --account ORG ACCOUNT | --all: ORG is the option's argument. */
int
sessions_kill(struct admin *ad, char **argv, int n, struct err *e)
{
	bool is_all = (ad->given & ADMIN_OPT_ALL) != 0;
	bool is_account = (ad->given & ADMIN_OPT_ACCOUNT) != 0;

	if (is_all && !is_account && n == 0)
		return kill_all(ad, e);
	if (is_account && !is_all && n == 1)
		return kill_account(ad, ad->account, argv[0], e);
	if (!is_account && !is_all && n == 1)
		return kill_one(ad, argv[0], e);
	return err_set(e, ERR_INVALID, NULL,
		"session kill takes ID, or --account ORG ACCOUNT, or --all");
}
