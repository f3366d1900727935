/* SPDX-License-Identifier: ISC */
/*
 * eventstream: answers of upstream MCP servers as they come, JSON or events.
 *
 * The first byte decides which it is, not the label: servers and proxies
 * mislabel both.  Events are those of WHATWG HTML 9.2.6.
 */
#ifndef RUN_EVENTSTREAM_H
#define RUN_EVENTSTREAM_H

#include "base/buf.h"

/* False: enough. */
typedef bool (*eventstream_fn)(void *arg, const char *data, size_t len);

enum eventstream_kind {
	EVENTSTREAM_UNKNOWN, /* nothing but white space yet */
	EVENTSTREAM_JSON,    /* the whole is one text: see text */
	EVENTSTREAM_EVENTS
};

struct eventstream {
	enum eventstream_kind kind;
	struct buf text; /* JSON: all of it; events: the line in hand */
	struct buf data; /* of the event in hand */
	bool has_data;
	bool was_cr;
	bool is_message; /* its type is "message" or not given */
	bool is_over;
	eventstream_fn fn;
	void *arg;
};

/* FN gets the data of each event of type message. */
void eventstream_init(
	struct eventstream *s, struct arena *a, eventstream_fn fn, void *arg);

/* False: FN had enough. */
bool eventstream_feed(struct eventstream *s, const char *p, size_t len);

#endif
