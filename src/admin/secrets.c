/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/secrets.h"

#include "admin/prompt.h"
#include "admin/table.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/seal.h"
#include "store/db.h"
#include "store/secret.h"

/* As outbound has it: what is shorter cannot be taken out of answers. */
enum { VALUE_MIN = 4, VALUE_MAX = 65536, NAME_MAX_BYTES = 128 };

static const struct table_column COLUMNS[SECRET_LIST_COLUMNS] = {
	{ "organization", TABLE_TEXT, 0 },
	{ "name", TABLE_TEXT, 0 },
	{ "key_id", TABLE_TEXT, 0 },
	{ "updated_at", TABLE_TEXT, 0 },
};

int
secrets_check_name(const char *s, struct err *e)
{
	static const char OK[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";
	size_t len = strlen(s);

	if (len == 0 || len > NAME_MAX_BYTES || strspn(s, OK) != len ||
		strchr("0123456789.-", s[0]) != NULL)
		return err_set(e, ERR_INVALID, NULL,
			"a secret is named by 1 to %d letters, digits, _, . "
			"and -, a letter or _ first",
			NAME_MAX_BYTES);
	return 0;
}

/* It goes into a header or a query. */
static int
value_check(const char *s, size_t len, struct err *e)
{
	size_t i;

	if (len < VALUE_MIN)
		return err_set(e, ERR_CONFLICT, NULL,
			"the value has less than %d bytes", VALUE_MIN);
	for (i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return err_set(e, ERR_CONFLICT, NULL,
				"the value has a control character, byte %zu, "
				"which no header can carry",
				i + 1);
	return 0;
}

static int
keys_open(struct admin *ad, struct seal **out, struct err *e)
{
	if (*ad->conf->keyring_dir == '\0')
		return err_set(e, ERR_CONFLICT, NULL,
			"there is no keyring: mcp-admin keyring init DIR, and "
			"keyring_dir = DIR in mcp-fcgi.conf");
	if (seal_open(ad->conf->keyring_dir, out, e) != 0) {
		e->kind = ERR_CONFLICT;
		return -1;
	}
	return 0;
}

/* *S in the arena; the value is nowhere but in VALUE. */
static int
wrap(struct admin *ad, struct seal *keys, const char *org, const char *name,
	const char *value, size_t len, struct secret *s, struct err *e)
{
	const char *const context[] = { "secret", org, name, NULL };
	unsigned char *sealed = arena_alloc(ad->arena, len + SEAL_OVERHEAD);
	char key_id[SEAL_KEY_ID_MAX + 1];

	if (seal_wrap(keys, context, value, len, sealed, key_id, e) != 0)
		return -1;
	s->key_id = arena_strdup(ad->arena, key_id);
	s->sealed = sealed;
	s->sealed_len = len + SEAL_OVERHEAD;
	return 0;
}

/* S is in the arena already: nothing here sees the value. */
static int
save(struct admin *ad, char **argv, const struct secret *s, struct err *e)
{
	bool is_new;

	if (admin_begin(ad, e) != 0)
		return -1;
	if (secret_save(ad->db, ad->arena, argv[0], argv[1], s, &is_new, e) !=
		0)
		return admin_refused(ad, e);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("secret %s %s, sealed with key %s", argv[1],
		is_new ? "set" : "replaced", s->key_id);
	return 0;
}

int
secrets_set(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	char value[VALUE_MAX + 2];
	struct seal *keys;
	struct secret s;
	size_t len = 0;
	int rc;

	if (admin_check_id("organization", argv[0], e) != 0 ||
		secrets_check_name(argv[1], e) != 0 ||
		keys_open(ad, &keys, e) != 0)
		return -1;
	rc = prompt_secret(argv[1], value, sizeof(value), &len, e);
	if (rc == 0)
		rc = value_check(value, len, e);
	if (rc == 0)
		rc = wrap(ad, keys, argv[0], argv[1], value, len, &s, e);
	seal_forget(value, sizeof(value));
	seal_close(keys);
	return rc == 0 ? save(ad, argv, &s, e) : -1;
}

int
secrets_list(struct admin *ad, char **argv, int n, struct err *e)
{
	struct db_res r;

	if (secret_list(ad->db, ad->arena, n > 0 ? argv[0] : NULL, NULL, &r,
		    e) != 0)
		return -1;
	table_print(ad->arena, COLUMNS, &r, (ad->given & ADMIN_OPT_JSON) != 0);
	return 0;
}

int
secrets_remove(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	bool was_there;

	if (admin_begin(ad, e) != 0 || secret_remove(ad->db, ad->arena, argv[0],
					       argv[1], &was_there, e) != 0)
		return -1;
	if (!was_there)
		return err_set(e, ERR_NOTFOUND, NULL,
			"no secret %.96s in %.96s", argv[1], argv[0]);
	if (admin_commit(ad, argv[0], NULL, e) != 0)
		return -1;
	admin_note("secret %s removed", argv[1]);
	return 0;
}

/* Seal one anew, which takes no lock that a request waits for. */
static int
rotate_one(struct admin *ad, struct seal *keys, const char *org,
	const char *name, bool *was_replaced, struct err *e)
{
	const char *const context[] = { "secret", org, name, NULL };
	struct secret old, s;
	char *value;
	size_t len;
	int rc;

	*was_replaced = false;
	if (secret_find(ad->db, ad->arena, org, name, &old, e) != 0)
		return -1;
	if (old.sealed == NULL)
		return 0;
	len = old.sealed_len - SEAL_OVERHEAD;
	if ((value = malloc(len + 1)) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	rc = seal_unwrap(keys, context, old.key_id, old.sealed, old.sealed_len,
		value, e);
	if (rc == 0)
		rc = wrap(ad, keys, org, name, value, len, &s, e);
	seal_forget(value, len + 1);
	free(value);
	if (rc != 0)
		return -1;
	return secret_rotate(
		ad->db, ad->arena, org, name, &old, &s, was_replaced, e);
}

static int
rotate(struct admin *ad, struct seal *keys, const char *org, int *n,
	struct err *e)
{
	int i, n_closed = 0;
	bool was_replaced;
	struct db_res r;

	*n = 0;
	if (secret_list(ad->db, ad->arena, org, seal_current(keys), &r, e) != 0)
		return -1;
	for (i = 0; i < r.n_rows; i++) {
		const char *of = db_text(&r, i, 0), *name = db_text(&r, i, 1);

		if (rotate_one(ad, keys, of, name, &was_replaced, e) == 0) {
			*n += was_replaced;
			continue;
		}
		if (e->kind != ERR_NOTFOUND && e->kind != ERR_INVALID)
			return -1;
		/* All of them are told, then nothing is changed. */
		admin_note("secret %s of %s, key %s: %s", name, of,
			db_text(&r, i, 2), e->detail);
		err_clear(e);
		n_closed++;
	}
	if (n_closed > 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"%d secrets cannot be opened with this keyring: give "
			"back their keys, or set or remove them",
			n_closed);
	return 0;
}

int
secrets_rotate(struct admin *ad, char **argv, int n, struct err *e)
{
	const char *org = n > 0 ? argv[0] : NULL;
	struct seal *keys;
	int n_sealed, rc;

	if (keys_open(ad, &keys, e) != 0)
		return -1;
	rc = admin_begin(ad, e);
	if (rc == 0)
		rc = rotate(ad, keys, org, &n_sealed, e);
	if (rc == 0 && n_sealed > 0)
		rc = admin_commit(ad, org, NULL, e);
	if (rc == 0)
		admin_note("%d secrets sealed anew, all are under key %s",
			n_sealed, seal_current(keys));
	seal_close(keys);
	return rc;
}
