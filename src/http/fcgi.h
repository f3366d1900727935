/* SPDX-License-Identifier: ISC */
/*
 * fcgi: how a request comes in and its answer goes out: FastCGI through
 * libfcgi (its only user), or plain CGI with the same functions.
 *
 * One process serves one connection at a time.  A peer that has gone and a
 * shut-down are results here, not errors.
 */
#ifndef HTTP_FCGI_H
#define HTTP_FCGI_H

struct err;
struct fcgi;

enum fcgi_got {
	FCGI_REQUEST,  /* one is there: fcgi_env, fcgi_read, fcgi_write */
	FCGI_SHUTDOWN, /* told to stop, or (CGI) the only request is done */
	FCGI_BROKEN    /* the listening socket does not work */
};

/* Whether FD is a listening socket, as front servers leave it. */
bool fcgi_is_socket(int fd);

/*
 * Serve the listening socket FD, or with FD < 0 the one CGI request of this
 * process.  Installs the handlers of TERM, USR1 and HUP (stop after the
 * request in hand) and ignores PIPE.
 */
MUST_CHECK int fcgi_open(int fd, struct fcgi **out, struct err *e);
void fcgi_close(struct fcgi *f);

/* Wait for the next request. */
enum fcgi_got fcgi_accept(struct fcgi *f);
/* Send what is buffered and end the request. */
void fcgi_finish(struct fcgi *f);

/* The request's CGI variables, until fcgi_finish. */
const char *const *fcgi_env(const struct fcgi *f);
/* Body bytes: number read, 0 at the end, -1 on failure. */
ssize_t fcgi_read(void *f, void *p, size_t len);
/* -1 when the peer has gone. */
MUST_CHECK int fcgi_write(struct fcgi *f, const void *p, size_t len);
MUST_CHECK int fcgi_flush(struct fcgi *f);

enum fcgi_event {
	FCGI_EVENT_NONE = 0,
	FCGI_EVENT_GONE = 1,	/* the peer closed the connection */
	FCGI_EVENT_WAITING = 2, /* another request waits to be accepted */
	FCGI_EVENT_STOP = 4	/* this process was told to stop */
};

/*
 * Wait up to TIMEOUT_MS for one of EVENTS; returns those that hold.  A hang-up
 * is noticed as soon as the front server passes it on.
 */
int fcgi_wait(struct fcgi *f, int events, int timeout_ms);

#endif
