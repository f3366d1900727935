/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/policies.h"

#include "admin/table.h"
#include "admin/tools.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/db.h"
#include "store/policy.h"
#include "store/source.h"

enum { PATTERN_MAX = 256, NOTE_MAX = 1024, POSITION_MAX = 64 };

static const struct table_column COLUMNS[POLICY_LIST_COLUMNS] = {
	{ "id", TABLE_NUMBER, 0 },
	{ "organization", TABLE_TEXT, 0 },
	{ "position", TABLE_NUMBER, 0 },
	{ "pattern", TABLE_TEXT, 0 },
	{ "action", TABLE_TEXT, 0 },
	{ "note", TABLE_TEXT, 60 },
	{ "tools", TABLE_NUMBER, 0 },
};

static bool
is_action(const char *s)
{
	return strcmp(s, "approve") == 0 ||
	       strcmp(s, "require_approval") == 0 || strcmp(s, "block") == 0;
}

/* "*", "a.b", "a.b.*" */
static bool
is_pattern(const char *s)
{
	static const char WORD[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-";
	size_t n;

	if (strlen(s) > PATTERN_MAX)
		return false;
	if (strcmp(s, "*") == 0)
		return true;
	for (;;) {
		if ((n = strspn(s, WORD)) == 0)
			return false;
		s += n;
		if (*s == '\0' || strcmp(s, ".*") == 0)
			return true;
		if (*s++ != '.')
			return false;
	}
}

/* "-1.25" */
static bool
is_decimal(const char *s)
{
	size_t n, len = strlen(s);

	s += *s == '-';
	n = strspn(s, "0123456789");
	if (n == 0 || len > POSITION_MAX)
		return false;
	s += n;
	if (*s == '\0')
		return true;
	n = strspn(s + 1, "0123456789");
	return *s == '.' && n > 0 && s[1 + n] == '\0';
}

static int
place(struct admin *ad, const char *org, const char **position, struct err *e)
{
	int64_t id;

	*position = ad->position;
	if ((ad->given & ADMIN_OPT_POSITION) != 0 && !is_decimal(ad->position))
		return err_set(e, ERR_INVALID, NULL,
			"--position must be a number, such as 3 or 2.5");
	if ((ad->given & ADMIN_OPT_BEFORE) == 0)
		return 0;
	if (admin_number("--before", ad->before, 1, INT64_MAX, &id, e) != 0 ||
		policy_place(ad->db, ad->arena, org, id, position, e) != 0)
		return -1;
	if (*position == NULL)
		return err_set(e, ERR_NOTFOUND, NULL,
			"no rule %" PRId64 " in %.96s", id, org);
	if (**position == '\0')
		return err_set(e, ERR_CONFLICT, NULL,
			"the rule before %" PRId64
			" has the same position: give --position",
			id);
	return 0;
}

/* Says what a rule that has just been added does not decide. */
static int
shadow_note(struct admin *ad, const char *org, int64_t id, struct err *e)
{
	const char *own = arena_printf(ad->arena, "%" PRId64, id);
	struct db_res r;
	int i;

	if (policy_list(ad->db, ad->arena, org, &r, e) != 0)
		return -1;
	for (i = 0; i < r.n_rows; i++) {
		if (strcmp(db_text(&r, i, 0), own) == 0) {
			if (i > 0)
				admin_note("%d rules come before it", i);
			return 0;
		}
	}
	return 0;
}

int
policies_add(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	const char *position;
	int64_t id;

	if (admin_check_id("organization", argv[0], e) != 0)
		return -1;
	if (!is_pattern(argv[1]))
		return err_set(e, ERR_INVALID, NULL,
			"a pattern is *, a path, or PREFIX.*");
	if (!is_action(argv[2]))
		return err_set(e, ERR_INVALID, NULL,
			"an action is approve, require_approval or block");
	if ((ad->given & ADMIN_OPT_BEFORE) != 0 &&
		(ad->given & ADMIN_OPT_POSITION) != 0)
		return err_set(e, ERR_INVALID, NULL,
			"--before or --position, not both");
	if ((ad->given & ADMIN_OPT_NOTE) != 0 &&
		admin_check_text("--note", ad->note, NOTE_MAX, e) != 0)
		return -1;
	if (admin_begin(ad, e) != 0 || place(ad, argv[0], &position, e) != 0)
		return -1;
	if (policy_add(ad->db, ad->arena, argv[0], argv[1], argv[2], position,
		    ad->note, &id, e) != 0)
		return admin_refused(ad, e);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("rule %" PRId64 " added: %s %s", id, argv[2], argv[1]);
	return shadow_note(ad, argv[0], id, e);
}

int
policies_list(struct admin *ad, char **argv, int n, struct err *e)
{
	struct db_res r;

	if (policy_list(ad->db, ad->arena, n > 0 ? argv[0] : NULL, &r, e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

int
policies_remove(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_there;
	int64_t id;

	if (admin_number("rule id", argv[1], 1, INT64_MAX, &id, e) != 0 ||
		admin_begin(ad, e) != 0 ||
		policy_remove(ad->db, ad->arena, argv[0], id, &was_there, e) !=
			0)
		return -1;
	if (!was_there)
		return err_set(e, ERR_NOTFOUND, NULL,
			"no rule %" PRId64 " in %.96s", id, argv[0]);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("rule %" PRId64 " removed", id);
	return 0;
}

int
policies_test(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct table_more more[] = {
		{ "path", TABLE_TEXT, argv[1] },
		{ "action", TABLE_TEXT, NULL },
		{ "decided_by", TABLE_TEXT, "tool" },
		{ "rule", TABLE_NUMBER, NULL },
		{ "position", TABLE_NUMBER, NULL },
		{ "pattern", TABLE_TEXT, NULL },
		{ "note", TABLE_TEXT, NULL },
	};
	struct db_res tool, rule;

	if (source_tool_find(ad->db, ad->arena, argv[0], argv[1], &tool, e) !=
			0 ||
		policy_decide(ad->db, ad->arena, argv[0], argv[1], &rule, e) !=
			0)
		return -1;
	if (tool.n_rows == 0)
		return tools_absent(ad, argv[0], argv[1], e);
	more[1].value = db_text(&tool, 0, 7);
	if (rule.n_rows > 0) {
		more[2].value = "rule";
		more[3].value = db_text(&rule, 0, 0);
		more[4].value = db_text(&rule, 0, 1);
		more[5].value = db_text(&rule, 0, 2);
		more[6].value = db_text(&rule, 0, 4);
	}
	table_print_members(ad->arena, more, NELEM(more),
		(ad->given & ADMIN_OPT_JSON) != 0);
	if (!db_bool(&tool, 0, 5) || !db_bool(&tool, 0, 6))
		admin_note("the tool is disabled, so that nobody can call it");
	return 0;
}
