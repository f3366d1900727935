/* SPDX-License-Identifier: ISC */
/*
 * webcheck: the doctor's look at the endpoint through its web server, at the
 * public URL, as a client would.
 */
#ifndef ADMIN_WEBCHECK_H
#define ADMIN_WEBCHECK_H

struct admin;

/* IS_EXTERNAL: also what hosted clients need (field report B-38). */
void webcheck_run(struct admin *ad, bool is_external);

#endif
