/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/migration.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/scope.h"
#include "store/db.h"

#define FILE_MAX_BYTES (4 << 20)

/* The value is arbitrary and must never change. */
#define LOCK_KEY "7093152873064141423"

/*
 * Opens each step.  Nothing here outlasts the transaction, so it works
 * through a pooler.  The lock is waited for, other locks are not waited for
 * long: DDL in a queue makes every request behind it wait as well.  The step
 * runs as the owner of the schema, or, before there is one, as mcp_owner.
 */
#define STEP_BEGIN                                                             \
	"BEGIN;\n"                                                             \
	"SET LOCAL statement_timeout = 0;\n"                                   \
	"SET LOCAL lock_timeout = '60s';\n"                                    \
	"SELECT pg_catalog.pg_advisory_xact_lock(" LOCK_KEY ");\n"             \
	"SET LOCAL lock_timeout = '5s';\n"                                     \
	"SET LOCAL idle_in_transaction_session_timeout = 0;\n"                 \
	"SET LOCAL search_path = pg_catalog, pg_temp;\n"                       \
	"SET LOCAL client_min_messages = warning;\n"
#define STEP_ROLE                                                              \
	"SELECT pg_catalog.set_config('role', r.rolname, true)\n"              \
	" FROM pg_catalog.pg_roles r\n"                                        \
	" LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'mcp'\n"          \
	" WHERE r.oid = n.nspowner\n"                                          \
	"  OR n.oid IS NULL AND r.rolname = 'mcp_owner';\n"

/* Raises ERRCODE 40001 when another run has been here since we looked. */
#define STEP_GUARD                                                             \
	"DO $guard$\n"                                                         \
	"DECLARE v bigint := 0;\n"                                             \
	"BEGIN\n"                                                              \
	" IF pg_catalog.to_regclass('mcp.migration') IS NOT NULL THEN\n"       \
	"  SELECT coalesce(max(migration_id), 0) INTO v FROM mcp.migration;\n" \
	" END IF;\n"                                                           \
	" IF v <> %d THEN\n"                                                   \
	"  RAISE serialization_failure\n"                                      \
	"   USING MESSAGE = 'another migrate is at work';\n"                   \
	" END IF;\n"                                                           \
	"END $guard$;\n"

DB_STMT(EXISTS, "migration_exists_2",
	"SELECT to_regclass('mcp.migration') IS NOT NULL, "
	"coalesce((SELECT rolsuper OR rolcreaterole FROM pg_roles "
	"WHERE rolname = current_user), false), "
	"current_setting('server_encoding'), current_database()",
	0, 4);

DB_STMT(NUMBER, "migration_version_1", "SELECT mcp.schema_version()", 0, 1);

DB_STMT(APPLIED, "migration_applied_1",
	"SELECT migration_id, slug, sha256 FROM mcp.migration "
	"ORDER BY migration_id",
	0, 3);

struct file {
	int number;
	const char *stem; /* "0001-tables" */
	const char *text;
	char sha256[65];
};

struct files {
	struct file *item;
	int n;
};

/* DIR/NAME whole, in A, as a string. */
static int
file_read(struct arena *a, const char *dir, const char *name, size_t *len,
	char **out, struct err *e)
{
	const char *path = arena_printf(a, "%s/%s", dir, name);
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t got = 0;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_set(
			e, ERR_INVALID, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES)
		return err_set(
			e, ERR_INVALID, NULL, "%s: not a file of SQL", path);
	*out = arena_zalloc(a, (size_t)st.st_size + 1);
	while (got < (size_t)st.st_size) {
		n = read(fd, *out + got, (size_t)st.st_size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, ERR_INVALID, NULL, "%s: %s", path,
				n < 0 ? strerror(errno) : "shorter than said");
		got += (size_t)n;
	}
	*len = got;
	return 0;
}

/* Number of "NNNN-slug.sql", or -1.  The slug goes into SQL: [a-z0-9-]. */
static int
name_parse(const char *name)
{
	size_t len = strlen(name);

	if (len < 10 || strcmp(name + len - 4, ".sql") != 0 ||
		strspn(name, "0123456789") != 4 || name[4] != '-' ||
		strspn(name + 5, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
			len - 9)
		return -1;
	return (int)strtol(name, NULL, 10);
}

static int
file_cmp(const void *x, const void *y)
{
	const struct file *f = x, *g = y;

	return (f->number > g->number) - (f->number < g->number);
}

static int
files_load(struct arena *a, const char *dir, struct files *out, struct err *e)
{
	const char *path = arena_printf(a, "%s/migrations", dir);
	unsigned char md[EVP_MAX_MD_SIZE];
	struct dirent *de;
	struct file *f;
	char *text;
	size_t len;
	int i, rc = 0;
	DIR *d;

	if ((d = opendir(path)) == NULL)
		return err_set(
			e, ERR_INVALID, NULL, "%s: %s", path, strerror(errno));
	out->item = arena_calloc(a, MIGRATION_CURRENT, sizeof(*out->item));
	out->n = 0;
	while (rc == 0 && (de = readdir(d)) != NULL) {
		i = name_parse(de->d_name);
		if (i < 0)
			continue;
		if (out->n == MIGRATION_CURRENT) {
			rc = err_set(e, ERR_CONFLICT, NULL,
				"%s is of another release than this program",
				path);
			break;
		}
		f = &out->item[out->n++];
		f->number = i;
		f->stem = arena_memdup(a, de->d_name, strlen(de->d_name) - 4);
		rc = file_read(a, path, de->d_name, &len, &text, e);
		if (rc == 0 && EVP_Digest(text, len, md, NULL, EVP_sha256(),
				       NULL) != 1)
			rc = err_set(e, ERR_INTERNAL, NULL, "no SHA-256");
		f->text = text;
		hex_encode(f->sha256, md, 32);
	}
	closedir(d);
	if (rc != 0)
		return -1;
	qsort(out->item, (size_t)out->n, sizeof(*out->item), file_cmp);
	for (i = 0; i < out->n && out->item[i].number == i + 1; i++)
		;
	if (i != MIGRATION_CURRENT)
		return err_set(e, ERR_CONFLICT, NULL,
			"%s: migration %d is missing", path, i + 1);
	return 0;
}

int
migration_version(
	struct db *db, struct arena *a, int64_t *version, struct err *e)
{
	struct db_res r;

	*version = 0;
	if (db_run(db, a, &EXISTS, NULL, &r, e) != 0)
		return err_wrap(e, "schema version");
	if (!db_bool(&r, 0, 0))
		return 0;
	if (db_run(db, a, &NUMBER, NULL, &r, e) != 0)
		return err_wrap(e, "schema version");
	*version = db_int(&r, 0, 0);
	return 0;
}

int
migration_check(struct db *db, struct arena *a, struct err *e)
{
	int64_t version;

	if (migration_version(db, a, &version, e) != 0)
		return -1;
	if (version < MIGRATION_CURRENT)
		return err_set(e, ERR_CONFLICT, NULL,
			"database is at version %" PRId64 ", not %d: run "
			"mcp-admin migrate",
			version, MIGRATION_CURRENT);
	if (version > MIGRATION_CURRENT)
		return err_set(e, ERR_CONFLICT, NULL,
			"database is at version %" PRId64 ", not %d: it is of "
			"a newer release",
			version, MIGRATION_CURRENT);
	return 0;
}

/*
 * Compare what was applied with the files; *VERSION is the last.  A failed
 * comparison is never repaired here.
 */
static int
applied_check(struct db *db, struct arena *a, const struct files *files,
	int *version, struct err *e)
{
	const struct file *f;
	struct db_res r;
	int i;

	if (db_run(db, a, &APPLIED, NULL, &r, e) != 0)
		return err_wrap(e, "mcp.migration");
	for (i = 0; i < r.n_rows; i++) {
		if (i >= files->n)
			return err_set(e, ERR_CONFLICT, NULL,
				"database is newer (%" PRId64
				") than this program (%d)",
				db_int(&r, r.n_rows - 1, 0), MIGRATION_CURRENT);
		f = &files->item[i];
		if (db_int(&r, i, 0) != f->number)
			return err_set(e, ERR_CONFLICT, NULL,
				"mcp.migration lacks number %d", f->number);
		if (strcmp(db_text(&r, i, 2), f->sha256) != 0)
			return err_set(e, ERR_CONFLICT, NULL,
				"%s was edited after it was applied", f->stem);
	}
	*version = r.n_rows;
	return 0;
}

/*
 * A script that leaves no transaction open when it fails.  The server's
 * message goes into the error: what is wrong with a migration is no secret.
 * *AGAIN (may be NULL): another run came between.
 */
static int
step_run(struct db *db, const char *sql, const char *what, bool *again,
	struct err *e)
{
	struct err ignored = { 0 };

	if (again != NULL)
		*again = false;
	if (db_script(db, sql, e) == 0)
		return 0;
	if (again != NULL)
		*again = db_is_retryable(db);
	if (*db_message(db) != '\0')
		err_set(e, e->kind, NULL, "%s: %s", what, db_message(db));
	else
		err_wrap(e, what);
	/* If that fails the connection is gone, and its work with it. */
	if (db_script(db, "ROLLBACK", &ignored) != 0)
		return -1;
	return -1;
}

static int
migration_apply(struct db *db, struct arena *a, const struct file *f,
	bool *again, struct err *e)
{
	const char *sql = arena_printf(a,
		STEP_BEGIN STEP_GUARD STEP_ROLE
		"%s\n"
		"INSERT INTO mcp.migration (migration_id, slug, sha256) "
		"VALUES (%d, '%s', '%s');\nCOMMIT;\n",
		f->number - 1, f->text, f->number, f->stem + 5, f->sha256);

	return step_run(db, sql, f->stem, again, e);
}

/* Names and values are in UTF-8; in other encodings some do not fit. */
static int
encoding_check(const struct db_res *r, struct err *e)
{
	if (strcmp(db_text(r, 0, 2), "UTF8") == 0)
		return 0;
	return err_set(e, ERR_CONFLICT, NULL,
		"the encoding of database %.64s is %s, not UTF8: make another "
		"one with createdb -E UTF8 -T template0",
		db_text(r, 0, 3), db_text(r, 0, 2));
}

/*
 * Before the first migration, and if the connection may: the group roles.
 * They belong to the cluster, but their right to make a schema to the
 * database, so this is not skipped when they are there already.
 */
static int
roles_apply(struct db *db, struct arena *a, const char *dir,
	migration_report *report, void *ctx, bool *has_schema, struct err *e)
{
	struct db_res r;
	char *text;
	size_t len;

	if (db_run(db, a, &EXISTS, NULL, &r, e) != 0)
		return err_wrap(e, "schema version");
	*has_schema = db_bool(&r, 0, 0);
	if (*has_schema)
		return 0;
	if (encoding_check(&r, e) != 0)
		return -1;
	if (!db_bool(&r, 0, 1))
		return 0;
	if (file_read(a, dir, "roles.sql", &len, &text, e) != 0)
		return -1;
	if (step_run(db, arena_printf(a, STEP_BEGIN "%s\nCOMMIT;\n", text),
		    "roles", NULL, e) != 0)
		return -1;
	report(ctx, "roles");
	return 0;
}

int
migration_run(struct db *db, struct arena *a, const char *dir,
	migration_report *report, void *ctx, int *applied, struct err *e)
{
	const struct file *f;
	struct files files;
	bool has_schema, again;
	int version = 0;
	char *text;
	size_t len;

	*applied = 0;
	if (files_load(a, dir, &files, e) != 0 ||
		file_read(a, dir, "privileges.sql", &len, &text, e) != 0 ||
		roles_apply(db, a, dir, report, ctx, &has_schema, e) != 0)
		return -1;
	if (has_schema && applied_check(db, a, &files, &version, e) != 0)
		return -1;
	while (version < files.n) {
		f = &files.item[version];
		if (migration_apply(db, a, f, &again, e) == 0) {
			report(ctx, f->stem);
			version++;
			++*applied;
			continue;
		}
		/* Another run was faster: look again and go on from there. */
		if (!again)
			return -1;
		err_clear(e);
		if (applied_check(db, a, &files, &version, e) != 0)
			return -1;
	}
	if (step_run(db,
		    arena_printf(a, STEP_BEGIN STEP_ROLE "%s\nCOMMIT;\n", text),
		    "privileges", NULL, e) != 0)
		return -1;
	report(ctx, "privileges");
	return 0;
}
