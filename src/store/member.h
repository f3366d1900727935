/* SPDX-License-Identifier: ISC */
/*
 * member: rows of mcp.membership as administrators change them.  Requests
 * read them in mcp.enter.
 */
#ifndef STORE_MEMBER_H
#define STORE_MEMBER_H

struct arena;
struct db;
struct err;

struct member_revoked {
	int64_t memberships;
	int64_t tokens;
	int64_t sessions;
};

/* Audited.  *WAS_ADDED false: is a member already. */
MUST_CHECK int member_add(struct db *db, struct arena *a,
	const char *organization_id, const char *account_id, bool *was_added,
	struct err *e);

/*
 * Audited.  The account's next request is refused, and ends the session it
 * names; tokens stay.
 */
MUST_CHECK int member_remove(struct db *db, struct arena *a,
	const char *organization_id, const char *account_id, bool *was_there,
	struct err *e);

/* Membership, API tokens and sessions at once: mcp.revoke_account(). */
MUST_CHECK int member_revoke(struct db *db, struct arena *a,
	const char *organization_id, const char *account_id,
	struct member_revoked *out, struct err *e);

MUST_CHECK int member_find(struct db *db, struct arena *a,
	const char *organization_id, const char *account_id, bool *is_member,
	struct err *e);

#endif
