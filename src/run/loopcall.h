/* SPDX-License-Identifier: ISC */
/*
 * loopcall: the calls of one stretch of a run: noted, asked about, sent,
 * answered.  The inner half of loop, which alone includes this.
 */
#ifndef RUN_LOOPCALL_H
#define RUN_LOOPCALL_H

#include "base/buf.h"
#include "run/call.h"
#include "run/engine.h"
#include "run/sandbox.h"
#include "store/execution.h"
#include "store/ledger.h"

struct arena;
struct catalog_tool;
struct dispatch;
struct loop_begin;
struct run_env;

enum {
	LOOPCALL_LEASE_S = 30, /* of the run's row */
	LOOPCALL_RENEW_MS = 10000,
	/* What one call may take beside its arguments and result: its tool's
	 * row, a tree of its arguments, the request. */
	LOOPCALL_ARENA_BASE = 64 << 20,
};

enum call_state {
	CALL_QUEUED,
	CALL_UNDER_WAY,
	CALL_SCRIPT, /* under way within the sandbox */
	CALL_ASKED,
	CALL_OVER,
};

struct loop_call {
	uint32_t number;
	const char *path;
	const char *args;
	size_t args_len;
	enum call_state state;
	enum ledger_status status;
	bool is_unsent; /* and will not be: answered at once */
	int64_t start_ms;
	int64_t ms; /* -1: not known */
	struct arena *arena; /* while it is under way */
	struct dispatch *dispatch;
	struct ledger_call row; /* CALL_ASKED; decision before a resumption */
};

struct loop {
	const struct run_env *env;
	const struct loop_begin *begin; /* NULL: alone */
	struct arena *arena;
	struct sandbox_limits limits;
	struct sandbox *sb; /* NULL: alone */
	struct loop_call **call;
	size_t n_calls;
	size_t cap_calls;
	size_t n_under_way;
	size_t n_queued;
	size_t n_asked;
	bool is_over; /* the sandbox has said its last word */
	bool is_idle;
	bool is_suspending;
	bool has_decisions; /* to be carried out at the first IDLE */
	bool needs_program;
	bool is_row;
	char id[EXECUTION_ID_LEN + 1];
	char engine[ENGINE_ID_LEN + 1];
	int64_t generation;
	int64_t renew_ms;
	int64_t deadline_ms;
	size_t n_left; /* requests that runs before left behind */
	bool is_stopped;
	enum execution_outcome stop;
	struct call_answer first; /* json NULL: none yet */
	struct buf blocks;
	size_t n_blocks;
};

/* A call that waits for its turn. */
struct loop_call *loopcall_add(struct loop *l, uint32_t number,
	const char *path, const char *args, size_t args_len);
void loopcall_set_state(struct loop *l, struct loop_call *c,
	enum call_state state);

/* Memory until it is over; loopcall_release gives it back. */
struct arena *loopcall_arena(struct loop *l, struct loop_call *c);
void loopcall_release(struct loop_call *c);

/* The run is not to go on here. */
void loopcall_stop(struct loop *l, enum execution_outcome why);

/* Take C's turn: look it up, ask about it or send it. */
void loopcall_begin(struct loop *l, struct loop_call *c);

/* Answer C without sending it: nothing of it is noted. */
void loopcall_refuse(struct loop *l, struct loop_call *c,
	const struct call_answer *answer);

/* Ask for a word on C, a call of TOOL (NULL: a question of the program's).
 * MESSAGE and SCHEMA may live in its arena. */
void loopcall_ask(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool, const char *message,
	const char *schema);

/* Carry out the words that have come for questions. */
void loopcall_carry_out(struct loop *l);

/* C has ended with ANSWER: note it, tell the program. */
void loopcall_finish(struct loop *l, struct loop_call *c,
	const struct call_answer *answer);

/* Note what came of C; false: the run is not this process's any more. */
bool loopcall_note_end(struct loop *l, struct loop_call *c,
	enum ledger_status status, bool is_error, const char *json,
	size_t len);

/* Tell the program. */
void loopcall_give(struct loop *l, const struct loop_call *c,
	const struct call_answer *answer, enum sandbox_answer how);

#endif
