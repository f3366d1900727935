/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/loopcall.h"

#include <openssl/sha.h>

#include "base/arena.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/jscan.h"
#include "base/log.h"
#include "run/builtin.h"
#include "run/check.h"
#include "run/dispatch.h"
#include "run/loop.h"
#include "run/pending.h"
#include "run/policy.h"
#include "run/run.h"
#include "store/catalog.h"

enum {
	CALL_ARENA_FACTOR = 64,
	/* Of content blocks: what a model can be expected to look at. */
	BLOCKS_MAX = 20,
	BLOCKS_BYTES = 8 << 20,
};

/*
 * Calls as a list.
 */

struct loop_call *
loopcall_add(struct loop *l, uint32_t number, const char *path,
	const char *args, size_t args_len)
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

void
loopcall_set_state(struct loop *l, struct loop_call *c, enum call_state state)
{
	l->n_queued -= c->state == CALL_QUEUED;
	l->n_under_way -= c->state == CALL_UNDER_WAY;
	l->n_asked -= c->state == CALL_ASKED;
	c->state = state;
	l->n_queued += state == CALL_QUEUED;
	l->n_under_way += state == CALL_UNDER_WAY;
	l->n_asked += state == CALL_ASKED;
}

struct arena *
loopcall_arena(struct loop *l, struct loop_call *c)
{
	const struct conf *conf = l->env->conf;

	if (c->arena == NULL)
		c->arena = arena_new(LOOPCALL_ARENA_BASE +
			CALL_ARENA_FACTOR *
				(c->args_len +
					(size_t)conf->call_result_max_bytes));
	return c->arena;
}

void
loopcall_release(struct loop_call *c)
{
	dispatch_close(c->dispatch);
	c->dispatch = NULL;
	arena_free(c->arena);
	c->arena = NULL;
}

void
loopcall_stop(struct loop *l, enum execution_outcome why)
{
	l->is_stopped = true;
	l->stop = why;
}

/*
 * The ledger.
 */

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
		.lease_s = LOOPCALL_LEASE_S };
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
	l->renew_ms = clock_mono_ms() + LOOPCALL_RENEW_MS;
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
	struct arena *a = loopcall_arena(l, c);
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

bool
loopcall_note_end(struct loop *l, struct loop_call *c,
	enum ledger_status status, bool is_error, const char *json, size_t len)
{
	struct ledger_key key = key_of(l, c);
	struct arena *a = loopcall_arena(l, c);
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
	/* It was given up before: by whom? */
	err_clear(&e);
	if (outcome != EXECUTION_CANCELLED &&
		execution_renew(l->env->db, a, l->id, l->generation,
			LOOPCALL_LEASE_S, &outcome, &e) != 0)
		log_err(LOG_LEVEL_WARN, "execution.renew", &e);
	loopcall_stop(l,
		outcome == EXECUTION_CANCELLED ? outcome : EXECUTION_LOST);
	return false;
}

/*
 * Answers.
 */

void
loopcall_give(struct loop *l, const struct loop_call *c,
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

void
loopcall_refuse(struct loop *l, struct loop_call *c,
	const struct call_answer *answer)
{
	loopcall_set_state(l, c, CALL_OVER);
	c->is_unsent = true;
	loopcall_give(l, c, answer, SANDBOX_ANSWER_ERROR);
	loopcall_release(c);
}

static void
answer_unavailable(struct loop *l, struct loop_call *c, struct err *e)
{
	struct call_answer answer;

	log_err(LOG_LEVEL_WARN, "call.failed", e);
	call_fail(&answer, loopcall_arena(l, c), CALL_FAILED,
		&(struct call_fault){ .code = "unavailable",
			.message = "The call has not been made: the ledger "
				   "or the catalogue cannot be reached",
			.is_retryable = true });
	loopcall_refuse(l, c, &answer);
}

void
loopcall_finish(struct loop *l, struct loop_call *c,
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
	is_ours = loopcall_note_end(l, c, STATUS[answer.status],
		answer.status != CALL_OK, answer.json, answer.len);
	loopcall_set_state(l, c, CALL_OVER);
	if (!is_ours) {
		loopcall_release(c);
		return;
	}
	if (answer.status == CALL_OK &&
		answer.len > (size_t)l->env->conf->call_result_max_bytes)
		call_fail(&answer, loopcall_arena(l, c), CALL_FAILED,
			&(struct call_fault){ .code = "result_too_large",
				.message = "The call has been made; its "
					   "result is larger than allowed" });
	if (answer.status == CALL_OK)
		keep_blocks(l, &answer);
	loopcall_give(l, c, &answer,
		answer.status == CALL_OK ? SANDBOX_ANSWER_OK :
					   SANDBOX_ANSWER_ERROR);
	loopcall_release(c);
}

/*
 * Sending.
 */

static void
start_script(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool)
{
	struct call_answer answer;
	const char *body = dispatch_script(loopcall_arena(l, c), tool);
	struct err e;

	err_clear(&e);
	loopcall_set_state(l, c, CALL_SCRIPT);
	l->is_idle = false;
	if (body != NULL &&
		sandbox_script(l->sb, c->number, body, strlen(body), c->args,
			c->args_len, "{}", 2, &e) == 0)
		return;
	if (body != NULL)
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
	call_fail(&answer, loopcall_arena(l, c), CALL_FAILED,
		&(struct call_fault){ .code = "tool_misconfigured",
			.message = "The script of this tool cannot be run" });
	loopcall_finish(l, c, &answer);
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
	loopcall_set_state(l, c, CALL_UNDER_WAY);
	c->dispatch = dispatch_start(l->env, loopcall_arena(l, c), tool,
		c->args, c->args_len, &answer);
	if (c->dispatch == NULL)
		loopcall_finish(l, c, &answer);
}

static bool
check_args(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool)
{
	struct arena *a = loopcall_arena(l, c);
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
	loopcall_refuse(l, c, &answer);
	return false;
}

static struct pending_key
pending_key(const struct loop *l, const struct loop_call *c)
{
	return (struct pending_key){ .keys = l->env->keys,
		.execution_id = l->id,
		.number = c->number };
}

static const char *
keep_text(struct loop *l, const char *s)
{
	return s != NULL ? arena_strdup(l->arena, s) : NULL;
}

void
loopcall_ask(struct loop *l, struct loop_call *c,
	const struct catalog_tool *tool, const char *message,
	const char *schema)
{
	struct arena *a = loopcall_arena(l, c);
	bool is_elicit = tool == NULL;
	struct ledger_question q = { .is_elicit = is_elicit,
		.message = message,
		.schema = schema,
		.window_s = l->env->conf->approval_window_s };
	enum execution_outcome outcome;
	struct call_answer answer;
	unsigned char sha256[32];
	struct ledger_value args;
	struct pending_key pending;
	struct ledger_key key;
	const char *deadline;
	struct err e;

	if (l->env->keys == NULL) {
		policy_cannot_wait(&answer, a, c->path, is_elicit);
		loopcall_refuse(l, c, &answer);
		return;
	}
	err_clear(&e);
	if (open_row(l, a, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	key = key_of(l, c);
	pending = pending_key(l, c);
	if (!is_elicit && pending_close(&pending, a, tool, c->args,
				  c->args_len, &q, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	args = value_of(l, c->args, c->args_len, sha256);
	if (ledger_ask(l->env->db, a, &key, c->path, &args, &q, &outcome,
		    &deadline, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	if (outcome != EXECUTION_OK && outcome != EXECUTION_AGAIN) {
		loopcall_stop(l, outcome);
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
	if (args.value == NULL)
		pending_preview(&c->row, l->arena, c->args, c->args_len);
	loopcall_set_state(l, c, CALL_ASKED);
	loopcall_release(c);
}

void
loopcall_begin(struct loop *l, struct loop_call *c)
{
	struct arena *a = loopcall_arena(l, c);
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
		loopcall_refuse(l, c, &answer);
		return;
	}
	if (!check_args(l, c, &tool))
		return;
	if (l->sb == NULL &&
		(tool.needs_approval || tool.kind == CATALOG_SCRIPT)) {
		l->needs_program = true;
		loopcall_set_state(l, c, CALL_OVER);
		loopcall_release(c);
		return;
	}
	if (tool.needs_approval) {
		loopcall_ask(l, c, &tool, policy_question(a, &tool), NULL);
		return;
	}
	if (note_begin(l, c, &outcome, &e) != 0) {
		answer_unavailable(l, c, &e);
		return;
	}
	if (outcome != EXECUTION_OK) {
		loopcall_stop(l, outcome == EXECUTION_CANCELLED ? outcome :
							 EXECUTION_LOST);
		return;
	}
	send_call(l, c, &tool);
}

/*
 * Decisions.
 */

static void
refuse_call(struct loop *l, struct loop_call *c)
{
	struct call_answer answer;

	policy_declined(&answer, loopcall_arena(l, c), &c->row);
	if (!loopcall_note_end(l, c, LEDGER_DECLINED, true, NULL, 0))
		return;
	loopcall_set_state(l, c, CALL_OVER);
	loopcall_give(l, c, &answer, SANDBOX_ANSWER_ERROR);
	loopcall_release(c);
}

static void
answer_question(struct loop *l, struct loop_call *c)
{
	struct call_answer answer;

	policy_answer(&answer, loopcall_arena(l, c), &c->row);
	if (!loopcall_note_end(l, c, LEDGER_DONE, false, answer.json,
		    answer.len))
		return;
	loopcall_set_state(l, c, CALL_OVER);
	loopcall_give(l, c, &answer, SANDBOX_ANSWER_OK);
	loopcall_release(c);
}

static void
fail_approved(struct loop *l, struct loop_call *c, const char *code,
	const char *message)
{
	struct call_answer answer;

	call_fail(&answer, loopcall_arena(l, c), CALL_FAILED,
		&(struct call_fault){ .code = code, .message = message });
	c->start_ms = clock_mono_ms();
	loopcall_finish(l, c, &answer);
}

/* An approved call: as it was when it was asked about, if it still may. */
static void
go(struct loop *l, struct loop_call *c)
{
	struct arena *a = loopcall_arena(l, c);
	struct ledger_key key = key_of(l, c);
	unsigned char digest[PENDING_TOOL_LEN];
	enum execution_outcome outcome;
	struct pending_key pending = pending_key(l, c);
	struct pending asked;
	enum catalog_outcome found;
	struct catalog_tool tool;
	const char *suggestions;
	struct err e;
	int opened;

	err_clear(&e);
	if (catalog_find(l->env->db, a, l->env->owner.organization_id,
		    c->path, &found, &tool, &suggestions, &e) != 0) {
		/* Without a decision: the next resume comes here again. */
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
		loopcall_stop(l, EXECUTION_WAITING);
		return;
	}
	opened = pending_open(&pending, a, &c->row, &asked, &e);
	if (opened != 0) {
		log_err(LOG_LEVEL_ERR, "call.pending", &e);
	} else {
		c->args_len = asked.args_len;
		c->args = arena_memdup(l->arena, asked.args, asked.args_len);
	}
	if (found == CATALOG_OK)
		pending_digest(&tool, digest);
	err_clear(&e);
	if (ledger_go(l->env->db, a, &key, &outcome, &e) != 0) {
		log_err(LOG_LEVEL_WARN, "call.failed", &e);
		loopcall_stop(l, EXECUTION_WAITING);
		return;
	}
	if (outcome == EXECUTION_REFUSED) {
		c->row.action = "decline";
		refuse_call(l, c);
		return;
	}
	if (outcome != EXECUTION_OK) {
		loopcall_stop(l, outcome == EXECUTION_CANCELLED ? outcome :
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
	else if (memcmp(digest, asked.tool, sizeof(digest)) != 0)
		fail_approved(l, c, "tool_changed",
			"The call has not been made: the tool has been changed "
			"since it was approved. Call it again to ask again.");
	else
		send_call(l, c, &tool);
}

void
loopcall_carry_out(struct loop *l)
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
