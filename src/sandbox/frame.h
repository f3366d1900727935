/* SPDX-License-Identifier: ISC */
/*
 * frame: what mcp-sandbox and its parent say to each other on descriptor 3,
 * a stream socket.  Knows bytes; does no input or output and no allocation.
 *
 * Both sides take the other for hostile: every field is checked, every length
 * is bounded before anything is read for it, text must be UTF-8 without NUL.
 * What does not fit is one enum frame_fault, after which the stream is not to
 * be read any further.
 *
 * A frame, integers little-endian:
 *	u32 len     bytes of the payload that follows the header
 *	u8  kind    enum frame_kind
 *	u8  zero[3]
 *	u32 seq     1, 2, 3 ... in each direction, without gaps
 * Payloads:
 *	RUN     parent to sandbox, once, first.
 *	        u32 version (FRAME_VERSION), u32 wall_ms, u32 cpu_ms,
 *	        u32 stack_bytes, u64 heap_bytes, u32 output_bytes,
 *	        u32 log_lines, u32 log_bytes, u64 zero, then the program: UTF-8
 *	LOG     sandbox to parent, any number: one console line, UTF-8
 *	RESULT  sandbox to parent, once, last.
 *	        u8 has_value, u8 is_cut, u16 zero, u32 dropped (console lines
 *	        left out), then the value: JSON, empty unless has_value
 *	ERROR   sandbox to parent, once, last, instead of RESULT.
 *	        u8 what (enum frame_error), u8 zero[3], u32 dropped, u32 line,
 *	        u32 column (of the program, from 1; 0 unknown), then a message
 * Kinds 4-6 and 18-19 are kept for host calls (CALL and RETURN: the number
 * of a call is the seq of its CALL frame) and for suspension (SUSPEND, HEAP,
 * RESUME).  Until they are defined they are FRAME_BAD_KIND.
 */
#ifndef SANDBOX_FRAME_H
#define SANDBOX_FRAME_H

#define FRAME_VERSION	  1
#define FRAME_FD	  3
#define FRAME_HEADER_LEN  12
#define FRAME_RUN_LEN	  44 /* fixed part of a RUN payload */
#define FRAME_RESULT_LEN  8
#define FRAME_ERROR_LEN	  16
#define FRAME_CODE_MAX	  (8u << 20)
#define FRAME_VALUE_MAX	  (32u << 20)
#define FRAME_LOG_MAX	  (64u << 10)
#define FRAME_MESSAGE_MAX (16u << 10)

enum frame_kind {
	FRAME_LOG = 1,
	FRAME_RESULT = 2,
	FRAME_ERROR = 3,
	FRAME_RUN = 17,
};

enum frame_from { FRAME_FROM_SANDBOX, FRAME_FROM_PARENT };

/* Why a program did not complete. */
enum frame_error {
	FRAME_ERROR_SYNTAX, /* does not parse: nothing of it ran */
	FRAME_ERROR_SCRIPT, /* threw, or waits for what never comes */
	FRAME_ERROR_WALL,
	FRAME_ERROR_CPU,
	FRAME_ERROR_MEMORY,
	FRAME_ERROR_STACK,
	FRAME_ERROR_OUTPUT,
	FRAME_ERROR_START,    /* could not begin: the program is untouched */
	FRAME_ERROR_INTERNAL, /* the engine failed */
	FRAME_ERROR__MAX
};

enum frame_fault {
	FRAME_OK,
	FRAME_BAD_KIND, /* unknown, or not for this direction */
	FRAME_BAD_LEN,	/* longer than its kind may be, or too short */
	FRAME_BAD_SEQ,
	FRAME_BAD_RESERVED, /* a field that must be zero is not */
	FRAME_BAD_VALUE,    /* a field out of its range */
	FRAME_BAD_TEXT,	    /* not UTF-8, or contains NUL */
	FRAME_BAD_VERSION,
	FRAME_FAULT__MAX
};

struct frame_header {
	uint32_t len;
	enum frame_kind kind;
	uint32_t seq;
};

struct frame_run {
	uint32_t wall_ms;
	uint32_t cpu_ms;
	uint32_t stack_bytes;
	uint64_t heap_bytes;
	uint32_t output_bytes;
	uint32_t log_lines;
	uint32_t log_bytes;
	const char *code; /* in the payload, not terminated */
	size_t code_len;
};

struct frame_result {
	bool has_value;
	bool is_cut;
	uint32_t dropped;
	const char *json; /* in the payload, not terminated */
	size_t json_len;
};

struct frame_failure {
	enum frame_error what;
	uint32_t dropped;
	uint32_t line;
	uint32_t column;
	const char *message; /* in the payload, not terminated */
	size_t message_len;
};

/* Write a header into H. */
void frame_put_header(uint8_t h[FRAME_HEADER_LEN], uint32_t len,
	enum frame_kind kind, uint32_t seq);

/*
 * Write the fixed part of a payload; the text goes after it.  The structs'
 * text pointers are not looked at.
 */
void frame_put_run(uint8_t p[FRAME_RUN_LEN], const struct frame_run *r);
void frame_put_result(
	uint8_t p[FRAME_RESULT_LEN], const struct frame_result *r);
void frame_put_error(uint8_t p[FRAME_ERROR_LEN], const struct frame_failure *f);

/*
 * Read a header that FROM sent and that must carry number SEQ.  On FRAME_OK
 * OUT->len is within what its kind allows.
 */
MUST_CHECK enum frame_fault frame_get_header(const uint8_t h[FRAME_HEADER_LEN],
	enum frame_from from, uint32_t seq, struct frame_header *out);

/* Read a payload.  OUT points into P. */
MUST_CHECK enum frame_fault frame_get_run(
	const uint8_t *p, size_t len, struct frame_run *out);
MUST_CHECK enum frame_fault frame_get_result(
	const uint8_t *p, size_t len, struct frame_result *out);
MUST_CHECK enum frame_fault frame_get_error(
	const uint8_t *p, size_t len, struct frame_failure *out);
MUST_CHECK enum frame_fault frame_get_log(const uint8_t *p, size_t len);

/* Is it UTF-8 (no surrogates, no overlong forms) without NUL? */
bool frame_is_text(const uint8_t *p, size_t len);

/* Literals for messages and tests. */
const char *frame_fault_text(enum frame_fault fault);

#endif
