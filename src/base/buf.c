/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/buf.h"

#include "base/arena.h"

/* What DATA points to while nothing has been put: never written. */
static char nothing[1];

void
buf_init(struct buf *b, struct arena *a)
{
	b->arena = a;
	b->data = nothing;
	b->len = 0;
	b->cap = 0;
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->cap > 0)
		b->data[0] = '\0';
}

char *
buf_reserve(struct buf *b, size_t len)
{
	size_t need, cap;
	char *data;

	/* An overflow ends in an allocation that the arena refuses. */
	if (__builtin_add_overflow(b->len, len, &need) ||
		__builtin_add_overflow(need, 1, &need))
		need = SIZE_MAX;
	if (need <= b->cap)
		return b->data + b->len;
	cap = b->cap < 128 ? 128 : b->cap;
	while (cap < need && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap < need)
		cap = need;
	data = arena_alloc(b->arena, cap);
	memcpy(data, b->data, b->len);
	data[b->len] = '\0';
	b->data = data;
	b->cap = cap;
	return b->data + b->len;
}

void
buf_commit(struct buf *b, size_t len)
{
	assert(len < b->cap - b->len);
	b->len += len;
	b->data[b->len] = '\0';
}

void
buf_put(struct buf *b, const void *p, size_t len)
{
	if (len == 0)
		return;
	memcpy(buf_reserve(b, len), p, len);
	buf_commit(b, len);
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
	*buf_reserve(b, 1) = c;
	buf_commit(b, 1);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	char *room;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	assert(len >= 0);
	room = buf_reserve(b, (size_t)len);
	(void)vsnprintf(room, (size_t)len + 1, fmt, again);
	va_end(again);
	buf_commit(b, (size_t)len);
}

size_t
buf_utf8_len(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n, i;

	/* Table 3-7 of the Unicode Standard: well-formed sequences. */
	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len < n)
		return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

size_t
buf_utf8_prefix(const char *s, size_t len, size_t max)
{
	size_t end, back;

	if (len <= max)
		return len;
	/* At most three bytes back from MAX begins the character cut. */
	end = max;
	for (back = 0; back < 4 && end > 0; back++) {
		if (((unsigned char)s[end] & 0xc0) != 0x80)
			return end;
		end--;
	}
	return back < 4 ? end : max;
}

/* The two-character escape of C, or NUL. */
static char
short_escape(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return '\0';
	}
}

void
buf_json(struct buf *b, const char *s, size_t len)
{
	size_t from = 0, i = 0;

	buf_putc(b, '"');
	while (i < len) {
		unsigned char c = (unsigned char)s[i];
		size_t n;
		char esc;

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			i++;
			continue;
		}
		n = buf_utf8_len(s + i, len - i);
		/* All but the two line separators passes as it is. */
		if (n > 1 && !(n == 3 && c == 0xe2 &&
			(unsigned char)s[i + 1] == 0x80 &&
			((unsigned char)s[i + 2] | 1) == 0xa9)) {
			i += n;
			continue;
		}
		buf_put(b, s + from, i - from);
		esc = short_escape(c);
		if (n == 0) {
			buf_puts(b, "\xef\xbf\xbd");
			n = 1;
		} else if (n == 3) {
			buf_puts(b, (unsigned char)s[i + 2] == 0xa8 ?
				"\\u2028" : "\\u2029");
		} else if (esc != '\0') {
			buf_putc(b, '\\');
			buf_putc(b, esc);
		} else {
			buf_printf(b, "\\u%04x", c);
		}
		i += n;
		from = i;
	}
	buf_put(b, s + from, len - from);
	buf_putc(b, '"');
}

void
buf_jsons(struct buf *b, const char *s)
{
	buf_json(b, s, strlen(s));
}
