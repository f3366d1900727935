# SPDX-License-Identifier: ISC
"""Goal of this test: programs call tools: results, errors, searching, what
is blocked, several at once, limits, and the ledger of all of it."""

import json
import time

import pytest

from lib import tools
from lib.cluster import Sql
from lib.upstream import Upstream


@pytest.fixture(scope="module")
def api():
    u = Upstream()
    yield u
    u.close()


@pytest.fixture(scope="module")
def env(make_stack, front_kind, root, api):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 3000, "calls_max": 40,
        "keyring_dir": tools.keyring(root, "keys-calls-" + front_kind)})
    u = s.user().connect()
    c = tools.Catalogue(s.sql, u.organization)
    tools.http_api(c, "api", api.url, approve_post=False)
    c.source("util", "script")
    c.script("util", "double", "return args.n * 2", description="Double n.",
             schema={"type": "object",
                     "properties": {"n": {"type": "integer"}},
                     "required": ["n"]})
    c.script("util", "both", "const a = await tools.api.get({id: 'in'});"
             "return {data: a.data.path, out: await tools.util.double({n: 4})}")
    c.script("util", "bad", "throw new Error('script says no')")
    c.tool("api", "secret.thing", {"method": "GET", "path": "/secret"})
    c.policy("api.secret.*", "block")
    u.stack = s
    u.catalogue = c
    return u


def run(user, code):
    r = user.execute(code)
    assert not r.get("isError"), r
    return r["structuredContent"]


def value(user, code):
    return run(user, code)["result"]


def test_a_call(env, api):
    s = run(env, "return await tools.api.get({id: 'x y'})")
    assert s["result"]["ok"] is True, s
    assert s["result"]["data"]["path"] == "/get/x%20y"
    call, = s["calls"]
    assert (call["seq"], call["path"], call["status"]) == (
        1, "api.get", "done")
    assert call["ms"] >= 0
    row = env.stack.sql.row("SELECT * FROM mcp.execution WHERE "
                            "execution_id = %s", s["executionId"])
    assert (row["status"], row["outcome"]) == ("completed", "finished")
    call = env.stack.sql.row("SELECT * FROM mcp.execution_call WHERE "
                             "execution_id = %s", s["executionId"])
    assert call["status"] == "done"
    assert json.loads(call["args"]) == {"id": "x y"}
    assert call["started_at"] <= call["ended_at"]


def test_a_program_without_calls_is_no_row(env):
    n = env.stack.sql.one("SELECT count(*) FROM mcp.execution")
    assert value(env, "return 1") == 1
    assert env.stack.sql.one("SELECT count(*) FROM mcp.execution") == n


def test_scripts(env):
    assert value(env, "return await tools.util.double({n: 21})") == {
        "ok": True, "data": 42}
    s = run(env, "return (await tools.util.both()).data")
    assert s["result"] == {"data": "/get/in", "out": {"ok": True, "data": 8}}
    assert [c["path"] for c in s["calls"]] == ["util.both", "api.get",
                                               "util.double"]
    assert {c["status"] for c in s["calls"]} == {"done"}
    e = value(env, "return (await tools.util.bad()).error")
    assert "script says no" in e["message"]


def test_unknown_and_blocked_look_alike(env):
    e = value(env, "return (await tools.api.gett({id: '1'})).error")
    assert e["code"] == "tool_not_found"
    assert "api.get" in e["details"]["suggestions"]
    e = value(env, "return (await tools.api.secret.thing()).error")
    assert e["code"] == "tool_not_found"
    assert "block" not in repr(e)
    found = value(env, "return await tools.search({namespace: 'api'})")
    paths = [i["path"] for i in found["items"]]
    assert paths[:2] == ["api.get", "api.post"]
    assert "api.secret.thing" not in paths
    d = value(env, "return await tools.describe('api.secret.thing')")
    assert d["error"]["code"] == "tool_not_found"


def test_search_and_describe(env):
    found = value(env, "return await tools.search({query: 'double'})")
    assert found["items"][0]["path"] == "util.double"
    assert (found["hasMore"], found["nextOffset"]) == (False, None)
    d = value(env, "return await tools.describe({path: 'util.double'})")
    assert d["description"] == "Double n."
    assert "inputTypeScript" in d, d
    assert "n: number" in d["inputTypeScript"]


def test_arguments_are_checked(env, api):
    n = len(api.calls)
    e = value(env, "return (await tools.api.get({id: 5})).error")
    assert e["code"] == "invalid_tool_arguments", e
    e = value(env, "return (await tools.api.get({})).error")
    assert e["code"] == "invalid_tool_arguments", e
    assert len(api.calls) == n


def test_arguments_that_no_ledger_takes(env, api):
    n = len(api.calls)
    r = env.execute("await tools.api.get({id: 'a\\0b'})")
    assert r["isError"] is True
    assert "NUL" in r["content"][0]["text"]
    assert len(api.calls) == n


def test_ten_at_once_take_as_long_as_one(env, api):
    api.delay_s = 0.4
    try:
        start = time.monotonic()
        assert value(env, """
            const all = await Promise.all(Array.from({length: 10},
                (_, i) => tools.api.get({id: String(i)})));
            return all.every(r => r.ok)""") is True
        assert time.monotonic() - start < 1.6
    finally:
        api.delay_s = 0


def test_time_of_calls_is_not_the_programs(env, api):
    api.delay_s = 4
    try:
        e = value(env, "return (await tools.api.get({id: 'slow'})).error")
        assert e["code"] == "timeout", e
        s = run(env, "return (await tools.api.post({id: 'slow'})).error")
        assert s["calls"][0]["status"] == "unknown", s
    finally:
        api.delay_s = 0


def test_too_many_calls(env):
    r = env.execute("for (let i = 0; i < 60; i++) "
                    "await tools.util.double({n: i})")
    assert r["isError"] is True
    s = r["structuredContent"]
    assert len(s["calls"]) == 40
    assert "too many tool calls" in s["error"]


def test_a_call_that_nobody_awaits_is_noted(env, api):
    s = run(env, "tools.api.post({id: 'left'}); return 1")
    assert s["calls"][0]["status"] in ("done", "cancelled"), s


def test_a_failure_lists_the_calls(env):
    r = env.execute("await tools.util.double({n: 1}); throw new Error('x')")
    assert r["isError"] is True
    assert "util.double: done" in r["content"][0]["text"]


def test_listed_tools(env, api):
    schema = '{"type": "object",  "properties": {"id": {"type": "string"}}}'
    names = [t["name"] for t in env.list_tools().result["tools"]]
    assert names == ["execute", "resume"]
    env.catalogue.tool("api", "shown", {
        "method": "GET", "path": "/get/{id}",
        "params": [{"name": "id", "in": "path", "required": True}]},
        schema, listed=True, title="Shown", description="d",
        annotations={"readOnlyHint": True},
        output='{"type": "object"}')
    a = env.list_tools()
    assert schema.encode() in a.body
    tool = a.result["tools"][-1]
    assert tool == {"name": "api_shown", "title": "Shown", "description": "d",
                    "inputSchema": json.loads(schema),
                    "outputSchema": {"type": "object"},
                    "annotations": {"readOnlyHint": True}}
    assert a.body == env.list_tools().body
    for name in ("api_shown", "api.shown"):
        r = env.call("tools/call", {"name": name, "arguments": {
            "id": "direct"}}).result
        assert not r.get("isError"), r
        assert r["structuredContent"]["path"] == "/get/direct"
        assert json.loads(r["content"][0]["text"]) == r["structuredContent"]
    r = env.call("tools/call", {"name": "api_shown", "arguments": {
        "id": 7}}).result
    assert r["isError"] is True
    env.stack.sql.run("UPDATE mcp.tool SET is_listed = false "
                      "WHERE organization_id = %s", env.organization)
    names = [t["name"] for t in env.list_tools().result["tools"]]
    assert names == ["execute", "resume"]
    a = env.call("tools/call", {"name": "api_shown", "arguments": {}})
    assert a.error["code"] == -32602


def test_a_listed_script(env):
    env.catalogue.script("util", "shown", "return {sum: args.a + 1}",
                         listed=True)
    r = env.call("tools/call", {"name": "util_shown",
                                "arguments": {"a": 1}}).result
    assert r["structuredContent"] == {"sum": 2}, r
    env.stack.sql.run("UPDATE mcp.tool SET is_listed = false "
                      "WHERE organization_id = %s", env.organization)


def test_another_server_of_ours_as_upstream(env):
    other = env.stack.user()
    c = tools.Catalogue(env.stack.sql, other.organization)
    c.source("far", "script")
    c.script("far", "sum", "return {sum: args.a + args.b}", listed=True)
    env.catalogue.source("up", "mcp", {
        "url": "http://127.0.0.1:%d/mcp" % env.stack.front.port,
        "allow": ["127.0.0.0/8"],
        "headers": {"Authorization": "Bearer " + other.token}})
    env.catalogue.tool("up", "sum", {"name": "far_sum"})
    for a in (1, 2):
        s = run(env, "return await tools.up.sum({a: %d, b: 2})" % a)
        assert s["result"] == {"ok": True, "data": {"sum": a + 2}}, s
    assert env.stack.n_sessions(other) == 1
    env.stack.sql.run("DELETE FROM mcp.session WHERE account_id = %s",
                      other.account)
    s = run(env, "return await tools.up.sum({a: 5, b: 2})")
    assert s["result"] == {"ok": True, "data": {"sum": 7}}, s
    e = value(env, "return (await tools.up.sum({a: 5, b: 'x'})).data.sum")
    assert e == "5x"


def test_images_become_content_blocks(env):
    env.catalogue.tool("api", "image", {"method": "GET", "path": "/image"})
    env.catalogue.tool("api", "ask", {"method": "GET", "path": "/get/1"},
                       approve=True)
    r = env.execute("const i = await tools.api.image();"
                    "return i.data.mimeType")
    assert r["structuredContent"]["result"] == "image/png", r
    text, image = r["content"]
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    r = env.execute("await tools.api.image(); await tools.api.image();"
                    "await tools.api.ask(); return 1")
    x = r["structuredContent"]["executionId"]
    r = env.call("tools/call", {"name": "resume", "arguments": {
        "executionId": x, "action": "accept"}}).result
    assert [c["type"] for c in r["content"]] == ["text", "image", "image"]


def test_one_round_trip_with_a_catalogue(env):
    stack = env.stack
    for _ in range(40):
        env.list_tools()                # every process has the texts
    with Sql(stack.cluster.dsn(stack.database)) as sql:
        sql.one("SELECT pg_stat_statements_reset()")
        for _ in range(20):
            assert env.list_tools().status == 200
            assert env.call("ping").status == 200
        n = sql.one(
            "SELECT sum(calls)::int FROM pg_stat_statements s JOIN pg_roles "
            "r ON r.oid = s.userid WHERE r.rolname = 'e2e_responder' AND "
            "s.dbid = (SELECT oid FROM pg_database WHERE datname = "
            "current_database())")
    assert n == 40, n


def test_organisations_do_not_see_each_other(env):
    other = env.stack.user().connect()
    tools.Catalogue(env.stack.sql, other.organization).source("own", "script")
    e = value(other, "return (await tools.api.get({id: '1'})).error")
    assert e["code"] == "tool_not_found"
    assert "suggestions" not in e.get("details", {})


def test_no_catalogue_no_tools(env):
    other = env.stack.user().connect()
    r = other.execute("return await tools.api.get({id: '1'})")
    assert r["isError"] is True
    assert [t["name"] for t in other.list_tools().result["tools"]] == [
        "execute"]
