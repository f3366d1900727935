/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/err.h"

#include "base/buf.h"

static const struct {
	const char *name;
	const char *pub;
} KINDS[ERR__MAX] = {
	[ERR_NONE] = { "none", "" },
	[ERR_INVALID] = { "invalid", "Invalid request" },
	[ERR_UNAUTH] = { "unauth", "Unauthorized" },
	[ERR_FORBIDDEN] = { "forbidden", "Forbidden" },
	[ERR_NOTFOUND] = { "notfound", "Not found" },
	[ERR_CONFLICT] = { "conflict", "Conflict" },
	[ERR_LIMIT] = { "limit", "Limit exceeded" },
	[ERR_UNAVAILABLE] = { "unavailable",
		"Service temporarily unavailable - please retry" },
	[ERR_TIMEOUT] = { "timeout", "Timed out" },
	[ERR_INTERNAL] = { "internal", "Internal error" },
};

/* End S, filled to CAP - 1 bytes or less, at a character boundary. */
static void
cut(char *s, size_t cap, int written)
{
	if (written < 0)
		s[0] = '\0';
	else if ((size_t)written >= cap)
		s[buf_utf8_prefix(s, cap - 1, cap - 2)] = '\0';
}

int
err_set_at(struct err *e, enum err_kind kind, const char *pub, const char *at,
	const char *fmt, ...)
{
	va_list ap;
	int n;

	assert(kind > ERR_NONE && kind < ERR__MAX);
	e->kind = kind;
	e->rpc_code = 0;
	e->at = at;
	e->is_whole = false;
	va_start(ap, fmt);
	n = vsnprintf(e->detail, sizeof(e->detail), fmt, ap);
	va_end(ap);
	cut(e->detail, sizeof(e->detail), n);
	n = snprintf(e->pub, sizeof(e->pub), "%s",
		pub != NULL ? pub : KINDS[kind].pub);
	cut(e->pub, sizeof(e->pub), n);
	return -1;
}

int
err_wrap(struct err *e, const char *what)
{
	char was[sizeof(e->detail)];
	int n;

	if (e->is_whole)
		return -1;
	memcpy(was, e->detail, sizeof(was));
	n = snprintf(e->detail, sizeof(e->detail), "%s: %s", what, was);
	cut(e->detail, sizeof(e->detail), n);
	return -1;
}

int
err_whole(struct err *e)
{
	e->is_whole = true;
	return -1;
}

void
err_clear(struct err *e)
{
	memset(e, 0, sizeof(*e));
}

const char *
err_kind_name(enum err_kind kind)
{
	if (kind < ERR_NONE || kind >= ERR__MAX)
		return "unknown";
	return KINDS[kind].name;
}
