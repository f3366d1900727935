/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/options.h"

#include <getopt.h>
#include <stddef.h>

#include "admin/admin.h"

/* Where an option's argument goes. */
enum kind { FLAG, TEXT, LIST };

#define FLAG_ROW(name, bit)                                                    \
	{                                                                      \
		name, bit, FLAG, 0                                             \
	}
#define TEXT_ROW(name, bit, field)                                             \
	{                                                                      \
		name, bit, TEXT, offsetof(struct admin, field)                 \
	}
#define LIST_ROW(name, bit, field)                                             \
	{                                                                      \
		name, bit, LIST, offsetof(struct admin, field)                 \
	}

static const struct row {
	const char *name;
	uint64_t bit;
	enum kind kind;
	size_t offset;
} ROWS[] = {
	FLAG_ROW("json", ADMIN_OPT_JSON),
	FLAG_ROW("all", ADMIN_OPT_ALL),
	FLAG_ROW("check", ADMIN_OPT_CHECK),
	TEXT_ROW("dir", ADMIN_OPT_DIR, dir),
	TEXT_ROW("name", ADMIN_OPT_NAME, name),
	TEXT_ROW("ttl", ADMIN_OPT_TTL, ttl),
	TEXT_ROW("org", ADMIN_OPT_ORG, org),
	TEXT_ROW("account", ADMIN_OPT_ACCOUNT, account),
	TEXT_ROW("limit", ADMIN_OPT_LIMIT, limit),
	FLAG_ROW("revoke", ADMIN_OPT_REVOKE),
	FLAG_ROW("external", ADMIN_OPT_EXTERNAL),
	TEXT_ROW("workers", ADMIN_OPT_WORKERS, workers),
	TEXT_ROW("title", ADMIN_OPT_TITLE, title),
	TEXT_ROW("service", ADMIN_OPT_SERVICE, service),
	TEXT_ROW("role", ADMIN_OPT_ROLE, role),
	LIST_ROW("schema", ADMIN_OPT_SCHEMA, schema),
	LIST_ROW("function", ADMIN_OPT_FUNCTION, function),
	TEXT_ROW("timeout-ms", ADMIN_OPT_TIMEOUT, timeout),
	TEXT_ROW("max-rows", ADMIN_OPT_ROWS, rows),
	TEXT_ROW("base-url", ADMIN_OPT_BASE_URL, base_url),
	LIST_ROW("header", ADMIN_OPT_HEADER, header),
	LIST_ROW("query", ADMIN_OPT_QUERY, query),
	LIST_ROW("allow", ADMIN_OPT_ALLOW, allow),
	TEXT_ROW("source", ADMIN_OPT_SOURCE, source),
	TEXT_ROW("description", ADMIN_OPT_DESCRIPTION, description),
	TEXT_ROW("input-schema", ADMIN_OPT_INPUT, input),
	TEXT_ROW("output-schema", ADMIN_OPT_OUTPUT, output),
	FLAG_ROW("listed", ADMIN_OPT_LISTED),
	FLAG_ROW("read-only", ADMIN_OPT_READ_ONLY),
	FLAG_ROW("destructive", ADMIN_OPT_DESTRUCTIVE),
	TEXT_ROW("before", ADMIN_OPT_BEFORE, before),
	TEXT_ROW("position", ADMIN_OPT_POSITION, position),
	TEXT_ROW("note", ADMIN_OPT_NOTE, note),
	TEXT_ROW("status", ADMIN_OPT_STATUS, status_wanted),
	TEXT_ROW("seq", ADMIN_OPT_SEQ, seq),
};

/* What getopt answers for row 0: behind every character. */
enum { ROW_0 = 256 };

static bool
take(struct admin *ad, const struct row *r, const char *argument)
{
	void *field = (char *)ad + r->offset;
	struct admin_list *list = field;

	ad->given |= r->bit;
	if (r->kind == TEXT) {
		*(const char **)field = argument;
	} else if (r->kind == LIST) {
		if (list->n == ADMIN_LIST_MAX) {
			admin_note("--%s is given more than %d times", r->name,
				ADMIN_LIST_MAX);
			return false;
		}
		list->item[list->n++] = argument;
	}
	return true;
}

enum options_outcome
options_parse(int argc, char **argv, struct admin *ad)
{
	static const struct option COMMON[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "database", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
	};
	struct option all[NELEM(COMMON) + NELEM(ROWS) + 1] = { 0 };
	size_t i;
	int c;

	memcpy(all, COMMON, sizeof(COMMON));
	for (i = 0; i < NELEM(ROWS); i++)
		all[NELEM(COMMON) + i] = (struct option){ ROWS[i].name,
			ROWS[i].kind == FLAG ? no_argument : required_argument,
			NULL, ROW_0 + (int)i };
	while ((c = getopt_long(argc, argv, "c:d:hV", all, NULL)) != -1) {
		if (c >= ROW_0) {
			if (!take(ad, &ROWS[c - ROW_0], optarg))
				return OPTIONS_BAD;
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
