/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/keycheck.h"

#include "admin/admin.h"
#include "admin/report.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/seal.h"
#include "store/db.h"
#include "store/secret.h"

/* Secrets, whether this host can open them. */
static void
secrets_check(struct admin *ad, struct db *db, struct seal *keys)
{
	const char *missing = NULL, *key_id;
	struct err e = { 0 };
	int i, n_closed = 0;
	struct db_res r;

	if (secret_list(db, ad->arena, NULL, NULL, &r, &e) != 0) {
		report_warn("secrets", NULL, "%s", e.detail);
		return;
	}
	for (i = 0; i < r.n_rows; i++) {
		key_id = db_text(&r, i, 2);
		if (keys == NULL || !seal_has(keys, key_id)) {
			missing = key_id;
			n_closed++;
		}
	}
	if (n_closed > 0)
		report_fail("secrets",
			"copy that file from a host that has it, or set them "
			"anew: mcp-admin secret list",
			"%d of %d are sealed with a key that is not in this "
			"host's keyring, %s",
			n_closed, r.n_rows, missing);
	else
		report_pass("secrets", "%d, and a key for each", r.n_rows);
}

void
keycheck_run(struct admin *ad, struct db *db)
{
	const char *dir = ad->conf->keyring_dir;
	struct seal *keys = NULL;
	struct err e = { 0 };

	if (*dir == '\0')
		report_pass("keyring",
			"none is configured: no secrets, and no run waits");
	else if (seal_open(dir, &keys, &e) != 0)
		report_fail("keyring",
			"mcp-admin keyring init, and its files readable by "
			"the responders' user alone",
			"%s", e.detail);
	else
		report_pass("keyring", "%s, the current key is %s", dir,
			seal_current(keys));
	if (db != NULL)
		secrets_check(ad, db, keys);
	seal_close(keys);
}
