/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/lifecycle.h"

#include "base/buf.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/rnd.h"
#include "mcp/method.h"
#include "rpc/msg.h"

/* What the columns of mcp.session take (their CHECKs). */
#define CLIENT_JSON_MAX 65536

static const char INSTRUCTIONS[] =
	"Use the tool `execute` to run a JavaScript program in a sandbox and "
	"get its result.";

static void
put_result(struct buf *b, enum revision r)
{
	buf_printf(b, "{\"protocolVersion\":\"%s\",", revision_name(r));
	/* No listChanged: nothing is pushed on the GET stream. */
	buf_puts(b, "\"capabilities\":{\"tools\":{}},");
	buf_puts(b, "\"serverInfo\":{\"name\":\"mcp-fcgi\",");
	if (REVISION_HAS_TITLE(r))
		buf_puts(b, "\"title\":\"mcp-fcgi\",");
	if (REVISION_HAS_SERVER_DETAILS(r))
		buf_puts(b, "\"description\":\"Runs programs of agents in a "
			    "sandbox\",");
	buf_puts(b, "\"version\":\"" PACKAGE_VERSION "\"},\"instructions\":");
	buf_jsons(b, INSTRUCTIONS);
	buf_putc(b, '}');
}

int
lifecycle_initialize(const struct method_caller *c, const struct msg *m,
	char id[SESSION_ID_LEN + 1], struct buf *result, struct err *e)
{
	const struct cJSON *capabilities, *client;
	const char *version = cj_get_string(m->params, "protocolVersion");
	const struct session_limits limits = {
		.idle_s = c->conf->session_idle_s,
		.lifetime_s = c->conf->session_lifetime_s,
		.readopt_s = c->conf->session_readopt_s,
		.heartbeat_s = c->conf->heartbeat_s,
		.max_sessions = c->conf->sessions_per_account,
	};
	enum revision revision;
	struct session_new s;
	unsigned char random[SESSION_ID_LEN / 2];

	if (version == NULL)
		return method_bad_params(e, "protocolVersion must be a string");
	capabilities = cj_get_object(m->params, "capabilities");
	if (capabilities == NULL)
		return method_bad_params(e, "capabilities must be an object");
	client = cj_get_object(m->params, "clientInfo");
	if (client == NULL || cj_get_string(client, "name") == NULL ||
		cj_get_string(client, "version") == NULL)
		return method_bad_params(e,
			"clientInfo must have a name and a version");

	revision = revision_negotiate(version);
	s.id = id;
	s.protocol_version = revision_name(revision);
	s.client_info = cj_print(c->arena, client);
	s.client_capabilities = cj_print(c->arena, capabilities);
	if (strlen(s.client_info) > CLIENT_JSON_MAX ||
		strlen(s.client_capabilities) > CLIENT_JSON_MAX)
		return method_bad_params(e,
			"clientInfo and capabilities are too large");

	rnd_bytes(random, sizeof(random));
	hex_encode(id, random, sizeof(random));
	if (session_open(c->db, c->arena, &c->caller, &s, &limits, NULL, e) !=
		0) {
		/* The database writes them with more blanks than we do. */
		return e->kind == ERR_INVALID ? method_bad_params(e,
			"clientInfo and capabilities are too large") : -1;
	}
	put_result(result, revision);
	return 0;
}

int
lifecycle_initialized(const struct method_caller *c, struct err *e)
{
	return session_initialized(c->db, c->arena, c->session_id, e);
}

int
lifecycle_ping(const struct method_caller *c, const struct msg *m,
	struct buf *result, struct err *e)
{
	buf_puts(result, "{}");
	return 0;
}
