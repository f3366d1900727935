/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "net/fetch.h"

#include <sys/socket.h>

#include <poll.h>

#include <curl/curl.h>
#include <openssl/crypto.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "net/addr.h"
#include "net/header.h"
#include "net/url.h"

enum {
	CONNECTIONS_KEPT = 32,
	/* A server's own limit is often 5 s; its close is then seen first. */
	KEPT_S = 30,
	HEADER_BYTES_MAX = 262144,
	HEADERS_MAX = 256,
	FORGOTTEN_BYTES = 4 << 20
};

struct fetch {
	CURLM *multi;
	int64_t timeout_ms;
	size_t max_bytes;
	struct addr_list allow;
	struct fetch_call *calls; /* all under way */
	size_t n_calls;
	bool is_performing; /* libcurl is, and takes no new requests */
};

struct fetch_call {
	struct fetch *f;
	struct fetch_call *next, *prev;
	struct arena *a;
	struct arena *own; /* A, when the call owns it */
	fetch_done_fn done;
	void *arg;

	CURL *curl;
	struct curl_slist *head;
	struct curl_slist *secret; /* sent to the first origin alone */
	char *url;
	const char *method;
	struct fetch_request req; /* its headers and query are not read */
	struct addr_list allow;
	int64_t deadline_ms;
	int64_t timeout_ms;
	size_t max_bytes;
	unsigned hops;
	bool is_elsewhere; /* another origin than the first */
	bool is_queued;	   /* began while libcurl was performing */

	/* of the hop in hand */
	unsigned sends;
	size_t header_bytes;
	char *body;
	size_t body_len;
	size_t body_cap;
	bool is_refused;
	bool is_too_long;
	bool is_cut;
	bool is_enough;
	bool is_repeated;
	/* of all */
	bool was_sent;
};

/*
 * Which address.
 */

static bool
is_allowed(const struct fetch_call *c, const struct addr *addr)
{
	return addr_is_public(addr) || addr_list_has(&c->f->allow, addr) ||
	       addr_list_has(&c->allow, addr);
}

/* libcurl calls this once for each address it is about to connect to. */
static curl_socket_t
open_socket(void *p, curlsocktype purpose, struct curl_sockaddr *sa)
{
	struct fetch_call *c = p;
	struct addr addr;

	if (purpose != CURLSOCKTYPE_IPCXN ||
		!addr_of_sockaddr(&sa->addr, &addr) || !is_allowed(c, &addr)) {
		c->is_refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

static bool
is_safe(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/*
 * And this before it sends a request over a connection, new or kept: a kept
 * one may have been opened for a request that was allowed more.
 */
static int
before_request(void *p, char *ip, char *local_ip, int port, int local_port)
{
	struct fetch_call *c = p;
	struct addr addr;

	if (!addr_parse(ip, &addr) || !is_allowed(c, &addr)) {
		c->is_refused = true;
		return CURL_PREREQFUNC_ABORT;
	}
	/* A kept connection died under the request: whether the server has
	   acted on it nobody knows. */
	if (c->sends++ > 0 && !is_safe(c->method)) {
		c->is_repeated = true;
		return CURL_PREREQFUNC_ABORT;
	}
	c->was_sent = true;
	return CURL_PREREQFUNC_OK;
}

/*
 * What comes.
 */

/* Whether the answer in hand is a redirect that will be followed. */
static bool
is_hop(const struct fetch_call *c)
{
	struct curl_header *location;
	long status = 0;

	if (c->req.redirects_max == 0)
		return false;
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 301 && status != 302 && status != 303 && status != 307 &&
		status != 308)
		return false;
	return curl_easy_header(c->curl, "Location", 0, CURLH_HEADER, -1,
		       &location) == CURLHE_OK;
}

static bool
body_grow(struct fetch_call *c, size_t len)
{
	size_t cap = c->body_cap * 2 > 4096 ? c->body_cap * 2 : 4096;
	char *grown;

	if (len <= c->body_cap - c->body_len)
		return true;
	while (cap < c->body_len + len)
		cap *= 2;
	if ((grown = realloc(c->body, cap)) == NULL)
		return false;
	c->body = grown;
	c->body_cap = cap;
	return true;
}

/* Counts what arrives, inflated: Content-Length may lie or be absent. */
static size_t
take_body(char *p, size_t size, size_t n, void *arg)
{
	struct fetch_call *c = arg;
	size_t len, room = c->max_bytes - c->body_len;
	long status = 0;

	if (__builtin_mul_overflow(size, n, &len))
		return 0;
	if (len > room && !c->req.may_cut) {
		c->is_too_long = true;
		return 0;
	}
	if (len > room) {
		c->is_cut = true;
		len = room;
	}
	if (c->req.on_data != NULL) {
		c->body_len += len;
		if (is_hop(c))
			return size * n;
		curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
		c->is_enough = !c->req.on_data(
			c->req.on_data_arg, (int)status, p, len);
		return c->is_enough || c->is_cut ? 0 : len;
	}
	if (!body_grow(c, len))
		return 0;
	if (len > 0)
		memcpy(c->body + c->body_len, p, len);
	c->body_len += len;
	return c->is_cut ? 0 : len;
}

/* libcurl before 8.4 keeps any number of them. */
static size_t
count_header(char *p, size_t size, size_t n, void *arg)
{
	struct fetch_call *c = arg;

	c->header_bytes += size * n;
	if (c->header_bytes > HEADER_BYTES_MAX) {
		c->is_too_long = true;
		return 0;
	}
	return size * n;
}

static void
body_release(struct fetch_call *c)
{
	free(c->body);
	c->body = NULL;
	c->body_len = c->body_cap = 0;
}

/*
 * The handle.
 */

static int
allow_parse(
	struct addr_list *allow, const struct conf_list *list, struct err *e)
{
	const char *bad;

	if (list == NULL || list->n == 0)
		return 0;
	bad = addr_list_parse(list->item, list->n, allow);
	return bad == NULL ? 0
			   : err_set(e, ERR_INVALID, NULL,
				     "not an address range: %.80s", bad);
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
	if (allow_parse(&f->allow, options->allow, e) != 0)
		goto fail;
	f->multi = curl_multi_init();
	if (f->multi == NULL ||
		curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS,
			(long)CONNECTIONS_KEPT) != CURLM_OK) {
		err_set(e, ERR_INTERNAL, NULL, "libcurl does not start");
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
	while (f->calls != NULL)
		fetch_cancel(f->calls);
	curl_multi_cleanup(f->multi);
	curl_global_cleanup();
	addr_list_release(&f->allow);
	free(f);
}

size_t
fetch_pending(const struct fetch *f)
{
	return f->n_calls;
}

/*
 * Headers.
 */

const char *
fetch_header(const struct fetch_response *res, const char *name)
{
	size_t i;

	for (i = 0; i < res->n_header; i++)
		if (strcasecmp(res->header[i].name, name) == 0)
			return res->header[i].value;
	return NULL;
}

static void
list_free(struct curl_slist **list)
{
	struct curl_slist *l;

	for (l = *list; l != NULL; l = l->next)
		OPENSSL_cleanse(l->data, strlen(l->data));
	curl_slist_free_all(*list);
	*list = NULL;
}

static int
list_add(struct curl_slist **list, const char *name, const char *value,
	struct err *e)
{
	struct curl_slist *longer = NULL;
	char *line = NULL;
	int len;

	if (!header_is_valid(name, value))
		return err_set(
			e, ERR_INVALID, NULL, "a header that cannot be sent");
	/* libcurl leaves out "Name:", it wants "Name;". */
	len = asprintf(
		&line, value[0] != '\0' ? "%s: %s" : "%s;%s", name, value);
	if (len >= 0) {
		longer = curl_slist_append(*list, line);
		OPENSSL_cleanse(line, (size_t)len);
		free(line);
	}
	if (longer == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	*list = longer;
	return 0;
}

static int
secrets_build(
	struct fetch_call *c, const struct fetch_request *req, struct err *e)
{
	char *bearer;
	size_t i;
	int rc;

	if (req->bearer != NULL) {
		if (asprintf(&bearer, "Bearer %s", req->bearer) < 0)
			return err_set(e, ERR_INTERNAL, NULL, "out of memory");
		rc = list_add(&c->secret, "Authorization", bearer, e);
		OPENSSL_cleanse(bearer, strlen(bearer));
		free(bearer);
		if (rc != 0)
			return -1;
	}
	for (i = 0; i < req->n_header; i++)
		if (req->header[i].is_secret &&
			list_add(&c->secret, req->header[i].name,
				req->header[i].value, e) != 0)
			return -1;
	return 0;
}

/* For the hop in hand: libcurl takes one list, in which the secrets are
 * shared, not copied. */
static int
headers_build(struct fetch_call *c, struct err *e)
{
	const struct fetch_request *req = &c->req;
	bool has_accept = false, has_type = false;
	const char *type;
	size_t i;

	for (i = 0; i < req->n_header; i++) {
		const struct fetch_header *h = &req->header[i];

		has_accept |= strcasecmp(h->name, "Accept") == 0;
		has_type |= strcasecmp(h->name, "Content-Type") == 0;
		if (header_is_reserved(h->name))
			return err_set(e, ERR_INVALID, NULL,
				"a header that is the transport's own");
		if (!h->is_secret &&
			list_add(&c->head, h->name, h->value, e) != 0)
			return -1;
	}
	if (!has_accept &&
		list_add(&c->head, "Accept",
			req->accept != NULL ? req->accept : "application/json",
			e) != 0)
		return -1;
	if (req->body == NULL || has_type)
		return 0;
	type = req->content_type != NULL ? req->content_type
					 : "application/json";
	return list_add(&c->head, "Content-Type", type, e);
}

/*
 * One request.
 */

#define SET(c, option, value)                                                  \
	(curl_easy_setopt((c)->curl, option, value) != CURLE_OK)

/* What holds for every request. */
static bool
set_guards(struct fetch_call *c)
{
	int bad = 0;

	bad |= SET(c, CURLOPT_PROTOCOLS_STR, "http,https");
	bad |= SET(c, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= SET(c, CURLOPT_NOSIGNAL, 1L);
	/* A Proxy: request header becomes HTTP_PROXY in CGI (CVE-2016-5385). */
	bad |= SET(c, CURLOPT_PROXY, "");
	bad |= SET(c, CURLOPT_NOPROXY, "*");
	bad |= SET(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	bad |= SET(c, CURLOPT_SSL_VERIFYPEER, 1L);
	bad |= SET(c, CURLOPT_SSL_VERIFYHOST, 2L);
	bad |= SET(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	bad |= SET(c, CURLOPT_HTTP09_ALLOWED, 0L);
	bad |= SET(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	bad |= SET(c, CURLOPT_OPENSOCKETDATA, c);
	bad |= SET(c, CURLOPT_PREREQFUNCTION, before_request);
	bad |= SET(c, CURLOPT_PREREQDATA, c);
	bad |= SET(c, CURLOPT_WRITEFUNCTION, take_body);
	bad |= SET(c, CURLOPT_WRITEDATA, c);
	bad |= SET(c, CURLOPT_HEADERFUNCTION, count_header);
	bad |= SET(c, CURLOPT_HEADERDATA, c);
	bad |= SET(c, CURLOPT_MAXAGE_CONN, (long)KEPT_S);
	bad |= SET(c, CURLOPT_PRIVATE, c);
	return bad == 0;
}

/* What this request asks for, in this hop. */
static bool
set_request(struct fetch_call *c)
{
	const struct fetch_request *req = &c->req;
	int64_t left_ms = c->deadline_ms - clock_mono_ms();
	const char *agent = req->user_agent != NULL
				    ? req->user_agent
				    : "mcp-fcgi/" PACKAGE_VERSION;
	int bad = 0;

	if (left_ms < 1)
		left_ms = 1;
	bad |= SET(c, CURLOPT_URL, c->url);
	bad |= SET(c, CURLOPT_USERAGENT, agent);
	bad |= SET(c, CURLOPT_TIMEOUT_MS, (long)left_ms);
	bad |= SET(c, CURLOPT_CONNECTTIMEOUT_MS, (long)left_ms);
	if (!req->may_cut && req->on_data == NULL)
		bad |= SET(
			c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)c->max_bytes);
	if (req->may_compress)
		bad |= SET(c, CURLOPT_ACCEPT_ENCODING, "");
	bad |= SET(c, CURLOPT_HTTPGET, 1L);
	bad |= SET(c, CURLOPT_NOBODY, strcmp(c->method, "HEAD") == 0 ? 1L : 0L);
	if (req->body != NULL || strcmp(c->method, "POST") == 0 ||
		strcmp(c->method, "PUT") == 0 ||
		strcmp(c->method, "PATCH") == 0) {
		bad |= SET(c, CURLOPT_POST, 1L);
		bad |= SET(c, CURLOPT_POSTFIELDS,
			req->body != NULL ? req->body : "");
		bad |= SET(c, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)req->body_len);
	}
	if (!is_safe(c->method) || req->body != NULL)
		bad |= SET(c, CURLOPT_CUSTOMREQUEST, c->method);
	else
		bad |= SET(c, CURLOPT_CUSTOMREQUEST, NULL);
	return bad == 0;
}

/* libcurl's own headers of a body go: "Name:" takes one out. */
static int
hop_start(struct fetch_call *c, struct err *e)
{
	struct curl_slist *l, *longer;

	list_free(&c->head);
	body_release(c);
	c->sends = 0;
	c->header_bytes = 0;
	c->is_refused = c->is_too_long = c->is_cut = c->is_enough = false;
	c->is_repeated = false;
	if (headers_build(c, e) != 0)
		return -1;
	if ((longer = curl_slist_append(c->head, "Expect:")) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	c->head = longer;
	if (c->req.body == NULL) {
		if (curl_slist_append(c->head, "Content-Type:") == NULL)
			return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	}
	for (l = c->is_elsewhere ? NULL : c->secret; l != NULL; l = l->next)
		if (curl_slist_append(c->head, l->data) == NULL)
			return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	if (!set_request(c) || SET(c, CURLOPT_HTTPHEADER, c->head))
		return err_set(
			e, ERR_INTERNAL, NULL, "libcurl lacks an option");
	c->is_queued = c->f->is_performing;
	if (!c->is_queued &&
		curl_multi_add_handle(c->f->multi, c->curl) != CURLM_OK)
		return err_set(
			e, ERR_INTERNAL, NULL, "libcurl lacks an option");
	return 0;
}

static void
call_free(struct fetch_call *c)
{
	struct arena *own = c->own;
	struct fetch *f = c->f;

	if (c->curl != NULL) {
		curl_multi_remove_handle(f->multi, c->curl);
		curl_easy_cleanup(c->curl);
	}
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		f->calls = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	f->n_calls--;
	list_free(&c->head);
	list_free(&c->secret);
	if (c->url != NULL)
		OPENSSL_cleanse(c->url, strlen(c->url));
	free(c->url);
	addr_list_release(&c->allow);
	body_release(c);
	free(c);
	if (own != NULL)
		arena_free(own);
}

void
fetch_cancel(struct fetch_call *call)
{
	if (call != NULL)
		call_free(call);
}

static void
query_put(struct buf *b, const char *s)
{
	url_encode(b, s, strlen(s), "");
}

/* The query may hold secrets: built in an arena of its own, wiped. */
static int
url_build(struct fetch_call *c, const struct fetch_request *req, struct err *e)
{
	size_t i, base = strcspn(req->url, "#"), cap = base + 1;
	struct arena *a;
	struct buf b;

	for (i = 0; i < req->n_query; i++)
		cap += 3 * (strlen(req->query[i].name) +
				   strlen(req->query[i].value)) +
		       2;
	a = arena_new(4 * cap + 65536);
	buf_init(&b, a);
	/* No growth: no copies left behind. */
	(void)buf_reserve(&b, cap);
	buf_put(&b, req->url, base);
	for (i = 0; i < req->n_query; i++) {
		buf_putc(&b, strchr(b.data, '?') == NULL ? '?' : '&');
		query_put(&b, req->query[i].name);
		buf_putc(&b, '=');
		query_put(&b, req->query[i].value);
	}
	c->url = strdup(b.data);
	OPENSSL_cleanse(b.data, b.len);
	arena_free(a);
	return c->url != NULL ? 0
			      : err_set(e, ERR_INTERNAL, NULL, "out of memory");
}

static void
request_copy(struct fetch_call *c, const struct fetch_request *req)
{
	struct fetch_request *to = &c->req;
	struct fetch_header *h;
	size_t i;

	*to = *req;
	to->bearer = NULL;
	to->query = NULL;
	to->n_query = 0;
	to->allow = NULL;
	to->url = NULL;
	if (req->accept != NULL)
		to->accept = arena_strdup(c->a, req->accept);
	if (req->user_agent != NULL)
		to->user_agent = arena_strdup(c->a, req->user_agent);
	if (req->content_type != NULL)
		to->content_type = arena_strdup(c->a, req->content_type);
	h = arena_calloc(c->a, req->n_header + 1, sizeof(*h));
	for (i = 0; i < req->n_header; i++) {
		h[i].name = arena_strdup(c->a, req->header[i].name);
		h[i].is_secret = req->header[i].is_secret;
		h[i].value = h[i].is_secret
				     ? ""
				     : arena_strdup(c->a, req->header[i].value);
	}
	to->header = h;
}

static bool
is_method(const char *s)
{
	size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

	return len > 0 && len <= 20 && s[len] == '\0' &&
	       strcmp(s, "CONNECT") != 0;
}

int
fetch_start(struct fetch *f, struct arena *a, const struct fetch_request *req,
	fetch_done_fn done, void *arg, struct fetch_call **call, struct err *e)
{
	const char *why = url_check(req->url), *method = req->method;
	struct fetch_call *c;

	if (call != NULL)
		*call = NULL;
	if (why != NULL)
		return err_set(e, ERR_INVALID, NULL, "%s", why);
	if (method == NULL)
		method = req->body != NULL ? "POST" : "GET";
	if (!is_method(method))
		return err_set(e, ERR_INVALID, NULL, "not a method");
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	c->f = f;
	c->next = f->calls;
	if (f->calls != NULL)
		f->calls->prev = c;
	f->calls = c;
	f->n_calls++;
	c->a = a;
	c->done = done;
	c->arg = arg;
	c->method = arena_strdup(a, method);
	c->timeout_ms = req->timeout_ms > 0 ? req->timeout_ms : f->timeout_ms;
	c->deadline_ms = clock_mono_ms() + c->timeout_ms;
	c->max_bytes = req->max_bytes > 0 ? req->max_bytes : f->max_bytes;
	request_copy(c, req);
	if (allow_parse(&c->allow, req->allow, e) != 0 ||
		secrets_build(c, req, e) != 0 || url_build(c, req, e) != 0)
		goto fail;
	if ((c->curl = curl_easy_init()) == NULL || !set_guards(c)) {
		err_set(e, ERR_INTERNAL, NULL, "libcurl lacks an option");
		goto fail;
	}
	if (hop_start(c, e) != 0)
		goto fail;
	if (call != NULL)
		*call = c;
	return 0;
fail:
	call_free(c);
	return -1;
}

static void
forgotten(void *arg, const struct fetch_response *res, const struct err *e)
{
}

int
fetch_forget(struct fetch *f, const struct fetch_request *req, struct err *e)
{
	struct arena *own = arena_new(FORGOTTEN_BYTES + 2 * req->body_len);
	struct fetch_request copy = *req;
	struct fetch_call *c;

	if (req->body != NULL)
		copy.body = arena_memdup(own, req->body, req->body_len);
	copy.may_cut = true;
	if (fetch_start(f, own, &copy, forgotten, NULL, &c, e) != 0) {
		arena_free(own);
		return -1;
	}
	c->own = own;
	return 0;
}

/*
 * The end of a hop.
 */

/* The order matters: a refused address shows as "could not connect". */
static int
failure(const struct fetch_call *c, CURLcode rc, struct err *e)
{
	if (c->is_too_long || rc == CURLE_FILESIZE_EXCEEDED)
		return err_set(e, ERR_LIMIT, NULL, "response over %zu bytes",
			c->max_bytes);
	if (c->is_repeated)
		return err_set(e, ERR_UNAVAILABLE, NULL,
			"connection lost while waiting for the answer");
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return err_set(e, ERR_TIMEOUT, NULL, "no response in %lld ms",
			(long long)c->timeout_ms);
	if (c->is_refused && (rc == CURLE_COULDNT_CONNECT ||
				     rc == CURLE_ABORTED_BY_CALLBACK))
		return err_set(e, ERR_FORBIDDEN, NULL,
			"address not public and not in fetch_allow");
	return err_set(e, ERR_UNAVAILABLE, NULL, "%s", curl_easy_strerror(rc));
}

static void
take_headers(const struct fetch_call *c, struct fetch_response *out)
{
	struct curl_header *at = NULL;
	struct fetch_header *h;

	h = arena_calloc(c->a, HEADERS_MAX, sizeof(*h));
	out->header = h;
	while (out->n_header < HEADERS_MAX &&
		(at = curl_easy_nextheader(c->curl, CURLH_HEADER, -1, at)) !=
			NULL) {
		h[out->n_header].name = arena_strdup(c->a, at->name);
		h[out->n_header].value = arena_strdup(c->a, at->value);
		out->n_header++;
	}
}

static void
response_build(const struct fetch_call *c, struct fetch_response *out)
{
	const char *type = NULL, *challenge;
	long status = 0;

	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c->curl, CURLINFO_CONTENT_TYPE, &type);
	out->status = (int)status;
	out->body_len = c->body != NULL ? c->body_len : 0;
	out->body = arena_memdup(
		c->a, c->body != NULL ? c->body : "", out->body_len);
	out->content_type = arena_strdup(c->a, type != NULL ? type : "");
	out->is_cut = c->is_cut;
	take_headers(c, out);
	challenge = fetch_header(out, "WWW-Authenticate");
	out->authenticate = challenge != NULL ? challenge : "";
}

/*
 * Whether the redirect in hand is followed: 1, and C is what goes there; 0,
 * it is the answer; -1.
 */
static int
redirect(struct fetch_call *c, struct err *e)
{
	const char *to = NULL;
	bool is_get, is_other;
	long status = 0;
	char *url;

	if (!is_hop(c))
		return 0;
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c->curl, CURLINFO_REDIRECT_URL, &to);
	if (to == NULL || url_check(to) != NULL)
		return err_set(e, ERR_INVALID, NULL, "redirect to no URL");
	if (url_is_https(c->url) && !url_is_https(to))
		return err_set(
			e, ERR_FORBIDDEN, NULL, "redirect from https to http");
	is_get = (status == 303 && !is_safe(c->method)) ||
		 (status <= 302 && strcmp(c->method, "POST") == 0);
	is_other = !url_same_origin(c->url, to);
	/* What was meant, and approved, for one service is not another's. */
	if (is_other && !is_get &&
		(c->req.body != NULL || !is_safe(c->method)))
		return 0;
	if (c->hops++ >= c->req.redirects_max)
		return err_set(e, ERR_LIMIT, NULL, "more than %u redirects",
			c->req.redirects_max);
	if ((url = strdup(to)) == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	OPENSSL_cleanse(c->url, strlen(c->url));
	free(c->url);
	c->url = url;
	c->is_elsewhere |= is_other;
	if (is_get) {
		c->method = "GET";
		c->req.body = NULL;
		c->req.body_len = 0;
	}
	return 1;
}

static void
hop_end(struct fetch_call *c, CURLcode rc)
{
	struct fetch_response res = { 0 };
	fetch_done_fn done = c->done;
	void *arg = c->arg;
	struct err e;
	int more = 0;

	curl_multi_remove_handle(c->f->multi, c->curl);
	if (rc == CURLE_WRITE_ERROR && (c->is_cut || c->is_enough))
		rc = CURLE_OK;
	err_clear(&e);
	if (rc != CURLE_OK)
		more = failure(c, rc, &e);
	else
		more = redirect(c, &e);
	if (more > 0 && hop_start(c, &e) == 0)
		return;
	if (more == 0)
		response_build(c, &res);
	res.was_sent = c->was_sent;
	call_free(c);
	done(arg, &res, more == 0 ? NULL : &e);
}

/* How many ended, redirects included. */
static size_t
collect(struct fetch *f)
{
	struct fetch_call *c;
	size_t ended = 0;
	CURLMsg *m;
	CURLcode rc;
	int left;

	while ((m = curl_multi_info_read(f->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		rc = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
		hop_end(c, rc);
		ended++;
	}
	return ended;
}

static int
step(struct fetch *f, size_t *ended, struct err *e)
{
	struct fetch_call *c;
	CURLMcode rc;
	int running;

	f->is_performing = true;
	rc = curl_multi_perform(f->multi, &running);
	f->is_performing = false;
	/* What on_data began. */
	for (c = f->calls; c != NULL && rc == CURLM_OK; c = c->next)
		if (c->is_queued) {
			c->is_queued = false;
			rc = curl_multi_add_handle(f->multi, c->curl);
		}
	if (rc != CURLM_OK)
		return err_set(e, ERR_INTERNAL, NULL, "libcurl: %s",
			curl_multi_strerror(rc));
	*ended = collect(f);
	return 0;
}

int
fetch_poll(struct fetch *f, struct pollfd *extra, size_t n, int timeout_ms,
	struct err *e)
{
	struct curl_waitfd wait[FETCH_EXTRA_MAX];
	size_t ended, i;
	CURLMcode rc;

	assert(n <= FETCH_EXTRA_MAX);
	if (step(f, &ended, e) != 0)
		return -1;
	if (ended > 0)
		timeout_ms = 0;
	for (i = 0; i < n; i++) {
		wait[i].fd = extra[i].fd;
		wait[i].events =
			(extra[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
			(extra[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0);
		wait[i].revents = 0;
	}
	rc = curl_multi_poll(f->multi, wait, (unsigned)n, timeout_ms, NULL);
	if (rc != CURLM_OK)
		return err_set(e, ERR_INTERNAL, NULL, "libcurl: %s",
			curl_multi_strerror(rc));
	for (i = 0; i < n; i++)
		extra[i].revents =
			(short)((wait[i].revents & CURL_WAIT_POLLIN ? POLLIN
								    : 0) |
				(wait[i].revents & CURL_WAIT_POLLOUT ? POLLOUT
								     : 0));
	return step(f, &ended, e);
}

/*
 * Waiting for one.
 */

struct waiting {
	bool is_done;
	bool is_good;
	struct fetch_response *out;
	struct err *e;
};

static void
wait_done(void *arg, const struct fetch_response *res, const struct err *e)
{
	struct waiting *w = arg;

	w->is_done = true;
	w->is_good = e == NULL;
	*w->out = *res;
	if (e != NULL)
		*w->e = *e;
}

int
fetch_do(struct fetch *f, struct arena *a, const struct fetch_request *req,
	struct fetch_response *out, struct err *e)
{
	struct waiting w = { .out = out, .e = e };
	struct fetch_call *call;

	if (fetch_start(f, a, req, wait_done, &w, &call, e) != 0)
		return -1;
	while (!w.is_done)
		if (fetch_poll(f, NULL, 0, 1000, e) != 0) {
			if (!w.is_done)
				fetch_cancel(call);
			return -1;
		}
	return w.is_good ? 0 : -1;
}

int
fetch_get(struct fetch *f, struct arena *a, const struct fetch_request *req,
	struct fetch_response *out, struct err *e)
{
	struct fetch_request get = *req;

	get.method = "GET";
	get.body = NULL;
	return fetch_do(f, a, &get, out, e);
}

int
fetch_post(struct fetch *f, struct arena *a, const struct fetch_request *req,
	const char *json, struct fetch_response *out, struct err *e)
{
	struct fetch_request post = *req;

	post.method = "POST";
	post.body = json;
	post.body_len = strlen(json);
	return fetch_do(f, a, &post, out, e);
}
