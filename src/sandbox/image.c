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
#include "sandbox/realm.h"
#include "sandbox/vm.h"

/*
 * An image file: this header, then, page-aligned on any host, the linear
 * memory.  Written and read on the same host, so in its byte order.
 */
#define IMAGE_MAGIC  "MCPHEAP2"
#define IMAGE_OFFSET 65536

/* From SHA-256 over what mcp-sandbox and the image are built of. */
#define IMAGE_ID_LEN FRAME_ENGINE_LEN

/* Heap growth after which garbage is looked for first: see image_make. */
#define GC_ROOM (8u << 20)

struct image_header {
	char magic[8];
	uint8_t id[IMAGE_ID_LEN];
	struct frame_state state;
	struct frame_realm checker;
	uint32_t prelude, prelude_len;
};

const uint8_t *image_pristine;
uint32_t image_pages;

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

	const uint32_t context = vm_state.realms[0].context;

	memcpy(before, vm_mem(context, sizeof(before)), sizeof(before));
	(void)draw();
	for (uint32_t i = 0; i < NELEM(before); i++) {
		memcpy(&after, vm_mem(context + 8 * i, 8), 8);
		x = before[i];
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		if (x == 0 || x != after)
			continue;
		if (found != 0)
			return 0;
		found = context + 8 * i;
	}
	return found;
}

static void
seed(uint64_t v)
{
	memcpy(vm_mem(vm_state.realms[0].random, 8), &v, 8);
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

/* 8 bytes that say what is in linear memory (FNV-1a, by words). */
static void
sum_memory(uint8_t out[8])
{
	uint64_t sum = 0xcbf29ce484222325, word;

	for (size_t i = 0; i < vm_q.w2c_memory.size; i += 8) {
		memcpy(&word, vm_q.w2c_memory.data + i, 8);
		sum = (sum ^ word) * 0x100000001b3;
		sum ^= sum >> 32;
	}
	memcpy(out, &sum, 8);
}

static int
write_image(const char *file)
{
	AUTO_FREE char *head = calloc(1, IMAGE_OFFSET);
	AUTO_FILE *f = fopen(file, "w");
	struct image_header h = { .magic = IMAGE_MAGIC,
		.state = vm_state,
		.checker = realm_checker,
		.prelude = realm_prelude,
		.prelude_len = realm_prelude_len };

	memcpy(h.id, image_id, sizeof(h.id));
	/* A heap is of this image and of no other. */
	memcpy(h.state.engine, image_id, IMAGE_ID_LEN);
	sum_memory(h.state.engine + IMAGE_ID_LEN - 8);
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

/* The script FILE as code for realm_make; 0 after a message. */
static uint32_t
load_code(const char *file, uint32_t *len)
{
	AUTO_FREE char *text = NULL;
	uint32_t at, code;
	size_t n;

	text = read_file(file, &n);
	if (text == NULL)
		return 0;
	at = vm_put_text(text, n);
	code = realm_compile(at, n, len);
	Z_quickjsZ_wasm_free(&vm_q, at);
	if (code == 0) {
		const char *s =
			vm_text(Z_quickjsZ_qjs_get_exception(&vm_q), &n);

		fprintf(stderr, "%s: %.*s\n", file, (int)n, s);
	}
	return code;
}

/*
 * The realms of the image: the program's, which has the TypeScript library
 * too; some for scripts; and the checker's.
 */
static bool
make_realms(const struct image_sources *from)
{
	uint32_t v, code, len;

	realm_current = REALM_NONE;
	if ((v = load_script(from->typescript)) == 0)
		return false;
	Z_quickjsZ_qjs_free_value(&vm_q, v);
	realm_prelude = load_code(from->prelude, &realm_prelude_len);
	if (realm_prelude == 0)
		return false;
	for (uint32_t i = 0; i < 1 + REALM_SPARE; i++)
		if (!realm_make(&vm_state.realms[i], realm_prelude,
			    realm_prelude_len, i == 0))
			return false;
	vm_state.realm_count = 1 + REALM_SPARE;
	code = load_code(from->checker, &len);
	if (code == 0 || !realm_make(&realm_checker, code, len, false))
		return false;
	Z_quickjsZ_wasm_free(&vm_q, code);
	while (Z_quickjsZ_qjs_is_job_pending(&vm_q))
		if ((int32_t)Z_quickjsZ_qjs_execute_pending_job(&vm_q) < 0)
			return false;
	realm_enter(0);
	return true;
}

int
image_make(const char *file, const struct image_sources *from,
	const struct engine_hooks *h)
{
	struct frame_realm *first = &vm_state.realms[0];

	vm_hooks = h;
	vm_is_making = true;
	vm_start(4096);
	Z_quickjsZ__initialize(&vm_q);
	if (Z_quickjsZ_qjs_init(&vm_q) != 0) {
		fprintf(stderr, "the engine does not start\n");
		return -1;
	}
	first->context = Z_quickjsZ_qjs_get_context_ptr(&vm_q);
	vm_state.runtime = Z_quickjsZ_qjs_get_runtime_ptr(&vm_q);
	first->random = find_random();
	if (first->random == 0 || !is_seedable()) {
		fprintf(stderr, "the state of Math.random is not found: "
				"not the engine this was written for?\n");
		return -1;
	}
	Z_quickjsZ_qjs_set_max_stack_size(&vm_q, VM_STACK / 2);
	if (!make_realms(from))
		return -1;
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
	vm_state.output_bytes = 1;
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
	realm_checker = header.checker;
	realm_prelude = header.prelude;
	realm_prelude_len = header.prelude_len;
	vm_start(vm_state.pages);
	if (mmap(vm_q.w2c_memory.data, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED, fd, IMAGE_OFFSET) == MAP_FAILED)
		return "the heap image cannot be mapped";
	/* Costs nothing until somebody wants to know what has changed. */
	image_pristine =
		mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, IMAGE_OFFSET);
	if (image_pristine == MAP_FAILED)
		return "the heap image cannot be mapped";
	image_pages = vm_state.pages;
	vm_q.w2c_memory.pages = vm_state.pages;
	vm_q.w2c_memory.size = len;
	*Z_quickjsZ___stack_pointer(&vm_q) = vm_state.stack_pointer;
	realm_enter(0);
	return NULL;
}
