# SPDX-License-Identifier: ISC
# lib: what both benchmarks need. Sourced; needs top, build, work, say, die.

free_port() {
	node -e "const s = require('net').createServer();
		s.listen(0, '127.0.0.1', () => { console.log(s.address().port);
		s.close(); })"
}

# Start a node program in the background; wait for "listening".
start_node() {
	local log n
	log=$work/$1.log
	(cd "$build/interop" && exec node "$@") >"$log" 2>&1 </dev/null &
	started=$!
	children="$children $started"
	n=0
	until grep -q '^listening' "$log"; do
		n=$((n + 1))
		[ $n -lt 100 ] || die "$1 does not start, see $log"
		sleep 0.1
	done
}

# Where and when: the first lines of a report.
report_head() {
	echo "== $(date -u +%Y-%m-%dT%H:%MZ) commit $commit"
	echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo |
		head -1); $(uname -sr); $(lighttpd -v | head -1 | cut -d' ' -f1);" \
		"PostgreSQL $("$(pg_bin postgres)" --version |
		awk '{ print $3 }'); node $(node --version)"
}

# aim TEXT FIGURE OPERATOR LIMIT: was it reached?
aim() {
	awk -v t="$1" -v a="$2" -v o="$3" -v b="$4" 'BEGIN {
		ok = o == ">=" ? a >= b : o == "<" ? a < b : a <= b
		printf "%-52s %10s  aim %s %s: %s\n", t, a, o, b,
			ok ? "reached" : "MISSED"
	}'
}

find_commit() {
	commit=$(git -C "$top" rev-parse --short=12 HEAD 2>/dev/null ||
		echo none)
	[ -z "$(git -C "$top" status --porcelain 2>/dev/null)" ] ||
		commit="$commit, with changes"
}
