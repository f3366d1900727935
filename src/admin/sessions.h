/* SPDX-License-Identifier: ISC */
/*
 * sessions: sessions, live and ended.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_SESSIONS_H
#define ADMIN_SESSIONS_H

#include "admin/admin.h"

admin_fn sessions_kill;
admin_fn sessions_list;
admin_fn sessions_show;

#endif
