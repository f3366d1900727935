/* SPDX-License-Identifier: ISC */
/*
 * catalog: the tools of an organisation as a program sees them.  What is
 * disabled or blocked is not there.  store/source.h and store/policy.h change
 * the catalogue.
 */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

struct arena;
struct db;
struct err;

enum catalog_outcome { CATALOG_OK, CATALOG_NOT_FOUND, CATALOG_BLOCKED };

enum catalog_kind {
	CATALOG_SCRIPT,
	CATALOG_SQL,
	CATALOG_HTTP,
	CATALOG_MCP,
	CATALOG_KIND__MAX
};

/* "script", "sql", "http", "mcp" */
const char *catalog_kind_name(enum catalog_kind kind);
/* 0, or -1 when NAME is none of them. */
MUST_CHECK int catalog_kind_parse(const char *name, enum catalog_kind *out);

/* What is JSON is so as text; schemas and annotations as imported, byte for
 * byte. */
struct catalog_tool {
	int64_t tool_id;
	int64_t source_id;
	enum catalog_kind kind;
	const char *source;	   /* the source's name */
	const char *name;	   /* within the source */
	const char *path;
	const char *title;	   /* may be NULL */
	const char *description;   /* may be NULL */
	const char *config;	   /* the source's, JSON */
	const char *definition;	   /* JSON */
	const char *input_schema;  /* JSON */
	const char *output_schema; /* JSON; NULL: unknown */
	const char *annotations;   /* JSON */
	bool needs_approval;	   /* the decision: policy, else the tool's own */
	const char *policy;	   /* pattern that decided; NULL: none did */
	const char *approval_text; /* NULL: make one from the path */
};

/*
 * The tool at PATH and the decision on a call of it, in one round trip.
 * CATALOG_OK fills *OUT; CATALOG_BLOCKED its path and policy.  Otherwise
 * *SUGGESTIONS (may be NULL) is a JSON array of at most five paths.
 */
MUST_CHECK int catalog_find(struct db *db, struct arena *a,
	const char *organization_id, const char *path,
	enum catalog_outcome *outcome, struct catalog_tool *out,
	const char **suggestions, struct err *e);

/*
 * Tools of tools/list, by path: path, title, description, schemas and
 * annotations are set.  struct session of store/session.h says whether there
 * are any, and by its catalog_version whether they have changed.
 */
MUST_CHECK int catalog_listed(struct db *db, struct arena *a,
	const char *organization_id, struct catalog_tool **out, size_t *n,
	struct err *e);

struct catalog_query {
	const char *query;	/* NULL, "": all of the namespace */
	const char *name_space; /* first words of the path; NULL: any */
	int64_t limit;
	int64_t offset;
};

/*
 * A page of what fits, best first, equals by path.  *ITEMS is a JSON array of
 * {path,name,title?,description?,sourceId,score}; *TOTAL counts all pages.
 */
MUST_CHECK int catalog_search(struct db *db, struct arena *a,
	const char *organization_id, const struct catalog_query *q,
	int64_t *total, const char **items, struct err *e);

struct catalog_source {
	const char *name;
	const char *title; /* may be NULL */
	enum catalog_kind kind;
	int64_t n_tools;
};

/* Namespaces with visible tools, by name. */
MUST_CHECK int catalog_sources(struct db *db, struct arena *a,
	const char *organization_id, struct catalog_source **out, size_t *n,
	struct err *e);

#endif
