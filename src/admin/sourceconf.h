/* SPDX-License-Identifier: ISC */
/*
 * sourceconf: source.config from the command line, see run/tool_sql.h and
 * run/outbound.h.  What a refresh needs is in it, too:
 *
 * sql: "import": [{"schema", "pattern": as in LIKE}]
 * http: "document": absolute path or URL
 */
#ifndef ADMIN_SOURCECONF_H
#define ADMIN_SOURCECONF_H

struct admin;
struct cJSON;
struct err;

/* *OUT in the arena.  ERR_INVALID: an option is wrong. */
MUST_CHECK int sourceconf_sql(
	struct admin *ad, const char **out, struct err *e);
/* WHERE: the document, or the server's URL. */
MUST_CHECK int sourceconf_openapi(
	struct admin *ad, const char *where, const char **out, struct err *e);
MUST_CHECK int sourceconf_mcp(
	struct admin *ad, const char *where, const char **out, struct err *e);

/* A file's absolute path; a URL as it is. */
MUST_CHECK int sourceconf_document(
	struct admin *ad, const char *where, const char **out, struct err *e);

MUST_CHECK int sourceconf_parse(struct admin *ad, const char *config,
	struct cJSON **out, struct err *e);

/* CONFIG with its member NAME being the string VALUE, in the arena. */
const char *sourceconf_with(struct admin *ad, const struct cJSON *config,
	const char *name, const char *value);

/* Names to standard error the secrets of CONFIG that ORG does not have. */
MUST_CHECK int sourceconf_note(
	struct admin *ad, const char *org, const char *config, struct err *e);

#endif
