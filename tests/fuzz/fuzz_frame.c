/* SPDX-License-Identifier: ISC */
/*
 * Frames, as both sides read them: the first byte says whose stream the rest
 * is.  What is accepted must be within its bounds and survive being written
 * again.
 */
#include "base/compat.h"

#include "sandbox/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_run(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_RUN_LEN];
	struct frame_run r;

	if (frame_get_run(p, len, &r) != FRAME_OK)
		return;
	assert(r.args == (const char *)p + FRAME_RUN_LEN);
	assert(r.code + r.code_len == (const char *)p + len);
	frame_put_run(again, &r);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_result(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_RESULT_LEN];
	struct frame_result r;

	if (frame_get_result(p, len, &r) != FRAME_OK)
		return;
	assert(r.json_len == len - FRAME_RESULT_LEN);
	assert(memchr(r.json, '\0', r.json_len) == NULL);
	frame_put_result(again, &r);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_error(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_ERROR_LEN];
	struct frame_failure f;

	if (frame_get_error(p, len, &f) != FRAME_OK)
		return;
	assert(f.what < FRAME_ERROR__MAX);
	assert(f.message_len == len - FRAME_ERROR_LEN);
	frame_put_error(again, &f);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_call(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_CALL_LEN];
	struct frame_call c;

	if (frame_get_call(p, len, &c) != FRAME_OK)
		return;
	assert(c.path_len > 0 && c.args_len > 0);
	assert(FRAME_CALL_LEN + c.path_len + c.args_len == len);
	frame_put_call(again, &c);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_return(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_RETURN_LEN];
	struct frame_return r;

	if (frame_get_return(p, len, &r) != FRAME_OK)
		return;
	assert(FRAME_RETURN_LEN + r.json_len == len);
	frame_put_return(again, &r);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_script(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_SCRIPT_LEN];
	struct frame_script s;

	if (frame_get_script(p, len, &s) != FRAME_OK)
		return;
	assert(s.body + s.body_len == (const char *)p + len);
	frame_put_script(again, &s);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_check(const uint8_t *p, size_t len)
{
	uint8_t again[FRAME_CHECK_LEN];
	struct frame_check c;

	if (frame_get_check(p, len, &c) != FRAME_OK)
		return;
	assert(c.value + c.value_len == (const char *)p + len);
	frame_put_check(again, &c);
	assert(memcmp(again, p, sizeof(again)) == 0);
}

static void
check_heap(const uint8_t *p, size_t len, uint32_t *next)
{
	static struct frame_state s;
	static uint8_t again[FRAME_HEAP_MAX];
	struct frame_pages pages;
	enum frame_part part;
	const uint8_t *bytes;
	uint32_t count;

	if (frame_get_heap(p, len, &part) != FRAME_OK)
		return;
	if (part == FRAME_PART_STATE &&
		frame_get_state(p, len, &s) == FRAME_OK) {
		assert(frame_put_state(again, &s) == len);
		assert(memcmp(again, p, len) == 0);
	}
	if (part == FRAME_PART_PAGES &&
		frame_get_pages(p, len, next, &pages) == FRAME_OK) {
		size_t n = frame_put_pages(again);

		for (uint32_t i = 0; i < pages.count; i++) {
			count = frame_page(&pages, i, &bytes);
			assert(bytes + FRAME_PAGE <= p + len);
			n = frame_put_page(again, n, count, bytes);
		}
		assert(n == len && memcmp(again, p, len) == 0);
	}
	if (part == FRAME_PART_END)
		(void)!frame_get_heap_end(p, len, &count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t next = 0, taken;
	enum frame_from from;
	uint32_t seq = 0;

	if (size == 0)
		return 0;
	from = data[0] & 1 ? FRAME_FROM_PARENT : FRAME_FROM_SANDBOX;
	data++;
	size--;
	while (size >= FRAME_HEADER_LEN) {
		uint8_t again[FRAME_HEADER_LEN];
		struct frame_header h;

		if (frame_get_header(data, from, ++seq, &h) != FRAME_OK)
			return 0;
		frame_put_header(again, h.len, h.kind, h.seq);
		assert(memcmp(again, data, sizeof(again)) == 0);
		data += FRAME_HEADER_LEN;
		size -= FRAME_HEADER_LEN;
		if (h.len > size)
			return 0;
		switch (h.kind) {
		case FRAME_RUN:
			check_run(data, h.len);
			break;
		case FRAME_RESULT:
			check_result(data, h.len);
			break;
		case FRAME_ERROR:
			check_error(data, h.len);
			break;
		case FRAME_LOG:
			(void)!frame_get_log(data, h.len);
			break;
		case FRAME_CALL:
			check_call(data, h.len);
			break;
		case FRAME_RETURN:
		case FRAME_SCRIPTED:
		case FRAME_CHECKED:
			check_return(data, h.len);
			break;
		case FRAME_SCRIPT:
			check_script(data, h.len);
			break;
		case FRAME_CHECK:
			check_check(data, h.len);
			break;
		case FRAME_HEAP:
			check_heap(data, h.len, &next);
			break;
		case FRAME_IDLE:
			(void)!frame_get_idle(data, h.len, &taken);
			break;
		case FRAME_RESUME:
		case FRAME_CHECKER:
		case FRAME_SUSPEND:
			break;
		}
		data += h.len;
		size -= h.len;
	}
	return 0;
}
