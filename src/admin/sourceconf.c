/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/sourceconf.h"

#include "admin/admin.h"
#include "admin/secrets.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/scope.h"
#include "run/outbound.h"
#include "store/secret.h"

enum { CONFIG_DEPTH = 16, TIMEOUT_MS_MAX = 3600000, ROWS_MAX = 1000000 };

#define SECRET "secret:"

static void
begin_member(struct buf *b, const char *name)
{
	buf_puts(b, b->len > 1 ? "," : "");
	buf_jsons(b, name);
	buf_putc(b, ':');
}

static void
put_text(struct buf *b, const char *name, const char *value)
{
	if (value == NULL)
		return;
	begin_member(b, name);
	buf_jsons(b, value);
}

static int
put_number(struct buf *b, const char *name, const char *option,
	const char *value, int64_t max, struct err *e)
{
	int64_t n;

	if (value == NULL)
		return 0;
	if (admin_number(option, value, 1, max, &n, e) != 0)
		return -1;
	begin_member(b, name);
	buf_printf(b, "%" PRId64, n);
	return 0;
}

/*
 * "secret:NAME", "secret:NAME Bearer" and "Bearer secret:NAME", the last two
 * being the same; anything else is a literal.
 */
static int
put_value(struct buf *b, const char *value, struct err *e)
{
	const char *at = strstr(value, SECRET), *name, *prefix = NULL;
	size_t len;

	if (at == NULL || (at != value && at[-1] != ' ')) {
		buf_jsons(b, value);
		return 0;
	}
	name = at + strlen(SECRET);
	len = strcspn(name, " ");
	if (at != value && name[len] != '\0')
		return err_set(e, ERR_INVALID, NULL,
			"a secret has text before it or behind it, not both");
	if (at != value)
		prefix = arena_printf(
			b->arena, "%.*s", (int)(at - value), value);
	else if (name[len] != '\0')
		prefix = arena_printf(
			b->arena, "%s ", name + len + strspn(name + len, " "));
	name = arena_printf(b->arena, "%.*s", (int)len, name);
	if (secrets_check_name(name, e) != 0)
		return -1;
	buf_puts(b, "{\"secret\":");
	buf_jsons(b, name);
	if (prefix != NULL) {
		buf_puts(b, ",\"prefix\":");
		buf_jsons(b, prefix);
	}
	buf_putc(b, '}');
	return 0;
}

/* Each item is NAME, SEPARATOR, VALUE. */
static int
put_values(struct buf *b, const char *member, const char *option,
	const struct admin_list *list, char separator, struct err *e)
{
	const char *p;
	size_t i;

	if (list->n == 0)
		return 0;
	begin_member(b, member);
	buf_putc(b, '{');
	for (i = 0; i < list->n; i++) {
		p = strchr(list->item[i], separator);
		if (p == NULL || p == list->item[i])
			return err_set(e, ERR_INVALID, NULL,
				"%s takes NAME%c%sVALUE", option, separator,
				separator == ':' ? " " : "");
		buf_puts(b, i > 0 ? "," : "");
		buf_jsons(b, arena_printf(b->arena, "%.*s",
				     (int)(p - list->item[i]), list->item[i]));
		buf_putc(b, ':');
		if (put_value(b, p + 1 + strspn(p + 1, " "), e) != 0)
			return -1;
	}
	buf_putc(b, '}');
	return 0;
}

static int
put_outbound(struct admin *ad, struct buf *b, struct err *e)
{
	size_t i;

	if (put_values(b, "headers", "--header", &ad->header, ':', e) != 0 ||
		put_values(b, "query", "--query", &ad->query, '=', e) != 0 ||
		put_number(b, "timeout_ms", "--timeout-ms", ad->timeout,
			TIMEOUT_MS_MAX, e) != 0)
		return -1;
	if (ad->allow.n == 0)
		return 0;
	begin_member(b, "allow");
	for (i = 0; i < ad->allow.n; i++) {
		buf_putc(b, i == 0 ? '[' : ',');
		buf_jsons(b, ad->allow.item[i]);
	}
	buf_putc(b, ']');
	return 0;
}

/* Whether a call could use CONFIG, with URL where it has none yet. */
static int
check_outbound(struct admin *ad, const char *config, struct err *e)
{
	struct outbound o;
	const char *why = outbound_configure(ad->arena, config, &o);

	if (why == NULL)
		return 0;
	return err_set(e, ERR_INVALID, NULL, "%s", why);
}

int
sourceconf_document(
	struct admin *ad, const char *where, const char **out, struct err *e)
{
	AUTO_FREE char *path = NULL;

	*out = where;
	if (strncasecmp(where, "http://", 7) == 0 ||
		strncasecmp(where, "https://", 8) == 0)
		return 0;
	if ((path = realpath(where, NULL)) == NULL)
		return err_set(e, ERR_CONFLICT, NULL, "%s: %s", where,
			strerror(errno));
	*out = arena_strdup(ad->arena, path);
	return 0;
}

int
sourceconf_openapi(
	struct admin *ad, const char *where, const char **out, struct err *e)
{
	const char *document, *sample;
	struct cJSON *v;
	struct buf b;

	buf_init(&b, ad->arena);
	buf_putc(&b, '{');
	if (sourceconf_document(ad, where, &document, e) != 0)
		return -1;
	put_text(&b, "document", document);
	put_text(&b, "base_url", ad->base_url);
	if (put_outbound(ad, &b, e) != 0)
		return -1;
	buf_putc(&b, '}');
	*out = b.data;
	/* Now, and not after a long import: the options must do. */
	if (sourceconf_parse(ad, b.data, &v, e) != 0)
		return -1;
	sample = ad->base_url != NULL ? b.data
				      : sourceconf_with(ad, v, "base_url",
						"https://document.invalid");
	return check_outbound(ad, sample, e);
}

int
sourceconf_mcp(
	struct admin *ad, const char *where, const char **out, struct err *e)
{
	struct buf b;

	buf_init(&b, ad->arena);
	buf_putc(&b, '{');
	put_text(&b, "url", where);
	if (put_outbound(ad, &b, e) != 0)
		return -1;
	buf_putc(&b, '}');
	*out = b.data;
	return check_outbound(ad, b.data, e);
}

/* NAME, in which * stands for anything, as LIKE has it. */
static const char *
like(struct admin *ad, const char *name)
{
	struct buf b;

	buf_init(&b, ad->arena);
	for (; *name != '\0'; name++) {
		if (*name == '*') {
			buf_putc(&b, '%');
			continue;
		}
		if (strchr("%_\\", *name) != NULL)
			buf_putc(&b, '\\');
		buf_putc(&b, *name);
	}
	return b.data;
}

static void
put_selection(
	struct buf *b, bool is_first, const char *schema, const char *pattern)
{
	buf_puts(b, is_first ? "[{\"schema\":" : ",{\"schema\":");
	buf_jsons(b, schema);
	buf_puts(b, ",\"pattern\":");
	buf_jsons(b, pattern);
	buf_putc(b, '}');
}

int
sourceconf_sql(struct admin *ad, const char **out, struct err *e)
{
	const char *dot;
	struct buf b;
	size_t i;

	buf_init(&b, ad->arena);
	buf_putc(&b, '{');
	put_text(&b, "service", ad->service);
	put_text(&b, "role", ad->role);
	if (put_number(&b, "timeout_ms", "--timeout-ms", ad->timeout,
		    TIMEOUT_MS_MAX, e) != 0 ||
		put_number(&b, "max_rows", "--max-rows", ad->rows, ROWS_MAX,
			e) != 0)
		return -1;
	if (ad->schema.n + ad->function.n == 0)
		return err_set(e, ERR_INVALID, NULL,
			"which functions?  --schema SCHEMA, or --function "
			"SCHEMA.NAME, in which * stands for anything");
	begin_member(&b, "import");
	for (i = 0; i < ad->schema.n; i++)
		put_selection(&b, i == 0, ad->schema.item[i], "%");
	for (i = 0; i < ad->function.n; i++) {
		dot = strchr(ad->function.item[i], '.');
		if (dot == NULL || dot == ad->function.item[i] ||
			dot[1] == '\0')
			return err_set(e, ERR_INVALID, NULL,
				"--function takes SCHEMA.NAME");
		put_selection(&b, ad->schema.n + i == 0,
			arena_printf(ad->arena, "%.*s",
				(int)(dot - ad->function.item[i]),
				ad->function.item[i]),
			like(ad, dot + 1));
	}
	buf_puts(&b, "]}");
	*out = b.data;
	return 0;
}

int
sourceconf_parse(
	struct admin *ad, const char *config, struct cJSON **out, struct err *e)
{
	const struct cj_limits limits = { .depth_max = CONFIG_DEPTH };

	if (cj_parse(ad->arena, config, strlen(config), &limits, out, e) == 0 &&
		cj_is_object(*out))
		return 0;
	return err_set(e, ERR_CONFLICT, NULL,
		"the source's config is no "
		"JSON object");
}

const char *
sourceconf_with(struct admin *ad, const struct cJSON *config, const char *name,
	const char *value)
{
	const struct cJSON *v;
	struct buf b;

	buf_init(&b, ad->arena);
	buf_putc(&b, '{');
	for (v = cj_first(config); v != NULL; v = cj_next(v)) {
		if (strcmp(cj_name(v), name) == 0)
			continue;
		begin_member(&b, cj_name(v));
		cj_write(&b, v);
	}
	put_text(&b, name, value);
	buf_putc(&b, '}');
	return b.data;
}

static int
note(struct admin *ad, const char *org, const struct cJSON *values,
	struct err *e)
{
	const struct cJSON *v;
	const char *name;
	struct secret s;

	for (v = cj_first(values); v != NULL; v = cj_next(v)) {
		if ((name = cj_get_string(v, "secret")) == NULL)
			continue;
		if (secret_find(ad->db, ad->arena, org, name, &s, e) != 0)
			return -1;
		if (s.sealed == NULL)
			admin_note("still to do: mcp-admin secret set %s %s",
				org, name);
	}
	return 0;
}

int
sourceconf_note(
	struct admin *ad, const char *org, const char *config, struct err *e)
{
	struct cJSON *v;

	if (sourceconf_parse(ad, config, &v, e) != 0 ||
		note(ad, org, cj_get_object(v, "headers"), e) != 0)
		return -1;
	return note(ad, org, cj_get_object(v, "query"), e);
}
