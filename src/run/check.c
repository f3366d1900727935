/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/check.h"

#include <poll.h>

#include "base/arena.h"
#include "base/cj.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/link.h"
#include "run/process.h"

/* The first question waits for the process, too. */
#define START_MS 2000
#define GRACE_MS 200

/* Of what the checker says, which is written for people. */
#define ANSWER_MAX (256u << 10)

/* As checker.js. */
#define FAULTS_MAX 20

struct check {
	struct check_limits limits;
	struct process process;
	struct link link;
	uint32_t number;
};

struct check *
check_open(const struct check_limits *limits)
{
	struct check *c = mem_zalloc(1, sizeof(*c));

	c->limits = *limits;
	return c;
}

static void
end_process(struct check *c)
{
	struct process_end end;

	if (c->process.pid == 0)
		return;
	process_end(&c->process, false, &end);
	link_release(&c->link);
}

void
check_close(struct check *c)
{
	if (c == NULL)
		return;
	end_process(c);
	free(c);
}

static int
start(struct check *c, struct err *e)
{
	const struct frame_run r = {
		.wall_ms = c->limits.wall_ms,
		.cpu_ms = c->limits.wall_ms,
		.stack_bytes = 1 << 20,
		.heap_bytes = c->limits.heap_bytes,
		.output_bytes = ANSWER_MAX,
	};
	uint8_t fixed[FRAME_RUN_LEN];

	if (process_start(c->limits.program, c->limits.image, &c->process, e) !=
		0)
		return -1;
	link_init(&c->link, c->process.fd);
	c->link.call_max = ANSWER_MAX;
	c->number = 0;
	frame_put_run(fixed, &r);
	link_put(&c->link, FRAME_CHECKER, fixed, sizeof(fixed), NULL, 0, NULL,
		0);
	return 0;
}

/*
 * The answer to the question that was put last.  NULL: the process is gone or
 * is to go, *IS_LATE when it took too long or too much.
 */
static const char *
wait_answer(struct check *c, struct arena *a, int64_t deadline_ms, size_t *len,
	bool *is_late)
{
	struct frame_return r;
	struct frame_failure v;
	enum frame_fault f;
	uint8_t *p;

	*is_late = false;
	for (;;) {
		struct pollfd fd = { .fd = c->link.fd, .events = POLLIN };
		int64_t left = deadline_ms - clock_mono_ms();

		link_flush(&c->link);
		switch (link_next(&c->link, a, &p, &f)) {
		case LINK_NONE:
			break;
		case LINK_FRAME:
			*len = c->link.frame.len;
			if (c->link.frame.kind == FRAME_ERROR &&
				frame_get_error(p, *len, &v) == FRAME_OK)
				*is_late = v.what == FRAME_ERROR_WALL ||
					   v.what == FRAME_ERROR_MEMORY ||
					   v.what == FRAME_ERROR_STACK;
			if (c->link.frame.kind != FRAME_CHECKED ||
				frame_get_return(p, *len, &r) != FRAME_OK ||
				r.number != c->number)
				return NULL;
			*len = r.json_len;
			return r.json;
		default:
			return NULL;
		}
		if (left <= 0) {
			*is_late = true;
			return NULL;
		}
		if (link_queued(&c->link) > 0)
			fd.events |= POLLOUT;
		poll(&fd, 1, (int)left);
	}
}

/*
 * Ask; *ANSWER NULL: no answer within the limits.  A process that is there
 * already may have died meanwhile: then a new one is asked, once.
 */
static int
ask(struct check *c, enum frame_question what, const char *schema,
	size_t schema_len, const char *value, size_t value_len, struct arena *a,
	const char **answer, size_t *len, struct err *e)
{
	struct frame_check q = { .what = what, .schema_len = schema_len };
	uint8_t fixed[FRAME_CHECK_LEN];
	bool is_old, is_late;

	do {
		int64_t deadline_ms =
			clock_mono_ms() + c->limits.wall_ms + GRACE_MS;

		is_old = c->process.pid != 0;
		if (!is_old) {
			deadline_ms += START_MS;
			if (start(c, e) != 0)
				return -1;
		}
		q.number = ++c->number;
		frame_put_check(fixed, &q);
		link_put(&c->link, FRAME_CHECK, fixed, sizeof(fixed), schema,
			schema_len, value, value_len);
		*answer = wait_answer(c, a, deadline_ms, len, &is_late);
		if (*answer != NULL)
			return 0;
		end_process(c);
	} while (is_old && !is_late);
	if (is_late)
		return 0;
	return err_set(
		e, ERR_UNAVAILABLE, NULL, "no checker: %s", c->limits.program);
}

/* The texts are within what a question may hold. */
static bool
is_askable(const char *schema, size_t schema_len, const char *value,
	size_t value_len)
{
	return schema_len <= FRAME_CODE_MAX && value_len <= FRAME_VALUE_MAX &&
	       frame_is_text((const uint8_t *)schema, schema_len) &&
	       frame_is_text((const uint8_t *)value, value_len);
}

static const char *
join_faults(struct arena *a, const struct check_verdict *v)
{
	const char *text = "";

	for (size_t i = 0; i < v->fault_count; i++)
		text = arena_printf(a, "%s%s%s: %s", text, i > 0 ? "; " : "",
			v->faults[i].path[0] != '\0' ? v->faults[i].path
						     : "the value",
			v->faults[i].message);
	return text;
}

static int
read_verdict(const char *json, size_t len, struct arena *a,
	struct check_verdict *v, struct err *e)
{
	const struct cj_limits limits = { .depth_max = 8 };
	const struct cJSON *faults, *f;
	struct cJSON *root;
	int64_t outcome;

	if (cj_parse(a, json, len, &limits, &root, e) != 0)
		return -1;
	if (!cj_get_int(root, "outcome", 0, CHECK__MAX - 1, &outcome))
		return err_set(e, ERR_INTERNAL, NULL, "no outcome");
	v->outcome = outcome;
	v->message = cj_get_string(root, "message");
	faults = cj_get_array(root, "faults");
	v->faults = arena_calloc(a, FAULTS_MAX, sizeof(*v->faults));
	for (f = cj_first(faults); f != NULL && v->fault_count < FAULTS_MAX;
		f = cj_next(f)) {
		struct check_fault *out = &v->faults[v->fault_count];

		out->path = cj_get_string(f, "path");
		out->message = cj_get_string(f, "message");
		if (out->path != NULL && out->message != NULL)
			v->fault_count++;
	}
	if (v->outcome == CHECK_INVALID)
		v->message = join_faults(a, v);
	return 0;
}

int
check_value(struct check *c, const char *schema, size_t schema_len,
	const char *value, size_t value_len, struct arena *a,
	struct check_verdict **out, struct err *e)
{
	struct check_verdict *v = arena_zalloc(a, sizeof(*v));
	const char *json;
	size_t len;

	*out = v;
	if (!is_askable(schema, schema_len, value, value_len)) {
		v->outcome = CHECK_TOO_COSTLY;
		v->message = "The value or its schema is too large to be "
			     "checked";
		return 0;
	}
	if (ask(c, FRAME_QUESTION_VALUE, schema, schema_len, value, value_len,
		    a, &json, &len, e) != 0)
		return -1;
	if (json == NULL) {
		v->outcome = CHECK_TOO_COSTLY;
		v->message = "The value cannot be checked against its schema "
			     "within the limits";
		return 0;
	}
	return read_verdict(json, len, a, v, e);
}

int
check_signature(struct check *c, const char *schema, size_t schema_len,
	struct arena *a, const char **out, struct err *e)
{
	const struct cj_limits limits = { .depth_max = 8 };
	struct cJSON *root;
	const char *json;
	size_t len;

	*out = NULL;
	if (!is_askable(schema, schema_len, "", 0))
		return 0;
	if (ask(c, FRAME_QUESTION_SIGNATURE, schema, schema_len, "", 0, a,
		    &json, &len, e) != 0)
		return -1;
	if (json == NULL)
		return 0;
	if (cj_parse(a, json, len, &limits, &root, e) != 0)
		return -1;
	*out = cj_get_string(root, "signature");
	return 0;
}
