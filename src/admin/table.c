/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/table.h"

#include "base/arena.h"
#include "base/buf.h"
#include "store/db.h"

enum { COLUMNS_MAX = 32 };

/* Characters that turn what follows around, or are not seen: U+200B to 200F,
 * 2028 to 202E, 2060 to 206F, FEFF. */
static bool
is_deceptive(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	if (p[0] == 0xe2 && p[1] == 0x80)
		return (p[2] >= 0x8b && p[2] <= 0x8f) ||
			(p[2] >= 0xa8 && p[2] <= 0xae);
	return (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa0 &&
		       p[2] <= 0xaf) ||
		(p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf);
}

const char *
table_visible(struct arena *a, const char *s)
{
	size_t len, i, n;
	struct buf b;

	if (s == NULL || *s == '\0')
		return "-";
	len = strlen(s);
	buf_init(&b, a);
	for (i = 0; i < len; i += n) {
		n = buf_utf8_len(s + i, len - i);
		if (n == 0 || (n == 1 && ((unsigned char)s[i] < 0x20 ||
						 s[i] == 0x7f))) {
			n = 1;
			buf_printf(&b, "\\x%02x", (unsigned char)s[i]);
		} else if (n == 2 && (unsigned char)s[i] == 0xc2 &&
			   (unsigned char)s[i + 1] < 0xa0) {
			buf_printf(&b, "\\u%04x", (unsigned char)s[i + 1]);
		} else if (n == 3 && is_deceptive(s + i)) {
			buf_printf(&b, "\\u%04x",
				(s[i] & 0xfU) << 12 | (s[i + 1] & 0x3fU) << 6 |
					(s[i + 2] & 0x3fU));
		} else {
			buf_put(&b, s + i, n);
		}
	}
	return b.data;
}

/* S as a cell or member of lines; 't' and 'f' of the database as words. */
static const char *
shown(struct arena *a, enum table_kind kind, const char *s)
{
	if (kind == TABLE_FLAG && s != NULL)
		return *s == 't' ? "yes" : "no";
	return table_visible(a, s);
}

/* Characters of UTF-8 text. */
static int
width(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static const char *
cell(struct arena *a, const struct table_column *c, const char *s)
{
	int n = 0;
	size_t i;

	s = shown(a, c->kind, s);
	if (c->cut == 0 || width(s) <= c->cut)
		return s;
	for (i = 0; s[i] != '\0'; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80 && ++n == c->cut)
			break;
	return arena_printf(a, "%.*s\xe2\x80\xa6", (int)i, s);
}

static void
value_json(struct buf *b, enum table_kind kind, const char *s)
{
	if (s == NULL)
		buf_puts(b, "null");
	else if (kind == TABLE_TEXT)
		buf_jsons(b, s);
	else if (kind == TABLE_FLAG)
		buf_puts(b, *s == 't' ? "true" : "false");
	else
		buf_puts(b, s);
}

static void
row_json(struct buf *b, const struct table_column *columns,
	const struct db_res *r, int row, const struct table_more *more,
	size_t n)
{
	bool has_any = false;
	size_t k;
	int i;

	buf_putc(b, '{');
	for (i = 0; r != NULL && i < r->n_columns; i++) {
		buf_puts(b, has_any ? "," : "");
		buf_jsons(b, columns[i].name);
		buf_putc(b, ':');
		value_json(b, columns[i].kind, db_text(r, row, i));
		has_any = true;
	}
	for (k = 0; k < n; k++) {
		buf_puts(b, has_any ? "," : "");
		buf_jsons(b, more[k].name);
		buf_putc(b, ':');
		value_json(b, more[k].kind, more[k].value);
		has_any = true;
	}
	buf_putc(b, '}');
}

static void
cell_print(const char *s, int to_width, bool is_right, bool is_last)
{
	int pad = to_width - width(s);

	if (is_right)
		printf("%*s%s", pad, "", s);
	else if (is_last)
		fputs(s, stdout);
	else
		printf("%s%*s", s, pad, "");
	fputs(is_last ? "\n" : "  ", stdout);
}

static const char *
title(struct arena *a, const char *name)
{
	char *s = arena_strdup(a, name), *p;

	for (p = s; *p != '\0'; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return s;
}

static void
lines_print(struct arena *a, const struct table_column *columns,
	const struct db_res *r)
{
	int widths[COLUMNS_MAX], i, row, w, last = r->n_columns - 1;
	const char **cells;

	assert(r->n_columns <= COLUMNS_MAX);
	/* Row 0 is the heading. */
	cells = arena_calloc(a, (size_t)(r->n_rows + 1) * (size_t)(last + 1),
		sizeof(*cells));
	for (i = 0; i <= last; i++) {
		cells[i] = title(a, columns[i].name);
		widths[i] = width(cells[i]);
		for (row = 0; row < r->n_rows; row++) {
			cells[(row + 1) * (last + 1) + i] =
				cell(a, &columns[i], db_text(r, row, i));
			w = width(cells[(row + 1) * (last + 1) + i]);
			if (w > widths[i])
				widths[i] = w;
		}
	}
	for (row = 0; row <= r->n_rows; row++)
		for (i = 0; i <= last; i++)
			cell_print(cells[row * (last + 1) + i], widths[i],
				columns[i].kind == TABLE_NUMBER, i == last);
}

const char *
table_json(struct arena *a, const struct table_column *columns,
	const struct db_res *r)
{
	struct buf b;
	int row;

	buf_init(&b, a);
	for (row = 0; row < r->n_rows; row++) {
		buf_puts(&b, row == 0 ? "[" : ",\n ");
		row_json(&b, columns, r, row, NULL, 0);
	}
	buf_puts(&b, r->n_rows == 0 ? "[]" : "]");
	return b.data;
}

void
table_print(struct arena *a, const struct table_column *columns,
	const struct db_res *r, bool is_json)
{
	if (is_json)
		puts(table_json(a, columns, r));
	else
		lines_print(a, columns, r);
}

/* Further lines of a value stand below its first: none looks like a name. */
static void
member_print(struct arena *a, const char *name, enum table_kind kind,
	const char *s, int to_width)
{
	const char *end;

	if (s == NULL)
		return;
	printf("%s:%*s", name, to_width + 1 - width(name), "");
	for (; (end = strchr(s, '\n')) != NULL && end[1] != '\0'; s = end + 1)
		printf("%s\n%*s",
			end == s ? ""
				 : table_visible(a, arena_printf(a, "%.*s",
							    (int)(end - s), s)),
			to_width + 2, "");
	puts(shown(a, kind, s));
}

static void
widen(int *w, const char *name, const char *value)
{
	if (value != NULL && width(name) > *w)
		*w = width(name);
}

void
table_print_more(struct arena *a, const struct table_column *columns,
	const struct db_res *r, int row, const struct table_more *more,
	size_t n, bool is_json)
{
	int n_columns = r != NULL ? r->n_columns : 0, i, w = 0;
	struct buf b;
	size_t k;

	if (is_json) {
		buf_init(&b, a);
		row_json(&b, columns, r, row, more, n);
		puts(b.data);
		return;
	}
	for (i = 0; i < n_columns; i++)
		widen(&w, columns[i].name, db_text(r, row, i));
	for (k = 0; k < n; k++)
		widen(&w, more[k].name, more[k].value);
	for (i = 0; i < n_columns; i++)
		member_print(a, columns[i].name, columns[i].kind,
			db_text(r, row, i), w);
	for (k = 0; k < n; k++)
		member_print(a, more[k].name, more[k].kind, more[k].value, w);
}

void
table_print_members(
	struct arena *a, const struct table_more *more, size_t n, bool is_json)
{
	table_print_more(a, NULL, NULL, 0, more, n, is_json);
}

void
table_print_row(struct arena *a, const struct table_column *columns,
	const struct db_res *r, int row, bool is_json)
{
	table_print_more(a, columns, r, row, NULL, 0, is_json);
}
