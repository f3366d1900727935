/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/engine.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <fcntl.h>

#include "sandbox/engine-id.h"
#include "sandbox/quickjs.h"
#include "base/scope.h"
#include "sandbox/rt.h"

/*
 * An image file: this header in one page, then the linear memory.  Written
 * and read on the same host, so in its byte order.
 */
#define IMAGE_MAGIC  "MCPHEAP1"
#define IMAGE_OFFSET 65536
#define WASM_PAGE    65536u

/* The engine's stack is 1 MiB by its linker; half is kept for the engine. */
#define STACK_TOTAL  (1u << 20)

/* Heap growth after which garbage is looked for first: see make_image. */
#define GC_ROOM (8u << 20)

/* The clock while the image is made: every build makes the same image. */
#define BUILD_NS 1000000000000000000ULL

struct image_header {
	char magic[8];
	uint8_t id[ENGINE_ID_LEN];
	struct engine_state state;
};

const uint8_t engine_id[ENGINE_ID_LEN] = ENGINE_ID;

static Z_quickjs_instance_t q;
static const struct engine_hooks *hooks;
static struct engine_state state;
static uint32_t code_at;
static bool is_making;

static void NORETURN
end_run(enum frame_error what, const char *message)
{
	hooks->fail(what, message);
	abort();
}

static void NORETURN
on_trap(const char *message)
{
	/* The engine aborts when it cannot even report that memory is out. */
	if (rt_has_refused())
		end_run(FRAME_ERROR_MEMORY, NULL);
	end_run(FRAME_ERROR_INTERNAL, message);
}

/* LEN bytes of linear memory at AT.  The engine hands out such addresses. */
static uint8_t *
mem(uint32_t at, size_t len)
{
	if (at > q.w2c_memory.size || len > q.w2c_memory.size - at)
		on_trap("the engine left its memory");
	return q.w2c_memory.data + at;
}

static void
mem_put32(uint32_t at, uint32_t v)
{
	memcpy(mem(at, 4), &v, 4);
}

static uint32_t
mem_get32(uint32_t at)
{
	uint32_t v;

	memcpy(&v, mem(at, 4), 4);
	return v;
}

static uint32_t
mem_alloc(size_t len)
{
	uint32_t at = len < UINT32_MAX ? Z_quickjsZ_wasm_malloc(&q, len) : 0;

	if (at == 0)
		end_run(FRAME_ERROR_MEMORY, NULL);
	mem(at, len);
	return at;
}

/*
 * Strings of the engine.  The text stays valid: a run frees nothing that its
 * end needs, and the process ends with it.
 */
static const char *
text_of(uint32_t value, size_t *len)
{
	uint32_t out = mem_alloc(4);
	uint32_t at = Z_quickjsZ_qjs_get_string_len(&q, value, out);

	*len = mem_get32(out);
	Z_quickjsZ_wasm_free(&q, out);
	if (at == 0)
		end_run(rt_has_refused() ? FRAME_ERROR_MEMORY
					     : FRAME_ERROR_INTERNAL,
			NULL);
	return (const char *)mem(at, *len);
}

static uint32_t
at_of(const char *text)
{
	return (const uint8_t *)text - q.w2c_memory.data;
}

static uint32_t
put_text(const char *s, size_t len)
{
	uint32_t at = mem_alloc(len + 1);

	memcpy(mem(at, len + 1), s, len);
	*mem(at + len, 1) = '\0';
	return at;
}

static uint32_t
eval(uint32_t code, size_t len, const char *name)
{
	uint32_t file = put_text(name, strlen(name));
	uint32_t v = Z_quickjsZ_qjs_eval(&q, code, len, file, 0);

	Z_quickjsZ_wasm_free(&q, file);
	return v;
}

/* The imports of env. */

/* compile(source): the value of SOURCE evaluated as the user's program */
static uint32_t
host_compile(uint32_t argc, const uint32_t *argv)
{
	size_t len;
	const char *text;
	uint32_t v;

	if (argc < 1)
		return Z_quickjsZ_qjs_get_undefined(&q);
	text = text_of(argv[0], &len);
	v = eval(at_of(text), len, "program.js");
	Z_quickjsZ_qjs_free_cstring(&q, at_of(text));
	return v;
}

/* line(text): false when no further one will be taken */
static uint32_t
host_line(uint32_t argc, const uint32_t *argv)
{
	size_t len;
	const char *text;
	bool more;

	if (argc < 1)
		return Z_quickjsZ_qjs_get_undefined(&q);
	text = text_of(argv[0], &len);
	more = hooks->line(text, len);
	Z_quickjsZ_qjs_free_cstring(&q, at_of(text));
	return more ? Z_quickjsZ_qjs_get_true(&q)
		    : Z_quickjsZ_qjs_get_false(&q);
}

static uint32_t
host_drop(uint32_t argc UNUSED, const uint32_t *argv UNUSED)
{
	hooks->drop();
	return Z_quickjsZ_qjs_get_undefined(&q);
}

/* refused(): has memory run out at some time? */
static uint32_t
host_refused(uint32_t argc UNUSED, const uint32_t *argv UNUSED)
{
	return rt_has_refused() ? Z_quickjsZ_qjs_get_true(&q)
				: Z_quickjsZ_qjs_get_false(&q);
}

static const struct {
	const char *name;
	uint32_t (*fn)(uint32_t argc, const uint32_t *argv);
} host_functions[] = {
	{ "compile", host_compile },
	{ "line", host_line },
	{ "drop", host_drop },
	{ "refused", host_refused },
};

u32
Z_envZ_host_call(struct Z_env_instance_t *e UNUSED, u32 name, u32 name_len,
	u32 this UNUSED, u32 argc, u32 argv)
{
	const char *s = (const char *)mem(name, name_len);
	uint32_t args[4] = { 0 };

	if (argc > NELEM(args))
		argc = NELEM(args);
	for (uint32_t i = 0; i < argc; i++)
		args[i] = mem_get32(argv + 4 * i);
	for (size_t i = 0; i < NELEM(host_functions); i++) {
		if (strlen(host_functions[i].name) != name_len
			|| memcmp(host_functions[i].name, s, name_len) != 0)
			continue;
		return host_functions[i].fn(argc, args);
	}
	on_trap("unknown host function");
}

u32
Z_envZ_host_get_timezone_offset(struct Z_env_instance_t *e UNUSED,
	u32 hi UNUSED, u32 lo UNUSED)
{
	return 0; /* UTC */
}

u32
Z_envZ_host_interrupt(struct Z_env_instance_t *e UNUSED)
{
	return 0; /* timers end a run, see main.c */
}

/*
 * The prelude is told through its function `rejection`, whose value is kept
 * as a property of the run function.
 */
void
Z_envZ_host_promise_rejection(struct Z_env_instance_t *e UNUSED, u32 promise,
	u32 reason, u32 is_handled)
{
	static const char name[] = "rejection";
	uint32_t key, fn, argv, flag, r;

	if (state.run != 0) {
		key = put_text(name, strlen(name));
		fn = Z_quickjsZ_qjs_get_prop_string(&q, state.run, key);
		flag = is_handled ? Z_quickjsZ_qjs_get_true(&q)
				  : Z_quickjsZ_qjs_get_false(&q);
		argv = mem_alloc(12);
		mem_put32(argv, promise);
		mem_put32(argv + 4, reason);
		mem_put32(argv + 8, flag);
		r = Z_quickjsZ_qjs_call(&q, fn, state.run, 3, argv);
		Z_quickjsZ_qjs_free_value(&q, r);
		Z_quickjsZ_qjs_free_value(&q, flag);
		Z_quickjsZ_qjs_free_value(&q, fn);
		Z_quickjsZ_wasm_free(&q, argv);
		Z_quickjsZ_wasm_free(&q, key);
	}
	Z_quickjsZ_qjs_free_value(&q, promise);
	Z_quickjsZ_qjs_free_value(&q, reason);
}

u32
Z_envZ_host_module_normalize(struct Z_env_instance_t *e UNUSED,
	u32 base UNUSED, u32 name)
{
	u32 len = Z_quickjsZ_strlen(&q, name);

	return put_text((const char *)mem(name, len), len);
}

u32
Z_envZ_host_module_load(struct Z_env_instance_t *e UNUSED, u32 name UNUSED,
	u32 out_len UNUSED)
{
	static const char text[] =
		"import() is not available: the sandbox has no modules. "
		"Write plain JavaScript; the world outside is reached "
		"through tools.* only.";
	u32 at = put_text(text, strlen(text));
	u32 message = Z_quickjsZ_qjs_new_string(&q, at, strlen(text));
	u32 error = Z_quickjsZ_qjs_new_error(&q);
	u32 key = put_text("message", 7);

	Z_quickjsZ_qjs_set_prop_string(&q, error, key, message);
	Z_quickjsZ_wasm_free(&q, key);
	Z_quickjsZ_wasm_free(&q, at);
	(void)Z_quickjsZ_qjs_throw(&q, error);
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

	if (!is_making) {
		clock_gettime(id == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &ts);
		ns = (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
	}
	memcpy(mem(out, 8), &ns, 8);
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
	uint8_t *p = mem(at, len);

	if (is_making) {
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

static void
instantiate(uint32_t pages)
{
	rt_init(on_trap);
	rt_set_limit(pages);
	Z_quickjs_init_module();
	Z_quickjs_instantiate(&q, NULL, NULL);
}

/* Making the image. */

static char *
read_file(const char *name, size_t *len)
{
	FILE *f = fopen(name, "r");
	struct stat st;
	char *p;

	if (f == NULL || fstat(fileno(f), &st) != 0
		|| (p = malloc(st.st_size + 1)) == NULL) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		exit(1);
	}
	*len = fread(p, 1, st.st_size, f);
	p[*len] = '\0';
	fclose(f);
	return p;
}

/* Evaluate the script NAME; its value, or 0 after a message. */
static uint32_t
load_script(const char *name)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	uint32_t at, v;

	text = read_file(name, &len);
	at = put_text(text, len);
	v = eval(at, len, "prelude.js");
	Z_quickjsZ_wasm_free(&q, at);
	if (Z_quickjsZ_qjs_is_exception(&q, v)) {
		const char *s = text_of(Z_quickjsZ_qjs_get_exception(&q),
			&len);
		fprintf(stderr, "%s: %.*s\n", name, (int)len, s);
		return 0;
	}
	return v;
}

static double
draw(void)
{
	static const char code[] = "Math.random()";
	uint32_t at = put_text(code, strlen(code));
	uint32_t v = eval(at, strlen(code), "prelude.js");
	double d = Z_quickjsZ_qjs_get_float64(&q, v);

	Z_quickjsZ_qjs_free_value(&q, v);
	Z_quickjsZ_wasm_free(&q, at);
	return d;
}

/*
 * Where Math.random keeps its state: the only 8 bytes of the context that a
 * draw changes as xorshift64 does.
 */
static uint32_t
find_random(void)
{
	uint64_t before[512], after, x;
	uint32_t found = 0;

	memcpy(before, mem(state.context, sizeof(before)), sizeof(before));
	(void)draw();
	for (uint32_t i = 0; i < NELEM(before); i++) {
		memcpy(&after, mem(state.context + 8 * i, 8), 8);
		x = before[i];
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		if (x == 0 || x != after)
			continue;
		if (found != 0)
			return 0;
		found = state.context + 8 * i;
	}
	return found;
}

static void
seed(uint64_t v)
{
	memcpy(mem(state.random, 8), &v, 8);
}

static bool
is_seedable(void)
{
	double a, b, c;

	seed(0x123456789);
	a = draw();
	b = draw();
	seed(0x123456789);
	c = draw();
	return a == c && a != b;
}

static void
define_host_functions(void)
{
	uint32_t global = Z_quickjsZ_qjs_get_global(&q);

	for (size_t i = 0; i < NELEM(host_functions); i++) {
		const char *name = host_functions[i].name;
		uint32_t key = put_text(name, strlen(name));
		uint32_t fn = Z_quickjsZ_qjs_new_host_function(&q, key,
			strlen(name), 1);

		Z_quickjsZ_qjs_set_prop_string(&q, global, key, fn);
		Z_quickjsZ_qjs_free_value(&q, fn);
		Z_quickjsZ_wasm_free(&q, key);
	}
	Z_quickjsZ_qjs_free_value(&q, global);
}

static int
write_image(const char *file)
{
	AUTO_FREE char *head = calloc(1, IMAGE_OFFSET);
	AUTO_FILE *f = fopen(file, "w");
	struct image_header h = { .magic = IMAGE_MAGIC, .state = state };

	memcpy(h.id, engine_id, sizeof(h.id));
	if (head == NULL || f == NULL) {
		fprintf(stderr, "%s: %s\n", file, strerror(errno));
		return -1;
	}
	memcpy(head, &h, sizeof(h));
	if (fwrite(head, IMAGE_OFFSET, 1, f) != 1
		|| fwrite(q.w2c_memory.data, q.w2c_memory.size, 1, f) != 1
		|| fflush(f) != 0) {
		fprintf(stderr, "%s: %s\n", file, strerror(errno));
		return -1;
	}
	return 0;
}

int
engine_make_image(const char *file, const char *prelude,
	const char *typescript, const struct engine_hooks *h)
{
	uint32_t v;

	hooks = h;
	is_making = true;
	instantiate(4096);
	Z_quickjsZ__initialize(&q);
	if (Z_quickjsZ_qjs_init(&q) != 0) {
		fprintf(stderr, "the engine does not start\n");
		return -1;
	}
	state.context = Z_quickjsZ_qjs_get_context_ptr(&q);
	state.runtime = Z_quickjsZ_qjs_get_runtime_ptr(&q);
	state.random = find_random();
	if (state.random == 0 || !is_seedable()) {
		fprintf(stderr, "the state of Math.random is not found: "
				"not the engine this was written for?\n");
		return -1;
	}
	Z_quickjsZ_qjs_set_max_stack_size(&q, STACK_TOTAL / 2);
	define_host_functions();
	if ((v = load_script(typescript)) == 0)
		return -1;
	Z_quickjsZ_qjs_free_value(&q, v);
	if ((v = load_script(prelude)) == 0)
		return -1;
	if (!Z_quickjsZ_qjs_is_function(&q, v)) {
		fprintf(stderr, "%s: not a function\n", prelude);
		return -1;
	}
	while (Z_quickjsZ_qjs_is_job_pending(&q))
		if ((int32_t)Z_quickjsZ_qjs_execute_pending_job(&q) < 0)
			return -1;
	state.run = v;
	Z_quickjsZ_qjs_set_promise_rejection_handler(&q, 1);
	Z_quickjsZ_qjs_set_module_loader(&q, 1);
	Z_quickjsZ_qjs_run_gc(&q);
	/*
	 * A collection writes to every object, thus copies every page of the
	 * image; a small program should end before its first.
	 */
	Z_quickjsZ_qjs_set_gc_threshold(&q,
		Z_quickjsZ_qjs_get_allocated_size(&q) + GC_ROOM);
	state.pages = q.w2c_memory.pages;
	state.stack_pointer = *Z_quickjsZ___stack_pointer(&q);
	return write_image(file);
}

/* Running from the image. */

const char *
engine_open(const char *file, const struct engine_hooks *h)
{
	AUTO_FD fd = open(file, O_RDONLY | O_CLOEXEC);
	struct image_header header;
	struct stat st;
	size_t len;

	hooks = h;
	if (fd < 0)
		return "the heap image is missing";
	if (fstat(fd, &st) != 0
		|| read(fd, &header, sizeof(header)) != sizeof(header)
		|| memcmp(header.magic, IMAGE_MAGIC, sizeof(header.magic)) != 0)
		return "the heap image is damaged";
	if (memcmp(header.id, engine_id, sizeof(header.id)) != 0)
		return "the heap image is of another build";
	len = (size_t)header.state.pages * WASM_PAGE;
	if (header.state.pages == 0 || header.state.pages > 4096
		|| st.st_size != (off_t)(IMAGE_OFFSET + len))
		return "the heap image is damaged";

	state = header.state;
	instantiate(state.pages);
	if (mmap(q.w2c_memory.data, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED, fd, IMAGE_OFFSET)
		== MAP_FAILED)
		return "the heap image cannot be mapped";
	q.w2c_memory.pages = state.pages;
	q.w2c_memory.size = len;
	*Z_quickjsZ___stack_pointer(&q) = state.stack_pointer;
	Z_quickjsZ_qjs_set_runtime_and_context(&q, state.runtime,
		state.context);
	return NULL;
}

const char *
engine_limit(uint64_t heap_bytes, uint32_t stack_bytes)
{
	uint64_t more = (heap_bytes + WASM_PAGE - 1) / WASM_PAGE;
	uint64_t random;

	/* 4 GiB of pages would overflow the 32-bit size. */
	if (more > 65000 - state.pages)
		return "heap_bytes is too large";
	if (mprotect(q.w2c_memory.data + q.w2c_memory.size, more * WASM_PAGE,
		    PROT_READ | PROT_WRITE)
		!= 0)
		return "no memory for the heap";
	rt_set_limit(state.pages + more);
	if (stack_bytes > STACK_TOTAL)
		stack_bytes = STACK_TOTAL;
	Z_quickjsZ_qjs_set_max_stack_size(&q, stack_bytes / 2);
	/* Every run from one image would draw the same numbers. */
	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return "no random numbers";
	} while (random == 0);
	seed(random);
	return NULL;
}

char *
engine_code(size_t len)
{
	code_at = mem_alloc(len + 1);
	return (char *)mem(code_at, len + 1);
}

static uint32_t
prop(uint32_t object, const char *name)
{
	uint32_t key = put_text(name, strlen(name));
	uint32_t v = Z_quickjsZ_qjs_get_prop_string(&q, object, key);

	Z_quickjsZ_wasm_free(&q, key);
	return v;
}

static uint32_t
prop_number(uint32_t object, const char *name)
{
	double d = Z_quickjsZ_qjs_get_float64(&q, prop(object, name));

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
	uint32_t argv = mem_alloc(4);
	uint32_t v;

	mem_put32(argv, Z_quickjsZ_qjs_get_exception(&q));
	v = Z_quickjsZ_qjs_call(&q, prop(state.run, "uncaught"), state.run, 1,
		argv);
	if (Z_quickjsZ_qjs_is_exception(&q, v))
		on_trap("the prelude failed");
	return v;
}

static uint32_t
run_to_end(uint32_t code, uint32_t output_bytes)
{
	uint32_t argv = mem_alloc(8);
	uint32_t v;

	mem_put32(argv, code);
	mem_put32(argv + 4, Z_quickjsZ_qjs_new_number(&q, output_bytes));
	v = Z_quickjsZ_qjs_call(&q, state.run,
		Z_quickjsZ_qjs_get_undefined(&q), 2, argv);
	if (Z_quickjsZ_qjs_is_exception(&q, v))
		return end_uncaught();
	while (Z_quickjsZ_qjs_is_job_pending(&q))
		if ((int32_t)Z_quickjsZ_qjs_execute_pending_job(&q) < 0)
			return end_uncaught();
	v = Z_quickjsZ_qjs_call(&q, prop(state.run, "end"), state.run, 0, 0);
	if (Z_quickjsZ_qjs_is_exception(&q, v))
		return end_uncaught();
	return v;
}

void
engine_run(size_t code_len, uint32_t output_bytes, struct engine_end *out)
{
	uint32_t code, v;
	size_t len;

	*mem(code_at + code_len, 1) = '\0';
	code = Z_quickjsZ_qjs_new_string(&q, code_at, code_len);
	Z_quickjsZ_wasm_free(&q, code_at);
	v = run_to_end(code, output_bytes);

	memset(out, 0, sizeof(*out));
	out->is_ok = prop_number(v, "ok") == 1;
	if (out->is_ok) {
		out->result.has_value = prop_number(v, "has") == 1;
		out->result.is_cut = prop_number(v, "cut") == 1;
		out->result.json = text_of(prop(v, "text"), &len);
		out->result.json_len = len;
	} else {
		out->failure.what = prop_number(v, "what");
		out->failure.line = prop_number(v, "line");
		out->failure.column = prop_number(v, "column");
		out->failure.message = text_of(prop(v, "text"), &len);
		out->failure.message_len = len;
	}
}

const char *
engine_explain_fault(const void *addr, enum frame_error *what)
{
	const uint8_t *p = addr, *base = q.w2c_memory.data;

	if (base == NULL || p < base || p >= base + RT_RESERVE)
		return NULL;
	/* Below address 0, where the engine's stack ends. */
	if (p >= base + (4ULL << 30) - STACK_TOTAL
		&& p < base + (4ULL << 30) + STACK_TOTAL) {
		*what = FRAME_ERROR_STACK;
		return "stack";
	}
	*what = rt_has_refused() ? FRAME_ERROR_MEMORY : FRAME_ERROR_INTERNAL;
	return "the engine left its memory";
}
