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
 * Payloads, in the order in which they come:
 *	RUN     parent to sandbox, first: a program.
 *	        u32 version (FRAME_VERSION), u32 wall_ms, u32 cpu_ms,
 *	        u32 stack_bytes, u64 heap_bytes, u32 output_bytes,
 *	        u32 log_lines, u32 log_bytes, u32 calls_max, u32 args_bytes,
 *	        u32 args_total, u32 is_script, u32 args_len, u32 ctx_len,
 *	        then args (JSON), ctx (JSON), the program: UTF-8
 *	RESUME  parent to sandbox, first, instead of RUN: as RUN without
 *	        texts; HEAP frames follow
 *	CHECKER parent to sandbox, first, instead of RUN: as RUN without
 *	        texts; the limits hold for each CHECK that follows
 *	LOG     sandbox to parent, any number: one console line, UTF-8
 *	CALL    sandbox to parent: u32 number (1, 2, 3 ... through all
 *	        suspensions; 0: wants no answer), u32 parent (the call whose
 *	        script calls, 0: the program), u32 path_len, path, then the
 *	        arguments: JSON
 *	RETURN  parent to sandbox: u32 number, u8 answer (enum frame_answer),
 *	        u8 zero[3], JSON
 *	SCRIPT  parent to sandbox: run this to find the answer to a call.
 *	        u32 number, u32 args_len, u32 ctx_len, args (JSON), ctx
 *	        (JSON), the body: UTF-8
 *	SCRIPTED sandbox to parent: what came of a SCRIPT; as RETURN.  The call
 *	        is open still: the RETURN is the parent's.
 *	IDLE    sandbox to parent: nothing can go on before a RETURN.
 *	        u32 taken: RETURN and SCRIPT frames taken by this process, so
 *	        that the parent knows whether one is still on its way
 *	SUSPEND parent to sandbox, when nothing is on its way to an idle one:
 *	        HEAP frames follow, and are the last ones.  Empty
 *	HEAP    both directions: u8 part, u8 zero[3], then
 *	        part 0, once, first: struct frame_state (see frame_put_state)
 *	        part 1, any number: u32 count, count times u32 page (ascending
 *	        through all frames) and FRAME_PAGE bytes: the page, xor the
 *	        same page of the image
 *	        part 2, once, last: u32 how many pages there were
 *	RESULT  sandbox to parent, once, last.
 *	        u8 has_value, u8 is_cut, u16 zero, u32 dropped (console lines
 *	        left out), then the value: JSON, empty unless has_value
 *	ERROR   sandbox to parent, once, last, instead of RESULT.
 *	        u8 what (enum frame_error), u8 zero[3], u32 dropped, u32 line,
 *	        u32 column (of the program, from 1; 0 unknown), then a message
 *	CHECK   parent to sandbox: u32 number, u32 what (enum frame_question),
 *	        u32 schema_len, schema (JSON), value (JSON)
 *	CHECKED sandbox to parent: the answer; as RETURN
 */
#ifndef SANDBOX_FRAME_H
#define SANDBOX_FRAME_H

#define FRAME_VERSION	  2
#define FRAME_FD	  3
#define FRAME_HEADER_LEN  12
#define FRAME_RUN_LEN	  60 /* fixed parts of payloads */
#define FRAME_RESULT_LEN  8
#define FRAME_ERROR_LEN	  16
#define FRAME_CALL_LEN	  12
#define FRAME_RETURN_LEN  8
#define FRAME_SCRIPT_LEN  12
#define FRAME_CHECK_LEN	  12
#define FRAME_IDLE_LEN	  4
#define FRAME_HEAP_LEN	  4
#define FRAME_STATE_LEN	  96
#define FRAME_CODE_MAX	  (8u << 20)
#define FRAME_VALUE_MAX	  (32u << 20)
#define FRAME_CTX_MAX	  (256u << 10)
#define FRAME_LOG_MAX	  (64u << 10)
#define FRAME_MESSAGE_MAX (16u << 10)
#define FRAME_PATH_MAX	  512
#define FRAME_PAGE	  4096u
#define FRAME_PAGES_MAX	  15 /* in one HEAP frame */
#define FRAME_REALMS_MAX  64
#define FRAME_OPEN_MAX	  1024 /* calls without an answer yet */
#define FRAME_ENGINE_LEN  32
#define FRAME_HEAP_MAX                                                         \
	(FRAME_STATE_LEN + 16 * FRAME_REALMS_MAX + 8 * FRAME_OPEN_MAX +        \
		FRAME_PAGES_MAX * (4 + FRAME_PAGE))

enum frame_kind {
	FRAME_LOG = 1,
	FRAME_RESULT = 2,
	FRAME_ERROR = 3,
	FRAME_CALL = 4,
	FRAME_IDLE = 5,
	FRAME_HEAP = 6,
	FRAME_SCRIPTED = 7,
	FRAME_CHECKED = 8,
	FRAME_RUN = 17,
	FRAME_RETURN = 18,
	FRAME_SUSPEND = 19,
	FRAME_RESUME = 20,
	FRAME_SCRIPT = 21,
	FRAME_CHECKER = 22,
	FRAME_CHECK = 23,
};

enum frame_answer {
	FRAME_ANSWER_ERROR, /* the tool failed: {code, message, ...} */
	FRAME_ANSWER_OK,
	FRAME_ANSWER_THROW, /* nobody's to handle: {message} */
	FRAME_ANSWER__MAX
};

enum frame_question {
	FRAME_QUESTION_VALUE,	  /* does the value fit the schema? */
	FRAME_QUESTION_SIGNATURE, /* the schema as a TypeScript type */
	FRAME_QUESTION__MAX
};

enum frame_part {
	FRAME_PART_STATE,
	FRAME_PART_PAGES,
	FRAME_PART_END,
	FRAME_PART__MAX
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
	FRAME_ERROR_BUILD,    /* the heap is of another build */
	FRAME_ERROR_HEAP,     /* the heap is damaged */
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
	uint32_t calls_max;  /* 0: no tools */
	uint32_t args_bytes; /* of one call */
	uint32_t args_total; /* of all calls in one process */
	bool is_script;
	const char *args; /* in the payload, not terminated, as are all texts */
	uint32_t args_len;
	const char *ctx;
	uint32_t ctx_len;
	const char *code;
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

struct frame_call {
	uint32_t number;
	uint32_t parent;
	uint32_t path_len;
	const char *path;
	const char *args;
	size_t args_len;
};

/* RETURN, SCRIPTED, CHECKED */
struct frame_return {
	uint32_t number;
	enum frame_answer answer;
	const char *json;
	size_t json_len;
};

struct frame_script {
	uint32_t number;
	uint32_t args_len;
	uint32_t ctx_len;
	const char *args;
	const char *ctx;
	const char *body;
	size_t body_len;
};

struct frame_check {
	uint32_t number;
	enum frame_question what;
	uint32_t schema_len;
	const char *schema;
	const char *value;
	size_t value_len;
};

/* A context of the engine; addresses in linear memory. */
struct frame_realm {
	uint32_t context;
	uint32_t run;	 /* the prelude's function */
	uint32_t random; /* where Math.random keeps its 8 bytes */
	uint32_t call;	 /* whose script runs in it; 0: the program, or none */
};

struct frame_open {
	uint32_t number;
	uint32_t realm; /* index; FRAME_REALMS_MAX: nobody waits any more */
};

/*
 * All of a suspended run that is not in linear memory.  On the wire the
 * members in this order; engine, then u32 each, u64 for *_ns; realms and open
 * calls follow, as many as there are.
 */
struct frame_state {
	uint8_t engine[FRAME_ENGINE_LEN]; /* the build */
	uint32_t pages;			  /* of 64 KiB */
	uint32_t stack_pointer;
	uint32_t runtime;
	uint32_t calls; /* number of the last CALL */
	uint32_t lines, line_bytes, dropped;
	uint32_t output_bytes; /* the program knows it */
	uint32_t zero;
	uint64_t mono_ns, real_ns; /* the program's clocks */
	uint32_t realm_count, open_count;
	struct frame_realm realms[FRAME_REALMS_MAX];
	struct frame_open open[FRAME_OPEN_MAX];
};

/* Pages of a HEAP frame. */
struct frame_pages {
	uint32_t count;
	const uint8_t *pages; /* COUNT times u32 number, FRAME_PAGE bytes */
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
void frame_put_call(uint8_t p[FRAME_CALL_LEN], const struct frame_call *c);
void frame_put_return(
	uint8_t p[FRAME_RETURN_LEN], const struct frame_return *r);
void frame_put_script(
	uint8_t p[FRAME_SCRIPT_LEN], const struct frame_script *s);
void frame_put_check(uint8_t p[FRAME_CHECK_LEN], const struct frame_check *c);
void frame_put_idle(uint8_t p[FRAME_IDLE_LEN], uint32_t taken);

/*
 * Whole HEAP payloads into P, which has FRAME_HEAP_MAX bytes; their length.
 * frame_put_page adds a page to what frame_put_pages began.
 */
size_t frame_put_state(uint8_t *p, const struct frame_state *s);
size_t frame_put_pages(uint8_t *p);
size_t frame_put_page(
	uint8_t *p, size_t len, uint32_t page, const uint8_t bytes[FRAME_PAGE]);
size_t frame_put_heap_end(uint8_t *p, uint32_t pages);

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
MUST_CHECK enum frame_fault frame_get_call(
	const uint8_t *p, size_t len, struct frame_call *out);
MUST_CHECK enum frame_fault frame_get_return(
	const uint8_t *p, size_t len, struct frame_return *out);
MUST_CHECK enum frame_fault frame_get_script(
	const uint8_t *p, size_t len, struct frame_script *out);
MUST_CHECK enum frame_fault frame_get_check(
	const uint8_t *p, size_t len, struct frame_check *out);
MUST_CHECK enum frame_fault frame_get_idle(
	const uint8_t *p, size_t len, uint32_t *taken);

/*
 * The fixed parts of payloads whose texts are yet to be read: all that can be
 * said of them for a payload of LEN bytes.  Pointers in OUT are not set.
 */
MUST_CHECK enum frame_fault frame_get_run_head(
	const uint8_t p[FRAME_RUN_LEN], size_t len, struct frame_run *out);
MUST_CHECK enum frame_fault frame_get_return_head(
	const uint8_t p[FRAME_RETURN_LEN], size_t len,
	struct frame_return *out);
MUST_CHECK enum frame_fault frame_get_script_head(
	const uint8_t p[FRAME_SCRIPT_LEN], size_t len,
	struct frame_script *out);
MUST_CHECK enum frame_fault frame_get_check_head(
	const uint8_t p[FRAME_CHECK_LEN], size_t len, struct frame_check *out);

/*
 * What a HEAP payload is, and its parts.  *NEXT is the lowest page number
 * that may come, 0 at first; it is moved on.
 */
MUST_CHECK enum frame_fault frame_get_heap(
	const uint8_t *p, size_t len, enum frame_part *part);
MUST_CHECK enum frame_fault frame_get_state(
	const uint8_t *p, size_t len, struct frame_state *out);
MUST_CHECK enum frame_fault frame_get_pages(
	const uint8_t *p, size_t len, uint32_t *next, struct frame_pages *out);
MUST_CHECK enum frame_fault frame_get_heap_end(
	const uint8_t *p, size_t len, uint32_t *pages);

/* Page I of PAGES: its number, and *BYTES of it. */
uint32_t frame_page(
	const struct frame_pages *pages, uint32_t i, const uint8_t **bytes);

/* Is it UTF-8 (no surrogates, no overlong forms) without NUL? */
bool frame_is_text(const uint8_t *p, size_t len);

/* Literals for messages and tests. */
const char *frame_fault_text(enum frame_fault fault);

#endif
