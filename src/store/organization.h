/* SPDX-License-Identifier: ISC */
/*
 * organization: rows of mcp.organization, which give organisations a name and
 * nothing else.  Written by administrators' programs only.
 */
#ifndef STORE_ORGANIZATION_H
#define STORE_ORGANIZATION_H

struct arena;
struct db;
struct err;

struct organization_usage {
	const char *name; /* in the arena; NULL: has no row */
	int64_t members;
	int64_t tokens; /* live API tokens */
	int64_t sessions;
};

/* *WAS_ADDED false: there is a row of that id; it stays as it is. */
MUST_CHECK int organization_add(struct db *db, struct arena *a, const char *id,
	const char *name, bool *was_added, struct err *e);

/* The row alone goes; members, tokens and sessions do not. */
MUST_CHECK int organization_remove(struct db *db, struct arena *a,
	const char *id, bool *was_there, struct err *e);

/* What refers to the organisation ID, with or without a row. */
MUST_CHECK int organization_find(struct db *db, struct arena *a,
	const char *id, struct organization_usage *out, struct err *e);

/*
 * mcp.revoke_account() for everybody with a membership, a live token or a
 * session in ID.  *ACCOUNTS: how many that were.
 */
MUST_CHECK int organization_revoke(struct db *db, struct arena *a,
	const char *id, int64_t *accounts, struct err *e);

#endif
