/* SPDX-License-Identifier: ISC */
/*
 * buf: a growing byte string in an arena, always followed by a NUL that LEN
 * does not count; and the writing half of JSON.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

struct arena;

struct buf {
	struct arena *arena;
	char *data; /* "" before the first byte */
	size_t len;
	size_t cap;
};

void buf_init(struct buf *b, struct arena *a);
void buf_clear(struct buf *b); /* length 0, room kept */
void buf_put(struct buf *b, const void *p, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
/* Room for LEN more bytes; returns where they go; buf_commit adds them. */
char *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t len);

/*
 * S as a JSON string with its quotes.  S is UTF-8; what is not valid UTF-8
 * becomes U+FFFD; U+2028 and U+2029 and controls are escaped.
 */
void buf_json(struct buf *b, const char *s, size_t len);
void buf_jsons(struct buf *b, const char *s); /* NUL-terminated S */

/* Bytes of the well-formed UTF-8 character at S, 0 when there is none. */
size_t buf_utf8_len(const char *s, size_t len);

/*
 * Bytes of the longest prefix of S not over MAX that ends at a character
 * boundary of UTF-8 text.
 */
size_t buf_utf8_prefix(const char *s, size_t len, size_t max);

#endif
