/* SPDX-License-Identifier: ISC */
/* dispatch: a call of a tool, handed to whoever knows its kind. */
#ifndef RUN_DISPATCH_H
#define RUN_DISPATCH_H

struct arena;
struct call_answer;
struct catalog_tool;
struct dbtask;
struct dispatch;
struct run_env;

/*
 * Begin a call of TOOL, no script, with ARGS, a JSON object.  NULL: it cannot
 * begin, *ANSWER says why.  All lives in A, and as long as *TOOL and ARGS.
 */
struct dispatch *dispatch_start(const struct run_env *env, struct arena *a,
	const struct catalog_tool *tool, const char *args, size_t args_len,
	struct call_answer *answer);

/* True: it is over, with *ANSWER in the arena. */
bool dispatch_step(struct dispatch *d, struct call_answer *answer);

/* What to poll for besides fetch_poll; NULL: nothing. */
const struct dbtask *dispatch_task(const struct dispatch *d);

/* NULL is fine. */
void dispatch_close(struct dispatch *d);

/* The body of a script; NULL: its definition has none. */
const char *dispatch_script(struct arena *a, const struct catalog_tool *tool);

#endif
