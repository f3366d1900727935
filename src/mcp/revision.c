/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/revision.h"

static const char *const NAMES[REVISION__MAX] = {
	[REVISION_2024_11_05] = "2024-11-05",
	[REVISION_2025_03_26] = "2025-03-26",
	[REVISION_2025_06_18] = "2025-06-18",
	[REVISION_2025_11_25] = "2025-11-25",
};

const char *
revision_name(enum revision r)
{
	assert(r < REVISION__MAX);
	return NAMES[r];
}

bool
revision_find(const char *name, enum revision *out)
{
	int r;

	for (r = 0; r < REVISION__MAX; r++)
		if (strcmp(name, NAMES[r]) == 0) {
			*out = (enum revision)r;
			return true;
		}
	return false;
}

enum revision
revision_negotiate(const char *name)
{
	enum revision r;

	return revision_find(name, &r) ? r : REVISION_NEWEST;
}

const char *
revision_list_json(void)
{
	return "[\"2025-11-25\",\"2025-06-18\",\"2025-03-26\","
	       "\"2024-11-05\"]";
}
