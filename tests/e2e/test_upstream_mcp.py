# SPDX-License-Identifier: ISC
"""Goal of this test: tools of other MCP servers, of both eras, on the official
SDKs and on servers as they are found in the field: listed, called, with their
sessions, errors, streams and content; never called twice."""

import base64
import http.client
import json
import os
import shutil
import subprocess
import threading

import pytest

from lib import paths, proc, tools
from lib.wire import Wire

ANY_FRONT = True

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "upstream")
PACKAGES = {"legacy": "sdk", "modern": "server"}


def node_modules(package):
    """Where `./bootstrap check interop` put the official SDKs, or None."""
    for base in (os.environ.get("MCP_NODE"),
                 os.path.join(paths.BUILD, "interop"),
                 os.path.join(paths.SRC, "build", "interop")):
        found = base and os.path.join(base, "node_modules")
        if found and os.path.isdir(os.path.join(
                found, "@modelcontextprotocol", package)):
            return os.path.realpath(found)
    return None


class Server:
    """An upstream server on an official SDK, in its own process."""

    def __init__(self, root, kind, *argv):
        self.root = os.path.join(root, "upstream")
        self.argv = [shutil.which("node"), kind + ".mjs"] + list(argv)
        self.log_file = os.path.join(self.root, "-".join(
            [kind] + list(argv)) + ".log")
        if not os.path.isdir(self.root):
            shutil.copytree(HERE, self.root)
            os.symlink(node_modules(PACKAGES[kind]),
                       os.path.join(self.root, "node_modules"))
            os.chmod(self.root, 0o755)
        with open(self.log_file, "w"):
            pass
        self.child = proc.start(self.argv, self.log_file, cwd=self.root)
        self.port = int(proc.wait_for(self._port, 30, about=self.log_file))
        self.url = "http://127.0.0.1:%d/mcp" % self.port

    def _port(self):
        assert self.child.poll() is None, open(self.log_file).read()
        with open(self.log_file) as f:
            words = f.read().split()
        return words[1] if words[:1] == ["listening"] else None

    def _ask(self, method, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        c.request(method, path)
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer

    def log(self):
        return self._ask("GET", "/log")

    def methods(self):
        return [m["method"] for m in self.log() if m.get("http") == "POST"]

    def forget(self):
        self._ask("POST", "/forget")

    def close(self):
        proc.stop(self.child)


def node_reason(kind):
    if not shutil.which("node"):
        return "needs Node.js"
    major = subprocess.run(["node", "-p", "parseInt(process.versions.node)"],
                           capture_output=True, text=True).stdout
    if int(major or 0) < 20:
        return "needs Node.js 20"
    if node_modules(PACKAGES[kind]) is None:
        return "needs npm's @modelcontextprotocol/" + PACKAGES[kind]
    return None


@pytest.fixture(scope="module")
def stack_here(make_stack, front_kind, root):
    return make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 20000,
        "keyring_dir": tools.keyring(root, "keys-mcp-" + front_kind)})


def member(stack, url, *options):
    """A user of an organisation with the server at URL as `up`."""
    u = stack.user().connect()
    u.stack = stack
    u.catalogue = tools.Catalogue(stack.sql, u.organization)
    r = stack.admin("source", "add", "mcp", u.organization, "up", url,
                    "--allow", "127.0.0.0/8", *options)
    assert r.returncode == 0, r.stdout + r.stderr
    return u


@pytest.fixture(scope="module", params=["legacy-json", "legacy-sse",
                                        "modern-auto", "modern-sse"])
def server(request, root, front_kind):
    kind, mode = request.param.split("-")
    why = node_reason(kind)
    if why:
        pytest.skip("%s: %s" % (request.param, why))
    s = Server(root, kind, mode)
    s.kind = kind
    yield s
    s.close()


@pytest.fixture(scope="module")
def user(stack_here, server):
    return member(stack_here, server.url)


@pytest.fixture(scope="module")
def legacy(root, stack_here):
    why = node_reason("legacy")
    if why:
        pytest.skip(why)
    s = Server(root, "legacy", "json", "the-token")
    r = proc.run([paths.program("mcp-admin"), "-c",
                  stack_here.front.conf_file, "secret", "set", "org-legacy",
                  "TOKEN"], input="the-token")
    assert r.returncode == 0, r.stderr
    u = stack_here.user(organization="org-legacy").connect()
    r = stack_here.admin("source", "add", "mcp", "org-legacy", "up", s.url,
                         "--allow", "127.0.0.0/8", "--header",
                         "Authorization: Bearer secret:TOKEN")
    assert r.returncode == 0, r.stderr
    u.stack = stack_here
    s.user = u
    yield s
    s.close()


def run(user, code):
    r = user.execute(code)
    assert not r.get("isError"), r
    return r["structuredContent"]


def value(user, code):
    return run(user, code)["result"]


def error(user, code):
    r = value(user, "return await " + code)
    assert r["ok"] is False, r
    return r["error"]


def resume(user, s, action="accept"):
    r = user.call("tools/call", {"name": "resume", "arguments": {
        "executionId": s["executionId"], "action": action}}).result
    assert not r.get("isError"), r
    return r["structuredContent"]


# Official SDKs, both eras, with and without streams.

def test_tools_are_imported(user, server):
    row = user.stack.sql.row("SELECT config FROM mcp.source WHERE "
                             "organization_id = %s", user.organization)
    assert row["config"]["era"] == server.kind
    rows = user.stack.sql.all(
        "SELECT path, needs_approval, definition, annotations, title FROM "
        "mcp.tool WHERE organization_id = %s ORDER BY path",
        user.organization)
    assert [r["path"] for r in rows] == [
        "up.add_numbers", "up.count", "up.fail", "up.hold", "up.picture",
        "up.wipe"]
    assert [r["path"] for r in rows if r["needs_approval"]] == ["up.wipe"]
    assert rows[0]["title"] == "Add"
    assert rows[0]["annotations"]["readOnlyHint"] is True
    d = value(user, "return await tools.describe('up.add_numbers')")
    assert "a: number" in d["inputTypeScript"]
    assert "sum: number" in d["outputTypeScript"]


def test_a_call(user, server):
    s = run(user, "return await tools.up.add_numbers({a: 2, b: 0.5})")
    assert s["result"] == {"ok": True, "data": {"sum": 2.5}}
    assert [(c["path"], c["status"]) for c in s["calls"]] == [
        ("up.add_numbers", "done")]
    row = user.stack.sql.row("SELECT * FROM mcp.execution_call WHERE "
                             "execution_id = %s", s["executionId"])
    assert (row["status"], json.loads(row["args"])) == (
        "done", {"a": 2, "b": 0.5})


def test_text_is_data(user):
    a, b = value(user, "return [(await tools.up.count()).data, "
                       "(await tools.up.count()).data]")
    assert int(b) == int(a) + 1


def test_arguments_are_checked_here(user, server):
    n = len(server.methods())
    e = error(user, "tools.up.add_numbers({a: 'x', b: 1})")
    assert e["code"] == "invalid_tool_arguments"
    assert len(server.methods()) == n


def test_failure_of_a_tool(user):
    e = error(user, "tools.up.fail()")
    assert e["message"] == "it cannot be done"


def test_images_are_content_blocks(user):
    r = user.execute("return (await tools.up.picture()).data")
    assert r["structuredContent"]["result"] == "a pixel", r
    kinds = {b["type"]: b for b in r["content"]}
    assert base64.b64decode(kinds["image"]["data"]).startswith(b"\x89PNG")
    assert kinds["resource"]["resource"]["text"] == "of a file"


def test_destructive_tools_wait(user, server):
    s = run(user, "return await tools.up.wipe({what: 'disk'})")
    assert s["status"] == "waiting_for_interaction"
    assert "Wipe it all" in s["interaction"]["message"]
    assert "wipe" not in [m.get("name") for m in server.log()]
    assert resume(user, s)["result"] == {"ok": True, "data": "wiped disk"}
    s = run(user, "return (await tools.up.wipe({what: 'x'})).error.code")
    assert resume(user, s, "decline")["result"] == "approval_declined"
    assert [m.get("name") for m in server.log()].count("wipe") == 1


def test_several_at_once(user):
    s = run(user, "const t = await Promise.all([1, 2, 3, 4, 5].map(() => "
                  "tools.up.hold({ms: 100}))); return t.map(x => x.data)")
    assert s["result"] == ["held"] * 5


def test_listed_unaltered(user, server):
    stack = user.stack
    assert stack.admin("tool", "list-in", user.organization,
                       "up.add_numbers").returncode == 0
    try:
        tool, = [t for t in user.list_tools().result["tools"]
                 if t["name"] == "up_add_numbers"]
        assert tool["title"] == "Add"
        assert tool["annotations"] == {"readOnlyHint": True,
                                       "openWorldHint": False}
        assert tool["inputSchema"]["required"] == ["a", "b"]
        assert tool["outputSchema"]["properties"] == {
            "sum": {"type": "number"}}
        schema = stack.sql.one(
            "SELECT input_schema::text FROM mcp.tool WHERE organization_id ="
            " %s AND path = 'up.add_numbers'", user.organization)
        assert schema.encode() in user.list_tools().body
        r = user.call("tools/call", {"name": "up_add_numbers", "arguments": {
            "a": 1, "b": 2}}).result
        assert r["structuredContent"] == {"sum": 3}, r
    finally:
        stack.admin("tool", "unlist", user.organization, "up.add_numbers")


def test_refresh_changes_nothing_that_is_the_same(user):
    before = user.stack.sql.all("SELECT tool_id, path FROM mcp.tool WHERE "
                                "organization_id = %s ORDER BY path",
                                user.organization)
    r = user.stack.admin("source", "refresh", user.organization, "up")
    assert r.returncode == 0, r.stderr
    assert user.stack.sql.all("SELECT tool_id, path FROM mcp.tool WHERE "
                              "organization_id = %s ORDER BY path",
                              user.organization) == before


def test_what_is_sent(user, server):
    value(user, "return await tools.up.count()")
    last = [m for m in server.log() if m.get("method") == "tools/call"][-1]
    assert last["name"] == "count"
    if server.kind == "modern":
        assert last["version"] == "2026-07-28"
        assert last["session"] is None
        assert {"initialize", "notifications/initialized"}.isdisjoint(
            server.methods())
    else:
        assert last["version"] == "2025-11-25"
        assert last["session"]


def test_cancelled_upstream_too(user, server):
    """The server learns that nobody waits any more."""
    sql = user.stack.sql
    answers = []
    t = threading.Thread(target=lambda: answers.append(user.execute(
        "return await tools.up.hold({ms: 60000})")))
    t.start()
    execution = proc.wait_for(lambda: sql.one(
        "SELECT execution_id FROM mcp.execution_call JOIN mcp.execution "
        "USING (execution_id) WHERE organization_id = %s AND path = "
        "'up.hold' AND execution_call.status = 'running'",
        user.organization), about="the call")
    proc.wait_for(lambda: "hold" in [m.get("name") for m in server.log()][-2:],
                  about="the call at the server")
    r = user.stack.admin("execution", "cancel", execution)
    assert r.returncode == 0, r.stderr
    t.join(30)
    assert answers and answers[0]["isError"] is True, answers
    proc.wait_for(lambda: {"aborted": "hold"} in server.log(), 10,
                  about="the end at the server")


# Sessions of the legacy era.

def test_one_session_for_all(legacy):
    user = legacy.user
    for _ in range(3):
        assert value(user, "return (await tools.up.count()).ok")
    sessions = {m["session"] for m in legacy.log()
                if m.get("method") == "tools/call"}
    assert len(sessions) == 1
    row = user.stack.sql.row(
        "SELECT u.* FROM mcp.upstream_session u JOIN mcp.source s USING "
        "(source_id) WHERE s.organization_id = %s", user.organization)
    assert row["protocol_version"] == "2025-11-25"


def test_a_lost_session_is_begun_anew_once(legacy):
    user = legacy.user
    a = value(user, "return (await tools.up.count()).data")
    legacy.forget()
    n = len(legacy.log())
    s = run(user, "return (await tools.up.count()).data")
    assert int(s["result"]) == int(a) + 1
    assert [c["status"] for c in s["calls"]] == ["done"]
    assert [m["method"] for m in legacy.log()[n:]
            if m.get("http") == "POST"] == [
        "tools/call", "initialize", "notifications/initialized",
        "tools/call"]


def test_many_find_the_session_lost(legacy):
    user = legacy.user
    value(user, "return await tools.up.count()")
    legacy.forget()
    n = len(legacy.log())
    s = run(user, "const t = await Promise.all([1, 2, 3, 4].map(() => "
                  "tools.up.count())); return t.filter(x => x.ok).length")
    assert s["result"] == 4, s
    assert value(user, "return (await tools.up.count()).ok") is True
    # One session is left; the others were ended.
    new = legacy.log()[n:]
    begun = [m for m in new if m.get("method") == "initialize"]
    ended = [m for m in new if m.get("http") == "DELETE"]
    assert len(begun) - len(ended) == 1, new


def test_credentials_are_sent_and_missed(legacy):
    user = legacy.user
    sql = user.stack.sql
    r = proc.run([paths.program("mcp-admin"), "-c",
                  user.stack.front.conf_file, "secret", "set", "org-legacy",
                  "TOKEN"], input="another")
    assert r.returncode == 0
    try:
        e = error(user, "tools.up.count()")
        assert e["code"] == "unauthorized", e
        assert "another" not in repr(e)
    finally:
        proc.run([paths.program("mcp-admin"), "-c",
                  user.stack.front.conf_file, "secret", "set", "org-legacy",
                  "TOKEN"], input="the-token")
    assert value(user, "return (await tools.up.count()).ok") is True
    seen = user.stack.front.logs() + repr(sql.all(
        "SELECT * FROM mcp.call_recent"))
    assert "the-token" not in seen


# Servers as they are found.

@pytest.fixture(scope="module")
def wire():
    w = Wire()
    yield w
    w.close()


@pytest.fixture(scope="module")
def odd(stack_here, wire):
    u = stack_here.user().connect()
    u.stack = stack_here
    u.catalogue = tools.Catalogue(stack_here.sql, u.organization)
    u.catalogue.source("odd", "mcp", {"url": wire.url, "era": "legacy",
                                      "allow": ["127.0.0.0/8"]})
    u.catalogue.tool("odd", "act", {"name": "act"})
    u.catalogue.tool("odd", "look", {"name": "look"},
                     annotations={"readOnlyHint": True})
    return u


@pytest.fixture(autouse=True)
def fresh(request):
    if "wire" in request.fixturenames or "odd" in request.fixturenames:
        request.getfixturevalue("wire").reset()


@pytest.mark.parametrize("how", [
    "json", "sse", "json as sse", "sse as json", "json as html",
    "sse as nothing", "sse crlf", "sse in pieces", "sse without end",
    "sse with a request before", "json in an array", "json id as text"])
def test_answers_whatever_they_are_called(odd, wire, how):
    wire.how = how
    r = value(odd, "return await tools.odd.act({n: 7})")
    assert r == {"ok": True, "data": {"n": 7}}, r
    assert wire.calls == ["act"]


def test_a_stream_that_ends_without_an_answer(odd, wire):
    wire.how = "sse cut"
    s = run(odd, "return await tools.odd.act({})")
    e = s["result"]["error"]
    assert e["retryable"] is False
    assert s["calls"][0]["status"] == "unknown", s
    s = run(odd, "return await tools.odd.look({})")
    assert s["result"]["error"]["retryable"] is True
    assert s["calls"][0]["status"] == "failed"
    assert wire.calls == ["act", "look"]


def test_a_connection_that_ends(odd, wire):
    wire.how = "hang up"
    s = run(odd, "return await tools.odd.act({})")
    assert s["result"]["error"]["code"] == "unavailable", s
    assert s["calls"][0]["status"] == "unknown"
    assert wire.calls == ["act"]


LOST = [(404, "Session not found"), (400, "Bad Request: no valid session"),
        (401, "Unauthorized: unknown session")]


@pytest.mark.parametrize("status,text", LOST)
@pytest.mark.parametrize("tool", ["act", "look"])
def test_lost_by_status(odd, wire, status, text, tool):
    value(odd, "return await tools.odd.%s({n: 1})" % tool)
    wire.reset()
    wire.lose(status, text)
    r = value(odd, "return await tools.odd.%s({n: 2})" % tool)
    assert r == {"ok": True, "data": {"n": 2}}, r
    assert wire.methods == ["tools/call", "initialize",
                            "notifications/initialized", "tools/call"]


def test_lost_within_a_200(odd, wire):
    """It may have been the tool that said so: only what is safe is done
    again."""
    value(odd, "return await tools.odd.act({})")
    wire.reset()
    wire.lose(200, "Session not found")
    e = error(odd, "tools.odd.act({})")
    assert (e["code"], e["retryable"]) == ("session_lost", True)
    assert wire.methods.count("tools/call") == 1
    wire.reset()
    wire.lose(200, "Session not found")
    value(odd, "return await tools.odd.act({})")
    wire.reset()
    wire.lose(200, "Server not initialized")
    r = value(odd, "return await tools.odd.look({n: 3})")
    assert r["ok"] is True, r
    assert wire.methods.count("tools/call") == 2


@pytest.mark.parametrize("status,text", LOST)
def test_lost_again_and_again(odd, wire, status, text):
    value(odd, "return await tools.odd.act({})")
    wire.reset()
    wire.lose(status, text, always=True)
    e = error(odd, "tools.odd.act({})")
    assert e["code"] in ("upstream_error", "unauthorized"), e
    assert wire.methods.count("initialize") == 1
    assert wire.methods.count("tools/call") == 2


@pytest.mark.parametrize("status,code,state", [
    (500, "upstream_error", "unknown"), (429, "rate_limited", "failed"),
    (503, "unavailable", "failed"), (403, "unauthorized", "failed")])
def test_other_errors_are_not_repeated(odd, wire, status, code, state):
    value(odd, "return await tools.odd.act({})")
    wire.reset()
    wire.status = status
    s = run(odd, "return await tools.odd.act({})")
    assert s["result"]["error"]["code"] == code, s
    assert s["calls"][0]["status"] == state, s
    assert wire.methods == ["tools/call"]


@pytest.fixture
def silent(odd, wire):
    value(odd, "return await tools.odd.act({})")
    wire.reset()
    wire.how = "silence"
    odd.stack.sql.run(
        "UPDATE mcp.source SET config = config || '{\"timeout_ms\": 300}' "
        "WHERE organization_id = %s", odd.organization)
    yield
    odd.stack.sql.run(
        "UPDATE mcp.source SET config = config - 'timeout_ms' WHERE "
        "organization_id = %s", odd.organization)


def test_no_answer_in_time(odd, wire, silent):
    s = run(odd, "return await tools.odd.act({})")
    assert s["result"]["error"]["code"] == "timeout"
    assert s["calls"][0]["status"] == "unknown"
    assert wire.methods.count("tools/call") == 1


def test_what_is_not_waited_for_is_cancelled(odd, wire, silent):
    value(odd, "return await tools.odd.act({})")
    proc.wait_for(lambda: "notifications/cancelled" in wire.methods, 5,
                  about="the cancellation")


def test_nonsense(odd, wire):
    for how in ("nonsense", "nothing", "another id"):
        wire.reset()
        wire.how = how
        r = value(odd, "return await tools.odd.look({})")
        assert r["ok"] is False, (how, r)
        assert r["error"]["code"] != "internal_error", (how, r)
        assert "<html" not in repr(r)


def test_a_server_that_is_not_there(odd):
    odd.catalogue.source("gone", "mcp", {
        "url": "http://127.0.0.1:%d/mcp" % proc.free_port(),
        "allow": ["127.0.0.0/8"]})
    odd.catalogue.tool("gone", "act", {"name": "act"})
    s = run(odd, "return await tools.gone.act({})")
    e = s["result"]["error"]
    assert (e["code"], e["retryable"]) == ("unavailable", True)
    assert s["calls"][0]["status"] == "failed"
