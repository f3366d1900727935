#!/bin/sh
# SPDX-License-Identifier: ISC
# Goal: sql/schema.sql is what the migrations make, the programs are built for
# the last migration, and every migration says what a DBA asks first.
#
#	tests/guard/schema.sh		TAP
#	tests/guard/schema.sh --write	write sql/schema.sql anew
set -eu

src=${MCP_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
sql=$src/sql

dump()
{
	# Without what differs between releases of pg_dump.
	"$src/tests/sql/run" -- pg_dump -s -n mcp --no-owner |
	grep -v -e '^--' -e '^SET ' -e '^SELECT pg_catalog.set_config' \
		-e '^\\restrict' -e '^\\unrestrict' |
	cat -s | sed '1{/^$/d}'
}

head='-- Generated from migrations/ and privileges.sql by
-- tests/guard/schema.sh --write, for reading.  Not for applying: that is
-- mcp-admin migrate.
'
if [ "${1:-}" = --write ]; then
	new=$(dump)
	printf '%s\n%s\n' "$head" "$new" >"$sql/schema.sql"
	exit 0
fi

n=0
bad=0
ok()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		bad=1
	fi
}

echo 1..4

last=0
rc=0
for f in "$sql"/migrations/*.sql; do
	last=$((last + 1))
	case ${f##*/} in
	"$(printf %04d $last)"-*.sql) ;;
	*) echo "# ${f##*/} is out of order"; rc=1 ;;
	esac
done
ok $rc "migrations count from 0001 without a gap"

grep -q "^#define MIGRATION_CURRENT $last\$" "$src/src/store/migration.h" &&
	rc=0 || rc=1
ok $rc "MIGRATION_CURRENT is the last migration, $last"

rc=0
for f in "$sql"/migrations/*.sql; do
	for word in Purpose Locks Online 'Way back'; do
		sed -n '1,/^$/p' "$f" | grep -q "^-- $word: " || {
			echo "# ${f##*/} does not begin with $word"
			rc=1
		}
	done
	grep -q "migrations/${f##*/}" "$sql/local.mk" || {
		echo "# ${f##*/} is not in sql/local.mk"
		rc=1
	}
done
ok $rc "each migration opens with its purpose, and is installed"

tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
new=$(dump)
case $new in
1..0*)
	n=$((n + 1))
	echo "ok $n - schema.sql # SKIP ${new#*SKIP }"
	exit $bad
	;;
esac
printf '%s\n%s\n' "$head" "$new" | diff -u "$sql/schema.sql" - >"$tmp" &&
	rc=0 || rc=1
sed 's/^/# /' "$tmp"
ok $rc "schema.sql is what the migrations make"
exit $bad
