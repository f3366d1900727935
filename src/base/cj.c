/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/cj.h"

#include <cJSON.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jscan.h"

/* Integers beyond are not exact in a double. */
static const double EXACT_MAX = 9007199254740991.0;

static void
delete_tree(void *tree)
{
	cJSON_Delete(tree);
}

int
cj_parse(struct arena *a, const char *text, size_t len,
	const struct cj_limits *limits, struct cJSON **out, struct err *e)
{
	cJSON *tree;

	*out = NULL;
	if (jscan_check(text, len, limits, e) != 0)
		return -1;
	/* The length counts the NUL, or it is not asked for. */
	tree = cJSON_ParseWithLengthOpts(text, len + 1, NULL, 1);
	if (tree == NULL) {
		return err_set(e, ERR_INTERNAL, NULL,
			"json: scanned but not parsed, %zu bytes", len);
	}
	arena_defer(a, delete_tree, tree);
	*out = tree;
	return 0;
}

const struct cJSON *
cj_get(const struct cJSON *obj, const char *name)
{
	const cJSON *m, *found = NULL;

	if (!cJSON_IsObject(obj))
		return NULL;
	for (m = obj->child; m != NULL; m = m->next)
		if (strcmp(m->string, name) == 0)
			found = m;
	return found;
}

const char *
cj_get_string(const struct cJSON *obj, const char *name)
{
	return cj_string(cj_get(obj, name));
}

const struct cJSON *
cj_get_object(const struct cJSON *obj, const char *name)
{
	const cJSON *m = cj_get(obj, name);

	return cJSON_IsObject(m) ? m : NULL;
}

const struct cJSON *
cj_get_array(const struct cJSON *obj, const char *name)
{
	const cJSON *m = cj_get(obj, name);

	return cJSON_IsArray(m) ? m : NULL;
}

bool
cj_get_int(const struct cJSON *obj, const char *name, int64_t min, int64_t max,
	int64_t *out)
{
	const cJSON *m = cj_get(obj, name);
	double d;

	if (!cJSON_IsNumber(m))
		return false;
	d = m->valuedouble;
	if (!(d >= -EXACT_MAX && d <= EXACT_MAX) || d != (double)(int64_t)d)
		return false;
	if ((int64_t)d < min || (int64_t)d > max)
		return false;
	*out = (int64_t)d;
	return true;
}

bool
cj_get_number(const struct cJSON *obj, const char *name, double *out)
{
	const cJSON *m = cj_get(obj, name);

	if (!cJSON_IsNumber(m))
		return false;
	*out = m->valuedouble;
	return true;
}

bool
cj_get_bool(const struct cJSON *obj, const char *name, bool *out)
{
	const cJSON *m = cj_get(obj, name);

	if (!cJSON_IsBool(m))
		return false;
	*out = cJSON_IsTrue(m);
	return true;
}

bool
cj_is_object(const struct cJSON *v)
{
	return cJSON_IsObject(v);
}

bool
cj_is_array(const struct cJSON *v)
{
	return cJSON_IsArray(v);
}

bool
cj_is_string(const struct cJSON *v)
{
	return cJSON_IsString(v);
}

bool
cj_is_number(const struct cJSON *v)
{
	return cJSON_IsNumber(v);
}

bool
cj_is_null(const struct cJSON *v)
{
	return cJSON_IsNull(v);
}

const char *
cj_string(const struct cJSON *v)
{
	return cJSON_IsString(v) ? v->valuestring : NULL;
}

size_t
cj_array_len(const struct cJSON *v)
{
	return cJSON_IsArray(v) ? (size_t)cJSON_GetArraySize(v) : 0;
}

const struct cJSON *
cj_array_at(const struct cJSON *v, size_t i)
{
	const cJSON *m;

	if (!cJSON_IsArray(v))
		return NULL;
	for (m = v->child; m != NULL && i > 0; i--)
		m = m->next;
	return m;
}

const struct cJSON *
cj_first(const struct cJSON *v)
{
	return cJSON_IsObject(v) || cJSON_IsArray(v) ? v->child : NULL;
}

const struct cJSON *
cj_next(const struct cJSON *v)
{
	return v->next;
}

const char *
cj_name(const struct cJSON *v)
{
	return v->string;
}

static void
write_number(struct buf *b, double d)
{
	char s[40];
	int digits;

	/* As JSON.stringify: no text stands for an infinity. */
	if (!__builtin_isfinite(d)) {
		buf_puts(b, "null");
		return;
	}
	if (d >= -EXACT_MAX && d <= EXACT_MAX && d == (double)(int64_t)d) {
		buf_printf(b, "%lld", (long long)d);
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		(void)snprintf(s, sizeof(s), "%.*g", digits, d);
		if (strtod(s, NULL) == d)
			break;
	}
	buf_puts(b, s);
}

/* Recursion ends at CJ_DEPTH_MAX: only cj_parse makes trees. */
void
cj_write(struct buf *b, const struct cJSON *v)
{
	const cJSON *m;

	if (cJSON_IsString(v)) {
		buf_jsons(b, v->valuestring);
	} else if (cJSON_IsNumber(v)) {
		write_number(b, v->valuedouble);
	} else if (cJSON_IsBool(v)) {
		buf_puts(b, cJSON_IsTrue(v) ? "true" : "false");
	} else if (cJSON_IsObject(v) || cJSON_IsArray(v)) {
		buf_putc(b, cJSON_IsObject(v) ? '{' : '[');
		for (m = v->child; m != NULL; m = m->next) {
			if (cJSON_IsObject(v)) {
				buf_jsons(b, m->string);
				buf_putc(b, ':');
			}
			cj_write(b, m);
			if (m->next != NULL)
				buf_putc(b, ',');
		}
		buf_putc(b, cJSON_IsObject(v) ? '}' : ']');
	} else {
		buf_puts(b, "null");
	}
}

char *
cj_print(struct arena *a, const struct cJSON *v)
{
	struct buf b;

	buf_init(&b, a);
	cj_write(&b, v);
	return b.len > 0 ? b.data : arena_strdup(a, "");
}

bool
cj_raw_member(const char *text, size_t len, const char *name, size_t *off,
	size_t *raw_len)
{
	return jscan_member(text, len, name, off, raw_len);
}

bool
cj_raw_element(const char *text, size_t len, size_t i, size_t *off,
	size_t *raw_len)
{
	return jscan_element(text, len, i, off, raw_len);
}

bool
cj_raw_next(const char *text, size_t len, size_t *off, size_t *raw_len)
{
	return jscan_next(text, len, off, raw_len);
}
