/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "admin/scriptcheck.h"

#include "admin/admin.h"
#include "admin/table.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/err.h"

struct sandbox_limits
scriptcheck_limits(const struct conf *conf)
{
	return (struct sandbox_limits){
		.program = conf->sandbox,
		.wall_ms = (uint32_t)conf->execute_wall_ms,
		.cpu_ms = (uint32_t)conf->execute_cpu_ms,
		.heap_bytes = (uint64_t)conf->execute_heap_bytes,
		.stack_bytes = (uint32_t)conf->execute_stack_bytes,
		.output_bytes = (uint32_t)conf->execute_output_bytes,
		.log_lines = (uint32_t)conf->execute_log_lines,
	};
}

/* NULL: CODE parses, or who knows. */
static const struct sandbox_result *
parse(struct admin *ad, const char *code)
{
	const struct sandbox_limits limits = scriptcheck_limits(ad->conf);
	struct sandbox_result *r;
	struct err e = { 0 };

	if (sandbox_run(&limits, code, strlen(code), -1, ad->arena, &r, &e) !=
		0) {
		admin_note("not looked for errors: %s", e.detail);
		return NULL;
	}
	if (r->status == SANDBOX_NOT_STARTED || r->status == SANDBOX_CRASHED) {
		admin_note("not looked for errors: %s: %s", ad->conf->sandbox,
			sandbox_status_name(r->status));
		return NULL;
	}
	return r->status == SANDBOX_FAILED && !r->has_started ? r : NULL;
}

int
scriptcheck_run(struct admin *ad, const char *body, size_t len, struct err *e)
{
	/* It is parsed whole before it returns at once. */
	const char *block =
		arena_printf(ad->arena, "return;%.*s", (int)len, body);
	const struct sandbox_result *r = parse(ad, block);

	/* A lone expression need not be a statement: {a: 1}. */
	if (r == NULL || parse(ad, arena_printf(ad->arena, "()=>(%.*s\n)",
					   (int)len, body)) == NULL)
		return 0;
	return err_set(e, ERR_CONFLICT, NULL, "line %u: %.200s",
		(unsigned)r->line, table_visible(ad->arena, r->message));
}
