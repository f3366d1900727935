/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/dispatch.h"

#include "base/arena.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/seal.h"
#include "run/call.h"
#include "run/outbound.h"
#include "run/run.h"
#include "run/tool_http.h"
#include "run/tool_mcp.h"
#include "run/tool_sql.h"
#include "store/catalog.h"
#include "store/secret.h"
#include "store/upstream.h"

struct dispatch {
	const struct run_env *env;
	struct arena *arena;
	struct tool_sql_env sql_env;
	struct outbound_env outbound;
	struct tool_sql *sql;
	struct tool_http *http;
	struct tool_mcp *mcp;
	int64_t source_id;
	struct tool_mcp_store store;
	struct tool_mcp_call mcp_call;
};

/* outbound_secret_fn */
static char *
open_secret(void *arg, const char *name, struct err *e)
{
	struct dispatch *d = arg;
	const char *organization_id = d->env->owner.organization_id;
	const char *const context[] = { "secret", organization_id, name,
		NULL };
	struct secret s;
	char *value;

	if (secret_find(d->env->db, d->arena, organization_id, name, &s, e) !=
		0)
		return NULL;
	if (s.sealed == NULL || s.sealed_len < SEAL_OVERHEAD) {
		err_set(e, ERR_NOTFOUND, NULL, "there is no secret %s", name);
		return NULL;
	}
	if (d->env->keys == NULL) {
		err_set(e, ERR_NOTFOUND, NULL,
			"secret %s: keyring_dir is not set", name);
		return NULL;
	}
	value = calloc(1, s.sealed_len - SEAL_OVERHEAD + 1);
	if (value == NULL) {
		err_set(e, ERR_INTERNAL, NULL, "no memory");
		return NULL;
	}
	if (seal_unwrap(d->env->keys, context, s.key_id, s.sealed,
		    s.sealed_len, value, e) != 0) {
		seal_forget(value, s.sealed_len - SEAL_OVERHEAD);
		free(value);
		return NULL;
	}
	return value;
}

/* The session that all processes share: struct tool_mcp_store. */

static int
find_session(void *arg, struct arena *a, struct upstream_session *out,
	struct err *e)
{
	const struct dispatch *d = arg;

	return upstream_find(d->env->db, a, d->env->owner.organization_id,
		d->source_id, out, e);
}

static int
save_session(void *arg, struct arena *a, const struct upstream_session *s,
	bool *was_saved, struct err *e)
{
	const struct dispatch *d = arg;

	return upstream_save(d->env->db, a, d->env->owner.organization_id,
		d->source_id, s, was_saved, e);
}

static int
drop_session(void *arg, struct arena *a, const char *session_id,
	struct err *e)
{
	const struct dispatch *d = arg;
	bool was_there;

	return upstream_drop(d->env->db, a, d->env->owner.organization_id,
		d->source_id, session_id, &was_there, e);
}

static struct dispatch *
new_dispatch(const struct run_env *env, struct arena *a)
{
	struct dispatch *d = arena_zalloc(a, sizeof(*d));

	d->env = env;
	d->arena = a;
	d->sql_env = (struct tool_sql_env){ .pool = env->pool,
		.database = env->conf->database,
		.is_pooled = env->conf->database_pooler ==
			CONF_POOLER_TRANSACTION,
		.timeout_ms = env->conf->call_timeout_ms,
		.max_bytes = (size_t)env->conf->call_result_max_bytes };
	d->outbound = (struct outbound_env){ .fetch = env->fetch,
		.secret = open_secret,
		.secret_arg = d,
		.timeout_ms = env->conf->call_timeout_ms,
		.max_bytes = (size_t)env->conf->call_result_max_bytes };
	return d;
}

struct dispatch *
dispatch_start(const struct run_env *env, struct arena *a,
	const struct catalog_tool *tool, const char *args, size_t args_len,
	struct call_answer *answer)
{
	struct dispatch *d = new_dispatch(env, a);

	switch (tool->kind) {
	case CATALOG_SQL:
		d->sql = tool_sql_start(&d->sql_env, a, tool->config,
			tool->definition, args, args_len, answer);
		return d->sql != NULL ? d : NULL;
	case CATALOG_HTTP:
		d->http = tool_http_start(&d->outbound, a, tool->config,
			tool->definition, args, args_len, answer);
		return d->http != NULL ? d : NULL;
	case CATALOG_MCP:
		d->source_id = tool->source_id;
		d->store = (struct tool_mcp_store){ .find = find_session,
			.save = save_session,
			.drop = drop_session,
			.arg = d };
		d->mcp_call = (struct tool_mcp_call){ .config = tool->config,
			.definition = tool->definition,
			.annotations = tool->annotations,
			.args = args,
			.args_len = args_len };
		d->mcp = tool_mcp_start(&d->outbound, &d->store, a,
			&d->mcp_call, answer);
		return d->mcp != NULL ? d : NULL;
	default:
		call_fail(answer, a, CALL_FAILED,
			&(struct call_fault){ .code = "tool_misconfigured",
				.message = "Tools of this kind cannot be "
					   "called" });
		return NULL;
	}
}

bool
dispatch_step(struct dispatch *d, struct call_answer *answer)
{
	if (d->sql != NULL)
		return tool_sql_step(d->sql, answer);
	if (d->mcp != NULL)
		return tool_mcp_step(d->mcp, answer);
	return tool_http_step(d->http, answer);
}

const struct dbtask *
dispatch_task(const struct dispatch *d)
{
	return d->sql != NULL ? tool_sql_task(d->sql) : NULL;
}

void
dispatch_close(struct dispatch *d)
{
	if (d == NULL)
		return;
	tool_sql_close(d->sql);
	d->sql = NULL;
	if (d->http != NULL)
		tool_http_close(d->http);
	d->http = NULL;
	if (d->mcp != NULL)
		tool_mcp_close(d->mcp);
	d->mcp = NULL;
}

const char *
dispatch_script(struct arena *a, const struct catalog_tool *tool)
{
	const struct cj_limits limits = { .depth_max = 32 };
	struct cJSON *v;
	struct err e;

	err_clear(&e);
	if (cj_parse(a, tool->definition, strlen(tool->definition), &limits,
		    &v, &e) != 0) {
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
		return NULL;
	}
	return cj_get_string(v, "body");
}
