/* SPDX-License-Identifier: ISC */
/*
 * httpargs: where the arguments of a call go in an HTTP request.
 *
 * tool.definition: {"method", "path": "/things/{id}", "params": [{"name",
 * "in": "path|query|header", "arg": name of the argument, absent: NAME,
 * "required", "style", "explode", "reserved", "content": a media type}],
 * "body": {"content_type", "content_types": [others that the argument
 * contentType may choose], "required", "arg": "body", "deep": whether nested
 * values of a form become a[b]=c}, "accept"}
 *
 * Serialization as OpenAPI 3 says: simple, label, matrix in paths; form,
 * spaceDelimited, pipeDelimited, deepObject in queries; simple in headers.
 */
#ifndef RUN_HTTPARGS_H
#define RUN_HTTPARGS_H

struct arena;
struct fetch_request;

struct httpargs {
	const char *method;
	bool is_safe; /* GET, HEAD, OPTIONS, QUERY */
	const char *url;
};

/*
 * Build the request for ARGS, the text of a JSON object, below BASE_URL.  What
 * REQ and OUT point to lives in A.  NULL, or what is wrong, for whoever wrote
 * the arguments; *IS_OURS then tells that it is the definition.
 */
const char *httpargs_build(struct arena *a, const char *base_url,
	const char *definition, const char *args, size_t args_len,
	struct httpargs *out, struct fetch_request *req, bool *is_ours);

#endif
