/* SPDX-License-Identifier: ISC */
/*
 * run: one execution of a program, from its source to the result of the
 * tools/call that asked for it.  Knows nothing of HTTP.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

struct arena;
struct buf;
struct conf;
struct err;
struct sandbox_result;

/* Characters of text after which a result is cut (PRIOR-SYSTEM 4.5). */
#define RUN_TEXT_CHARS_MAX 30000

/*
 * Run CODE in a sandbox within the limits of CONF and write a CallToolResult
 * to RESULT, with structuredContent when IS_STRUCTURED.  A program that fails
 * or hits a limit is such a result too (isError), and so is a sandbox that
 * does not come up.  Blocks up to execute_wall_ms.  Fails with
 * ERR_UNAVAILABLE when no process can be made.
 */
MUST_CHECK int run_execute(const struct conf *conf, struct arena *a,
	const char *code, bool is_structured, const char *request_id,
	struct buf *result, struct err *e);

/*
 * What run_execute writes for R, which came from outside and is checked here:
 * a result that is no JSON is a crash.
 */
void run_render(const struct sandbox_result *r, struct arena *a,
	bool is_structured, const char *request_id, struct buf *result);

/*
 * JSON text, valid, in lines indented by two spaces.  Strings and numbers
 * keep their source text.
 */
void run_pretty(struct buf *out, const char *json, size_t len);

#endif
