/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/sources.h"

#include "admin/table.h"
#include "base/err.h"
#include "store/db.h"
#include "store/source.h"

enum { NAME_MAX_BYTES = 63 };

static const struct table_column COLUMNS[SOURCE_LIST_COLUMNS] = {
	{ "organization", TABLE_TEXT, 0 },
	{ "name", TABLE_TEXT, 0 },
	{ "kind", TABLE_TEXT, 0 },
	{ "title", TABLE_TEXT, 40 },
	{ "is_enabled", TABLE_FLAG, 0 },
	{ "tools", TABLE_NUMBER, 0 },
	{ "refreshed_at", TABLE_TEXT, 0 },
};

static const struct table_column SHOW[SOURCE_FIND_COLUMNS] = {
	{ "source_id", TABLE_NUMBER, 0 },
	{ "kind", TABLE_TEXT, 0 },
	{ "title", TABLE_TEXT, 0 },
	{ "config", TABLE_JSON, 0 },
	{ "is_enabled", TABLE_FLAG, 0 },
};

int
sources_check(const char *org, const char *name, struct err *e)
{
	static const char OK[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t len = strlen(name);

	if (admin_check_id("organization", org, e) != 0)
		return -1;
	if (len == 0 || len > NAME_MAX_BYTES || strspn(name, OK) != len ||
		name[0] < 'a')
		return err_set(e, ERR_INVALID, NULL,
			"a source is named by 1 to %d lower-case letters, "
			"digits and _, a letter first",
			NAME_MAX_BYTES);
	return 0;
}

static int
absent(const char *org, const char *name, struct err *e)
{
	return err_set(
		e, ERR_NOTFOUND, NULL, "no source %s in %.96s", name, org);
}

int
sources_absent(
	struct admin *ad, const char *org, const char *name, struct err *e)
{
	struct db_res r;

	if (source_find(ad->db, ad->arena, org, name, &r, e) != 0)
		return -1;
	if (r.n_rows > 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"there is a source %s in %.96s already; remove it "
			"first, or refresh it",
			name, org);
	return 0;
}

int
sources_add_script(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	const struct source s = { argv[0], argv[1], "script", ad->title, "{}" };
	int64_t id;

	if (sources_check(argv[0], argv[1], e) != 0 ||
		(ad->title != NULL &&
			admin_check_text("--title", ad->title, 512, e) != 0) ||
		admin_begin(ad, e) != 0 ||
		sources_absent(ad, argv[0], argv[1], e) != 0 ||
		source_save(ad->db, ad->arena, &s, &id, e) != 0 ||
		admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("source %s added; its tools come by mcp-admin tool add "
		   "%s %s.NAME FILE",
		argv[1], argv[0], argv[1]);
	return 0;
}

int
sources_list(struct admin *ad, char **argv, int n, struct err *e)
{
	struct db_res r;

	if (source_list(ad->db, ad->arena, n > 0 ? argv[0] : NULL, &r, e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

int
sources_show(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct table_more more[] = {
		{ "organization", TABLE_TEXT, argv[0] },
		{ "name", TABLE_TEXT, argv[1] },
		{ "tools", TABLE_NUMBER, NULL },
		{ "refreshed_at", TABLE_TEXT, NULL },
	};
	struct db_res r, all;
	int i;

	if (source_find(ad->db, ad->arena, argv[0], argv[1], &r, e) != 0 ||
		source_list(ad->db, ad->arena, argv[0], &all, e) != 0)
		return -1;
	if (r.n_rows == 0)
		return absent(argv[0], argv[1], e);
	for (i = 0; i < all.n_rows; i++)
		if (strcmp(db_text(&all, i, 1), argv[1]) == 0) {
			more[2].value = db_text(&all, i, 5);
			more[3].value = db_text(&all, i, 6);
		}
	table_print_more(ad->arena, SHOW, &r, 0, more, NELEM(more),
		(ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

int
sources_remove(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_there;

	if (admin_begin(ad, e) != 0 || source_remove(ad->db, ad->arena, argv[0],
					       argv[1], &was_there, e) != 0)
		return -1;
	if (!was_there)
		return absent(argv[0], argv[1], e);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("source %s removed, with its tools", argv[1]);
	return 0;
}

static int
enable(struct admin *ad, char **argv, bool is_enabled, struct err *e)
{
	bool was_there;

	if (admin_begin(ad, e) != 0 ||
		source_enable(ad->db, ad->arena, argv[0], argv[1], is_enabled,
			&was_there, e) != 0)
		return -1;
	if (!was_there)
		return absent(argv[0], argv[1], e);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note(
		"source %s %s", argv[1], is_enabled ? "enabled" : "disabled");
	return 0;
}

int
sources_enable(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return enable(ad, argv, true, e);
}

int
sources_disable(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return enable(ad, argv, false, e);
}
