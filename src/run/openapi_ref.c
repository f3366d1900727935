/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/openapi_ref.h"

#include "base/arena.h"
#include "base/cj.h"
#include "base/rnd.h"
#include "base/sip.h"

enum { SLOTS = 16384, STEPS_MAX = 8, SEGMENT_MAX = 512 };

struct entry {
	struct entry *next;
	const char *ref;
	const struct cJSON *node;
};

/* Looking a name up among a thousand takes long when done for each use. */
struct openapi_ref {
	struct arena *a;
	const struct cJSON *root;
	uint64_t key[2];
	struct entry *slot[SLOTS];
};

struct openapi_ref *
openapi_ref_new(struct arena *a, const struct cJSON *root)
{
	struct openapi_ref *r = arena_zalloc(a, sizeof(*r));

	r->a = a;
	r->root = root;
	rnd_bytes(r->key, sizeof(r->key));
	return r;
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One segment: first the fragment's %41, then the pointer's ~0 and ~1. */
static bool
segment(const char *p, size_t len, char out[SEGMENT_MAX])
{
	size_t i, n = 0;
	char c;

	for (i = 0; i < len; i++) {
		c = p[i];
		if (c == '%' && i + 2 < len && hex(p[i + 1]) >= 0 &&
			hex(p[i + 2]) >= 0) {
			c = (char)(hex(p[i + 1]) << 4 | hex(p[i + 2]));
			i += 2;
		} else if (c == '~' && i + 1 < len &&
			   (p[i + 1] == '0' || p[i + 1] == '1')) {
			c = p[++i] == '0' ? '~' : '/';
		}
		if (n + 1 >= SEGMENT_MAX || c == '\0')
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

static const struct cJSON *
walk(const struct cJSON *v, const char *p)
{
	char name[SEGMENT_MAX];
	unsigned long at;
	size_t len;
	char *end;

	while (*p == '/' && v != NULL) {
		p++;
		len = strcspn(p, "/");
		if (!segment(p, len, name))
			return NULL;
		if (cj_is_array(v)) {
			at = strtoul(name, &end, 10);
			v = end != name && *end == '\0' ? cj_array_at(v, at)
							: NULL;
		} else {
			v = cj_get(v, name);
		}
		p += len;
	}
	return *p == '\0' ? v : NULL;
}

const struct cJSON *
openapi_ref_find(struct openapi_ref *r, const char *ref)
{
	struct entry *e, **slot;
	struct sip h;
	const char *p;

	if (ref[0] != '#')
		return NULL;
	sip_init(&h, r->key);
	for (p = ref; *p != '\0'; p++)
		sip_byte(&h, (unsigned char)*p);
	slot = &r->slot[sip_end(&h) % SLOTS];
	for (e = *slot; e != NULL; e = e->next)
		if (strcmp(e->ref, ref) == 0)
			return e->node;
	e = arena_zalloc(r->a, sizeof(*e));
	e->ref = ref;
	e->node = walk(r->root, ref + 1);
	e->next = *slot;
	*slot = e;
	return e->node;
}

const struct cJSON *
openapi_ref_follow(struct openapi_ref *r, const struct cJSON *v)
{
	const char *ref;
	int i;

	for (i = 0; i < STEPS_MAX && v != NULL; i++) {
		if ((ref = cj_get_string(v, "$ref")) == NULL)
			return v;
		v = openapi_ref_find(r, ref);
	}
	return NULL;
}
