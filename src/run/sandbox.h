/* SPDX-License-Identifier: ISC */
/*
 * sandbox: one run of one JavaScript program in a process of its own
 * (mcp-sandbox).  Hides the process and the frames (sandbox/frame.h).
 *
 * The process is taken for hostile: what it says is bounded and checked, its
 * time is this side's clock, and it is always gone and reaped on return, as
 * are all descriptors.  It gets no environment, no descriptor but its socket
 * and the program's text.  Result and messages are text that somebody else
 * wrote: valid UTF-8, but JSON only by the sandbox's word.
 */
#ifndef RUN_SANDBOX_H
#define RUN_SANDBOX_H

struct arena;
struct err;

enum sandbox_status {
	SANDBOX_COMPLETED,
	SANDBOX_FAILED,	     /* does not parse, or threw */
	SANDBOX_TIMED_OUT,   /* wall_ms */
	SANDBOX_CPU,	     /* cpu_ms */
	SANDBOX_MEMORY,	     /* heap_bytes */
	SANDBOX_STACK,	     /* stack_bytes */
	SANDBOX_OUTPUT,	     /* console lines without end */
	SANDBOX_CRASHED,     /* the sandbox ended or spoke nonsense */
	SANDBOX_NOT_STARTED, /* the sandbox could not begin: see detail */
	SANDBOX_CANCELLED,   /* watch_fd hung up */
	SANDBOX__MAX
};

struct sandbox_limits {
	const char *program; /* path of mcp-sandbox */
	const char *image;   /* of the heap image; NULL: program + ".image" */
	uint32_t wall_ms;
	uint32_t cpu_ms;
	uint64_t heap_bytes;
	uint32_t stack_bytes;  /* half of it, at most 512 KiB, is usable */
	uint32_t output_bytes; /* the result; as much again for the console */
	uint32_t log_lines;
};

struct sandbox_result {
	enum sandbox_status status;
	/*
	 * May something of the program have run?  False for one that does not
	 * parse and for a sandbox that did not start.
	 */
	bool has_started;
	const char *json; /* NULL: no result */
	size_t json_len;
	bool is_cut;	   /* parts of the result were left out to fit */
	const char **logs; /* "[level] text"; a last line counts the dropped */
	size_t log_count;
	uint32_t dropped;
	const char *message;   /* for the client; NULL when completed */
	uint32_t line, column; /* of the program, from 1; 0: not known */
	int64_t wall_ms;
	int64_t cpu_ms;
	const char *detail; /* for the log; NULL: nothing to tell */
};

/*
 * Run the CODE_LEN bytes at CODE.  Returns 0 with *OUT in A whenever it is
 * known what came of it, which includes every limit and fault of the program
 * and of the sandbox; -1 only when no process can be made (ERR_UNAVAILABLE)
 * or the program is too long or not UTF-8 text (ERR_INVALID).
 * Blocks up to wall_ms and half a second.  WATCH_FD, unless -1, ends the run
 * when its peer hangs up.  A must have room for output_bytes twice over.
 */
MUST_CHECK int sandbox_run(const struct sandbox_limits *limits,
	const char *code, size_t code_len, int watch_fd, struct arena *a,
	struct sandbox_result **out, struct err *e);

/* "completed", "failed", "timed_out", ... */
const char *sandbox_status_name(enum sandbox_status status);

#endif
