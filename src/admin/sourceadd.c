/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/sources.h"

#include "admin/imports.h"
#include "admin/sourceconf.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/db.h"
#include "store/source.h"

/*
 * Put the tools of M under source S, new or not, in the transaction that is
 * open, and end it.
 */
static int
store(struct admin *ad, const struct source *s, const struct imports *m,
	const char *done, struct err *e)
{
	struct source_import counts;
	int64_t id;

	if (source_save(ad->db, ad->arena, s, &id, e) != 0 ||
		source_import(ad->db, ad->arena, id, m->tools, &counts, e) != 0)
		return admin_refused(ad, e);
	if (admin_commit(ad, s->organization_id, NULL, e) != 0)
		return -1;
	imports_print(ad, m, &counts, (ad->given & ADMIN_OPT_JSON) != 0);
	admin_note("source %s %s", s->name, done);
	return sourceconf_note(ad, s->organization_id, s->config, e);
}

/* What was refused is told, nothing is changed. */
static int
check_some(struct admin *ad, const struct imports *m, struct err *e)
{
	if (m->n_tools > 0)
		return 0;
	imports_print(ad, m, NULL, (ad->given & ADMIN_OPT_JSON) != 0);
	return err_set(e, ERR_CONFLICT, NULL,
		"there is no tool to import; nothing is changed");
}

/* Nothing is locked while others are asked. */
static int
add(struct admin *ad, char **argv, const char *kind, const char *config,
	struct err *e)
{
	struct source s = { argv[0], argv[1], kind, ad->title, NULL };
	struct imports m;

	if (sources_absent(ad, argv[0], argv[1], e) != 0 ||
		imports_run(ad, argv[0], kind, config, &m, e) != 0 ||
		check_some(ad, &m, e) != 0)
		return -1;
	s.config = m.config;
	if (s.title == NULL)
		s.title = m.title;
	if (admin_begin(ad, e) != 0 ||
		sources_absent(ad, argv[0], argv[1], e) != 0)
		return -1;
	return store(ad, &s, &m, "added", e);
}

static int
check(struct admin *ad, char **argv, struct err *e)
{
	if (sources_check(argv[0], argv[1], e) != 0)
		return -1;
	return ad->title == NULL
		       ? 0
		       : admin_check_text("--title", ad->title, 512, e);
}

int
sources_add_sql(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	const char *config;

	if (check(ad, argv, e) != 0 || sourceconf_sql(ad, &config, e) != 0)
		return -1;
	return add(ad, argv, "sql", config, e);
}

int
sources_add_openapi(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	const char *config;

	if (check(ad, argv, e) != 0 ||
		sourceconf_openapi(ad, argv[2], &config, e) != 0)
		return -1;
	return add(ad, argv, "http", config, e);
}

int
sources_add_mcp(struct admin *ad, char **argv, int n UNUSED, struct err *e)
{
	const char *config;

	if (check(ad, argv, e) != 0 ||
		sourceconf_mcp(ad, argv[2], &config, e) != 0)
		return -1;
	return add(ad, argv, "mcp", config, e);
}

/* The source as it is; CONFIG with the document WHERE, if that is given. */
static int
find(struct admin *ad, char **argv, const char *where, struct source *s,
	struct err *e)
{
	const char *document;
	struct cJSON *v;
	struct db_res r;

	if (source_find(ad->db, ad->arena, argv[0], argv[1], &r, e) != 0)
		return -1;
	if (r.n_rows == 0)
		return err_set(e, ERR_NOTFOUND, NULL,
			"no source %.64s in %.96s", argv[1], argv[0]);
	*s = (struct source){ argv[0], argv[1], db_text(&r, 0, 1),
		db_text(&r, 0, 2), db_text(&r, 0, 3) };
	if (strcmp(s->kind, "script") == 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"the tools of %s are scripts: mcp-admin tool add",
			argv[1]);
	if (where == NULL)
		return 0;
	if (strcmp(s->kind, "http") != 0)
		return err_set(e, ERR_INVALID, NULL,
			"only an OpenAPI source has a document");
	if (sourceconf_document(ad, where, &document, e) != 0 ||
		sourceconf_parse(ad, s->config, &v, e) != 0)
		return -1;
	s->config = sourceconf_with(ad, v, "document", document);
	return 0;
}

int
sources_refresh(struct admin *ad, char **argv, int n, struct err *e)
{
	const char *where = n > 2 ? argv[2] : NULL;
	struct source s, now;
	struct imports m;

	if (find(ad, argv, where, &s, e) != 0 ||
		imports_run(ad, argv[0], s.kind, s.config, &m, e) != 0 ||
		check_some(ad, &m, e) != 0 || admin_begin(ad, e) != 0)
		return -1;
	/* It may have been removed or changed meanwhile. */
	if (find(ad, argv, where, &now, e) != 0)
		return -1;
	if (strcmp(now.kind, s.kind) != 0 || strcmp(now.config, s.config) != 0)
		return err_set(e, ERR_CONFLICT, NULL,
			"source %s was changed meanwhile: try again", argv[1]);
	now.config = m.config;
	return store(ad, &now, &m, "refreshed", e);
}
