/* SPDX-License-Identifier: ISC */
/*
 * link: frames to and from an mcp-sandbox, without ever waiting: what cannot
 * be sent yet is kept, because both sides may be writing.
 */
#ifndef RUN_LINK_H
#define RUN_LINK_H

#include "sandbox/frame.h"

struct arena;

struct link {
	int fd;
	bool is_deaf; /* the other side takes nothing more */

	/* to send */
	uint32_t out_seq;
	uint8_t *out;
	size_t out_at, out_len, out_room;

	/* received, not looked at yet */
	uint8_t in[16384];
	size_t in_at, in_len;

	/* the frame that is being received */
	uint32_t in_seq;
	uint8_t head[FRAME_HEADER_LEN];
	struct frame_header frame;
	uint8_t *payload; /* NULL: the header is not complete */
	size_t got;
	uint32_t result_max, call_max; /* bytes of payloads */
	uint8_t *scratch;
};

enum link_state {
	LINK_FRAME,
	LINK_NONE,   /* poll, then ask again */
	LINK_CLOSED, /* the other side is gone */
	LINK_FAULT,
};

void link_init(struct link *l, int fd);
void link_release(struct link *l);

/* Queue a frame of up to three parts, each of which may be NULL if empty. */
void link_put(struct link *l, enum frame_kind kind, const void *fixed,
	size_t fixed_len, const void *text, size_t text_len, const void *more,
	size_t more_len);

/* Bytes queued; send what can be. */
size_t link_queued(const struct link *l);
void link_flush(struct link *l);

/*
 * The next frame: l->frame and *PAYLOAD, with a NUL after it, in A; that of a
 * HEAP frame only until the next call.  On LINK_FAULT *FAULT.
 */
enum link_state link_next(struct link *l, struct arena *a, uint8_t **payload,
	enum frame_fault *fault);

#endif
