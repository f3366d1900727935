/* SPDX-License-Identifier: ISC */
/*
 * policy: the words of decisions on calls: what is asked, and what a program
 * is told of the answer.  Who decides is in store/policy.h.
 */
#ifndef RUN_POLICY_H
#define RUN_POLICY_H

struct arena;
struct call_answer;
struct catalog_tool;
struct check_verdict;
struct ledger_call;

/* "Approve crm.remove? (matched policy: crm.*)", or the tool's own text. */
const char *policy_question(struct arena *a, const struct catalog_tool *tool);

/* {message,requestedSchema} of ctx.elicit; *SCHEMA is NULL without one. */
void policy_elicit(struct arena *a, const char *args, size_t len,
	const char **message, const char **schema);

/* ROW was declined, cancelled, or not approved in time. */
void policy_declined(struct call_answer *answer, struct arena *a,
	const struct ledger_call *row);

/* What ctx.elicit resolves to: {action, content?}. */
void policy_answer(struct call_answer *answer, struct arena *a,
	const struct ledger_call *row);

/* A word is needed, and nothing can wait here. */
void policy_cannot_wait(struct call_answer *answer, struct arena *a,
	const char *path, bool is_elicit);

void policy_bad_arguments(struct call_answer *answer, struct arena *a,
	const struct catalog_tool *tool, const struct check_verdict *v);

#endif
