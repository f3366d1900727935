/* SPDX-License-Identifier: ISC */
/*
 * secrets: values that calls need, sealed with the keyring of this host.
 * Each function is a verb, see admin.h and mcp-admin(8).  A value is never
 * printed, nor taken from the command line.
 */
#ifndef ADMIN_SECRETS_H
#define ADMIN_SECRETS_H

#include "admin/admin.h"

admin_fn secrets_set;
admin_fn secrets_list;
admin_fn secrets_remove;
admin_fn secrets_rotate;

/* Whether NAME can name a secret. */
MUST_CHECK int secrets_check_name(const char *name, struct err *e);

#endif
