/* SPDX-License-Identifier: ISC */
/* url: absolute http and https URLs as text.  No name is resolved here. */
#ifndef NET_URL_H
#define NET_URL_H

struct arena;
struct buf;

/*
 * NULL when URL is an absolute http(s) URL of printable ASCII with a host and
 * without credentials, else what is wrong with it.
 */
const char *url_check(const char *url);

/* Both have passed url_check: same scheme, host (without case) and port? */
bool url_same_origin(const char *a, const char *b);
bool url_is_https(const char *url);
/* scheme://host[:port], a length within URL. */
size_t url_origin_len(const char *url);

/*
 * Append S with everything percent-encoded but the unreserved characters of
 * RFC 3986 and those in KEEP.  With KEEP holding '%', "%41" stays.
 */
void url_encode(struct buf *b, const char *s, size_t len, const char *keep);

/*
 * REF relative to BASE, which has passed url_check (RFC 3986 5.2): absolute,
 * "//host", "/path", "path" or "".  NULL when REF has another scheme.
 */
const char *url_resolve(struct arena *a, const char *base, const char *ref);

#endif
