/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/sandbox.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/frame.h"

/*
 * The sandbox ends itself at the limit, with all it has to say; this side's
 * clock stands behind it.
 */
#define GRACE_MS 500

/* A result may be this much longer than asked for: marks of what was cut. */
#define OUTPUT_SLACK 8192

struct run {
	const struct sandbox_limits *limits;
	struct arena *arena;
	struct sandbox_result *res;
	int fd;
	int watch_fd;
	int64_t deadline_ms;

	/* to send */
	uint8_t head[FRAME_HEADER_LEN + FRAME_RUN_LEN];
	const char *code;
	size_t code_len;
	size_t sent;

	/* being received */
	uint32_t seq;
	uint8_t in_head[FRAME_HEADER_LEN];
	struct frame_header frame;
	uint8_t *payload; /* NULL: the header is not complete */
	size_t got;

	size_t log_bytes;
	size_t log_room;
	bool has_ended; /* the last frame came */
	bool is_deaf;	/* the sandbox takes nothing more */
};

static int
spawn(const struct sandbox_limits *l, int fd, pid_t *pid)
{
	char *argv[] = { (char *)l->program, (char *)l->image, NULL };
	char *envp[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int rc;

	sigfillset(&all);
	sigemptyset(&none);
	rc = posix_spawn_file_actions_init(&actions);
	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return rc;
	}
	/* Before 0-2 are opened: FD may be one of them. */
	rc = posix_spawn_file_actions_adddup2(&actions, fd, FRAME_FD);
	for (int i = 0; rc == 0 && i < FRAME_FD; i++)
		rc = posix_spawn_file_actions_addopen(
			&actions, i, "/dev/null", O_RDWR, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(
			&actions, FRAME_FD + 1);
	if (rc == 0)
		rc = posix_spawnattr_setflags(
			&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
				       POSIX_SPAWN_SETSIGMASK);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(&attr, &all);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&attr, &none);
	if (rc == 0)
		rc = posix_spawn(pid, l->program, &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static int64_t
now_ms(void)
{
	return clock_mono_ms();
}

static void
crash(struct run *r, const char *detail)
{
	r->res->status = SANDBOX_CRASHED;
	r->res->detail = detail;
	r->has_ended = true;
}

static void
fault(struct run *r, enum frame_fault f)
{
	crash(r, arena_printf(r->arena, "frame %" PRIu32 ": %s", r->seq,
			 frame_fault_text(f)));
}

static void
add_log(struct run *r, const char *text)
{
	struct sandbox_result *res = r->res;

	if (res->log_count == r->log_room) {
		size_t room = r->log_room == 0 ? 16 : 2 * r->log_room;
		const char **grown =
			arena_calloc(r->arena, room, sizeof(*grown));

		if (res->log_count > 0)
			memcpy(grown, res->logs,
				res->log_count * sizeof(*grown));
		res->logs = grown;
		r->log_room = room;
	}
	res->logs[res->log_count++] = text;
}

static void
take_log(struct run *r)
{
	enum frame_fault f = frame_get_log(r->payload, r->frame.len);

	if (f != FRAME_OK) {
		fault(r, f);
		return;
	}
	if (r->res->log_count >= r->limits->log_lines ||
		r->frame.len > r->limits->output_bytes - r->log_bytes) {
		crash(r, "more console lines than agreed");
		return;
	}
	r->log_bytes += r->frame.len;
	add_log(r, (const char *)r->payload);
}

static void
take_result(struct run *r)
{
	struct sandbox_result *res = r->res;
	struct frame_result v;
	enum frame_fault f = frame_get_result(r->payload, r->frame.len, &v);

	if (f != FRAME_OK) {
		fault(r, f);
		return;
	}
	r->has_ended = true;
	res->status = SANDBOX_COMPLETED;
	res->is_cut = v.is_cut;
	res->dropped = v.dropped;
	if (v.has_value) {
		res->json = v.json;
		res->json_len = v.json_len;
	}
}

static void
take_error(struct run *r)
{
	static const enum sandbox_status statuses[FRAME_ERROR__MAX] = {
		[FRAME_ERROR_SYNTAX] = SANDBOX_FAILED,
		[FRAME_ERROR_SCRIPT] = SANDBOX_FAILED,
		[FRAME_ERROR_WALL] = SANDBOX_TIMED_OUT,
		[FRAME_ERROR_CPU] = SANDBOX_CPU,
		[FRAME_ERROR_MEMORY] = SANDBOX_MEMORY,
		[FRAME_ERROR_STACK] = SANDBOX_STACK,
		[FRAME_ERROR_OUTPUT] = SANDBOX_OUTPUT,
		[FRAME_ERROR_START] = SANDBOX_NOT_STARTED,
		[FRAME_ERROR_INTERNAL] = SANDBOX_CRASHED,
	};
	struct sandbox_result *res = r->res;
	struct frame_failure v;
	enum frame_fault f = frame_get_error(r->payload, r->frame.len, &v);

	if (f != FRAME_OK) {
		fault(r, f);
		return;
	}
	r->has_ended = true;
	res->status = statuses[v.what];
	res->has_started = v.what != FRAME_ERROR_SYNTAX;
	res->dropped = v.dropped;
	res->line = v.line;
	res->column = v.column;
	if (res->status == SANDBOX_FAILED)
		res->message = v.message;
	else if (v.message_len > 0)
		res->detail = v.message;
}

static void
take_frame(struct run *r)
{
	switch (r->frame.kind) {
	case FRAME_LOG:
		take_log(r);
		break;
	case FRAME_RESULT:
		take_result(r);
		break;
	case FRAME_ERROR:
		take_error(r);
		break;
	case FRAME_RUN:
		fault(r, FRAME_BAD_KIND);
		break;
	}
	r->payload = NULL;
	r->got = 0;
}

/* A complete header: check it and make room for the payload. */
static void
take_header(struct run *r)
{
	enum frame_fault f = frame_get_header(
		r->in_head, FRAME_FROM_SANDBOX, ++r->seq, &r->frame);

	if (f == FRAME_OK && r->frame.kind == FRAME_RESULT &&
		r->frame.len > (uint64_t)r->limits->output_bytes + OUTPUT_SLACK)
		f = FRAME_BAD_LEN;
	if (f != FRAME_OK) {
		fault(r, f);
		return;
	}
	r->payload = arena_alloc(r->arena, (size_t)r->frame.len + 1);
	r->payload[r->frame.len] = '\0';
	r->got = 0;
	if (r->frame.len == 0)
		take_frame(r);
}

/*
 * Headers come one by one from a buffer, payloads are read in place: a
 * program that logs a lot costs no system call for each line.
 */
static void
receive(struct run *r)
{
	uint8_t buf[16384];
	ssize_t n;

	if (r->payload != NULL && r->frame.len - r->got > sizeof(buf))
		n = recv(r->fd, r->payload + r->got, r->frame.len - r->got,
			MSG_DONTWAIT);
	else
		n = recv(r->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		crash(r, NULL); /* how it ended is said by its exit status */
		return;
	}
	if (r->payload != NULL && r->frame.len - r->got > sizeof(buf)) {
		r->got += n;
		if (r->got == r->frame.len)
			take_frame(r);
		return;
	}
	for (size_t i = 0; i < (size_t)n && !r->has_ended;) {
		size_t want =
			r->payload != NULL ? r->frame.len : FRAME_HEADER_LEN;
		size_t take = want - r->got;

		if (take > n - i)
			take = n - i;
		memcpy((r->payload != NULL ? r->payload : r->in_head) + r->got,
			buf + i, take);
		i += take;
		r->got += take;
		if (r->got < want)
			break;
		if (r->payload != NULL)
			take_frame(r);
		else
			take_header(r);
	}
}

static void
send_more(struct run *r)
{
	const char *p = (const char *)r->head + r->sent;
	size_t len = sizeof(r->head) - r->sent;
	ssize_t n;

	if (r->sent >= sizeof(r->head)) {
		p = r->code + (r->sent - sizeof(r->head));
		len = r->code_len - (r->sent - sizeof(r->head));
	}
	n = send(r->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		r->is_deaf = true; /* why it ended is still to be read */
	else
		r->sent += n;
}

static void
converse(struct run *r)
{
	size_t total = sizeof(r->head) + r->code_len;

	while (!r->has_ended) {
		struct pollfd p[2] = { { .fd = r->fd, .events = POLLIN },
			{ .fd = r->watch_fd, .events = POLLRDHUP } };
		int64_t left = r->deadline_ms - now_ms();
		int n;

		if (!r->is_deaf && r->sent < total)
			p[0].events |= POLLOUT;
		n = left > 0 ? poll(p, 2, left < 60000 ? (int)left : 60000) : 0;
		if (n < 0 && errno != EINTR) {
			crash(r, "poll failed");
			return;
		}
		if (left <= 0) {
			r->res->status = SANDBOX_TIMED_OUT;
			r->has_ended = true;
			return;
		}
		if (n <= 0)
			continue;
		if (p[1].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) {
			r->res->status = SANDBOX_CANCELLED;
			r->has_ended = true;
			return;
		}
		if (p[0].revents & POLLOUT)
			send_more(r);
		if (p[0].revents & (POLLIN | POLLHUP | POLLERR))
			receive(r);
	}
}

/* The process is ended, whatever it thinks, and reaped. */
static void
finish(struct run *r, pid_t pid)
{
	struct sandbox_result *res = r->res;
	struct rusage usage;
	int status;

	/*
	 * One that closed its end is about to exit, with a status that is
	 * worth having; SIGKILL after that changes nothing.
	 */
	if (res->status == SANDBOX_CRASHED && res->detail == NULL) {
		for (int i = 0; i < 50; i++) {
			siginfo_t info = { 0 };

			if (waitid(P_PID, pid, &info,
				    WEXITED | WNOHANG | WNOWAIT) != 0 ||
				info.si_pid == pid)
				break;
			poll(NULL, 0, 2);
		}
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return; /* somebody else reaped it */
	res->cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
		      (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
	if (res->status != SANDBOX_CRASHED || res->detail != NULL)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		res->status = SANDBOX_CPU;
	else if (WIFSIGNALED(status))
		res->detail = arena_printf(
			r->arena, "ended by signal %d", WTERMSIG(status));
	else
		res->detail = arena_printf(r->arena,
			"exited with status %d and no result",
			WEXITSTATUS(status));
}

static const char *
message_of(struct run *r)
{
	const struct sandbox_limits *l = r->limits;

	switch (r->res->status) {
	case SANDBOX_TIMED_OUT:
		return arena_printf(r->arena,
			"Execution timed out after %" PRIu32 " ms. Split the "
			"work over several calls.",
			l->wall_ms);
	case SANDBOX_CPU:
		return arena_printf(r->arena,
			"The program used more than %" PRIu32 " ms of "
			"processor time and was ended. Look for a loop or a "
			"regular expression without end.",
			l->cpu_ms);
	case SANDBOX_MEMORY:
		return arena_printf(r->arena,
			"The program ran out of memory: more than %" PRIu64
			" KiB. Keep less at a time.",
			l->heap_bytes / 1024);
	case SANDBOX_STACK:
		return "The program's calls are nested too deeply. Look for "
		       "recursion without end.";
	case SANDBOX_OUTPUT:
		return arena_printf(r->arena,
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
	default:
		return r->res->message;
	}
}

int
sandbox_run(const struct sandbox_limits *limits, const char *code,
	size_t code_len, int watch_fd, struct arena *a,
	struct sandbox_result **out, struct err *e)
{
	struct run r = { .limits = limits,
		.arena = a,
		.watch_fd = watch_fd,
		.code = code,
		.code_len = code_len };
	const struct frame_run request = {
		.wall_ms = limits->wall_ms,
		.cpu_ms = limits->cpu_ms,
		.stack_bytes = limits->stack_bytes,
		.heap_bytes = limits->heap_bytes,
		.output_bytes = limits->output_bytes,
		.log_lines = limits->log_lines,
		.log_bytes = limits->output_bytes,
	};
	int64_t start_ms = now_ms();
	int fds[2], rc;
	pid_t pid;

	if (code_len > FRAME_CODE_MAX)
		return err_set(e, ERR_INVALID, "The program is too long",
			"program of %zu bytes", code_len);
	if (!frame_is_text((const uint8_t *)code, code_len))
		return err_set(e, ERR_INVALID,
			"The program contains NUL or is not UTF-8",
			"program is not text");

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return err_set(e, ERR_UNAVAILABLE, NULL, "socketpair: %s",
			strerror(errno));
	rc = spawn(limits, fds[1], &pid);
	close(fds[1]);
	if (rc != 0) {
		close(fds[0]);
		return err_set(e, ERR_UNAVAILABLE, NULL, "%s: %s",
			limits->program, strerror(rc));
	}

	r.res = arena_zalloc(a, sizeof(*r.res));
	r.res->has_started = true;
	r.fd = fds[0];
	r.deadline_ms = start_ms + limits->wall_ms + GRACE_MS;
	frame_put_header(r.head, FRAME_RUN_LEN + code_len, FRAME_RUN, 1);
	frame_put_run(r.head + FRAME_HEADER_LEN, &request);
	converse(&r);
	close(r.fd);
	finish(&r, pid);

	if (r.res->status == SANDBOX_NOT_STARTED)
		r.res->has_started = false;
	r.res->message = message_of(&r);
	if (r.res->dropped > 0)
		add_log(&r,
			arena_printf(a, "... %" PRIu32 " more lines dropped",
				r.res->dropped));
	r.res->wall_ms = now_ms() - start_ms;
	*out = r.res;
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
