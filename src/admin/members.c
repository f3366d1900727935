/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/members.h"

#include "admin/table.h"
#include "base/conf.h"
#include "base/err.h"
#include "store/db.h"
#include "store/listing.h"
#include "store/member.h"
#include "store/organization.h"

static const struct table_column COLUMNS[LISTING_MEMBER_COLUMNS] = {
	{ "organization", TABLE_TEXT },
	{ "account", TABLE_TEXT },
	{ "created_at", TABLE_TEXT },
};

static int
names_check(char **argv, struct err *e)
{
	if (admin_check_id("organization", argv[0], e) != 0 ||
		admin_check_id("account", argv[1], e) != 0)
		return -1;
	return 0;
}

/* With membership = http the rows decide nothing. */
static void
provider_note(const struct admin *ad)
{
	if (ad->conf->membership == CONF_MEMBERSHIP_HTTP)
		admin_note("warning: membership = http is configured; rows of "
			   "mcp.membership are not looked at");
}

int
members_add(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct organization_usage u;
	bool was_added;

	if (names_check(argv, e) != 0 || admin_begin(ad, e) != 0 ||
		organization_find(ad->db, ad->arena, argv[0], &u, e) != 0 ||
		member_add(ad->db, ad->arena, argv[0], argv[1], &was_added,
			e) != 0)
		return -1;
	provider_note(ad);
	if (!was_added) {
		admin_note("%s is a member of %s already", argv[1], argv[0]);
		return 0;
	}
	if (admin_commit(ad, argv[0], argv[1], e) != 0)
		return -1;
	if (u.name == NULL && u.members == 0)
		admin_note("warning: nothing else is known of organization "
			   "%s; is it spelt as in the tokens?",
			argv[0]);
	admin_note("%s is now a member of %s", argv[1], argv[0]);
	return 0;
}

int
members_list(struct admin *ad, char **argv, int n, struct err *e)
{
	struct db_res r;

	if (listing_members(ad->db, ad->arena, n > 0 ? argv[0] : NULL, &r, e) !=
		0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

static int
revoke_all(struct admin *ad, char **argv, struct err *e)
{
	struct member_revoked r;

	if (member_revoke(ad->db, ad->arena, argv[0], argv[1], &r, e) != 0)
		return -1;
	if (r.memberships + r.tokens + r.sessions == 0)
		return err_set(e, ERR_NOTFOUND, NULL,
			"%.96s has nothing in %.96s", argv[1], argv[0]);
	if (admin_commit(ad, argv[0], argv[1], e) != 0)
		return -1;
	admin_note("%s is out of %s: %" PRId64 " membership%s, %" PRId64
		   " token%s, %" PRId64 " session%s",
		argv[1], argv[0], r.memberships, admin_plural(r.memberships),
		r.tokens, admin_plural(r.tokens), r.sessions,
		admin_plural(r.sessions));
	return 0;
}

int
members_remove(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_there;

	if (names_check(argv, e) != 0 || admin_begin(ad, e) != 0)
		return -1;
	provider_note(ad);
	if ((ad->given & ADMIN_OPT_REVOKE) != 0)
		return revoke_all(ad, argv, e);
	if (member_remove(ad->db, ad->arena, argv[0], argv[1], &was_there, e) !=
		0)
		return -1;
	if (!was_there)
		return err_set(e, ERR_NOTFOUND, NULL,
			"%.96s is not a member of %.96s", argv[1], argv[0]);
	if (admin_commit(ad, argv[0], argv[1], e) != 0)
		return -1;
	admin_note("%s is no longer a member of %s", argv[1], argv[0]);
	return 0;
}
