/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "net/url.h"

#include "base/arena.h"
#include "base/buf.h"

static size_t
scheme_len(const char *url)
{
	if (strncasecmp(url, "https://", 8) == 0)
		return 8;
	return strncasecmp(url, "http://", 7) == 0 ? 7 : 0;
}

/*
 * Printable ASCII only, so that no configured or substituted text reaches
 * libcurl's guessing of schemes; and no user:pass@, which would end up in
 * logs.
 */
const char *
url_check(const char *url)
{
	size_t scheme = scheme_len(url), host;
	const char *p;

	if (scheme == 0)
		return "not an http(s) URL";
	for (p = url; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return "URL with white space or non-ASCII";
	/* Browsers read a backslash as a slash, libcurl does not. */
	host = strcspn(url + scheme, "/?#\\");
	if (host == 0 || url[scheme + host] == '\\' ||
		memchr(url + scheme, '@', host) != NULL)
		return "URL without host or with credentials";
	return NULL;
}

bool
url_is_https(const char *url)
{
	return scheme_len(url) == 8;
}

size_t
url_origin_len(const char *url)
{
	size_t scheme = scheme_len(url);

	return scheme + strcspn(url + scheme, "/?#");
}

/* host[:port] without a default port. */
static size_t
authority_len(const char *url)
{
	size_t scheme = scheme_len(url);
	size_t len = url_origin_len(url) - scheme;
	const char *port = scheme == 8 ? ":443" : ":80", *p = url + scheme;
	size_t n = strlen(port);

	if (len > 0 && p[len - 1] == ':')
		return len - 1;
	return len > n && memcmp(p + len - n, port, n) == 0 ? len - n : len;
}

bool
url_same_origin(const char *a, const char *b)
{
	size_t len = authority_len(a);

	return scheme_len(a) == scheme_len(b) && len == authority_len(b) &&
	       strncasecmp(a + scheme_len(a), b + scheme_len(b), len) == 0;
}

void
url_encode(struct buf *b, const char *s, size_t len, const char *keep)
{
	static const char free_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "abcdefghijklmnopqrstuvwxyz0123456789"
					 "-._~";
	size_t i;

	for (i = 0; i < len; i++) {
		if (s[i] != '\0' && (strchr(free_chars, s[i]) != NULL ||
					    strchr(keep, s[i]) != NULL))
			buf_putc(b, s[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)s[i]);
	}
}

/* RFC 3986 5.2.4 on the path of what is in B from position AT on. */
static void
remove_dots(struct buf *b, size_t at)
{
	char *in = b->data + at, *out = in, *start = in, *end;

	while (*in != '\0' && *in != '?' && *in != '#') {
		end = in + 1 + strcspn(in + 1, "/?#");
		if (end - in == 3 && memcmp(in, "/..", 3) == 0) {
			while (out > start && *--out != '/')
				;
			if (*end != '/')
				*out++ = '/';
		} else if (end - in == 2 && memcmp(in, "/.", 2) == 0) {
			if (*end != '/')
				*out++ = '/';
		} else {
			memmove(out, in, (size_t)(end - in));
			out += end - in;
		}
		in = end;
	}
	memmove(out, in, strlen(in) + 1);
	b->len = (size_t)(out - b->data) + strlen(out);
}

const char *
url_resolve(struct arena *a, const char *base, const char *ref)
{
	size_t origin = url_origin_len(base), path, scheme, at;
	struct buf b;

	if (scheme_len(ref) > 0)
		return ref;
	scheme = strcspn(ref, ":/?#");
	if (ref[scheme] == ':')
		return NULL;
	buf_init(&b, a);
	if (strncmp(ref, "//", 2) == 0) {
		buf_printf(&b, "%s%s",
			url_is_https(base) ? "https:" : "http:", ref);
		return b.data;
	}
	buf_put(&b, base, origin);
	at = b.len;
	path = strcspn(base + origin, "?#");
	if (ref[0] == '\0' || ref[0] == '?' || ref[0] == '#') {
		buf_put(&b, base + origin, path);
	} else if (ref[0] != '/') {
		while (path > 0 && base[origin + path - 1] != '/')
			path--;
		if (path == 0)
			buf_putc(&b, '/');
		buf_put(&b, base + origin, path);
	}
	buf_puts(&b, ref);
	remove_dots(&b, at);
	return b.data;
}
