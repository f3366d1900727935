/* SPDX-License-Identifier: ISC */
/*
 * keys: the issuer's key set as this process has it, and when to get it anew.
 *
 * The set is shared by all processes through its row (store/keyset).  While it
 * is younger than jwks_ttl_s nothing is read for a key that is known.  Older,
 * it is renewed, and used meanwhile up to jwks_hard_ttl_s if the issuer does
 * not answer.  A key that is not in it makes this process look at the row,
 * where another may have put a newer set, and then fetch, if nobody has
 * within jwks_min_interval_s: so a rotated key is accepted at its first use,
 * and a flood of made-up key names costs a read each and no fetch.
 */
#ifndef AUTH_KEYS_H
#define AUTH_KEYS_H

#include "auth/jwks.h"

struct arena;
struct conf;
struct db;
struct err;
struct fetch;
struct jws_alg;
struct keys;

/* Nothing is read or fetched yet.  CONF and FETCH outlive it. */
struct keys *keys_new(const struct conf *conf, struct fetch *fetch);
void keys_free(struct keys *k);

/*
 * Number of the set in hand, 0 when it is none or old enough to be renewed;
 * another number means other keys.  Costs nothing.
 */
uint64_t keys_generation(const struct keys *k);

/*
 * Find the key for ALG called KID (NULL: the only one that fits); *PKEY is
 * valid until the next call.  May block for a fetch, or up to a second when
 * another process is at it, at most once per jwks_min_interval_s.  Fails with
 * ERR_UNAVAILABLE when there is no usable set: none was ever had, or the last
 * is too old and cannot be renewed.
 */
MUST_CHECK int keys_find(struct keys *k, struct db *db, struct arena *a,
	const struct jws_alg *alg, const char *kid, enum jwks_found *found,
	void **pkey, struct err *e);

/* Fetch and store the set whatever its age, for mcp-admin doctor.  *COUNT:
 * usable keys in it. */
MUST_CHECK int keys_fetch(struct keys *k, struct db *db, struct arena *a,
	size_t *count, struct err *e);

#endif
