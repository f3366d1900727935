/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/log.h"

#include <syslog.h>

#include "base/buf.h"
#include "base/err.h"

/* A line is one write(2), below PIPE_BUF: lines of processes do not mix. */
enum { LINE_BYTES = 2048 };

struct line {
	char text[LINE_BYTES];
	size_t len;
	bool is_cut;
};

static const char *const LEVELS[] = { "err", "warn", "info", "debug" };
static const int PRIORITIES[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

static struct {
	const char *program;
	enum log_target target;
	enum log_level level;
} sink = { "mcp-fcgi", LOG_TARGET_STDERR, LOG_LEVEL_INFO };

/* Whose request the lines are about; log_context_clear ends it. */
static struct {
	char rid[64];
	char sid[9];
	char sub[64];
} context;

void
log_open(const char *program, enum log_target target, enum log_level level)
{
	sink.program = program;
	sink.target = target;
	sink.level = level;
	if (target == LOG_TARGET_SYSLOG)
		openlog(program, LOG_PID, LOG_DAEMON);
}

bool
log_is_stderr(void)
{
	return sink.target == LOG_TARGET_STDERR;
}

static void
copy(char *to, size_t cap, const char *s)
{
	size_t len;

	if (s == NULL)
		s = "";
	len = buf_utf8_prefix(s, strlen(s), cap - 1);
	memcpy(to, s, len);
	to[len] = '\0';
}

void
log_context(const char *rid, const char *sid, const char *sub)
{
	copy(context.rid, sizeof(context.rid), rid);
	copy(context.sid, sizeof(context.sid), sid);
	copy(context.sub, sizeof(context.sub), sub);
}

void
log_context_clear(void)
{
	memset(&context, 0, sizeof(context));
}

/* All of S or nothing; the room of the mark for a cut line stays free. */
static void
add(struct line *l, const char *s, size_t len)
{
	if (l->is_cut || len > sizeof(l->text) - 8 - l->len) {
		l->is_cut = true;
		return;
	}
	memcpy(l->text + l->len, s, len);
	l->len += len;
}

static void
adds(struct line *l, const char *s)
{
	add(l, s, strlen(s));
}

/* The character of N bytes at S may stand in a log as it is. */
static bool
is_plain(const unsigned char *s, size_t n)
{
	if (n == 0 || s[0] < 0x20 || s[0] == 0x7f)
		return false;
	if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)
		return false; /* C1 controls */
	/* U+2028 and U+2029, and what turns the direction of text. */
	if (n == 3 && s[0] == 0xe2 && s[1] == 0x80 && s[2] >= 0xa8 &&
		s[2] <= 0xae)
		return false;
	if (n == 3 && s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 &&
		s[2] <= 0xa9)
		return false;
	return true;
}

static void
add_value(struct line *l, const char *s)
{
	bool is_quoted = s[0] == '\0' || strpbrk(s, " =\"\\") != NULL;
	size_t len = strlen(s), i, n, k;
	char esc[8];

	for (i = 0; i < len && !is_quoted; i += n) {
		n = buf_utf8_len(s + i, len - i);
		if (!is_plain((const unsigned char *)s + i, n)) {
			is_quoted = true;
			n = 1;
		}
	}
	if (!is_quoted) {
		adds(l, s);
		return;
	}
	adds(l, "\"");
	for (i = 0; i < len; i += n) {
		n = buf_utf8_len(s + i, len - i);
		if (s[i] == '"' || s[i] == '\\') {
			add(l, "\\", 1);
			add(l, s + i, 1);
		} else if (s[i] == '\n') {
			add(l, "\\n", 2);
		} else if (is_plain((const unsigned char *)s + i, n)) {
			add(l, s + i, n);
		} else {
			if (n == 0)
				n = 1;
			for (k = 0; k < n; k++) {
				(void)snprintf(esc, sizeof(esc), "\\x%02x",
					(unsigned char)s[i + k]);
				adds(l, esc);
			}
		}
	}
	adds(l, "\"");
}

static void
add_pair(struct line *l, const char *key, const char *value)
{
	adds(l, " ");
	adds(l, key);
	adds(l, "=");
	add_value(l, value);
}

/* "2026-12-01T14:51:50Z mcp-fcgi[123]: "; syslog has its own. */
static void
add_prefix(struct line *l)
{
	char prefix[96], when[32];
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL ||
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		when[0] = '\0';
	(void)snprintf(prefix, sizeof(prefix), "%s %.32s[%ld]: ", when,
		sink.program, (long)getpid());
	adds(l, prefix);
}

static void
begin(struct line *l, enum log_level level, const char *event)
{
	l->len = 0;
	l->is_cut = false;
	if (sink.target == LOG_TARGET_STDERR)
		add_prefix(l);
	adds(l, "level=");
	adds(l, LEVELS[level]);
	add_pair(l, "ev", event);
	if (context.rid[0] != '\0')
		add_pair(l, "rid", context.rid);
	if (context.sid[0] != '\0')
		add_pair(l, "sid", context.sid);
	if (context.sub[0] != '\0')
		add_pair(l, "sub", context.sub);
}

static void
end(struct line *l, enum log_level level)
{
	if (l->is_cut) {
		memcpy(l->text + l->len, " ...", 4);
		l->len += 4;
	}
	if (sink.target == LOG_TARGET_SYSLOG) {
		l->text[l->len] = '\0';
		syslog(PRIORITIES[level], "%s", l->text);
		return;
	}
	l->text[l->len++] = '\n';
	/* Nobody is left to tell when the log itself fails. */
	if (write(STDERR_FILENO, l->text, l->len) < 0)
		return;
}

void
log_event(enum log_level level, const char *event, ...)
{
	const char *key, *value;
	struct line l;
	va_list ap;

	if (level > sink.level)
		return;
	begin(&l, level, event);
	va_start(ap, event);
	while ((key = va_arg(ap, const char *)) != NULL) {
		value = va_arg(ap, const char *);
		if (value != NULL)
			add_pair(&l, key, value);
	}
	va_end(ap);
	end(&l, level);
}

void
log_err(enum log_level level, const char *event, const struct err *e)
{
	log_event(level, event, "kind", err_kind_name(e->kind), "detail",
		e->detail, "at", e->at, NULL);
}

const char *
log_num(long long v)
{
	static char ring[8][24];
	static unsigned next;
	char *s = ring[next++ % NELEM(ring)];

	(void)snprintf(s, sizeof(ring[0]), "%lld", v);
	return s;
}
