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
	assert(r.code == (const char *)p + FRAME_RUN_LEN);
	assert(r.code_len == len - FRAME_RUN_LEN);
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
		}
		data += h.len;
		size -= h.len;
	}
	return 0;
}
