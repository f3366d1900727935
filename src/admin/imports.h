/* SPDX-License-Identifier: ISC */
/*
 * imports: the tools of a source, from where its config says: the functions
 * of a database, an OpenAPI document, an upstream server.  Changes nothing.
 */
#ifndef ADMIN_IMPORTS_H
#define ADMIN_IMPORTS_H

struct admin;
struct err;

/* What was left out, and why. */
struct imports_remark {
	const char *what;
	const char *reason;
};

struct imports {
	const char *config; /* completed by what was found */
	const char *title;  /* may be NULL */
	const char *tools;  /* as source_import takes it */
	size_t n_tools;
	struct imports_remark *refused; /* tools */
	size_t n_refused;
	struct imports_remark *noted; /* parts of tools that are there */
	size_t n_noted;
	const char **hint; /* what else is to be done, for people */
	size_t n_hint;
};

/*
 * The tools of a source of KIND ("sql", "http", "mcp") and ORG with CONFIG.
 * *OUT lives in the arena.  Blocks as long as fetching takes.  Fails with
 * ERR_CONFLICT: there is nothing to import, or it is not what it should be.
 */
MUST_CHECK int imports_run(struct admin *ad, const char *org, const char *kind,
	const char *config, struct imports *out, struct err *e);

/* Counts and reasons to standard output. */
struct source_import;
void imports_print(struct admin *ad, const struct imports *m,
	const struct source_import *done, bool is_json);

#endif
