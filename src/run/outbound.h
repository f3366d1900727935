/* SPDX-License-Identifier: ISC */
/*
 * outbound: what the tools of other servers have in common: the config of
 * their source's row, the secrets in it, and what is told of failures.
 *
 * source.config: {"base_url" or "url", "headers": {NAME: VALUE}, "query":
 * {NAME: VALUE}, "allow": [CIDR], "timeout_ms", "max_bytes", "redirects"}; a
 * VALUE is a string or {"secret": NAME, "prefix": "Bearer "}.
 *
 * Secrets are in no arena and are wiped; what an upstream repeats of them is
 * taken out of its answer.  Texts for programs name no host or address.
 */
#ifndef RUN_OUTBOUND_H
#define RUN_OUTBOUND_H

#include "base/conf.h"

struct arena;
struct call_answer;
struct cJSON;
struct err;
struct fetch;
struct fetch_request;

/*
 * The value of the secret NAME, allocated, for outbound to wipe and free; or
 * NULL, ERR_NOTFOUND when there is none.
 */
typedef char *(*outbound_secret_fn)(void *arg, const char *name, struct err *e);

struct outbound_env {
	struct fetch *fetch;
	outbound_secret_fn secret; /* NULL: there are none */
	void *secret_arg;
	int64_t timeout_ms; /* no call is given more */
	size_t max_bytes;   /* of an answer, no call is given more */
};

/* Places for secrets in one config. */
enum {
	OUTBOUND_HEADERS_MAX = 32,
	OUTBOUND_SECRET_MIN = 4,
	OUTBOUND_BASE64_MIN = 8,
	/* itself, in JSON (also with "\/"), in a URL (%2F, %2f), in a form, in
	 * base64 */
	OUTBOUND_NEEDLES_MAX = 2 * 7 * OUTBOUND_HEADERS_MAX,
};

struct outbound_value {
	const char *name;
	const char *text;   /* literal, or the prefix */
	const char *secret; /* its name; NULL: a literal */
	char *value;	    /* prefix and secret; filled by outbound_unlock */
};

/* A way to write a secret. */
struct outbound_needle {
	char *text;
	size_t len;
};

struct outbound {
	const char *url;
	struct outbound_value *header;
	size_t n_header;
	struct outbound_value *query;
	size_t n_query;
	struct conf_list allow;
	int64_t timeout_ms; /* 0: not given */
	int64_t max_bytes;
	int64_t redirects; /* -1: not given */
	struct outbound_needle *needle; /* filled by outbound_unlock */
	size_t n_needles;
};

/* NULL with *OUT in A, or what is wrong with TEXT, a source's config. */
const char *outbound_configure(
	struct arena *a, const char *text, struct outbound *out);

/*
 * Fetch the secrets.  Fails, with nothing left behind, as the callback does.
 */
MUST_CHECK int outbound_unlock(
	const struct outbound_env *env, struct outbound *o, struct err *e);
/* Wipe them.  Twice is fine. */
void outbound_lock(struct outbound *o);

/*
 * Complete REQ, whose N_HEADER headers and N_QUERY pairs come first; a header
 * of the config replaces one of the same name.  What REQ points to lives in A
 * or, the secrets, until outbound_lock.
 */
void outbound_request(const struct outbound_env *env, const struct outbound *o,
	struct arena *a, struct fetch_request *req);

/*
 * TEXT without the secrets that it repeats: itself, or a copy in A.  TEXT is
 * then wiped.
 */
const char *outbound_redact(const struct outbound *o, struct arena *a,
	const char *text, size_t *len);

/*
 * What a program is told of E.  WAS_SENT: the request may have arrived;
 * IS_SAFE: it may be repeated whatever became of it.
 */
void outbound_fail(struct call_answer *answer, struct arena *a,
	const struct err *e, bool was_sent, bool is_safe);

#endif
