/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "fakestore.h"

#include "base/arena.h"
#include "base/err.h"

struct fakestore fakestore;

void
fakestore_reset(void)
{
	free(fakestore.document);
	free(fakestore.metadata);
	memset(&fakestore, 0, sizeof(fakestore));
	fakestore.fetched_s = fakestore.attempted_s = -1;
	fakestore.metadata_fetched_s = fakestore.metadata_attempted_s = -1;
}

int64_t
fakestore_real_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t
__wrap_clock_wall_s(void)
{
	return time(NULL) + fakestore.ahead_s;
}

int64_t
__wrap_clock_mono_ms(void)
{
	return fakestore_real_ms() + fakestore.ahead_s * 1000;
}

int64_t
fakestore_wall_s(void)
{
	return __wrap_clock_wall_s();
}

static int
down(struct err *e)
{
	if (fakestore.is_down)
		return err_set(e, ERR_UNAVAILABLE, NULL, "no database");
	if (fakestore.down_after > 0 && --fakestore.down_after == 0)
		fakestore.is_down = true;
	return 0;
}

static void
put(char **where, const char *text)
{
	free(*where);
	*where = strdup(text);
}

int
__wrap_keyset_find(struct db *db, struct arena *a, const char *issuer,
	struct keyset *out, struct err *e)
{
	int64_t now = fakestore_wall_s();

	fakestore.finds++;
	if (down(e) != 0)
		return -1;
	if (fakestore.late != NULL && fakestore.late_after-- <= 0) {
		put(&fakestore.document, fakestore.late);
		fakestore.late = NULL;
		fakestore.version++;
		fakestore.fetched_s = now;
	}
	memset(out, 0, sizeof(*out));
	if (fakestore.document != NULL) {
		out->document = arena_strdup(a, fakestore.document);
		out->document_age_s = now - fakestore.fetched_s;
		out->version = arena_printf(a, "%d", fakestore.version);
	}
	if (fakestore.metadata != NULL) {
		out->metadata = arena_strdup(a, fakestore.metadata);
		out->metadata_age_s = now - fakestore.metadata_fetched_s;
	}
	return 0;
}

int
__wrap_keyset_claim(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, int64_t min_interval_s, bool *is_granted,
	struct err *e)
{
	int64_t now = fakestore_wall_s();
	int64_t *last = part == KEYSET_KEYS ? &fakestore.attempted_s
					    : &fakestore.metadata_attempted_s;

	fakestore.claims++;
	if (down(e) != 0)
		return -1;
	*is_granted = *last < 0 || *last <= now - min_interval_s;
	if (*is_granted)
		*last = now;
	return 0;
}

int
__wrap_keyset_save(struct db *db, struct arena *a, const char *issuer,
	enum keyset_part part, const char *document, struct err *e)
{
	fakestore.saves++;
	if (down(e) != 0)
		return -1;
	if (part == KEYSET_KEYS) {
		put(&fakestore.document, document);
		fakestore.version++;
		fakestore.fetched_s = fakestore_wall_s();
	} else {
		put(&fakestore.metadata, document);
		fakestore.metadata_fetched_s = fakestore_wall_s();
	}
	return 0;
}

int
__wrap_keyset_fail(struct db *db, struct arena *a, const char *issuer,
	const char *why, struct err *e)
{
	fakestore.fails++;
	snprintf(fakestore.failure, sizeof(fakestore.failure), "%s", why);
	return down(e);
}

int
__wrap_apitoken_find(struct db *db, struct arena *a,
	const unsigned char sha256[32], enum apitoken_outcome *outcome,
	struct apitoken_owner *out, struct err *e)
{
	fakestore.token_finds++;
	if (down(e) != 0)
		return -1;
	memset(out, 0, sizeof(*out));
	if (memcmp(sha256, fakestore.sha256, 32) != 0) {
		*outcome = APITOKEN_BAD;
		return 0;
	}
	*outcome = fakestore.outcome;
	if (*outcome == APITOKEN_OK) {
		out->issuer = arena_strdup(a, "local");
		out->account_id = arena_strdup(a, "bot");
		out->organization_id = arena_strdup(a, "org_2");
	}
	return 0;
}
