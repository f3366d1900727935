# SPDX-License-Identifier: ISC
"""Faults of what is around: a database that does not write, a web server's
way with a CGI program."""

import json
import time

from lib import proc
from lib.client import initialize_message


def test_database_that_does_not_write(make_stack, front_kind):
    """A standby after a switch-over: 503 and a new connection, not 500."""
    s = make_stack(front_kind)
    client = s.user().connect()
    name = s.database

    def end_connections():
        s.sql.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                  "WHERE datname = %s AND pid <> pg_backend_pid()", name)
    s.sql.run('ALTER DATABASE "%s" SET default_transaction_read_only = on'
              % name)
    end_connections()
    s.age(client.session, 10)
    for _ in range(3):
        a = client.call("ping")
        assert a.status == 503 and a.header("retry-after") == "2", a
    a = client.post(initialize_message())
    assert a.status in (403, 503), a
    s.sql.run('ALTER DATABASE "%s" RESET default_transaction_read_only' % name)
    # Nobody ends the connections this time.
    proc.wait_for(lambda: client.call("ping").status == 200, 10)
    for _ in range(2 * s.front.n_responders):
        assert client.call("ping").status == 200


def test_cgi_refuses_a_body_without_reading_it(make_stack):
    """The answer is not lost with the rest of the body."""
    for kind in ("apache-cgi", "lighttpd-cgi"):
        s = make_stack(kind)
        for size in (40, 200000, 5000000):
            for path, status in (("/mcp/x", 404), ("/mcp", (401, 413))):
                a = s.web.request("POST", path, {
                    "Content-Type": "application/json"}, b"x" * size)
                assert a.status == status or a.status in (
                    status if isinstance(status, tuple) else ()), (kind, a)
                assert json.loads(a.body)


def test_query_string_is_no_command_line(make_stack):
    """Apache makes arguments of a query without "=" (RFC 3875 4.4)."""
    s = make_stack("apache-cgi")
    client = s.user().connect()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    port = proc.free_port()
    for query in ("-V", "-t", "-h", "-c+/dev/null", "x+y",
                  "--listen+127.0.0.1:%d+--workers+2" % port):
        a = s.web.request("POST", "/mcp?" + query, client.headers(), body)
        assert a.status == 200 and a.result == {}, (query, a)


def test_streams_at_the_path_with_a_slash(stack):
    """They too go to the pool of streams, and calls do not wait."""
    client = stack.user().connect()
    path, held = client.path, []
    try:
        client.path = "/mcp/"
        for _ in range(stack.front.n_responders):
            held.append(client.get())
        assert [x.status for x in held] == [200] * len(held)
        client.path = path
        started = time.monotonic()
        assert client.call("ping").status == 200
        assert time.monotonic() - started < 1
    finally:
        for x in held:
            x.hang_up()
