/* SPDX-License-Identifier: ISC */
/*
 * members: who belongs to which organisation (membership = sql).
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_MEMBERS_H
#define ADMIN_MEMBERS_H

#include "admin/admin.h"

admin_fn members_add;
admin_fn members_list;
admin_fn members_remove;

#endif
