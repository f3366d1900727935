/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "http/req.h"

#include "base/arena.h"
#include "base/err.h"

static const struct {
	const char *name;
	enum req_method method;
} METHODS[] = {
	{ "GET", REQ_GET },
	{ "HEAD", REQ_HEAD },
	{ "POST", REQ_POST },
	{ "DELETE", REQ_DELETE },
	{ "OPTIONS", REQ_OPTIONS },
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *
trimmed(struct arena *a, const char *s)
{
	size_t len;

	while (is_blank(*s))
		s++;
	len = strlen(s);
	while (len > 0 && is_blank(s[len - 1]))
		len--;
	return arena_memdup(a, s, len);
}

/* The variable NAME of ENVP, or NULL. */
static const char *
variable(const char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

static const char *
header(struct arena *a, const char *const *envp, const char *name)
{
	const char *v = variable(envp, name);

	return v == NULL ? NULL : trimmed(a, v);
}

/*
 * The same where an empty field says no more than none: some front servers
 * leave it out, others do not.
 */
static const char *
header_filled(struct arena *a, const char *const *envp, const char *name)
{
	const char *v = header(a, envp, name);

	return v == NULL || *v == '\0' ? NULL : v;
}

/* Path of REQUEST_URI: origin form, or absolute form (RFC 9112 3.2). */
static const char *
path_of(struct arena *a, const char *uri)
{
	const char *p;

	if (strncasecmp(uri, "http://", 7) == 0 ||
		strncasecmp(uri, "https://", 8) == 0) {
		p = strchr(uri + 8, '/');
		uri = p == NULL ? "/" : p;
	}
	return arena_memdup(a, uri, strcspn(uri, "?#"));
}

static int
parse_length(struct req *r, const char *v, struct err *e)
{
	int64_t n = 0;

	r->content_length = -1;
	if (v == NULL || *v == '\0')
		return 0;
	for (; *v != '\0'; v++) {
		if (*v < '0' || *v > '9' ||
			__builtin_mul_overflow(n, (int64_t)10, &n) ||
			__builtin_add_overflow(n, (int64_t)(*v - '0'), &n))
			return err_set(e, ERR_INVALID, "Bad Request",
				"CONTENT_LENGTH is not a number");
	}
	r->content_length = n;
	return 0;
}

int
req_parse(struct req *r, struct arena *a, const char *const *envp,
	struct err *e)
{
	const char *method, *uri;
	size_t i;

	memset(r, 0, sizeof(*r));
	r->body = "";

	method = variable(envp, "REQUEST_METHOD");
	if (method == NULL)
		return err_set(e, ERR_INVALID, "Bad Request",
			"REQUEST_METHOD is absent");
	r->method = REQ_OTHER;
	for (i = 0; i < NELEM(METHODS); i++)
		if (strcmp(method, METHODS[i].name) == 0)
			r->method = METHODS[i].method;

	/*
	 * The front servers split a path differently between SCRIPT_NAME and
	 * PATH_INFO; REQUEST_URI is the same in all of them.
	 */
	uri = variable(envp, "REQUEST_URI");
	if (uri == NULL || (uri[0] != '/' && strncasecmp(uri, "http", 4) != 0))
		return err_set(e, ERR_INVALID, "Bad Request",
			"REQUEST_URI is absent or not a path");
	r->path = path_of(a, uri);

	for (i = 0; envp[i] != NULL; i++)
		if (strncmp(envp[i], "HTTP_", 5) == 0)
			r->header_bytes += strlen(envp[i]);

	r->host = header(a, envp, "HTTP_HOST");
	r->origin = header(a, envp, "HTTP_ORIGIN");
	/* A mod_rewrite in an .htaccess renames it (field report B-32). */
	r->authorization = header_filled(a, envp, "HTTP_AUTHORIZATION");
	if (r->authorization == NULL)
		r->authorization =
			header(a, envp, "REDIRECT_HTTP_AUTHORIZATION");
	r->content_type = header(a, envp, "CONTENT_TYPE");
	if (r->content_type == NULL)
		r->content_type = header(a, envp, "HTTP_CONTENT_TYPE");
	r->accept = header_filled(a, envp, "HTTP_ACCEPT");
	r->session_id = header_filled(a, envp, "HTTP_MCP_SESSION_ID");
	r->protocol_version =
		header_filled(a, envp, "HTTP_MCP_PROTOCOL_VERSION");
	r->last_event_id = header(a, envp, "HTTP_LAST_EVENT_ID");
	return parse_length(r, variable(envp, "CONTENT_LENGTH"), e);
}

/* Body of known length. */
static int
read_counted(struct req *r, struct arena *a, req_read_fn *read_fn, void *arg,
	struct err *e)
{
	size_t len = (size_t)r->content_length, got = 0;
	char *p = arena_alloc(a, len + 1);
	ssize_t n;

	while (got < len) {
		n = read_fn(arg, p + got, len - got);
		if (n <= 0)
			return err_set(e, ERR_INVALID, "Bad Request",
				"the body ended after %zu of %zu bytes", got,
				len);
		got += (size_t)n;
	}
	p[len] = '\0';
	r->body = p;
	r->body_len = len;
	return 0;
}

/* Body without Content-Length, as Apache forwards a chunked one. */
static int
read_to_end(struct req *r, struct arena *a, size_t max, req_read_fn *read_fn,
	void *arg, struct err *e)
{
	size_t cap = 16384, len = 0;
	char *p = arena_alloc(a, cap + 1), *grown;
	ssize_t n;

	for (;;) {
		n = read_fn(arg, p + len, cap - len);
		if (n < 0)
			return err_set(e, ERR_INVALID, "Bad Request",
				"the body broke off after %zu bytes", len);
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return err_set(e, ERR_LIMIT, "Request body too large",
				"body over %zu bytes", max);
		if (len == cap) {
			grown = arena_alloc(a, 2 * cap + 1);
			memcpy(grown, p, len);
			p = grown;
			cap *= 2;
		}
	}
	p[len] = '\0';
	r->body = p;
	r->body_len = len;
	return 0;
}

int
req_read(struct req *r, struct arena *a, size_t max, req_read_fn *read_fn,
	void *arg, struct err *e)
{
	if (r->content_length < 0)
		return read_to_end(r, a, max, read_fn, arg, e);
	if ((uint64_t)r->content_length > max)
		return err_set(e, ERR_LIMIT, "Request body too large",
			"body of %" PRId64 " bytes", r->content_length);
	return read_counted(r, a, read_fn, arg, e);
}

/* Length of the media type or range at S, without blanks before ";" or ",". */
static size_t
type_len(const char *s)
{
	size_t len = strcspn(s, ";,");

	while (len > 0 && is_blank(s[len - 1]))
		len--;
	return len;
}

bool
req_is_type(const char *value, const char *type)
{
	size_t len = strlen(type);

	return value != NULL && type_len(value) == len &&
		strncasecmp(value, type, len) == 0 &&
		strchr(value, ',') == NULL;
}

/* Whether the weight among the parameters at P (up to END) is 0. */
static bool
is_refused(const char *p, const char *end)
{
	while (p < end) {
		p++; /* the semicolon */
		while (p < end && is_blank(*p))
			p++;
		if (end - p >= 3 && (p[0] == 'q' || p[0] == 'Q') &&
			p[1] == '=') {
			p += 2;
			if (*p != '0')
				return false;
			for (p++; p < end && *p != ';'; p++)
				if (*p >= '1' && *p <= '9')
					return false;
			return true;
		}
		while (p < end && *p != ';')
			p++;
	}
	return false;
}

bool
req_accepts(const char *accept, const char *type)
{
	size_t major = strcspn(type, "/"), len = strlen(type), n;
	int specific, best = 0; /* 1: * / *, 2: type / *, 3: exact */
	bool answer = false;
	const char *p, *end;

	if (accept == NULL)
		return true;
	for (p = accept; *p != '\0'; p = *end == ',' ? end + 1 : end) {
		end = p + strcspn(p, ",");
		while (is_blank(*p))
			p++;
		n = type_len(p);
		if (n == len && strncasecmp(p, type, len) == 0)
			specific = 3;
		else if (n == major + 2 && strncasecmp(p, type, major) == 0 &&
			strncmp(p + major, "/*", 2) == 0)
			specific = 2;
		else if (n == 3 && strncmp(p, "*/*", 3) == 0)
			specific = 1;
		else
			continue;
		if (specific < best)
			continue;
		best = specific;
		answer = !is_refused(p + strcspn(p, ";,"), end);
	}
	return answer;
}
