/* SPDX-License-Identifier: ISC */
/*
 * imports: what the engine is given from outside: the host functions of the
 * prelude, a clock, random bytes, and no files.  The functions themselves have
 * the names that wasm2c gives them.
 */
#ifndef SANDBOX_IMPORTS_H
#define SANDBOX_IMPORTS_H

/* Make the host functions globals, for the prelude to take. */
void imports_define(void);

#endif
