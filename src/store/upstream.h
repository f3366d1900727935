/* SPDX-License-Identifier: ISC */
/*
 * upstream: the session that all processes share with an upstream MCP server.
 *
 * Protocol: upstream_find; none: initialize, then upstream_save; false:
 * another process was first, use what upstream_find says now (and end one's
 * own).  The server has lost the session: upstream_drop what was used, then
 * begin again.
 */
#ifndef STORE_UPSTREAM_H
#define STORE_UPSTREAM_H

struct arena;
struct db;
struct err;

struct upstream_session {
	const char *protocol_version; /* NULL: there is no session yet */
	const char *session_id;	      /* NULL: the server keeps none */
	int64_t age_s;
};

MUST_CHECK int upstream_find(struct db *db, struct arena *a,
	const char *organization_id, int64_t source_id,
	struct upstream_session *out, struct err *e);
MUST_CHECK int upstream_save(struct db *db, struct arena *a,
	const char *organization_id, int64_t source_id,
	const struct upstream_session *s, bool *was_saved, struct err *e);
/* SESSION_ID: as it was used, NULL for none. */
MUST_CHECK int upstream_drop(struct db *db, struct arena *a,
	const char *organization_id, int64_t source_id,
	const char *session_id, bool *was_there, struct err *e);

#endif
