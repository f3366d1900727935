/* SPDX-License-Identifier: ISC */
/*
 * orgs: organisations.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_ORGS_H
#define ADMIN_ORGS_H

#include "admin/admin.h"

admin_fn orgs_add;
admin_fn orgs_list;
admin_fn orgs_remove;

#endif
