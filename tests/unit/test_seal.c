/* SPDX-License-Identifier: ISC */
/* seal: envelopes, what opens them and what does not; the keyring. */
#include "base/compat.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "base/seal.h"

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define KEY_B "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static const char *const CONTEXT[] = { "secret", "org", "NAME", NULL };
static const char PLAIN[] = "sesame, open";

enum { LEN = sizeof(PLAIN), SEALED = sizeof(PLAIN) + SEAL_OVERHEAD };

struct fixture {
	char dir[64];
};

static void
put_mode(struct fixture *t, const char *name, const char *text, mode_t mode)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
put(struct fixture *t, const char *name, const char *text)
{
	put_mode(t, name, text, 0600);
}

static void
del(struct fixture *t, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	assert_int_equal(unlink(path), 0);
}

static int
setup(void **state)
{
	struct fixture *t = calloc(1, sizeof(*t));

	log_open("test", LOG_TARGET_STDERR, LOG_LEVEL_ERR);
	snprintf(t->dir, sizeof(t->dir), "seal-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	put(t, "a", KEY_A "\n");
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *t = *state;
	static const char *const names[] = { "a", "b", "c", "bad key", "d" };
	char path[160];
	size_t i;

	for (i = 0; i < NELEM(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", t->dir, names[i]);
		if (unlink(path) != 0)
			(void)rmdir(path);
	}
	assert_int_equal(rmdir(t->dir), 0);
	free(t);
	return 0;
}

static struct seal *
open_ring(struct fixture *t)
{
	struct seal *s;
	struct err e;

	if (seal_open(t->dir, &s, &e) != 0)
		fail_msg("%s", e.detail);
	return s;
}

static enum err_kind
unwrap(struct seal *s, seal_context context, const char *id,
	const unsigned char *sealed, size_t len)
{
	char plain[SEALED];
	struct err e;

	memset(plain, 'x', sizeof(plain));
	if (seal_unwrap(s, context, id, sealed, len, plain, &e) == 0) {
		assert_memory_equal(plain, PLAIN, LEN);
		return ERR_NONE;
	}
	/* nothing of it is left, nor was more written */
	if (e.kind == ERR_INVALID && len == SEALED)
		assert_int_equal(plain[0] | plain[LEN - 1], 0);
	assert_int_equal(plain[LEN], 'x');
	return e.kind;
}

static void
test_round_trip(void **state)
{
	struct seal *s = open_ring(*state);
	unsigned char one[SEALED], two[SEALED];
	char id[SEAL_KEY_ID_MAX + 1];
	struct err e;

	assert_int_equal(seal_wrap(s, CONTEXT, PLAIN, LEN, one, id, &e), 0);
	assert_string_equal(id, "a");
	assert_null(memmem(one, sizeof(one), "sesame", 6));
	assert_int_equal(unwrap(s, CONTEXT, id, one, SEALED), ERR_NONE);
	/* the same again is something else */
	assert_int_equal(seal_wrap(s, CONTEXT, PLAIN, LEN, two, id, &e), 0);
	assert_memory_not_equal(one, two, 12);
	assert_memory_not_equal(one + 12, two + 12, LEN);
	/* of nothing, too */
	assert_int_equal(seal_wrap(s, CONTEXT, "", 0, one, id, &e), 0);
	assert_int_equal(
		seal_unwrap(s, CONTEXT, id, one, SEAL_OVERHEAD, two, &e), 0);
	seal_close(s);
}

static void
test_every_bit_counts(void **state)
{
	struct seal *s = open_ring(*state);
	char id[SEAL_KEY_ID_MAX + 1];
	unsigned char sealed[SEALED];
	struct err e;
	size_t i;

	assert_int_equal(seal_wrap(s, CONTEXT, PLAIN, LEN, sealed, id, &e), 0);
	for (i = 0; i < SEALED * 8; i++) {
		sealed[i / 8] ^= (unsigned char)(1 << i % 8);
		assert_int_equal(
			unwrap(s, CONTEXT, id, sealed, SEALED), ERR_INVALID);
		sealed[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	for (i = 0; i < SEALED; i++)
		assert_int_equal(
			unwrap(s, CONTEXT, id, sealed, i), ERR_INVALID);
	assert_int_equal(unwrap(s, CONTEXT, id, sealed, SEALED), ERR_NONE);
	seal_close(s);
}

/* A row's value put into another row, by whoever can write to the table. */
static void
test_context(void **state)
{
	static const char *const other[][5] = {
		{ "secret", "org", "OTHER", NULL },
		{ "secret", "org2", "NAME", NULL },
		{ "heap", "org", "NAME", NULL },
		{ "secret", "org", NULL },
		{ "secret", "org", "NAME", "", NULL },
		{ "secret", "orgNAME", NULL },
		{ "secretorg", "NAME", NULL },
		{ "secret", "org", "NAM", "E", NULL },
		{ "secret", "org", "name", NULL },
	};
	struct seal *s = open_ring(*state);
	char id[SEAL_KEY_ID_MAX + 1];
	unsigned char sealed[SEALED];
	struct err e;
	size_t i;

	assert_int_equal(seal_wrap(s, CONTEXT, PLAIN, LEN, sealed, id, &e), 0);
	for (i = 0; i < NELEM(other); i++)
		if (unwrap(s, other[i], id, sealed, SEALED) != ERR_INVALID)
			fail_msg("context %zu opens it", i);
	seal_close(s);
}

/* Made by Python's cryptography. */
static void
test_known(void **state)
{
	static const unsigned char sealed[] = {
		0x00,
		0x01,
		0x02,
		0x03,
		0x04,
		0x05,
		0x06,
		0x07,
		0x08,
		0x09,
		0x0a,
		0x0b,
		0x65,
		0x7d,
		0xc6,
		0x57,
		0x2d,
		0x2c,
		0xe1,
		0x96,
		0xa6,
		0x4b,
		0x0a,
		0x92,
		0x31,
		0xfb,
		0x78,
		0xa1,
		0xce,
		0x71,
		0xba,
		0x12,
		0x1a,
		0x87,
		0x58,
		0xcc,
		0xd0,
		0xf5,
		0xbb,
		0xfd,
		0x23,
	};
	struct seal *s = open_ring(*state);

	assert_int_equal(sizeof(sealed), SEALED);
	assert_int_equal(unwrap(s, CONTEXT, "a", sealed, SEALED), ERR_NONE);
	seal_close(s);
}

static void
test_rotation(void **state)
{
	struct fixture *t = *state;
	struct seal *s = open_ring(t);
	unsigned char old[SEALED], new[SEALED];
	char id[SEAL_KEY_ID_MAX + 1];
	struct seal *other;
	struct err e;

	assert_int_equal(seal_wrap(s, CONTEXT, PLAIN, LEN, old, id, &e), 0);
	assert_string_equal(id, "a");
	assert_false(seal_has(s, "b"));

	/* another process has the new key first */
	put(t, "b", KEY_B);
	other = open_ring(t);
	assert_string_equal(seal_current(other), "b");
	assert_int_equal(seal_wrap(other, CONTEXT, PLAIN, LEN, new, id, &e), 0);
	assert_string_equal(id, "b");
	/* this one finds it when it is needed; both open */
	assert_int_equal(unwrap(s, CONTEXT, "b", new, SEALED), ERR_NONE);
	assert_int_equal(unwrap(s, CONTEXT, "a", old, SEALED), ERR_NONE);
	/* but not one for the other */
	assert_int_equal(unwrap(s, CONTEXT, "a", new, SEALED), ERR_INVALID);

	/* disorder costs nothing that was there */
	put(t, "c", "half a k");
	assert_false(seal_has(s, "c"));
	assert_int_equal(unwrap(s, CONTEXT, "b", new, SEALED), ERR_NONE);
	/* written to its end: the directory does not change by that */
	put(t, "c", KEY_A);
	assert_true(seal_has(s, "c"));
	del(t, "c");

	del(t, "a");
	/* looking for what is not there looks anew */
	assert_false(seal_has(s, "z"));
	assert_false(seal_has(s, "c"));
	assert_int_equal(unwrap(s, CONTEXT, "a", old, SEALED), ERR_NOTFOUND);
	assert_int_equal(unwrap(s, CONTEXT, "../b", new, SEALED), ERR_NOTFOUND);
	assert_int_equal(unwrap(s, CONTEXT, "", new, SEALED), ERR_NOTFOUND);
	seal_close(other);
	seal_close(s);
}

static void
test_bad_rings(void **state)
{
	static const struct {
		const char *name, *text;
		mode_t mode;
	} cases[] = {
		{ "b", "", 0600 },
		{ "b", KEY_A "0", 0600 },
		{ "b", KEY_A "\n\n", 0600 },
		{ "b", KEY_A " ", 0600 },
		{ "b",
			"g0112233445566778899aabbccddeeff"
			"00112233445566778899aabbccddeeff",
			0600 },
		{ "b", KEY_A, 0604 },
		{ "b", KEY_A, 0602 },
		{ "bad key", KEY_A, 0600 },
	};
	struct fixture *t = *state;
	struct seal *s;
	struct err e;
	char path[80];
	size_t i;

	for (i = 0; i < NELEM(cases); i++) {
		put_mode(t, cases[i].name, cases[i].text, cases[i].mode);
		if (seal_open(t->dir, &s, &e) != -1 || e.kind != ERR_INVALID)
			fail_msg("case %zu is accepted", i);
		assert_null(s);
		assert_null(strstr(e.detail, "0112233"));
		del(t, cases[i].name);
	}
	snprintf(path, sizeof(path), "%s/d", t->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(seal_open(t->dir, &s, &e), -1);
	assert_int_equal(rmdir(path), 0);
	del(t, "a");
	assert_int_equal(seal_open(t->dir, &s, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_int_equal(seal_open("/nonexistent", &s, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
}

static void
test_generate(void **state)
{
	struct fixture *t = *state;
	char made[SEAL_KEY_ID_MAX + 1], path[160];
	struct seal *s;
	struct stat st;
	struct err e;

	del(t, "a");
	assert_int_equal(seal_generate(t->dir, "b", made, &e), 0);
	assert_string_equal(made, "b");
	snprintf(path, sizeof(path), "%s/b", t->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(seal_generate(t->dir, "b", made, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(seal_generate(t->dir, "../b", made, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	s = open_ring(t);
	assert_string_equal(seal_current(s), "b");

	assert_int_equal(seal_generate(t->dir, NULL, made, &e), 0);
	assert_int_equal(strlen(made), 16);
	assert_true(seal_has(s, made));
	del(t, made);
	seal_close(s);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_every_bit_counts),
		TEST(test_context),
		TEST(test_known),
		TEST(test_rotation),
		TEST(test_bad_rings),
		TEST(test_generate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
