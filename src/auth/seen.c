/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "auth/seen.h"

#include "base/mem.h"

enum { WAYS = 4, SETS = SEEN_MAX / WAYS };

struct entry {
	unsigned char hash[SEEN_HASH_LEN];
	uint64_t used; /* 0: free */
	struct seen_token token;
	char *text; /* the strings of TOKEN */
};

struct seen {
	uint64_t tick;
	struct entry entry[SETS][WAYS];
};

struct seen *
seen_new(void)
{
	return mem_zalloc(1, sizeof(struct seen));
}

static void
entry_clear(struct entry *n)
{
	free(n->text);
	memset(n, 0, sizeof(*n));
}

void
seen_free(struct seen *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; i < SEEN_MAX; i++)
		entry_clear(&s->entry[i / WAYS][i % WAYS]);
	free(s);
}

static struct entry *
set_of(struct seen *s, const unsigned char *hash)
{
	return s->entry[(hash[0] | hash[1] << 8) % SETS];
}

/* Nobody can choose a digest near another, so memcmp's timing tells nothing. */
static struct entry *
entry_find(struct seen *s, const unsigned char *hash)
{
	struct entry *set = set_of(s, hash);
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (set[i].used != 0 &&
			memcmp(set[i].hash, hash, SEEN_HASH_LEN) == 0)
			return &set[i];
	return NULL;
}

const struct seen_token *
seen_find(struct seen *s, const unsigned char hash[SEEN_HASH_LEN],
	uint64_t generation)
{
	struct entry *n = entry_find(s, hash);

	if (n == NULL)
		return NULL;
	if (n->token.generation != generation) {
		entry_clear(n);
		return NULL;
	}
	n->used = ++s->tick;
	return &n->token;
}

static struct entry *
entry_for(struct seen *s, const unsigned char *hash)
{
	struct entry *set = set_of(s, hash), *n = entry_find(s, hash);
	size_t i;

	if (n != NULL)
		return n;
	for (n = set, i = 1; i < WAYS; i++)
		if (set[i].used < n->used)
			n = &set[i];
	return n;
}

static const char *
put(char **p, const char *s)
{
	char *start = *p;
	size_t len;

	if (s == NULL)
		return NULL;
	len = strlen(s) + 1;
	memcpy(start, s, len);
	*p += len;
	return start;
}

void
seen_put(struct seen *s, const unsigned char hash[SEEN_HASH_LEN],
	const struct seen_token *t)
{
	size_t len = strlen(t->issuer) + strlen(t->account_id) + 2;
	struct entry *n = entry_for(s, hash);
	char *text, *p;

	if (t->organization_id != NULL)
		len += strlen(t->organization_id) + 1;
	/* Copied first: T may be what the entry holds. */
	text = p = mem_zalloc(1, len);
	n->token.generation = t->generation;
	n->token.expires_at_s = t->expires_at_s;
	n->token.issuer = put(&p, t->issuer);
	n->token.account_id = put(&p, t->account_id);
	n->token.organization_id = put(&p, t->organization_id);
	free(n->text);
	n->text = text;
	memcpy(n->hash, hash, SEEN_HASH_LEN);
	n->used = ++s->tick;
}

void
seen_forget(struct seen *s, const unsigned char hash[SEEN_HASH_LEN])
{
	struct entry *n = entry_find(s, hash);

	if (n != NULL)
		entry_clear(n);
}
