/* SPDX-License-Identifier: ISC */
/* openapi_op: one operation of a document as the members of a tool. */
#ifndef RUN_OPENAPI_OP_H
#define RUN_OPENAPI_OP_H

#include "run/openapi_name.h"

struct arena;
struct cJSON;
struct openapi_ref;

struct openapi_op_doc {
	struct arena *a;
	const struct cJSON *root;
	struct openapi_ref *ref;
	bool is_30;
};

enum { OPENAPI_OP_NOTES_MAX = 4 };

struct openapi_op {
	struct openapi_name name; /* method and path are given */
	const char *members;	  /* ,"title":... and so on, all but the name */
	const struct cJSON *security; /* its own requirements, or NULL */
	const char *note[OPENAPI_OP_NOTES_MAX];
	size_t n_notes;
};

/* NULL, or why it cannot be offered. */
const char *openapi_op_read(const struct openapi_op_doc *doc,
	const struct cJSON *item, const struct cJSON *node,
	struct openapi_op *out);

#endif
