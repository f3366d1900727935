/* SPDX-License-Identifier: ISC */
/*
 * Replays a corpus without libFuzzer: each file of the directory given, or
 * of tests/fuzz/corpus/NAME for a program fuzz_NAME, is one test of TAP
 * output.  A fault is a crash, as under libFuzzer.
 */
#include "base/compat.h"

#include <dirent.h>

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int
by_name(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int
replay(const char *dir, const char *name)
{
	uint8_t *data = NULL;
	size_t len = 0, cap = 0, n;
	char *path;
	FILE *f;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -1;
	f = fopen(path, "rb");
	free(path);
	if (f == NULL)
		return -1;
	do {
		if (cap - len < 65536) {
			cap += 65536;
			data = realloc(data, cap);
			assert(data != NULL);
		}
		n = fread(data + len, 1, cap - len, f);
		len += n;
	} while (n > 0);
	fclose(f);
	/* To size, so that a read beyond the end is one beyond the block. */
	data = realloc(data, len > 0 ? len : 1);
	assert(data != NULL);
	(void)LLVMFuzzerTestOneInput(data, len);
	free(data);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *src = getenv("MCP_SRC"), *name;
	struct dirent **entry;
	char dir[4096];
	int i, n, rc = 0;

	name = strrchr(argv[0], '/');
	name = name != NULL ? name + 1 : argv[0];
	if (strncmp(name, "fuzz_", 5) == 0)
		name += 5;
	if (argc > 1)
		(void)snprintf(dir, sizeof(dir), "%s", argv[1]);
	else
		(void)snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s",
			src != NULL ? src : ".", name);

	n = scandir(dir, &entry, by_name, alphasort);
	if (n <= 0) {
		printf("1..1\nnot ok 1 - no corpus in %s\n", dir);
		return EXIT_FAILURE;
	}
	printf("1..%d\n", n);
	for (i = 0; i < n; i++) {
		int failed;

		/* Before a crash, whose file this was. */
		printf("# %s\n", entry[i]->d_name);
		fflush(stdout);
		failed = replay(dir, entry[i]->d_name) != 0;
		printf("%sok %d - %s\n", failed ? "not " : "", i + 1,
			entry[i]->d_name);
		rc |= failed;
		free(entry[i]);
	}
	free(entry);
	return rc;
}
