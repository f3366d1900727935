/* SPDX-License-Identifier: ISC */
/*
 * stubhttp: a small real HTTP server on a loopback port, in child processes,
 * whose answers the test changes while it runs.
 */
#ifndef TESTS_STUBHTTP_H
#define TESTS_STUBHTTP_H

struct stubhttp;

struct stubhttp *stubhttp_start(void);
void stubhttp_stop(struct stubhttp *s);

/* "http://127.0.0.1:PORT" and PATH; static storage, four at a time. */
const char *stubhttp_url(const struct stubhttp *s, const char *path);
int stubhttp_port(const struct stubhttp *s);

/* From now on PATH (with its query) is answered so; others get 404. */
void stubhttp_set(
	struct stubhttp *s, const char *path, int status, const char *body);
/* These bytes, then the connection is closed. */
void stubhttp_set_raw(struct stubhttp *s, const char *path, const char *raw);
void stubhttp_set_bytes(
	struct stubhttp *s, const char *path, const void *p, size_t len);
/* The raw bytes, then the last of them for ever. */
void stubhttp_set_endless(
	struct stubhttp *s, const char *path, const char *raw);
void stubhttp_set_delay(struct stubhttp *s, const char *path, int delay_ms);

/* Requests for PATH so far; connections accepted so far. */
int stubhttp_hits(const struct stubhttp *s, const char *path);
int stubhttp_connections(const struct stubhttp *s);
/* The latest request with its body, as received. */
const char *stubhttp_request(const struct stubhttp *s);

#endif
