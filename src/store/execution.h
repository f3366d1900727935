/* SPDX-License-Identifier: ISC */
/*
 * execution: runs as rows.  Whoever runs one holds its generation; after a
 * claim by somebody else, a cancellation or a lapse of the lease every
 * function here answers EXECUTION_LOST or EXECUTION_CANCELLED, and the holder
 * stops.  The calls of a run are in store/ledger.h.
 *
 * A statement whose reply was lost may be repeated: EXECUTION_AGAIN says that
 * it had taken effect.
 */
#ifndef STORE_EXECUTION_H
#define STORE_EXECUTION_H

struct arena;
struct db;
struct db_res;
struct err;

enum execution_outcome {
	EXECUTION_OK,
	EXECUTION_AGAIN,     /* was done before */
	EXECUTION_LATE,	     /* noted, but the run had been given up */
	EXECUTION_REFUSED,   /* not approved */
	EXECUTION_CANCELLED, /* by an administrator: stop */
	EXECUTION_LOST,	     /* taken away: stop */
	/* of execution_state and execution_resume */
	EXECUTION_CLAIMED,	/* yours to run */
	EXECUTION_RUNNING,	/* somebody runs it: look again later */
	EXECUTION_WAITING,	/* for a word that has not come */
	EXECUTION_SETTLED,	/* over: result, or run_outcome and error */
	EXECUTION_EXPIRED,	/* waited too long */
	EXECUTION_SEQ_REQUIRED, /* several questions: name one */
	EXECUTION_NO_CALL,	/* no question has that number */
	EXECUTION_OTHER_ENGINE, /* its heap belongs to another build */
	EXECUTION_NOT_FOUND,
	EXECUTION_FORBIDDEN, /* somebody else's */
	EXECUTION_OUTCOME__MAX
};

/* As the database spells it: "ok", "lost", ... */
const char *execution_outcome_name(enum execution_outcome o);
/* -1 with ERR_INTERNAL when NAME is none of them. */
MUST_CHECK int execution_outcome_parse(
	const char *name, enum execution_outcome *out, struct err *e);

enum { EXECUTION_ID_LEN = 36 };

/* Whether S is a uuid in lower case: anything else is not found. */
bool execution_id_is_valid(const char *s);
/* A new random id (RFC 9562, version 4). */
void execution_id_make(char out[EXECUTION_ID_LEN + 1]);

struct execution_owner {
	const char *issuer;
	const char *account_id;
	const char *organization_id;
};

struct execution_new {
	const char *id;
	const char *session_id;	    /* a hint is kept; may be NULL */
	const unsigned char *code_sha256; /* 32 bytes */
	const char *engine;	    /* build of the engine */
	int64_t lease_s;
};

struct execution {
	const char *status; /* running, waiting, completed, failed, ... */
	int64_t generation;
	int64_t wall_used_ms;
	const char *run_outcome; /* once over; one word */
	const char *result;	 /* once over; the recorded answer, or NULL */
	const char *error;	 /* once over; may be NULL */
	/* execution_state: the run expires then (ISO 8601); may be NULL */
	const char *deadline;
	/* execution_state: execution_resume without an action gets further */
	bool is_claimable;
	/* EXECUTION_CLAIMED; HEAP_GENERATION is sealed in */
	const char *engine;
	int64_t heap_generation;
	const unsigned char *heap;
	size_t heap_len;
};

/* A run begins; the caller holds generation 1. */
MUST_CHECK int execution_open(struct db *db, struct arena *a,
	const struct execution_owner *owner, const struct execution_new *n,
	struct err *e);

/* Extend the lease: OK, CANCELLED or LOST. */
MUST_CHECK int execution_renew(struct db *db, struct arena *a, const char *id,
	int64_t generation, int64_t lease_s, enum execution_outcome *outcome,
	struct err *e);

/* Of a claimed run that cannot go on here, before any call of it: it waits as
 * before.  OK, CANCELLED, LOST, REFUSED. */
MUST_CHECK int execution_release(struct db *db, struct arena *a,
	const char *id, int64_t generation, enum execution_outcome *outcome,
	struct err *e);

/*
 * Store the heap of a run with no call under way and at least one waiting;
 * it expires KEEP_S after the last deadline of its questions.  OK, AGAIN,
 * CANCELLED or LOST.  Afterwards execution_state may say that it can go on at
 * once: a decision may have come meanwhile.
 */
MUST_CHECK int execution_suspend(struct db *db, struct arena *a,
	const char *id, int64_t generation, const void *heap, size_t heap_len,
	int64_t wall_used_ms, int64_t keep_s, enum execution_outcome *outcome,
	struct err *e);

struct execution_end {
	const char *status;	 /* completed, failed or cancelled */
	const char *run_outcome; /* one word: finished, failed, timed_out */
	const char *result;	 /* the answer, JSON; kept for duplicates */
	const char *error;	 /* may be NULL */
	int64_t wall_used_ms;
};

/* The run is over: OK, AGAIN, CANCELLED or LOST. */
MUST_CHECK int execution_settle(struct db *db, struct arena *a,
	const char *id, int64_t generation, const struct execution_end *end,
	enum execution_outcome *outcome, struct err *e);

/* How ID stands, for OWNER; changes nothing. */
MUST_CHECK int execution_state(struct db *db, struct arena *a, const char *id,
	const struct execution_owner *owner, enum execution_outcome *outcome,
	struct execution *out, struct err *e);

struct execution_decision {
	int64_t seq;	    /* -1: the only question there ever was */
	const char *action; /* accept, decline, cancel; NULL: none */
	const char *answer; /* JSON; may be NULL */
};

/*
 * Note a decision of the owner and take the run up if it can go on.  Of any
 * number of callers at once one gets EXECUTION_CLAIMED.
 */
MUST_CHECK int execution_resume(struct db *db, struct arena *a,
	const char *id, const struct execution_owner *owner,
	const struct execution_decision *d, const char *engine,
	int64_t lease_s, enum execution_outcome *outcome,
	struct execution *out, struct err *e);

/*
 * For mcp-admin.  MESSAGE: a sentence to print; ERR_INVALID, and db_message
 * says why, when there is nothing to decide.  SEQ -1: the only call waiting.
 */
MUST_CHECK int execution_approve(struct db *db, struct arena *a,
	const char *id, int64_t seq, const char *note, const char **message,
	struct err *e);
MUST_CHECK int execution_decline(struct db *db, struct arena *a,
	const char *id, int64_t seq, const char *note, const char **message,
	struct err *e);
MUST_CHECK int execution_cancel(struct db *db, struct arena *a,
	const char *id, const char *note, bool *was_there, struct err *e);

/* execution_id, organization_id, account_id, status, outcome, created_at,
 * ended_at, calls, heap_bytes; latest first; NULL: any */
enum { EXECUTION_LIST_COLUMNS = 9 };
MUST_CHECK int execution_list(struct db *db, struct arena *a,
	const char *organization_id, const char *status, int64_t limit,
	struct db_res *out, struct err *e);

/* execution_id, organization_id, account_id, issuer, session_hint, status,
 * outcome, error, engine, generation, code_sha256, created_at,
 * waiting_since, deadline_at, ended_at, wall_used_ms, result; one row or
 * none */
enum { EXECUTION_SHOW_COLUMNS = 17 };
MUST_CHECK int execution_show(struct db *db, struct arena *a, const char *id,
	struct db_res *out, struct err *e);

#endif
