# SPDX-License-Identifier: ISC
"""Goal of this test: every limit has its clear answer, in JSON, before work
is done: body, headers, sessions of an account, Host, Origin."""

import json

import pytest

from conftest import ALLOWED_ORIGIN
from lib.client import message


@pytest.fixture(scope="module")
def small(make_stack, front_kind):
    return make_stack(front_kind, {
        "max_body_bytes": 65536, "max_header_bytes": 8192, "json_depth": 10,
        "max_batch": 3, "sessions_per_account": 3,
        "allowed_origins": ALLOWED_ORIGIN})


def padded(n):
    """A valid ping of exactly N bytes."""
    body = json.dumps(message("ping", {"pad": ""}))
    return body.replace('""', '"%s"' % ("x" * (n - len(body))))


# Body

def test_413_at_the_byte(small):
    client = small.user().connect()
    assert client.post(padded(65536)).status == 200
    for n in (65537, 70000, 1 << 20, 4 << 20):
        a = client.post(padded(n))
        assert a.status == 413, (n, a)
        assert a.ctype == "application/json"
        assert a.error == {"code": -32000, "message": "Request body too large"}
    assert client.call("ping").result == {}


def test_413_default_is_4_mib(stack):
    client = stack.user().connect()
    assert client.post(padded(4194304)).status == 200
    a = client.post(padded(4194305))
    assert a.status == 413
    assert a.error["code"] == -32000


def test_413_before_the_token(small):
    a = small.web.request("POST", "/mcp", {
        "Content-Type": "application/json"}, b"x" * 70000)
    assert a.status == 413


def test_body_of_a_mebibyte_passes(stack):
    """mod_fcgid's own default would be 128 KiB."""
    client = stack.user().connect()
    assert client.post(padded(1 << 20)).result == {}


def test_chunked_body(small):
    client = small.user().connect()
    body = json.dumps(message("ping")).encode()
    chunked = b"".join(b"%x\r\n%s\r\n" % (1, body[i:i + 1])
                       for i in range(len(body))) + b"0\r\n\r\n"
    a = client.post(chunked, Transfer_Encoding="chunked")
    assert a.status in (200, 411), a
    if a.status == 200:
        assert a.result == {}


def test_chunked_body_over_the_limit(small):
    client = small.user().connect()
    data = padded(200000).encode()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
    a = client.post(chunked, Transfer_Encoding="chunked")
    assert a.status in (411, 413), a


def test_body_shorter_than_announced(small):
    client = small.user().connect()
    head = "".join("%s: %s\r\n" % kv for kv in client.headers().items())
    got = small.web.raw((
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s"
        "Content-Length: 500\r\n\r\n{}" % head).encode())
    assert b" 200 " not in got.split(b"\r\n")[0]
    assert client.call("ping").result == {}


def test_other_methods_ignore_a_body(small):
    client = small.user().connect()
    a = small.web.request("DELETE", "/mcp", client.headers(), b'{"x":1}')
    assert a.status == 204


# Headers

def test_431_headers(small):
    client = small.user().connect()
    assert client.call("ping", X_Pad="x" * 4000).result == {}
    a = client.call("ping", X_Pad="x" * 12000)
    assert a.status == 431, a
    assert a.ctype == "application/json"
    assert a.error["code"] == -32000


def test_431_many_small_headers(small):
    client = small.user().connect()
    a = client.call("ping", **{"X_P%d" % i: "x" * 500 for i in range(20)})
    assert a.status == 431


def test_headers_past_the_web_server(stack):
    """Whoever refuses, nobody crashes."""
    client = stack.user().connect()
    a = client.call("ping", X_Pad="x" * 70000)
    assert a.status in (400, 431), a
    assert client.call("ping").result == {}


def test_token_of_15_kb_is_a_token(stack):
    """Group claims make real tokens large; the servers' own default of 8 kB
    for a header would be too little."""
    client = stack.user()
    client.token = stack.idp.token(client.account, client.organization,
                                   groups=["g" * 50] * 200)
    assert 14000 < len(client.token) < 16384
    client.connect()
    assert client.call("ping").result == {}


# JSON

def test_depth_is_configurable(small):
    client = small.user().connect()
    deep = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s}}'
    assert client.post(deep % ("[" * 5 + "]" * 5)).status == 200
    assert client.post(deep % ("[" * 12 + "]" * 12)).status == 400


def test_batch_length_is_configurable(small):
    client = small.user().connect("2025-03-26")
    assert client.post([message("ping")] * 3).status == 200
    a = client.post([message("ping")] * 4)
    assert a.status in (400, 413) and "error" in a.json


# Sessions

def test_oldest_idle_session_gives_way(small):
    client = small.user()
    sessions = []
    for i in range(3):
        client.initialize()
        sessions.append(client.session)
        small.age(client.session, 50 - 10 * i)
    client.session = sessions[0]
    assert client.list_tools().status == 200    # now the youngest
    client.initialize()
    assert small.n_sessions(client) == 3
    assert small.row(sessions[0]) is not None
    assert small.row(sessions[1]) is None
    assert small.row(sessions[2]) is not None
    client.session = sessions[1]
    assert client.list_tools().status == 404
    assert small.sql.one("SELECT reason FROM mcp.session_tombstone WHERE "
                         "session_id = %s", sessions[1]) == "displaced"


def test_cap_is_of_one_principal(small):
    one, two = small.user(), small.user()
    two.connect()
    for _ in range(5):
        one.initialize()
    assert two.list_tools().status == 200


# Host and Origin

@pytest.mark.parametrize("host", [
    "mcp.test.example", "MCP.test.EXAMPLE", "mcp.test.example:443",
    "localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:1234", "[::1]",
    "[::1]:99"])
def test_b51_our_hosts(stack, a_user, host):
    assert a_user.call("ping", Host=host).status == 200


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:443", "mcp.test.example.evil.example",
    "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"])
def test_b51_foreign_hosts(stack, a_user, host):
    a = a_user.call("ping", Host=host)
    assert a.status == 421, a
    assert a.error["code"] == -32000


def test_b51_foreign_host_on_every_method(stack, a_user):
    for method in ("POST", "GET", "DELETE"):
        a = stack.web.request(method, "/mcp", a_user.headers(
            Host="evil.example", Accept="*/*"), b"{}"
            if method == "POST" else None)
        assert a.status == 421
    assert stack.row(a_user.session) is not None


@pytest.mark.parametrize("origin", [
    "https://browser.example", "http://localhost:6274", "null", None])
def test_t02_default_is_any_origin(a_user, origin):
    assert a_user.call("ping", Origin=origin).status == 200


@pytest.mark.parametrize("origin, status", [
    (ALLOWED_ORIGIN, 200), (None, 200), ("https://evil.example", 403),
    ("null", 403), ("http://app.test.example", 403),
    (ALLOWED_ORIGIN + ".evil.example", 403), (ALLOWED_ORIGIN + ":444", 403),
    ("https://evil.example, " + ALLOWED_ORIGIN, 403)])
def test_t02_origin_allow_list(small, origin, status):
    client = small.user().connect()
    for method in ("POST", "GET", "DELETE"):
        s = small.web.stream(
            method, "/mcp", client.headers(
                Origin=origin, Accept="*/*" if method == "GET" else None),
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
            if method == "POST" else None)
        s.hang_up()
        want = status if status == 403 or method != "DELETE" else 204
        assert s.status == want, (method, s.status)
    assert (small.row(client.session) is not None) == (status == 403)


def test_t02_foreign_origin_makes_no_session(small):
    client = small.user()
    a = client.call("initialize", Origin="https://evil.example")
    assert a.status == 403
    assert a.error["code"] == -32000
    assert a.header("www-authenticate") is None     # O-32
    assert small.n_sessions(client) == 0


def test_x29_metadata_is_for_every_origin(small):
    for path in ("/.well-known/oauth-protected-resource/mcp",
                 "/.well-known/oauth-authorization-server"):
        a = small.web.request("GET", path, {"Origin": "https://any.example"})
        assert a.status == 200
        assert a.header("access-control-allow-origin") == "*"


def test_two_authorization_headers(stack):
    """Joined by the front or refused: never the first one wins (O-26)."""
    client = stack.user()
    headers = list(client.headers().items()) + [
        ("Authorization", "Bearer other")]
    a = stack.web.request("POST", "/mcp", headers, b"{}")
    assert a.status in (400, 401), a


def test_two_session_headers(stack):
    one, two = stack.user().connect(), stack.user().connect()
    headers = list(one.headers().items()) + [("Mcp-Session-Id", two.session)]
    a = stack.web.request("POST", "/mcp", headers,
                          json.dumps(message("tools/list")))
    assert a.status in (400, 404), a


def test_proxy_header_is_nothing_to_us(a_user, members, stack):
    """httpoxy: the header must not become HTTP_PROXY of an outbound call."""
    assert a_user.call("ping", Proxy="http://127.0.0.1:9/").status == 200
    stack.sql.run("UPDATE mcp.jwks SET fetched_at = now() - interval '2 h'")
    assert a_user.call("ping", Proxy="http://127.0.0.1:9/").status == 200
