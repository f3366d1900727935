/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/realm.h"

#include <sys/random.h>

#include "sandbox/imports.h"
#include "sandbox/vm.h"

/* Of the engine. */
#define COMPILE_STRIP_SOURCE 1

struct frame_realm realm_checker;
uint32_t realm_prelude, realm_prelude_len;
uint32_t realm_current;

static struct frame_realm *
realm_at(uint32_t realm)
{
	return realm == REALM_CHECKER ? &realm_checker
				      : &vm_state.realms[realm];
}

void
realm_enter(uint32_t realm)
{
	realm_current = realm;
	Z_quickjsZ_qjs_set_runtime_and_context(
		&vm_q, vm_state.runtime, realm_at(realm)->context);
}

void
realm_enter_context(uint32_t context)
{
	uint32_t realm = 0;

	if (realm_current < REALM_NONE &&
		vm_state.realms[realm_current].context == context)
		return;
	while (realm < vm_state.realm_count &&
		vm_state.realms[realm].context != context)
		realm++;
	realm_current = realm < vm_state.realm_count ? realm : REALM_NONE;
	Z_quickjsZ_qjs_set_runtime_and_context(
		&vm_q, vm_state.runtime, context);
}

bool
realm_make(struct frame_realm *out, uint32_t code, uint32_t code_len,
	bool is_first)
{
	const uint32_t before = realm_current;
	/* Math.random is where it is in the first. */
	const uint32_t random =
		vm_state.realms[0].random - vm_state.realms[0].context;
	uint32_t v;

	memset(out, 0, sizeof(*out));
	out->context =
		is_first ? Z_quickjsZ_qjs_get_context_ptr(&vm_q)
			 : Z_quickjsZ_JS_NewContext(&vm_q, vm_state.runtime);
	if (out->context == 0)
		return false;
	out->random = out->context + random;
	realm_current = REALM_NONE;
	Z_quickjsZ_qjs_set_runtime_and_context(
		&vm_q, vm_state.runtime, out->context);
	imports_define();
	v = Z_quickjsZ_qjs_eval_bytecode(&vm_q, code, code_len);
	if (Z_quickjsZ_qjs_is_function(&vm_q, v))
		out->run = v;
	else if (vm_is_making && Z_quickjsZ_qjs_is_exception(&vm_q, v)) {
		size_t len;
		const char *s =
			vm_text(Z_quickjsZ_qjs_get_exception(&vm_q), &len);

		fprintf(stderr, "prelude: %.*s\n", (int)len, s);
	}
	if (before != REALM_NONE)
		realm_enter(before);
	return out->run != 0;
}

uint32_t
realm_compile(uint32_t at, uint32_t len, uint32_t *code_len)
{
	static const char name[] = "prelude.js";
	uint32_t file = vm_put_text(name, strlen(name));
	uint32_t out = vm_alloc(4);
	uint32_t code = Z_quickjsZ_qjs_compile(
		&vm_q, at, len, file, 0, COMPILE_STRIP_SOURCE, out);

	*code_len = vm_get32(out);
	Z_quickjsZ_wasm_free(&vm_q, out);
	Z_quickjsZ_wasm_free(&vm_q, file);
	return code;
}

uint32_t
realm_take(uint32_t number)
{
	uint32_t free_slot = REALM_NONE, i;

	for (i = 1; i < FRAME_REALMS_MAX; i++) {
		if (vm_state.realms[i].context != 0 &&
			vm_state.realms[i].call == 0)
			break;
		if (vm_state.realms[i].context == 0 && free_slot == REALM_NONE)
			free_slot = i;
	}
	if (i == FRAME_REALMS_MAX) {
		i = free_slot;
		if (i == REALM_NONE)
			return REALM_NONE;
		if (!realm_make(&vm_state.realms[i], realm_prelude,
			    realm_prelude_len, false))
			vm_end(FRAME_ERROR_MEMORY, NULL);
	}
	vm_state.realms[i].call = number;
	if (vm_state.realm_count <= i)
		vm_state.realm_count = i + 1;
	if (!realm_seed(&vm_state.realms[i]))
		vm_end(FRAME_ERROR_INTERNAL, "no random numbers");
	return i;
}

void
realm_free(uint32_t realm)
{
	struct frame_realm *r = &vm_state.realms[realm];

	realm_enter(realm);
	Z_quickjsZ_qjs_free_value(&vm_q, r->run);
	realm_enter(0);
	Z_quickjsZ_JS_FreeContext(&vm_q, r->context);
	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < vm_state.open_count; i++)
		if (vm_state.open[i].realm == realm)
			vm_state.open[i].realm = REALM_NONE;
}

bool
realm_seed(const struct frame_realm *r)
{
	uint64_t random;

	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return false;
	} while (random == 0);
	memcpy(vm_mem(r->random, sizeof(random)), &random, sizeof(random));
	return true;
}

uint32_t
realm_call(const char *name, uint32_t argc, const uint32_t *argv)
{
	const uint32_t run = realm_at(realm_current)->run;
	uint32_t fn = run, at = 0, v, key;

	if (name != NULL) {
		key = vm_put_text(name, strlen(name));
		fn = Z_quickjsZ_qjs_get_prop_string(&vm_q, run, key);
		Z_quickjsZ_wasm_free(&vm_q, key);
	}
	if (argc > 0)
		at = vm_alloc(4 * (size_t)argc);
	for (uint32_t i = 0; i < argc; i++)
		vm_put32(at + 4 * i, argv[i]);
	v = Z_quickjsZ_qjs_call(&vm_q, fn, run, argc, at);
	for (uint32_t i = 0; i < argc; i++)
		Z_quickjsZ_qjs_free_value(&vm_q, argv[i]);
	if (argc > 0)
		Z_quickjsZ_wasm_free(&vm_q, at);
	if (name != NULL)
		Z_quickjsZ_qjs_free_value(&vm_q, fn);
	return v;
}
