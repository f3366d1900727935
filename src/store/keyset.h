/* SPDX-License-Identifier: ISC */
/*
 * keyset: an issuer's key set and RFC 8414 metadata as one row that all
 * processes share.
 *
 * Protocol of a refresh: keyset_find; too old, or a key is missing:
 * keyset_claim; granted: fetch (no transaction is open), then keyset_save or
 * keyset_fail; not granted: somebody else fetches or has just done so, use
 * what keyset_find gives now.
 */
#ifndef STORE_KEYSET_H
#define STORE_KEYSET_H

struct arena;
struct db;
struct err;

enum keyset_part { KEYSET_KEYS, KEYSET_METADATA };

/* Ages are by the database's clock. */
struct keyset {
	const char *document; /* NULL: never fetched */
	int64_t document_age_s;
	const char *version;  /* changes with each keyset_save of keys */
	const char *metadata; /* NULL: never fetched */
	int64_t metadata_age_s;
};

/* *OUT lives in A.  An issuer without a row is all NULL, not an error. */
MUST_CHECK int keyset_find(struct db *db, struct arena *a, const char *issuer,
	struct keyset *out, struct err *e);

/*
 * Ask for the right to fetch PART: granted at most once per MIN_INTERVAL_S
 * over all processes and hosts.
 */
MUST_CHECK int keyset_claim(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, int64_t min_interval_s, bool *is_granted,
	struct err *e);

/* Store what was fetched (valid UTF-8 of at most 1 MiB, already checked). */
MUST_CHECK int keyset_save(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, const char *document, struct err *e);

/* Note why a fetch failed, in a few words; what is stored stays. */
MUST_CHECK int keyset_fail(struct db *db, struct arena *a, const char *issuer,
	const char *why, struct err *e);

#endif
