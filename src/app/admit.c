/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/admit.h"

#include "app/app.h"
#include "app/turn.h"
#include "auth/membership.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/log.h"
#include "store/db.h"

int
admit_bearer(struct turn *t)
{
	enum bearer_outcome outcome;
	struct err e;

	err_clear(&e);
	if (bearer_check(t->app->bearer, t->app->db, t->arena,
		    t->req.authorization, &outcome, &t->principal, &t->why,
		    &e) != 0)
		return turn_fail_err(t, FAULT_AUTH_DOWN, &e);
	switch (outcome) {
	case BEARER_OK:
		t->why = NULL;
		log_context(t->rid, t->req.session_id,
			t->principal.account_id);
		return 0;
	case BEARER_ABSENT:
		/*
		 * Apache passes the header on only with CGIPassAuth On: the
		 * most frequent fault of an installation (B-32).
		 */
		if (t->req.authorization == NULL)
			t->why = "header absent: check CGIPassAuth";
		return turn_fail(t, FAULT_TOKEN_ABSENT);
	case BEARER_EXPIRED:
		return turn_fail(t, FAULT_TOKEN_EXPIRED);
	case BEARER_INVALID:
		break;
	}
	return turn_fail(t, FAULT_TOKEN_INVALID);
}

/*
 * ENTER once more after a serialization failure or deadlock (40001, 40P01):
 * nothing has happened then.
 */
static int
enter_row(struct turn *t, const char *id, enum session_membership member,
	enum session_outcome *outcome, struct err *e)
{
	int rc = session_enter(t->app->db, t->arena, id, &t->caller, member,
		outcome, &t->session, e);

	if (rc != 0 && db_is_retryable(t->app->db)) {
		err_clear(e);
		rc = session_enter(t->app->db, t->arena, id, &t->caller,
			member, outcome, &t->session, e);
	}
	return rc;
}

static int
ask_membership(struct turn *t, enum session_membership *member)
{
	struct err e;

	err_clear(&e);
	if (membership_ask(t->conf, t->app->fetch, t->arena,
		    t->principal.account_id, t->principal.organization_id,
		    member, &e) != 0)
		return turn_fail_err(t, FAULT_AUTH_DOWN, &e);
	return 0;
}

int
admit_enter(struct turn *t, const char *id)
{
	enum session_membership member = SESSION_MEMBER_NO;
	enum session_outcome outcome;
	bool is_known_form = id == NULL || hex_is_lower(id, SESSION_ID_LEN);
	struct err e;

	if (t->principal.organization_id == NULL)
		return turn_fail(t, FAULT_NO_ORGANIZATION);
	t->caller.issuer = t->principal.issuer;
	t->caller.account_id = t->principal.account_id;
	t->caller.organization_id = t->principal.organization_id;
	t->caller.token_sha256 = t->principal.token_sha256;
	if (ask_membership(t, &member) != 0)
		return -1;

	err_clear(&e);
	/* A malformed id is asked for too: membership comes before it. */
	if (enter_row(t, is_known_form ? id : NULL, member, &outcome, &e) != 0)
		return turn_fail_err(t, fault_of(&e), &e);
	switch (outcome) {
	case SESSION_OK:
		break;
	case SESSION_BAD_TOKEN:
		bearer_forget(t->app->bearer, t->principal.token_sha256);
		return turn_fail(t, FAULT_TOKEN_INVALID);
	case SESSION_EXPIRED_TOKEN:
		bearer_forget(t->app->bearer, t->principal.token_sha256);
		return turn_fail(t, FAULT_TOKEN_EXPIRED);
	case SESSION_NOT_MEMBER:
		return turn_fail(t, FAULT_NO_ORGANIZATION);
	case SESSION_NONE:
		t->why = t->session.end_reason;
		return turn_fail(t, FAULT_SESSION_GONE);
	case SESSION_FOREIGN:
		return turn_fail(t, FAULT_SESSION_FOREIGN);
	case SESSION_OUTCOME__MAX:
		break;
	}
	if (!is_known_form)
		return turn_fail(t, FAULT_SESSION_GONE);
	if (id == NULL)
		return 0;
	res_header(&t->res, "Mcp-Session-Id", id);
	if (!revision_find(t->session.protocol_version, &t->revision))
		t->revision = REVISION_NEWEST;
	return 0;
}

int
admit_version(struct turn *t, const struct msg *m)
{
	struct fault_answer answer = { .msg = m };
	enum revision r;
	struct buf data;

	if (t->req.protocol_version == NULL ||
		revision_find(t->req.protocol_version, &r))
		return 0;
	buf_init(&data, t->arena);
	buf_printf(&data, "{\"supported\":%s,\"requested\":",
		revision_list_json());
	buf_json(&data, t->req.protocol_version,
		buf_utf8_prefix(t->req.protocol_version,
			strlen(t->req.protocol_version), 64));
	buf_putc(&data, '}');
	answer.data = data.data;
	return turn_fail_with(t, FAULT_VERSION, &answer);
}
