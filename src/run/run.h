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

/* Characters of text after which a result is cut (PRIOR-SYSTEM 4.5). */
#define RUN_TEXT_CHARS_MAX 30000
/* Bytes of JSON after which structuredContent.result is replaced. */
#define RUN_RESULT_BYTES_MAX 262144
/* Bytes of log lines in structuredContent. */
#define RUN_LOGS_BYTES_MAX 65536

/*
 * Run CODE in a sandbox within the limits of CONF and write a CallToolResult
 * to RESULT, with structuredContent when IS_STRUCTURED.  A program that fails
 * or hits a limit is such a result too (isError).  Blocks up to
 * execute_wall_ms.  Fails only when no sandbox can be started:
 * ERR_UNAVAILABLE or ERR_INTERNAL.
 */
MUST_CHECK int run_execute(const struct conf *conf, struct arena *a,
	const char *code, bool is_structured, const char *request_id,
	struct buf *result, struct err *e);

#endif
