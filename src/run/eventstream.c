/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "run/eventstream.h"

void
eventstream_init(
	struct eventstream *s, struct arena *a, eventstream_fn fn, void *arg)
{
	memset(s, 0, sizeof(*s));
	buf_init(&s->text, a);
	buf_init(&s->data, a);
	s->is_message = true;
	s->fn = fn;
	s->arg = arg;
}

static bool
dispatch(struct eventstream *s)
{
	bool is_good = true;

	/* An empty one only sets the last event id (SEP-1699). */
	if (s->has_data && s->is_message && s->data.len > 0)
		is_good = s->fn(s->arg, s->data.data, s->data.len);
	buf_clear(&s->data);
	s->has_data = false;
	s->is_message = true;
	s->is_over = !is_good;
	return is_good;
}

static bool
line_end(struct eventstream *s)
{
	const char *line = s->text.data, *value;
	size_t len = s->text.len, name;

	if (len == 0)
		return dispatch(s);
	name = strcspn(line, ":");
	value = line + name;
	if (*value == ':')
		value++;
	if (*value == ' ')
		value++;
	if (name == 4 && memcmp(line, "data", 4) == 0) {
		if (s->has_data)
			buf_putc(&s->data, '\n');
		s->has_data = true;
		buf_put(&s->data, value, len - (size_t)(value - line));
	} else if (name == 5 && memcmp(line, "event", 5) == 0) {
		s->is_message = *value == '\0' || strcmp(value, "message") == 0;
	}
	buf_clear(&s->text);
	return true;
}

static bool
feed_events(struct eventstream *s, const char *p, size_t len)
{
	size_t n;

	while (len > 0) {
		if (s->was_cr && *p == '\n') {
			s->was_cr = false;
			p++;
			len--;
			continue;
		}
		s->was_cr = false;
		for (n = 0; n < len && p[n] != '\r' && p[n] != '\n'; n++)
			;
		buf_put(&s->text, p, n);
		if (n == len)
			return true;
		s->was_cr = p[n] == '\r';
		if (!line_end(s))
			return false;
		p += n + 1;
		len -= n + 1;
	}
	return true;
}

bool
eventstream_feed(struct eventstream *s, const char *p, size_t len)
{
	if (s->is_over)
		return false;
	while (s->kind == EVENTSTREAM_UNKNOWN && len > 0) {
		if (strchr(" \t\r\n\xef\xbb\xbf", *p) != NULL && *p != '\0') {
			p++;
			len--;
		} else {
			s->kind = *p == '{' || *p == '[' ? EVENTSTREAM_JSON
							 : EVENTSTREAM_EVENTS;
		}
	}
	if (s->kind == EVENTSTREAM_EVENTS)
		return feed_events(s, p, len);
	buf_put(&s->text, p, len);
	return true;
}
