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

/* tool_policy_id, organization_id, position, pattern, action, note, tools
 * (how many paths match), in the order that counts; ORGANIZATION_ID NULL: of
 * all */
enum { POLICY_LIST_COLUMNS = 7 };
MUST_CHECK int policy_list(struct db *db, struct arena *a,
	const char *organization_id, struct db_res *out, struct err *e);

#endif
