/* SPDX-License-Identifier: ISC */
/*
 * metadata: the issuer's RFC 8414 document, copied for clients of the
 * 2025-03-26 revision, which look for it on our host.
 */
#ifndef AUTH_METADATA_H
#define AUTH_METADATA_H

struct arena;
struct conf;
struct db;
struct err;
struct fetch;

/*
 * The document as JSON text in A, from its row or fetched (same interval
 * rule as keys).  Fails with ERR_UNAVAILABLE when there is none to give.
 */
MUST_CHECK int metadata_get(const struct conf *conf, struct fetch *fetch,
	struct db *db, struct arena *a, const char **out, size_t *len,
	struct err *e);

#endif
