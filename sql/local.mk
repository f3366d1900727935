# SPDX-License-Identifier: ISC
# What mcp-admin migrate applies, and what a DBA applies by hand.

sqldir = $(pkgdatadir)/sql
dist_sql_DATA = sql/README sql/roles.sql sql/login.sql sql/privileges.sql \
	sql/schema.sql

migrationsdir = $(sqldir)/migrations
dist_migrations_DATA = \
	sql/migrations/0001-tables.sql \
	sql/migrations/0002-functions.sql \
	sql/migrations/0003-views.sql \
	sql/migrations/0004-catalog.sql \
	sql/migrations/0005-execution.sql

EXTRA_DIST += tests/sql/run tests/sql/concurrency.py \
	tests/sql/concurrency_execution.py \
	tests/sql/10-structure.sql \
	tests/sql/20-privileges.sql \
	tests/sql/21-privileges-runs.sql \
	tests/sql/30-constraint.sql \
	tests/sql/40-enter.sql \
	tests/sql/41-expiry.sql \
	tests/sql/42-session.sql \
	tests/sql/50-jwks.sql \
	tests/sql/60-admin.sql \
	tests/sql/61-catalog.sql \
	tests/sql/62-policy.sql \
	tests/sql/70-reap.sql \
	tests/sql/71-execution.sql \
	tests/sql/72-reap-execution.sql \
	tests/sql/80-login.sql \
	tests/sql/90-readme.sql

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_store tests/unit/test_runstore
TESTS += tests/unit/test_store tests/unit/test_runstore
tests_unit_test_store_LDADD = $(UNIT_LIBS)
tests_unit_test_runstore_LDADD = $(UNIT_LIBS)
endif
