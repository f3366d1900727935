/* SPDX-License-Identifier: ISC */
/* Goal: what a waiting run leaves opens for that run alone, and unchanged. */
#include "base/compat.h"

#include "run/vault.h"

#include <sys/stat.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/seal.h"

static struct arena *arena;
static struct seal *keys;
static char dir[64];
static const struct vault_label LABEL = { .what = "heap",
	.execution_id = "11111111-1111-4111-8111-111111111111",
	.engine = "e1",
	.number = 3 };

static void
add_key(const char *id)
{
	char made[SEAL_KEY_ID_MAX + 1];
	struct err e;

	err_clear(&e);
	assert_int_equal(seal_generate(dir, id, made, &e), 0);
}

static int
setup(void **state)
{
	struct err e;

	arena = arena_new((size_t)16 << 20);
	snprintf(dir, sizeof(dir), "/tmp/test_vault.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	add_key("k1");
	err_clear(&e);
	return seal_open(dir, &keys, &e);
}

static int
teardown(void **state)
{
	char path[128];

	seal_close(keys);
	snprintf(path, sizeof(path), "%s/k1", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	arena_free(arena);
	return 0;
}

static int
open_it(const struct vault_label *label, const void *p, size_t len,
	const void **out, size_t *out_len, enum err_kind *kind)
{
	struct err e;
	int rc;

	err_clear(&e);
	rc = vault_open(keys, arena, label, p, len, out, out_len, &e);
	*kind = e.kind;
	return rc;
}

static void
test_labels(void **state)
{
	struct vault_label other[] = { LABEL, LABEL, LABEL, LABEL };
	const void *sealed, *plain;
	enum err_kind kind;
	size_t len, n, i;
	struct err e;

	err_clear(&e);
	assert_int_equal(
		vault_close(keys, arena, &LABEL, "abc", 3, &sealed, &len, &e),
		0);
	assert_int_equal(open_it(&LABEL, sealed, len, &plain, &n, &kind), 0);
	assert_int_equal(n, 3);
	assert_string_equal(plain, "abc");
	other[0].what = "args";
	other[1].execution_id = "21111111-1111-4111-8111-111111111111";
	other[2].engine = "e2";
	other[3].number = 4;
	for (i = 0; i < NELEM(other); i++) {
		assert_int_not_equal(
			open_it(&other[i], sealed, len, &plain, &n, &kind),
			0);
		assert_int_equal(kind, ERR_INVALID);
	}
}

static void
test_every_byte_counts(void **state)
{
	const void *sealed, *plain;
	enum err_kind kind;
	unsigned char *b;
	size_t len, n, i;
	struct err e;

	err_clear(&e);
	assert_int_equal(
		vault_close(keys, arena, &LABEL, "", 0, &sealed, &len, &e), 0);
	assert_int_equal(open_it(&LABEL, sealed, len, &plain, &n, &kind), 0);
	for (i = 0; i < len; i++) {
		b = (unsigned char *)arena_memdup(arena, sealed, len);
		b[i] ^= 1;
		assert_int_not_equal(
			open_it(&LABEL, b, len, &plain, &n, &kind), 0);
		assert_int_not_equal(
			open_it(&LABEL, sealed, i, &plain, &n, &kind), 0);
	}
}

static void
test_another_key(void **state)
{
	const void *sealed, *plain;
	enum err_kind kind;
	unsigned char *b;
	size_t len, n;
	struct err e;

	err_clear(&e);
	assert_int_equal(
		vault_close(keys, arena, &LABEL, "abc", 3, &sealed, &len, &e),
		0);
	b = (unsigned char *)arena_memdup(arena, sealed, len);
	b[3] = '2'; /* k1 to k2 */
	assert_int_not_equal(open_it(&LABEL, b, len, &plain, &n, &kind), 0);
	assert_int_equal(kind, ERR_NOTFOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_every_byte_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_another_key, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
