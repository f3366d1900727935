/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "http/worker.h"

#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

#define BACKLOG		 512
#define TOO_SOON_MS	 1000 /* a responder that lives shorter is sick */
#define RESPAWN_PAUSE_MS 100
#define GRACE_MS	 30000 /* for requests in hand at the end */

struct child {
	pid_t pid; /* 0: none */
	int64_t started_ms;
	int64_t not_before_ms; /* of its successor */
};

static const int HANDLED[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };

static volatile sig_atomic_t got_stop, got_reload;

static void
on_signal(int sig)
{
	if (sig == SIGHUP)
		got_reload = 1;
	else if (sig != SIGCHLD)
		got_stop = 1;
}

/*
 * The right to serve PATH: a lock on PATH.lock, held by this process alone.
 * The socket itself does not tell: responders of a parent that was killed
 * still hold it while they finish what they have in hand.
 */
static int
lock_path(const char *path, struct err *e)
{
	char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
	int fd;

	(void)snprintf(name, sizeof(name), "%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd; /* closed by the end of the process */
	if (errno == EWOULDBLOCK)
		err_set(e, ERR_CONFLICT, NULL,
			"another process listens on %s", path);
	else
		err_set(e, ERR_INTERNAL, NULL, "%s: %s", name,
			strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
listen_unix(const char *path, int mode, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int fd, rc;

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(e, ERR_INVALID, NULL,
			"the socket path is longer than %zu bytes",
			sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	if (lock_path(path, e) < 0)
		return -1;
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_set(e, ERR_CONFLICT, NULL,
			"%s exists and is not a socket", path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mask = umask(0777 & ~(mode_t)mode);
	rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (rc != 0 || listen(fd, BACKLOG) != 0) {
		err_set(e, ERR_INTERNAL, NULL, "%s: %s", path,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int
listen_tcp(const char *address, struct err *e)
{
	struct addrinfo hints, *found = NULL, *ai;
	const char *colon = strrchr(address, ':'), *from = address;
	char host[128];
	int fd = -1, on = 1, rc;
	size_t len;

	if (colon == NULL || colon == address ||
		(size_t)(colon - address) >= sizeof(host))
		return err_set(e, ERR_INVALID, NULL,
			"--listen takes unix:/path or address:port");
	len = (size_t)(colon - address);
	if (address[0] == '[' && address[len - 1] == ']') {
		from++;
		len -= 2;
	}
	memcpy(host, from, len);
	host[len] = '\0';
	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
	/* The web server could not know which port it became. */
	if (strspn(colon + 1, "0") == strlen(colon + 1))
		return err_set(e, ERR_INVALID, NULL,
			"%s: --listen needs a port of 1 to 65535", address);
	rc = getaddrinfo(host, colon + 1, &hints, &found);
	if (rc != 0)
		return err_set(e, ERR_INVALID, NULL, "%s: %s", address,
			gai_strerror(rc));
	for (ai = found; ai != NULL && fd < 0; ai = ai->ai_next) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on,
				sizeof(on));
		if (fd >= 0 && bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
			listen(fd, BACKLOG) == 0)
			break;
		err_set(e, ERR_INTERNAL, NULL, "%s: %s", address,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

static pid_t
spawn(const struct worker_options *o, int fd, const sigset_t *mask)
{
	pid_t parent = getpid(), pid = fork();
	size_t i;

	if (pid != 0)
		return pid;
	/* The parent's handlers would swallow a signal that comes now. */
	for (i = 0; i < NELEM(HANDLED); i++)
		signal(HANDLED[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	/* Its own group: Ctrl-C reaches the parent, which then asks. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0); /* it went before it could be watched */
	if (dup2(fd, STDIN_FILENO) != STDIN_FILENO)
		_exit(126);
	/* By name, so that HUP after an upgrade starts the new program. */
	execvp(o->argv[0], o->argv);
	_exit(127);
}

/* Start a responder in the place C, unless it is too soon for that. */
static void
start(struct child *c, const struct worker_options *o, int fd,
	const sigset_t *mask)
{
	int64_t now = clock_mono_ms();

	if (now < c->not_before_ms)
		return;
	c->started_ms = now;
	c->pid = spawn(o, fd, mask);
	if (c->pid < 0) {
		c->pid = 0;
		c->not_before_ms = now + RESPAWN_PAUSE_MS;
	}
}

static void
reap(struct child *c, int n)
{
	int64_t now = clock_mono_ms();
	int status, i;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < n && c[i].pid != pid; i++)
			;
		if (i == n)
			continue;
		c[i].pid = 0;
		if (now - c[i].started_ms < TOO_SOON_MS)
			c[i].not_before_ms = now + RESPAWN_PAUSE_MS;
		if (WIFSIGNALED(status))
			log_event(LOG_LEVEL_WARN, "worker.killed", "pid",
				log_num(pid), "signal",
				log_num(WTERMSIG(status)), NULL);
		else if (WEXITSTATUS(status) != 0)
			log_event(LOG_LEVEL_WARN, "worker.failed", "pid",
				log_num(pid), "status",
				log_num(WEXITSTATUS(status)), NULL);
	}
}

static int
n_running(const struct child *c, int n)
{
	int i, running = 0;

	for (i = 0; i < n; i++)
		running += c[i].pid > 0;
	return running;
}

static void
signal_all(const struct child *c, int n, int sig)
{
	int i;

	for (i = 0; i < n; i++)
		if (c[i].pid > 0)
			kill(c[i].pid, sig);
}

/* Ask every responder to end; those that do not in time are killed. */
static void
wind_down(struct child *c, int n, const sigset_t *mask)
{
	int64_t deadline_ms = clock_mono_ms() + GRACE_MS;
	struct timespec ts = { 0, 100000000L };

	signal_all(c, n, SIGTERM);
	while (n_running(c, n) > 0) {
		ppoll(NULL, 0, &ts, mask);
		reap(c, n);
		if (clock_mono_ms() > deadline_ms)
			signal_all(c, n, SIGKILL);
	}
}

/* Handle the signals, outside ppoll blocked; *OLD is the mask for it. */
static void
take_signals(sigset_t *old)
{
	struct sigaction sa;
	sigset_t block;
	size_t i;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sigemptyset(&block);
	for (i = 0; i < NELEM(HANDLED); i++) {
		sigaction(HANDLED[i], &sa, NULL);
		sigaddset(&block, HANDLED[i]);
	}
	sigprocmask(SIG_BLOCK, &block, old);
}

int
worker_run(const struct worker_options *o, struct err *e)
{
	struct timespec ts = { 0, RESPAWN_PAUSE_MS * 1000000L };
	const char *path = NULL;
	struct child *c;
	sigset_t old;
	bool is_short;
	int fd, i;

	if (strncmp(o->listen, "unix:", 5) == 0)
		path = o->listen + 5;
	fd = path != NULL ? listen_unix(path, o->mode, e) :
			    listen_tcp(o->listen, e);
	if (fd < 0)
		return -1;
	c = calloc((size_t)o->workers, sizeof(*c));
	if (c == NULL) {
		close(fd);
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	}
	take_signals(&old);
	log_event(LOG_LEVEL_INFO, "worker.listen", "on", o->listen, "workers",
		log_num(o->workers), NULL);

	while (!got_stop) {
		is_short = false;
		for (i = 0; i < o->workers; i++) {
			if (c[i].pid == 0)
				start(&c[i], o, fd, &old);
			is_short = is_short || c[i].pid == 0;
		}
		ppoll(NULL, 0, is_short ? &ts : NULL, &old);
		reap(c, o->workers);
		if (got_reload) {
			got_reload = 0;
			log_event(LOG_LEVEL_INFO, "worker.reload", NULL);
			signal_all(c, o->workers, SIGTERM);
		}
	}
	wind_down(c, o->workers, &old);
	if (path != NULL)
		unlink(path);
	close(fd);
	free(c);
	log_event(LOG_LEVEL_INFO, "worker.end", NULL);
	return 0;
}
