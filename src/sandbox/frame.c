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

static void
put64(uint8_t *p, uint64_t v)
{
	put32(p, v & 0xffffffff);
	put32(p + 4, v >> 32);
}

static uint64_t
get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
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
	put64(p + 16, r->heap_bytes);
	put32(p + 24, r->output_bytes);
	put32(p + 28, r->log_lines);
	put32(p + 32, r->log_bytes);
	put32(p + 36, r->calls_max);
	put32(p + 40, r->args_bytes);
	put32(p + 44, r->args_total);
	put32(p + 48, r->is_script);
	put32(p + 52, r->args_len);
	put32(p + 56, r->ctx_len);
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

void
frame_put_call(uint8_t p[FRAME_CALL_LEN], const struct frame_call *c)
{
	put32(p, c->number);
	put32(p + 4, c->parent);
	put32(p + 8, c->path_len);
}

void
frame_put_return(uint8_t p[FRAME_RETURN_LEN], const struct frame_return *r)
{
	put32(p, r->number);
	put32(p + 4, r->answer);
}

void
frame_put_script(uint8_t p[FRAME_SCRIPT_LEN], const struct frame_script *s)
{
	put32(p, s->number);
	put32(p + 4, s->args_len);
	put32(p + 8, s->ctx_len);
}

void
frame_put_check(uint8_t p[FRAME_CHECK_LEN], const struct frame_check *c)
{
	put32(p, c->number);
	put32(p + 4, c->what);
	put32(p + 8, c->schema_len);
}

void
frame_put_idle(uint8_t p[FRAME_IDLE_LEN], uint32_t taken)
{
	put32(p, taken);
}

size_t
frame_put_state(uint8_t *p, const struct frame_state *s)
{
	uint8_t *at = p + FRAME_HEAP_LEN;

	put32(p, FRAME_PART_STATE);
	memcpy(at, s->engine, FRAME_ENGINE_LEN);
	at += FRAME_ENGINE_LEN;
	put32(at, s->pages);
	put32(at + 4, s->stack_pointer);
	put32(at + 8, s->runtime);
	put32(at + 12, s->calls);
	put32(at + 16, s->lines);
	put32(at + 20, s->line_bytes);
	put32(at + 24, s->dropped);
	put32(at + 28, s->output_bytes);
	put32(at + 32, 0);
	put64(at + 36, s->mono_ns);
	put64(at + 44, s->real_ns);
	put32(at + 52, s->realm_count);
	put32(at + 56, s->open_count);
	at += 60;
	for (uint32_t i = 0; i < s->realm_count; i++, at += 16) {
		put32(at, s->realms[i].context);
		put32(at + 4, s->realms[i].run);
		put32(at + 8, s->realms[i].random);
		put32(at + 12, s->realms[i].call);
	}
	for (uint32_t i = 0; i < s->open_count; i++, at += 8) {
		put32(at, s->open[i].number);
		put32(at + 4, s->open[i].realm);
	}
	return at - p;
}

size_t
frame_put_pages(uint8_t *p)
{
	put32(p, FRAME_PART_PAGES);
	put32(p + FRAME_HEAP_LEN, 0);
	return FRAME_HEAP_LEN + 4;
}

size_t
frame_put_page(
	uint8_t *p, size_t len, uint32_t page, const uint8_t bytes[FRAME_PAGE])
{
	put32(p + FRAME_HEAP_LEN, get32(p + FRAME_HEAP_LEN) + 1);
	put32(p + len, page);
	memcpy(p + len + 4, bytes, FRAME_PAGE);
	return len + 4 + FRAME_PAGE;
}

size_t
frame_put_heap_end(uint8_t *p, uint32_t pages)
{
	put32(p, FRAME_PART_END);
	put32(p + FRAME_HEAP_LEN, pages);
	return FRAME_HEAP_LEN + 4;
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
		{ FRAME_CALL, FRAME_FROM_SANDBOX, FRAME_CALL_LEN + 1,
			FRAME_CALL_LEN + FRAME_PATH_MAX + FRAME_VALUE_MAX },
		{ FRAME_IDLE, FRAME_FROM_SANDBOX, FRAME_IDLE_LEN,
			FRAME_IDLE_LEN },
		{ FRAME_HEAP, FRAME_FROM_SANDBOX, FRAME_HEAP_LEN,
			FRAME_HEAP_MAX },
		{ FRAME_SCRIPTED, FRAME_FROM_SANDBOX, FRAME_RETURN_LEN,
			FRAME_RETURN_LEN + FRAME_VALUE_MAX },
		{ FRAME_CHECKED, FRAME_FROM_SANDBOX, FRAME_RETURN_LEN,
			FRAME_RETURN_LEN + FRAME_VALUE_MAX },
		{ FRAME_RUN, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN + FRAME_CODE_MAX + FRAME_CODE_MAX +
				FRAME_CTX_MAX },
		{ FRAME_RESUME, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN },
		{ FRAME_CHECKER, FRAME_FROM_PARENT, FRAME_RUN_LEN,
			FRAME_RUN_LEN },
		{ FRAME_HEAP, FRAME_FROM_PARENT, FRAME_HEAP_LEN,
			FRAME_HEAP_MAX },
		{ FRAME_RETURN, FRAME_FROM_PARENT, FRAME_RETURN_LEN,
			FRAME_RETURN_LEN + FRAME_VALUE_MAX },
		{ FRAME_SCRIPT, FRAME_FROM_PARENT, FRAME_SCRIPT_LEN,
			FRAME_SCRIPT_LEN + FRAME_CODE_MAX + FRAME_VALUE_MAX +
				FRAME_CTX_MAX },
		{ FRAME_SUSPEND, FRAME_FROM_PARENT, 0, 0 },
		{ FRAME_CHECK, FRAME_FROM_PARENT, FRAME_CHECK_LEN,
			FRAME_CHECK_LEN + FRAME_CODE_MAX + FRAME_VALUE_MAX },
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
frame_get_run_head(
	const uint8_t p[FRAME_RUN_LEN], size_t len, struct frame_run *out)
{
	size_t text = len - FRAME_RUN_LEN;

	if (len < FRAME_RUN_LEN)
		return FRAME_BAD_LEN;
	if (get32(p) != FRAME_VERSION)
		return FRAME_BAD_VERSION;
	memset(out, 0, sizeof(*out));
	out->wall_ms = get32(p + 4);
	out->cpu_ms = get32(p + 8);
	out->stack_bytes = get32(p + 12);
	out->heap_bytes = get64(p + 16);
	out->output_bytes = get32(p + 24);
	out->log_lines = get32(p + 28);
	out->log_bytes = get32(p + 32);
	out->calls_max = get32(p + 36);
	out->args_bytes = get32(p + 40);
	out->args_total = get32(p + 44);
	out->is_script = get32(p + 48) == 1;
	out->args_len = get32(p + 52);
	out->ctx_len = get32(p + 56);

	/* The engine's memory is 32 bits wide and has itself to hold too. */
	if (out->wall_ms == 0 || out->cpu_ms == 0 || out->heap_bytes == 0 ||
		out->heap_bytes > 3ULL << 30 || out->stack_bytes == 0 ||
		out->output_bytes == 0 || out->output_bytes > FRAME_VALUE_MAX ||
		out->log_bytes > FRAME_VALUE_MAX ||
		out->args_bytes > FRAME_VALUE_MAX || get32(p + 48) > 1)
		return FRAME_BAD_VALUE;
	if (out->args_len > FRAME_CODE_MAX || out->ctx_len > FRAME_CTX_MAX ||
		out->args_len + out->ctx_len > text)
		return FRAME_BAD_LEN;
	out->code_len = text - out->args_len - out->ctx_len;
	return out->code_len > FRAME_CODE_MAX ? FRAME_BAD_LEN : FRAME_OK;
}

enum frame_fault
frame_get_run(const uint8_t *p, size_t len, struct frame_run *out)
{
	enum frame_fault f;

	if (len < FRAME_RUN_LEN)
		return FRAME_BAD_LEN;
	f = frame_get_run_head(p, len, out);
	if (f != FRAME_OK)
		return f;
	out->args = (const char *)p + FRAME_RUN_LEN;
	out->ctx = out->args + out->args_len;
	out->code = out->ctx + out->ctx_len;
	if (!frame_is_text((const uint8_t *)out->args, out->args_len) ||
		!frame_is_text((const uint8_t *)out->ctx, out->ctx_len) ||
		!frame_is_text((const uint8_t *)out->code, out->code_len))
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

enum frame_fault
frame_get_call(const uint8_t *p, size_t len, struct frame_call *out)
{
	if (len < FRAME_CALL_LEN)
		return FRAME_BAD_LEN;
	out->number = get32(p);
	out->parent = get32(p + 4);
	out->path_len = get32(p + 8);
	if (out->path_len == 0 || out->path_len > FRAME_PATH_MAX ||
		out->path_len > len - FRAME_CALL_LEN)
		return FRAME_BAD_LEN;
	out->path = (const char *)p + FRAME_CALL_LEN;
	out->args = out->path + out->path_len;
	out->args_len = len - FRAME_CALL_LEN - out->path_len;
	if (out->args_len == 0 || out->args_len > FRAME_VALUE_MAX)
		return FRAME_BAD_LEN;
	if (!frame_is_text((const uint8_t *)out->path, out->path_len) ||
		!frame_is_text((const uint8_t *)out->args, out->args_len))
		return FRAME_BAD_TEXT;
	return FRAME_OK;
}

enum frame_fault
frame_get_return_head(
	const uint8_t p[FRAME_RETURN_LEN], size_t len, struct frame_return *out)
{
	if (len < FRAME_RETURN_LEN || len > FRAME_RETURN_LEN + FRAME_VALUE_MAX)
		return FRAME_BAD_LEN;
	if (p[5] != 0 || p[6] != 0 || p[7] != 0)
		return FRAME_BAD_RESERVED;
	if (p[4] >= FRAME_ANSWER__MAX)
		return FRAME_BAD_VALUE;
	out->number = get32(p);
	out->answer = p[4];
	out->json = NULL;
	out->json_len = len - FRAME_RETURN_LEN;
	return FRAME_OK;
}

enum frame_fault
frame_get_return(const uint8_t *p, size_t len, struct frame_return *out)
{
	enum frame_fault f;

	if (len < FRAME_RETURN_LEN)
		return FRAME_BAD_LEN;
	f = frame_get_return_head(p, len, out);
	if (f != FRAME_OK)
		return f;
	out->json = (const char *)p + FRAME_RETURN_LEN;
	return frame_is_text(p + FRAME_RETURN_LEN, out->json_len)
		       ? FRAME_OK
		       : FRAME_BAD_TEXT;
}

enum frame_fault
frame_get_script_head(
	const uint8_t p[FRAME_SCRIPT_LEN], size_t len, struct frame_script *out)
{
	memset(out, 0, sizeof(*out));
	out->number = get32(p);
	out->args_len = get32(p + 4);
	out->ctx_len = get32(p + 8);
	if (len < FRAME_SCRIPT_LEN || out->args_len > FRAME_VALUE_MAX ||
		out->ctx_len > FRAME_CTX_MAX ||
		out->args_len + out->ctx_len > len - FRAME_SCRIPT_LEN)
		return FRAME_BAD_LEN;
	out->body_len = len - FRAME_SCRIPT_LEN - out->args_len - out->ctx_len;
	return out->body_len > FRAME_CODE_MAX ? FRAME_BAD_LEN : FRAME_OK;
}

enum frame_fault
frame_get_script(const uint8_t *p, size_t len, struct frame_script *out)
{
	enum frame_fault f;

	if (len < FRAME_SCRIPT_LEN)
		return FRAME_BAD_LEN;
	f = frame_get_script_head(p, len, out);
	if (f != FRAME_OK)
		return f;
	out->args = (const char *)p + FRAME_SCRIPT_LEN;
	out->ctx = out->args + out->args_len;
	out->body = out->ctx + out->ctx_len;
	if (!frame_is_text((const uint8_t *)out->args, out->args_len) ||
		!frame_is_text((const uint8_t *)out->ctx, out->ctx_len) ||
		!frame_is_text((const uint8_t *)out->body, out->body_len))
		return FRAME_BAD_TEXT;
	return FRAME_OK;
}

enum frame_fault
frame_get_check_head(
	const uint8_t p[FRAME_CHECK_LEN], size_t len, struct frame_check *out)
{
	uint32_t what = get32(p + 4);

	memset(out, 0, sizeof(*out));
	out->number = get32(p);
	out->schema_len = get32(p + 8);
	if (what >= FRAME_QUESTION__MAX)
		return FRAME_BAD_VALUE;
	out->what = what;
	if (len < FRAME_CHECK_LEN || out->schema_len > FRAME_CODE_MAX ||
		out->schema_len > len - FRAME_CHECK_LEN)
		return FRAME_BAD_LEN;
	out->value_len = len - FRAME_CHECK_LEN - out->schema_len;
	return out->value_len > FRAME_VALUE_MAX ? FRAME_BAD_LEN : FRAME_OK;
}

enum frame_fault
frame_get_check(const uint8_t *p, size_t len, struct frame_check *out)
{
	enum frame_fault f;

	if (len < FRAME_CHECK_LEN)
		return FRAME_BAD_LEN;
	f = frame_get_check_head(p, len, out);
	if (f != FRAME_OK)
		return f;
	out->schema = (const char *)p + FRAME_CHECK_LEN;
	out->value = out->schema + out->schema_len;
	if (!frame_is_text((const uint8_t *)out->schema, out->schema_len) ||
		!frame_is_text((const uint8_t *)out->value, out->value_len))
		return FRAME_BAD_TEXT;
	return FRAME_OK;
}

enum frame_fault
frame_get_idle(const uint8_t *p, size_t len, uint32_t *taken)
{
	if (len != FRAME_IDLE_LEN)
		return FRAME_BAD_LEN;
	*taken = get32(p);
	return FRAME_OK;
}

enum frame_fault
frame_get_heap(const uint8_t *p, size_t len, enum frame_part *part)
{
	if (len < FRAME_HEAP_LEN)
		return FRAME_BAD_LEN;
	if (p[1] != 0 || p[2] != 0 || p[3] != 0)
		return FRAME_BAD_RESERVED;
	if (p[0] >= FRAME_PART__MAX)
		return FRAME_BAD_VALUE;
	*part = p[0];
	return FRAME_OK;
}

/* PART was expected in P. */
static enum frame_fault
check_part(const uint8_t *p, size_t len, enum frame_part expected, size_t min)
{
	enum frame_part part;
	enum frame_fault f = frame_get_heap(p, len, &part);

	if (f != FRAME_OK)
		return f;
	if (part != expected)
		return FRAME_BAD_VALUE;
	return len < min ? FRAME_BAD_LEN : FRAME_OK;
}

enum frame_fault
frame_get_state(const uint8_t *p, size_t len, struct frame_state *out)
{
	enum frame_fault f =
		check_part(p, len, FRAME_PART_STATE, FRAME_STATE_LEN);
	const uint8_t *at = p + FRAME_HEAP_LEN + FRAME_ENGINE_LEN;

	if (f != FRAME_OK)
		return f;
	memset(out, 0, sizeof(*out));
	memcpy(out->engine, p + FRAME_HEAP_LEN, FRAME_ENGINE_LEN);
	out->pages = get32(at);
	out->stack_pointer = get32(at + 4);
	out->runtime = get32(at + 8);
	out->calls = get32(at + 12);
	out->lines = get32(at + 16);
	out->line_bytes = get32(at + 20);
	out->dropped = get32(at + 24);
	out->output_bytes = get32(at + 28);
	if (get32(at + 32) != 0)
		return FRAME_BAD_RESERVED;
	out->mono_ns = get64(at + 36);
	out->real_ns = get64(at + 44);
	out->realm_count = get32(at + 52);
	out->open_count = get32(at + 56);
	if (out->realm_count == 0 || out->realm_count > FRAME_REALMS_MAX ||
		out->open_count > FRAME_OPEN_MAX || out->pages > 65536 ||
		out->output_bytes == 0 || out->output_bytes > FRAME_VALUE_MAX)
		return FRAME_BAD_VALUE;
	if (len != FRAME_STATE_LEN + 16 * (size_t)out->realm_count +
			   8 * (size_t)out->open_count)
		return FRAME_BAD_LEN;
	at = p + FRAME_STATE_LEN;
	for (uint32_t i = 0; i < out->realm_count; i++, at += 16) {
		out->realms[i].context = get32(at);
		out->realms[i].run = get32(at + 4);
		out->realms[i].random = get32(at + 8);
		out->realms[i].call = get32(at + 12);
	}
	for (uint32_t i = 0; i < out->open_count; i++, at += 8) {
		out->open[i].number = get32(at);
		out->open[i].realm = get32(at + 4);
		if (out->open[i].number == 0 ||
			out->open[i].number > out->calls ||
			(out->open[i].realm >= out->realm_count &&
				out->open[i].realm != FRAME_REALMS_MAX))
			return FRAME_BAD_VALUE;
	}
	return FRAME_OK;
}

enum frame_fault
frame_get_pages(
	const uint8_t *p, size_t len, uint32_t *next, struct frame_pages *out)
{
	enum frame_fault f =
		check_part(p, len, FRAME_PART_PAGES, FRAME_HEAP_LEN + 4);

	if (f != FRAME_OK)
		return f;
	out->count = get32(p + FRAME_HEAP_LEN);
	out->pages = p + FRAME_HEAP_LEN + 4;
	if (out->count == 0 || out->count > FRAME_PAGES_MAX)
		return FRAME_BAD_VALUE;
	if (len != FRAME_HEAP_LEN + 4 + out->count * (4 + (size_t)FRAME_PAGE))
		return FRAME_BAD_LEN;
	for (uint32_t i = 0; i < out->count; i++) {
		const uint8_t *bytes;
		uint32_t page = frame_page(out, i, &bytes);

		if (page < *next || page >= 1u << 20)
			return FRAME_BAD_VALUE;
		*next = page + 1;
	}
	return FRAME_OK;
}

enum frame_fault
frame_get_heap_end(const uint8_t *p, size_t len, uint32_t *pages)
{
	enum frame_fault f =
		check_part(p, len, FRAME_PART_END, FRAME_HEAP_LEN + 4);

	if (f != FRAME_OK)
		return f;
	*pages = get32(p + FRAME_HEAP_LEN);
	return len == FRAME_HEAP_LEN + 4 ? FRAME_OK : FRAME_BAD_LEN;
}

uint32_t
frame_page(const struct frame_pages *pages, uint32_t i, const uint8_t **bytes)
{
	const uint8_t *at = pages->pages + i * (4 + (size_t)FRAME_PAGE);

	*bytes = at + 4;
	return get32(at);
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
