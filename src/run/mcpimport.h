/* SPDX-License-Identifier: ISC */
/*
 * mcpimport: the tools of an upstream MCP server as rows of mcp.tool.  For
 * mcp-admin.  Finds out which era the server is of.
 */
#ifndef RUN_MCPIMPORT_H
#define RUN_MCPIMPORT_H

struct arena;
struct err;
struct outbound_env;

struct mcpimport_refusal {
	const char *tool;
	const char *reason;
};

struct mcpimport {
	const char *era;     /* "modern", "legacy": for the source's config */
	const char *version; /* of the protocol */
	const char *server;  /* what it calls itself, or "" */
	const char *tools;   /* JSON array as source_import takes it */
	size_t tools_len;
	size_t n_tools;
	struct mcpimport_refusal *refused;
	size_t n_refused;
};

/*
 * Ask the server of the source's CONFIG.  *OUT lives in A.  Blocks, each
 * request up to its timeout.  Fails with ERR_INVALID (CONFIG, or it is no MCP
 * server), ERR_UNAUTH, or as fetch.
 */
MUST_CHECK int mcpimport_run(const struct outbound_env *env, struct arena *a,
	const char *config, struct mcpimport *out, struct err *e);

#endif
