#!/bin/sh
# SPDX-License-Identifier: ISC
# ci [SUITE...]: what `./bootstrap check` and CI run. Each suite's output goes
# to build/logs/SUITE.log; one line tells its counts. The last line is the sum
# of all. A suite that ran nothing has failed.
#
#   unit       make check: unit programs, corpora of the fuzzers, guards
#   sql        pgTAP
#   e2e        black box, through every web server
#   demo       ./bootstrap demo and stop
#   interop    official clients
#   clang      the tree built by clang, warnings are errors; make check
#   sanitize   ASan and UBSan: make check and e2e
#   distcheck  the tarball builds and passes make check
#   clean      nothing of all this is visible to git (CI only)

set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
umask 022

say() { echo "check: $*" >&2; }
die() { say "$*"; exit 1; }

. "$top/build-aux/deps.sh"
. "$top/build-aux/build.sh"

# Two lanes side by side: one that mostly waits for servers, one that mostly
# compiles.
LANE_SERVERS='unit sql e2e demo interop'
LANE_COMPILERS='clang distcheck sanitize'

# Counting: each prints "PASSED FAILED SKIPPED".

# Automake's summary, "# PASS:  12" and so on; of the last run in the log.
count_make_check() {
	awk '/^# (PASS|XFAIL|FAIL|XPASS|ERROR|SKIP): / {
			n[$2] = $3
		}
		END {
			print n["PASS:"] + n["XFAIL:"],
				n["FAIL:"] + n["XPASS:"] + n["ERROR:"],
				n["SKIP:"] + 0
		}' "$1"
}

# TAP at the left margin; what is indented belongs to a subtest.
count_tap() {
	awk '/^(not )?ok( |$)/ {
			if (tolower($0) ~ /# *skip/) s++
			else if (tolower($0) ~ /^not ok.*# *todo/) p++
			else if ($1 == "not") f++
			else p++
		}
		END { print p + 0, f + 0, s + 0 }' "$1"
}

# The closing line that our own runners print.
count_closing_line() {
	awk '/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
			p = $1; f = $3; s = $5
		}
		END { print p + 0, f + 0, s + 0 }' "$1"
}

# Suites: run with output in the log; set counts.

# make check in directory $1, with a database for the tests that want one.
make_check() {
	local rc
	rc=0
	sh "$top/tests/unit/with-db" \
		make -C "$1" -j"$jobs" check || rc=$?
	cat "$1/test-suite.log" || :
	return $rc
}

suite_unit() {
	make_check "$build"
}

suite_sql() {
	MCP_TEST_PROVE=--verbose sh "$top/tests/sql/run"
}

suite_e2e() {
	MCP_BUILD=$build sh "$top/tests/e2e/run"
}

suite_demo() {
	sh "$top/tests/interop/demo.sh"
}

suite_interop() {
	sh "$top/tests/interop/run"
}

suite_clang() {
	(build_tree --clang --werror) && make_check "$build/clang"
}

suite_distcheck() {
	(build_tree --clang --werror) || return 1
	make -C "$build/clang" distcheck \
		DISTCHECK_CONFIGURE_FLAGS="--with-engine-dir=$build/engine"
}

# A report of a sanitizer is a failure even where no test noticed: reports
# go to files, which anybody may write, since servers run as another user.
suite_sanitize() {
	local rc reports
	reports=$build/logs/reports
	rm -rf "$reports"
	mkdir -m 1777 "$reports"
	(build_tree --sanitizers --werror) || return 1
	export ASAN_OPTIONS="log_path=$reports/asan:detect_stack_use_after_return=1"
	export UBSAN_OPTIONS="log_path=$reports/ubsan:print_stacktrace=1"
	rc=0
	make_check "$build/sanitizers" || rc=1
	# All tests, behind one front server: the others run none of our code.
	MCP_BUILD=$build/sanitizers sh "$top/tests/e2e/run" --front lighttpd ||
		rc=1
	for report in "$reports"/*; do
		[ -e "$report" ] || continue
		echo "not ok - sanitizer report $report"
		cat "$report"
		rc=1
	done
	return $rc
}

suite_clean() {
	git -C "$clone" status --porcelain >"$logs/tree.after"
	diff "$logs/tree.before" "$logs/tree.after"
}

counts_of() {
	local log
	log=$logs/$1.log
	case $1 in
	unit|clang)		count_make_check "$log" ;;
	sql)			count_tap "$log" ;;
	e2e|demo|interop)	count_closing_line "$log" ;;
	sanitize)
		echo "$(count_make_check "$log") $(count_closing_line "$log")" \
			"$(grep -c '^not ok - sanitizer report' "$log")" |
			awk '{ print $1 + $4, $2 + $5 + $7, $3 + $6 }' ;;
	distcheck|clean)
		if [ "$2" -eq 0 ]; then echo 1 0 0; else echo 0 1 0; fi ;;
	esac
}

# Tests run servers, and programs of this tree, as another user. Where that
# user may not read the tree (a clone in /root) everything is done with a copy
# of it, in the build directory.
open_tree() {
	clone=$top
	as_service test -r "$top/sql/roles.sql" && return
	top=$build/src
	rm -rf "$top"
	mkdir "$top"
	(cd "$clone" && tar cf - --exclude=./build --exclude=./run \
		--exclude=./.git .) | tar xf - -C "$top"
	ln -s "$build" "$top/build"
}

# Running.

# run_suite NAME: run it, tell its counts, leave them in NAME.counts.
run_suite() {
	local rc p f s began
	began=$(date +%s)
	rc=0
	rm -f "$logs/$1.counts"
	("suite_$1") >"$logs/$1.log" 2>&1 </dev/null || rc=$?
	read -r p f s <<EOF
$(counts_of "$1" $rc)
EOF
	p=${p:-0} f=${f:-0} s=${s:-0}
	if [ $rc -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
	elif [ "$p" -eq 0 ] && [ "$f" -eq 0 ]; then
		echo "$1 ran nothing" >>"$logs/$1.log"
		f=1
	fi
	echo "$p $f $s" >"$logs/$1.counts"
	echo "$1: $p passed, $f failed, $s skipped" \
		"($(($(date +%s) - began)) s) $logs/$1.log"
	[ "$f" -eq 0 ] || show_failures "$1"
}

show_failures() {
	{
		grep -nE '^(not ok|FAIL|ERROR|FAILED)|^E  |error:|Error [0-9]' \
			"$logs/$1.log" | head -40
		echo "--- the end of $logs/$1.log"
		tail -40 "$logs/$1.log"
	} | sed "s/^/  $1| /"
}

run_lane() {
	local suite
	for suite in $1; do
		case " $wanted " in
		*" $suite "*)	run_suite "$suite" ;;
		esac
	done
}

needs() {
	local suite
	for suite; do
		case " $wanted " in
		*" $suite "*)	return 0 ;;
		esac
	done
	return 1
}

prepare() {
	deps check
	say 'building'
	(build_tree --werror) >"$logs/build.log" 2>&1 || {
		tail -60 "$logs/build.log"
		echo '0 passed, 1 failed'
		exit 1
	}
	if needs e2e interop demo; then
		deps_node >"$logs/node.log" 2>&1 || {
			cat "$logs/node.log"
			say 'the interop suite will fail: no Node packages'
		}
	fi
}

# The sum over all suites: "N passed, N failed", which is the last line.
close() {
	local suite p f s passed failed skipped
	passed=0 failed=0 skipped=0
	for suite in $wanted; do
		p=0 f=1 s=0
		[ ! -f "$logs/$suite.counts" ] ||
			read -r p f s <"$logs/$suite.counts"
		passed=$((passed + p))
		failed=$((failed + f))
		skipped=$((skipped + s))
	done
	if [ $skipped -gt 0 ]; then
		echo "$passed passed, $failed failed, $skipped skipped"
	else
		echo "$passed passed, $failed failed"
	fi
	[ $failed -eq 0 ] && [ $passed -gt 0 ]
}

wanted=${*:-$LANE_SERVERS $LANE_COMPILERS ${CI:+clean}}
for suite in $wanted; do
	case " $LANE_SERVERS $LANE_COMPILERS clean " in
	*" $suite "*)	;;
	*)		say "no such suite: $suite; there are" \
				"$LANE_SERVERS $LANE_COMPILERS clean"
			exit 2 ;;
	esac
done
git -C "$top" status --porcelain >/tmp/tree.$$ 2>/dev/null || :
build=$(place build)
logs=$build/logs
jobs=$(jobs_of_machine)
mkdir -p "$logs"
open_tree
mv /tmp/tree.$$ "$logs/tree.before"
rm -f "$logs"/*.counts
prepare
run_lane "$LANE_SERVERS" &
lane=$!
trap 'kill $lane 2>/dev/null' EXIT
(
	BUILD_JOBS=1
	jobs=1
	run_lane "$LANE_COMPILERS"
)
wait $lane || :
trap - EXIT
run_lane clean
close
