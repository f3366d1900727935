/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/loop.h"

#include <openssl/sha.h>
#include <poll.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/jscan.h"
#include "base/log.h"
#include "net/fetch.h"
#include "run/builtin.h"
#include "run/call.h"
#include "run/check.h"
#include "run/dispatch.h"
#include "run/policy.h"
#include "run/render.h"
#include "run/run.h"
#include "run/vault.h"
#include "store/catalog.h"
#include "store/dbtask.h"
#include "store/ledger.h"

enum {
	LEASE_S = 30,
	RENEW_MS = 10000,
	/* What one call may take beside its arguments and result: its tool's
	 * row, a tree of its arguments, the request. */
	CALL_ARENA_BASE = 64 << 20,
	CALL_ARENA_FACTOR = 64,
	ARGS_TOTAL_BYTES = 16 << 20,
	RETURNS_BYTES = 32 << 20,
	KEPT_BYTES = 64 << 20,
	/* Of content blocks: what a model can be expected to look at. */
	BLOCKS_MAX = 20,
	BLOCKS_BYTES = 8 << 20,
};

enum call_state {
	CALL_QUEUED,
	CALL_UNDER_WAY,
	CALL_SCRIPT, /* under way within the sandbox */
	CALL_ASKED,
	CALL_OVER,
};

struct loop_call {
	uint32_t number;
	const char *path;
	const char *args;
	size_t args_len;
	enum call_state state;
	enum ledger_status status;
	bool is_unsent; /* and will not be: answered at once */
	int64_t start_ms;
	int64_t ms; /* -1: not known */
	struct arena *arena; /* while it is under way */
	struct dispatch *dispatch;
	struct ledger_call row; /* CALL_ASKED; decision before a resumption */
};

struct loop {
	const struct run_env *env;
	const struct loop_begin *begin; /* NULL: alone */
	struct arena *arena;
	struct sandbox_limits limits;
	struct sandbox *sb; /* NULL: alone */
	struct loop_call **call;
	size_t n_calls;
	size_t cap_calls;
	size_t n_under_way;
	size_t n_queued;
	size_t n_asked;
	bool is_over; /* the sandbox has said its last word */
	bool is_idle;
	bool is_suspending;
	bool has_decisions; /* to be carried out at the first IDLE */
	bool needs_program;
	bool is_row;
	char id[EXECUTION_ID_LEN + 1];
	char engine[ENGINE_ID_LEN + 1];
	int64_t generation;
	int64_t renew_ms;
	int64_t deadline_ms;
	bool is_stopped;
	enum execution_outcome stop;
	struct call_answer first; /* json NULL: none yet */
	struct buf blocks;
	size_t n_blocks;
};

/* --- calls as a list ----------------------------------------------------------- */

static struct loop_call *
add_call(struct loop *l, uint32_t number, const char *path, const char *args,
	size_t args_len)
{
	struct loop_call *c = arena_zalloc(l->arena, sizeof(*c));
	struct loop_call **bigger;
	size_t cap;

	if (l->n_calls == l->cap_calls) {
		cap = l->cap_calls * 2 + 16;
		bigger = arena_calloc(l->arena, cap, sizeof(*bigger));
		if (l->n_calls > 0)
			memcpy(bigger, l->call, l->n_calls * sizeof(*bigger));
		l->call = bigger;
		l->cap_calls = cap;
	}
	c->number = number;
	c->path = path;
	c->args = args;
	c->args_len = args_len;
	c->status = LEDGER_RUNNING;
	c->ms = -1;
	c->state = CALL_QUEUED;
	l->call[l->n_calls++] = c;
	l->n_queued++;
	return c;
}

static void
set_state(struct loop *l, struct loop_call *c, enum call_state state)
{
	l->n_queued -= c->state == CALL_QUEUED;
	l->n_under_way -= c->state == CALL_UNDER_WAY;
	l->n_asked -= c->state == CALL_ASKED;
	c->state = state;
	l->n_queued += state == CALL_QUEUED;
	l->n_under_way += state == CALL_UNDER_WAY;
	l->n_asked += state == CALL_ASKED;
}

static struct arena *
call_arena(struct loop *l, struct loop_call *c)
{
	const struct conf *conf = l->env->conf;

	if (c->arena == NULL)
		c->arena = arena_new(CALL_ARENA_BASE +
			CALL_ARENA_FACTOR *
				(c->args_len +
					(size_t)conf->call_result_max_bytes));
	return c->arena;
}

static void
release_call(struct loop_call *c)
{
	dispatch_close(c->dispatch);
	c->dispatch = NULL;
	arena_free(c->arena);
	c->arena = NULL;
}

static void
stop(struct loop *l, enum execution_outcome why)
{
	l->is_stopped = true;
	l->stop = why;
}

/* --- the ledger ---------------------------------------------------------------- */

static struct ledger_key
key_of(const struct loop *l, const struct loop_call *c)
{
	return (struct ledger_key){ .execution_id = l->id,
		.generation = l->generation,
		.seq = c->number };
}

static struct ledger_value
value_of(const struct loop *l, const char *json, size_t len,
	unsigned char sha256[32])
{
	SHA256((const unsigned char *)json, len, sha256);
	return (struct ledger_value){ .sha256 = sha256,
		.value = len <= (size_t)l->env->conf->ledger_value_bytes ?
			json :
			NULL };
}

/* The row of the run, before the first call's. */
static int
open_row(struct loop *l, struct arena *a, struct err *e)
{
	struct execution_new n = { .id = l->id,
		.session_id = l->env->session_id,
		.engine = l->engine,
		.lease_s = LEASE_S };
	static const unsigned char NO_CODE[32];

	if (l->is_row)
		return 0;
	if (engine_id(l->env->conf->sandbox, l->engine, e) != 0)
		return -1;
	execution_id_make(l->id);
	n.code_sha256 = l->begin != NULL ? l->begin->code_sha256 : NO_CODE;
	if (execution_open(l->env->db, a, &l->env->owner, &n, e) != 0)
		return -1;
	l->is_row = true;
	l->generation = 1;
	l->renew_ms = clock_mono_ms() + RENEW_MS;
	return 0;
}

/* A reply that was lost may be asked for again. */
static bool
may_repeat(const struct err *e)
{
	return e->kind == ERR_UNAVAILABLE || e->kind == ERR_CONFLICT;
}

static int
note_begin(struct loop *l, struct loop_call *c,
	enum execution_outcome *outcome, struct err *e)
{
	struct arena *a = call_arena(l, c);
	struct ledger_key key;
	unsigned char sha256[32];
	struct ledger_value args;

	if (open_row(l, a, e) != 0)
		return -1;
	key = key_of(l, c);
	args = value_of(l, c->args, c->args_len, sha256);
	if (ledger_begin(l->env->db, a, &key, c->path, &args, outcome, e) == 0)
		return 0;
	if (!may_repeat(e))
		return -1;
	err_clear(e);
	if (ledger_begin(l->env->db, a, &key, c->path, &args, outcome, e) != 0)
		return -1;
	/* It was this process that noted it, and has not sent it. */
	if (*outcome == EXECUTION_AGAIN)
		*outcome = EXECUTION_OK;
	return 0;
}

/* What came of C; false: the run is not this process's any more. */
static bool
note_end(struct loop *l, struct loop_call *c, enum ledger_status status,
	bool is_error, const char *json, size_t len)
{
	struct ledger_key key = key_of(l, c);
	struct arena *a = call_arena(l, c);
	enum execution_outcome outcome = EXECUTION_OK;
	unsigned char sha256[32];
	struct ledger_value value = { 0 };
	struct err e;
	int rc;

	c->status = status;
	if (json != NULL)
		value = value_of(l, json, len, sha256);
	err_clear(&e);
	rc = ledger_settle(l->env->db, a, &key, status, is_error, &value,
		&outcome, &e);
	if (rc != 0 && may_repeat(&e)) {
		err_clear(&e);
		rc = ledger_settle(l->env->db, a, &key, status, is_error,
			&value, &outcome, &e);
	}
	if (rc != 0) {
		/* It stays "running" there, and is unknown in the end. */
		log_err(LOG_LEVEL_ERR, "call.unsettled", &e);
		return true;
	}
	if (outcome == EXECUTION_OK || outcome == EXECUTION_AGAIN)
		return true;
	if (c->state == CALL_SCRIPT)
		return true; /* settled when the run was suspended */
	stop(l, outcome == EXECUTION_CANCELLED ? outcome : EXECUTION_LOST);
	return false;
}

/* --- answers -------------------------------------------------------------------- */

/* Give ANSWER to the program. */
static void
give(struct loop *l, const struct loop_call *c,
	const struct call_answer *answer, enum sandbox_answer how)
{
	static const char TOO_LARGE[] =
		"{\"code\":\"result_too_large\",\"message\":\"The call has "
		"been made; its result is too large for the program\","
		"\"retryable\":false}";
	struct err e;

	if (l->first.json == NULL) {
		l->first = *answer;
		l->first.json =
			arena_memdup(l->arena, answer->json, answer->len);
		if (answer->content != NULL)
			l->first.content = arena_memdup(l->arena,
				answer->content, answer->content_len);
	}
	if (l->sb == NULL)
		return;
	l->is_idle = false;
	err_clear(&e);
	if (sandbox_return(l->sb, c->number, how, answer->json, answer->len,
		    &e) == 0)
		return;
	log_err(LOG_LEVEL_INFO, "call.return", &e);
	err_clear(&e);
	if (sandbox_return(l->sb, c->number, SANDBOX_ANSWER_ERROR, TOO_LARGE,
		    sizeof(TOO_LARGE) - 1, &e) != 0)
		log_err(LOG_LEVEL_WARN, "call.return", &e);
}

/*
 * What programs cannot hold: images, audio, files.  Text is in the data.  One
 * too many is left out; the data still says that it was there.
 */
static void
keep_blocks(struct loop *l, const struct call_answer *answer)
{
	static const char *const TYPES[] = { "\"image\"", "\"audio\"",
		"\"resource\"", "\"resource_link\"" };
	const struct cj_limits limits = { .depth_max = 64,
		.dup = CJ_DUP_ALLOW };
	size_t i, k, off, len, type, type_len;
	struct err e;

	err_clear(&e);
	if (answer->content == NULL ||
		jscan_check(answer->content, answer->content_len, &limits,
			&e) != 0)
		return;
	for (i = 0; l->n_blocks < BLOCKS_MAX &&
		cj_raw_element(answer->content, answer->content_len, i, &off,
			&len);
		i++) {
		const char *block = answer->content + off;

		if (!cj_raw_member(block, len, "type", &type, &type_len) ||
			l->blocks.len + len > BLOCKS_BYTES)
			continue;
		for (k = 0; k < NELEM(TYPES); k++)
			if (type_len == strlen(TYPES[k]) &&
				memcmp(block + type, TYPES[k], type_len) == 0)
				break;
		if (k == NELEM(TYPES))
			continue;
		buf_puts(&l->blocks, l->blocks.len > 0 ? "," : "");
		buf_put(&l->blocks, block, len);
		l->n_blocks++;
	}
}

/* The call was answered without being sent: nothing of it is noted. */
static void
answer_unsent(struct loop *l, struct loop_call *c,
	const struct call_answer *answer)
{
	set_state(l, c, CALL_OVER);
	c->is_unsent = true;
	give(l, c, answer, SANDBOX_ANSWER_ERROR);
	release_call(c);
}

static void
answer_unavailable(struct loop *l, struct loop_call *c, struct err *e)
{
	struct call_answer answer;

	log_err(LOG_LEVEL_WARN, "call.failed", e);
	call_fail(&answer, call_arena(l, c), CALL_FAILED,
		&(struct call_fault){ .code = "unavailable",
			.message = "The call has not been made: the ledger "
				   "or the catalogue cannot be reached",
			.is_retryable = true });
	answer_unsent(l, c, &answer);
}

/* The call has ended with ANSWER. */
static void
finish_call(struct loop *l, struct loop_call *c,
	const struct call_answer *given)
{
	static const enum ledger_status STATUS[CALL__MAX] = {
		[CALL_OK] = LEDGER_DONE,
		[CALL_FAILED] = LEDGER_FAILED,
		[CALL_UNKNOWN] = LEDGER_UNKNOWN,
	};
	struct call_answer answer = *given;
	bool is_ours;

	c->ms = clock_mono_ms() - c->start_ms;
	is_ours = note_end(l, c, STATUS[answer.status],
		answer.status != CALL_OK, answer.json, answer.len);
	set_state(l, c, CALL_OVER);
	if (!is_ours) {
		release_call(c);
		return;
	}
	if (answer.status == CALL_OK &&
		answer.len > (size_t)l->env->conf->call_result_max_bytes)
		call_fail(&answer, call_arena(l, c), CALL_FAILED,
			&(struct call_fault){ .code = "result_too_large",
				.message = "The call has been made; its "
					   "result is larger than allowed" });
	if (answer.status == CALL_OK)
		keep_blocks(l, &answer);
	give(l, c, &answer,
		answer.status == CALL_OK ? SANDBOX_ANSWER_OK :
					   SANDBOX_ANSWER_ERROR);
	release_call(c);
}

/* --- sending ---------------------------------------------------------------------- */

static void
start_script(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool)
{
	struct call_answer answer;
	const char *body = dispatch_script(call_arena(l, c), tool);
	struct err e;

	err_clear(&e);
	set_state(l, c, CALL_SCRIPT);
	l->is_idle = false;
	if (body != NULL &&
		sandbox_script(l->sb, c->number, body, strlen(body), c->args,
			c->args_len, "{}", 2, &e) == 0)
		return;
	if (body != NULL)
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
	call_fail(&answer, call_arena(l, c), CALL_FAILED,
		&(struct call_fault){ .code = "tool_misconfigured",
			.message = "The script of this tool cannot be run" });
	finish_call(l, c, &answer);
}

/* It is committed: send it. */
static void
send_call(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool)
{
	struct call_answer answer;

	c->start_ms = clock_mono_ms();
	c->status = LEDGER_RUNNING;
	if (tool->kind == CATALOG_SCRIPT) {
		start_script(l, c, tool);
		return;
	}
	set_state(l, c, CALL_UNDER_WAY);
	c->dispatch = dispatch_start(l->env, call_arena(l, c), tool, c->args,
		c->args_len, &answer);
	if (c->dispatch == NULL)
		finish_call(l, c, &answer);
}

static bool
check_args(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool)
{
	struct arena *a = call_arena(l, c);
	struct call_answer answer;
	struct check_verdict *v;
	struct err e;

	if (l->env->check == NULL || tool->input_schema == NULL)
		return true;
	err_clear(&e);
	if (check_value(l->env->check, tool->input_schema,
		    strlen(tool->input_schema), c->args, c->args_len, a, &v,
		    &e) != 0) {
		answer_unavailable(l, c, &e);
		return false;
	}
	if (v->outcome == CHECK_VALID || v->outcome == CHECK_BAD_SCHEMA)
		return true; /* whoever is called judges in the end */
	policy_bad_arguments(&answer, a, tool, v);
	answer_unsent(l, c, &answer);
	return false;
}

static const char *
keep_text(struct loop *l, const char *s)
{
	return s != NULL ? arena_strdup(l->arena, s) : NULL;
}

/* Ask for a word on C.  MESSAGE, SCHEMA may live in its arena. */
static void
ask(struct loop *l, struct loop_call *c, bool is_elicit, const char *message,
	const char *schema)
{
	struct arena *a = call_arena(l, c);
	struct ledger_question q = { .is_elicit = is_elicit,
		.message = message,
		.schema = schema,
		.window_s = l->env->conf->approval_window_s };
	struct vault_label label = { .what = "args" };
	enum execution_outcome outcome;
	struct call_answer answer;
	unsigned char sha256[32];
	struct ledger_value args;
	struct ledger_key key;
	const char *deadline;
	const void *pending;
	struct err e;

	if (l->env->keys == NULL) {
		policy_cannot_wait(&answer, a, c->path, is_elicit);
		answer_unsent(l, c, &answer);
		return;
	}
	err_clear(&e);
	if (open_row(l, a, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	key = key_of(l, c);
	label.execution_id = l->id;
	label.number = c->number;
	if (!is_elicit) {
		if (vault_close(l->env->keys, a, &label, c->args, c->args_len,
			    &pending, &q.pending_len, &e) != 0) {
			answer_unavailable(l, c, &e);
			return;
		}
		q.pending = pending;
	}
	args = value_of(l, c->args, c->args_len, sha256);
	if (ledger_ask(l->env->db, a, &key, c->path, &args, &q, &outcome,
		    &deadline, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	if (outcome != EXECUTION_OK && outcome != EXECUTION_AGAIN) {
		stop(l, outcome);
		return;
	}
	c->status = LEDGER_WAITING;
	c->row = (struct ledger_call){ .seq = c->number,
		.path = c->path,
		.args = args.value,
		.is_question = true,
		.is_elicit = is_elicit,
		.message = keep_text(l, message),
		.schema = keep_text(l, schema),
		.deadline = keep_text(l, deadline) };
	set_state(l, c, CALL_ASKED);
	release_call(c);
}

/* A call from the program, or one that was queued. */
static void
begin_call(struct loop *l, struct loop_call *c)
{
	struct arena *a = call_arena(l, c);
	enum catalog_outcome found;
	enum execution_outcome outcome;
	struct call_answer answer;
	struct catalog_tool tool;
	const char *suggestions;
	struct err e;

	err_clear(&e);
	if (catalog_find(l->env->db, a, l->env->owner.organization_id,
		    c->path, &found, &tool, &suggestions, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	if (found != CATALOG_OK) {
		builtin_not_found(&answer, a, c->path,
			found == CATALOG_NOT_FOUND ? suggestions : NULL);
		answer_unsent(l, c, &answer);
		return;
	}
	if (!check_args(l, c, &tool))
		return;
	if (l->sb == NULL &&
		(tool.needs_approval || tool.kind == CATALOG_SCRIPT)) {
		l->needs_program = true;
		set_state(l, c, CALL_OVER);
		release_call(c);
		return;
	}
	if (tool.needs_approval) {
		ask(l, c, false, policy_question(a, &tool), NULL);
		return;
	}
	if (note_begin(l, c, &outcome, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	if (outcome != EXECUTION_OK) {
		stop(l, outcome == EXECUTION_CANCELLED ? outcome :
							 EXECUTION_LOST);
		return;
	}
	send_call(l, c, &tool);
}

/* --- decisions ---------------------------------------------------------------- */

static void
refuse_call(struct loop *l, struct loop_call *c)
{
	struct call_answer answer;

	policy_declined(&answer, call_arena(l, c), &c->row);
	if (!note_end(l, c, LEDGER_DECLINED, true, NULL, 0))
		return;
	set_state(l, c, CALL_OVER);
	give(l, c, &answer, SANDBOX_ANSWER_ERROR);
	release_call(c);
}

static void
answer_question(struct loop *l, struct loop_call *c)
{
	struct call_answer answer;

	policy_answer(&answer, call_arena(l, c), &c->row);
	if (!note_end(l, c, LEDGER_DONE, false, answer.json, answer.len))
		return;
	set_state(l, c, CALL_OVER);
	give(l, c, &answer, SANDBOX_ANSWER_OK);
	release_call(c);
}

static void
fail_approved(struct loop *l, struct loop_call *c, const char *code,
	const char *message)
{
	struct call_answer answer;

	call_fail(&answer, call_arena(l, c), CALL_FAILED,
		&(struct call_fault){ .code = code, .message = message });
	c->start_ms = clock_mono_ms();
	finish_call(l, c, &answer);
}

/* An approved call: as it was when it was asked about, if it still may. */
static void
go(struct loop *l, struct loop_call *c)
{
	struct arena *a = call_arena(l, c);
	struct vault_label label = { .what = "args",
		.execution_id = l->id,
		.number = c->number };
	struct ledger_key key = key_of(l, c);
	enum execution_outcome outcome;
	enum catalog_outcome found;
	struct catalog_tool tool;
	const char *suggestions;
	const void *args;
	struct err e;
	int opened;

	err_clear(&e);
	if (catalog_find(l->env->db, a, l->env->owner.organization_id,
		    c->path, &found, &tool, &suggestions, &e) != 0) {
		/* Without a decision: the next resume comes here again. */
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
		stop(l, EXECUTION_WAITING);
		return;
	}
	opened = vault_open(l->env->keys, a, &label, c->row.pending,
		c->row.pending_len, &args, &c->args_len, &e);
	if (opened != 0)
		log_err(LOG_LEVEL_ERR, "call.pending", &e);
	else
		c->args = arena_memdup(l->arena, args, c->args_len);
	err_clear(&e);
	if (ledger_go(l->env->db, a, &key, &outcome, &e) != 0) {
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
		stop(l, EXECUTION_WAITING);
		return;
	}
	if (outcome == EXECUTION_REFUSED) {
		c->row.action = "decline";
		refuse_call(l, c);
		return;
	}
	if (outcome != EXECUTION_OK) {
		stop(l, outcome == EXECUTION_CANCELLED ? outcome :
							 EXECUTION_LOST);
		return;
	}
	if (opened != 0)
		fail_approved(l, c, "arguments_lost",
			"The call has not been made: its arguments cannot be "
			"opened any more");
	else if (found != CATALOG_OK)
		fail_approved(l, c, "tool_not_found",
			"The call has not been made: the tool is not there "
			"any more");
	else
		send_call(l, c, &tool);
}

static void
carry_out(struct loop *l)
{
	size_t i;

	l->has_decisions = false;
	for (i = 0; i < l->n_calls && !l->is_stopped; i++) {
		struct loop_call *c = l->call[i];

		if (c->state != CALL_ASKED || c->row.action == NULL)
			continue;
		if (c->row.is_elicit)
			answer_question(l, c);
		else if (strcmp(c->row.action, "accept") == 0)
			go(l, c);
		else
			refuse_call(l, c);
	}
}

/* --- events of the sandbox --------------------------------------------------- */

static void
on_builtin(struct loop *l, const struct sandbox_call *call)
{
	struct arena *a = arena_new(CALL_ARENA_BASE);
	struct call_answer answer;
	struct err e;

	err_clear(&e);
	if (!builtin_call(l->env, a, call, &answer))
		call_fail(&answer, a, CALL_FAILED,
			&(struct call_fault){ .code = "unknown_call",
				.message = "Nothing answers this call" });
	l->is_idle = false;
	if (sandbox_return(l->sb, call->number,
		    answer.status == CALL_OK ? SANDBOX_ANSWER_OK :
					       SANDBOX_ANSWER_ERROR,
		    answer.json, answer.len, &e) != 0)
		log_err(LOG_LEVEL_WARN, "call.return", &e);
	arena_free(a);
}

static void
on_call(struct loop *l, const struct sandbox_call *call)
{
	const char *message, *schema;
	struct loop_call *c;

	if (call->is_oneway)
		return; /* progress and log: nobody listens yet */
	if (call->path[0] == '$' &&
		strcmp(call->path, SANDBOX_CALL_ELICIT) != 0) {
		on_builtin(l, call);
		return;
	}
	c = add_call(l, call->number, call->path, call->args, call->args_len);
	if (call->path[0] == '$') {
		policy_elicit(call_arena(l, c), c->args, c->args_len, &message,
			&schema);
		ask(l, c, true, message, schema);
	}
}

static void
on_script(struct loop *l, const struct sandbox_script *s)
{
	struct call_answer answer = { .status =
			s->answer == SANDBOX_ANSWER_OK ? CALL_OK :
							 CALL_FAILED,
		.json = s->json,
		.len = s->json_len };
	size_t i;

	for (i = 0; i < l->n_calls; i++) {
		struct loop_call *c = l->call[i];

		if (c->number != s->number)
			continue;
		if (c->state == CALL_SCRIPT)
			finish_call(l, c, &answer);
		else /* settled before the run was suspended */
			give(l, c, &answer, s->answer);
		return;
	}
}

/* --- the loop ---------------------------------------------------------------- */

static void
start_queued(struct loop *l)
{
	size_t i;

	for (i = 0; i < l->n_calls && l->n_queued > 0 && !l->is_stopped; i++) {
		if (l->call[i]->state != CALL_QUEUED)
			continue;
		if (l->n_under_way >=
			(size_t)l->env->conf->calls_in_flight_max)
			return;
		begin_call(l, l->call[i]);
	}
}

static void
step_calls(struct loop *l)
{
	struct call_answer answer;
	size_t i;

	for (i = 0; i < l->n_calls && !l->is_stopped; i++) {
		struct loop_call *c = l->call[i];

		if (c->state == CALL_UNDER_WAY &&
			dispatch_step(c->dispatch, &answer))
			finish_call(l, c, &answer);
	}
}

static void
renew(struct loop *l)
{
	struct arena *a;
	enum execution_outcome outcome;
	struct err e;

	if (!l->is_row || clock_mono_ms() < l->renew_ms)
		return;
	l->renew_ms = clock_mono_ms() + RENEW_MS;
	a = arena_new(1 << 20);
	err_clear(&e);
	if (execution_renew(l->env->db, a, l->id, l->generation, LEASE_S,
		    &outcome, &e) != 0)
		log_err(LOG_LEVEL_WARN, "execution.renew", &e);
	else if (outcome != EXECUTION_OK)
		stop(l, outcome);
	arena_free(a);
}

static int
shorter(int a, int64_t b)
{
	if (b < 0)
		b = 0;
	return a < 0 || b < a ? (int)(b > INT32_MAX ? INT32_MAX : b) : a;
}

static void
wait_for_more(struct loop *l)
{
	struct pollfd fds[FETCH_EXTRA_MAX];
	int64_t now = clock_mono_ms();
	size_t i, n = 0;
	struct err e;
	int timeout;

	timeout = shorter(-1, l->deadline_ms - now);
	if (l->is_row)
		timeout = shorter(timeout, l->renew_ms - now);
	if (l->sb != NULL && !l->is_over) {
		fds[n++] = (struct pollfd){ sandbox_fd(l->sb),
			sandbox_poll_events(l->sb), 0 };
		if (sandbox_timeout_ms(l->sb) >= 0)
			timeout = shorter(timeout, sandbox_timeout_ms(l->sb));
	}
	for (i = 0; i < l->n_calls && n < NELEM(fds); i++) {
		const struct dbtask *task;

		if (l->call[i]->state != CALL_UNDER_WAY)
			continue;
		task = dispatch_task(l->call[i]->dispatch);
		if (task == NULL)
			continue;
		fds[n++] = (struct pollfd){ dbtask_fd(task),
			dbtask_poll_events(task), 0 };
		timeout = shorter(timeout, dbtask_timeout_ms(task));
	}
	err_clear(&e);
	if (fetch_poll(l->env->fetch, fds, n, timeout, &e) != 0) {
		log_err(LOG_LEVEL_ERR, "loop.poll", &e);
		(void)poll(fds, (nfds_t)n, timeout < 100 ? timeout : 100);
	}
}

/* Scripts that wait with the program: what they do is in their own calls. */
static void
settle_scripts(struct loop *l)
{
	size_t i;

	for (i = 0; i < l->n_calls; i++)
		if (l->call[i]->state == CALL_SCRIPT)
			(void)note_end(l, l->call[i], LEDGER_DONE, false,
				NULL, 0);
}

/* Nothing is under way, and the program waits for words alone. */
static void
suspend_if_due(struct loop *l)
{
	struct err e;

	if (l->sb == NULL || l->is_over || !l->is_idle || l->is_suspending ||
		l->n_under_way > 0 || l->n_queued > 0 || l->n_asked == 0)
		return;
	settle_scripts(l);
	if (l->is_stopped)
		return;
	err_clear(&e);
	if (sandbox_suspend(l->sb, &e) == 0) {
		l->is_suspending = true;
	} else {
		/* Not idle any more: it will be again. */
		log_err(LOG_LEVEL_DEBUG, "loop.suspend", &e);
		l->is_idle = false;
	}
}

/* Take what the sandbox has to say. */
static void
take_events(struct loop *l, struct loop_end *end)
{
	struct sandbox_event ev;

	while (!l->is_stopped) {
		sandbox_next(l->sb, &ev);
		switch (ev.kind) {
		case SANDBOX_EVENT_NONE:
			return;
		case SANDBOX_EVENT_CALL:
			on_call(l, &ev.call);
			break;
		case SANDBOX_EVENT_IDLE:
			l->is_idle = true;
			if (l->has_decisions)
				carry_out(l);
			break;
		case SANDBOX_EVENT_SCRIPT:
			on_script(l, &ev.script);
			break;
		case SANDBOX_EVENT_HEAP:
			end->kind = LOOP_SUSPENDED;
			end->heap = ev.heap;
			end->result = ev.result;
			l->is_over = true;
			return;
		case SANDBOX_EVENT_END:
			end->kind = LOOP_ENDED;
			end->result = ev.result;
			l->is_over = true;
			return;
		}
	}
}

static const struct sandbox_result *
timed_out(struct loop *l)
{
	struct sandbox_result *r = arena_zalloc(l->arena, sizeof(*r));

	r->status = SANDBOX_TIMED_OUT;
	r->has_started = true;
	r->message = arena_printf(l->arena,
		"The run and its calls took longer than a request may "
		"(%" PRId64 " ms)",
		l->env->conf->front_timeout_s * 900);
	return r;
}

void
loop_run(struct loop *l, struct loop_end *end)
{
	*end = (struct loop_end){ .kind = LOOP_ENDED };
	for (;;) {
		if (l->sb != NULL && !l->is_over)
			take_events(l, end);
		/* Over; what has been sent is waited for, to be noted. */
		if (end->result != NULL && l->n_under_way == 0)
			break;
		if (end->result == NULL)
			start_queued(l);
		step_calls(l);
		renew(l);
		if (l->is_stopped) {
			end->kind = LOOP_STOPPED;
			end->stop = l->stop;
			break;
		}
		if (l->sb == NULL && l->n_queued + l->n_under_way == 0)
			break;
		if (clock_mono_ms() >= l->deadline_ms) {
			if (end->result == NULL)
				end->result = timed_out(l);
			break;
		}
		/* What was answered just now may have more to say. */
		suspend_if_due(l);
		wait_for_more(l);
	}
	end->execution_id = l->is_row ? l->id : NULL;
	end->generation = l->generation;
	end->engine = l->engine;
	end->wall_used_ms = (l->begin != NULL ? l->begin->wall_used_ms : 0) +
		(end->result != NULL ? end->result->wall_ms : 0);
}

/* --- opening and closing --------------------------------------------------------- */

static struct loop *
new_loop(const struct run_env *env)
{
	struct loop *l = arena_zalloc(env->arena, sizeof(*l));

	l->env = env;
	l->arena = env->arena;
	l->deadline_ms = env->deadline_ms;
	buf_init(&l->blocks, l->arena);
	return l;
}

static void
set_limits(struct loop *l, int64_t wall_used_ms)
{
	const struct conf *conf = l->env->conf;
	int64_t wall_ms = conf->execute_wall_ms - wall_used_ms;

	l->limits = (struct sandbox_limits){
		.program = conf->sandbox,
		/* Enough to say that there is no more. */
		.wall_ms = (uint32_t)(wall_ms < 50 ? 50 : wall_ms),
		.cpu_ms = (uint32_t)conf->execute_cpu_ms,
		.heap_bytes = (uint64_t)conf->execute_heap_bytes,
		.stack_bytes = (uint32_t)conf->execute_stack_bytes,
		.output_bytes = (uint32_t)conf->execute_output_bytes,
		.log_lines = (uint32_t)conf->execute_log_lines,
	};
	if (!l->env->has_tools)
		return;
	l->limits.calls_max = (uint32_t)conf->calls_max;
	l->limits.args_bytes = (uint32_t)conf->call_args_max_bytes;
	l->limits.args_total_bytes = ARGS_TOTAL_BYTES;
	l->limits.returns_bytes = RETURNS_BYTES;
	l->limits.kept_bytes = KEPT_BYTES;
}

/* The calls that were made before the suspension. */
static void
recall(struct loop *l, const struct ledger_call *rows, size_t n)
{
	struct loop_call *c;
	size_t i;

	for (i = 0; i < n; i++) {
		c = add_call(l, (uint32_t)rows[i].seq, rows[i].path, "{}", 2);
		c->row = rows[i];
		c->status = rows[i].status;
		c->ms = rows[i].ms;
			set_state(l, c, rows[i].status == LEDGER_WAITING ? CALL_ASKED :
								   CALL_OVER);
		if (c->state == CALL_ASKED && c->row.action != NULL)
			l->has_decisions = true;
	}
}

int
loop_open(const struct run_env *env, const struct loop_begin *begin,
	struct loop **out, struct err *e)
{
	struct loop *l = new_loop(env);

	l->begin = begin;
	if (begin->blocks != NULL)
		buf_puts(&l->blocks, begin->blocks);
	set_limits(l, begin->wall_used_ms);
	if (begin->execution_id != NULL) {
		snprintf(l->id, sizeof(l->id), "%s", begin->execution_id);
		if (engine_id(env->conf->sandbox, l->engine, e) != 0)
			return -1;
		l->generation = begin->generation;
		l->is_row = true;
		l->renew_ms = clock_mono_ms() + RENEW_MS;
		recall(l, begin->call, begin->n_calls);
	}
	if (sandbox_start(&l->limits, &begin->program, l->arena, &l->sb, e) !=
		0)
		return -1;
	*out = l;
	return 0;
}

void
loop_open_alone(const struct run_env *env, const char *path, const char *args,
	size_t args_len, struct loop **out)
{
	struct loop *l = new_loop(env);

	(void)add_call(l, 1, path, args, args_len);
	*out = l;
}

bool
loop_needs_program(const struct loop *l)
{
	return l->needs_program;
}

const struct render_call *
loop_calls(struct loop *l, size_t *n)
{
	struct render_call *list = arena_calloc(l->arena, l->n_calls + 1,
		sizeof(*list));
	size_t i;

	for (i = 0; i < l->n_calls; i++) {
		const struct loop_call *c = l->call[i];
		enum ledger_status status = c->status;

		/* What the end of the run makes of them. */
		if (c->state == CALL_UNDER_WAY)
			status = LEDGER_UNKNOWN;
		else if (c->state == CALL_QUEUED)
			status = LEDGER_CANCELLED;
		list[i] = (struct render_call){ .seq = c->number,
			.path = c->path,
			.status = c->is_unsent ? "not_sent" :
						 ledger_status_name(status),
			.ms = c->ms };
	}
	*n = l->n_calls;
	return list;
}

const struct ledger_call *const *
loop_questions(struct loop *l, size_t *n)
{
	const struct ledger_call **list = arena_calloc(l->arena,
		l->n_asked + 1, sizeof(*list));
	size_t i;

	*n = 0;
	for (i = 0; i < l->n_calls; i++)
		if (l->call[i]->state == CALL_ASKED &&
			l->call[i]->row.action == NULL)
			list[(*n)++] = &l->call[i]->row;
	return list;
}

const char *
loop_blocks(const struct loop *l)
{
	return l->blocks.data;
}

const struct call_answer *
loop_first_answer(const struct loop *l)
{
	return l->first.json != NULL ? &l->first : NULL;
}

void
loop_close(struct loop *l)
{
	size_t i;

	if (l == NULL)
		return;
	for (i = 0; i < l->n_calls; i++)
		release_call(l->call[i]);
	if (l->sb != NULL)
		sandbox_close(l->sb);
	l->sb = NULL;
}
