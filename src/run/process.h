/* SPDX-License-Identifier: ISC */
/*
 * process: an mcp-sandbox: started with nothing but its socket, ended and
 * reaped whatever it thinks.
 */
#ifndef RUN_PROCESS_H
#define RUN_PROCESS_H

struct err;

struct process {
	pid_t pid; /* 0: there is none */
	int fd;	   /* our end of its descriptor 3 */
};

struct process_end {
	bool is_known; /* false: somebody else reaped it */
	int status;    /* as of wait */
	int64_t cpu_ms;
};

/*
 * Start PROGRAM with IMAGE (NULL: its own choice).  Fails with
 * ERR_UNAVAILABLE.
 */
MUST_CHECK int process_start(const char *program, const char *image,
	struct process *p, struct err *e);

/*
 * Close the socket, kill, reap.  IS_ENDING: it closed its end, so its own
 * exit, which says why, is waited for up to 100 ms.
 */
void process_end(struct process *p, bool is_ending, struct process_end *out);

#endif
