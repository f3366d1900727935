/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/openapi_op.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "net/header.h"
#include "run/httpbody.h"
#include "run/openapi_ref.h"
#include "run/openapi_schema.h"

enum {
	PARAMS_MAX = 200,
	INLINE_MAX = 24 << 10, /* a schema longer than this uses $defs */
	PRUNE_MAX = 64 << 10,  /* and longer than this does so in part */
	SCHEMA_MAX = 512 << 10,
	TITLE_MAX = 1000,
	DESCRIPTION_MAX = 16000
};

struct param {
	const char *name;
	const char *in;
	const char *arg;	    /* name of the argument */
	const struct cJSON *node;   /* NULL: only in the path */
	const struct cJSON *schema; /* may be NULL */
	const char *content;	    /* media type, or NULL */
	bool is_required;
};

struct reading {
	const struct openapi_op_doc *doc;
	struct arena *a;
	struct openapi_op *out;
	const struct cJSON *item, *op;
	struct param param[PARAMS_MAX];
	size_t n;
	const struct cJSON *body; /* the request body's media type object */
	const char *body_type;
	const char *body_description;
	const struct cJSON *content; /* all of them */
	bool body_is_required;
	bool body_is_deep;
};

static void
note(struct reading *r, const char *text)
{
	if (r->out->n_notes < OPENAPI_OP_NOTES_MAX)
		r->out->note[r->out->n_notes++] = text;
}

/*
 * Parameters.
 */

static struct param *
param_find(struct reading *r, const char *name, const char *in)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->param[i].name, name) == 0 &&
			strcmp(r->param[i].in, in) == 0)
			return &r->param[i];
	return NULL;
}

static bool
is_in_template(const char *path, const char *name)
{
	size_t len = strlen(name);
	const char *p = path;

	while ((p = strchr(p, '{')) != NULL) {
		if (strncmp(p + 1, name, len) == 0 && p[1 + len] == '}')
			return true;
		p++;
	}
	return false;
}

/* Named by the transport or by the secret: not for programs (OpenAPI 4.8.12
 * says the same of the first three). */
static bool
is_ours(const char *name)
{
	return strcasecmp(name, "Accept") == 0 ||
	       strcasecmp(name, "Content-Type") == 0 ||
	       strcasecmp(name, "Authorization") == 0;
}

static const char *
take_param(struct reading *r, const struct cJSON *node)
{
	struct param p = { 0 }, *known;
	const struct cJSON *content;

	node = openapi_ref_follow(r->doc->ref, node);
	p.node = node;
	p.name = cj_get_string(node, "name");
	p.in = cj_get_string(node, "in");
	if (node == NULL)
		return "a parameter that refers to nowhere or to another "
		       "document";
	if (p.name == NULL || p.in == NULL || p.name[0] == '\0')
		return "a parameter without name or place";
	(void)cj_get_bool(node, "required", &p.is_required);
	p.schema = cj_get(node, "schema");
	content = cj_first(cj_get_object(node, "content"));
	if (p.schema == NULL && content != NULL) {
		p.content = cj_name(content);
		p.schema = cj_get(content, "schema");
	}
	if (strcmp(p.in, "cookie") == 0) {
		if (p.is_required)
			return arena_printf(
				r->a, "it needs the cookie %.60s", p.name);
		note(r, arena_printf(r->a, "without the cookie %.60s", p.name));
		return NULL;
	}
	if (strcmp(p.in, "header") == 0) {
		if (is_ours(p.name))
			return NULL;
		if (header_is_reserved(p.name) ||
			!header_is_valid(p.name, "")) {
			if (p.is_required)
				return arena_printf(r->a,
					"it needs the header %.60s", p.name);
			note(r, arena_printf(r->a, "without the header %.60s",
					p.name));
			return NULL;
		}
	} else if (strcmp(p.in, "path") == 0) {
		if (!is_in_template(r->out->name.path, p.name))
			return NULL;
		p.is_required = true;
	} else if (strcmp(p.in, "query") != 0) {
		return arena_printf(r->a, "a parameter in \"%.40s\"", p.in);
	}
	/* The operation's replace those of its path. */
	if ((known = param_find(r, p.name, p.in)) != NULL) {
		*known = p;
		return NULL;
	}
	if (r->n == PARAMS_MAX)
		return "it has too many parameters";
	r->param[r->n++] = p;
	return NULL;
}

static const char *
take_params(struct reading *r, const struct cJSON *list)
{
	const struct cJSON *m;
	const char *why;

	for (m = cj_first(list); m != NULL; m = cj_next(m))
		if ((why = take_param(r, m)) != NULL)
			return why;
	return NULL;
}

/* A template that says more than the parameters do. */
static const char *
take_template(struct reading *r)
{
	const char *p = r->out->name.path;
	struct param *q;
	const char *name;
	size_t len;

	while ((p = strchr(p, '{')) != NULL) {
		len = strcspn(p, "}");
		if (p[len] == '\0' || len < 2)
			return "its path is no template";
		name = arena_memdup(r->a, p + 1, len - 1);
		if (param_find(r, name, "path") == NULL) {
			if (r->n == PARAMS_MAX)
				return "it has too many parameters";
			q = &r->param[r->n++];
			*q = (struct param){
				.name = name, .in = "path", .is_required = true
			};
			note(r, arena_printf(r->a,
					"path parameter %.60s is not described",
					name));
		}
		p += len;
	}
	return NULL;
}

static bool
is_taken(const struct reading *r, const char *arg, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(r->param[i].arg, arg) == 0)
			return true;
	return r->body_type != NULL &&
	       (strcmp(arg, "body") == 0 || strcmp(arg, "input") == 0 ||
		       strcmp(arg, "contentType") == 0);
}

/* Two places may have one name: the later gets its place before it. */
static void
name_args(struct reading *r)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		struct param *p = &r->param[i];

		p->arg = p->name;
		if (is_taken(r, p->arg, i))
			p->arg = arena_printf(r->a, "%s_%s", p->in, p->name);
		while (is_taken(r, p->arg, i))
			p->arg = arena_printf(r->a, "%s_", p->arg);
	}
}

/*
 * The body.
 */

static int
rank(const char *type)
{
	size_t len = strcspn(type, "; ");

	if (len == 16 && strncasecmp(type, "application/json", 16) == 0)
		return 7;
	if (httpbody_is_json_type(type))
		return 6;
	if (strncasecmp(type, "application/x-www-form-urlencoded", 33) == 0)
		return 5;
	if (strncasecmp(type, "multipart/form-data", 19) == 0)
		return 4;
	if (strncasecmp(type, "*/*", 3) == 0 ||
		strncasecmp(type, "application/*", 13) == 0)
		return 3;
	if (strncasecmp(type, "text/", 5) == 0)
		return 2;
	return 1;
}

static const char *
take_body(struct reading *r)
{
	const struct cJSON *body = cj_get(r->op, "requestBody"), *m, *encoding;
	int best = 0;

	if (body == NULL)
		return NULL;
	body = openapi_ref_follow(r->doc->ref, body);
	if (body == NULL)
		return "its body refers to nowhere or to another document";
	r->content = cj_get_object(body, "content");
	for (m = cj_first(r->content); m != NULL; m = cj_next(m))
		if (rank(cj_name(m)) > best) {
			best = rank(cj_name(m));
			r->body = m;
			r->body_type = cj_name(m);
		}
	if (r->body == NULL)
		return NULL;
	if (strchr(r->body_type, '*') != NULL)
		r->body_type = strncmp(r->body_type, "text", 4) == 0
				       ? "text/plain"
				       : "application/json";
	(void)cj_get_bool(body, "required", &r->body_is_required);
	r->body_description = cj_get_string(body, "description");
	encoding = cj_get_object(r->body, "encoding");
	for (m = cj_first(encoding); m != NULL; m = cj_next(m)) {
		const char *style = cj_get_string(m, "style");

		if (style != NULL && strcmp(style, "deepObject") == 0)
			r->body_is_deep = true;
	}
	return NULL;
}

static size_t
count_types(const struct reading *r)
{
	const struct cJSON *m;
	size_t n = 0;

	for (m = cj_first(r->content); m != NULL; m = cj_next(m))
		n += strchr(cj_name(m), '*') == NULL;
	return n;
}

static void
put_types(const struct reading *r, struct buf *b)
{
	const struct cJSON *m;
	bool is_next = false;

	buf_putc(b, '[');
	for (m = cj_first(r->content); m != NULL; m = cj_next(m)) {
		if (strchr(cj_name(m), '*') != NULL)
			continue;
		if (is_next)
			buf_putc(b, ',');
		is_next = true;
		buf_jsons(b, cj_name(m));
	}
	buf_putc(b, ']');
}

/*
 * Schemas.
 */

static void
put_input(struct reading *r, struct openapi_schema *s, struct buf *b)
{
	bool is_next = false, has_required = false;
	bool is_form = r->body_type != NULL &&
		       strncasecmp(r->body_type, "multipart/", 10) == 0;
	size_t i;

	buf_puts(b, "{\"type\":\"object\",\"properties\":{");
	for (i = 0; i < r->n; i++) {
		const struct param *p = &r->param[i];

		if (is_next)
			buf_putc(b, ',');
		is_next = true;
		buf_jsons(b, p->arg);
		buf_putc(b, ':');
		if (p->schema != NULL)
			openapi_schema_put(s, b, p->schema,
				cj_get_string(p->node, "description"), false);
		else
			buf_puts(b, p->node == NULL ? "{\"type\":\"string\"}"
						    : "{}");
	}
	if (r->body != NULL) {
		buf_printf(b, "%s\"body\":", is_next ? "," : "");
		if (cj_get(r->body, "schema") != NULL)
			openapi_schema_put(s, b, cj_get(r->body, "schema"),
				r->body_description, is_form);
		else
			buf_puts(b, "{}");
		if (count_types(r) > 1) {
			buf_puts(b, ",\"contentType\":{\"enum\":");
			put_types(r, b);
			buf_puts(b, ",\"description\":\"Media type of body, "
				    "by default ");
			buf_put(b, r->body_type, strcspn(r->body_type, "\"\\"));
			buf_puts(b, "\"}");
		}
	}
	buf_putc(b, '}');
	for (i = 0; i < r->n; i++) {
		if (!r->param[i].is_required)
			continue;
		buf_puts(b, has_required ? "," : ",\"required\":[");
		has_required = true;
		buf_jsons(b, r->param[i].arg);
	}
	if (r->body != NULL && r->body_is_required) {
		buf_puts(b, has_required ? "," : ",\"required\":[");
		has_required = true;
		buf_puts(b, "\"body\"");
	}
	if (has_required)
		buf_putc(b, ']');
	buf_puts(b, ",\"additionalProperties\":false");
	openapi_schema_put_defs(s, b);
	buf_putc(b, '}');
}

static const char *
input_schema(struct reading *r, struct buf *b)
{
	struct openapi_schema_options o = { .ref = r->doc->ref,
		.is_30 = r->doc->is_30,
		.is_request = true,
		.inlines = true,
		.max = INLINE_MAX };
	struct openapi_schema *s = openapi_schema_new(r->a, &o);
	size_t start = b->len;

	put_input(r, s, b);
	if (openapi_schema_is_too_long(s) || b->len - start > INLINE_MAX) {
		b->len = start;
		o.inlines = false;
		o.max = SCHEMA_MAX;
		o.prune = PRUNE_MAX;
		s = openapi_schema_new(r->a, &o);
		put_input(r, s, b);
	}
	if (openapi_schema_is_abridged(s))
		note(r, "its input schema is abridged");
	if (openapi_schema_fault(s) == NULL && b->len - start > SCHEMA_MAX)
		return "the schema is too large";
	return openapi_schema_fault(s);
}

/* What 200 to 299 say, or default; only JSON has a schema. */
static const struct cJSON *
response_schema(struct reading *r, const char **accept)
{
	static const char *const order[] = { "200", "201", "202", "203", "2XX",
		"2xx", "206", "207", "default" };
	const struct cJSON *responses = cj_get_object(r->op, "responses"), *m;
	const struct cJSON *res, *best = NULL;
	size_t i;

	for (i = 0; i < NELEM(order); i++) {
		res = openapi_ref_follow(
			r->doc->ref, cj_get(responses, order[i]));
		m = cj_first(cj_get_object(res, "content"));
		for (; m != NULL; m = cj_next(m)) {
			if (best == NULL ||
				(httpbody_is_json_type(cj_name(m)) &&
					!httpbody_is_json_type(cj_name(best))))
				best = m;
		}
		if (best != NULL || (i == 0 && res != NULL))
			break;
	}
	if (best == NULL)
		return NULL;
	if (strchr(cj_name(best), '*') == NULL)
		*accept = cj_name(best);
	if (!httpbody_is_json_type(cj_name(best)) &&
		strchr(cj_name(best), '*') == NULL)
		return NULL;
	return cj_get(best, "schema");
}

static void
put_output(struct openapi_schema *s, struct buf *b, const struct cJSON *schema)
{
	openapi_schema_put(s, b, schema, NULL, false);
	/* Reopened for what it refers to. */
	b->data[--b->len] = '\0';
	if (b->data[b->len - 1] == '{')
		buf_puts(b, "\"title\":\"any\"");
	openapi_schema_put_defs(s, b);
	buf_putc(b, '}');
}

static void
output_schema(struct reading *r, struct buf *b, const struct cJSON *schema)
{
	struct openapi_schema_options o = { .ref = r->doc->ref,
		.is_30 = r->doc->is_30,
		.inlines = true,
		.max = INLINE_MAX };
	struct openapi_schema *s;
	size_t start = b->len, at;

	/* An object that says nothing is none. */
	if (!cj_is_object(schema) || cj_first(schema) == NULL)
		return;
	buf_puts(b, ",\"output_schema\":");
	at = b->len;
	s = openapi_schema_new(r->a, &o);
	put_output(s, b, schema);
	if (openapi_schema_is_too_long(s) || b->len - at > INLINE_MAX) {
		b->len = at;
		o.inlines = false;
		o.max = SCHEMA_MAX;
		o.prune = PRUNE_MAX;
		s = openapi_schema_new(r->a, &o);
		put_output(s, b, schema);
	}
	if (openapi_schema_fault(s) == NULL && b->len - at <= SCHEMA_MAX) {
		if (openapi_schema_is_abridged(s))
			note(r, "its output schema is abridged");
		return;
	}
	b->len = start;
	b->data[start] = '\0';
	note(r, arena_printf(r->a, "without output schema: %s",
			openapi_schema_fault(s) != NULL
				? openapi_schema_fault(s)
				: "it is too large"));
}

/*
 * The definition, as run/httpargs.h reads it.
 */

static void
put_param(struct reading *r, struct buf *b, const struct param *p)
{
	const char *style = cj_get_string(p->node, "style");
	bool explode, reserved = false;

	buf_puts(b, "{\"name\":");
	buf_jsons(b, p->name);
	buf_printf(b, ",\"in\":\"%s\"", p->in);
	if (strcmp(p->arg, p->name) != 0) {
		buf_puts(b, ",\"arg\":");
		buf_jsons(b, p->arg);
	}
	if (p->is_required)
		buf_puts(b, ",\"required\":true");
	if (style != NULL && strcmp(style, "form") != 0 &&
		strcmp(style, "simple") != 0) {
		buf_puts(b, ",\"style\":");
		buf_jsons(b, style);
	}
	if (cj_get_bool(p->node, "explode", &explode))
		buf_printf(b, ",\"explode\":%s", explode ? "true" : "false");
	(void)cj_get_bool(p->node, "allowReserved", &reserved);
	if (reserved)
		buf_puts(b, ",\"reserved\":true");
	if (p->content != NULL) {
		buf_puts(b, ",\"content\":");
		buf_jsons(b, p->content);
	}
	buf_putc(b, '}');
}

static void
put_definition(struct reading *r, struct buf *b, const char *accept)
{
	size_t i;

	buf_puts(b, ",\"definition\":{\"method\":");
	buf_jsons(b, r->out->name.method);
	buf_puts(b, ",\"path\":");
	buf_jsons(b, r->out->name.path);
	buf_puts(b, ",\"params\":[");
	for (i = 0; i < r->n; i++) {
		if (i > 0)
			buf_putc(b, ',');
		put_param(r, b, &r->param[i]);
	}
	buf_putc(b, ']');
	if (r->body != NULL) {
		buf_puts(b, ",\"body\":{\"content_type\":");
		buf_jsons(b, r->body_type);
		if (count_types(r) > 1) {
			buf_puts(b, ",\"content_types\":");
			put_types(r, b);
		}
		if (r->body_is_required)
			buf_puts(b, ",\"required\":true");
		if (r->body_is_deep)
			buf_puts(b, ",\"deep\":true");
		buf_putc(b, '}');
	}
	if (accept != NULL && !httpbody_is_json_type(accept) &&
		header_is_valid("Accept", accept)) {
		buf_puts(b, ",\"accept\":");
		buf_jsons(b, accept);
	} else if (accept != NULL &&
		   strncasecmp(accept, "application/json", 16) != 0 &&
		   header_is_valid("Accept", accept)) {
		buf_puts(b, ",\"accept\":");
		buf_jsons(b, arena_printf(r->a, "%s, application/json;q=0.9",
				     accept));
	}
	buf_putc(b, '}');
}

static void
put_words(struct reading *r, struct buf *b)
{
	const char *title = cj_get_string(r->op, "summary");
	const char *text = cj_get_string(r->op, "description");
	bool is_deprecated = false;
	struct buf all;

	if (title == NULL)
		title = cj_get_string(r->item, "summary");
	if (title != NULL && title[0] != '\0') {
		buf_puts(b, ",\"title\":");
		buf_json(b, title,
			buf_utf8_prefix(title, strlen(title), TITLE_MAX));
	}
	(void)cj_get_bool(r->op, "deprecated", &is_deprecated);
	buf_init(&all, r->a);
	if (is_deprecated)
		buf_puts(&all, "Deprecated. ");
	if (text == NULL || text[0] == '\0')
		text = title;
	if (text != NULL && text[0] != '\0')
		buf_puts(&all, text);
	else
		buf_printf(
			&all, "%s %s", r->out->name.method, r->out->name.path);
	buf_puts(b, ",\"description\":");
	buf_json(b, all.data,
		buf_utf8_prefix(all.data, all.len, DESCRIPTION_MAX));
}

static void
put_hints(struct reading *r, struct buf *b)
{
	const char *m = r->out->name.method;
	bool is_safe = strcmp(m, "GET") == 0 || strcmp(m, "HEAD") == 0 ||
		       strcmp(m, "OPTIONS") == 0 || strcmp(m, "QUERY") == 0;
	bool is_idempotent = strcmp(m, "PUT") == 0 || strcmp(m, "DELETE") == 0;

	if (is_safe)
		buf_puts(b, ",\"annotations\":{\"readOnlyHint\":true,"
			    "\"openWorldHint\":true}");
	else
		buf_printf(b,
			",\"annotations\":{\"readOnlyHint\":false%s,"
			"\"openWorldHint\":true}",
			is_idempotent ? ",\"idempotentHint\":true" : "");
	/* What only reads runs freely; QUERY is too new to be trusted. */
	if (strcmp(m, "GET") != 0 && strcmp(m, "HEAD") != 0) {
		buf_puts(b, ",\"needs_approval\":true,\"approval_text\":");
		buf_jsons(b,
			arena_printf(r->a, "%s %.900s", m, r->out->name.path));
	}
}

const char *
openapi_op_read(const struct openapi_op_doc *doc, const struct cJSON *item,
	const struct cJSON *node, struct openapi_op *out)
{
	struct reading *r = arena_zalloc(doc->a, sizeof(*r));
	const struct cJSON *schema;
	const char *why, *accept = NULL;
	struct buf b;

	r->doc = doc;
	r->a = doc->a;
	r->out = out;
	r->item = item;
	r->op = node;
	out->name.tag = cj_string(cj_first(cj_get_array(node, "tags")));
	out->name.operation_id = cj_get_string(node, "operationId");
	out->security = cj_get_array(node, "security");
	if ((why = take_params(r, cj_get_array(item, "parameters"))) != NULL ||
		(why = take_params(r, cj_get_array(node, "parameters"))) !=
			NULL ||
		(why = take_template(r)) != NULL ||
		(why = take_body(r)) != NULL)
		return why;
	name_args(r);
	buf_init(&b, r->a);
	put_words(r, &b);
	buf_puts(&b, ",\"input_schema\":");
	if ((why = input_schema(r, &b)) != NULL)
		return why;
	schema = response_schema(r, &accept);
	output_schema(r, &b, schema);
	put_hints(r, &b);
	put_definition(r, &b, accept);
	out->members = b.data;
	return NULL;
}
