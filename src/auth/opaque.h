/* SPDX-License-Identifier: ISC */
/*
 * opaque: the form of opaque API tokens: "mcp_" and 32 random bytes in
 * base64url.  Only the SHA-256 of a token is stored (store/apitoken).  No JWT
 * begins with "mcp_": its first part begins with "{".
 */
#ifndef AUTH_OPAQUE_H
#define AUTH_OPAQUE_H

enum {
	OPAQUE_LEN = 47,
	OPAQUE_HASH_LEN = 32,
	OPAQUE_HINT_LEN = 4 /* last characters, shown in lists */
};

/* Whether TOKEN means to be one: has the prefix. */
bool opaque_has_prefix(const char *token, size_t len);
/* Whether it has exactly the form above. */
bool opaque_is_valid(const char *token, size_t len);

void opaque_hash(
	const char *token, size_t len, unsigned char out[OPAQUE_HASH_LEN]);

/* A new token and a NUL into OUT. */
void opaque_make(char out[OPAQUE_LEN + 1]);

#endif
