/* SPDX-License-Identifier: ISC */
/*
 * A configuration file.  What is refused names a place or a setting; what is
 * accepted keeps the order of timeouts and holds no password.
 */
#include "base/compat.h"
#include "base/conf.h"

#include "base/arena.h"
#include "base/confurl.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena *a = arena_new(256 << 20);
	struct err e = { 0 };
	struct confurl url;
	struct conf *c;

	if (conf_parse(a, "f", (const char *)data, len, CONF_FOR_FCGI, &c,
		&e) != 0) {
		if (e.kind != ERR_INVALID || e.detail[0] == '\0')
			abort();
	} else {
		if (confurl_parse(c->resource_url, &url) != NULL ||
			confurl_conninfo(c->database) != NULL ||
			c->resource_path[0] != '/' || c->audience.n == 0 ||
			c->allowed_hosts.n == 0 ||
			c->fetch_timeout_ms >= c->execute_wall_ms)
			abort();
	}
	arena_free(a);
	return 0;
}
