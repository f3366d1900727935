/* SPDX-License-Identifier: ISC */
/* drain: end many sessions at once, for administrators; audited. */
#ifndef STORE_DRAIN_H
#define STORE_DRAIN_H

struct arena;
struct db;
struct err;

/* All sessions of an account; its membership and tokens stay. */
MUST_CHECK int drain_account(struct db *db, struct arena *a,
	const char *organization_id, const char *account_id, int64_t *n,
	struct err *e);

/* All sessions there are. */
MUST_CHECK int drain_all(
	struct db *db, struct arena *a, int64_t *n, struct err *e);

#endif
