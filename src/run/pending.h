/* SPDX-License-Identifier: ISC */
/*
 * pending: what an approval is for: a tool as it was, and the whole arguments
 * of a call of it, sealed until the call is made.
 */
#ifndef RUN_PENDING_H
#define RUN_PENDING_H

struct arena;
struct catalog_tool;
struct err;
struct ledger_call;
struct ledger_question;
struct seal;

enum { PENDING_TOOL_LEN = 32 };

struct pending {
	const unsigned char *tool; /* PENDING_TOOL_LEN bytes */
	const char *args;
	size_t args_len;
};

/* Of a call; NUMBER is its seq. */
struct pending_key {
	struct seal *keys;
	const char *execution_id;
	int64_t number;
};

/* The digest of all that says what a call of TOOL does. */
void pending_digest(const struct catalog_tool *tool,
	unsigned char digest[PENDING_TOOL_LEN]);

/* Seal it into Q, in A. */
MUST_CHECK int pending_close(const struct pending_key *key, struct arena *a,
	const struct catalog_tool *tool, const char *args, size_t args_len,
	struct ledger_question *q, struct err *e);

/* As vault_open.  *OUT in A. */
MUST_CHECK int pending_open(const struct pending_key *key, struct arena *a,
	const struct ledger_call *row, struct pending *out, struct err *e);

/* The beginning of ARGS, for who has to decide; in A. */
void pending_preview(struct ledger_call *row, struct arena *a,
	const char *args, size_t args_len);

/* The same for a ROW that has come from the ledger without arguments. */
void pending_show(const struct pending_key *key, struct arena *a,
	struct ledger_call *row);

#endif
