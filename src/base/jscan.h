/* SPDX-License-Identifier: ISC */
/*
 * jscan: JSON text looked at without building anything.  What cj checks
 * before the parser sees the text, and how it finds source text again.
 * Iterative throughout: depth costs no stack.
 */
#ifndef BASE_JSCAN_H
#define BASE_JSCAN_H

struct cj_limits;
struct err;

/* The rules and errors of cj_parse. */
MUST_CHECK int jscan_check(const char *text, size_t len,
	const struct cj_limits *limits, struct err *e);

/* cj_raw_member, cj_raw_element and cj_raw_next. */
bool jscan_member(const char *text, size_t len, const char *name,
	size_t *off, size_t *raw_len);
bool jscan_element(const char *text, size_t len, size_t i, size_t *off,
	size_t *raw_len);
bool jscan_next(const char *text, size_t len, size_t *off, size_t *raw_len);

#endif
