/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/run.h"

#include <openssl/sha.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/log.h"
#include "run/call.h"
#include "run/check.h"
#include "run/engine.h"
#include "run/loop.h"
#include "run/pending.h"
#include "run/render.h"
#include "run/vault.h"
#include "store/ledger.h"

enum {
	LEASE_S = 30,
	/* A waiting run is kept so much longer than its last question. */
	KEEP_S = 86400,
	STATE_LEN_MAX = 16 << 20,
	CONTENT_MAX = 1 << 20, /* of an answer, as the row takes it */
	POLL_MIN_MS = 20,
	POLL_MAX_MS = 500,
};

/* What goes on with a run, beside the program's heap; sealed with it. */
struct kept {
	bool is_tool; /* run_tool began it */
	const char **logs;
	size_t n_logs;
	const char *blocks; /* content blocks so far, NULL: none */
	const void *heap;
	size_t heap_len;
};

/*
 * The sealed state.
 */

/* {"tool":true,"logs":[],"blocks":[]}, its length in 4 bytes before it, then
 * the heap. */
static void
pack(struct buf *b, const struct kept *k, const struct sandbox_result *r)
{
	unsigned char len[4];
	struct buf json;
	size_t i;

	buf_init(&json, b->arena);
	buf_printf(&json, "{\"tool\":%s,\"logs\":[",
		k->is_tool ? "true" : "false");
	for (i = 0; i < k->n_logs; i++) {
		buf_puts(&json, i > 0 ? "," : "");
		buf_jsons(&json, k->logs[i]);
	}
	for (i = 0; i < r->log_count; i++) {
		buf_puts(&json, i > 0 || k->n_logs > 0 ? "," : "");
		buf_jsons(&json, r->logs[i]);
	}
	buf_printf(&json, "],\"blocks\":[%s]}",
		k->blocks != NULL ? k->blocks : "");
	for (i = 0; i < sizeof(len); i++)
		len[i] = (unsigned char)(json.len >> (8 * i));
	buf_put(b, len, sizeof(len));
	buf_put(b, json.data, json.len);
	buf_put(b, k->heap, k->heap_len);
}

static int
unpack(struct arena *a, const unsigned char *p, size_t len, struct kept *k,
	struct err *e)
{
	const struct cj_limits limits = { .depth_max = 64,
		.dup = CJ_DUP_ALLOW };
	const struct cJSON *logs, *v;
	size_t n, off, blocks_len;
	struct cJSON *json;
	char *text;

	*k = (struct kept){ 0 };
	if (len < 4)
		return err_set(e, ERR_INVALID, NULL, "no state of a run");
	n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
	if (n > STATE_LEN_MAX || n > len - 4)
		return err_set(e, ERR_INVALID, NULL, "no state of a run");
	text = arena_memdup(a, p + 4, n);
	if (cj_parse(a, text, n, &limits, &json, e) != 0)
		return err_wrap(e, "state of a run");
	(void)cj_get_bool(json, "tool", &k->is_tool);
	logs = cj_get_array(json, "logs");
	k->logs = arena_calloc(a, cj_array_len(logs) + 1, sizeof(*k->logs));
	for (v = cj_first(logs); v != NULL; v = cj_next(v))
		if (cj_string(v) != NULL)
			k->logs[k->n_logs++] = cj_string(v);
	if (cj_raw_member(text, n, "blocks", &off, &blocks_len) &&
		blocks_len > 2)
		k->blocks = arena_memdup(a, text + off + 1, blocks_len - 2);
	k->heap = p + 4 + n;
	k->heap_len = len - 4 - n;
	return 0;
}

/*
 * What came of a stretch.
 */

static const struct sandbox_result NOTHING = { .status = SANDBOX_CANCELLED,
	.has_started = true };

static struct render_run
render_of(const struct run_env *env, struct loop *l,
	const struct loop_end *end, const struct kept *k)
{
	struct render_run r = { .result = end->result != NULL ? end->result :
								&NOTHING,
		.logs = k->logs,
		.n_logs = k->n_logs,
		.execution_id = end->execution_id,
		.request_id = env->request_id };

	r.call = loop_calls(l, &r.n_calls);
	r.blocks = loop_blocks(l);
	return r;
}

static void
log_end(const struct loop_end *end, size_t n_calls)
{
	static const struct sandbox_result NONE = { .status =
			SANDBOX_CANCELLED };
	const struct sandbox_result *r = end->result != NULL ? end->result :
							       &NONE;

	log_event(r->status == SANDBOX_CRASHED ||
				r->status == SANDBOX_NOT_STARTED ?
			LOG_LEVEL_ERR :
			LOG_LEVEL_INFO,
		"execute.end", "status",
		end->kind == LOOP_STOPPED ?
			execution_outcome_name(end->stop) :
			sandbox_status_name(r->status),
		"execution", end->execution_id, "calls",
		log_num((int64_t)n_calls), "wall_ms", log_num(r->wall_ms),
		"cpu_ms", log_num(r->cpu_ms), "detail", r->detail, NULL);
}

/* An administrator has ended it, or the lease has lapsed. */
static void
stopped(const struct run_env *env, const struct render_run *r,
	const struct loop_end *end, struct buf *result)
{
	struct render_refusal f = { .status = "error",
		.message = "This run was taken from the process that ran it. "
			   "Calls marked unknown may or may not have taken "
			   "effect.",
		.outcome = "process_lost" };

	if (end->stop == EXECUTION_CANCELLED) {
		f.message = "An administrator has ended this run.";
		f.outcome = "cancelled";
	} else if (end->stop == EXECUTION_WAITING) {
		f.message = "The run could not go on just now. Nothing was "
			    "sent; call `resume` again in half a minute.";
		f.outcome = "waiting";
	}
	render_refusal(&f, r, env->is_structured, result);
}

/* The data of {"ok":true,"data":...}, or its error. */
static bool
take_apart(const struct sandbox_result *r, struct call_answer *answer)
{
	size_t off, len;

	if (r->status != SANDBOX_COMPLETED || r->json == NULL)
		return false;
	if (cj_raw_member(r->json, r->json_len, "data", &off, &len))
		answer->status = CALL_OK;
	else if (cj_raw_member(r->json, r->json_len, "error", &off, &len))
		answer->status = CALL_FAILED;
	else
		return false;
	answer->json = r->json + off;
	answer->len = len;
	answer->content = NULL;
	return true;
}

/* The whole answer of a run that is over; true: it went well. */
static bool
render_end(const struct render_run *r, struct loop *l, const struct kept *k,
	bool is_structured, struct buf *out)
{
	struct call_answer answer = { 0 };
	const struct call_answer *first = loop_first_answer(l);

	if (!k->is_tool || !take_apart(r->result, &answer))
		return render_result(r, is_structured, out);
	/* As it came, not as the engine understood it. */
	render_answer(first != NULL && first->status == answer.status ?
			first :
			&answer,
		is_structured, out);
	return answer.status == CALL_OK;
}

/* If it was ended or taken before, END says so afterwards. */
static void
settle(const struct run_env *env, struct loop *l, struct loop_end *end,
	const struct render_run *r, const struct kept *k)
{
	struct execution_end over = { .wall_used_ms = end->wall_used_ms };
	enum execution_outcome outcome = EXECUTION_OK;
	const struct sandbox_result *result = r->result;
	struct arena *a = env->arena;
	struct buf recorded;
	struct err e;
	bool is_done;
	int rc;

	buf_init(&recorded, a);
	is_done = render_end(r, l, k, true, &recorded);
	over.status = is_done || k->is_tool ? "completed" : "failed";
	over.run_outcome = result->status == SANDBOX_COMPLETED ?
		"finished" :
		result->has_started ? sandbox_status_name(result->status) :
				      "not_started";
	over.result = recorded.data;
	over.error = result->status == SANDBOX_COMPLETED ? NULL :
							   result->message;
	if (over.error != NULL)
		over.error = arena_memdup(a, over.error,
			buf_utf8_prefix(over.error, strlen(over.error), 4096));
	err_clear(&e);
	rc = execution_settle(env->db, a, end->execution_id, end->generation,
		&over, &outcome, &e);
	if (rc != 0) {
		log_err(LOG_LEVEL_WARN, "execution.settle", &e);
		/* Too much to be kept, or a lost reply. */
		if (e.kind == ERR_INVALID)
			over.result = NULL;
		err_clear(&e);
		rc = execution_settle(env->db, a, end->execution_id,
			end->generation, &over, &outcome, &e);
	}
	if (rc != 0) {
		log_err(LOG_LEVEL_ERR, "execution.settle", &e);
	} else if (outcome == EXECUTION_CANCELLED ||
		outcome == EXECUTION_LOST) {
		end->kind = LOOP_STOPPED;
		end->stop = outcome;
	}
}

/* Put the heap into the row. */
static int
store_heap(const struct run_env *env, const struct loop *l,
	const struct loop_end *end, struct kept *k,
	enum execution_outcome *outcome, struct err *e)
{
	struct vault_label label = { .what = "heap",
		.execution_id = end->execution_id,
		.engine = end->engine,
		.number = end->generation };
	/* What is sealed is copied twice; none of it outlives this. */
	struct arena *a = arena_new((size_t)1 << 30);
	const void *sealed;
	size_t len;
	struct buf b;
	int rc;

	k->heap = end->heap.data;
	k->heap_len = end->heap.len;
	k->blocks = loop_blocks(l);
	buf_init(&b, a);
	pack(&b, k, end->result);
	rc = vault_close(env->keys, a, &label, b.data, b.len, &sealed, &len,
		e);
	if (rc == 0) {
		rc = execution_suspend(env->db, a, end->execution_id,
			end->generation, sealed, len, end->wall_used_ms,
			KEEP_S, outcome, e);
		if (rc != 0 && e->kind == ERR_UNAVAILABLE) {
			err_clear(e);
			rc = execution_suspend(env->db, a, end->execution_id,
				end->generation, sealed, len,
				end->wall_used_ms, KEEP_S, outcome, e);
		}
	}
	arena_free(a);
	return rc;
}

static const char *
last_deadline(const struct ledger_call *const *question, size_t n)
{
	const char *last = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if (question[i]->deadline != NULL &&
			(last == NULL ||
				strcmp(question[i]->deadline, last) > 0))
			last = question[i]->deadline;
	return last;
}

static void
suspended(const struct run_env *env, struct loop *l, struct loop_end *end,
	struct kept *k, struct buf *result)
{
	const struct ledger_call *const *question;
	struct render_run r = render_of(env, l, end, k);
	enum execution_outcome outcome = EXECUTION_OK;
	struct err e;
	size_t n;

	err_clear(&e);
	if (store_heap(env, l, end, k, &outcome, &e) != 0) {
		log_err(LOG_LEVEL_ERR, "execution.suspend", &e);
		render_refusal(
			&(struct render_refusal){ .status = "error",
				.message = "The run waits for a word and could "
					   "not be kept.",
				.outcome = "process_lost",
				.must_run_again = true },
			&r, env->is_structured, result);
		return;
	}
	if (outcome != EXECUTION_OK && outcome != EXECUTION_AGAIN) {
		end->stop = outcome;
		stopped(env, &r, end, result);
		return;
	}
	log_event(LOG_LEVEL_INFO, "execution.waits", "execution",
		end->execution_id, "heap_bytes",
		log_num((int64_t)end->heap.len), NULL);
	question = loop_questions(l, &n);
	assert(n > 0);
	render_waiting(&r, question, n, last_deadline(question, n),
		env->is_structured, result);
}

static void
conclude(const struct run_env *env, struct loop *l, struct loop_end *end,
	struct kept *k, struct buf *result)
{
	struct render_run r = render_of(env, l, end, k);

	if (end->kind == LOOP_ENDED && end->execution_id != NULL)
		settle(env, l, end, &r, k);
	log_end(end, r.n_calls);
	switch (end->kind) {
	case LOOP_SUSPENDED:
		suspended(env, l, end, k, result);
		return;
	case LOOP_STOPPED:
		stopped(env, &r, end, result);
		return;
	case LOOP_ENDED:
		break;
	}
	(void)render_end(&r, l, k, env->is_structured, result);
}

/*
 * Beginnings.
 */

static int
run_program(const struct run_env *env, const struct sandbox_program *program,
	struct kept *k, struct buf *result, struct err *e)
{
	struct loop_begin begin = { .program = *program };
	struct loop_end end;
	struct loop *l;

	SHA256((const unsigned char *)program->code, program->code_len,
		begin.code_sha256);
	if (loop_open(env, &begin, &l, e) != 0)
		return -1;
	loop_run(l, &end);
	conclude(env, l, &end, k, result);
	loop_close(l);
	return 0;
}

int
run_execute(const struct run_env *env, const char *code, struct buf *result,
	struct err *e)
{
	struct sandbox_program program = { .code = code,
		.code_len = strlen(code) };
	struct kept k = { 0 };

	return run_program(env, &program, &k, result, e);
}

/* What has to be able to wait, or is a script: a program of one call. */
static const char *
program_of(struct arena *a, const char *path)
{
	struct buf b;

	buf_init(&b, a);
	buf_puts(&b, "return await tools[");
	buf_jsons(&b, path);
	buf_puts(&b, "](args)");
	return b.data;
}

int
run_tool(const struct run_env *env, const char *path, const char *args,
	size_t args_len, struct buf *result, struct err *e)
{
	struct kept k = { .is_tool = true };
	struct sandbox_program program = { .is_script = true,
		.args = args,
		.args_len = args_len };
	struct sandbox_result done = { .status = SANDBOX_COMPLETED,
		.has_started = true };
	const struct call_answer *first;
	struct loop_end end;
	struct render_run r;
	struct loop *l;

	loop_open_alone(env, path, args, args_len, &l);
	loop_run(l, &end);
	if (loop_needs_program(l)) {
		loop_close(l);
		program.code = program_of(env->arena, path);
		program.code_len = strlen(program.code);
		return run_program(env, &program, &k, result, e);
	}
	first = loop_first_answer(l);
	r = render_of(env, l, &end, &k);
	if (end.kind == LOOP_STOPPED || first == NULL) {
		stopped(env, &r, &end, result);
		loop_close(l);
		return 0;
	}
	/* Recorded as what it is: the tool's own answer. */
	if (end.execution_id != NULL) {
		r.result = &done;
		done.json = arena_printf(env->arena, "{\"%s\":%.*s}",
			first->status == CALL_OK ? "data" : "error",
			(int)first->len, first->json);
		done.json_len = strlen(done.json);
		settle(env, l, &end, &r, &k);
	}
	if (end.kind == LOOP_STOPPED)
		stopped(env, &r, &end, result);
	else
		render_answer(first, env->is_structured, result);
	end.result = &done;
	log_end(&end, r.n_calls);
	loop_close(l);
	return 0;
}

/*
 * Resumption.
 */

static void
refuse(const struct run_env *env, const struct run_word *word,
	const struct render_refusal *f, struct buf *result)
{
	struct render_run r = { .result = &NOTHING,
		.execution_id = word->id,
		.request_id = env->request_id };

	render_refusal(f, &r, env->is_structured, result);
}

/* The same, with the ledger of the run, which is WORD's sender's. */
static int
refuse_with_calls(const struct run_env *env, const struct run_word *word,
	const struct render_refusal *f, struct buf *result, struct err *e)
{
	struct render_run r = { .result = &NOTHING,
		.execution_id = word->id,
		.request_id = env->request_id };
	struct render_call *list;
	struct ledger_call *call;
	size_t i, n;

	if (ledger_calls(env->db, env->arena, word->id, &call, &n, e) != 0)
		return -1;
	list = arena_calloc(env->arena, n + 1, sizeof(*list));
	for (i = 0; i < n; i++)
		list[i] = (struct render_call){ .seq = call[i].seq,
			.path = call[i].path,
			.status = ledger_status_name(call[i].status),
			.ms = call[i].ms };
	r.call = list;
	r.n_calls = n;
	render_refusal(f, &r, env->is_structured, result);
	return 0;
}

/* The run waits, for a word that has not come. */
static int
show_questions(const struct run_env *env, const struct run_word *word,
	struct buf *result, struct err *e)
{
	struct render_run r = { .result = &NOTHING,
		.execution_id = word->id,
		.request_id = env->request_id };
	const struct ledger_call **question;
	struct render_call *list;
	struct ledger_call *call;
	size_t i, n, n_questions = 0;

	if (ledger_calls(env->db, env->arena, word->id, &call, &n, e) != 0)
		return -1;
	list = arena_calloc(env->arena, n + 1, sizeof(*list));
	question = arena_calloc(env->arena, n + 1, sizeof(*question));
	for (i = 0; i < n; i++) {
		list[i] = (struct render_call){ .seq = call[i].seq,
			.path = call[i].path,
			.status = ledger_status_name(call[i].status),
			.ms = call[i].ms };
		if (call[i].status != LEDGER_WAITING || call[i].action != NULL)
			continue;
		pending_show(&(struct pending_key){ env->keys, word->id,
				     call[i].seq },
			env->arena, &call[i]);
		question[n_questions++] = &call[i];
	}
	r.call = list;
	r.n_calls = n;
	if (n_questions == 0) { /* decided meanwhile */
		refuse(env, word,
			&(struct render_refusal){ .status = "running",
				.message = "The run is going on; call "
					   "`resume` again." },
			result);
		return 0;
	}
	render_waiting(&r, question, n_questions,
		last_deadline(question, n_questions), env->is_structured,
		result);
	return 0;
}

static int
settled(const struct run_env *env, const struct run_word *word,
	const struct execution *x, struct buf *result, struct err *e)
{
	struct render_refusal f = { .status = "execution_already_settled",
		.outcome = x->run_outcome,
		.must_run_again = true };

	if (x->result != NULL) {
		render_again(x->result, env->is_structured, result);
		return 0;
	}
	f.message = x->error != NULL ? x->error : "This run is over.";
	return refuse_with_calls(env, word, &f, result, e);
}

static int
expired(const struct run_env *env, const struct run_word *word,
	const char *message, struct buf *result, struct err *e)
{
	return refuse_with_calls(env, word,
		&(struct render_refusal){ .status = "execution_expired",
			.message = message,
			.outcome = "expired",
			.must_run_again = true },
		result, e);
}

/* Close a claimed run that cannot go on. */
static int
give_up(const struct run_env *env, const struct run_word *word,
	const struct execution *x, const char *run_outcome,
	const char *message, struct buf *result, struct err *e)
{
	struct execution_end end = { .status = "failed",
		.run_outcome = run_outcome,
		.error = message,
		.wall_used_ms = x->wall_used_ms };
	enum execution_outcome outcome;

	if (execution_settle(env->db, env->arena, word->id, x->generation,
		    &end, &outcome, e) != 0)
		return -1;
	return expired(env, word, message, result, e);
}

/* Another host, or this one when its keyring is whole again, can go on with a
 * claimed run. */
static int
give_back(const struct run_env *env, const struct run_word *word,
	const struct execution *x, struct buf *result, struct err *e)
{
	enum execution_outcome outcome;

	err_clear(e);
	if (execution_release(env->db, env->arena, word->id, x->generation,
		    &outcome, e) != 0) {
		/* The lease lapses, and it waits as before. */
		log_err(LOG_LEVEL_WARN, "execution.release", e);
		err_clear(e);
	}
	refuse(env, word,
		&(struct render_refusal){ .status = "error",
			.message = "This host has not the key of this run, "
				   "which waits as before. Try again in half "
				   "a minute." },
		result);
	return 0;
}

/* The run is this process's: go on with it. */
static int
go_on(const struct run_env *env, const struct run_word *word,
	const struct execution *x, struct buf *result, struct err *e)
{
	struct vault_label label = { .what = "heap",
		.execution_id = word->id,
		.engine = x->engine,
		.number = x->heap_generation };
	struct loop_begin begin = { .execution_id = word->id,
		.generation = x->generation,
		.wall_used_ms = x->wall_used_ms };
	struct ledger_call *call;
	struct loop_end end;
	const void *plain;
	struct loop *l;
	struct kept k;
	size_t len;

	if (vault_open(env->keys, env->arena, &label, x->heap, x->heap_len,
		    &plain, &len, e) != 0) {
		log_err(LOG_LEVEL_ERR, "execution.heap", e);
		if (e->kind == ERR_NOTFOUND)
			return give_back(env, word, x, result, e);
		err_clear(e);
		return give_up(env, word, x, "heap_damaged",
			"What was kept of this run is not what was stored.",
			result, e);
	}
	if (unpack(env->arena, plain, len, &k, e) != 0) {
		log_err(LOG_LEVEL_ERR, "execution.heap", e);
		err_clear(e);
		return give_up(env, word, x, "heap_damaged",
			"What was kept of this run cannot be read.", result,
			e);
	}
	begin.program.heap = k.heap;
	begin.program.heap_len = k.heap_len;
	begin.blocks = k.blocks;
	if (ledger_calls(env->db, env->arena, word->id, &call,
		    &begin.n_calls, e) != 0)
		return -1;
	begin.call = call;
	if (loop_open(env, &begin, &l, e) != 0)
		return -1;
	loop_run(l, &end);
	conclude(env, l, &end, &k, result);
	loop_close(l);
	return 0;
}

static void
pause_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

/*
 * Another process runs it: wait for what comes of that.  *IS_OURS: it can be
 * taken up now.
 */
static int
wait_for_other(const struct run_env *env, const struct run_word *word,
	int64_t deadline_ms, bool *is_ours, struct buf *result, struct err *e)
{
	enum execution_outcome outcome;
	int64_t ms = POLL_MIN_MS;
	struct execution x;
	struct arena *a;
	int rc;

	*is_ours = false;
	while (clock_mono_ms() < deadline_ms) {
		pause_ms(ms);
		ms = ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : ms * 2;
		a = arena_new(64 << 20);
		rc = execution_state(env->db, a, word->id, &env->owner,
			&outcome, &x, e);
		if (rc == 0 && (x.is_claimable || outcome == EXECUTION_RUNNING))
			*is_ours = x.is_claimable;
		else if (rc == 0 && outcome == EXECUTION_SETTLED)
			rc = settled(env, word, &x, result, e);
		else if (rc == 0 && outcome == EXECUTION_WAITING)
			rc = show_questions(env, word, result, e);
		else if (rc == 0)
			*is_ours = true; /* execution_resume says it best */
		arena_free(a);
		if (rc != 0 || *is_ours || result->len > 0)
			return rc;
	}
	refuse(env, word,
		&(struct render_refusal){ .status = "running",
			.message = "The run is going on elsewhere and has not "
				   "ended yet. Call `resume` again for its "
				   "outcome." },
		result);
	return 0;
}

/* The question that WORD can only be meant for; NULL: none, or several. */
static const struct ledger_call *
question_of(const struct run_word *word, const struct ledger_call *call,
	size_t n)
{
	const struct ledger_call *found = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!call[i].is_question)
			continue;
		if (word->seq >= 0 && call[i].seq == word->seq)
			return &call[i];
		if (word->seq < 0 && found != NULL)
			return NULL;
		if (word->seq < 0)
			found = &call[i];
	}
	return found;
}

/*
 * What does not fit the question's schema is not passed on: a program would
 * get what it did not ask for, and could not ask again.  *IS_FIT false:
 * RESULT says so.
 */
static int
check_content(const struct run_env *env, const struct run_word *word,
	bool *is_fit, struct buf *result, struct err *e)
{
	const char *content = word->content != NULL ? word->content : "{}";
	const struct ledger_call *question;
	enum execution_outcome outcome;
	struct check_verdict *v;
	struct ledger_call *call;
	struct execution x;
	size_t n;

	*is_fit = strlen(content) <= CONTENT_MAX;
	if (!*is_fit) {
		refuse(env, word,
			&(struct render_refusal){ .status = "invalid_content",
				.message = arena_printf(env->arena,
					"The content is longer than %d bytes. "
					"The run still waits.",
					CONTENT_MAX) },
			result);
		return 0;
	}
	if (env->check == NULL || strcmp(word->action, "accept") != 0)
		return 0;
	if (execution_state(env->db, env->arena, word->id, &env->owner,
		    &outcome, &x, e) != 0)
		return -1;
	if (outcome != EXECUTION_WAITING && outcome != EXECUTION_RUNNING)
		return 0;
	if (ledger_calls(env->db, env->arena, word->id, &call, &n, e) != 0)
		return -1;
	question = question_of(word, call, n);
	if (question == NULL || !question->is_elicit ||
		question->schema == NULL || question->action != NULL)
		return 0;
	if (check_value(env->check, question->schema,
		    strlen(question->schema), content, strlen(content),
		    env->arena, &v, e) != 0)
		return -1;
	if (v->outcome == CHECK_VALID || v->outcome == CHECK_BAD_SCHEMA)
		return 0;
	*is_fit = false;
	refuse(env, word,
		&(struct render_refusal){ .status = "invalid_content",
			.message = arena_printf(env->arena,
				"The content does not fit the question's "
				"requestedSchema: %s. The run still waits.",
				v->message) },
		result);
	return 0;
}

/* One attempt; *IS_BUSY: another process runs it. */
static int
resume_once(const struct run_env *env, const struct run_word *word,
	const char *engine, bool *is_busy, struct buf *result, struct err *e)
{
	struct execution_decision d = { .seq = word->seq,
		.action = word->action,
		.answer = word->content };
	enum execution_outcome outcome;
	struct execution x;

	*is_busy = false;
	if (execution_resume(env->db, env->arena, word->id, &env->owner, &d,
		    engine, LEASE_S, &outcome, &x, e) != 0)
		return -1;
	log_event(LOG_LEVEL_INFO, "execution.resume", "execution", word->id,
		"outcome", execution_outcome_name(outcome), NULL);
	switch (outcome) {
	case EXECUTION_CLAIMED:
		return go_on(env, word, &x, result, e);
	case EXECUTION_RUNNING:
		*is_busy = true;
		return 0;
	case EXECUTION_WAITING:
		return show_questions(env, word, result, e);
	case EXECUTION_SETTLED:
		return settled(env, word, &x, result, e);
	case EXECUTION_EXPIRED:
		return expired(env, word,
			"This run has waited too long and is over.", result,
			e);
	case EXECUTION_OTHER_ENGINE:
		return expired(env, word,
			"This run was begun by another version of the sandbox "
			"and cannot go on.",
			result, e);
	case EXECUTION_SEQ_REQUIRED:
		return show_questions(env, word, result, e);
	case EXECUTION_NO_CALL:
		refuse(env, word,
			&(struct render_refusal){ .status = "error",
				.message = "No question of this run has this "
					   "seq." },
			result);
		return 0;
	case EXECUTION_FORBIDDEN:
		refuse(env, word,
			&(struct render_refusal){ .status =
					"execution_forbidden",
				.message = "This execution belongs to "
					   "somebody else." },
			result);
		return 0;
	default:
		refuse(env, word,
			&(struct render_refusal){ .status =
					"execution_not_found",
				.message = "There is no such execution.",
				.must_run_again = true },
			result);
		return 0;
	}
}

int
run_resume(const struct run_env *env, const struct run_word *word,
	struct buf *result, struct err *e)
{
	int64_t deadline_ms = clock_mono_ms() + env->conf->execute_wall_ms;
	char engine[ENGINE_ID_LEN + 1];
	bool is_busy, is_fit;

	if (engine_id(env->conf->sandbox, engine, e) != 0 ||
		check_content(env, word, &is_fit, result, e) != 0)
		return -1;
	if (!is_fit)
		return 0;
	/* With time left to say so. */
	if (deadline_ms > env->deadline_ms - 1000)
		deadline_ms = env->deadline_ms - 1000;
	for (;;) {
		if (resume_once(env, word, engine, &is_busy, result, e) != 0)
			return -1;
		if (!is_busy)
			return 0;
		if (wait_for_other(env, word, deadline_ms, &is_busy, result,
			    e) != 0)
			return -1;
		if (!is_busy)
			return 0;
	}
}
