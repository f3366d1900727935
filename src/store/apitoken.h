/* SPDX-License-Identifier: ISC */
/*
 * apitoken: rows of mcp.api_token.  Knows digests only; making a token and
 * showing it once is the caller's.
 */
#ifndef STORE_APITOKEN_H
#define STORE_APITOKEN_H

struct arena;
struct db;
struct err;

enum apitoken_outcome {
	APITOKEN_OK,
	APITOKEN_BAD, /* unknown or revoked */
	APITOKEN_EXPIRED
};

struct apitoken_owner {
	const char *issuer;
	const char *account_id;
	const char *organization_id;
};

struct apitoken_new {
	unsigned char sha256[32];
	const char *hint; /* last 4 characters */
	const char *name;
	int64_t ttl_s; /* 0: does not expire */
};

/* Whose token: *OUT in A with APITOKEN_OK.  Nothing is written. */
MUST_CHECK int apitoken_find(struct db *db, struct arena *a,
	const unsigned char sha256[32], enum apitoken_outcome *outcome,
	struct apitoken_owner *out, struct err *e);

/* Store a new token's digest (audited); *ID names it for apitoken_revoke. */
MUST_CHECK int apitoken_issue(struct db *db, struct arena *a,
	const struct apitoken_owner *owner, const struct apitoken_new *t,
	int64_t *id, struct err *e);

/* Refused from the next request on.  *WAS_LIVE false: no such live token. */
MUST_CHECK int apitoken_revoke(struct db *db, struct arena *a, int64_t id,
	bool *was_live, struct err *e);

#endif
