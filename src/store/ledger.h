/* SPDX-License-Identifier: ISC */
/*
 * ledger: the calls of a run, one row each.
 *
 * Order for a call that needs no word: ledger_begin, committed; send;
 * ledger_settle.  For one that does: ledger_ask; the run is suspended;
 * execution_resume; ledger_calls says what was decided; approved: ledger_go,
 * committed; send; ledger_settle.  Refused: ledger_settle as LEDGER_DECLINED.
 * Nothing is sent unless begin or go said EXECUTION_OK.
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include "store/execution.h"

enum ledger_status {
	LEDGER_RUNNING,	  /* sent, or about to be */
	LEDGER_WAITING,	  /* asked about, not sent */
	LEDGER_DONE,	  /* answered */
	LEDGER_FAILED,	  /* answered by a failure */
	LEDGER_UNKNOWN,	  /* sent or not: nobody knows */
	LEDGER_DECLINED,  /* refused, not sent */
	LEDGER_CANCELLED, /* the run ended first, not sent */
	LEDGER_STATUS__MAX
};

const char *ledger_status_name(enum ledger_status s);

/* Which call, by whom. */
struct ledger_key {
	const char *execution_id;
	int64_t generation;
	int64_t seq;
};

/* VALUE is what is kept (valid UTF-8), NULL when too long or secret; SHA256
 * is of the whole. */
struct ledger_value {
	const char *value;
	const unsigned char *sha256; /* 32 bytes; NULL: there is no value */
};

/* OK: send it; AGAIN: the row was there; CANCELLED, LOST: stop. */
MUST_CHECK int ledger_begin(struct db *db, struct arena *a,
	const struct ledger_key *key, const char *path,
	const struct ledger_value *args, enum execution_outcome *outcome,
	struct err *e);

struct ledger_question {
	bool is_elicit;	       /* else an approval */
	const char *message;
	const char *schema;    /* JSON; may be NULL */
	const void *pending;   /* sealed whole arguments; may be NULL */
	size_t pending_len;
	int64_t window_s;      /* undecided after that: declined */
};

/* *DEADLINE: ISO 8601.  OK, AGAIN, CANCELLED, LOST. */
MUST_CHECK int ledger_ask(struct db *db, struct arena *a,
	const struct ledger_key *key, const char *path,
	const struct ledger_value *args, const struct ledger_question *q,
	enum execution_outcome *outcome, const char **deadline, struct err *e);

/* OK: send it; REFUSED: not approved any more; AGAIN: it may have been sent,
 * do not; CANCELLED, LOST: stop. */
MUST_CHECK int ledger_go(struct db *db, struct arena *a,
	const struct ledger_key *key, enum execution_outcome *outcome,
	struct err *e);

/*
 * What came of it: LEDGER_DONE, FAILED, UNKNOWN or (never sent) DECLINED; an
 * answered question is DONE.  OK, AGAIN, LATE (noted, but the run has been
 * given up), REFUSED (still undecided), CANCELLED, LOST.
 */
MUST_CHECK int ledger_settle(struct db *db, struct arena *a,
	const struct ledger_key *key, enum ledger_status status, bool is_error,
	const struct ledger_value *result, enum execution_outcome *outcome,
	struct err *e);

struct ledger_call {
	int64_t seq;
	const char *path;
	enum ledger_status status;
	int64_t generation;	 /* that last wrote the row */
	const char *args;	 /* may be NULL: not kept */
	const char *preview;	 /* for who shows it: the beginning of those */
	size_t args_len;	 /* with preview: of all */
	const char *args_sha256; /* hex */
	const unsigned char *pending; /* sealed; NULL: none */
	size_t pending_len;
	bool is_question;
	bool is_elicit;
	const char *message;
	const char *schema;
	const char *deadline;	 /* ISO 8601 */
	const char *action;	 /* accept, decline, cancel; NULL: undecided */
	const char *answer;	 /* JSON; may be NULL */
	const char *decided_via; /* resume, sql, timeout */
	const char *note;
	bool is_error;
	int64_t ms; /* from sending to the answer; -1: not both */
};

/* The calls of ID, by seq, in A. */
MUST_CHECK int ledger_calls(struct db *db, struct arena *a, const char *id,
	struct ledger_call **out, size_t *n, struct err *e);

/* For mcp-admin: seq, path, status, started_at, ms, is_error,
 * interaction_kind, message, action, decided_at, decided_via, decided_by,
 * note, args, result */
enum { LEDGER_LIST_COLUMNS = 15 };
MUST_CHECK int ledger_list(struct db *db, struct arena *a, const char *id,
	struct db_res *out, struct err *e);

#endif
