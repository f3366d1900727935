/* SPDX-License-Identifier: ISC */
/* builtin: tools.search and tools.describe, answered from the catalogue. */
#ifndef RUN_BUILTIN_H
#define RUN_BUILTIN_H

struct arena;
struct call_answer;
struct sandbox_call;
struct run_env;

/* Answer C if it is one of them; false: it is not. */
bool builtin_call(const struct run_env *env, struct arena *a,
	const struct sandbox_call *c, struct call_answer *answer);

/* Nothing visible is at PATH; SUGGESTIONS: a JSON array, or NULL. */
void builtin_not_found(struct call_answer *answer, struct arena *a,
	const char *path, const char *suggestions);

#endif
