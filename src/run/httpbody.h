/* SPDX-License-Identifier: ISC */
/*
 * httpbody: bodies of requests from JSON, and data from bodies of answers.
 *
 * Requests: JSON as it is; forms; multipart, where {"base64", "filename",
 * "mimeType"} is a file; text from a string; anything else from a string or
 * from {"base64"}.
 *
 * Answers: JSON as it is, text as a string, nothing as null; images, audio and
 * other files as {"mimeType","bytes"} and as content blocks beside it.
 */
#ifndef RUN_HTTPBODY_H
#define RUN_HTTPBODY_H

struct arena;
struct cJSON;

struct httpbody {
	const char *data; /* in the arena */
	size_t len;
	const char *type; /* with its parameters */
};

/*
 * V, whose source text is TEXT, as a body of TYPE.  NULL, or what is wrong
 * with it.  DEEP: nested values of a form become a[b]=c, else they are JSON.
 */
const char *httpbody_build(struct arena *a, const char *type,
	const struct cJSON *v, const char *text, size_t text_len, bool deep,
	struct httpbody *out);

struct httpbody_data {
	const char *json; /* in the arena or within the body */
	size_t len;
	const char *content; /* JSON array of content blocks, or NULL */
	size_t content_len;
	bool is_json; /* it was, else it is a string of its text */
};

/* LEN bytes of TYPE ("" when unknown) at DATA, which a NUL follows. */
void httpbody_read(struct arena *a, const char *type, const char *data,
	size_t len, struct httpbody_data *out);

/* Is it what a JSON text looks like from outside: type, or first byte? */
bool httpbody_is_json_type(const char *type);

#endif
