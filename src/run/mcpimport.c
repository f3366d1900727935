/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/mcpimport.h"

#include <ctype.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "net/fetch.h"
#include "net/header.h"
#include "run/mcpwire.h"
#include "run/outbound.h"

enum {
	PAGES_MAX = 200,
	TOOLS_MAX = 10000,
	NAME_MAX_LEN = 120,
	DEPTH_MAX = 16,
	FAREWELLS = 10
};

struct importing {
	struct arena *a;
	struct outbound config;
	struct mcpwire_peer peer;
	struct mcpimport *out;
	struct buf tools;
	const char **names;
	bool is_done;
	struct mcpwire_reply reply;
};

static void
done(void *arg, const struct mcpwire_reply *reply)
{
	struct importing *im = arg;

	im->reply = *reply;
	im->is_done = true;
}

/* A request and its reply, in im->reply.  Fails as fetch. */
static int
ask(struct importing *im, const char *method, const char *params,
	bool is_notification, struct err *e)
{
	struct mcpwire_request req = { .method = method,
		.params = params,
		.is_notification = is_notification };
	struct mcpwire *w;

	im->is_done = false;
	w = mcpwire_start(&im->peer, im->a, &req, done, im, e);
	if (w == NULL)
		return -1;
	while (!im->is_done)
		if (fetch_poll(im->peer.env->fetch, NULL, 0, 1000, e) != 0)
			return -1;
	if (im->reply.err.kind != ERR_NONE) {
		*e = im->reply.err;
		return -1;
	}
	if (im->reply.status == 401 || im->reply.status == 403)
		return err_set(e, ERR_UNAUTH, NULL,
			"%s: the server refused the credentials (status %d)",
			method, im->reply.status);
	if (im->reply.status >= 500)
		return err_set(e, ERR_UNAVAILABLE, NULL,
			"%s: the server answered with status %d", method,
			im->reply.status);
	return 0;
}

static int
no_result(struct importing *im, const char *method, struct err *e)
{
	const char *s = cj_get_string(im->reply.error, "message");

	return err_set(e, ERR_INVALID, NULL, "%s: status %d%s%.150s", method,
		im->reply.status, s != NULL ? ": " : ", no MCP answer",
		s != NULL ? s : "");
}

static void
take_server(struct importing *im, const struct cJSON *info)
{
	const char *name = cj_get_string(info, "name");
	const char *version = cj_get_string(info, "version");

	im->out->server = arena_printf(im->a, "%.100s%s%.40s",
		name != NULL ? name : "", version != NULL ? " " : "",
		version != NULL ? version : "");
}

/*
 * The era: a modern server knows server/discover; what a legacy one makes of
 * it differs, but it is no result.
 */
static int
find_era(struct importing *im, struct err *e)
{
	const struct cJSON *v;

	im->peer.is_modern = true;
	im->peer.version = MCPWIRE_MODERN;
	im->out->era = "modern";
	im->out->version = MCPWIRE_MODERN;
	if (ask(im, "server/discover", "", false, e) != 0)
		/* Some fall over what they do not know. */
		return e->kind == ERR_UNAVAILABLE && im->is_done &&
				       im->reply.status >= 500
			       ? 1
			       : -1;
	v = cj_first(cj_get_array(im->reply.result, "supportedVersions"));
	for (; v != NULL; v = cj_next(v))
		if (cj_is_string(v) &&
			strcmp(cj_string(v), MCPWIRE_MODERN) == 0) {
			take_server(
				im, cj_get(cj_get(im->reply.result, "_meta"),
					    "io.modelcontextprotocol/"
					    "serverInfo"));
			return 0;
		}
	return 1;
}

static int
handshake(struct importing *im, struct err *e)
{
	static const char *const versions[] = { "2024-11-05", "2025-03-26",
		"2025-06-18", "2025-11-25" };
	const char *version;
	size_t i;

	im->peer.is_modern = false;
	im->peer.version = NULL;
	im->out->era = "legacy";
	if (ask(im, "initialize",
		    "\"protocolVersion\":\"" MCPWIRE_LEGACY
		    "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"mcp-"
		    "fcgi\","
		    "\"version\":\"" PACKAGE_VERSION "\"}",
		    false, e) != 0)
		return -1;
	version = cj_get_string(im->reply.result, "protocolVersion");
	if (version == NULL)
		return no_result(im, "initialize", e);
	for (i = 0; i < NELEM(versions); i++)
		if (strcmp(versions[i], version) == 0)
			im->peer.version = im->out->version = versions[i];
	if (im->peer.version == NULL)
		return err_set(e, ERR_INVALID, NULL,
			"the server speaks MCP %.40s", version);
	take_server(im, cj_get(im->reply.result, "serverInfo"));
	if (im->reply.session_id != NULL)
		im->peer.session_id = arena_strdup(im->a, im->reply.session_id);
	return ask(im, "notifications/initialized", "", true, e);
}

/*
 * Tools.
 */

static bool
is_taken(const struct importing *im, const char *name)
{
	size_t i;

	for (i = 0; i < im->out->n_tools; i++)
		if (strcmp(im->names[i], name) == 0)
			return true;
	return false;
}

static const char *
leaf_of(struct importing *im, const char *name)
{
	const char *base, *out;
	struct buf b;
	int n = 1;

	buf_init(&b, im->a);
	for (; *name != '\0' && b.len < NAME_MAX_LEN; name++) {
		if (isascii((unsigned char)*name) &&
			isalnum((unsigned char)*name))
			buf_putc(&b, (char)tolower((unsigned char)*name));
		else if (b.len > 0 && b.data[b.len - 1] != '_')
			buf_putc(&b, '_');
	}
	while (b.len > 0 && b.data[b.len - 1] == '_')
		b.data[--b.len] = '\0';
	base = out = b.len > 0 ? b.data : "tool";
	while (is_taken(im, out))
		out = arena_printf(im->a, "%s_%d", base, ++n);
	return out;
}

static void
put_param_headers(struct importing *im, struct buf *b,
	const struct cJSON *schema, const char *path, int depth)
{
	const struct cJSON *m = cj_first(cj_get_object(schema, "properties"));
	const char *name, *type;
	struct buf at;

	for (; m != NULL && depth > 0; m = cj_next(m)) {
		buf_init(&at, im->a);
		buf_printf(&at, "%s%s", path, path[0] != '\0' ? "," : "");
		buf_jsons(&at, cj_name(m));
		name = cj_get_string(m, "x-mcp-header");
		type = cj_get_string(m, "type");
		if (name != NULL && type != NULL &&
			(strcmp(type, "string") == 0 ||
				strcmp(type, "integer") == 0 ||
				strcmp(type, "boolean") == 0) &&
			header_is_valid(name, "")) {
			buf_puts(b, b->len > 0 ? ",{\"name\":" : "{\"name\":");
			buf_jsons(b, name);
			buf_printf(b, ",\"path\":[%s]}", at.data);
		}
		put_param_headers(im, b, m, at.data, depth - 1);
	}
}

static void
put_raw(struct buf *b, const char *as, const char *text, size_t len,
	const char *name)
{
	size_t off, n;

	if (!cj_raw_member(text, len, name, &off, &n) ||
		(n == 4 && memcmp(text + off, "null", 4) == 0))
		return;
	buf_printf(b, ",\"%s\":", as);
	buf_put(b, text + off, n);
}

static void
refuse(struct importing *im, const char *tool, const char *reason)
{
	struct mcpimport_refusal *bigger;
	size_t n = im->out->n_refused;

	/* Full at each power of two. */
	if ((n & (n - 1)) == 0) {
		bigger = arena_calloc(im->a, 2 * n + 1, sizeof(*bigger));
		if (n > 0)
			memcpy(bigger, im->out->refused, n * sizeof(*bigger));
		im->out->refused = bigger;
	}
	im->out->refused[n].tool = tool;
	im->out->refused[n].reason = reason;
	im->out->n_refused++;
}

static void
take_tool(struct importing *im, const struct cJSON *tool, const char *text,
	size_t len)
{
	const char *name = cj_get_string(tool, "name"), *s;
	const struct cJSON *hints = cj_get_object(tool, "annotations");
	bool is_destructive = false;
	struct buf *b = &im->tools, headers;

	if (name == NULL || name[0] == '\0') {
		refuse(im, "", "it has no name");
		return;
	}
	if (cj_get_object(tool, "inputSchema") == NULL) {
		refuse(im, name, "it has no input schema");
		return;
	}
	s = cj_get_string(cj_get(tool, "execution"), "taskSupport");
	if (s != NULL && strcmp(s, "required") == 0) {
		refuse(im, name, "it runs as a task only");
		return;
	}
	if (im->out->n_tools == TOOLS_MAX) {
		refuse(im, name, "there are too many tools");
		return;
	}
	s = leaf_of(im, name);
	im->names[im->out->n_tools] = s;
	buf_printf(
		b, "%s\n{\"name\":\"%s\"", im->out->n_tools > 0 ? "," : "", s);
	if ((s = cj_get_string(tool, "title")) == NULL)
		s = cj_get_string(hints, "title");
	if (s != NULL && s[0] != '\0') {
		buf_puts(b, ",\"title\":");
		buf_json(b, s, buf_utf8_prefix(s, strlen(s), 1000));
	}
	if ((s = cj_get_string(tool, "description")) != NULL) {
		buf_puts(b, ",\"description\":");
		buf_json(b, s, buf_utf8_prefix(s, strlen(s), 60000));
	}
	/* Byte for byte. */
	put_raw(b, "input_schema", text, len, "inputSchema");
	if (cj_get_object(tool, "outputSchema") != NULL)
		put_raw(b, "output_schema", text, len, "outputSchema");
	if (hints != NULL)
		put_raw(b, "annotations", text, len, "annotations");
	(void)cj_get_bool(hints, "destructiveHint", &is_destructive);
	if (is_destructive) {
		s = cj_get_string(hints, "title");
		buf_puts(b, ",\"needs_approval\":true,\"approval_text\":");
		s = s != NULL && s[0] != '\0' ? s : name;
		buf_json(b, s, buf_utf8_prefix(s, strlen(s), 1000));
	}
	buf_puts(b, ",\"definition\":{\"name\":");
	buf_jsons(b, name);
	buf_init(&headers, im->a);
	if (im->peer.is_modern)
		put_param_headers(im, &headers,
			cj_get_object(tool, "inputSchema"), "", DEPTH_MAX);
	if (headers.len > 0)
		buf_printf(b, ",\"param_headers\":[%s]", headers.data);
	buf_puts(b, "}}");
	im->out->n_tools++;
}

static int
list_tools(struct importing *im, struct err *e)
{
	const char *params = "", *cursor, *last = "";
	const struct cJSON *list;
	const char *text;
	size_t off, len, at, n, i;
	struct buf b;
	int page;

	for (page = 0; page < PAGES_MAX; page++) {
		if (ask(im, "tools/list", params, false, e) != 0)
			return -1;
		list = cj_get_array(im->reply.result, "tools");
		if (list == NULL ||
			!cj_raw_member(im->reply.result_text,
				im->reply.result_len, "tools", &off, &len))
			return no_result(im, "tools/list", e);
		text = im->reply.result_text + off;
		/* Each element from where the last one ended would be linear;
		   pages are short. */
		for (i = 0; cj_raw_element(text, len, i, &at, &n); i++)
			take_tool(im, cj_array_at(list, i), text + at, n);
		cursor = cj_get_string(im->reply.result, "nextCursor");
		if (cursor == NULL || cursor[0] == '\0')
			return 0;
		if (strcmp(cursor, last) == 0)
			return err_set(e, ERR_INVALID, NULL,
				"tools/list: the same page again and again");
		last = cursor;
		buf_init(&b, im->a);
		buf_puts(&b, "\"cursor\":");
		buf_jsons(&b, cursor);
		params = b.data;
	}
	return err_set(e, ERR_LIMIT, NULL, "tools/list: more than %d pages",
		PAGES_MAX);
}

int
mcpimport_run(const struct outbound_env *env, struct arena *a,
	const char *config, struct mcpimport *out, struct err *e)
{
	struct importing *im = arena_zalloc(a, sizeof(*im));
	struct err ignored;
	const char *why;
	int rc, i;

	memset(out, 0, sizeof(*out));
	out->server = "";
	im->a = a;
	im->out = out;
	im->names = arena_calloc(a, TOOLS_MAX, sizeof(*im->names));
	im->peer.env = env;
	im->peer.config = &im->config;
	if ((why = outbound_configure(a, config, &im->config)) != NULL)
		return err_set(e, ERR_INVALID, NULL, "config: %s", why);
	if (outbound_unlock(env, &im->config, e) != 0)
		return -1;
	buf_init(&im->tools, a);
	buf_putc(&im->tools, '[');
	rc = find_era(im, e);
	if (rc > 0)
		rc = handshake(im, e);
	if (rc == 0)
		rc = list_tools(im, e);
	mcpwire_end_session(&im->peer, a);
	/* Sent before the program ends. */
	for (i = 0; i < FAREWELLS && fetch_pending(env->fetch) > 0; i++)
		if (fetch_poll(env->fetch, NULL, 0, 100, &ignored) != 0)
			break;
	outbound_lock(&im->config);
	buf_puts(&im->tools, "]\n");
	out->tools = im->tools.data;
	out->tools_len = im->tools.len;
	return rc;
}
