/* SPDX-License-Identifier: ISC */
/*
 * membership: whether an account belongs to an organisation, asked on every
 * request, never cached.  Three answers; only a positive no may end a session.
 *
 * With membership = sql the rows are checked inside mcp.enter and the answer
 * here is SESSION_MEMBER_SQL without any work.  With http the URL of the
 * configuration is asked, {account} and {organization} in it replaced,
 * percent-encoded.  The answer is
 *
 *	yes	2xx and one of
 *		{"data":[{"organization_id":O,"status":"active"},...]}
 *		{"active":true}  {"status":"active"}
 *	no	2xx and one of these shapes without an active entry for the
 *		organisation; 401, 403, 404
 *	unknown	everything else, ERR_UNAVAILABLE: other statuses, timeouts, a
 *		body of another shape, a list that has further pages
 *
 * organizationId is as good as organization_id.  An entry of the list must
 * name the organisation; a bare object need not, but when it does it must be
 * this one.  An entry that names another account (user_id, userId, account_id
 * or accountId) does not count: an API that ignores an unknown filter would
 * otherwise make everybody a member.
 */
#ifndef AUTH_MEMBERSHIP_H
#define AUTH_MEMBERSHIP_H

#include "store/session.h"

struct arena;
struct conf;
struct err;
struct fetch;

/*
 * Blocks up to fetch_timeout_ms.  Fails with ERR_UNAVAILABLE, whatever the
 * reason, so that the client is told to try again.
 */
MUST_CHECK int membership_ask(const struct conf *conf, struct fetch *fetch,
	struct arena *a, const char *account_id, const char *organization_id,
	enum session_membership *out, struct err *e);

/*
 * TEMPLATE with its placeholders replaced, in A; NULL when it has no
 * {account} or when a value would change the path ("." and "..", which
 * percent-encoding does not protect).
 */
char *membership_url(struct arena *a, const char *template,
	const char *account_id, const char *organization_id);

#endif
