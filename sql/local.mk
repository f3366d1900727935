# SPDX-License-Identifier: ISC
# What mcp-admin migrate applies, and what a DBA applies by hand.

sqldir = $(pkgdatadir)/sql
dist_sql_DATA = sql/README sql/roles.sql sql/login.sql sql/privileges.sql \
	sql/schema.sql

migrationsdir = $(sqldir)/migrations
dist_migrations_DATA = \
	sql/migrations/0001-tables.sql \
	sql/migrations/0002-functions.sql \
	sql/migrations/0003-views.sql
