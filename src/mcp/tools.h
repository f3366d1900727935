/* SPDX-License-Identifier: ISC */
/* tools: tools/list and tools/call. */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "run/run.h"

struct buf;
struct err;
struct method_caller;
struct msg;

MUST_CHECK int tools_list(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e);
MUST_CHECK int tools_call(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e);

/* What a run needs of C. */
struct run_env tools_env(const struct method_caller *c);

/*
 * Wrong arguments are a result with isError in every revision: only so does
 * the model see the text and can do better.
 */
void tools_bad_arguments(struct buf *result, const char *text);

#endif
