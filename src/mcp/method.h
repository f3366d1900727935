/* SPDX-License-Identifier: ISC */
/*
 * method: the table of MCP methods, and what a handler is given.  Knows
 * nothing of HTTP.
 */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include "mcp/revision.h"
#include "store/session.h"

struct arena;
struct buf;
struct check;
struct conf;
struct db;
struct dbtask_pool;
struct err;
struct fetch;
struct listed_cache;
struct msg;
struct seal;

/* One caller in one session, for one request. */
struct method_caller {
	struct arena *arena;
	const struct conf *conf;
	struct db *db;
	struct session_caller caller; /* resolved: no token digest needed */
	const char *session_id;
	enum revision revision;
	const char *request_id; /* for texts that send people to the log */
	/* of the organisation's catalogue, as session_enter said */
	int64_t catalog_version; /* 0: there is none */
	int64_t listed_tools;
	/* what calls of tools need */
	struct fetch *fetch; /* reaches only what a source's row allows */
	struct dbtask_pool *pool;
	struct check *check; /* may be NULL */
	struct seal *keys;   /* NULL: no keyring */
	struct listed_cache *listed;
};

/*
 * Answer request M: JSON text of the result into RESULT, or -1 with a JSON-RPC
 * error code in E.  A tool's failure is a result.  ERR_UNAVAILABLE and
 * ERR_TIMEOUT are left to the caller, who answers for the whole request.
 */
MUST_CHECK int method_call(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e);

/* Act on notification M; unknown ones are ignored. */
MUST_CHECK int method_notify(const struct method_caller *c,
	const struct msg *m, struct err *e);

/* -32602 with the text PUB; -1 always, for use in return statements. */
int method_bad_params(struct err *e, const char *pub);

#endif
