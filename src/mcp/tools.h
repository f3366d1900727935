/* SPDX-License-Identifier: ISC */
/* tools: tools/list and tools/call. */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

struct buf;
struct err;
struct method_caller;
struct msg;

MUST_CHECK int tools_list(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e);
MUST_CHECK int tools_call(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e);

#endif
