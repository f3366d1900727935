#!/bin/sh
# SPDX-License-Identifier: ISC
# demo-minder RUN: what cron and a service manager do in production, for the
# demo in directory RUN. Runs the reaper every minute (in place of the crontab
# line), and where the web server does not start the responders keeps their
# pools up: a pool that has ended is started again.

set -u
run=$1
. "$run/minder.conf"	# POOLS="NAME:WORKERS ..."

export MCP_FCGI_CONF="$run/etc/mcp-fcgi/mcp-fcgi.conf"
cd "$run" || exit 1
echo $$ >"$run/pid/minder"

start_pool() {
	local name workers
	name=${1%%:*}
	workers=${1##*:}
	"$run/sbin/mcp-fcgi" --workers "$workers" \
		--listen "unix:$run/rt/mcp-fcgi/$name.sock" \
		>>"$run/log/$name.log" 2>&1 </dev/null &
	echo $! >"$run/pid/pool-$name"
}

is_up() {
	kill -0 "$(cat "$run/pid/pool-$1" 2>/dev/null)" 2>/dev/null
}

stop_all() {
	trap - TERM INT
	for pool in $POOLS; do
		kill "$(cat "$run/pid/pool-${pool%%:*}")" 2>/dev/null
	done
	wait
	rm -f "$run/pid/minder" "$run"/pid/pool-*
	exit 0
}
trap stop_all TERM INT

tick=0
while :; do
	for pool in $POOLS; do
		is_up "${pool%%:*}" || start_pool "$pool"
	done
	if [ $((tick % 60)) -eq 0 ]; then
		"$run/sbin/mcp-reaper" >>"$run/log/reaper.log" 2>&1 </dev/null
	fi
	tick=$((tick + 1))
	sleep 1 &
	wait $!
done
