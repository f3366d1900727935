/* SPDX-License-Identifier: ISC */
/*
 * apitoken: the form of opaque API tokens: "mcp_" and 32 random bytes in
 * base64url.  Only the SHA-256 of a token is stored (store/apitoken).  No JWT
 * begins with "mcp_": its first part begins with "{".
 */
#ifndef AUTH_APITOKEN_H
#define AUTH_APITOKEN_H

enum {
	APITOKEN_LEN = 47,
	APITOKEN_HASH_LEN = 32,
	APITOKEN_HINT_LEN = 4 /* last characters, shown in lists */
};

/* Whether TOKEN means to be one: has the prefix. */
bool apitoken_has_prefix(const char *token, size_t len);
/* Whether it has exactly the form above. */
bool apitoken_is_valid(const char *token, size_t len);

void apitoken_hash(
	const char *token, size_t len, unsigned char out[APITOKEN_HASH_LEN]);

/* A new token and a NUL into OUT. */
void apitoken_make(char out[APITOKEN_LEN + 1]);

#endif
