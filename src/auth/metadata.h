/* SPDX-License-Identifier: ISC */
/*
 * metadata: the issuer's own description of itself (RFC 8414, or OpenID
 * Connect Discovery), kept in the issuer's row.  Serves two: clients of the
 * 2025-03-26 revision, which look for it on our host, and auth/keys, which
 * looks for jwks_uri when the configuration names no URL.
 *
 * A document counts only if its "issuer" is exactly the configured one.
 */
#ifndef AUTH_METADATA_H
#define AUTH_METADATA_H

struct arena;
struct conf;
struct db;
struct err;
struct fetch;

/*
 * The document as JSON text in A, from its row or fetched; at most one fetch
 * per jwks_min_interval_s over all processes, counted apart from that of
 * keys: whoever asks for this needs no token.  When the issuer does not
 * answer, an older copy up to jwks_hard_ttl_s.  Fails with ERR_UNAVAILABLE
 * when there is none to give.
 */
MUST_CHECK int metadata_get(const struct conf *conf, struct fetch *fetch,
	struct db *db, struct arena *a, const char **out, size_t *len,
	struct err *e);

/*
 * Where the issuer's keys are, in A: jwks_url of the configuration, else
 * jwks_uri of the metadata.  The caller holds the right to fetch.  Fails with
 * ERR_UNAVAILABLE.
 */
MUST_CHECK int metadata_jwks_url(const struct conf *conf, struct fetch *fetch,
	struct db *db, struct arena *a, const char **out, struct err *e);

/*
 * The well-known URLs of ISSUER in the order in which they are tried: RFC
 * 8414 (path inserted), OpenID Connect (path before), RFC 8414 5 (the latter,
 * path inserted).  Returns their number.
 */
size_t metadata_urls(struct arena *a, const char *issuer, const char *out[3]);

#endif
