/* SPDX-License-Identifier: ISC */
/*
 * err: what went wrong, in a fixed-size struct on the caller's stack, so
 * that failing never allocates.
 *
 * DETAIL is for the log, PUB for the client.  Neither ever holds a token, a
 * session id or SQL text.  app/fault.c alone turns a kind into an HTTP status
 * and a JSON-RPC code.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_kind {
	ERR_NONE,
	ERR_INVALID,	 /* the input is wrong */
	ERR_UNAUTH,	 /* no credentials, or not acceptable ones */
	ERR_FORBIDDEN,	 /* known, but not allowed */
	ERR_NOTFOUND,	 /* the thing addressed is not there (any more) */
	ERR_CONFLICT,	 /* collides with what is there */
	ERR_LIMIT,	 /* larger or more than configured */
	ERR_UNAVAILABLE, /* a part outside does not answer: try again */
	ERR_TIMEOUT,	 /* took longer than configured */
	ERR_INTERNAL,	 /* a fault of ours */
	ERR__MAX
};

struct err {
	enum err_kind kind;
	int rpc_code; /* 0: app/fault.c chooses by kind */
	char detail[256];
	char pub[128];
	const char *at; /* file:line of the err_set */
	bool is_whole;	/* err_wrap leaves the detail as it is */
};

/*
 * Record KIND with the literal PUB (may be NULL: the kind's own text is used)
 * and a formatted detail for the log.  Always returns -1, for use in return
 * statements.
 */
#define err_set(e, kind, pub, ...) \
	err_set_at(e, kind, pub, __FILE__ ":" ERR_STR(__LINE__), __VA_ARGS__)
#define ERR_STR(x)  ERR_STR_(x)
#define ERR_STR_(x) #x
int err_set_at(struct err *e, enum err_kind kind, const char *pub,
	const char *at, const char *fmt, ...) PRINTF(5, 6);

/* Put "what: " before the detail; returns -1. */
int err_wrap(struct err *e, const char *what);

/*
 * The detail says all: what was to be done when it happened is beside the
 * point, as with a connection that cannot be made.  Returns -1.
 */
int err_whole(struct err *e);

void err_clear(struct err *e);

/* A short lower-case word for the log: "invalid", "unauth", ... */
const char *err_kind_name(enum err_kind kind);

#endif
