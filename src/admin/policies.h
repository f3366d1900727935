/* SPDX-License-Identifier: ISC */
/*
 * policies: which calls run unasked, are asked about, or blocked.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_POLICIES_H
#define ADMIN_POLICIES_H

#include "admin/admin.h"

admin_fn policies_add;
admin_fn policies_list;
admin_fn policies_remove;
admin_fn policies_test;

#endif
