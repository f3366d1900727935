/* SPDX-License-Identifier: ISC */
/*
 * login: SQL that makes a login role for one of the programs, to look at
 * first and then to give to psql.  No database is needed.
 */
#ifndef ADMIN_LOGIN_H
#define ADMIN_LOGIN_H

#include "admin/admin.h"

admin_fn login_role;

#endif
