/* SPDX-License-Identifier: ISC */
/*
 * vault: what a waiting run leaves in the database, sealed: its heap, and
 * the arguments of calls that wait for a word.  An envelope that carries its
 * key's id, bound to the run and to what it is for.
 */
#ifndef RUN_VAULT_H
#define RUN_VAULT_H

struct arena;
struct err;
struct seal;

/* What it is, and of which run; NUMBER: generation, or the call's. */
struct vault_label {
	const char *what; /* "heap", "args" */
	const char *execution_id;
	const char *engine; /* NULL: any */
	int64_t number;
};

/* *OUT in A. */
MUST_CHECK int vault_close(struct seal *keys, struct arena *a,
	const struct vault_label *label, const void *p, size_t len,
	const void **out, size_t *out_len, struct err *e);

/*
 * *OUT in A.  ERR_NOTFOUND: this host has not the key.  ERR_INVALID: changed,
 * or of another run.
 */
MUST_CHECK int vault_open(struct seal *keys, struct arena *a,
	const struct vault_label *label, const void *p, size_t len,
	const void **out, size_t *out_len, struct err *e);

#endif
