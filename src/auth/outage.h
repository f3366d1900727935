/* SPDX-License-Identifier: ISC */
/* outage: the one answer to "who this is cannot be decided now". */
#ifndef AUTH_OUTAGE_H
#define AUTH_OUTAGE_H

#include "base/err.h"

/*
 * Turn the failure in E into ERR_UNAVAILABLE, keeping its detail for the log
 * after "what: ".  Returns -1.
 */
static inline int
outage(struct err *e, const char *what)
{
	err_wrap(e, what);
	e->kind = ERR_UNAVAILABLE;
	e->rpc_code = 0;
	snprintf(e->pub, sizeof(e->pub), "%s",
		"Authentication temporarily unavailable - please retry");
	return -1;
}

#endif
