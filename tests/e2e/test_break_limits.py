# SPDX-License-Identifier: ISC
"""What a hostile client can ask for must not cost the others their answers."""

import json
import socket
import time

from lib.client import ACCEPT, initialize_message, message


def execute_batch(code, n):
    return json.dumps([message("tools/call", {
        "name": "execute", "arguments": {"code": code}}, id=i)
        for i in range(n)])


def test_batch_with_more_replies_than_memory(stack):
    """The rest of the batch is refused; the responder lives."""
    client = stack.user().connect("2025-03-26")
    before = set(stack.front.responders())
    a = client.post(execute_batch("return 'x'.repeat(1e6)", 100), timeout=100)
    assert a.status == 200, a
    assert [m["id"] for m in a.json] == list(range(100))
    done = [m for m in a.json if "result" in m]
    late = [m for m in a.json if "error" in m]
    assert len(done) >= 4 and late
    assert {m["error"]["code"] for m in late} == {-32000}
    assert all("Not started" in m["error"]["message"] for m in late)
    assert before <= set(stack.front.responders())


def test_batch_ends_before_the_front_gives_up(make_stack, front_kind):
    s = make_stack(front_kind, {"execute_wall_ms": 1000,
                                "execute_cpu_ms": 900,
                                "fetch_timeout_ms": 800,
                                "call_timeout_ms": 900,
                                "stream_hold_s": 5,
                                "front_timeout_s": 8})
    client = s.user().connect("2025-03-26")
    started = time.monotonic()
    a = client.post(execute_batch("for(;;);", 40), timeout=60)
    assert time.monotonic() - started < 8
    assert a.status == 200, a
    assert len(a.json) == 40
    assert "result" in a.json[0] and "error" in a.json[-1]


def test_large_message_first_in_a_batch(stack):
    """Finding the others takes no multiple of its size."""
    client = stack.user().connect("2025-03-26")
    large = message("notifications/x", {"a": "x" * 4000000}, None)
    small = [message("ping", id=i) for i in range(99)]

    def seconds(messages):
        body = json.dumps(messages)
        started = time.monotonic()
        a = client.post(body)
        assert a.status == 200 and len(a.json) == 99, a
        return time.monotonic() - started
    first = min(seconds([large] + small) for _ in range(3))
    last = min(seconds(small + [large]) for _ in range(3))
    assert first < 4 * last + 0.1


def test_slow_bodies_without_a_token(stack):
    """They hold no responder for longer than libfcgi waits for the rest of a
    body that is not wanted: two seconds of silence."""
    client = stack.user().connect()
    held = []
    try:
        for _ in range(stack.front.n_responders):
            c = socket.create_connection(("127.0.0.1", stack.front.port))
            c.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
                      b"Content-Type: application/json\r\n"
                      b"Content-Length: 100000\r\n\r\n{")
            held.append(c)
        time.sleep(0.5)
        started = time.monotonic()
        assert client.call("ping").status == 200
        assert time.monotonic() - started < 4
    finally:
        for c in held:
            c.close()


def test_body_without_a_token_is_not_read(stack):
    """The refusal arrives whole although the body is left unread."""
    for size in (10, 100000, 3000000):
        a = stack.web.request("POST", "/mcp", {
            "Content-Type": "application/json", "Accept": ACCEPT},
            b"x" * size)
        assert a.status == 401 and a.json == {"error": "unauthorized"}, a


def test_client_info_that_the_database_writes_longer(stack):
    """Compact it fits, as the database writes it it does not: -32602."""
    client = stack.user()
    a = client.post(initialize_message(clientInfo={
        "name": "x", "version": "1", "more": ["a"] * 16000}))
    assert a.status == 200 and a.error["code"] == -32602, a
    assert stack.n_sessions(client) == 0


def test_empty_headers_are_absent_ones(stack):
    """Whichever way the front server passes them on."""
    client = stack.user().connect()
    for name in ("Accept", "MCP-Protocol-Version"):
        headers = client.headers()
        headers[name] = ""
        a = stack.web.request("POST", "/mcp", headers,
                              json.dumps(message("ping")))
        assert a.status == 200, (name, a)
    headers = client.headers()
    headers["Mcp-Session-Id"] = ""
    a = stack.web.request("POST", "/mcp", headers, json.dumps(message("ping")))
    assert a.status == 400 and a.error["code"] == -32000, a
