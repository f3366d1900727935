/* SPDX-License-Identifier: ISC */
#include "base/compat.h"

#include "store/db.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rnd.h"

enum {
	BACKOFF_MIN_MS = 100,
	BACKOFF_MAX_MS = 5000,
	CONNECT_TIMEOUT_S = 5,
	/* How much longer than the server's own limit we wait for it. */
	ANSWER_MARGIN_MS = 2000,
};

struct db {
	struct db_options opt;
	PGconn *pg; /* NULL: not connected */
	int64_t backoff_ms; /* 0: the last try succeeded */
	int64_t next_try_ms;
	bool is_doomed; /* the server has announced that it ends this one */
	bool is_retryable;
	bool is_denied;
	bool is_refused; /* until connecting succeeds */
	uint64_t round_trips;
	char message[512];

	/* What this connection has prepared: compared by address. */
	const struct db_stmt **prepared;
	size_t n_prepared;
	size_t cap_prepared;
};

struct db *
db_new(const struct db_options *options)
{
	struct db *db = mem_zalloc(1, sizeof(*db));

	db->opt = *options;
	if (db->opt.connect_timeout_s <= 0)
		db->opt.connect_timeout_s = CONNECT_TIMEOUT_S;
	return db;
}

static void
disconnect(struct db *db)
{
	PQfinish(db->pg);
	db->pg = NULL;
	db->is_doomed = false;
	db->n_prepared = 0;
}

void
db_free(struct db *db)
{
	if (db == NULL)
		return;
	disconnect(db);
	free(db->prepared);
	free(db);
}

/* The first line of TEXT: the others hint at files, or repeat parameters. */
static void
keep_message(struct db *db, const char *text)
{
	(void)snprintf(db->message, sizeof(db->message), "%.*s",
		(int)strcspn(text, "\r\n"), text);
}

/*
 * Wait until the socket is ready for EVENTS or DEADLINE_MS (-1: none) comes.
 * A signal does not end the wait: the request in hand is finished first.
 */
static int
wait_socket(PGconn *pg, short events, int64_t deadline_ms)
{
	struct pollfd p = { PQsocket(pg), events, 0 };

	for (;;) {
		int64_t left = -1;
		int n;

		if (deadline_ms >= 0) {
			left = deadline_ms - clock_mono_ms();
			if (left <= 0)
				return -1;
		}
		n = poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -1;
	}
}

/*
 * Connecting.
 */

static void
on_notice(void *arg, const PGresult *res)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	struct db *db = arg;

	/* What ends an idle connection comes as a notice: 57P01 and its kin. */
	if (state != NULL && strncmp(state, "57P", 3) == 0)
		db->is_doomed = true;
	log_event(LOG_LEVEL_DEBUG, "db.notice", "severity",
		PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED),
		"sqlstate", state,
		"message", PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY),
		NULL);
}

/*
 * The startup options: what conninfo has, then ours, so that ours count.
 * NULL after an error in conninfo.
 */
static char *
startup_options(struct db *db)
{
	PQconninfoOption *all, *o;
	const char *theirs = "";
	char *options = NULL, *why = NULL;
	int n;

	all = PQconninfoParse(db->opt.conninfo, &why);
	if (all == NULL) {
		/* WHY may quote what it did not understand. */
		PQfreemem(why);
		return NULL;
	}
	for (o = all; o->keyword != NULL; o++)
		if (strcmp(o->keyword, "options") == 0 && o->val != NULL)
			theirs = o->val;
	n = asprintf(&options,
		"%s -c search_path=pg_catalog,mcp,pg_temp "
		"-c statement_timeout=%" PRId64 " -c lock_timeout=%" PRId64
		" -c idle_in_transaction_session_timeout=%" PRId64,
		theirs, db->opt.statement_timeout_ms, db->opt.lock_timeout_ms,
		db->opt.statement_timeout_ms > 0 ?
			db->opt.statement_timeout_ms * 2 : 0);
	PQconninfoFree(all);
	return n < 0 ? NULL : options;
}

static int
connect_failed(struct db *db, enum err_kind kind, const char *why,
	struct err *e)
{
	unsigned char jitter;

	db->is_refused = false;
	keep_message(db, why);
	disconnect(db);
	/* Spread over a quarter: many processes lost it at the same time. */
	db->backoff_ms = db->backoff_ms == 0 ?
		BACKOFF_MIN_MS : db->backoff_ms * 2;
	if (db->backoff_ms > BACKOFF_MAX_MS)
		db->backoff_ms = BACKOFF_MAX_MS;
	rnd_bytes(&jitter, 1);
	db->next_try_ms = clock_mono_ms() + db->backoff_ms -
		db->backoff_ms * jitter / 1024;
	err_set(e, kind, NULL, "database: %s", db->message);
	return err_whole(e);
}

/*
 * The SQLSTATE in a line of LEN characters that tells why connecting failed,
 * or NULL.  libpq keeps none of a connection that was not made, but puts it
 * into the text when it is asked to be verbose: "FATAL:  28P01: ...".
 */
static const char *
find_state(const char *line, size_t len)
{
	const char *p;

	for (p = line; p + 10 <= line + len; p++)
		if (memcmp(p, ":  ", 3) == 0 && memcmp(p + 8, ": ", 2) == 0 &&
			strspn(p + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
				5)
			return p + 3;
	return NULL;
}

/* Not mended by waiting: the login, the database, the settings asked for. */
static bool
is_lasting(const char *state)
{
	return strncmp(state, "28", 2) == 0 || strncmp(state, "3D", 2) == 0 ||
	       strncmp(state, "42", 2) == 0;
}

/*
 * libpq has given up.  Each server that was tried has its lines, hints begin
 * with a tab; what one of them says counts for more than that another is not
 * there.
 */
static int
connect_given_up(struct db *db, struct err *e)
{
	const char *text = PQerrorMessage(db->pg), *line, *state;
	bool is_refused = PQconnectionNeedsPassword(db->pg) != 0;
	bool is_passing = false, has_state = false;
	char why[sizeof(db->message)];
	size_t len;

	/* There is no host before the conninfo is understood. */
	if (PQhost(db->pg) == NULL || *PQhost(db->pg) == '\0')
		is_refused = true;
	why[0] = '\0';
	for (line = text; *line != '\0'; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		state = find_state(line, len);
		if (state == NULL) {
			if (!has_state && len > 0 && *line != '\t')
				(void)snprintf(why, sizeof(why), "%.*s",
					(int)len, line);
			continue;
		}
		has_state = true;
		if (is_lasting(state))
			is_refused = true;
		else
			is_passing = true;
		(void)snprintf(why, sizeof(why), "%.*s%.*s",
			(int)(state - line), line,
			(int)(line + len - state - 7), state + 7);
	}
	connect_failed(db, ERR_UNAVAILABLE, why, e);
	db->is_refused = is_refused && !is_passing;
	return -1;
}

static int
connect_poll(struct db *db, struct err *e)
{
	int64_t deadline = clock_mono_ms() + db->opt.connect_timeout_s * 1000;
	PostgresPollingStatusType state = PGRES_POLLING_WRITING;

	while (state != PGRES_POLLING_OK) {
		short events = state == PGRES_POLLING_READING ?
			POLLIN : POLLOUT;

		if (wait_socket(db->pg, events, deadline) != 0)
			return connect_failed(db, ERR_UNAVAILABLE,
				"connecting took too long", e);
		state = PQconnectPoll(db->pg);
		if (state == PGRES_POLLING_FAILED)
			return connect_given_up(db, e);
	}
	return 0;
}

static int
connect_now(struct db *db, struct err *e)
{
	const char *keys[8], *values[8];
	char *options = NULL;
	int64_t left;
	size_t n = 0;

	left = db->next_try_ms - clock_mono_ms();
	if (db->backoff_ms > 0 && left > 0) {
		err_set(e, ERR_UNAVAILABLE, NULL,
			"database: next try in %" PRId64 " ms after: %s", left,
			db->message);
		return err_whole(e);
	}
	keys[n] = "dbname"; /* expanded: the whole conninfo */
	values[n++] = db->opt.conninfo;
	keys[n] = "application_name";
	values[n++] = db->opt.application_name;
	keys[n] = "client_encoding";
	values[n++] = "UTF8";
	if (!db->opt.is_pooled) {
		/* A pooler refuses them; there the role's settings count. */
		options = startup_options(db);
		if (options == NULL)
			return connect_failed(db, ERR_INTERNAL,
				"the conninfo string is not valid", e);
		keys[n] = "options";
		values[n++] = options;
	}
	keys[n] = values[n] = NULL;

	db->pg = PQconnectStartParams(keys, values, 1);
	free(options);
	if (db->pg == NULL)
		return connect_failed(db, ERR_UNAVAILABLE, "no memory", e);
	if (PQstatus(db->pg) == CONNECTION_BAD)
		return connect_given_up(db, e);
	(void)PQsetNoticeReceiver(db->pg, on_notice, db);
	(void)PQsetErrorVerbosity(db->pg, PQERRORS_VERBOSE);
	if (connect_poll(db, e) != 0)
		return -1;
	(void)PQsetErrorVerbosity(db->pg, PQERRORS_DEFAULT);
	/* A child that inherited it would keep the connection open. */
	if (fcntl(PQsocket(db->pg), F_SETFD, FD_CLOEXEC) != 0 ||
		PQsetnonblocking(db->pg, 1) != 0)
		return connect_failed(db, ERR_UNAVAILABLE,
			"the socket cannot be set up", e);
	db->backoff_ms = 0;
	db->is_refused = false;
	log_event(LOG_LEVEL_DEBUG, "db.connect", NULL);
	return 0;
}

/*
 * True when the server has hung up.  It says so on the socket, so an idle
 * connection that is readable is read; nothing else arrives unasked but
 * notices and changed parameters.  The farewell and the end of the stream
 * can come in two parts.
 */
static bool
is_dead(struct db *db)
{
	struct pollfd p = { PQsocket(db->pg), POLLIN, 0 };
	PGnotify *n;
	int i;

	for (i = 0; i < 8 && poll(&p, 1, 0) > 0; i++)
		if (PQconsumeInput(db->pg) == 0)
			return true;
	/* Parses what has come, and with it calls on_notice. */
	while (i > 0 && (n = PQnotifies(db->pg)) != NULL)
		PQfreemem(n);
	return db->is_doomed || PQstatus(db->pg) == CONNECTION_BAD;
}

static int
ensure_connected(struct db *db, struct err *e)
{
	bool is_in_transaction;

	if (db->pg == NULL)
		return connect_now(db, e);
	is_in_transaction = PQtransactionStatus(db->pg) != PQTRANS_IDLE;
	if (!is_dead(db))
		return 0;
	keep_message(db, "the server closed the connection");
	disconnect(db);
	log_event(LOG_LEVEL_INFO, "db.lost", NULL);
	/* Half of a transaction on another connection is worse than none. */
	if (is_in_transaction) {
		return err_set(e, ERR_UNAVAILABLE, NULL,
			"database: connection lost within a transaction");
	}
	return connect_now(db, e);
}

/*
 * Results.
 */

static enum err_kind
kind_of(const char *state, bool *is_retryable)
{
	static const struct {
		char prefix[6];
		enum err_kind kind;
	} kinds[] = {
		{ "23505", ERR_CONFLICT },
		{ "40001", ERR_CONFLICT },
		{ "40P01", ERR_CONFLICT },
		{ "57014", ERR_TIMEOUT },
		{ "55P03", ERR_TIMEOUT },
		{ "25P03", ERR_TIMEOUT },
		{ "22", ERR_INVALID },
		{ "23", ERR_INVALID },
		{ "25006", ERR_UNAVAILABLE },
		{ "08", ERR_UNAVAILABLE },
		{ "53", ERR_UNAVAILABLE },
		{ "57P", ERR_UNAVAILABLE },
		{ "58", ERR_UNAVAILABLE },
	};
	size_t i;

	*is_retryable = strcmp(state, "40001") == 0 ||
		strcmp(state, "40P01") == 0;
	for (i = 0; i < NELEM(kinds); i++)
		if (strncmp(state, kinds[i].prefix,
			strlen(kinds[i].prefix)) == 0)
			return kinds[i].kind;
	return ERR_INTERNAL;
}

/* Lost between sending and the answer: what happened there is not known. */
static int
lost(struct db *db, enum err_kind kind, const char *name, const char *why,
	struct err *e)
{
	keep_message(db, why);
	disconnect(db);
	return err_set(e, kind, NULL, "database: %s: %s", name, db->message);
}

static int
failed(struct db *db, const char *name, const PGresult *res, struct err *e)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *constraint =
		PQresultErrorField(res, PG_DIAG_CONSTRAINT_NAME);
	const char *primary =
		PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = "";
	enum err_kind kind;

	keep_message(db, primary != NULL ? primary : PQerrorMessage(db->pg));
	if (state == NULL)
		return lost(db, ERR_UNAVAILABLE, name, "connection lost", e);
	kind = kind_of(state, &db->is_retryable);
	db->is_denied = strcmp(state, "42501") == 0;
	if (strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0)
		hint = " (behind a pooler? database_pooler = transaction)";
	/* The server's text can quote values: it stays in db_message. */
	err_set(e, kind, NULL, "database: %s: SQLSTATE %s%s%s%s", name, state,
		constraint != NULL ? " " : "",
		constraint != NULL ? constraint : "", hint);
	/*
	 * 25006: this server does not write any more, a standby after a
	 * switch-over.  Connecting anew finds the one that does.
	 */
	if (PQstatus(db->pg) == CONNECTION_BAD ||
		strncmp(state, "57P", 3) == 0 || strcmp(state, "25006") == 0)
		disconnect(db);
	return -1;
}

/* Send what is queued and wait until the server has answered in full. */
static int
exchange(struct db *db, const char *name, PGresult **out, struct err *e)
{
	int64_t deadline = db->opt.statement_timeout_ms <= 0 ? -1 :
		clock_mono_ms() + db->opt.statement_timeout_ms +
			ANSWER_MARGIN_MS;
	PGresult *res, *kept = NULL;
	int left;

	db->round_trips++;
	while ((left = PQflush(db->pg)) != 0) {
		if (left < 0)
			return lost(db, ERR_UNAVAILABLE, name,
				PQerrorMessage(db->pg), e);
		if (wait_socket(db->pg, POLLIN | POLLOUT, deadline) != 0)
			return lost(db, ERR_TIMEOUT, name,
				"the server takes no data", e);
		/* It may be waiting for us to read before it reads on. */
		if (PQconsumeInput(db->pg) == 0)
			return lost(db, ERR_UNAVAILABLE, name,
				PQerrorMessage(db->pg), e);
	}
	for (;;) {
		while (PQisBusy(db->pg)) {
			if (wait_socket(db->pg, POLLIN, deadline) != 0) {
				PQclear(kept);
				return lost(db, ERR_TIMEOUT, name,
					"no answer in time", e);
			}
			if (PQconsumeInput(db->pg) == 0)
				break; /* PQgetResult tells why */
		}
		res = PQgetResult(db->pg);
		if (res == NULL)
			break;
		switch (PQresultStatus(res)) {
		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			PQclear(res);
			PQclear(kept);
			return lost(db, ERR_INTERNAL, name,
				"COPY is not supported", e);
		default:
			break;
		}
		/* Of several results the first error counts, else the last. */
		if (kept != NULL && PQresultStatus(kept) == PGRES_FATAL_ERROR) {
			PQclear(res);
			continue;
		}
		PQclear(kept);
		kept = res;
	}
	if (kept == NULL)
		return lost(db, ERR_UNAVAILABLE, name, "connection lost", e);
	*out = kept;
	return 0;
}

static bool
is_ok(const PGresult *res)
{
	switch (PQresultStatus(res)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_EMPTY_QUERY:
		return true;
	default:
		return false;
	}
}

/*
 * Statements.
 */

static void
begin(struct db *db)
{
	db->is_retryable = db->is_denied = false;
	/* Why connecting failed is told until it succeeds. */
	if (db->backoff_ms == 0)
		db->message[0] = '\0';
}

static bool
is_prepared(const struct db *db, const struct db_stmt *s)
{
	size_t i;

	for (i = 0; i < db->n_prepared; i++)
		if (db->prepared[i] == s)
			return true;
	return false;
}

static int
prepare(struct db *db, const struct db_stmt *s, struct err *e)
{
	PGresult *res;
	int rc = 0;

	if (is_prepared(db, s))
		return 0;
	if (db->n_prepared == db->cap_prepared) {
		size_t cap = db->cap_prepared * 2 + 16;
		void *bigger = reallocarray(db->prepared, cap,
			sizeof(db->prepared[0]));

		if (bigger == NULL)
			return err_set(e, ERR_INTERNAL, NULL, "no memory");
		db->prepared = bigger;
		db->cap_prepared = cap;
	}
	if (PQsendPrepare(db->pg, s->name, s->sql, s->n_params, NULL) == 0)
		return lost(db, ERR_UNAVAILABLE, s->name,
			PQerrorMessage(db->pg), e);
	if (exchange(db, s->name, &res, e) != 0)
		return -1;
	if (!is_ok(res))
		rc = failed(db, s->name, res, e);
	else
		db->prepared[db->n_prepared++] = s;
	PQclear(res);
	return rc;
}

/*
 * The server says that the prepared statement is gone, or planned for tables
 * that have changed since; it has done nothing.
 */
static bool
is_stale(const PGresult *res)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return state != NULL && (strcmp(state, "26000") == 0 ||
		strcmp(state, "0A000") == 0);
}

static int
run_once(struct db *db, const struct db_stmt *s, const char *const *params,
	PGresult **res, struct err *e)
{
	int sent;

	if (ensure_connected(db, e) != 0)
		return -1;
	if (db->opt.is_pooled) {
		sent = PQsendQueryParams(db->pg, s->sql, s->n_params, NULL,
			params, NULL, NULL, 0);
	} else {
		if (prepare(db, s, e) != 0)
			return -1;
		sent = PQsendQueryPrepared(db->pg, s->name, s->n_params,
			params, NULL, NULL, 0);
	}
	if (sent == 0)
		return lost(db, ERR_UNAVAILABLE, s->name,
			PQerrorMessage(db->pg), e);
	return exchange(db, s->name, res, e);
}

static void
clear_result(void *res)
{
	PQclear(res);
}

static int
check_columns(const struct db_stmt *s, int n_columns, struct err *e)
{
	if (n_columns == s->n_columns)
		return 0;
	return err_set(e, ERR_INTERNAL, NULL,
		"database: %s: %d columns where %d are declared", s->name,
		n_columns, s->n_columns);
}

int
db_run(struct db *db, struct arena *a, const struct db_stmt *s,
	const char *const *params, struct db_res *out, struct err *e)
{
	PGresult *res;

	memset(out, 0, sizeof(*out));
	begin(db);
	if (run_once(db, s, params, &res, e) != 0)
		return -1;
	if (!is_ok(res) && is_stale(res) && !db->opt.is_pooled &&
		PQtransactionStatus(db->pg) == PQTRANS_IDLE) {
		PQclear(res);
		disconnect(db);
		if (run_once(db, s, params, &res, e) != 0)
			return -1;
	}
	arena_defer(a, clear_result, res);
	if (!is_ok(res))
		return failed(db, s->name, res, e);
	out->pg = res;
	out->n_rows = PQntuples(res);
	out->n_columns = PQnfields(res);
	out->affected = strtoll(PQcmdTuples(res), NULL, 10);
	return check_columns(s, out->n_columns, e);
}

int
db_script(struct db *db, const char *sql, struct err *e)
{
	PGresult *res;
	int rc = 0;

	begin(db);
	if (ensure_connected(db, e) != 0)
		return -1;
	if (PQsendQuery(db->pg, sql) == 0)
		return lost(db, ERR_UNAVAILABLE, "script",
			PQerrorMessage(db->pg), e);
	if (exchange(db, "script", &res, e) != 0)
		return -1;
	if (!is_ok(res))
		rc = failed(db, "script", res, e);
	PQclear(res);
	return rc;
}

int
db_describe(struct db *db, const struct db_stmt *s, struct err *e)
{
	PGresult *res;
	int rc = 0;

	begin(db);
	if (ensure_connected(db, e) != 0 || prepare(db, s, e) != 0)
		return -1;
	if (PQsendDescribePrepared(db->pg, s->name) == 0)
		return lost(db, ERR_UNAVAILABLE, s->name,
			PQerrorMessage(db->pg), e);
	if (exchange(db, s->name, &res, e) != 0)
		return -1;
	if (!is_ok(res))
		rc = failed(db, s->name, res, e);
	else if (PQnparams(res) != s->n_params)
		rc = err_set(e, ERR_INTERNAL, NULL,
			"database: %s: %d parameters where %d are declared",
			s->name, PQnparams(res), s->n_params);
	else
		rc = check_columns(s, PQnfields(res), e);
	PQclear(res);
	return rc;
}

/* Set by the linker around what DB_STMT puts into its section. */
extern const struct db_stmt *const __start_db_stmts[] WEAK;
extern const struct db_stmt *const __stop_db_stmts[] WEAK;

const struct db_stmt *
db_stmt_at(size_t i)
{
	size_t n = (size_t)(__stop_db_stmts - __start_db_stmts);

	return i < n ? __start_db_stmts[i] : NULL;
}

bool
db_is_retryable(const struct db *db)
{
	return db->is_retryable;
}

const char *
db_text(const struct db_res *r, int row, int column)
{
	assert(row >= 0 && row < r->n_rows);
	assert(column >= 0 && column < r->n_columns);
	if (PQgetisnull(r->pg, row, column))
		return NULL;
	return PQgetvalue(r->pg, row, column);
}

int64_t
db_int(const struct db_res *r, int row, int column)
{
	const char *s = db_text(r, row, column);

	return s != NULL ? strtoll(s, NULL, 10) : 0;
}

bool
db_bool(const struct db_res *r, int row, int column)
{
	const char *s = db_text(r, row, column);

	return s != NULL && s[0] == 't';
}

char *
db_number(struct arena *a, int64_t n)
{
	return arena_printf(a, "%" PRId64, n);
}

const char *
db_flag(bool is_true)
{
	return is_true ? "t" : "f";
}

char *
db_bytea(struct arena *a, const void *p, size_t len)
{
	char *s = arena_alloc(a, 2 * len + 3);

	s[0] = '\\';
	s[1] = 'x';
	hex_encode(s + 2, p, len);
	return s;
}

int
db_fd(const struct db *db)
{
	return db->pg != NULL ? PQsocket(db->pg) : -1;
}

uint64_t
db_round_trips(const struct db *db)
{
	return db->round_trips;
}

bool
db_is_denied(const struct db *db)
{
	return db->is_denied;
}

bool
db_is_refused(const struct db *db)
{
	return db->is_refused;
}

const char *
db_message(const struct db *db)
{
	return db->message;
}
