/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/engine.h"

#include <sys/mman.h>

#include "sandbox/realm.h"
#include "sandbox/rt.h"
#include "sandbox/vm.h"

/* A script's result goes to its caller whole or not at all. */
#define SCRIPT_RESULT_BYTES (4u << 20)

static uint32_t text_at;

/* What the prelude wants to know of the limits. */
static uint32_t args_bytes, calls_max;

const char *
engine_limit(uint64_t heap_bytes)
{
	uint64_t more = (heap_bytes + VM_PAGE - 1) / VM_PAGE;

	/* 4 GiB of pages would overflow the 32-bit size. */
	if (more > 65000 - vm_state.pages)
		return "heap_bytes is too large";
	if (mprotect(vm_q.w2c_memory.data + vm_q.w2c_memory.size,
		    more * VM_PAGE, PROT_READ | PROT_WRITE) != 0)
		return "no memory for the heap";
	rt_set_limit(vm_state.pages + more);
	return NULL;
}

const char *
engine_prepare(uint32_t stack_bytes)
{
	if (stack_bytes > VM_STACK)
		stack_bytes = VM_STACK;
	Z_quickjsZ_qjs_set_max_stack_size(&vm_q, stack_bytes / 2);
	return realm_seed(&vm_state.realms[0]) ? NULL : "no random numbers";
}

char *
engine_text(size_t len)
{
	text_at = vm_alloc(len + 1);
	*vm_mem(text_at + len, 1) = '\0';
	return (char *)vm_mem(text_at, len + 1);
}

/* LEN bytes of the text from OFFSET on as a string; moves OFFSET on. */
static uint32_t
take_text(size_t *offset, size_t len)
{
	uint32_t v = Z_quickjsZ_qjs_new_string(&vm_q, text_at + *offset, len);

	*offset += len;
	return v;
}

static void
end_text(void)
{
	Z_quickjsZ_wasm_free(&vm_q, text_at);
}

static uint32_t
number(double v)
{
	return Z_quickjsZ_qjs_new_number(&vm_q, v);
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
	uint32_t v = prop(object, name);
	double d = Z_quickjsZ_qjs_get_float64(&vm_q, v);

	Z_quickjsZ_qjs_free_value(&vm_q, v);
	return d >= 0 && d <= UINT32_MAX ? (uint32_t)d : 0;
}

static void
fill_end(struct engine_end *out, uint32_t v)
{
	size_t len;

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

/*
 * The engine's own errors (out of memory, string too long) cannot be caught
 * by a program: they come out of the call or the job, and end everything.
 */
static bool
end_uncaught(struct engine_end *out)
{
	const uint32_t argv[] = { Z_quickjsZ_qjs_get_exception(&vm_q) };
	uint32_t v;

	if (realm_current >= REALM_NONE)
		realm_enter(0);
	v = realm_call("uncaught", NELEM(argv), argv);
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		vm_trap("the prelude failed");
	fill_end(out, v);
	return true;
}

/* A value that the prelude gave and nobody wants; true: it is the end. */
static bool
is_uncaught(uint32_t v, struct engine_end *out)
{
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		return end_uncaught(out);
	Z_quickjsZ_qjs_free_value(&vm_q, v);
	return false;
}

/* What came of something that began before the turn. */
static struct engine_end early;
static bool has_early;

/* Start what is in the text in the current realm. */
static void
start(enum engine_kind kind, size_t args_len, size_t ctx_len, size_t code_len,
	uint32_t output_bytes)
{
	size_t at = 0;
	uint32_t argv[7];

	argv[5] = take_text(&at, args_len);
	argv[6] = take_text(&at, ctx_len);
	argv[0] = take_text(&at, code_len);
	end_text();
	argv[1] = number(output_bytes);
	argv[2] = number(args_bytes);
	argv[3] = number(calls_max);
	argv[4] = number(kind);
	if (is_uncaught(realm_call(NULL, NELEM(argv), argv), &early))
		has_early = true;
}

void
engine_connect(const struct frame_run *r)
{
	args_bytes = r->calls_max > 0 ? r->args_bytes : 0;
	calls_max = r->calls_max;
}

void
engine_start(const struct frame_run *r)
{
	engine_connect(r);
	realm_enter(0);
	start(r->is_script ? ENGINE_ROOT_SCRIPT : ENGINE_PROGRAM, r->args_len,
		r->ctx_len, r->code_len, r->output_bytes);
}

static bool
run_jobs(struct engine_end *out)
{
	uint32_t context;

	while ((context = Z_quickjsZ_JS_GetPendingJobContext(
			&vm_q, vm_state.runtime)) != 0) {
		realm_enter_context(context);
		if ((int32_t)Z_quickjsZ_qjs_execute_pending_job(&vm_q) < 0)
			return end_uncaught(out);
	}
	return false;
}

/* A script ended with V: tell, and take its realm away. */
static bool
end_script(uint32_t realm, uint32_t v, struct engine_end *out)
{
	struct frame_return r = { .number = vm_state.realms[realm].call };
	uint32_t text;

	if (prop_number(v, "what") == FRAME_ERROR_MEMORY) {
		fill_end(out, v);
		return true;
	}
	r.answer = prop_number(v, "ok") == 1 ? FRAME_ANSWER_OK
					     : FRAME_ANSWER_ERROR;
	text = prop(v, "text");
	r.json = vm_text(text, &r.json_len);
	vm_hooks->scripted(&r);
	Z_quickjsZ_qjs_free_cstring(&vm_q, vm_at(r.json));
	Z_quickjsZ_qjs_free_value(&vm_q, text);
	Z_quickjsZ_qjs_free_value(&vm_q, v);
	realm_free(realm);
	return false;
}

bool
engine_turn(struct engine_end *out)
{
	if (has_early) {
		*out = early;
		return true;
	}
again:
	if (run_jobs(out))
		return true;
	for (uint32_t i = 0; i < vm_state.realm_count; i++) {
		uint32_t v;

		if (i > 0 && vm_state.realms[i].call == 0)
			continue;
		realm_enter(i);
		v = realm_call("end", 0, NULL);
		if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
			return end_uncaught(out);
		if (Z_quickjsZ_qjs_is_undefined(&vm_q, v)) {
			Z_quickjsZ_qjs_free_value(&vm_q, v);
			continue;
		}
		if (i == 0) {
			fill_end(out, v);
			return true;
		}
		if (end_script(i, v, out))
			return true;
	}
	if (Z_quickjsZ_qjs_is_job_pending(&vm_q))
		goto again;
	return false;
}

void
engine_return(const struct frame_return *r)
{
	size_t at = 0;
	uint32_t i = 0, realm, argv[3];

	while (i < vm_state.open_count && vm_state.open[i].number != r->number)
		i++;
	if (i == vm_state.open_count) {
		end_text();
		return;
	}
	realm = vm_state.open[i].realm;
	vm_state.open[i] = vm_state.open[--vm_state.open_count];
	if (realm == REALM_NONE) {
		end_text();
		return;
	}
	realm_enter(realm);
	argv[0] = number(r->number);
	argv[1] = number(r->answer);
	argv[2] = take_text(&at, r->json_len);
	end_text();
	if (is_uncaught(realm_call("settle", NELEM(argv), argv), &early))
		has_early = true;
}

void
engine_script(const struct frame_script *s)
{
	static const char full[] =
		"{\"code\":\"too_many_scripts\",\"message\":"
		"\"Too many script tools run at the same time\"}";
	const struct frame_return r = { .number = s->number,
		.answer = FRAME_ANSWER_ERROR,
		.json = full,
		.json_len = strlen(full) };
	uint32_t realm = realm_take(s->number);

	if (realm == REALM_NONE) {
		end_text();
		vm_hooks->scripted(&r);
		return;
	}
	realm_enter(realm);
	start(ENGINE_INNER_SCRIPT, s->args_len, s->ctx_len, s->body_len,
		SCRIPT_RESULT_BYTES);
}

const char *
engine_check(const struct frame_check *c, size_t *len)
{
	size_t at = 0;
	uint32_t argv[3], v;
	const char *answer;

	realm_enter(REALM_CHECKER);
	argv[0] = number(c->what);
	argv[1] = take_text(&at, c->schema_len);
	argv[2] = take_text(&at, c->value_len);
	end_text();
	v = realm_call(NULL, NELEM(argv), argv);
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		vm_end(FRAME_ERROR_MEMORY, NULL);
	answer = vm_text(v, len);
	Z_quickjsZ_qjs_free_value(&vm_q, v);
	return answer;
}

void
engine_checked(const char *answer)
{
	Z_quickjsZ_qjs_free_cstring(&vm_q, vm_at(answer));
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
