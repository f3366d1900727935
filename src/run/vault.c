/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/vault.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/seal.h"

/*
 * u8 version, u8 length of the key's id, the id, what seal_wrap makes.  The id
 * is not part of the context: another one is another key, and fails.
 */
enum { FORMAT = 1, HEAD_LEN = 2 };

int
vault_close(struct seal *keys, struct arena *a,
	const struct vault_label *label, const void *p, size_t len,
	const void **out, size_t *out_len, struct err *e)
{
	const char *number = arena_printf(a, "%" PRId64, label->number);
	const char *const context[] = { "run", label->what,
		label->execution_id,
		label->engine != NULL ? label->engine : "", number, NULL };
	char key_id[SEAL_KEY_ID_MAX + 1];
	unsigned char *b;
	size_t id_len;

	/* The id is known only afterwards: its place is kept at its widest. */
	b = arena_alloc(a, HEAD_LEN + SEAL_KEY_ID_MAX + len + SEAL_OVERHEAD);
	if (seal_wrap(keys, context, p, len, b + HEAD_LEN + SEAL_KEY_ID_MAX,
		    key_id, e) != 0)
		return err_wrap(e, label->what);
	id_len = strlen(key_id);
	b += SEAL_KEY_ID_MAX - id_len;
	b[0] = FORMAT;
	b[1] = (unsigned char)id_len;
	memcpy(b + HEAD_LEN, key_id, id_len);
	*out = b;
	*out_len = HEAD_LEN + id_len + len + SEAL_OVERHEAD;
	return 0;
}

int
vault_open(struct seal *keys, struct arena *a,
	const struct vault_label *label, const void *p, size_t len,
	const void **out, size_t *out_len, struct err *e)
{
	const char *number = arena_printf(a, "%" PRId64, label->number);
	const char *const context[] = { "run", label->what,
		label->execution_id,
		label->engine != NULL ? label->engine : "", number, NULL };
	const unsigned char *b = p;
	char *key_id, *plain;
	size_t n;

	if (len < HEAD_LEN || b[0] != FORMAT || b[1] > SEAL_KEY_ID_MAX ||
		len < (size_t)HEAD_LEN + b[1] + SEAL_OVERHEAD)
		return err_set(e, ERR_INVALID, NULL, "%s: no envelope",
			label->what);
	key_id = arena_memdup(a, b + HEAD_LEN, b[1]);
	n = len - HEAD_LEN - b[1];
	plain = arena_alloc(a, n - SEAL_OVERHEAD + 1);
	if (seal_unwrap(keys, context, key_id, b + HEAD_LEN + b[1], n, plain,
		    e) != 0)
		return err_wrap(e, label->what);
	plain[n - SEAL_OVERHEAD] = '\0';
	*out = plain;
	*out_len = n - SEAL_OVERHEAD;
	return 0;
}
