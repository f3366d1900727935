/* SPDX-License-Identifier: ISC */
/* engine: which build of mcp-sandbox is installed. */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

struct err;

enum { ENGINE_ID_LEN = 64 };

/*
 * Write the digest of PROGRAM and its heap image as hex.  Read once and again
 * when the files change.  Fails with ERR_UNAVAILABLE when they cannot be
 * read.
 */
MUST_CHECK int engine_id(const char *program, char out[ENGINE_ID_LEN + 1],
	struct err *e);

#endif
