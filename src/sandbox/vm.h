/* SPDX-License-Identifier: ISC */
/*
 * vm: the instance of the generated engine and the way into its memory; for
 * engine.c, image.c, imports.c, realm.c and heap.c.
 *
 * One engine a process.  Its whole state is its linear memory and vm_state,
 * because no WebAssembly frame is on the stack between two calls: that is what
 * an image is, and what a suspended run is.
 *
 * Values of the engine and addresses in its memory are both uint32_t here.
 */
#ifndef SANDBOX_VM_H
#define SANDBOX_VM_H

#include "sandbox/engine.h"
#include "sandbox/quickjs.h"

#define VM_PAGE 65536u
/* The engine's stack, by its linker; half is kept for the engine itself. */
#define VM_STACK (1u << 20)

extern Z_quickjs_instance_t vm_q;
/* Everything outside of linear memory that a program's state consists of. */
extern struct frame_state vm_state;
/* What the image's clock was moved on by, see heap.c. */
extern int64_t vm_clock_shift_ns;
extern const struct engine_hooks *vm_hooks;
/* The image is being made: no clock, no randomness. */
extern bool vm_is_making;

/* Instantiate the engine with room for PAGES. */
void vm_start(uint32_t pages);

/* End the run; and what a trap ends it with. */
void vm_end(enum frame_error what, const char *message) NORETURN;
void vm_trap(const char *message) NORETURN;

/* The LEN bytes of linear memory at AT; a trap when they are not all there. */
uint8_t *vm_mem(uint32_t at, size_t len);
uint32_t vm_get32(uint32_t at);
void vm_put32(uint32_t at, uint32_t v);

/* The engine's malloc; ends the run when memory is out. */
uint32_t vm_alloc(size_t len);
/* A copy of S with a NUL. */
uint32_t vm_put_text(const char *s, size_t len);

/*
 * A string value as UTF-8.  It stays until qjs_free_cstring(vm_at(text)); the
 * texts that end a run are never freed, the process ends with them.
 */
const char *vm_text(uint32_t value, size_t *len);
uint32_t vm_at(const char *text);

/* Evaluate CODE, which a NUL follows, as the script NAME. */
#define VM_EVAL_COMPILE_ONLY (1u << 5)
uint32_t vm_eval(uint32_t code, size_t len, const char *name, uint32_t flags);

#endif
