/* SPDX-License-Identifier: ISC */
/*
 * tools: one tool of the catalogue, by its path.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_TOOLS_H
#define ADMIN_TOOLS_H

#include "admin/admin.h"

admin_fn tools_add; /* in tooladd.c */
admin_fn tools_list;
admin_fn tools_show;
admin_fn tools_remove;
admin_fn tools_enable;
admin_fn tools_disable;
admin_fn tools_list_in;
admin_fn tools_unlist;
admin_fn tools_approval;

/* ERR_NOTFOUND, and paths like PATH to standard error. */
int tools_absent(
	struct admin *ad, const char *org, const char *path, struct err *e);

#endif
