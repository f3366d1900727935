/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "net/header.h"

bool
header_is_valid(const char *name, const char *value)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789"
				  "!#$%&'*+-.^_`|~");

	if (len == 0 || name[len] != '\0')
		return false;
	for (; *value != '\0'; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') ||
			*value == 0x7f)
			return false;
	return true;
}

bool
header_is_reserved(const char *name)
{
	static const char *const names[] = { "Host", "Content-Length",
		"Transfer-Encoding", "Connection", "Keep-Alive", "TE",
		"Trailer", "Upgrade", "Expect", "HTTP2-Settings", "Cookie",
		"Accept-Encoding" };
	size_t i;

	for (i = 0; i < NELEM(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return strncasecmp(name, "Proxy-", 6) == 0 ||
	       strcasecmp(name, "Proxy") == 0;
}

/*
 * Read a parameter's value, quoted or not, at P: its length, and OUT as much of
 * it as there is room for.  *END: what comes after it.
 */
static size_t
read_value(const char *p, char *out, size_t size, const char **end)
{
	bool is_quoted = *p == '"';
	size_t n = 0;

	p += is_quoted;
	for (; *p != '\0'; p++, n++) {
		if (strchr(is_quoted ? "\"" : " \t,", *p) != NULL)
			break;
		if (is_quoted && *p == '\\' && p[1] != '\0')
			p++;
		if (n < size)
			out[n] = *p;
	}
	*end = p + (is_quoted && *p == '"');
	return n;
}

bool
header_auth_param(const char *value, const char *name, char *out, size_t size)
{
	const char *p = value, *token;
	size_t len, n;

	for (;;) {
		token = p += strspn(p, " \t,=");
		if (*p == '\0')
			return false;
		p += len = strcspn(p, " \t,=\"");
		n = strspn(p, " \t");
		if (p[n] != '=' && *p != '"')
			continue; /* a scheme */
		p += n;
		if (*p == '=')
			p += 1 + strspn(p + 1, " \t");
		n = read_value(p, out, size, &p);
		if (len != strlen(name) || strncasecmp(token, name, len) != 0)
			continue;
		if (n < size)
			out[n] = '\0';
		return n < size;
	}
}
