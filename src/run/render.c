/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/render.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/jscan.h"
#include "base/log.h"
#include "run/call.h"
#include "run/sandbox.h"
#include "store/ledger.h"

/* Of a result: deeper than any request, and every element of 1 MiB. */
#define RESULT_DEPTH_MAX  512
#define RESULT_VALUES_MAX ((size_t)1 << 22)

/* Calls that a text names; the structure has them all. */
#define TEXT_CALLS_MAX 50

/*
 * Text.
 */

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
render_pretty(struct buf *out, const char *json, size_t len)
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

/* Cut B after RENDER_TEXT_CHARS_MAX characters and say how many are missing. */
static void
cut_text(struct buf *b)
{
	size_t i, chars = 0, keep = b->len;

	for (i = 0; i < b->len; i++) {
		if (((unsigned char)b->data[i] & 0xc0) == 0x80)
			continue; /* not the first byte of a character */
		if (chars == RENDER_TEXT_CHARS_MAX)
			keep = i;
		chars++;
	}
	if (keep == b->len)
		return;
	b->len = keep;
	buf_printf(b, "\n... [truncated %zu chars]",
		chars - RENDER_TEXT_CHARS_MAX);
}

/* The value as people read it: a string as it is, all else as JSON. */
static void
put_value_text(const char *json, size_t len, struct buf *b)
{
	const struct cj_limits limits = { .depth_max = 1 };
	struct cJSON *v;
	struct err e;

	if (json == NULL || (len == 4 && memcmp(json, "null", 4) == 0)) {
		buf_puts(b, "(no result)");
		return;
	}
	err_clear(&e);
	if (json[0] == '"' &&
		cj_parse(b->arena, json, len, &limits, &v, &e) == 0)
		buf_puts(b, cj_string(v));
	else
		render_pretty(b, json, len);
}

/* What a failure must say of the calls: which ran, which may have run. */
static void
put_calls_text(const struct render_run *r, struct buf *b)
{
	size_t i;

	buf_puts(b, "\n\nTool calls made:");
	for (i = 0; i < r->n_calls && i < TEXT_CALLS_MAX; i++)
		buf_printf(b, "\n%" PRId64 ". %s: %s", r->call[i].seq,
			r->call[i].path, r->call[i].status);
	if (i < r->n_calls)
		buf_printf(b, "\n... and %zu more", r->n_calls - i);
}

/* Did it run at all?  The question after every failure (B-57). */
static void
put_error_text(const struct render_run *run, struct buf *b)
{
	const struct sandbox_result *r = run->result;

	buf_printf(b, "Error: %s", r->message);
	if (r->line > 0)
		buf_printf(b, "\n    at line %" PRIu32 ", column %" PRIu32,
			r->line, r->column);
	if (!r->has_started && run->n_calls == 0)
		buf_puts(b, "\nNothing of the program has run.");
	else if (run->n_calls > 0)
		put_calls_text(run, b);
	else if (r->status != SANDBOX_FAILED)
		buf_puts(b, "\nThe program had started and did not finish; it "
			    "made no host calls.");
}

static void
put_logs_text(const struct render_run *r, struct buf *b)
{
	size_t i;

	if (r->n_logs > 0 || r->result->log_count > 0)
		buf_puts(b, "\n\nLogs:");
	for (i = 0; i < r->n_logs; i++)
		buf_printf(b, "\n%s", r->logs[i]);
	for (i = 0; i < r->result->log_count; i++)
		buf_printf(b, "\n%s", r->result->logs[i]);
}

/*
 * Structured content.
 */

static const char *
outcome(const struct sandbox_result *r)
{
	if (r->status == SANDBOX_COMPLETED)
		return "finished";
	return r->has_started ? sandbox_status_name(r->status) : "not_started";
}

/* "logs":[...] */
static void
put_logs(const struct render_run *r, struct buf *b)
{
	size_t i;

	buf_puts(b, "\"logs\":[");
	for (i = 0; i < r->n_logs; i++) {
		buf_puts(b, i > 0 ? "," : "");
		buf_jsons(b, r->logs[i]);
	}
	for (i = 0; i < r->result->log_count; i++) {
		buf_puts(b, i > 0 || r->n_logs > 0 ? "," : "");
		buf_jsons(b, r->result->logs[i]);
	}
	buf_putc(b, ']');
}

/* ,"executionId":...,"calls":[...] */
static void
put_calls(const struct render_run *r, struct buf *b)
{
	size_t i;

	if (r->execution_id != NULL) {
		buf_puts(b, ",\"executionId\":");
		buf_jsons(b, r->execution_id);
	}
	buf_puts(b, ",\"calls\":[");
	for (i = 0; i < r->n_calls; i++) {
		buf_printf(b, "%s{\"seq\":%" PRId64 ",\"path\":",
			i > 0 ? "," : "", r->call[i].seq);
		buf_jsons(b, r->call[i].path);
		buf_puts(b, ",\"status\":");
		buf_jsons(b, r->call[i].status);
		if (r->call[i].ms >= 0)
			buf_printf(b, ",\"ms\":%" PRId64, r->call[i].ms);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
}

static void
put_structured(const struct render_run *run, struct buf *b)
{
	const struct sandbox_result *r = run->result;
	bool is_done = r->status == SANDBOX_COMPLETED;

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
	buf_putc(b, ',');
	put_logs(run, b);
	buf_printf(b, ",\"outcome\":\"%s\",\"started\":%s", outcome(r),
		r->has_started ? "true" : "false");
	if (!is_done && r->line > 0)
		buf_printf(b, ",\"line\":%" PRIu32 ",\"column\":%" PRIu32,
			r->line, r->column);
	if (r->is_cut)
		buf_puts(b, ",\"truncated\":true");
	put_calls(run, b);
	buf_putc(b, '}');
}

/* {"content":[{"type":"text","text":TEXT},BLOCKS] */
static void
put_content(struct buf *out, struct buf *text, const char *blocks)
{
	cut_text(text);
	buf_puts(out, "{\"content\":[{\"type\":\"text\",\"text\":");
	buf_json(out, text->data, text->len);
	buf_putc(out, '}');
	if (blocks != NULL && blocks[0] != '\0') {
		buf_putc(out, ',');
		buf_puts(out, blocks);
	}
	buf_putc(out, ']');
}

/*
 * A run.
 */

static bool
is_json(const char *json, size_t len, struct err *e)
{
	const struct cj_limits limits = { .depth_max = RESULT_DEPTH_MAX,
		.dup = CJ_DUP_ALLOW,
		.values_max = RESULT_VALUES_MAX };

	err_clear(e);
	return jscan_check(json, len, &limits, e) == 0;
}

/* R, or a crash in its place when its result is no JSON. */
static struct sandbox_result
checked(const struct sandbox_result *r, const char *request_id,
	struct arena *a)
{
	struct sandbox_result out = *r;
	struct err e;

	if (r->json != NULL && !is_json(r->json, r->json_len, &e)) {
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

bool
render_result(const struct render_run *run, bool is_structured,
	struct buf *out)
{
	struct arena *a = out->arena;
	struct sandbox_result c = checked(run->result, run->request_id, a);
	struct render_run r = *run;
	struct buf text;

	r.result = &c;
	buf_init(&text, a);
	if (c.status == SANDBOX_COMPLETED)
		put_value_text(c.json, c.json_len, &text);
	else
		put_error_text(&r, &text);
	put_logs_text(&r, &text);
	put_content(out, &text, r.blocks);
	if (is_structured) {
		buf_puts(out, ",\"structuredContent\":");
		put_structured(&r, out);
	}
	if (c.status != SANDBOX_COMPLETED)
		buf_puts(out, ",\"isError\":true");
	buf_putc(out, '}');
	return c.status == SANDBOX_COMPLETED;
}

void
render_answer(const struct call_answer *answer, bool is_structured,
	struct buf *out)
{
	const struct cj_limits limits = { .depth_max = RESULT_DEPTH_MAX,
		.dup = CJ_DUP_ALLOW };
	struct cJSON *v;
	struct buf text;
	struct err e;

	buf_init(&text, out->arena);
	if (answer->status == CALL_OK && answer->content != NULL &&
		is_json(answer->content, answer->content_len, &e)) {
		buf_puts(out, "{\"content\":");
		buf_put(out, answer->content, answer->content_len);
	} else if (answer->status == CALL_OK) {
		put_value_text(answer->json, answer->len, &text);
		put_content(out, &text, NULL);
	} else {
		err_clear(&e);
		buf_puts(&text, "Error: ");
		if (cj_parse(out->arena, answer->json, answer->len, &limits,
			    &v, &e) == 0 &&
			cj_get_string(v, "message") != NULL)
			buf_puts(&text, cj_get_string(v, "message"));
		buf_puts(&text, "\n");
		render_pretty(&text, answer->json, answer->len);
		put_content(out, &text, NULL);
		buf_puts(out, ",\"isError\":true");
	}
	if (answer->status == CALL_OK && is_structured && answer->len > 0 &&
		answer->json[0] == '{') {
		buf_puts(out, ",\"structuredContent\":");
		buf_put(out, answer->json, answer->len);
	}
	buf_putc(out, '}');
}

/*
 * Waiting.
 */

static void
put_question(struct buf *b, const struct ledger_call *q)
{
	buf_printf(b, "{\"kind\":\"%s\",\"seq\":%" PRId64 ",\"message\":",
		q->is_elicit ? "elicit" : "approval", q->seq);
	buf_jsons(b, q->message != NULL ? q->message : "");
	buf_printf(b, ",\"requestedSchema\":%s",
		q->schema != NULL ?
			q->schema :
			"{\"type\":\"object\",\"properties\":{}}");
	if (!q->is_elicit) {
		buf_puts(b, ",\"tool\":");
		buf_jsons(b, q->path);
		buf_puts(b, ",\"args\":");
		buf_puts(b, q->args != NULL ? q->args : "null");
		if (q->args == NULL && q->preview != NULL) {
			buf_puts(b, ",\"argsPreview\":");
			buf_jsons(b, q->preview);
			buf_printf(b, ",\"argsBytes\":%zu", q->args_len);
		}
	}
	if (q->deadline != NULL) {
		buf_puts(b, ",\"deadline\":");
		buf_jsons(b, q->deadline);
	}
	buf_putc(b, '}');
}

static void
put_question_text(struct buf *b, const struct ledger_call *q)
{
	buf_printf(b, "Execution paused: %s\n",
		q->message != NULL ? q->message : q->path);
	if (!q->is_elicit) {
		buf_printf(b, "tool: %s\narguments: ", q->path);
		if (q->args != NULL)
			render_pretty(b, q->args, strlen(q->args));
		else if (q->preview != NULL)
			buf_printf(b,
				"(the beginning of %zu bytes, too long to be "
				"shown)\n%s",
				q->args_len, q->preview);
		else
			buf_puts(b, "(too long to be shown)");
		buf_putc(b, '\n');
	} else if (q->schema != NULL) {
		buf_puts(b, "the answer must be: ");
		render_pretty(b, q->schema, strlen(q->schema));
		buf_putc(b, '\n');
	}
	buf_printf(b, "seq: %" PRId64 "\n", q->seq);
}

void
render_waiting(const struct render_run *r,
	const struct ledger_call *const *question, size_t n_questions,
	const char *deadline, bool is_structured, struct buf *out)
{
	struct buf text;
	size_t i;

	buf_init(&text, out->arena);
	for (i = 0; i < n_questions; i++)
		put_question_text(&text, question[i]);
	buf_printf(&text,
		"\nThe program waits where it stopped. Ask the user; with "
		"their answer call the tool `resume` with this executionId "
		"and seq and the action accept, decline or cancel%s. Do not "
		"answer for them.\nexecutionId: %s\ndeadline: %s",
		n_questions > 1 ? ", once for each seq" : "", r->execution_id,
		deadline != NULL ? deadline : "none");
	put_logs_text(r, &text);
	put_content(out, &text, NULL);
	if (is_structured) {
		buf_puts(out, ",\"structuredContent\":{\"status\":"
			      "\"waiting_for_interaction\"");
		if (deadline != NULL) {
			buf_puts(out, ",\"deadline\":");
			buf_jsons(out, deadline);
		}
		buf_puts(out, ",\"interaction\":");
		put_question(out, question[0]);
		buf_puts(out, ",\"interactions\":[");
		for (i = 0; i < n_questions; i++) {
			buf_puts(out, i > 0 ? "," : "");
			put_question(out, question[i]);
		}
		buf_puts(out, "],");
		put_logs(r, out);
		put_calls(r, out);
		buf_putc(out, '}');
	}
	buf_putc(out, '}');
}

void
render_refusal(const struct render_refusal *refusal,
	const struct render_run *r, bool is_structured, struct buf *out)
{
	struct buf text;

	buf_init(&text, out->arena);
	buf_printf(&text, "Error: %s", refusal->message);
	if (refusal->must_run_again)
		buf_puts(&text, " Run `execute` again if it is still wanted.");
	if (r->n_calls > 0)
		put_calls_text(r, &text);
	put_content(out, &text, NULL);
	if (is_structured) {
		buf_puts(out, ",\"structuredContent\":{\"status\":");
		buf_jsons(out, refusal->status);
		buf_puts(out, ",\"error\":");
		buf_jsons(out, refusal->message);
		buf_puts(out, ",\"logs\":[]");
		if (refusal->outcome != NULL) {
			buf_puts(out, ",\"outcome\":");
			buf_jsons(out, refusal->outcome);
		}
		if (refusal->must_run_again)
			buf_puts(out, ",\"recovery\":\"re_execute\"");
		put_calls(r, out);
		buf_putc(out, '}');
	}
	buf_puts(out, ",\"isError\":true}");
}

void
render_again(const char *json, bool is_structured, struct buf *out)
{
	size_t len = strlen(json), off, n;

	if (is_structured ||
		!cj_raw_member(json, len, "content", &off, &n)) {
		buf_put(out, json, len);
		return;
	}
	buf_puts(out, "{\"content\":");
	buf_put(out, json + off, n);
	if (cj_raw_member(json, len, "isError", &off, &n)) {
		buf_puts(out, ",\"isError\":");
		buf_put(out, json + off, n);
	}
	buf_putc(out, '}');
}
