# SPDX-License-Identifier: ISC
"""Goal of this test: the operations of an OpenAPI document are tools. Their
arguments go where the document says, what needs a word waits for it, what
the service answers (or fails to) is told plainly, its secrets stay where they
are, and every call is a row."""

import base64
import json
import threading

import pytest

from lib import paths, proc, tools
from lib.api import PNG, Api
from lib.cluster import Sql

ANY_FRONT = True

SECRET = "s3cr3t-\"0f\"-api-7d1e"
ELSEWHERE = "key-in-query-55aa"


@pytest.fixture(scope="module")
def api():
    a = Api()
    yield a
    a.close()


@pytest.fixture(scope="module")
def other():
    """Another service on loopback."""
    a = Api()
    yield a
    a.close()


@pytest.fixture(scope="module")
def env(make_stack, front_kind, root, api):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 20000,
        "call_result_max_bytes": 200000, "log_level": "debug",
        "keyring_dir": tools.keyring(root, "keys-http-" + front_kind)})
    u = s.user().connect()
    u.stack = s
    u.catalogue = tools.Catalogue(s.sql, u.organization)
    for name, value in (("API", SECRET), ("KEY", ELSEWHERE)):
        r = proc.run([paths.program("mcp-admin"), "-c", s.front.conf_file,
                      "secret", "set", u.organization, name], input=value)
        assert r.returncode == 0, r.stderr
    r = s.admin("source", "add", "openapi", u.organization, "things",
                api.url + "/openapi.json", "--allow", "127.0.0.0/8",
                "--header", "Authorization: Bearer secret:API",
                "--query", "key=secret:KEY")
    assert r.returncode == 0, r.stdout + r.stderr
    u.imported = r.stdout
    return u


@pytest.fixture(autouse=True)
def fresh(api):
    proc.wait_for(lambda: api.now == 0, about="answers to nobody")
    api.gate.clear()
    api.forget()


def run(user, code):
    r = user.execute(code)
    assert not r.get("isError"), r
    return r["structuredContent"]


def value(user, code):
    return run(user, code)["result"]


def data(user, call):
    r = value(user, "return await tools.things.things.%s" % call)
    assert r["ok"] is True, r
    return r["data"]


def error(user, call):
    r = value(user, "return await tools.things.things.%s" % call)
    assert r["ok"] is False, r
    return r["error"]


def ledger(user, execution):
    return user.stack.sql.all(
        "SELECT * FROM mcp.execution_call WHERE execution_id = %s "
        "ORDER BY seq", execution)


def resume(user, s, action="accept"):
    r = user.call("tools/call", {"name": "resume", "arguments": {
        "executionId": s["executionId"], "action": action}}).result
    assert not r.get("isError"), r
    return r["structuredContent"]


# What was imported.

def test_tools_of_the_document(env):
    found = value(env, "return await tools.search({namespace: 'things', "
                       "limit: 100})")
    paths_found = [i["path"] for i in found["items"]]
    assert "things.things.getItem" in paths_found
    assert found["total"] == len(paths_found) == 18, found
    approve = env.stack.sql.all(
        "SELECT path, needs_approval, definition FROM mcp.tool WHERE "
        "organization_id = %s AND path LIKE 'things.%%'", env.organization)
    for row in approve:
        assert row["needs_approval"] == (
            row["definition"]["method"] not in ("GET", "HEAD")), row
    d = value(env, "return await tools.describe('things.things.createItem')")
    assert "title: string" in d["inputTypeScript"], d
    assert d["needsApproval"] is True


# Where arguments go.

def asked(api):
    (method, target, headers, body), = api.asked
    return method, target, headers, body


def test_placement(env, api):
    data(env, "getItem({id: 'a/b c', verbose: true, fields: ['x', 'y z'], "
              "filter: {state: 'open'}, 'X-Trace': 't-1'})")
    method, target, headers, body = asked(api)
    assert method == "GET"
    path, query = target.split("?")
    assert path == "/v1/items/a%2Fb%20c"
    assert set(query.split("&")) == {
        "verbose=true", "fields=x,y%20z", "filter[state]=open",
        "key=" + ELSEWHERE}
    assert headers["x-trace"] == "t-1"
    assert headers["authorization"] == "Bearer " + SECRET
    assert body == b""


def test_absent_arguments_are_not_sent(env, api):
    data(env, "getItem({id: '1'})")
    _, target, headers, _ = asked(api)
    assert target == "/v1/items/1?key=" + ELSEWHERE
    assert "x-trace" not in headers
    assert "content-type" not in headers


@pytest.mark.parametrize("args,what", [
    ("{}", "id"), ("{id: 1}", "id"), ("{id: '1', verbose: 'yes'}", "verbose"),
    ("{id: '1', fields: 'x'}", "fields")])
def test_arguments_are_checked_first(env, api, args, what):
    s = run(env, "return (await tools.things.things.getItem(%s)).error" %
            args)
    assert s["result"]["code"] == "invalid_tool_arguments", s
    assert what in s["result"]["message"] + repr(s["result"]["details"])
    assert api.asked == []


@pytest.mark.parametrize("id", [".", ".."])
def test_a_path_does_not_go_up(env, api, id):
    assert error(env, "getItem({id: '%s'})" % id)[
        "code"] == "invalid_arguments"
    assert api.asked == []


def test_header_injection(env, api):
    e = error(env, r"getItem({id: '1', 'X-Trace': 'a\r\nX-Evil: 1'})")
    assert e["code"] in ("invalid_arguments", "invalid_request"), e
    assert api.asked == []


def test_a_body_waits_for_a_word(env, api):
    code = ("const r = await tools.things.things.createItem({dry: false, "
            "body: {title: 'T\u00e9', tags: ['a']}}); return r.data")
    s = run(env, code)
    assert s["status"] == "waiting_for_interaction", s
    assert s["interaction"]["tool"] == "things.things.createItem"
    assert s["interaction"]["args"] == {
        "dry": False, "body": {"title": "T\u00e9", "tags": ["a"]}}
    assert "POST" in s["interaction"]["message"], s
    assert api.asked == []
    s = resume(env, s)
    method, target, headers, body = asked(api)
    assert (method, target) == ("POST", "/v1/items?dry=false&key=" +
                                ELSEWHERE)
    assert headers["content-type"].startswith("application/json")
    assert json.loads(body) == {"title": "T\u00e9", "tags": ["a"]}
    assert s["result"]["method"] == "POST"


def test_declined_is_not_sent(env, api):
    s = run(env, "return (await tools.things.things.deleteItem({id: '1'}))"
                 ".error.code")
    assert resume(env, s, "decline")["result"] == "approval_declined"
    assert api.asked == []


def test_a_bad_body_asks_nobody(env, api):
    e = error(env, "createItem({body: {tags: []}})")
    assert e["code"] == "invalid_tool_arguments"
    assert error(env, "createItem({})")["code"] == "invalid_tool_arguments"


def test_a_form(env, api):
    s = resume(env, run(env, "return await tools.things.things.sendForm("
                             "{body: {a: 'x & y'}})"))
    assert s["result"]["ok"] is True, s
    _, _, headers, body = asked(api)
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    assert body == b"a=x+%26+y"


# What comes back.

@pytest.mark.parametrize("status,code,is_retryable", [
    (400, "bad_request", False), (401, "unauthorized", False),
    (403, "forbidden", False), (404, "not_found", False),
    (409, "conflict", False), (422, "unprocessable", False),
    (429, "rate_limited", True), (500, "upstream_error", True),
    (503, "unavailable", True)])
def test_errors_of_the_service(env, api, status, code, is_retryable):
    s = run(env, "return (await tools.things.things.getStatus({code: %d}))"
                 ".error" % status)
    e = s["result"]
    assert e["code"] == code, e
    assert e["status"] == status
    assert e["retryable"] is is_retryable
    assert "it is %d" % status in e["message"]
    assert e["details"] == {"message": "it is %d" % status, "field": "x"}
    if status == 429:
        assert "7 s" in e["message"]
    assert s["calls"][0]["status"] == "failed"
    assert len(api.asked) == 1      # nothing is tried again behind one's back


def test_no_content(env):
    assert data(env, "getStatus({code: 204})") is None


@pytest.fixture
def posts_are_free(env):
    env.catalogue.policy("things.*", "approve", 100)
    yield
    env.stack.sql.run("DELETE FROM mcp.tool_policy WHERE organization_id = "
                      "%s", env.organization)


def test_a_failed_post_may_have_been_done(env, posts_are_free):
    e = error(env, "setStatus({code: 500})")
    assert (e["code"], e["retryable"]) == ("upstream_error", False)


@pytest.fixture
def setting(env):
    """Change the source's configuration for one test."""
    kept = env.stack.sql.one("SELECT config::text FROM mcp.source WHERE "
                             "organization_id = %s AND name = 'things'",
                             env.organization)

    def put(config):
        env.stack.sql.run("UPDATE mcp.source SET config = %s WHERE "
                          "organization_id = %s AND name = 'things'",
                          json.dumps(config), env.organization)
    yield lambda **more: put(dict(json.loads(kept), **more))
    put(json.loads(kept))


@pytest.mark.parametrize("tool,status,is_retryable", [
    ("wait", "failed", True), ("waitAndSee", "unknown", False)])
def test_no_answer_in_time(env, posts_are_free, setting, tool, status,
                           is_retryable):
    setting(timeout_ms=400)
    s = run(env, "return (await tools.things.things.%s({ms: 1500})).error" %
            tool)
    assert s["result"]["code"] == "timeout"
    assert s["result"]["retryable"] is is_retryable
    assert s["calls"][0]["status"] == status
    row, = ledger(env, s["executionId"])
    assert row["status"] == status


@pytest.mark.parametrize("tool,status", [("cut", "failed"),
                                         ("cutPost", "unknown")])
def test_half_an_answer(env, posts_are_free, tool, status):
    s = run(env, "return (await tools.things.things.%s({})).error" % tool)
    assert s["result"]["code"] == "unavailable", s
    assert s["calls"][0]["status"] == status


def test_too_large(env, setting):
    assert len(data(env, "big({bytes: 190000})")["x"]) == 190000
    e = error(env, "big({bytes: 300000})")
    assert e["code"] == "response_too_large"
    assert e["details"]["truncated"] is True
    setting(max_bytes=1000)
    text = data(env, "big({bytes: 300000, type: 'text/plain'})")
    assert text.startswith("x" * 1000 + "\n[truncated")
    assert "1000 bytes" in text


def test_a_text_at_the_limit_of_results(env):
    text = data(env, "big({bytes: 300000, type: 'text/plain'})")
    assert "[truncated" in text


def test_nobody_listens(env, setting):
    setting(base_url="http://127.0.0.1:%d" % proc.free_port())
    e = error(env, "getItem({id: '1'})")
    assert (e["code"], e["retryable"]) == ("unavailable", True)
    assert "127.0.0.1" not in repr(e)


# Images and files.

def test_an_image(env):
    r = env.execute("return (await tools.things.things.getFile("
                    "{kind: 'png'})).data.mimeType")
    text, image = r["content"]
    assert (text["type"], image["type"], image["mimeType"]) == (
        "text", "image", "image/png")
    assert base64.b64decode(image["data"]) == PNG


def test_a_file(env):
    r = env.execute("return (await tools.things.things.getFile("
                    "{kind: 'pdf'})).data.mimeType")
    assert r["structuredContent"]["result"] == "application/pdf", r
    block = r["content"][1]
    assert block["type"] == "resource", block
    assert block["resource"]["mimeType"] == "application/pdf"
    assert "blob" in block["resource"]


# Where requests may go.

@pytest.mark.parametrize("to", [
    "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/",
    "http://[::1]:%d/v1/items/1", "http://[::ffff:10.0.0.1]/",
    "http://0.0.0.0/", "http://192.168.0.1/x"])
def test_redirects_to_private_addresses(env, api, to):
    to = to.replace("%d", api.url.rsplit(":")[-1])
    e = error(env, "go({to: '%s'})" % to)
    assert e["code"] == "network_forbidden", e
    assert api.targets() == ["/v1/go?to=" + t for t in [
        api.asked[0][1][len("/v1/go?to="):]]]


@pytest.mark.parametrize("to", ["file:///etc/passwd", "gopher://127.0.0.1/",
                                "ftp://127.0.0.1/x"])
def test_redirects_to_other_schemes(env, api, to):
    assert value(env, "return await tools.things.things.go({to: '%s'})" %
                 to)["ok"] is False
    assert len(api.asked) == 1


def test_redirects_elsewhere_lose_the_secrets(env, api, other):
    other.forget()
    r = value(env, "return await tools.things.things.go({to: '%s/v1/items/9'"
                   "})" % other.url)
    assert r["ok"] is True, r
    (_, target, headers, _), = other.asked
    assert target == "/v1/items/9"
    assert "authorization" not in headers
    assert SECRET not in repr(headers)


def test_redirects_without_end(env, api):
    e = error(env, "go({to: '/v1/go?to=/v1/go'})")
    assert e["code"] != "internal_error", e
    assert len(api.asked) <= 11


def test_a_source_without_permission_for_loopback(env, api):
    env.catalogue.source("closed", "http", {"base_url": api.url})
    env.catalogue.tool("closed", "get", {"method": "GET", "path": "/v1/x"})
    e = value(env, "return (await tools.closed.get()).error")
    assert e["code"] == "network_forbidden"
    assert "127" not in repr(e)
    assert api.asked == []


# Secrets.

def test_secrets_are_seen_by_the_service_alone(env, api):
    r = env.execute("const r = await tools.things.things.mirror(); "
                    "console.log(JSON.stringify(r)); return r")
    assert api.asked[0][2]["authorization"] == "Bearer " + SECRET
    assert r["structuredContent"]["result"]["data"]["authorization"] == \
        "Bearer [secret]"
    execution = r["structuredContent"]["executionId"]
    seen = json.dumps(r) + repr(ledger(env, execution)) + \
        env.stack.front.logs()
    for table in ("mcp.call_recent", "mcp.execution", "mcp.source",
                  "mcp.audit_event"):
        seen += repr(env.stack.sql.all("SELECT * FROM " + table))
    sealed = env.stack.sql.all("SELECT * FROM mcp.secret")
    seen += "".join(bytes(r["sealed"]).decode("latin1") for r in sealed)
    for argv in (("source", "show", env.organization, "things"),
                 ("secret", "list", env.organization)):
        seen += env.stack.admin(*argv).stdout
    for secret in (SECRET, json.dumps(SECRET)[1:-1], ELSEWHERE):
        assert secret not in seen
    assert len(sealed) == 2


def test_the_sandbox_has_no_secret(env):
    got = value(env, "return [typeof process, typeof require, "
                     "JSON.stringify(globalThis).length, "
                     "Object.keys(globalThis).join()]")
    assert SECRET not in repr(got) and ELSEWHERE not in repr(got)


def test_a_secret_that_is_not_there(env, api):
    env.catalogue.source("bare", "http", {
        "base_url": api.url, "allow": ["127.0.0.0/8"],
        "headers": {"X-Key": {"secret": "NOWHERE"}}})
    env.catalogue.tool("bare", "get", {"method": "GET", "path": "/v1/x"})
    e = value(env, "return (await tools.bare.get()).error")
    assert e["code"] == "credentials_missing"
    assert api.asked == []


# Several at once.

def test_ten_at_once(env, api):
    """Each answers only when all ten are there."""
    s = run(env, """
        const all = await Promise.all(Array.from({length: 10},
            () => tools.things.things.meet({n: 10})));
        return all.filter(r => r.ok && r.data.met).length""")
    assert s["result"] == 10, s
    assert api.most == 10
    assert [c["status"] for c in s["calls"]] == ["done"] * 10
    assert len(ledger(env, s["executionId"])) == 10


# Policies.

def test_policies(env, api):
    c = env.catalogue
    try:
        c.policy("things.things.deleteItem", "approve", 1)
        c.policy("things.things.getItem", "require_approval", 2)
        c.policy("things.*", "block", 3)
        r = value(env, "return await tools.things.things.deleteItem("
                       "{id: '1'})")
        assert r["ok"] is True, r
        s = run(env, "return (await tools.things.things.getItem({id: '2'}))"
                     ".error.code")
        assert s["status"] == "waiting_for_interaction", s
        assert "things.things.getItem" in s["interaction"]["message"]
        assert resume(env, s, "decline")["result"] == "approval_declined"
        e = error(env, "mirror()")
        assert e["code"] == "tool_not_found"
        found = value(env, "return await tools.search({namespace: 'things', "
                           "limit: 100})")
        assert sorted(i["path"] for i in found["items"]) == [
            "things.things.deleteItem", "things.things.getItem"]
        assert found["total"] == 2
        assert api.targets() == ["/v1/items/1?key=" + ELSEWHERE]
        # First match by position wins, whatever is narrower.
        c.policy("*", "approve", 0)
        assert value(env, "return (await tools.things.things.mirror()).ok")
    finally:
        env.stack.sql.run("DELETE FROM mcp.tool_policy WHERE "
                          "organization_id = %s", env.organization)
    assert value(env, "return (await tools.things.things.mirror()).ok")


def test_blocked_means_not_listed(env, api):
    env.stack.sql.run("UPDATE mcp.tool SET is_listed = true WHERE "
                      "organization_id = %s AND path = "
                      "'things.things.getItem'", env.organization)
    try:
        def names():
            return [t["name"] for t in env.list_tools().result["tools"]]
        assert "things_things_getItem" in names()
        env.catalogue.policy("things.things.getItem", "block")
        assert "things_things_getItem" not in names()
        a = env.call("tools/call", {"name": "things_things_getItem",
                                    "arguments": {"id": "1"}})
        assert a.error["code"] == -32602
        assert api.asked == []
    finally:
        env.stack.sql.run("DELETE FROM mcp.tool_policy WHERE "
                          "organization_id = %s", env.organization)
        env.stack.sql.run("UPDATE mcp.tool SET is_listed = false WHERE "
                          "organization_id = %s", env.organization)


@pytest.mark.parametrize("verb,path", [
    (("tool", "disable"), "things.things.mirror"),
    (("source", "disable"), "things")])
def test_switched_off(env, verb, path):
    on = (verb[0], "enable")
    assert env.stack.admin(*verb, env.organization, path).returncode == 0
    try:
        assert error(env, "mirror()")["code"] == "tool_not_found"
    finally:
        assert env.stack.admin(*on, env.organization, path).returncode == 0
    data(env, "mirror()")


# Finding tools.

def test_pages_of_a_search(env):
    code = ("return await tools.search({query: 'things', limit: 4, "
            "offset: %d})")
    pages, offset = [], 0
    while offset is not None:
        p = value(env, code % offset)
        assert p == value(env, code % offset)
        assert p["hasMore"] is (p["nextOffset"] is not None)
        pages += [i["path"] for i in p["items"]]
        offset = p["nextOffset"]
    assert len(pages) == p["total"] == len(set(pages)) == 18, pages
    found = value(env, "return await tools.search({limit: 5, offset: 1000})")
    assert (found["items"], found["hasMore"]) == ([], False)


@pytest.mark.parametrize("query,first", [
    ("new item", "things.things.createItem"),
    ("delete item", "things.things.deleteItem"),
    ("get file", "things.things.getFile")])
def test_the_best_is_first(env, query, first):
    found = value(env, "return await tools.search({query: '%s'})" % query)
    assert found["items"][0]["path"] == first, found


@pytest.mark.parametrize("typed,meant", [
    ("things.things.getitem", "things.things.getItem"),
    ("things.things.createItm", "things.things.createItem"),
    ("things.getItem", "things.things.getItem")])
def test_misspelt(env, typed, meant):
    e = value(env, "return (await tools.%s({})).error" % typed)
    assert e["code"] == "tool_not_found"
    assert meant in e["details"]["suggestions"], e
    d = value(env, "return await tools.describe('%s')" % typed)
    assert meant in d["error"]["details"]["suggestions"]


def test_enumeration_says_what_to_do(env):
    for code in ("Object.keys(tools)", "for (const t in tools) t",
                 "Object.entries(tools.things)", "({...tools})"):
        r = env.execute(code)
        assert r["isError"] is True, (code, r)
        assert "tools.search" in r["content"][0]["text"], (code, r)


# The ledger.

def test_a_row_for_each_call(env, api):
    s = run(env, "await tools.things.things.getItem({id: '1'}); "
                 "await tools.things.things.getStatus({code: 404}); "
                 "await tools.things.things.getItem({}); "
                 "await tools.things.things.none(); return 1")
    assert [(c["path"], c["status"]) for c in s["calls"]] == [
        ("things.things.getItem", "done"),
        ("things.things.getStatus", "failed"),
        ("things.things.getItem", "not_sent"),
        ("things.things.none", "not_sent")]
    # What was not sent is no row.
    rows = ledger(env, s["executionId"])
    assert [(r["seq"], r["path"], r["status"]) for r in rows] == [
        (c["seq"], c["path"], c["status"]) for c in s["calls"][:2]]
    assert json.loads(rows[0]["args"]) == {"id": "1"}
    assert rows[0]["args_sha256"] and rows[0]["result_sha256"]
    assert rows[0]["is_error"] is False and rows[1]["is_error"] is True
    assert len(api.asked) == 2
    recent = env.stack.sql.all(
        "SELECT * FROM mcp.call_recent WHERE execution_id = %s",
        s["executionId"])
    assert len(recent) == 2


# The end of a run.

@pytest.mark.parametrize("tool", ["hold", "holdOn"])
def test_a_cancelled_run_leaves_its_calls(env, api, posts_are_free, tool):
    sql = env.stack.sql
    answers = []
    t = threading.Thread(target=lambda: answers.append(env.execute(
        "return await tools.things.things.%s({})" % tool)))
    t.start()
    proc.wait_for(lambda: api.asked, about="the call")
    execution = sql.one(
        "SELECT execution_id FROM mcp.execution WHERE status = 'running' "
        "AND organization_id = %s", env.organization)
    r = env.stack.admin("execution", "cancel", execution)
    assert r.returncode == 0, r.stdout + r.stderr
    t.join(30)
    assert answers, "the run goes on"
    assert answers[0]["isError"] is True, answers
    assert answers[0]["structuredContent"]["outcome"] == "cancelled"
    proc.wait_for(lambda: api.hung_up, 5, about="the connection's end")
    row, = ledger(env, execution)
    assert row["status"] == "unknown", row
    assert sql.one("SELECT status FROM mcp.execution WHERE execution_id = "
                   "%s", execution) == "cancelled"


def test_cancelled_before_the_answer(env, api):
    sql = env.stack.sql
    answers = []
    t = threading.Thread(target=lambda: answers.append(env.execute(
        "await tools.things.things.hold({}); await tools.things.things"
        ".mirror()")))
    t.start()
    proc.wait_for(lambda: api.asked, about="the call")
    execution = sql.one(
        "SELECT execution_id FROM mcp.execution WHERE status = 'running' "
        "AND organization_id = %s", env.organization)
    assert env.stack.admin("execution", "cancel", execution).returncode == 0
    api.gate.set()
    t.join(30)
    row, = ledger(env, execution)       # and nothing after it
    assert row["status"] == "done"
    assert len(api.asked) == 1
    assert answers[0]["structuredContent"]["outcome"] == "cancelled"


def test_cancelled_after_the_last_call(env, api):
    """The program ends, with a value that nobody is to get."""
    sql = env.stack.sql
    answers = []
    t = threading.Thread(target=lambda: answers.append(env.execute(
        "await tools.things.things.mirror(); const t = Date.now(); "
        "while (Date.now() < t + 2500) ; return 'over'")))
    t.start()
    execution = proc.wait_for(lambda: sql.one(
        "SELECT execution_id FROM mcp.execution_call JOIN mcp.execution e "
        "USING (execution_id) WHERE organization_id = %s AND "
        "execution_call.status = 'done' AND e.status = 'running'",
        env.organization), about="the call's end")
    assert env.stack.admin("execution", "cancel", execution).returncode == 0
    t.join(30)
    s = answers[0]["structuredContent"]
    assert answers[0]["isError"] is True and s["outcome"] == "cancelled", s
    assert [c["status"] for c in s["calls"]] == ["done"]


def test_another_organisation(env, api):
    stranger = env.stack.user().connect()
    e = value(stranger, "const r = await tools.things.things.mirror(); "
                        "return r.error") \
        if stranger.list_tools().result["tools"][1:] else None
    assert e is None or e["code"] == "tool_not_found"
    assert api.asked == []
    with Sql(env.stack.cluster.dsn(env.stack.database)) as sql:
        assert sql.one("SELECT count(*) FROM mcp.execution WHERE "
                       "organization_id = %s", stranger.organization) == 0
