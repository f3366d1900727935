/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/tool_sql.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/log.h"
#include "run/call.h"
#include "store/dbtask.h"

enum {
	TIMEOUT_MS = 5000, /* defaults of a source */
	MAX_ROWS = 1000,
	ROWS_LIMIT = 100000,
	ARGS_DEPTH = 64,
};

struct tool_sql {
	struct arena *arena;
	struct dbtask *task;
	int64_t max_rows;
	bool is_set;
	bool is_volatile;
	const char *params[1];
};

/*
 * Configuration.
 */

static bool
is_service_name(const char *s)
{
	return s[0] != '\0' &&
		s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] ==
		'\0';
}

const char *
tool_sql_configure(const struct tool_sql_env *env, struct arena *a,
	const char *text, struct tool_sql_config *out)
{
	const struct cj_limits limits = { .depth_max = 8 };
	const char *service;
	struct cJSON *v;
	struct err e;

	err_clear(&e);
	if (cj_parse(a, text, strlen(text), &limits, &v, &e) != 0 ||
		!cj_is_object(v))
		return "config is no JSON object";
	*out = (struct tool_sql_config){ .conninfo = env->database,
		.is_pooled = env->is_pooled,
		.role = cj_get_string(v, "role"),
		.timeout_ms = TIMEOUT_MS,
		.max_rows = MAX_ROWS };
	service = cj_get_string(v, "service");
	if (cj_get(v, "service") != NULL && service == NULL)
		return "service is no string";
	if (cj_get(v, "role") != NULL && out->role == NULL)
		return "role is no string";
	/* SET ROLE none is the login again. */
	if (out->role != NULL &&
		(out->role[0] == '\0' || strcasecmp(out->role, "none") == 0))
		return "role is no role";
	if (service != NULL) {
		if (!is_service_name(service))
			return "service is no name of pg_service.conf";
		out->conninfo = arena_printf(a, "service=%s", service);
		out->is_pooled = false;
	} else if (out->role == NULL) {
		return "role is needed in the responder's own database";
	}
	if (cj_get(v, "timeout_ms") != NULL &&
		!cj_get_int(v, "timeout_ms", 1, 3600000, &out->timeout_ms))
		return "timeout_ms is out of range";
	if (cj_get(v, "max_rows") != NULL &&
		!cj_get_int(v, "max_rows", 1, ROWS_LIMIT, &out->max_rows))
		return "max_rows is out of range";
	if (out->timeout_ms > env->timeout_ms)
		out->timeout_ms = env->timeout_ms;
	return NULL;
}

/*
 * The statement.
 */

static void
put_identifier(struct buf *b, const char *s)
{
	buf_putc(b, '"');
	for (; *s != '\0'; s++) {
		if (*s == '"')
			buf_putc(b, '"');
		buf_putc(b, *s);
	}
	buf_putc(b, '"');
}

/*
 * Is it a type as format_type writes it?  Words, dots, brackets and quoted
 * names: nothing that could end the list it is put into.
 */
static bool
is_type(const char *s)
{
	bool is_quoted = false;

	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++) {
		if (*s == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					      "abcdefghijklmnopqrstuvwxyz"
					      "0123456789_ .[]$",
					       *s) == NULL &&
			(unsigned char)*s < 0x80)
			return false;
	}
	return !is_quoted;
}

static const char *
string_at(const struct cJSON *array, size_t i)
{
	return cj_string(cj_array_at(array, i));
}

static bool
is_definition(const struct cJSON *d)
{
	const struct cJSON *names = cj_get_array(d, "arg_names");
	const struct cJSON *types = cj_get_array(d, "arg_types");
	size_t i;

	if (cj_get_string(d, "schema") == NULL ||
		cj_get_string(d, "function") == NULL || names == NULL ||
		types == NULL || cj_array_len(names) != cj_array_len(types))
		return false;
	for (i = 0; i < cj_array_len(names); i++)
		if (string_at(names, i) == NULL ||
			string_at(types, i) == NULL ||
			!is_type(string_at(types, i)))
			return false;
	return true;
}

/* The name of a member of ARGS that is no argument; NULL: none. */
static const char *
stranger(const struct cJSON *args, const struct cJSON *names)
{
	const struct cJSON *v;
	size_t i;

	for (v = cj_first(args); v != NULL; v = cj_next(v)) {
		for (i = 0; i < cj_array_len(names); i++)
			if (strcmp(string_at(names, i), cj_name(v)) == 0)
				break;
		if (i == cj_array_len(names))
			return cj_name(v);
	}
	return NULL;
}

static void
put_call(struct buf *b, const struct cJSON *d, const struct cJSON *args)
{
	const struct cJSON *names = cj_get_array(d, "arg_names");
	const struct cJSON *types = cj_get_array(d, "arg_types");
	size_t i, n = cj_array_len(names);
	bool is_variadic = false, has_any = false;

	(void)cj_get_bool(d, "is_variadic", &is_variadic);
	put_identifier(b, cj_get_string(d, "schema"));
	buf_putc(b, '.');
	put_identifier(b, cj_get_string(d, "function"));
	buf_putc(b, '(');
	for (i = 0; i < n; i++) {
		const char *name = string_at(names, i);
		bool is_last = is_variadic && i == n - 1;

		if (cj_get(args, name) == NULL && !is_last)
			continue;
		buf_puts(b, has_any ? ", " : "");
		has_any = true;
		if (is_last)
			buf_puts(b, "VARIADIC ");
		put_identifier(b, name);
		if (cj_get(args, name) == NULL) {
			/* PostgreSQL has no default for it by name. */
			buf_printf(b, " => '{}'::%s", string_at(types, i));
			continue;
		}
		buf_puts(b, " => mcp_args.");
		put_identifier(b, name);
	}
	buf_putc(b, ')');
}

/*
 * SELECT value FROM (SELECT value FROM json_to_record($1) AS args (...),
 * function(...) LIMIT n): a row of more than max_bytes is NULL.
 */
static const char *
make_statement(struct arena *a, const struct cJSON *d,
	const struct cJSON *args, int64_t limit, size_t max_bytes)
{
	const struct cJSON *names = cj_get_array(d, "arg_names");
	const struct cJSON *types = cj_get_array(d, "arg_types");
	const char *returns = cj_get_string(d, "returns");
	size_t i;
	bool has_any = false, is_void;
	struct buf b;

	is_void = returns != NULL && strcmp(returns, "void") == 0;
	buf_init(&b, a);
	buf_printf(&b,
		"SELECT CASE WHEN octet_length(v) <= %zu THEN v END FROM "
		"(SELECT %s AS v FROM (SELECT $1::pg_catalog.json) AS "
		"mcp_json (json)",
		max_bytes,
		is_void ? "'null'::text" :
			  "coalesce(to_json(mcp_row)::text, 'null')");
	for (i = 0; i < cj_array_len(names); i++) {
		const char *name = string_at(names, i);

		if (cj_get(args, name) == NULL)
			continue;
		buf_puts(&b, has_any ? ", " :
			", pg_catalog.json_to_record(mcp_json.json) AS "
			"mcp_args (");
		has_any = true;
		put_identifier(&b, name);
		buf_putc(&b, ' ');
		buf_puts(&b, string_at(types, i));
	}
	if (has_any)
		buf_putc(&b, ')');
	buf_puts(&b, ", LATERAL ");
	put_call(&b, d, args);
	buf_printf(&b, " AS mcp_row LIMIT %" PRId64 ") AS mcp_rows", limit);
	return b.data;
}

/*
 * A call.
 */

static void *
fail(struct call_answer *answer, struct arena *a, const char *code,
	const char *message)
{
	call_fail(answer, a, CALL_FAILED,
		&(struct call_fault){ .code = code, .message = message });
	return NULL;
}

static int64_t
count_required(const struct cJSON *d)
{
	int64_t n = (int64_t)cj_array_len(cj_get_array(d, "arg_names"));
	int64_t optional = 0;

	(void)cj_get_int(d, "optional", 0, n, &optional);
	return n - optional;
}

static const char *
check_args(struct arena *a, const struct cJSON *d, const struct cJSON *args)
{
	const struct cJSON *names = cj_get_array(d, "arg_names");
	const char *name = stranger(args, names);
	int64_t i;

	if (name != NULL)
		return arena_printf(a, "There is no argument %.*s",
			(int)buf_utf8_prefix(name, strlen(name), 64), name);
	for (i = 0; i < count_required(d); i++)
		if (cj_get(args, string_at(names, (size_t)i)) == NULL)
			return arena_printf(a, "The argument %s is missing",
				string_at(names, (size_t)i));
	return NULL;
}

struct tool_sql *
tool_sql_start(const struct tool_sql_env *env, struct arena *a,
	const char *config, const char *definition, const char *args,
	size_t args_len, struct call_answer *answer)
{
	const struct cj_limits limits = { .depth_max = ARGS_DEPTH };
	struct dbtask_request r = { .max_bytes = env->max_bytes };
	struct cJSON *d, *v;
	struct tool_sql_config c;
	struct tool_sql *t;
	const char *why;
	struct err e;

	err_clear(&e);
	why = tool_sql_configure(env, a, config, &c);
	if (why != NULL)
		return fail(answer, a, "tool_misconfigured", arena_printf(a,
			"The tool's source is not set up well: %s", why));
	if (cj_parse(a, definition, strlen(definition), &limits, &d, &e) != 0 ||
		!is_definition(d))
		return fail(answer, a, "tool_misconfigured",
			"The tool's definition is no function");
	if (cj_parse(a, args, args_len, &limits, &v, &e) != 0 ||
		!cj_is_object(v))
		return fail(answer, a, "invalid_tool_arguments",
			"The arguments are no JSON object that a database "
			"takes");
	why = check_args(a, d, v);
	if (why != NULL)
		return fail(answer, a, "invalid_tool_arguments", why);

	t = arena_zalloc(a, sizeof(*t));
	t->arena = a;
	t->is_volatile = true;
	(void)cj_get_bool(d, "volatile", &t->is_volatile);
	(void)cj_get_bool(d, "returns_set", &t->is_set);
	t->max_rows = c.max_rows;
	t->params[0] = arena_memdup(a, args, args_len);
	r.conninfo = c.conninfo;
	r.is_pooled = c.is_pooled;
	r.role = c.role;
	r.is_read_only = !t->is_volatile;
	r.timeout_ms = c.timeout_ms;
	r.sql = make_statement(a, d, v, t->is_set ? c.max_rows + 1 : 1,
		env->max_bytes);
	r.params = t->params;
	r.n_params = 1;
	t->task = dbtask_start(env->pool, a, &r);
	return t;
}

static void
succeed(struct tool_sql *t, const struct dbtask_result *r,
	struct call_answer *answer)
{
	bool is_cut = r->is_cut;
	size_t i, n = r->n_rows;
	const char *row;
	bool has_any = false;
	struct buf b;

	if (!t->is_set) {
		row = n > 0 ? r->row[0] : "null";
		if (is_cut || row == NULL)
			fail(answer, t->arena, "result_too_large",
				"The function has run; its result is too "
				"large to be passed on");
		else
			call_succeed(answer, row, strlen(row));
		return;
	}
	if (n > (size_t)t->max_rows) {
		n = (size_t)t->max_rows;
		is_cut = true;
	}
	buf_init(&b, t->arena);
	buf_puts(&b, "{\"rows\":[");
	for (i = 0; i < n; i++) {
		if (r->row[i] == NULL) {
			is_cut = true;
			continue;
		}
		buf_puts(&b, has_any ? "," : "");
		has_any = true;
		buf_puts(&b, r->row[i]);
	}
	buf_printf(&b, "],\"truncated\":%s}", is_cut ? "true" : "false");
	call_succeed(answer, b.data, b.len);
}

static const char UNAVAILABLE[] = "unavailable";

/* What the server's refusal means, without the server's words. */
static const struct {
	char prefix[6];
	const char *code;
	const char *message;
	bool is_retryable;
} REFUSALS[] = {
	{ "57014", "timeout", "The function took too long and was ended; "
			      "nothing has been changed",
		true },
	{ "40001", "conflict", "Another transaction was in the way; nothing "
			       "has been changed",
		true },
	{ "40P01", "conflict", "Another transaction was in the way; nothing "
			       "has been changed",
		true },
	{ "55P03", "conflict", "A lock was not to be had in time; nothing "
			       "has been changed",
		true },
	{ "25006", "read_only", "The function is declared not to change "
				"anything and tried to",
		false },
	{ "42501", "permission_denied", "The role that the tool runs under "
					"may not do this",
		false },
	{ "42883", "tool_misconfigured", "There is no such function (any "
					 "more): its source must be refreshed",
		false },
	{ "22", "invalid_tool_arguments", "The database does not take these "
					  "arguments, or what the function "
					  "made of them",
		false },
	{ "23", "constraint", "A constraint of the database is against it; "
			      "nothing has been changed",
		false },
	{ "08", UNAVAILABLE, "The database does not answer", true },
	{ "53", UNAVAILABLE, "The database is out of resources", true },
	{ "57P", UNAVAILABLE, "The database is going down", true },
	{ "", "sql_error", "The function failed; nothing has been changed",
		false },
};

static void
refuse(struct tool_sql *t, const struct dbtask_result *r,
	struct call_answer *answer)
{
	struct call_fault fault = { 0 };
	struct buf details;
	size_t i = 0;

	while (strncmp(r->sqlstate, REFUSALS[i].prefix,
		       strlen(REFUSALS[i].prefix)) != 0)
		i++;
	fault.code = REFUSALS[i].code;
	fault.message = REFUSALS[i].message;
	fault.is_retryable = REFUSALS[i].is_retryable;
	buf_init(&details, t->arena);
	buf_puts(&details, "{\"sqlstate\":");
	buf_jsons(&details, r->sqlstate);
	if (r->is_setup && fault.code != UNAVAILABLE) {
		log_event(LOG_LEVEL_WARN, "tool.config", "why", r->message,
			NULL);
		fault.code = "tool_misconfigured";
		fault.message = "The role that the tool runs under cannot be "
				"used; nothing has been changed";
		fault.is_retryable = false;
	} else if (r->is_raised) {
		/* These words were meant for whoever calls it. */
		fault.code = "sql_error";
		fault.message = r->message;
		if (r->hint != NULL) {
			buf_puts(&details, ",\"hint\":");
			buf_jsons(&details, r->hint);
		}
	}
	buf_putc(&details, '}');
	fault.details = details.data;
	call_fail(answer, t->arena, CALL_FAILED, &fault);
}

static void
conclude(struct tool_sql *t, const struct dbtask_result *r,
	struct call_answer *answer)
{
	static const struct call_fault UNREACHABLE = { .code = "unavailable",
		.message = "The tool's database cannot be reached",
		.is_retryable = true };
	static const struct call_fault NO_ANSWER = {
		.code = "unknown_outcome",
		.message = "The database has not answered: the function may or "
			   "may not have taken effect"
	};
	static const struct call_fault NO_READ = { .code = "unavailable",
		.message = "The tool's database has not answered",
		.is_retryable = true };

	switch (r->end) {
	case DBTASK_OK:
		succeed(t, r, answer);
		return;
	case DBTASK_REFUSED:
		refuse(t, r, answer);
		return;
	case DBTASK_UNREACHABLE:
		call_fail(answer, t->arena, CALL_FAILED, &UNREACHABLE);
		return;
	default:
		/* What cannot change anything has not done so. */
		call_fail(answer, t->arena,
			t->is_volatile ? CALL_UNKNOWN : CALL_FAILED,
			t->is_volatile ? &NO_ANSWER : &NO_READ);
	}
}

bool
tool_sql_step(struct tool_sql *t, struct call_answer *answer)
{
	const struct dbtask_result *r = dbtask_step(t->task);

	if (r == NULL)
		return false;
	conclude(t, r, answer);
	return true;
}

const struct dbtask *
tool_sql_task(const struct tool_sql *t)
{
	return t->task;
}

void
tool_sql_close(struct tool_sql *t)
{
	if (t == NULL)
		return;
	dbtask_close(t->task);
	t->task = NULL;
}
