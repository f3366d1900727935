/* SPDX-License-Identifier: ISC */
/* openapi_ref: local references ("#/components/...") within one document. */
#ifndef RUN_OPENAPI_REF_H
#define RUN_OPENAPI_REF_H

struct arena;
struct cJSON;
struct openapi_ref;

/* Lives in A. */
struct openapi_ref *openapi_ref_new(struct arena *a, const struct cJSON *root);

/* What REF leads to, NULL for nowhere or another document. */
const struct cJSON *openapi_ref_find(struct openapi_ref *r, const char *ref);

/*
 * V, or what its $ref leads to, over at most a few steps; NULL when that is
 * nowhere.
 */
const struct cJSON *openapi_ref_follow(
	struct openapi_ref *r, const struct cJSON *v);

#endif
