/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/orgs.h"

#include "admin/table.h"
#include "base/err.h"
#include "store/db.h"
#include "store/listing.h"
#include "store/organization.h"
#include "store/secret.h"
#include "store/source.h"

static const struct table_column COLUMNS[LISTING_ORGANIZATION_COLUMNS] = {
	{ "organization", TABLE_TEXT },
	{ "name", TABLE_TEXT },
	{ "members", TABLE_NUMBER },
	{ "tokens", TABLE_NUMBER },
	{ "sessions", TABLE_NUMBER },
	{ "last_activity_at", TABLE_TEXT },
};

int
orgs_add(struct admin *ad, char **argv, int n, struct err *e)
{
	const char *name = n > 1 ? argv[1] : argv[0];
	struct organization_usage u;
	bool was_added;

	if (admin_check_id("organization", argv[0], e) != 0 ||
		admin_check_id("name", name, e) != 0 ||
		admin_begin(ad, e) != 0 ||
		organization_add(
			ad->db, ad->arena, argv[0], name, &was_added, e) != 0)
		return -1;
	if (was_added) {
		if (admin_commit(ad, argv[0], NULL, e) != 0)
			return -1;
		admin_note("organization %s added", argv[0]);
		return 0;
	}
	if (organization_find(ad->db, ad->arena, argv[0], &u, e) != 0)
		return -1;
	if (n > 1 && u.name != NULL && strcmp(u.name, name) != 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"organization %s is there already, with another name",
			argv[0]);
	admin_note("organization %s is there already", argv[0]);
	return 0;
}

int
orgs_list(struct admin *ad, char **argv UNUSED, int n UNUSED, struct err *e)
{
	struct db_res r;

	if (listing_organizations(ad->db, ad->arena, &r, e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

/* What nobody can use any more stays, in case it was a mistake. */
static int
left_note(struct admin *ad, const char *org, struct err *e)
{
	struct db_res sources, secrets;

	if (source_list(ad->db, ad->arena, org, &sources, e) != 0 ||
		secret_list(ad->db, ad->arena, org, NULL, &secrets, e) != 0)
		return -1;
	if (sources.n_rows + secrets.n_rows > 0)
		admin_note("%d sources and %d secrets of %s are left: "
			   "mcp-admin source remove, secret remove",
			sources.n_rows, secrets.n_rows, org);
	return 0;
}

/*
 * An organisation works without its row: removing the row alone would shut
 * nobody out, which is not what the word promises.
 */
int
orgs_remove(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct organization_usage u;
	int64_t accounts = 0;
	bool was_there;

	if (admin_check_id("organization", argv[0], e) != 0 ||
		admin_begin(ad, e) != 0 ||
		organization_find(ad->db, ad->arena, argv[0], &u, e) != 0)
		return -1;
	if ((ad->given & ADMIN_OPT_REVOKE) != 0) {
		if (organization_revoke(
			    ad->db, ad->arena, argv[0], &accounts, e) != 0)
			return -1;
	} else if (u.members + u.tokens + u.sessions > 0) {
		return err_set(e, ERR_CONFLICT, NULL,
			"organization %.64s has %" PRId64 " member%s, %" PRId64
			" live token%s and %" PRId64
			" session%s: remove them, or give --revoke",
			argv[0], u.members, admin_plural(u.members), u.tokens,
			admin_plural(u.tokens), u.sessions,
			admin_plural(u.sessions));
	}
	if (organization_remove(ad->db, ad->arena, argv[0], &was_there, e) != 0)
		return -1;
	if (!was_there && accounts == 0)
		return err_set(
			e, ERR_NOTFOUND, NULL, "no organization %s", argv[0]);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	if (accounts > 0)
		admin_note("organization %s removed, %" PRId64
			   " account%s revoked",
			argv[0], accounts, admin_plural(accounts));
	else
		admin_note("organization %s removed", argv[0]);
	return left_note(ad, argv[0], e);
}
