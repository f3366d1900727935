/* SPDX-License-Identifier: ISC */
/*
 * db: one PostgreSQL connection and prepared statements.  The only libpq user.
 *
 * Connects lazily, reconnects after a loss with backoff (between tries
 * db_run fails at once with ERR_UNAVAILABLE).  A statement is data declared
 * beside the function that uses it, prepared once per connection (never
 * under a transaction pooler), always with parameters.
 *
 * SQLSTATE to kind: 23505 CONFLICT, other 22/23 INVALID, 40001 and 40P01
 * CONFLICT with is_retryable, 57014 TIMEOUT, 55P03 TIMEOUT, 08, 53 and 57P
 * UNAVAILABLE, the rest INTERNAL.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

struct arena;
struct db;
struct err;

struct db_stmt {
	const char *name; /* unique, ends in a number: session_load_1 */
	const char *sql;
	int n_params;
	int n_columns; /* checked; 0: no result set is expected */
};

/*
 * DB_STMT(LOAD, "session_load_1", "SELECT ...", 1, 6); at file scope defines
 * LOAD and puts it on the list that db_stmt_at walks, so that a test prepares
 * every statement of the program against the migrated schema.
 */
#define DB_STMT(var, ...)                                           \
	static const struct db_stmt var = { __VA_ARGS__ };          \
	static const struct db_stmt *const var##_listed             \
		__attribute__((__section__("db_stmts"), __used__)) = &(var)

/* Statement I of those linked into the program, NULL behind the last. */
const struct db_stmt *db_stmt_at(size_t i);

/* Rows of one result, in the arena given to db_run. */
struct db_res {
	int n_rows;
	int n_columns;
	void *pg; /* PGresult, freed at the arena's reset */
	long long affected;
};

struct db_options {
	const char *conninfo;
	const char *application_name;
	bool is_pooled; /* PgBouncer transaction mode */
	int64_t statement_timeout_ms; /* 0: none, nor a limit on our side */
	int64_t lock_timeout_ms;      /* 0: none */
	int64_t connect_timeout_s;    /* 0: 5; all hosts, no name look-up */
};

/* OPTIONS is copied, its strings must outlive the handle.  Does not connect. */
struct db *db_new(const struct db_options *options);
void db_free(struct db *db);

/*
 * Run S with PARAMS (text form; NULL is SQL NULL), S->n_params of them.
 * *OUT lives in A.  One round trip when already prepared.  Blocks up to
 * statement_timeout, and 2 s more when the server hangs: then the connection
 * is given up (ERR_TIMEOUT).  A connection found dead before the statement
 * was sent is replaced, but not within a transaction.  One lost after that
 * is ERR_UNAVAILABLE: whether the statement took effect is not known.
 * The detail names the statement and the SQLSTATE, never values.
 */
MUST_CHECK int db_run(struct db *db, struct arena *a,
	const struct db_stmt *s, const char *const *params,
	struct db_res *out, struct err *e);

/* True when the last failure may be tried again (40001, 40P01). */
bool db_is_retryable(const struct db *db);

/* Text of a field, NULL for SQL NULL; valid until the arena's reset. */
const char *db_text(const struct db_res *r, int row, int column);
int64_t db_int(const struct db_res *r, int row, int column); /* 0 for NULL */
bool db_bool(const struct db_res *r, int row, int column);

/* Parameters: a number, a boolean, bytes ("\x...").  Text is in A. */
char *db_number(struct arena *a, int64_t n);
const char *db_flag(bool is_true);
char *db_bytea(struct arena *a, const void *p, size_t len);

/*
 * Several statements without parameters at once, for migrations and BEGIN/
 * COMMIT; never on the request path.
 */
MUST_CHECK int db_script(struct db *db, const char *sql, struct err *e);

/*
 * Prepare S and compare it with its declaration, without running it.  For
 * tests and mcp-admin doctor; not behind a pooler.
 */
MUST_CHECK int db_describe(struct db *db, const struct db_stmt *s,
	struct err *e);

/* Socket of the connection for poll(2), -1 when not connected. */
int db_fd(const struct db *db);
/* Statements sent since db_new: round trips, for tests and statistics. */
uint64_t db_round_trips(const struct db *db);
/* The server's message of the last failure, for mcp-admin; "" if none. */
const char *db_message(const struct db *db);
/* The last failure was a privilege that is missing (42501). */
bool db_is_denied(const struct db *db);
/*
 * There is no connection (ERR_UNAVAILABLE) for a reason that waiting does not
 * mend: a conninfo that is not understood, a server that wants a password or
 * refuses role, database or settings.
 */
bool db_is_refused(const struct db *db);

#endif
