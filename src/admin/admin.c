/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/admin.h"

#include <pwd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/db.h"

enum { LOCK_TIMEOUT_MS = 5000, ID_MAX = 512 };

struct db *
admin_db(const struct admin *ad, const char *conninfo, int64_t timeout_ms)
{
	const struct db_options o = {
		.conninfo = conninfo,
		.application_name = "mcp-admin",
		.is_pooled =
			ad->conf->database_pooler == CONF_POOLER_TRANSACTION,
		.statement_timeout_ms = timeout_ms,
		.lock_timeout_ms = LOCK_TIMEOUT_MS,
	};

	return db_new(&o);
}

void
admin_note(const char *fmt, ...)
{
	va_list ap;

	/* What was asked for comes first where both go to one place. */
	fflush(stdout);
	fputs("mcp-admin: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

const char *
admin_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

int
admin_status(const struct err *e)
{
	switch (e->kind) {
	case ERR_NONE:
		return ADMIN_OK;
	case ERR_INVALID:
		return ADMIN_USAGE;
	case ERR_NOTFOUND:
		return ADMIN_NOT_FOUND;
	default:
		return ADMIN_FAILED;
	}
}

int
admin_check_id(const char *what, const char *s, struct err *e)
{
	size_t len = strlen(s), i, n;

	if (len == 0 || len > ID_MAX)
		return err_set(e, ERR_INVALID, NULL,
			"%s must have 1 to %d bytes", what, ID_MAX);
	if (s[0] == ' ' || s[len - 1] == ' ')
		return err_set(e, ERR_INVALID, NULL,
			"%s begins or ends with a space", what);
	for (i = 0; i < len; i += n) {
		n = buf_utf8_len(s + i, len - i);
		if (n == 0)
			return err_set(
				e, ERR_INVALID, NULL, "%s is not UTF-8", what);
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f ||
			(n == 2 && (unsigned char)s[i] == 0xc2 &&
				(unsigned char)s[i + 1] < 0xa0))
			return err_set(e, ERR_INVALID, NULL,
				"%s has a control character", what);
	}
	return 0;
}

int
admin_check_text(const char *what, const char *s, size_t max, struct err *e)
{
	size_t len = strlen(s), i, n;

	if (len == 0 || len > max)
		return err_set(e, ERR_INVALID, NULL,
			"%s must have 1 to %zu bytes", what, max);
	for (i = 0; i < len; i += n)
		if ((n = buf_utf8_len(s + i, len - i)) == 0)
			return err_set(
				e, ERR_INVALID, NULL, "%s is not UTF-8", what);
	return 0;
}

int
admin_read(struct admin *ad, const char *file, size_t max, char **out,
	size_t *len, struct err *e)
{
	bool is_stdin = strcmp(file, "-") == 0;
	const char *name = is_stdin ? "standard input" : file;
	AUTO_FILE *opened = is_stdin ? NULL : fopen(file, "re");
	FILE *f = is_stdin ? stdin : opened;
	char *text = arena_alloc(ad->arena, max + 2);
	size_t i, n;

	if (f == NULL)
		return err_set(
			e, ERR_CONFLICT, NULL, "%s: %s", name, strerror(errno));
	*len = fread(text, 1, max + 1, f);
	if (ferror(f))
		return err_set(
			e, ERR_CONFLICT, NULL, "%s: %s", name, strerror(errno));
	if (*len > max)
		return err_set(e, ERR_CONFLICT, NULL, "%s: more than %zu bytes",
			name, max);
	for (i = 0; i < *len; i += n)
		if (text[i] == '\0' ||
			(n = buf_utf8_len(text + i, *len - i)) == 0)
			return err_set(e, ERR_CONFLICT, NULL,
				"%s: not a text in UTF-8", name);
	text[*len] = '\0';
	*out = text;
	return 0;
}

int
admin_refused(struct admin *ad, struct err *e)
{
	if (e->kind != ERR_INVALID || *db_message(ad->db) == '\0')
		return -1;
	return err_set(e, ERR_CONFLICT, NULL, "%s", db_message(ad->db));
}

int
admin_number(const char *what, const char *s, int64_t min, int64_t max,
	int64_t *out, struct err *e)
{
	long long v;
	char *end;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || v < min || v > max)
		return err_set(e, ERR_INVALID, NULL,
			"%s must be a number of %" PRId64 " to %" PRId64, what,
			min, max);
	*out = v;
	return 0;
}

int
admin_begin(struct admin *ad, struct err *e)
{
	return db_script(ad->db, "BEGIN", e);
}

/* Who runs this, as JSON. */
static void
who_build(struct buf *b, const char *verb)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *sudo = getenv("SUDO_USER");
	char host[256] = "", uid[32];

	gethostname(host, sizeof(host) - 1);
	snprintf(uid, sizeof(uid), "%ld", (long)getuid());
	buf_puts(b, "{\"os_user\":");
	buf_jsons(b, pw != NULL ? pw->pw_name : uid);
	if (getuid() == 0 && sudo != NULL) {
		buf_puts(b, ",\"sudo_user\":");
		buf_jsons(b, sudo);
	}
	buf_puts(b, ",\"host\":");
	buf_jsons(b, host);
	buf_puts(b, ",\"command\":");
	buf_jsons(b, verb);
	buf_putc(b, '}');
}

int
admin_commit(
	struct admin *ad, const char *org, const char *account, struct err *e)
{
	struct audit_event ev = {
		.event = "admin.command",
		.organization_id = org,
		.account_id = account,
	};
	struct buf b;

	buf_init(&b, ad->arena);
	who_build(&b, ad->verb);
	ev.detail = b.data;
	if (audit_write(ad->db, ad->arena, &ev, e) != 0)
		return -1;
	return db_script(ad->db, "COMMIT", e);
}
