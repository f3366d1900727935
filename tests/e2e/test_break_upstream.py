# SPDX-License-Identifier: ISC
"""Goal of this test: whatever an upstream server answers costs the call, in
time and within memory, and neither the responder nor the next call."""

import gzip
import json
import socket
import threading
import time
import zlib

import pytest

from lib import tools

MIB = 1 << 20
OK = b"HTTP/1.1 200 OK\r\n"
JSON = b"Content-Type: application/json\r\n"
SSE = b"Content-Type: text/event-stream\r\n"


def sized(body, head=OK + JSON):
    return [head + b"Content-Length: %d\r\n\r\n" % len(body), body]


def zipped(body):
    return sized(gzip.compress(body), OK + JSON +
                 b"Content-Encoding: gzip\r\n")


def nested(n):
    return b"[" * n + b"]" * n


def endless(piece, pause=0.0):
    while True:
        yield piece
        if pause:
            time.sleep(pause)


def with_head(head, pieces):
    yield head
    yield from pieces


def answer(name):
    """What to send for the tool NAME: pieces."""
    table = {
        "bomb": lambda: zipped(b'"' + b"a" * (400 * MIB) + b'"'),
        "bomb_in_bomb": lambda: sized(
            zlib.compress(gzip.compress(b"0" * (50 * MIB))),
            OK + JSON + b"Content-Encoding: gzip, deflate\r\n"),
        "not_gzip": lambda: sized(b"{}", OK + JSON +
                                  b"Content-Encoding: gzip\r\n"),
        "deep": lambda: sized(nested(1000000)),
        "values": lambda: sized(b"[" + b"0," * 2000000 + b"0]"),
        "strings": lambda: sized(b'["' + b"\\u0001" * 600000 + b'"]'),
        "controls": lambda: sized(b"\x01" * (4 * MIB - 10),
                                  OK + b"Content-Type: text/plain\r\n"),
        "bytes": lambda: sized(bytes(range(256)) * 16000,
                               OK + b"Content-Type: image/png\r\n"),
        "headers": lambda: with_head(OK, endless(b"X-A: " + b"a" * 1000 +
                                                 b"\r\n")),
        "one_header": lambda: with_head(OK + b"X-A: ", endless(b"a" * 4096)),
        "hints": lambda: endless(b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"),
        "too_short": lambda: [OK + JSON + b"Content-Length: 100\r\n\r\n{}"],
        "two_lengths": lambda: [OK + JSON + b"Content-Length: 2\r\n"
                                b"Content-Length: 9\r\n\r\n{}xxxxxxx"],
        "negative": lambda: [OK + JSON + b"Content-Length: -5\r\n\r\n{}"],
        "huge": lambda: [OK + JSON + b"Content-Length: "
                         b"99999999999999999999\r\n\r\n{}"],
        "chunk": lambda: [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n"
                          b"fffffffffffffffff\r\n{}"],
        "chunks": lambda: with_head(
            OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n",
            endless(b"400\r\n" + b"7" * 1024 + b"\r\n")),
        "drip": lambda: with_head(OK + JSON + b"Content-Length: 9999\r\n\r\n",
                                  endless(b"1", 0.05)),
        "old": lambda: [b"{\"old\": true}\n"],
        "garbage": lambda: [b"\x00\xff\xfe" * 1000],
        "silence": lambda: endless(b"", 0.1),
        "status": lambda: [b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"],
        "switch": lambda: [b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"],
        "events": lambda: with_head(OK + SSE + b"\r\n",
                                    endless(b"data:1\n\n" * 512)),
        "objects": lambda: with_head(OK + SSE + b"\r\n", endless(
            b"data:[{},{},{},{},{},{},{},{}]\n\n" * 128)),
        "pings": lambda: with_head(OK + SSE + b"\r\n", endless(
            b'data:{"id":1,"method":"ping"}\n\n' * 128)),
        "long_event": lambda: with_head(OK + SSE + b"\r\ndata: ",
                                        endless(b"a" * 65536)),
        "many_lines": lambda: with_head(OK + SSE + b"\r\n",
                                        endless(b"data: a\n" * 1024)),
        "batch": lambda: sized(b"[" + b'{"id":1},' * 300000 + b'{"id":1}]'),
    }
    for where in ("file:///etc/passwd", "gopher://127.0.0.1:1/",
                  "http://169.254.169.254/", "http://[::ffff:a9fe:a9fe]/",
                  "http://2852039166/", "http://0xa9fea9fe/",
                  "http://[64:ff9b::a9fe:a9fe]/", "http://0/", "//",
                  "http://a@169.254.169.254/", "http://[fe80::1%25lo]/",
                  "http://[::1]:22/", "http://10.1/", "http:///x",
                  "http://169.254.169.254\\@127.0.0.1/"):
        table["to " + where] = lambda where=where: [
            b"HTTP/1.1 302 Found\r\nLocation: " + where.encode() +
            b"\r\nContent-Length: 0\r\n\r\n"]
    return table if name is None else table[name]()


class Odd:
    """Reads a request, sends what its path asks for, and hangs up."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        self.names = list(answer(None))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        s.settimeout(10)
        end = time.monotonic() + 10
        with s:
            try:
                head = b""
                while b"\r\n\r\n" not in head:
                    got = s.recv(65536)
                    if not got:
                        return
                    head += got
                name = self.names[int(head.split()[1].rsplit(b"/", 1)[1])]
                for piece in answer(name):
                    if time.monotonic() > end:
                        return
                    s.sendall(piece)
            except OSError:
                pass

    def close(self):
        self.socket.close()


@pytest.fixture(scope="module")
def odd():
    o = Odd()
    yield o
    o.close()


@pytest.fixture(scope="module")
def user(make_stack, front_kind, root, odd):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 1500,
        "keyring_dir": tools.keyring(root, "keys-upstream-" + front_kind)})
    u = s.user().connect()
    c = tools.Catalogue(s.sql, u.organization)
    c.source("http", "http", {"base_url": odd.url, "allow": ["127.0.0.1"]})
    for i, _ in enumerate(odd.names):
        c.tool("http", "t%d" % i, {"method": "GET", "path": "/%d" % i})
        c.source("mcp%d" % i, "mcp", {"url": odd.url + "/%d" % i,
                                      "allow": ["127.0.0.1"],
                                      "era": "modern"})
        c.tool("mcp%d" % i, "t", {"name": "t"},
               annotations={"readOnlyHint": True})
    u.stack = s
    return u


@pytest.mark.parametrize("kind", ["http", "mcp"])
@pytest.mark.parametrize("name", list(answer(None)))
def test_an_odd_answer(user, odd, name, kind):
    before = set(user.stack.front.responders())
    n = odd.names.index(name)
    path = "http.t%d" % n if kind == "http" else "mcp%d.t" % n
    start = time.monotonic()
    r = user.execute("const r = await tools.%s({}); return {ok: r.ok, "
                     "code: r.error?.code, text: JSON.stringify(r)"
                     ".slice(0, 300)}" % path)
    assert time.monotonic() - start < 4
    s = r["structuredContent"]
    assert s["status"] == "completed", r
    got = s["result"]
    if kind == "mcp" or name.startswith("to ") or name in (
            "bomb", "not_gzip", "headers", "one_header", "hints",
            "negative", "chunk", "drip", "old", "garbage",
            "silence", "too_short"):
        assert got["ok"] is False, got
        assert got["code"], got
    assert "root:" not in json.dumps(got)
    assert before <= set(user.stack.front.responders()), got
    r = user.execute("return 1")
    assert r["structuredContent"]["result"] == 1
