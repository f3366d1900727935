/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/suspend.h"

#include "sandbox/image.h"
#include "sandbox/realm.h"
#include "sandbox/rt.h"
#include "sandbox/vm.h"

#define PER_PAGE (VM_PAGE / FRAME_PAGE)

static const uint8_t zeros[FRAME_PAGE];
static uint8_t payload[FRAME_HEAP_MAX];

/* What of a heap was read. */
static bool has_state;
static uint32_t next_page, page_count;

static uint64_t
clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static const uint8_t *
pristine(uint32_t page)
{
	return page < image_pages * PER_PAGE
		       ? image_pristine + (size_t)page * FRAME_PAGE
		       : zeros;
}

static void
xor_page(uint8_t *out, const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;

	for (uint32_t i = 0; i < FRAME_PAGE; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		x ^= y;
		memcpy(out + i, &x, 8);
	}
}

void
suspend_write(void (*send)(const uint8_t *p, size_t len))
{
	uint8_t changed[FRAME_PAGE];
	uint32_t in_frame = 0, count = 0;
	size_t len = 0;

	vm_state.pages = vm_q.w2c_memory.pages;
	vm_state.stack_pointer = *Z_quickjsZ___stack_pointer(&vm_q);
	vm_state.mono_ns = clock_ns(CLOCK_MONOTONIC) + vm_clock_shift_ns;
	vm_state.real_ns = clock_ns(CLOCK_REALTIME);
	send(payload, frame_put_state(payload, &vm_state));
	for (uint32_t i = 0; i < vm_state.pages * PER_PAGE; i++) {
		const uint8_t *now =
			vm_q.w2c_memory.data + (size_t)i * FRAME_PAGE;

		if (memcmp(now, pristine(i), FRAME_PAGE) == 0)
			continue;
		if (in_frame == 0)
			len = frame_put_pages(payload);
		xor_page(changed, now, pristine(i));
		len = frame_put_page(payload, len, i, changed);
		count++;
		if (++in_frame == FRAME_PAGES_MAX) {
			send(payload, len);
			in_frame = 0;
		}
	}
	if (in_frame > 0)
		send(payload, len);
	send(payload, frame_put_heap_end(payload, count));
}

/*
 * The heap was sealed, so this is what this program once wrote; yet nothing
 * in it is believed that would let this process, rather than the program in
 * it, be led astray.
 */
static const char *
read_state(const uint8_t *p, size_t len, enum frame_error *what)
{
	static struct frame_state s;
	uint64_t now = clock_ns(CLOCK_REALTIME);
	uint64_t bytes;

	if (frame_get_state(p, len, &s) != FRAME_OK)
		return "the state of the heap is damaged";
	if (memcmp(s.engine, vm_state.engine, sizeof(s.engine)) != 0) {
		*what = FRAME_ERROR_BUILD;
		return "the heap is of another build";
	}
	if (s.pages > rt_limit()) {
		*what = FRAME_ERROR_MEMORY;
		return "";
	}
	bytes = (uint64_t)s.pages * VM_PAGE;
	if (s.pages < image_pages || s.runtime != vm_state.runtime ||
		s.stack_pointer != vm_state.stack_pointer ||
		s.realms[0].context != vm_state.realms[0].context ||
		s.realms[0].run != vm_state.realms[0].run ||
		s.realms[0].call != 0)
		return "the state of the heap does not fit";
	for (uint32_t i = 0; i < s.realm_count; i++)
		if (s.realms[i].context >= bytes || s.realms[i].run >= bytes ||
			s.realms[i].random >= bytes ||
			(s.realms[i].context == 0 && s.realms[i].call != 0))
			return "the state of the heap does not fit";
	vm_state = s;
	vm_q.w2c_memory.pages = s.pages;
	vm_q.w2c_memory.size = bytes;
	/* The program's clock goes on, by the time that it waited. */
	vm_clock_shift_ns = s.mono_ns - clock_ns(CLOCK_MONOTONIC);
	if (now > s.real_ns)
		vm_clock_shift_ns += now - s.real_ns;
	has_state = true;
	return NULL;
}

static const char *
read_pages(const uint8_t *p, size_t len)
{
	struct frame_pages pages;

	if (!has_state ||
		frame_get_pages(p, len, &next_page, &pages) != FRAME_OK ||
		next_page > vm_state.pages * PER_PAGE)
		return "a page of the heap is out of place";
	for (uint32_t i = 0; i < pages.count; i++) {
		const uint8_t *bytes;
		uint32_t page = frame_page(&pages, i, &bytes);

		xor_page(vm_q.w2c_memory.data + (size_t)page * FRAME_PAGE,
			bytes, pristine(page));
	}
	page_count += pages.count;
	return NULL;
}

const char *
suspend_read(
	const uint8_t *p, size_t len, bool *is_complete, enum frame_error *what)
{
	enum frame_part part;
	uint32_t count;

	*what = FRAME_ERROR_HEAP;
	if (frame_get_heap(p, len, &part) != FRAME_OK)
		return "the heap is damaged";
	switch (part) {
	case FRAME_PART_STATE:
		if (has_state)
			return "the heap has two states";
		return read_state(p, len, what);
	case FRAME_PART_PAGES:
		return read_pages(p, len);
	default:
		if (!has_state ||
			frame_get_heap_end(p, len, &count) != FRAME_OK ||
			count != page_count)
			return "the heap is not complete";
		*is_complete = true;
		realm_enter(0);
		return NULL;
	}
}
