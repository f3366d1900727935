# Goal: what several connections do at once is as good as one after another.
# TAP; run by tests/sql/run, which starts the cluster.
import hashlib
import threading
import time

import psycopg2

N = [0]
FAILED = [0]


def ok(is_good, name, why=""):
    N[0] += 1
    FAILED[0] += not is_good
    print("%s %d - %s" % ("ok" if is_good else "not ok", N[0], name))
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


def session_id(n):
    return "%064x" % n


def new_session(c, n, activity="0 s", alarm="0 s", **cols):
    names = "".join(", " + k for k in cols)
    run(c, "INSERT INTO mcp.session (session_id, issuer, account_id,"
        " organization_id, last_activity_at, alarm_at" + names + ")"
        " VALUES (%s, 'i', 'a', 'o', now() - %s::interval,"
        " now() + %s::interval" + ", %s" * len(cols) + ")",
        session_id(n), activity, alarm, *cols.values())


def enter(c, n):
    return run(c, "SELECT outcome FROM mcp.enter(%s, 'i', 'a', 'o', NULL,"
               " 'yes')", session_id(n))[0][0]


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


a, b = connect(), connect()

# 20 requests of one session at once, again and again, each due a touch.
new_session(a, 1)
bad = []
for _ in range(20):
    run(a, "UPDATE mcp.session SET last_activity_at = now() - '9 s'::interval")
    bad += [r for r in parallel(20, lambda c, i: enter(c, 1)) if r != "ok"]
ok(not bad, "20 requests of one session at once, 20 times: all ok", bad[:3])

# DELETE racing requests: afterwards nobody gets in, and exactly one ended it.
new_session(a, 2, "9 s")
ended = []


def race(c, i):
    if i % 5 == 0:
        ended.append(run(c, "SELECT mcp.session_end(%s, 'i', 'a', 'o')",
                         session_id(2))[0][0])
        return "no_session" if enter(c, 2) == "no_session" else "revived"
    return enter(c, 2)


got = parallel(20, race)
ok(set(got) <= {"ok", "no_session"}, "DELETE among requests", got)
ok(sorted(ended) == ["ended"] + ["none"] * 3, "one DELETE ends it", ended)
ok(enter(a, 2) == "no_session", "and it stays ended")

# A request that waits for the row a DELETE is removing: no session.
new_session(a, 3, "9 s")
b.autocommit = False
run(b, "SELECT mcp.session_end(%s, 'i', 'a', 'o')", session_id(3))
result = []
t = threading.Thread(target=lambda: result.append(enter(a, 3)))
t.start()
time.sleep(0.2)
b.commit()
t.join()
ok(result == ["no_session"], "a request behind an uncommitted DELETE", result)

# A request that waits for the reaper to remove the row it is extending: the
# session is taken up again (readopt_s) rather than lost.
new_session(a, 4, "301 s", readopt_s=600)
run(b, "SELECT mcp.reap_sessions(100, 30)")
result = []
t = threading.Thread(target=lambda: result.append(enter(a, 4)))
t.start()
time.sleep(0.2)
b.commit()
t.join()
b.autocommit = True
ok(result == ["ok"], "a request behind the reaper", result)

# Twenty requests take an ended session up again: one session, all ok.
new_session(a, 5, "301 s", readopt_s=600)
run(a, "SELECT mcp.reap_sessions(100, 30)")
got = parallel(20, lambda c, i: enter(c, 5))
ok(got == ["ok"] * 20, "20 requests take one session up again", got)

# The cap holds under parallel initialize, and no session is lost below it.
run(a, "DELETE FROM mcp.session")


def initialize(cap):
    return lambda c, i: run(
        c, "SELECT mcp.session_open(%s, 'i', 'a', 'o', '2025-06-18', '{}',"
        " '{}', 300, 0, 0, 30, %s)", session_id(1000 + i), cap)[0][0]


got = parallel(20, initialize(100))
ok(got == [0] * 20 and run(a, "SELECT count(*) FROM mcp.session") == [(20,)],
   "20 initialize at once: 20 sessions", got)
run(a, "DELETE FROM mcp.session")
got = parallel(20, initialize(5))
ok(not [r for r in got if isinstance(r, Exception)]
   and run(a, "SELECT count(*) FROM mcp.session") == [(5,)],
   "20 initialize at once under a cap of 5: 5 sessions", got)

# Twenty processes want keys: one may fetch.
got = parallel(20, lambda c, i: run(
    c, "SELECT mcp.jwks_claim('i', false, 30)")[0][0])
ok(got.count(True) == 1 and got.count(False) == 19,
   "20 claims of the right to fetch: one is granted", got)

# Revoking while requests and sweeps run: no deadlock, and it holds.
run(a, "DELETE FROM mcp.session")
TOKENS = [hashlib.sha256(b"t%d" % i).digest() for i in range(8)]


def new_account():
    run(a, "DELETE FROM mcp.session; DELETE FROM mcp.api_token;"
        " INSERT INTO mcp.membership (organization_id, account_id)"
        " VALUES ('o', 'a') ON CONFLICT DO NOTHING")
    for t in TOKENS:
        run(a, "INSERT INTO mcp.api_token (token_sha256, token_hint,"
            " account_id, organization_id, issuer)"
            " VALUES (%s, '', 'a', 'o', 'i')", t)
    for n in range(50):
        new_session(a, n, "9 s")


def mixed(c, i):
    if i == 0:
        run(c, "SELECT mcp.revoke_account('o', 'a')")
        return "ok"
    if i == 1:
        run(c, "SELECT mcp.reap_sessions(1000, 30)")
        return "ok"
    return {run(c, "SELECT outcome FROM mcp.enter(%s, NULL, NULL, NULL, %s,"
                " 'sql')", session_id(n), TOKENS[i])[0][0]
            for n in range(i, 50)}


got = []
for _ in range(10):
    new_account()
    got += parallel(8, mixed)
ok(not [r for r in got if isinstance(r, Exception)],
   "revoke_account among requests and a sweep", got)
ok(all(r == "ok" or isinstance(r, set)
       and r <= {"ok", "bad_token", "not_member", "no_session"}
       for r in got), "only answers that fit", got)
ok(run(a, "SELECT count(*) FROM mcp.session") == [(0,)],
   "afterwards no session is left")

# Two reapers: the second takes other rows, and waits for nothing.
run(a, "DELETE FROM mcp.session; DELETE FROM mcp.session_tombstone")
for n in range(20):
    new_session(a, n, "1 hour" if n % 2 else "0 s", "-1 s")
b.autocommit = False
first = run(b, "SELECT due, expired, renewed FROM"
            " mcp.reap_sessions(12, 30)")[0]
run(a, "SET statement_timeout = '2s'")
begun = time.monotonic()
second = run(a, "SELECT due, expired, renewed FROM"
             " mcp.reap_sessions(100, 30)")[0]
ok(time.monotonic() - begun < 1, "a second reaper does not wait")
b.commit()
ok(first[0] == 12 and second[0] == 8, "and takes what the first has not",
   (first, second))
ok(first[1] + second[1] == 10 and first[2] + second[2] == 10
   and run(a, "SELECT count(*) FROM mcp.session") == [(10,)]
   and run(a, "SELECT count(*) FROM mcp.session_tombstone") == [(10,)],
   "together they do each row once", (first, second))

# A reaper that dies in a batch leaves the batch as it was.
for n in range(100, 110):
    new_session(a, n, "1 hour", "-1 s")
run(b, "SELECT mcp.reap_sessions(100, 30)")
pid = b.info.backend_pid
b.close()
while run(a, "SELECT FROM pg_stat_activity WHERE pid = %s", pid):
    time.sleep(0.01)  # until the server has noticed
ok(run(a, "SELECT count(*) FROM mcp.session_expired") == [(10,)]
   and run(a, "SELECT count(*) FROM mcp.session_tombstone") == [(10,)],
   "a batch cut short is undone whole")
# the server may need a moment to see that the connection is gone
deadline = time.monotonic() + 10
expired = 0
while expired == 0 and time.monotonic() < deadline:
    expired = run(a, "SELECT expired FROM mcp.reap_sessions(100, 30)")[0][0]
ok(expired == 10, "and done by the next", expired)

print("1..%d" % N[0])
raise SystemExit(FAILED[0] > 0)
