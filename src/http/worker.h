/* SPDX-License-Identifier: ISC */
/*
 * worker: the parent of --listen: opens the socket, keeps N responders
 * running, passes on signals.
 *
 * TERM and INT: finish what is in hand, then end.  HUP: replace every
 * responder after its request (a new configuration is read by the new ones
 * from the same command line).  A responder that ends is replaced, at most
 * one per 100 ms when it ended within a second of its start.
 */
#ifndef HTTP_WORKER_H
#define HTTP_WORKER_H

struct err;

struct worker_options {
	const char *listen; /* "unix:/path" or "127.0.0.1:9000" */
	int mode;	    /* permission bits of a unix socket */
	int workers;
	char *const *argv; /* run for each responder, the socket as fd 0 */
};

/*
 * Returns 0 after a graceful end, -1 when the socket cannot be had.  A unix
 * socket is guarded by a lock on its path with ".lock" (left in place): one
 * that a killed parent left is replaced, one in use is not.
 */
MUST_CHECK int worker_run(const struct worker_options *o, struct err *e);

#endif
