/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/image.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>

#include "base/scope.h"
#include "sandbox/engine-id.h"
#include "sandbox/imports.h"
#include "sandbox/vm.h"

/*
 * An image file: this header, then, page-aligned on any host, the linear
 * memory.  Written and read on the same host, so in its byte order.
 */
#define IMAGE_MAGIC  "MCPHEAP1"
#define IMAGE_OFFSET 65536

/* SHA-256 over engine, prelude and TypeScript library. */
#define IMAGE_ID_LEN 32

/* Heap growth after which garbage is looked for first: see image_make. */
#define GC_ROOM (8u << 20)

struct image_header {
	char magic[8];
	uint8_t id[IMAGE_ID_LEN];
	struct vm_state state;
};

static const uint8_t image_id[IMAGE_ID_LEN] = ENGINE_ID;

/* The contents of NAME, or NULL after a message.  The caller frees. */
static char *
read_file(const char *name, size_t *len)
{
	AUTO_FILE *f = fopen(name, "r");
	struct stat st;
	char *p = NULL;

	if (f != NULL && fstat(fileno(f), &st) == 0)
		p = malloc(st.st_size + 1);
	if (p == NULL) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		return NULL;
	}
	*len = fread(p, 1, st.st_size, f);
	p[*len] = '\0';
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
	if (text == NULL)
		return 0;
	at = vm_put_text(text, len);
	v = vm_eval(at, len, "prelude.js", 0);
	Z_quickjsZ_wasm_free(&vm_q, at);
	if (Z_quickjsZ_qjs_is_exception(&vm_q, v)) {
		const char *s =
			vm_text(Z_quickjsZ_qjs_get_exception(&vm_q), &len);
		fprintf(stderr, "%s: %.*s\n", name, (int)len, s);
		return 0;
	}
	return v;
}

static double
draw(void)
{
	static const char code[] = "Math.random()";
	uint32_t at = vm_put_text(code, strlen(code));
	uint32_t v = vm_eval(at, strlen(code), "prelude.js", 0);
	double d = Z_quickjsZ_qjs_get_float64(&vm_q, v);

	Z_quickjsZ_qjs_free_value(&vm_q, v);
	Z_quickjsZ_wasm_free(&vm_q, at);
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

	memcpy(before, vm_mem(vm_state.context, sizeof(before)),
		sizeof(before));
	(void)draw();
	for (uint32_t i = 0; i < NELEM(before); i++) {
		memcpy(&after, vm_mem(vm_state.context + 8 * i, 8), 8);
		x = before[i];
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		if (x == 0 || x != after)
			continue;
		if (found != 0)
			return 0;
		found = vm_state.context + 8 * i;
	}
	return found;
}

static void
seed(uint64_t v)
{
	memcpy(vm_mem(vm_state.random, 8), &v, 8);
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

static int
write_image(const char *file)
{
	AUTO_FREE char *head = calloc(1, IMAGE_OFFSET);
	AUTO_FILE *f = fopen(file, "w");
	struct image_header h = { .magic = IMAGE_MAGIC, .state = vm_state };

	memcpy(h.id, image_id, sizeof(h.id));
	if (head == NULL || f == NULL) {
		fprintf(stderr, "%s: %s\n", file, strerror(errno));
		return -1;
	}
	memcpy(head, &h, sizeof(h));
	if (fwrite(head, IMAGE_OFFSET, 1, f) != 1 ||
		fwrite(vm_q.w2c_memory.data, vm_q.w2c_memory.size, 1, f) != 1 ||
		fflush(f) != 0) {
		fprintf(stderr, "%s: %s\n", file, strerror(errno));
		return -1;
	}
	return 0;
}

int
image_make(const char *file, const char *prelude, const char *typescript,
	const struct engine_hooks *h)
{
	uint32_t v;

	vm_hooks = h;
	vm_is_making = true;
	vm_start(4096);
	Z_quickjsZ__initialize(&vm_q);
	if (Z_quickjsZ_qjs_init(&vm_q) != 0) {
		fprintf(stderr, "the engine does not start\n");
		return -1;
	}
	vm_state.context = Z_quickjsZ_qjs_get_context_ptr(&vm_q);
	vm_state.runtime = Z_quickjsZ_qjs_get_runtime_ptr(&vm_q);
	vm_state.random = find_random();
	if (vm_state.random == 0 || !is_seedable()) {
		fprintf(stderr, "the state of Math.random is not found: "
				"not the engine this was written for?\n");
		return -1;
	}
	Z_quickjsZ_qjs_set_max_stack_size(&vm_q, VM_STACK / 2);
	imports_define();
	if ((v = load_script(typescript)) == 0)
		return -1;
	Z_quickjsZ_qjs_free_value(&vm_q, v);
	if ((v = load_script(prelude)) == 0)
		return -1;
	if (!Z_quickjsZ_qjs_is_function(&vm_q, v)) {
		fprintf(stderr, "%s: not a function\n", prelude);
		return -1;
	}
	while (Z_quickjsZ_qjs_is_job_pending(&vm_q))
		if ((int32_t)Z_quickjsZ_qjs_execute_pending_job(&vm_q) < 0)
			return -1;
	vm_state.run = v;
	Z_quickjsZ_qjs_set_promise_rejection_handler(&vm_q, 1);
	Z_quickjsZ_qjs_set_module_loader(&vm_q, 1);
	Z_quickjsZ_qjs_run_gc(&vm_q);
	/*
	 * A collection writes to every object, thus copies every page of the
	 * image; a small program should end before its first.
	 */
	Z_quickjsZ_qjs_set_gc_threshold(
		&vm_q, Z_quickjsZ_qjs_get_allocated_size(&vm_q) + GC_ROOM);
	vm_state.pages = vm_q.w2c_memory.pages;
	vm_state.stack_pointer = *Z_quickjsZ___stack_pointer(&vm_q);
	return write_image(file);
}

const char *
image_open(const char *file, const struct engine_hooks *h)
{
	AUTO_FD fd = open(file, O_RDONLY | O_CLOEXEC);
	struct image_header header;
	struct stat st;
	size_t len;

	vm_hooks = h;
	if (fd < 0)
		return "the heap image is missing";
	if (fstat(fd, &st) != 0 ||
		read(fd, &header, sizeof(header)) != sizeof(header) ||
		memcmp(header.magic, IMAGE_MAGIC, sizeof(header.magic)) != 0)
		return "the heap image is damaged";
	if (memcmp(header.id, image_id, sizeof(header.id)) != 0)
		return "the heap image is of another build";
	len = (size_t)header.state.pages * VM_PAGE;
	if (header.state.pages == 0 || header.state.pages > 4096 ||
		st.st_size != (off_t)(IMAGE_OFFSET + len))
		return "the heap image is damaged";

	vm_state = header.state;
	vm_start(vm_state.pages);
	if (mmap(vm_q.w2c_memory.data, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED, fd, IMAGE_OFFSET) == MAP_FAILED)
		return "the heap image cannot be mapped";
	vm_q.w2c_memory.pages = vm_state.pages;
	vm_q.w2c_memory.size = len;
	*Z_quickjsZ___stack_pointer(&vm_q) = vm_state.stack_pointer;
	Z_quickjsZ_qjs_set_runtime_and_context(
		&vm_q, vm_state.runtime, vm_state.context);
	return NULL;
}
