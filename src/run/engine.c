/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/engine.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/scope.h"

enum { N_FILES = 2 };

/* What the digest was made of. */
struct seen {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

static int
add_file(EVP_MD_CTX *md, int fd)
{
	unsigned char b[65536];
	ssize_t n;

	while ((n = read(fd, b, sizeof(b))) > 0)
		if (EVP_DigestUpdate(md, b, (size_t)n) != 1)
			return -1;
	return n == 0 ? 0 : -1;
}

static int
digest(int fd[N_FILES], char out[ENGINE_ID_LEN + 1])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned char sha256[EVP_MAX_MD_SIZE];
	int i, rc = -1;

	if (md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1) {
		rc = 0;
		for (i = 0; i < N_FILES; i++)
			rc = rc == 0 ? add_file(md, fd[i]) : rc;
		if (rc == 0 && EVP_DigestFinal_ex(md, sha256, NULL) != 1)
			rc = -1;
	}
	EVP_MD_CTX_free(md);
	if (rc == 0)
		hex_encode(out, sha256, 32);
	return rc;
}

int
engine_id(const char *program, char out[ENGINE_ID_LEN + 1], struct err *e)
{
	static struct seen cached[N_FILES];
	static char id[ENGINE_ID_LEN + 1];
	struct seen now[N_FILES];
	AUTO_FD a = -1;
	AUTO_FD b = -1;
	char image[PATH_MAX];
	struct stat st;
	int fd[N_FILES], i;

	snprintf(image, sizeof(image), "%s.image", program);
	a = open(program, O_RDONLY | O_CLOEXEC);
	b = open(image, O_RDONLY | O_CLOEXEC);
	fd[0] = a;
	fd[1] = b;
	memset(now, 0, sizeof(now));
	for (i = 0; i < N_FILES; i++) {
		if (fd[i] < 0 || fstat(fd[i], &st) != 0)
			return err_set(e, ERR_UNAVAILABLE, NULL,
				"mcp-sandbox cannot be read: %s",
				strerror(errno));
		now[i].dev = st.st_dev;
		now[i].ino = st.st_ino;
		now[i].size = st.st_size;
		now[i].mtime = st.st_mtim;
	}
	if (id[0] == '\0' || memcmp(now, cached, sizeof(now)) != 0) {
		if (digest(fd, id) != 0) {
			id[0] = '\0';
			return err_set(e, ERR_UNAVAILABLE, NULL,
				"mcp-sandbox cannot be read");
		}
		memcpy(cached, now, sizeof(now));
	}
	memcpy(out, id, sizeof(id));
	return 0;
}
