/* SPDX-License-Identifier: ISC */
/*
 * fault: the one table from what went wrong to what the client sees: HTTP
 * status, WWW-Authenticate, JSON-RPC code and text (BEHAVIOUR.md 3-5, 9).
 */
#ifndef APP_FAULT_H
#define APP_FAULT_H

struct conf;
struct err;
struct msg;
struct res;

enum fault {
	FAULT_PATH,
	FAULT_METHOD,
	FAULT_REQUEST, /* not HTTP as we know it */
	FAULT_HEADERS,
	FAULT_BODY,
	FAULT_HOST,
	FAULT_ORIGIN,
	FAULT_TOKEN_ABSENT,
	FAULT_TOKEN_EXPIRED,
	FAULT_TOKEN_INVALID,
	FAULT_AUTH_DOWN,
	FAULT_CONTENT_TYPE,
	FAULT_ACCEPT_POST,
	FAULT_ACCEPT_GET,
	FAULT_PARSE,
	FAULT_MESSAGE,
	FAULT_NO_ORGANIZATION,
	FAULT_SESSION_ABSENT_GET,
	FAULT_SESSION_ABSENT,
	FAULT_SESSION_GONE,
	FAULT_SESSION_FOREIGN,
	FAULT_VERSION,
	FAULT_DOWN,
	FAULT_UPSTREAM,
	FAULT_INTERNAL,
	FAULT__MAX
};

struct fault_answer {
	const char *text; /* in place of the table's, or NULL */
	const struct msg *msg; /* whose id is echoed if it has one, or NULL */
	bool omit_id;	       /* else no "id":null (2025-11-25) */
	const char *data;      /* JSON text of error.data, or NULL */
};

/* The fault that a failure of kind E->kind is, where no step knows better. */
enum fault fault_of(const struct err *e);

/*
 * Put the answer to FAULT into R.  The common headers are the caller's.
 * ANSWER may be NULL.
 */
void fault_respond(struct res *r, const struct conf *conf, enum fault fault,
	const struct fault_answer *answer);

int fault_status(enum fault fault);
/* Short word for the log. */
const char *fault_name(enum fault fault);

#endif
