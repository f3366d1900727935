/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/heap.h"

#include <zlib.h>

#include "sandbox/frame.h"

/* Each payload goes after its length, little-endian. */
#define PREFIX_LEN 4

struct heap {
	z_stream z;
	uint8_t *out;
	size_t len, room, max, raw_len;
};

struct heap *
heap_new(size_t max)
{
	struct heap *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	if (deflateInit(&h->z, Z_BEST_SPEED) != Z_OK) {
		free(h);
		return NULL;
	}
	h->max = max;
	return h;
}

void
heap_free(struct heap *h)
{
	if (h == NULL)
		return;
	deflateEnd(&h->z);
	free(h->out);
	free(h);
}

static int
squeeze(struct heap *h, const void *p, size_t len, int flush)
{
	int rc;

	h->z.next_in = (Bytef *)(uintptr_t)p;
	h->z.avail_in = len;
	do {
		if (h->room - h->len < 4096) {
			size_t room = h->room == 0 ? 65536 : 2 * h->room;
			uint8_t *grown = realloc(h->out, room);

			if (grown == NULL)
				return -1;
			h->out = grown;
			h->room = room;
		}
		h->z.next_out = h->out + h->len;
		h->z.avail_out = h->room - h->len;
		rc = deflate(&h->z, flush);
		h->len = h->room - h->z.avail_out;
		if (h->len > h->max || rc == Z_STREAM_ERROR)
			return -1;
	} while (h->z.avail_out == 0 ||
		 (flush == Z_FINISH && rc != Z_STREAM_END));
	return 0;
}

int
heap_add(struct heap *h, const void *payload, size_t len)
{
	const uint8_t prefix[PREFIX_LEN] = { len & 0xff, len >> 8 & 0xff,
		len >> 16 & 0xff, len >> 24 };

	h->raw_len += sizeof(prefix) + len;
	if (squeeze(h, prefix, sizeof(prefix), Z_NO_FLUSH) != 0)
		return -1;
	return squeeze(h, payload, len, Z_NO_FLUSH);
}

int
heap_end(struct heap *h)
{
	return squeeze(h, NULL, 0, Z_FINISH);
}

const void *
heap_data(const struct heap *h, size_t *len, size_t *raw_len)
{
	*len = h->len;
	*raw_len = h->raw_len;
	return h->out;
}

/* LEN bytes; false: there are not as many, or they are damaged. */
static bool
expand(z_stream *z, void *out, size_t len, int *rc)
{
	z->next_out = out;
	z->avail_out = len;
	while (z->avail_out > 0 && *rc == Z_OK) {
		*rc = inflate(z, Z_NO_FLUSH);
		if (*rc == Z_BUF_ERROR ||
			(z->avail_in == 0 && *rc == Z_OK && z->avail_out > 0))
			return false;
	}
	return z->avail_out == 0;
}

static const char *
read_all(z_stream *z, uint64_t raw_max, uint8_t *buf,
	bool (*take)(void *arg, const uint8_t *p, size_t len), void *arg)
{
	uint64_t raw = 0;
	uint8_t prefix[PREFIX_LEN];
	int rc = Z_OK;

	for (;;) {
		size_t len;

		if (!expand(z, prefix, sizeof(prefix), &rc))
			break;
		len = prefix[0] | prefix[1] << 8 | prefix[2] << 16 |
		      (size_t)prefix[3] << 24;
		raw += sizeof(prefix) + len;
		if (len > FRAME_HEAP_MAX || raw > raw_max)
			return "the heap is too large";
		if (!expand(z, buf, len, &rc))
			return "the heap is damaged";
		if (!take(arg, buf, len))
			return "the heap is no heap";
	}
	/* Between two payloads, and with its check sum right. */
	if (rc != Z_STREAM_END || z->avail_out != sizeof(prefix) ||
		z->avail_in != 0)
		return "the heap is damaged";
	return NULL;
}

const char *
heap_read(const void *data, size_t len, uint64_t raw_max,
	bool (*take)(void *arg, const uint8_t *p, size_t len), void *arg)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = len };
	uint8_t *buf = malloc(FRAME_HEAP_MAX);
	const char *why = "no memory";

	if (len > UINT32_MAX)
		why = "the heap is too large";
	else if (buf != NULL && inflateInit(&z) == Z_OK) {
		why = read_all(&z, raw_max, buf, take, arg);
		inflateEnd(&z);
	}
	free(buf);
	return why;
}
