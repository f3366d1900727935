/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/tools.h"

#include "admin/table.h"
#include "base/arena.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "run/check.h"
#include "store/catalog.h"
#include "store/db.h"
#include "store/policy.h"
#include "store/source.h"

enum { SIGNATURE_WALL_MS = 2000, SIGNATURE_HEAP_BYTES = 64 << 20 };

#define APPROVAL_NOTE "mcp-admin tool approval"

static const struct table_column COLUMNS[SOURCE_TOOL_LIST_COLUMNS] = {
	{ "path", TABLE_TEXT, 0 },
	{ "kind", TABLE_TEXT, 0 },
	{ "is_listed", TABLE_FLAG, 0 },
	{ "is_enabled", TABLE_FLAG, 0 },
	{ "action", TABLE_TEXT, 0 },
	{ "title", TABLE_TEXT, 60 },
};

/* As source_tool_find has them. */
enum { SHOW_ACTION = 7, SHOW_INPUT = 12, SHOW_OUTPUT = 13 };

static const struct table_column SHOW[SOURCE_TOOL_FIND_COLUMNS] = {
	{ "path", TABLE_TEXT, 0 },
	{ "kind", TABLE_TEXT, 0 },
	{ "title", TABLE_TEXT, 0 },
	{ "description", TABLE_TEXT, 0 },
	{ "is_listed", TABLE_FLAG, 0 },
	{ "is_enabled", TABLE_FLAG, 0 },
	{ "is_source_enabled", TABLE_FLAG, 0 },
	{ "action", TABLE_TEXT, 0 },
	{ "needs_approval", TABLE_FLAG, 0 },
	{ "approval_text", TABLE_TEXT, 0 },
	{ "updated_at", TABLE_TEXT, 0 },
	{ "annotations", TABLE_JSON, 0 },
	{ "input_schema", TABLE_JSON, 0 },
	{ "output_schema", TABLE_JSON, 0 },
	{ "definition", TABLE_JSON, 0 },
};

int
tools_absent(struct admin *ad, const char *org, const char *path, struct err *e)
{
	const struct cj_limits limits = { .depth_max = 4 };
	const struct cJSON *v;
	struct catalog_tool tool;
	enum catalog_outcome outcome;
	const char *like;
	struct cJSON *list;
	struct err why = { 0 };

	if (catalog_find(ad->db, ad->arena, org, path, &outcome, &tool, &like,
		    &why) == 0 &&
		like != NULL &&
		cj_parse(ad->arena, like, strlen(like), &limits, &list, &why) ==
			0)
		for (v = cj_first(list); v != NULL; v = cj_next(v))
			admin_note("perhaps %s",
				table_visible(ad->arena, cj_string(v)));
	return err_set(
		e, ERR_NOTFOUND, NULL, "no tool %.96s in %.96s", path, org);
}

int
tools_list(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct db_res r;

	if (ad->source != NULL) {
		if (source_find(
			    ad->db, ad->arena, argv[0], ad->source, &r, e) != 0)
			return -1;
		if (r.n_rows == 0)
			return err_set(e, ERR_NOTFOUND, NULL,
				"no source %.64s in %.96s", ad->source,
				argv[0]);
	}
	if (source_tool_list(ad->db, ad->arena, argv[0], ad->source, &r, e) !=
		0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

/* SCHEMA as a type for people, NULL when that cannot be had here. */
static const char *
signature(struct admin *ad, struct check *c, const char *schema)
{
	const char *type = NULL;
	struct err e = { 0 };

	if (schema == NULL)
		return NULL;
	if (check_signature(c, schema, strlen(schema), ad->arena, &type, &e) !=
		0)
		admin_note("without types: %s", e.detail);
	return type;
}

int
tools_show(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	const struct check_limits limits = {
		.program = ad->conf->sandbox,
		.wall_ms = SIGNATURE_WALL_MS,
		.heap_bytes = SIGNATURE_HEAP_BYTES,
	};
	struct table_more more[] = {
		{ "input_type", TABLE_TEXT, NULL },
		{ "output_type", TABLE_TEXT, NULL },
		{ "policy", TABLE_TEXT, NULL },
	};
	struct check *check;
	struct db_res r, rule;

	if (source_tool_find(ad->db, ad->arena, argv[0], argv[1], &r, e) != 0)
		return -1;
	if (r.n_rows == 0)
		return tools_absent(ad, argv[0], argv[1], e);
	if (policy_decide(ad->db, ad->arena, argv[0], argv[1], &rule, e) != 0)
		return -1;
	check = check_open(&limits);
	more[0].value = signature(ad, check, db_text(&r, 0, SHOW_INPUT));
	more[1].value = signature(ad, check, db_text(&r, 0, SHOW_OUTPUT));
	check_close(check);
	if (rule.n_rows > 0)
		more[2].value = arena_printf(ad->arena, "%s (rule %s)",
			db_text(&rule, 0, 2), db_text(&rule, 0, 0));
	table_print_more(ad->arena, SHOW, &r, 0, more, NELEM(more),
		(ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

int
tools_remove(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_there;
	struct db_res r;

	if (admin_begin(ad, e) != 0 || source_tool_find(ad->db, ad->arena,
					       argv[0], argv[1], &r, e) != 0)
		return -1;
	if (r.n_rows == 0)
		return tools_absent(ad, argv[0], argv[1], e);
	/* It would be back after the next refresh. */
	if (strcmp(db_text(&r, 0, 1), "script") != 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"%.96s is imported: disable it, or block it by a "
			"policy",
			argv[1]);
	if (source_tool_remove(
		    ad->db, ad->arena, argv[0], argv[1], &was_there, e) != 0)
		return -1;
	if (!was_there)
		return tools_absent(ad, argv[0], argv[1], e);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("tool %s removed", argv[1]);
	return 0;
}

static int
set(struct admin *ad, char **argv, const bool *is_listed,
	const bool *is_enabled, const char *done, struct err *e)
{
	bool was_there;

	if (admin_begin(ad, e) != 0 ||
		source_tool_set(ad->db, ad->arena, argv[0], argv[1], is_listed,
			is_enabled, &was_there, e) != 0)
		return -1;
	if (!was_there)
		return tools_absent(ad, argv[0], argv[1], e);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("tool %s %s", argv[1], done);
	return 0;
}

static const bool YES = true, NO = false;

int
tools_enable(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return set(ad, argv, NULL, &YES, "enabled", e);
}

int
tools_disable(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return set(ad, argv, NULL, &NO, "disabled", e);
}

int
tools_list_in(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return set(ad, argv, &YES, NULL, "is in tools/list", e);
}

int
tools_unlist(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	return set(ad, argv, &NO, NULL, "is no longer in tools/list", e);
}

/* A rule for this path alone, so that a refresh does not undo it. */
static int
approval_rule(struct admin *ad, char **argv, const char *action, struct err *e)
{
	const char *position;
	int64_t id;

	if (action == NULL)
		return 0;
	if (policy_place(ad->db, ad->arena, argv[0], -1, &position, e) != 0)
		return -1;
	return policy_add(ad->db, ad->arena, argv[0], argv[1], action, position,
		APPROVAL_NOTE, &id, e);
}

int
tools_approval(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	static const struct {
		const char *word;
		const char *action;
	} WORDS[] = { { "on", "require_approval" }, { "off", "approve" },
		{ "default", NULL } };
	struct db_res r, rule;
	int64_t removed;
	size_t i;

	for (i = 0; i < NELEM(WORDS); i++)
		if (strcmp(argv[2], WORDS[i].word) == 0)
			break;
	if (i == NELEM(WORDS))
		return err_set(e, ERR_INVALID, NULL,
			"tool approval is on, off or default");
	if (admin_begin(ad, e) != 0 || source_tool_find(ad->db, ad->arena,
					       argv[0], argv[1], &r, e) != 0)
		return -1;
	if (r.n_rows == 0)
		return tools_absent(ad, argv[0], argv[1], e);
	if (policy_remove_exact(
		    ad->db, ad->arena, argv[0], argv[1], &removed, e) != 0 ||
		policy_decide(ad->db, ad->arena, argv[0], argv[1], &rule, e) !=
			0)
		return -1;
	/* A rule before all others would open what somebody has closed. */
	if (WORDS[i].action != NULL && rule.n_rows > 0 &&
		strcmp(db_text(&rule, 0, 3), "block") == 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"%.96s is blocked by rule %s (%.64s)", argv[1],
			db_text(&rule, 0, 0), db_text(&rule, 0, 2));
	if (approval_rule(ad, argv, WORDS[i].action, e) != 0 ||
		source_tool_find(ad->db, ad->arena, argv[0], argv[1], &r, e) !=
			0 ||
		admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("tool %s: %s", argv[1], db_text(&r, 0, SHOW_ACTION));
	return 0;
}
