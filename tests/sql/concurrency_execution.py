# Goal: resume, administrators, the reaper and a run at work, all at the same
# instant: one claim, one sending, and nothing sent that was refused.
# TAP; run by tests/sql/run, which starts the cluster.
import threading
import time
import uuid

import psycopg2

N = [0]
FAILED = [0]


def ok(is_good, name, why=""):
    N[0] += 1
    FAILED[0] += not is_good
    print("%s %d - %s" % ("ok" if is_good else "not ok", N[0], name),
          flush=True)
    if not is_good and why:
        print("# %s" % (why,))


def connect():
    c = psycopg2.connect("")
    c.autocommit = True
    return c


def run(c, sql, *args):
    with c.cursor() as cur:
        cur.execute(sql, args)
        return cur.fetchall() if cur.description else None


def one(c, sql, *args):
    return run(c, sql, *args)[0][0]


def parallel(n, work):
    """work(connection, i) in n threads at once; results or exceptions."""
    out = [None] * n
    gate = threading.Barrier(n)

    def body(i):
        c = connect()
        gate.wait()
        try:
            out[i] = work(c, i)
        except Exception as e:  # the result is the exception
            out[i] = e
        c.close()

    threads = [threading.Thread(target=body, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def begin(c):
    x = str(uuid.uuid4())
    run(c, "SELECT mcp.execution_open(%s, 'i', 'a', 'o', NULL, sha256('c'),"
        " 'e1', 30)", x)
    return x


def ask(c, x, generation, seq, window=3600):
    return one(c, "SELECT outcome FROM mcp.call_ask(%s, %s, %s, 's.post', '{}',"
               " sha256('{}'), NULL, 'approval', 'Post?', '{}', %s)",
               x, generation, seq, window)


def suspend(c, x, generation, heap=b"heap"):
    return one(c, "SELECT mcp.execution_suspend(%s, %s, %s, 1, 3600)",
               x, generation, psycopg2.Binary(heap))


def waiting(c, window=3600, calls=1):
    x = begin(c)
    for seq in range(calls):
        ask(c, x, 1, seq, window)
    assert suspend(c, x, 1) == "ok"
    return x


def resume(c, x, action="accept", seq=None, lease=30):
    return run(c, "SELECT outcome, generation FROM mcp.execution_resume(%s,"
               " 'i', 'a', 'o', %s, %s, NULL, 'e1', %s)", x, seq, action,
               lease)[0]


def go(c, x, generation, seq=0):
    return one(c, "SELECT mcp.call_go(%s, %s, %s)", x, generation, seq)


def settle(c, x, generation, seq=0, status="done"):
    return one(c, "SELECT mcp.call_settle(%s, %s, %s, %s, false, NULL, NULL)",
               x, generation, seq, status)


def finish(c, x, generation):
    return one(c, "SELECT mcp.execution_settle(%s, %s, 'completed',"
               " 'finished', '{}', NULL, 1)", x, generation)


def reap(c):
    return run(c, "SELECT due, declined, failed, expired, purged"
               " FROM mcp.reap_executions(100, 604800)")[0]


def faults(results):
    return [r for r in results if isinstance(r, Exception)]


a, b = connect(), connect()

# Twenty resumes of one run: one claim, nineteen that find it running.
bad = []
for _ in range(10):
    x = waiting(a)
    got = parallel(20, lambda c, i: resume(c, x))
    if sorted(r[0] for r in got) != ["claimed"] + ["running"] * 19:
        bad.append(got)
ok(not bad, "20 resumes at once, 10 times: one claim each", bad[:1])

# The one that claims answers before the others ask: they get the answer.
x = waiting(a)


def whole(c, i):
    outcome, generation = resume(c, x)
    if outcome == "claimed":
        sent = go(c, x, generation) == "ok"
        settle(c, x, generation)
        finish(c, x, generation)
        return "sent" if sent else "not sent"
    while outcome == "running":
        time.sleep(0.01)
        outcome = one(c, "SELECT outcome FROM mcp.execution_state(%s, 'i',"
                      " 'a', 'o')", x)
    return outcome


got = parallel(12, whole)
ok(sorted(got) == ["sent"] + ["settled"] * 11,
   "12 resumes: one sends, all learn the outcome", got)

# A claim that is not committed yet: the second waits for it, then loses.
x = waiting(a)
b.autocommit = False
first = resume(b, x)
result = []
t = threading.Thread(target=lambda: result.append(resume(a, x)))
t.start()
time.sleep(0.2)
b.commit()
t.join()
ok(first == ("claimed", 2) and result == [("running", 2)],
   "a resume behind an uncommitted claim", (first, result))
# and one that is undone: the second gets it
x = waiting(a)
resume(b, x)
result = []
t = threading.Thread(target=lambda: result.append(resume(a, x)))
t.start()
time.sleep(0.2)
b.rollback()
t.join()
b.autocommit = True
ok(result == [("claimed", 2)], "a resume behind a claim undone", result)

# Approve, decline, resume, cancel and the reaper at once, again and again:
# one claim at most, one sending at most, and what was sent had not been
# refused.
bad = []
seen = set()
for n in range(60):
    x = waiting(a, 3600 if n % 3 else 0)
    log = []

    def mixed(c, i):
        if i < 3:
            outcome, generation = resume(c, x)
            if outcome != "claimed":
                return outcome
            o = go(c, x, generation)
            if o == "ok":
                log.append("sent")
                settle(c, x, generation)
            elif o == "refused":
                settle(c, x, generation, status="declined")
            return "claimed " + finish(c, x, generation)
        if i == 6:
            return reap(c)
        if i == 7 and n % 2:
            return one(c, "SELECT mcp.cancel_execution(%s)", x)
        try:
            return one(c, "SELECT mcp.%s(%%s)" % (
                "approve" if i < 5 else "decline"), x)
        except psycopg2.Error as e:
            return e.pgcode
    got = parallel(8, mixed)
    row = run(a, "SELECT e.status, c.status, c.action, c.started_at IS NOT"
              " NULL FROM mcp.execution e JOIN mcp.execution_call c"
              " USING (execution_id) WHERE execution_id = %s", x)[0]
    claims = [r for r in got if isinstance(r, str) and r[:7] == "claimed"]
    seen.add(row)
    if (faults(got) or len(claims) > 1 or len(log) > 1
            or row[3] != (len(log) == 1)
            or row[3] and row[2] != "accept"
            or row[1] == "declined" and row[3]):
        bad.append((got, row, log))
ok(not bad, "all at once, 60 times: at most one claim and one sending",
   bad[:1])
ok({r[3] for r in seen} == {True, False},
   "of which some were sent and some were not", seen)

# The lease lapses while its holder is only slow: the run is taken up by one
# of the others, and either the holder sends or it is told that it lost.
bad = []
seen = set()
for n in range(60):
    x = waiting(a)
    assert resume(a, x)[0] == "claimed"
    run(a, "UPDATE mcp.execution SET lease_until = now(), alarm_at = now()"
        " WHERE execution_id = %s", x)

    def lapse(c, i):
        if i == 0:
            return "sent" if go(c, x, 2) == "ok" else "not"
        if i == 1:
            reap(c)
            return "not"
        outcome, generation = resume(c, x, None)
        if outcome == "claimed":
            return "sent" if go(c, x, generation) == "ok" else "not"
        return "not"
    got = parallel(5, lapse)
    row = run(a, "SELECT e.status, c.status FROM mcp.execution e"
              " JOIN mcp.execution_call c USING (execution_id)"
              " WHERE execution_id = %s", x)[0]
    seen.add((got[0],) + row)
    if faults(got) or got.count("sent") > 1:
        bad.append((got, row))
ok(not bad, "a lease that lapses under its holder, 60 times: sent once",
   bad[:1])
ok(seen <= {("sent", "failed", "unknown"), ("not", "running", "running"),
            ("not", "waiting", "waiting")}, "and the ledger says so", seen)

# A run's own calls in flight do not wait for each other, nor for a reaper.
x = begin(a)
got = parallel(16, lambda c, i: one(
    c, "SELECT mcp.call_begin(%s, 1, %s, 's.get', '{}', sha256('{}'))", x, i))
ok(got == ["ok"] * 16, "16 calls of a run at once", got)
got = parallel(16, lambda c, i: settle(c, x, 1, i // 2))
ok(got.count("ok") == 8 and got.count("again") == 8,
   "settled twice each: once", got)
b.autocommit = False
run(b, "SELECT mcp.execution_renew(%s, 1, 30)", x)
run(b, "UPDATE mcp.execution SET alarm_at = now() - '1 s'::interval"
    " WHERE execution_id = %s", x)
run(a, "SET statement_timeout = '2s'")
ok(reap(a)[0] == 0, "the reaper passes over a run that is held")
b.rollback()
b.autocommit = True
got = parallel(8, lambda c, i: settle(c, x, 1, 8 + i) if i < 7
               else finish(c, x, 1))
ok(not faults(got) and got[7] == "ok"
   and set(got[:7]) <= {"ok", "late"}, "answers while the run ends", got)

# Suspending against approving: the word is never lost.
bad = []
for n in range(30):
    x = begin(a)
    ask(a, x, 1, 0)
    got = parallel(2, lambda c, i: suspend(c, x, 1) if i else one(
        c, "SELECT mcp.approve(%s)", x))
    if (faults(got) or got[1] != "ok"
            or resume(a, x, None) != ("claimed", 2)):
        bad.append(got)
ok(not bad, "approved while it is being suspended, 30 times", bad[:1])

# Two reapers, many runs: each is done once.
run(a, "DELETE FROM mcp.execution")
for n in range(40):
    x = begin(a)
    run(a, "SELECT mcp.call_begin(%s, 1, 0, 's.get', '{}', sha256('{}'))", x)
run(a, "UPDATE mcp.execution SET lease_until = now(), alarm_at = now()")
got = parallel(4, lambda c, i: reap(c))
ok(not faults(got) and sum(r[2] for r in got) == 40
   and one(a, "SELECT count(*) FROM mcp.execution_call"
           " WHERE status = 'unknown'") == 40,
   "4 reapers, 40 runs whose process is gone", got)

# Importing and policies at once: the count of listed tools is right.
for name in ("s0", "s1", "s2", "s3"):
    run(a, "INSERT INTO mcp.source (organization_id, name, kind)"
        " VALUES ('o', %s, 'script')", name)


def change(c, i):
    source = one(c, "SELECT source_id FROM mcp.source WHERE name = %s",
                 "s%d" % (i % 4))
    if i < 4:
        for n in range(20):
            run(c, "SELECT mcp.tool_save(%s, %s::json)", source,
                '{"name": "t%d", "is_listed": true}' % n)
    else:
        for n in range(10):
            run(c, "INSERT INTO mcp.tool_policy (organization_id, pattern,"
                " action, position) VALUES ('o', %s, 'block', %s)",
                "s%d.t%d" % (i % 4, n), n)


got = parallel(8, change)
ok(not faults(got), "imports and policies at once", faults(got)[:1])
ok(one(a, "SELECT listed FROM mcp.catalog_version WHERE organization_id"
       " = 'o'") == 40 and one(a, "SELECT count(*) FROM mcp.tool_listed('o')")
   == 40, "40 of 80 are listed, and counted")

print("1..%d" % N[0])
raise SystemExit(FAILED[0] > 0)
