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
