/* SPDX-License-Identifier: ISC */
/*
 * revision: the protocol revisions that begin with initialize, and what
 * differs between them on the wire.
 */
#ifndef MCP_REVISION_H
#define MCP_REVISION_H

enum revision {
	REVISION_2024_11_05, /* its data model over Streamable HTTP */
	REVISION_2025_03_26,
	REVISION_2025_06_18,
	REVISION_2025_11_25,
	REVISION__MAX,
	REVISION_NEWEST = REVISION_2025_11_25
};

const char *revision_name(enum revision r);

/* Whether NAME is served; sets *OUT. */
bool revision_find(const char *name, enum revision *out);

/*
 * What initialize answers to a request for NAME: the same when served, else
 * the newest (2025-11-25 lifecycle, "Version Negotiation").
 */
enum revision revision_negotiate(const char *name);

/* All names as a JSON array, newest first. */
const char *revision_list_json(void);

#define REVISION_HAS_BATCH(r)	       ((r) <= REVISION_2025_03_26)
#define REVISION_HAS_ANNOTATIONS(r)    ((r) >= REVISION_2025_03_26)
#define REVISION_HAS_TITLE(r)	       ((r) >= REVISION_2025_06_18)
#define REVISION_HAS_OUTPUT_SCHEMA(r)  ((r) >= REVISION_2025_06_18)
#define REVISION_HAS_SERVER_DETAILS(r) ((r) >= REVISION_2025_11_25)
/* An error without a readable id has none; before, its id is null (J-06). */
#define REVISION_OMITS_ID(r)	       ((r) >= REVISION_2025_11_25)
/*
 * structuredContent came with 2025-06-18.  A result may hold further members
 * from 2025-03-26 on, and clients of that revision read them.
 */
#define REVISION_HAS_STRUCTURED(r)     ((r) >= REVISION_2025_03_26)

#endif
