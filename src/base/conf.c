/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "base/conf.h"

#include <sys/stat.h>

#include <ctype.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/conffile.h"
#include "base/confurl.h"
#include "base/err.h"
#include "base/scope.h"

#define ENV_PREFIX "MCP_FCGI_"

static const char DEFAULT_FILE[] = SYSCONFDIR "/mcp-fcgi/mcp-fcgi.conf";

enum { FILE_BYTES_MAX = 262144, SECRET_BYTES_MAX = 65536 };

enum type {
	T_STRING,
	T_INT,	    /* decimal, within [min, max] */
	T_WORD,	    /* one of WORDS; its number goes to an enum */
	T_URL,	    /* empty or as confurl_parse says */
	T_TEMPLATE, /* a URL with {account} and {organization} */
	T_PATH,	    /* empty or absolute */
	T_CONNINFO,
	T_LIST, /* comma separated; each item checked by ITEM */
};

enum { FCGI = 1, ADMIN = 2, REAPER = 4, ALL = 7 };

struct row {
	const char *name;
	enum type type;
	size_t offset;
	const char *def; /* NULL: mcp-fcgi does not start without */
	int64_t min;
	int64_t max;
	const char *words;
	const char *(*item)(const char *);
	unsigned programs;
};

static const char *check_scope(const char *s);
static const char *check_origin(const char *s);
static const char *check_audience(const char *s);

#define AT(field) offsetof(struct conf, field)
#define STRING(key, type, def, programs) \
	{ #key, type, AT(key), def, 0, 0, NULL, NULL, programs }
#define INT(key, def, min, max, programs) \
	{ #key, T_INT, AT(key), def, min, max, NULL, NULL, programs }
#define WORD(key, def, words, programs) \
	{ #key, T_WORD, AT(key), def, 0, 0, words, NULL, programs }
#define LIST(key, def, item, programs) \
	{ #key, T_LIST, AT(key), def, 0, 0, NULL, item, programs }

/* Every setting.  Also in mcp-fcgi.conf(5) and in the sample, or the guard
   that compares the three fails. */
static const struct row ROWS[] = {
	STRING(resource_url, T_URL, NULL, FCGI | ADMIN),
	STRING(resource_metadata_url, T_URL, "", FCGI | ADMIN),
	LIST(allowed_hosts, "", confurl_host, FCGI),
	LIST(allowed_origins, "*", check_origin, FCGI),
	LIST(scopes_supported, "", check_scope, FCGI),

	STRING(issuer, T_URL, "", FCGI | ADMIN),
	STRING(jwks_url, T_URL, "", FCGI | ADMIN),
	LIST(audience, "", check_audience, FCGI | ADMIN),
	STRING(claim_account, T_STRING, "sub", FCGI),
	STRING(claim_organization, T_STRING, "org_id", FCGI),
	INT(leeway_s, "30", 0, 600, FCGI),
	INT(jwks_ttl_s, "3600", 1, 604800, FCGI),
	INT(jwks_hard_ttl_s, "86400", 1, 2592000, FCGI),
	INT(jwks_min_interval_s, "30", 1, 3600, FCGI),

	WORD(membership, "sql", "sql http", FCGI),
	STRING(membership_url, T_TEMPLATE, "", FCGI),
	STRING(membership_token_file, T_PATH, "", FCGI),

	INT(fetch_timeout_ms, "5000", 1, 600000, FCGI | ADMIN),
	INT(fetch_max_bytes, "1048576", 1024, 67108864, FCGI | ADMIN),
	LIST(fetch_allow, "", confurl_network, FCGI | ADMIN),

	STRING(keyring_dir, T_PATH, "", FCGI | ADMIN),

	STRING(database, T_CONNINFO, NULL, ALL),
	STRING(admin_database, T_CONNINFO, "", ADMIN),
	STRING(reaper_database, T_CONNINFO, "", REAPER),
	WORD(database_pooler, "none", "none transaction", ALL),
	INT(statement_timeout_ms, "5000", 100, 600000, FCGI),
	INT(lock_timeout_ms, "2000", 10, 600000, FCGI),

	INT(max_body_bytes, "4194304", 1024, 268435456, FCGI),
	INT(max_header_bytes, "65536", 1024, 1048576, FCGI),
	INT(json_depth, "64", 4, 512, FCGI),
	INT(max_batch, "100", 1, 10000, FCGI),

	INT(sessions_per_account, "100", 1, 1000000, FCGI),
	INT(session_idle_s, "300", 1, 31536000, FCGI | ADMIN | REAPER),
	INT(session_lifetime_s, "0", 0, 31536000, FCGI | ADMIN | REAPER),
	INT(session_readopt_s, "0", 0, 604800, FCGI | REAPER),
	INT(heartbeat_s, "30", 1, 86400, FCGI | REAPER),

	INT(stream_hold_s, "20", 0, 3600, FCGI),
	INT(stream_keepalive_s, "15", 1, 3600, FCGI),
	INT(stream_retry_ms, "3000", 0, 3600000, FCGI),

	STRING(sandbox, T_PATH, "", FCGI | ADMIN),
	INT(execute_wall_ms, "30000", 10, 3600000, FCGI),
	INT(execute_cpu_ms, "10000", 10, 3600000, FCGI),
	INT(execute_heap_bytes, "67108864", 4194304, 2147483648, FCGI),
	INT(execute_stack_bytes, "1048576", 65536, 67108864, FCGI),
	INT(execute_output_bytes, "1048576", 1024, 67108864, FCGI),
	INT(execute_log_lines, "1000", 0, 100000, FCGI),
	INT(front_timeout_s, "60", 1, 86400, FCGI),

	INT(call_timeout_ms, "10000", 10, 600000, FCGI | ADMIN),
	INT(calls_max, "200", 1, 10000, FCGI),
	INT(calls_in_flight_max, "16", 1, 200, FCGI),
	INT(call_args_max_bytes, "1048576", 1024, 8388608, FCGI),
	INT(call_result_max_bytes, "4194304", 1024, 16777216, FCGI | ADMIN),
	INT(ledger_value_bytes, "65536", 0, 1048576, FCGI),
	INT(approval_window_s, "86400", 1, 31536000, FCGI),
	INT(execution_retention_s, "604800", 60, 315360000, FCGI | REAPER),

	INT(requests_per_process, "10000", 1, 1000000000, FCGI),
	WORD(log_target, "stderr", "stderr syslog", ALL),
	WORD(log_level, "info", "err warn info debug", ALL),
};

/* What was found for each row, before it is understood. */
struct raws {
	struct arena *arena;
	const char *file; /* looked for */
	bool has_file;
	struct conffile_value value[NELEM(ROWS)];
};

static const char *
check_scope(const char *s)
{
	/* RFC 6749 3.3 */
	for (; *s != '\0'; s++)
		if (*s < '!' || *s > '~' || *s == '"' || *s == '\\')
			return "not a scope";
	return NULL;
}

static const char *
check_origin(const char *s)
{
	return strcmp(s, "*") == 0 ? NULL : confurl_origin(s);
}

static const char *
check_audience(const char *s)
{
	return strpbrk(s, " \t") != NULL ? "white space in an audience" : NULL;
}

static size_t
find_row(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < NELEM(ROWS); i++)
		if (strlen(ROWS[i].name) == len &&
			memcmp(ROWS[i].name, name, len) == 0)
			return i;
	return CONFFILE_UNKNOWN;
}

const char *
conf_file(const char *file)
{
	if (file == NULL)
		file = getenv(ENV_PREFIX "CONF");
	return file != NULL ? file : DEFAULT_FILE;
}

static int
read_file(struct raws *raws, const char *file, struct err *e)
{
	AUTO_FD fd = -1;
	size_t len;
	char *text;

	raws->file = file = conf_file(file);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	/* Only the one that nobody has named. */
	if (fd < 0 && errno == ENOENT && file == DEFAULT_FILE)
		return 0;
	if (fd < 0) {
		return err_set(e, ERR_INVALID, NULL, "%s: %s", file,
			strerror(errno));
	}
	if (conffile_whole(raws->arena, fd, FILE_BYTES_MAX, file, &text, &len,
		e) != 0)
		return -1;
	raws->has_file = true;
	return conffile_text(raws->arena, file, text, len, find_row,
		raws->value, e);
}

/*
 * Values.  Each set_* returns NULL or what is wrong.
 */

static const char *
set_int(const struct row *row, const char *text, int64_t *out)
{
	static char range[80];
	const char *p = text;
	int64_t v = 0;

	if (*p == '\0')
		return "a number is needed";
	for (; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return "not a whole number";
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, *p - '0', &v))
			return "number too large";
	}
	if (v < row->min || v > row->max) {
		(void)snprintf(range, sizeof(range),
			"must be between %" PRId64 " and %" PRId64, row->min,
			row->max);
		return range;
	}
	*out = v;
	return NULL;
}

static const char *
set_word(const struct row *row, const char *text, unsigned *out)
{
	const char *w = row->words;
	unsigned i;

	for (i = 0; *w != '\0'; i++) {
		size_t len = strcspn(w, " ");

		if (strlen(text) == len && memcmp(text, w, len) == 0) {
			*out = i;
			return NULL;
		}
		w += len;
		w += strspn(w, " ");
	}
	return "not one of the words allowed";
}

static const char *
set_template(const char *text)
{
	struct confurl url;
	const char *p, *why;
	bool has_account = false;

	why = confurl_parse(text, &url);
	if (why != NULL)
		return why;
	if (memchr(url.authority, '{', url.authority_len) != NULL)
		return "the host cannot be a placeholder";
	for (p = strpbrk(text, "{}"); p != NULL; p = strpbrk(p, "{}")) {
		if (strncmp(p, "{account}", 9) == 0) {
			has_account = true;
			p += 9;
		} else if (strncmp(p, "{organization}", 14) == 0) {
			p += 14;
		} else {
			return "only {account} and {organization} are known";
		}
	}
	return has_account ? NULL : "{account} is missing";
}

static void
list_add(struct arena *a, struct conf_list *list, const char *item)
{
	const char **bigger;
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcmp(list->item[i], item) == 0)
			return;
	bigger = arena_calloc(a, list->n + 1, sizeof(*bigger));
	if (list->n > 0)
		memcpy(bigger, list->item, list->n * sizeof(*bigger));
	bigger[list->n++] = item;
	list->item = bigger;
}

static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

static const char *
set_list(struct arena *a, const struct row *row, const char *text,
	struct conf_list *out)
{
	const char *why;

	while (*text != '\0') {
		size_t len = strcspn(text, ",");
		size_t from = strspn(text, " \t");
		size_t to = len;
		char *item;

		while (to > from && (text[to - 1] == ' ' ||
			text[to - 1] == '\t'))
			to--;
		if (from >= to)
			return "an item of the list is empty";
		item = arena_memdup(a, text + from, to - from);
		why = row->item(item);
		if (why != NULL)
			return why;
		if (row->item == confurl_host || row->item == check_origin)
			lower(item);
		list_add(a, out, item);
		text += len;
		if (*text == ',' && *++text == '\0')
			return "an item of the list is empty";
	}
	return NULL;
}

static const char *
set_value(struct arena *a, const struct row *row, const char *text,
	struct conf *conf)
{
	void *field = (char *)conf + row->offset;
	struct confurl url;

	switch (row->type) {
	case T_INT:
		return set_int(row, text, field);
	case T_WORD:
		return set_word(row, text, field);
	case T_LIST:
		return set_list(a, row, text, field);
	case T_STRING:
	case T_URL:
	case T_TEMPLATE:
	case T_PATH:
	case T_CONNINFO:
		break;
	}
	*(const char **)field = text;
	if (text[0] == '\0')
		return row->type == T_STRING ? "must not be empty" : NULL;
	switch (row->type) {
	case T_URL:
		return confurl_parse(text, &url);
	case T_TEMPLATE:
		return set_template(text);
	case T_PATH:
		return text[0] != '/' ? "must be an absolute path" : NULL;
	case T_CONNINFO:
		return confurl_conninfo(text);
	default:
		return NULL;
	}
}

/* What follows from resource_url. */
static const char *
derive_resource(struct arena *a, struct conf *c)
{
	struct confurl url;
	const char *why;
	char *host;

	why = confurl_parse(c->resource_url, &url);
	if (why != NULL)
		return why;
	if (strchr(url.path, '?') != NULL)
		return "a query (?...) is not allowed";
	if (strstr(url.path, "//") != NULL || strstr(url.path, "/.") != NULL ||
		strpbrk(url.path, "%;{}") != NULL)
		return "the path must be plain, like /mcp";
	host = arena_memdup(a, url.authority, url.authority_len);
	lower(host);
	c->resource_host = host;
	c->resource_path = url.path[0] != '\0' ? url.path : "/";
	/* RFC 9728 3.1: between the host and the path, a bare "/" dropped. */
	if (c->prm_url[0] == '\0')
		c->prm_url = arena_printf(a,
			"%s://%s/.well-known/oauth-protected-resource%s",
			url.is_https ? "https" : "http", host,
			strcmp(url.path, "/") == 0 ? "" : url.path);
	list_add(a, &c->allowed_hosts, arena_memdup(a, host, url.host_len));
	return NULL;
}

/* Both spellings of resource_url, as soon as one of them is accepted. */
static void
derive_audience(struct arena *a, struct conf *c)
{
	size_t len = strlen(c->resource_url), i;
	char *bare;

	if (len > 0 && c->resource_url[len - 1] == '/')
		len--;
	bare = arena_memdup(a, c->resource_url, len);
	if (c->audience.n == 0)
		list_add(a, &c->audience, c->resource_url);
	for (i = 0; i < c->audience.n; i++) {
		const char *s = c->audience.item[i];

		if (strncmp(s, bare, len) == 0 &&
			(s[len] == '\0' || strcmp(s + len, "/") == 0)) {
			list_add(a, &c->audience, bare);
			list_add(a, &c->audience, arena_printf(a, "%s/", bare));
			return;
		}
	}
}

/* Settings that contradict each other; both are named. */
static int
check_together(const struct conf *c, struct err *e)
{
	/* Nested timeouts out of order: the outer one fires first and the
	   client never learns what happened. */
	if (c->fetch_timeout_ms >= c->execute_wall_ms) {
		return err_set(e, ERR_INVALID, NULL,
			"fetch_timeout_ms (%" PRId64 ") must be less than "
			"execute_wall_ms (%" PRId64 ")",
			c->fetch_timeout_ms, c->execute_wall_ms);
	}
	if (c->execute_wall_ms >= c->front_timeout_s * 1000) {
		return err_set(e, ERR_INVALID, NULL,
			"execute_wall_ms (%" PRId64 ") must be less than "
			"front_timeout_s (%" PRId64 ", in seconds)",
			c->execute_wall_ms, c->front_timeout_s);
	}
	if (c->call_timeout_ms >= c->front_timeout_s * 1000) {
		return err_set(e, ERR_INVALID, NULL,
			"call_timeout_ms (%" PRId64 ") must be less than "
			"front_timeout_s (%" PRId64 ", in seconds)",
			c->call_timeout_ms, c->front_timeout_s);
	}
	if (c->stream_hold_s >= c->front_timeout_s) {
		return err_set(e, ERR_INVALID, NULL,
			"stream_hold_s (%" PRId64 ") must be less than "
			"front_timeout_s (%" PRId64 ")",
			c->stream_hold_s, c->front_timeout_s);
	}
	if (c->jwks_ttl_s > c->jwks_hard_ttl_s) {
		return err_set(e, ERR_INVALID, NULL,
			"jwks_ttl_s (%" PRId64 ") must not be more than "
			"jwks_hard_ttl_s (%" PRId64 ")",
			c->jwks_ttl_s, c->jwks_hard_ttl_s);
	}
	if (c->membership == CONF_MEMBERSHIP_HTTP &&
		c->membership_url[0] == '\0') {
		return err_set(e, ERR_INVALID, NULL,
			"membership = http needs membership_url");
	}
	if (c->jwks_url[0] != '\0' && c->issuer[0] == '\0') {
		return err_set(e, ERR_INVALID, NULL,
			"jwks_url is set but issuer is empty");
	}
	if (c->allowed_origins.n > 1) {
		size_t i;

		for (i = 0; i < c->allowed_origins.n; i++)
			if (strcmp(c->allowed_origins.item[i], "*") == 0) {
				return err_set(e, ERR_INVALID, NULL,
					"allowed_origins: * stands alone");
			}
	}
	return 0;
}

static int
is_required(const struct raws *raws, const char *name, struct err *e)
{
	char variable[64] = "";
	size_t i;

	for (i = 0; name[i] != '\0' && i < sizeof(variable) - 1; i++)
		variable[i] = (char)toupper((unsigned char)name[i]);
	if (raws->has_file)
		return err_set(e, ERR_INVALID, NULL,
			"%s is required: set it in %s, or " ENV_PREFIX
			"%s in the environment",
			name, raws->file, variable);
	return err_set(e, ERR_INVALID, NULL,
		"%s is required, and there is no %s: make it, name another "
		"file (-c), or set " ENV_PREFIX "%s in the environment",
		name, raws->file, variable);
}

static int
build(struct raws *raws, enum conf_program program, struct conf **out,
	struct err *e)
{
	struct arena *a = raws->arena;
	struct conf *c = arena_zalloc(a, sizeof(*c));
	const char *why;
	size_t i;

	for (i = 0; i < NELEM(ROWS); i++) {
		const struct row *row = &ROWS[i];
		const struct conffile_value *raw = &raws->value[i];
		const char *text = raw->text;

		if (row->def == NULL && (text == NULL || text[0] == '\0') &&
			program == CONF_FOR_FCGI)
			return is_required(raws, row->name, e);
		if (text == NULL)
			text = row->def != NULL ? row->def : "";
		why = set_value(a, row, text, c);
		if (why != NULL) {
			return err_set(e, ERR_INVALID, NULL, "%s: %s: %s",
				raw->from != NULL ? raw->from : "default",
				row->name, why);
		}
	}

	c->resource_host = c->resource_path = "";
	c->prm_url = c->resource_metadata_url;
	if (c->allowed_hosts.n == 0) {
		list_add(a, &c->allowed_hosts, "localhost");
		list_add(a, &c->allowed_hosts, "127.0.0.1");
		list_add(a, &c->allowed_hosts, "[::1]");
	}
	if (c->resource_url[0] != '\0') {
		why = derive_resource(a, c);
		if (why != NULL) {
			return err_set(e, ERR_INVALID, NULL,
				"%s: resource_url: %s",
				raws->value[find_row("resource_url", 12)].from,
				why);
		}
		derive_audience(a, c);
	}
	if (c->admin_database[0] == '\0')
		c->admin_database = c->database;
	if (c->reaper_database[0] == '\0')
		c->reaper_database = c->database;
	if (c->sandbox[0] == '\0')
		c->sandbox = PKGLIBEXECDIR "/mcp-sandbox";
	if (check_together(c, e) != 0)
		return -1;
	*out = c;
	return 0;
}

static struct raws *
raws_new(struct arena *a)
{
	struct raws *raws = arena_zalloc(a, sizeof(*raws));

	raws->arena = a;
	return raws;
}

int
conf_load(struct arena *a, const char *file, enum conf_program program,
	struct conf **out, struct err *e)
{
	struct raws *raws = raws_new(a);

	if (read_file(raws, file, e) != 0 ||
		conffile_environment(a, ENV_PREFIX, ENV_PREFIX "CONF",
			find_row, raws->value, e) != 0)
		return -1;
	return build(raws, program, out, e);
}

int
conf_parse(struct arena *a, const char *name, const char *text, size_t len,
	enum conf_program program, struct conf **out, struct err *e)
{
	struct raws *raws = raws_new(a);

	raws->file = name;
	raws->has_file = true;
	if (conffile_text(a, name, text, len, find_row, raws->value, e) != 0)
		return -1;
	return build(raws, program, out, e);
}

const char *
conf_row(size_t i, char *line, size_t cap)
{
	const struct row *row;

	if (i >= NELEM(ROWS))
		return NULL;
	row = &ROWS[i];
	(void)snprintf(line, cap, "%s\t%s\t%s%s%s", row->name,
		row->def != NULL ? row->def : "required",
		row->programs & FCGI ? "f" : "",
		row->programs & ADMIN ? "a" : "",
		row->programs & REAPER ? "r" : "");
	return line;
}

int
conf_secret(struct arena *a, const char *path, char **out, struct err *e)
{
	AUTO_FD fd = -1;
	struct stat st;
	size_t len;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		return err_set(e, ERR_INVALID, NULL, "%s: %s", path,
			strerror(errno));
	}
	if (!S_ISREG(st.st_mode)) {
		return err_set(e, ERR_INVALID, NULL, "%s: not a regular file",
			path);
	}
	if (st.st_mode & S_IROTH) {
		return err_set(e, ERR_INVALID, NULL,
			"%s: everyone can read it: chmod o-r", path);
	}
	if (conffile_whole(a, fd, SECRET_BYTES_MAX, path, out, &len, e) != 0)
		return -1;
	if (len > 0 && (*out)[len - 1] == '\n')
		(*out)[--len] = '\0';
	if (len > 0 && (*out)[len - 1] == '\r')
		(*out)[--len] = '\0';
	if (len == 0 || strlen(*out) != len || strpbrk(*out, "\r\n") != NULL) {
		return err_set(e, ERR_INVALID, NULL,
			"%s: must be one line of text", path);
	}
	return 0;
}
