/* SPDX-License-Identifier: ISC */
/* authcheck: the doctor's look at the issuer and the membership source. */
#ifndef ADMIN_AUTHCHECK_H
#define ADMIN_AUTHCHECK_H

struct admin;
struct db;
struct fetch;

/* DB is the responder's, NULL when it cannot be used. */
void authcheck_keys(struct admin *ad, struct db *db, struct fetch *fetch);
void authcheck_membership(struct admin *ad, struct fetch *fetch);

#endif
