/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/engine.h"

#include <sys/mman.h>
#include <sys/random.h>

#include "sandbox/rt.h"
#include "sandbox/vm.h"

static uint32_t code_at;

const char *
engine_limit(uint64_t heap_bytes, uint32_t stack_bytes)
{
	uint64_t more = (heap_bytes + VM_PAGE - 1) / VM_PAGE;
	uint64_t random;

	/* 4 GiB of pages would overflow the 32-bit size. */
	if (more > 65000 - vm_state.pages)
		return "heap_bytes is too large";
	if (mprotect(vm_q.w2c_memory.data + vm_q.w2c_memory.size,
		    more * VM_PAGE, PROT_READ | PROT_WRITE) != 0)
		return "no memory for the heap";
	rt_set_limit(vm_state.pages + more);
	if (stack_bytes > VM_STACK)
		stack_bytes = VM_STACK;
	Z_quickjsZ_qjs_set_max_stack_size(&vm_q, stack_bytes / 2);
	/* Every run from one image would draw the same numbers. */
	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return "no random numbers";
	} while (random == 0);
	memcpy(vm_mem(vm_state.random, sizeof(random)), &random,
		sizeof(random));
	return NULL;
}

char *
engine_code(size_t len)
{
	code_at = vm_alloc(len + 1);
	return (char *)vm_mem(code_at, len + 1);
}

static uint32_t
prop(uint32_t object, const char *name)
{
	uint32_t key = vm_put_text(name, strlen(name));
	uint32_t v = Z_quickjsZ_qjs_get_prop_string(&vm_q, object, key);

	Z_quickjsZ_wasm_free(&vm_q, key);
	return v;
}

static uint32_t
prop_number(uint32_t object, const char *name)
{
	double d = Z_quickjsZ_qjs_get_float64(&vm_q, prop(object, name));

	return d >= 0 && d <= UINT32_MAX ? (uint32_t)d : 0;
}

/*
 * The engine's own errors (out of memory, string too long) cannot be caught
 * by a program: they come out of the call or the job.  The value that says
 * how the run ends.
 */
static uint32_t
end_uncaught(void)
{
	uint32_t argv = vm_alloc(4);
	uint32_t v;

	vm_put32(argv, Z_quickjsZ_qjs_get_exception(&vm_q));
	v = Z_quickjsZ_qjs_call(
		&vm_q, prop(vm_state.run, "uncaught"), vm_state.run, 1, argv);
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		vm_trap("the prelude failed");
	return v;
}

static uint32_t
run_to_end(uint32_t code, uint32_t output_bytes)
{
	uint32_t argv = vm_alloc(8);
	uint32_t v;

	vm_put32(argv, code);
	vm_put32(argv + 4, Z_quickjsZ_qjs_new_number(&vm_q, output_bytes));
	v = Z_quickjsZ_qjs_call(&vm_q, vm_state.run,
		Z_quickjsZ_qjs_get_undefined(&vm_q), 2, argv);
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		return end_uncaught();
	while (Z_quickjsZ_qjs_is_job_pending(&vm_q))
		if ((int32_t)Z_quickjsZ_qjs_execute_pending_job(&vm_q) < 0)
			return end_uncaught();
	v = Z_quickjsZ_qjs_call(
		&vm_q, prop(vm_state.run, "end"), vm_state.run, 0, 0);
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		return end_uncaught();
	return v;
}

void
engine_run(size_t code_len, uint32_t output_bytes, struct engine_end *out)
{
	uint32_t code, v;
	size_t len;

	*vm_mem(code_at + code_len, 1) = '\0';
	code = Z_quickjsZ_qjs_new_string(&vm_q, code_at, code_len);
	Z_quickjsZ_wasm_free(&vm_q, code_at);
	v = run_to_end(code, output_bytes);

	memset(out, 0, sizeof(*out));
	out->is_ok = prop_number(v, "ok") == 1;
	if (out->is_ok) {
		out->result.has_value = prop_number(v, "has") == 1;
		out->result.is_cut = prop_number(v, "cut") == 1;
		out->result.json = vm_text(prop(v, "text"), &len);
		out->result.json_len = len;
	} else {
		out->failure.what = prop_number(v, "what");
		out->failure.line = prop_number(v, "line");
		out->failure.column = prop_number(v, "column");
		out->failure.message = vm_text(prop(v, "text"), &len);
		out->failure.message_len = len;
	}
}

const char *
engine_explain_fault(const void *addr, enum frame_error *what)
{
	const uint8_t *p = addr, *base = vm_q.w2c_memory.data;

	if (base == NULL || p < base || p >= base + RT_RESERVE)
		return NULL;
	/* Below address 0, where the engine's stack ends. */
	if (p >= base + (4ULL << 30) - VM_STACK &&
		p < base + (4ULL << 30) + VM_STACK) {
		*what = FRAME_ERROR_STACK;
		return "stack";
	}
	*what = rt_has_refused() ? FRAME_ERROR_MEMORY : FRAME_ERROR_INTERNAL;
	return "the engine left its memory";
}
