/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/process.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>

#include "base/err.h"
#include "sandbox/frame.h"

static int
spawn(const char *program, const char *image, int fd, pid_t *pid)
{
	char *argv[] = { (char *)program, (char *)image, NULL };
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
		rc = posix_spawn(pid, program, &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

int
process_start(const char *program, const char *image, struct process *p,
	struct err *e)
{
	int fds[2], rc;

	memset(p, 0, sizeof(*p));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return err_set(e, ERR_UNAVAILABLE, NULL, "socketpair: %s",
			strerror(errno));
	rc = spawn(program, image, fds[1], &p->pid);
	close(fds[1]);
	if (rc != 0) {
		close(fds[0]);
		p->pid = 0;
		return err_set(e, ERR_UNAVAILABLE, NULL, "%s: %s", program,
			strerror(rc));
	}
	p->fd = fds[0];
	return 0;
}

void
process_end(struct process *p, bool is_ending, struct process_end *out)
{
	const pid_t pid = p->pid;
	struct rusage usage;

	memset(out, 0, sizeof(*out));
	if (pid == 0)
		return;
	p->pid = 0;
	close(p->fd);
	/*
	 * One that closed its end is about to exit, with a status that is
	 * worth having; SIGKILL after that changes nothing.
	 */
	for (int i = 0; is_ending && i < 50; i++) {
		siginfo_t info = { 0 };

		if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
				0 ||
			info.si_pid == pid)
			break;
		poll(NULL, 0, 2);
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (wait4(pid, &out->status, 0, &usage) < 0)
		if (errno != EINTR)
			return;
	out->is_known = true;
	out->cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
		      (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}
