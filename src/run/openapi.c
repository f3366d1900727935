/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/openapi.h"

#include <ctype.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/conffile.h"
#include "base/err.h"
#include "base/scope.h"
#include "net/fetch.h"
#include "net/url.h"
#include "run/openapi_name.h"
#include "run/openapi_op.h"
#include "run/openapi_ref.h"
#include "run/yaml.h"

enum {
	DEPTH_MAX = 200,
	VALUES_MAX = 16 << 20,
	OPERATIONS_MAX = 50000,
	FETCH_MS = 60000,
	SCRATCH_BYTES = 1 << 30
};

struct importing {
	struct arena *a;
	const struct openapi_options *options;
	struct openapi *out;
	struct openapi_op_doc doc;
	struct arena *scratch; /* of one operation */
	struct openapi_op *op;
	size_t n, cap;
	size_t cap_refused, cap_noted;
};

static void
add(struct importing *im, struct openapi_refusal **list, size_t *n, size_t *cap,
	const char *operation, const char *reason)
{
	struct openapi_refusal *bigger;

	if (*n == *cap) {
		*cap = *cap * 2 + 16;
		bigger = arena_calloc(im->a, *cap, sizeof(*bigger));
		if (*n > 0)
			memcpy(bigger, *list, *n * sizeof(*bigger));
		*list = bigger;
	}
	(*list)[*n].operation = operation;
	(*list)[*n].reason = reason;
	(*n)++;
}

/*
 * Servers.
 */

/* Variables stand for their defaults. */
static const char *
server_url(struct arena *a, const struct cJSON *server)
{
	const char *p = cj_get_string(server, "url"), *value;
	const struct cJSON *variables = cj_get_object(server, "variables");
	struct buf b;
	size_t len;

	if (p == NULL)
		return NULL;
	buf_init(&b, a);
	while (*p != '\0') {
		len = strcspn(p, "{");
		buf_put(&b, p, len);
		p += len;
		if (*p == '\0')
			break;
		len = strcspn(p, "}");
		value = cj_get_string(
			cj_get(variables, arena_memdup(a, p + 1, len - 1)),
			"default");
		if (p[len] == '\0' || value == NULL)
			return NULL;
		buf_puts(&b, value);
		p += len + 1;
	}
	return b.data;
}

/* NULL: none that can be used. */
static const char *
base_of(struct importing *im, const struct cJSON *holder)
{
	const struct cJSON *servers = cj_get_array(holder, "servers");
	const char *url = server_url(im->a, cj_first(servers));

	if (url == NULL)
		return NULL;
	if (url_check(url) != NULL) {
		if (im->options->url == NULL)
			return NULL;
		url = url_resolve(im->a, im->options->url, url);
	}
	return url != NULL && url_check(url) == NULL ? url : NULL;
}

/* The same but for a slash at the end. */
static bool
same_base(const char *x, const char *y)
{
	size_t a = strlen(x), b = strlen(y);

	while (a > 0 && x[a - 1] == '/')
		a--;
	while (b > 0 && y[b - 1] == '/')
		b--;
	return a == b && memcmp(x, y, a) == 0;
}

/* Reason, when the operation is not below the document's server. */
static const char *
elsewhere(
	struct importing *im, const struct cJSON *item, const struct cJSON *op)
{
	const struct cJSON *holder = NULL;
	const char *url, *base;

	if (cj_get_array(op, "servers") != NULL)
		holder = op;
	else if (cj_get_array(item, "servers") != NULL)
		holder = item;
	if (holder == NULL || cj_first(cj_get_array(holder, "servers")) == NULL)
		return NULL;
	url = base_of(im, holder);
	base = base_of(im, im->doc.root);
	if (url != NULL && base != NULL && same_base(url, base))
		return NULL;
	return arena_printf(im->a, "it has a server of its own: %.200s",
		url != NULL ? url : "(not resolvable)");
}

/*
 * Operations.
 */

static void
take_operation(struct importing *im, const char *path, const char *method,
	const struct cJSON *item, const struct cJSON *node)
{
	struct openapi_op op = { 0 }, *bigger;
	const char *operation = arena_printf(im->a, "%s %s", method, path);
	const char *why = NULL;
	size_t i;

	op.name.method = method;
	op.name.path = path;
	if (!cj_is_object(node))
		why = "it is no object";
	else if (im->n >= OPERATIONS_MAX)
		why = "there are too many operations";
	else if ((why = elsewhere(im, item, node)) == NULL)
		why = openapi_op_read(&im->doc, item, node, &op);
	for (i = 0; why == NULL && i < op.n_notes; i++)
		add(im, &im->out->noted, &im->out->n_noted, &im->cap_noted,
			operation, arena_strdup(im->a, op.note[i]));
	if (why != NULL)
		add(im, &im->out->refused, &im->out->n_refused,
			&im->cap_refused, operation, arena_strdup(im->a, why));
	else
		op.members = arena_strdup(im->a, op.members);
	arena_reset(im->scratch);
	if (why != NULL)
		return;
	if (im->n == im->cap) {
		im->cap = im->cap * 2 + 64;
		bigger = arena_calloc(im->a, im->cap, sizeof(*bigger));
		if (im->n > 0)
			memcpy(bigger, im->op, im->n * sizeof(*bigger));
		im->op = bigger;
	}
	im->op[im->n++] = op;
}

static void
take_path(struct importing *im, const struct cJSON *item)
{
	static const struct {
		const char *key, *method;
	} methods[] = {
		{ "get", "GET" },
		{ "put", "PUT" },
		{ "post", "POST" },
		{ "delete", "DELETE" },
		{ "options", "OPTIONS" },
		{ "head", "HEAD" },
		{ "patch", "PATCH" },
		{ "query", "QUERY" },
	};
	const char *path = cj_name(item);
	size_t i;

	if (path[0] != '/') {
		/* x-... are extensions */
		if (strncmp(path, "x-", 2) != 0)
			add(im, &im->out->refused, &im->out->n_refused,
				&im->cap_refused, path, "it is no path");
		return;
	}
	if (cj_get_string(item, "$ref") != NULL)
		item = openapi_ref_follow(im->doc.ref, item);
	if (item == NULL) {
		add(im, &im->out->refused, &im->out->n_refused,
			&im->cap_refused, path,
			"a reference to nowhere or to another document");
		return;
	}
	for (i = 0; i < NELEM(methods); i++)
		if (cj_get(item, methods[i].key) != NULL)
			take_operation(im, path, methods[i].method, item,
				cj_get(item, methods[i].key));
	if (cj_get(item, "trace") != NULL)
		add(im, &im->out->refused, &im->out->n_refused,
			&im->cap_refused, arena_printf(im->a, "TRACE %s", path),
			"TRACE repeats the request's secrets");
}

/*
 * Security.
 */

static void
scheme_read(struct importing *im, const struct cJSON *scheme,
	struct openapi_security *s)
{
	const char *type = cj_get_string(scheme, "type"), *how;

	s->prefix = "";
	s->note = "not known here: the operations may refuse to serve";
	if (type == NULL)
		return;
	if (strcmp(type, "apiKey") == 0) {
		s->in = cj_get_string(scheme, "in");
		s->field = cj_get_string(scheme, "name");
		s->note = "the secret is the key";
		if (s->in == NULL || s->field == NULL ||
			(strcmp(s->in, "header") != 0 &&
				strcmp(s->in, "query") != 0)) {
			s->in = NULL;
			s->note = "a key in a cookie is not supported";
		}
		return;
	}
	how = cj_get_string(scheme, "scheme");
	if (strcmp(type, "http") == 0 && how != NULL) {
		s->in = "header";
		s->field = "Authorization";
		if (strcasecmp(how, "bearer") == 0) {
			s->prefix = "Bearer ";
			s->note = "the secret is the token";
		} else if (strcasecmp(how, "basic") == 0) {
			s->prefix = "Basic ";
			s->note = "the secret is the base64 of user:password";
		} else {
			s->prefix = arena_printf(im->a, "%.40s ", how);
			s->note = "the secret is what follows the scheme";
		}
		return;
	}
	if (strcmp(type, "oauth2") == 0 || strcmp(type, "openIdConnect") == 0) {
		s->in = "header";
		s->field = "Authorization";
		s->prefix = "Bearer ";
		s->note = "the secret is an access token, obtained elsewhere";
	}
}

static void
count_requirements(struct importing *im, const struct cJSON *list)
{
	const struct cJSON *alternative, *m;
	size_t i;

	for (alternative = cj_first(list); alternative != NULL;
		alternative = cj_next(alternative))
		for (m = cj_first(alternative); m != NULL; m = cj_next(m))
			for (i = 0; i < im->out->n_security; i++)
				if (cj_name(m) != NULL &&
					strcmp(cj_name(m),
						im->out->security[i].name) == 0)
					im->out->security[i].n_operations++;
}

static void
read_security(struct importing *im)
{
	const struct cJSON *schemes = cj_get_object(
		cj_get(im->doc.root, "components"), "securitySchemes");
	const struct cJSON *all = cj_get_array(im->doc.root, "security"), *m;
	size_t n = 0, i;

	for (m = cj_first(schemes); m != NULL; m = cj_next(m))
		n++;
	im->out->security =
		arena_calloc(im->a, n + 1, sizeof(*im->out->security));
	for (m = cj_first(schemes); m != NULL; m = cj_next(m)) {
		struct openapi_security *s =
			&im->out->security[im->out->n_security++];

		s->name = cj_name(m);
		scheme_read(im, openapi_ref_follow(im->doc.ref, m), s);
	}
	for (i = 0; i < im->n; i++)
		count_requirements(im,
			im->op[i].security != NULL ? im->op[i].security : all);
}

/*
 * The whole.
 */

/* "Stripe API" is stripe_api. */
static const char *
source_name(struct arena *a, const char *title)
{
	struct buf b;

	buf_init(&b, a);
	for (; *title != '\0' && b.len < 40; title++) {
		if (isascii((unsigned char)*title) &&
			isalnum((unsigned char)*title))
			buf_putc(&b, (char)tolower((unsigned char)*title));
		else if (b.len > 0 && b.data[b.len - 1] != '_')
			buf_putc(&b, '_');
	}
	while (b.len > 0 && b.data[b.len - 1] == '_')
		b.data[--b.len] = '\0';
	if (b.len == 0 || !isalpha((unsigned char)b.data[0]))
		return arena_printf(a, "api%s%s", b.len > 0 ? "_" : "", b.data);
	return b.data;
}

static void
write_tools(struct importing *im)
{
	struct openapi_name *names;
	struct buf b;
	size_t i, len = 0;

	names = arena_calloc(im->a, im->n + 1, sizeof(*names));
	for (i = 0; i < im->n; i++)
		names[i] = im->op[i].name;
	openapi_name_give(im->a, names, im->n);
	for (i = 0; i < im->n; i++)
		len += strlen(im->op[i].members) + strlen(names[i].name) + 20;
	buf_init(&b, im->a);
	(void)buf_reserve(&b, len + 8);
	buf_putc(&b, '[');
	for (i = 0; i < im->n; i++) {
		if (i > 0)
			buf_putc(&b, ',');
		buf_puts(&b, "\n{\"name\":");
		buf_jsons(&b, names[i].name);
		buf_puts(&b, im->op[i].members);
		buf_putc(&b, '}');
	}
	buf_puts(&b, "]\n");
	im->out->tools = b.data;
	im->out->tools_len = b.len;
	im->out->n_tools = im->n;
}

static int
parse(struct importing *im, const char *text, size_t len, struct err *e)
{
	static const struct cj_limits limits = { DEPTH_MAX, CJ_DUP_ALLOW,
		VALUES_MAX };
	size_t bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct cJSON *root;
	const char *version;
	struct buf json;

	text += bom;
	len -= bom;
	if (len > OPENAPI_BYTES_MAX)
		return err_set(e, ERR_LIMIT, NULL,
			"the document has more than %zu bytes",
			OPENAPI_BYTES_MAX);
	if (text[strspn(text, " \t\r\n")] != '{') {
		buf_init(&json, im->a);
		if (yaml_to_json(&json, text, len, OPENAPI_BYTES_MAX, e) != 0)
			return -1;
		text = json.data;
		len = json.len;
	}
	if (cj_parse(im->a, text, len, &limits, &root, e) != 0)
		return -1;
	if (cj_get_string(root, "swagger") != NULL)
		return err_set(e, ERR_INVALID, NULL,
			"Swagger %.20s: only OpenAPI 3 can be imported; "
			"convert it first",
			cj_get_string(root, "swagger"));
	version = cj_get_string(root, "openapi");
	if (version == NULL)
		return err_set(e, ERR_INVALID, NULL,
			"not an OpenAPI document: no member \"openapi\"");
	if (strncmp(version, "3.", 2) != 0)
		return err_set(e, ERR_INVALID, NULL,
			"OpenAPI %.20s is not known", version);
	if (!cj_is_object(cj_get(root, "paths")))
		return err_set(e, ERR_INVALID, NULL, "there are no paths");
	im->doc.a = im->scratch;
	im->doc.root = root;
	im->doc.ref = openapi_ref_new(im->a, root);
	im->doc.is_30 = strncmp(version, "3.0", 3) == 0;
	return 0;
}

static void
scratch_free(void *p)
{
	arena_free(p);
}

int
openapi_import(struct arena *a, const char *text, size_t len,
	const struct openapi_options *options, struct openapi *out,
	struct err *e)
{
	struct importing im = { .a = a, .options = options, .out = out };
	const struct cJSON *info, *item;
	const char *s;

	memset(out, 0, sizeof(*out));
	im.scratch = arena_new(SCRATCH_BYTES);
	arena_defer(a, scratch_free, im.scratch);
	if (parse(&im, text, len, e) != 0)
		return -1;
	info = cj_get(im.doc.root, "info");
	s = cj_get_string(info, "title");
	out->title = s != NULL ? s : "";
	s = cj_get_string(info, "version");
	out->version = s != NULL ? s : "";
	out->name = source_name(a, out->title);
	out->base_url = options->base_url != NULL ? options->base_url
						  : base_of(&im, im.doc.root);
	/* No servers means "/" (OpenAPI 4.8.1.1). */
	if (out->base_url == NULL && options->url != NULL &&
		cj_first(cj_get_array(im.doc.root, "servers")) == NULL)
		out->base_url = url_resolve(a, options->url, "/");
	if (out->base_url != NULL && url_check(out->base_url) != NULL)
		return err_set(e, ERR_INVALID, NULL, "base URL: %s",
			url_check(out->base_url));
	item = cj_first(cj_get(im.doc.root, "paths"));
	for (; item != NULL; item = cj_next(item))
		take_path(&im, item);
	read_security(&im);
	write_tools(&im);
	return 0;
}

int
openapi_read(struct fetch *f, struct arena *a, const char *where, char **text,
	size_t *len, struct openapi_options *options, struct err *e)
{
	struct fetch_request req = { .url = where,
		.timeout_ms = FETCH_MS,
		.max_bytes = OPENAPI_BYTES_MAX,
		.redirects_max = 5,
		.may_compress = true,
		.accept = "application/json, application/yaml, */*;q=0.5" };
	struct fetch_response res;
	AUTO_FD fd = -1;

	if (strncasecmp(where, "https://", 8) == 0 ||
		strncasecmp(where, "http://", 7) == 0) {
		if (fetch_get(f, a, &req, &res, e) != 0)
			return -1;
		if (res.status != 200)
			return err_set(e, ERR_INVALID, NULL,
				"the server answered with status %d",
				res.status);
		*text = (char *)res.body;
		*len = res.body_len;
		options->url = where;
		return 0;
	}
	fd = open(where, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, ERR_INVALID, NULL, "%.150s: %s", where,
			strerror(errno));
	return conffile_whole(a, fd, OPENAPI_BYTES_MAX, where, text, len, e);
}
