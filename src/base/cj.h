/* SPDX-License-Identifier: ISC */
/*
 * cj: JSON in.  The only user of the cJSON parser.
 *
 * cJSON alone accepts trailing text, compares names without case, cuts
 * strings at \u0000, does not look at UTF-8 and turns 2^53+1 into 2^53.  So
 * the text is scanned first (UTF-8, depth, escapes, duplicate names, lone
 * surrogates, \u0000, length of numbers), getters are typed and mind the
 * case, and values whose exact text matters are found in the source again.
 */
#ifndef BASE_CJ_H
#define BASE_CJ_H

struct arena;
struct buf;
struct err;
struct cJSON;

enum cj_dup {
	CJ_DUP_REFUSE, /* a repeated name in any object is refused */
	CJ_DUP_ALLOW   /* the last one counts, as in JavaScript */
};

struct cj_limits {
	size_t depth_max; /* arrays and objects within each other */
	enum cj_dup dup;
	size_t values_max; /* of all kinds; 0: CJ_VALUES_MAX */
};

/* Each value costs cJSON some 80 bytes: 4 MiB of "[1,1,..." 170 MB. */
#define CJ_VALUES_MAX 262144
/* The parser and its destructor recurse: a larger depth_max is cut to this. */
#define CJ_DEPTH_MAX 512

/*
 * Parse TEXT (LEN bytes; TEXT[LEN] must be readable and NUL) into a tree that
 * lives in A.  Fails with ERR_INVALID and rpc_code -32700 for what is not
 * JSON (invalid UTF-8 and lone surrogates are not), and with -32600 for
 * duplicate names and \u0000 (ERR_INVALID) and for too much depth, too many
 * values and numbers of more than 63 characters (ERR_LIMIT).  Time grows
 * linearly with LEN, whatever the text.
 */
MUST_CHECK int cj_parse(struct arena *a, const char *text, size_t len,
	const struct cj_limits *limits, struct cJSON **out, struct err *e);

/*
 * Members by exact name; NULL when absent or OBJ is not an object.  Of
 * repeated names (CJ_DUP_ALLOW) the last.
 */
const struct cJSON *cj_get(const struct cJSON *obj, const char *name);
/* Typed: NULL (or false) when absent or of another type. */
const char *cj_get_string(const struct cJSON *obj, const char *name);
const struct cJSON *cj_get_object(const struct cJSON *obj, const char *name);
const struct cJSON *cj_get_array(const struct cJSON *obj, const char *name);
/* An integer within [min, max], exactly representable; false otherwise. */
bool cj_get_int(const struct cJSON *obj, const char *name, int64_t min,
	int64_t max, int64_t *out);
/* Any number; one too large for a double is infinite. */
bool cj_get_number(const struct cJSON *obj, const char *name, double *out);
bool cj_get_bool(const struct cJSON *obj, const char *name, bool *out);

bool cj_is_object(const struct cJSON *v);
bool cj_is_array(const struct cJSON *v);
bool cj_is_string(const struct cJSON *v);
bool cj_is_number(const struct cJSON *v);
bool cj_is_null(const struct cJSON *v); /* the value; absent is NULL */
const char *cj_string(const struct cJSON *v); /* NULL when not a string */
size_t cj_array_len(const struct cJSON *v);
const struct cJSON *cj_array_at(const struct cJSON *v, size_t i);
/* First child of an array or object, then its siblings; names of members. */
const struct cJSON *cj_first(const struct cJSON *v);
const struct cJSON *cj_next(const struct cJSON *v);
const char *cj_name(const struct cJSON *v);

/*
 * V as compact JSON text, appended to B or new in A.  Not cJSON's printer,
 * which turns 9007199254740991 into 9.00719925474099e+15.
 */
void cj_write(struct buf *b, const struct cJSON *v);
char *cj_print(struct arena *a, const struct cJSON *v);

/*
 * The source text of a value in TEXT, which cj_parse has accepted: the
 * top-level member NAME of the object that begins at TEXT (after white
 * space), the last one of that name.  The text of a member may be given
 * again, to descend.  Sets *OFF and *LEN; false when there is no such member.
 * Used to echo ids and progress tokens byte for byte.
 */
bool cj_raw_member(const char *text, size_t len, const char *name,
	size_t *off, size_t *raw_len);
/* Element I of the array that begins at TEXT. */
bool cj_raw_element(const char *text, size_t len, size_t i, size_t *off,
	size_t *raw_len);
/*
 * The element after the one at *OFF; with both 0, the first.  For going over
 * all of them: finding each by its number takes the square of the time.
 */
bool cj_raw_next(const char *text, size_t len, size_t *off, size_t *raw_len);

#endif
