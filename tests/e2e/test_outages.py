# SPDX-License-Identifier: ISC
"""Goal of this test: the database goes and comes back, processes die in the
middle of requests, PostgreSQL crashes: nothing is restarted by hand, clients
are told 503 meanwhile, sessions go on."""

import os
import signal
import tempfile
import threading
import time

import pytest

from conftest import Stack
from lib import proc
from lib.client import initialize_message
from lib.cluster import Cluster


@pytest.fixture(scope="module")
def alone(root, idp, front_kind):
    """A stack with a PostgreSQL of its own, durable."""
    c = Cluster(tempfile.mkdtemp(prefix="pg-", dir=root), is_durable=True)
    c.start()
    s = Stack(root, c, idp, front_kind).start()
    yield s
    s.stop()
    c.stop()


def assert_down(a):
    assert a.status == 503, a
    assert a.ctype == "application/json"
    assert a.error["code"] == -32001
    assert "temporarily unavailable" in a.error["message"]
    assert a.header("retry-after") == "2"
    assert a.header("access-control-allow-origin") == "*"


def recovered(client, seconds=12):
    """All responders are back: each waits out its own backoff."""
    proc.wait_for(lambda: all(client.list_tools().status == 200
                              for _ in range(12)),
                  seconds, 0.2, about="recovery")


def test_b01_database_down_and_back(alone):
    client = alone.user().connect()
    pids = set(alone.front.responders())
    alone.cluster.stop()
    for _ in range(6):
        t = time.monotonic()
        assert_down(client.list_tools())
        assert time.monotonic() - t < 5
    fresh_token = alone.idp.token(client.account, client.organization)
    client.token, old = fresh_token, client.token
    assert client.post(initialize_message()).status == 503
    assert client.delete().status == 503
    s = client.get()
    assert s.status == 503
    s.hang_up()
    # what needs no database goes on
    assert alone.web.request("OPTIONS", "/mcp").status == 204
    assert alone.web.request("POST", "/mcp", {}, b"{}").status == 401
    assert alone.web.request(
        "GET", "/.well-known/oauth-protected-resource/mcp").status == 200
    alone.cluster.start()
    alone.reconnect_sql()
    client.token = old
    recovered(client)
    # nobody was restarted
    assert pids & set(alone.front.responders())
    for _ in range(8):
        proc.wait_for(lambda: client.list_tools().status == 200, 5)


def test_postgresql_restart_is_not_noticed_by_the_session(alone):
    client = alone.user().connect()
    for _ in range(8):
        client.list_tools()
    alone.cluster.restart()
    alone.reconnect_sql()
    # connections are stale now: a request may be retried, never lost for good
    recovered(client)
    codes = [client.list_tools().status for _ in range(10)]
    assert set(codes) <= {200, 503}
    recovered(client)


def test_postgresql_crash_keeps_committed_sessions(alone):
    clients = [alone.user() for _ in range(5)]
    for c in clients:
        c.initialize()
    alone.cluster.kill()
    assert clients[0].list_tools().status == 503
    alone.cluster.start()
    alone.reconnect_sql()
    for c in clients:
        recovered(c)


def test_connections_terminated_by_a_dba(alone):
    client = alone.user().connect()
    for _ in range(4):
        client.list_tools()
    alone.sql.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                  "WHERE usename = 'e2e_responder'")
    codes = [client.list_tools().status for _ in range(8)]
    assert set(codes) <= {200, 503}
    recovered(client)


def test_too_many_clients(alone):
    """B-54: no slot left is 503, not a crash loop."""
    client = alone.user().connect()
    alone.sql.run("ALTER ROLE e2e_responder CONNECTION LIMIT 0")
    alone.sql.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                  "WHERE usename = 'e2e_responder'")
    try:
        assert_down(client.list_tools())
    finally:
        alone.sql.run("ALTER ROLE e2e_responder CONNECTION LIMIT -1")
    recovered(client)


def test_lock_on_the_row_ends_in_503_in_time(alone):
    client = alone.user().connect()
    alone.age(client.session, 10)
    conn = alone.sql.conn
    conn.autocommit = False
    try:
        alone.sql.one("SELECT 1 FROM mcp.session WHERE session_id = %s "
                      "FOR UPDATE", client.session)
        t = time.monotonic()
        a = client.list_tools()
        assert time.monotonic() - t < 8
        assert a.status in (200, 503), a
    finally:
        conn.rollback()
        conn.autocommit = True
    assert client.list_tools().status == 200


def test_kill_in_the_middle_of_requests(alone):
    """kill -9 under load: answers may be lost, sessions and rows are not."""
    clients = [alone.user().connect() for _ in range(4)]
    stop = threading.Event()
    seen = []

    def work(c):
        while not stop.is_set():
            try:
                seen.append(c.list_tools(timeout=15).status)
            except Exception as e:      # noqa: B902
                seen.append(type(e).__name__)
    threads = [threading.Thread(target=work, args=(c,)) for c in clients]
    for t in threads:
        t.start()
    for _ in range(3):
        time.sleep(0.5)
        alone.front.kill_responders()
    time.sleep(1)
    stop.set()
    for t in threads:
        t.join()
    # The web server's own answers to a lost responder are 500, 502, 503.
    assert {x for x in seen if isinstance(x, int)} <= {200, 500, 502, 503}
    assert 200 in seen
    assert 404 not in seen and 403 not in seen and 401 not in seen
    for c in clients:
        recovered(c)


def test_killed_during_initialize_leaves_whole_rows(alone):
    client = alone.user()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            try:
                client.web.request("POST", "/mcp", client.headers(
                    Mcp_Session_Id=None, MCP_Protocol_Version=None),
                    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
                    b'{"protocolVersion":"2025-11-25","capabilities":{},'
                    b'"clientInfo":{"name":"k","version":"1"}}}', timeout=15)
            except Exception:           # noqa: B902
                pass
    t = threading.Thread(target=work)
    t.start()
    time.sleep(0.3)
    alone.front.kill_responders()
    time.sleep(0.3)
    stop.set()
    t.join()
    assert alone.sql.one("SELECT count(*) FROM mcp.session WHERE account_id ="
                         " %s AND client_info->>'name' IS DISTINCT FROM 'k'",
                         client.account) == 0
    assert alone.sql.one("SELECT count(*) FROM pg_stat_activity WHERE state ="
                         " 'idle in transaction' AND usename = "
                         "'e2e_responder'") == 0


def test_stopped_responder_does_not_hold_the_database(alone):
    """A process that hangs between requests has no transaction open."""
    client = alone.user().connect()
    client.list_tools()
    victims = alone.front.responders()
    for pid in victims:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert alone.sql.one(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = "
            "'e2e_responder' AND state <> 'idle'") == 0
    finally:
        for pid in victims:
            os.kill(pid, signal.SIGCONT)
    recovered(client)
