/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/run.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/jscan.h"
#include "base/log.h"
#include "run/sandbox.h"

/* Of a result: deeper than any request, and every element of 1 MiB. */
#define RESULT_DEPTH_MAX  512
#define RESULT_VALUES_MAX ((size_t)1 << 22)

/* --- text ------------------------------------------------------------------ */

/* Bytes of the string that begins at P with its quote, both quotes included. */
static size_t
string_len(const char *p, size_t len)
{
	size_t i;

	for (i = 1; i < len && p[i] != '"'; i++)
		if (p[i] == '\\')
			i++;
	return i + 1 < len ? i + 1 : len;
}

static void
new_line(struct buf *out, size_t depth)
{
	buf_putc(out, '\n');
	while (depth-- > 0)
		buf_puts(out, "  ");
}

void
run_pretty(struct buf *out, const char *json, size_t len)
{
	size_t i, n, depth = 0;
	bool is_empty = false; /* right after an opening bracket */

	for (i = 0; i < len; i++) {
		switch (json[i]) {
		case ' ':
		case '\t':
		case '\r':
		case '\n':
			continue;
		case '{':
		case '[':
			if (is_empty)
				new_line(out, depth);
			buf_putc(out, json[i]);
			depth++;
			is_empty = true;
			continue;
		case '}':
		case ']':
			depth--;
			if (!is_empty)
				new_line(out, depth);
			buf_putc(out, json[i]);
			is_empty = false;
			continue;
		case ',':
			buf_putc(out, ',');
			new_line(out, depth);
			continue;
		case ':':
			buf_puts(out, ": ");
			continue;
		}
		if (is_empty)
			new_line(out, depth);
		is_empty = false;
		n = json[i] == '"' ? string_len(json + i, len - i) : 1;
		buf_put(out, json + i, n);
		i += n - 1;
	}
}

/* Cut B after RUN_TEXT_CHARS_MAX characters and say how many are missing. */
static void
cut_text(struct buf *b)
{
	size_t i, chars = 0, keep = b->len;

	for (i = 0; i < b->len; i++) {
		if (((unsigned char)b->data[i] & 0xc0) == 0x80)
			continue; /* not the first byte of a character */
		if (chars == RUN_TEXT_CHARS_MAX)
			keep = i;
		chars++;
	}
	if (keep == b->len)
		return;
	b->len = keep;
	buf_printf(b, "\n... [truncated %zu chars]",
		chars - RUN_TEXT_CHARS_MAX);
}

/* The value as people read it: a string as it is, all else as JSON. */
static void
put_value_text(const struct sandbox_result *r, struct arena *a, struct buf *b)
{
	const struct cj_limits limits = { .depth_max = 1 };
	struct cJSON *v;
	struct err e;

	if (r->json == NULL || strcmp(r->json, "null") == 0) {
		buf_puts(b, "(no result)");
		return;
	}
	err_clear(&e);
	if (r->json[0] == '"' &&
		cj_parse(a, r->json, r->json_len, &limits, &v, &e) == 0)
		buf_puts(b, cj_string(v));
	else
		run_pretty(b, r->json, r->json_len);
}

/* Did it run at all?  The question after every failure (B-57). */
static void
put_error_text(const struct sandbox_result *r, struct buf *b)
{
	buf_printf(b, "Error: %s", r->message);
	if (r->line > 0)
		buf_printf(b, "\n    at line %" PRIu32 ", column %" PRIu32,
			r->line, r->column);
	if (!r->has_started)
		buf_puts(b, "\nNothing of the program has run.");
	else if (r->status != SANDBOX_FAILED)
		buf_puts(b, "\nThe program had started and did not finish; it "
			    "made no host calls.");
}

static void
put_text(const struct sandbox_result *r, struct arena *a, struct buf *b)
{
	size_t i;

	if (r->status == SANDBOX_COMPLETED)
		put_value_text(r, a, b);
	else
		put_error_text(r, b);
	if (r->log_count > 0)
		buf_puts(b, "\n\nLogs:");
	for (i = 0; i < r->log_count; i++)
		buf_printf(b, "\n%s", r->logs[i]);
	cut_text(b);
}

/* --- structured content ----------------------------------------------------- */

static const char *
outcome(const struct sandbox_result *r)
{
	if (r->status == SANDBOX_COMPLETED)
		return "finished";
	return r->has_started ? sandbox_status_name(r->status) : "not_started";
}

static void
put_structured(const struct sandbox_result *r, struct buf *b)
{
	bool is_done = r->status == SANDBOX_COMPLETED;
	size_t i;

	if (is_done) {
		buf_puts(b, "{\"status\":\"completed\",\"result\":");
		if (r->json == NULL)
			buf_puts(b, "null");
		else
			buf_put(b, r->json, r->json_len);
	} else {
		buf_puts(b, "{\"status\":\"error\",\"error\":");
		buf_jsons(b, r->message);
	}
	buf_puts(b, ",\"logs\":[");
	for (i = 0; i < r->log_count; i++) {
		if (i > 0)
			buf_putc(b, ',');
		buf_jsons(b, r->logs[i]);
	}
	buf_printf(b, "],\"outcome\":\"%s\",\"started\":%s", outcome(r),
		r->has_started ? "true" : "false");
	if (!is_done && r->line > 0)
		buf_printf(b, ",\"line\":%" PRIu32 ",\"column\":%" PRIu32,
			r->line, r->column);
	if (r->is_cut)
		buf_puts(b, ",\"truncated\":true");
	buf_puts(b, ",\"calls\":[]}");
}

/* --- the run ----------------------------------------------------------------- */

/* R, or a crash in its place when its result is no JSON. */
static struct sandbox_result
checked(const struct sandbox_result *r, const char *request_id,
	struct arena *a)
{
	const struct cj_limits limits = { .depth_max = RESULT_DEPTH_MAX,
		.dup = CJ_DUP_ALLOW,
		.values_max = RESULT_VALUES_MAX };
	struct sandbox_result out = *r;
	struct err e;

	err_clear(&e);
	if (r->json != NULL &&
		jscan_check(r->json, r->json_len, &limits, &e) != 0) {
		log_err(LOG_LEVEL_ERR, "sandbox.result", &e);
		out.status = SANDBOX_CRASHED;
		out.json = NULL;
	}
	if (out.status != SANDBOX_COMPLETED && out.message == NULL)
		out.message = "The sandbox broke down";
	if (out.status == SANDBOX_CRASHED || out.status == SANDBOX_NOT_STARTED)
		out.message = arena_printf(a, "%s [request %s]", out.message,
			request_id);
	return out;
}

void
run_render(const struct sandbox_result *r, struct arena *a,
	bool is_structured, const char *request_id, struct buf *result)
{
	struct sandbox_result c = checked(r, request_id, a);
	struct buf text;

	buf_init(&text, a);
	put_text(&c, a, &text);
	buf_puts(result, "{\"content\":[{\"type\":\"text\",\"text\":");
	buf_json(result, text.data, text.len);
	buf_puts(result, "}]");
	if (is_structured) {
		buf_puts(result, ",\"structuredContent\":");
		put_structured(&c, result);
	}
	if (c.status != SANDBOX_COMPLETED)
		buf_puts(result, ",\"isError\":true");
	buf_putc(result, '}');
}

int
run_execute(const struct conf *conf, struct arena *a, const char *code,
	bool is_structured, const char *request_id, struct buf *result,
	struct err *e)
{
	const struct sandbox_limits limits = {
		.program = conf->sandbox,
		.wall_ms = (uint32_t)conf->execute_wall_ms,
		.cpu_ms = (uint32_t)conf->execute_cpu_ms,
		.heap_bytes = (uint64_t)conf->execute_heap_bytes,
		.stack_bytes = (uint32_t)conf->execute_stack_bytes,
		.output_bytes = (uint32_t)conf->execute_output_bytes,
		.log_lines = (uint32_t)conf->execute_log_lines,
	};
	struct sandbox_result *r;

	if (sandbox_run(&limits, code, strlen(code), -1, a, &r, e) != 0)
		return -1;
	log_event(r->status == SANDBOX_CRASHED ||
				r->status == SANDBOX_NOT_STARTED ?
			LOG_LEVEL_ERR :
			LOG_LEVEL_INFO,
		"execute.end", "status", sandbox_status_name(r->status),
		"wall_ms", log_num(r->wall_ms), "cpu_ms", log_num(r->cpu_ms),
		"detail", r->detail, NULL);
	run_render(r, a, is_structured, request_id, result);
	return 0;
}
