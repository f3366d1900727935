/* SPDX-License-Identifier: ISC */
/*
 * run: the life of an execution, from a program's source to the result of the
 * tools/call that asked for it, over calls of tools and, where somebody's
 * word is needed, over a row that any process goes on from.  Knows nothing of
 * HTTP.
 *
 * A run that makes no call is no row.  Its row is opened before its first
 * call; every call is committed before it is sent, and settled before the
 * program learns of it.  A program that waits for nothing but words is
 * suspended; its process ends, and with it everything but the row.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "store/execution.h"

struct arena;
struct buf;
struct check;
struct conf;
struct db;
struct dbtask_pool;
struct err;
struct fetch;
struct seal;

/* For whom, and with what, one request runs something. */
struct run_env {
	const struct conf *conf;
	struct arena *arena; /* the request's */
	struct db *db;
	struct fetch *fetch;
	struct dbtask_pool *pool;
	struct check *check; /* NULL: arguments are not looked at */
	struct seal *keys;   /* NULL: nothing can wait */
	struct execution_owner owner;
	const char *session_id;
	const char *request_id;
	int64_t deadline_ms; /* of the request, by clock_mono_ms */
	bool has_tools;	     /* the organisation has a catalogue */
	bool is_structured;  /* the client knows structuredContent */
};

/*
 * Run CODE and write a CallToolResult to RESULT.  A program that fails or
 * hits a limit is such a result too (isError), so is one that waits, and so is
 * a sandbox that does not come up.  Blocks up to nine tenths of
 * front_timeout_s.  Fails with ERR_UNAVAILABLE when no process can be made.
 */
MUST_CHECK int run_execute(const struct run_env *env, const char *code,
	struct buf *result, struct err *e);

/*
 * The same for one call of the tool at PATH with ARGS, a JSON object, as if a
 * program had made it.
 */
MUST_CHECK int run_tool(const struct run_env *env, const char *path,
	const char *args, size_t args_len, struct buf *result, struct err *e);

struct run_word {
	const char *id;	     /* of the execution, as given */
	const char *action;  /* accept, decline, cancel */
	const char *content; /* JSON object; NULL: none */
	int64_t seq;	     /* -1: the only question */
};

/*
 * Pass on the owner's word and go on with the run, wherever it began.  The
 * result of the run, of its next pause, or of why there is none.  While
 * another process runs it: waits, up to execute_wall_ms, for what comes of
 * it.  Otherwise as run_execute; also fails with ERR_UNAVAILABLE and
 * ERR_TIMEOUT of the database, when nothing has been changed or a repetition
 * is safe.
 */
MUST_CHECK int run_resume(const struct run_env *env,
	const struct run_word *word, struct buf *result, struct err *e);

#endif
