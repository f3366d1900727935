/* SPDX-License-Identifier: ISC */
/*
 * openapi_schema: schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12 that
 * stands alone.
 *
 * References are replaced by what they lead to; where they lead back to
 * themselves, or when the result would be long, they become references to
 * $defs of the schema.  nullable, exclusiveMinimum: true and readOnly are
 * translated; what says nothing to a validator or reader is left out.
 */
#ifndef RUN_OPENAPI_SCHEMA_H
#define RUN_OPENAPI_SCHEMA_H

struct arena;
struct buf;
struct cJSON;
struct openapi_ref;
struct openapi_schema;

struct openapi_schema_options {
	struct openapi_ref *ref;
	bool is_30;	 /* OpenAPI 3.0 */
	bool is_request; /* without readOnly properties, else writeOnly */
	bool inlines;	 /* references are replaced, else all are $defs */
	size_t max;	 /* bytes in all */
	/* When it has more, the rest of $defs says nothing; 0: never. */
	size_t prune;
};

/* Lives in A; one for each schema document. */
struct openapi_schema *openapi_schema_new(
	struct arena *a, const struct openapi_schema_options *o);

/*
 * Append SCHEMA to OUT; DESCRIPTION (may be NULL) instead of its own.
 * IS_FORM: binary strings are files, see run/httpbody.h.
 */
void openapi_schema_put(struct openapi_schema *s, struct buf *out,
	const struct cJSON *schema, const char *description, bool is_form);

/* Append ,"$defs":{...} to what was put, when something refers to it. */
void openapi_schema_put_defs(struct openapi_schema *s, struct buf *out);

/* NULL, or why what was put is of no use. */
const char *openapi_schema_fault(const struct openapi_schema *s);
/* Some of $defs was left out. */
bool openapi_schema_is_abridged(const struct openapi_schema *s);
/* That was its length. */
bool openapi_schema_is_too_long(const struct openapi_schema *s);

#endif
