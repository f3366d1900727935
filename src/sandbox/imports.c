/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/imports.h"

#include <sys/random.h>

#include "sandbox/realm.h"
#include "sandbox/rt.h"
#include "sandbox/vm.h"

/* The clock while the image is made: every build makes the same image. */
#define BUILD_NS 1000000000000000000ULL

/* The value of the user's program ARGV[0] with FLAGS of the engine's eval. */
static uint32_t
eval_program(uint32_t argc, const uint32_t *argv, uint32_t flags)
{
	size_t len;
	const char *text;
	uint32_t v;

	if (argc < 1)
		return Z_quickjsZ_qjs_get_undefined(&vm_q);
	text = vm_text(argv[0], &len);
	v = vm_eval(vm_at(text), len, "program.js", flags);
	Z_quickjsZ_qjs_free_cstring(&vm_q, vm_at(text));
	return v;
}

/* compile(source): the value of SOURCE */
static uint32_t
host_compile(uint32_t argc, const uint32_t *argv)
{
	return eval_program(argc, argv, 0);
}

/* check(source): throws if SOURCE does not parse; nothing of it is run */
static uint32_t
host_check(uint32_t argc, const uint32_t *argv)
{
	uint32_t v = eval_program(argc, argv, VM_EVAL_COMPILE_ONLY);

	if (Z_quickjsZ_qjs_is_exception(&vm_q, v))
		return v;
	/* Bytecode: not a value that JavaScript may see. */
	Z_quickjsZ_qjs_free_value(&vm_q, v);
	return Z_quickjsZ_qjs_get_undefined(&vm_q);
}

/* line(text): false when no further one will be taken */
static uint32_t
host_line(uint32_t argc, const uint32_t *argv)
{
	size_t len;
	const char *text;
	bool more;

	if (argc < 1)
		return Z_quickjsZ_qjs_get_undefined(&vm_q);
	text = vm_text(argv[0], &len);
	more = vm_hooks->line(text, len);
	Z_quickjsZ_qjs_free_cstring(&vm_q, vm_at(text));
	return more ? Z_quickjsZ_qjs_get_true(&vm_q)
		    : Z_quickjsZ_qjs_get_false(&vm_q);
}

static uint32_t
host_drop(uint32_t argc UNUSED, const uint32_t *argv UNUSED)
{
	vm_hooks->drop();
	return Z_quickjsZ_qjs_get_undefined(&vm_q);
}

/* refused(): has memory run out at some time? */
static uint32_t
host_refused(uint32_t argc UNUSED, const uint32_t *argv UNUSED)
{
	return rt_has_refused() ? Z_quickjsZ_qjs_get_true(&vm_q)
				: Z_quickjsZ_qjs_get_false(&vm_q);
}

/*
 * call(path, args, isOneway): the number of the call, 0 for one that wants no
 * answer, below 0 when it was not made
 */
static uint32_t
host_tool(uint32_t argc, const uint32_t *argv)
{
	struct frame_call c = { 0 };
	size_t path_len;
	int refused = ENGINE_CALL_NEVER;

	if (argc < 3 || realm_current >= REALM_NONE)
		return Z_quickjsZ_qjs_new_number(&vm_q, refused);
	c.path = vm_text(argv[0], &path_len);
	c.path_len = path_len;
	c.args = vm_text(argv[1], &c.args_len);
	c.parent = vm_state.realms[realm_current].call;
	if (Z_quickjsZ_qjs_get_bool(&vm_q, argv[2]) == 0)
		c.number = vm_state.calls + 1;
	if (c.number != 0 && vm_state.open_count >= FRAME_OPEN_MAX)
		refused = ENGINE_CALL_OPEN;
	else if (path_len > 0 && path_len <= FRAME_PATH_MAX && c.args_len > 0)
		refused = vm_hooks->call(&c);
	Z_quickjsZ_qjs_free_cstring(&vm_q, vm_at(c.args));
	Z_quickjsZ_qjs_free_cstring(&vm_q, vm_at(c.path));
	if (refused != 0)
		return Z_quickjsZ_qjs_new_number(&vm_q, refused);
	if (c.number != 0) {
		struct frame_open *o = &vm_state.open[vm_state.open_count++];

		vm_state.calls = c.number;
		o->number = c.number;
		o->realm = realm_current;
	}
	return Z_quickjsZ_qjs_new_number(&vm_q, c.number);
}

static const struct {
	const char *name;
	uint32_t (*fn)(uint32_t argc, const uint32_t *argv);
} host_functions[] = {
	{ "call", host_tool },
	{ "check", host_check },
	{ "compile", host_compile },
	{ "line", host_line },
	{ "drop", host_drop },
	{ "refused", host_refused },
};

u32
Z_envZ_host_call(struct Z_env_instance_t *e UNUSED, u32 name, u32 name_len,
	u32 this UNUSED, u32 argc, u32 argv)
{
	const char *s = (const char *)vm_mem(name, name_len);
	uint32_t args[4] = { 0 };

	if (argc > NELEM(args))
		argc = NELEM(args);
	for (uint32_t i = 0; i < argc; i++)
		args[i] = vm_get32(argv + 4 * i);
	for (size_t i = 0; i < NELEM(host_functions); i++) {
		if (strlen(host_functions[i].name) != name_len ||
			memcmp(host_functions[i].name, s, name_len) != 0)
			continue;
		return host_functions[i].fn(argc, args);
	}
	vm_trap("unknown host function");
}

u32
Z_envZ_host_get_timezone_offset(
	struct Z_env_instance_t *e UNUSED, u32 hi UNUSED, u32 lo UNUSED)
{
	return 0; /* UTC */
}

u32
Z_envZ_host_interrupt(struct Z_env_instance_t *e UNUSED)
{
	return 0; /* timers end a run, see main.c */
}

/*
 * The prelude is told through its function `rejection`.  Whose promise it is
 * need not be asked: a realm has no other's.
 */
void
Z_envZ_host_promise_rejection(struct Z_env_instance_t *e UNUSED, u32 promise,
	u32 reason, u32 is_handled)
{
	const uint32_t argv[] = { promise, reason,
		is_handled ? Z_quickjsZ_qjs_get_true(&vm_q)
			   : Z_quickjsZ_qjs_get_false(&vm_q) };

	if (!vm_is_making && realm_current < REALM_NONE) {
		Z_quickjsZ_qjs_free_value(
			&vm_q, realm_call("rejection", NELEM(argv), argv));
		return;
	}
	for (size_t i = 0; i < NELEM(argv); i++)
		Z_quickjsZ_qjs_free_value(&vm_q, argv[i]);
}

u32
Z_envZ_host_module_normalize(
	struct Z_env_instance_t *e UNUSED, u32 base UNUSED, u32 name)
{
	u32 len = Z_quickjsZ_strlen(&vm_q, name);

	return vm_put_text((const char *)vm_mem(name, len), len);
}

u32
Z_envZ_host_module_load(
	struct Z_env_instance_t *e UNUSED, u32 name UNUSED, u32 out_len UNUSED)
{
	static const char text[] =
		"import() is not available: the sandbox has no modules. "
		"Write plain JavaScript; the world outside is reached "
		"through tools.* only.";
	u32 at = vm_put_text(text, strlen(text));
	u32 message = Z_quickjsZ_qjs_new_string(&vm_q, at, strlen(text));
	u32 error = Z_quickjsZ_qjs_new_error(&vm_q);
	u32 key = vm_put_text("message", 7);

	Z_quickjsZ_qjs_set_prop_string(&vm_q, error, key, message);
	Z_quickjsZ_wasm_free(&vm_q, key);
	Z_quickjsZ_wasm_free(&vm_q, at);
	(void)Z_quickjsZ_qjs_throw(&vm_q, error);
	return 0;
}

/* The imports of wasi_snapshot_preview1.  There are no files. */
#define WASI_BADF  8
#define WASI_NOSYS 52

u32
Z_wasi_snapshot_preview1Z_clock_time_get(
	struct Z_wasi_snapshot_preview1_instance_t *w UNUSED, u32 id,
	u64 precision UNUSED, u32 out)
{
	struct timespec ts;
	u64 ns = BUILD_NS;

	if (!vm_is_making) {
		clock_gettime(id == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &ts);
		ns = (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
		if (id != 0)
			ns += vm_clock_shift_ns;
	}
	memcpy(vm_mem(out, 8), &ns, 8);
	return 0;
}

u32
Z_wasi_snapshot_preview1Z_fd_close(
	struct Z_wasi_snapshot_preview1_instance_t *w UNUSED, u32 fd UNUSED)
{
	return WASI_BADF;
}

u32
Z_wasi_snapshot_preview1Z_fd_fdstat_get(
	struct Z_wasi_snapshot_preview1_instance_t *w UNUSED, u32 fd UNUSED,
	u32 out UNUSED)
{
	return WASI_BADF;
}

u32
Z_wasi_snapshot_preview1Z_fd_seek(
	struct Z_wasi_snapshot_preview1_instance_t *w UNUSED, u32 fd UNUSED,
	u64 offset UNUSED, u32 whence UNUSED, u32 out UNUSED)
{
	return WASI_NOSYS;
}

u32
Z_wasi_snapshot_preview1Z_fd_write(
	struct Z_wasi_snapshot_preview1_instance_t *w UNUSED, u32 fd UNUSED,
	u32 iovs UNUSED, u32 count UNUSED, u32 out UNUSED)
{
	return WASI_BADF;
}

u32
Z_wasi_snapshot_preview1Z_random_get(
	struct Z_wasi_snapshot_preview1_instance_t *w UNUSED, u32 at, u32 len)
{
	uint8_t *p = vm_mem(at, len);

	if (vm_is_making) {
		memset(p, 0x5a, len);
		return 0;
	}
	while (len > 0) {
		u32 n = len < 256 ? len : 256;

		if (getrandom(p, n, 0) != (ssize_t)n)
			return WASI_NOSYS;
		p += n;
		len -= n;
	}
	return 0;
}

void
imports_define(void)
{
	uint32_t global = Z_quickjsZ_qjs_get_global(&vm_q);

	for (size_t i = 0; i < NELEM(host_functions); i++) {
		const char *name = host_functions[i].name;
		uint32_t key = vm_put_text(name, strlen(name));
		uint32_t fn = Z_quickjsZ_qjs_new_host_function(
			&vm_q, key, strlen(name), 1);

		Z_quickjsZ_qjs_set_prop_string(&vm_q, global, key, fn);
		Z_quickjsZ_qjs_free_value(&vm_q, fn);
		Z_quickjsZ_wasm_free(&vm_q, key);
	}
	Z_quickjsZ_qjs_free_value(&vm_q, global);
}
