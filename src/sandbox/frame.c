/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "sandbox/frame.h"

static void
put32(uint8_t *p, uint32_t v)
{
	p[0] = v & 0xff;
	p[1] = v >> 8 & 0xff;
	p[2] = v >> 16 & 0xff;
	p[3] = v >> 24;
}

static uint32_t
get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

void
frame_put_header(uint8_t h[FRAME_HEADER_LEN], uint32_t len,
	enum frame_kind kind, uint32_t seq)
{
	put32(h, len);
	put32(h + 4, kind);
	put32(h + 8, seq);
}

void
frame_put_run(uint8_t p[FRAME_RUN_LEN], const struct frame_run *r)
{
	put32(p, FRAME_VERSION);
	put32(p + 4, r->wall_ms);
	put32(p + 8, r->cpu_ms);
	put32(p + 12, r->stack_bytes);
	put32(p + 16, r->heap_bytes & 0xffffffff);
	put32(p + 20, r->heap_bytes >> 32);
	put32(p + 24, r->output_bytes);
	put32(p + 28, r->log_lines);
	put32(p + 32, r->log_bytes);
	put32(p + 36, 0);
	put32(p + 40, 0);
}

void
frame_put_result(uint8_t p[FRAME_RESULT_LEN], const struct frame_result *r)
{
	p[0] = r->has_value;
	p[1] = r->is_cut;
	p[2] = p[3] = 0;
	put32(p + 4, r->dropped);
}

void
frame_put_error(uint8_t p[FRAME_ERROR_LEN], const struct frame_failure *f)
{
	put32(p, f->what);
	put32(p + 4, f->dropped);
	put32(p + 8, f->line);
	put32(p + 12, f->column);
}

enum frame_fault
frame_get_header(const uint8_t h[FRAME_HEADER_LEN], enum frame_from from,
	uint32_t seq, struct frame_header *out)
{
	static const struct {
		enum frame_kind kind;
		enum frame_from from;
		uint32_t min, max;
	} kinds[] = {
		{ FRAME_LOG, FRAME_FROM_SANDBOX, 0, FRAME_LOG_MAX },
		{ FRAME_RESULT, FRAME_FROM_SANDBOX, FRAME_RESULT_LEN,
			FRAME_RESULT_LEN + FRAME_VALUE_MAX },
		{ FRAME_ERROR, FRAME_FROM_SANDBOX, FRAME_ERROR_LEN,
			FRAME_ERROR_LEN + FRAME_MESSAGE_MAX },
		{ FRAME_RUN, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN + FRAME_CODE_MAX },
	};

	if (h[5] != 0 || h[6] != 0 || h[7] != 0)
		return FRAME_BAD_RESERVED;
	for (size_t i = 0; i < NELEM(kinds); i++) {
		if (kinds[i].kind != h[4] || kinds[i].from != from)
			continue;
		out->len = get32(h);
		out->kind = kinds[i].kind;
		out->seq = get32(h + 8);
		if (out->seq != seq)
			return FRAME_BAD_SEQ;
		if (out->len < kinds[i].min || out->len > kinds[i].max)
			return FRAME_BAD_LEN;
		return FRAME_OK;
	}
	return FRAME_BAD_KIND;
}

enum frame_fault
frame_get_run(const uint8_t *p, size_t len, struct frame_run *out)
{
	if (len < FRAME_RUN_LEN || len > FRAME_RUN_LEN + FRAME_CODE_MAX)
		return FRAME_BAD_LEN;
	if (get32(p) != FRAME_VERSION)
		return FRAME_BAD_VERSION;
	if (get32(p + 36) != 0 || get32(p + 40) != 0)
		return FRAME_BAD_RESERVED;
	out->wall_ms = get32(p + 4);
	out->cpu_ms = get32(p + 8);
	out->stack_bytes = get32(p + 12);
	out->heap_bytes = get32(p + 16) | (uint64_t)get32(p + 20) << 32;
	out->output_bytes = get32(p + 24);
	out->log_lines = get32(p + 28);
	out->log_bytes = get32(p + 32);
	out->code = (const char *)p + FRAME_RUN_LEN;
	out->code_len = len - FRAME_RUN_LEN;

	/* The engine's memory is 32 bits wide and has itself to hold too. */
	if (out->wall_ms == 0 || out->cpu_ms == 0 || out->heap_bytes == 0 ||
		out->heap_bytes > 3ULL << 30 || out->stack_bytes == 0 ||
		out->output_bytes == 0 || out->output_bytes > FRAME_VALUE_MAX ||
		out->log_bytes > FRAME_VALUE_MAX)
		return FRAME_BAD_VALUE;
	if (!frame_is_text(p + FRAME_RUN_LEN, out->code_len))
		return FRAME_BAD_TEXT;
	return FRAME_OK;
}

enum frame_fault
frame_get_result(const uint8_t *p, size_t len, struct frame_result *out)
{
	if (len < FRAME_RESULT_LEN || len > FRAME_RESULT_LEN + FRAME_VALUE_MAX)
		return FRAME_BAD_LEN;
	if (p[2] != 0 || p[3] != 0)
		return FRAME_BAD_RESERVED;
	if (p[0] > 1 || p[1] > 1)
		return FRAME_BAD_VALUE;
	out->has_value = p[0];
	out->is_cut = p[1];
	out->dropped = get32(p + 4);
	out->json = (const char *)p + FRAME_RESULT_LEN;
	out->json_len = len - FRAME_RESULT_LEN;
	if (out->has_value != (out->json_len > 0))
		return FRAME_BAD_VALUE;
	if (!frame_is_text(p + FRAME_RESULT_LEN, out->json_len))
		return FRAME_BAD_TEXT;
	return FRAME_OK;
}

enum frame_fault
frame_get_error(const uint8_t *p, size_t len, struct frame_failure *out)
{
	if (len < FRAME_ERROR_LEN || len > FRAME_ERROR_LEN + FRAME_MESSAGE_MAX)
		return FRAME_BAD_LEN;
	if (p[1] != 0 || p[2] != 0 || p[3] != 0)
		return FRAME_BAD_RESERVED;
	if (p[0] >= FRAME_ERROR__MAX)
		return FRAME_BAD_VALUE;
	out->what = p[0];
	out->dropped = get32(p + 4);
	out->line = get32(p + 8);
	out->column = get32(p + 12);
	out->message = (const char *)p + FRAME_ERROR_LEN;
	out->message_len = len - FRAME_ERROR_LEN;
	if (!frame_is_text(p + FRAME_ERROR_LEN, out->message_len))
		return FRAME_BAD_TEXT;
	return FRAME_OK;
}

enum frame_fault
frame_get_log(const uint8_t *p, size_t len)
{
	if (len > FRAME_LOG_MAX)
		return FRAME_BAD_LEN;
	return frame_is_text(p, len) ? FRAME_OK : FRAME_BAD_TEXT;
}

bool
frame_is_text(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len) {
		uint8_t c = p[i++];
		uint8_t lo = 0x80, hi = 0xbf;
		int more;

		if (c == 0)
			return false;
		if (c < 0x80)
			continue;
		if (c >= 0xc2 && c <= 0xdf)
			more = 1;
		else if (c >= 0xe0 && c <= 0xef)
			more = 2;
		else if (c >= 0xf0 && c <= 0xf4)
			more = 3;
		else
			return false;
		/* Overlong forms, surrogates, beyond U+10FFFF (RFC 3629 §4) */
		if (c == 0xe0)
			lo = 0xa0;
		else if (c == 0xed)
			hi = 0x9f;
		else if (c == 0xf0)
			lo = 0x90;
		else if (c == 0xf4)
			hi = 0x8f;
		while (more-- > 0) {
			if (i >= len || p[i] < lo || p[i] > hi)
				return false;
			i++;
			lo = 0x80;
			hi = 0xbf;
		}
	}
	return true;
}

const char *
frame_fault_text(enum frame_fault fault)
{
	static const char *const texts[FRAME_FAULT__MAX] = {
		[FRAME_OK] = "no fault",
		[FRAME_BAD_KIND] = "unexpected kind of frame",
		[FRAME_BAD_LEN] = "length out of bounds",
		[FRAME_BAD_SEQ] = "wrong frame number",
		[FRAME_BAD_RESERVED] = "reserved field is not zero",
		[FRAME_BAD_VALUE] = "field out of range",
		[FRAME_BAD_TEXT] = "text is not UTF-8",
		[FRAME_BAD_VERSION] = "protocol version not known",
	};

	return fault < FRAME_FAULT__MAX ? texts[fault] : "unknown fault";
}
