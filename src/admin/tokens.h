/* SPDX-License-Identifier: ISC */
/*
 * tokens: API tokens; printed once, kept as a digest.
 * Each function is a verb, see admin.h and mcp-admin(8).
 */
#ifndef ADMIN_TOKENS_H
#define ADMIN_TOKENS_H

#include "admin/admin.h"

admin_fn tokens_issue;
admin_fn tokens_list;
admin_fn tokens_revoke;

#endif
