/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/pending.h"

#include <openssl/sha.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "run/vault.h"
#include "store/catalog.h"
#include "store/ledger.h"

enum { PREVIEW_LEN = 4096 };

void
pending_digest(const struct catalog_tool *tool,
	unsigned char digest[PENDING_TOOL_LEN])
{
	size_t config = strlen(tool->config) + 1;
	size_t definition = strlen(tool->definition) + 1;
	struct arena *a = arena_new(4 * (config + definition) + 65536);
	struct buf b;

	buf_init(&b, a);
	buf_puts(&b, catalog_kind_name(tool->kind));
	buf_put(&b, "", 1);
	buf_put(&b, tool->config, config);
	buf_put(&b, tool->definition, definition);
	SHA256((const unsigned char *)b.data, b.len, digest);
	arena_free(a);
}

static struct vault_label
label_of(const struct pending_key *key)
{
	return (struct vault_label){ .what = "args",
		.execution_id = key->execution_id,
		.number = key->number };
}

int
pending_close(const struct pending_key *key, struct arena *a,
	const struct catalog_tool *tool, const char *args, size_t args_len,
	struct ledger_question *q, struct err *e)
{
	struct vault_label label = label_of(key);
	char *plain = arena_alloc(a, PENDING_TOOL_LEN + args_len);

	pending_digest(tool, (unsigned char *)plain);
	memcpy(plain + PENDING_TOOL_LEN, args, args_len);
	return vault_close(key->keys, a, &label, plain,
		PENDING_TOOL_LEN + args_len, &q->pending, &q->pending_len, e);
}

int
pending_open(const struct pending_key *key, struct arena *a,
	const struct ledger_call *row, struct pending *out, struct err *e)
{
	struct vault_label label = label_of(key);
	const void *plain;
	size_t len;

	if (vault_open(key->keys, a, &label, row->pending, row->pending_len,
		    &plain, &len, e) != 0)
		return -1;
	if (len < PENDING_TOOL_LEN)
		return err_set(e, ERR_INVALID, NULL, "args: too short");
	out->tool = plain;
	out->args = (const char *)plain + PENDING_TOOL_LEN;
	out->args_len = len - PENDING_TOOL_LEN;
	return 0;
}

void
pending_preview(struct ledger_call *row, struct arena *a, const char *args,
	size_t args_len)
{
	row->preview = arena_memdup(a, args,
		buf_utf8_prefix(args, args_len, PREVIEW_LEN));
	row->args_len = args_len;
}

void
pending_show(const struct pending_key *key, struct arena *a,
	struct ledger_call *row)
{
	struct pending p;
	struct arena *own;
	struct err e;

	if (row->args != NULL || row->pending == NULL || key->keys == NULL)
		return;
	err_clear(&e);
	own = arena_new(4 * row->pending_len + 65536);
	if (pending_open(key, own, row, &p, &e) == 0)
		pending_preview(row, a, p.args, p.args_len);
	else
		log_err(LOG_LEVEL_WARN, "call.pending", &e);
	arena_free(own);
}
