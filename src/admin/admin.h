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

/* Options, as bits of admin.given and of what a verb allows. */
#define ADMIN_OPT_BIT(n)      (UINT64_C(1) << (n))
#define ADMIN_OPT_JSON	      ADMIN_OPT_BIT(0)
#define ADMIN_OPT_ALL	      ADMIN_OPT_BIT(1)
#define ADMIN_OPT_CHECK	      ADMIN_OPT_BIT(2)
#define ADMIN_OPT_DIR	      ADMIN_OPT_BIT(3)
#define ADMIN_OPT_NAME	      ADMIN_OPT_BIT(4)
#define ADMIN_OPT_TTL	      ADMIN_OPT_BIT(5)
#define ADMIN_OPT_ORG	      ADMIN_OPT_BIT(6)
#define ADMIN_OPT_ACCOUNT     ADMIN_OPT_BIT(7)
#define ADMIN_OPT_LIMIT	      ADMIN_OPT_BIT(8)
#define ADMIN_OPT_REVOKE      ADMIN_OPT_BIT(9)
#define ADMIN_OPT_EXTERNAL    ADMIN_OPT_BIT(10)
#define ADMIN_OPT_WORKERS     ADMIN_OPT_BIT(11)
#define ADMIN_OPT_TITLE	      ADMIN_OPT_BIT(12)
#define ADMIN_OPT_SERVICE     ADMIN_OPT_BIT(13)
#define ADMIN_OPT_ROLE	      ADMIN_OPT_BIT(14)
#define ADMIN_OPT_SCHEMA      ADMIN_OPT_BIT(15)
#define ADMIN_OPT_FUNCTION    ADMIN_OPT_BIT(16)
#define ADMIN_OPT_TIMEOUT     ADMIN_OPT_BIT(17)
#define ADMIN_OPT_ROWS	      ADMIN_OPT_BIT(18)
#define ADMIN_OPT_BASE_URL    ADMIN_OPT_BIT(19)
#define ADMIN_OPT_HEADER      ADMIN_OPT_BIT(20)
#define ADMIN_OPT_QUERY	      ADMIN_OPT_BIT(21)
#define ADMIN_OPT_ALLOW	      ADMIN_OPT_BIT(22)
#define ADMIN_OPT_SOURCE      ADMIN_OPT_BIT(23)
#define ADMIN_OPT_DESCRIPTION ADMIN_OPT_BIT(24)
#define ADMIN_OPT_INPUT	      ADMIN_OPT_BIT(25)
#define ADMIN_OPT_OUTPUT      ADMIN_OPT_BIT(26)
#define ADMIN_OPT_LISTED      ADMIN_OPT_BIT(27)
#define ADMIN_OPT_READ_ONLY   ADMIN_OPT_BIT(28)
#define ADMIN_OPT_DESTRUCTIVE ADMIN_OPT_BIT(29)
#define ADMIN_OPT_BEFORE      ADMIN_OPT_BIT(30)
#define ADMIN_OPT_POSITION    ADMIN_OPT_BIT(31)
#define ADMIN_OPT_NOTE	      ADMIN_OPT_BIT(32)
#define ADMIN_OPT_STATUS      ADMIN_OPT_BIT(33)
#define ADMIN_OPT_SEQ	      ADMIN_OPT_BIT(34)

/* The arguments of an option that may be given several times. */
enum { ADMIN_LIST_MAX = 32 };
struct admin_list {
	const char *item[ADMIN_LIST_MAX];
	size_t n;
};

struct admin {
	const char *file; /* -c, or NULL */
	uint64_t given;
	/* arguments of options, NULL when absent */
	const char *dir;
	const char *name;
	const char *ttl;
	const char *org;
	const char *account;
	const char *limit;
	const char *workers;
	const char *title;
	const char *service;
	const char *role;
	const char *timeout;
	const char *rows;
	const char *base_url;
	const char *source;
	const char *description;
	const char *input;
	const char *output;
	const char *before;
	const char *position;
	const char *note;
	const char *status_wanted;
	const char *seq;
	struct admin_list schema;
	struct admin_list function;
	struct admin_list header;
	struct admin_list query;
	struct admin_list allow;

	const char *verb; /* "token issue" */
	struct arena *arena;
	const struct conf *conf;
	struct db *db; /* lazy; as admin_database or -d says */
	int status;    /* of a verb that fails otherwise than by its err */
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

/* What follows a word that N counts: "s", or "" for 1. */
const char *admin_plural(int64_t n);

/* ERR_INVALID is bad usage here (ADMIN_USAGE); see admin_status. */
int admin_status(const struct err *e);

/*
 * Whether S can name an organisation or account: UTF-8 of 1 to 512 bytes
 * without control characters and without spaces at its ends.  WHAT is for
 * the message.
 */
MUST_CHECK int admin_check_id(const char *what, const char *s, struct err *e);

/* Text for people: UTF-8 of 1 to MAX bytes; WHAT is for the message. */
MUST_CHECK int admin_check_text(
	const char *what, const char *s, size_t max, struct err *e);

/*
 * The text of FILE ("-": standard input), at most MAX bytes of UTF-8 without
 * NUL, in the arena.
 */
MUST_CHECK int admin_read(struct admin *ad, const char *file, size_t max,
	char **out, size_t *len, struct err *e);

/* ERR_INVALID of the database, which says why, becomes ERR_CONFLICT: the
 * command line was not wrong.  Returns -1. */
int admin_refused(struct admin *ad, struct err *e);

/* A number of MIN to MAX; WHAT is for the message. */
MUST_CHECK int admin_number(const char *what, const char *s, int64_t min,
	int64_t max, int64_t *out, struct err *e);

MUST_CHECK int admin_begin(struct admin *ad, struct err *e);
/* ORG and ACCOUNT, either may be NULL, are those of the audit row. */
MUST_CHECK int admin_commit(
	struct admin *ad, const char *org, const char *account, struct err *e);

#endif
