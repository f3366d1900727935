/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/openapi_schema.h"

#include <ctype.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "run/openapi_ref.h"

enum { DEPTH_MAX = 60, STACK_MAX = 60, DESCRIPTION_MAX = 2000 };

struct def {
	struct def *next;
	const char *ref;
	const char *name;
	const struct cJSON *node;
};

struct openapi_schema {
	struct arena *a;
	struct openapi_schema_options o;
	struct def *defs, **end;
	const char *stack[STACK_MAX]; /* references being replaced */
	size_t n_stack;
	size_t start; /* of OUT, when it was first put to */
	bool has_start;
	const char *fault;
	bool is_too_long;
	bool is_abridged;
	bool is_form;
	int depth;
};

/* How the value of a keyword is carried over; others are left out. */
enum keyword {
	K_VALUE,
	K_SCHEMA,
	K_LIST,
	K_MAP, /* of schemas */
};

static const struct {
	const char *name;
	enum keyword kind;
} KEYWORDS[] = {
	{ "title", K_VALUE },
	{ "enum", K_VALUE },
	{ "const", K_VALUE },
	{ "default", K_VALUE },
	{ "format", K_VALUE },
	{ "multipleOf", K_VALUE },
	{ "minLength", K_VALUE },
	{ "maxLength", K_VALUE },
	{ "pattern", K_VALUE },
	{ "minItems", K_VALUE },
	{ "maxItems", K_VALUE },
	{ "uniqueItems", K_VALUE },
	{ "minProperties", K_VALUE },
	{ "maxProperties", K_VALUE },
	{ "minContains", K_VALUE },
	{ "maxContains", K_VALUE },
	{ "dependentRequired", K_VALUE },
	{ "contentEncoding", K_VALUE },
	{ "contentMediaType", K_VALUE },
	{ "deprecated", K_VALUE },
	{ "items", K_SCHEMA },
	{ "additionalProperties", K_SCHEMA },
	{ "not", K_SCHEMA },
	{ "if", K_SCHEMA },
	{ "then", K_SCHEMA },
	{ "else", K_SCHEMA },
	{ "contains", K_SCHEMA },
	{ "propertyNames", K_SCHEMA },
	{ "unevaluatedItems", K_SCHEMA },
	{ "unevaluatedProperties", K_SCHEMA },
	{ "allOf", K_LIST },
	{ "anyOf", K_LIST },
	{ "oneOf", K_LIST },
	{ "prefixItems", K_LIST },
	{ "patternProperties", K_MAP },
	{ "dependentSchemas", K_MAP },
};

static void put(struct openapi_schema *s, struct buf *out,
	const struct cJSON *v, const char *description);

struct openapi_schema *
openapi_schema_new(struct arena *a, const struct openapi_schema_options *o)
{
	struct openapi_schema *s = arena_zalloc(a, sizeof(*s));

	s->a = a;
	s->o = *o;
	s->end = &s->defs;
	return s;
}

const char *
openapi_schema_fault(const struct openapi_schema *s)
{
	return s->fault;
}

bool
openapi_schema_is_too_long(const struct openapi_schema *s)
{
	return s->is_too_long;
}

bool
openapi_schema_is_abridged(const struct openapi_schema *s)
{
	return s->is_abridged;
}

static void
fail(struct openapi_schema *s, const char *why)
{
	if (s->fault == NULL)
		s->fault = why;
}

/*
 * References.
 */

static const char *
def_name(struct openapi_schema *s, const char *ref)
{
	const char *slash = strrchr(ref, '/'), *base;
	const struct def *d;
	char *name, *p;
	int n = 1;

	base = arena_strdup(s->a, slash != NULL ? slash + 1 : ref);
	for (p = (char *)base; *p != '\0'; p++)
		if (!isascii((unsigned char)*p) ||
			(!isalnum((unsigned char)*p) && *p != '-' && *p != '.'))
			*p = '_';
	name = (char *)base;
again:
	for (d = s->defs; d != NULL; d = d->next)
		if (strcmp(d->name, name) == 0) {
			name = arena_printf(s->a, "%s_%d", base, ++n);
			goto again;
		}
	return name;
}

static const char *
def_of(struct openapi_schema *s, const char *ref, const struct cJSON *node)
{
	struct def *d;

	for (d = s->defs; d != NULL; d = d->next)
		if (strcmp(d->ref, ref) == 0)
			return d->name;
	d = arena_zalloc(s->a, sizeof(*d));
	d->ref = ref;
	d->name = def_name(s, ref);
	d->node = node;
	*s->end = d;
	s->end = &d->next;
	return d->name;
}

static bool
is_on_stack(const struct openapi_schema *s, const char *ref)
{
	size_t i;

	for (i = 0; i < s->n_stack; i++)
		if (strcmp(s->stack[i], ref) == 0)
			return true;
	return false;
}

static void
put_description(struct openapi_schema *s, struct buf *out, const char *text)
{
	size_t len = buf_utf8_prefix(text, strlen(text), DESCRIPTION_MAX);

	if (len == 0)
		return;
	if (out->data[out->len - 1] != '{')
		buf_putc(out, ',');
	buf_puts(out, "\"description\":");
	buf_json(out, text, len);
}

/* Beside $ref: nothing counts in 3.0; in 3.1 all of it does. */
static bool
has_siblings(const struct openapi_schema *s, const struct cJSON *v)
{
	const struct cJSON *m;
	const char *name;
	size_t i;

	if (s->o.is_30)
		return false;
	for (m = cj_first(v); m != NULL; m = cj_next(m)) {
		name = cj_name(m);
		if (strcmp(name, "type") == 0 ||
			strcmp(name, "properties") == 0 ||
			strcmp(name, "required") == 0)
			return true;
		for (i = 0; i < NELEM(KEYWORDS); i++)
			if (strcmp(KEYWORDS[i].name, name) == 0 &&
				strcmp(name, "title") != 0 &&
				strcmp(name, "deprecated") != 0 &&
				strcmp(name, "default") != 0)
				return true;
	}
	return false;
}

static void
put_ref(struct openapi_schema *s, struct buf *out, const char *ref,
	const char *description)
{
	const struct cJSON *node = openapi_ref_find(s->o.ref, ref);

	if (ref[0] != '#') {
		fail(s, arena_printf(s->a,
				"a reference to another document: %.100s",
				ref));
		return;
	}
	if (node == NULL) {
		fail(s, arena_printf(
				s->a, "a reference to nowhere: %.100s", ref));
		return;
	}
	if (s->o.inlines && !is_on_stack(s, ref) && s->n_stack < STACK_MAX &&
		s->depth < DEPTH_MAX / 2) {
		s->stack[s->n_stack++] = ref;
		put(s, out, node, description);
		s->n_stack--;
		return;
	}
	buf_puts(out, "{\"$ref\":\"#/$defs/");
	buf_puts(out, def_of(s, ref, node));
	buf_putc(out, '"');
	if (description != NULL)
		put_description(s, out, description);
	buf_putc(out, '}');
}

/*
 * Keywords.
 */

static void
begin(struct buf *out, const char *name)
{
	if (out->data[out->len - 1] != '{')
		buf_putc(out, ',');
	buf_jsons(out, name);
	buf_putc(out, ':');
}

static bool
is_type(const char *t)
{
	static const char *const types[] = { "string", "number", "integer",
		"boolean", "object", "array", "null" };
	size_t i;

	for (i = 0; t != NULL && i < NELEM(types); i++)
		if (strcmp(types[i], t) == 0)
			return true;
	return false;
}

static void
put_type(struct openapi_schema *s, struct buf *out, const struct cJSON *v,
	bool is_nullable)
{
	const struct cJSON *type = cj_get(v, "type"), *t;
	bool is_next = false;

	if (cj_is_string(type) && is_type(cj_string(type))) {
		begin(out, "type");
		if (is_nullable)
			buf_printf(out, "[\"%s\",\"null\"]", cj_string(type));
		else
			buf_printf(out, "\"%s\"", cj_string(type));
		return;
	}
	if (!cj_is_array(type))
		return;
	begin(out, "type");
	buf_putc(out, '[');
	for (t = cj_first(type); t != NULL; t = cj_next(t)) {
		if (!is_type(cj_string(t)))
			continue;
		buf_printf(out, "%s\"%s\"", is_next ? "," : "", cj_string(t));
		is_next = true;
	}
	if (!is_next)
		buf_puts(out, "\"null\"");
	buf_putc(out, ']');
}

/* 3.0 has a boolean beside minimum, 3.1 a number instead of it. */
static void
put_bound(struct buf *out, const struct cJSON *v, const char *name,
	const char *exclusive)
{
	const struct cJSON *bound = cj_get(v, name), *ex = cj_get(v, exclusive);
	bool is_exclusive = false;

	if (cj_is_number(ex)) {
		begin(out, exclusive);
		cj_write(out, ex);
	} else {
		(void)cj_get_bool(v, exclusive, &is_exclusive);
	}
	if (cj_is_number(bound)) {
		begin(out, is_exclusive ? exclusive : name);
		cj_write(out, bound);
	}
}

/* Does the other side alone have the property? */
static bool
is_left_out(struct openapi_schema *s, const struct cJSON *property)
{
	const struct cJSON *v = openapi_ref_follow(s->o.ref, property);
	bool is = false;

	(void)cj_get_bool(v, s->o.is_request ? "readOnly" : "writeOnly", &is);
	return is;
}

static void
put_properties(struct openapi_schema *s, struct buf *out, const struct cJSON *v)
{
	const struct cJSON *properties = cj_get_object(v, "properties");
	const struct cJSON *required = cj_get_array(v, "required"), *m, *p;
	bool is_next = false;

	if (properties != NULL) {
		begin(out, "properties");
		buf_putc(out, '{');
		for (m = cj_first(properties); m != NULL; m = cj_next(m)) {
			if (is_left_out(s, m))
				continue;
			begin(out, cj_name(m));
			put(s, out, m, NULL);
			if (s->fault != NULL)
				return;
		}
		buf_putc(out, '}');
	}
	for (m = cj_first(required); m != NULL; m = cj_next(m)) {
		if (!cj_is_string(m))
			continue;
		p = cj_get(properties, cj_string(m));
		if (p != NULL && is_left_out(s, p))
			continue;
		if (!is_next) {
			begin(out, "required");
			buf_putc(out, '[');
		} else {
			buf_putc(out, ',');
		}
		is_next = true;
		buf_jsons(out, cj_string(m));
	}
	if (is_next)
		buf_putc(out, ']');
}

static void
put_list(struct openapi_schema *s, struct buf *out, const struct cJSON *list)
{
	const struct cJSON *m;

	buf_putc(out, '[');
	for (m = cj_first(list); m != NULL && s->fault == NULL;
		m = cj_next(m)) {
		if (m != cj_first(list))
			buf_putc(out, ',');
		put(s, out, m, NULL);
	}
	buf_putc(out, ']');
}

static void
put_enum(struct buf *out, const struct cJSON *list, bool is_nullable)
{
	const struct cJSON *m;
	bool has_null = false;

	buf_putc(out, '[');
	for (m = cj_first(list); m != NULL; m = cj_next(m)) {
		if (m != cj_first(list))
			buf_putc(out, ',');
		has_null |= cj_is_null(m);
		cj_write(out, m);
	}
	if (is_nullable && !has_null)
		buf_puts(out, cj_first(list) != NULL ? ",null" : "null");
	buf_putc(out, ']');
}

static void
put_keywords(struct openapi_schema *s, struct buf *out, const struct cJSON *v,
	bool is_nullable)
{
	const struct cJSON *k, *m;
	bool is_any;
	size_t i;

	for (i = 0; i < NELEM(KEYWORDS) && s->fault == NULL; i++) {
		const char *name = KEYWORDS[i].name;

		if ((k = cj_get(v, name)) == NULL)
			continue;
		switch (KEYWORDS[i].kind) {
		case K_VALUE:
			if (strcmp(name, "enum") == 0) {
				if (!cj_is_array(k) || cj_first(k) == NULL)
					break;
				begin(out, name);
				put_enum(out, k, is_nullable);
				break;
			}
			begin(out, name);
			cj_write(out, k);
			break;
		case K_SCHEMA:
			begin(out, name);
			if (cj_get_bool(v, name, &is_any))
				buf_puts(out, is_any ? "true" : "false");
			else
				put(s, out, k, NULL);
			break;
		case K_LIST:
			if (!cj_is_array(k) || cj_first(k) == NULL)
				break;
			begin(out, name);
			put_list(s, out, k);
			break;
		case K_MAP:
			begin(out, name);
			buf_putc(out, '{');
			for (m = cj_first(k); m != NULL; m = cj_next(m)) {
				begin(out, cj_name(m));
				put(s, out, m, NULL);
			}
			buf_putc(out, '}');
			break;
		}
	}
}

/* A file in a form: its text, or its bytes with a name. */
static bool
put_file(struct openapi_schema *s, struct buf *out, const struct cJSON *v,
	const char *description)
{
	const char *type = cj_get_string(v, "type");
	const char *format = cj_get_string(v, "format");
	const char *media = cj_get_string(v, "contentMediaType");

	if (!s->is_form || type == NULL || strcmp(type, "string") != 0 ||
		!((format != NULL && (strcmp(format, "binary") == 0 ||
					     strcmp(format, "byte") == 0)) ||
			(media != NULL &&
				cj_get(v, "contentEncoding") == NULL)))
		return false;
	buf_puts(out, "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\","
		      "\"properties\":{\"base64\":{\"type\":\"string\"},"
		      "\"filename\":{\"type\":\"string\"},"
		      "\"mimeType\":{\"type\":\"string\"}},"
		      "\"required\":[\"base64\"]}]");
	put_description(s, out, description != NULL ? description : "A file");
	buf_putc(out, '}');
	return true;
}

static void
put_object(struct openapi_schema *s, struct buf *out, const struct cJSON *v,
	const char *description)
{
	const char *own = cj_get_string(v, "description");
	bool is_nullable = false, wraps;

	if (description == NULL)
		description = own;
	if (put_file(s, out, v, description))
		return;
	if (s->o.is_30)
		(void)cj_get_bool(v, "nullable", &is_nullable);
	/* Nullable without a type is so beside what it is made of. */
	wraps = is_nullable && cj_get(v, "type") == NULL &&
		(cj_get(v, "allOf") != NULL || cj_get(v, "oneOf") != NULL ||
			cj_get(v, "anyOf") != NULL);
	buf_puts(out, wraps ? "{\"anyOf\":[{" : "{");
	put_type(s, out, v, is_nullable);
	if (description != NULL && !wraps)
		put_description(s, out, description);
	put_bound(out, v, "minimum", "exclusiveMinimum");
	put_bound(out, v, "maximum", "exclusiveMaximum");
	put_keywords(s, out, v, is_nullable && !wraps);
	put_properties(s, out, v);
	if (wraps) {
		buf_puts(out, "},{\"type\":\"null\"}]");
		if (description != NULL)
			put_description(s, out, description);
	}
	buf_putc(out, '}');
}

static void
put(struct openapi_schema *s, struct buf *out, const struct cJSON *v,
	const char *description)
{
	const char *ref = cj_get_string(v, "$ref");
	bool is_true;

	if (s->fault != NULL)
		return;
	if (out->len - s->start > s->o.max) {
		s->is_too_long = true;
		fail(s, "the schema is too large");
		return;
	}
	if (s->depth >= DEPTH_MAX) {
		fail(s, "the schema is too deep");
		return;
	}
	s->depth++;
	if (ref != NULL) {
		if (description == NULL && !s->o.is_30)
			description = cj_get_string(v, "description");
		if (has_siblings(s, v)) {
			/* Both count. */
			buf_puts(out, "{\"allOf\":[");
			put_ref(s, out, ref, description);
			buf_putc(out, ',');
			put_object(s, out, v, NULL);
			buf_puts(out, "]}");
		} else {
			put_ref(s, out, ref, description);
		}
	} else if (cj_is_object(v)) {
		put_object(s, out, v, description);
	} else {
		is_true = true;
		if (v != NULL && !cj_is_null(v) && !cj_is_string(v) &&
			!cj_is_number(v) && !cj_is_array(v))
			is_true = strcmp(cj_print(s->a, v), "true") == 0;
		buf_puts(out, is_true ? "{" : "{\"not\":{}");
		if (description != NULL)
			put_description(s, out, description);
		buf_putc(out, '}');
	}
	s->depth--;
}

void
openapi_schema_put(struct openapi_schema *s, struct buf *out,
	const struct cJSON *schema, const char *description, bool is_form)
{
	if (!s->has_start)
		s->start = out->len;
	s->has_start = true;
	s->is_form = is_form;
	put(s, out, schema, description);
	s->is_form = false;
}

void
openapi_schema_put_defs(struct openapi_schema *s, struct buf *out)
{
	const struct def *d;

	if (s->defs == NULL || s->fault != NULL)
		return;
	buf_puts(out, ",\"$defs\":{");
	/* Grows as it is written. */
	for (d = s->defs; d != NULL && s->fault == NULL; d = d->next) {
		begin(out, d->name);
		if (s->o.prune > 0 && out->len - s->start > s->o.prune) {
			s->is_abridged = true;
			buf_puts(out, "{\"title\":");
			buf_jsons(out, d->name);
			buf_putc(out, '}');
			continue;
		}
		s->n_stack = 0;
		s->depth = 0;
		s->stack[s->n_stack++] = d->ref;
		put(s, out, d->node, NULL);
	}
	buf_putc(out, '}');
}
