/* SPDX-License-Identifier: ISC */
/*
 * engine: the JavaScript engine, QuickJS-NG as WebAssembly translated to C,
 * and the heap image it starts from.  The only user of the generated code.
 *
 * One engine a process.  Its whole state is its linear memory and four
 * numbers (struct engine_state), because no WebAssembly frame is on the stack
 * between two calls of this module: that is what an image is, and what a
 * suspended run will be.  The image is mapped privately over the linear
 * memory, so that a run copies only the pages it writes.
 *
 * What cannot go on (a trap, a limit) ends the process through the `fail`
 * hook: nothing is unwound.  After engine_open no function of this module
 * makes a system call, except to read a clock or random bytes.
 */
#ifndef SANDBOX_ENGINE_H
#define SANDBOX_ENGINE_H

#define ENGINE_ID_LEN 32

/* Everything outside of linear memory that a program's state consists of. */
struct engine_state {
	uint32_t pages; /* of 64 KiB */
	uint32_t stack_pointer;
	uint32_t runtime;
	uint32_t context;
	uint32_t run;	 /* the prelude's function that runs a program */
	uint32_t random; /* where Math.random keeps its 8 bytes */
};

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

/* 32 bytes: SHA-256 over engine, prelude and TypeScript library. */
extern const uint8_t engine_id[ENGINE_ID_LEN];

/*
 * Build the image FILE from the scripts PRELUDE and TYPESCRIPT.  A build
 * step: returns 0, or -1 after saying why on stderr.
 */
MUST_CHECK int engine_make_image(const char *file, const char *prelude,
	const char *typescript, const struct engine_hooks *hooks);

/*
 * Map the image FILE and let memory grow by HEAP_BYTES beyond it.  Returns
 * NULL, or a literal that says what is wrong.
 */
MUST_CHECK const char *engine_open(const char *file,
	const struct engine_hooks *hooks);
MUST_CHECK const char *engine_limit(uint64_t heap_bytes,
	uint32_t stack_bytes);

/*
 * Room for LEN bytes of program text (and a NUL, which the engine writes).
 * Fails through the hook when memory does not suffice.
 */
char *engine_code(size_t len);

/* Run the program that was put where engine_code said. */
void engine_run(size_t code_len, uint32_t output_bytes,
	struct engine_end *out);

/* What an access to ADDR that faulted means, NULL when it is not ours. */
const char *engine_explain_fault(const void *addr, enum frame_error *what);

#endif
