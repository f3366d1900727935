# SPDX-License-Identifier: ISC
"""Goal of this test: MCP-REQUIREMENTS 2.1, 2.3, 3.1-3.3, 4 and 5.2 as far as
sessions go: negotiation, media types, methods, what each revision sees."""

import json

import pytest

from lib.client import ACCEPT, SKIP, initialize_message, message

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
META = "io.modelcontextprotocol/protocolVersion"


# N-01 .. N-09

@pytest.mark.parametrize("version", VERSIONS)
def test_n02_supported_version_is_answered(stack, version):
    client = stack.user()
    r = client.initialize(version).json["result"]
    assert r["protocolVersion"] == version
    assert client.list_tools().status == 200


@pytest.mark.parametrize("version", [
    "1999-01-01", "2024-10-07", "2026-07-28", "2027-01-01", "DRAFT", "",
    "2025-11-25 ", "2025-6-18", "\u00e9"])
def test_n02_n03_other_versions_get_the_newest_with_a_handshake(
        stack, version):
    r = stack.user().initialize(version).json["result"]
    assert r["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("params", [
    {"protocolVersion": SKIP}, {"protocolVersion": 1},
    {"protocolVersion": None}, {"capabilities": SKIP}, {"capabilities": []},
    {"capabilities": "x"}, {"clientInfo": SKIP}, {"clientInfo": []},
    {"clientInfo": {}}, {"clientInfo": {"name": "x"}},
    {"clientInfo": {"version": "1"}}, {"clientInfo": {"name": 1,
                                                      "version": "1"}},
    {"clientInfo": {"name": "x", "version": 1}}])
def test_n01_bad_initialize_params(stack, params):
    client = stack.user()
    a = client.post(initialize_message(**params))
    assert a.status == 200
    assert a.error["code"] == -32602
    assert a.json["id"] == 0
    assert a.header("mcp-session-id") is None
    assert stack.n_sessions(client) == 0


def test_n01_initialize_without_params(stack):
    client = stack.user()
    a = client.post(message("initialize"))
    assert a.status == 200 and a.error["code"] == -32602
    assert stack.n_sessions(client) == 0


def test_n01_more_than_we_know_is_fine(stack):
    client = stack.user()
    client.initialize(clientInfo={
        "name": "x", "version": "1", "title": "X", "icons": [{"src": "u"}],
        "websiteUrl": "https://x.example", "future": 1},
        capabilities={"sampling": {}, "elicitation": {"form": {}, "url": {}},
                      "experimental": {"a": {}}, "tasks": {"list": {}}},
        _meta={"x.example/y": 1})


# N-05, A-*, golden for each revision

SERVER_INFO = {"2024-11-05": {"name", "version"},
               "2025-03-26": {"name", "version"},
               "2025-06-18": {"name", "version", "title"},
               "2025-11-25": {"name", "version", "title", "description",
                              "icons", "websiteUrl"}}
TOOL = {"2024-11-05": {"name", "description", "inputSchema"},
        "2025-03-26": {"name", "description", "inputSchema", "annotations"},
        "2025-06-18": {"name", "description", "inputSchema", "annotations",
                       "title", "outputSchema", "_meta"},
        "2025-11-25": {"name", "description", "inputSchema", "annotations",
                       "title", "outputSchema", "_meta", "icons",
                       "execution"}}


@pytest.mark.parametrize("version", VERSIONS)
def test_n05_what_initialize_tells(stack, version):
    r = stack.user().initialize(version).json["result"]
    assert set(r) <= {"protocolVersion", "capabilities", "serverInfo",
                      "instructions"}
    assert {"name", "version"} <= set(r["serverInfo"]) <= SERVER_INFO[version]
    assert r["capabilities"]["tools"] in ({}, {"listChanged": False})
    # what is not served is not declared
    assert set(r["capabilities"]) == {"tools"}


@pytest.mark.parametrize("version", VERSIONS)
def test_n31_tools_in_the_data_model_of_the_revision(stack, version):
    client = stack.user().connect(version)
    result = client.list_tools().result
    assert set(result) == {"tools"}         # J-24: nothing of 2026-07-28
    tool = next(t for t in result["tools"] if t["name"] == "execute")
    assert {"name", "description", "inputSchema"} <= set(tool) <= \
        TOOL[version]
    assert tool["inputSchema"]["type"] == "object"
    assert tool["inputSchema"]["properties"]["code"]["type"] == "string"
    assert tool["inputSchema"]["required"] == ["code"]
    if version >= "2025-03-26":
        assert "annotations" in tool
    if version >= "2025-06-18":
        assert tool["outputSchema"]["type"] == "object"


@pytest.mark.parametrize("version", VERSIONS)
def test_n31_result_of_a_call_in_the_revision(stack, version):
    client = stack.user().connect(version)
    r = client.execute("return 1 + 1")
    assert r["content"] == [{"type": "text", "text": "2"}]
    # more members than it knows are lawful from 2025-03-26 on
    if version != "2025-03-26":
        assert ("structuredContent" in r) == (version >= "2025-06-18")
    assert "resultType" not in r


def test_golden_2024_11_05(stack):
    """A client of 2024-11-05 over Streamable HTTP, whole: it sends no version
    header and knows no annotations, titles or structured content."""
    client = stack.user()
    a = client.initialize("2024-11-05")
    client.version = None
    r = a.json["result"]
    assert r["protocolVersion"] == "2024-11-05"
    assert set(r["serverInfo"]) == {"name", "version"}
    assert client.notify("notifications/initialized").status == 202
    tools = client.list_tools().result["tools"]
    assert all(set(t) == {"name", "description", "inputSchema"}
               for t in tools)
    r = client.execute("console.log('x'); return {a: 1}")
    assert set(r) <= {"content", "isError"}
    assert client.call("ping").result == {}
    assert client.delete().status == 204


@pytest.mark.parametrize("version", ["1900-01-01", "x", "2025-11-26",
                                     "2025-11-25, 2025-11-25", "\u00e9"])
def test_n06_bad_version_header(stack, a_user, version):
    a = a_user.list_tools(MCP_Protocol_Version=version.encode())
    assert a.status == 400
    assert a.error["code"] == -32022
    assert isinstance(a.error["data"]["supported"], list)


def test_n07_without_the_header(stack):
    for version in VERSIONS:
        client = stack.user().connect(version)
        client.version = None
        assert client.list_tools().status == 200
    # still of its own revision
    assert "title" in client.list_tools().result["tools"][0]


@pytest.mark.parametrize("version", VERSIONS)
def test_n08_another_supported_header_changes_nothing(stack, version):
    client = stack.user().connect("2025-11-25")
    a = client.list_tools(MCP_Protocol_Version=version)
    assert a.status == 200
    assert "title" in a.result["tools"][0]


def test_n33_initialize_is_never_behind_an_avoidable_4xx(stack):
    client = stack.user()
    for headers in (
            {"Accept": "text/event-stream, application/json"},
            {"Accept": "application/json"}, {"Accept": "*/*"},
            {"Accept": None}, {"Content-Type": "application/json; "
                               "charset=utf-8"},
            {"Content-Type": "APPLICATION/JSON"},
            {"MCP-Protocol-Version": "2025-11-25"}):
        a = client.post(initialize_message(), **headers)
        assert a.status == 200, (headers, a)


def test_n30_no_endpoint_event(stack):
    """An old SSE client that GETs first must not take us for one of its."""
    a = stack.web.request("GET", "/mcp", stack.user().headers(
        Accept="text/event-stream", Content_Type=None))
    assert a.status in (400, 405)
    assert b"endpoint" not in a.body.replace(b"header required", b"")


# B-20, the legacy half: a probe of the next revision

def test_b20_modern_probe_falls_back(stack):
    client = stack.user()
    probe = message("server/discover", {"_meta": {
        META: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x",
                                               "version": "1"}}})
    a = client.post(probe, MCP_Protocol_Version="2026-07-28",
                    Mcp_Method="server/discover")
    assert a.status == 400
    assert a.ctype == "application/json"
    assert a.error["code"] not in (-32020, -32021, -32022)
    assert client.initialize().status == 200


# T-01 .. T-14

@pytest.mark.parametrize("ctype, status", [
    ("application/json", 200), ("application/json; charset=utf-8", 200),
    ("application/json;charset=\"utf-8\"", 200), ("Application/JSON", 200),
    (" application/json ", 200), ("text/plain", 415), (None, 415),
    ("", 415), ("application/jsonx", 415), ("text/plain; application/json",
                                            415),
    ("application/x-www-form-urlencoded", 415),
    ("multipart/form-data; boundary=application/json", 415),
    ("application/json-rpc", 415)])
def test_t05_content_type(a_user, ctype, status):
    a = a_user.call("ping", Content_Type=ctype)
    assert a.status == status, a
    if status == 415:
        assert a.error["code"] == -32000


@pytest.mark.parametrize("accept, want", [
    (ACCEPT, "application/json"),
    ("text/event-stream, application/json", "application/json"),
    (None, "application/json"),
    ("*/*", "application/json"), ("application/*", "application/json"),
    ("application/json", "application/json"),
    ("APPLICATION/JSON", "application/json"),
    ("application/json;q=0.5, text/event-stream;q=0.1", "application/json"),
    ("application/json; charset=utf-8", "application/json"),
    ("text/event-stream", "text/event-stream"), ("text/*",
                                                 "text/event-stream"),
    ("application/json;q=0, text/event-stream", "text/event-stream"),
    ("application/json;q=0, */*", "text/event-stream"),
    ("text/html, */*;q=0.1", "application/json"),
    ("text/html", 406), ("application/json;q=0", 406),
    ("application/jsonx", 406), ("image/*", 406), ("*/*;q=0", 406)])
def test_t06_accept_of_a_post(a_user, accept, want):
    a = a_user.call("ping", Accept=accept)
    if want == 406:
        assert a.status == 406, a
        assert a.error["code"] == -32000
    else:
        assert a.status == 200, a
        assert a.ctype == want
        assert a.json["result"] == {}


@pytest.mark.parametrize("accept, status", [
    ("text/event-stream", 200), ("text/event-stream, application/json", 200),
    ("*/*", 200), (None, 200), ("text/*", 200), ("TEXT/Event-Stream", 200),
    ("application/json", 406), ("text/html", 406),
    ("text/event-stream;q=0", 406)])
def test_t06_accept_of_a_get(a_user, accept, status):
    s = a_user.get(Accept=accept)
    try:
        assert s.status == status
        if status == 200:
            assert "text/event-stream" in s.header("content-type")
    finally:
        s.hang_up()


def test_t08_accept_does_not_matter_to_a_notification(a_user):
    for accept in ("application/json", "text/event-stream", None):
        assert a_user.notify("notifications/nope", Accept=accept
                             ).status == 202


def test_t09_event_format(a_user):
    a = a_user.call("tools/call", {"name": "execute", "arguments": {
        "code": "return 'a\\nb\\u2028c\\r'"}}, Accept="text/event-stream")
    assert a.ctype == "text/event-stream"
    text = a.body.decode()
    assert text.endswith("\n\n")
    # no carriage return, no raw line break within the data
    data = [x for x in text.split("\n") if x.startswith("data:")]
    messages = [json.loads(d[5:]) for d in data if d[5:].strip()]
    assert len(messages) == 1
    assert messages[0]["result"]["content"][0]["text"] == "a\nb\u2028c\r"
    for line in text.split("\n"):
        assert line == "" or line.startswith((":", "data:", "event: message",
                                              "id:", "retry:"))
    assert a.header("content-length") is None or \
        a.header("transfer-encoding") is None


def test_t28_requests_before_initialized(stack):
    client = stack.user()
    client.initialize()
    assert client.list_tools().status == 200
    assert client.call("ping").result == {}      # L-02


# L-01, L-04, L-06, T-54, A-*, C-02

def test_l01_ping(a_user):
    assert a_user.call("ping").result == {}
    assert a_user.call("ping", {}).result == {}
    assert a_user.call("ping", {"_meta": {"progressToken": 1}}).result == {}


@pytest.mark.parametrize("params", [
    None, {}, {"requestId": 99}, {"requestId": None}, {"requestId": {}},
    {"requestId": "x", "reason": 1}])
def test_l06_cancellations_are_ignored(a_user, params):
    assert a_user.notify("notifications/cancelled", params).status == 202


@pytest.mark.parametrize("method", [
    "no/such", "Tools/list", "tools/list ", "", "rpc.discover",
    "resources/list", "resources/read", "resources/templates/list",
    "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
    "tasks/list", "subscriptions/listen", "server/discover",
    "notifications/initialized"])
def test_t54_unknown_method_is_a_200(a_user, method):
    a = a_user.call(method)
    assert a.status == 200, a
    assert a.error["code"] == -32601
    assert a.json["id"] == 1


@pytest.mark.parametrize("params", [
    None, {}, {"name": 1}, {"name": None}, {"name": "nope"}, {"name": ""},
    {"name": "Execute", "arguments": {"code": "1"}},
    {"name": "execute", "arguments": []},
    {"name": "execute", "arguments": "x"}])
def test_a17_bad_calls(a_user, params):
    a = a_user.call("tools/call", params)
    assert a.status == 200
    assert a.error["code"] == -32602


@pytest.mark.parametrize("arguments", [
    {}, {"code": 1}, {"code": None}, {"code": ""}, {"code": "  \n"},
    {"code": "1", "more": 1}])
def test_a18_bad_arguments_are_results(a_user, arguments):
    r = a_user.call("tools/call", {"name": "execute",
                                   "arguments": arguments}).result
    assert r["isError"] is True
    assert "code" in r["content"][0]["text"]


@pytest.mark.parametrize("cursor", ["", "garbage", 1, None, {}])
def test_c02_bad_cursor(a_user, cursor):
    a = a_user.call("tools/list", {"cursor": cursor})
    assert a.status == 200
    assert a.error["code"] == -32602


def test_a11_lists_are_stable(a_user):
    assert len({a_user.list_tools().body for _ in range(5)}) == 1


def test_b18_notifications_are_empty_202s(a_user):
    a = a_user.notify("notifications/initialized")
    assert (a.status, a.body, a.header("content-type")) == (202, b"", None)


def test_b24_type_and_body_agree(a_user):
    for accept in (ACCEPT, "application/json", "text/event-stream"):
        for send in (lambda: a_user.call("ping", Accept=accept),
                     lambda: a_user.call("no/such", Accept=accept),
                     lambda: a_user.post("{", Accept=accept),
                     lambda: a_user.execute("1")):
            a = send()
            if isinstance(a, dict):
                continue
            if a.ctype == "application/json":
                assert a.body[:1] == b"{"
            else:
                assert a.ctype == "text/event-stream"
                assert not a.body.startswith(b"{")
