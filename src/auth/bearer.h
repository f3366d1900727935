/* SPDX-License-Identifier: ISC */
/*
 * bearer: from the Authorization header to a principal (RFC 6750 2.1).
 *
 * A token with the prefix mcp_ is an API token, anything else a JWT.  The
 * outcome is a value, not an error: struct err is for what could not be
 * decided (ERR_UNAVAILABLE: keys out of reach; or what the database says).
 *
 * The name of the scheme is compared without case (RFC 9110 11.1), one or
 * more spaces follow, then one token68 and nothing else; two headers joined
 * by a comma are therefore invalid.
 */
#ifndef AUTH_BEARER_H
#define AUTH_BEARER_H

struct arena;
struct bearer;
struct conf;
struct db;
struct err;
struct fetch;

enum bearer_outcome {
	BEARER_OK,
	BEARER_ABSENT,	/* no header, or not the Bearer scheme */
	BEARER_EXPIRED, /* genuine, but its time is over */
	BEARER_INVALID	/* anything else */
};

struct principal {
	const char *issuer;
	const char *account_id;
	const char *organization_id; /* NULL: the token names none */
	/* SHA-256 of an API token, which mcp.enter checks again; else NULL. */
	const unsigned char *token_sha256;
	int64_t expires_at_s; /* 0: not known */
};

/* Holds this process's parsed keys and verified tokens (bounded, a cache of
 * signature work only).  Nothing is fetched yet.  CONF and FETCH outlive it. */
struct bearer *bearer_new(const struct conf *conf, struct fetch *fetch);
void bearer_free(struct bearer *b);

/*
 * Judge HEADER (the value of Authorization, NULL when absent).  With BEARER_OK
 * *OUT lives in A.  *WHY is a short word for the log ("aud", "kid", ...), NULL
 * with BEARER_OK.
 *
 * A token seen before costs one SHA-256.  An API token's first sighting in a
 * process is one statement; a JWT with a key not known here is up to four,
 * and perhaps a fetch, at most one per interval over all processes.  What is
 * not even formed like a token never is either.
 */
MUST_CHECK int bearer_check(struct bearer *b, struct db *db, struct arena *a,
	const char *header, enum bearer_outcome *outcome, struct principal *out,
	const char **why, struct err *e);

/* ENTER found the API token revoked: forget that it was seen. */
void bearer_forget(struct bearer *b, const unsigned char token_sha256[32]);

#endif
