/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "mcp/listed.h"

#include <openssl/sha.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/mem.h"
#include "mcp/method.h"
#include "store/catalog.h"

enum {
	ENTRIES = 16,
	ENTRY_BYTES_MAX = 2 << 20,
	NAME_MAX_LEN = 128,
	SOURCES_MAX = 50,
};

struct entry {
	char *organization_id; /* NULL: free */
	int64_t version;
	enum revision revision;
	char *inventory;
	char *tools;
	char *names; /* name, NUL, path, NUL, ... and a NUL */
};

struct listed_cache {
	struct entry entry[ENTRIES];
	size_t next; /* to be replaced */
};

struct texts {
	const char *inventory;
	const char *tools;
	const char *names;
};

struct listed_cache *
listed_cache_new(void)
{
	return mem_zalloc(1, sizeof(struct listed_cache));
}

static void
clear_entry(struct entry *x)
{
	free(x->organization_id);
	free(x->inventory);
	free(x->tools);
	free(x->names);
	memset(x, 0, sizeof(*x));
}

void
listed_cache_free(struct listed_cache *cache)
{
	size_t i;

	if (cache == NULL)
		return;
	for (i = 0; i < ENTRIES; i++)
		clear_entry(&cache->entry[i]);
	free(cache);
}

/*
 * Names.
 */

/* Whether NAME is among NAMES (as entry.names) or one of our own tools'. */
static bool
is_taken(const struct buf *names, const char *name)
{
	const char *p = names->data, *end = names->data + names->len;

	while (p < end) {
		if (strcmp(p, name) == 0)
			return true;
		p += strlen(p) + 1; /* the name */
		p += strlen(p) + 1; /* its path */
	}
	return strcmp(name, "execute") == 0 || strcmp(name, "resume") == 0;
}

static const char *
name_of(struct arena *a, const struct buf *names, const char *path)
{
	unsigned char sha256[SHA256_DIGEST_LENGTH];
	char *name = arena_strdup(a, path), digest[9];
	const char *unique;
	size_t i;
	int serial;

	for (i = 0; name[i] != '\0'; i++)
		if (name[i] == '.' || name[i] == '$')
			name[i] = '_';
	/* Room for a serial. */
	if (i > NAME_MAX_LEN - 4) {
		SHA256((const unsigned char *)path, strlen(path), sha256);
		hex_encode(digest, sha256, 4);
		name = arena_printf(a, "%.*s_%s", NAME_MAX_LEN - 13, name,
			digest);
	}
	unique = name;
	for (serial = 2; serial < 1000 && is_taken(names, unique); serial++)
		unique = arena_printf(a, "%s_%d", name, serial);
	return unique;
}

/*
 * Texts.
 */

static void
put_tool(struct buf *b, enum revision r, const char *name,
	const struct catalog_tool *t)
{
	buf_puts(b, ",{\"name\":");
	buf_jsons(b, name);
	if (t->title != NULL && REVISION_HAS_TITLE(r)) {
		buf_puts(b, ",\"title\":");
		buf_jsons(b, t->title);
	}
	if (t->description != NULL) {
		buf_puts(b, ",\"description\":");
		buf_jsons(b, t->description);
	}
	buf_puts(b, ",\"inputSchema\":");
	buf_puts(b, t->input_schema);
	if (t->output_schema != NULL && REVISION_HAS_OUTPUT_SCHEMA(r)) {
		buf_puts(b, ",\"outputSchema\":");
		buf_puts(b, t->output_schema);
	}
	if (REVISION_HAS_ANNOTATIONS(r) && strcmp(t->annotations, "{}") != 0) {
		buf_puts(b, ",\"annotations\":");
		buf_puts(b, t->annotations);
	}
	buf_putc(b, '}');
}

static int
put_tools(const struct method_caller *c, struct buf *tools,
	struct buf *names, struct err *e)
{
	struct catalog_tool *t;
	const char *name;
	size_t i, n;

	if (c->listed_tools == 0)
		return 0;
	if (catalog_listed(c->db, c->arena, c->caller.organization_id, &t, &n,
		    e) != 0)
		return err_wrap(e, "listed");
	for (i = 0; i < n; i++) {
		name = name_of(c->arena, names, t[i].path);
		put_tool(tools, c->revision, name, &t[i]);
		buf_put(names, name, strlen(name) + 1);
		buf_put(names, t[i].path, strlen(t[i].path) + 1);
	}
	return 0;
}

static int
put_inventory(const struct method_caller *c, struct buf *b, struct err *e)
{
	struct catalog_source *s;
	size_t i, n;

	if (catalog_sources(c->db, c->arena, c->caller.organization_id, &s,
		    &n, e) != 0)
		return err_wrap(e, "listed");
	buf_puts(b, n > 0 ? "\n\nNamespaces:" :
			    "\n\nThere are no tools at the moment.");
	for (i = 0; i < n && i < SOURCES_MAX; i++) {
		buf_printf(b, "\n- `%s`", s[i].name);
		if (s[i].title != NULL && strcmp(s[i].title, s[i].name) != 0)
			buf_printf(b, " - %.*s",
				(int)buf_utf8_prefix(s[i].title,
					strlen(s[i].title), 120),
				s[i].title);
		buf_printf(b, " (%" PRId64 ")", s[i].n_tools);
	}
	if (n > SOURCES_MAX)
		buf_printf(b, "\n- ... %zu more", n - SOURCES_MAX);
	return 0;
}

/*
 * The cache.
 */

static struct entry *
find_entry(const struct method_caller *c)
{
	size_t i;

	for (i = 0; i < ENTRIES; i++) {
		struct entry *x = &c->listed->entry[i];

		if (x->organization_id != NULL &&
			x->version == c->catalog_version &&
			x->revision == c->revision &&
			strcmp(x->organization_id,
				c->caller.organization_id) == 0)
			return x;
	}
	return NULL;
}

/* The newest of an organisation takes its older one's place. */
static void
keep(const struct method_caller *c, const struct buf *inventory,
	const struct buf *tools, const struct buf *names)
{
	struct listed_cache *cache = c->listed;
	struct entry *x = NULL;
	size_t i;

	if (inventory->len + tools->len + names->len > ENTRY_BYTES_MAX)
		return;
	for (i = 0; i < ENTRIES; i++)
		if (cache->entry[i].organization_id != NULL &&
			cache->entry[i].revision == c->revision &&
			strcmp(cache->entry[i].organization_id,
				c->caller.organization_id) == 0)
			x = &cache->entry[i];
	if (x == NULL)
		x = &cache->entry[cache->next++ % ENTRIES];
	clear_entry(x);
	x->organization_id = mem_strdup(c->caller.organization_id);
	x->version = c->catalog_version;
	x->revision = c->revision;
	x->inventory = mem_dup(inventory->data, inventory->len);
	x->tools = mem_dup(tools->data, tools->len);
	x->names = mem_dup(names->data, names->len);
}

static int
get(const struct method_caller *c, struct texts *out, struct err *e)
{
	struct buf inventory, tools, names;
	const struct entry *x = find_entry(c);

	if (x != NULL) {
		*out = (struct texts){ x->inventory, x->tools, x->names };
		return 0;
	}
	buf_init(&inventory, c->arena);
	buf_init(&tools, c->arena);
	buf_init(&names, c->arena);
	if (put_inventory(c, &inventory, e) != 0 ||
		put_tools(c, &tools, &names, e) != 0)
		return -1;
	keep(c, &inventory, &tools, &names);
	*out = (struct texts){ inventory.data, tools.data, names.data };
	return 0;
}

int
listed_get(const struct method_caller *c, const char **inventory,
	const char **tools, struct err *e)
{
	struct texts t;

	if (get(c, &t, e) != 0)
		return -1;
	*inventory = t.inventory;
	*tools = t.tools;
	return 0;
}

int
listed_find(const struct method_caller *c, const char *name,
	const char **path, struct err *e)
{
	const char *p, *path_at;
	struct texts t;

	*path = NULL;
	if (get(c, &t, e) != 0)
		return -1;
	for (p = t.names; *p != '\0';) {
		path_at = p + strlen(p) + 1;
		if (strcmp(p, name) == 0 || strcmp(path_at, name) == 0) {
			*path = arena_strdup(c->arena, path_at);
			return 0;
		}
		p = path_at + strlen(path_at) + 1;
	}
	return 0;
}
