# SPDX-License-Identifier: ISC
# deps: install what this tree needs, or say what is missing. Sourced by
# ./bootstrap, which has set top and build.
#
# Nothing that runs on the machine is disturbed: services of packages that
# are installed here are neither started now nor at the next boot, and
# packages that are there already are left as they are.

DEPS_BUILD='gcc make autoconf automake pkgconf libc6-dev libfcgi-dev
libcjson-dev libssl-dev libcurl4-openssl-dev libpq-dev libinih-dev
libyaml-dev libseccomp-dev zlib1g-dev wabt'
DEPS_RUN='postgresql lighttpd apache2 libapache2-mod-fcgid curl procps
util-linux ca-certificates'
DEPS_CHECK='libcmocka-dev libjwt-dev clang llvm libclang-rt-dev postgresql-pgtap
libtap-parser-sourcehandler-pgtap-perl pgbouncer python3 python3-pytest
python3-pytest-xdist python3-psycopg2 python3-requests python3-cryptography
python3-jwt valgrind xz-utils git mandoc'
DEPS_BENCH='wrk'
DEPS_UNITS='apache2 lighttpd pgbouncer postgresql'

# The packages of LEVEL (demo, check, bench), one a line.
deps_wanted() {
	echo "$DEPS_BUILD $DEPS_RUN"
	case $1 in
	check)	echo "$DEPS_CHECK $DEPS_BENCH" ;;
	bench)	echo "$DEPS_BENCH" ;;
	esac
	# The npm of other packagings of Node comes with nodejs.
	command -v npm >/dev/null 2>&1 || echo npm
}

deps_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = \
	    installed ]
}

# The name that this release of the distribution has for a package.
deps_real_name() {
	local major
	case $1 in
	postgresql-pgtap)
		major=$(deps_pg_major)
		echo "postgresql-${major:-15}-pgtap" ;;
	libclang-rt-dev)
		major=$(deps_clang_major)
		echo "libclang-rt-${major:-14}-dev" ;;
	*)	echo "$1" ;;
	esac
}

deps_pg_major() {
	local dir
	for dir in $(ls -d /usr/lib/postgresql/* 2>/dev/null | sort -rV); do
		[ -x "$dir/bin/initdb" ] && { basename "$dir"; return; }
	done
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -1
}

deps_clang_major() {
	apt-cache depends clang 2>/dev/null |
		sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -1
}

# Packages of LEVEL that are not installed. Needs the lists of apt only for
# the names that carry a version.
deps_missing() {
	local name real
	for name in $(deps_wanted "$1"); do
		real=$(deps_real_name "$name")
		deps_installed "$real" || echo "$real"
	done
}

# Tools of LEVEL that are not to be found, on systems without apt.
deps_missing_elsewhere() {
	local p
	for p in gcc make autoreconf pkg-config wasm2c curl npm psql; do
		command -v $p >/dev/null 2>&1 || echo "$p"
	done
	for p in fcgi libcjson libcrypto libcurl libpq inih libseccomp \
		yaml-0.1
	do
		pkg-config --exists $p 2>/dev/null ||
			echo "$p (headers and library)"
	done
	command -v lighttpd >/dev/null 2>&1 ||
	    command -v apache2 >/dev/null 2>&1 || echo 'lighttpd or apache2'
	[ -n "$(pg_bin initdb)" ] || echo 'postgresql (server, 15 or later)'
	[ "$1" = demo ] && return
	for p in clang pg_prove pytest wrk; do
		command -v $p >/dev/null 2>&1 || echo "$p"
	done
}

# Tell package scripts to start nothing, unless the machine says so already.
deps_hold_services() {
	held=
	[ -e /usr/sbin/policy-rc.d ] && return
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod 755 /usr/sbin/policy-rc.d
	held=yes
	trap 'deps_release_services; exit 1' HUP INT TERM
	trap deps_release_services EXIT
}

deps_release_services() {
	[ "$held" = yes ] && rm -f /usr/sbin/policy-rc.d
	held=
	trap - HUP INT TERM EXIT
}

# Services that have just been installed are not to come up at the next boot.
deps_disable_new() {
	local unit
	[ -d /run/systemd/system ] || return 0
	for unit in $1; do
		systemctl disable "$unit" >/dev/null 2>&1 || continue
		say "the service $unit is left off (systemctl enable $unit)"
	done
}

deps_apt() {
	local missing new unit
	missing=$(deps_missing "$1")
	[ -z "$missing" ] && return 0
	if [ "$(id -u)" != 0 ]; then
		say 'these packages are missing; install them with'
		# shellcheck disable=SC2086 # one line of them
		say '  sudo apt-get install' $missing
		return 1
	fi
	new=
	for unit in $DEPS_UNITS; do
		deps_installed "$unit" || new="$new $unit"
	done
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086
	say installing: $missing
	apt-get update -q </dev/null
	# With new lists the versions in some names may be other ones.
	missing=$(deps_missing "$1")
	deps_hold_services
	apt-get install -q -y --no-install-recommends --no-upgrade \
		$missing </dev/null || { deps_release_services; return 1; }
	deps_release_services
	deps_disable_new "$new"
}

deps_elsewhere() {
	local missing
	missing=$(deps_missing_elsewhere "$1")
	[ -z "$missing" ] && return 0
	say 'these are missing; install them with the package manager:'
	echo "$missing" | sed 's/^/  /' >&2
	return 1
}

# deps LEVEL: make sure of the packages that LEVEL (demo, check, bench) needs.
deps() {
	if command -v apt-get >/dev/null 2>&1; then
		deps_apt "$1"
	else
		deps_elsewhere "$1"
	fi
}

# The Node packages of tests/interop, in the build directory. Once for each
# state of the lock file.
deps_node() {
	local dir want
	dir=$build/interop
	want=$(cksum <"$top/tests/interop/package-lock.json")
	mkdir -p "$dir"
	cp "$top"/tests/interop/*.mjs "$top"/tests/interop/package*.json \
		"$top"/tests/bench/*.mjs "$dir/"
	[ "$(cat "$dir/.complete" 2>/dev/null)" = "$want" ] && return 0
	command -v npm >/dev/null 2>&1 || {
		say 'npm is missing; install Node.js 20 or later with npm'
		return 1
	}
	rm -f "$dir/.complete"
	(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund \
		--loglevel=error </dev/null) || return 1
	echo "$want" >"$dir/.complete"
}
