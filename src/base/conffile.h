/* SPDX-License-Identifier: ISC */
/*
 * conffile: the text behind each setting, from a file and from the
 * environment, with where it was found.  Knows syntax, not settings: FIND
 * gives the index of a name in VALUES or CONFFILE_UNKNOWN.  The only user of
 * libinih.
 */
#ifndef BASE_CONFFILE_H
#define BASE_CONFFILE_H

struct arena;
struct err;

#define CONFFILE_UNKNOWN SIZE_MAX

struct conffile_value {
	const char *text; /* NULL: not given */
	const char *from; /* "file:line" or the variable's name */
};

/* Fails with ERR_INVALID at the first fault, which DETAIL names NAME:line. */
MUST_CHECK int conffile_text(struct arena *a, const char *name,
	const char *text, size_t len, size_t (*find)(const char *, size_t),
	struct conffile_value *values, struct err *e);

/*
 * Every variable PREFIX<KEY> but EXCEPT replaces a value; one that FIND does
 * not know is ERR_INVALID.
 */
MUST_CHECK int conffile_environment(struct arena *a, const char *prefix,
	const char *except, size_t (*find)(const char *, size_t),
	struct conffile_value *values, struct err *e);

/* All that FD gives, NUL-terminated in A; more than MAX is ERR_INVALID. */
MUST_CHECK int conffile_whole(struct arena *a, int fd, size_t max,
	const char *path, char **out, size_t *len, struct err *e);

#endif
