# SPDX-License-Identifier: ISC
"""Goal of this test: what programs, upstream servers, impatient approvers and
careless administrators can do to the calls of a run comes to nothing."""

import base64
import json
import os
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib import paths, proc, tools
from lib.upstream import Upstream

SECRET = "s3cr/t+key=with \"odd\" chars & more"


class Mirror:
    """Answers with what it was sent, spelt in the way the path asks for."""

    def __init__(self):
        self.seen = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                mirror.seen.append(self.path)
                key = self.headers.get("x-key") or ""
                how = self.path.split("?")[0].rsplit("/", 1)[-1]
                data = {
                    "plain": key,
                    "json": json.dumps({"key": key}),
                    "slashes": json.dumps({"key": key}).replace("/", "\\/"),
                    "query": self.path,
                    "form": urllib.parse.urlencode({"key": key}),
                    "quoted": urllib.parse.quote(key, safe=""),
                    "lower": re.sub("%..", lambda m: m[0].lower(),
                                    urllib.parse.quote(key, safe="")),
                    "html": key.replace("&", "&amp;").replace(
                        '"', "&quot;"),
                    "base64": base64.b64encode(key.encode()).decode(),
                }.get(how, "nothing").encode()
                self.send_response(418 if how == "query" else 200)
                self.send_header("content-type", "application/json"
                                 if how in ("json", "slashes")
                                 else "text/plain")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def api():
    u = Upstream()
    yield u
    u.close()


@pytest.fixture(scope="module")
def mirror():
    m = Mirror()
    yield m
    m.close()


@pytest.fixture(scope="module")
def user(make_stack, front_kind, root, api, mirror):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 5000,
        "keyring_dir": tools.keyring(root, "keys-break-" + front_kind)})
    u = s.user().connect()
    c = tools.Catalogue(s.sql, u.organization)
    tools.http_api(c, "api", api.url)
    c.tool("api", "secret.thing", {"method": "GET", "path": "/secret"},
           listed=True)
    c.policy("api.secret.*", "block")
    c.source("util", "script")
    c.script("util", "ask", "return await ctx.elicit({message: 'Well?'})")
    c.script("util", "go", "return 'as asked'", approve=True)
    u.stack = s
    u.catalogue = c
    return u


def value(user, code):
    r = user.execute(code)
    assert not r.get("isError"), r
    return r["structuredContent"]["result"]


def waits(r):
    assert not r.get("isError"), r
    s = r["structuredContent"]
    assert s["status"] == "waiting_for_interaction", r
    return s


def resume(user, x, action="accept", timeout=45, **more):
    arguments = {"executionId": x["executionId"], "action": action}
    arguments.update(more)
    return user.call("tools/call", {"name": "resume", "arguments": arguments},
                     timeout=timeout).result


def done(r):
    assert not r.get("isError"), r
    assert r["structuredContent"]["status"] == "completed", r
    return r["structuredContent"]["result"]


def post(user, name):
    return waits(user.execute(
        "const r = await tools.api.post({id: '%s', body: {v: 1}});"
        "return r.ok ? r.data.path : r.error.code" % name))


@pytest.mark.parametrize("path", [
    "API.secret.thing", "api.SECRET.thing", "api.secret.thing.",
    "api..secret.thing", ".api.secret.thing", "api.secret.thing\\u0000",
    "api.secret.thing\\n", " api.secret.thing", "api.secret.thing%00",
    "api.\\uff53ecret.thing", "api/secret/thing", "api.secret.*", "*",
    "api.secret", "$search", "$elicit", "$", "$describe.x", "__proto__",
    "constructor.constructor", "toString", "api.__proto__.get"])
def test_names_do_not_get_around_a_policy(user, api, path):
    n = len(api.calls)
    v = value(user, """
        const out = [];
        for (const f of [() => tools["%s"]({}),
                () => "%s".split('.').reduce((t, k) => t[k], tools)({})]) {
            try { out.push(await f()) } catch (e) { out.push(String(e)) }
        }
        return out""" % (path, path))
    assert len(api.calls) == n, v
    for got in v:
        if isinstance(got, dict) and got.get("ok"):
            # search and describe by another name are what they are
            assert "secret" not in json.dumps(got), got
    r = user.execute("return await tools.describe({path: \"%s\"})" % path)
    assert "inputTypeScript" not in json.dumps(r), r


def test_blocked_tools_show_nowhere(user):
    found = value(user, """
        const out = [];
        for (const query of ['secret', 'thing', 'secret thing', 'secrt',
                'api.secret.thing', '', 'GET'])
            for (const namespace of [undefined, 'api', 'api.secret'])
                out.push(await tools.search({query, namespace, limit: 100}));
        for (const p of ['api.secret.thin', 'api.secret.things',
                'secret.thing', 'apisecretthing'])
            out.push(await tools.describe({path: p}));
        return out""")
    for i in found:
        assert "api.secret.thing" not in [
            t["path"] for t in i.get("items", [])], i
        assert "api.secret.thing" not in json.dumps(
            (i.get("error") or {}).get("details") or {}), i
    assert "api.secret.thing" not in repr(user.list_tools().result)
    a = user.call("tools/call", {"name": "api.secret.thing",
                                 "arguments": {}})
    assert a.error or a.result.get("isError"), a


CHANGES = {
    "another method": "UPDATE mcp.tool SET definition = replace("
                      "definition::text, '\"POST\"', '\"DELETE\"')::json",
    "another path": "UPDATE mcp.tool SET definition = replace("
                    "definition::text, '/post/', '/other/')::json",
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_tool_than_was_approved(user, api, what):
    t = user.stack.sql.row(
        "SELECT tool_id, definition::text FROM mcp.tool WHERE "
        "organization_id = %s AND path = 'api.post'", user.organization)
    x = post(user, "toctou")
    n = len(api.calls)
    user.stack.sql.run(CHANGES[what] + " WHERE tool_id = %s", t["tool_id"])
    try:
        assert done(resume(user, x)) == "tool_changed"
        assert len(api.calls) == n
    finally:
        user.stack.sql.run("UPDATE mcp.tool SET definition = %s WHERE "
                           "tool_id = %s", t["definition"], t["tool_id"])
    x = post(user, "toctou2")
    assert done(resume(user, x)) == "/post/toctou2"


def test_another_place_than_was_approved(user, api, mirror):
    x = post(user, "moved")
    n, m = len(api.calls), len(mirror.seen)
    for url, want in ((mirror.url, "tool_changed"), (api.url, None)):
        user.stack.sql.run(
            "UPDATE mcp.source SET config = %s WHERE organization_id = %s "
            "AND name = 'api'", json.dumps({"base_url": url, "allow": [
                "127.0.0.0/8"]}), user.organization)
        if want:
            assert done(resume(user, x)) == want
            assert (len(api.calls), len(mirror.seen)) == (n, m)


def test_another_script_than_was_approved(user):
    x = waits(user.execute("const r = await tools.util.go();"
                           "return r.ok ? r.data : r.error.code"))
    user.stack.sql.run(
        "UPDATE mcp.tool SET definition = %s WHERE organization_id = %s AND "
        "path = 'util.go'", json.dumps({"body": "return 'something else'"}),
        user.organization)
    assert done(resume(user, x)) == "tool_changed"


def test_what_is_too_long_to_be_shown_says_so(user, api):
    x = waits(user.execute(
        "const r = await tools.api.post({id: 'long', body: {first: 'word',"
        " rest: 'x'.repeat(200000), last: 'word'}}); return r.ok"))
    i = x["interaction"]
    assert i["args"] is None
    assert i["argsPreview"].startswith('{"id":"long","body":{"first":"word"')
    assert i["argsBytes"] > 200000
    again = waits(user.call("tools/call", {"name": "execute", "arguments": {
        "code": """
        const [a, b] = await Promise.all([
            tools.api.post({id: 'l1', body: 'x'.repeat(100000)}),
            tools.api.post({id: 'l2', body: 'y'.repeat(100000)})]);
        return [a.ok, b.ok]"""}}).result)
    for n in (0, 1):            # without a seq: shown once more; then one
        again = waits(resume(user, again, "decline", **(
            {"seq": again["interactions"][0]["seq"]} if n else {})))
        assert all("argsPreview" in i for i in again["interactions"]), again
    assert done(resume(user, again, "decline",
                       seq=again["interaction"]["seq"])) == [False, False]
    assert done(resume(user, x, "decline")) is False


@pytest.mark.parametrize("value_", [
    "x/../../admin", "../admin", "..\\\\admin", "a/..", "./a", "a/./b",
    "a\\\\..\\\\b"])
def test_values_do_not_climb_out_of_a_path(user, api, value_):
    n = len(api.calls)
    v = value(user, "return await tools.api.get({id: '%s'})" % value_)
    assert v["ok"] is False, v
    assert v["error"]["code"] == "invalid_arguments", v
    assert len(api.calls) == n


def test_values_with_slashes_and_dots_are_values(user, api):
    v = value(user, "return await tools.api.get({id: 'feature/a..b/...'})")
    assert v["data"]["path"] == "/get/feature%2Fa..b%2F..."


@pytest.fixture(scope="module")
def secretive(user, mirror):
    r = proc.run([paths.program("mcp-admin"), "-c",
                  user.stack.front.conf_file, "secret", "set",
                  user.organization, "KEY"], input=SECRET + "\n")
    assert r.returncode == 0, r.stderr
    user.catalogue.source("mirror", "http", {
        "base_url": mirror.url, "allow": ["127.0.0.0/8"],
        "headers": {"X-Key": {"secret": "KEY"}},
        "query": {"key": {"secret": "KEY"}}})
    for how in ("plain", "json", "slashes", "query", "form", "quoted",
                "lower", "html", "base64"):
        user.catalogue.tool("mirror", how, {"method": "GET",
                                            "path": "/" + how})
    return user


@pytest.mark.parametrize("how", ["plain", "json", "slashes", "query", "form",
                                 "quoted", "lower", "base64"])
def test_secrets_that_come_back(secretive, how):
    r = secretive.execute("return await tools.mirror.%s()" % how)
    text = json.dumps(r)
    assert "[secret]" in text, r
    for form in (SECRET, "s3cr", "czNj"):
        assert form not in text, r
    row = secretive.stack.sql.all("SELECT c::text AS t FROM "
                                  "mcp.execution_call c")
    for got in row:
        assert "s3cr" not in got["t"], got


def test_many_words_for_one_question(user, api):
    x = post(user, "once")
    answers = []
    threads = [threading.Thread(target=lambda i=i: answers.append(
        resume(user, x, "accept" if i % 3 else "decline")))
        for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    ends = {json.dumps(done(a)) for a in answers if not a.get("isError")}
    assert ends <= {'"/post/once"', '"approval_declined"'}
    assert len(ends) == 1, ends
    assert api.paths().count("/post/once") <= 1


def test_ten_thousand_calls_nobody_waits_for(user, api):
    r = user.execute("for (let i = 0; i < 10000; i++)"
                     "  try { tools.api.get({id: 'f' + i}) } catch (e) {}"
                     "return 'end'")
    assert len([p for p in api.paths() if p.startswith("/get/f")]) <= 200
    assert r["structuredContent"]["status"] in ("completed", "error"), r
    assert value(user, "return 1") == 1


def test_listed_tools_do_not_take_a_name_twice(user, api):
    user.stack.sql.run("UPDATE mcp.tool SET is_listed = true WHERE "
                       "organization_id = %s AND path = 'api.get'",
                       user.organization)
    n = len(api.calls)
    a = user.post('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                  '{"name":"api.get","arguments":{"id":"a","id":"b"}}}')
    assert len(api.calls) == n, a


ROLES = """
CREATE ROLE {0}_in NOLOGIN; GRANT mcp_admin TO {0}_in;
CREATE ROLE {0}_out NOLOGIN;
GRANT {0}_in, {0}_out, mcp_admin, mcp_owner TO e2e_responder;
CREATE SCHEMA {0}; GRANT USAGE ON SCHEMA {0} TO PUBLIC;
CREATE FUNCTION {0}.who() RETURNS text STABLE LANGUAGE sql AS
    'SELECT current_user::text';
"""


def test_roles_that_may_use_the_server_s_own_schema(user):
    sql = user.stack.sql
    name = "breakroles_" + user.stack.name.replace("-", "_")
    sql.run(ROLES.format(name))
    d = {"schema": name, "function": "who", "arg_names": [],
         "arg_types": [], "optional": 0, "volatile": False,
         "returns_set": False, "returns": "text"}
    try:
        for i, (role, may) in enumerate((
                (name + "_out", True), (name + "_in", False),
                ("mcp_admin", False), ("mcp_owner", False),
                ("mcp_responder", False), ("e2e_responder", False))):
            user.catalogue.source("role%d" % i, "sql", {"role": role})
            user.catalogue.tool("role%d" % i, "who", d)
            v = value(user, "return await tools.role%d.who()" % i)
            assert v["ok"] is may, (role, v)
            if not may:
                assert v["error"]["code"] == "tool_misconfigured", v
    finally:
        sql.run("REVOKE mcp_admin, mcp_owner FROM e2e_responder")
        sql.run("DROP SCHEMA %s CASCADE" % name)
        sql.run("DROP ROLE %s_in, %s_out" % (name, name))


def test_an_answer_of_any_size(user):
    code = ("const r = await tools.util.ask(); "
            "return [r.ok, r.data?.content?.s?.length]")
    for n in (1000, 1000000, 1100000, 3000000):
        x = waits(user.execute(code))
        a = user.call("tools/call", {"name": "resume", "arguments": {
            "executionId": x["executionId"], "action": "accept",
            "content": {"s": "x" * n}}}, timeout=45)
        assert a.status == 200, a
        assert a.result, a
        if a.result.get("isError"):
            assert n > 1000000
            assert a.result["structuredContent"]["status"] == \
                "invalid_content", a.result
            assert done(resume(user, x, "decline"))[0] is True
        else:
            assert done(a.result) == [True, n]


def test_words_beside_the_reaper(user, api):
    """Deadlines, words and the reaper at the same moment: each call once."""
    n = 24
    runs = [post(user, "r%d" % i) for i in range(n)]
    user.stack.sql.run(
        "UPDATE mcp.execution_call SET deadline_at = now() + "
        "make_interval(secs => 1.5 * seq * random()) WHERE execution_id = "
        "ANY (%s::uuid[])", [x["executionId"] for x in runs])
    user.stack.sql.run(
        "UPDATE mcp.execution e SET alarm_at = mcp.execution_alarm("
        "e.execution_id, e.deadline_at) WHERE e.status = 'waiting'")
    stop = threading.Event()

    def reap():
        while not stop.is_set():
            proc.run([paths.program("mcp-reaper"), "-c",
                      user.stack.front.conf_file], input="")

    reaper = threading.Thread(target=reap)
    reaper.start()
    ends = [None] * n
    try:
        def word(i):
            ends[i] = resume(user, runs[i])

        for i in range(0, n, 4):
            some = [threading.Thread(target=word, args=(k,))
                    for k in range(i, i + 4) for _ in range(2)]
            for t in some:
                t.start()
            for t in some:
                t.join()
    finally:
        stop.set()
        reaper.join()
    sent = api.paths()
    for i in range(n):
        r = ends[i]
        if r["structuredContent"]["status"] != "completed":
            r = resume(user, runs[i])
        end = done(r)
        assert sent.count("/post/r%d" % i) == (
            0 if end == "approval_declined" else 1), (i, end)


def test_what_a_script_and_a_program_see_of_each_other(user):
    user.catalogue.script("util", "spy", """
        const out = [];
        const f = args.constructor.constructor;
        out.push(typeof f('return globalThis')().planted);
        out.push(typeof Object.prototype.planted);
        globalThis.left = 1; Object.prototype.left = 1;
        Array.prototype.map = () => 'mine';
        Promise.prototype.then = undefined;
        return out""")
    v = value(user, """
        globalThis.planted = 1; Object.prototype.planted = 1;
        const parse = JSON.parse, seen = [];
        JSON.parse = function (s) { seen.push(s); return parse(s) };
        const r = await tools.util.spy({a: {b: 1}});
        return [r.data, typeof globalThis.left, typeof ({}).left,
            [1].map(x => x), typeof r.constructor.constructor(
                'return globalThis.left')(), r.data instanceof Array]""")
    assert v == [["undefined", "undefined"], "undefined", "undefined", [1],
                 "undefined", True]


def test_who_approves_on_a_terminal_sees_it_all(user):
    x = waits(user.execute(
        "const r = await tools.api.post({id: 'cli\\u202eabc\\u009b2J', "
        "body: {long: 'l'.repeat(300), last: 'the end'}}); return r.ok"))
    r = proc.run([paths.program("mcp-admin"), "-c",
                  user.stack.front.conf_file, "execution", "show",
                  x["executionId"]], input="")
    assert r.returncode == 0, r.stderr
    assert "l" * 300 in r.stdout and "the end" in r.stdout, r.stdout
    assert "\\u202e" in r.stdout and "\u202e" not in r.stdout
    assert "\u009b" not in r.stdout
    assert done(resume(user, x, "decline")) is False


def test_a_key_that_is_away_for_a_while(user, api):
    keys = user.stack.front.conf["keyring_dir"]
    x = post(user, "key")
    old = os.path.join(keys, "2026-01-01")
    away = keys + "-away"
    new = os.path.join(keys, "2026-02-01")
    with open(new, "w") as f:
        f.write("ab" * 32 + "\n")
    proc.hand_over_file(new, 0o640)
    os.rename(old, away)
    time.sleep(6)               # the keys in hand go
    try:
        deadline = time.monotonic() + 15
        n = 0
        while n < 6 and time.monotonic() < deadline:
            r = resume(user, x)
            if r["structuredContent"]["status"] == "completed":
                pytest.skip("a responder still had the key")
            assert "has not the key" in r["structuredContent"]["error"], r
            n += 1
        assert n == 6
        assert "/post/key" not in api.paths()
    finally:
        os.rename(away, old)
        os.remove(new)
    time.sleep(3)
    assert done(resume(user, x)) == "/post/key"
    assert api.paths().count("/post/key") == 1
