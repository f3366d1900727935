/* SPDX-License-Identifier: ISC */
/*
 * openapi: OpenAPI 3.0 and 3.1 documents, JSON or YAML, as rows of mcp.tool.
 * For mcp-admin.
 *
 * An operation that cannot be offered as it is described is refused, and the
 * reason told; nothing is guessed.  Where a secret goes is told too, for the
 * operator to set.
 */
#ifndef RUN_OPENAPI_H
#define RUN_OPENAPI_H

struct arena;
struct err;
struct fetch;
struct fetch_request;

/* Room for the document, its tree and the tools: the arena's cap should be
 * some 40 times the document's size, at least this. */
#define OPENAPI_ARENA_BYTES ((size_t)2 << 30)
/* Largest document. */
#define OPENAPI_BYTES_MAX ((size_t)64 << 20)

struct openapi_options {
	const char *url;      /* of the document, for relative servers */
	const char *base_url; /* instead of the document's server */
};

struct openapi_refusal {
	const char *operation; /* "POST /things", or "" for what is not one */
	const char *reason;
};

/* A way in that the document names. */
struct openapi_security {
	const char *name;
	const char *in;	     /* "header", "query"; NULL: not supported */
	const char *field;   /* "Authorization", "api_key" */
	const char *prefix;  /* "Bearer ", or "" */
	const char *note;    /* what the secret is, a sentence */
	size_t n_operations; /* that ask for it */
};

struct openapi {
	const char *title;
	const char *version;
	const char *base_url; /* NULL: the document names none */
	const char *name;     /* for the source, from the title */
	const char *tools;    /* JSON array as source_import takes it */
	size_t tools_len;
	size_t n_tools;
	struct openapi_refusal *refused;
	size_t n_refused;
	/* What was left out of tools that were imported. */
	struct openapi_refusal *noted;
	size_t n_noted;
	struct openapi_security *security;
	size_t n_security;
};

/*
 * Import the document of LEN bytes at TEXT, after which there is a NUL.  *OUT
 * lives in A.  Fails with ERR_INVALID (not such a document; the detail says
 * why) or ERR_LIMIT.
 */
MUST_CHECK int openapi_import(struct arena *a, const char *text, size_t len,
	const struct openapi_options *options, struct openapi *out,
	struct err *e);

/*
 * Read the document from WHERE, a file or an http(s) URL; then OPTIONS->url
 * is where it was found.  F is needed for URLs.  Fails with ERR_INVALID or as
 * fetch_get.
 */
MUST_CHECK int openapi_read(struct fetch *f, struct arena *a, const char *where,
	char **text, size_t *len, struct openapi_options *options,
	struct err *e);

#endif
