/* SPDX-License-Identifier: ISC */
/*
 * admit: who is asking, and may they: bearer, then ENTER.  Each answers the
 * fault itself and returns -1 then.
 */
#ifndef APP_ADMIT_H
#define APP_ADMIT_H

struct msg;
struct turn;

MUST_CHECK int admit_bearer(struct turn *t);

/*
 * Membership, owner and session, in one round trip to the database.  ID NULL:
 * no session is meant.
 */
MUST_CHECK int admit_enter(struct turn *t, const char *id);

/*
 * MCP-Protocol-Version: an unknown one is refused; a known one that differs
 * from the negotiated one only SHOULD not happen, the session's counts (N-06,
 * N-08).  The id of M, unless NULL, is echoed.
 */
MUST_CHECK int admit_version(struct turn *t, const struct msg *m);

#endif
