/* SPDX-License-Identifier: ISC */
/*
 * yaml: YAML documents as JSON text, for what comes in either form.  The only
 * user of libyaml.
 *
 * Scalars are read by the core schema of YAML 1.2, as JSON users expect: "no"
 * is a string, a date is one too.  Names of members are strings whatever they
 * look like.  Aliases are expanded, "<<" is merged; of repeated names the last
 * counts.  Only the first document is read.
 */
#ifndef RUN_YAML_H
#define RUN_YAML_H

struct arena;
struct buf;
struct err;

/*
 * Append LEN bytes of YAML at TEXT to OUT as JSON of at most MAX bytes.  Fails
 * with ERR_INVALID (not YAML; the detail has the line) or ERR_LIMIT (more than
 * MAX, as aliases of aliases can be, or too deep).
 */
MUST_CHECK int yaml_to_json(struct buf *out, const char *text, size_t len,
	size_t max, struct err *e);

#endif
