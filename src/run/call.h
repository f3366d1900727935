/* SPDX-License-Identifier: ISC */
/*
 * call: what came of one call of a tool, whatever its kind, and the texts
 * that programs get for it.
 */
#ifndef RUN_CALL_H
#define RUN_CALL_H

struct arena;

enum call_status {
	CALL_OK,
	CALL_FAILED,  /* it is known that it failed, or that nothing was sent */
	CALL_UNKNOWN, /* sent, and no answer: it may have taken effect */
	CALL__MAX
};

struct call_answer {
	enum call_status status;
	/* CALL_OK: the data; otherwise an error object, see call_error. */
	const char *json;
	size_t len;
	/* An upstream's content blocks (JSON array) as they came, or NULL. */
	const char *content;
	size_t content_len;
};

struct call_fault {
	const char *code;    /* one word for programs: "timeout" */
	const char *message; /* a sentence for whoever wrote the program */
	bool is_retryable;   /* the same call may succeed later, and is safe */
	int64_t http_status; /* 0: none */
	const char *details; /* JSON, or NULL */
};

/* ANSWER becomes FAULT as JSON: {code,message,retryable,status?,details?}. */
void call_fail(struct call_answer *answer, struct arena *a,
	enum call_status status, const struct call_fault *fault);

/* ANSWER becomes LEN bytes of JSON at JSON. */
void call_succeed(struct call_answer *answer, const char *json, size_t len);

#endif
