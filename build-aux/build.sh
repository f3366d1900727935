# SPDX-License-Identifier: ISC
# build: where things go and how the tree is built. Sourced; needs top, say,
# die.

# The account that servers run as when we are root; PostgreSQL refuses root.
service_user() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id www-data >/dev/null 2>&1; then
		echo www-data
	else
		echo nobody
	fi
}

# Run a command as the service user.
as_service() {
	local user
	if [ "$(id -u)" != 0 ]; then
		"$@"
		return
	fi
	user=$(service_user)
	HOME=/nonexistent setpriv --reuid="$user" --regid="$(id -g "$user")" \
		--clear-groups "$@"
}

# Longest path of a directory whose sockets still fit into sockaddr_un.
PLACE_MAX=60

# place NAME: make the directory NAME (build, run) of this tree and print
# where it really is. That is in the tree, unless the service user cannot get
# there (a clone in /root) or the path is too long for a socket: then it is a
# new directory under /var/tmp, with a symbolic link in the tree.
place() {
	local dir away
	dir=$top/$1
	if [ ! -e "$dir" ]; then
		rm -f "$dir"
		mkdir "$dir"
		if [ ${#dir} -gt $PLACE_MAX ] ||
		    ! as_service test -x "$dir"; then
			rmdir "$dir"
			away=$(mktemp -d /var/tmp/mcp-fcgi.XXXXXX)
			chmod 755 "$away"
			ln -s "$away" "$dir"
		fi
	fi
	(cd "$dir" && pwd -P)
}

# Path of a PostgreSQL program; the newest installed server's.
pg_bin() {
	local dir
	for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
		if [ -x "$dir/$1" ] && [ -x "$dir/initdb" ]; then
			echo "$dir/$1"
			return 0
		fi
	done
	command -v "$1" || true
}

jobs_of_machine() {
	nproc 2>/dev/null || echo 2
}

# build_configure DIR OPTIONS...: configure in DIR unless that was done with
# the same options; with other options everything there is built anew.
build_configure() {
	local dir
	dir=$1
	shift
	if [ ! -f "$top/configure" ] ||
	    [ "$top/configure.ac" -nt "$top/configure" ]; then
		(cd "$top" && autoreconf -fi) || return 1
	fi
	mkdir -p "$dir"
	if [ -f "$dir/config.status" ] &&
	    [ "$(cat "$dir/.options" 2>/dev/null)" = "$CC $top $*" ]; then
		return 0
	fi
	if [ -f "$dir/Makefile" ]; then
		make -s -C "$dir" clean
	fi
	(cd "$dir" && "$top/configure" --quiet \
		--with-engine-dir="$build/engine" "$@" CC="$CC") || return 1
	echo "$CC $top $*" >"$dir/.options"
}

# The JavaScript engine comes from a package registry, once.
build_engine() {
	[ -f "$top/build-aux/engine/fetch" ] || return 0
	command -v npm >/dev/null 2>&1 || {
		say 'npm is missing; install Node.js with npm'
		return 1
	}
	sh "$top/build-aux/engine/fetch" "$build/engine"
}

# build_tree [--werror] [--sanitizers] [--clang] [--coverage]: build. Sets
# built to the directory. Without options any finished configuration of
# build/ is good enough.
build_tree() {
	local opt options
	CC=${CC:-gcc}
	built=$build
	options=
	for opt; do
		case $opt in
		--werror)
			options="$options --enable-werror" ;;
		--sanitizers)
			options="$options --enable-sanitizers"
			built=$build/sanitizers ;;
		--coverage)
			options="$options --enable-coverage"
			built=$build/coverage ;;
		--clang)
			CC=clang
			built=$build/clang ;;
		*)
			die "build: unknown option $opt" ;;
		esac
	done
	build_engine || return 1
	if [ $# -gt 0 ] || [ ! -f "$built/config.status" ]; then
		# shellcheck disable=SC2086 # options are words
		build_configure "$built" $options || return 1
	fi
	make -s -C "$built" -j"${BUILD_JOBS:-$(jobs_of_machine)}"
}
