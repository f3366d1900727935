# SPDX-License-Identifier: ISC
"""Goal of this test: a responder that is killed with a run in hand leaves a
ledger that says what ran, what may have run and what did not; the reaper
closes such runs; nothing runs twice, whoever resumes what."""

import json
import threading
import time

import pytest

from lib import proc, tools
from lib.upstream import Upstream

ANY_FRONT = True

KILLS = 100
CALLS = 3


@pytest.fixture(scope="module")
def api():
    u = Upstream()
    u.delay_s = 0.004
    yield u
    u.close()


@pytest.fixture(scope="module")
def env(make_stack, front_kind, root, api):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 3000,
        "keyring_dir": tools.keyring(root, "keys-crash-" + front_kind)})
    u = s.user().connect()
    c = tools.Catalogue(s.sql, u.organization)
    tools.http_api(c, "free", api.url, approve_post=False)
    tools.http_api(c, "asked", api.url)
    u.stack = s
    return u


def kill_responders(stack):
    for pid in stack.front.responders():
        proc.kill(pid)


def wait_up(user):
    def up():
        try:
            return user.call("ping", timeout=5).status == 200
        except OSError:
            return False
    proc.wait_for(up, 20, about="responders to come back")


def while_killing(stack, after_s, work):
    """Do WORK, and kill the responders AFTER_S into it; its answer, or
    None."""
    timer = threading.Timer(after_s, kill_responders, (stack,))
    timer.start()
    try:
        a = work()
        return a if a.status == 200 else None
    except OSError:
        return None
    finally:
        timer.join()


def lapse(stack):
    """The leases of runs whose process is gone are over."""
    stack.sql.run("UPDATE mcp.execution SET lease_until = now() - interval "
                  "'1 s', alarm_at = now() - interval '1 s' "
                  "WHERE status = 'running'")


def call_execute(user, code):
    return user.call("tools/call", {"name": "execute",
                                    "arguments": {"code": code}}, timeout=20)


def judge(stack, api):
    """Compare the ledger with what the upstream saw; how often each."""
    seen = {}
    counts = {}
    for p in api.paths():
        counts[p] = counts.get(p, 0) + 1
    twice = {p: n for p, n in counts.items() if n > 1}
    assert not twice, twice
    noted = {}
    for row in stack.sql.all("SELECT c.*, e.status AS run FROM "
                             "mcp.execution_call c JOIN mcp.execution e "
                             "USING (execution_id)"):
        assert row["run"] not in ("running",), row
        assert row["status"] != "running", row
        path = "/post/" + json.loads(row["args"])["id"]
        assert path not in noted, "two rows for one call"
        noted[path] = row["status"]
        seen[row["status"]] = seen.get(row["status"], 0) + 1
        if row["status"] in ("cancelled", "declined", "waiting"):
            assert path not in counts, row
        elif row["status"] == "done":
            assert counts[path] == 1, row
    unnoted = set(counts) - set(noted)
    assert not unnoted, unnoted
    return seen


def test_killed_in_a_run(env, api):
    start = time.monotonic()
    a = call_execute(env, "for (let i = 0; i < %d; i++) await "
                     "tools.free.post({id: 'probe-' + i})" % CALLS)
    assert a.status == 200
    whole_s = time.monotonic() - start
    answered = 0
    for k in range(KILLS):
        code = ("for (let i = 0; i < %d; i++) await tools.free.post("
                "{id: 'k%d-' + i}); return 'ok'" % (CALLS, k))
        a = while_killing(env.stack, whole_s * 1.1 * k / KILLS,
                          lambda: call_execute(env, code))
        answered += a is not None
        wait_up(env)
    lapse(env.stack)
    r = env.stack.reaper()
    assert r.returncode == 0, r.stderr
    seen = judge(env.stack, api)
    print("answered %d of %d; %r; run %d ms" % (answered, KILLS, seen,
                                                whole_s * 1000))
    assert seen.get("unknown", 0) > 0, "no kill hit a call"
    row = env.stack.sql.row(
        "SELECT * FROM mcp.execution WHERE outcome = 'process_lost' LIMIT 1")
    assert row["status"] == "failed"
    a = env.call("tools/call", {"name": "resume", "arguments": {
        "executionId": row["execution_id"], "action": "accept"}})
    s = a.result["structuredContent"]
    assert (s["status"], s["outcome"]) == ("execution_already_settled",
                                           "process_lost")
    assert s["calls"]


def test_killed_in_a_resume(env, api):
    code = ("const a = await tools.asked.post({id: 'r%d-0'});"
            "await tools.free.post({id: 'r%d-1'}); return 'ok'")
    x = call_execute(env, code % (999, 999)).result["structuredContent"]
    start = time.monotonic()
    env.call("tools/call", {"name": "resume", "arguments": {
        "executionId": x["executionId"], "action": "accept"}})
    whole_s = time.monotonic() - start
    ends = {}
    for k in range(KILLS // 2):
        a = call_execute(env, code % (k, k))
        x = a.result["structuredContent"]
        assert x["status"] == "waiting_for_interaction", x
        word = {"name": "resume", "arguments": {
            "executionId": x["executionId"], "action": "accept", "seq": 1}}
        a = while_killing(env.stack, whole_s * 1.2 * k / (KILLS // 2),
                          lambda: env.call("tools/call", word, timeout=20))
        wait_up(env)
        lapse(env.stack)
        # Whoever asks again gets an end of it.
        s = env.call("tools/call", word, timeout=20).result[
            "structuredContent"]
        how = s.get("outcome") or s["status"]
        ends[how] = ends.get(how, 0) + 1
        assert how in ("finished", "process_lost"), s
    judge(env.stack, api)
    print("%r; resume %d ms" % (ends, whole_s * 1000))
