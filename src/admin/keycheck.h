/* SPDX-License-Identifier: ISC */
/* keycheck: the doctor's look at the keyring and at what it must open. */
#ifndef ADMIN_KEYCHECK_H
#define ADMIN_KEYCHECK_H

struct admin;
struct db;

/* DB is the administrator's; NULL: the database is not usable. */
void keycheck_run(struct admin *ad, struct db *db);

#endif
