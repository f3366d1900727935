/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/loop.h"

#include <poll.h>

#include "base/arena.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/jscan.h"
#include "base/log.h"
#include "net/fetch.h"
#include "run/builtin.h"
#include "run/dispatch.h"
#include "run/loopcall.h"
#include "run/pending.h"
#include "run/policy.h"
#include "run/render.h"
#include "run/run.h"
#include "store/dbtask.h"

enum {
	ARGS_TOTAL_BYTES = 16 << 20,
	RETURNS_BYTES = 32 << 20,
	KEPT_BYTES = 64 << 20,
	FAREWELLS_MS = 500,
};

/*
 * Events of the sandbox.
 */

/*
 * The sandbox says that it is JSON.  It goes into the ledger, into questions
 * and results, so that is looked at.
 */
static bool
is_json(const char *json, size_t len)
{
	const struct cj_limits limits = { .depth_max = CJ_DEPTH_MAX,
		.dup = CJ_DUP_ALLOW,
		.values_max = SIZE_MAX };
	struct err e;

	err_clear(&e);
	return jscan_check(json, len, &limits, &e) == 0;
}

static void
on_builtin(struct loop *l, const struct sandbox_call *call)
{
	struct arena *a = arena_new(LOOPCALL_ARENA_BASE);
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
	struct call_answer answer;
	struct loop_call *c;

	if (call->is_oneway)
		return; /* progress and log: nobody listens yet */
	if (call->path[0] == '$' &&
		strcmp(call->path, SANDBOX_CALL_ELICIT) != 0) {
		on_builtin(l, call);
		return;
	}
	c = loopcall_add(l, call->number, call->path, call->args,
		call->args_len);
	if (!is_json(call->args, call->args_len)) {
		c->args = "{}";
		c->args_len = 2;
		call_fail(&answer, loopcall_arena(l, c), CALL_FAILED,
			&(struct call_fault){ .code = "invalid_tool_arguments",
				.message = "The arguments hold U+0000 or half "
					   "of a surrogate pair" });
		loopcall_refuse(l, c, &answer);
		return;
	}
	if (call->path[0] == '$') {
		policy_elicit(loopcall_arena(l, c), c->args, c->args_len,
			&message, &schema);
		loopcall_ask(l, c, NULL, message, schema);
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
		if (!is_json(s->json, s->json_len))
			call_fail(&answer, loopcall_arena(l, c), CALL_FAILED,
				&(struct call_fault){ .code = "script_error",
					.message = "What the script returned "
						   "is no JSON" });
		if (c->state == CALL_SCRIPT)
			loopcall_finish(l, c, &answer);
		else /* settled before the run was suspended */
			loopcall_give(l, c, &answer,
				answer.status == CALL_OK ?
					SANDBOX_ANSWER_OK :
					SANDBOX_ANSWER_ERROR);
		return;
	}
}

/*
 * The loop.
 */

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
		loopcall_begin(l, l->call[i]);
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
			loopcall_finish(l, c, &answer);
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
	l->renew_ms = clock_mono_ms() + LOOPCALL_RENEW_MS;
	a = arena_new(1 << 20);
	err_clear(&e);
	if (execution_renew(l->env->db, a, l->id, l->generation,
		    LOOPCALL_LEASE_S, &outcome, &e) != 0)
		log_err(LOG_LEVEL_WARN, "execution.renew", &e);
	else if (outcome != EXECUTION_OK)
		loopcall_stop(l, outcome);
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
			(void)loopcall_note_end(l, l->call[i], LEDGER_DONE,
				false, NULL, 0);
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
				loopcall_carry_out(l);
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

/*
 * Opening and closing.
 */

static struct loop *
new_loop(const struct run_env *env)
{
	struct loop *l = arena_zalloc(env->arena, sizeof(*l));

	l->env = env;
	l->arena = env->arena;
	l->deadline_ms = env->deadline_ms;
	if (env->fetch != NULL)
		l->n_left = fetch_pending(env->fetch);
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
		c = loopcall_add(l, (uint32_t)rows[i].seq, rows[i].path, "{}",
			2);
		c->row = rows[i];
		c->status = rows[i].status;
		c->ms = rows[i].ms;
		loopcall_set_state(l, c,
			rows[i].status == LEDGER_WAITING ? CALL_ASKED :
							   CALL_OVER);
		if (c->state != CALL_ASKED)
			continue;
		if (c->row.action != NULL)
			l->has_decisions = true;
		else
			pending_show(&(struct pending_key){ l->env->keys, l->id,
					     c->number },
				l->arena, &c->row);
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
		l->renew_ms = clock_mono_ms() + LOOPCALL_RENEW_MS;
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

	(void)loopcall_add(l, 1, path, args, args_len);
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

/*
 * What upstream servers are told at the end goes out now: the next run of this
 * process may be long in coming.  A server that does not take it keeps nobody
 * waiting, this run but shortly and those after it not at all.
 */
static void
say_farewell(const struct loop *l)
{
	struct fetch *f = l->env->fetch;
	int64_t end_ms = clock_mono_ms() + FAREWELLS_MS, left;
	struct err e;

	while (f != NULL && fetch_pending(f) > l->n_left &&
		(left = end_ms - clock_mono_ms()) > 0) {
		err_clear(&e);
		if (fetch_poll(f, NULL, 0, (int)left, &e) != 0) {
			log_err(LOG_LEVEL_WARN, "loop.poll", &e);
			return;
		}
	}
}

void
loop_close(struct loop *l)
{
	size_t i;

	if (l == NULL)
		return;
	for (i = 0; i < l->n_calls; i++)
		loopcall_release(l->call[i]);
	if (l->sb != NULL)
		sandbox_close(l->sb);
	l->sb = NULL;
	say_farewell(l);
}
