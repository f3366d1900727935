/* SPDX-License-Identifier: ISC */
/*
 * secret: sealed values by name.  Knows envelopes, not what is in them:
 * sealing and opening are for whoever holds the keyring.
 */
#ifndef STORE_SECRET_H
#define STORE_SECRET_H

struct arena;
struct db;
struct db_res;
struct err;

struct secret {
	const char *key_id;
	const unsigned char *sealed; /* nonce, ciphertext, tag */
	size_t sealed_len;
};

/* *OUT lives in A; sealed NULL: there is no such secret. */
MUST_CHECK int secret_find(struct db *db, struct arena *a,
	const char *organization_id, const char *name, struct secret *out,
	struct err *e);

/*
 * For mcp-admin.  Adding, replacing and removing are audited, in the same
 * transaction.  ERR_INVALID: a name or key id that the row does not take.
 */
MUST_CHECK int secret_save(struct db *db, struct arena *a,
	const char *organization_id, const char *name, const struct secret *s,
	bool *is_new, struct err *e);
MUST_CHECK int secret_remove(struct db *db, struct arena *a,
	const char *organization_id, const char *name, bool *was_there,
	struct err *e);

/*
 * Put S in place of the envelope OLD, which holds the same value.
 * *WAS_REPLACED false: the secret has been set or removed meanwhile; go on.
 */
MUST_CHECK int secret_rotate(struct db *db, struct arena *a,
	const char *organization_id, const char *name,
	const struct secret *old, const struct secret *s, bool *was_replaced,
	struct err *e);

/* organization_id, name, key_id, updated_at; ORGANIZATION_ID NULL: of all;
 * EXCEPT_KEY_ID (or NULL): only those sealed with another key. */
enum { SECRET_LIST_COLUMNS = 4 };
MUST_CHECK int secret_list(struct db *db, struct arena *a,
	const char *organization_id, const char *except_key_id,
	struct db_res *out, struct err *e);

#endif
