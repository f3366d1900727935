/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/migrate.h"

#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/db.h"
#include "store/migration.h"

static void
step_print(void *ctx UNUSED, const char *step)
{
	printf("%s\n", step);
	fflush(stdout);
}

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * The SQL that belongs to this program: beside it where it is installed
 * (also under another root than configured), else of the tree it was built
 * from.
 */
static const char *
sql_dir(struct arena *a)
{
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *dir;
	char *slash;

	if (len <= 0)
		return PKGDATADIR "/sql";
	exe[len] = '\0';
	if ((slash = strrchr(exe, '/')) != NULL)
		*slash = '\0';
	if (strcmp(exe, SBINDIR) == 0)
		return PKGDATADIR "/sql";
	dir = arena_printf(a, "%s/../share/" PACKAGE "/sql", exe);
	if (is_dir(dir))
		return dir;
	return is_dir(SQL_SOURCE_DIR) ? SQL_SOURCE_DIR : PKGDATADIR "/sql";
}

static int
version_check(struct admin *ad, struct err *e)
{
	if (migration_check(ad->db, ad->arena, e) != 0)
		return -1;
	printf("schema version %d\n", MIGRATION_CURRENT);
	return 0;
}

int
migrate_run(struct admin *ad, char **argv UNUSED, int n UNUSED, struct err *e)
{
	const char *dir = ad->dir != NULL ? ad->dir : sql_dir(ad->arena);
	int applied;

	if ((ad->given & ADMIN_OPT_CHECK) != 0)
		return version_check(ad, e);
	if (migration_run(ad->db, ad->arena, dir, step_print, NULL, &applied,
		    e) != 0) {
		/* Not the command line's fault. */
		if (e->kind == ERR_INVALID)
			e->kind = ERR_CONFLICT;
		return -1;
	}
	admin_note("schema version %d, %d migration%s applied",
		MIGRATION_CURRENT, applied, admin_plural(applied));
	return 0;
}
