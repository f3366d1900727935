/* SPDX-License-Identifier: ISC */
/* Documents of others, in both forms, to rows of tools. */
#include "base/compat.h"

#include "base/arena.h"
#include "base/cj.h"
#include "base/err.h"
#include "run/openapi.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct openapi_options o = {
		.url = "https://x.test/spec/openapi.json"
	};
	static const struct cj_limits limits = { 500, CJ_DUP_ALLOW, 1 << 24 };
	struct arena *a;
	struct openapi out;
	struct cJSON *tree;
	struct err e;
	char *text;

	if (len > 65536)
		return 0;
	a = arena_new((size_t)1 << 30);
	text = arena_memdup(a, data, len);
	/* What comes out can be read, whatever went in. */
	if (openapi_import(a, text, len, &o, &out, &e) == 0 &&
		(cj_parse(a, out.tools, out.tools_len, &limits, &tree, &e) !=
				0 ||
			cj_array_len(tree) != out.n_tools))
		abort();
	arena_free(a);
	return 0;
}
