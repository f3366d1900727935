/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/yaml.h"

#include <yaml.h>

#include "base/buf.h"
#include "base/err.h"

enum { DEPTH_MAX = 200, NUMBER_MAX = 60, MERGE_MAX = 64 };

struct writing {
	yaml_document_t *doc;
	struct buf *out;
	size_t max; /* of out->len */
	struct err *e;
};

static int write_node(struct writing *w, const yaml_node_t *n, int depth);

/*
 * Scalars.
 */

static bool
is_one_of(const char *s, size_t len, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strlen(words[i]) == len && memcmp(words[i], s, len) == 0)
			return true;
	return false;
}

static size_t
digits(const char *s, size_t len, size_t at)
{
	size_t i = at;

	while (i < len && s[i] >= '0' && s[i] <= '9')
		i++;
	return i - at;
}

/* [-+]?[0-9]+, to decimal without leading zeros. */
static bool
put_int(struct buf *out, const char *s, size_t len)
{
	size_t at = s[0] == '-' || s[0] == '+', n = digits(s, len, at);

	if (n == 0 || at + n != len)
		return false;
	while (n > 1 && s[at] == '0') {
		at++;
		n--;
	}
	if (s[0] == '-' && !(n == 1 && s[at] == '0'))
		buf_putc(out, '-');
	buf_put(out, s + at, n);
	return true;
}

/* 0o17 and 0x1f. */
static bool
put_based(struct buf *out, const char *s, size_t len)
{
	unsigned long long v;
	char *end;
	int base;

	if (len < 3 || len > 18 || s[0] != '0' || (s[1] != 'o' && s[1] != 'x'))
		return false;
	base = s[1] == 'o' ? 8 : 16;
	if (strspn(s + 2, "0123456789abcdefABCDEF") != len - 2)
		return false;
	errno = 0;
	v = strtoull(s + 2, &end, base);
	if (errno != 0 || *end != '\0')
		return false;
	buf_printf(out, "%llu", v);
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? as JSON spells it. */
static bool
put_float(struct buf *out, const char *s, size_t len)
{
	size_t at = s[0] == '-' || s[0] == '+', whole, part = 0, exp = 0;
	size_t frac_at, exp_at;
	char sign = '\0';

	whole = digits(s, len, at);
	frac_at = at + whole;
	if (frac_at < len && s[frac_at] == '.')
		part = digits(s, len, ++frac_at);
	if (whole + part == 0)
		return false;
	exp_at = frac_at + part;
	if (exp_at < len) {
		if (s[exp_at] != 'e' && s[exp_at] != 'E')
			return false;
		exp_at++;
		if (exp_at < len && (s[exp_at] == '-' || s[exp_at] == '+'))
			sign = s[exp_at++];
		exp = digits(s, len, exp_at);
		if (exp == 0 || exp_at + exp != len)
			return false;
	}
	if (s[0] == '-')
		buf_putc(out, '-');
	while (whole > 1 && s[at] == '0') {
		at++;
		whole--;
	}
	if (whole == 0)
		buf_putc(out, '0');
	buf_put(out, s + at, whole);
	if (part > 0) {
		buf_putc(out, '.');
		buf_put(out, s + frac_at, part);
	}
	if (exp > 0) {
		buf_putc(out, 'e');
		if (sign == '-')
			buf_putc(out, '-');
		buf_put(out, s + exp_at, exp);
	}
	return true;
}

static void
put_scalar(struct buf *out, const yaml_node_t *n)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	static const char *const trues[] = { "true", "True", "TRUE" };
	static const char *const falses[] = { "false", "False", "FALSE" };
	const char *s = (const char *)n->data.scalar.value;
	size_t len = n->data.scalar.length;
	/* libyaml gives this tag to every scalar without one. */
	bool is_plain = n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			strcmp((const char *)n->tag, YAML_STR_TAG) == 0;

	if (is_plain && is_one_of(s, len, nulls, NELEM(nulls)))
		buf_puts(out, "null");
	else if (is_plain && is_one_of(s, len, trues, NELEM(trues)))
		buf_puts(out, "true");
	else if (is_plain && is_one_of(s, len, falses, NELEM(falses)))
		buf_puts(out, "false");
	else if (!is_plain || len > NUMBER_MAX ||
		 !(put_int(out, s, len) || put_based(out, s, len) ||
			 put_float(out, s, len)))
		buf_json(out, s, len);
}

/*
 * Mappings.
 */

static const yaml_node_t *
node(struct writing *w, int i)
{
	return yaml_document_get_node(w->doc, i);
}

static bool
same_key(struct writing *w, int a, int b)
{
	const yaml_node_t *x = node(w, a), *y = node(w, b);

	return x->data.scalar.length == y->data.scalar.length &&
	       memcmp(x->data.scalar.value, y->data.scalar.value,
		       x->data.scalar.length) == 0;
}

static bool
is_merge(const yaml_node_t *key)
{
	return key->type == YAML_SCALAR_NODE &&
	       key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       key->data.scalar.length == 2 &&
	       memcmp(key->data.scalar.value, "<<", 2) == 0;
}

static int
write_pair(
	struct writing *w, const yaml_node_pair_t *p, bool *is_next, int depth)
{
	const yaml_node_t *key = node(w, p->key);

	if (*is_next)
		buf_putc(w->out, ',');
	*is_next = true;
	buf_json(w->out, (const char *)key->data.scalar.value,
		key->data.scalar.length);
	buf_putc(w->out, ':');
	return write_node(w, node(w, p->value), depth);
}

static bool
is_overridden(
	struct writing *w, const yaml_node_t *map, const yaml_node_pair_t *p)
{
	const yaml_node_pair_t *q = map->data.mapping.pairs.start;

	for (; q < map->data.mapping.pairs.top; q++)
		if (node(w, q->key)->type == YAML_SCALAR_NODE &&
			same_key(w, q->key, p->key))
			return true;
	return false;
}

/* One mapping under "<<"; the first that has a name gives it. */
static int
write_merged(struct writing *w, const yaml_node_t *map,
	const yaml_node_t *const *from, size_t at, bool *is_next, int depth)
{
	const yaml_node_pair_t *p = from[at]->data.mapping.pairs.start;
	size_t i;

	for (; p < from[at]->data.mapping.pairs.top; p++) {
		bool is_known = node(w, p->key)->type != YAML_SCALAR_NODE ||
				is_merge(node(w, p->key)) ||
				is_overridden(w, map, p);

		for (i = 0; i < at && !is_known; i++)
			is_known = is_overridden(w, from[i], p);
		if (!is_known && write_pair(w, p, is_next, depth) != 0)
			return -1;
	}
	return 0;
}

static int
write_merges(struct writing *w, const yaml_node_t *map,
	const yaml_node_t *value, bool *is_next, int depth)
{
	const yaml_node_t *from[MERGE_MAX];
	const yaml_node_item_t *item;
	size_t n = 0, i;

	if (value->type == YAML_MAPPING_NODE) {
		from[n++] = value;
	} else if (value->type == YAML_SEQUENCE_NODE) {
		item = value->data.sequence.items.start;
		for (; item < value->data.sequence.items.top; item++)
			if (n < MERGE_MAX &&
				node(w, *item)->type == YAML_MAPPING_NODE)
				from[n++] = node(w, *item);
	}
	for (i = 0; i < n; i++)
		if (write_merged(w, map, from, i, is_next, depth) != 0)
			return -1;
	return 0;
}

static int
write_mapping(struct writing *w, const yaml_node_t *n, int depth)
{
	const yaml_node_pair_t *p = n->data.mapping.pairs.start;
	bool is_next = false;

	buf_putc(w->out, '{');
	for (; p < n->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = node(w, p->key);

		if (key->type != YAML_SCALAR_NODE)
			return err_set(w->e, ERR_INVALID, NULL,
				"yaml: line %zu: a name that is no scalar",
				key->start_mark.line + 1);
		if (is_merge(key)) {
			if (write_merges(w, n, node(w, p->value), &is_next,
				    depth) != 0)
				return -1;
			continue;
		}
		if (write_pair(w, p, &is_next, depth) != 0)
			return -1;
	}
	buf_putc(w->out, '}');
	return 0;
}

static int
write_node(struct writing *w, const yaml_node_t *n, int depth)
{
	const yaml_node_item_t *item;

	/* Aliases may lead back, and double themselves. */
	if (depth == 0)
		return err_set(w->e, ERR_LIMIT, NULL, "yaml: too deep");
	if (w->out->len > w->max)
		return err_set(w->e, ERR_LIMIT, NULL,
			"yaml: more than %zu bytes of JSON", w->max);
	switch (n->type) {
	case YAML_SCALAR_NODE:
		put_scalar(w->out, n);
		return 0;
	case YAML_SEQUENCE_NODE:
		buf_putc(w->out, '[');
		item = n->data.sequence.items.start;
		for (; item < n->data.sequence.items.top; item++) {
			if (item != n->data.sequence.items.start)
				buf_putc(w->out, ',');
			if (write_node(w, node(w, *item), depth - 1) != 0)
				return -1;
		}
		buf_putc(w->out, ']');
		return 0;
	case YAML_MAPPING_NODE:
		return write_mapping(w, n, depth - 1);
	case YAML_NO_NODE:
		break;
	}
	buf_puts(w->out, "null");
	return 0;
}

int
yaml_to_json(struct buf *out, const char *text, size_t len, size_t max,
	struct err *e)
{
	struct writing w = { .out = out, .max = out->len + max, .e = e };
	yaml_parser_t parser;
	yaml_document_t doc;
	yaml_node_t *root;
	int rc = 0;

	if (yaml_parser_initialize(&parser) != 1)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (yaml_parser_load(&parser, &doc) != 1) {
		err_set(e, ERR_INVALID, NULL, "yaml: line %zu: %s",
			parser.problem_mark.line + 1,
			parser.problem != NULL ? parser.problem : "no YAML");
		yaml_parser_delete(&parser);
		return -1;
	}
	w.doc = &doc;
	root = yaml_document_get_root_node(&doc);
	if (root == NULL)
		rc = err_set(e, ERR_INVALID, NULL, "yaml: no document");
	else
		rc = write_node(&w, root, DEPTH_MAX);
	yaml_document_delete(&doc);
	yaml_parser_delete(&parser);
	return rc;
}
