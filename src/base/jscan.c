/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/jscan.h"

#include "base/buf.h"
#include "base/cj.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/rnd.h"
#include "base/sip.h"

/* cJSON copies a number into 64 bytes before it looks at it. */
enum { NUMBER_BYTES = 63 };

enum { RPC_PARSE = -32700, RPC_INVALID = -32600 };

/* A member name seen, in the table that finds duplicates. */
struct name {
	uint64_t hash;
	uint32_t object; /* serial number of its object; 0: slot is free */
	uint32_t at;	 /* offset of its opening quote */
};

struct frame {
	uint32_t object; /* 0: an array */
};

struct scan {
	const char *text;
	size_t len;
	size_t at;
	struct err *e;

	enum cj_dup dup;
	size_t depth_max;
	size_t depth;
	struct frame frame[CJ_DEPTH_MAX];
	uint32_t n_objects;
	size_t values_left;

	struct name *names; /* open addressing, N_SLOTS a power of two */
	size_t n_slots;
	size_t n_names;
	uint64_t key[2];
};

static int
bad(struct scan *s, const char *what)
{
	err_set(s->e, ERR_INVALID, "Parse error", "json: %s at byte %zu", what,
		s->at);
	s->e->rpc_code = RPC_PARSE;
	return -1;
}

static int
refused(struct scan *s, enum err_kind kind, const char *pub)
{
	err_set(s->e, kind, pub, "json: %s at byte %zu", pub, s->at);
	s->e->rpc_code = RPC_INVALID;
	return -1;
}

/* The code unit of the four digits at S, or -1; at most LEN bytes. */
static long
code_unit(const char *s, size_t len)
{
	long v = 0;
	size_t i;

	if (len < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		int d = hex_digit(s[i]);

		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/*
 * Strings.  scan_string checks one; afterwards string_next walks over its
 * characters, decoded, which names are hashed and compared by.
 */

static int
scan_escape(struct scan *s)
{
	const char *t = s->text;
	long unit;

	if (s->at + 1 >= s->len)
		return bad(s, "unfinished escape");
	if (t[s->at + 1] != 'u') {
		if (t[s->at + 1] == '\0' ||
			strchr("\"\\/bfnrt", t[s->at + 1]) == NULL)
			return bad(s, "unknown escape");
		s->at += 2;
		return 0;
	}
	unit = code_unit(t + s->at + 2, s->len - s->at - 2);
	if (unit < 0)
		return bad(s, "bad \\u escape");
	if (unit == 0) {
		return refused(s, ERR_INVALID,
			"The character U+0000 is not accepted");
	}
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return bad(s, "lone surrogate");
	if (unit >= 0xd800 && unit <= 0xdbff) {
		if (s->len - s->at < 12 || t[s->at + 6] != '\\' ||
			t[s->at + 7] != 'u')
			return bad(s, "lone surrogate");
		unit = code_unit(t + s->at + 8, 4);
		if (unit < 0xdc00 || unit > 0xdfff)
			return bad(s, "lone surrogate");
		s->at += 6;
	}
	s->at += 6;
	return 0;
}

static int
scan_string(struct scan *s)
{
	s->at++;
	while (s->at < s->len) {
		unsigned char c = (unsigned char)s->text[s->at];
		size_t n;

		if (c == '"') {
			s->at++;
			return 0;
		}
		if (c < 0x20)
			return bad(s, "control character in a string");
		if (c == '\\') {
			if (scan_escape(s) != 0)
				return -1;
			continue;
		}
		n = buf_utf8_len(s->text + s->at, s->len - s->at);
		if (n == 0)
			return bad(s, "invalid UTF-8");
		s->at += n;
	}
	return bad(s, "unfinished string");
}

static size_t
utf8_put(unsigned char out[4], unsigned long c)
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (unsigned char)(0xc0 | c >> 6);
		out[1] = (unsigned char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (unsigned char)(0xe0 | c >> 12);
		out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (unsigned char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | c >> 18);
	out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (unsigned char)(0x80 | (c & 0x3f));
	return 4;
}

/*
 * The next character of a checked string whose inside is at *S, in UTF-8 into
 * OUT; 0 at its closing quote.
 */
static size_t
string_next(const char **s, unsigned char out[4])
{
	const char *p = *s;
	unsigned long c, low;
	size_t n;

	if (*p == '"')
		return 0;
	if (*p != '\\') {
		/* Checked before, so its length follows from its first byte. */
		c = (unsigned char)*p;
		n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		memcpy(out, p, n);
		*s = p + n;
		return n;
	}
	*s = p + 2;
	switch (p[1]) {
	case 'b':
		out[0] = '\b';
		return 1;
	case 'f':
		out[0] = '\f';
		return 1;
	case 'n':
		out[0] = '\n';
		return 1;
	case 'r':
		out[0] = '\r';
		return 1;
	case 't':
		out[0] = '\t';
		return 1;
	case 'u':
		break;
	default:
		out[0] = (unsigned char)p[1];
		return 1;
	}
	c = (unsigned long)code_unit(p + 2, 4);
	*s = p + 6;
	if (c >= 0xd800 && c <= 0xdbff) {
		low = (unsigned long)code_unit(p + 8, 4);
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*s = p + 12;
	}
	return utf8_put(out, c);
}

static uint64_t
name_hash(const struct scan *s, uint32_t object, size_t at)
{
	const char *p = s->text + at + 1;
	unsigned char c[4];
	struct sip h;
	size_t n, i;

	sip_init(&h, s->key);
	for (i = 0; i < 4; i++)
		sip_byte(&h, (unsigned char)(object >> (8 * i)));
	while ((n = string_next(&p, c)) > 0)
		for (i = 0; i < n; i++)
			sip_byte(&h, c[i]);
	return sip_end(&h);
}

static bool
names_are_equal(const char *text, size_t a, size_t b)
{
	const char *p = text + a + 1, *q = text + b + 1;
	unsigned char c[4], d[4];
	size_t n;

	/* Two spellings of a character come out in the same bytes. */
	do {
		n = string_next(&p, c);
		if (string_next(&q, d) != n || memcmp(c, d, n) != 0)
			return false;
	} while (n > 0);
	return true;
}

static int
names_grow(struct scan *s)
{
	size_t n = s->n_slots == 0 ? 64 : s->n_slots * 2;
	struct name *bigger = calloc(n, sizeof(*bigger));
	size_t i, k;

	if (bigger == NULL) {
		return err_set(s->e, ERR_INTERNAL, NULL,
			"json: no memory for %zu names", n);
	}
	for (i = 0; i < s->n_slots; i++) {
		if (s->names[i].object == 0)
			continue;
		k = s->names[i].hash & (n - 1);
		while (bigger[k].object != 0)
			k = (k + 1) & (n - 1);
		bigger[k] = s->names[i];
	}
	free(s->names);
	s->names = bigger;
	s->n_slots = n;
	return 0;
}

/* The name whose opening quote is AT joins those of OBJECT. */
static int
name_add(struct scan *s, uint32_t object, size_t at)
{
	uint64_t hash;
	size_t k;

	if (s->dup == CJ_DUP_ALLOW)
		return 0;
	if (s->n_names >= s->n_slots / 2 && names_grow(s) != 0)
		return -1;
	hash = name_hash(s, object, at);
	k = hash & (s->n_slots - 1);
	while (s->names[k].object != 0) {
		const struct name *n = &s->names[k];

		if (n->hash == hash && n->object == object &&
			names_are_equal(s->text, n->at, at))
			return refused(s, ERR_INVALID,
				"A member name is repeated");
		k = (k + 1) & (s->n_slots - 1);
	}
	s->names[k].hash = hash;
	s->names[k].object = object;
	s->names[k].at = (uint32_t)at;
	s->n_names++;
	return 0;
}

static size_t
skip_space(const char *text, size_t len, size_t at)
{
	while (at < len && (text[at] == ' ' || text[at] == '\t' ||
		text[at] == '\n' || text[at] == '\r'))
		at++;
	return at;
}

static size_t
skip_digits(const struct scan *s, size_t at)
{
	while (at < s->len && s->text[at] >= '0' && s->text[at] <= '9')
		at++;
	return at;
}

/* RFC 8259 6. */
static int
scan_number(struct scan *s)
{
	const char *t = s->text;
	size_t from = s->at, at = s->at, digits;

	if (t[at] == '-')
		at++;
	digits = at;
	at = skip_digits(s, at);
	if (at == digits || (t[digits] == '0' && at > digits + 1))
		return bad(s, "bad number");
	if (at < s->len && t[at] == '.') {
		digits = ++at;
		at = skip_digits(s, at);
		if (at == digits)
			return bad(s, "bad number");
	}
	if (at < s->len && (t[at] == 'e' || t[at] == 'E')) {
		at++;
		if (at < s->len && (t[at] == '+' || t[at] == '-'))
			at++;
		digits = at;
		at = skip_digits(s, at);
		if (at == digits)
			return bad(s, "bad number");
	}
	if (at - from > NUMBER_BYTES)
		return refused(s, ERR_LIMIT, "A number is too long");
	s->at = at;
	return 0;
}

static int
scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (s->len - s->at < n || memcmp(s->text + s->at, word, n) != 0)
		return bad(s, "unexpected character");
	s->at += n;
	return 0;
}

static int
scan_open(struct scan *s, bool is_object)
{
	if (s->depth >= s->depth_max)
		return refused(s, ERR_LIMIT, "JSON is nested too deeply");
	s->frame[s->depth++].object = is_object ? ++s->n_objects : 0;
	s->at++;
	return 0;
}

/* A name and its colon, at the name. */
static int
scan_name(struct scan *s)
{
	size_t at;

	s->at = at = skip_space(s->text, s->len, s->at);
	if (s->at >= s->len || s->text[s->at] != '"')
		return bad(s, "member name expected");
	if (scan_string(s) != 0 ||
		name_add(s, s->frame[s->depth - 1].object, at) != 0)
		return -1;
	s->at = skip_space(s->text, s->len, s->at);
	if (s->at >= s->len || s->text[s->at] != ':')
		return bad(s, "colon expected");
	s->at++;
	return 0;
}

/* A value up to its end, or to just inside a bracket that is not closed. */
static int
scan_value(struct scan *s, bool *is_inside)
{
	*is_inside = false;
	s->at = skip_space(s->text, s->len, s->at);
	if (s->at >= s->len)
		return bad(s, "value expected");
	if (s->values_left-- == 0)
		return refused(s, ERR_LIMIT, "JSON has too many values");
	switch (s->text[s->at]) {
	case '{':
	case '[':
		if (scan_open(s, s->text[s->at] == '{') != 0)
			return -1;
		s->at = skip_space(s->text, s->len, s->at);
		if (s->at < s->len && s->text[s->at] ==
			(s->frame[s->depth - 1].object != 0 ? '}' : ']')) {
			s->depth--;
			s->at++;
			return 0;
		}
		*is_inside = true;
		return 0;
	case '"':
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	case '-':
	case '0' ... '9':
		return scan_number(s);
	default:
		return bad(s, "unexpected character");
	}
}

/* After a value: close what ends here; true while another one follows. */
static int
scan_after(struct scan *s, bool *is_more)
{
	*is_more = false;
	while (s->depth > 0) {
		bool is_object = s->frame[s->depth - 1].object != 0;

		s->at = skip_space(s->text, s->len, s->at);
		if (s->at >= s->len)
			return bad(s, "unfinished array or object");
		if (s->text[s->at] == ',') {
			s->at++;
			*is_more = true;
			return 0;
		}
		if (s->text[s->at] != (is_object ? '}' : ']'))
			return bad(s, "comma or end expected");
		s->at++;
		s->depth--;
	}
	return 0;
}

static int
scan_text(struct scan *s)
{
	bool is_inside, is_more = true;

	while (is_more) {
		if (s->depth > 0 && s->frame[s->depth - 1].object != 0 &&
			scan_name(s) != 0)
			return -1;
		if (scan_value(s, &is_inside) != 0)
			return -1;
		if (!is_inside && scan_after(s, &is_more) != 0)
			return -1;
	}
	s->at = skip_space(s->text, s->len, s->at);
	return s->at == s->len ? 0 : bad(s, "text after the value");
}

int
jscan_check(const char *text, size_t len, const struct cj_limits *limits,
	struct err *e)
{
	struct scan s;
	int rc;

	s.text = text;
	s.len = len;
	s.at = 0;
	s.e = e;
	s.dup = limits->dup;
	s.depth = 0;
	s.depth_max = limits->depth_max < CJ_DEPTH_MAX ?
		limits->depth_max : CJ_DEPTH_MAX;
	s.n_objects = 0;
	s.values_left = limits->values_max > 0 ?
		limits->values_max : CJ_VALUES_MAX;
	s.names = NULL;
	s.n_slots = s.n_names = 0;
	if (len >= UINT32_MAX)
		return refused(&s, ERR_LIMIT, "JSON is too long");
	if (s.dup == CJ_DUP_REFUSE)
		rnd_bytes(s.key, sizeof(s.key));
	rc = scan_text(&s);
	free(s.names);
	return rc;
}

/*
 * Source text.  What follows walks over text that scan_text has accepted; it
 * minds the end all the same, since a wrong LEN must not read past it.
 */

static size_t
skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < len ? at + 1 : len;
}

/* The end of the value at AT. */
static size_t
skip_value(const char *text, size_t len, size_t at)
{
	size_t depth = 0;

	while (at < len) {
		switch (text[at]) {
		case '"':
			at = skip_string(text, len, at);
			if (depth == 0)
				return at;
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (depth <= 1)
				return depth == 1 ? at + 1 : at;
			depth--;
			break;
		case ',':
		case ' ':
		case '\t':
		case '\n':
		case '\r':
			if (depth == 0)
				return at;
			break;
		default:
			break;
		}
		at++;
	}
	return len;
}

/* Whether the string at AT, decoded, is NAME. */
static bool
string_is(const char *text, size_t at, const char *name)
{
	const char *p = text + at + 1;
	unsigned char c[4];
	size_t n, i;

	while ((n = string_next(&p, c)) > 0)
		for (i = 0; i < n; i++)
			if (*name == '\0' || (unsigned char)*name++ != c[i])
				return false;
	return *name == '\0';
}

bool
jscan_member(const char *text, size_t len, const char *name, size_t *off,
	size_t *raw_len)
{
	size_t at = skip_space(text, len, 0), name_at, from;
	bool is_found = false;

	if (at >= len || text[at] != '{')
		return false;
	do {
		name_at = at = skip_space(text, len, at + 1);
		if (at >= len || text[at] != '"')
			break;
		at = skip_space(text, len, skip_string(text, len, at));
		from = at = skip_space(text, len, at + 1);
		at = skip_value(text, len, at);
		if (from < at && string_is(text, name_at, name)) {
			*off = from;
			*raw_len = at - from;
			is_found = true;
		}
		at = skip_space(text, len, at);
	} while (at < len && text[at] == ',');
	return is_found;
}

bool
jscan_next(const char *text, size_t len, size_t *off, size_t *raw_len)
{
	size_t at = skip_space(text, len, *off + *raw_len), from;

	if (at >= len || text[at] != (*raw_len == 0 ? '[' : ','))
		return false;
	from = skip_space(text, len, at + 1);
	at = skip_value(text, len, from);
	*off = from;
	*raw_len = at - from;
	return from < at;
}

bool
jscan_element(const char *text, size_t len, size_t i, size_t *off,
	size_t *raw_len)
{
	*off = *raw_len = 0;
	do {
		if (!jscan_next(text, len, off, raw_len))
			return false;
	} while (i-- > 0);
	return true;
}
