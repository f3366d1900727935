/* SPDX-License-Identifier: ISC */
/*
 * policy: rules on calls, for mcp-admin.  The first that matches a path
 * counts, by position; mcp.tool_find (store/catalog.h) applies them.
 */
#ifndef STORE_POLICY_H
#define STORE_POLICY_H

struct arena;
struct db;
struct db_res;
struct err;

/*
 * PATTERN: "*", a path, or "PREFIX.*".  ACTION: approve, require_approval,
 * block.  POSITION: a number as text; NULL: behind all others.  *ID.
 * ERR_INVALID: a value that the row does not take.  Audited.
 */
MUST_CHECK int policy_add(struct db *db, struct arena *a,
	const char *organization_id, const char *pattern, const char *action,
	const char *position, const char *note, int64_t *id, struct err *e);
MUST_CHECK int policy_remove(struct db *db, struct arena *a,
	const char *organization_id, int64_t id, bool *was_there,
	struct err *e);

/*
 * Remove the rules for the path PATTERN alone that let its calls run or ask;
 * what blocks stays.  *N: how many.  Audited.
 */
MUST_CHECK int policy_remove_exact(struct db *db, struct arena *a,
	const char *organization_id, const char *pattern, int64_t *n,
	struct err *e);

/*
 * *POSITION: a number, as text, before rule ID and behind the one before it;
 * ID -1: before all.  NULL: there is no rule ID.  "": there is no room, the
 * rule before it has the same position.
 */
MUST_CHECK int policy_place(struct db *db, struct arena *a,
	const char *organization_id, int64_t id, const char **position,
	struct err *e);

/* The rule that decides on PATH, whether there is such a tool or not:
 * tool_policy_id, position, pattern, action, note; one row or none */
enum { POLICY_DECIDE_COLUMNS = 5 };
MUST_CHECK int policy_decide(struct db *db, struct arena *a,
	const char *organization_id, const char *path, struct db_res *out,
	struct err *e);

/* tool_policy_id, organization_id, position, pattern, action, note, tools
 * (how many paths match), in the order that counts; ORGANIZATION_ID NULL: of
 * all */
enum { POLICY_LIST_COLUMNS = 7 };
MUST_CHECK int policy_list(struct db *db, struct arena *a,
	const char *organization_id, struct db_res *out, struct err *e);

#endif
