/* SPDX-License-Identifier: ISC */
/* bytea: bytes out of a column; db_bytea makes the parameter. */
#ifndef STORE_BYTEA_H
#define STORE_BYTEA_H

struct arena;

/*
 * The bytes of TEXT ("\x..." as PostgreSQL writes them), in A; *LEN of them.
 * NULL and 0 when TEXT is NULL or not of that form.
 */
unsigned char *bytea_parse(struct arena *a, const char *text, size_t *len);

#endif
