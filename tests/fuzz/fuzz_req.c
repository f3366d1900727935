/* SPDX-License-Identifier: ISC */
/*
 * HTTP requests.  Input: lines NAME=value (CGI variables), an empty line, the
 * body.  What is accepted must be sane, and small requests must stay small.
 */
#include "base/compat.h"

#include "base/arena.h"
#include "base/err.h"
#include "http/req.h"
#include "http/route.h"

#define VARIABLES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct body {
	const char *p;
	size_t len;
};

static ssize_t
read_body(void *arg, void *p, size_t len)
{
	struct body *b = arg;
	size_t n = b->len < len ? b->len : len;

	memcpy(p, b->p, n);
	b->p += n;
	b->len -= n;
	return (ssize_t)n;
}

static void
check(const struct req *r)
{
	if (strpbrk(r->path, "?#") != NULL)
		abort();
	(void)route_find(r->path, "/mcp");
	(void)req_is_type(r->content_type, "application/json");
	/* Without a header everything is acceptable, and *-* must agree. */
	if (r->accept == NULL && !req_accepts(r->accept, "text/event-stream"))
		abort();
	(void)req_accepts(r->accept, "application/json");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new((size_t)64 << 20);
	const char *env[VARIABLES_MAX + 1];
	char *text = arena_memdup(a, data, size), *p = text, *end;
	struct body body;
	struct req r;
	struct err e;
	size_t n = 0;

	while (n < VARIABLES_MAX && *p != '\n' && *p != '\0') {
		env[n++] = p;
		end = strchr(p, '\n');
		if (end == NULL) {
			p += strlen(p);
			break;
		}
		*end = '\0';
		p = end + 1;
	}
	env[n] = NULL;
	body.p = p + (*p == '\n');
	body.len = (size_t)(text + size - body.p);
	if (body.p > text + size)
		body.len = 0;

	err_clear(&e);
	if (req_parse(&r, a, env, &e) == 0) {
		check(&r);
		if (req_read(&r, a, 1024, read_body, &body, &e) == 0 &&
			(r.body_len > 1024 || r.body[r.body_len] != '\0'))
			abort();
	} else if (e.kind == ERR_NONE) {
		abort();
	}
	arena_free(a);
	return 0;
}
