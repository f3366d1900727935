# SPDX-License-Identifier: ISC
"""Goal of this test: BEHAVIOUR 4-7 and the session rows of 9: a session is a
row, it outlives every process, and it belongs to one principal."""

import json
import re
import time

import pytest

from lib import proc
from lib.client import initialize_message, message
from lib.idp import IdP

UNKNOWN = "0123456789abcdef" * 4


def assert_error(a, status, code, pattern, id=None):
    assert a.status == status, a
    assert a.ctype == "application/json"
    body = a.json
    assert body["jsonrpc"] == "2.0"
    assert body["error"]["code"] == code
    assert re.search(pattern, body["error"]["message"], re.I), body
    assert body.get("id") == id
    assert a.header("access-control-allow-origin") == "*"


# 4

def test_4_token_without_an_organization(stack):
    client = stack.user()
    client.token = stack.idp.token(client.account, None)
    assert_error(client.post(initialize_message()), 403, -32001,
                 "No organization")
    assert client.post(initialize_message()).json["error"]["message"] == \
        "No organization in session \u2014 log in via the web app first"


def test_4_not_a_member_on_initialize(stack):
    client = stack.user(member=False)
    assert_error(client.post(initialize_message()), 403, -32001,
                 "No organization")
    assert stack.n_sessions(client) == 0


def test_4_keys_unreachable(make_stack, front_kind, idp):
    """An issuer whose keys were never seen and cannot be had."""
    dead = IdP(idp.audience)
    dead.mode = "error"
    stack = make_stack(front_kind, idp=dead)
    client = stack.user()
    a = client.post(initialize_message())
    assert_error(a, 503, -32001, "temporarily unavailable")
    assert a.header("retry-after") == "2"
    dead.close()


# 5

@pytest.mark.parametrize("session", [
    UNKNOWN, "abc", UNKNOWN.upper(), UNKNOWN + "0", "x" * 64, "' OR 1=1 --",
    "%s%%00" % UNKNOWN[:61]])
def test_5_unknown_or_malformed_session(stack, session):
    client = stack.user()
    client.session = session
    a = client.list_tools()
    assert_error(a, 404, -32001, "timed out")
    assert a.json["error"]["message"] == \
        "Session timed out due to inactivity \u2014 please reconnect"


def test_5_unknown_session_on_every_method(stack):
    client = stack.user()
    client.session = UNKNOWN
    assert client.notify("notifications/initialized").status == 404
    assert client.delete().status == 404
    s = client.get()
    assert s.status == 404
    s.hang_up()


# 6

def test_6_initialize_then_notification(stack):
    client = stack.user()
    a = client.initialize()
    assert re.fullmatch("[0-9a-f]{64}", client.session)
    a = client.notify("notifications/initialized")
    assert a.status == 202
    assert a.header("content-type") is None
    assert a.body == b""
    assert a.header("content-length") in (None, "0")


@pytest.mark.parametrize("body", [
    {"jsonrpc": "2.0", "method": "notifications/nope"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled",
     "params": {"requestId": 99, "reason": "gone"}},
    {"jsonrpc": "2.0", "method": "notifications/progress",
     "params": {"progressToken": 1, "progress": 1}},
    {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
    {"jsonrpc": "2.0", "id": 7, "result": {}},
    {"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "no"}}])
def test_6_every_notification_and_response(stack, a_user, body):
    a = a_user.post(body)
    assert a.status == 202, a
    assert a.header("content-type") is None
    assert a.body == b""


# 7

def tool_names(a):
    return [t["name"] for t in a.result["tools"]]


def test_7_1_session_survives_kill_of_all_responders(stack):
    client = stack.user()
    client.initialize()
    assert stack.front.kill_responders()
    a = client.list_tools()
    assert a.status == 200
    assert "execute" in tool_names(a)


def test_7_2_get_stream_after_kill_then_post_is_json(stack):
    client = stack.user()
    client.initialize()
    stack.front.kill_responders()
    s = client.get()
    assert s.status == 200
    assert "text/event-stream" in s.header("content-type")
    s.hang_up()
    t = time.monotonic()
    a = client.list_tools(timeout=10)
    assert a.status == 200
    assert "application/json" in a.header("content-type")
    assert time.monotonic() - t < 5


def test_7_3_foreign_session_after_kill(stack):
    a_client, b_client = stack.user(), stack.user()
    a_client.initialize()
    before = stack.row(a_client.session)
    stack.front.kill_responders()
    b_client.session = a_client.session
    assert_error(b_client.list_tools(), 403, -32003, "does not belong")
    assert stack.row(a_client.session) == before
    assert a_client.list_tools().status == 200


def test_7_4_owner_without_membership(stack):
    client = stack.user().connect()
    stack.remove_member(client.account, client.organization)
    assert_error(client.list_tools(), 403, -32001, "No organization")
    assert stack.row(client.session) is None
    # Membership comes back, the session does not.
    stack.add_member(client.account, client.organization)
    assert_error(client.list_tools(), 404, -32001, "timed out")


# 9

def test_9_stranger_without_membership_ends_nothing(stack):
    """Only the owner's own row goes with the membership."""
    owner = stack.user().connect()
    stranger = stack.user(member=False)
    stranger.session = owner.session
    assert stranger.list_tools().status == 403
    assert stranger.delete().status == 403
    assert stack.row(owner.session) is not None
    assert owner.list_tools().status == 200


@pytest.mark.parametrize("same", ["account", "organization"])
def test_9_half_of_the_owner_is_not_the_owner(stack, same):
    owner = stack.user().connect()
    other = stack.user(
        account=owner.account if same == "account" else None,
        organization=owner.organization if same == "organization" else None)
    other.session = owner.session
    before = stack.row(owner.session)
    assert_error(other.list_tools(), 403, -32003, "does not belong")
    assert_error(other.delete(), 403, -32003, "does not belong")
    assert_error(other.notify("notifications/initialized"), 403, -32003,
                 "does not belong")
    s = other.get()
    assert s.status == 403
    s.hang_up()
    assert stack.row(owner.session) == before
    assert owner.list_tools().status == 200


def test_9_foreign_use_is_audited(stack):
    owner, other = stack.user().connect(), stack.user()
    other.session = owner.session
    other.list_tools()
    assert stack.sql.one(
        "SELECT count(*) FROM mcp.audit_event WHERE event = "
        "'session.foreign' AND account_id = %s", other.account) == 1


def test_9_refreshed_token_keeps_the_session(stack):
    client = stack.user().connect()
    client.token = stack.idp.token(client.account, client.organization,
                                   jti="another", exp=int(time.time()) + 60)
    assert client.list_tools().status == 200


def test_9_delete(stack):
    client = stack.user().connect()
    a = client.delete()
    assert a.status == 204
    assert a.body == b""
    assert stack.row(client.session) is None
    assert_error(client.delete(), 404, -32001, "timed out")
    assert_error(client.list_tools(), 404, -32001, "timed out")


def test_9_delete_without_id(stack):
    client = stack.user()
    a = client.delete()
    assert a.status == 400
    assert a.error["code"] == -32000


def test_9_get_without_id(stack):
    client = stack.user()
    a = stack.web.request("GET", "/mcp", client.headers(
        Content_Type=None, Accept="text/event-stream"))
    assert_error(a, 400, -32000, "mcp-session-id header required for SSE")


@pytest.mark.parametrize("method", ["tools/list", "ping", "server/discover",
                                    "nope/nope"])
def test_9_request_without_id(stack, method):
    client = stack.user()
    a = client.call(method)
    assert a.status == 400
    assert a.error["code"] == -32000
    assert "mcp-session-id header is required" in a.error["message"]
    assert stack.n_sessions(client) == 0


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "PROPFIND"])
def test_9_other_methods(stack, method):
    for headers in ({}, stack.user().headers()):
        a = stack.web.request(method, "/mcp", headers,
                              b"{}" if method in ("PUT", "PATCH") else None)
        assert a.status == 405, a
        assert a.header("allow") == "GET, POST, DELETE, OPTIONS"
        if method != "HEAD":
            assert a.error["code"] == -32001
            assert a.error["message"] == "Method not allowed"


def test_9_only_initialize_makes_a_row(stack):
    client = stack.user()
    for body in ("{}", "[]", "nonsense", message("tools/list"),
                 message("initialize", {}),
                 [initialize_message()],
                 initialize_message(protocolVersion=7)):
        client.post(body)
    assert stack.n_sessions(client) == 0
    client.initialize()
    assert stack.n_sessions(client) == 1


def test_9_row_is_committed_before_the_answer(stack):
    client = stack.user()
    for _ in range(20):
        client.initialize()
        assert stack.row(client.session) is not None


def test_9_row_holds_what_was_negotiated(stack):
    client = stack.user()
    client.initialize("2025-06-18", clientInfo={
        "name": "row", "version": "2"}, capabilities={"roots": {}})
    row = stack.row(client.session)
    assert row["account_id"] == client.account
    assert row["organization_id"] == client.organization
    assert row["issuer"] == stack.idp.issuer
    assert row["protocol_version"] == "2025-06-18"
    assert row["client_info"]["name"] == "row"
    assert row["client_capabilities"] == {"roots": {}}
    assert row["initialized_at"] is None
    client.notify("notifications/initialized")
    assert stack.row(client.session)["initialized_at"] is not None


def test_9_expiry_without_a_reaper(stack):
    client = stack.user().connect()
    stack.age(client.session, 299)
    assert client.list_tools().status == 200
    stack.age(client.session, 301)
    assert_error(client.list_tools(), 404, -32001, "timed out")
    s = client.get()
    assert s.status == 404
    s.hang_up()


def test_9_activity_moves_with_requests(stack):
    client = stack.user().connect()
    for send in (client.list_tools,
                 lambda: client.notify("notifications/nope"),
                 lambda: client.call("ping"),
                 lambda: client.call("no/such/method")):
        stack.age(client.session, 100)
        assert send().status in (200, 202)
        age = stack.sql.one("SELECT extract(epoch FROM now() - "
                            "last_activity_at) FROM mcp.session WHERE "
                            "session_id = %s", client.session)
        assert age < 5


def test_9_get_counts_as_activity(stack):
    client = stack.user().connect()
    stack.age(client.session, 100)
    s = client.get()
    assert s.read_until(":", 5)
    s.hang_up()
    assert stack.sql.one(
        "SELECT now() - last_activity_at < interval '10 s' FROM mcp.session "
        "WHERE session_id = %s", client.session)


def test_9_rejected_requests_never_refresh(stack):
    client, other = stack.user().connect(), stack.user()
    stack.age(client.session, 100)
    before = stack.row(client.session)["last_activity_at"]
    token = client.token
    for bad in (None, "garbage", stack.idp.token(
            client.account, client.organization, exp=1)):
        client.token = bad
        assert client.list_tools().status == 401
    client.token = token
    other.session = client.session
    assert other.list_tools().status == 403
    assert client.post("{", Content_Type="text/plain").status == 415
    assert client.post("{", Accept="image/png").status == 406
    assert client.post("{").status == 400
    assert client.list_tools(Origin=None, Host="evil.example").status == 421
    assert stack.row(client.session)["last_activity_at"] == before


def test_9_mode_of_the_answer_follows_the_request(stack):
    client = stack.user().connect()
    s = client.get()
    s.read_until(":", 5)
    for _ in range(3):
        assert client.list_tools().ctype == "application/json"
    s.hang_up()
    a = client.list_tools(Accept="text/event-stream")
    assert a.status == 200
    assert a.ctype == "text/event-stream"
    assert "execute" in [t["name"] for t in a.json["result"]["tools"]]
    assert client.list_tools().ctype == "application/json"
    assert client.list_tools(Accept="application/json").ctype == \
        "application/json"


def test_9_order_of_the_checks(stack):
    """path, method, size, origin, bearer, media types, parse, database."""
    client = stack.user().connect()
    web = stack.web
    # method before bearer
    assert web.request("PUT", "/mcp", {}).status == 405
    # host before bearer
    assert web.request("POST", "/mcp", {"Host": "evil.example"},
                       b"{}").status == 421
    # bearer before content type, accept and parse
    assert web.request("POST", "/mcp", {
        "Content-Type": "text/plain", "Accept": "image/png"},
        b"{").status == 401
    # content type before parse, parse before membership and session
    client.session = UNKNOWN
    assert client.post("{", Content_Type="text/plain").status == 415
    assert client.post("{", Accept="image/png").status == 406
    assert client.post("{").status == 400
    outsider = stack.user(member=False)
    outsider.session = UNKNOWN
    assert outsider.post("{").status == 400
    # membership before session
    assert outsider.list_tools().status == 403


def test_9_fixed_texts_and_a_request_id(stack):
    client = stack.user()
    client.session = "' OR 1=1; DROP TABLE x --"
    answers = [client.list_tools(), stack.user(member=False).post(
        initialize_message()), stack.web.request("PUT", "/mcp")]
    ids = set()
    for a in answers:
        assert a.header("x-request-id")
        ids.add(a.header("x-request-id"))
        text = a.body.decode()
        assert "DROP" not in text and "SELECT" not in text
        assert client.account not in text
    assert len(ids) == len(answers)


def everything(stack):
    """One answer of each kind, with its name."""
    member, outsider = stack.user(), stack.user(member=False)
    yield "initialize", member.initialize()
    yield "202", member.notify("notifications/initialized")
    yield "list", member.list_tools()
    yield "rpc error", member.call("nope")
    yield "401", stack.web.request("POST", "/mcp", {}, b"{}")
    yield "403", outsider.post(initialize_message())
    yield "406", member.post("{}", Accept="image/png")
    yield "415", member.post("{}", Content_Type="text/plain")
    yield "400", member.post("{")
    yield "405", stack.web.request("PUT", "/mcp")
    yield "421", stack.web.request("POST", "/mcp", {"Host": "evil.example"},
                                   b"{}")
    yield "204", member.delete()
    yield "404", member.list_tools()
    yield "prm", stack.web.request(
        "GET", "/.well-known/oauth-protected-resource/mcp")
    yield "as", stack.web.request(
        "GET", "/.well-known/oauth-authorization-server")


def test_9_every_answer_can_be_read_by_a_browser(stack):
    for name, a in everything(stack):
        assert a.header("access-control-allow-origin") == "*", (name, a)
        exposed = (a.header("access-control-expose-headers") or "").lower()
        assert "mcp-session-id" in exposed, (name, a)
        assert "www-authenticate" in exposed, (name, a)
        assert a.header("access-control-allow-credentials") is None


def test_9_no_answer_may_be_stored(stack):
    for name, a in everything(stack):
        if name in ("prm", "as"):
            continue
        assert a.header("cache-control") == "no-store", (name, a)
        vary = {v.strip().lower() for v in (a.header("vary") or "").split(",")}
        assert {"authorization", "origin"} <= vary, (name, a)


def test_9_stream_has_the_same_headers(stack):
    client = stack.user().connect()
    s = client.get()
    assert s.header("access-control-allow-origin") == "*"
    assert "mcp-session-id" in s.header("access-control-expose-headers")
    assert s.header("cache-control") in ("no-store", "no-cache",
                                         "no-store, no-cache",
                                         "no-cache, no-store")
    assert s.header("content-encoding") is None
    s.hang_up()


def test_9_session_ids_are_fresh(stack):
    client = stack.user()
    seen = set()
    for _ in range(50):
        client.initialize()
        seen.add(client.session)
    assert len(seen) == 50
    assert all(re.fullmatch("[0-9a-f]{64}", s) for s in seen)


def test_9_initialize_with_an_old_id_makes_a_new_session(stack):
    client = stack.user().connect()
    old = client.session
    a = client.post(initialize_message())
    assert a.status == 200
    assert a.header("mcp-session-id") not in (None, old)
    assert json.loads(a.body)["result"]


def test_9_initialize_with_a_dead_or_foreign_id(stack):
    """A client that reconnects may carry its dead id along."""
    client, other = stack.user(), stack.user().connect()
    client.session = UNKNOWN
    assert client.post(initialize_message()).status == 200
    client.session = other.session
    a = client.post(initialize_message())
    assert a.status in (200, 403)
    assert stack.row(other.session) is not None
    assert proc.is_running(stack.front.child.pid)
