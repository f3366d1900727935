/* SPDX-License-Identifier: ISC */
/*
 * listed: tools of the catalogue that are in tools/list themselves, and the
 * namespaces that execute's description names.
 *
 * A tool's name is its path with what some clients refuse in names, dots and
 * dollars, made underscores; equal ones get a number, longer ones than 128
 * characters a digest.  A process keeps what it has written, by organisation
 * and catalogue version: another version is another text.
 */
#ifndef MCP_LISTED_H
#define MCP_LISTED_H

struct err;
struct listed_cache;
struct method_caller;

struct listed_cache *listed_cache_new(void);
void listed_cache_free(struct listed_cache *cache);

/*
 * Texts for tools/list, valid for this request: *INVENTORY for a description,
 * *TOOLS with a comma before each.  At most two round trips, none when they
 * are kept.
 */
MUST_CHECK int listed_get(const struct method_caller *c,
	const char **inventory, const char **tools, struct err *e);

/* The path that NAME, or the path itself, stands for; *PATH NULL: none. */
MUST_CHECK int listed_find(const struct method_caller *c, const char *name,
	const char **path, struct err *e);

#endif
