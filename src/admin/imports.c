/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/imports.h"

#include "admin/admin.h"
#include "admin/sourceconf.h"
#include "admin/table.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/seal.h"
#include "net/fetch.h"
#include "run/mcpimport.h"
#include "run/openapi.h"
#include "run/outbound.h"
#include "run/sqlimport.h"
#include "run/tool_sql.h"
#include "store/dbtask.h"
#include "store/secret.h"
#include "store/source.h"

enum { SQL_TIMEOUT_MS = 60000, FETCH_TIMEOUT_MS = 120000, TITLE_MAX = 512 };

static void
remark(struct arena *a, struct imports_remark **list, size_t *n,
	const char *what, const char *reason)
{
	struct imports_remark *grown;

	/* Room is for a power of two. */
	if ((*n & (*n - 1)) == 0) {
		grown = arena_calloc(a, *n == 0 ? 1 : 2 * *n, sizeof(**list));
		if (*n > 0)
			memcpy(grown, *list, *n * sizeof(**list));
		*list = grown;
	}
	(*list)[(*n)++] = (struct imports_remark){ what, reason };
}

/*
 * PostgreSQL functions.
 */

/* Tools of several selections, as one array. */
struct merge {
	struct buf b;
	struct cJSON **list;	   /* parsed arrays */
	const struct cJSON **tool; /* that are in B */
	size_t n;
};

static const char *
function_of(struct arena *a, const struct cJSON *tool)
{
	const struct cJSON *d = cj_get_object(tool, "definition");

	return arena_printf(a, "%s.%s", cj_get_string(d, "schema"),
		cj_get_string(d, "function"));
}

/* The tool of the same name that is there already. */
static const struct cJSON *
find_name(const struct merge *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (strcmp(cj_get_string(m->tool[i], "name"), name) == 0)
			return m->tool[i];
	return NULL;
}

static int
merge_add(struct arena *a, struct merge *m, const struct sqlimport *s,
	struct imports *out, struct err *e)
{
	const struct cj_limits limits = { .depth_max = 64 };
	const struct cJSON **grown, *v, *other;
	struct cJSON *list;

	if (cj_parse(a, s->tools, strlen(s->tools), &limits, &list, e) != 0)
		return err_wrap(e, "import");
	grown = arena_calloc(a, m->n + s->n_tools + 1, sizeof(*grown));
	if (m->n > 0)
		memcpy(grown, m->tool, m->n * sizeof(*grown));
	m->tool = grown;
	for (v = cj_first(list); v != NULL; v = cj_next(v)) {
		other = find_name(m, cj_get_string(v, "name"));
		if (other == NULL) {
			buf_puts(&m->b, m->n > 0 ? "," : "");
			cj_write(&m->b, v);
			m->tool[m->n++] = v;
		} else if (strcmp(function_of(a, v), function_of(a, other)) !=
			   0) {
			remark(a, &out->refused, &out->n_refused,
				function_of(a, v),
				arena_printf(a, "%s has that name already",
					function_of(a, other)));
		}
	}
	return 0;
}

static int
select_functions(struct admin *ad, const struct tool_sql_env *env,
	const struct cJSON *selection, struct merge *m, struct imports *out,
	struct err *e)
{
	const char *schema = cj_get_string(selection, "schema");
	const char *pattern = cj_get_string(selection, "pattern");
	struct arena *a = ad->arena;
	struct sqlimport s;
	size_t i;

	if (schema == NULL || pattern == NULL)
		return err_set(e, ERR_CONFLICT, NULL,
			"the source's config has no schema and pattern in "
			"\"import\"");
	if (sqlimport_run(env, a, out->config, schema, pattern, &s, e) != 0)
		return -1;
	for (i = 0; i < s.n_refused; i++)
		remark(a, &out->refused, &out->n_refused,
			arena_printf(a, "%s.%s", schema, s.refused[i].function),
			s.refused[i].reason);
	if (s.n_tools + s.n_refused == 0)
		remark(a, &out->noted, &out->n_noted,
			arena_printf(a, "%s, %s", schema, pattern),
			"no function that the role may execute");
	return merge_add(a, m, &s, out, e);
}

/* The responder's login may act as its own role: a tool must not. */
static int
role_check(struct admin *ad, const struct cJSON *config, struct err *e)
{
	const char *role = cj_get_string(config, "role");
	bool is_ours;

	if (role == NULL || cj_get(config, "service") != NULL)
		return 0;
	if (source_role_is_ours(ad->db, ad->arena, role, &is_ours, e) != 0)
		return -1;
	return !is_ours ? 0
			: err_set(e, ERR_CONFLICT, NULL,
				  "role %.64s can do what no tool may: it is "
				  "a superuser, or reaches the schema mcp",
				  role);
}

static int
import_sql(struct admin *ad, const struct cJSON *config, struct imports *out,
	struct err *e)
{
	const char *database = ad->conf->database;
	struct tool_sql_env env = {
		.database =
			*database != '\0' ? database : ad->conf->admin_database,
		.is_pooled =
			ad->conf->database_pooler == CONF_POOLER_TRANSACTION,
		.timeout_ms = SQL_TIMEOUT_MS,
		.max_bytes = SIZE_MAX,
	};
	const struct cJSON *v = cj_get_array(config, "import");
	struct merge m = { 0 };
	int rc = 0;

	if (v == NULL)
		return err_set(e, ERR_CONFLICT, NULL,
			"the source's config does not say what to \"import\"");
	if (role_check(ad, config, e) != 0)
		return -1;
	buf_init(&m.b, ad->arena);
	buf_putc(&m.b, '[');
	env.pool = dbtask_pool_new();
	for (v = cj_first(v); v != NULL && rc == 0; v = cj_next(v))
		rc = select_functions(ad, &env, v, &m, out, e);
	dbtask_pool_free(env.pool);
	buf_putc(&m.b, ']');
	out->tools = m.b.data;
	out->n_tools = m.n;
	return rc;
}

/*
 * Over HTTP.
 */

static int
fetch_open(
	struct admin *ad, const char *config, struct fetch **out, struct err *e)
{
	const struct conf_list *conf = &ad->conf->fetch_allow;
	struct fetch_options options = {
		.timeout_ms = FETCH_TIMEOUT_MS,
		.max_bytes = OPENAPI_BYTES_MAX,
	};
	struct conf_list allow = { 0 };
	struct outbound o;
	const char *why = outbound_configure(ad->arena, config, &o);

	if (why != NULL)
		return err_set(
			e, ERR_CONFLICT, NULL, "the source's config: %s", why);
	allow.item = arena_calloc(
		ad->arena, conf->n + o.allow.n + 1, sizeof(*allow.item));
	for (size_t i = 0; i < conf->n; i++)
		allow.item[allow.n++] = conf->item[i];
	for (size_t i = 0; i < o.allow.n; i++)
		allow.item[allow.n++] = o.allow.item[i];
	options.allow = &allow;
	return fetch_new(&options, out, e);
}

static void
hint(struct admin *ad, struct imports *out, const struct openapi *o)
{
	size_t i;

	out->hint =
		arena_calloc(ad->arena, o->n_security + 1, sizeof(*out->hint));
	for (i = 0; i < o->n_security; i++) {
		const struct openapi_security *s = &o->security[i];

		out->hint[out->n_hint++] =
			s->in == NULL
				? arena_printf(ad->arena,
					  "%zu operations ask for %s: %s",
					  s->n_operations, s->name, s->note)
				: arena_printf(ad->arena,
					  "%zu operations ask for %s: "
					  "--%s '%s%s%ssecret:%s'",
					  s->n_operations, s->name, s->in,
					  s->field,
					  strcmp(s->in, "query") == 0 ? "="
								      : ": ",
					  s->prefix, s->name);
	}
}

static struct imports_remark *
remarks(struct arena *a, const struct openapi_refusal *r, size_t n)
{
	struct imports_remark *out = arena_calloc(a, n + 1, sizeof(*out));
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = (struct imports_remark){ r[i].operation, r[i].reason };
	return out;
}

static int
read_document(struct admin *ad, const struct cJSON *config, const char *where,
	struct imports *out, struct err *e)
{
	struct openapi_options options = { 0 };
	struct fetch *f;
	struct openapi o;
	size_t len;
	char *text;
	int rc;

	options.base_url = cj_get_string(config, "base_url");
	/* Where the API is may not be known before the document is. */
	if (fetch_open(ad,
		    options.base_url != NULL
			    ? out->config
			    : sourceconf_with(ad, config, "base_url",
				      "https://document.invalid"),
		    &f, e) != 0)
		return -1;
	rc = openapi_read(f, ad->arena, where, &text, &len, &options, e);
	fetch_free(f);
	if (rc != 0 ||
		openapi_import(ad->arena, text, len, &options, &o, e) != 0)
		return -1;
	if (options.base_url == NULL && o.base_url == NULL)
		return err_set(e, ERR_CONFLICT, NULL,
			"the document names no server: give --base-url");
	if (options.base_url == NULL)
		out->config =
			sourceconf_with(ad, config, "base_url", o.base_url);
	out->title = o.title;
	out->tools = o.tools;
	out->n_tools = o.n_tools;
	out->refused = remarks(ad->arena, o.refused, o.n_refused);
	out->n_refused = o.n_refused;
	out->noted = remarks(ad->arena, o.noted, o.n_noted);
	out->n_noted = o.n_noted;
	/* Who has given headers knows what the API asks for. */
	if (cj_get(config, "headers") == NULL &&
		cj_get(config, "query") == NULL)
		hint(ad, out, &o);
	return 0;
}

static int
import_openapi(struct admin *ad, const struct cJSON *config,
	struct imports *out, struct err *e)
{
	const char *where = cj_get_string(config, "document");
	const char *why;
	struct outbound o;

	if (where == NULL)
		return err_set(e, ERR_CONFLICT, NULL,
			"where is the document?  Give FILE or URL");
	if (read_document(ad, config, where, out, e) != 0)
		return -1;
	if ((why = outbound_configure(ad->arena, out->config, &o)) != NULL)
		return err_set(e, ERR_CONFLICT, NULL,
			"the document's server: %s; give --base-url", why);
	return 0;
}

/* For outbound_env: the secret NAME of an organisation. */
struct opener {
	struct admin *ad;
	const char *org;
	struct seal *keys;
};

static char *
open_secret(void *arg, const char *name, struct err *e)
{
	struct opener *o = arg;
	const char *const context[] = { "secret", o->org, name, NULL };
	struct secret s;
	char *value;

	if (secret_find(o->ad->db, o->ad->arena, o->org, name, &s, e) != 0)
		return NULL;
	if (s.sealed == NULL) {
		err_set(e, ERR_NOTFOUND, NULL,
			"secret %.128s is not set: mcp-admin secret set", name);
		return NULL;
	}
	if ((value = malloc(s.sealed_len - SEAL_OVERHEAD + 1)) == NULL) {
		err_set(e, ERR_INTERNAL, NULL, "out of memory");
		return NULL;
	}
	if (seal_unwrap(o->keys, context, s.key_id, s.sealed, s.sealed_len,
		    value, e) != 0) {
		free(value);
		return NULL;
	}
	value[s.sealed_len - SEAL_OVERHEAD] = '\0';
	return value;
}

static int
import_mcp(struct admin *ad, const char *org, const struct cJSON *config,
	struct imports *out, struct err *e)
{
	struct opener opener = { .ad = ad, .org = org };
	struct outbound_env env = {
		.timeout_ms = ad->conf->call_timeout_ms,
		.max_bytes = OPENAPI_BYTES_MAX,
		.secret_arg = &opener,
	};
	struct mcpimport m;
	size_t i;
	int rc;

	if (*ad->conf->keyring_dir != '\0') {
		if (seal_open(ad->conf->keyring_dir, &opener.keys, e) != 0)
			return -1;
		env.secret = open_secret;
	}
	rc = fetch_open(ad, out->config, &env.fetch, e);
	if (rc == 0) {
		rc = mcpimport_run(&env, ad->arena, out->config, &m, e);
		fetch_free(env.fetch);
	}
	seal_close(opener.keys);
	if (rc != 0)
		return -1;
	out->config = sourceconf_with(ad, config, "era", m.era);
	out->title = m.server;
	out->tools = m.tools;
	out->n_tools = m.n_tools;
	for (i = 0; i < m.n_refused; i++)
		remark(ad->arena, &out->refused, &out->n_refused,
			m.refused[i].tool, m.refused[i].reason);
	return 0;
}

int
imports_run(struct admin *ad, const char *org, const char *kind,
	const char *config, struct imports *out, struct err *e)
{
	struct cJSON *v;
	int rc;

	*out = (struct imports){ .config = config };
	if (sourceconf_parse(ad, config, &v, e) != 0)
		return -1;
	if (strcmp(kind, "sql") == 0)
		rc = import_sql(ad, v, out, e);
	else if (strcmp(kind, "http") == 0)
		rc = import_openapi(ad, v, out, e);
	else
		rc = import_mcp(ad, org, v, out, e);
	/* The command line was right; what it names is not. */
	if (rc != 0 && (e->kind == ERR_INVALID || e->kind == ERR_NOTFOUND))
		e->kind = ERR_CONFLICT;
	if (out->title != NULL)
		out->title = *out->title == '\0'
				     ? NULL
				     : arena_printf(ad->arena, "%.*s",
					       (int)buf_utf8_prefix(out->title,
						       strlen(out->title),
						       TITLE_MAX),
					       out->title);
	return rc;
}

static const char *
remarks_json(struct arena *a, const struct imports_remark *r, size_t n)
{
	struct buf b;
	size_t i;

	buf_init(&b, a);
	buf_putc(&b, '[');
	for (i = 0; i < n; i++) {
		buf_puts(&b, i > 0 ? ",{\"what\":" : "{\"what\":");
		buf_jsons(&b, r[i].what);
		buf_puts(&b, ",\"reason\":");
		buf_jsons(&b, r[i].reason);
		buf_putc(&b, '}');
	}
	buf_putc(&b, ']');
	return b.data;
}

static const char *
count(struct arena *a, int64_t n)
{
	return arena_printf(a, "%" PRId64, n);
}

static void
remarks_print(struct arena *a, const char *word, const struct imports_remark *r,
	size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		printf("%s: %s: %s\n", word, table_visible(a, r[i].what),
			table_visible(a, r[i].reason));
}

void
imports_print(struct admin *ad, const struct imports *m,
	const struct source_import *done, bool is_json)
{
	struct arena *a = ad->arena;
	const struct table_more members[] = {
		{ "imported", TABLE_NUMBER, count(a, (int64_t)m->n_tools) },
		{ "added", TABLE_NUMBER,
			count(a, done != NULL ? done->added : 0) },
		{ "changed", TABLE_NUMBER,
			count(a, done != NULL ? done->changed : 0) },
		{ "removed", TABLE_NUMBER,
			count(a, done != NULL ? done->removed : 0) },
		{ "refused", TABLE_JSON,
			remarks_json(a, m->refused, m->n_refused) },
		{ "noted", TABLE_JSON, remarks_json(a, m->noted, m->n_noted) },
	};
	size_t i;

	if (is_json) {
		table_print_members(a, members, NELEM(members), true);
	} else {
		printf("imported %s (added %s, changed %s, removed %s), "
		       "refused %zu\n",
			members[0].value, members[1].value, members[2].value,
			members[3].value, m->n_refused);
		remarks_print(a, "refused", m->refused, m->n_refused);
		remarks_print(a, "noted", m->noted, m->n_noted);
	}
	for (i = 0; i < m->n_hint; i++)
		admin_note("%s", table_visible(a, m->hint[i]));
}
