/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "http/fcgi.h"

#include <sys/socket.h>

#include <fcgiapp.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>

#include "base/err.h"

/* Of the body of a CGI request, after the answer. */
#define DRAIN_MAX ((size_t)64 << 20)

struct fcgi {
	int listen_fd; /* -1: CGI */
	bool is_cgi_done;
	sigset_t waiting; /* mask while waiting: nothing blocked */
	FCGX_Request request;
};

static volatile sig_atomic_t stop_requested;

static void
on_stop(int sig)
{
	stop_requested = 1;
	FCGX_ShutdownPending();
}

bool
fcgi_is_socket(int fd)
{
	int on = 0;
	socklen_t len = sizeof(on);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 &&
		on != 0;
}

/*
 * The stop signals are blocked except inside ppoll, so that none is lost
 * between looking at the flag and going to sleep.
 */
static void
install_signals(struct fcgi *f)
{
	static const int STOP[] = { SIGTERM, SIGUSR1, SIGHUP, SIGINT };
	struct sigaction sa;
	sigset_t block;
	size_t i;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_stop; /* no SA_RESTART: accept must return */
	sigemptyset(&block);
	for (i = 0; i < NELEM(STOP); i++) {
		sigaction(STOP[i], &sa, NULL);
		sigaddset(&block, STOP[i]);
	}
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	sigprocmask(SIG_BLOCK, &block, &f->waiting);
	for (i = 0; i < NELEM(STOP); i++)
		sigdelset(&f->waiting, STOP[i]);
}

int
fcgi_open(int fd, struct fcgi **out, struct err *e)
{
	struct fcgi *f = calloc(1, sizeof(*f));
	int flags;

	if (f == NULL)
		return err_set(e, ERR_INTERNAL, NULL, "out of memory");
	f->listen_fd = fd;
	install_signals(f);
	if (fd >= 0) {
		/*
		 * Several responders poll one socket; without O_NONBLOCK the
		 * ones that lose the race would sleep in accept.
		 */
		flags = fcntl(fd, F_GETFL);
		if (flags == -1 ||
			fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1 ||
			FCGX_Init() != 0 ||
			FCGX_InitRequest(&f->request, fd,
				FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
			free(f);
			return err_set(e, ERR_INTERNAL, NULL,
				"cannot serve the socket: %s",
				strerror(errno));
		}
		/* A child must not keep the socket open (WEBSERVERS). */
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	*out = f;
	return 0;
}

void
fcgi_close(struct fcgi *f)
{
	if (f == NULL)
		return;
	if (f->listen_fd >= 0)
		FCGX_Free(&f->request, 1);
	free(f);
}

static enum fcgi_got
accept_cgi(struct fcgi *f)
{
	if (f->is_cgi_done)
		return FCGI_SHUTDOWN;
	f->is_cgi_done = true;
	return FCGI_REQUEST;
}

enum fcgi_got
fcgi_accept(struct fcgi *f)
{
	struct pollfd p;

	if (f->listen_fd < 0)
		return accept_cgi(f);
	while (!stop_requested) {
		p.fd = f->listen_fd;
		p.events = POLLIN;
		if (ppoll(&p, 1, NULL, &f->waiting) == -1) {
			if (errno == EINTR)
				continue;
			return FCGI_BROKEN;
		}
		if (p.revents & POLLNVAL)
			return FCGI_BROKEN;
		if (FCGX_Accept_r(&f->request) < 0)
			continue; /* another process was faster */
		fcntl(f->request.ipcFd, F_SETFD, FD_CLOEXEC);
		return FCGI_REQUEST;
	}
	return FCGI_SHUTDOWN;
}

/*
 * Read what is left of the body: a web server that finds its end of the pipe
 * closed may throw the answer away with the rest.
 */
static void
drain(void)
{
	char buf[16384];
	size_t left = DRAIN_MAX;
	ssize_t n;

	while (left > 0 && (n = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
		left -= (size_t)n < left ? (size_t)n : left;
}

void
fcgi_finish(struct fcgi *f)
{
	if (f->listen_fd >= 0) {
		FCGX_Finish_r(&f->request);
		return;
	}
	fflush(stdout);
	drain();
}

const char *const *
fcgi_env(const struct fcgi *f)
{
	if (f->listen_fd < 0)
		return (const char *const *)environ;
	return (const char *const *)f->request.envp;
}

ssize_t
fcgi_read(void *arg, void *p, size_t len)
{
	struct fcgi *f = arg;
	int want = len > INT_MAX ? INT_MAX : (int)len;

	if (f->listen_fd < 0)
		return read(STDIN_FILENO, p, len);
	return FCGX_GetStr(p, want, f->request.in);
}

int
fcgi_write(struct fcgi *f, const void *p, size_t len)
{
	int n;

	if (f->listen_fd < 0)
		return fwrite(p, 1, len, stdout) == len ? 0 : -1;
	while (len > 0) {
		n = FCGX_PutStr(p, len > INT_MAX ? INT_MAX : (int)len,
			f->request.out);
		if (n <= 0)
			return -1;
		p = (const char *)p + n;
		len -= (size_t)n;
	}
	return 0;
}

int
fcgi_flush(struct fcgi *f)
{
	if (f->listen_fd < 0)
		return fflush(stdout) == 0 ? 0 : -1;
	return FCGX_FFlush(f->request.out) == 0 ? 0 : -1;
}

int
fcgi_wait(struct fcgi *f, int events, int timeout_ms)
{
	struct timespec ts = { timeout_ms / 1000,
		timeout_ms % 1000 * 1000000L };
	int got = FCGI_EVENT_NONE;
	struct pollfd p[2];

	if ((events & FCGI_EVENT_STOP) && stop_requested)
		return FCGI_EVENT_STOP;
	p[0].fd = -1;
	p[1].fd = -1;
	if (events & FCGI_EVENT_GONE)
		p[0].fd = f->listen_fd < 0 ? STDOUT_FILENO : f->request.ipcFd;
	p[0].events = POLLRDHUP;
	if (events & FCGI_EVENT_WAITING)
		p[1].fd = f->listen_fd;
	p[1].events = POLLIN;
	if (ppoll(p, 2, &ts, &f->waiting) > 0) {
		if (p[0].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))
			got |= FCGI_EVENT_GONE;
		if (p[1].revents & POLLIN)
			got |= FCGI_EVENT_WAITING;
	}
	if ((events & FCGI_EVENT_STOP) && stop_requested)
		got |= FCGI_EVENT_STOP;
	return got;
}
