/* SPDX-License-Identifier: ISC */
/*
 * source: changing the catalogue, for mcp-admin.  Effect on the next request,
 * on every host.
 */
#ifndef STORE_SOURCE_H
#define STORE_SOURCE_H

struct arena;
struct db;
struct db_res;
struct err;

struct source {
	const char *organization_id;
	const char *name;
	const char *kind;   /* script, sql, http, mcp */
	const char *title;  /* may be NULL */
	const char *config; /* JSON object */
};

/*
 * Add a source or change its title and config; *ID.  ERR_CONFLICT: there is
 * one of that name and another kind.  ERR_INVALID: a name or config that the
 * row does not take.
 */
MUST_CHECK int source_save(struct db *db, struct arena *a,
	const struct source *s, int64_t *id, struct err *e);

/* One row: source_id, kind, title, config, is_enabled; or none. */
enum { SOURCE_FIND_COLUMNS = 5 };
MUST_CHECK int source_find(struct db *db, struct arena *a,
	const char *organization_id, const char *name, struct db_res *out,
	struct err *e);

/* Remove it with its tools. */
MUST_CHECK int source_remove(struct db *db, struct arena *a,
	const char *organization_id, const char *name, bool *was_there,
	struct err *e);
MUST_CHECK int source_enable(struct db *db, struct arena *a,
	const char *organization_id, const char *name, bool is_enabled,
	bool *was_there, struct err *e);

struct source_import {
	int64_t added;
	int64_t changed;
	int64_t removed;
};

/*
 * Make TOOLS the tools of source ID, in one transaction: a JSON array of
 * objects {name, title?, description?, input_schema?, output_schema?,
 * annotations?, definition?, needs_approval?, approval_text?, is_listed?}.
 * Schemas are kept byte for byte.  Tools that stay keep is_listed and
 * is_enabled.  ERR_INVALID: a name twice, or a value the row does not take.
 */
MUST_CHECK int source_import(struct db *db, struct arena *a, int64_t id,
	const char *tools, struct source_import *out, struct err *e);

/* Add one tool to source ID or replace it: TOOL is such an object. */
MUST_CHECK int source_tool_save(struct db *db, struct arena *a, int64_t id,
	const char *tool, bool *is_new, struct err *e);
MUST_CHECK int source_tool_remove(struct db *db, struct arena *a,
	const char *organization_id, const char *path, bool *was_there,
	struct err *e);
/* Each of the two may be NULL: as it is. */
MUST_CHECK int source_tool_set(struct db *db, struct arena *a,
	const char *organization_id, const char *path, const bool *is_listed,
	const bool *is_enabled, bool *was_there, struct err *e);

/*
 * A tool as it is, whether programs see it or not: path, kind, title,
 * description, is_listed, is_enabled, source_enabled, action (approve,
 * require_approval, block), needs_approval, approval_text, updated_at,
 * annotations, input_schema, output_schema, definition; one row or none
 */
enum { SOURCE_TOOL_FIND_COLUMNS = 15 };
MUST_CHECK int source_tool_find(struct db *db, struct arena *a,
	const char *organization_id, const char *path, struct db_res *out,
	struct err *e);

/* Whether ROLE of this database can do what no tool may: it is a superuser's,
 * or reaches the schema mcp.  False where there is no such role. */
MUST_CHECK int source_role_is_ours(struct db *db, struct arena *a,
	const char *role, bool *out, struct err *e);

/* organization_id, name, kind, title, is_enabled, tools, refreshed_at;
 * ORGANIZATION_ID NULL: of all */
enum { SOURCE_LIST_COLUMNS = 7 };
MUST_CHECK int source_list(struct db *db, struct arena *a,
	const char *organization_id, struct db_res *out, struct err *e);

/* path, kind, is_listed, is_enabled, action (approve, require_approval,
 * block), title; SOURCE NULL: of all sources */
enum { SOURCE_TOOL_LIST_COLUMNS = 6 };
MUST_CHECK int source_tool_list(struct db *db, struct arena *a,
	const char *organization_id, const char *source, struct db_res *out,
	struct err *e);

#endif
