/* SPDX-License-Identifier: ISC */
/*
 * Heaps of suspended runs, as they come out of a row: whatever the bytes are,
 * what is given on is within bounds, and what is taken as whole is the same
 * when it is written and read again.
 */
#include "base/compat.h"

#include "run/heap.h"

#include "sandbox/frame.h"

#define RAW_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taken {
	struct heap *again;
	size_t raw_len;
	uint32_t sum;
};

static bool
take(void *arg, const uint8_t *p, size_t len)
{
	struct taken *t = arg;

	assert(len <= FRAME_HEAP_MAX);
	t->raw_len += 4 + len;
	assert(t->raw_len <= RAW_MAX);
	for (size_t i = 0; i < len; i++)
		t->sum = t->sum * 31 + p[i];
	return t->again == NULL || heap_add(t->again, p, len) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct taken first = { .again = heap_new(2 * RAW_MAX) }, second = { 0 };
	const void *again;
	size_t len, raw_len;

	assert(first.again != NULL);
	if (heap_read(data, size, RAW_MAX, take, &first) == NULL) {
		assert(heap_end(first.again) == 0);
		again = heap_data(first.again, &len, &raw_len);
		assert(raw_len == first.raw_len);
		assert(heap_read(again, len, RAW_MAX, take, &second) == NULL);
		assert(second.raw_len == first.raw_len);
		assert(second.sum == first.sum);
	}
	heap_free(first.again);
	return 0;
}
