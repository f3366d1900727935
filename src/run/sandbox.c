/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/sandbox.h"

#include <sys/wait.h>

#include <poll.h>
#include <signal.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/heap.h"
#include "run/link.h"
#include "run/process.h"

/*
 * The sandbox ends itself at the limit, with all it has to say; this side's
 * clock stands behind it.
 */
#define GRACE_MS 500

/* A result may be this much longer than asked for: marks of what was cut. */
#define OUTPUT_SLACK 8192

/* To hand over a heap takes as long as copying it. */
#define SUSPEND_MS 10000

/* Answers up to this length are always taken. */
#define SMALL_ANSWER 4096

/* What the script of a call may give at most; engine.c has the same. */
#define SCRIPT_RESULT_MAX ((4u << 20) + FRAME_RETURN_LEN)

struct numbers {
	uint32_t *at;
	size_t count, room;
};

struct sandbox {
	const struct sandbox_limits *limits;
	struct arena *arena;
	struct sandbox_result *res;
	struct process process;
	struct link link;
	struct sandbox_event last; /* once has_ended */
	bool has_ended;
	bool is_idle;
	bool is_suspending;

	int64_t used_ms;  /* until it last became idle */
	int64_t since_ms; /* when it last began to run */

	uint32_t calls;	   /* number of the last one */
	uint64_t args_len; /* of all */
	uint32_t told;	   /* calls that want no answer */
	uint64_t told_len;
	uint32_t given;		/* RETURN and SCRIPT frames */
	struct numbers open;	/* calls without an answer */
	struct numbers scripts; /* calls whose script runs */

	struct heap *heap;
	char engine[2 * FRAME_ENGINE_LEN + 1];

	size_t log_bytes;
	size_t log_room;
};

static void
numbers_add(struct numbers *n, uint32_t v)
{
	if (n->count == n->room) {
		size_t room = n->room == 0 ? 16 : 2 * n->room;

		n->at = mem_grow(n->at, room, sizeof(*n->at));
		n->room = room;
	}
	n->at[n->count++] = v;
}

/* Its index, or the count. */
static size_t
numbers_find(const struct numbers *n, uint32_t v)
{
	size_t i = 0;

	while (i < n->count && n->at[i] != v)
		i++;
	return i;
}

/* False: it was not there. */
static bool
numbers_remove(struct numbers *n, uint32_t v)
{
	size_t i = numbers_find(n, v);

	if (i == n->count)
		return false;
	n->at[i] = n->at[--n->count];
	return true;
}

static int64_t
now_ms(void)
{
	return clock_mono_ms();
}

static void
crash(struct sandbox *sb, const char *detail)
{
	sb->res->status = SANDBOX_CRASHED;
	sb->res->detail = detail;
	sb->has_ended = true;
}

static void
fault(struct sandbox *sb, enum frame_fault f)
{
	crash(sb, arena_printf(sb->arena, "frame %" PRIu32 ": %s",
			  sb->link.in_seq, frame_fault_text(f)));
}

static void
add_log(struct sandbox *sb, const char *text)
{
	struct sandbox_result *res = sb->res;

	if (res->log_count == sb->log_room) {
		size_t room = sb->log_room == 0 ? 16 : 2 * sb->log_room;
		const char **grown =
			arena_calloc(sb->arena, room, sizeof(*grown));

		if (res->log_count > 0)
			memcpy(grown, res->logs,
				res->log_count * sizeof(*grown));
		res->logs = grown;
		sb->log_room = room;
	}
	res->logs[res->log_count++] = text;
}

static void
take_log(struct sandbox *sb, const uint8_t *p, size_t len)
{
	enum frame_fault f = frame_get_log(p, len);

	if (f != FRAME_OK) {
		fault(sb, f);
		return;
	}
	if (sb->res->log_count >= sb->limits->log_lines ||
		len > sb->limits->output_bytes - sb->log_bytes) {
		crash(sb, "more console lines than agreed");
		return;
	}
	sb->log_bytes += len;
	add_log(sb, (const char *)p);
}

static void
take_result(struct sandbox *sb, const uint8_t *p, size_t len)
{
	struct sandbox_result *res = sb->res;
	struct frame_result v;
	enum frame_fault f = frame_get_result(p, len, &v);

	if (f != FRAME_OK) {
		fault(sb, f);
		return;
	}
	sb->has_ended = true;
	res->status = SANDBOX_COMPLETED;
	res->is_cut = v.is_cut;
	res->dropped = v.dropped;
	if (v.has_value) {
		res->json = v.json;
		res->json_len = v.json_len;
	}
}

static void
take_error(struct sandbox *sb, const uint8_t *p, size_t len)
{
	static const struct {
		enum sandbox_status status;
		bool has_started;
	} rows[FRAME_ERROR__MAX] = {
		[FRAME_ERROR_SYNTAX] = { SANDBOX_FAILED, false },
		[FRAME_ERROR_SCRIPT] = { SANDBOX_FAILED, true },
		[FRAME_ERROR_WALL] = { SANDBOX_TIMED_OUT, true },
		[FRAME_ERROR_CPU] = { SANDBOX_CPU, true },
		[FRAME_ERROR_MEMORY] = { SANDBOX_MEMORY, true },
		[FRAME_ERROR_STACK] = { SANDBOX_STACK, true },
		[FRAME_ERROR_OUTPUT] = { SANDBOX_OUTPUT, true },
		[FRAME_ERROR_START] = { SANDBOX_NOT_STARTED, false },
		[FRAME_ERROR_INTERNAL] = { SANDBOX_CRASHED, true },
		[FRAME_ERROR_BUILD] = { SANDBOX_OTHER_BUILD, false },
		[FRAME_ERROR_HEAP] = { SANDBOX_BAD_HEAP, false },
	};
	struct sandbox_result *res = sb->res;
	struct frame_failure v;
	enum frame_fault f = frame_get_error(p, len, &v);

	if (f != FRAME_OK) {
		fault(sb, f);
		return;
	}
	sb->has_ended = true;
	res->status = rows[v.what].status;
	res->has_started = rows[v.what].has_started;
	res->dropped = v.dropped;
	res->line = v.line;
	res->column = v.column;
	if (res->status == SANDBOX_FAILED)
		res->message = v.message;
	else if (v.message_len > 0)
		res->detail = v.message;
}

/* Is the call within what was agreed? */
static bool
is_agreed(struct sandbox *sb, const struct frame_call *c)
{
	const struct sandbox_limits *l = sb->limits;

	if (l->calls_max == 0 || c->args_len > l->args_bytes ||
		(c->parent != 0 && numbers_find(&sb->scripts, c->parent) ==
					   sb->scripts.count))
		return false;
	if (c->number == 0) {
		sb->told++;
		sb->told_len += c->args_len;
		return sb->told <= l->log_lines &&
		       sb->told_len <= l->output_bytes;
	}
	sb->args_len += c->args_len;
	return c->number == sb->calls + 1 && c->number <= l->calls_max &&
	       sb->args_len <= l->args_total_bytes;
}

static bool
take_call(struct sandbox *sb, const uint8_t *p, size_t len,
	struct sandbox_event *ev)
{
	struct frame_call c;
	enum frame_fault f = frame_get_call(p, len, &c);
	struct sandbox_call *out = &ev->call;

	if (f != FRAME_OK) {
		fault(sb, f);
		return false;
	}
	if (sb->is_idle || !is_agreed(sb, &c)) {
		crash(sb, "a call that was not agreed");
		return false;
	}
	if (c.number != 0) {
		sb->calls = c.number;
		numbers_add(&sb->open, c.number);
	}
	ev->kind = SANDBOX_EVENT_CALL;
	out->number = c.number;
	out->parent = c.parent;
	out->path = arena_memdup(sb->arena, c.path, c.path_len);
	out->args = c.args;
	out->args_len = c.args_len;
	out->is_oneway = c.number == 0;
	return true;
}

static bool
take_scripted(struct sandbox *sb, const uint8_t *p, size_t len,
	struct sandbox_event *ev)
{
	struct frame_return r;
	enum frame_fault f = frame_get_return(p, len, &r);

	if (f != FRAME_OK) {
		fault(sb, f);
		return false;
	}
	if (sb->is_idle || r.answer == FRAME_ANSWER_THROW || r.json_len == 0 ||
		!numbers_remove(&sb->scripts, r.number)) {
		crash(sb, "a script that was not agreed");
		return false;
	}
	ev->kind = SANDBOX_EVENT_SCRIPT;
	ev->script.number = r.number;
	ev->script.answer = r.answer == FRAME_ANSWER_OK ? SANDBOX_ANSWER_OK
							: SANDBOX_ANSWER_ERROR;
	ev->script.json = r.json;
	ev->script.json_len = r.json_len;
	return true;
}

/* Not idle when an answer is on its way already. */
static bool
take_idle(struct sandbox *sb, const uint8_t *p, size_t len,
	struct sandbox_event *ev)
{
	uint32_t taken;
	enum frame_fault f = frame_get_idle(p, len, &taken);

	if (f != FRAME_OK || sb->is_idle || taken > sb->given ||
		(taken == sb->given && sb->open.count == 0)) {
		fault(sb, f != FRAME_OK ? f : FRAME_BAD_VALUE);
		return false;
	}
	if (taken != sb->given)
		return false;
	sb->is_idle = true;
	sb->used_ms += now_ms() - sb->since_ms;
	ev->kind = SANDBOX_EVENT_IDLE;
	return true;
}

/* Does the state know of the same calls?  What it says comes back later. */
static bool
is_same_state(const struct sandbox *sb, const struct frame_state *s)
{
	size_t scripts = 0;

	for (uint32_t i = 0; i < s->open_count; i++)
		if (numbers_find(&sb->open, s->open[i].number) ==
			sb->open.count)
			return false;
	for (uint32_t i = 0; i < s->realm_count; i++) {
		uint32_t call = s->realms[i].call;

		if (call == 0)
			continue;
		if (numbers_find(&sb->scripts, call) == sb->scripts.count)
			return false;
		scripts++;
	}
	return s->calls == sb->calls && s->open_count == sb->open.count &&
	       scripts == sb->scripts.count;
}

static enum frame_fault
take_state(struct sandbox *sb, const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	struct frame_state *s = arena_alloc(sb->arena, sizeof(*s));
	enum frame_fault f = frame_get_state(p, len, s);

	if (f != FRAME_OK)
		return f;
	if (!is_same_state(sb, s))
		return FRAME_BAD_VALUE;
	for (size_t i = 0; i < FRAME_ENGINE_LEN; i++) {
		sb->engine[2 * i] = digits[s->engine[i] >> 4];
		sb->engine[2 * i + 1] = digits[s->engine[i] & 15];
	}
	return FRAME_OK;
}

static void
take_heap(struct sandbox *sb, const uint8_t *p, size_t len)
{
	enum frame_part part = FRAME_PART__MAX;
	enum frame_fault f = frame_get_heap(p, len, &part);

	if (f == FRAME_OK &&
		(!sb->is_suspending ||
			(part == FRAME_PART_STATE) != (sb->engine[0] == '\0')))
		f = FRAME_BAD_KIND;
	if (f == FRAME_OK && part == FRAME_PART_STATE)
		f = take_state(sb, p, len);
	if (f != FRAME_OK) {
		fault(sb, f);
		return;
	}
	sb->res->status = SANDBOX_SUSPENDED;
	if (heap_add(sb->heap, p, len) != 0)
		sb->res->status = SANDBOX_BIG_HEAP;
	else if (part != FRAME_PART_END)
		return;
	else if (heap_end(sb->heap) != 0)
		sb->res->status = SANDBOX_BIG_HEAP;
	sb->has_ended = true;
}

/* True: EV is something for the caller. */
static bool
take_frame(struct sandbox *sb, const uint8_t *p, struct sandbox_event *ev)
{
	const size_t len = sb->link.frame.len;

	switch (sb->link.frame.kind) {
	case FRAME_LOG:
		take_log(sb, p, len);
		return false;
	case FRAME_RESULT:
		take_result(sb, p, len);
		return false;
	case FRAME_ERROR:
		take_error(sb, p, len);
		return false;
	case FRAME_CALL:
		return take_call(sb, p, len, ev);
	case FRAME_SCRIPTED:
		return take_scripted(sb, p, len, ev);
	case FRAME_IDLE:
		return take_idle(sb, p, len, ev);
	case FRAME_HEAP:
		take_heap(sb, p, len);
		return false;
	default:
		fault(sb, FRAME_BAD_KIND);
		return false;
	}
}

static const char *
message_of(const struct sandbox *sb)
{
	const struct sandbox_limits *l = sb->limits;

	switch (sb->res->status) {
	case SANDBOX_TIMED_OUT:
		return arena_printf(sb->arena,
			"Execution timed out after %" PRIu32 " ms. Split the "
			"work over several calls.",
			l->wall_ms);
	case SANDBOX_CPU:
		return arena_printf(sb->arena,
			"The program used more than %" PRIu32 " ms of "
			"processor time and was ended. Look for a loop or a "
			"regular expression without end.",
			l->cpu_ms);
	case SANDBOX_MEMORY:
		return arena_printf(sb->arena,
			"The program ran out of memory: more than %" PRIu64
			" KiB. Keep less at a time.",
			l->heap_bytes / 1024);
	case SANDBOX_STACK:
		return "The program's calls are nested too deeply. Look for "
		       "recursion without end.";
	case SANDBOX_OUTPUT:
		return arena_printf(sb->arena,
			"The program wrote console lines without end (the "
			"limit is %" PRIu32 ") and was ended.",
			l->log_lines);
	case SANDBOX_CRASHED:
		return "The sandbox failed while the program ran.";
	case SANDBOX_NOT_STARTED:
		return "The sandbox could not be started; nothing of the "
		       "program ran.";
	case SANDBOX_CANCELLED:
		return "The caller went away and the program was ended.";
	case SANDBOX_OTHER_BUILD:
		return "The program waited in a form that only another "
		       "version of this server understands, and cannot go on. "
		       "Run it again, without what it had done already.";
	case SANDBOX_BAD_HEAP:
		return "The state of the waiting program is damaged, and it "
		       "cannot go on. Run it again, without what it had done "
		       "already.";
	case SANDBOX_BIG_HEAP:
		return arena_printf(sb->arena,
			"The program holds too much to wait with (more than "
			"%" PRIu32 " KiB) and was ended. Keep less while it "
			"waits for somebody's answer.",
			l->kept_bytes / 1024);
	default:
		return sb->res->message;
	}
}

/* What the exit says, where nothing else did. */
static void
explain_exit(struct sandbox *sb, const struct process_end *end)
{
	struct sandbox_result *res = sb->res;

	if (WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGXCPU)
		res->status = SANDBOX_CPU;
	else if (WIFSIGNALED(end->status))
		res->detail = arena_printf(
			sb->arena, "ended by signal %d", WTERMSIG(end->status));
	else
		res->detail = arena_printf(sb->arena,
			"exited with status %d and no result",
			WEXITSTATUS(end->status));
}

/* The process is ended and reaped; the last event says how. */
static void
finish(struct sandbox *sb)
{
	struct sandbox_result *res = sb->res;
	struct process_end end;
	bool is_unknown = res->status == SANDBOX_CRASHED && res->detail == NULL;

	if (!sb->is_idle)
		sb->used_ms += now_ms() - sb->since_ms;
	process_end(&sb->process, is_unknown, &end);
	res->cpu_ms = end.cpu_ms;
	if (is_unknown && end.is_known)
		explain_exit(sb, &end);
	if (res->status == SANDBOX_NOT_STARTED)
		res->has_started = false;
	res->message = message_of(sb);
	res->wall_ms = sb->used_ms;
	sb->has_ended = true;
	sb->last.result = res;
	sb->last.kind = SANDBOX_EVENT_END;
	if (res->status == SANDBOX_SUSPENDED) {
		struct sandbox_heap *h = &sb->last.heap;

		sb->last.kind = SANDBOX_EVENT_HEAP;
		h->data = heap_data(sb->heap, &h->len, &h->raw_len);
		memcpy(h->engine, sb->engine, sizeof(h->engine));
	} else if (res->dropped > 0) {
		add_log(sb, arena_printf(sb->arena,
				    "... %" PRIu32 " more lines dropped",
				    res->dropped));
	}
}

static void
end_with(struct sandbox *sb, enum sandbox_status status)
{
	sb->res->status = status;
	finish(sb);
}

static void
put_start(struct sandbox *sb, const struct sandbox_program *p)
{
	const struct sandbox_limits *l = sb->limits;
	const struct frame_run r = {
		.wall_ms = l->wall_ms,
		.cpu_ms = l->cpu_ms,
		.stack_bytes = l->stack_bytes,
		.heap_bytes = l->heap_bytes,
		.output_bytes = l->output_bytes,
		.log_lines = l->log_lines,
		.log_bytes = l->output_bytes,
		.calls_max = l->calls_max,
		.args_bytes = l->args_bytes,
		.args_total = l->args_total_bytes,
		.is_script = p->is_script,
		.args_len = p->args_len,
		.ctx_len = p->ctx_len,
	};
	uint8_t fixed[FRAME_RUN_LEN + 4];
	uint8_t *texts = NULL;

	frame_put_run(fixed, &r);
	if (p->code == NULL) {
		link_put(&sb->link, FRAME_RESUME, fixed, FRAME_RUN_LEN, NULL, 0,
			NULL, 0);
		return;
	}
	if (p->args_len + p->ctx_len > 0) {
		texts = arena_alloc(sb->arena, p->args_len + p->ctx_len);
		memcpy(texts, p->args, p->args_len);
		memcpy(texts + p->args_len, p->ctx, p->ctx_len);
	}
	link_put(&sb->link, FRAME_RUN, fixed, FRAME_RUN_LEN, texts,
		p->args_len + p->ctx_len, p->code, p->code_len);
}

/* For each payload of a heap: the first tells about calls, all are sent. */
static bool
put_heap(void *arg, const uint8_t *p, size_t len)
{
	struct sandbox *sb = arg;
	struct frame_state *s;
	enum frame_part part;

	if (frame_get_heap(p, len, &part) != FRAME_OK)
		return false;
	if (part == FRAME_PART_STATE) {
		s = arena_alloc(sb->arena, sizeof(*s));
		if (frame_get_state(p, len, s) != FRAME_OK)
			return false;
		sb->calls = s->calls;
		for (uint32_t i = 0; i < s->open_count; i++)
			numbers_add(&sb->open, s->open[i].number);
		for (uint32_t i = 0; i < s->realm_count; i++)
			if (s->realms[i].call != 0)
				numbers_add(&sb->scripts, s->realms[i].call);
	}
	link_put(&sb->link, FRAME_HEAP, p, len, NULL, 0, NULL, 0);
	return true;
}

static int
check_program(const struct sandbox_program *p, struct err *e)
{
	if (p->code == NULL)
		return 0;
	if (p->code_len > FRAME_CODE_MAX)
		return err_set(e, ERR_INVALID, "The program is too long",
			"program of %zu bytes", p->code_len);
	if (p->args_len > FRAME_CODE_MAX || p->ctx_len > FRAME_CTX_MAX)
		return err_set(e, ERR_INVALID, "The arguments are too large",
			"args of %zu, ctx of %zu bytes", p->args_len,
			p->ctx_len);
	if (!frame_is_text((const uint8_t *)p->code, p->code_len) ||
		!frame_is_text((const uint8_t *)p->args, p->args_len) ||
		!frame_is_text((const uint8_t *)p->ctx, p->ctx_len))
		return err_set(e, ERR_INVALID,
			"The program contains NUL or is not UTF-8",
			"program is not text");
	return 0;
}

int
sandbox_start(const struct sandbox_limits *limits,
	const struct sandbox_program *program, struct arena *a,
	struct sandbox **out, struct err *e)
{
	struct sandbox_program p = *program;
	struct sandbox *sb;
	const char *why;

	if (p.is_script && p.args == NULL) {
		p.args = "{}";
		p.args_len = 2;
	}
	if (p.is_script && p.ctx == NULL) {
		p.ctx = "{}";
		p.ctx_len = 2;
	}
	if (!p.is_script)
		p.args_len = p.ctx_len = 0;
	if (check_program(&p, e) != 0)
		return -1;
	sb = calloc(1, sizeof(*sb));
	if (sb == NULL)
		return err_set(e, ERR_UNAVAILABLE, NULL, "no memory");
	sb->limits = limits;
	sb->arena = a;
	sb->res = arena_zalloc(a, sizeof(*sb->res));
	sb->res->has_started = true;
	sb->since_ms = now_ms();
	if (process_start(limits->program, limits->image, &sb->process, e) !=
		0) {
		free(sb);
		return -1;
	}
	link_init(&sb->link, sb->process.fd);
	sb->link.result_max = limits->output_bytes + OUTPUT_SLACK;
	sb->link.call_max =
		FRAME_CALL_LEN + FRAME_PATH_MAX +
		(limits->args_bytes > SCRIPT_RESULT_MAX ? limits->args_bytes
							: SCRIPT_RESULT_MAX) +
		OUTPUT_SLACK;
	put_start(sb, &p);
	if (p.code == NULL) {
		/* The pages are bounded by the sandbox, these are outside. */
		why = heap_read(p.heap, p.heap_len,
			limits->heap_bytes + (64u << 20), put_heap, sb);
		if (why != NULL) {
			sb->res->detail = why;
			sb->res->has_started = false;
			end_with(sb, SANDBOX_BAD_HEAP);
		}
	}
	*out = sb;
	return 0;
}

int
sandbox_fd(const struct sandbox *sb)
{
	return sb->has_ended ? -1 : sb->link.fd;
}

short
sandbox_poll_events(const struct sandbox *sb)
{
	return link_queued(&sb->link) > 0 ? POLLIN | POLLOUT : POLLIN;
}

static int64_t
left_ms(const struct sandbox *sb)
{
	int64_t ran = now_ms() - sb->since_ms;

	return sb->is_suspending ? SUSPEND_MS - ran
				 : (int64_t)sb->limits->wall_ms + GRACE_MS -
					   sb->used_ms - ran;
}

int
sandbox_timeout_ms(const struct sandbox *sb)
{
	int64_t left;

	if (sb->has_ended)
		return 0;
	if (sb->is_idle)
		return -1;
	left = left_ms(sb);
	return left < 0 ? 0 : left < 60000 ? (int)left : 60000;
}

void
sandbox_next(struct sandbox *sb, struct sandbox_event *ev)
{
	enum frame_fault f = FRAME_OK;
	uint8_t *p = NULL;

	memset(ev, 0, sizeof(*ev));
	while (!sb->has_ended) {
		link_flush(&sb->link);
		switch (link_next(&sb->link, sb->arena, &p, &f)) {
		case LINK_FRAME:
			if (take_frame(sb, p, ev))
				return;
			break;
		case LINK_NONE:
			if (!sb->is_idle && left_ms(sb) <= 0) {
				sb->res->status = SANDBOX_TIMED_OUT;
				sb->has_ended = true;
				break;
			}
			return;
		case LINK_CLOSED:
			/* How it ended is said by its exit status. */
			crash(sb, NULL);
			break;
		case LINK_FAULT:
			fault(sb, f);
			break;
		}
	}
	if (sb->last.kind == SANDBOX_EVENT_NONE)
		finish(sb);
	*ev = sb->last;
}

/* It has something to do again. */
static void
wake(struct sandbox *sb)
{
	sb->given++;
	if (!sb->is_idle)
		return;
	sb->is_idle = false;
	sb->since_ms = now_ms();
}

/* Can LEN bytes go to call NUMBER? */
static int
check_answer(
	const struct sandbox *sb, uint32_t number, size_t len, struct err *e)
{
	if (numbers_find(&sb->open, number) == sb->open.count)
		return err_set(e, ERR_INVALID, NULL,
			"call %" PRIu32 " is not open", number);
	if (sb->is_suspending)
		return err_set(e, ERR_CONFLICT, NULL,
			"answer to a run that is being suspended");
	if (len > SMALL_ANSWER &&
		link_queued(&sb->link) + len > sb->limits->returns_bytes)
		return err_set(e, ERR_LIMIT, NULL,
			"%zu bytes for call %" PRIu32, len, number);
	return 0;
}

static int
check_text(const char *text, size_t len, size_t max, struct err *e)
{
	if (len > max)
		return err_set(e, ERR_INVALID, NULL, "%zu bytes", len);
	if (!frame_is_text((const uint8_t *)text, len))
		return err_set(e, ERR_INVALID, NULL, "not UTF-8, or NUL");
	return 0;
}

int
sandbox_return(struct sandbox *sb, uint32_t number, enum sandbox_answer answer,
	const char *json, size_t len, struct err *e)
{
	static const enum frame_answer answers[] = {
		[SANDBOX_ANSWER_ERROR] = FRAME_ANSWER_ERROR,
		[SANDBOX_ANSWER_OK] = FRAME_ANSWER_OK,
		[SANDBOX_ANSWER_THROW] = FRAME_ANSWER_THROW,
	};
	const struct frame_return r = { .number = number,
		.answer = answers[answer] };
	uint8_t fixed[FRAME_RETURN_LEN];

	if (sb->has_ended)
		return 0;
	if (check_answer(sb, number, len, e) != 0 ||
		check_text(json, len, FRAME_VALUE_MAX, e) != 0)
		return -1;
	numbers_remove(&sb->open, number);
	frame_put_return(fixed, &r);
	link_put(&sb->link, FRAME_RETURN, fixed, sizeof(fixed), json, len, NULL,
		0);
	wake(sb);
	link_flush(&sb->link);
	return 0;
}

int
sandbox_script(struct sandbox *sb, uint32_t number, const char *body,
	size_t body_len, const char *args, size_t args_len, const char *ctx,
	size_t ctx_len, struct err *e)
{
	const struct frame_script s = {
		.number = number, .args_len = args_len, .ctx_len = ctx_len
	};
	uint8_t fixed[FRAME_SCRIPT_LEN];
	char *texts;

	if (sb->has_ended)
		return 0;
	if (check_answer(sb, number, args_len + body_len, e) != 0 ||
		check_text(args, args_len, FRAME_VALUE_MAX, e) != 0 ||
		check_text(ctx, ctx_len, FRAME_CTX_MAX, e) != 0 ||
		check_text(body, body_len, FRAME_CODE_MAX, e) != 0)
		return -1;
	if (numbers_find(&sb->scripts, number) != sb->scripts.count)
		return err_set(e, ERR_INVALID, NULL,
			"call %" PRIu32 " has a script already", number);
	texts = arena_alloc(sb->arena, args_len + ctx_len + 1);
	memcpy(texts, args, args_len);
	memcpy(texts + args_len, ctx, ctx_len);
	numbers_add(&sb->scripts, number);
	frame_put_script(fixed, &s);
	link_put(&sb->link, FRAME_SCRIPT, fixed, sizeof(fixed), texts,
		args_len + ctx_len, body, body_len);
	wake(sb);
	link_flush(&sb->link);
	return 0;
}

int
sandbox_suspend(struct sandbox *sb, struct err *e)
{
	if (sb->has_ended || sb->is_suspending || !sb->is_idle)
		return err_set(e, ERR_CONFLICT, NULL, "not idle");
	sb->heap = heap_new(sb->limits->kept_bytes);
	if (sb->heap == NULL)
		return err_set(e, ERR_UNAVAILABLE, NULL, "no memory");
	sb->is_idle = false;
	sb->is_suspending = true;
	sb->since_ms = now_ms();
	link_put(&sb->link, FRAME_SUSPEND, NULL, 0, NULL, 0, NULL, 0);
	link_flush(&sb->link);
	return 0;
}

void
sandbox_close(struct sandbox *sb)
{
	if (sb == NULL)
		return;
	if (sb->last.kind == SANDBOX_EVENT_NONE)
		end_with(sb, SANDBOX_CANCELLED);
	link_release(&sb->link);
	heap_free(sb->heap);
	free(sb->open.at);
	free(sb->scripts.at);
	free(sb);
}

/* Until it ends, or WATCH_FD's peer hangs up. */
static void
run_to_end(struct sandbox *sb, int watch_fd)
{
	struct sandbox_event ev;

	for (;;) {
		struct pollfd p[2] = { { .fd = sandbox_fd(sb) },
			{ .fd = watch_fd, .events = POLLRDHUP } };

		p[0].events = sandbox_poll_events(sb);
		if (poll(p, 2, sandbox_timeout_ms(sb)) < 0 && errno != EINTR) {
			crash(sb, "poll failed");
			finish(sb);
			return;
		}
		if (p[1].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) {
			end_with(sb, SANDBOX_CANCELLED);
			return;
		}
		do
			sandbox_next(sb, &ev);
		while (ev.kind == SANDBOX_EVENT_CALL ||
			ev.kind == SANDBOX_EVENT_SCRIPT);
		if (ev.kind == SANDBOX_EVENT_END)
			return;
	}
}

int
sandbox_run(const struct sandbox_limits *limits, const char *code,
	size_t code_len, int watch_fd, struct arena *a,
	struct sandbox_result **out, struct err *e)
{
	const struct sandbox_program p = { .code = code, .code_len = code_len };
	struct sandbox_limits l = *limits;
	struct sandbox *sb;

	/* No tools: nobody is here to answer. */
	l.calls_max = 0;
	if (sandbox_start(&l, &p, a, &sb, e) != 0)
		return -1;
	run_to_end(sb, watch_fd);
	*out = sb->res;
	sandbox_close(sb);
	return 0;
}

const char *
sandbox_status_name(enum sandbox_status status)
{
	static const char *const names[SANDBOX__MAX] = {
		[SANDBOX_COMPLETED] = "completed",
		[SANDBOX_FAILED] = "failed",
		[SANDBOX_TIMED_OUT] = "timed_out",
		[SANDBOX_CPU] = "cpu",
		[SANDBOX_MEMORY] = "memory",
		[SANDBOX_STACK] = "stack",
		[SANDBOX_OUTPUT] = "output",
		[SANDBOX_CRASHED] = "crashed",
		[SANDBOX_NOT_STARTED] = "not_started",
		[SANDBOX_CANCELLED] = "cancelled",
		[SANDBOX_SUSPENDED] = "suspended",
		[SANDBOX_OTHER_BUILD] = "other_build",
		[SANDBOX_BAD_HEAP] = "bad_heap",
		[SANDBOX_BIG_HEAP] = "big_heap",
	};

	return status < SANDBOX__MAX ? names[status] : "unknown";
}
