# SPDX-License-Identifier: ISC
"""Goal of this test: the GET stream through a real front: bytes at once,
keep-alives, a hint and a planned end, a hang-up that is noticed, and calls
that never wait behind streams."""

import threading
import time

import pytest

from lib import proc


@pytest.fixture(scope="module")
def quick(make_stack, front_kind):
    """Short holds, so that planned ends come within a test.  The hold of
    mod_fcgid's stream pool is in its shipped file (5 s)."""
    return make_stack(front_kind, {
        "stream_hold_s": 5, "stream_keepalive_s": 1, "stream_retry_ms": 700})


def test_b44_first_bytes_at_once(stack):
    client = stack.user().connect()
    s = client.get()            # a pool may have to start a process
    s.read_until(":", 5)
    s.hang_up()
    t = time.monotonic()
    s = client.get()
    assert s.status == 200
    assert s.read_until("\n\n", 2), s.text
    assert time.monotonic() - t < 1.5
    assert s.text.startswith(":") or "retry:" in s.text
    s.hang_up()


def test_b45_headers_of_a_stream(stack):
    client = stack.user().connect()
    s = client.get()
    assert s.header("content-type").split(";")[0] == "text/event-stream"
    assert s.header("content-length") is None
    assert s.header("content-encoding") is None
    assert s.header("x-accel-buffering") == "no"
    assert "no-store" in s.header("cache-control") or \
        "no-cache" in s.header("cache-control")
    s.hang_up()


def test_b44_compression_offered_by_the_client_changes_nothing(stack):
    client = stack.user().connect()
    s = client.get(Accept_Encoding="gzip, deflate, br")
    assert s.read_until("\n\n", 5)
    assert s.header("content-encoding") is None
    s.hang_up()


def test_b45_keep_alive_retry_and_planned_end(quick):
    client = quick.user().connect()
    s = client.get()
    t = time.monotonic()
    assert s.read_until("retry: 700", 3), s.text
    first = len(s.text)
    s.read_some(2.5)
    assert len(s.text) > first      # a keep-alive came on its own
    took = s.read_to_end(10)
    assert took is not None and 3 <= time.monotonic() - t <= 8
    # nothing but comments and the hint: no message, no answer (T-41, T-29)
    for line in s.text.split("\n"):
        assert line == "" or line.startswith((":", "retry:", "id:")) or \
            line == "data:" or line == "data: ", repr(s.text)
    assert s.text.endswith("\n\n")
    # and the client may come back
    s = client.get()
    assert s.status == 200
    s.hang_up()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26",
                                     "2025-06-18"])
def test_t47_no_empty_data_for_old_clients(stack, version):
    """They would try to parse it (X-09)."""
    client = stack.user().connect(version)
    s = client.get()
    s.read_until("retry:", 3)
    assert "data:" not in s.text
    s.hang_up()


def responders_with_stream(stack):
    """Responders that hold an open FastCGI connection, by their sockets."""
    with open("/proc/net/unix") as f:
        connected = {line.split()[6] for line in f
                     if line.split()[5] == "03"}
    import os
    busy = []
    for pid in stack.front.responders():
        try:
            for fd in os.listdir("/proc/%d/fd" % pid):
                link = os.readlink("/proc/%d/fd/%s" % (pid, fd))
                if link.startswith("socket:[") and link[8:-1] in connected:
                    busy.append((pid, link))
        except OSError:
            pass
    return set(busy)


def stack_is_cgi(stack):
    return stack.kind.endswith("-cgi")


def test_t52_hang_up_releases_the_responder(quick):
    """F-06: noticed within seconds though nothing is sent."""
    client = quick.user().connect()
    client.list_tools()
    time.sleep(0.3)
    before = len(responders_with_stream(quick))
    s = client.get()
    s.read_until(":", 5)
    during = len(responders_with_stream(quick))
    s.hang_up()
    if stack_is_cgi(quick):
        pytest.skip("a CGI program has no connection of its own")
    assert during > before, "the stream is at no responder"
    t = time.monotonic()
    proc.wait_for(lambda: len(responders_with_stream(quick)) < during, 4,
                  about="release of the responder")
    assert time.monotonic() - t < 4


def test_b46_streams_never_starve_calls(stack):
    """N+1 streams on N stream responders, and a POST answers in < 1 s."""
    client = stack.user().connect()
    # every calling responder is up
    client.list_tools()
    n = stack.front.n_streams + 1
    streams, errors = [], []

    def hold():
        try:
            s = client.get(timeout=60)
            streams.append(s)
            s.read_until(":", 45)
        except Exception as e:          # noqa: B902
            errors.append(e)
    threads = [threading.Thread(target=hold) for _ in range(n)]
    for t in threads:
        t.start()
    time.sleep(2)
    slowest = 0
    for _ in range(10):
        t = time.monotonic()
        assert client.list_tools(timeout=10).status == 200
        slowest = max(slowest, time.monotonic() - t)
    for t in threads:
        t.join(60)
    for s in streams:
        s.hang_up()
    assert slowest < 1, slowest
    assert not errors, errors
    # full or not: nobody is turned away
    assert [s.status for s in streams] == [200] * n
    assert all(":" in s.text for s in streams)


def test_stream_ends_early_when_somebody_waits(stack):
    if stack.kind == "apache-fcgid":
        pytest.skip("mod_fcgid gives a request to idle processes only")
    client = stack.user().connect()
    streams = []
    for _ in range(stack.front.n_streams):
        s = client.get(timeout=60)
        assert s.read_until(":", 10)
        streams.append(s)
    t = time.monotonic()
    late = client.get(timeout=30)
    assert late.read_until(":", 15)
    waited = time.monotonic() - t
    for s in streams + [late]:
        s.hang_up()
    # far less than stream_hold_s (20 s)
    assert waited < 8, waited


def test_t44_posts_in_parallel_with_a_stream(stack):
    client = stack.user().connect()
    s = client.get()
    s.read_until(":", 5)
    got = []
    threads = [threading.Thread(
        target=lambda i=i: got.append((i, client.execute(
            "return %d" % i)["content"][0]["text"]))) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(got) == [(i, str(i)) for i in range(3)]
    s.read_some(0.2)
    assert "result" not in s.text       # T-41
    s.hang_up()


def test_b26_last_event_id(stack):
    """Unknown, expired, foreign: a fresh stream or a clear refusal, never
    somebody's data and never a loop of errors."""
    client = stack.user().connect()
    for value in ("unknown", "0:0", "../../x", "1" * 1000, "\u00e9"):
        s = client.get(Last_Event_ID=value.encode())
        assert s.status in (200, 400, 404), (value, s.status)
        if s.status == 200:
            assert s.read_until("\n\n", 5)
            assert '"jsonrpc"' not in s.text
        s.hang_up()
    assert client.list_tools().status == 200


def test_polling_keeps_a_session_alive(quick):
    client = quick.user().connect()
    quick.age(client.session, 250)
    s = client.get()
    s.read_until(":", 5)
    s.hang_up()
    quick.age(client.session, 250)
    assert client.list_tools().status == 200


def test_session_deleted_under_a_stream(quick):
    client = quick.user().connect()
    s = client.get()
    s.read_until(":", 5)
    assert client.delete().status == 204
    assert s.read_to_end(10) is not None
    s.hang_up()
    s = client.get()
    assert s.status == 404
    s.hang_up()


def test_stream_survives_nothing_but_the_session_does(quick):
    client = quick.user().connect()
    s = client.get()
    s.read_until(":", 5)
    quick.front.kill_responders()
    s.read_to_end(10)
    assert s.ended
    s.hang_up()
    assert client.list_tools().status == 200
