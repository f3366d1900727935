/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/httpbody.h"

#include <openssl/evp.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/jscan.h"
#include "base/rnd.h"
#include "net/url.h"

enum { DEPTH_MAX = 500, FORM_DEPTH_MAX = 16 };

/* "type/subtype" alone, without parameters, is T. */
static bool
is_type(const char *type, const char *t)
{
	size_t len = strcspn(type, "; \t");

	return len == strlen(t) && strncasecmp(type, t, len) == 0;
}

static bool
has_suffix(const char *type, const char *suffix)
{
	size_t len = strcspn(type, "; \t"), n = strlen(suffix);

	return len > n && strncasecmp(type + len - n, suffix, n) == 0;
}

bool
httpbody_is_json_type(const char *type)
{
	return is_type(type, "application/json") ||
	       is_type(type, "text/json") || has_suffix(type, "+json");
}

/*
 * base64.
 */

static char *
base64_encode(struct arena *a, const char *p, size_t len)
{
	char *out = arena_alloc(a, (len + 2) / 3 * 4 + 1);

	/* Inputs are capped far below what an int takes. */
	EVP_EncodeBlock(
		(unsigned char *)out, (const unsigned char *)p, (int)len);
	return out;
}

static bool
base64_decode(struct arena *a, const char *s, struct buf *out)
{
	size_t len = strlen(s), pad = 0;
	char *room;
	int n;

	while (len > 0 && (s[len - 1] == '\n' || s[len - 1] == '\r'))
		len--;
	if (len % 4 != 0)
		return false;
	if (len == 0)
		return true;
	pad = (size_t)(s[len - 1] == '=') + (size_t)(s[len - 2] == '=');
	room = buf_reserve(out, len / 4 * 3);
	n = EVP_DecodeBlock(
		(unsigned char *)room, (const unsigned char *)s, (int)len);
	if (n < 0 || (size_t)n < pad)
		return false;
	buf_commit(out, (size_t)n - pad);
	return true;
}

static const char *
as_text(struct arena *a, const struct cJSON *v)
{
	return cj_is_string(v) ? cj_string(v) : cj_print(a, v);
}

/*
 * Forms.
 */

static bool
is_nested(const struct cJSON *v)
{
	return cj_is_object(v) || cj_is_array(v);
}

/* As browsers: a space is a plus. */
static void
form_encode(struct buf *b, const char *s, const char *keep)
{
	size_t len;

	for (; *s != '\0'; s += len) {
		if (*s == ' ') {
			buf_putc(b, '+');
			len = 1;
			continue;
		}
		len = strcspn(s, " ");
		url_encode(b, s, len, keep);
	}
}

static void
form_pair(struct buf *b, const char *key, const struct cJSON *v)
{
	if (b->len > 0)
		buf_putc(b, '&');
	form_encode(b, key, "[]");
	buf_putc(b, '=');
	form_encode(b, cj_is_null(v) ? "" : as_text(b->arena, v), "");
}

static void
form_deep(struct buf *b, const char *key, const struct cJSON *v, int depth)
{
	const struct cJSON *m;
	size_t i = 0;

	if (!is_nested(v) || depth == 0) {
		form_pair(b, key, v);
		return;
	}
	for (m = cj_first(v); m != NULL; m = cj_next(m), i++)
		form_deep(b,
			cj_is_object(v)
				? arena_printf(
					  b->arena, "%s[%s]", key, cj_name(m))
				: arena_printf(b->arena, "%s[%zu]", key, i),
			m, depth - 1);
}

static const char *
build_form(
	struct arena *a, const struct cJSON *v, bool deep, struct httpbody *out)
{
	const struct cJSON *m, *item;
	struct buf b;

	buf_init(&b, a);
	if (cj_is_string(v)) {
		out->data = cj_string(v);
		out->len = strlen(out->data);
		return NULL;
	}
	if (!cj_is_object(v))
		return "body: a form is an object";
	for (m = cj_first(v); m != NULL; m = cj_next(m)) {
		if (deep) {
			form_deep(&b, cj_name(m), m, FORM_DEPTH_MAX);
		} else if (cj_is_array(m)) {
			for (item = cj_first(m); item != NULL;
				item = cj_next(item))
				form_pair(&b, cj_name(m), item);
		} else {
			form_pair(&b, cj_name(m), m);
		}
	}
	out->data = b.data;
	out->len = b.len;
	return NULL;
}

/* What RFC 7578 and browsers do with quotes and line ends. */
static void
put_quoted(struct buf *b, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\r' || *s == '\n')
			buf_printf(b, "%%%02X", (unsigned char)*s);
		else
			buf_putc(b, *s);
	}
}

static bool
is_media_type(const char *s)
{
	size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789"
			       "!#$&-^_.+/;= ");

	return len > 0 && s[len] == '\0';
}

static const char *
put_part(struct buf *b, const char *boundary, const char *name,
	const struct cJSON *v)
{
	const char *base64 = cj_get_string(v, "base64");
	const char *filename = cj_get_string(v, "filename");
	const char *type = cj_get_string(v, "mimeType");

	buf_printf(
		b, "--%s\r\nContent-Disposition: form-data; name=\"", boundary);
	put_quoted(b, name);
	buf_putc(b, '"');
	if (base64 != NULL) {
		buf_puts(b, "; filename=\"");
		put_quoted(b, filename != NULL ? filename : "file");
		if (type == NULL)
			type = "application/octet-stream";
		if (!is_media_type(type))
			return "body: mimeType: not a media type";
		buf_printf(b, "\"\r\nContent-Type: %s\r\n\r\n", type);
		if (!base64_decode(b->arena, base64, b))
			return "body: base64: is not";
	} else if (is_nested(v)) {
		buf_puts(b, "\r\nContent-Type: application/json\r\n\r\n");
		buf_puts(b, cj_print(b->arena, v));
	} else {
		buf_puts(b, "\r\n\r\n");
		if (!cj_is_null(v))
			buf_puts(b, as_text(b->arena, v));
	}
	buf_puts(b, "\r\n");
	return NULL;
}

static const char *
build_multipart(struct arena *a, const char *type, const struct cJSON *v,
	struct httpbody *out)
{
	unsigned char random[16];
	char boundary[2 * sizeof(random) + 1];
	const struct cJSON *m, *item;
	const char *why = NULL;
	struct buf b;

	if (!cj_is_object(v))
		return "body: multipart is an object";
	rnd_bytes(random, sizeof(random));
	hex_encode(boundary, random, sizeof(random));
	buf_init(&b, a);
	for (m = cj_first(v); m != NULL && why == NULL; m = cj_next(m)) {
		if (!cj_is_array(m)) {
			why = put_part(&b, boundary, cj_name(m), m);
			continue;
		}
		for (item = cj_first(m); item != NULL && why == NULL;
			item = cj_next(item))
			why = put_part(&b, boundary, cj_name(m), item);
	}
	buf_printf(&b, "--%s--\r\n", boundary);
	out->data = b.data;
	out->len = b.len;
	out->type = arena_printf(a, "%.*s; boundary=%s",
		(int)strcspn(type, ";"), type, boundary);
	return why;
}

const char *
httpbody_build(struct arena *a, const char *type, const struct cJSON *v,
	const char *text, size_t text_len, bool deep, struct httpbody *out)
{
	const char *base64 = cj_get_string(v, "base64");
	struct buf b;

	out->type = type;
	if (!is_media_type(type))
		return "contentType: not a media type";
	if (httpbody_is_json_type(type)) {
		out->data = text;
		out->len = text_len;
		return NULL;
	}
	if (is_type(type, "application/x-www-form-urlencoded"))
		return build_form(a, v, deep, out);
	if (strncasecmp(type, "multipart/", 10) == 0)
		return build_multipart(a, type, v, out);
	if (base64 != NULL) {
		buf_init(&b, a);
		if (!base64_decode(a, base64, &b))
			return "body: base64: is not";
		out->data = b.data;
		out->len = b.len;
		return NULL;
	}
	if (!cj_is_string(v))
		return "body: a string, or {\"base64\": ...}";
	out->data = cj_string(v);
	out->len = strlen(out->data);
	return NULL;
}

/*
 * Answers.
 */

static bool
is_json(const char *data, size_t len)
{
	static const struct cj_limits limits = { DEPTH_MAX, CJ_DUP_ALLOW,
		SIZE_MAX };
	struct err e;

	return jscan_check(data, len, &limits, &e) == 0;
}

static bool
is_utf8_text(const char *p, size_t len)
{
	size_t n;

	for (; len > 0; p += n, len -= n) {
		n = buf_utf8_len(p, len);
		if (n == 0 || *p == '\0')
			return false;
	}
	return true;
}

static bool
is_latin1(const char *type)
{
	return strcasestr(type, "iso-8859-1") != NULL ||
	       strcasestr(type, "latin1") != NULL ||
	       strcasestr(type, "windows-1252") != NULL;
}

static void
put_latin1(struct buf *b, const char *p, size_t len)
{
	struct buf utf8;
	size_t i;

	buf_init(&utf8, b->arena);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x80) {
			buf_putc(&utf8, (char)c);
		} else {
			buf_putc(&utf8, (char)(0xc0 | c >> 6));
			buf_putc(&utf8, (char)(0x80 | (c & 0x3f)));
		}
	}
	buf_json(b, utf8.data, utf8.len);
}

static bool
is_text_type(const char *type)
{
	return strncasecmp(type, "text/", 5) == 0 || has_suffix(type, "+xml") ||
	       is_type(type, "application/xml") ||
	       is_type(type, "application/javascript") ||
	       is_type(type, "application/x-ndjson") ||
	       is_type(type, "application/yaml") ||
	       is_type(type, "application/x-yaml") ||
	       is_type(type, "application/x-www-form-urlencoded");
}

static void
read_file(struct arena *a, const char *type, const char *data, size_t len,
	struct httpbody_data *out)
{
	size_t type_len = strcspn(type, "; \t");
	const char *base64 = base64_encode(a, data, len);
	bool is_image = strncasecmp(type, "image/", 6) == 0;
	bool is_audio = strncasecmp(type, "audio/", 6) == 0;
	struct buf b, name;

	if (type_len == 0) {
		type = "application/octet-stream";
		type_len = strlen(type);
	}
	buf_init(&name, a);
	buf_json(&name, type, type_len);
	buf_init(&b, a);
	buf_printf(&b, "{\"mimeType\":%s,\"bytes\":%zu}", name.data, len);
	out->json = b.data;
	out->len = b.len;

	buf_init(&b, a);
	if (is_image || is_audio)
		buf_printf(&b, "[{\"type\":\"%s\",\"data\":\"",
			is_image ? "image" : "audio");
	else
		buf_puts(&b, "[{\"type\":\"resource\",\"resource\":{"
			     "\"uri\":\"attachment:response\",\"blob\":\"");
	buf_puts(&b, base64);
	buf_printf(&b, "\",\"mimeType\":%s}%s]", name.data,
		is_image || is_audio ? "" : "}");
	out->content = b.data;
	out->content_len = b.len;
}

void
httpbody_read(struct arena *a, const char *type, const char *data, size_t len,
	struct httpbody_data *out)
{
	static const char bom[] = "\xef\xbb\xbf";
	bool may_be_json = httpbody_is_json_type(type);
	size_t space;
	struct buf b;

	memset(out, 0, sizeof(*out));
	if (len >= 3 && memcmp(data, bom, 3) == 0) {
		data += 3;
		len -= 3;
	}
	space = strspn(data, " \t\r\n");
	if (space >= len && (len == 0 || may_be_json)) {
		out->json = "null";
		out->len = 4;
		out->is_json = true;
		return;
	}
	/* Much JSON is labelled as plain text, or not at all. */
	if (type[0] == '\0' || is_type(type, "text/plain") ||
		is_type(type, "application/octet-stream"))
		may_be_json = data[space] == '{' || data[space] == '[';
	if (may_be_json && is_json(data, len)) {
		out->json = data;
		out->len = len;
		out->is_json = true;
		return;
	}
	if (may_be_json || is_text_type(type) || is_utf8_text(data, len)) {
		buf_init(&b, a);
		if (is_latin1(type) && !is_utf8_text(data, len))
			put_latin1(&b, data, len);
		else
			buf_json(&b, data, len);
		out->json = b.data;
		out->len = b.len;
		return;
	}
	read_file(a, type, data, len, out);
}
