/* SPDX-License-Identifier: ISC */
/* verbs: what mcp-admin can be told, one row each. */
#ifndef ADMIN_VERBS_H
#define ADMIN_VERBS_H

#include "admin/admin.h"

/* What a verb needs before it runs. */
enum verbs_need { VERBS_NOTHING, VERBS_DATABASE, VERBS_SCHEMA };

struct verb {
	const char *words; /* "token issue" */
	int args_min, args_max;
	uint64_t allow; /* options */
	enum verbs_need need;
	admin_fn *fn;
	const char *usage; /* what follows the words */
};

/*
 * The verb that ARGV of N words begins with; *SKIP are its words.  NULL, after
 * a message, when there is none, or not with these arguments and options.
 */
const struct verb *verbs_find(
	const struct admin *ad, char **argv, int n, int *skip);

void verbs_usage(FILE *f);

#endif
