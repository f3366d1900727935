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

enum table_kind { TABLE_TEXT, TABLE_NUMBER, TABLE_JSON, TABLE_FLAG };

struct table_column {
	const char *name;
	enum table_kind kind;
	int cut; /* in lines: at most so many characters; 0: all */
};

/* A member that is in no column; VALUE NULL: it is not there. */
struct table_more {
	const char *name;
	enum table_kind kind;
	const char *value;
};

/* All rows of R, which has a column for each of COLUMNS, to stdout: as lines,
 * or as one JSON array of objects. */
void table_print(struct arena *a, const struct table_column *columns,
	const struct db_res *r, bool is_json);

/* Row ROW as "name: value" lines without what is NULL, or as an object. */
void table_print_row(struct arena *a, const struct table_column *columns,
	const struct db_res *r, int row, bool is_json);

/* The same with N members more behind. */
void table_print_more(struct arena *a, const struct table_column *columns,
	const struct db_res *r, int row, const struct table_more *more,
	size_t n, bool is_json);

/* N members alone. */
void table_print_members(
	struct arena *a, const struct table_more *more, size_t n, bool is_json);

/* All rows as a JSON array, in A. */
const char *table_json(struct arena *a, const struct table_column *columns,
	const struct db_res *r);

/* S for a terminal, in A; "-" for NULL and "". */
const char *table_visible(struct arena *a, const char *s);

#endif
