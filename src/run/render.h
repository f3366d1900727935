/* SPDX-License-Identifier: ISC */
/*
 * render: what came of a run as a CallToolResult: text for models, structure
 * for programs.  Both say what has run (B-57).
 */
#ifndef RUN_RENDER_H
#define RUN_RENDER_H

struct arena;
struct buf;
struct call_answer;
struct ledger_call;
struct sandbox_result;

/* Characters of text after which a result is cut (PRIOR-SYSTEM 4.5). */
#define RENDER_TEXT_CHARS_MAX 30000

struct render_call {
	int64_t seq;
	const char *path;
	const char *status; /* as the ledger spells it */
	int64_t ms;	    /* -1: not known */
};

struct render_run {
	const struct sandbox_result *result;
	const char *const *logs; /* from before the run was suspended */
	size_t n_logs;
	const struct render_call *call;
	size_t n_calls;
	const char *blocks; /* content blocks behind the text; NULL: none */
	const char *execution_id; /* NULL: the run is no row */
	const char *request_id;
};

/*
 * A CallToolResult of R, with structuredContent when IS_STRUCTURED, into OUT.
 * What came from the sandbox is checked here: a result that is no JSON is a
 * crash.  True: it completed.
 */
bool render_result(const struct render_run *r, bool is_structured,
	struct buf *out);

/* One tool, called by itself: its data, or its error. */
void render_answer(const struct call_answer *answer, bool is_structured,
	struct buf *out);

/* The run waits for the words that QUESTIONS, at least one, ask for. */
void render_waiting(const struct render_run *r,
	const struct ledger_call *const *question, size_t n_questions,
	const char *deadline, bool is_structured, struct buf *out);

struct render_refusal {
	const char *status;  /* "execution_expired" */
	const char *message;
	bool must_run_again; /* nothing comes of it any more */
	const char *outcome; /* of the run; may be NULL */
};

/* A resume that leads nowhere: isError. */
void render_refusal(const struct render_refusal *refusal,
	const struct render_run *r, bool is_structured, struct buf *out);

/* A result that was rendered with its structure, for who wants none. */
void render_again(const char *json, bool is_structured, struct buf *out);

/*
 * JSON text, valid, in lines indented by two spaces.  Strings and numbers
 * keep their source text.
 */
void render_pretty(struct buf *out, const char *json, size_t len);

#endif
