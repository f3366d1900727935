/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/outbound.h"

#include <ctype.h>
#include <openssl/evp.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/seal.h"
#include "net/addr.h"
#include "net/fetch.h"
#include "net/header.h"
#include "net/url.h"
#include "run/call.h"

enum { CONFIG_DEPTH = 8, REDIRECTS = 5, REDIRECTS_MAX = 10, ALLOW_MAX = 64 };

static const char *
read_value(struct arena *a, const struct cJSON *v, struct outbound_value *out)
{
	const char *prefix;

	out->name = cj_name(v);
	out->text = cj_string(v);
	if (out->text != NULL)
		return NULL;
	out->secret = cj_get_string(v, "secret");
	if (out->secret == NULL || out->secret[0] == '\0')
		return "a value is a string or {\"secret\": NAME}";
	prefix = cj_get_string(v, "prefix");
	if (prefix == NULL && cj_get(v, "prefix") != NULL)
		return "the prefix of a secret is a string";
	out->text = prefix != NULL ? prefix : "";
	return NULL;
}

static const char *
read_values(struct arena *a, const struct cJSON *config, const char *name,
	struct outbound_value **out, size_t *n)
{
	const struct cJSON *obj = cj_get(config, name), *v;
	const char *why;

	*n = 0;
	*out = arena_calloc(a, OUTBOUND_HEADERS_MAX, sizeof(**out));
	if (obj == NULL)
		return NULL;
	if (!cj_is_object(obj))
		return arena_printf(a, "%s: not an object", name);
	for (v = cj_first(obj); v != NULL; v = cj_next(v)) {
		if (*n == OUTBOUND_HEADERS_MAX)
			return arena_printf(a, "%s: more than %d", name,
				OUTBOUND_HEADERS_MAX);
		why = read_value(a, v, &(*out)[*n]);
		if (why != NULL)
			return arena_printf(
				a, "%s.%s: %s", name, cj_name(v), why);
		(*n)++;
	}
	return NULL;
}

static const char *
check_headers(struct arena *a, const struct outbound *o)
{
	size_t i;

	for (i = 0; i < o->n_header; i++) {
		const struct outbound_value *h = &o->header[i];

		if (!header_is_valid(h->name, h->text) ||
			header_is_reserved(h->name))
			return arena_printf(
				a, "headers.%s: cannot be sent", h->name);
	}
	return NULL;
}

static const char *
read_allow(struct arena *a, const struct cJSON *config, struct conf_list *out)
{
	const struct cJSON *list = cj_get(config, "allow"), *v;
	struct addr_cidr cidr;

	if (list == NULL)
		return NULL;
	if (!cj_is_array(list) || cj_array_len(list) > ALLOW_MAX)
		return "allow: not a list of address ranges";
	out->item = arena_calloc(a, cj_array_len(list) + 1, sizeof(*out->item));
	for (v = cj_first(list); v != NULL; v = cj_next(v)) {
		if (!cj_is_string(v) || !addr_parse_cidr(cj_string(v), &cidr))
			return "allow: not a list of address ranges";
		out->item[out->n++] = cj_string(v);
	}
	return NULL;
}

static const char *
read_int(struct arena *a, const struct cJSON *config, const char *name,
	int64_t min, int64_t max, int64_t *out)
{
	if (cj_get(config, name) == NULL ||
		cj_get_int(config, name, min, max, out))
		return NULL;
	return arena_printf(a,
		"%s: not a whole number from %" PRId64 " to %" PRId64, name,
		min, max);
}

const char *
outbound_configure(struct arena *a, const char *text, struct outbound *out)
{
	static const struct cj_limits limits = { CONFIG_DEPTH, CJ_DUP_REFUSE,
		0 };
	struct cJSON *config;
	const char *why;
	struct err e;

	memset(out, 0, sizeof(*out));
	out->redirects = -1;
	if (cj_parse(a, text, strlen(text), &limits, &config, &e) != 0 ||
		!cj_is_object(config))
		return "not a JSON object";
	out->url = cj_get_string(config, "base_url");
	if (out->url == NULL)
		out->url = cj_get_string(config, "url");
	if (out->url == NULL)
		return "url: is required";
	if ((why = url_check(out->url)) != NULL)
		return arena_printf(a, "url: %s", why);
	if (strchr(out->url, '#') != NULL)
		return "url: with a fragment";
	if ((why = read_values(a, config, "headers", &out->header,
		     &out->n_header)) != NULL ||
		(why = check_headers(a, out)) != NULL ||
		(why = read_values(a, config, "query", &out->query,
			 &out->n_query)) != NULL ||
		(why = read_allow(a, config, &out->allow)) != NULL ||
		(why = read_int(a, config, "timeout_ms", 1, 3600000,
			 &out->timeout_ms)) != NULL ||
		(why = read_int(a, config, "max_bytes", 1, 1 << 28,
			 &out->max_bytes)) != NULL)
		return why;
	return read_int(
		a, config, "redirects", 0, REDIRECTS_MAX, &out->redirects);
}

/*
 * Secrets.
 */

static void
needle_add(struct outbound *o, const char *text, size_t len)
{
	size_t i;

	assert(o->n_needles < OUTBOUND_NEEDLES_MAX);
	for (i = 0; i < o->n_needles; i++)
		if (o->needle[i].len == len &&
			memcmp(o->needle[i].text, text, len) == 0)
			return;
	o->needle[o->n_needles++] =
		(struct outbound_needle){ mem_dup(text, len), len };
}

/* No growth: no copies left behind. */
static void
open_buf(struct buf *b, struct arena *a, const char *secret)
{
	buf_init(b, a);
	(void)buf_reserve(b, 12 * strlen(secret) + 3);
}

static void
close_buf(struct buf *b)
{
	seal_forget(b->data, b->len);
}

/* As JSON has it; some escape the slash too. */
static void
needles_json(struct outbound *o, struct arena *a, const char *secret)
{
	struct buf plain, slashes;
	size_t i;

	open_buf(&plain, a, secret);
	buf_jsons(&plain, secret);
	open_buf(&slashes, a, secret);
	for (i = 1; i + 1 < plain.len; i++) {
		if (plain.data[i] == '/')
			buf_putc(&slashes, '\\');
		buf_putc(&slashes, plain.data[i]);
	}
	needle_add(o, plain.data + 1, plain.len - 2);
	needle_add(o, slashes.data, slashes.len);
	close_buf(&plain);
	close_buf(&slashes);
}

/* As a URL has it, in capitals or not, and as a form has it. */
static void
needles_url(struct outbound *o, struct arena *a, const char *secret)
{
	struct buf url, lower, form;
	const char *p;

	open_buf(&url, a, secret);
	open_buf(&lower, a, secret);
	open_buf(&form, a, secret);
	url_encode(&url, secret, strlen(secret), "");
	for (p = url.data; *p != '\0'; p++) {
		if (*p != '%') {
			buf_putc(&lower, *p);
			buf_putc(&form, *p);
			continue;
		}
		buf_printf(&lower, "%%%c%c", tolower(p[1]), tolower(p[2]));
		if (strncmp(p, "%20", 3) == 0)
			buf_putc(&form, '+');
		else
			buf_put(&form, p, 3);
		p += 2;
	}
	needle_add(o, url.data, url.len);
	needle_add(o, lower.data, lower.len);
	needle_add(o, form.data, form.len);
	close_buf(&url);
	close_buf(&lower);
	close_buf(&form);
}

/* As base64 has what begins with it; its last letters depend on what follows
 * and are left. */
static void
needle_base64(struct outbound *o, struct arena *a, const char *secret)
{
	size_t len = strlen(secret) / 3 * 3;
	char *b = arena_alloc(a, len / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)b, (const unsigned char *)secret,
		(int)len);
	needle_add(o, b, len / 3 * 4);
	seal_forget(b, len / 3 * 4);
}

/* The secrets alone, in the ways that they may come back in. */
static void
needles_make(struct outbound *o, const struct outbound_value *v, size_t n)
{
	const char *secret;
	struct arena *a;
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i].value == NULL)
			continue;
		secret = v[i].value + strlen(v[i].text);
		if (strlen(secret) < OUTBOUND_SECRET_MIN)
			continue;
		a = arena_new(128 * strlen(secret) + 65536);
		needle_add(o, secret, strlen(secret));
		needles_json(o, a, secret);
		needles_url(o, a, secret);
		/* Three letters of a word are no secret. */
		if (strlen(secret) >= OUTBOUND_BASE64_MIN)
			needle_base64(o, a, secret);
		arena_free(a);
	}
}

static void
needles_free(struct outbound *o)
{
	size_t i;

	for (i = 0; i < o->n_needles; i++) {
		seal_forget(o->needle[i].text, o->needle[i].len);
		free(o->needle[i].text);
	}
	free(o->needle);
	o->needle = NULL;
	o->n_needles = 0;
}

static void
lock(struct outbound_value *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i].value != NULL)
			seal_forget(v[i].value, strlen(v[i].value));
		free(v[i].value);
		v[i].value = NULL;
	}
}

void
outbound_lock(struct outbound *o)
{
	lock(o->header, o->n_header);
	lock(o->query, o->n_query);
	needles_free(o);
}

static int
unlock(const struct outbound_env *env, struct outbound_value *v, size_t n,
	struct err *e)
{
	char *secret;
	size_t i;
	int len;

	for (i = 0; i < n; i++) {
		if (v[i].secret == NULL)
			continue;
		if (env->secret == NULL)
			return err_set(e, ERR_NOTFOUND, NULL, "no keyring");
		secret = env->secret(env->secret_arg, v[i].secret, e);
		if (secret == NULL) {
			/* Sealed for something else, or changed: as good as
			   none. */
			if (e->kind == ERR_INVALID)
				e->kind = ERR_NOTFOUND;
			return -1;
		}
		len = asprintf(&v[i].value, "%s%s", v[i].text, secret);
		seal_forget(secret, strlen(secret));
		free(secret);
		if (len < 0) {
			v[i].value = NULL;
			return err_set(e, ERR_INTERNAL, NULL, "out of memory");
		}
	}
	return 0;
}

int
outbound_unlock(
	const struct outbound_env *env, struct outbound *o, struct err *e)
{
	if (unlock(env, o->header, o->n_header, e) == 0 &&
		unlock(env, o->query, o->n_query, e) == 0) {
		o->needle = mem_zalloc(
			OUTBOUND_NEEDLES_MAX, sizeof(*o->needle));
		needles_make(o, o->header, o->n_header);
		needles_make(o, o->query, o->n_query);
		return 0;
	}
	outbound_lock(o);
	return -1;
}

static bool
has_header(const struct outbound *o, const char *name)
{
	size_t i;

	for (i = 0; i < o->n_header; i++)
		if (strcasecmp(o->header[i].name, name) == 0)
			return true;
	return false;
}

static void
put_value(const struct outbound_value *v, struct fetch_header *out)
{
	assert(v->secret == NULL || v->value != NULL);
	out->name = v->name;
	out->value = v->secret != NULL ? v->value : v->text;
	out->is_secret = v->secret != NULL;
}

void
outbound_request(const struct outbound_env *env, const struct outbound *o,
	struct arena *a, struct fetch_request *req)
{
	struct fetch_header *header, *query;
	size_t i, n = 0;

	header = arena_calloc(
		a, req->n_header + o->n_header + 1, sizeof(*header));
	for (i = 0; i < req->n_header; i++)
		if (!has_header(o, req->header[i].name))
			header[n++] = req->header[i];
	for (i = 0; i < o->n_header; i++)
		put_value(&o->header[i], &header[n++]);
	req->header = header;
	req->n_header = n;

	n = req->n_query;
	query = arena_calloc(a, n + o->n_query + 1, sizeof(*query));
	if (n > 0)
		memcpy(query, req->query, n * sizeof(*query));
	for (i = 0; i < o->n_query; i++)
		put_value(&o->query[i], &query[n++]);
	req->query = query;
	req->n_query = n;

	req->allow = &o->allow;
	req->timeout_ms = env->timeout_ms;
	if (o->timeout_ms > 0 && o->timeout_ms < req->timeout_ms)
		req->timeout_ms = o->timeout_ms;
	req->max_bytes = env->max_bytes;
	if (o->max_bytes > 0 && (size_t)o->max_bytes < req->max_bytes)
		req->max_bytes = (size_t)o->max_bytes;
	req->redirects_max =
		o->redirects >= 0 ? (unsigned)o->redirects : REDIRECTS;
	req->may_compress = true;
}

/*
 * What comes back.
 */

static size_t
needle_at(const struct outbound *o, const char *text, size_t len)
{
	size_t longest = 0, i;

	for (i = 0; i < o->n_needles; i++)
		if (o->needle[i].len <= len && o->needle[i].len > longest &&
			memcmp(o->needle[i].text, text, o->needle[i].len) == 0)
			longest = o->needle[i].len;
	return longest;
}

const char *
outbound_redact(const struct outbound *o, struct arena *a, const char *text,
	size_t *len)
{
	bool first[256] = { false };
	size_t i = 0, done = 0, n;
	struct buf b;

	for (n = 0; n < o->n_needles; n++)
		first[(unsigned char)o->needle[n].text[0]] = true;
	buf_init(&b, a);
	while (i < *len) {
		n = first[(unsigned char)text[i]]
			    ? needle_at(o, text + i, *len - i)
			    : 0;
		if (n == 0) {
			i++;
			continue;
		}
		buf_put(&b, text + done, i - done);
		buf_puts(&b, "[secret]");
		i += n;
		done = i;
	}
	if (done == 0)
		return text;
	buf_put(&b, text + done, *len - done);
	/* In the arena since it came. */
	seal_forget((char *)text, *len);
	*len = b.len;
	return b.data;
}

void
outbound_fail(struct call_answer *answer, struct arena *a, const struct err *e,
	bool was_sent, bool is_safe)
{
	struct call_fault fault = { .code = "internal_error",
		.message = "The call could not be made" };
	bool is_open = was_sent && !is_safe;

	switch (e->kind) {
	case ERR_TIMEOUT:
		fault.code = "timeout";
		fault.message = is_open ? "The service did not answer in time; "
					  "the call may "
					  "have taken effect"
					: "The service did not answer in time";
		fault.is_retryable = !is_open;
		break;
	case ERR_UNAVAILABLE:
		fault.code = "unavailable";
		fault.message = is_open ? "The connection was lost before the "
					  "answer came; the "
					  "call may have taken effect"
				: was_sent ? "The service did not answer"
					   : "The service could not be reached";
		fault.is_retryable = !is_open;
		break;
	case ERR_FORBIDDEN:
		fault.code = "network_forbidden";
		fault.message =
			"The service leads to an address that is not allowed";
		break;
	case ERR_LIMIT:
		fault.code = "response_too_large";
		fault.message = "The service's answer is too large, or leads "
				"from one place to another without end";
		break;
	case ERR_NOTFOUND:
		fault.code = "credentials_missing";
		fault.message = "A credential that this tool needs is not "
				"set; its administrator can set it";
		is_open = false;
		break;
	case ERR_INVALID:
		fault.code = "invalid_request";
		fault.message = "The request cannot be sent as it is";
		break;
	default:
		break;
	}
	call_fail(answer, a, is_open ? CALL_UNKNOWN : CALL_FAILED, &fault);
}
