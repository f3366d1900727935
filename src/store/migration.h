/* SPDX-License-Identifier: ISC */
/*
 * migration: the schema's version, and bringing a database to it.
 *
 * Files NNNN-slug.sql in DIR/migrations are applied in order, forward only,
 * each with its row in mcp.migration in one transaction under an advisory
 * lock, so that any number of runs at once is as good as one.  A database
 * newer than the files, or an applied file that has been edited since, is
 * refused.  DIR/roles.sql is applied when the group roles are absent and the
 * connection may make them; DIR/privileges.sql after the last migration.
 */
#ifndef STORE_MIGRATION_H
#define STORE_MIGRATION_H

struct arena;
struct db;
struct err;

/* The version that these programs are built for; a guard compares it with
 * the files. */
#define MIGRATION_CURRENT 5

/* Called for each step done: "0001-tables", "privileges", ... */
typedef void migration_report(void *ctx, const char *step);

/* The database's version; 0: no schema yet.  For migrate and doctor. */
MUST_CHECK int migration_version(
	struct db *db, struct arena *a, int64_t *version, struct err *e);

/*
 * 0 when the database is at MIGRATION_CURRENT; else ERR_CONFLICT with the
 * remedy as detail.  What a program does before it serves.
 */
MUST_CHECK int migration_check(struct db *db, struct arena *a, struct err *e);

/*
 * Bring the database to MIGRATION_CURRENT.  DB connects as a superuser, as a
 * member of mcp_owner, or (no group roles at all) as the only role there is;
 * give it statement_timeout_ms 0.  A database in another encoding than UTF8 is
 * refused before anything is done.
 * *APPLIED: number of migrations.  Each failed step is undone whole.
 */
MUST_CHECK int migration_run(struct db *db, struct arena *a, const char *dir,
	migration_report *report, void *ctx, int *applied, struct err *e);

#endif
