/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/options.h"

#include <getopt.h>

#include "admin/admin.h"

/* Where the argument of option BIT goes, NULL for one without. */
static const char **
argument_of(struct admin *ad, int bit)
{
	switch (bit) {
	case ADMIN_OPT_DIR:
		return &ad->dir;
	case ADMIN_OPT_NAME:
		return &ad->name;
	case ADMIN_OPT_TTL:
		return &ad->ttl;
	case ADMIN_OPT_ORG:
		return &ad->org;
	case ADMIN_OPT_ACCOUNT:
		return &ad->account;
	case ADMIN_OPT_LIMIT:
		return &ad->limit;
	case ADMIN_OPT_WORKERS:
		return &ad->workers;
	default:
		return NULL;
	}
}

enum options_outcome
options_parse(int argc, char **argv, struct admin *ad)
{
	static const struct option LONG[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "database", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "json", no_argument, NULL, ADMIN_OPT_JSON },
		{ "all", no_argument, NULL, ADMIN_OPT_ALL },
		{ "check", no_argument, NULL, ADMIN_OPT_CHECK },
		{ "dir", required_argument, NULL, ADMIN_OPT_DIR },
		{ "name", required_argument, NULL, ADMIN_OPT_NAME },
		{ "ttl", required_argument, NULL, ADMIN_OPT_TTL },
		{ "org", required_argument, NULL, ADMIN_OPT_ORG },
		{ "account", required_argument, NULL, ADMIN_OPT_ACCOUNT },
		{ "limit", required_argument, NULL, ADMIN_OPT_LIMIT },
		{ "revoke", no_argument, NULL, ADMIN_OPT_REVOKE },
		{ "external", no_argument, NULL, ADMIN_OPT_EXTERNAL },
		{ "workers", required_argument, NULL, ADMIN_OPT_WORKERS },
		{ NULL, 0, NULL, 0 },
	};
	const char **argument;
	int c;

	while ((c = getopt_long(argc, argv, "c:d:hV", LONG, NULL)) != -1) {
		if (c >= ADMIN_OPT_JSON) {
			ad->given |= (unsigned)c;
			if ((argument = argument_of(ad, c)) != NULL)
				*argument = optarg;
		} else if (c == 'c') {
			ad->file = optarg;
		} else if (c == 'd') {
			/* Counts before the file; judged as the key is. */
			setenv("MCP_FCGI_ADMIN_DATABASE", optarg, 1);
		} else {
			return c == 'h'	  ? OPTIONS_HELP
			       : c == 'V' ? OPTIONS_VERSION
					  : OPTIONS_BAD;
		}
	}
	return OPTIONS_OK;
}
