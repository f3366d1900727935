/* SPDX-License-Identifier: ISC */
/*
 * migrate: the database's schema.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_MIGRATE_H
#define ADMIN_MIGRATE_H

#include "admin/admin.h"

admin_fn migrate_run;

#endif
