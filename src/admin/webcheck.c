/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/webcheck.h"

#include "admin/admin.h"
#include "admin/report.h"
#include "base/arena.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"

#define PRM_PATH "/.well-known/oauth-protected-resource"

/* Of the right form, and of nobody: its digest is not in the database. */
#define PROBE_TOKEN "mcp_DOCTORxPROBExTOKENxTHATxNOBODYxHASxxxxxxxxx"

static const char INITIALIZE[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	"\"clientInfo\":{\"name\":\"mcp-admin doctor\",\"version\":\"0\"}}}";

struct web {
	struct arena *arena;
	const struct conf *conf;
	struct fetch *fetch;
};

static bool
is_https(const char *url)
{
	return strncasecmp(url, "https:", 6) == 0;
}

static int
post(const struct web *w, const char *url, const char *bearer,
	const char *agent, struct fetch_response *out, struct err *e)
{
	const struct fetch_request req = {
		.url = url,
		.bearer = bearer,
		.accept = "application/json, text/event-stream",
		.user_agent = agent,
	};

	return fetch_post(w->fetch, w->arena, &req, INITIALIZE, out, e);
}

/* Whether a challenge of ours, naming our metadata. */
static bool
is_challenge(const struct web *w, const char *header)
{
	const char *want = arena_printf(
		w->arena, "resource_metadata=\"%s\"", w->conf->prm_url);

	return strncasecmp(header, "Bearer ", 7) == 0 &&
	       strstr(header, want) != NULL;
}

/* Whether the https URL is served by http (field report B-34). */
static bool
is_plain_only(const struct web *w, const char *url)
{
	const struct fetch_request req = {
		.url = arena_printf(w->arena, "http%s", url + strlen("https")),
	};
	struct fetch_response res;
	struct err e = { 0 };

	return is_https(url) &&
	       fetch_get(w->fetch, w->arena, &req, &res, &e) == 0 &&
	       res.status == 200;
}

/* False when there is no use in further checks. */
static bool
metadata_check(const struct web *w, const char *url, const char *remedy)
{
	static const struct cj_limits LIMITS = { .depth_max = 16 };
	const struct fetch_request req = { .url = url };
	struct fetch_response res;
	struct err e = { 0 };
	struct cJSON *doc;
	const char *resource;

	if (fetch_get(w->fetch, w->arena, &req, &res, &e) != 0) {
		if (is_plain_only(w, url)) {
			report_fail("metadata",
				"give the web server a certificate and port "
				"443",
				"%s is served by http only", url);
			return false;
		}
		report_warn("metadata",
			is_https(url) ? "if it is reachable from elsewhere "
					"(no hairpin NAT), ask from there; "
					"else see the web server"
				      : "is the web server running?",
			"cannot reach %s from here: %s", url, e.detail);
		return false;
	}
	if (res.status != 200) {
		report_fail(
			"metadata", remedy, "%s answers %d", url, res.status);
		return true;
	}
	if (cj_parse(w->arena, res.body, res.body_len, &LIMITS, &doc, &e) !=
			0 ||
		(resource = cj_get_string(doc, "resource")) == NULL)
		report_fail(
			"metadata", remedy, "%s answers something else", url);
	else if (strcmp(resource, w->conf->resource_url) != 0)
		report_fail("metadata",
			"the responders run with another resource_url: is it "
			"this file they read, and were they restarted?",
			"%s names resource %.120s, not %s", url, resource,
			w->conf->resource_url);
	else
		report_pass("metadata", "%s", url);
	return true;
}

/* No token: 401 with the way to the metadata.  False: not our endpoint. */
static bool
challenge_check(const struct web *w)
{
	struct fetch_response res;
	struct err e = { 0 };

	if (post(w, w->conf->resource_url, NULL, NULL, &res, &e) != 0) {
		report_warn("endpoint", NULL, "%s: %s", w->conf->resource_url,
			e.detail);
		return false;
	}
	if (res.status == 401 && is_challenge(w, res.authenticate)) {
		report_pass("endpoint", "asks for a token at %s",
			w->conf->resource_url);
		return true;
	}
	if (res.status != 401)
		report_fail("endpoint",
			"see the web server's error log; the files of "
			"httpd-conf map the path to the responders",
			"%s answers %d to a request without a token",
			w->conf->resource_url, res.status);
	else
		report_fail("endpoint",
			"the web server must hand on WWW-Authenticate as it "
			"is, and not ask for a password itself",
			"401 without resource_metadata=\"%s\"",
			w->conf->prm_url);
	return false;
}

/* Field report B-32: the front server keeps the token for itself. */
static void
authorization_check(const struct web *w)
{
	struct fetch_response res;
	struct err e = { 0 };

	if (post(w, w->conf->resource_url, PROBE_TOKEN, NULL, &res, &e) != 0)
		report_warn("authorization", NULL, "%s", e.detail);
	else if (res.status == 401 &&
		 strstr(res.authenticate, "error=\"invalid_token\"") != NULL)
		report_pass("authorization",
			"the header reaches the responder; a made-up token is "
			"refused");
	else if (res.status == 401)
		report_fail("authorization",
			"Apache: CGIPassAuth On in the Location of the "
			"endpoint (httpd-conf has it); others: hand on "
			"HTTP_AUTHORIZATION",
			"the web server strips the Authorization header: a "
			"token is answered as if there were none");
	else if (res.status == 503)
		report_fail("authorization",
			"the responders cannot reach the database or the "
			"issuer: see their log",
			"a made-up token is answered 503");
	else
		report_fail("authorization", "see the log of the responders",
			"a made-up token is answered %d", res.status);
}

static void
agent_check(const struct web *w, const char *agent)
{
	const char *shown = *agent != '\0' ? agent : "none";
	struct fetch_response res;
	struct err e = { 0 };

	if (post(w, w->conf->resource_url, NULL, agent, &res, &e) != 0)
		report_fail("external", "a firewall or bot rule?",
			"user agent %s: %s", shown, e.detail);
	else if (res.status != 401 || !is_challenge(w, res.authenticate))
		report_fail("external",
			"exempt the endpoint from bot and firewall rules",
			"user agent %s is answered %d", shown, res.status);
	else
		report_pass("external", "user agent %s is let through", shown);
}

/* Field report B-38: what hosted clients can connect to. */
static void
external_check(struct admin *ad, const struct web *w)
{
	const struct fetch_options options = {
		.timeout_ms = w->conf->fetch_timeout_ms,
		.max_bytes = w->conf->fetch_max_bytes,
	};
	const char *url = w->conf->resource_url, *port;
	const struct fetch_request req = { .url = w->conf->prm_url };
	struct fetch_response res;
	struct fetch *public;
	struct err e = { 0 };

	port = strrchr(w->conf->resource_host, ':');
	if (!is_https(url))
		report_fail("external", "resource_url = https://...",
			"hosted clients connect by https only");
	else if (port != NULL && strchr(port, ']') == NULL &&
		 strcmp(port, ":443") != 0)
		report_fail("external", "serve it at port 443",
			"port %s: hosted clients reach 443 only", port + 1);
	else
		report_pass("external", "https at port 443");
	/* Without exceptions for private addresses. */
	if (fetch_new(&options, &public, &e) != 0) {
		report_warn("external", NULL, "%s", e.detail);
		return;
	}
	if (fetch_get(public, ad->arena, &req, &res, &e) != 0 &&
		e.kind == ERR_FORBIDDEN)
		report_fail("external",
			"the name must lead to a public address",
			"%s has a private address, seen from here",
			w->conf->resource_host);
	fetch_free(public);
	agent_check(w, "Claude-User");
	agent_check(w, "");
}

static void
all_checks(struct admin *ad, const struct web *w, bool is_external)
{
	const char *url = w->conf->resource_url;
	const char *host = strstr(url, "//") + 2;
	const char *root = arena_printf(w->arena, "%.*s" PRM_PATH,
		(int)(host + strcspn(host, "/?#") - url), url);

	/* mcp-fcgi.conf allows no other host by http. */
	if (is_https(url))
		report_pass("url", "%s", url);
	else
		report_pass("url", "%s, for this host alone", url);
	if (!metadata_check(w, w->conf->prm_url,
		    "map " PRM_PATH " to the responders as in httpd-conf; "
		    "some hosts keep /.well-known for themselves"))
		return;
	if (strcmp(root, w->conf->prm_url) != 0)
		(void)metadata_check(w, root,
			"some clients ask at the root only: map it to the "
			"responders, too");
	if (challenge_check(w))
		authorization_check(w);
	if (is_external)
		external_check(ad, w);
}

void
webcheck_run(struct admin *ad, bool is_external)
{
	/* The endpoint may well be at a private address. */
	static const char *any[] = { "0.0.0.0/0", "::/0" };
	static const struct conf_list allow = { any, NELEM(any) };
	const struct fetch_options options = {
		.timeout_ms = ad->conf->fetch_timeout_ms,
		.max_bytes = ad->conf->fetch_max_bytes,
		.allow = &allow,
	};
	struct web w = { .arena = ad->arena, .conf = ad->conf };
	struct err e = { 0 };

	if (fetch_new(&options, &w.fetch, &e) != 0) {
		report_warn("endpoint", NULL, "%s", e.detail);
		return;
	}
	all_checks(ad, &w, is_external);
	fetch_free(w.fetch);
}
