/* SPDX-License-Identifier: ISC */
/*
 * mcp-sandbox: runs one JavaScript program and says on descriptor 3 what came
 * of it (frame.h).  Started by run/sandbox.c, never by hand:
 *	mcp-sandbox [IMAGE]	default IMAGE: this program's path + ".image"
 *	mcp-sandbox --make-image IMAGE PRELUDE TYPESCRIPT	a build step
 *
 * Order of a run: map the image; read the limits; give up everything; only
 * then read the program.  All ends but the last are in finish().
 */
#include "base/compat.h"

#include "sandbox/frame.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include <signal.h>
#include <ucontext.h>

#include "sandbox/engine.h"
#include "sandbox/image.h"
#include "sandbox/seccomp.h"

/*
 * C frames of generated code are several times larger than the engine thinks
 * its frames are, so the engine's own limit must be reached long before this.
 */
#define STACK_BYTES (96u << 20)
#define GUARD_BYTES (1u << 20)

/* Lines beyond the cap for each line within it before the run is ended. */
#define DROP_FACTOR 100

static struct frame_run limits;
static uint32_t sent_seq;
static uint32_t lines, line_bytes, dropped;
static uint8_t out[64 * 1024];
static size_t out_len;

/* Set while a frame is being put together or written; see on_timer. */
static volatile sig_atomic_t is_busy, is_late;

static ucontext_t outer, inner;
static uint8_t *stack;
static const char *image;
static bool is_build_step;
static bool has_begun; /* the program is being read */

static void
write_all(const uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(FRAME_FD, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1); /* the parent is gone */
		p += n;
		len -= n;
	}
}

static void
flush(void)
{
	write_all(out, out_len);
	out_len = 0;
}

/* Append a frame: header, fixed part, text. */
static void
send_frame(enum frame_kind kind, const void *fixed, size_t fixed_len,
	const void *text, size_t text_len)
{
	uint8_t h[FRAME_HEADER_LEN];

	frame_put_header(h, fixed_len + text_len, kind, ++sent_seq);
	if (sizeof(out) - out_len < sizeof(h) + fixed_len + text_len)
		flush();
	memcpy(out + out_len, h, sizeof(h));
	out_len += sizeof(h);
	memcpy(out + out_len, fixed, fixed_len);
	out_len += fixed_len;
	if (text_len <= sizeof(out) - out_len) {
		memcpy(out + out_len, text, text_len);
		out_len += text_len;
		return;
	}
	flush();
	write_all(text, text_len);
}

static void NORETURN
finish_error(const struct frame_failure *f)
{
	uint8_t p[FRAME_ERROR_LEN];

	is_busy = 1;
	frame_put_error(p, f);
	send_frame(FRAME_ERROR, p, sizeof(p), f->message, f->message_len);
	flush();
	_exit(0);
}

static void NORETURN
fail(enum frame_error what, const char *message)
{
	struct frame_failure f = { .what = what, .dropped = dropped };

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
	if (lines >= limits.log_lines || len > limits.log_bytes - line_bytes ||
		len > FRAME_LOG_MAX) {
		dropped++;
		return false;
	}
	lines++;
	line_bytes += len;
	is_busy = 1;
	send_frame(FRAME_LOG, "", 0, text, len);
	end_busy();
	return true;
}

static void
on_drop(void)
{
	dropped++;
	if (dropped / DROP_FACTOR > limits.log_lines)
		fail(FRAME_ERROR_OUTPUT, NULL);
}

static void
on_fail(enum frame_error what, const char *message)
{
	fail(what, message);
}

static const struct engine_hooks hooks = {
	.line = on_line,
	.drop = on_drop,
	.fail = on_fail,
};

static void
read_all(void *p, size_t len)
{
	uint8_t *at = p;

	while (len > 0) {
		ssize_t n = read(FRAME_FD, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		at += n;
		len -= n;
	}
}

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

/* On the large stack. */
static void
run(void)
{
	uint8_t head[FRAME_HEADER_LEN], fixed[FRAME_RUN_LEN];
	struct frame_header h;
	struct engine_end end;
	enum frame_fault fault;
	const char *why;
	char *code;
	size_t code_len;

	why = image_open(image, &hooks);
	if (why != NULL)
		fail(FRAME_ERROR_START, why);
	seccomp_close_all();

	read_all(head, sizeof(head));
	fault = frame_get_header(head, FRAME_FROM_PARENT, 1, &h);
	if (fault != FRAME_OK)
		fail(FRAME_ERROR_START, frame_fault_text(fault));
	read_all(fixed, sizeof(fixed));
	fault = frame_get_run(fixed, sizeof(fixed), &limits);
	if (fault != FRAME_OK)
		fail(FRAME_ERROR_START, frame_fault_text(fault));
	code_len = h.len - sizeof(fixed);

	why = engine_limit(limits.heap_bytes, limits.stack_bytes);
	if (why == NULL)
		why = seccomp_drop(limits.cpu_ms / 1000 + 2);
	if (why == NULL) {
		set_timer(ITIMER_REAL, limits.wall_ms);
		set_timer(ITIMER_PROF, limits.cpu_ms);
		why = seccomp_enter();
	}
	if (why != NULL)
		fail(FRAME_ERROR_START, why);

	has_begun = true;
	code = engine_code(code_len);
	read_all(code, code_len);
	if (!frame_is_text((const uint8_t *)code, code_len))
		fail(FRAME_ERROR_START, frame_fault_text(FRAME_BAD_TEXT));
	engine_run(code_len, limits.output_bytes, &end);

	if (!end.is_ok) {
		if (end.failure.what >= FRAME_ERROR__MAX ||
			end.failure.message_len > FRAME_MESSAGE_MAX)
			fail(FRAME_ERROR_INTERNAL, "the prelude failed");
		end.failure.dropped = dropped;
		finish_error(&end.failure);
	}
	is_busy = 1;
	end.result.dropped = dropped;
	frame_put_result(fixed, &end.result);
	send_frame(FRAME_RESULT, fixed, FRAME_RESULT_LEN, end.result.json,
		end.result.json_len);
	flush();
	_exit(0);
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

	if (argc == 5 && strcmp(argv[1], "--make-image") == 0) {
		is_build_step = true;
		return image_make(argv[2], argv[3], argv[4], &hooks) != 0 ? 1
									  : 0;
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
