/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/tokens.h"

#include "admin/table.h"
#include "auth/opaque.h"
#include "base/conf.h"
#include "base/err.h"
#include "store/apitoken.h"
#include "store/db.h"
#include "store/listing.h"
#include "store/member.h"

enum { NAME_MAX_BYTES = 256, TTL_MAX_DAYS = 36500 };

static const struct table_column COLUMNS[LISTING_TOKEN_COLUMNS] = {
	{ "id", TABLE_NUMBER },
	{ "hint", TABLE_TEXT },
	{ "organization", TABLE_TEXT },
	{ "account", TABLE_TEXT },
	{ "name", TABLE_TEXT },
	{ "created_at", TABLE_TEXT },
	{ "expires_at", TABLE_TEXT },
	{ "last_used_at", TABLE_TEXT },
	{ "state", TABLE_TEXT },
};

/* "30d", "12h", "45m", "3600s" or "3600" as seconds. */
static int
ttl_parse(const char *s, int64_t *out, struct err *e)
{
	static const struct {
		char unit;
		int64_t s;
	} UNITS[] = { { 's', 1 }, { '\0', 1 }, { 'm', 60 }, { 'h', 3600 },
		{ 'd', 86400 }, { 'w', 7 * 86400 } };
	const int64_t max = (int64_t)TTL_MAX_DAYS * 86400;
	char *end;
	long long v;
	size_t i;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno == 0 && end != s && v > 0 && (*end == '\0' || end[1] == '\0'))
		for (i = 0; i < NELEM(UNITS); i++)
			if (UNITS[i].unit == *end && v <= max / UNITS[i].s) {
				*out = v * UNITS[i].s;
				return 0;
			}
	return err_set(e, ERR_INVALID, NULL,
		"--ttl must be like 30d, 12h, 45m or 3600s, and no more than "
		"%d days",
		TTL_MAX_DAYS);
}

/* A token that nobody has seen must not stay usable. */
static int
token_withdraw(struct admin *ad, int64_t id, struct err *e)
{
	struct err why = { 0 };
	bool was_live;

	if (apitoken_revoke(ad->db, ad->arena, id, &was_live, &why) != 0)
		admin_note("token %" PRId64 " was made but could not be "
			   "printed: revoke it",
			id);
	return err_set(e, ERR_INTERNAL, NULL,
		"standard output does not take the token; it is revoked");
}

static int
member_note(struct admin *ad, char **argv, struct err *e)
{
	bool is_member;

	if (ad->conf->membership != CONF_MEMBERSHIP_SQL)
		return 0;
	if (member_find(ad->db, ad->arena, argv[0], argv[1], &is_member, e) !=
		0)
		return -1;
	if (!is_member)
		admin_note("warning: %s is not a member of %s; until then its "
			   "requests are refused",
			argv[1], argv[0]);
	return 0;
}

int
tokens_issue(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	struct apitoken_owner owner = { "local", argv[1], argv[0] };
	struct apitoken_new t = { .name = "" };
	char token[OPAQUE_LEN + 1];
	int64_t id;

	if (admin_check_id("organization", argv[0], e) != 0 ||
		admin_check_id("account", argv[1], e) != 0)
		return -1;
	if ((ad->given & ADMIN_OPT_NAME) != 0) {
		if (admin_check_id("--name", ad->name, e) != 0)
			return -1;
		if (strlen(ad->name) > NAME_MAX_BYTES)
			return err_set(e, ERR_INVALID, NULL,
				"--name must have at most %d bytes",
				NAME_MAX_BYTES);
		t.name = ad->name;
	}
	if ((ad->given & ADMIN_OPT_TTL) != 0 &&
		ttl_parse(ad->ttl, &t.ttl_s, e) != 0)
		return -1;
	/* The principal that the same account's JWTs name. */
	if (ad->conf->issuer[0] != '\0')
		owner.issuer = ad->conf->issuer;
	opaque_make(token);
	opaque_hash(token, OPAQUE_LEN, t.sha256);
	t.hint = token + OPAQUE_LEN - OPAQUE_HINT_LEN;
	if (admin_begin(ad, e) != 0 || member_note(ad, argv, e) != 0 ||
		apitoken_issue(ad->db, ad->arena, &owner, &t, &id, e) != 0 ||
		admin_commit(ad, argv[0], argv[1], e) != 0)
		return -1;
	puts(token);
	if (fflush(stdout) != 0 || ferror(stdout))
		return token_withdraw(ad, id, e);
	admin_note("token %" PRId64 " of %s in %s, shown this once; revoke "
		   "it with: mcp-admin token revoke %" PRId64,
		id, argv[1], argv[0], id);
	return 0;
}

int
tokens_list(struct admin *ad, char **argv, int n, struct err *e)
{
	struct db_res r;

	if (listing_tokens(ad->db, ad->arena, n > 0 ? argv[0] : NULL,
		    (ad->given & ADMIN_OPT_ALL) != 0, &r, e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

int
tokens_revoke(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_live;
	int64_t id;

	if (admin_number("token id", argv[0], 1, INT64_MAX, &id, e) != 0 ||
		admin_begin(ad, e) != 0 ||
		apitoken_revoke(ad->db, ad->arena, id, &was_live, e) != 0)
		return -1;
	if (!was_live)
		return err_set(e, ERR_NOTFOUND, NULL,
			"no token %" PRId64 ", or it is revoked already", id);
	if (admin_commit(ad, NULL, NULL, e) != 0)
		return -1;
	admin_note("token %" PRId64 " revoked", id);
	return 0;
}
