/* SPDX-License-Identifier: ISC */
/*
 * realm: the contexts of the engine.  Each has its own globals and its own
 * prelude, and no object of one is ever given to another: what goes between
 * them goes through C, as numbers and strings.
 *
 *	0		the program's
 *	others		for script tools: some wait in the image, more are
 *			made when they are needed
 *	REALM_CHECKER	judges by JSON Schema; not in a process with a program
 *
 * vm_state.realms says what is where.
 */
#ifndef SANDBOX_REALM_H
#define SANDBOX_REALM_H

/* In the image, ready to be used */
#define REALM_SPARE 2

#define REALM_NONE    FRAME_REALMS_MAX
#define REALM_CHECKER (FRAME_REALMS_MAX + 1)

extern struct frame_realm realm_checker;
/* The prelude as bytecode in linear memory, for realms to come. */
extern uint32_t realm_prelude, realm_prelude_len;

/* Whose code runs: host functions and errors are this realm's. */
extern uint32_t realm_current;
void realm_enter(uint32_t realm);
/* Enter the realm of CONTEXT; REALM_NONE when it was freed. */
void realm_enter_context(uint32_t context);

/*
 * A context whose prelude has been run, in OUT.  False: memory is out, or the
 * prelude threw; the realm that was current is current.
 */
MUST_CHECK bool realm_make(struct frame_realm *out, uint32_t code,
	uint32_t code_len, bool is_first);

/* The script of LEN bytes at AT, which a NUL follows, as code for that. */
uint32_t realm_compile(uint32_t at, uint32_t len, uint32_t *code_len);

/* A realm for the script of call NUMBER, or REALM_NONE. */
uint32_t realm_take(uint32_t number);
void realm_free(uint32_t realm);

/* Draw other numbers than every run from one image would. */
MUST_CHECK bool realm_seed(const struct frame_realm *r);

/*
 * Call the prelude's function NAME of the current realm, or the prelude's
 * value itself (NULL), with ARGC values, which are freed.  The result is the
 * caller's to free, and may be an exception.
 */
uint32_t realm_call(const char *name, uint32_t argc, const uint32_t *argv);

#endif
