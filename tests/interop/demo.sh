#!/bin/sh
# SPDX-License-Identifier: ISC
# Goal of this test: ./bootstrap demo and stop do what their usage says, on
# each web server; two demos run side by side; a demo that is stopped and
# started again has the same tokens, and the same session goes on.
# Prints TAP, then `N passed, N failed`.
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
build=$(cd "$top/build" && pwd -P)
MCP_DEMO_RUNS=$build/d
export MCP_DEMO_RUNS
log=$build/logs/demo-out.log
passed=0 failed=0
mkdir -p "$build/logs"
: >"$log"

leave() { "$top/bootstrap" stop --purge >/dev/null 2>&1 || :; }
trap leave EXIT
trap 'exit 1' HUP INT TERM

test_that() {
	local name
	name=$1
	shift
	if "$@" >>"$log" 2>&1; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $name"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $name"
		tail -20 "$log" | sed 's/^/# /'
	fi
}

free_port() {
	node -e "const s = require('net').createServer();
		s.listen(0, '127.0.0.1', () => { console.log(s.address().port);
		s.close(); })"
}

start() {
	"$top/bootstrap" demo --detach --server "$1" --port "$2" </dev/null
}

value() { sed -n "s/^$2=//p" "$MCP_DEMO_RUNS/$1/demo.env"; }

# post PORT TOKEN SESSION BODY: the status and the head and body in $reply.
post() {
	reply=$(curl -s -i --noproxy '*' --max-time 30 "$(value "$1" MCP_URL)" \
		-H "Authorization: Bearer $2" \
		-H 'Content-Type: application/json' \
		-H 'Accept: application/json, text/event-stream' \
		${3:+-H "Mcp-Session-Id: $3"} -d "$4" | tr -d '\r')
	echo "$reply"
	status=$(echo "$reply" | sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p')
}

open_session() {
	post "$1" "$(value "$1" MCP_TOKEN)" '' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
	session=$(echo "$reply" | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p')
	[ -n "$session" ]
}

session_works() {
	post "$1" "$(value "$1" MCP_TOKEN)" "$session" \
		'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
	[ "$status" = 200 ]
}

other_is_refused() {
	post "$1" "$(value "$1" MCP_TOKEN_OTHER)" "$session" \
		'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
	[ "$status" = 403 ]
}

# Every key, loadable by a shell, and the connection is the owner's.
env_is_complete() {
	(
		set -a
		# shellcheck disable=SC1090
		. "$MCP_DEMO_RUNS/$1/demo.env"
		[ -n "$MCP_URL" ] && [ -n "$MCP_TOKEN" ] &&
		[ -n "$MCP_TOKEN_OTHER" ] && [ "$MCP_SERVER" = "$2" ] &&
		psql -X -Atc 'SELECT count(*) FROM mcp.session' "$MCP_DSN"
	)
}

latest_is() { cmp "$MCP_DEMO_RUNS/demo.env" "$MCP_DEMO_RUNS/$1/demo.env"; }

is_silent() {
	! curl -s --noproxy '*' --max-time 5 -o /dev/null \
		"http://127.0.0.1:$1/mcp"
}

# Nothing that a demo started is left. The pattern is in a file, not in the
# command line of grep itself.
leaves_nothing() {
	echo "$MCP_DEMO_RUNS/" >"$build/logs/demo-pattern"
	! grep -lF -f "$build/logs/demo-pattern" /proc/[0-9]*/cmdline \
		2>/dev/null
}

stop() { "$top/bootstrap" stop "$@"; }

same_tokens() {
	[ "$(value "$1" MCP_TOKEN)" = "$token" ]
}

a=$(free_port)
test_that 'lighttpd: starts, shakes hands, executes' start lighttpd "$a"
test_that 'lighttpd: demo.env is complete' env_is_complete "$a" lighttpd
test_that 'a session opens' open_session "$a"
test_that 'another account of another organisation is refused' \
	other_is_refused "$a"
token=$(value "$a" MCP_TOKEN)

b=$(free_port)
test_that 'apache-proxy-fcgi: a second demo starts beside the first' \
	start apache-proxy-fcgi "$b"
test_that 'apache-proxy-fcgi: demo.env is complete' \
	env_is_complete "$b" apache-proxy-fcgi
test_that 'the common demo.env is that of the latest' latest_is "$b"
test_that 'the first still serves its session' session_works "$a"

test_that 'one is stopped alone' stop --port "$a"
test_that 'it is silent' is_silent "$a"
test_that 'the other is not' open_session "$b"
test_that 'a stale pid file harms nobody' sh -c \
	"echo $$ >'$MCP_DEMO_RUNS/$a/pid/httpd' && '$top/bootstrap' stop --port $a"

session=
test_that 'it starts again' start lighttpd "$a"
test_that 'with the same token' same_tokens "$a"
test_that 'a session opens' open_session "$a"
kept=$session
test_that 'a demo that is up is restarted by the command, on another server' \
	start apache-fcgid "$a"
test_that 'apache-fcgid: demo.env is complete' \
	env_is_complete "$a" apache-fcgid
session=$kept
test_that 'the same session goes on' session_works "$a"
test_that 'all are stopped and forgotten' stop --purge
test_that 'nothing is left running' leaves_nothing
test_that 'nothing is left on disk' test ! -e "$MCP_DEMO_RUNS/$a"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
