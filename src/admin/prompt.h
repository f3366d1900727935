/* SPDX-License-Identifier: ISC */
/* prompt: a secret from standard input, without echo on a terminal. */
#ifndef ADMIN_PROMPT_H
#define ADMIN_PROMPT_H

struct err;

/*
 * Read all of standard input, less one line feed at its end, or, on a
 * terminal, a line, into OUT of CAP bytes, NUL behind it.  Fails with
 * ERR_CONFLICT when it is empty or too long, with ERR_UNAVAILABLE when it
 * cannot be read; OUT is then zeroed.
 */
MUST_CHECK int prompt_secret(
	const char *name, char *out, size_t cap, size_t *len, struct err *e);

#endif
