/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/fence.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <seccomp.h>
#include <signal.h>

void
fence_close_all(void)
{
	struct rlimit r;

	for (int fd = 0; fd < FRAME_FD; fd++)
		close(fd);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, FRAME_FD + 1, ~0U, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur > 65536)
		r.rlim_cur = 65536;
	for (int fd = FRAME_FD + 1; fd < (int)r.rlim_cur; fd++)
		close(fd);
}

const char *
fence_drop(unsigned cpu_s)
{
	/*
	 * The soft CPU limit sends SIGXCPU, whose default action tells the
	 * parent why; it stands behind the timer of main.c.  RLIMIT_NPROC and
	 * RLIMIT_AS stop nothing that seccomp lets through; they are there for
	 * the day somebody widens its list.
	 */
	const struct {
		int resource;
		rlim_t soft, hard;
	} limits[] = {
		{ RLIMIT_CPU, cpu_s, cpu_s + 1 },
		{ RLIMIT_CORE, 0, 0 },
		{ RLIMIT_FSIZE, 0, 0 },
		{ RLIMIT_NPROC, 0, 0 },
		{ RLIMIT_MEMLOCK, 0, 0 },
		{ RLIMIT_MSGQUEUE, 0, 0 },
		{ RLIMIT_AS, 9ULL << 30, 9ULL << 30 },
		{ RLIMIT_NOFILE, FRAME_FD + 1, FRAME_FD + 1 },
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return "prctl(PR_SET_NO_NEW_PRIVS) failed";
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return "prctl(PR_SET_DUMPABLE) failed";
	for (size_t i = 0; i < NELEM(limits); i++) {
		struct rlimit r;

		if (getrlimit(limits[i].resource, &r) != 0)
			return "getrlimit failed";
		/* Ours, unless the administrator's is lower already. */
		if (r.rlim_max > limits[i].hard)
			r.rlim_max = limits[i].hard;
		r.rlim_cur = limits[i].soft < r.rlim_max ? limits[i].soft
							 : r.rlim_max;
		if (setrlimit(limits[i].resource, &r) != 0)
			return "setrlimit failed";
	}
	return NULL;
}

const char *
fence_enter(void)
{
	static const int plain[] = {
		SCMP_SYS(exit_group),
		SCMP_SYS(clock_gettime), /* where the vDSO cannot answer */
		SCMP_SYS(getrandom),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(restart_syscall),
	};
	static const int on_fd[] = { SCMP_SYS(read), SCMP_SYS(write) };
	const struct scmp_arg_cmp is_fd = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = FRAME_FD
	};
	const struct scmp_arg_cmp is_real = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = ITIMER_REAL
	};
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
	const char *why = NULL;

	if (c == NULL)
		return "seccomp_init failed";
	for (size_t i = 0; i < NELEM(plain) && why == NULL; i++)
		if (seccomp_rule_add(c, SCMP_ACT_ALLOW, plain[i], 0) != 0)
			why = "seccomp_rule_add failed";
	for (size_t i = 0; i < NELEM(on_fd) && why == NULL; i++)
		if (seccomp_rule_add(c, SCMP_ACT_ALLOW, on_fd[i], 1, is_fd) !=
			0)
			why = "seccomp_rule_add failed";
	/* The parent's clock stands behind this one. */
	if (why == NULL && seccomp_rule_add(c, SCMP_ACT_ALLOW,
				   SCMP_SYS(setitimer), 1, is_real) != 0)
		why = "seccomp_rule_add failed";
	if (why == NULL && seccomp_load(c) != 0)
		why = "this kernel has no seccomp filters";
	/* Not released: the process has one, and free() is not of use now. */
	return why;
}
