/* SPDX-License-Identifier: ISC */
/*
 * loop: one stretch of a run, from start or resumption to its end or its
 * suspension: the poll loop over the sandbox and the calls under way, and the
 * ledger of those calls.
 */
#ifndef RUN_LOOP_H
#define RUN_LOOP_H

#include "run/engine.h"
#include "run/sandbox.h"
#include "store/execution.h"

struct call_answer;
struct ledger_call;
struct loop;
struct render_call;
struct run_env;

struct loop_begin {
	struct sandbox_program program;
	unsigned char code_sha256[32];
	/* of a run that goes on */
	const char *execution_id; /* NULL: it begins */
	int64_t generation;
	int64_t wall_used_ms;
	const struct ledger_call *call; /* its calls so far */
	size_t n_calls;
	const char *blocks; /* as loop_blocks said; NULL: none */
};

enum loop_end_kind {
	LOOP_ENDED,	/* result */
	LOOP_SUSPENDED, /* heap, to be stored; result has its console lines */
	LOOP_STOPPED,	/* by an administrator, or somebody else has the run */
};

struct loop_end {
	enum loop_end_kind kind;
	const struct sandbox_result *result;
	struct sandbox_heap heap;
	enum execution_outcome stop; /* LOOP_STOPPED: CANCELLED or LOST */
	/* in the row: valid once a call was made */
	const char *execution_id; /* NULL: there is no row */
	int64_t generation;
	const char *engine;
	int64_t wall_used_ms; /* with what was used before */
};

/* ENV and BEGIN last as long as *OUT.  Fails as sandbox_start does. */
MUST_CHECK int loop_open(const struct run_env *env,
	const struct loop_begin *begin, struct loop **out, struct err *e);

/* Until something comes of it. */
void loop_run(struct loop *l, struct loop_end *end);

/*
 * The same for one call that no program makes.  Nothing is done when it needs
 * a program to wait in, or is one: loop_needs_program.
 */
void loop_open_alone(const struct run_env *env, const char *path,
	const char *args, size_t args_len, struct loop **out);
bool loop_needs_program(const struct loop *l);

/* The calls so far; questions that are open. */
const struct render_call *loop_calls(struct loop *l, size_t *n);
const struct ledger_call *const *loop_questions(struct loop *l, size_t *n);

/*
 * Images, audio and files that tools answered with: content blocks with commas
 * between them, "" when there are none.
 */
const char *loop_blocks(const struct loop *l);

/* What the first call that the program made was answered, in this process;
 * NULL: nothing yet. */
const struct call_answer *loop_first_answer(const struct loop *l);

void loop_close(struct loop *l);

#endif
