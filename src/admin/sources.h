/* SPDX-License-Identifier: ISC */
/*
 * sources: where an organisation's tools come from.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_SOURCES_H
#define ADMIN_SOURCES_H

#include "admin/admin.h"

admin_fn sources_add_script;
admin_fn sources_list;
admin_fn sources_show;
admin_fn sources_remove;
admin_fn sources_enable;
admin_fn sources_disable;

/* Those that import are in sourceadd.c. */
admin_fn sources_add_sql;
admin_fn sources_add_openapi;
admin_fn sources_add_mcp;
admin_fn sources_refresh;

/* Whether ORG and NAME can name a source. */
MUST_CHECK int sources_check(const char *org, const char *name, struct err *e);

/* Fails with ERR_CONFLICT when there is a source NAME. */
MUST_CHECK int sources_absent(
	struct admin *ad, const char *org, const char *name, struct err *e);

#endif
