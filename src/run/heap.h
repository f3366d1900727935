/* SPDX-License-Identifier: ISC */
/*
 * heap: the payloads of HEAP frames as one string of bytes, compressed: what a
 * suspended run is kept as.  Zlib at its fastest: pages come as differences
 * from the image and are mostly zeros.
 */
#ifndef RUN_HEAP_H
#define RUN_HEAP_H

struct heap;

/* NULL: no memory.  More than MAX compressed bytes are refused. */
struct heap *heap_new(size_t max);
void heap_free(struct heap *h);

/* Append a payload, and after the last one end.  -1: too much. */
MUST_CHECK int heap_add(struct heap *h, const void *payload, size_t len);
MUST_CHECK int heap_end(struct heap *h);

/* After heap_end, until heap_free. */
const void *heap_data(const struct heap *h, size_t *len, size_t *raw_len);

/*
 * Give each payload of the LEN bytes at DATA to TAKE, which returns false when
 * it wants no more.  Returns NULL, or a literal that says what is wrong with
 * DATA: damage, more than RAW_MAX bytes, TAKE.
 */
MUST_CHECK const char *heap_read(const void *data, size_t len, uint64_t raw_max,
	bool (*take)(void *arg, const uint8_t *p, size_t len), void *arg);

#endif
