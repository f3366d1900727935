# SPDX-License-Identifier: ISC
# demo: a private PostgreSQL and a web server with the shipped configuration,
# on loopback, under run/PORT. Sourced; needs top, say, die, and build.sh.
#
#   run/PORT/demo.env           what a client or a test needs
#            etc sbin libexec   configuration, and copies of the programs
#            pg s               the database, its socket
#            httpd rt           the web server's files, its sockets
#            log pid
#   run/demo.env                that of the demo started last
#
# As root everything runs as another user, and run/PORT/s and rt let only that
# user (and root) in: a connection by the socket needs no password.

DEMO_PORT_FIRST=8765
DEMO_PORT_LAST=8799
DEMO_SERVERS='lighttpd apache-proxy-fcgi apache-fcgid'
DEMO_APACHE_MODULES=/usr/lib/apache2/modules

# --- what is asked for -----------------------------------------------------

demo_options() {
	server=
	port=
	extra=
	is_detached=no
	while [ $# -gt 0 ]; do
		case $1 in
		--detach)	is_detached=yes ;;
		--server)	shift; server=${1:-} ;;
		--server=*)	server=${1#*=} ;;
		--port)		shift; port=${1:-} ;;
		--port=*)	port=${1#*=} ;;
		--conf)		shift; extra=${1:-} ;;
		--conf=*)	extra=${1#*=} ;;
		*)		usage >&2; exit 2 ;;
		esac
		[ $# -gt 0 ] && shift
	done
	server=${server:-lighttpd}
	case " $DEMO_SERVERS " in
	*" $server "*)	;;
	*)		say "no such server: $server (one of $DEMO_SERVERS)"
			exit 2 ;;
	esac
	case $port in
	*[!0-9]*)	say "not a port: $port"; exit 2 ;;
	esac
	[ -z "$extra" ] || [ -r "$extra" ] || die "cannot read $extra"
}

port_is_free() {
	local rc
	rc=0
	curl -s -o /dev/null --noproxy '*' --max-time 2 \
		"http://127.0.0.1:$1/" || rc=$?
	[ $rc -eq 7 ]
}

# Is the demo at run directory $1 up?
demo_is_up() {
	[ -f "$1/pid/httpd" ] && demo_owns "$1" "$(cat "$1/pid/httpd")"
}

# Does process $2 belong to the demo in directory $1? A number from a stale
# file may be anybody's by now.
demo_owns() {
	[ -n "$2" ] &&
		{ tr '\0' ' ' <"/proc/$2/cmdline"; } 2>/dev/null |
		grep -qF "$1/"
}

# Choose the port: the one asked for, or the first that has our demo or none.
demo_choose_port() {
	local p
	if [ -n "$port" ]; then
		port_is_free "$port" || demo_is_up "$runs/$port" ||
			die "port $port is taken by another program"
		return
	fi
	p=$DEMO_PORT_FIRST
	while [ "$p" -le $DEMO_PORT_LAST ]; do
		if demo_is_up "$runs/$p" || port_is_free "$p"; then
			port=$p
			return
		fi
		p=$((p + 1))
	done
	die "no free port from $DEMO_PORT_FIRST to $DEMO_PORT_LAST; use --port"
}

# Where the directories of demos are. Tests have theirs elsewhere, so that
# run/demo.env stays what its user made it.
demo_runs() {
	if [ -n "${MCP_DEMO_RUNS:-}" ]; then
		mkdir -p "$MCP_DEMO_RUNS"
		(cd "$MCP_DEMO_RUNS" && pwd -P)
	else
		place run
	fi
}

# --- the directory ---------------------------------------------------------

demo_directories() {
	local user d
	mkdir -p "$run"
	for d in etc/mcp-fcgi sbin libexec httpd; do
		mkdir -p "$run/$d"
	done
	user=$(service_user)
	for d in pid log www; do
		mkdir -p "$run/$d"
	done
	for d in s rt rt/mcp-fcgi; do
		mkdir -p "$run/$d"
		chmod 700 "$run/$d"
	done
	if [ "$(id -u)" = 0 ]; then
		for d in pid log s rt rt/mcp-fcgi; do
			chown "$user" "$run/$d"
		done
	fi
}

# Copies, so that a build beside a running demo does not disturb it.
demo_programs() {
	local p
	for p in mcp-fcgi mcp-reaper mcp-admin; do
		install -m 755 "$built/$p" "$run/sbin/$p.new"
		mv "$run/sbin/$p.new" "$run/sbin/$p"
	done
	ln -sf mcp-fcgi "$run/sbin/mcp-fcgi-stream"
	for p in mcp-sandbox mcp-sandbox.image; do
		install -m 755 "$built/$p" "$run/libexec/$p.new"
		mv "$run/libexec/$p.new" "$run/libexec/$p"
	done
}

demo_conf() {
	local conf
	conf=$run/etc/mcp-fcgi/mcp-fcgi.conf
	{
		echo "# written by ./bootstrap demo"
		echo "resource_url = http://127.0.0.1:$port/mcp"
		echo "database = host='$run/s' user=mcp_web dbname=mcp"
		echo "reaper_database = host='$run/s' user=mcp_cron dbname=mcp"
		echo "admin_database = host='$run/s' user=mcp dbname=mcp"
		echo "sandbox = $run/libexec/mcp-sandbox"
		[ -z "$extra" ] || cat "$extra"
	} >"$conf.new"
	mv "$conf.new" "$conf"
	MCP_FCGI_CONF=$conf
	export MCP_FCGI_CONF
}

# --- PostgreSQL ------------------------------------------------------------

demo_psql() {
	PGOPTIONS='-c client_min_messages=warning' \
	psql -X -q -v ON_ERROR_STOP=1 -h "$run/s" -U mcp "$@" </dev/null
}

demo_pg_init() {
	[ -f "$run/pg/PG_VERSION" ] && return
	mkdir -p "$run/pg"
	chmod 700 "$run/pg"
	[ "$(id -u)" != 0 ] || chown "$(service_user)" "$run/pg"
	(cd "$run" && as_service "$(pg_bin initdb)" -N -U mcp --auth=trust \
		-E UTF8 --locale=C.UTF-8 -D "$run/pg") >"$run/initdb.log" 2>&1 ||
		die "initdb failed, see $run/initdb.log"
	printf '%s\n' "listen_addresses = ''" \
		"unix_socket_directories = '$run/s'" \
		'max_connections = 60' >>"$run/pg/postgresql.conf"
}

demo_pg_ctl() {
	(cd "$run" && as_service "$(pg_bin pg_ctl)" -s -D "$run/pg" "$@" \
		</dev/null)
}

demo_pg_start() {
	demo_pg_init
	demo_pg_ctl status >/dev/null 2>&1 && return
	demo_pg_ctl -w -t 60 -l "$run/log/postgres.log" start ||
		die "PostgreSQL does not start, see $run/log/postgres.log"
}

# The database with its schema and one login for each program.
demo_database() {
	demo_psql -d postgres -Atc \
		"SELECT 1 FROM pg_database WHERE datname = 'mcp'" |
		grep -q 1 || demo_psql -d postgres -c 'CREATE DATABASE mcp'
	"$run/sbin/mcp-admin" migrate >"$run/log/migrate.log" 2>&1 ||
		die "mcp-admin migrate failed, see $run/log/migrate.log"
	demo_psql -d mcp -v login=mcp_web -v group=mcp_responder \
		-f "$top/sql/login.sql"
	demo_psql -d mcp -v login=mcp_cron -v group=mcp_reaper \
		-f "$top/sql/login.sql"
}

# --- organisations, accounts, tokens ---------------------------------------

# Print the token that mcp-admin shows once.
demo_issue() {
	"$run/sbin/mcp-admin" token issue "$1" "$2" --name demo |
		grep -oE 'mcp_[A-Za-z0-9_-]{43}' | head -1
}

demo_token_works() {
	[ -n "$1" ] && [ "$(demo_psql -d mcp -Atc "SELECT count(*)
		FROM mcp.api_token WHERE revoked_at IS NULL AND token_sha256 =
		sha256(convert_to('$1', 'UTF8'))")" = 1 ]
}

demo_accounts() {
	local admin
	admin=$run/sbin/mcp-admin
	for pair in demo:demo-user other:other-user; do
		"$admin" org add "${pair%%:*}" >>"$run/log/admin.log" 2>&1 || :
		"$admin" member add "${pair%%:*}" "${pair##*:}" \
			>>"$run/log/admin.log" 2>&1 || :
	done
	MCP_TOKEN=
	MCP_TOKEN_OTHER=
	if [ -f "$run/demo.env" ]; then
		MCP_TOKEN=$(demo_env MCP_TOKEN)
		MCP_TOKEN_OTHER=$(demo_env MCP_TOKEN_OTHER)
	fi
	demo_token_works "$MCP_TOKEN" ||
		MCP_TOKEN=$(demo_issue demo demo-user)
	demo_token_works "$MCP_TOKEN_OTHER" ||
		MCP_TOKEN_OTHER=$(demo_issue other other-user)
	if [ -z "$MCP_TOKEN" ] || [ -z "$MCP_TOKEN_OTHER" ]; then
		die 'mcp-admin token issue gave no token'
	fi
}

# The value of $1 in the demo.env of this demo.
demo_env() {
	sed -n "s/^$1=//p" "$run/demo.env"
}

# No value needs quoting: the path in the DSN is percent-encoded.
demo_write_env() {
	local dir
	dir=$(printf %s "$run/s" | sed 's/%/%25/g; s/ /%20/g; s/&/%26/g; s/;/%3B/g')
	(
		umask 077
		cat >"$run/demo.env.new" <<EOF
MCP_URL=http://127.0.0.1:$port/mcp
MCP_TOKEN=$MCP_TOKEN
MCP_TOKEN_OTHER=$MCP_TOKEN_OTHER
MCP_DSN=postgresql://mcp@/mcp?host=$dir
MCP_SERVER=$server
EOF
		mv "$run/demo.env.new" "$run/demo.env"
		cp "$run/demo.env" "$runs/demo.env.new"
		mv "$runs/demo.env.new" "$runs/demo.env"
	)
}

# --- the web server --------------------------------------------------------

# A shipped file, with its paths filled in as make install does.
demo_render() {
	sed -e "s|@sbindir@|$run/sbin|g" -e "s|@sysconfdir@|$run/etc|g" \
		-e "s|@runstatedir@|$run/rt|g" \
		"$top/httpd-conf/$1.conf.in" >"$run/httpd/$1.conf"
}

# What a distribution's own lighttpd.conf has, and our file.
demo_lighttpd_conf() {
	cat >"$run/httpd/main.conf" <<EOF
server.document-root = "$run/www"
server.upload-dirs = ( "$run/rt" )
server.errorlog = "$run/log/httpd.log"
server.pid-file = "$run/pid/httpd"
server.bind = "127.0.0.1"
server.port = $port
index-file.names = ( "index.html" )
include "$run/httpd/lighttpd.conf"
EOF
}

demo_apache_conf() {
	local m modules
	modules='authz_core env filter mime setenvif'
	case $server in
	apache-proxy-fcgi)	modules="$modules proxy proxy_fcgi" ;;
	apache-fcgid)		modules="$modules fcgid" ;;
	esac
	{
		cat <<EOF
ServerRoot $run
ServerName localhost
PidFile $run/pid/httpd
DefaultRuntimeDir $run/rt
Listen 127.0.0.1:$port
ErrorLog $run/log/httpd.log
LoadModule mpm_event_module $DEMO_APACHE_MODULES/mod_mpm_event.so
EOF
		for m in $modules; do
			echo "LoadModule ${m}_module" \
				"$DEMO_APACHE_MODULES/mod_$m.so"
		done
		[ "$server" != apache-fcgid ] || cat <<EOF
FcgidIPCDir $run/rt
FcgidProcessTableFile $run/rt/fcgid_shm
EOF
		cat <<EOF
TypesConfig /etc/mime.types
DocumentRoot $run/www
<Directory />
	AllowOverride None
	Require all denied
</Directory>
Include $run/httpd/$server.conf
EOF
	} >"$run/httpd/main.conf"
}

demo_httpd_start() {
	local n
	demo_render "$server"
	rm -f "$run/pid/httpd"
	case $server in
	lighttpd)
		demo_lighttpd_conf
		set -- lighttpd -D -f "$run/httpd/main.conf" ;;
	apache-*)
		demo_apache_conf
		set -- apache2 -DFOREGROUND -d "$run" \
			-f "$run/httpd/main.conf" ;;
	esac
	demo_spawn httpd-start.log "$@"
	n=0
	until [ -s "$run/pid/httpd" ] && ! port_is_free "$port"; do
		n=$((n + 1))
		[ $n -lt 100 ] || die "the web server does not start, see" \
			"$run/log/httpd-start.log and httpd.log"
		sleep 0.1
	done
}

# Start a program as the service user, out of reach of the terminal's Ctrl-C.
demo_spawn() {
	local log
	log=$run/log/$1
	shift
	(
		cd "$run" || exit 1
		umask 027
		# For the whole subshell: a redirected function would keep
		# copies of ours, and who reads our output waited for ever.
		exec </dev/null >>"$log" 2>&1
		as_service setsid "$@" &
	)
}

demo_minder_start() {
	local pools n
	pools=
	[ "$server" = apache-proxy-fcgi ] && pools='rpc:4 stream:8'
	echo "POOLS='$pools'" >"$run/minder.conf"
	install -m 755 "$top/build-aux/demo-minder.sh" "$run/sbin/demo-minder"
	demo_spawn minder.log "$run/sbin/demo-minder" "$run"
	n=0
	until [ -s "$run/pid/minder" ] && demo_sockets_are_there "$pools"; do
		n=$((n + 1))
		[ $n -lt 100 ] ||
			die "the responders do not start, see $run/log"
		sleep 0.1
	done
}

demo_sockets_are_there() {
	local pool
	for pool in $1; do
		[ -S "$run/rt/mcp-fcgi/${pool%%:*}.sock" ] || return 1
	done
}

# --- does it work? ---------------------------------------------------------

# demo_rpc BODY: one request in the session; the reply's head and body.
demo_rpc() {
	curl -sS -i --noproxy '*' --max-time 60 "http://127.0.0.1:$port/mcp" \
		-H "Authorization: Bearer $MCP_TOKEN" \
		-H 'Content-Type: application/json' \
		-H 'Accept: application/json, text/event-stream' \
		${session:+-H "Mcp-Session-Id: $session"} -d "$1" | tr -d '\r'
}

demo_handshake() {
	local reply
	session=
	reply=$(demo_rpc '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bootstrap","version":"1"}}}')
	session=$(echo "$reply" | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p')
	[ -n "$session" ] || die "the handshake failed:
$reply
logs are in $run/log"
	demo_rpc '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
		>/dev/null
	reply=$(demo_rpc '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"code":"return 6 * 7"}}}')
	case $reply in
	*'"result":42'*)	;;
	*)			die "execute failed:
$reply
logs are in $run/log" ;;
	esac
	curl -sS -o /dev/null --noproxy '*' -X DELETE \
		-H "Authorization: Bearer $MCP_TOKEN" \
		-H "Mcp-Session-Id: $session" "http://127.0.0.1:$port/mcp"
}

demo_tell() {
	local url
	url=http://127.0.0.1:$port/mcp
	cat <<EOF

The demo is up ($server): initialize and execute(6 * 7) have just worked.

  URL      $url
  token    $MCP_TOKEN
  in a file with the rest: run/demo.env (also run/$port/demo.env)
  database psql '$(demo_env MCP_DSN)'
  logs     $run/log

Claude Code:
  claude mcp add --transport http demo $url \\
      --header "Authorization: Bearer $MCP_TOKEN"

Cursor (.cursor/mcp.json):
  {"mcpServers": {"demo": {"url": "$url",
    "headers": {"Authorization": "Bearer $MCP_TOKEN"}}}}

VS Code (.vscode/mcp.json):
  {"servers": {"demo": {"type": "http", "url": "$url",
    "headers": {"Authorization": "Bearer $MCP_TOKEN"}}}}

Claude Desktop, and other hosts that speak only stdio, by mcp-remote:
  {"mcpServers": {"demo": {"command": "npx", "args": ["-y", "mcp-remote",
    "$url", "--allow-http", "--transport", "http-only",
    "--header", "Authorization:\${AUTH}"],
    "env": {"AUTH": "Bearer $MCP_TOKEN"}}}}

A loop runs mcp-reaper every minute here; in production that is cron's work.
EOF
}

# --- stopping --------------------------------------------------------------

# demo_end NAME SIGNAL: end the process of pid file NAME and wait for it.
demo_end() {
	local pid n
	pid=$(cat "$run/pid/$1" 2>/dev/null || :)
	if demo_owns "$run" "$pid"; then
		kill -"$2" "$pid" 2>/dev/null || :
	fi
	n=0
	while demo_owns "$run" "$pid" && [ $n -lt 150 ]; do
		n=$((n + 1))
		[ $n -ne 100 ] || kill -KILL "$pid" 2>/dev/null || :
		sleep 0.1
	done
	rm -f "$run/pid/$1"
}

# Processes of the responder in this demo, by the program they run.
demo_responders() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		case $(readlink "$exe" 2>/dev/null) in
		"$run/sbin/mcp-fcgi"|"$run/sbin/mcp-fcgi (deleted)")
			exe=${exe%/exe}
			echo "${exe#/proc/}" ;;
		esac
	done
}

demo_kill_responders() {
	local pid
	for pid in $(demo_responders); do
		kill -"$1" "$pid" 2>/dev/null || :
	done
}

demo_stop_one() {
	run=$1
	demo_end httpd TERM
	demo_end minder TERM
	demo_kill_responders TERM
	if [ -f "$run/pg/postmaster.pid" ]; then
		demo_pg_ctl -m fast -w stop >/dev/null 2>&1 ||
			demo_pg_ctl -m immediate -w stop >/dev/null 2>&1 || :
	fi
	demo_kill_responders KILL
	rm -f "$run"/rt/mcp-fcgi/*.sock*
}

demo_purge_one() {
	rm -rf "$1"
	if [ -f "$runs/demo.env" ] &&
	    grep -q "^MCP_URL=.*:$(basename "$1")/" "$runs/demo.env"; then
		rm -f "$runs/demo.env"
	fi
}

demo_stop() {
	local is_purging dir found
	port=
	is_purging=no
	while [ $# -gt 0 ]; do
		case $1 in
		--port)		shift; port=${1:-} ;;
		--port=*)	port=${1#*=} ;;
		--purge)	is_purging=yes ;;
		*)		usage >&2; exit 2 ;;
		esac
		[ $# -gt 0 ] && shift
	done
	runs=$(demo_runs)
	found=no
	for dir in "$runs"/${port:-[0-9]*}; do
		[ -d "$dir" ] || continue
		if demo_is_up "$dir" || [ -f "$dir/pg/postmaster.pid" ]; then
			found=yes
			say "stopping the demo on port $(basename "$dir")"
		fi
		demo_stop_one "$dir"
		if [ $is_purging = yes ]; then
			found=yes
			demo_purge_one "$dir"
			say "purged the demo on port $(basename "$dir")"
		fi
	done
	[ $found = yes ] || say 'no demo is running'
}

# --- the command -----------------------------------------------------------

demo_start() {
	demo_directories
	demo_programs
	demo_conf
	demo_pg_start
	demo_database
	demo_accounts
	demo_write_env
	demo_minder_start
	demo_httpd_start
	demo_handshake
}

demo_watch() {
	trap 'echo; demo_stop_one "$run"; exit 0' INT TERM HUP
	echo 'Ctrl-C ends it; the database stays for the next time.'
	while demo_is_up "$run"; do
		sleep 1 &
		wait $! || :
	done
	say "the web server has ended, see $run/log"
	demo_stop_one "$run"
	return 1
}

demo() {
	demo_options "$@"
	build=$(place build)
	deps demo
	build_tree
	runs=$(demo_runs)
	demo_choose_port
	run=$runs/$port
	if demo_is_up "$run" || [ -f "$run/pg/postmaster.pid" ]; then
		say "restarting the demo on port $port"
		demo_stop_one "$run"
	fi
	trap 'demo_stop_one "$run"' EXIT
	demo_start
	trap - EXIT
	demo_tell
	if [ $is_detached = yes ]; then
		echo './bootstrap stop ends it.'
	else
		demo_watch
	fi
}
