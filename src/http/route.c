/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "http/route.h"

#include "http/req.h"

#define METHODS_ENDPOINT (REQ_GET | REQ_POST | REQ_DELETE | REQ_OPTIONS)
#define METHODS_DOCUMENT (REQ_GET | REQ_HEAD | REQ_OPTIONS)

static const struct route NONE = { ROUTE_NONE, 0, "" };
static const struct route ENDPOINT = { ROUTE_ENDPOINT, METHODS_ENDPOINT,
	"GET, POST, DELETE, OPTIONS" };

static const struct {
	const char *well_known;
	struct route route;
} DOCUMENTS[] = {
	{ "/.well-known/oauth-protected-resource",
		{ ROUTE_RESOURCE, METHODS_DOCUMENT, "GET, HEAD, OPTIONS" } },
	{ "/.well-known/oauth-authorization-server",
		{ ROUTE_ISSUER, METHODS_DOCUMENT, "GET, HEAD, OPTIONS" } },
};

/* Whether PATH is ENDPOINT, with or without one slash at its end. */
static bool
is_endpoint(const char *path, const char *endpoint)
{
	size_t len = strlen(endpoint);

	return strncmp(path, endpoint, len) == 0 &&
		(path[len] == '\0' || strcmp(path + len, "/") == 0);
}

const struct route *
route_find(const char *path, const char *endpoint_path)
{
	size_t i, len, endpoint_len = strlen(endpoint_path);
	const char *w;

	if (is_endpoint(path, endpoint_path))
		return &ENDPOINT;
	for (i = 0; i < NELEM(DOCUMENTS); i++) {
		w = DOCUMENTS[i].well_known;
		len = strlen(w);
		/* Root form, and before the path (RFC 9728 3.1). */
		if (strncmp(path, w, len) == 0 &&
			(path[len] == '\0' ||
				is_endpoint(path + len, endpoint_path)))
			return &DOCUMENTS[i].route;
		/* Below the endpoint. */
		if (strncmp(path, endpoint_path, endpoint_len) == 0 &&
			strcmp(path + endpoint_len, w) == 0)
			return &DOCUMENTS[i].route;
	}
	return &NONE;
}
