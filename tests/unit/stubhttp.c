/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "stubhttp.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>

enum { ROUTES_MAX = 32, ANSWER_MAX = 400000, HEAD_MAX = 8192 };

struct route {
	char path[256];
	char answer[ANSWER_MAX];
	size_t len;
	bool is_raw;
	bool is_endless;
	int delay_ms;
	int hits;
};

/* Shared with the children; the test and they take turns. */
struct stubhttp {
	pid_t pid;
	int life; /* write end of a pipe */
	int port;
	int connections;
	char head[HEAD_MAX];
	size_t n;
	struct route route[ROUTES_MAX];
};

static const struct route *
route_find(const struct stubhttp *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->route[i].path, path) == 0)
			return &s->route[i];
	return NULL;
}

static struct route *
route_of(struct stubhttp *s, const char *path)
{
	struct route *r = (struct route *)route_find(s, path);

	if (r == NULL) {
		assert(s->n < ROUTES_MAX);
		r = &s->route[s->n];
		snprintf(r->path, sizeof(r->path), "%s", path);
		s->n++;
	}
	return r;
}

static bool
send_all(int fd, const char *p, size_t len)
{
	ssize_t n;

	for (; len > 0; p += n, len -= (size_t)n)
		if ((n = send(fd, p, len, MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

/* What Content-Length says follows the head of LEN bytes, or part of it. */
static bool
take_body(int fd, char *head, size_t *len, size_t cap)
{
	const char *length = strcasestr(head, "\r\nContent-Length:");
	size_t want = (size_t)(strstr(head, "\r\n\r\n") - head) + 4;
	ssize_t n;

	if (length != NULL)
		want += strtoul(length + 17, NULL, 10);
	if (want >= cap)
		return false;
	for (; *len < want; *len += (size_t)n)
		if ((n = recv(fd, head + *len, want - *len, 0)) <= 0)
			return false;
	head[*len] = '\0';
	return true;
}

/* Answer one request; false when the connection is over. */
static bool
serve_one(struct stubhttp *s, int fd)
{
	static const char none[] =
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
	char head[HEAD_MAX], path[256];
	struct route *r;
	size_t len = 0;
	ssize_t n;

	head[0] = '\0';
	while (strstr(head, "\r\n\r\n") == NULL) {
		n = recv(fd, head + len, sizeof(head) - 1 - len, 0);
		if (n <= 0)
			return false;
		len += (size_t)n;
		head[len] = '\0';
	}
	if (!take_body(fd, head, &len, sizeof(head)))
		return false;
	memcpy(s->head, head, len + 1);
	if (sscanf(head, "%*7s %255s", path) != 1)
		return false;
	r = (struct route *)route_find(s, path);
	if (r == NULL)
		return send_all(fd, none, sizeof(none) - 1);
	__atomic_add_fetch(&r->hits, 1, __ATOMIC_SEQ_CST);
	if (r->delay_ms > 0)
		usleep((useconds_t)r->delay_ms * 1000);
	if (!send_all(fd, r->answer, r->len))
		return false;
	while (r->is_endless)
		if (!send_all(fd, r->answer + r->len - 1, 1))
			return false;
	return !r->is_raw;
}

/* Until nobody has the other end of LIFE: a test that crashed leaves no
 * server behind, nor a pipe that somebody waits on. */
static void
serve(struct stubhttp *s, int listener, int life)
{
	struct pollfd p[2] = { { listener, POLLIN, 0 }, { life, POLLIN, 0 } };
	int fd;

	signal(SIGCHLD, SIG_IGN);
	while (poll(p, 2, -1) > 0 && p[1].revents == 0) {
		if ((fd = accept(listener, NULL, NULL)) < 0)
			continue;
		__atomic_add_fetch(&s->connections, 1, __ATOMIC_SEQ_CST);
		if (fork() == 0) {
			close(listener);
			close(life);
			while (serve_one(s, fd))
				;
			_exit(0);
		}
		close(fd);
	}
	_exit(0);
}

struct stubhttp *
stubhttp_start(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	struct stubhttp *s;
	int fd, life[2];
	pid_t pid;

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(s != MAP_FAILED);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof(sin)) != 0 ||
		listen(fd, 64) != 0 ||
		getsockname(fd, (struct sockaddr *)&sin, &len) != 0)
		abort();
	s->port = ntohs(sin.sin_port);
	if (pipe(life) != 0)
		abort();
	/* Not into S at once: the child would write its 0 there too. */
	if ((pid = fork()) == 0) {
		setpgid(0, 0);
		close(life[1]);
		serve(s, fd, life[0]);
	}
	close(life[0]);
	s->life = life[1];
	assert(pid > 0);
	setpgid(pid, pid);
	s->pid = pid;
	close(fd);
	return s;
}

void
stubhttp_stop(struct stubhttp *s)
{
	assert(s->pid > 1);
	kill(-s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->life);
	munmap(s, sizeof(*s));
}

const char *
stubhttp_url(const struct stubhttp *s, const char *path)
{
	static char url[4][512];
	static unsigned next;
	char *u = url[next++ % 4];

	snprintf(u, sizeof(url[0]), "http://127.0.0.1:%d%s", s->port, path);
	return u;
}

int
stubhttp_port(const struct stubhttp *s)
{
	return s->port;
}

void
stubhttp_set(struct stubhttp *s, const char *path, int status, const char *body)
{
	struct route *r = route_of(s, path);

	r->is_raw = r->is_endless = false;
	r->delay_ms = 0;
	r->len = (size_t)snprintf(r->answer, sizeof(r->answer),
		"HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		status, strlen(body), body);
	assert(r->len < sizeof(r->answer));
}

void
stubhttp_set_bytes(
	struct stubhttp *s, const char *path, const void *p, size_t len)
{
	struct route *r = route_of(s, path);

	r->is_raw = true;
	r->is_endless = false;
	r->delay_ms = 0;
	r->len = len;
	assert(r->len < sizeof(r->answer));
	memcpy(r->answer, p, len);
}

void
stubhttp_set_raw(struct stubhttp *s, const char *path, const char *raw)
{
	stubhttp_set_bytes(s, path, raw, strlen(raw));
}

void
stubhttp_set_endless(struct stubhttp *s, const char *path, const char *raw)
{
	stubhttp_set_raw(s, path, raw);
	route_of(s, path)->is_endless = true;
}

void
stubhttp_set_delay(struct stubhttp *s, const char *path, int delay_ms)
{
	route_of(s, path)->delay_ms = delay_ms;
}

int
stubhttp_hits(const struct stubhttp *s, const char *path)
{
	const struct route *r = route_find(s, path);

	return r != NULL ? __atomic_load_n(&r->hits, __ATOMIC_SEQ_CST) : 0;
}

int
stubhttp_connections(const struct stubhttp *s)
{
	return __atomic_load_n(&s->connections, __ATOMIC_SEQ_CST);
}

const char *
stubhttp_request(const struct stubhttp *s)
{
	return s->head;
}
