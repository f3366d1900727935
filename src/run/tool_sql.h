/* SPDX-License-Identifier: ISC */
/*
 * tool_sql: PostgreSQL functions as tools.
 *
 * Arguments reach the function by name, as json_to_record types them from
 * the definition, so that arrays, composite types and 64-bit numbers arrive
 * whole; what the caller leaves out takes the function's default.  It runs
 * under the source's role, which the responder's own database insists on: the
 * responder's login can do what no tool may.
 *
 * source.config: {"service": NAME of pg_service.conf, absent: the responder's
 * database; "role", "timeout_ms": 5000, "max_rows": 1000}
 * tool.definition: {"schema", "function", "arg_names": [], "arg_types": [],
 * "optional": how many of the last have a default, "is_variadic",
 * "volatile", "returns_set", "returns": "void" or a type}
 *
 * The data of a function that returns a set is {"rows": [...], "truncated":
 * whether there were more}, of any other its value.
 */
#ifndef RUN_TOOL_SQL_H
#define RUN_TOOL_SQL_H

struct arena;
struct call_answer;
struct dbtask;
struct dbtask_pool;
struct tool_sql;

struct tool_sql_env {
	struct dbtask_pool *pool;
	const char *database; /* conninfo of the responder's own */
	bool is_pooled;	      /* database_pooler */
	int64_t timeout_ms;   /* no call is given more */
	size_t max_bytes;     /* of a result */
};

/*
 * Begin a call with ARGS, the text of a JSON object.  NULL: it cannot begin,
 * *ANSWER in A says why.  CONFIG, DEFINITION and ARGS last as long as it.
 */
struct tool_sql *tool_sql_start(const struct tool_sql_env *env,
	struct arena *a, const char *config, const char *definition,
	const char *args, size_t args_len, struct call_answer *answer);

/* Go on; true: it is over, with *ANSWER in the arena. */
bool tool_sql_step(struct tool_sql *t, struct call_answer *answer);

/* For the poll loop. */
const struct dbtask *tool_sql_task(const struct tool_sql *t);

void tool_sql_close(struct tool_sql *t);

/* source.config, read. */
struct tool_sql_config {
	const char *conninfo;
	bool is_pooled;
	const char *role; /* NULL: the login's own */
	int64_t timeout_ms;
	int64_t max_rows;
};

/* NULL with *OUT in A, or what is wrong with TEXT. */
const char *tool_sql_configure(const struct tool_sql_env *env,
	struct arena *a, const char *text, struct tool_sql_config *out);

#endif
