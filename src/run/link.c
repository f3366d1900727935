/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/link.h"

#include <sys/socket.h>

#include "base/arena.h"
#include "base/mem.h"

void
link_init(struct link *l, int fd)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
	l->result_max = UINT32_MAX;
	l->call_max = UINT32_MAX;
}

void
link_release(struct link *l)
{
	free(l->out);
	free(l->scratch);
	l->out = l->scratch = NULL;
}

static void
put(struct link *l, const void *p, size_t len)
{
	if (len == 0)
		return;
	memcpy(l->out + l->out_len, p, len);
	l->out_len += len;
}

void
link_put(struct link *l, enum frame_kind kind, const void *fixed,
	size_t fixed_len, const void *text, size_t text_len, const void *more,
	size_t more_len)
{
	size_t len = fixed_len + text_len + more_len;
	uint8_t h[FRAME_HEADER_LEN];

	if (l->out_at > 0) {
		memmove(l->out, l->out + l->out_at, l->out_len - l->out_at);
		l->out_len -= l->out_at;
		l->out_at = 0;
	}
	if (l->out_len + sizeof(h) + len > l->out_room) {
		size_t room = 2 * l->out_len + sizeof(h) + len;

		l->out = mem_grow(l->out, room, 1);
		l->out_room = room;
	}
	frame_put_header(h, len, kind, ++l->out_seq);
	put(l, h, sizeof(h));
	put(l, fixed, fixed_len);
	put(l, text, text_len);
	put(l, more, more_len);
}

size_t
link_queued(const struct link *l)
{
	return l->is_deaf ? 0 : l->out_len - l->out_at;
}

void
link_flush(struct link *l)
{
	while (link_queued(l) > 0) {
		ssize_t n = send(l->fd, l->out + l->out_at,
			l->out_len - l->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			l->is_deaf = true; /* why is still to be read */
			return;
		}
		l->out_at += n;
	}
	l->out_at = l->out_len = 0;
}

/* A complete header: check it and make room for the payload. */
static enum frame_fault
take_header(struct link *l, struct arena *a)
{
	enum frame_fault f = frame_get_header(
		l->head, FRAME_FROM_SANDBOX, ++l->in_seq, &l->frame);

	if (f != FRAME_OK)
		return f;
	if ((l->frame.kind == FRAME_RESULT && l->frame.len > l->result_max) ||
		((l->frame.kind == FRAME_CALL ||
			 l->frame.kind == FRAME_SCRIPTED) &&
			l->frame.len > l->call_max))
		return FRAME_BAD_LEN;
	if (l->frame.kind == FRAME_HEAP) {
		if (l->scratch == NULL)
			l->scratch = mem_grow(NULL, FRAME_HEAP_MAX + 1, 1);
		l->payload = l->scratch;
	} else {
		l->payload = arena_alloc(a, (size_t)l->frame.len + 1);
	}
	l->payload[l->frame.len] = '\0';
	l->got = 0;
	return FRAME_OK;
}

/*
 * Headers come one by one from a buffer, payloads are read in place: a
 * program that logs a lot costs no system call for each line.
 */
static enum link_state
receive(struct link *l)
{
	bool is_direct =
		l->payload != NULL && l->frame.len - l->got > sizeof(l->in);
	ssize_t n;

	do
		n = is_direct ? recv(l->fd, l->payload + l->got,
					l->frame.len - l->got, MSG_DONTWAIT)
			      : recv(l->fd, l->in, sizeof(l->in), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return LINK_NONE;
	if (n <= 0)
		return LINK_CLOSED;
	if (is_direct) {
		l->got += n;
	} else {
		l->in_at = 0;
		l->in_len = n;
	}
	return LINK_FRAME;
}

enum link_state
link_next(struct link *l, struct arena *a, uint8_t **payload,
	enum frame_fault *fault)
{
	for (;;) {
		size_t want =
			l->payload != NULL ? l->frame.len : FRAME_HEADER_LEN;
		size_t take = want - l->got;
		enum link_state s;

		if (l->got == want && l->payload != NULL) {
			*payload = l->payload;
			l->payload = NULL;
			l->got = 0;
			return LINK_FRAME;
		}
		if (l->got == want) {
			*fault = take_header(l, a);
			if (*fault != FRAME_OK)
				return LINK_FAULT;
			continue;
		}
		if (l->in_at == l->in_len) {
			s = receive(l);
			if (s != LINK_FRAME)
				return s;
			continue;
		}
		if (take > l->in_len - l->in_at)
			take = l->in_len - l->in_at;
		memcpy((l->payload != NULL ? l->payload : l->head) + l->got,
			l->in + l->in_at, take);
		l->in_at += take;
		l->got += take;
	}
}
