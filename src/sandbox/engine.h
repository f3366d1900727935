/* SPDX-License-Identifier: ISC */
/*
 * engine: running a program in the JavaScript engine: QuickJS-NG as
 * WebAssembly, translated to C by wasm2c.
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
	/* Does not return. */
	void (*fail)(enum frame_error what, const char *message);
};

/* How a program ended; the texts live in linear memory. */
struct engine_end {
	bool is_ok;
	struct frame_result result;
	struct frame_failure failure;
};

/*
 * Let memory grow by HEAP_BYTES beyond the image, and calls nest in half of
 * STACK_BYTES; start Math.random anew.  Returns NULL, or a literal that says
 * what is wrong.
 */
MUST_CHECK const char *engine_limit(uint64_t heap_bytes, uint32_t stack_bytes);

/*
 * Room for LEN bytes of program text (and a NUL, which the engine writes).
 * Fails through the hook when memory does not suffice.
 */
char *engine_code(size_t len);

/* Run the program that was put where engine_code said. */
void engine_run(size_t code_len, uint32_t output_bytes, struct engine_end *out);

/* What an access to ADDR that faulted means, NULL when it is not ours. */
const char *engine_explain_fault(const void *addr, enum frame_error *what);

#endif
