/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "net/fetch.h"

#include <sys/socket.h>

#include <curl/curl.h>

#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/addr.h"

struct fetch {
	CURL *curl;
	int64_t timeout_ms;
	size_t max_bytes;
	struct addr_cidr *allow;
	size_t n_allow;
	/* of the request in hand */
	char *body;
	size_t body_len;
	size_t body_cap;
	bool is_refused;
	bool is_too_long;
};

static bool
is_allowed(const struct fetch *f, const struct addr *addr)
{
	size_t i;

	if (addr_is_public(addr))
		return true;
	for (i = 0; i < f->n_allow; i++)
		if (addr_in(addr, &f->allow[i]))
			return true;
	return false;
}

/* libcurl calls this once for each address it is about to connect to. */
static curl_socket_t
open_socket(void *p, curlsocktype purpose, struct curl_sockaddr *sa)
{
	struct fetch *f = p;
	struct addr addr;

	if (purpose != CURLSOCKTYPE_IPCXN ||
		!addr_of_sockaddr(&sa->addr, &addr) || !is_allowed(f, &addr)) {
		f->is_refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

/* Counts what arrives: Content-Length may lie or be absent. */
static size_t
take_body(char *p, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;
	size_t len, cap;
	char *grown;

	if (__builtin_mul_overflow(size, n, &len) ||
		len > f->max_bytes - f->body_len) {
		f->is_too_long = true;
		return 0;
	}
	if (len > f->body_cap - f->body_len) {
		cap = f->body_cap * 2 > 4096 ? f->body_cap * 2 : 4096;
		while (cap < f->body_len + len)
			cap *= 2;
		if ((grown = realloc(f->body, cap)) == NULL)
			return 0;
		f->body = grown;
		f->body_cap = cap;
	}
	if (len > 0)
		memcpy(f->body + f->body_len, p, len);
	f->body_len += len;
	return len;
}

static void
body_release(struct fetch *f)
{
	free(f->body);
	f->body = NULL;
	f->body_len = f->body_cap = 0;
}

static int
allow_parse(struct fetch *f, const struct conf_list *list, struct err *e)
{
	size_t i;

	if (list == NULL || list->n == 0)
		return 0;
	f->allow = calloc(list->n, sizeof(*f->allow));
	if (f->allow == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	for (i = 0; i < list->n; i++) {
		if (!addr_parse_cidr(list->item[i], &f->allow[i]))
			return err_set(e, ERR_INVALID, NULL,
				"not an address range: %s", list->item[i]);
	}
	f->n_allow = list->n;
	return 0;
}

/* What holds for every request of this handle. */
static int
curl_prepare(struct fetch *f)
{
	CURL *c = f->curl;
	int bad = 0;

#define SET(option, value) bad |= curl_easy_setopt(c, option, value) != CURLE_OK
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	/* A Proxy: request header becomes HTTP_PROXY in CGI (CVE-2016-5385). */
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_HTTP09_ALLOWED, 0L);
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, f);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, f);
	SET(CURLOPT_TIMEOUT_MS, (long)f->timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)f->timeout_ms);
	SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)f->max_bytes);
	SET(CURLOPT_MAXCONNECTS, 4L);
#undef SET
	return bad ? -1 : 0;
}

int
fetch_new(
	const struct fetch_options *options, struct fetch **out, struct err *e)
{
	struct fetch *f;

	*out = NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ERR_INTERNAL, NULL, "libcurl does not start");
	if ((f = calloc(1, sizeof(*f))) == NULL) {
		curl_global_cleanup();
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	}
	f->timeout_ms = options->timeout_ms;
	f->max_bytes = (size_t)options->max_bytes;
	if (allow_parse(f, options->allow, e) != 0)
		goto fail;
	f->curl = curl_easy_init();
	if (f->curl == NULL || curl_prepare(f) != 0) {
		err_set(e, ERR_INTERNAL, NULL, "libcurl lacks an option");
		goto fail;
	}
	*out = f;
	return 0;
fail:
	fetch_free(f);
	return -1;
}

void
fetch_free(struct fetch *f)
{
	if (f == NULL)
		return;
	curl_easy_cleanup(f->curl);
	curl_global_cleanup();
	body_release(f);
	free(f->allow);
	free(f);
}

/*
 * Only absolute http(s) URLs of printable ASCII, so that no configured or
 * substituted text reaches libcurl's guessing of schemes; and no user:pass@,
 * which would end up in logs.
 */
static int
url_check(const char *url, struct err *e)
{
	const char *p, *host;

	if (strncasecmp(url, "https://", 8) == 0)
		host = url + 8;
	else if (strncasecmp(url, "http://", 7) == 0)
		host = url + 7;
	else
		return err_set(e, ERR_INVALID, NULL, "not an http(s) URL");
	for (p = url; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(e, ERR_INVALID, NULL,
				"URL with white space or non-ASCII");
	p = host + strcspn(host, "/?#");
	if (p == host || memchr(host, '@', (size_t)(p - host)) != NULL)
		return err_set(e, ERR_INVALID, NULL,
			"URL without host or with credentials");
	return 0;
}

/* The order matters: a refused address shows as "could not connect". */
static int
failure(const struct fetch *f, CURLcode rc, struct err *e)
{
	if (f->is_too_long || rc == CURLE_FILESIZE_EXCEEDED)
		return err_set(e, ERR_LIMIT, NULL, "response over %zu bytes",
			f->max_bytes);
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return err_set(e, ERR_TIMEOUT, NULL, "no response in %lld ms",
			(long long)f->timeout_ms);
	if (f->is_refused && rc == CURLE_COULDNT_CONNECT)
		return err_set(e, ERR_FORBIDDEN, NULL,
			"address not public and not in fetch_allow");
	return err_set(e, ERR_UNAVAILABLE, NULL, "%s", curl_easy_strerror(rc));
}

static struct curl_slist *
headers_build(
	struct arena *a, const struct fetch_request *req, const char *json)
{
	const char *line[3];
	struct curl_slist *list = NULL, *longer;
	size_t i, n = 0;

	line[n++] = arena_printf(a, "Accept: %s",
		req->accept != NULL ? req->accept : "application/json");
	if (req->bearer != NULL)
		line[n++] = arena_printf(
			a, "Authorization: Bearer %s", req->bearer);
	if (json != NULL)
		line[n++] = "Content-Type: application/json";
	for (i = 0; i < n; i++) {
		if ((longer = curl_slist_append(list, line[i])) == NULL) {
			curl_slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

/* What the last request did set, this one sets too. */
static CURLcode
request_set(
	struct fetch *f, const struct fetch_request *req, const char *json)
{
	const char *agent = req->user_agent != NULL ?
		req->user_agent : "mcp-fcgi/" PACKAGE_VERSION;
	CURLcode rc;

	rc = curl_easy_setopt(f->curl, CURLOPT_USERAGENT, agent);
	if (rc == CURLE_OK && json == NULL)
		rc = curl_easy_setopt(f->curl, CURLOPT_HTTPGET, 1L);
	if (rc == CURLE_OK && json != NULL)
		rc = curl_easy_setopt(f->curl, CURLOPT_COPYPOSTFIELDS, json);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(f->curl, CURLOPT_URL, req->url);
	return rc;
}

/* JSON NULL: GET. */
static int
perform(struct fetch *f, struct arena *a, const struct fetch_request *req,
	const char *json, struct fetch_response *out, struct err *e)
{
	struct curl_slist *headers;
	struct curl_header *challenge;
	const char *type = NULL;
	long status = 0;
	CURLcode rc;
	int ret = -1;

	if (url_check(req->url, e) != 0)
		return -1;
	if (req->bearer != NULL && strpbrk(req->bearer, "\r\n") != NULL)
		return err_set(e, ERR_INVALID, NULL, "line feed in a token");
	if ((headers = headers_build(a, req, json)) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");

	f->is_refused = f->is_too_long = false;
	body_release(f);
	curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, headers);
	rc = request_set(f, req, json);
	if (rc == CURLE_OK)
		rc = curl_easy_perform(f->curl);
	if (rc != CURLE_OK) {
		failure(f, rc, e);
		goto out;
	}
	curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(f->curl, CURLINFO_CONTENT_TYPE, &type);
	out->status = (int)status;
	out->body_len = f->body_len;
	out->body =
		arena_memdup(a, f->body != NULL ? f->body : "", f->body_len);
	out->content_type = arena_strdup(a, type != NULL ? type : "");
	out->authenticate = "";
	if (curl_easy_header(f->curl, "WWW-Authenticate", 0, CURLH_HEADER, -1,
		    &challenge) == CURLHE_OK)
		out->authenticate = arena_strdup(a, challenge->value);
	ret = 0;
out:
	/* The list holds the bearer: libcurl must not keep a pointer to it. */
	curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	body_release(f);
	return ret;
}

int
fetch_get(struct fetch *f, struct arena *a, const struct fetch_request *req,
	struct fetch_response *out, struct err *e)
{
	return perform(f, a, req, NULL, out, e);
}

int
fetch_post(struct fetch *f, struct arena *a, const struct fetch_request *req,
	const char *json, struct fetch_response *out, struct err *e)
{
	return perform(f, a, req, json, out, e);
}
