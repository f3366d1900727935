/* SPDX-License-Identifier: ISC */
/* health: what mcp-admin doctor asks of the database.  Changes nothing. */
#ifndef STORE_HEALTH_H
#define STORE_HEALTH_H

struct arena;
struct db;
struct err;

struct health_role {
	const char *role;	/* current_user */
	const char *database;	/* current_database() */
	const char *server;	/* its version */
	const char *encoding;	/* of the database */
	const char *missing;	/* functions it may not call; NULL: none */
	bool can_read_sessions; /* more than a responder needs */
};

/* The caller's rights, as a responder. */
MUST_CHECK int health_role(struct db *db, struct arena *a,
	struct health_role *out, struct err *e);

struct health_capacity {
	int64_t max_connections;
	int64_t reserved; /* for superusers and pg_use_reserved_connections */
	int64_t limit;	  /* of the caller's role or database; -1: none */
	int64_t responders; /* connected now */
	int64_t others;	    /* other clients connected now */
};

MUST_CHECK int health_capacity(struct db *db, struct arena *a,
	struct health_capacity *out, struct err *e);

/* The database's clock, milliseconds since the epoch. */
MUST_CHECK int health_clock(
	struct db *db, struct arena *a, int64_t *now_ms, struct err *e);

struct health_sweep {
	int64_t age_s; /* of the last sweep; -1: none within a day */
	const char *host;
	bool is_complete;
	int64_t overdue; /* expired sessions due for more than 5 minutes */
};

/* For mcp_admin and mcp_readonly. */
MUST_CHECK int health_sweep(struct db *db, struct arena *a,
	struct health_sweep *out, struct err *e);

#endif
