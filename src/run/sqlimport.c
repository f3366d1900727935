/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/sqlimport.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "run/tool_sql.h"
#include "store/dbtask.h"

/*
 * One JSON object per function.  A type is described by what it is in the
 * end (a domain's base) and, of an array, by its elements.
 */
static const char FUNCTIONS[] =
	"SELECT json_build_object('name', p.proname, 'kind', p.prokind,"
	" 'volatile', p.provolatile = 'v', 'set', p.proretset,"
	" 'variadic', p.provariadic <> 0, 'optional', p.pronargdefaults,"
	" 'comment', obj_description(p.oid, 'pg_proc'),"
	" 'returns', format_type(p.prorettype, NULL),"
	" 'language', l.lanname,"
	" 'result', mcp_type.j, 'args', mcp_args.j)::text"
	" FROM pg_catalog.pg_proc p"
	" JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
	" JOIN pg_catalog.pg_language l ON l.oid = p.prolang"
	" CROSS JOIN LATERAL (SELECT json_build_object("
	"  'name', b.typname, 'type', b.typtype,"
	"  'array', CASE WHEN b.typcategory = 'A' THEN e.typname END,"
	"  'array_type', e.typtype,"
	"  'labels', (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder)"
	"   FROM pg_catalog.pg_enum l WHERE l.enumtypid ="
	"    CASE WHEN b.typcategory = 'A' THEN e.oid ELSE b.oid END)) AS j"
	"  FROM pg_catalog.pg_type t"
	"  JOIN pg_catalog.pg_type b ON b.oid ="
	"   CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END"
	"  LEFT JOIN pg_catalog.pg_type e ON e.oid = b.typelem"
	"  WHERE t.oid = p.prorettype) mcp_type"
	" CROSS JOIN LATERAL (SELECT coalesce(json_agg(json_build_object("
	"  'name', coalesce(p.proargnames[a.n], ''),"
	"  'mode', coalesce(p.proargmodes[a.n]::text, 'i'),"
	"  'type', format_type(a.t, NULL), 'base', b.typname,"
	"  'kind', b.typtype,"
	"  'array', CASE WHEN b.typcategory = 'A' THEN e.typname END,"
	"  'array_type', e.typtype,"
	"  'default', pg_get_function_arg_default(p.oid, a.n::integer),"
	"  'labels', (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder)"
	"   FROM pg_catalog.pg_enum l WHERE l.enumtypid ="
	"    CASE WHEN b.typcategory = 'A' THEN e.oid ELSE b.oid END))"
	"  ORDER BY a.n), '[]') AS j"
	"  FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]))"
	"   WITH ORDINALITY a (t, n)"
	"  JOIN pg_catalog.pg_type t ON t.oid = a.t"
	"  JOIN pg_catalog.pg_type b ON b.oid ="
	"   CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END"
	"  LEFT JOIN pg_catalog.pg_type e ON e.oid = b.typelem) mcp_args"
	" WHERE n.nspname = $1 AND p.proname LIKE $2"
	"  AND has_function_privilege(p.oid, 'EXECUTE')"
	"  AND has_schema_privilege(n.oid, 'USAGE')"
	" ORDER BY p.proname, pg_get_function_identity_arguments(p.oid)";

enum { FUNCTION_BYTES_MAX = 4194304, FUNCTION_DEPTH = 16 };

/*
 * Schemas.
 */

/* Members of the schema of base type NAME, which is not an array. */
static void
put_base(struct buf *b, const char *name, const char *kind,
	const struct cJSON *labels)
{
	static const struct {
		const char *names; /* each between blanks */
		const char *schema;
	} TYPES[] = {
		{ " int2 int4 int8 oid ", "\"type\":\"integer\"" },
		{ " float4 float8 numeric ", "\"type\":\"number\"" },
		{ " bool ", "\"type\":\"boolean\"" },
		{ " date ", "\"type\":\"string\",\"format\":\"date\"" },
		{ " timestamptz ",
			"\"type\":\"string\",\"format\":\"date-time\"" },
		{ " uuid ", "\"type\":\"string\",\"format\":\"uuid\"" },
		{ " json jsonb ", "" }, /* anything */
	};
	char key[80];
	size_t i;

	if (kind != NULL && strcmp(kind, "c") == 0) {
		buf_puts(b, "\"type\":\"object\"");
		return;
	}
	snprintf(key, sizeof(key), " %s ", name);
	for (i = 0; i < NELEM(TYPES); i++)
		if (strstr(TYPES[i].names, key) != NULL) {
			buf_puts(b, TYPES[i].schema);
			return;
		}
	buf_puts(b, "\"type\":\"string\"");
	if (cj_is_array(labels)) {
		buf_puts(b, ",\"enum\":");
		cj_write(b, labels);
	}
}

/* Members of the schema of a type; BASE and KIND name its members in T. */
static void
put_type(struct buf *b, const struct cJSON *t, const char *base,
	const char *kind)
{
	const char *array = cj_get_string(t, "array");
	const struct cJSON *labels = cj_get(t, "labels");

	if (array == NULL) {
		put_base(b, cj_get_string(t, base), cj_get_string(t, kind),
			labels);
		return;
	}
	buf_puts(b, "\"type\":\"array\",\"items\":{");
	put_base(b, array, cj_get_string(t, "array_type"), labels);
	buf_putc(b, '}');
}

/* "10", "true", "'abc'::text": as a JSON value; false: it is computed. */
static bool
put_default(struct buf *b, const char *text)
{
	const char *end, *p;
	size_t len = strlen(text);

	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		buf_printf(b, ",\"default\":%s", text);
		return true;
	}
	if (len < 16 && text[0] >= '1' && text[0] <= '9' &&
		strspn(text, "0123456789") == len) {
		buf_printf(b, ",\"default\":%s", text);
		return true;
	}
	if (strcmp(text, "0") == 0) {
		buf_puts(b, ",\"default\":0");
		return true;
	}
	if (text[0] != '\'')
		return false;
	end = strchr(text + 1, '\'');
	if (end == NULL || strpbrk(text + 1, "\\") != NULL)
		return false;
	/* Nothing but a cast to text or to an enumeration behind it. */
	for (p = end + 1; *p != '\0'; p++)
		if (strchr("abcdefghijklmnopqrstuvwxyz_0123456789.: ", *p) ==
			NULL)
			return false;
	buf_puts(b, ",\"default\":");
	buf_json(b, text + 1, (size_t)(end - text - 1));
	return true;
}

/* The text of "@param NAME text" in COMMENT; *LEN 0: there is none. */
static const char *
param_text(const char *comment, const char *name, size_t *len)
{
	size_t name_len = strlen(name);
	const char *p;

	*len = 0;
	for (p = comment; p != NULL && (p = strstr(p, "@param ")) != NULL;) {
		p += strlen("@param ");
		p += strspn(p, " ");
		if (strncmp(p, name, name_len) == 0 && p[name_len] == ' ') {
			p += name_len;
			p += strspn(p, " ");
			*len = strcspn(p, "\r\n");
			return p;
		}
	}
	return NULL;
}

/* COMMENT without its @param lines. */
static const char *
description(struct arena *a, const char *comment)
{
	struct buf b;
	size_t len;

	if (comment == NULL)
		return NULL;
	buf_init(&b, a);
	while (*comment != '\0') {
		len = strcspn(comment, "\n");
		if (strncmp(comment + strspn(comment, " \t"), "@param ",
			    7) != 0) {
			buf_puts(&b, b.len > 0 ? "\n" : "");
			buf_put(&b, comment, len);
		}
		comment += len + (comment[len] == '\n');
	}
	while (b.len > 0 && strchr(" \t\r\n", b.data[b.len - 1]) != NULL)
		b.data[--b.len] = '\0';
	return b.data;
}

static bool
is_input(const struct cJSON *arg)
{
	return strchr("ibv", cj_get_string(arg, "mode")[0]) != NULL;
}

static size_t
count_inputs(const struct cJSON *args)
{
	const struct cJSON *v;
	size_t n = 0;

	for (v = cj_first(args); v != NULL; v = cj_next(v))
		n += is_input(v);
	return n;
}

static int64_t
optional(const struct cJSON *f)
{
	bool is_variadic = false;
	int64_t n = 0;

	(void)cj_get_int(f, "optional", 0, 1000, &n);
	(void)cj_get_bool(f, "variadic", &is_variadic);
	/* A variadic function takes no defaults when called by name, and an
	 * empty array for its last argument. */
	return is_variadic ? 1 : n;
}

static void
put_property(struct buf *b, const struct cJSON *arg, const char *comment)
{
	const char *def = cj_get_string(arg, "default");
	const char *name = cj_get_string(arg, "name"), *text;
	size_t len, at = b->len;
	bool is_plain;

	buf_jsons(b, name);
	buf_puts(b, ":{");
	at = b->len;
	put_type(b, arg, "base", "kind");
	is_plain = def == NULL || strncmp(def, "NULL", 4) == 0 ||
		put_default(b, def);
	text = param_text(comment, name, &len);
	if (len > 0 || !is_plain) {
		struct buf d;

		buf_init(&d, b->arena);
		if (len > 0)
			buf_put(&d, text, len);
		if (!is_plain)
			buf_printf(&d, "%s(default: %s)", len > 0 ? " " : "",
				def);
		buf_puts(b, ",\"description\":");
		buf_json(b, d.data, d.len);
	}
	if (b->data[at] == ',') { /* json: no type before the first member */
		memmove(b->data + at, b->data + at + 1, b->len - at);
		b->len--;
	}
	buf_putc(b, '}');
}

static void
put_input_schema(struct buf *b, const struct cJSON *f)
{
	const struct cJSON *args = cj_get_array(f, "args"), *v;
	const char *comment = cj_get_string(f, "comment");
	int64_t required, i = 0;
	bool has_any = false;

	required = (int64_t)count_inputs(args) - optional(f);
	buf_puts(b, "{\"type\":\"object\",\"properties\":{");
	for (v = cj_first(args); v != NULL; v = cj_next(v)) {
		if (!is_input(v))
			continue;
		buf_puts(b, has_any ? "," : "");
		has_any = true;
		put_property(b, v, comment);
	}
	buf_puts(b, "},\"required\":[");
	has_any = false;
	for (v = cj_first(args); v != NULL && i < required; v = cj_next(v)) {
		if (!is_input(v))
			continue;
		buf_puts(b, has_any ? "," : "");
		has_any = true;
		buf_jsons(b, cj_get_string(v, "name"));
		i++;
	}
	buf_puts(b, "],\"additionalProperties\":false}");
}

/* The schema of a row: its columns where they are known. */
static void
put_row_schema(struct buf *b, const struct cJSON *f)
{
	const struct cJSON *result = cj_get_object(f, "result"), *v;
	bool is_record, has_any = false;

	is_record = strcmp(cj_get_string(f, "returns"), "record") == 0;
	buf_putc(b, '{');
	if (!is_record) {
		put_type(b, result, "name", "type");
		buf_putc(b, '}');
		return;
	}
	buf_puts(b, "\"type\":\"object\",\"properties\":{");
	for (v = cj_first(cj_get_array(f, "args")); v != NULL;
		v = cj_next(v)) {
		if (strchr("obt", cj_get_string(v, "mode")[0]) == NULL)
			continue;
		buf_puts(b, has_any ? "," : "");
		has_any = true;
		buf_jsons(b, cj_get_string(v, "name"));
		/* A column may be NULL, whatever its type. */
		buf_puts(b, ":{\"anyOf\":[{");
		put_type(b, v, "base", "kind");
		buf_puts(b, "},{\"type\":\"null\"}]}");
	}
	buf_puts(b, "}}");
}

/* ,"output_schema":{} where the data is an object (MCP asks for one). */
static void
put_output_schema(struct buf *b, const struct cJSON *f)
{
	bool is_set = false;

	(void)cj_get_bool(f, "set", &is_set);
	if (is_set) {
		buf_puts(b, ",\"output_schema\":{\"type\":\"object\","
			    "\"properties\":{\"rows\":{\"type\":\"array\","
			    "\"items\":");
		put_row_schema(b, f);
		buf_puts(b, "},\"truncated\":{\"type\":\"boolean\"}},"
			    "\"required\":[\"rows\",\"truncated\"]}");
	} else if (strcmp(cj_get_string(f, "returns"), "record") == 0) {
		buf_puts(b, ",\"output_schema\":");
		put_row_schema(b, f);
	}
}

/*
 * Functions.
 */

static bool
has_tool_name(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= 128 &&
		strspn(s, "abcdefghijklmnopqrstuvwxyz"
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-") == len;
}

static const char *
why_not(struct arena *a, const struct cJSON *f)
{
	const struct cJSON *args = cj_get_array(f, "args"), *v;
	const char *returns = cj_get_string(f, "returns"), *type;
	bool has_columns = false;
	size_t i = 0;

	if (strcmp(cj_get_string(f, "kind"), "f") != 0)
		return "only functions can be called, no procedures, "
		       "aggregates or window functions";
	if (!has_tool_name(cj_get_string(f, "name")))
		return "its name has characters that a path cannot have";
	if (strcmp(returns, "trigger") == 0 ||
		strcmp(returns, "event_trigger") == 0)
		return "it is a trigger's";
	if (strcmp(returns, "internal") == 0 ||
		strcmp(returns, "cstring") == 0)
		return "it is internal";
	for (v = cj_first(args); v != NULL; v = cj_next(v)) {
		i++;
		if (!is_input(v)) {
			has_columns = true;
			continue;
		}
		type = cj_get_string(v, "type");
		if (cj_get_string(v, "name")[0] == '\0')
			return arena_printf(a, "argument %zu has no name", i);
		if (strncmp(type, "any", 3) == 0)
			return arena_printf(a, "argument %s is polymorphic",
				cj_get_string(v, "name"));
		if (strcmp(type, "internal") == 0 ||
			strcmp(type, "cstring") == 0 ||
			strcmp(type, "record") == 0)
			return arena_printf(a,
				"argument %s is of a type that no caller "
				"can give",
				cj_get_string(v, "name"));
	}
	if (strcmp(returns, "record") == 0 && !has_columns)
		return "the columns that it returns are not known";
	return NULL;
}

static void
put_strings(struct buf *b, const struct cJSON *args, const char *member)
{
	const struct cJSON *v;
	bool has_any = false;

	buf_putc(b, '[');
	for (v = cj_first(args); v != NULL; v = cj_next(v)) {
		if (!is_input(v))
			continue;
		buf_puts(b, has_any ? "," : "");
		has_any = true;
		buf_jsons(b, cj_get_string(v, member));
	}
	buf_putc(b, ']');
}

/* SERIAL: of those with the same name, from 1. */
static void
put_tool(struct buf *b, const struct cJSON *f, const char *schema, int serial)
{
	const char *name = cj_get_string(f, "name");
	const char *text = description(b->arena, cj_get_string(f, "comment"));
	const struct cJSON *args = cj_get_array(f, "args");
	bool is_volatile = true, is_set = false, is_variadic = false;
	const char *tool = serial == 1 ? name :
		arena_printf(b->arena, "%s_%d", name, serial);

	(void)cj_get_bool(f, "volatile", &is_volatile);
	(void)cj_get_bool(f, "set", &is_set);
	(void)cj_get_bool(f, "variadic", &is_variadic);
	buf_puts(b, "{\"name\":");
	buf_jsons(b, tool);
	if (text != NULL && text[0] != '\0') {
		buf_puts(b, ",\"description\":");
		buf_jsons(b, text);
	}
	buf_puts(b, ",\"input_schema\":");
	put_input_schema(b, f);
	put_output_schema(b, f);
	buf_printf(b,
		",\"annotations\":{\"readOnlyHint\":%s,"
		"\"destructiveHint\":%s,\"openWorldHint\":false},"
		"\"needs_approval\":%s,\"approval_text\":",
		is_volatile ? "false" : "true", is_volatile ? "true" : "false",
		is_volatile ? "true" : "false");
	buf_jsons(b, arena_printf(b->arena, "Run the database function %s.%s?",
		schema, name));
	buf_puts(b, ",\"definition\":{\"schema\":");
	buf_jsons(b, schema);
	buf_puts(b, ",\"function\":");
	buf_jsons(b, name);
	buf_puts(b, ",\"arg_names\":");
	put_strings(b, args, "name");
	buf_puts(b, ",\"arg_types\":");
	put_strings(b, args, "type");
	buf_printf(b,
		",\"optional\":%" PRId64 ",\"is_variadic\":%s,"
		"\"volatile\":%s,\"returns_set\":%s,\"returns\":",
		optional(f), is_variadic ? "true" : "false",
		is_volatile ? "true" : "false", is_set ? "true" : "false");
	buf_jsons(b, cj_get_string(f, "returns"));
	buf_puts(b, "}}");
}

static int
add_functions(struct arena *a, const struct dbtask_result *r,
	const char *schema, struct sqlimport *out, struct err *e)
{
	const struct cj_limits limits = { .depth_max = FUNCTION_DEPTH };
	const char *name, *why, *last = "";
	struct cJSON *f;
	struct buf b;
	int serial = 0;
	size_t i;

	out->refused = arena_calloc(a, r->n_rows + 1, sizeof(*out->refused));
	buf_init(&b, a);
	buf_putc(&b, '[');
	for (i = 0; i < r->n_rows; i++) {
		if (cj_parse(a, r->row[i], strlen(r->row[i]), &limits, &f,
			    e) != 0)
			return err_wrap(e, "import");
		name = cj_get_string(f, "name");
		why = why_not(a, f);
		if (why != NULL) {
			out->refused[out->n_refused++] =
				(struct sqlimport_refusal){ name, why };
			continue;
		}
		serial = strcmp(name, last) == 0 ? serial + 1 : 1;
		last = name;
		buf_puts(&b, out->n_tools > 0 ? "," : "");
		put_tool(&b, f, schema, serial);
		out->n_tools++;
	}
	buf_putc(&b, ']');
	out->tools = b.data;
	return 0;
}

int
sqlimport_run(const struct tool_sql_env *env, struct arena *a,
	const char *config, const char *schema, const char *pattern,
	struct sqlimport *out, struct err *e)
{
	const char *params[2] = { schema, pattern };
	struct dbtask_request r = { .is_read_only = true,
		.sql = FUNCTIONS,
		.params = params,
		.n_params = 2,
		.max_bytes = FUNCTION_BYTES_MAX };
	const struct dbtask_result *result;
	struct tool_sql_config c;
	struct dbtask *task;
	const char *why;
	int rc;

	*out = (struct sqlimport){ 0 };
	why = tool_sql_configure(env, a, config, &c);
	if (why != NULL)
		return err_set(e, ERR_INVALID, NULL, "source: %s", why);
	r.conninfo = c.conninfo;
	r.is_pooled = c.is_pooled;
	r.role = c.role;
	r.timeout_ms = c.timeout_ms;
	task = dbtask_start(env->pool, a, &r);
	result = dbtask_wait(task);
	if (result->end == DBTASK_REFUSED)
		rc = err_set(e, ERR_INVALID, NULL, "import: SQLSTATE %s: %s",
			result->sqlstate, result->message);
	else if (result->end != DBTASK_OK)
		rc = err_set(e, ERR_UNAVAILABLE, NULL,
			"import: the source's database does not answer");
	else if (result->is_cut)
		rc = err_set(e, ERR_LIMIT, NULL,
			"import: too many functions for one source");
	else
		rc = add_functions(a, result, schema, out, e);
	dbtask_close(task);
	return rc;
}
