/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/vm.h"

#include "sandbox/rt.h"

Z_quickjs_instance_t vm_q;
struct frame_state vm_state;
int64_t vm_clock_shift_ns;
const struct engine_hooks *vm_hooks;
bool vm_is_making;

void
vm_end(enum frame_error what, const char *message)
{
	vm_hooks->fail(what, message);
	abort();
}

void
vm_trap(const char *message)
{
	/* The engine aborts when it cannot even report that memory is out. */
	if (rt_has_refused())
		vm_end(FRAME_ERROR_MEMORY, NULL);
	vm_end(FRAME_ERROR_INTERNAL, message);
}

uint8_t *
vm_mem(uint32_t at, size_t len)
{
	if (at > vm_q.w2c_memory.size || len > vm_q.w2c_memory.size - at)
		vm_trap("the engine left its memory");
	return vm_q.w2c_memory.data + at;
}

void
vm_put32(uint32_t at, uint32_t v)
{
	memcpy(vm_mem(at, 4), &v, 4);
}

uint32_t
vm_get32(uint32_t at)
{
	uint32_t v;

	memcpy(&v, vm_mem(at, 4), 4);
	return v;
}

uint32_t
vm_alloc(size_t len)
{
	uint32_t at = len < UINT32_MAX ? Z_quickjsZ_wasm_malloc(&vm_q, len) : 0;

	if (at == 0)
		vm_end(FRAME_ERROR_MEMORY, NULL);
	vm_mem(at, len);
	return at;
}

const char *
vm_text(uint32_t value, size_t *len)
{
	uint32_t out = vm_alloc(4);
	uint32_t at = Z_quickjsZ_qjs_get_string_len(&vm_q, value, out);

	*len = vm_get32(out);
	Z_quickjsZ_wasm_free(&vm_q, out);
	if (at == 0)
		vm_end(rt_has_refused() ? FRAME_ERROR_MEMORY
					: FRAME_ERROR_INTERNAL,
			NULL);
	return (const char *)vm_mem(at, *len);
}

uint32_t
vm_at(const char *text)
{
	return (const uint8_t *)text - vm_q.w2c_memory.data;
}

uint32_t
vm_put_text(const char *s, size_t len)
{
	uint32_t at = vm_alloc(len + 1);

	memcpy(vm_mem(at, len + 1), s, len);
	*vm_mem(at + len, 1) = '\0';
	return at;
}

uint32_t
vm_eval(uint32_t code, size_t len, const char *name, uint32_t flags)
{
	uint32_t file = vm_put_text(name, strlen(name));
	uint32_t v = Z_quickjsZ_qjs_eval(&vm_q, code, len, file, flags);

	Z_quickjsZ_wasm_free(&vm_q, file);
	return v;
}

void
vm_start(uint32_t pages)
{
	rt_init(vm_trap);
	rt_set_limit(pages);
	Z_quickjs_init_module();
	Z_quickjs_instantiate(&vm_q, NULL, NULL);
}
