# SPDX-License-Identifier: ISC
"""Goal of this test: MCP-REQUIREMENTS 1 (J-*) as far as sessions go: framing,
ids, errors, batches, hostile JSON."""

import json

import pytest

from lib.client import events, initialize_message, message


@pytest.fixture(scope="module")
def v3(stack):
    return stack.user().connect("2025-11-25")


@pytest.fixture(scope="module")
def v2(stack):
    return stack.user().connect("2025-06-18")


@pytest.fixture(scope="module")
def v1(stack):
    return stack.user().connect("2025-03-26")


def assert_400(a, code):
    assert a.status == 400, a
    assert a.ctype == "application/json"
    assert a.error["code"] == code, a
    assert isinstance(a.error["message"], str)
    assert "result" not in a.json


# J-01

@pytest.mark.parametrize("body", [
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":2.0,"id":1,"method":"ping"}',
    '{"id":1,"method":"ping"}',
    '{"jsonrpc":null,"id":1,"method":"ping"}',
    '{"JSONRPC":"2.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"Method":"ping"}',
    '{"jsonrpc":"2.0"}', '{}', '1', '"x"', 'null', 'true'])
def test_j01_not_json_rpc(v3, body):
    assert_400(v3.post(body), -32600)


@pytest.mark.parametrize("body", [
    b'{"jsonrpc":"2.0","id":1,"method":"ping\xff"}', b"\xff\xfe{}",
    b"", b" ", b"{", b'{"jsonrpc":"2.0","id":1,"method":"ping"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
    b'{"jsonrpc":"2.0","id":1,"method":"ping",}',
    b"{'jsonrpc':'2.0'}", b'{"a":01}', b'{"a":+1}', b'{"a":.5}',
    b'{"a":NaN}', b'{"a":Infinity}', b'{"a":"\n"}', b'{"a":"\\x41"}',
    b'{"a":"\\ud800"}', b'{"a":"\\udc00\\ud800"}', b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\xc0\xaf"}', b'\xef\xbb\xbf{', b"nul", b"[1,2", b'{"a" 1}',
    b"\x00", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\x00'])
def test_j01_not_json(v3, body):
    assert_400(v3.post(body), -32700)


# J-02, J-03

@pytest.mark.parametrize("id", [
    "null", "true", "false", "{}", "[]", "[1]", "1.5", "1e400", "-0.5"])
def test_j02_bad_id_is_refused_and_no_notification(v3, id):
    a = v3.post('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id)
    assert_400(a, -32600)


@pytest.mark.parametrize("id", [
    "0", "1", "-1", "9007199254740993", "-9007199254740993",
    "123456789012345678901234567890", '""', '"9007199254740993"', '"a"',
    '"\\u00e9"', '"\u00e9"', '"\\"\\\\\\/"', '"\U0001f600"',
    '"\\ud83d\\ude00"', '"' + "x" * 255 + '"'])
def test_j03_id_comes_back_byte_for_byte(v3, id):
    for method, key in (("ping", "result"), ("no/such", "error")):
        a = v3.post(('{"jsonrpc":"2.0","id":%s,"method":"%s"}' % (
            id, method)).encode())
        assert a.status == 200, a
        assert b'"id":' + id.encode() in a.body.replace(b'"id": ', b'"id":'), a
        assert key in a.json


def test_j03_id_zero_of_initialize(stack):
    a = stack.user().post(initialize_message(id=0))
    assert a.status == 200 and a.json["id"] == 0


# J-04, J-05

def test_j05_exactly_one_of_result_and_error(v3):
    for method in ("ping", "tools/list", "no/such", "tools/call"):
        body = v3.call(method).json
        assert ("result" in body) != ("error" in body)
        assert body["id"] == 1 and body["jsonrpc"] == "2.0"
        assert set(body) == {"jsonrpc", "id",
                             "result" if "result" in body else "error"}


# J-06

def test_j06_unreadable_id(v3, v2, v1):
    for client, has_id in ((v1, True), (v2, True), (v3, False)):
        body = client.post("{").json
        assert ("id" in body) == has_id, body
        assert body.get("id") is None
    # no header: null
    body = v3.post("{", MCP_Protocol_Version=None).json
    assert "id" in body and body["id"] is None


# J-07

def test_j07_notifications_get_no_answer(v3):
    for method in ("notifications/nope", "notifications/initialized",
                   "tools/list", "ping"):
        a = v3.post(message(method, id=None))
        assert a.status == 202, (method, a)
        assert a.body == b"" and a.header("content-type") is None


# J-08

@pytest.mark.parametrize("params", ["[]", "[1]", "1", '"x"', "null", "true"])
def test_j08_params_is_an_object(v3, params):
    a = v3.post('{"jsonrpc":"2.0","id":3,"method":"tools/list","params":%s}'
                % params)
    assert a.status == 200
    assert a.error["code"] == -32602
    assert a.json["id"] == 3


# J-09 ... J-14

PING1 = message("ping", id=1)
PING2 = message("ping", id="two")
NOTE = message("notifications/nope", id=None)


def test_j09_batch_in_2025_03_26(v1):
    a = v1.post([PING1, PING2, NOTE])
    assert a.status == 200
    assert a.ctype == "application/json"
    assert sorted(json.dumps(m["id"]) for m in a.json) == ['"two"', "1"]
    assert all(m["result"] == {} for m in a.json)


def test_j09_batch_without_the_header_uses_the_session(v1):
    a = v1.post([PING1, PING2], MCP_Protocol_Version=None)
    assert a.status == 200 and len(a.json) == 2


def test_j10_batch_of_notifications(v1):
    for body in ([NOTE], [NOTE, NOTE],
                 [{"jsonrpc": "2.0", "id": 1, "result": {}}]):
        a = v1.post(body)
        assert a.status == 202 and a.body == b"", a
        assert a.header("content-type") is None


def test_j10_batch_as_events(v1):
    a = v1.post([PING1, PING2], Accept="text/event-stream")
    assert a.status == 200
    assert a.ctype == "text/event-stream"
    got = [json.loads(d) for d in events(a.body) if d]
    # J-15: each with its own object
    assert all(isinstance(m, dict) for m in got)
    assert {json.dumps(m["id"]) for m in got} == {"1", '"two"'}


def test_j11_initialize_in_a_batch(stack, v1):
    fresh = stack.user()
    for body in ([initialize_message("2025-03-26")],
                 [PING1, initialize_message("2025-03-26")]):
        assert_400(fresh.post(body), -32600)
        assert_400(v1.post(body), -32600)
    assert stack.n_sessions(fresh) == 0


def test_j12_batch_shapes(v1):
    assert_400(v1.post([]), -32600)
    a = v1.post([PING1, 1, {"jsonrpc": "1.0", "id": 9, "method": "ping"}])
    assert a.status == 200
    codes = [m["error"]["code"] for m in a.json if "error" in m]
    assert codes == [-32600, -32600]
    ids = [m["id"] for m in a.json if "error" in m]
    assert ids[0] is None and ids[1] in (None, 9)
    assert [m["id"] for m in a.json if "result" in m] == [1]
    assert_400(v1.post([PING1, {"jsonrpc": "2.0", "id": 4, "result": {}}]),
               -32600)


def test_j12_batch_length(v1):
    assert v1.post([PING1] * 100).status == 200
    a = v1.post([PING1] * 101)
    assert a.status in (400, 413), a
    assert a.ctype == "application/json"
    assert "error" in a.json


@pytest.mark.parametrize("body", [[PING1], [PING1, PING2], [NOTE], []])
def test_j13_no_batches_later(v2, v3, body):
    assert_400(v2.post(body), -32600)
    assert_400(v3.post(body), -32600)


def test_j14_modern_element_in_a_batch(v1):
    modern = message("tools/list", {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28"}}, id=5)
    assert_400(v1.post([PING1, modern]), -32600)


# J-16, J-19

def test_j16_duplicate_ids_are_both_answered(v3):
    assert v3.call("ping", id=7).json["id"] == 7
    assert v3.call("tools/list", id=7).json["id"] == 7


def test_j19_late_response_is_dropped(v3):
    a = v3.post({"jsonrpc": "2.0", "id": 12345, "result": {"x": 1}})
    assert a.status == 202 and a.body == b""


# J-20

@pytest.mark.parametrize("body", [
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",'
    '"name":"execute"}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,'
    '"a":2}}}',
    '{"jsonrpc":"2.0","id":1,"\\u006dethod":"ping","method":"tools/list"}'])
def test_j20_repeated_members(v3, body):
    assert_400(v3.post(body), -32600)


def test_j20_depth(v3):
    def nested(n):
        return '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s}}' \
            % ("[" * n + "]" * n)
    assert v3.post(nested(50)).status == 200
    for n in (64, 100, 100000):
        a = v3.post(nested(n))
        assert a.status == 400, (n, a)
        assert a.error["code"] in (-32700, -32600)


def test_j20_nul_never_truncates(v3):
    a = v3.post('{"jsonrpc":"2.0","id":1,"method":"ping\\u0000evil"}')
    assert a.status in (200, 400)
    assert "error" in a.json
    a = v3.post('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                '{"name":"execute\\u0000evil","arguments":{"code":"1"}}}')
    assert "error" in a.json
    a = v3.post('{"jsonrpc":"2.0","id":"a\\u0000b","method":"ping"}')
    assert "error" in a.json or b'"a\\u0000b"' in a.body


def test_j20_case_of_members_matters(v3):
    a = v3.post('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                '{"Name":"execute","arguments":{"code":"1"}}}')
    assert a.error["code"] == -32602


def test_j20_long_numbers_and_strings(v3):
    a = v3.post('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s}}'
                % ("9" * 5000))
    assert a.status in (200, 400)
    a = v3.post('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % ("9" * 5000))
    assert a.status in (200, 400)
    a = v3.post(message("x" * 100000))
    assert a.status in (200, 400)
    assert "error" in a.json
    assert v3.call("ping").result == {}


def test_initialize_with_a_nul_makes_no_half_session(stack):
    client = stack.user()
    a = client.post('{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
                    '{"protocolVersion":"2025-11-25","capabilities":{},'
                    '"clientInfo":{"name":"a\\u0000b","version":"1"}}}')
    assert a.status in (200, 400)
    assert "error" in a.json
    assert stack.n_sessions(client) == 0
