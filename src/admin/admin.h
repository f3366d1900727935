/* SPDX-License-Identifier: ISC */
/*
 * admin: what the verbs of mcp-admin share: options, connection, changes.
 *
 * A change is one transaction that also leaves an audit row admin.command
 * with the operating system's user, the host and the verb; the exit of the
 * program without admin_commit undoes it.  stdout carries what was asked for,
 * stderr everything else.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

struct arena;
struct conf;
struct db;
struct err;

enum { ADMIN_OK, ADMIN_FAILED, ADMIN_USAGE, ADMIN_NOT_FOUND };

/* Options, as bits of admin.given and of what a verb allows; no character. */
enum {
	ADMIN_OPT_JSON = 1 << 8,
	ADMIN_OPT_ALL = 1 << 9,
	ADMIN_OPT_CHECK = 1 << 10,
	ADMIN_OPT_DIR = 1 << 11,
	ADMIN_OPT_NAME = 1 << 12,
	ADMIN_OPT_TTL = 1 << 13,
	ADMIN_OPT_ORG = 1 << 14,
	ADMIN_OPT_ACCOUNT = 1 << 15,
	ADMIN_OPT_LIMIT = 1 << 16,
	ADMIN_OPT_REVOKE = 1 << 17,
	ADMIN_OPT_EXTERNAL = 1 << 18,
	ADMIN_OPT_WORKERS = 1 << 19
};

struct admin {
	const char *file; /* -c, or NULL */
	unsigned given;
	const char *dir;
	const char *name;
	const char *ttl;
	const char *org;
	const char *account;
	const char *limit;
	const char *workers;

	const char *verb; /* "token issue" */
	struct arena *arena;
	const struct conf *conf;
	struct db *db; /* lazy; as admin_database or -d says */
	int status; /* of a verb that fails otherwise than by its err */
};

/* What a verb is: ARGV are its N arguments.  Fails with -1 and *E. */
typedef int admin_fn(struct admin *ad, char **argv, int n, struct err *e);

/*
 * Handle on the connection CONNINFO; nothing is connected yet.  A statement
 * may take TIMEOUT_MS, 0: as long as it takes.
 */
enum { ADMIN_TIMEOUT_MS = 60000 };
struct db *admin_db(
	const struct admin *ad, const char *conninfo, int64_t timeout_ms);

/* To stderr, after "mcp-admin: ". */
void admin_note(const char *fmt, ...) PRINTF(1, 2);

/* ERR_INVALID is bad usage here (ADMIN_USAGE); see admin_status. */
int admin_status(const struct err *e);

/*
 * Whether S can name an organisation or account: UTF-8 of 1 to 512 bytes
 * without control characters and without spaces at its ends.  WHAT is for
 * the message.
 */
MUST_CHECK int admin_check_id(const char *what, const char *s, struct err *e);

/* A number of MIN to MAX; WHAT is for the message. */
MUST_CHECK int admin_number(const char *what, const char *s, int64_t min,
	int64_t max, int64_t *out, struct err *e);

MUST_CHECK int admin_begin(struct admin *ad, struct err *e);
/* ORG and ACCOUNT, either may be NULL, are those of the audit row. */
MUST_CHECK int admin_commit(struct admin *ad, const char *org,
	const char *account, struct err *e);

#endif
