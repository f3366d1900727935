/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/session.h"

#include "base/err.h"
#include "base/hex.h"
#include "store/db.h"

DB_STMT(ENTER, "session_enter_2",
	"SELECT outcome, issuer, account_id, organization_id, "
	"protocol_version, client_capabilities, is_initialized, end_reason, "
	"catalog_version, listed_tools "
	"FROM mcp.enter($1, $2, $3, $4, $5, $6)",
	6, 10);

DB_STMT(OPEN, "session_open_1",
	"SELECT mcp.session_open($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
	"$11, $12)",
	12, 1);

DB_STMT(INITIALIZED, "session_initialized_1",
	"SELECT mcp.session_initialized($1)", 1, 1);

DB_STMT(END, "session_end_1", "SELECT mcp.session_end($1, $2, $3, $4)", 4, 1);

DB_STMT(KILL, "session_kill_1", "SELECT mcp.kill_session($1)", 1, 1);

/* As mcp.enter and mcp.session_end spell them. */
static const struct {
	const char *name;
	enum session_outcome outcome;
} OUTCOMES[] = {
	{ "ok", SESSION_OK },
	{ "bad_token", SESSION_BAD_TOKEN },
	{ "expired_token", SESSION_EXPIRED_TOKEN },
	{ "not_member", SESSION_NOT_MEMBER },
	{ "no_session", SESSION_NONE },
	{ "foreign", SESSION_FOREIGN },
	{ "ended", SESSION_OK },
	{ "none", SESSION_NONE },
};

static int
outcome_parse(const char *s, enum session_outcome *out, struct err *e)
{
	size_t i;

	for (i = 0; s != NULL && i < NELEM(OUTCOMES); i++) {
		if (strcmp(OUTCOMES[i].name, s) == 0) {
			*out = OUTCOMES[i].outcome;
			return 0;
		}
	}
	return err_set(e, ERR_INTERNAL, NULL, "unknown session outcome");
}

/*
 * What a client sends as an id may hold bytes that are no text in the
 * database's encoding, which would be an error instead of "not found".
 */
static const char *
id_param(const char *id)
{
	if (id != NULL && !hex_is_lower(id, SESSION_ID_LEN))
		return "malformed";
	return id;
}

int
session_enter(struct db *db, struct arena *a, const char *id,
	const struct session_caller *caller, enum session_membership member,
	enum session_outcome *outcome, struct session *out, struct err *e)
{
	static const char *const MEMBER[] = { "sql", "yes", "no" };
	const char *params[6];
	struct db_res r;

	params[0] = id_param(id);
	params[1] = caller->issuer;
	params[2] = caller->account_id;
	params[3] = caller->organization_id;
	params[4] = caller->token_sha256 == NULL
			    ? NULL
			    : db_bytea(a, caller->token_sha256, 32);
	params[5] = MEMBER[member];
	if (db_run(db, a, &ENTER, params, &r, e) != 0)
		return err_wrap(e, "enter");
	if (outcome_parse(db_text(&r, 0, 0), outcome, e) != 0)
		return -1;
	out->issuer = db_text(&r, 0, 1);
	out->account_id = db_text(&r, 0, 2);
	out->organization_id = db_text(&r, 0, 3);
	out->protocol_version = db_text(&r, 0, 4);
	out->client_capabilities = db_text(&r, 0, 5);
	out->is_initialized = db_bool(&r, 0, 6);
	out->end_reason = db_text(&r, 0, 7);
	out->catalog_version = db_int(&r, 0, 8);
	out->listed_tools = db_int(&r, 0, 9);
	return 0;
}

int
session_open(struct db *db, struct arena *a,
	const struct session_caller *caller, const struct session_new *s,
	const struct session_limits *limits, int64_t *displaced, struct err *e)
{
	const char *params[12];
	struct db_res r;

	params[0] = s->id;
	params[1] = caller->issuer;
	params[2] = caller->account_id;
	params[3] = caller->organization_id;
	params[4] = s->protocol_version;
	params[5] = s->client_info;
	params[6] = s->client_capabilities;
	params[7] = db_number(a, limits->idle_s);
	params[8] = db_number(a, limits->lifetime_s);
	params[9] = db_number(a, limits->readopt_s);
	params[10] = db_number(a, limits->heartbeat_s);
	params[11] = db_number(a, limits->max_sessions);
	if (db_run(db, a, &OPEN, params, &r, e) != 0)
		return err_wrap(e, "session open");
	if (displaced != NULL)
		*displaced = db_int(&r, 0, 0);
	return 0;
}

int
session_initialized(
	struct db *db, struct arena *a, const char *id, struct err *e)
{
	const char *params[1];
	struct db_res r;

	params[0] = id_param(id);
	if (db_run(db, a, &INITIALIZED, params, &r, e) != 0)
		return err_wrap(e, "session initialized");
	return 0;
}

int
session_end(struct db *db, struct arena *a, const char *id,
	const struct session_caller *caller, enum session_outcome *outcome,
	struct err *e)
{
	const char *params[4];
	struct db_res r;

	params[0] = id_param(id);
	params[1] = caller->issuer;
	params[2] = caller->account_id;
	params[3] = caller->organization_id;
	if (db_run(db, a, &END, params, &r, e) != 0)
		return err_wrap(e, "session end");
	return outcome_parse(db_text(&r, 0, 0), outcome, e);
}

int
session_kill(struct db *db, struct arena *a, const char *id, bool *was_there,
	struct err *e)
{
	const char *params[1];
	struct db_res r;

	params[0] = id;
	if (db_run(db, a, &KILL, params, &r, e) != 0)
		return err_wrap(e, "session kill");
	*was_there = db_bool(&r, 0, 0);
	return 0;
}
