/* SPDX-License-Identifier: ISC */
/*
 * sandbox: one run of one JavaScript program in a process of its own
 * (mcp-sandbox).  Hides the process and the frames (sandbox/frame.h).
 *
 * The process is taken for hostile: what it says is bounded and checked, its
 * time is this side's clock, and it is always gone and reaped on return, as
 * are all descriptors.  It gets no environment, no descriptor but its socket
 * and the program's text.  Result, messages and the arguments of calls are
 * text that somebody else wrote: valid UTF-8, but JSON only by the sandbox's
 * word.
 *
 * A program with tools is a conversation, which the caller's poll loop keeps
 * going; nothing below but sandbox_run and sandbox_close waits:
 *
 *	sandbox_start(limits, program, a, &sb, e)
 *	loop:
 *		while sandbox_next(sb, &event) is not SANDBOX_EVENT_NONE
 *			CALL	do it, at leisure; later sandbox_return
 *			SCRIPT	what sandbox_script came to; sandbox_return it
 *			IDLE	wait for calls, or sandbox_suspend
 *			HEAP	keep it; done
 *			END	event.result; done
 *		poll sandbox_fd for sandbox_poll_events, and what the calls
 *		wait for, up to sandbox_timeout_ms
 *	sandbox_close(sb)
 */
#ifndef RUN_SANDBOX_H
#define RUN_SANDBOX_H

struct arena;
struct err;
struct sandbox;

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
	SANDBOX_CANCELLED,   /* watch_fd hung up, or sandbox_close before END */
	SANDBOX_SUSPENDED,   /* with HEAP: nothing more is to come */
	SANDBOX_OTHER_BUILD, /* the heap is of another build of mcp-sandbox */
	SANDBOX_BAD_HEAP,    /* the heap is damaged, or of no sandbox at all */
	SANDBOX_BIG_HEAP,    /* too much to be suspended: kept_bytes */
	SANDBOX__MAX
};

struct sandbox_limits {
	const char *program; /* path of mcp-sandbox */
	const char *image;   /* of the heap image; NULL: program + ".image" */
	uint32_t wall_ms;    /* while the program runs, not while it waits */
	uint32_t cpu_ms;
	uint64_t heap_bytes;
	uint32_t stack_bytes;  /* half of it, at most 512 KiB, is usable */
	uint32_t output_bytes; /* the result; as much again for the console */
	uint32_t log_lines;

	/* Calls.  calls_max 0: no tools are connected. */
	uint32_t calls_max;	   /* in the whole run, suspended or not */
	uint32_t args_bytes;	   /* of one call */
	uint32_t args_total_bytes; /* of all calls between start and end */
	uint32_t returns_bytes;	   /* given to sandbox_return, not yet taken */
	uint32_t kept_bytes;	   /* of a suspended run, compressed */
};

struct sandbox_result {
	enum sandbox_status status;
	/*
	 * May something of the program have run, since the start?  False for
	 * one that does not parse, for a sandbox that did not start and for a
	 * heap that was not taken.
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
	int64_t wall_ms;       /* that the program ran, without its waiting */
	int64_t cpu_ms;
	const char *detail; /* for the log; NULL: nothing to tell */
};

/* What to run: a program's text, or the heap of a suspended run. */
struct sandbox_program {
	const char *code; /* UTF-8; NULL: heap */
	size_t code_len;
	/*
	 * The body of a script tool, which finds `args` and `ctx`; CTX is a
	 * JSON object whose members ctx gets beside its functions.
	 */
	bool is_script;
	const char *args; /* JSON; NULL: {} */
	size_t args_len;
	const char *ctx; /* NULL: {} */
	size_t ctx_len;
	const void *heap; /* of a HEAP event, in any process on any host */
	size_t heap_len;
};

/* Names of the calls that are not of a tool. */
#define SANDBOX_CALL_SEARCH   "$search"	  /* {query,namespace,limit,offset} */
#define SANDBOX_CALL_DESCRIBE "$describe" /* {path} */
#define SANDBOX_CALL_ELICIT   "$elicit"	  /* {message,requestedSchema} */
#define SANDBOX_CALL_PROGRESS "$progress" /* {progress,total?,message?} */
#define SANDBOX_CALL_LOG      "$log"	  /* {level,message} */

struct sandbox_call {
	uint32_t number;  /* 1, 2, 3 ... in the whole run; 0: is_oneway */
	uint32_t parent;  /* the call whose script calls; 0: the program */
	const char *path; /* "source.tool", or a name above; never empty */
	const char *args; /* JSON object by the sandbox's word */
	size_t args_len;
	bool is_oneway; /* nobody waits: sandbox_return is an error */
};

struct sandbox_heap {
	const void *data; /* compressed; seal before it leaves the process */
	size_t len;
	size_t raw_len;
	char engine[65]; /* the build that alone can go on with it, in hex */
};

enum sandbox_event_kind {
	SANDBOX_EVENT_NONE, /* poll, then ask again */
	SANDBOX_EVENT_CALL,
	SANDBOX_EVENT_IDLE,   /* the program waits for calls, and for nothing
			       * else; comes again after each time it ran */
	SANDBOX_EVENT_SCRIPT, /* see sandbox_script */
	SANDBOX_EVENT_HEAP,   /* after sandbox_suspend; the process has ended */
	SANDBOX_EVENT_END,    /* calls may be open: nobody waits for them */
};

/* How a call went. */
enum sandbox_answer {
	SANDBOX_ANSWER_ERROR, /* the promise settles to {ok:false,error:JSON} */
	SANDBOX_ANSWER_OK,    /* to {ok:true,data:JSON} */
	SANDBOX_ANSWER_THROW, /* it rejects with the message of JSON, which is
			       * {message}: faults that no program handles */
};

struct sandbox_script {
	uint32_t number; /* of the call, which is open still */
	enum sandbox_answer answer;
	const char *json;
	size_t json_len;
};

struct sandbox_event {
	enum sandbox_event_kind kind;
	struct sandbox_call call;
	struct sandbox_script script;
	struct sandbox_heap heap; /* until sandbox_close */
	/*
	 * Of END, and of HEAP, where its console lines are those since the
	 * start: they do not come again from the run that goes on.
	 */
	const struct sandbox_result *result;
};

/*
 * Start P within LIMITS, whose strings must last as long as *SB; what else
 * comes out of it lives in A.  Returns -1 only when no process can be made
 * (ERR_UNAVAILABLE) or the program is too long or not UTF-8 text
 * (ERR_INVALID); a heap that does not fit is an END.  A must have room for
 * output_bytes twice over and args_total_bytes.
 */
MUST_CHECK int sandbox_start(const struct sandbox_limits *limits,
	const struct sandbox_program *p, struct arena *a, struct sandbox **sb,
	struct err *e);

/* What to poll for; the descriptor stays the same until sandbox_close. */
int sandbox_fd(const struct sandbox *sb);
short sandbox_poll_events(const struct sandbox *sb);

/* For poll: what is left of the limits while the program runs, -1 while not. */
int sandbox_timeout_ms(const struct sandbox *sb);

/*
 * Send and receive what can be, and take the next event.  Every fault and
 * limit is an END.  After END or HEAP always that again.
 */
void sandbox_next(struct sandbox *sb, struct sandbox_event *event);

/*
 * Answer call NUMBER, once.  JSON is copied; it must be JSON, because the
 * program gets it as the engine reads it.  Works in any order, also for calls
 * that were made before a suspension.  Fails with ERR_LIMIT when returns_bytes
 * would not suffice, which never happens to answers of up to 4 KiB (say that
 * it was too large in one of those), and with ERR_INVALID when it is too long
 * altogether or no call of that number is open.  After END: 0, and no effect.
 */
MUST_CHECK int sandbox_return(struct sandbox *sb, uint32_t number,
	enum sandbox_answer answer, const char *json, size_t len,
	struct err *e);

/*
 * Answer call NUMBER with what the script BODY returns: it runs in the same
 * process but in a realm of its own, which the program cannot reach, with
 * `tools`, ARGS (JSON; what the call's arguments became) and CTX (a JSON
 * object).  Calls it makes name NUMBER as their parent.  What comes of it is
 * a SCRIPT event: OK and what it returned, or ERROR and {code:"script_error",
 * message, details?}.  The call is still open then, so that its outcome can be
 * written down before sandbox_return gives it to whoever waits; if the script
 * does not end, neither does the call.  Fails as sandbox_return does.
 */
MUST_CHECK int sandbox_script(struct sandbox *sb, uint32_t number,
	const char *body, size_t body_len, const char *args, size_t args_len,
	const char *ctx, size_t ctx_len, struct err *e);

/*
 * Ask for the heap, after IDLE and before any sandbox_return that follows it;
 * otherwise ERR_CONFLICT.  HEAP (or END with BIG_HEAP) is the next event.
 */
MUST_CHECK int sandbox_suspend(struct sandbox *sb, struct err *e);

/* End the process, if it is there still, and free what is not in A. */
void sandbox_close(struct sandbox *sb);

/*
 * Run the CODE_LEN bytes at CODE without tools.  Returns 0 with *OUT in A
 * whenever it is known what came of it, which includes every limit and fault
 * of the program and of the sandbox; otherwise fails as sandbox_start does.
 * Blocks up to wall_ms and half a second.  WATCH_FD, unless -1, ends the run
 * when its peer hangs up.
 */
MUST_CHECK int sandbox_run(const struct sandbox_limits *limits,
	const char *code, size_t code_len, int watch_fd, struct arena *a,
	struct sandbox_result **out, struct err *e);

/* "completed", "failed", "timed_out", ... */
const char *sandbox_status_name(enum sandbox_status status);

#endif
