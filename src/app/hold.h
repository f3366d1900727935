/* SPDX-License-Identifier: ISC */
/*
 * hold: the GET event stream.  It occupies a responder, so it is bounded: it
 * ends by itself, with a retry hint, after stream_hold_s, when the client
 * hangs up, when this process is told to stop, or when another request waits
 * for a responder (field reports B-45, B-46).
 */
#ifndef APP_HOLD_H
#define APP_HOLD_H

struct app;
struct res;

enum hold_end { HOLD_DONE, HOLD_GONE, HOLD_YIELDED, HOLD_STOPPED };

/* R holds status and headers.  Returns when the stream has ended. */
enum hold_end hold_stream(struct app *app, struct res *r);

const char *hold_end_name(enum hold_end end);

#endif
