/* SPDX-License-Identifier: ISC */
/*
 * audit: rows of mcp.audit_event written by administrators' programs.  What
 * functions and statements of the database do is audited by themselves, in
 * the same transaction; this is for the rest.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

struct arena;
struct db;
struct err;

struct audit_event {
	const char *event;  /* "member.added"; COMMENT ON audit_event.event */
	const char *issuer; /* or NULL */
	const char *account_id;	     /* or NULL */
	const char *organization_id; /* or NULL */
	const char *detail;	     /* JSON object as text, or NULL */
};

/* Append EV.  Never put a token or a whole session id into it. */
MUST_CHECK int audit_write(struct db *db, struct arena *a,
	const struct audit_event *ev, struct err *e);

#endif
