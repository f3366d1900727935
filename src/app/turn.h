/* SPDX-License-Identifier: ISC */
/*
 * turn: one request on its way to its answer: what the steps have found so
 * far, and how a step answers or fails.
 */
#ifndef APP_TURN_H
#define APP_TURN_H

#include "app/fault.h"
#include "auth/bearer.h"
#include "http/req.h"
#include "http/res.h"
#include "mcp/revision.h"
#include "rpc/msg.h"
#include "store/session.h"

struct app;
struct arena;
struct buf;
struct conf;
struct err;

struct turn {
	struct app *app;
	const struct conf *conf;
	struct arena *arena;
	char rid[17];	   /* request id: 8 random bytes in hex */
	const char *event; /* what the log line at the end is about */
	const char *why;   /* a word for it, or NULL */
	struct req req;
	struct res res;
	struct principal principal;
	struct msg_body body;
	struct session_caller caller;
	struct session session;
	enum revision revision;
	bool is_document; /* discovery metadata, for everybody */
	bool is_stream;	  /* the answer has left already */
};

/*
 * The headers of every response, errors included (BEHAVIOUR 9).  The
 * preflight alone keeps the exact value of BEHAVIOUR 1.
 */
void turn_headers(struct turn *t);

/*
 * Answer with FAULT in place of whatever was there; -1 always, so that steps
 * can say return turn_fail(...).
 */
int turn_fail(struct turn *t, enum fault fault);
int turn_fail_with(struct turn *t, enum fault fault,
	const struct fault_answer *answer);
/* The same for a failure that ends here: the log gets the details. */
int turn_fail_err(struct turn *t, enum fault fault, const struct err *e);

/* Whether the client takes nothing but an event stream (B-21). */
bool turn_wants_events(const struct turn *t);

/* 200 with JSON as it is, or as the only event of a stream. */
void turn_json(struct turn *t, const struct buf *json);

#endif
