/* SPDX-License-Identifier: ISC */
/*
 * First byte: policy for repeated names and depth.  The rest: JSON text.
 * What is accepted must print, parse again to the same print, and have the
 * source text of each top-level member or element.
 */
#include "base/compat.h"
#include "base/cj.h"

#include "base/arena.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check_raw(const char *text, size_t len, const struct cJSON *v)
{
	const struct cJSON *m;
	size_t off, raw_len, i = 0;

	for (m = cj_first(v); m != NULL; m = cj_next(m), i++) {
		bool is_found = cj_is_object(v) ?
			cj_raw_member(text, len, cj_name(m), &off, &raw_len) :
			cj_raw_element(text, len, i, &off, &raw_len);

		if (!is_found || raw_len == 0 || off > len ||
			raw_len > len - off)
			abort();
		if (cj_is_string(m) != (text[off] == '"') &&
			(!cj_is_object(v) || cj_get(v, cj_name(m)) == m))
			abort();
		if (i > 50)
			break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct cj_limits limits = { 0 };
	struct cJSON *v, *again;
	struct arena *a;
	struct err e = { 0 };
	char *text, *printed;

	if (len == 0)
		return 0;
	limits.dup = data[0] & 1 ? CJ_DUP_ALLOW : CJ_DUP_REFUSE;
	limits.depth_max = data[0] & 2 ? 600 : 16;
	limits.values_max = 20000;
	a = arena_new(256 << 20);
	text = arena_memdup(a, data + 1, len - 1);
	if (cj_parse(a, text, len - 1, &limits, &v, &e) != 0) {
		if (e.kind == ERR_NONE || e.rpc_code == 0)
			abort();
		arena_free(a);
		return 0;
	}
	check_raw(text, len - 1, v);
	printed = cj_print(a, v);
	if (cj_parse(a, printed, strlen(printed), &limits, &again, &e) != 0 ||
		strcmp(printed, cj_print(a, again)) != 0)
		abort();
	check_raw(printed, strlen(printed), again);
	arena_free(a);
	return 0;
}
