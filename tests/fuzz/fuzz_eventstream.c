/* SPDX-License-Identifier: ISC */
/*
 * Event streams of upstream servers: what comes out does not depend on how
 * the network cut them.  The first byte is the length of the pieces.
 */
#include "base/compat.h"

#include "base/arena.h"
#include "base/buf.h"
#include "run/eventstream.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool
collect(void *arg, const char *data, size_t len)
{
	struct buf *b = arg;

	assert(data[len] == '\0');
	buf_put(b, data, len);
	buf_putc(b, '\n');
	/* a message that is enough */
	return memmem(data, len, "enough", 6) == NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct eventstream whole, parts;
	struct buf got[2];
	struct arena *a;
	size_t i, n, step;

	if (len == 0 || len > 65536)
		return 0;
	a = arena_new(64 << 20);
	step = (size_t)data[0] + 1;
	data++;
	len--;
	buf_init(&got[0], a);
	buf_init(&got[1], a);
	eventstream_init(&whole, a, collect, &got[0]);
	eventstream_init(&parts, a, collect, &got[1]);
	(void)eventstream_feed(&whole, (const char *)data, len);
	for (i = 0; i < len; i += n) {
		n = len - i < step ? len - i : step;
		if (!eventstream_feed(&parts, (const char *)data + i, n))
			break;
	}
	if (whole.kind != parts.kind || got[0].len != got[1].len ||
		memcmp(got[0].data, got[1].data, got[0].len) != 0)
		abort();
	arena_free(a);
	return 0;
}
