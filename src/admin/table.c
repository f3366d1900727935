/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/table.h"

#include "base/arena.h"
#include "base/buf.h"
#include "store/db.h"

enum { COLUMNS_MAX = 32 };

/* S for a terminal, in A; NULL is "-". */
static const char *
visible(struct arena *a, const char *s)
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
		} else {
			buf_put(&b, s + i, n);
		}
	}
	return b.data;
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

static void
value_json(struct buf *b, const struct table_column *c, const char *s)
{
	if (s == NULL)
		buf_puts(b, "null");
	else if (c->kind == TABLE_TEXT)
		buf_jsons(b, s);
	else
		buf_puts(b, s);
}

static void
row_json(struct buf *b, const struct table_column *columns,
	const struct db_res *r, int row)
{
	int i;

	for (i = 0; i < r->n_columns; i++) {
		buf_putc(b, i == 0 ? '{' : ',');
		buf_jsons(b, columns[i].name);
		buf_putc(b, ':');
		value_json(b, &columns[i], db_text(r, row, i));
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
				visible(a, db_text(r, row, i));
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

void
table_print(struct arena *a, const struct table_column *columns,
	const struct db_res *r, bool is_json)
{
	struct buf b;
	int row;

	if (!is_json) {
		lines_print(a, columns, r);
		return;
	}
	buf_init(&b, a);
	for (row = 0; row < r->n_rows; row++) {
		buf_puts(&b, row == 0 ? "[" : ",\n ");
		row_json(&b, columns, r, row);
	}
	buf_puts(&b, r->n_rows == 0 ? "[]" : "]");
	puts(b.data);
}

void
table_print_row(struct arena *a, const struct table_column *columns,
	const struct db_res *r, int row, bool is_json)
{
	struct buf b;
	int i, w = 0;

	if (is_json) {
		buf_init(&b, a);
		row_json(&b, columns, r, row);
		puts(b.data);
		return;
	}
	for (i = 0; i < r->n_columns; i++)
		if (db_text(r, row, i) != NULL && width(columns[i].name) > w)
			w = width(columns[i].name);
	for (i = 0; i < r->n_columns; i++)
		if (db_text(r, row, i) != NULL)
			printf("%s:%*s%s\n", columns[i].name,
				w + 1 - width(columns[i].name), "",
				visible(a, db_text(r, row, i)));
}
