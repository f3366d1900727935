/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/openapi_name.h"

#include <ctype.h>

#include "base/arena.h"
#include "base/buf.h"

#define DELIMITERS "/.:_- "

enum { GROUP_MAX = 60, LEAF_MAX = 100 };

struct naming {
	struct openapi_name *op;
	const char *group;
	const char *leaf;
	const char *version; /* "v2", or NULL */
};

static bool
is_word(char c)
{
	return isascii((unsigned char)c) && isalnum((unsigned char)c);
}

const char *
openapi_name_camel(struct arena *a, const char *s, size_t len)
{
	bool is_start = true, is_shout = true;
	struct buf b;
	size_t i;

	buf_init(&b, a);
	for (i = 0; i < len && is_shout; i++)
		if (islower((unsigned char)s[i]))
			is_shout = false;
	for (i = 0; i < len; i++) {
		char c = s[i];

		if (!is_word(c)) {
			is_start = true;
			continue;
		}
		if (b.len == 0 || (is_shout && !is_start))
			c = (char)tolower((unsigned char)c);
		else if (is_start)
			c = (char)toupper((unsigned char)c);
		is_start = false;
		buf_putc(&b, c);
	}
	/* "APIKeys": a first word of capitals is lowered to its end. */
	for (i = 1; i + 1 < b.len && isupper((unsigned char)b.data[i]) &&
		    isupper((unsigned char)b.data[i + 1]);
		i++)
		b.data[i] = (char)tolower((unsigned char)b.data[i]);
	return b.data;
}

/*
 * Not what programs ask of any object: a promise would call "then".  Not
 * longer than what the row takes.
 */
static const char *
finish(struct arena *a, const char *s, size_t max)
{
	static const char *const taken[] = { "then", "constructor", "prototype",
		"toString", "valueOf", "toJSON", "hasOwnProperty", "catch",
		"finally" };
	size_t i;

	if (strlen(s) > max)
		s = arena_memdup(a, s, max);
	if (isdigit((unsigned char)s[0]))
		return arena_printf(a, "_%s", s);
	for (i = 0; i < NELEM(taken); i++)
		if (strcmp(s, taken[i]) == 0)
			return arena_printf(a, "%s_", s);
	return s;
}

/* v1, v2.1, 2, 2024-01-01 */
static bool
is_version(const char *s, size_t len)
{
	size_t i = len > 1 && (s[0] == 'v' || s[0] == 'V');

	if (i == len)
		return false;
	if (len > i && !isdigit((unsigned char)s[i]))
		return false;
	for (; i < len; i++)
		if (!isdigit((unsigned char)s[i]) &&
			strchr(".-_", s[i]) == NULL &&
			strncmp(s + i, "beta", 4) != 0 &&
			strncmp(s + i, "alpha", 5) != 0)
			return false;
		else if (isalpha((unsigned char)s[i]))
			break;
	return true;
}

static bool
is_plain(const char *s, size_t len)
{
	return memchr(s, '{', len) == NULL;
}

static void
group_of(struct arena *a, struct naming *n)
{
	const char *p = n->op->path, *group = "";
	size_t len;

	if (n->op->tag != NULL)
		group = openapi_name_camel(a, n->op->tag, strlen(n->op->tag));
	while (*p != '\0' && *p != '?') {
		p += strspn(p, "/");
		len = strcspn(p, "/?");
		if (len > 0 && is_version(p, len)) {
			if (n->version == NULL)
				n->version = openapi_name_camel(a, p, len);
		} else if (group[0] == '\0' && len > 0 && is_plain(p, len) &&
			   !(len == 3 && strncasecmp(p, "api", 3) == 0)) {
			group = openapi_name_camel(a, p, len);
		}
		p += len;
	}
	n->group = finish(a, group[0] != '\0' ? group : "root", GROUP_MAX);
}

/* Method and the path's words, without the group's. */
static const char *
fallback(struct arena *a, const struct naming *n)
{
	const char *p = n->op->path, *word;
	struct buf b;
	size_t len;

	buf_init(&b, a);
	buf_puts(&b, n->op->method);
	while (*p != '\0' && *p != '?') {
		p += strspn(p, "/");
		len = strcspn(p, "/?");
		word = openapi_name_camel(a, p, len);
		if (len > 0 && is_plain(p, len) && !is_version(p, len) &&
			strcasecmp(word, n->group) != 0 &&
			strcasecmp(word, "api") != 0)
			buf_printf(&b, " %s", word);
		p += len;
	}
	if (b.len == strlen(n->op->method) && strchr(n->op->path, '}') != NULL)
		buf_puts(&b, " one");
	return openapi_name_camel(a,
		arena_printf(a, "%c%s", tolower((unsigned char)b.data[0]),
			b.data + 1),
		b.len);
}

static const char *
lower_method(struct arena *a, const char *method)
{
	char *s = arena_strdup(a, method), *p;

	for (p = s; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return s;
}

static void
leaf_of(struct arena *a, struct naming *n)
{
	const char *id = n->op->operation_id, *leaf = "";
	size_t first;

	if (id != NULL) {
		for (first = strcspn(id, DELIMITERS); id[first] != '\0';
			first += 1 + strcspn(id + first + 1, DELIMITERS))
			if (strcasecmp(openapi_name_camel(a, id, first),
				    n->group) == 0) {
				id += first + 1;
				break;
			}
		leaf = openapi_name_camel(a, id, strlen(id));
	}
	if (leaf[0] == '\0') {
		struct openapi_name op = *n->op;
		struct naming low = *n;

		op.method = lower_method(a, op.method);
		low.op = &op;
		leaf = fallback(a, &low);
	}
	n->leaf = finish(a, leaf, LEAF_MAX);
}

static uint32_t
hash(const char *s, uint32_t h)
{
	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	return h;
}

static const char *
name_in_round(struct arena *a, const struct naming *n, int round)
{
	const char *low = lower_method(a, n->op->method);
	const char *version = n->version != NULL ? n->version : "";
	const char *dot = n->version != NULL ? "." : "";

	switch (round) {
	case 0:
		return arena_printf(a, "%s.%s", n->group, n->leaf);
	case 1:
		return arena_printf(
			a, "%s%s%s.%s", n->group, dot, version, n->leaf);
	case 2:
		return arena_printf(a, "%s%s%s.%s%c%s", n->group, dot, version,
			n->leaf, toupper((unsigned char)low[0]), low + 1);
	default:
		return arena_printf(a, "%s%s%s.%s%c%s%08x", n->group, dot,
			version, n->leaf, toupper((unsigned char)low[0]),
			low + 1,
			(unsigned)hash(n->op->path,
				hash(n->op->method,
					2166136261U + (uint32_t)round)));
	}
}

static int
by_name(const void *a, const void *b)
{
	const struct naming *const *x = a, *const *y = b;
	int c = strcmp((*x)->op->name, (*y)->op->name);

	if (c == 0)
		c = strcmp((*x)->op->path, (*y)->op->path);
	return c != 0 ? c : strcmp((*x)->op->method, (*y)->op->method);
}

void
openapi_name_give(struct arena *a, struct openapi_name *op, size_t n)
{
	struct naming *all = arena_calloc(a, n + 1, sizeof(*all));
	struct naming **sorted =
		arena_calloc(a, n + 1, sizeof(struct naming *));
	bool is_shared = true;
	size_t i, j, k;
	int round;

	for (i = 0; i < n; i++) {
		all[i].op = &op[i];
		sorted[i] = &all[i];
		group_of(a, &all[i]);
		leaf_of(a, &all[i]);
		op[i].name = name_in_round(a, &all[i], 0);
	}
	for (round = 1; round < 8 && is_shared; round++) {
		is_shared = false;
		qsort(sorted, n, sizeof(sorted[0]), by_name);
		for (i = 0; i < n; i = j) {
			for (j = i + 1;
				j < n && strcmp(sorted[i]->op->name,
						 sorted[j]->op->name) == 0;
				j++)
				;
			if (j == i + 1)
				continue;
			is_shared = true;
			for (k = i; k < j; k++)
				sorted[k]->op->name =
					name_in_round(a, sorted[k], round);
		}
	}
}
