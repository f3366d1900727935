/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/membership.h"

#include "auth/outage.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/fetch.h"

enum { DEPTH_MAX = 16, VALUES_MAX = 65536 };

/* RFC 3986 2.3: everything but unreserved characters. */
static void
put_encoded(struct buf *b, const char *s)
{
	const unsigned char *p;

	for (p = (const unsigned char *)s; *p != '\0'; p++) {
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			(*p >= '0' && *p <= '9') || strchr("-._~", *p) != NULL)
			buf_putc(b, (char)*p);
		else
			buf_printf(b, "%%%02X", *p);
	}
}

static bool
is_dots(const char *s)
{
	return strcmp(s, ".") == 0 || strcmp(s, "..") == 0;
}

char *
membership_url(struct arena *a, const char *template, const char *account_id,
	const char *organization_id)
{
	static const char account[] = "{account}";
	static const char organization[] = "{organization}";
	struct buf b;
	const char *p = template;

	if (strstr(template, account) == NULL || is_dots(account_id) ||
		is_dots(organization_id))
		return NULL;
	buf_init(&b, a);
	while (*p != '\0') {
		if (strncmp(p, account, sizeof(account) - 1) == 0) {
			put_encoded(&b, account_id);
			p += sizeof(account) - 1;
		} else if (strncmp(p, organization, sizeof(organization) - 1) ==
			   0) {
			put_encoded(&b, organization_id);
			p += sizeof(organization) - 1;
		} else {
			buf_putc(&b, *p++);
		}
	}
	return b.data;
}

/* True unless V has one of the members and it is not the string WANT. */
static bool
is_or_silent(const struct cJSON *v, const char *const names[], size_t n,
	const char *want, bool *is_named)
{
	const struct cJSON *m;
	const char *s;
	size_t i;

	*is_named = false;
	for (i = 0; i < n; i++) {
		if ((m = cj_get(v, names[i])) == NULL)
			continue;
		s = cj_string(m);
		if (s == NULL || strcmp(s, want) != 0)
			return false;
		*is_named = true;
	}
	return true;
}

/* Whether the entry V is an active one of this account and organisation. */
static bool
is_active(const struct cJSON *v, const char *account_id,
	const char *organization_id, bool must_name_it)
{
	static const char *const organization[] = { "organization_id",
		"organizationId" };
	static const char *const account[] = { "user_id", "userId",
		"account_id", "accountId" };
	const char *status = cj_get_string(v, "status");
	bool named, active;

	if (!is_or_silent(v, account, NELEM(account), account_id, &named))
		return false;
	if (!is_or_silent(v, organization, NELEM(organization), organization_id,
		    &named) ||
		(must_name_it && !named))
		return false;
	/* With both, both must say so. */
	if (cj_get(v, "active") != NULL &&
		(!cj_get_bool(v, "active", &active) || !active))
		return false;
	if (cj_get(v, "status") != NULL)
		return status != NULL && strcmp(status, "active") == 0;
	return !must_name_it && cj_get(v, "active") != NULL;
}

/* A positive no needs the whole list. */
static bool
has_more_pages(const struct cJSON *doc)
{
	const struct cJSON *meta = cj_get_object(doc, "list_metadata");

	if (meta == NULL)
		meta = cj_get_object(doc, "listMetadata");
	return meta != NULL && cj_get_string(meta, "after") != NULL;
}

/* 0 when decided; -1 with the reason when it cannot be. */
static int
judge(struct arena *a, const struct fetch_response *res, const char *account_id,
	const char *organization_id, enum session_membership *out,
	struct err *e)
{
	static const struct cj_limits limits = { .depth_max = DEPTH_MAX,
		.dup = CJ_DUP_REFUSE,
		.values_max = VALUES_MAX };
	const struct cJSON *data, *v;
	struct cJSON *doc;

	if (cj_parse(a, res->body, res->body_len, &limits, &doc, e) != 0)
		return -1;
	*out = SESSION_MEMBER_NO;
	data = cj_get(doc, "data");
	if (data == NULL) {
		if (cj_get(doc, "active") == NULL &&
			cj_get(doc, "status") == NULL)
			return err_set(e, ERR_UNAVAILABLE, NULL,
				"answer of unknown shape");
		if (is_active(doc, account_id, organization_id, false))
			*out = SESSION_MEMBER_YES;
		return 0;
	}
	if (!cj_is_array(data))
		return err_set(e, ERR_UNAVAILABLE, NULL, "data is no array");
	for (v = cj_first(data); v != NULL; v = cj_next(v)) {
		if (is_active(v, account_id, organization_id, true)) {
			*out = SESSION_MEMBER_YES;
			return 0;
		}
	}
	if (has_more_pages(doc))
		return err_set(e, ERR_UNAVAILABLE, NULL,
			"the list goes on: "
			"membership_url lacks {organization}");
	return 0;
}

static int
ask(const struct conf *conf, struct fetch *fetch, struct arena *a,
	const char *account_id, const char *organization_id,
	enum session_membership *out, struct err *e)
{
	struct fetch_request req = { 0 };
	struct fetch_response res;
	char *bearer;

	req.url = membership_url(
		a, conf->membership_url, account_id, organization_id);
	if (req.url == NULL)
		return err_set(e, ERR_INTERNAL, NULL,
			"membership_url has no {account}");
	if (*conf->membership_token_file != '\0') {
		if (conf_secret(a, conf->membership_token_file, &bearer, e) !=
			0)
			return -1;
		req.bearer = bearer;
	}
	if (fetch_get(fetch, a, &req, &res, e) != 0)
		return -1;
	if (res.status >= 200 && res.status < 300)
		return judge(a, &res, account_id, organization_id, out, e);
	if (res.status == 401 || res.status == 403 || res.status == 404) {
		*out = SESSION_MEMBER_NO;
		return 0;
	}
	return err_set(e, ERR_UNAVAILABLE, NULL, "status %d", res.status);
}

int
membership_ask(const struct conf *conf, struct fetch *fetch, struct arena *a,
	const char *account_id, const char *organization_id,
	enum session_membership *out, struct err *e)
{
	if (conf->membership == CONF_MEMBERSHIP_SQL) {
		*out = SESSION_MEMBER_SQL;
		return 0;
	}
	if (is_dots(account_id) || is_dots(organization_id)) {
		*out = SESSION_MEMBER_NO;
		return 0;
	}
	if (ask(conf, fetch, a, account_id, organization_id, out, e) != 0)
		return outage(e, "membership");
	return 0;
}
