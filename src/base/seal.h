/* SPDX-License-Identifier: ISC */
/*
 * seal: values that the database keeps and cannot read.  AES-256-GCM with a
 * key of the keyring and a nonce of its own each time.
 *
 * The keyring is a directory with one file per key: its name is the key's id,
 * its text 64 hexadecimal digits.  The last name in the order of bytes is the
 * current key, which seals; every key opens.  A key added while the program
 * runs is found by itself, so that rotation needs no restart: add the new key
 * on every host, seal anew what the old one sealed, remove the old one.
 *
 * Envelope: nonce (12), ciphertext, tag (16).  An envelope opens only with
 * the context that it was sealed in: a row's value cannot be put into another
 * row, nor a secret be taken for something else.
 */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

struct err;
struct seal;

enum { SEAL_OVERHEAD = 12 + 16, SEAL_KEY_ID_MAX = 64 };

/*
 * What an envelope belongs to: strings, the purpose first, ended by NULL.
 * {"secret", organization, name, NULL}.
 */
typedef const char *const *seal_context;

/*
 * Read the keyring DIR, an absolute path.  Fails with ERR_INVALID: no key, a
 * name that is none, a file that everyone can read or that is no key.
 */
MUST_CHECK int seal_open(const char *dir, struct seal **out, struct err *e);
void seal_close(struct seal *s);

/* The id of the current key; valid until the next call. */
const char *seal_current(struct seal *s);
/* Whether KEY_ID is there. */
bool seal_has(struct seal *s, const char *key_id);

/*
 * Seal LEN bytes into OUT, which takes LEN + SEAL_OVERHEAD, and write the id
 * of the key to KEY_ID.  Fails with ERR_INTERNAL only.
 */
MUST_CHECK int seal_wrap(struct seal *s, seal_context context, const void *p,
	size_t len, unsigned char *out, char key_id[SEAL_KEY_ID_MAX + 1],
	struct err *e);

/*
 * Open an envelope of LEN bytes into OUT, which takes LEN - SEAL_OVERHEAD.
 * ERR_NOTFOUND: no such key here.  ERR_INVALID: not sealed with this key in
 * this context, or changed since; OUT is then zeroed.
 */
MUST_CHECK int seal_unwrap(struct seal *s, seal_context context,
	const char *key_id, const unsigned char *sealed, size_t len, void *out,
	struct err *e);

/* Overwrite a secret before its memory is given back. */
void seal_forget(void *p, size_t len);

/*
 * Add a random key to DIR, readable by owner and group; KEY_ID NULL: named by
 * the time (UTC), which makes it the current one.  The id goes to MADE.  Fails
 * with ERR_CONFLICT when there is one of that name, ERR_INVALID, or
 * ERR_INTERNAL.  For mcp-admin.
 */
MUST_CHECK int seal_generate(const char *dir, const char *key_id,
	char made[SEAL_KEY_ID_MAX + 1], struct err *e);

#endif
