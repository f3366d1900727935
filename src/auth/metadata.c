/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/metadata.h"

#include "auth/outage.h"
#include "base/arena.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"
#include "store/keyset.h"

enum { DOCUMENT_MAX = 262144, DEPTH_MAX = 16, VALUES_MAX = 65536 };

size_t
metadata_urls(struct arena *a, const char *issuer, const char *out[3])
{
	const char *host = strstr(issuer, "://");
	const char *path;
	int origin_len, path_len;
	size_t n = 0;

	host = host != NULL ? host + 3 : issuer;
	path = host + strcspn(host, "/");
	origin_len = (int)(path - issuer);
	path_len = (int)strlen(path);
	/* RFC 8414 3.1: without a terminating slash. */
	while (path_len > 0 && path[path_len - 1] == '/')
		path_len--;
	out[n++] = arena_printf(a,
		"%.*s/.well-known/oauth-authorization-server"
		"%.*s",
		origin_len, issuer, path_len, path);
	out[n++] = arena_printf(a, "%.*s%.*s/.well-known/openid-configuration",
		origin_len, issuer, path_len, path);
	if (path_len > 0)
		out[n++] = arena_printf(a,
			"%.*s/.well-known/"
			"openid-configuration%.*s",
			origin_len, issuer, path_len, path);
	return n;
}

static int
parse(const char *issuer, struct arena *a, const char *text, size_t len,
	struct cJSON **out, struct err *e)
{
	static const struct cj_limits limits = { .depth_max = DEPTH_MAX,
		.dup = CJ_DUP_REFUSE,
		.values_max = VALUES_MAX };
	const char *s;

	if (len > DOCUMENT_MAX)
		return err_set(e, ERR_LIMIT, NULL, "metadata over %d bytes",
			DOCUMENT_MAX);
	if (cj_parse(a, text, len, &limits, out, e) != 0)
		return -1;
	/* RFC 8414 3.3: or anyone's document could speak for the issuer. */
	s = cj_get_string(*out, "issuer");
	if (s == NULL || strcmp(s, issuer) != 0)
		return err_set(
			e, ERR_INVALID, NULL, "metadata of another issuer");
	return 0;
}

/* The first well-known document that is the issuer's own. */
static int
fetch_any(const struct conf *conf, struct fetch *fetch, struct arena *a,
	struct fetch_response *res, struct err *e)
{
	struct fetch_request req = { 0 };
	struct cJSON *doc;
	const char *url[3];
	size_t i, n = metadata_urls(a, conf->issuer, url);

	for (i = 0; i < n; i++) {
		req.url = url[i];
		/* Who does not answer here does not answer there. */
		if (fetch_get(fetch, a, &req, res, e) != 0)
			return -1;
		if (res->status != 200)
			err_set(e, ERR_UNAVAILABLE, NULL, "status %d",
				res->status);
		else if (parse(conf->issuer, a, res->body, res->body_len, &doc,
				 e) == 0)
			return 0;
	}
	return -1;
}

/* Fetch and store; a copy that cannot be stored is still good. */
static int
renew(const struct conf *conf, struct fetch *fetch, struct db *db,
	struct arena *a, const char **out, struct err *e)
{
	struct fetch_response res;
	struct err ignored;

	if (fetch_any(conf, fetch, a, &res, e) != 0)
		return -1;
	if (keyset_save(db, a, conf->issuer, KEYSET_METADATA, res.body,
		    &ignored) != 0)
		err_clear(&ignored);
	*out = res.body;
	return 0;
}

/* Whether the row has a document of the issuer not older than MAX_AGE_S. */
static bool
is_young(const struct keyset *row, int64_t max_age_s)
{
	return row->metadata != NULL && row->metadata_age_s <= max_age_s;
}

int
metadata_get(const struct conf *conf, struct fetch *fetch, struct db *db,
	struct arena *a, const char **out, size_t *len, struct err *e)
{
	struct keyset row;
	bool is_ours;

	if (*conf->issuer == '\0') {
		err_set(e, ERR_UNAVAILABLE, NULL, "no issuer configured");
		return -1;
	}
	if (keyset_find(db, a, conf->issuer, &row, e) != 0)
		return outage(e, "metadata");
	*out = row.metadata;
	if (!is_young(&row, conf->jwks_ttl_s)) {
		err_set(e, ERR_UNAVAILABLE, NULL, "fetched moments ago");
		if (keyset_claim(db, a, conf->issuer, KEYSET_METADATA,
			    conf->jwks_min_interval_s, &is_ours, e) != 0)
			return outage(e, "metadata");
		if ((!is_ours || renew(conf, fetch, db, a, out, e) != 0) &&
			!is_young(&row, conf->jwks_hard_ttl_s))
			return outage(e, "metadata");
	}
	*len = strlen(*out);
	return 0;
}

/* Keys over a plain connection only for an issuer that is plain itself. */
static bool
url_is_good(const char *issuer, const char *url)
{
	return strncmp(url, "https://", 8) == 0 ||
	       (strncmp(url, "http://", 7) == 0 &&
		       strncmp(issuer, "http://", 7) == 0);
}

int
metadata_jwks_url(const struct conf *conf, struct fetch *fetch, struct db *db,
	struct arena *a, const char **out, struct err *e)
{
	struct keyset row;
	struct cJSON *doc;
	const char *text, *url;

	if (*conf->jwks_url != '\0') {
		*out = conf->jwks_url;
		return 0;
	}
	if (keyset_find(db, a, conf->issuer, &row, e) != 0)
		return outage(e, "metadata");
	text = row.metadata;
	if (!is_young(&row, conf->jwks_ttl_s) &&
		renew(conf, fetch, db, a, &text, e) != 0 &&
		!is_young(&row, conf->jwks_hard_ttl_s))
		return outage(e, "metadata");
	if (parse(conf->issuer, a, text, strlen(text), &doc, e) != 0)
		return outage(e, "metadata");
	url = cj_get_string(doc, "jwks_uri");
	if (url == NULL || !url_is_good(conf->issuer, url)) {
		err_set(e, ERR_UNAVAILABLE, NULL, "no usable jwks_uri");
		return outage(e, "metadata");
	}
	*out = url;
	return 0;
}
