/* SPDX-License-Identifier: ISC */
/*
 * sqlimport: PostgreSQL functions as rows of mcp.tool, from what pg_proc
 * knows of them: names, types and defaults of arguments, comments.  For
 * mcp-admin.
 */
#ifndef RUN_SQLIMPORT_H
#define RUN_SQLIMPORT_H

struct arena;
struct err;
struct tool_sql_env;

struct sqlimport_refusal {
	const char *function;
	const char *reason;
};

struct sqlimport {
	const char *tools; /* JSON array as source_import takes it */
	size_t n_tools;
	struct sqlimport_refusal *refused;
	size_t n_refused;
};

/*
 * The functions of SCHEMA whose names are LIKE PATTERN and that the role of
 * the source's CONFIG may execute.  A comment on a function becomes its
 * description; lines "@param NAME text" in it describe its arguments.  *OUT
 * lives in A.  Blocks up to the source's timeout.  Fails with ERR_INVALID
 * (CONFIG, or the server refuses the role) or ERR_UNAVAILABLE.
 */
MUST_CHECK int sqlimport_run(const struct tool_sql_env *env, struct arena *a,
	const char *config, const char *schema, const char *pattern,
	struct sqlimport *out, struct err *e);

#endif
