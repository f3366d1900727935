/* SPDX-License-Identifier: ISC */
/*
 * log: one logfmt line per event, to syslog or stderr.
 *
 * The pipeline sets the identity of the request once; call sites give only
 * the event and its facts.  Event names are a closed list, documented in
 * mcp-fcgi(8).  Values are escaped here: no CR, LF or ESC reaches the log.
 * Tokens and whole session ids never come here.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};
enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

struct err;

void log_open(const char *program, enum log_target target,
	enum log_level level);

/* Whether the lines go to stderr. */
bool log_is_stderr(void);

/*
 * The request's identity, copied (cut to what fits): request id, session id
 * (its first 8 characters are kept), subject.  NULL leaves one out.
 */
void log_context(const char *rid, const char *sid, const char *sub);
void log_context_clear(void);

/*
 * log_event(LOG_LEVEL_WARN, "auth.reject", "why", "aud", "kid", kid, NULL):
 * pairs of key and value, both strings, ended by NULL.  A NULL value skips
 * its pair.
 */
void log_event(enum log_level level, const char *event, ...)
	__attribute__((__sentinel__));

/* The same for an error that stops travelling: kind, detail, at. */
void log_err(enum log_level level, const char *event, const struct err *e);

/* Decimal of V in a small ring of static buffers, for log_event's values. */
const char *log_num(long long v);

#endif
