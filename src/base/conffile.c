/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/conffile.h"

#include <ctype.h>
#include <ini.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * libinih sees the file line by line through next_line, which knows
 * what the library does not tell: the number of the line, whether it is
 * indented, and that it would be cut or taken for something else.
 */

struct reader {
	struct arena *arena;
	size_t (*find)(const char *, size_t);
	struct conffile_value *values;
	const char *name;
	const char *text;
	size_t len;
	size_t at;
	int line;
	bool is_indented;
	struct conffile_value *last; /* what an indented line continues */
	struct err *e;
	bool is_failed;
};

static PRINTF(2, 3) void
fail(struct reader *r, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	if (r->is_failed)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err_set(r->e, ERR_INVALID, NULL, "%s:%d: %s", r->name, r->line, what);
	r->is_failed = true;
}

/* An indented line that was meant as a setting of its own. */
static bool
is_setting(const struct reader *r, const char *s, size_t len)
{
	size_t n;

	for (n = 0; n < len && strchr(" \t=:", s[n]) == NULL; n++)
		;
	return n < len && r->find(s, n) != CONFFILE_UNKNOWN;
}

/* An ini_reader: as fgets. */
static char *
next_line(char *out, int cap, void *stream)
{
	struct reader *r = stream;
	const char *s = r->text + r->at, *end;
	size_t len, space;

	if (r->at >= r->len || r->is_failed)
		return NULL;
	r->line++;
	end = memchr(s, '\n', r->len - r->at);
	len = end != NULL ? (size_t)(end - s) : r->len - r->at;
	r->at += len + (end != NULL);
	if (len > 0 && s[len - 1] == '\r')
		len--;
	for (space = 0; space < len && (s[space] == ' ' || s[space] == '\t');
		space++)
		;
	r->is_indented = space > 0 && space < len;

	if (memchr(s, '\0', len) != NULL)
		fail(r, "a NUL character");
	else if (space < len && s[space] == '[')
		fail(r, "sections are not used");
	else if (len + 2 > (size_t)cap)
		fail(r, "longer than %d characters: continue on an indented "
			"line", cap - 2);
	else if (r->is_indented && r->last != NULL &&
		is_setting(r, s + space, len - space))
		fail(r, "a setting does not begin with white space");
	if (r->is_failed)
		return NULL;
	memcpy(out, s, len);
	out[len] = '\n';
	out[len + 1] = '\0';
	return out;
}

/* An ini_handler: one setting, or one more line of it. */
static int
on_setting(void *user, const char *section UNUSED, const char *name,
	const char *value)
{
	struct reader *r = user;
	struct conffile_value *v;
	size_t i;

	if (r->is_failed)
		return 0;
	if (name == NULL || value == NULL)
		return 0;
	if (strstr(value, " #") != NULL || strstr(value, "\t#") != NULL) {
		fail(r, "%.40s: a comment behind a value begins with ;", name);
		return 0;
	}
	if (r->is_indented && r->last != NULL) {
		v = r->last;
		v->text = arena_printf(r->arena, "%s%s%s", v->text,
			v->text[0] != '\0' ? " " : "", value);
		return 1;
	}
	i = r->find(name, strlen(name));
	if (i == CONFFILE_UNKNOWN) {
		fail(r, "unknown setting: %.40s", name);
		return 0;
	}
	v = &r->values[i];
	if (v->text != NULL) {
		fail(r, "%s is set twice (before: %s)", name, v->from);
		return 0;
	}
	if (value[0] == '"') {
		fail(r, "%s: values are written without quotes", name);
		return 0;
	}
	r->last = v;
	v->text = arena_strdup(r->arena, value);
	v->from = arena_printf(r->arena, "%s:%d", r->name, r->line);
	return 1;
}

int
conffile_text(struct arena *a, const char *name, const char *text, size_t len,
	size_t (*find)(const char *, size_t), struct conffile_value *values,
	struct err *e)
{
	struct reader r = {
		.arena = a,
		.find = find,
		.values = values,
		.name = name,
		.text = text,
		.len = len,
		.e = e,
	};
	int line;

	line = ini_parse_stream(next_line, &r, on_setting, &r);
	if (!r.is_failed && line != 0) {
		r.line = line;
		fail(&r, "not \"key = value\"");
	}
	return r.is_failed ? -1 : 0;
}

int
conffile_whole(struct arena *a, int fd, size_t max, const char *path,
	char **out, size_t *len, struct err *e)
{
	struct buf b;
	ssize_t n;

	buf_init(&b, a);
	while ((n = read(fd, buf_reserve(&b, 4096), 4096)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			return err_set(e, ERR_INVALID, NULL, "%s: %s", path,
				strerror(errno));
		}
		buf_commit(&b, (size_t)n);
		if (b.len > max) {
			return err_set(e, ERR_INVALID, NULL,
				"%s: more than %zu bytes", path, max);
		}
	}
	*out = b.data;
	*len = b.len;
	return 0;
}

int
conffile_environment(struct arena *a, const char *prefix, const char *except,
	size_t (*find)(const char *, size_t), struct conffile_value *values,
	struct err *e)
{
	const size_t prefix_len = strlen(prefix);
	char **v;

	for (v = environ; v != NULL && *v != NULL; v++) {
		const char *equals = strchr(*v, '=');
		char *name, *key, *c;
		size_t i;

		if (equals == NULL || strncmp(*v, prefix, prefix_len) != 0)
			continue;
		name = arena_memdup(a, *v, (size_t)(equals - *v));
		if (strcmp(name, except) == 0)
			continue;
		/* Capitals only: MCP_FCGI_issuer is not MCP_FCGI_ISSUER. */
		key = arena_strdup(a, name + prefix_len);
		for (c = key; *c != '\0'; c++)
			*c = islower((unsigned char)*c) ?
				'?' : (char)tolower((unsigned char)*c);
		i = find(key, strlen(key));
		if (i == CONFFILE_UNKNOWN) {
			return err_set(e, ERR_INVALID, NULL,
				"environment: %.80s: no such setting", name);
		}
		values[i].text = arena_strdup(a, equals + 1);
		values[i].from = name;
	}
	return 0;
}
