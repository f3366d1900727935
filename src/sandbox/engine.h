/* SPDX-License-Identifier: ISC */
/*
 * engine: running a program in the JavaScript engine: QuickJS-NG as
 * WebAssembly, translated to C by wasm2c.
 *
 * Texts for the engine are read straight into its memory: engine_text makes
 * room, the caller fills it, the next function takes it.
 *
 * What cannot go on (a trap, a limit) ends the process through the `fail`
 * hook: nothing is unwound.  After engine_limit no function of this module
 * makes a system call, except to read a clock or random bytes.
 */
#ifndef SANDBOX_ENGINE_H
#define SANDBOX_ENGINE_H

struct engine_hooks {
	/* One console line, UTF-8.  False: no further line will be taken. */
	bool (*line)(const char *text, size_t len);
	/* A line that was not offered because `line` said false. */
	void (*drop)(void);
	/* A call; 0, or why it is not made: enum engine_call. */
	int (*call)(const struct frame_call *call);
	/* What the script of a call came to. */
	void (*scripted)(const struct frame_return *r);
	/* Does not return. */
	void (*fail)(enum frame_error what, const char *message);
};

/* The prelude has the words. */
enum engine_call {
	ENGINE_CALL_MADE = 0,
	ENGINE_CALL_MANY = -1,	/* calls_max */
	ENGINE_CALL_LARGE = -2, /* args_total */
	ENGINE_CALL_OPEN = -3,	/* FRAME_OPEN_MAX */
	ENGINE_CALL_NEVER = -4,
};

/* As the prelude knows them. */
enum engine_kind {
	ENGINE_PROGRAM,
	ENGINE_ROOT_SCRIPT,
	ENGINE_INNER_SCRIPT,
};

/* How a program ended; the texts live in linear memory. */
struct engine_end {
	bool is_ok;
	struct frame_result result;
	struct frame_failure failure;
};

/*
 * Let memory grow by HEAP_BYTES beyond the image.  Returns NULL, or a literal
 * that says what is wrong, as engine_prepare does.
 */
MUST_CHECK const char *engine_limit(uint64_t heap_bytes);

/*
 * For a program that begins: let calls nest in half of STACK_BYTES, start
 * Math.random anew.
 */
MUST_CHECK const char *engine_prepare(uint32_t stack_bytes);

/*
 * Room for LEN bytes of text (and a NUL, which the engine writes).  Fails
 * through the hook when memory does not suffice.
 */
char *engine_text(size_t len);

/* What scripts of a resumed run may call. */
void engine_connect(const struct frame_run *r);

/* Start the program R; the text is its args, ctx and code. */
void engine_start(const struct frame_run *r);

/*
 * Let the program run as far as it can.  False: it waits for calls.  True: it
 * has ended, as OUT says.
 */
bool engine_turn(struct engine_end *out);

/*
 * Answer a call; the text is the JSON.  A number that is not open (any more)
 * is nothing.
 */
void engine_return(const struct frame_return *r);

/* Start the script S; the text is its args, ctx and body. */
void engine_script(const struct frame_script *s);

/*
 * In a process that has no program: ask the checker; the text is schema and
 * value.  The answer is JSON, until engine_checked.
 */
const char *engine_check(const struct frame_check *c, size_t *len);
void engine_checked(const char *answer);

/* What an access to ADDR that faulted means, NULL when it is not ours. */
const char *engine_explain_fault(const void *addr, enum frame_error *what);

#endif
