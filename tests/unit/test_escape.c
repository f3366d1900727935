/* SPDX-License-Identifier: ISC */
/*
 * What a process can do once it has given up what mcp-sandbox gives up before
 * it reads a program: each attempt is made by a child of its own, by native
 * code, as if the engine had been broken out of.
 */
#include "base/compat.h"

#include "sandbox/frame.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>

#include <cmocka.h>

#include "sandbox/fence.h"

static pid_t parent;
static int spare_socket = -1;

static void
try_openat(void)
{
	syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static void
try_proc_mem(void)
{
	syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR);
}

static void
try_creat(void)
{
	syscall(SYS_openat, AT_FDCWD, "escape.tmp", O_CREAT | O_WRONLY, 0600);
}

static void
try_stat(void)
{
	char buf[512];

	syscall(SYS_newfstatat, AT_FDCWD, "/", buf, 0);
}

static void
try_unlink(void)
{
	syscall(SYS_unlinkat, AT_FDCWD, "no-such-file", 0);
}

static void
try_socket(void)
{
	syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void
try_connect(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "x" };

	syscall(SYS_connect, spare_socket, &sun, sizeof(sun));
}

static void
try_execve(void)
{
	char *none[] = { NULL };

	syscall(SYS_execve, "/bin/true", none, none);
}

static void
try_fork(void)
{
	syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void
try_vfork(void)
{
	syscall(SYS_clone, SIGCHLD | 0x4000, 0, 0, 0, 0);
}

static void
try_clone3(void)
{
	syscall(SYS_clone3, NULL, 0);
}

static void
try_ptrace(void)
{
	syscall(SYS_ptrace, PTRACE_ATTACH, parent, 0, 0);
}

static void
try_vm_writev(void)
{
	syscall(SYS_process_vm_writev, parent, NULL, 0, NULL, 0, 0);
}

static void
try_kill(void)
{
	syscall(SYS_kill, parent, SIGTERM);
}

static void
try_tgkill(void)
{
	syscall(SYS_tgkill, parent, parent, SIGTERM);
}

static void
try_mmap(void)
{
	syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void
try_mprotect(void)
{
	syscall(SYS_mprotect, NULL, 4096, PROT_EXEC);
}

static void
try_brk(void)
{
	syscall(SYS_brk, NULL);
}

static void
try_prctl(void)
{
	syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void
try_setuid(void)
{
	syscall(SYS_setuid, 0);
}

static void
try_io_uring(void)
{
	syscall(SYS_io_uring_setup, 8, NULL);
}

static void
try_bpf(void)
{
	syscall(SYS_bpf, 0, NULL, 0);
}

static void
try_unshare(void)
{
	syscall(SYS_unshare, 0x10000000);
}

static void
try_dup(void)
{
	syscall(SYS_dup, FRAME_FD);
}

static void
try_sendmsg(void)
{
	/* could pass descriptors to the parent */
	syscall(SYS_sendmsg, FRAME_FD, NULL, 0);
}

static void
try_recvmsg(void)
{
	syscall(SYS_recvmsg, FRAME_FD, NULL, 0);
}

static void
try_write_elsewhere(void)
{
	syscall(SYS_write, 2, "x", 1);
}

static void
try_read_elsewhere(void)
{
	char c;

	syscall(SYS_read, 0, &c, 1);
}

static void
try_write_high_fd(void)
{
	/* the upper half of the argument is not to be overlooked */
	syscall(SYS_write, 0x100000000L | FRAME_FD, "x", 1);
	syscall(SYS_write, FRAME_FD + 1, "x", 1);
}

/* The processor time is not to be won back; only real time's stands still. */
static void
try_other_timers(void)
{
	const struct itimerval none = { 0 };

	syscall(SYS_setitimer, ITIMER_PROF, &none, NULL);
}

static int
end_of(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (fence_enter() != NULL)
			_exit(99);
		fn();
		syscall(SYS_exit_group, 42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
test_refused(void **state)
{
	void (*const *fn)(void) = *state;
	int status = end_of(*fn);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static void
do_allowed(void)
{
	const struct itimerval none = { 0 };
	struct timespec ts;
	char c;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);
	syscall(SYS_getrandom, &c, 1, 0);
	syscall(SYS_setitimer, ITIMER_REAL, &none, NULL);
	if (syscall(SYS_write, FRAME_FD, "x", 1) != 1)
		syscall(SYS_exit_group, 1);
}

static void
test_allowed(void **state UNUSED)
{
	int status, fds[2];
	char c = 0;

	assert_int_equal(pipe(fds), 0);
	assert_true(fds[1] == FRAME_FD || dup2(fds[1], FRAME_FD) == FRAME_FD);
	status = end_of(do_allowed);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_int_equal(c, 'x');
}

static void
test_dropped(void **state UNUSED)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit r;
		int bad = 0;

		if (fence_drop(7) != NULL)
			_exit(99);
		bad |= prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
		bad |= (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) << 1;
		getrlimit(RLIMIT_CPU, &r);
		bad |= (r.rlim_cur != 7 || r.rlim_max != 8) << 2;
		getrlimit(RLIMIT_CORE, &r);
		bad |= (r.rlim_max != 0) << 3;
		getrlimit(RLIMIT_NOFILE, &r);
		bad |= (r.rlim_max != FRAME_FD + 1) << 4;
		getrlimit(RLIMIT_FSIZE, &r);
		bad |= (r.rlim_max != 0) << 5;
		getrlimit(RLIMIT_NPROC, &r);
		bad |= (r.rlim_max != 0) << 6;
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
test_all_closed(void **state UNUSED)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int open_fds = 0;

		dup2(2, FRAME_FD);
		dup2(2, 200);
		fence_close_all();
		for (int fd = 0; fd < 1024; fd++)
			open_fds += fcntl(fd, F_GETFD) >= 0;
		_exit(open_fds == 1 && fcntl(FRAME_FD, F_GETFD) >= 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
#define ATTEMPT(f)                                                             \
	{                                                                      \
#f, f                                                          \
	}
	static const struct {
		const char *name;
		void (*fn)(void);
	} rows[] = {
		ATTEMPT(try_other_timers),
		ATTEMPT(try_openat),
		ATTEMPT(try_proc_mem),
		ATTEMPT(try_creat),
		ATTEMPT(try_stat),
		ATTEMPT(try_unlink),
		ATTEMPT(try_socket),
		ATTEMPT(try_connect),
		ATTEMPT(try_execve),
		ATTEMPT(try_fork),
		ATTEMPT(try_vfork),
		ATTEMPT(try_clone3),
		ATTEMPT(try_ptrace),
		ATTEMPT(try_vm_writev),
		ATTEMPT(try_kill),
		ATTEMPT(try_tgkill),
		ATTEMPT(try_mmap),
		ATTEMPT(try_mprotect),
		ATTEMPT(try_brk),
		ATTEMPT(try_prctl),
		ATTEMPT(try_setuid),
		ATTEMPT(try_io_uring),
		ATTEMPT(try_bpf),
		ATTEMPT(try_unshare),
		ATTEMPT(try_dup),
		ATTEMPT(try_sendmsg),
		ATTEMPT(try_recvmsg),
		ATTEMPT(try_write_elsewhere),
		ATTEMPT(try_read_elsewhere),
		ATTEMPT(try_write_high_fd),
	};
	struct CMUnitTest tests[NELEM(rows) + 3];
	void (*fns[NELEM(rows)])(void);
	size_t n = NELEM(rows);

	parent = getpid();
	spare_socket = socket(AF_UNIX, SOCK_STREAM, 0);
	for (size_t i = 0; i < n; i++) {
		fns[i] = rows[i].fn;
		tests[i] = (struct CMUnitTest){ .name = rows[i].name,
			.test_func = test_refused,
			.initial_state = &fns[i] };
	}
	tests[n] = (struct CMUnitTest)cmocka_unit_test(test_allowed);
	tests[n + 1] = (struct CMUnitTest)cmocka_unit_test(test_dropped);
	tests[n + 2] = (struct CMUnitTest)cmocka_unit_test(test_all_closed);
	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
