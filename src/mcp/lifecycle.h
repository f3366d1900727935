/* SPDX-License-Identifier: ISC */
/* lifecycle: initialize, notifications/initialized, ping. */
#ifndef MCP_LIFECYCLE_H
#define MCP_LIFECYCLE_H

#include "store/session.h"

struct buf;
struct err;
struct method_caller;
struct msg;

/*
 * Check the parameters of initialize, make the session row (committed when
 * this returns) and answer.  ID receives the new session's id, 64 lower-case
 * hex digits.  C's session_id and revision are not looked at.  Fails with
 * MSG_INVALID_PARAMS, and then there is no row.
 */
MUST_CHECK int lifecycle_initialize(const struct method_caller *c,
	const struct msg *m, char id[SESSION_ID_LEN + 1], struct buf *result,
	struct err *e);

MUST_CHECK int lifecycle_initialized(const struct method_caller *c,
	struct err *e);

MUST_CHECK int lifecycle_ping(const struct method_caller *c,
	const struct msg *m, struct buf *result, struct err *e);

#endif
