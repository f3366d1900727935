/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/method.h"

#include "base/buf.h"
#include "base/err.h"
#include "mcp/lifecycle.h"
#include "mcp/tools.h"
#include "rpc/msg.h"

typedef int call_fn(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e);

static const struct {
	const char *name;
	call_fn *fn;
} METHODS[] = {
	{ "ping", lifecycle_ping },
	{ "tools/call", tools_call },
	{ "tools/list", tools_list },
};

int
method_call(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e)
{
	size_t i;

	for (i = 0; i < NELEM(METHODS); i++)
		if (strcmp(m->method, METHODS[i].name) == 0)
			return METHODS[i].fn(c, m, result, e);
	err_set(e, ERR_INVALID, "Method not found", "unknown method");
	e->rpc_code = MSG_METHOD_NOT_FOUND;
	return -1;
}

int
method_notify(const struct method_caller *c, const struct msg *m,
	struct err *e)
{
	if (strcmp(m->method, "notifications/initialized") == 0)
		return lifecycle_initialized(c, e);
	return 0;
}

int
method_bad_params(struct err *e, const char *pub)
{
	err_set(e, ERR_INVALID, pub, "%s", pub);
	e->rpc_code = MSG_INVALID_PARAMS;
	return -1;
}
