/* SPDX-License-Identifier: ISC */
/* Prints each setting: name, default, programs. */
#include "base/compat.h"
#include "base/conf.h"

int
main(void)
{
	char line[256];
	size_t i;

	for (i = 0; conf_row(i, line, sizeof(line)) != NULL; i++)
		puts(line);
	return EXIT_SUCCESS;
}
