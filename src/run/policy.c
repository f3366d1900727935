/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/policy.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "run/call.h"
#include "run/check.h"
#include "store/catalog.h"
#include "store/ledger.h"

enum { MESSAGE_MAX = 8192, SCHEMA_MAX = 262144 };

const char *
policy_question(struct arena *a, const struct catalog_tool *tool)
{
	if (tool->approval_text != NULL)
		return tool->approval_text;
	if (tool->policy != NULL)
		return arena_printf(a, "Approve %s? (matched policy: %s)",
			tool->path, tool->policy);
	return arena_printf(a, "Approve %s?", tool->path);
}

void
policy_elicit(struct arena *a, const char *args, size_t len,
	const char **message, const char **schema)
{
	const struct cj_limits limits = { .depth_max = 64,
		.dup = CJ_DUP_ALLOW };
	const char *text = NULL;
	size_t off, n;
	struct cJSON *v;
	struct err e;

	*message = "The program asks for an answer";
	*schema = NULL;
	err_clear(&e);
	if (cj_parse(a, args, len, &limits, &v, &e) != 0)
		return;
	text = cj_get_string(v, "message");
	if (text != NULL && text[0] != '\0')
		*message = arena_memdup(a, text,
			buf_utf8_prefix(text, strlen(text), MESSAGE_MAX));
	if (cj_get_object(v, "requestedSchema") != NULL &&
		cj_raw_member(args, len, "requestedSchema", &off, &n) &&
		n <= SCHEMA_MAX)
		*schema = arena_memdup(a, args + off, n);
}

void
policy_declined(struct call_answer *answer, struct arena *a,
	const struct ledger_call *row)
{
	bool is_cancel = strcmp(row->action, "cancel") == 0;
	bool is_late = row->decided_via != NULL &&
		strcmp(row->decided_via, "timeout") == 0;
	struct call_fault fault = { .code = is_cancel ? "approval_cancelled" :
							"approval_declined" };
	struct buf details;

	if (is_late)
		fault.message = arena_printf(a,
			"Tool \"%s\" requires approval and nobody gave it in "
			"time.",
			row->path);
	else
		fault.message = arena_printf(a,
			"Tool \"%s\" requires approval but the request was "
			"%s.",
			row->path,
			is_cancel ? "cancelled" : "declined by the user");
	buf_init(&details, a);
	if (row->note != NULL) {
		buf_puts(&details, "{\"reason\":");
		buf_jsons(&details, row->note);
		buf_putc(&details, '}');
		fault.details = details.data;
	}
	call_fail(answer, a, CALL_FAILED, &fault);
}

void
policy_answer(struct call_answer *answer, struct arena *a,
	const struct ledger_call *row)
{
	struct buf b;

	buf_init(&b, a);
	buf_puts(&b, "{\"action\":");
	buf_jsons(&b, row->action);
	if (row->answer != NULL) {
		buf_puts(&b, ",\"content\":");
		buf_puts(&b, row->answer);
	} else if (row->note != NULL) {
		buf_puts(&b, ",\"content\":{\"reason\":");
		buf_jsons(&b, row->note);
		buf_putc(&b, '}');
	} else if (strcmp(row->action, "accept") == 0) {
		buf_puts(&b, ",\"content\":{}");
	}
	buf_putc(&b, '}');
	call_succeed(answer, b.data, b.len);
}

void
policy_cannot_wait(struct call_answer *answer, struct arena *a,
	const char *path, bool is_elicit)
{
	call_fail(answer, a, CALL_FAILED,
		&(struct call_fault){ .code = is_elicit ?
				"elicitation_unavailable" :
				"approval_unavailable",
			.message = is_elicit ?
				"Nobody can be asked: this server has no "
				"keyring to keep a waiting run with" :
				arena_printf(a,
					"Tool \"%s\" requires approval, and "
					"this server has no keyring to keep a "
					"waiting run with. It has not been "
					"called.",
					path) });
}

void
policy_bad_arguments(struct call_answer *answer, struct arena *a,
	const struct catalog_tool *tool, const struct check_verdict *v)
{
	struct call_fault fault = { .code = "invalid_tool_arguments" };
	struct buf details;
	size_t i;

	buf_init(&details, a);
	buf_puts(&details, "{\"faults\":[");
	for (i = 0; i < v->fault_count; i++) {
		buf_puts(&details, i > 0 ? ",{\"path\":" : "{\"path\":");
		buf_jsons(&details, v->faults[i].path);
		buf_puts(&details, ",\"message\":");
		buf_jsons(&details, v->faults[i].message);
		buf_putc(&details, '}');
	}
	buf_puts(&details, "]}");
	fault.details = details.data;
	fault.message = arena_printf(a,
		"Invalid arguments for tool %s: %s", tool->path,
		v->message != NULL ? v->message : "they do not fit its schema");
	call_fail(answer, a, CALL_FAILED, &fault);
}
