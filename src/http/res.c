/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "http/res.h"

#include "http/fcgi.h"

/* RFC 9110 15; the phrases only matter to people. */
static const struct {
	int status;
	const char *phrase;
} PHRASES[] = {
	{ 200, "OK" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 421, "Misdirected Request" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
};

static const char *
phrase(int status)
{
	size_t i;

	for (i = 0; i < NELEM(PHRASES); i++)
		if (PHRASES[i].status == status)
			return PHRASES[i].phrase;
	return "Unknown";
}

void
res_init(struct res *r, struct arena *a)
{
	r->status = 200;
	r->content_type = NULL;
	buf_init(&r->headers, a);
	buf_init(&r->body, a);
}

void
res_clear(struct res *r)
{
	r->status = 200;
	r->content_type = NULL;
	buf_clear(&r->headers);
	buf_clear(&r->body);
}

void
res_header(struct res *r, const char *name, const char *value)
{
	assert(strpbrk(value, "\r\n") == NULL);
	buf_puts(&r->headers, name);
	buf_puts(&r->headers, ": ");
	buf_puts(&r->headers, value);
	buf_puts(&r->headers, "\r\n");
}

void
res_body(struct res *r, int status, const char *type, const char *body,
	size_t len)
{
	r->status = status;
	r->content_type = type;
	buf_clear(&r->body);
	buf_put(&r->body, body, len);
}

/* The head up to and with the empty line. */
static void
head(const struct res *r, bool has_length, struct buf *out)
{
	buf_init(out, r->headers.arena);
	buf_printf(out, "Status: %d %s\r\n", r->status, phrase(r->status));
	if (r->content_type != NULL)
		buf_printf(out, "Content-Type: %s\r\n", r->content_type);
	if (has_length)
		buf_printf(out, "Content-Length: %zu\r\n", r->body.len);
	buf_put(out, r->headers.data, r->headers.len);
	buf_puts(out, "\r\n");
}

int
res_send(const struct res *r, struct fcgi *f, bool is_head)
{
	struct buf out;

	/* A 204 must not have a length (RFC 9110 8.6). */
	head(r, r->status != 204, &out);
	if (!is_head)
		buf_put(&out, r->body.data, r->body.len);
	return fcgi_write(f, out.data, out.len);
}

int
res_send_head(const struct res *r, struct fcgi *f)
{
	struct buf out;

	head(r, false, &out);
	if (fcgi_write(f, out.data, out.len) != 0)
		return -1;
	return fcgi_flush(f);
}
