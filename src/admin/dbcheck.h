/* SPDX-License-Identifier: ISC */
/* dbcheck: the doctor's look at the database. */
#ifndef ADMIN_DBCHECK_H
#define ADMIN_DBCHECK_H

struct admin;
struct db;

/*
 * As the responder's role, by the key "database": schema, privileges, clock,
 * connections (WORKERS, 0: as many as are connected now).  False when
 * nothing more can be learnt through DB.
 */
bool dbcheck_responder(struct admin *ad, struct db *db, int64_t workers);

/* As administrator, by admin_database or -d: the reaper. */
void dbcheck_reaper(struct admin *ad, struct db *db);

#endif
