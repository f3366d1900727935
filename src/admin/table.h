/* SPDX-License-Identifier: ISC */
/*
 * table: results of the database for people (columns in line, a name above
 * each) and for programs (JSON).  Control characters of values are escaped:
 * a client's name for itself must not move the cursor of a terminal.
 */
#ifndef ADMIN_TABLE_H
#define ADMIN_TABLE_H

struct arena;
struct db_res;

enum table_kind { TABLE_TEXT, TABLE_NUMBER, TABLE_JSON };

struct table_column {
	const char *name;
	enum table_kind kind;
};

/* All rows of R, which has a column for each of COLUMNS, to stdout: as lines,
 * or as one JSON array of objects. */
void table_print(struct arena *a, const struct table_column *columns,
	const struct db_res *r, bool is_json);

/* Row ROW as "name: value" lines without what is NULL, or as an object. */
void table_print_row(struct arena *a, const struct table_column *columns,
	const struct db_res *r, int row, bool is_json);

#endif
