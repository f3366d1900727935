/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "app/hold.h"

#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/rnd.h"
#include "http/fcgi.h"
#include "http/res.h"
#include "http/sse.h"

/* A stream younger than this does not give way: it would only flap. */
#define HOLD_LEAST_MS 1000
/*
 * All streams of a pool see the request that waits.  Each looks again after a
 * random time, so that about one of them gives way.
 */
#define HOLD_PAUSE_MS  20
#define HOLD_JITTER_MS 250

static const char *const END_NAMES[] = {
	[HOLD_DONE] = "done",
	[HOLD_GONE] = "gone",
	[HOLD_YIELDED] = "yielded",
	[HOLD_STOPPED] = "stopped",
};

const char *
hold_end_name(enum hold_end end)
{
	return END_NAMES[end];
}

static int
send_buf(struct app *app, struct buf *b)
{
	int rc = fcgi_write(app->fcgi, b->data, b->len);

	buf_clear(b);
	return rc != 0 ? rc : fcgi_flush(app->fcgi);
}

/*
 * Another request waits, perhaps only for the moment that an idle responder
 * needs to take it.  Look again: HOLD_YIELDED when it is still there.
 */
static bool
gives_way(struct app *app, enum hold_end *end)
{
	unsigned char r;
	int got;

	rnd_bytes(&r, 1);
	got = fcgi_wait(app->fcgi, FCGI_EVENT_GONE | FCGI_EVENT_STOP,
		HOLD_PAUSE_MS + r * HOLD_JITTER_MS / 256);
	if (got == FCGI_EVENT_NONE)
		got = fcgi_wait(app->fcgi, FCGI_EVENT_WAITING, 0);
	*end = got & FCGI_EVENT_GONE ? HOLD_GONE :
		got & FCGI_EVENT_STOP ? HOLD_STOPPED :
					HOLD_YIELDED;
	return got != FCGI_EVENT_NONE;
}

static int
min_ms(int64_t a, int64_t b)
{
	return (int)(a < b ? a : b);
}

enum hold_end
hold_stream(struct app *app, struct res *r)
{
	const struct conf *conf = app->conf;
	int64_t start_ms = clock_mono_ms(), now_ms, quiet_ms = start_ms, age_ms;
	int64_t end_ms = start_ms + conf->stream_hold_s * 1000;
	int events, got, wait_ms;
	enum hold_end end;
	struct buf b;

	/*
	 * Bytes at once: some proxies withhold the 200 until the first one
	 * (B-45).  The hint comes first, so that it counts however the stream
	 * ends.
	 */
	buf_init(&b, app->arena);
	sse_comment(&b, "open");
	sse_retry(&b, conf->stream_retry_ms);
	if (res_send_head(r, app->fcgi) != 0 || send_buf(app, &b) != 0)
		return HOLD_GONE;

	for (;;) {
		now_ms = clock_mono_ms();
		age_ms = now_ms - start_ms;
		if (now_ms >= end_ms)
			return HOLD_DONE;
		if (now_ms - quiet_ms >= conf->stream_keepalive_s * 1000) {
			sse_comment(&b, "ka");
			if (send_buf(app, &b) != 0)
				return HOLD_GONE;
			quiet_ms = now_ms;
		}
		events = FCGI_EVENT_GONE | FCGI_EVENT_STOP;
		wait_ms = min_ms(end_ms - now_ms,
			quiet_ms + conf->stream_keepalive_s * 1000 - now_ms);
		if (age_ms >= HOLD_LEAST_MS)
			events |= FCGI_EVENT_WAITING;
		else
			wait_ms = min_ms(wait_ms, HOLD_LEAST_MS - age_ms);
		got = fcgi_wait(app->fcgi, events, wait_ms);
		if (got & FCGI_EVENT_GONE)
			return HOLD_GONE;
		if (got & FCGI_EVENT_STOP)
			return HOLD_STOPPED;
		if ((got & FCGI_EVENT_WAITING) && gives_way(app, &end))
			return end;
	}
}
