/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/seal.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/rnd.h"
#include "base/scope.h"

enum {
	KEY_LEN = 32,
	NONCE_LEN = 12,
	TAG_LEN = 16,
	KEYS_MAX = 64,
	LOOK_MS = 1000 /* between two looks at the directory */
};

struct key {
	char id[SEAL_KEY_ID_MAX + 1];
	unsigned char bytes[KEY_LEN];
};

struct ring {
	size_t n;
	struct key key[KEYS_MAX]; /* in the order of their names */
};

struct seal {
	char *dir;
	struct ring *ring;
	struct timespec changed; /* of the directory, when RING was read */
	int64_t looked_ms;
};

static void
ring_free(struct ring *r)
{
	if (r == NULL)
		return;
	OPENSSL_cleanse(r, sizeof(*r));
	free(r);
}

static bool
is_key_id(const char *s)
{
	size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len > 0 && len <= SEAL_KEY_ID_MAX && s[len] == '\0' &&
	       s[0] != '.' && s[0] != '-';
}

static bool
key_parse(const char *text, size_t len, unsigned char *out)
{
	size_t i;
	int hi, lo;

	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len != (size_t)KEY_LEN * 2)
		return false;
	for (i = 0; i < KEY_LEN; i++) {
		hi = hex_digit(text[2 * i]);
		lo = hex_digit(text[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return false;
		out[i] = (unsigned char)(hi << 4 | lo);
	}
	return true;
}

static int
key_load(int dirfd, const char *dir, const char *name, struct key *key,
	struct err *e)
{
	char text[2 * KEY_LEN + 3];
	AUTO_FD fd = -1;
	struct stat st;
	ssize_t n;
	bool is_key;

	if (!is_key_id(name))
		return err_set(e, ERR_INVALID, NULL,
			"%s: %.80s: not the name of a key", dir, name);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_set(e, ERR_INVALID, NULL, "%s/%s: %s", dir, name,
			strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, NULL,
			"%s/%s: not a regular file", dir, name);
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return err_set(e, ERR_INVALID, NULL,
			"%s/%s: everyone can read or write it: chmod o-rwx",
			dir, name);
	n = read(fd, text, sizeof(text));
	is_key = n > 0 && key_parse(text, (size_t)n, key->bytes);
	OPENSSL_cleanse(text, sizeof(text));
	if (!is_key)
		return err_set(e, ERR_INVALID, NULL,
			"%s/%s: a key is 64 hexadecimal digits", dir, name);
	memcpy(key->id, name, strlen(name) + 1);
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return strcmp(x->id, y->id);
}

static int
ring_load(const char *dir, struct ring **out, struct timespec *changed,
	struct err *e)
{
	struct ring *r = NULL;
	struct dirent *entry;
	struct stat st;
	DIR *d;

	*out = NULL;
	d = opendir(dir);
	if (d == NULL || fstat(dirfd(d), &st) != 0) {
		err_set(e, ERR_INVALID, NULL, "%s: %s", dir, strerror(errno));
		goto fail;
	}
	if ((r = calloc(1, sizeof(*r))) == NULL) {
		err_set(e, ERR_INTERNAL, NULL, "out of memory");
		goto fail;
	}
	while ((entry = readdir(d)) != NULL) {
		/* Also what is being written, see seal_generate. */
		if (entry->d_name[0] == '.')
			continue;
		if (r->n == KEYS_MAX) {
			err_set(e, ERR_INVALID, NULL, "%s: more than %d keys",
				dir, KEYS_MAX);
			goto fail;
		}
		if (key_load(dirfd(d), dir, entry->d_name, &r->key[r->n], e) !=
			0)
			goto fail;
		r->n++;
	}
	if (r->n == 0) {
		err_set(e, ERR_INVALID, NULL, "%s: there is no key", dir);
		goto fail;
	}
	qsort(r->key, r->n, sizeof(r->key[0]), by_id);
	closedir(d);
	/* From before the files were read: what came meanwhile is seen next.
	   Time stamps are coarse: a fresh one says nothing yet. */
	*changed = st.st_mtim;
	if (st.st_mtim.tv_sec + 2 > clock_wall_s())
		changed->tv_sec = 0;
	*out = r;
	return 0;
fail:
	ring_free(r);
	if (d != NULL)
		closedir(d);
	return -1;
}

int
seal_open(const char *dir, struct seal **out, struct err *e)
{
	struct seal *s;

	*out = NULL;
	if ((s = calloc(1, sizeof(*s))) == NULL ||
		(s->dir = strdup(dir)) == NULL) {
		free(s);
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	}
	if (ring_load(dir, &s->ring, &s->changed, e) != 0) {
		seal_close(s);
		return -1;
	}
	s->looked_ms = clock_mono_ms();
	*out = s;
	return 0;
}

void
seal_close(struct seal *s)
{
	if (s == NULL)
		return;
	ring_free(s->ring);
	free(s->dir);
	free(s);
}

/* The keys in hand stay when the directory is in disorder. */
static void
refresh(struct seal *s, bool is_urgent)
{
	int64_t now = clock_mono_ms();
	struct timespec changed;
	struct ring *r;
	struct stat st;
	struct err e;

	if (!is_urgent && now - s->looked_ms < LOOK_MS)
		return;
	s->looked_ms = now;
	if (!is_urgent && stat(s->dir, &st) == 0 &&
		st.st_mtim.tv_sec == s->changed.tv_sec &&
		st.st_mtim.tv_nsec == s->changed.tv_nsec)
		return;
	if (ring_load(s->dir, &r, &changed, &e) != 0) {
		log_err(LOG_LEVEL_ERR, "keyring.read", &e);
		return;
	}
	ring_free(s->ring);
	s->ring = r;
	s->changed = changed;
}

static const struct key *
key_find(struct seal *s, const char *id)
{
	struct key *found;
	struct key want;

	if (!is_key_id(id))
		return NULL;
	snprintf(want.id, sizeof(want.id), "%s", id);
	refresh(s, false);
	found = bsearch(&want, s->ring->key, s->ring->n, sizeof(want), by_id);
	if (found != NULL)
		return found;
	refresh(s, true);
	return bsearch(&want, s->ring->key, s->ring->n, sizeof(want), by_id);
}

const char *
seal_current(struct seal *s)
{
	refresh(s, false);
	return s->ring->key[s->ring->n - 1].id;
}

bool
seal_has(struct seal *s, const char *key_id)
{
	return key_find(s, key_id) != NULL;
}

/*
 * The strings of the context with their NULs: no two contexts give the same
 * bytes.
 */
static bool
add_context(EVP_CIPHER_CTX *ctx, seal_context context)
{
	size_t len;
	int n;

	assert(context[0] != NULL);
	for (; *context != NULL; context++) {
		len = strlen(*context) + 1;
		if (len > INT_MAX ||
			EVP_CipherUpdate(ctx, NULL, &n,
				(const unsigned char *)*context, (int)len) != 1)
			return false;
	}
	return true;
}

int
seal_wrap(struct seal *s, seal_context context, const void *p, size_t len,
	unsigned char *out, char key_id[SEAL_KEY_ID_MAX + 1], struct err *e)
{
	unsigned char *text = out + NONCE_LEN;
	const struct key *key;
	EVP_CIPHER_CTX *ctx;
	int n = 0, rest = 0;
	bool is_good;

	refresh(s, false);
	key = &s->ring->key[s->ring->n - 1];
	if (len > INT_MAX || (ctx = EVP_CIPHER_CTX_new()) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "cannot seal");
	rnd_bytes(out, NONCE_LEN);
	is_good = EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key->bytes,
			  out, 1) == 1 &&
		  add_context(ctx, context) &&
		  EVP_CipherUpdate(ctx, text, &n, p, (int)len) == 1 &&
		  EVP_CipherFinal_ex(ctx, text + n, &rest) == 1 &&
		  (size_t)n + (size_t)rest == len &&
		  EVP_CIPHER_CTX_ctrl(
			  ctx, EVP_CTRL_AEAD_GET_TAG, TAG_LEN, text + len) == 1;
	EVP_CIPHER_CTX_free(ctx);
	if (!is_good)
		return err_set(e, ERR_INTERNAL, NULL, "cannot seal");
	snprintf(key_id, SEAL_KEY_ID_MAX + 1, "%s", key->id);
	return 0;
}

int
seal_unwrap(struct seal *s, seal_context context, const char *key_id,
	const unsigned char *sealed, size_t len, void *out, struct err *e)
{
	const unsigned char *text = sealed + NONCE_LEN;
	unsigned char tag[TAG_LEN], *plain = out;
	const struct key *key;
	EVP_CIPHER_CTX *ctx;
	int n = 0, rest = 0;
	bool is_good;

	if (len < SEAL_OVERHEAD || len - SEAL_OVERHEAD > INT_MAX)
		return err_set(e, ERR_INVALID, NULL, "not an envelope");
	len -= SEAL_OVERHEAD;
	if ((key = key_find(s, key_id)) == NULL)
		return err_set(e, ERR_NOTFOUND, NULL,
			"the keyring has no key %.64s", key_id);
	if ((ctx = EVP_CIPHER_CTX_new()) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	memcpy(tag, text + len, TAG_LEN);
	is_good = EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key->bytes,
			  sealed, 0) == 1 &&
		  add_context(ctx, context) &&
		  EVP_CipherUpdate(ctx, plain, &n, text, (int)len) == 1 &&
		  EVP_CIPHER_CTX_ctrl(
			  ctx, EVP_CTRL_AEAD_SET_TAG, TAG_LEN, tag) == 1 &&
		  EVP_CipherFinal_ex(ctx, plain + n, &rest) == 1 &&
		  (size_t)n + (size_t)rest == len;
	EVP_CIPHER_CTX_free(ctx);
	if (!is_good) {
		OPENSSL_cleanse(out, len);
		return err_set(e, ERR_INVALID, NULL,
			"the envelope was changed or belongs elsewhere");
	}
	return 0;
}

void
seal_forget(void *p, size_t len)
{
	if (p != NULL)
		OPENSSL_cleanse(p, len);
}

static int
key_write(int fd, struct err *e)
{
	unsigned char bytes[KEY_LEN];
	char text[2 * KEY_LEN + 1];
	bool is_good;

	rnd_bytes(bytes, sizeof(bytes));
	hex_encode(text, bytes, sizeof(bytes));
	OPENSSL_cleanse(bytes, sizeof(bytes));
	text[2 * KEY_LEN] = '\n';
	/* The umask may be anything. */
	is_good = fchmod(fd, S_IRUSR | S_IWUSR | S_IRGRP) == 0 &&
		  write(fd, text, sizeof(text)) == (ssize_t)sizeof(text) &&
		  fsync(fd) == 0;
	OPENSSL_cleanse(text, sizeof(text));
	return is_good ? 0
		       : err_set(e, ERR_INTERNAL, NULL, "key: %s",
				 strerror(errno));
}

int
seal_generate(const char *dir, const char *key_id,
	char made[SEAL_KEY_ID_MAX + 1], struct err *e)
{
	char temporary[40];
	AUTO_FD at = -1;
	AUTO_FD fd = -1;
	uint64_t unique;
	struct tm tm;
	time_t now = (time_t)clock_wall_s();
	int rc;

	if (key_id != NULL && !is_key_id(key_id))
		return err_set(e, ERR_INVALID, NULL,
			"not the name of a key: letters, digits and ._-");
	if (key_id != NULL)
		snprintf(made, SEAL_KEY_ID_MAX + 1, "%s", key_id);
	else if (gmtime_r(&now, &tm) == NULL ||
		 strftime(made, SEAL_KEY_ID_MAX + 1, "%Y%m%dT%H%M%SZ", &tm) ==
			 0)
		return err_set(e, ERR_INTERNAL, NULL, "no time");
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return err_set(
			e, ERR_INVALID, NULL, "%s: %s", dir, strerror(errno));
	rnd_bytes(&unique, sizeof(unique));
	snprintf(temporary, sizeof(temporary), ".new-%016" PRIx64, unique);
	fd = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		S_IRUSR | S_IWUSR);
	if (fd < 0)
		return err_set(
			e, ERR_INVALID, NULL, "%s: %s", dir, strerror(errno));
	/* A reader sees a whole key or none; a key is never replaced. */
	rc = key_write(fd, e);
	if (rc == 0 && linkat(at, temporary, at, made, 0) != 0)
		rc = errno == EEXIST
			     ? err_set(e, ERR_CONFLICT, NULL,
				       "%s/%s: there is a key of that name",
				       dir, made)
			     : err_set(e, ERR_INTERNAL, NULL, "%s/%s: %s", dir,
				       made, strerror(errno));
	(void)unlinkat(at, temporary, 0);
	return rc;
}
