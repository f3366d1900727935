# SPDX-License-Identifier: ISC
"""Goal of this test: many at once, many pools: nothing is lost, nobody is
mixed up, one round trip a request, nothing leaks."""

import os
import re
import threading
import time

from conftest import Stack
from lib import proc
from lib.client import Mcp, message


def parallel(jobs):
    """Run functions at once; their results in order, exceptions raised."""
    out = [None] * len(jobs)

    def one(i):
        try:
            out[i] = jobs[i]()
        except Exception as e:          # noqa: B902
            out[i] = e
    threads = [threading.Thread(target=one, args=(i,))
               for i in range(len(jobs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x in out:
        if isinstance(x, Exception):
            raise x
    return out


def test_b08_parallel_initialize_and_lists(stack):
    """20 initialize at once, then 3 lists on each at once: no losses."""
    for _ in range(3):
        clients = [stack.user() for _ in range(20)]
        parallel([c.connect for c in clients])
        assert len({c.session for c in clients}) == 20
        codes = [a.status for a in parallel(
            [c.list_tools for c in clients for _ in range(3)])]
        assert codes == [200] * 60
        assert all(stack.row(c.session) for c in clients)


def test_b08_parallel_initialize_of_one_principal(stack):
    client = stack.user()
    clients = [Mcp(stack.web, client.token) for _ in range(20)]
    parallel([c.initialize for c in clients])
    assert stack.n_sessions(client) == 20


def test_j17_answers_match_their_requests(stack):
    """Twenty at once with the same id, other arguments."""
    client = stack.user().connect()
    got = parallel([lambda i=i: client.call("no/such/%d" % i, id=1).error
                    for i in range(20)])
    assert len(got) == 20 and all(e["code"] == -32601 for e in got)
    got = parallel([lambda i=i: client.execute("return %d" % i)
                    for i in range(8)])
    assert [r["content"][0]["text"] for r in got] == [
        str(i) for i in range(8)]


def test_principals_are_never_mixed_up(stack):
    clients = [stack.user().connect() for _ in range(6)]

    def work(c, other):
        for _ in range(10):
            assert c.list_tools().status == 200
            a = c.list_tools(Mcp_Session_Id=other.session)
            assert a.status == 403, a
    parallel([lambda c=c, o=o: work(c, o) for c, o in zip(
        clients, clients[1:] + clients[:1])])


def test_delete_and_use_at_once(stack):
    for _ in range(5):
        client = stack.user().connect()
        codes = parallel([lambda: client.delete().status] * 2 +
                         [lambda: client.list_tools().status] * 4)
        assert sorted(codes[:2]) in ([204, 404], [204, 204]), codes
        assert set(codes[2:]) <= {200, 404}
        assert stack.row(client.session) is None
        assert client.list_tools().status == 404


def test_b11_two_pools_one_database(root, cluster, idp, stack):
    """Every request on the other of two servers, on two ports."""
    other = Stack(root, cluster, idp, stack.kind, dict(stack.conf),
                  database=stack.database).start()
    try:
        client = stack.user()
        webs = [stack.web, other.web]
        client.connect()
        for i in range(20):
            client.web = webs[i % 2]
            assert client.list_tools().status == 200
        client.web = webs[0]
        s = client.get()
        assert s.status == 200
        client.web = webs[1]
        assert client.list_tools().status == 200
        s.hang_up()
        assert client.delete().status == 204
        client.web = webs[0]
        assert client.list_tools().status == 404
    finally:
        other.stop()


def calls_of(stack):
    return {r["query"]: r["calls"] for r in stack.sql.all(
        "SELECT query, sum(calls)::int AS calls FROM pg_stat_statements s "
        "JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = "
        "'e2e_responder' AND s.dbid = (SELECT oid FROM pg_database WHERE "
        "datname = current_database()) GROUP BY query")}


def test_one_round_trip_a_request(stack):
    client = stack.user().connect()
    for _ in range(40):
        client.list_tools()             # every process is warm
    stack.sql.one("SELECT pg_stat_statements_reset()")
    n = 50
    for _ in range(n):
        assert client.list_tools().status == 200
    for _ in range(n):
        assert client.call("ping").status == 200
    calls = calls_of(stack)
    assert sum(calls.values()) == 2 * n, calls


def test_an_idle_second_writes_once(stack):
    """The touch is made at most once a second."""
    client = stack.user().connect()
    stack.age(client.session, 10)
    before = stack.sql.one("SELECT xmin::text FROM mcp.session WHERE "
                           "session_id = %s", client.session)
    client.list_tools()
    first = stack.sql.one("SELECT xmin::text FROM mcp.session WHERE "
                          "session_id = %s", client.session)
    for _ in range(5):
        client.list_tools()
    last = stack.sql.one("SELECT xmin::text FROM mcp.session WHERE "
                         "session_id = %s", client.session)
    assert before != first == last


def test_b07_abandoned_sessions_leave_no_trace_in_processes(stack):
    """2,000 initialize without DELETE: memory and descriptors stay flat, and
    one sweep removes the rows."""
    clients = [stack.user() for _ in range(8)]
    for _ in range(3):
        parallel([lambda c=c: [c.initialize() for _ in range(12)]
                  for c in clients])

    def measure():
        pids = stack.front.responders()
        return ({p: proc.rss_kb(p) for p in pids},
                {p: proc.fd_count(p) for p in pids})
    rss, fds = measure()
    parallel([lambda c=c: [c.initialize() for _ in range(250)]
              for c in clients])
    rss2, fds2 = measure()
    # AddressSanitizer keeps what was freed, for its reports.
    is_sanitized = "ASAN_OPTIONS" in os.environ
    for pid in set(rss) & set(rss2):
        assert is_sanitized or rss2[pid] - rss[pid] < 3000, (
            pid, rss[pid], rss2[pid])
        assert fds2[pid] - fds[pid] <= 3
    assert is_sanitized or max(rss2.values()) < 40000
    stack.sql.run("UPDATE mcp.session SET last_activity_at = now() - interval"
                  " '1 h', alarm_at = now() - interval '1 s'")
    assert stack.reaper().returncode == 0
    assert stack.sql.one("SELECT count(*) FROM mcp.session") == 0


def test_nothing_is_left_after_a_run(stack):
    """No zombies, no sandboxes; descriptors are few."""
    time.sleep(0.5)

    def zombies():
        return [p for p in stack.front.all_pids()
                if (proc.stat(p) or ("", "", 0))[1] == "Z"]
    proc.wait_for(lambda: not zombies(), 4, about="zombies to be reaped")
    for pid in stack.front.responders():
        assert proc.fd_count(pid) < 40
    names = [(proc.stat(p) or ("",))[0] for p in stack.front.all_pids()]
    assert not [n for n in names if n.startswith("mcp-sandbox")]


def test_x_s08_log_holds_no_secrets(stack):
    client = stack.user().connect()
    client.list_tools()
    client.execute("return 'in-the-program'")
    other = stack.user()
    other.session = client.session
    other.list_tools()
    a = client.post("{", X_Probe="probe\x1b[31m")
    assert a.status == 400
    bad = Mcp(stack.web, "bad-token-value")
    bad.list_tools()
    client.delete()
    time.sleep(0.3)
    log = stack.front.logs()
    for secret in (client.token, client.token.split(".")[2], client.session,
                   other.token, "bad-token-value", "in-the-program"):
        assert secret not in log, secret
    assert not re.search(r"Bearer\s+\S{8}", log)
    assert "\x1b" not in log
    # but the beginning of an id is there for support
    assert client.session[:8] in log or "sid=" not in log


def test_b53_requests_that_look_like_attacks_are_data(stack):
    client = stack.user().connect()
    for text in ("SELECT * FROM users; DROP TABLE x; --", "$(rm -rf /)",
                 "<script>alert(1)</script>", "../../etc/passwd", "%00%0a",
                 "{{7*7}}", "${jndi:ldap://x}"):
        r = client.execute("return %r" % text)
        assert r["content"][0]["text"] == text
    assert client.call("ping", User_Agent="").status == 200
    assert client.call("ping", User_Agent="Claude-User").status == 200
    assert client.post(message("ping"), Cookie="a=b").status == 200
