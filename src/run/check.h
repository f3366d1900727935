/* SPDX-License-Identifier: ISC */
/*
 * check: what a JSON Schema says of a value, and how it reads as a type.
 *
 * The judge is @cfworker/json-schema (no code generation, no network, drafts
 * 7 and 2020-12 among others), in an mcp-sandbox of its own that never runs a
 * program: a program that broke out of its engine's realm, or the engine
 * itself, would still not sit in judgement over its own arguments, and a
 * schema or pattern without end ends only that process.  The process is
 * started when it is first needed and kept, because that is what costs.
 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

struct arena;
struct check;
struct err;

struct check_limits {
	const char *program; /* path of mcp-sandbox */
	const char *image;   /* of the heap image; NULL: program + ".image" */
	uint32_t wall_ms;    /* of one question */
	uint64_t heap_bytes;
};

enum check_outcome {
	CHECK_VALID,
	CHECK_INVALID,	  /* see faults */
	CHECK_BAD_SCHEMA, /* see message: not a schema that is known here */
	CHECK_TOO_COSTLY, /* the limits did not suffice; see message */
	CHECK__MAX
};

struct check_fault {
	const char *path;    /* JSON pointer into the value; "" is all of it */
	const char *message; /* text for whoever made the value */
};

struct check_verdict {
	enum check_outcome outcome;
	struct check_fault *faults; /* at most 20 */
	size_t fault_count;
	const char *message; /* NULL when valid; one text of all faults */
};

/* Never fails: the process comes later.  LIMITS' strings must last. */
struct check *check_open(const struct check_limits *limits);
void check_close(struct check *c);

/*
 * Is VALUE what SCHEMA asks for?  Both are JSON.  *OUT lives in A.  Blocks up
 * to wall_ms, and while the process starts.  Fails with ERR_UNAVAILABLE when
 * there can be no process.
 */
MUST_CHECK int check_value(struct check *c, const char *schema,
	size_t schema_len, const char *value, size_t value_len, struct arena *a,
	struct check_verdict **out, struct err *e);

/*
 * SCHEMA as a TypeScript type, of a few KiB at most.  *OUT in A is NULL when
 * SCHEMA is no schema; otherwise as check_value.
 */
MUST_CHECK int check_signature(struct check *c, const char *schema,
	size_t schema_len, struct arena *a, const char **out, struct err *e);

#endif
