# SPDX-License-Identifier: ISC
"""Goal of this test: BEHAVIOUR 8 and the reaper of issue item 4: one cold
sweep extends the live, removes the dead, alone and in company."""

import json
import signal
import subprocess
import time

import pytest

from conftest import Stack
from lib import paths, proc

OWNER = ("issuer", "account_id", "organization_id", "protocol_version",
         "client_info", "client_capabilities", "created_at",
         "initialized_at")


@pytest.fixture(scope="module")
def cold(root, cluster, idp):
    """A database that no responder has ever seen."""
    s = Stack(root, cluster, idp, "lighttpd")
    yield s
    s.sql.close()


def insert(stack, n=1, idle_s=0, due=True, account="acct-r", tag="0"):
    stack.sql.run(
        "INSERT INTO mcp.session (session_id, issuer, account_id, "
        "organization_id, last_activity_at, created_at, alarm_at) "
        "SELECT encode(sha256((%s || i)::bytea), 'hex'), 'https://i.example',"
        " %s, 'org-r', now() - make_interval(secs => %s), "
        "now() - make_interval(secs => %s) - interval '1 h', "
        "now() + make_interval(secs => %s) FROM generate_series(1, %s) i",
        tag, account, idle_s, idle_s, -5 if due else 500, n)


def one_row(stack):
    return stack.sql.row("SELECT *, last_activity_at > now() - interval "
                         "'300 s' AS is_recent, alarm_at > now() AND alarm_at "
                         "<= now() + interval '31 s' AS is_armed "
                         "FROM mcp.session")


def clean(stack):
    stack.sql.run("TRUNCATE mcp.session, mcp.session_tombstone")


def test_8_1_recent_session_is_kept_and_rearmed(cold):
    clean(cold)
    insert(cold)
    before = one_row(cold)
    r = cold.reaper()
    assert r.returncode == 0, r.stderr
    after = one_row(cold)
    assert {k: after[k] for k in OWNER} == {k: before[k] for k in OWNER}
    assert after["last_activity_at"] == before["last_activity_at"]
    assert after["is_recent"]
    assert after["is_armed"]


def test_8_2_idle_session_goes(cold):
    clean(cold)
    insert(cold, idle_s=301)
    r = cold.reaper()
    assert r.returncode == 0, r.stderr
    assert one_row(cold) is None


def test_8_exactly_at_the_limit(cold):
    clean(cold)
    insert(cold, idle_s=299, account="young", tag="y")
    insert(cold, idle_s=300, account="old", tag="o")
    assert cold.reaper().returncode == 0
    left = cold.sql.all("SELECT account_id FROM mcp.session")
    assert [r["account_id"] for r in left] == ["young"]


def test_8_alarm_not_due_is_not_looked_at(cold):
    clean(cold)
    insert(cold, idle_s=301, due=False)
    assert cold.reaper().returncode == 0
    assert one_row(cold) is not None


def test_8_dry_run_changes_nothing(cold):
    clean(cold)
    insert(cold, n=3, idle_s=301)
    r = cold.reaper("--dry-run")
    assert r.returncode == 0, r.stderr
    assert cold.sql.one("SELECT count(*) FROM mcp.session") == 3


def test_8_summary_and_record(cold):
    clean(cold)
    insert(cold, n=5, idle_s=301)
    insert(cold, n=2, tag="live")
    before = cold.sql.one("SELECT count(*) FROM mcp.sweep")
    r = cold.reaper("--json")
    assert r.returncode == 0, r.stderr
    lines = [x for x in r.stdout.splitlines() if x.strip()]
    assert len(lines) == 1
    assert isinstance(json.loads(lines[0]), dict)
    assert cold.sql.one("SELECT count(*) FROM mcp.sweep") == before + 1


def test_8_tombstone_says_why(cold):
    clean(cold)
    insert(cold, idle_s=301)
    assert cold.reaper().returncode == 0
    assert cold.sql.one("SELECT reason FROM mcp.session_tombstone") == "idle"


def test_8_database_down_is_try_later(cold):
    r = proc.run([paths.program("mcp-reaper"), "-d",
                  "host=/nonexistent dbname=x user=y"])
    assert r.returncode == 75, (r.returncode, r.stderr)
    assert r.stdout == ""       # nothing was done


@pytest.mark.parametrize("wrong", ["user=e2e_nowhere", "dbname=nowhere"])
def test_8_a_database_that_refuses_is_a_fault(cold, wrong):
    """Trying again later would never end."""
    r = proc.run([paths.program("mcp-reaper"), "-d",
                  cold.cluster.dsn(cold.database, "e2e_reaper") + " " + wrong])
    assert r.returncode == 1, (r.returncode, r.stderr)
    assert r.stdout == ""
    assert "nowhere" in r.stderr and "does not exist" in r.stderr
    assert 'detail="database: connection to server' in r.stderr


def test_8_bad_option_is_a_fault(cold):
    assert cold.reaper("--no-such-option").returncode == 1


def test_8_two_reapers_share_the_work(cold):
    clean(cold)
    insert(cold, n=20000, idle_s=301, tag="two")
    first = cold.sql.one("SELECT coalesce(max(sweep_id), 0) FROM mcp.sweep")
    both = [subprocess.Popen(
        [paths.program("mcp-reaper"), "-c", cold.front.conf_file],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)]
    for r in both:
        out, _ = r.communicate(timeout=60)
        assert r.returncode in (0, 75), out
    assert cold.sql.one("SELECT count(*) FROM mcp.session") == 0
    # No row twice: the sums of what the sweeps say is the number there was.
    assert cold.sql.one(
        "SELECT count(*) FROM mcp.session_tombstone") == 20000
    assert cold.sql.one("SELECT sum(expired) FROM mcp.sweep WHERE "
                        "sweep_id > %s", first) == 20000


def test_8_killed_reaper_leaves_nothing_half_done(cold):
    clean(cold)
    insert(cold, n=20000, idle_s=301, tag="kill")
    r = subprocess.Popen(
        [paths.program("mcp-reaper"), "-c", cold.front.conf_file],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.05)
    r.send_signal(signal.SIGKILL)
    r.wait()

    def settled():
        return cold.sql.one(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = "
            "'e2e_reaper'") == 0
    proc.wait_for(settled, 20)
    left = cold.sql.one("SELECT count(*) FROM mcp.session")
    buried = cold.sql.one("SELECT count(*) FROM mcp.session_tombstone")
    assert left + buried == 20000
    assert cold.reaper().returncode == 0
    assert cold.sql.one("SELECT count(*) FROM mcp.session") == 0


def test_8_reaper_does_not_wait_for_a_locked_row(cold):
    clean(cold)
    insert(cold, n=10, idle_s=301)
    cold.sql.conn.autocommit = False
    try:
        cold.sql.one("SELECT session_id FROM mcp.session LIMIT 1 FOR UPDATE")
        t = time.monotonic()
        r = cold.reaper()
        assert r.returncode in (0, 75)
        assert time.monotonic() - t < 5
    finally:
        cold.sql.conn.rollback()
        cold.sql.conn.autocommit = True
    assert cold.sql.one("SELECT count(*) FROM mcp.session") == 1
    assert cold.reaper().returncode == 0
    assert cold.sql.one("SELECT count(*) FROM mcp.session") == 0


def test_8_reaped_session_is_gone_for_its_client(stack):
    client = stack.user().connect()
    stack.age(client.session, 301)
    stack.sql.run("UPDATE mcp.session SET alarm_at = now() - interval '1 s' "
                  "WHERE session_id = %s", client.session)
    assert stack.reaper().returncode == 0
    assert stack.row(client.session) is None
    a = client.list_tools()
    assert a.status == 404 and a.error["code"] == -32001


def test_8_reaper_keeps_a_session_in_use(stack):
    client = stack.user().connect()
    stack.sql.run("UPDATE mcp.session SET alarm_at = now() - interval '1 s' "
                  "WHERE session_id = %s", client.session)
    assert stack.reaper().returncode == 0
    assert client.list_tools().status == 200


def test_8_role_of_the_reaper_suffices_and_no_more(cold):
    from lib.cluster import Sql
    import psycopg2
    with Sql(cold.cluster.dsn(cold.database, "e2e_reaper")) as sql:
        with pytest.raises(psycopg2.Error):
            sql.all("SELECT * FROM mcp.api_token")
        with pytest.raises(psycopg2.Error):
            sql.run("DELETE FROM mcp.membership")
