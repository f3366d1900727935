/* SPDX-License-Identifier: ISC */
/*
 * msg: JSON-RPC 2.0 messages of a request body.
 *
 * Ids keep their source text: an integer beyond 2^53 or a string with any
 * escapes is echoed byte for byte.  A broken element of a batch is a message
 * of kind MSG_INVALID, so that the others are still answered.
 */
#ifndef RPC_MSG_H
#define RPC_MSG_H

struct arena;
struct cJSON;
struct err;

/* JSON-RPC 2.0 5.1, and the range that MCP implementations use. */
#define MSG_PARSE_ERROR	     (-32700)
#define MSG_INVALID_REQUEST  (-32600)
#define MSG_METHOD_NOT_FOUND (-32601)
#define MSG_INVALID_PARAMS   (-32602)
#define MSG_INTERNAL_ERROR   (-32603)

enum msg_kind {
	MSG_REQUEST,
	MSG_NOTIFICATION,
	MSG_RESPONSE, /* a result or error for a request of ours */
	MSG_INVALID
};

struct msg {
	enum msg_kind kind;
	const char *id; /* source text; NULL when there is none to echo */
	size_t id_len;
	const char *method;
	const struct cJSON *params; /* an object, or NULL when absent */
	const char *params_text;    /* its source, NULL when absent */
	size_t params_len;
	const char *why; /* MSG_INVALID: literal text for the client */
	int code;	 /* MSG_INVALID: JSON-RPC error code */
};

struct msg_body {
	bool is_batch;
	size_t n;
	struct msg *msg;
};

struct msg_limits {
	size_t depth_max;
	size_t batch_max;
};

/*
 * Parse the LEN bytes of TEXT (NUL after them) into OUT, in A.  Fails with
 * rpc_code MSG_PARSE_ERROR for what is not JSON, MSG_INVALID_REQUEST for
 * JSON that is no message or batch at all (scalars, [], too long a batch).
 */
MUST_CHECK int msg_parse(struct msg_body *out, struct arena *a,
	const char *text, size_t len, const struct msg_limits *limits,
	struct err *e);

#endif
