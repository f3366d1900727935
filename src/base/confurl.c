/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/confurl.h"

#include <arpa/inet.h>

static bool
is_host_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

/* Length of the host at the start of the LEN bytes at S; 0: none. */
static size_t
host_len(const char *s, size_t len)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr in6;
	size_t n;

	if (len > 0 && s[0] == '[') {
		for (n = 1; n < len && s[n] != ']'; n++)
			;
		if (n == len || n - 1 >= sizeof(address))
			return 0;
		memcpy(address, s + 1, n - 1);
		address[n - 1] = '\0';
		return inet_pton(AF_INET6, address, &in6) == 1 ? n + 1 : 0;
	}
	for (n = 0; n < len && is_host_char(s[n]); n++)
		;
	return n;
}

/* What follows the host: nothing, or a colon and a port. */
static bool
is_port(const char *s, size_t len)
{
	long port = 0;
	size_t i;

	if (len == 0)
		return true;
	if (s[0] != ':' || len < 2 || len > 6)
		return false;
	for (i = 1; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		port = port * 10 + (s[i] - '0');
	}
	return port > 0 && port <= 65535;
}

static bool
is_loopback(const char *host, size_t len)
{
	char address[INET_ADDRSTRLEN];
	struct in_addr in;

	if ((len == 9 && strncasecmp(host, "localhost", 9) == 0) ||
		(len == 5 && memcmp(host, "[::1]", 5) == 0))
		return true;
	if (len >= sizeof(address))
		return false;
	memcpy(address, host, len);
	address[len] = '\0';
	return inet_pton(AF_INET, address, &in) == 1 &&
		ntohl(in.s_addr) >> 24 == 127;
}

const char *
confurl_parse(const char *s, struct confurl *out)
{
	const char *p;

	out->is_https = strncmp(s, "https://", 8) == 0;
	if (!out->is_https && strncmp(s, "http://", 7) != 0)
		return "not an absolute URL (https://host/path)";
	for (p = s; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f || strchr("\"<>\\^`|", *p) != NULL)
			return "a URL has no such character";
		if (*p == '#')
			return "a fragment (#...) is not allowed";
	}
	out->authority = s + (out->is_https ? 8 : 7);
	out->authority_len = strcspn(out->authority, "/?");
	if (memchr(out->authority, '@', out->authority_len) != NULL)
		return "a user or password in a URL is not allowed";
	out->host_len = host_len(out->authority, out->authority_len);
	if (out->host_len == 0 ||
		!is_port(out->authority + out->host_len,
			out->authority_len - out->host_len))
		return "bad host or port";
	if (!out->is_https && !is_loopback(out->authority, out->host_len))
		return "must be https (http only on loopback hosts)";
	out->path = out->authority + out->authority_len;
	return NULL;
}

const char *
confurl_host(const char *s)
{
	size_t n = host_len(s, strlen(s));

	if (n == 0 || !is_port(s + n, strlen(s + n)))
		return "not a host or host:port";
	return NULL;
}

const char *
confurl_origin(const char *s)
{
	const char *host = strstr(s, "://");
	const char *p;

	if (strcmp(s, "null") == 0)
		return "null stands for every opaque origin: use *";
	if (host == NULL || host == s)
		return "not an origin (https://host[:port])";
	for (p = s; p < host; p++)
		if (!is_host_char(*p) && *p != '+')
			return "not an origin (https://host[:port])";
	return confurl_host(host + 3);
}

const char *
confurl_network(const char *s)
{
	const char *slash = strchr(s, '/');
	char address[INET6_ADDRSTRLEN];
	unsigned char bytes[16];
	size_t len, i;
	long bits = 0;
	int family;

	len = slash == NULL ? 0 : (size_t)(slash - s);
	if (len == 0 || len >= sizeof(address))
		return "not a network (address/bits)";
	memcpy(address, s, len);
	address[len] = '\0';
	family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
	if (inet_pton(family, address, bytes) != 1)
		return "not a network (address/bits)";
	if (slash[1] == '\0' || strlen(slash + 1) > 3)
		return "not a network (address/bits)";
	for (i = 1; slash[i] != '\0'; i++) {
		if (slash[i] < '0' || slash[i] > '9')
			return "not a network (address/bits)";
		bits = bits * 10 + (slash[i] - '0');
	}
	if (bits > (family == AF_INET ? 32 : 128))
		return "more bits than the address has";
	/* 10.1.2.3/8 is more likely a slip than a way to write 10.0.0.0/8. */
	for (i = (size_t)bits; i < (family == AF_INET ? 32 : 128); i++)
		if (bytes[i / 8] & 0x80 >> i % 8)
			return "bits are set beyond the network's prefix";
	return NULL;
}

static bool
is_secret_key(const char *key, size_t len)
{
	return (len == 8 && memcmp(key, "password", 8) == 0) ||
		(len == 11 && memcmp(key, "sslpassword", 11) == 0);
}

/* postgresql://user:password@host/db?key=value&... */
static bool
uri_has_password(const char *s)
{
	const char *p = strstr(s, "://") + 3;
	const char *at = memchr(p, '@', strcspn(p, "/?"));

	if (at != NULL && memchr(p, ':', (size_t)(at - p)) != NULL)
		return true;
	for (p = strchr(p, '?'); p != NULL; p = strchr(p, '&')) {
		size_t len;

		p++;
		len = strcspn(p, "=&");
		/* libpq decodes %XX here: an encoded key is nobody's need. */
		if (is_secret_key(p, len) || memchr(p, '%', len) != NULL)
			return true;
	}
	return false;
}

const char *
confurl_conninfo(const char *s)
{
	static const char refused[] =
		"a password here is not allowed: use a passfile or service";

	if (strncmp(s, "postgres://", 11) == 0 ||
		strncmp(s, "postgresql://", 13) == 0)
		return uri_has_password(s) ? refused : NULL;
	while (*(s += strspn(s, " \t\r\n")) != '\0') {
		size_t len = strcspn(s, "= \t\r\n");

		if (is_secret_key(s, len))
			return refused;
		s += len;
		s += strspn(s, " \t\r\n");
		if (*s != '=')
			return "not a conninfo string (key=value ...)";
		s++;
		s += strspn(s, " \t\r\n");
		if (*s == '\'') {
			for (s++; *s != '\'' && *s != '\0'; s++)
				if (*s == '\\' && s[1] != '\0')
					s++;
			if (*s == '\0')
				return "a quoted value does not end";
			s++;
			continue;
		}
		for (; *s != '\0' && strchr(" \t\r\n", *s) == NULL; s++)
			if (*s == '\\' && s[1] != '\0')
				s++;
	}
	return NULL;
}
