/* SPDX-License-Identifier: ISC */
/*
 * keyring: the directory of keys that seal secrets and waiting runs.
 * Each function is a verb, see admin.h, mcp-admin(8) and base/seal.h.
 */
#ifndef ADMIN_KEYRING_H
#define ADMIN_KEYRING_H

#include "admin/admin.h"

admin_fn keyring_init;
admin_fn keyring_add;

#endif
