/* SPDX-License-Identifier: ISC */
/*
 * mcp-sandbox: runs one JavaScript program and says on descriptor 3 what came
 * of it (frame.h).  Started by run/sandbox.c, never by hand:
 *	mcp-sandbox [IMAGE]	default IMAGE: this program's path + ".image"
 *	mcp-sandbox --make-image IMAGE PRELUDE TYPESCRIPT CHECKER
 *				a build step
 *
 * Order of a run: map the image; read the limits; give up everything; only
 * then read the program, or the heap of one.
 */
#include "base/compat.h"

#include "sandbox/frame.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include <signal.h>
#include <ucontext.h>

#include "sandbox/engine.h"
#include "sandbox/fence.h"
#include "sandbox/image.h"
#include "sandbox/suspend.h"
#include "sandbox/vm.h"
#include "sandbox/wire.h"

/*
 * C frames of generated code are several times larger than the engine thinks
 * its frames are, so the engine's own limit must be reached long before this.
 */
#define STACK_BYTES (96u << 20)
#define GUARD_BYTES (1u << 20)

/* Lines beyond the cap for each line within it before the run is ended. */
#define DROP_FACTOR 100

/* Of all questions to a checker; then another one is started. */
#define CHECKER_CPU_S 600

static struct frame_run limits;
static uint64_t args_sent;
static uint32_t taken; /* RETURN and SCRIPT frames */
static uint8_t payload[FRAME_HEAP_MAX];

/* Set while a frame is being put together or written; see on_timer. */
static volatile sig_atomic_t is_busy, is_late;

static ucontext_t outer, inner;
static uint8_t *stack;
static const char *image;
static bool is_build_step;
static bool has_begun; /* the program is being read */

static void NORETURN
finish_error(const struct frame_failure *f)
{
	uint8_t p[FRAME_ERROR_LEN];

	is_busy = 1;
	frame_put_error(p, f);
	wire_send(FRAME_ERROR, p, sizeof(p), f->message, f->message_len);
	wire_flush();
	_exit(0);
}

static void NORETURN
fail(enum frame_error what, const char *message)
{
	struct frame_failure f = { .what = what, .dropped = vm_state.dropped };

	if (is_build_step) {
		fprintf(stderr, "mcp-sandbox: %s\n",
			message != NULL ? message : "out of memory");
		exit(1);
	}
	if (what == FRAME_ERROR_INTERNAL && !has_begun)
		f.what = FRAME_ERROR_START;
	f.message = message != NULL ? message : "";
	f.message_len = strlen(f.message);
	finish_error(&f);
}

/* A frame is complete: is it the moment that the timer waited for? */
static void
end_busy(void)
{
	is_busy = 0;
	if (is_late != 0)
		fail(is_late == SIGPROF ? FRAME_ERROR_CPU : FRAME_ERROR_WALL,
			NULL);
}

static void
on_timer(int sig)
{
	is_late = sig;
	if (!is_busy)
		fail(sig == SIGPROF ? FRAME_ERROR_CPU : FRAME_ERROR_WALL, NULL);
}

static void
on_fault(int sig, siginfo_t *info, void *context UNUSED)
{
	const uint8_t *at = info->si_addr;
	enum frame_error what = FRAME_ERROR_INTERNAL;
	const char *text;

	if (stack != NULL && at >= stack && at < stack + GUARD_BYTES)
		fail(FRAME_ERROR_STACK, NULL);
	text = engine_explain_fault(at, &what);
	if (text == NULL || sig != SIGSEGV)
		fail(FRAME_ERROR_INTERNAL, "the sandbox faulted");
	fail(what, what == FRAME_ERROR_INTERNAL ? text : NULL);
}

static bool
on_line(const char *text, size_t len)
{
	struct frame_state *s = &vm_state;

	if (s->lines >= limits.log_lines ||
		len > limits.log_bytes - s->line_bytes || len > FRAME_LOG_MAX) {
		s->dropped++;
		return false;
	}
	s->lines++;
	s->line_bytes += len;
	is_busy = 1;
	wire_send(FRAME_LOG, "", 0, text, len);
	end_busy();
	return true;
}

static void
on_drop(void)
{
	vm_state.dropped++;
	if (vm_state.dropped / DROP_FACTOR > limits.log_lines)
		fail(FRAME_ERROR_OUTPUT, NULL);
}

/* Calls without an answer are counted as console lines are. */
static int
on_call(const struct frame_call *c)
{
	uint8_t p[FRAME_CALL_LEN + FRAME_PATH_MAX];
	struct frame_state *s = &vm_state;

	if (c->number == 0) {
		if (s->lines >= limits.log_lines ||
			c->args_len > limits.log_bytes - s->line_bytes) {
			on_drop();
			return ENGINE_CALL_MANY;
		}
		s->lines++;
		s->line_bytes += c->args_len;
	} else {
		if (c->number > limits.calls_max)
			return ENGINE_CALL_MANY;
		if (c->args_len > limits.args_bytes ||
			args_sent + c->args_len > limits.args_total)
			return ENGINE_CALL_LARGE;
		args_sent += c->args_len;
	}
	is_busy = 1;
	frame_put_call(p, c);
	memcpy(p + FRAME_CALL_LEN, c->path, c->path_len);
	wire_send(FRAME_CALL, p, FRAME_CALL_LEN + c->path_len, c->args,
		c->args_len);
	end_busy();
	return ENGINE_CALL_MADE;
}

static void
on_scripted(const struct frame_return *r)
{
	uint8_t p[FRAME_RETURN_LEN];

	is_busy = 1;
	frame_put_return(p, r);
	wire_send(FRAME_SCRIPTED, p, sizeof(p), r->json, r->json_len);
	end_busy();
}

static void
on_fail(enum frame_error what, const char *message)
{
	fail(what, message);
}

static const struct engine_hooks hooks = {
	.line = on_line,
	.drop = on_drop,
	.call = on_call,
	.scripted = on_scripted,
	.fail = on_fail,
};

static void
set_timer(int which, uint32_t ms)
{
	struct itimerval t = { 0 };

	t.it_value.tv_sec = ms / 1000;
	t.it_value.tv_usec = ms % 1000 * 1000;
	setitimer(which, &t, NULL);
}

static void
set_signals(void)
{
	static uint8_t alternate[64 * 1024];
	const stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction timer = { .sa_handler = on_timer,
		.sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigaction fault = { .sa_sigaction = on_fault,
		.sa_flags = SA_ONSTACK | SA_SIGINFO };

	/* A timer must not come in the middle of the fault's frame. */
	sigfillset(&timer.sa_mask);
	sigfillset(&fault.sa_mask);
	sigaltstack(&ss, NULL);
	sigaction(SIGALRM, &timer, NULL);
	sigaction(SIGPROF, &timer, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGFPE, &fault, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* What remains of the wall clock while the program waits. */
static struct itimerval held;

static void
hold_timer(void)
{
	const struct itimerval none = { 0 };

	setitimer(ITIMER_REAL, &none, &held);
}

static void
release_timer(void)
{
	/* 0 would be no timer at all. */
	if (held.it_value.tv_sec == 0 && held.it_value.tv_usec < 1000)
		held.it_value.tv_usec = 1000;
	setitimer(ITIMER_REAL, &held, NULL);
}

/* The parent speaks nonsense: nothing it said is done. */
static void
check(enum frame_fault fault)
{
	if (fault != FRAME_OK)
		fail(FRAME_ERROR_INTERNAL, frame_fault_text(fault));
}

/* LEN bytes of UTF-8 from the parent for the engine. */
static void
read_text(size_t len)
{
	char *p = engine_text(len);

	wire_read(p, len);
	if (!frame_is_text((const uint8_t *)p, len))
		check(FRAME_BAD_TEXT);
}

static void
send_heap(const uint8_t *p, size_t len)
{
	wire_send(FRAME_HEAP, p, len, "", 0);
}

static void NORETURN
suspend(void)
{
	is_busy = 1;
	suspend_write(send_heap);
	wire_flush();
	_exit(0);
}

/* The program waits: take what the parent has for it. */
static void
take_frame(void)
{
	uint8_t fixed[FRAME_SCRIPT_LEN];
	struct frame_return r;
	struct frame_script s;
	struct frame_header h;

	frame_put_idle(fixed, taken);
	is_busy = 1;
	hold_timer();
	wire_send(FRAME_IDLE, fixed, FRAME_IDLE_LEN, "", 0);
	wire_flush();
	check(wire_header(&h));
	release_timer();
	end_busy();
	switch (h.kind) {
	case FRAME_SUSPEND:
		suspend();
	case FRAME_RETURN:
		wire_read(fixed, FRAME_RETURN_LEN);
		check(frame_get_return_head(fixed, h.len, &r));
		read_text(r.json_len);
		taken++;
		engine_return(&r);
		break;
	case FRAME_SCRIPT:
		wire_read(fixed, FRAME_SCRIPT_LEN);
		check(frame_get_script_head(fixed, h.len, &s));
		read_text(h.len - FRAME_SCRIPT_LEN);
		taken++;
		engine_script(&s);
		break;
	default:
		check(FRAME_BAD_KIND);
	}
}

static void NORETURN
converse(void)
{
	uint8_t fixed[FRAME_RESULT_LEN];
	struct engine_end end;

	while (!engine_turn(&end))
		take_frame();
	if (!end.is_ok) {
		if (end.failure.what >= FRAME_ERROR__MAX ||
			end.failure.message_len > FRAME_MESSAGE_MAX)
			fail(FRAME_ERROR_INTERNAL, "the prelude failed");
		end.failure.dropped = vm_state.dropped;
		finish_error(&end.failure);
	}
	is_busy = 1;
	end.result.dropped = vm_state.dropped;
	frame_put_result(fixed, &end.result);
	wire_send(FRAME_RESULT, fixed, FRAME_RESULT_LEN, end.result.json,
		end.result.json_len);
	wire_flush();
	_exit(0);
}

/* Take the heap of a suspended run; nothing of it runs before it is whole. */
static void
resume(void)
{
	enum frame_error what;
	struct frame_header h;
	bool is_complete = false;
	const char *why;

	while (!is_complete) {
		if (wire_header(&h) != FRAME_OK || h.kind != FRAME_HEAP)
			fail(FRAME_ERROR_HEAP, "the heap is damaged");
		wire_read(payload, h.len);
		why = suspend_read(payload, h.len, &is_complete, &what);
		if (why != NULL)
			fail(what, why);
	}
	engine_connect(&limits);
}

/* Questions to the checker, each with its own time. */
static void NORETURN
answer_checks(void)
{
	uint8_t fixed[FRAME_CHECK_LEN];
	struct frame_check c;
	struct frame_return r;
	struct frame_header h;

	for (;;) {
		set_timer(ITIMER_REAL, 0);
		check(wire_header(&h));
		set_timer(ITIMER_REAL, limits.wall_ms);
		if (h.kind != FRAME_CHECK)
			check(FRAME_BAD_KIND);
		wire_read(fixed, sizeof(fixed));
		check(frame_get_check_head(fixed, h.len, &c));
		read_text(h.len - sizeof(fixed));
		memset(&r, 0, sizeof(r));
		r.number = c.number;
		r.answer = FRAME_ANSWER_OK;
		r.json = engine_check(&c, &r.json_len);
		is_busy = 1;
		frame_put_return(fixed, &r);
		wire_send(FRAME_CHECKED, fixed, FRAME_RETURN_LEN, r.json,
			r.json_len);
		wire_flush();
		end_busy();
		engine_checked(r.json);
	}
}

/* On the large stack. */
static void
run(void)
{
	uint8_t fixed[FRAME_RUN_LEN];
	struct frame_header h;
	enum frame_fault fault;
	const char *why;

	why = image_open(image, &hooks);
	if (why != NULL)
		fail(FRAME_ERROR_START, why);
	fence_close_all();

	fault = wire_header(&h);
	if (fault == FRAME_OK && h.kind != FRAME_RUN &&
		h.kind != FRAME_RESUME && h.kind != FRAME_CHECKER)
		fault = FRAME_BAD_KIND;
	if (fault != FRAME_OK)
		fail(FRAME_ERROR_START, frame_fault_text(fault));
	wire_read(fixed, sizeof(fixed));
	fault = frame_get_run_head(fixed, h.len, &limits);
	if (fault != FRAME_OK)
		fail(FRAME_ERROR_START, frame_fault_text(fault));

	why = engine_limit(limits.heap_bytes);
	if (why == NULL && h.kind != FRAME_RESUME)
		why = engine_prepare(limits.stack_bytes);
	if (why == NULL)
		why = fence_drop(h.kind == FRAME_CHECKER
					   ? CHECKER_CPU_S
					   : limits.cpu_ms / 1000 + 2);
	if (why == NULL) {
		set_timer(ITIMER_REAL, limits.wall_ms);
		if (h.kind != FRAME_CHECKER)
			set_timer(ITIMER_PROF, limits.cpu_ms);
		why = fence_enter();
	}
	if (why != NULL)
		fail(FRAME_ERROR_START, why);

	switch (h.kind) {
	case FRAME_CHECKER:
		answer_checks();
	case FRAME_RESUME:
		resume();
		has_begun = true;
		break;
	default:
		read_text(h.len - sizeof(fixed));
		vm_state.output_bytes = limits.output_bytes;
		has_begun = true;
		engine_start(&limits);
	}
	converse();
}

static int
run_on_large_stack(void)
{
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) != 0)
		fail(FRAME_ERROR_START, "no memory for the stack");
	getcontext(&inner);
	inner.uc_stack.ss_sp = stack;
	inner.uc_stack.ss_size = STACK_BYTES;
	inner.uc_link = &outer;
	makecontext(&inner, run, 0);
	swapcontext(&outer, &inner);
	return 1; /* not reached: run ends the process */
}

int
main(int argc, char **argv)
{
	char path[4096];

	if (argc == 6 && strcmp(argv[1], "--make-image") == 0) {
		const struct image_sources from = { .prelude = argv[3],
			.typescript = argv[4],
			.checker = argv[5] };

		is_build_step = true;
		return image_make(argv[2], &from, &hooks) != 0 ? 1 : 0;
	}
	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		fprintf(stderr, "mcp-sandbox is started by mcp-fcgi\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s.image", argv[0]);
	image = argc == 2 ? argv[1] : path;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	set_signals();
	return run_on_large_stack();
}
