/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

#include "sandbox/wire.h"

static uint32_t sent_seq, got_seq;
static uint8_t out[64 * 1024];
static size_t out_len;

static void
write_all(const uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(FRAME_FD, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1); /* the parent is gone */
		p += n;
		len -= n;
	}
}

void
wire_flush(void)
{
	write_all(out, out_len);
	out_len = 0;
}

static void
put(const void *p, size_t len)
{
	if (len > sizeof(out) - out_len)
		wire_flush();
	if (len > sizeof(out)) {
		write_all(p, len);
		return;
	}
	memcpy(out + out_len, p, len);
	out_len += len;
}

void
wire_send(enum frame_kind kind, const void *fixed, size_t fixed_len,
	const void *text, size_t text_len)
{
	uint8_t h[FRAME_HEADER_LEN];

	frame_put_header(h, fixed_len + text_len, kind, ++sent_seq);
	put(h, sizeof(h));
	put(fixed, fixed_len);
	put(text, text_len);
}

void
wire_read(void *p, size_t len)
{
	uint8_t *at = p;

	while (len > 0) {
		ssize_t n = read(FRAME_FD, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		at += n;
		len -= n;
	}
}

enum frame_fault
wire_header(struct frame_header *h)
{
	uint8_t head[FRAME_HEADER_LEN];

	wire_read(head, sizeof(head));
	return frame_get_header(head, FRAME_FROM_PARENT, ++got_seq, h);
}
