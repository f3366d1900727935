/* SPDX-License-Identifier: ISC */
/*
 * membership: whether an account belongs to an organisation, asked on every
 * request.  Three answers; only a positive no may end a session.
 *
 * With membership = sql the rows are checked inside mcp.enter and the answer
 * here is MEMBERSHIP_SQL without any work.  With http the configured URL is
 * asked: 2xx with an active entry for the organisation: yes; 2xx without, or
 * 401, 403, 404: no; 429, 5xx, timeouts and everything else: ERR_UNAVAILABLE.
 */
#ifndef AUTH_MEMBERSHIP_H
#define AUTH_MEMBERSHIP_H

struct arena;
struct conf;
struct err;
struct fetch;

enum membership_answer { MEMBERSHIP_SQL, MEMBERSHIP_YES, MEMBERSHIP_NO };

/* The word mcp.enter expects for ANSWER: "sql", "yes", "no". */
const char *membership_word(enum membership_answer answer);

MUST_CHECK int membership_ask(const struct conf *conf, struct fetch *fetch,
	struct arena *a, const char *account_id, const char *organization_id,
	enum membership_answer *out, struct err *e);

#endif
