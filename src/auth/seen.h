/* SPDX-License-Identifier: ISC */
/*
 * seen: bearer tokens that this process has found good, by SHA-256.  Saves
 * work, decides nothing: a token that is not here is judged from the start.
 *
 * Bounded: a new entry takes the place of the one of its set that was not
 * used for longest.  Only good tokens come in, so strangers cannot push
 * others out.  The tokens themselves are not kept.
 */
#ifndef AUTH_SEEN_H
#define AUTH_SEEN_H

enum { SEEN_MAX = 1024, SEEN_HASH_LEN = 32 };

struct seen;

struct seen_token {
	uint64_t generation;  /* of the key set; 0: none was needed */
	int64_t expires_at_s; /* 0: not known */
	const char *issuer;
	const char *account_id;
	const char *organization_id; /* may be NULL */
};

struct seen *seen_new(void);
void seen_free(struct seen *s);

/* NULL when absent or of another generation; valid until the next call. */
const struct seen_token *seen_find(struct seen *s,
	const unsigned char hash[SEEN_HASH_LEN], uint64_t generation);

/* T is copied. */
void seen_put(struct seen *s, const unsigned char hash[SEEN_HASH_LEN],
	const struct seen_token *t);
void seen_forget(struct seen *s, const unsigned char hash[SEEN_HASH_LEN]);

#endif
