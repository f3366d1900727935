/* SPDX-License-Identifier: ISC */
/*
 * executions: runs of programs, and the words that they wait for.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_EXECUTIONS_H
#define ADMIN_EXECUTIONS_H

#include "admin/admin.h"

admin_fn executions_list;
admin_fn executions_show;
admin_fn executions_approve;
admin_fn executions_decline;
admin_fn executions_cancel;

#endif
