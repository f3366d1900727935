/* SPDX-License-Identifier: ISC */
/* options: the command line of mcp-admin, into struct admin. */
#ifndef ADMIN_OPTIONS_H
#define ADMIN_OPTIONS_H

struct admin;

enum options_outcome {
	OPTIONS_OK, /* optind is at the verb */
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_BAD /* getopt has said why */
};

enum options_outcome options_parse(int argc, char **argv, struct admin *ad);

#endif
