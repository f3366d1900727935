/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/keyring.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/seal.h"

/* Nobody else may look into it, nor put a key of theirs there. */
static int
dir_check(const char *dir, struct stat *st, struct err *e)
{
	if (*dir != '/')
		return err_set(
			e, ERR_INVALID, NULL, "%s: not an absolute path", dir);
	if (stat(dir, st) != 0)
		return err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_CONFLICT,
			NULL, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st->st_mode))
		return err_set(
			e, ERR_CONFLICT, NULL, "%s: not a directory", dir);
	if ((st->st_mode & (S_IRWXO | S_IWGRP)) != 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"%s: others can look into it or change it: chmod 750 "
			"or 700",
			dir);
	return 0;
}

/* Whether there is anything that could be a key. */
static int
is_empty(const char *dir, bool *out, struct err *e)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;

	*out = true;
	if (d == NULL)
		return err_set(
			e, ERR_CONFLICT, NULL, "%s: %s", dir, strerror(errno));
	while ((entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.')
			*out = false;
	closedir(d);
	return 0;
}

/*
 * The responders open the directory as its owner, or by its group: whoever
 * made the key, it becomes theirs.
 */
static int
give(const char *dir, const char *key_id, const struct stat *st, struct err *e)
{
	mode_t mode = S_IRUSR | S_IWUSR |
		      ((st->st_mode & S_IRGRP) != 0 ? S_IRGRP : 0);
	AUTO_FD at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD fd = -1;

	if (at >= 0)
		fd = openat(at, key_id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 ||
		((geteuid() == 0 || st->st_gid != getegid()) &&
			fchown(fd, geteuid() == 0 ? st->st_uid : (uid_t)-1,
				st->st_gid) != 0) ||
		fchmod(fd, mode) != 0)
		return err_set(e, ERR_CONFLICT, NULL, "%s/%s: %s", dir, key_id,
			strerror(errno));
	return 0;
}

static int
add(const char *dir, const struct stat *st, struct err *e)
{
	char key_id[SEAL_KEY_ID_MAX + 1];
	struct seal *keys;

	if (seal_generate(dir, NULL, key_id, e) != 0 ||
		give(dir, key_id, st, e) != 0 ||
		seal_open(dir, &keys, e) != 0) {
		if (e->kind == ERR_INVALID)
			e->kind = ERR_CONFLICT;
		return -1;
	}
	puts(key_id);
	if (strcmp(seal_current(keys), key_id) != 0)
		admin_note("key %s added; %s is behind it and stays the "
			   "current one",
			key_id, seal_current(keys));
	else
		admin_note("key %s added, the current one; give it to every "
			   "host, by a way that nobody can listen to",
			key_id);
	seal_close(keys);
	return 0;
}

int
keyring_init(struct admin *ad UNUSED, char **argv, int n UNUSED, struct err *e)
{
	bool was_made = *argv[0] == '/' && mkdir(argv[0], S_IRWXU) == 0;
	struct stat st;
	bool is_new;

	if (!was_made && *argv[0] == '/' && errno != EEXIST)
		return err_set(e, ERR_CONFLICT, NULL, "%s: %s", argv[0],
			strerror(errno));
	if (dir_check(argv[0], &st, e) != 0 ||
		is_empty(argv[0], &is_new, e) != 0)
		return -1;
	if (!is_new)
		return err_set(e, ERR_CONFLICT, NULL,
			"%s: not empty; another key is added by mcp-admin "
			"keyring add",
			argv[0]);
	if (add(argv[0], &st, e) != 0)
		return -1;
	admin_note("next: keyring_dir = %s in mcp-fcgi.conf%s", argv[0],
		was_made && geteuid() == 0
			? ", and chown it to the responders' user"
			: "");
	return 0;
}

int
keyring_add(struct admin *ad UNUSED, char **argv, int n UNUSED, struct err *e)
{
	struct seal *keys;
	struct stat st;

	if (dir_check(argv[0], &st, e) != 0)
		return -1;
	/* A directory in disorder is not made better by one more key. */
	if (seal_open(argv[0], &keys, e) != 0) {
		e->kind = ERR_CONFLICT;
		return -1;
	}
	seal_close(keys);
	return add(argv[0], &st, e);
}
