/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/pipeline.h"

#include "app/admit.h"
#include "app/app.h"
#include "app/discover.h"
#include "app/hold.h"
#include "app/post.h"
#include "app/turn.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/rnd.h"
#include "http/fcgi.h"
#include "http/route.h"

static bool
in_list(const struct conf_list *list, const char *s)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcasecmp(list->item[i], s) == 0)
			return true;
	return false;
}

/*
 * A list entry without a port stands for every port: the port that a front
 * server listens on is not this program's business.
 */
static bool
is_host_allowed(const struct turn *t, const char *host)
{
	const char *colon = strrchr(host, ':');
	const char *bracket = strrchr(host, ']');
	char *name;

	if (in_list(&t->conf->allowed_hosts, "*") ||
		in_list(&t->conf->allowed_hosts, host))
		return true;
	if (colon == NULL || (bracket != NULL && colon < bracket))
		return false;
	name = arena_memdup(t->arena, host, (size_t)(colon - host));
	return in_list(&t->conf->allowed_hosts, name);
}

static bool
is_origin_allowed(const struct turn *t, const char *origin)
{
	if (in_list(&t->conf->allowed_origins, "*"))
		return true;
	return in_list(&t->conf->allowed_origins, origin);
}

/*
 * DNS rebinding (MCP "Security Warning" of the transport; T-02, T-03).  The
 * metadata is for every origin: a browser client reads it before it is let in
 * (X-29).
 */
static int
check_host_and_origin(struct turn *t)
{
	if (t->req.host != NULL && !is_host_allowed(t, t->req.host))
		return turn_fail(t, FAULT_HOST);
	if (!t->is_document && t->req.origin != NULL &&
		!is_origin_allowed(t, t->req.origin))
		return turn_fail(t, FAULT_ORIGIN);
	return 0;
}

/* What can be told of the sizes before a byte of the body is read. */
static int
check_sizes(struct turn *t)
{
	if (t->req.header_bytes > (size_t)t->conf->max_header_bytes)
		return turn_fail(t, FAULT_HEADERS);
	if (t->req.method == REQ_POST &&
		t->req.content_length > t->conf->max_body_bytes)
		return turn_fail(t, FAULT_BODY);
	return 0;
}

/*
 * Only for who has shown a token: a body that comes byte by byte occupies
 * this process where the front server passes it on as it comes.
 */
static int
read_body(struct turn *t)
{
	struct err e;

	err_clear(&e);
	if (req_read(&t->req, t->arena, (size_t)t->conf->max_body_bytes,
		    fcgi_read, t->app->fcgi, &e) == 0)
		return 0;
	return turn_fail(t, e.kind == ERR_LIMIT ? FAULT_BODY : FAULT_REQUEST);
}

static void
answer_preflight(struct turn *t, const struct route *route)
{
	t->res.status = 204;
	res_header(&t->res, "Access-Control-Allow-Methods",
		"GET, POST, DELETE, OPTIONS");
	res_header(&t->res, "Access-Control-Allow-Headers",
		"authorization, content-type, mcp-session-id, accept, "
		"mcp-protocol-version, last-event-id, mcp-method, mcp-name");
	res_header(&t->res, "Access-Control-Max-Age", "600");
	t->event = "request.preflight";
}

static int
handle_get(struct turn *t)
{
	enum hold_end end;

	if (!req_accepts(t->req.accept, "text/event-stream"))
		return turn_fail(t, FAULT_ACCEPT_GET);
	if (t->req.session_id == NULL)
		return turn_fail(t, FAULT_SESSION_ABSENT_GET);
	if (admit_enter(t, t->req.session_id) != 0 ||
		admit_version(t, NULL) != 0)
		return -1;
	t->res.status = 200;
	t->res.content_type = "text/event-stream";
	res_header(&t->res, "X-Accel-Buffering", "no");
	t->is_stream = true;
	end = hold_stream(t->app, &t->res);
	t->event = "stream.end";
	t->why = hold_end_name(end);
	return 0;
}

static int
handle_delete(struct turn *t)
{
	enum session_outcome outcome;
	struct err e;

	if (t->req.session_id == NULL)
		return turn_fail(t, FAULT_SESSION_ABSENT);
	if (admit_enter(t, t->req.session_id) != 0 ||
		admit_version(t, NULL) != 0)
		return -1;
	err_clear(&e);
	if (session_end(t->app->db, t->arena, t->req.session_id, &t->caller,
		    &outcome, &e) != 0)
		return turn_fail_err(t, fault_of(&e), &e);
	/* Between ENTER and here another DELETE can have been faster. */
	if (outcome != SESSION_OK)
		return turn_fail(t, FAULT_SESSION_GONE);
	t->res.status = 204;
	t->event = "session.end";
	return 0;
}

static int
check_schema(struct turn *t)
{
	struct err e;

	err_clear(&e);
	if (app_check_schema(t->app, &e) == 0)
		return 0;
	return turn_fail_err(t, FAULT_DOWN, &e);
}

static int
handle_endpoint(struct turn *t)
{
	if (admit_bearer(t) != 0 || check_schema(t) != 0)
		return -1;
	switch (t->req.method) {
	case REQ_POST:
		return read_body(t) == 0 ? post_handle(t) : -1;
	case REQ_GET:
		return handle_get(t);
	case REQ_DELETE:
		return handle_delete(t);
	default:
		return turn_fail(t, FAULT_METHOD);
	}
}

static int
answer(struct turn *t)
{
	const struct route *route;
	struct err e;

	err_clear(&e);
	if (req_parse(&t->req, t->arena, fcgi_env(t->app->fcgi), &e) != 0)
		return turn_fail(t, FAULT_REQUEST);
	log_context(t->rid, t->req.session_id, NULL);
	route = route_find(t->req.path, t->conf->resource_path);
	t->is_document = route->kind == ROUTE_RESOURCE ||
		route->kind == ROUTE_ISSUER;
	turn_headers(t);

	if (route->kind == ROUTE_NONE)
		return turn_fail(t, FAULT_PATH);
	if ((route->methods & t->req.method) == 0) {
		turn_fail(t, FAULT_METHOD);
		res_header(&t->res, "Allow", route->allow);
		return -1;
	}
	if (check_sizes(t) != 0 || check_host_and_origin(t) != 0)
		return -1;
	if (t->req.method == REQ_OPTIONS) {
		answer_preflight(t, route);
		return 0;
	}
	switch (route->kind) {
	case ROUTE_RESOURCE:
		discover_resource(t);
		return 0;
	case ROUTE_ISSUER:
		return discover_issuer(t);
	case ROUTE_ENDPOINT:
		return handle_endpoint(t);
	case ROUTE_NONE:
		break;
	}
	return turn_fail(t, FAULT_PATH);
}

static void
log_turn(const struct turn *t, int64_t start_ms, bool is_gone)
{
	const char *method = NULL;

	if (!t->body.is_batch && t->body.n == 1)
		method = t->body.msg->method;
	log_event(t->res.status >= 500 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
		t->event, "status", log_num(t->res.status), "why", t->why,
		"method", method, "ms", log_num(clock_mono_ms() - start_ms),
		"peer", is_gone ? "gone" : NULL, NULL);
}

void
pipeline_run(struct app *app)
{
	int64_t start_ms = clock_mono_ms();
	unsigned char random[8];
	struct turn t;
	int rc = 0;

	memset(&t, 0, sizeof(t));
	t.app = app;
	t.conf = app->conf;
	t.arena = app->arena;
	t.event = "request.done";
	rnd_bytes(random, sizeof(random));
	hex_encode(t.rid, random, sizeof(random));
	log_context(t.rid, NULL, NULL);
	res_init(&t.res, app->arena);

	(void)answer(&t);
	if (!t.is_stream)
		rc = res_send(&t.res, app->fcgi, t.req.method == REQ_HEAD);
	fcgi_finish(app->fcgi);
	log_turn(&t, start_ms, rc != 0);
	log_context_clear();
	arena_reset(app->arena);
}
