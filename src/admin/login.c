/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/login.h"

#include "base/err.h"

static const struct {
	const char *word;
	const char *group;
	const char *use; /* the key of mcp-fcgi.conf that names it */
	bool is_bounded; /* gets time limits */
} KINDS[] = {
	{ "responder", "mcp_responder", "database", true },
	{ "reaper", "mcp_reaper", "reaper_database", true },
	{ "admin", "mcp_admin", "admin_database", false },
	{ "readonly", "mcp_readonly", NULL, true },
	{ "owner", "mcp_owner", NULL, false },
};

/* The database's name is known only where this runs: hence the block. */
static const char SETTINGS[] =
	"-- A pooler drops settings asked for at connect: they are the "
	"role's.\n"
	"DO $do$\n"
	"DECLARE\n"
	"    s text[];\n"
	"BEGIN\n"
	"    FOREACH s SLICE 1 IN ARRAY ARRAY[\n"
	"        ['search_path', 'pg_catalog'],\n"
	"        ['statement_timeout', '5s'],\n"
	"        ['lock_timeout', '2s'],\n"
	"        ['idle_in_transaction_session_timeout', '10s']]\n"
	"    LOOP\n"
	"        EXECUTE pg_catalog.format(\n"
	"            'ALTER ROLE %%I IN DATABASE %%I SET %%I TO %%L', '%s',\n"
	"            pg_catalog.current_database(), s[1], s[2]);\n"
	"    END LOOP;\n"
	"END\n"
	"$do$;\n";

/* Goes into SQL as it is: no quote, no backslash. */
static int
name_check(const char *s, struct err *e)
{
	static const char OK[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(s);

	if (len == 0 || len > 63 || strspn(s, OK) != len ||
		strncmp(s, "pg_", 3) == 0)
		return err_set(e, ERR_INVALID, NULL,
			"a role is named by 1 to 63 letters, digits, - and _, "
			"and not pg_...");
	return 0;
}

int
login_role(struct admin *ad UNUSED, char **argv, int n UNUSED, struct err *e)
{
	const char *name = argv[0];
	size_t i;

	if (name_check(name, e) != 0)
		return -1;
	for (i = 0; i < NELEM(KINDS); i++)
		if (strcmp(KINDS[i].word, argv[1]) == 0)
			break;
	if (i == NELEM(KINDS))
		return err_set(e, ERR_INVALID, NULL,
			"a login role is for: responder, reaper, admin, "
			"readonly or owner");
	printf("-- Login role for %s.  After mcp-admin migrate, by a role that "
	       "may create roles:\n"
	       "--     mcp-admin login-role %s %s | psql -X -v "
	       "ON_ERROR_STOP=1 -d DATABASE\n"
	       "-- It has no password: use peer authentication (pg_hba.conf), "
	       "or \\password and ~/.pgpass.\n",
		KINDS[i].group, name, argv[1]);
	if (KINDS[i].use != NULL)
		printf("-- Then, in mcp-fcgi.conf: %s = user=%s dbname=...\n",
			KINDS[i].use, name);
	printf("SELECT 'CREATE ROLE \"%s\" LOGIN' WHERE NOT EXISTS\n"
	       "    (SELECT FROM pg_catalog.pg_roles WHERE rolname = '%s') "
	       "\\gexec\n"
	       "GRANT %s TO \"%s\";\n",
		name, name, KINDS[i].group, name);
	if (KINDS[i].is_bounded)
		printf(SETTINGS, name);
	return 0;
}
