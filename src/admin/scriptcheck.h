/* SPDX-License-Identifier: ISC */
/* scriptcheck: whether a script parses, before it is a tool. */
#ifndef ADMIN_SCRIPTCHECK_H
#define ADMIN_SCRIPTCHECK_H

#include "run/sandbox.h"

struct admin;
struct conf;
struct err;

/* As a responder with CONF runs programs. */
struct sandbox_limits scriptcheck_limits(const struct conf *conf);

/*
 * Nothing of the LEN bytes at BODY is run.  ERR_CONFLICT: they do not parse.
 * Where there is no sandbox that is noted, and no failure.
 */
MUST_CHECK int scriptcheck_run(
	struct admin *ad, const char *body, size_t len, struct err *e);

#endif
