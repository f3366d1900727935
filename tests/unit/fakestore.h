/* SPDX-License-Identifier: ISC */
/*
 * fakestore: store/keyset, apitoken_find and the clocks, in memory, put in
 * place by the linker (--wrap).  Several struct bearer over it are so many
 * processes over one database.
 */
#ifndef TESTS_FAKESTORE_H
#define TESTS_FAKESTORE_H

#include "store/apitoken.h"
#include "store/keyset.h"

struct fakestore {
	/* The clocks: added to the real ones, which hardly move meanwhile. */
	int64_t ahead_s;
	/* The issuer's row; -1: never. */
	char *document, *metadata;
	int64_t fetched_s, attempted_s, metadata_fetched_s,
		metadata_attempted_s;
	int version;
	char failure[64];
	/* After this many more finds, LATE becomes the document. */
	int late_after;
	const char *late;
	/* API tokens */
	unsigned char sha256[32];
	enum apitoken_outcome outcome;
	/* Statements so far, and whether the next ones fail. */
	int finds, claims, saves, fails, token_finds;
	bool is_down;
	int down_after; /* so many more succeed; 0: does not count */
};

extern struct fakestore fakestore;

void fakestore_reset(void);
/* The fake clock, and the real one. */
int64_t fakestore_wall_s(void);
int64_t fakestore_real_ms(void);

int64_t __wrap_clock_wall_s(void);
int64_t __wrap_clock_mono_ms(void);
int __wrap_keyset_find(struct db *db, struct arena *a, const char *issuer,
	struct keyset *out, struct err *e);
int __wrap_keyset_claim(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, int64_t min_interval_s, bool *is_granted,
	struct err *e);
int __wrap_keyset_save(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, const char *document, struct err *e);
int __wrap_keyset_fail(struct db *db, struct arena *a, const char *issuer,
	const char *why, struct err *e);
int __wrap_apitoken_find(struct db *db, struct arena *a,
	const unsigned char sha256[32], enum apitoken_outcome *outcome,
	struct apitoken_owner *out, struct err *e);

#endif
