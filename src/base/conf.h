/* SPDX-License-Identifier: ISC */
/*
 * conf: the settings of all programs, from mcp-fcgi.conf and from the
 * environment (MCP_FCGI_<KEY>, which wins), read once, never changed after.
 *
 * One table row per key in conf.c gives its name, type, default and range.
 * An unknown or repeated key or a bad value is an error that names the file
 * and line.  The file has no sections; an indented line continues the value
 * above it, with one space between; " ;" begins a comment.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/log.h"

struct arena;
struct err;

enum conf_membership { CONF_MEMBERSHIP_SQL, CONF_MEMBERSHIP_HTTP };
enum conf_pooler { CONF_POOLER_NONE, CONF_POOLER_TRANSACTION };

struct conf_list {
	const char **item;
	size_t n;
};

struct conf {
	/* endpoint */
	const char *resource_url;
	const char *resource_host; /* derived: host[:port] of resource_url */
	const char *resource_path; /* derived: path, e.g. "/mcp" */
	const char *resource_metadata_url; /* "" = as RFC 9728 3.1 says */
	const char *prm_url; /* derived: the metadata URL that clients get */
	/* Lower case, the host of resource_url always among them; an entry
	   without a port means every port. */
	struct conf_list allowed_hosts;
	struct conf_list allowed_origins; /* lower case, or "*" alone */
	struct conf_list scopes_supported;
	/* tokens */
	const char *issuer;   /* "" = API tokens only */
	const char *jwks_url; /* "" = from the issuer's metadata */
	/* Has resource_url with and without a slash at its end, if either. */
	struct conf_list audience;
	const char *claim_account;
	const char *claim_organization;
	int64_t leeway_s;
	int64_t jwks_ttl_s;
	int64_t jwks_hard_ttl_s;
	int64_t jwks_min_interval_s;
	/* membership */
	enum conf_membership membership;
	const char *membership_url;
	const char *membership_token_file;
	/* outbound requests */
	int64_t fetch_timeout_ms;
	int64_t fetch_max_bytes;
	struct conf_list fetch_allow; /* CIDRs */
	/* secrets */
	const char *keyring_dir; /* "": none */

	/* database */
	const char *database;
	const char *admin_database;
	const char *reaper_database;
	enum conf_pooler database_pooler;
	int64_t statement_timeout_ms;
	int64_t lock_timeout_ms;
	/* request limits */
	int64_t max_body_bytes;
	int64_t max_header_bytes;
	int64_t json_depth;
	int64_t max_batch;
	/* sessions */
	int64_t sessions_per_account;
	int64_t session_idle_s;
	int64_t session_lifetime_s; /* 0: none */
	int64_t session_readopt_s;  /* 0: never */
	int64_t heartbeat_s;
	/* event streams */
	int64_t stream_hold_s;
	int64_t stream_keepalive_s;
	int64_t stream_retry_ms;
	/* execute */
	const char *sandbox;
	int64_t execute_wall_ms;
	int64_t execute_cpu_ms;
	int64_t execute_heap_bytes;
	int64_t execute_stack_bytes;
	int64_t execute_output_bytes;
	int64_t execute_log_lines;
	int64_t front_timeout_s;
	/* calls of tools, waiting runs */
	int64_t call_timeout_ms;
	int64_t calls_max;
	int64_t calls_in_flight_max;
	int64_t call_args_max_bytes;
	int64_t call_result_max_bytes;
	int64_t ledger_value_bytes;
	int64_t approval_window_s;
	int64_t execution_retention_s;
	/* process */
	int64_t requests_per_process;
	enum log_target log_target;
	enum log_level log_level;
};

enum conf_program {
	CONF_FOR_FCGI,	/* resource_url and database are required */
	/* Nothing is required, "-d" can give the database; "" when absent. */
	CONF_FOR_ADMIN,
	CONF_FOR_REAPER
};

/*
 * Read FILE (NULL: $MCP_FCGI_CONF, else the installed path, whose absence is
 * no error) and the environment.  *OUT and its strings live in A.  Fails with
 * ERR_INVALID; the detail names file and line, or the variable.
 */
MUST_CHECK int conf_load(struct arena *a, const char *file,
	enum conf_program program, struct conf **out, struct err *e);

/* The same from TEXT, called NAME in messages, without the environment. */
MUST_CHECK int conf_parse(struct arena *a, const char *name, const char *text,
	size_t len, enum conf_program program, struct conf **out,
	struct err *e);

/* The file that conf_load reads for FILE. */
const char *conf_file(const char *file);

/* For guards and documentation: row I as "name\tdefault\tprograms", or NULL.
   DEFAULT is "required", empty (see the manual) or the value. */
const char *conf_row(size_t i, char *line, size_t cap);

/*
 * The contents of the secret file PATH (trailing line feed removed) in A.
 * Refuses files that everyone can read.  For tokens, never for the log.
 */
MUST_CHECK int conf_secret(struct arena *a, const char *path, char **out,
	struct err *e);

#endif
