/* SPDX-License-Identifier: ISC */
/*
 * session: sessions as rows.  Knows mcp.enter and its companions; knows
 * nothing of HTTP.
 *
 * A session row carries its own limits, given when it is opened: changing the
 * configuration changes new sessions only, and expiry never depends on what
 * this process was configured with.  Logs name a session by the first 8
 * characters of its id.
 */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

struct arena;
struct db;
struct err;

#define SESSION_ID_LEN 64 /* lower-case hex digits */

enum session_outcome {
	SESSION_OK,
	SESSION_BAD_TOKEN,     /* API token unknown or revoked */
	SESSION_EXPIRED_TOKEN, /* API token past its expires_at */
	SESSION_NOT_MEMBER,    /* the caller's own session is ended, too */
	SESSION_NONE,	       /* unknown, ended or expired */
	SESSION_FOREIGN,       /* somebody else's; audited, untouched */
	SESSION_OUTCOME__MAX
};

enum session_membership {
	SESSION_MEMBER_SQL, /* mcp.membership decides */
	SESSION_MEMBER_YES, /* confirmed elsewhere */
	SESSION_MEMBER_NO   /* positively denied elsewhere; not for "unknown" */
};

/* Who asks.  With a token digest the rest is not looked at. */
struct session_caller {
	const char *issuer;
	const char *account_id;
	const char *organization_id;	   /* NULL is nobody's: NOT_MEMBER */
	const unsigned char *token_sha256; /* 32 bytes; NULL: a JWT */
};

struct session {
	/* the principal, always set with SESSION_OK */
	const char *issuer;
	const char *account_id;
	const char *organization_id;
	/* NULL and false when no session id was given */
	const char *protocol_version;
	const char *client_capabilities; /* JSON text */
	bool is_initialized;
	/* SESSION_NONE: why the caller's own session is gone, or NULL */
	const char *end_reason;
	/* SESSION_OK: another number after each change of the organisation's
	 * catalogue, and how many tools are in tools/list; 0 without one */
	int64_t catalog_version;
	int64_t listed_tools;
};

struct session_limits {
	int64_t idle_s;
	int64_t lifetime_s;   /* 0: none */
	int64_t readopt_s;    /* 0: never */
	int64_t heartbeat_s;  /* first alarm of the reaper */
	int64_t max_sessions; /* of one principal; 0: no cap */
};

struct session_new {
	const char *id;
	const char *protocol_version;
	const char *client_info;	 /* JSON object as text */
	const char *client_capabilities; /* JSON object as text */
};

/*
 * Admit a request of CALLER, to the session ID or (NULL) to none.  One round
 * trip; extends the session when it says SESSION_OK.  An ID that is not 64
 * lower-case hex digits is never found.  Strings of *OUT live in A.  Fails
 * with ERR_UNAVAILABLE or ERR_TIMEOUT; nothing has been changed then.
 */
MUST_CHECK int session_enter(struct db *db, struct arena *a, const char *id,
	const struct session_caller *caller, enum session_membership member,
	enum session_outcome *outcome, struct session *out, struct err *e);

/*
 * Make a session of CALLER (a resolved principal: token_sha256 is not looked
 * at).  Committed when it returns 0.  *DISPLACED (may be NULL): how many of
 * the principal's sessions gave way.  Fails with ERR_INVALID when the
 * client's JSON or an identifier is longer than the row takes.
 */
MUST_CHECK int session_open(struct db *db, struct arena *a,
	const struct session_caller *caller, const struct session_new *s,
	const struct session_limits *limits, int64_t *displaced, struct err *e);

/* Note notifications/initialized; after session_enter said SESSION_OK. */
MUST_CHECK int session_initialized(
	struct db *db, struct arena *a, const char *id, struct err *e);

/* End ID for its owner: SESSION_OK, SESSION_NONE or SESSION_FOREIGN. */
MUST_CHECK int session_end(struct db *db, struct arena *a, const char *id,
	const struct session_caller *caller, enum session_outcome *outcome,
	struct err *e);

/* ID, or a unique beginning of at least 8 characters.  For mcp-admin. */
MUST_CHECK int session_kill(struct db *db, struct arena *a, const char *id,
	bool *was_there, struct err *e);

#endif
