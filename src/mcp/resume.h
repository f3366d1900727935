/* SPDX-License-Identifier: ISC */
/* resume: the tool that passes a human's word on to a waiting run. */
#ifndef MCP_RESUME_H
#define MCP_RESUME_H

struct buf;
struct cJSON;
struct err;
struct method_caller;

/* Whether anything could wait: there are tools, and a keyring. */
bool resume_is_there(const struct method_caller *c);

/* Its entry in tools/list, with a comma before it. */
void resume_list(const struct method_caller *c, struct buf *out);

/* As run_resume. */
MUST_CHECK int resume_call(const struct method_caller *c,
	const struct cJSON *arguments, struct buf *result, struct err *e);

#endif
