/* SPDX-License-Identifier: ISC */
/*
 * JSON-RPC bodies.  An accepted id must be found in the input byte for byte,
 * and the reply made with it must be JSON again.
 */
#include "base/compat.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "rpc/msg.h"
#include "rpc/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct msg *m, struct arena *a, const char *text, size_t len)
{
	const struct cj_limits limits = { .depth_max = 64 };
	struct cJSON *v;
	struct buf b;
	struct err e;

	if (m->kind == MSG_INVALID && (m->why == NULL || m->code == 0))
		abort();
	if (m->kind == MSG_REQUEST && (m->id == NULL || m->method == NULL))
		abort();
	if (m->kind == MSG_NOTIFICATION && m->id != NULL)
		abort();
	if (m->id == NULL)
		return;
	if (m->id < text || m->id + m->id_len > text + len || m->id_len == 0)
		abort();
	buf_init(&b, a);
	reply_error(&b, m, -1, m->method != NULL ? m->method : "x", NULL);
	err_clear(&e);
	if (cj_parse(a, b.data, b.len, &limits, &v, &e) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct msg_limits limits = { .depth_max = 64, .batch_max = 50 };
	struct arena *a = arena_new((size_t)512 << 20);
	const char *text = arena_memdup(a, data, size);
	struct msg_body body;
	struct err e;
	size_t i;

	err_clear(&e);
	if (msg_parse(&body, a, text, size, &limits, &e) == 0) {
		if (body.n == 0 || (!body.is_batch && body.n != 1) ||
			body.n > limits.batch_max)
			abort();
		for (i = 0; i < body.n; i++)
			check(&body.msg[i], a, text, size);
	} else if (e.rpc_code != MSG_PARSE_ERROR &&
		e.rpc_code != MSG_INVALID_REQUEST) {
		abort();
	}
	arena_free(a);
	return 0;
}
