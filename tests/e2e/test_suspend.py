# SPDX-License-Identifier: ISC
"""Goal of this test: a program that needs somebody's word becomes a row, and
goes on exactly where it stopped: once, for its owner, in another process; a
row that was touched goes nowhere."""

import os
import threading
import time
import uuid

import pytest

from conftest import Stack
from lib import paths, proc, tools
from lib.client import Mcp
from lib.cluster import Cluster, Sql
from lib.upstream import Upstream

ANY_FRONT = True


@pytest.fixture(scope="module")
def api():
    u = Upstream()
    yield u
    u.close()


@pytest.fixture(scope="module")
def stack_here(make_stack, front_kind, root):
    return make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 5000,
        "keyring_dir": tools.keyring(root, "keys-suspend-" + front_kind)})


def member(s, api):
    u = s.user().connect()
    c = tools.Catalogue(s.sql, u.organization)
    tools.http_api(c, "api", api.url)
    c.source("ask", "script")
    c.script("ask", "name", "const a = await ctx.elicit({message: 'Who?', "
             "requestedSchema: {type: 'object', properties: {name: "
             "{type: 'string'}}}}); return a")
    c.script("ask", "nested",
             "const r = await tools.api.post({id: 'nested'});"
             "return {nested: r.data.path, n: args.n}")
    c.script("ask", "go", "return 'went'", approve=True,
             approval_text="Let it go?")
    u.stack = s
    u.catalogue = c
    return u


@pytest.fixture(scope="module")
def user(stack_here, api):
    return member(stack_here, api)


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
        "const a = 'kept'; console.log('before');"
        "const r = await tools.api.post({id: '%s', body: {v: 1}});"
        "console.log('after'); return {a, ok: r.ok, path: r.data?.path, "
        "code: r.error?.code}" % name))


def test_approved(user, api):
    x = post(user, "one")
    i = x["interaction"]
    assert i["kind"] == "approval"
    assert i["tool"] == "api.post"
    assert i["args"] == {"id": "one", "body": {"v": 1}}
    assert i["message"]
    assert x["deadline"] > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert x["logs"] == ["[log] before"]
    assert x["calls"] == [{"seq": 1, "path": "api.post", "status": "waiting"}]
    assert "/post/one" not in api.paths()
    row = user.stack.sql.row("SELECT * FROM mcp.execution WHERE execution_id"
                             " = %s", x["executionId"])
    assert row["status"] == "waiting"
    r = resume(user, x)
    assert done(r) == {"a": "kept", "ok": True, "path": "/post/one"}
    assert r["structuredContent"]["logs"] == ["[log] before", "[log] after"]
    assert api.paths().count("/post/one") == 1
    again = resume(user, x)
    assert again == r
    assert resume(user, x, "decline") == r
    assert api.paths().count("/post/one") == 1


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_refused(user, api, action):
    x = post(user, action)
    assert done(resume(user, x, action)) == {
        "a": "kept", "ok": False, "code": "approval_" + (
            "declined" if action == "decline" else "cancelled")}
    assert "/post/" + action not in api.paths()


def test_elicitation(user):
    code = "return await tools.ask.name()"
    x = waits(user.execute(code))
    assert x["interaction"]["kind"] == "elicit"
    assert x["interaction"]["message"] == "Who?"
    assert "name" in x["interaction"]["requestedSchema"]["properties"]
    assert done(resume(user, x, content={"name": "Ada"})) == {
        "ok": True, "data": {"action": "accept", "content": {"name": "Ada"}}}
    x = waits(user.execute(code))
    assert done(resume(user, x, content='{"name": "Bob"}'))["data"][
        "content"] == {"name": "Bob"}
    x = waits(user.execute(code))
    assert done(resume(user, x, "decline"))["data"] == {"action": "decline"}
    x = waits(user.execute(code))
    r = resume(user, x, content={"name": 5})
    assert r["structuredContent"]["status"] == "invalid_content", r
    assert done(resume(user, x, content={"name": "C"}))["data"][
        "content"] == {"name": "C"}


def test_script_that_waits(user, api):
    x = waits(user.execute("return await tools.ask.nested({n: 3})"))
    assert x["interaction"]["tool"] == "api.post"
    assert done(resume(user, x)) == {
        "ok": True, "data": {"nested": "/post/nested", "n": 3}}
    x = waits(user.execute("return await tools.ask.go()"))
    assert x["interaction"]["message"] == "Let it go?"
    assert done(resume(user, x)) == {"ok": True, "data": "went"}


def test_rich_state_in_another_process(user):
    x = waits(user.execute("""
        const big = Array.from({length: 10000}, (_, i) => ({i}));
        const map = new Map([['k', {v: 1}], [big[5], 'obj']]);
        function* count() { let i = 0; while (true) yield i++; }
        const gen = count(); gen.next(); gen.next();
        let n = 10; const closure = () => ++n; closure();
        const r = await tools.api.post({id: 'rich'});
        return [big.length, big[9999].i, map.get('k').v, map.get(big[5]),
            gen.next().value, closure(), r.ok]"""))
    user.stack.front.stop_responders() if hasattr(
        user.stack.front, "stop_responders") else user.stack.front.stop()
    user.stack.front.start_responders() if hasattr(
        user.stack.front, "stop_responders") else user.stack.front.start()
    deadline = time.monotonic() + 10
    while True:
        a = user.call("ping")
        if a.status == 200 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert done(resume(user, x)) == [10000, 9999, 1, "obj", 2, 12, True]


def test_several_at_once(user, api):
    x = waits(user.execute("""
        const all = await Promise.all([tools.api.post({id: 'a'}),
            tools.api.get({id: 'b'}), tools.api.post({id: 'c'})]);
        return all.map(r => r.ok ? r.data.path : r.error.code)"""))
    assert [i["args"]["id"] for i in x["interactions"]] == ["a", "c"]
    seqs = [i["seq"] for i in x["interactions"]]
    r = resume(user, x)
    assert waits(r)["interactions"], r          # which one?
    assert "/post/a" not in api.paths()
    r = resume(user, x, seq=seqs[1])
    assert [i["seq"] for i in waits(r)["interactions"]] == [seqs[0]]
    assert "/post/c" in api.paths()
    assert done(resume(user, x, "decline", seq=seqs[0])) == [
        "approval_declined", "/get/b", "/post/c"]


def test_one_after_another(user, api):
    x = waits(user.execute("""
        const out = [];
        for (const id of ['s1', 's2', 's3'])
            out.push((await tools.api.post({id})).data.path);
        return out"""))
    for n in (1, 2):
        x = waits(resume(user, x, seq=x["interaction"]["seq"]))
        # The word for the one before is not one for this.
        waits(resume(user, x, seq=n))
        waits(resume(user, x))
    assert done(resume(user, x, seq=3)) == ["/post/s1", "/post/s2",
                                            "/post/s3"]
    assert [api.paths().count("/post/s%d" % n) for n in (1, 2, 3)] == [
        1, 1, 1]


def test_ten_resumes_at_once(user, api):
    x = post(user, "race")
    api.delay_s = 0.5
    results = []

    def go():
        u = Mcp(user.web, user.token).connect()
        results.append(resume(u, x))
    threads = [threading.Thread(target=go) for _ in range(6)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        api.delay_s = 0
    assert len(results) == 6
    assert all(r == results[0] for r in results), results
    assert done(results[0])["ok"] is True
    assert api.paths().count("/post/race") == 1


def test_word_of_an_administrator(user, api):
    x = post(user, "dba")
    sql = user.stack.sql
    text = sql.one("SELECT mcp.approve(%s, 'looks fine')", x["executionId"])
    assert "approved" in text
    assert done(resume(user, x, "cancel"))["ok"] is False \
        or "/post/dba" in api.paths()
    x = post(user, "dba2")
    sql.one("SELECT mcp.decline(%s, 'no')", x["executionId"])
    r = done(resume(user, x))
    assert r["code"] == "approval_declined"
    assert "/post/dba2" not in api.paths()
    x = post(user, "dba3")
    assert sql.one("SELECT mcp.cancel_execution(%s)", x["executionId"])
    r = resume(user, x)
    assert r["isError"] is True
    s = r["structuredContent"]
    assert (s["status"], s["outcome"]) == ("execution_already_settled",
                                           "cancelled")
    assert s["recovery"] == "re_execute"
    assert s["calls"][0]["status"] == "cancelled"


def refused(r, status):
    assert r["isError"] is True, r
    s = r["structuredContent"]
    assert s["status"] == status, r
    return s


def test_somebody_elses(user, stack_here, api):
    x = post(user, "mine")
    other = member(stack_here, api)
    colleague = stack_here.user(organization=user.organization).connect()
    for u in (other, colleague):
        s = refused(resume(u, x), "execution_forbidden")
        assert "recovery" not in s
    for bad in (str(uuid.uuid4()), "nonsense", "exec_1", ""):
        s = refused(resume(user, {"executionId": bad}), "execution_not_found")
        assert s["recovery"] == "re_execute"
    assert done(resume(user, x))["ok"] is True


def test_too_late(user, api):
    sql = user.stack.sql
    x = post(user, "late")
    sql.run("UPDATE mcp.execution_call SET deadline_at = now() - interval "
            "'1 s' WHERE execution_id = %s", x["executionId"])
    r = done(resume(user, x))
    assert r["code"] == "approval_declined", r
    assert "/post/late" not in api.paths()
    x = post(user, "later")
    sql.run("UPDATE mcp.execution SET deadline_at = now() - interval '1 s' "
            "WHERE execution_id = %s", x["executionId"])
    s = refused(resume(user, x), "execution_expired")
    assert s["recovery"] == "re_execute"


def test_policy_of_now_counts(user, api):
    x = post(user, "blocked")
    user.catalogue.policy("api.post", "block")
    try:
        r = done(resume(user, x))
        assert r["code"] == "tool_not_found"
        assert "/post/blocked" not in api.paths()
    finally:
        user.stack.sql.run("DELETE FROM mcp.tool_policy WHERE "
                           "organization_id = %s", user.organization)


@pytest.mark.parametrize("how", ["bit", "cut", "empty", "swap", "generation",
                                 "engine"])
def test_touched_rows_go_nowhere(user, api, how):
    sql = user.stack.sql
    x = post(user, "touched-" + how)
    other = post(user, "other-" + how)
    change = {
        "bit": "heap = set_bit(heap, 999, 1 - get_bit(heap, 999))",
        "cut": "heap = substr(heap, 1, 1000)",
        "empty": "heap = ''",
        "swap": "heap = (SELECT heap FROM mcp.execution o WHERE "
                "o.execution_id = '%s')" % other["executionId"],
        "generation": "generation = 2, heap_generation = 2",
        "engine": "engine = repeat('0', 64)",
    }[how]
    sql.run("UPDATE mcp.execution SET " + change +
            " WHERE execution_id = %s", x["executionId"])
    refused(resume(user, x), "execution_expired")
    assert "/post/touched-" + how not in api.paths()
    refused(resume(user, x), "execution_already_settled") \
        if how != "engine" else None
    assert done(resume(user, other))["ok"] is True


def test_arguments_cannot_be_changed_while_it_waits(user, api):
    x = post(user, "pending")
    user.stack.sql.run(
        "UPDATE mcp.execution_call SET pending = set_bit(pending, 400, "
        "1 - get_bit(pending, 400)) WHERE execution_id = %s",
        x["executionId"])
    assert done(resume(user, x))["code"] == "arguments_lost"
    assert "/post/pending" not in api.paths()


def test_a_listed_tool_waits_too(user, api):
    user.stack.sql.run("UPDATE mcp.tool SET is_listed = true WHERE path = "
                       "'api.post' AND organization_id = %s",
                       user.organization)
    try:
        r = user.call("tools/call", {"name": "api_post", "arguments": {
            "id": "listed"}}).result
        x = waits(r)
        r = resume(user, x)
        assert not r.get("isError"), r
        assert r["structuredContent"]["path"] == "/post/listed"
        x = waits(user.call("tools/call", {
            "name": "api_post", "arguments": {"id": "l2"}}).result)
        r = resume(user, x, "decline")
        assert r["isError"] is True
        assert "declined" in r["content"][0]["text"]
    finally:
        user.stack.sql.run("UPDATE mcp.tool SET is_listed = false WHERE "
                           "organization_id = %s", user.organization)


def test_no_keyring_nothing_waits(make_stack, front_kind, api):
    s = make_stack(front_kind, {"fetch_timeout_ms": 1000})
    u = s.user().connect()
    c = tools.Catalogue(s.sql, u.organization)
    tools.http_api(c, "api", api.url)
    r = u.execute("return (await tools.api.post({id: 'nokeys'})).error.code")
    assert r["structuredContent"]["result"] == "approval_unavailable"
    assert [t["name"] for t in u.list_tools().result["tools"]] == ["execute"]


def test_the_clock_stands_while_it_waits(make_stack, front_kind, root, api):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 500, "execute_wall_ms": 1500,
        "keyring_dir": tools.keyring(root, "keys-clock-" + front_kind)})
    u = member(s, api)
    x = post(u, "clock")
    time.sleep(2)
    assert done(resume(u, x))["ok"] is True
    x = waits(u.execute("await tools.api.post({id: 'spin'}); for (;;) ;"))
    r = resume(u, x)
    assert r["isError"] is True
    s = r["structuredContent"]
    assert s["outcome"] == "timed_out"
    assert s["calls"][0]["status"] == "done"
    assert resume(u, x) == r


RICH = """
    const big = Array.from({length: 10000}, (_, i) => ({i}));
    const map = new Map([['k', {v: 1}], [big[5], 'obj']]);
    function* count() { let i = 0; while (true) yield i++; }
    const gen = count(); gen.next(); gen.next();
    let n = 10; const closure = () => ++n; closure();
    const r = await tools.api.post({id: 'moved'});
    return [big.length, big[9999].i, map.get('k').v, map.get(big[5]),
        gen.next().value, closure(), r.ok, r.data.path]"""


def test_restored_from_a_dump_on_another_pool(root, cluster, idp, front_kind,
                                              api):
    settings = {"fetch_timeout_ms": 1000,
                "keyring_dir": tools.keyring(root, "keys-dump-" + front_kind)}
    one = Stack(root, cluster, idp, front_kind, settings,
                name="dumped-" + front_kind).start()
    try:
        u = member(one, api)
        x = waits(u.execute(RICH))
    finally:
        one.stop()
    dump = os.path.join(proc.hand_over(os.path.join(root, "dump")),
                        front_kind)
    r = proc.run([paths.postgres("pg_dump"), "-Fc", "-f", dump, "-d",
                  cluster.dsn(one.database)])
    assert r.returncode == 0, r.stderr
    other = Cluster(os.path.join(root, "pg-restored-" + front_kind))
    other.start()
    try:
        two = Stack(root, other, idp, front_kind, settings,
                    name="restored-" + front_kind)
        with Sql(other.dsn("postgres")) as sql:
            sql.run('CREATE DATABASE "restored"')
        r = proc.run([paths.postgres("pg_restore"), "-d",
                      other.dsn("restored"), dump])
        two.front.conf["database"] = other.dsn("restored", "e2e_responder")
        two.front.write_conf()
        two.start()
        try:
            v = Mcp(two.web, u.token).connect()
            assert done(resume(v, x)) == [10000, 9999, 1, "obj", 2, 12, True,
                                          "/post/moved"]
        finally:
            two.stop()
    finally:
        other.stop()
    assert api.paths().count("/post/moved") == 1


def test_a_thousand_wait_and_cost_rows_only(user, api):
    front = user.stack.front
    before = len(front.all_pids())
    ids = []

    def some(n):
        u = Mcp(user.web, user.token).connect()
        for _ in range(n):
            ids.append(waits(u.execute(
                "const r = await tools.api.post({id: 'many'}); "
                "return r.error.code"))["executionId"])
    threads = [threading.Thread(target=some, args=(250,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(ids) == 1000
    assert len(front.all_pids()) <= before + 4     # judges of arguments
    size = user.stack.sql.row(
        "SELECT max(octet_length(heap)) AS most, avg(octet_length(heap))::int "
        "AS mean, count(*) AS n FROM mcp.execution WHERE execution_id = "
        "ANY (%s::uuid[])", ids)
    assert size["n"] == 1000
    assert size["most"] < 150000, size
    print("bytes per waiting run: %(mean)d, at most %(most)d" % size)
    for x in ids[::97]:
        assert done(resume(user, {"executionId": x}, "decline")) == \
            "approval_declined"
