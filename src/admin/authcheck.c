/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/authcheck.h"

#include "admin/admin.h"
#include "admin/report.h"
#include "auth/keys.h"
#include "auth/membership.h"
#include "auth/metadata.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"

/* Nobody's account: whatever the source says, it has been asked. */
#define NOBODY "mcp-admin-doctor"

static const char *
remedy_fetch(const struct err *e)
{
	return strstr(e->detail, "fetch_allow") != NULL
		       ? "if the address is right, add it to fetch_allow"
		       : "check the URL, DNS, certificates and firewall from "
			 "this host";
}

void
authcheck_keys(struct admin *ad, struct db *db, struct fetch *fetch)
{
	struct err e = { 0 };
	const char *document;
	struct keys *keys;
	size_t count, len;

	if (*ad->conf->issuer == '\0') {
		report_pass("keys", "no issuer is configured: API tokens only");
		return;
	}
	if (db == NULL) {
		report_warn("keys", NULL, "not tried: needs the database");
		return;
	}
	keys = keys_new(ad->conf, fetch);
	if (keys_fetch(keys, db, ad->arena, &count, &e) != 0)
		report_fail("keys", remedy_fetch(&e), "%s", e.detail);
	else if (count == 0)
		report_fail("keys",
			"the set must have an RSA key of 2048 bits, P-256, "
			"P-384, P-521 or Ed25519 key for signatures",
			"the key set of %s has no usable key",
			ad->conf->issuer);
	else
		report_pass("keys", "%zu usable keys of %s", count,
			ad->conf->issuer);
	keys_free(keys);
	err_clear(&e);
	if (metadata_get(ad->conf, fetch, db, ad->arena, &document, &len, &e) !=
		0)
		report_warn("issuer",
			"its RFC 8414 or OpenID metadata is needed by clients "
			"to log in, and here if jwks_url is not set",
			"%s", e.detail);
	else
		report_pass("issuer", "metadata of %s", ad->conf->issuer);
}

/*
 * Not by membership_ask: for it 401 is "not a member", which is right for a
 * request and hides a token of ours that the source does not accept.
 */
void
authcheck_membership(struct admin *ad, struct fetch *fetch)
{
	const struct conf *conf = ad->conf;
	struct fetch_request req = { 0 };
	struct fetch_response res;
	struct err e = { 0 };
	char *bearer;

	if (conf->membership == CONF_MEMBERSHIP_SQL) {
		report_pass("membership", "rows of mcp.membership");
		return;
	}
	req.url =
		membership_url(ad->arena, conf->membership_url, NOBODY, NOBODY);
	if (req.url == NULL) {
		report_fail("membership", "see mcp-fcgi.conf(5)",
			"membership_url has no {account}");
		return;
	}
	if (*conf->membership_token_file != '\0') {
		if (conf_secret(ad->arena, conf->membership_token_file, &bearer,
			    &e) != 0) {
			report_fail("membership",
				"chmod 640, and owned by the "
				"responder's user or group",
				"%s", e.detail);
			return;
		}
		req.bearer = bearer;
	}
	if (fetch_get(fetch, ad->arena, &req, &res, &e) != 0)
		report_fail("membership", remedy_fetch(&e), "%s", e.detail);
	else if (res.status == 401 || res.status == 403)
		report_fail("membership",
			"check membership_token_file: such an answer counts "
			"as \"not a member\" and ends sessions",
			"the source answers %d", res.status);
	else if ((res.status >= 200 && res.status < 300) || res.status == 404)
		report_pass("membership", "the source answers %d for nobody",
			res.status);
	else
		report_fail("membership", "see the source's log",
			"the source answers %d", res.status);
}
