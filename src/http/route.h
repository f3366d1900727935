/* SPDX-License-Identifier: ISC */
/*
 * route: which resource a path names and which methods it has.
 *
 * The metadata is found under every name that clients try (field report
 * B-28): RFC 9728 3.1 puts the well-known part before the path, some look at
 * the host's root, some below the endpoint.
 */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

enum route_kind {
	ROUTE_NONE,	 /* not ours */
	ROUTE_ENDPOINT,	 /* the MCP endpoint */
	ROUTE_RESOURCE,	 /* protected resource metadata (RFC 9728) */
	ROUTE_ISSUER	 /* copy of the issuer's metadata (RFC 8414) */
};

struct route {
	enum route_kind kind;
	int methods;	   /* of enum req_method */
	const char *allow; /* the Allow header */
};

/* ENDPOINT_PATH: path of the configured resource URL, such as "/mcp". */
const struct route *route_find(const char *path, const char *endpoint_path);

#endif
