/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/httpargs.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "net/fetch.h"
#include "net/header.h"
#include "net/url.h"
#include "run/httpbody.h"

enum { DEPTH_MAX = 128, HEADERS_MAX = 64 };

struct building {
	struct arena *a;
	const struct cJSON *def, *args;
	const char *text; /* of the arguments */
	size_t text_len;
	struct buf url;
	bool has_query;
	struct fetch_header *header;
	size_t n_header;
	const char *why;
	bool is_ours;
};

static bool
fail(struct building *b, const char *why)
{
	if (b->why == NULL)
		b->why = why;
	return false;
}

static bool
fail_ours(struct building *b, const char *why)
{
	b->is_ours = true;
	return fail(b, why);
}

/* Text of a value within a parameter: nested ones are JSON. */
static const char *
plain(struct building *b, const struct cJSON *v)
{
	return cj_is_string(v) ? cj_string(v) : cj_print(b->a, v);
}

/*
 * Items of an array or object joined as style and explode say, each encoded:
 * "a,b", "k,v,k,v" or "k=v,k=v".
 */
static void
join(struct building *b, struct buf *out, const struct cJSON *v,
	const char *between, const char *pair, const char *keep)
{
	const struct cJSON *m;
	const char *text;
	bool is_next = false;

	for (m = cj_first(v); m != NULL; m = cj_next(m)) {
		if (is_next)
			buf_puts(out, between);
		is_next = true;
		if (cj_is_object(v)) {
			url_encode(out, cj_name(m), strlen(cj_name(m)), keep);
			buf_puts(out, pair);
		}
		text = plain(b, m);
		url_encode(out, text, strlen(text), keep);
	}
}

static bool
is_nested(const struct cJSON *v)
{
	return cj_is_object(v) || cj_is_array(v);
}

/* ";name=value" of each item. */
static void
put_matrix(struct building *b, const char *name, const struct cJSON *v,
	bool explode)
{
	const struct cJSON *m;
	const char *text, *key;

	if (!is_nested(v) || !explode) {
		buf_putc(&b->url, ';');
		url_encode(&b->url, name, strlen(name), "");
		buf_putc(&b->url, '=');
		if (is_nested(v)) {
			join(b, &b->url, v, ",", ",", "");
		} else {
			text = plain(b, v);
			url_encode(&b->url, text, strlen(text), "");
		}
		return;
	}
	for (m = cj_first(v); m != NULL; m = cj_next(m)) {
		key = cj_is_object(v) ? cj_name(m) : name;
		text = plain(b, m);
		buf_putc(&b->url, ';');
		url_encode(&b->url, key, strlen(key), "");
		buf_putc(&b->url, '=');
		url_encode(&b->url, text, strlen(text), "");
	}
}

/*
 * Is a part of the encoded text P "." or ".."?  Servers and libraries take
 * these away, and many do so after decoding what is between them.
 */
static bool
has_dots(const char *p)
{
	static const char *const between[] = { "/", "%2F", "%5C" };
	size_t at = 0, len = 0, i;

	for (;;) {
		for (i = 0; i < NELEM(between); i++)
			if (strncmp(p + at + len, between[i],
				    strlen(between[i])) == 0)
				break;
		if (i == NELEM(between) && p[at + len] != '\0') {
			len++;
			continue;
		}
		if ((len == 1 || len == 2) && strspn(p + at, ".") >= len)
			return true;
		if (p[at + len] == '\0')
			return false;
		at += len + strlen(between[i]);
		len = 0;
	}
}

static bool
put_path_value(struct building *b, const struct cJSON *param, const char *name,
	const struct cJSON *v)
{
	const char *style = cj_get_string(param, "style"), *text;
	bool explode = false, reserved = false;
	size_t before = b->url.len;
	const char *last;

	(void)cj_get_bool(param, "explode", &explode);
	(void)cj_get_bool(param, "reserved", &reserved);
	if (style != NULL && strcmp(style, "matrix") == 0) {
		put_matrix(b, name, v, explode);
		return true;
	}
	if (style != NULL && strcmp(style, "label") == 0)
		buf_putc(&b->url, '.');
	if (is_nested(v) && cj_get(param, "content") == NULL) {
		join(b, &b->url, v,
			style != NULL && strcmp(style, "label") == 0 && explode
				? "."
				: ",",
			explode ? "=" : ",", "");
	} else {
		text = plain(b, v);
		/* A path may go on in a value that says so, but not up. */
		url_encode(&b->url, text, strlen(text), reserved ? "/:@" : "");
	}
	last = b->url.data + before;
	if (*last == '\0')
		return fail(
			b, arena_printf(b->a, "%s: must not be empty", name));
	if (has_dots(last))
		return fail(b, arena_printf(b->a,
				       "%s: \".\" and \"..\" cannot be in a "
				       "path",
				       name));
	return true;
}

static void
put_pair_key(struct building *b, const char *key, const char *sub)
{
	buf_putc(&b->url, b->has_query ? '&' : '?');
	b->has_query = true;
	url_encode(&b->url, key, strlen(key), "[]");
	if (sub != NULL) {
		buf_putc(&b->url, '[');
		url_encode(&b->url, sub, strlen(sub), "");
		buf_putc(&b->url, ']');
	}
	buf_putc(&b->url, '=');
}

static void
put_pair(struct building *b, const char *key, const struct cJSON *v,
	const char *keep)
{
	const char *text = plain(b, v);

	put_pair_key(b, key, NULL);
	url_encode(&b->url, text, strlen(text), keep);
}

/* deepObject goes deeper than OpenAPI defines, in the way servers read it. */
static void
put_deep(struct building *b, const char *key, const struct cJSON *v)
{
	const struct cJSON *m;
	const char *sub;
	size_t i = 0;

	if (!is_nested(v)) {
		put_pair(b, key, v, "");
		return;
	}
	for (m = cj_first(v); m != NULL; m = cj_next(m), i++) {
		sub = cj_is_object(v)
			      ? arena_printf(b->a, "%s[%s]", key, cj_name(m))
			      : arena_printf(b->a, "%s[%zu]", key, i);
		put_deep(b, sub, m);
	}
}

static void
put_query(struct building *b, const struct cJSON *param, const char *name,
	const struct cJSON *v)
{
	const char *style = cj_get_string(param, "style"), *between = ",";
	bool explode = true, reserved = false;
	const char *keep;
	const struct cJSON *m;

	(void)cj_get_bool(param, "reserved", &reserved);
	keep = reserved ? ":/?@!$'()*,;[]" : "";
	if (style == NULL)
		style = "form";
	if (!cj_get_bool(param, "explode", &explode))
		explode = strcmp(style, "form") == 0 ||
			  strcmp(style, "deepObject") == 0;
	if (cj_get(param, "content") != NULL) {
		/* a JSON text, of strings too */
		const char *text = cj_print(b->a, v);

		put_pair_key(b, name, NULL);
		url_encode(&b->url, text, strlen(text), keep);
		return;
	}
	if (!is_nested(v)) {
		put_pair(b, name, v, keep);
		return;
	}
	if (strcmp(style, "deepObject") == 0) {
		put_deep(b, name, v);
		return;
	}
	if (explode) {
		for (m = cj_first(v); m != NULL; m = cj_next(m))
			put_pair(b, cj_is_object(v) ? cj_name(m) : name, m,
				keep);
		return;
	}
	if (cj_first(v) == NULL)
		return;
	if (strcmp(style, "spaceDelimited") == 0)
		between = "%20";
	else if (strcmp(style, "pipeDelimited") == 0)
		between = "%7C";
	put_pair_key(b, name, NULL);
	join(b, &b->url, v, between, between, keep);
}

static bool
put_header(struct building *b, const struct cJSON *param, const char *name,
	const struct cJSON *v)
{
	bool explode = false;
	const struct cJSON *m;
	struct buf value;

	(void)cj_get_bool(param, "explode", &explode);
	if (header_is_reserved(name) || b->n_header == HEADERS_MAX)
		return fail_ours(b, "a header that cannot be sent");
	buf_init(&value, b->a);
	if (!is_nested(v) || cj_get(param, "content") != NULL) {
		buf_puts(&value, plain(b, v));
	} else {
		for (m = cj_first(v); m != NULL; m = cj_next(m)) {
			if (value.len > 0)
				buf_putc(&value, ',');
			if (cj_is_object(v))
				buf_printf(&value, "%s%c", cj_name(m),
					explode ? '=' : ',');
			buf_puts(&value, plain(b, m));
		}
	}
	if (!header_is_valid(name, value.data))
		return fail(b, arena_printf(b->a,
				       "%s: a header cannot hold this", name));
	b->header[b->n_header].name = name;
	b->header[b->n_header].value = value.data;
	b->n_header++;
	return true;
}

static const struct cJSON *
argument(const struct building *b, const struct cJSON *param)
{
	const char *arg = cj_get_string(param, "arg");
	const struct cJSON *v;

	v = cj_get(b->args, arg != NULL ? arg : cj_get_string(param, "name"));
	return v == NULL || cj_is_null(v) ? NULL : v;
}

static const struct cJSON *
param_find(
	const struct building *b, const char *in, const char *name, size_t len)
{
	const struct cJSON *p = cj_first(cj_get_array(b->def, "params"));
	const char *n, *i;

	for (; p != NULL; p = cj_next(p)) {
		n = cj_get_string(p, "name");
		i = cj_get_string(p, "in");
		if (n != NULL && i != NULL && strcmp(i, in) == 0 &&
			strlen(n) == len && memcmp(n, name, len) == 0)
			return p;
	}
	return NULL;
}

/* The template: what is in {} is replaced, the rest stays as it is. */
static bool
put_path(struct building *b, const char *path)
{
	const struct cJSON *param, *v;
	const char *name;
	size_t len;

	while (*path != '\0') {
		len = strcspn(path, "{#");
		/* What cannot be in a URL is encoded, "%41" stays. */
		url_encode(&b->url, path, len, "/:@!$&'()*+,;=?%[]|");
		path += len;
		if (*path == '#')
			break;
		if (*path == '\0')
			return true;
		len = strcspn(path, "}");
		if (path[len] == '\0' || len < 2)
			return fail_ours(b, "the path is no template");
		param = param_find(b, "path", path + 1, len - 1);
		if (param == NULL)
			return fail_ours(b, "a path parameter is not defined");
		name = cj_get_string(param, "name");
		if ((v = argument(b, param)) == NULL)
			return fail(
				b, arena_printf(b->a, "%s: is required", name));
		if (!put_path_value(b, param, name, v))
			return false;
		path += len + 1;
	}
	return true;
}

static bool
put_params(struct building *b)
{
	const struct cJSON *p = cj_first(cj_get_array(b->def, "params")), *v;
	const char *name, *in;
	bool required;

	b->header = arena_calloc(b->a, HEADERS_MAX, sizeof(*b->header));
	for (; p != NULL; p = cj_next(p)) {
		name = cj_get_string(p, "name");
		in = cj_get_string(p, "in");
		if (name == NULL || in == NULL)
			return fail_ours(
				b, "a parameter without name or place");
		v = argument(b, p);
		required = false;
		(void)cj_get_bool(p, "required", &required);
		if (v == NULL && required)
			return fail(
				b, arena_printf(b->a, "%s: is required", name));
		if (v == NULL || strcmp(in, "path") == 0)
			continue;
		if (strcmp(in, "query") == 0)
			put_query(b, p, name, v);
		else if (strcmp(in, "header") != 0)
			return fail_ours(b, "a parameter in no known place");
		else if (!put_header(b, p, name, v))
			return false;
	}
	return true;
}

/* The media type: the definition's, or one of its others if asked for. */
static const char *
body_type(struct building *b, const struct cJSON *body)
{
	const char *type = cj_get_string(body, "content_type"), *want;
	const struct cJSON *other;

	want = cj_get_string(b->args, "contentType");
	if (want == NULL || type == NULL || strcmp(want, type) == 0)
		return type;
	other = cj_first(cj_get_array(body, "content_types"));
	for (; other != NULL; other = cj_next(other))
		if (cj_is_string(other) && strcmp(cj_string(other), want) == 0)
			return want;
	fail(b, "contentType: not one of those that the operation takes");
	return NULL;
}

static bool
put_body(struct building *b, struct fetch_request *req)
{
	const struct cJSON *body = cj_get_object(b->def, "body"), *v;
	struct httpbody out = { 0 };
	bool required = false, deep = false;
	const char *arg, *type;
	size_t off, len;

	if (body == NULL)
		return true;
	(void)cj_get_bool(body, "required", &required);
	(void)cj_get_bool(body, "deep", &deep);
	arg = cj_get_string(body, "arg");
	if (arg == NULL)
		arg = "body";
	v = cj_get(b->args, arg);
	if (v == NULL && strcmp(arg, "body") == 0)
		v = cj_get(b->args, arg = "input");
	if (v == NULL && required)
		return fail(b, "body: is required");
	if (v == NULL)
		return true;
	if ((type = body_type(b, body)) == NULL)
		return b->why != NULL
			       ? false
			       : fail_ours(b, "a body without a media type");
	/* The text as it is: numbers keep all their digits. */
	if (!cj_raw_member(b->text, b->text_len, arg, &off, &len))
		return fail(b, "body: is not to be found");
	b->why = httpbody_build(b->a, type, v, b->text + off, len, deep, &out);
	if (b->why != NULL)
		return false;
	req->body = out.data;
	req->body_len = out.len;
	req->content_type = out.type;
	return true;
}

static bool
is_safe(const char *method)
{
	static const char *const safe[] = { "GET", "HEAD", "OPTIONS", "QUERY",
		"TRACE" };
	size_t i;

	for (i = 0; i < NELEM(safe); i++)
		if (strcmp(method, safe[i]) == 0)
			return true;
	return false;
}

static bool
build(struct building *b, const char *base_url, struct httpargs *out,
	struct fetch_request *req)
{
	const char *method = cj_get_string(b->def, "method");
	const char *path = cj_get_string(b->def, "path");
	size_t base = strcspn(base_url, "?#");

	if (method == NULL || path == NULL ||
		(path[0] != '/' && path[0] != '\0'))
		return fail_ours(b, "without method or path");
	buf_init(&b->url, b->a);
	while (base > 0 && base_url[base - 1] == '/')
		base--;
	buf_put(&b->url, base_url, base);
	if (!put_path(b, path))
		return false;
	b->has_query = strchr(b->url.data + base, '?') != NULL;
	if (!put_params(b) || !put_body(b, req))
		return false;
	out->method = method;
	out->is_safe = is_safe(method);
	out->url = b->url.data;
	req->method = method;
	req->url = b->url.data;
	req->header = b->header;
	req->n_header = b->n_header;
	req->accept = cj_get_string(b->def, "accept");
	if (req->accept == NULL)
		req->accept = "application/json, text/*;q=0.8, */*;q=0.5";
	return true;
}

const char *
httpargs_build(struct arena *a, const char *base_url, const char *definition,
	const char *args, size_t args_len, struct httpargs *out,
	struct fetch_request *req, bool *is_ours)
{
	static const struct cj_limits limits = { DEPTH_MAX, CJ_DUP_ALLOW, 0 };
	struct building b = { .a = a, .text = args, .text_len = args_len };
	struct cJSON *tree;
	struct err e;

	*is_ours = true;
	if (cj_parse(a, definition, strlen(definition), &limits, &tree, &e) !=
			0 ||
		!cj_is_object(tree))
		return "the definition is no JSON object";
	b.def = tree;
	*is_ours = false;
	if (cj_parse(a, args, args_len, &limits, &tree, &e) != 0 ||
		!cj_is_object(tree))
		return "the arguments are no JSON object";
	b.args = tree;
	if (build(&b, base_url, out, req))
		return NULL;
	*is_ours = b.is_ours;
	return b.why;
}
