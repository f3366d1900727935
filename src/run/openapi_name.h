/* SPDX-License-Identifier: ISC */
/*
 * openapi_name: names of tools from operations: "issues.create".
 *
 * The group is the first tag, else the first segment of the path that says
 * something; the leaf is the operationId without a first word that repeats
 * the group, else method and path.  What two operations would share is told
 * apart by the path's version, then the method, then a hash.
 */
#ifndef RUN_OPENAPI_NAME_H
#define RUN_OPENAPI_NAME_H

struct arena;

struct openapi_name {
	const char *method; /* upper case */
	const char *path;
	const char *tag;	  /* may be NULL */
	const char *operation_id; /* may be NULL */
	const char *name;	  /* given */
};

/* Give N operations names, unique among them, in A. */
void openapi_name_give(struct arena *a, struct openapi_name *op, size_t n);

/* Letters and digits of S as camelCase in A; "" when it has none. */
const char *openapi_name_camel(struct arena *a, const char *s, size_t len);

#endif
