# SPDX-License-Identifier: ISC
"""Goal of this test: every verb of mcp-admin does what its manual says, says
no with the right exit status, and leaves either a whole change with its audit
rows or none."""

import hashlib
import itertools
import json
import os
import re
import subprocess

import pytest

from lib import paths, proc
from lib.cluster import Sql

OK, FAILED, USAGE, NOT_FOUND = 0, 1, 2, 3
ISO = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
TOKEN = re.compile(r"mcp_[A-Za-z0-9_-]{43}\n")
_serial = itertools.count(1)


def run(dsn, *argv, env=None):
    return proc.run([paths.program("mcp-admin"), "-d", dsn] + list(argv),
                    env=env)


class Admin:
    """mcp-admin on a database, as a role of the group mcp_admin."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self.owner_dsn = cluster.dsn(name)
        self.dsn = cluster.dsn(name, "e2e_admin")
        self.sql = Sql(self.owner_dsn)

    def __call__(self, *argv, status=OK, dsn=None, env=None):
        r = run(dsn or self.dsn, *argv, env=env)
        assert r.returncode == status, "%s: %d\n%s%s" % (
            " ".join(argv), r.returncode, r.stdout, r.stderr)
        return r

    def json(self, *argv):
        return json.loads(self("--json", *argv).stdout)

    def audit(self, event=None):
        return self.sql.all(
            "SELECT * FROM mcp.audit_event WHERE %s::text IS NULL OR "
            "event = %s ORDER BY audit_event_id", event, event)

    def n_audit(self):
        return self.sql.one("SELECT count(*) FROM mcp.audit_event")

    def session(self, org, account, idle_s=300, age_s=0, session_id=None,
                client="a client"):
        session_id = session_id or os.urandom(32).hex()
        self.sql.run(
            "INSERT INTO mcp.session (session_id, issuer, account_id, "
            "organization_id, client_info, idle_s, last_activity_at, "
            "alarm_at) VALUES (%s, 'local', %s, %s, %s, %s, "
            "now() - make_interval(secs => %s), now() - interval '1 s')",
            session_id, account, org, json.dumps({"name": client}), idle_s,
            age_s)
        return session_id


@pytest.fixture(scope="module")
def database(cluster):
    admin = Admin(cluster, cluster.database("admin"))
    yield admin
    admin.sql.close()


@pytest.fixture
def admin(database):
    """The database, empty."""
    database.sql.run(
        "TRUNCATE mcp.organization, mcp.membership, mcp.api_token, "
        "mcp.session, mcp.session_tombstone, mcp.audit_event, mcp.sweep")
    return database


@pytest.fixture
def empty(cluster):
    """DSN of a database without a schema."""
    name = "admin_empty_%d" % next(_serial)
    with Sql(cluster.dsn("postgres")) as sql:
        sql.run('CREATE DATABASE "%s"' % name)
    return cluster.dsn(name)


# The command line.

@pytest.mark.parametrize("argv", [
    [], ["nothing"], ["org"], ["org", "nothing"], ["org", "add"],
    ["org", "add", "a", "b", "c"], ["org", "list", "a"], ["member", "add"],
    ["member", "add", "a"], ["token", "issue", "a"], ["token", "revoke"],
    ["session", "show"], ["session", "kill"], ["session", "kill", "a", "b"],
    ["session", "kill", "--all", "abcdef01"], ["migrate", "now"],
    ["login-role", "a"], ["doctor", "now"], ["--nothing", "org", "list"],
    ["org", "add", "a", "--json"], ["org", "list", "--ttl", "3d"],
    ["migrate", "--dir"], ["session", "kill", "--account", "o"]])
def test_usage(admin, argv):
    before = admin.n_audit()
    r = admin(*argv, status=USAGE)
    assert r.stdout == "" and r.stderr
    assert admin.n_audit() == before


def test_help_and_version(admin):
    assert "usage: mcp-admin" in admin("-h").stdout
    assert re.match(r"^mcp-admin \d", admin("-V").stdout)


def test_no_database_is_named():
    r = proc.run([paths.program("mcp-admin"), "org", "list"],
                 env={"MCP_FCGI_CONF": "/dev/null"})
    assert r.returncode == USAGE and "database" in r.stderr


def test_database_is_down(admin):
    r = admin("org", "list", dsn="host=/nonexistent dbname=x user=y",
              status=FAILED)
    assert "/nonexistent" in r.stderr
    assert r.stderr.startswith("mcp-admin: database: connection to server")


def test_password_on_the_command_line(admin):
    r = admin("org", "list", dsn=admin.dsn + " password=sesame",
              status=FAILED)
    assert "password" in r.stderr and "sesame" not in r.stderr


def test_file_of_settings(admin, root):
    conf = os.path.join(root, "admin.conf")
    argv = [paths.program("mcp-admin"), "-c", conf, "org", "list"]
    with open(conf, "w") as f:
        f.write("admin_database = %s\n" % admin.dsn)
    assert proc.run(argv).returncode == OK
    with open(conf, "a") as f:
        f.write("admin_databse = x\n")
    r = proc.run(argv)
    assert r.returncode == FAILED and "admin.conf:2" in r.stderr


def test_schema_is_absent(empty):
    r = run(empty, "org", "list")
    assert r.returncode == FAILED and "mcp-admin migrate" in r.stderr


def test_role_without_privileges(admin):
    dsn = admin.cluster.dsn(admin.name, "e2e_responder")
    for argv in (["org", "list"], ["org", "add", "x"],
                 ["member", "add", "x", "y"], ["token", "issue", "x", "y"],
                 ["session", "kill", "--all"]):
        r = admin(*argv, dsn=dsn, status=FAILED)
        assert "mcp_admin" in r.stderr and r.stdout == ""
    assert admin.n_audit() == 0


def test_readonly_role_lists(admin):
    dsn = admin.cluster.dsn(admin.name, "e2e_readonly")
    admin("execution", "list", dsn=dsn)
    admin("org", "list", dsn=dsn)
    admin("session", "list", dsn=dsn)
    admin("org", "add", "x", dsn=dsn, status=FAILED)


def test_full_standard_output(admin):
    """A token that nobody has seen does not stay usable."""
    with open("/dev/full", "w") as full:
        r = subprocess.run(
            [paths.program("mcp-admin"), "-d", admin.dsn, "token", "issue",
             "o", "a"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert r.returncode == FAILED
    assert admin.sql.one("SELECT count(*) FROM mcp.api_token "
                         "WHERE revoked_at IS NULL") == 0
    assert admin.sql.one("SELECT count(*) FROM mcp.api_token") == 1
    with open("/dev/full", "w") as full:
        r = subprocess.run(
            [paths.program("mcp-admin"), "-d", admin.dsn, "org", "list"],
            stdout=full, stderr=subprocess.PIPE, text=True)
    assert r.returncode == FAILED
    assert "No space left" in r.stderr


def test_reader_that_has_gone(admin):
    out, into = os.pipe()
    os.close(out)
    with os.fdopen(into, "w") as gone:
        r = subprocess.run(
            [paths.program("mcp-admin"), "-d", admin.dsn, "migrate",
             "--check"], stdout=gone, stderr=subprocess.PIPE, text=True)
    assert r.returncode == FAILED
    assert "standard output" in r.stderr and "Success" not in r.stderr


# migrate, login-role

def test_migrate(empty):
    r = run(empty, "migrate", "--check")
    assert r.returncode == FAILED and "version 0" in r.stderr
    r = run(empty, "migrate")
    assert r.returncode == OK, r.stderr
    steps = r.stdout.split()
    assert "0001-tables" in steps and steps[-1] == "privileges"
    assert run(empty, "migrate", "--check").returncode == OK
    r = run(empty, "migrate")           # again: nothing to do
    assert r.returncode == OK and "0001-tables" not in r.stdout
    assert " 0 migrations" in r.stderr


def test_migrate_refuses_another_encoding(cluster):
    name = "admin_latin1_%d" % next(_serial)
    with Sql(cluster.dsn("postgres")) as sql:
        sql.run('CREATE DATABASE "%s" ENCODING LATIN1 LOCALE \'C\' '
                'TEMPLATE template0' % name)
    r = run(cluster.dsn(name), "migrate")
    assert r.returncode == FAILED and r.stdout == ""
    assert "LATIN1" in r.stderr
    assert "createdb -E UTF8 -T template0" in r.stderr
    with Sql(cluster.dsn(name)) as sql:
        assert sql.one("SELECT to_regnamespace('mcp')") is None


def test_migrate_twice_at_once(empty):
    argv = [paths.program("mcp-admin"), "-d", empty, "migrate"]
    many = [subprocess.Popen(argv, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for _ in range(4)]
    outs = [p.communicate(timeout=60) for p in many]
    assert [p.returncode for p in many] == [OK] * 4, outs
    assert sum(o.count("0001-tables") for o, _ in outs) == 1
    with Sql(empty) as sql:
        assert sql.one("SELECT count(*) = max(migration_id) "
                       "FROM mcp.migration")


def test_migrate_refuses_a_newer_database(empty):
    assert run(empty, "migrate").returncode == OK
    with Sql(empty) as sql:
        sql.run("INSERT INTO mcp.migration (migration_id, slug, sha256) "
                "SELECT max(migration_id) + 1, 'later', repeat('0', 64) "
                "FROM mcp.migration")
    for argv in (["migrate"], ["migrate", "--check"], ["org", "list"]):
        r = run(empty, *argv)
        assert r.returncode == FAILED and "newer" in r.stderr, argv


def test_migrate_refuses_an_edited_file(empty):
    assert run(empty, "migrate").returncode == OK
    with Sql(empty) as sql:
        sql.run("UPDATE mcp.migration SET sha256 = repeat('0', 64) "
                "WHERE migration_id = 2")
    r = run(empty, "migrate")
    assert r.returncode == FAILED and "0002" in r.stderr


def test_migrate_from_another_directory(empty, tmp_path):
    r = run(empty, "migrate", "--dir", str(tmp_path))
    assert r.returncode == FAILED and str(tmp_path) in r.stderr
    r = run(empty, "migrate", "--dir", os.path.join(paths.SRC, "sql"))
    assert r.returncode == OK, r.stderr


def test_migrate_needs_the_owner(admin):
    admin("migrate", status=FAILED)
    admin("migrate", "--check")


@pytest.mark.parametrize("kind", ["responder", "reaper", "admin", "readonly",
                                  "owner"])
def test_login_role(admin, kind):
    name = "Login-%s" % kind
    r = proc.run([paths.program("mcp-admin"), "login-role", name, kind],
                 env={"MCP_FCGI_CONF": "/dev/null"})
    assert r.returncode == OK, r.stderr
    for _ in range(2):                  # idempotent
        done = proc.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                         admin.owner_dsn], input=r.stdout)
        assert done.returncode == 0, done.stderr
    assert admin.sql.one("SELECT pg_has_role(%s, %s, 'MEMBER')", name,
                         "mcp_" + kind)
    assert admin.sql.one("SELECT rolcanlogin FROM pg_roles "
                         "WHERE rolname = %s", name)
    with Sql(admin.cluster.dsn(admin.name, name)) as sql:
        timeout = sql.one("SHOW statement_timeout")
        assert timeout == ("0" if kind in ("admin", "owner") else "5s")
        assert sql.one("SELECT mcp.schema_version()") > 0


@pytest.mark.parametrize("argv", [
    ["a'b", "responder"], ["a\"b", "responder"], ["a\\b", "responder"],
    ["", "responder"], ["x" * 64, "responder"], ["pg_me", "responder"],
    ["a", "superuser"], ["a", "mcp_responder"]])
def test_login_role_refuses(admin, argv):
    assert admin("login-role", *argv, status=USAGE).stdout == ""


# org

def test_org(admin):
    admin("org", "add", "acme", "Acme & Söhne")
    admin("org", "add", "beta")
    assert admin.json("org", "list") == [
        {"organization": "acme", "name": "Acme & Söhne", "members": 0,
         "tokens": 0, "sessions": 0, "last_activity_at": None},
        {"organization": "beta", "name": "beta", "members": 0, "tokens": 0,
         "sessions": 0, "last_activity_at": None}]
    n = admin.n_audit()
    admin("org", "add", "acme")
    admin("org", "add", "acme", "Acme & Söhne")
    r = admin("org", "add", "acme", "Another", status=FAILED)
    assert "another name" in r.stderr
    admin("org", "remove", "nobody", status=NOT_FOUND)
    assert admin.n_audit() == n
    admin("org", "remove", "beta")
    assert [o["organization"] for o in admin.json("org", "list")] == ["acme"]


def test_org_list_counts_what_has_no_row(admin):
    admin("member", "add", "o", "a")
    admin("token", "issue", "o", "a")
    admin.session("o", "a")
    row, = admin.json("org", "list")
    assert (row["members"], row["tokens"], row["sessions"]) == (1, 1, 1)
    assert row["name"] is None and ISO.match(row["last_activity_at"])


def test_org_remove_shuts_nobody_out_by_accident(admin):
    admin("org", "add", "o")
    admin("member", "add", "o", "a")
    admin("token", "issue", "o", "b")
    admin.session("o", "c")
    admin.session("p", "c")
    n = admin.n_audit()
    r = admin("org", "remove", "o", status=FAILED)
    assert "1 member, 1 live token and 1 session" in r.stderr
    assert admin.n_audit() == n
    assert admin.json("org", "list")[0]["name"] == "o"
    admin("org", "remove", "o", "--revoke")
    assert [o["organization"] for o in admin.json("org", "list")] == ["p"]
    assert len(admin.audit("account.revoked")) == 3
    assert admin.sql.one("SELECT reason FROM mcp.session_tombstone") \
        == "revoked"


BAD_IDS = ["", " a", "a ", "a\nb", "a\tb", "\x7f", "\x1b[2J", "a\u0085b",
           "x" * 513]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_bad_names(admin, bad):
    for argv in (["org", "add", bad], ["org", "remove", bad],
                 ["member", "add", bad, "a"], ["member", "add", "o", bad],
                 ["member", "remove", "o", bad],
                 ["token", "issue", "o", bad], ["token", "issue", bad, "a"],
                 ["session", "kill", "--account", "o", bad]):
        r = admin(*argv, status=USAGE)
        assert r.stdout == "" and "\x1b" not in r.stderr
    assert admin.n_audit() == 0


def test_names_that_are_not_utf8(admin):
    r = subprocess.run([paths.program("mcp-admin"), "-d", admin.dsn, "org",
                        "add", b"a\xff"], capture_output=True)
    assert r.returncode == USAGE and b"UTF-8" in r.stderr


@pytest.mark.parametrize("name", [
    "o'; DROP SCHEMA mcp CASCADE; --", "user@example.org", "組織", "a b",
    "x" * 512, "{\"a\":1}", "%s%n", "\\x00"])
def test_unusual_names(admin, name):
    admin("member", "add", name, name)
    assert admin.json("member", "list") == [
        {"organization": name, "account": name,
         "created_at": admin.json("member", "list")[0]["created_at"]}]
    admin("member", "remove", name, name)
    assert admin.json("member", "list", name) == []


def test_a_name_that_begins_with_a_dash(admin):
    admin("member", "add", "--", "-o", "--json")
    assert admin.json("member", "list")[0]["account"] == "--json"


# member

def test_member(admin):
    r = admin("member", "add", "o", "a")
    assert "nothing else is known of organization o" in r.stderr
    assert "warning" not in admin("member", "add", "o", "b").stderr
    n = admin.n_audit()
    r = admin("member", "add", "o", "a")
    assert "already" in r.stderr and admin.n_audit() == n
    admin("member", "add", "p", "a")
    rows = admin.json("member", "list")
    assert [(r["organization"], r["account"]) for r in rows] == [
        ("o", "a"), ("o", "b"), ("p", "a")]
    assert all(ISO.match(r["created_at"]) for r in rows)
    assert len(admin.json("member", "list", "o")) == 2
    assert admin.json("member", "list", "q") == []
    n = admin.n_audit()
    admin("member", "remove", "o", "z", status=NOT_FOUND)
    admin("member", "remove", "o", "z", "--revoke", status=NOT_FOUND)
    assert admin.n_audit() == n


def test_member_remove_keeps_tokens_and_revoke_does_not(admin):
    for _ in range(2):
        admin("member", "add", "o", "a")
        admin("token", "issue", "o", "a")
    admin.session("o", "a")
    admin.session("o", "b")
    admin("member", "remove", "o", "a")
    assert len(admin.json("token", "list")) == 2
    assert len(admin.json("session", "list")) == 2
    r = admin("member", "remove", "o", "a", "--revoke")
    assert "0 memberships, 2 tokens, 1 session" in r.stderr
    assert admin.json("token", "list") == []
    assert [s["account"] for s in admin.json("session", "list")] == ["b"]


def test_who_did_it(admin):
    admin("member", "add", "o", "a")
    what, who = admin.audit()
    assert what["event"] == "member.added"
    assert who["event"] == "admin.command"
    for row in what, who:
        assert (row["organization_id"], row["account_id"]) == ("o", "a")
        assert row["db_user"] == "e2e_admin"
    assert who["detail"]["command"] == "member add"
    assert who["detail"]["os_user"] == proc.service_user().pw_name
    assert who["detail"]["host"] == os.uname().nodename
    assert what["at"] == who["at"]      # one transaction


def test_membership_elsewhere_is_warned_about(admin):
    env = {"MCP_FCGI_MEMBERSHIP": "http",
           "MCP_FCGI_MEMBERSHIP_URL":
               "https://example.org/{account}/{organization}"}
    assert "membership = http" in admin("member", "add", "o", "a",
                                        env=env).stderr


# token

def test_token_is_alone_on_standard_output(admin):
    r = admin("token", "issue", "o", "a", "--name", "laptop", "--ttl", "30d")
    assert TOKEN.fullmatch(r.stdout)
    token = r.stdout.strip()
    assert token not in r.stderr
    assert "not a member" in r.stderr
    row = admin.sql.row("SELECT *, expires_at - created_at AS ttl "
                        "FROM mcp.api_token")
    assert bytes(row["token_sha256"]) == hashlib.sha256(
        token.encode()).digest()
    assert row["ttl"].days == 30 and row["issuer"] == "local"
    listed, = admin.json("token", "list")
    assert listed["id"] == row["api_token_id"]
    assert listed["hint"] == token[-4:] and listed["name"] == "laptop"
    assert listed["state"] == "live" and ISO.match(listed["expires_at"])
    assert token not in json.dumps([dict(a) for a in admin.audit()],
                                   default=str)
    assert [a["event"] for a in admin.audit()] == ["token.issued",
                                                   "admin.command"]


def test_token_of_the_configured_issuer(admin):
    admin("token", "issue", "o", "a",
          env={"MCP_FCGI_ISSUER": "https://idp.example.org"})
    assert admin.sql.one("SELECT issuer FROM mcp.api_token") == \
        "https://idp.example.org"


@pytest.mark.parametrize("ttl,seconds", [
    ("1", 1), ("90s", 90), ("45m", 2700), ("12h", 43200), ("2w", 1209600),
    ("36500d", 3153600000)])
def test_ttl(admin, ttl, seconds):
    admin("token", "issue", "o", "a", "--ttl", ttl)
    assert admin.sql.one("SELECT extract(epoch FROM expires_at - created_at)"
                         "::bigint FROM mcp.api_token") == seconds


@pytest.mark.parametrize("ttl", [
    "", "0", "-1d", "d", "1y", "1dd", "1 d", "1.5h", "36501d", "1e9",
    "99999999999999999999d", "9223372036854775807w", "0x10"])
def test_bad_ttl(admin, ttl):
    r = admin("token", "issue", "o", "a", "--ttl", ttl, status=USAGE)
    assert r.stdout == "" and "--ttl" in r.stderr
    assert admin.sql.one("SELECT count(*) FROM mcp.api_token") == 0


@pytest.mark.parametrize("name", ["x" * 257, "a\nb", ""])
def test_bad_token_name(admin, name):
    admin("token", "issue", "o", "a", "--name", name, status=USAGE)
    assert admin.sql.one("SELECT count(*) FROM mcp.api_token") == 0


def test_token_revoke_and_list(admin):
    for account in "abc":
        admin("token", "issue", "o", account)
    admin("token", "issue", "p", "d")
    ids = [t["id"] for t in admin.json("token", "list")]
    assert len(ids) == 4 and len(admin.json("token", "list", "o")) == 3
    admin("token", "revoke", str(ids[0]))
    admin.sql.run("UPDATE mcp.api_token SET expires_at = now() - "
                  "interval '1 s' WHERE api_token_id = %s", ids[1])
    assert [t["id"] for t in admin.json("token", "list")] == ids[2:]
    assert [t["state"] for t in admin.json("token", "list", "--all")] == [
        "revoked", "expired", "live", "live"]
    n = admin.n_audit()
    admin("token", "revoke", str(ids[0]), status=NOT_FOUND)
    admin("token", "revoke", "999999999", status=NOT_FOUND)
    for bad in "x", "0", "-1", "1x", "9" * 30, "":
        admin("token", "revoke", "--", bad, status=USAGE)
    assert admin.n_audit() == n


# session

def test_session_list(admin):
    young = admin.session("o", "a", age_s=1, client="x\x1b[2J\u009b")
    old = admin.session("o", "b", age_s=20)
    gone = admin.session("p", "a", age_s=400)
    rows = admin.json("session", "list")
    assert [r["session"] for r in rows] == [young[:8], old[:8]]
    assert all(ISO.match(r["last_activity_at"]) for r in rows)
    assert all(r["state"] == "live" for r in rows)
    r = admin("session", "list")
    assert "\x1b" not in r.stdout and "\u009b" not in r.stdout
    assert "x\\x1b[2J" in r.stdout
    assert young not in r.stdout + admin("--json", "session", "list").stdout
    rows = admin.json("session", "list", "--all")
    assert (rows[-1]["session"], rows[-1]["state"]) == (gone[:8],
                                                        "expired (idle)")
    assert [r["session"] for r in admin.json(
        "session", "list", "--org", "o", "--account", "b")] == [old[:8]]
    r = admin("session", "list", "--limit", "1")
    assert len(r.stdout.splitlines()) == 2 and "--limit" in r.stderr
    for bad in "0", "x", "-1":
        admin("session", "list", "--limit=" + bad, status=USAGE)


def test_columns_are_in_line(admin):
    admin("member", "add", "o", "ä")
    admin("member", "add", "organization", "account")
    lines = admin("member", "list").stdout.splitlines()
    assert lines[0].split() == ["ORGANIZATION", "ACCOUNT", "CREATED_AT"]
    at = lines[0].index("CREATED_AT")
    assert all(ISO.match(line[at:]) for line in lines[1:])


def test_session_show_and_kill(admin):
    sid = admin.session("o", "a")
    shown = admin.json("session", "show", sid[:8])
    assert shown["session"] == sid[:8] and shown["state"] == "live"
    assert shown["client_info"] == {"name": "a client"}
    assert shown["idle_s"] == 300 and ISO.match(shown["expires_at"])
    assert "account:" in admin("session", "show", sid).stdout
    admin("session", "kill", sid[:20])
    what, who = admin.audit()
    assert what["event"] == "session.killed"
    assert who["detail"]["command"] == "session kill"
    assert sid not in str(what) + str(who)
    shown = admin.json("session", "show", sid)
    assert (shown["state"], shown["reason"]) == ("ended", "killed")
    assert ISO.match(shown["ended_at"])
    n = admin.n_audit()
    r = admin("session", "kill", sid[:8], status=NOT_FOUND)
    assert "killed" in r.stderr
    admin("session", "kill", "0" * 64, status=NOT_FOUND)
    admin("session", "show", "0" * 8, status=NOT_FOUND)
    assert admin.n_audit() == n


def test_session_show_tells_why(admin):
    sid = admin.session("o", "a", age_s=400)
    assert admin.json("session", "show", sid)["state"] == "expired"
    r = proc.run([paths.program("mcp-reaper"), "-d",
                  admin.cluster.dsn(admin.name, "e2e_reaper")])
    assert r.returncode == 0, r.stderr
    assert "reason:" in admin("session", "show", sid).stdout
    assert admin.json("session", "show", sid)["reason"] == "idle"
    assert admin.json("session", "list", "--all")[0]["state"] == \
        "ended (idle)"


def test_beginnings_of_ids(admin):
    one = admin.session("o", "a", session_id="abcdef01" + "0" * 56)
    two = admin.session("o", "a", session_id="abcdef01" + "1" * 56)
    for verb in "show", "kill":
        r = admin("session", verb, "abcdef01", status=FAILED)
        assert "several" in r.stderr
        for bad in ("abcdef0", "ABCDEF01", "abcdefg1", "a" * 65, "%%%%%%%%",
                    ""):
            admin("session", verb, bad, status=USAGE)
    assert admin.sql.one("SELECT count(*) FROM mcp.session") == 2
    admin("session", "kill", "abcdef011")
    assert admin.sql.one("SELECT session_id FROM mcp.session") == one
    assert admin.json("session", "show", two)["reason"] == "killed"


def test_session_kill_account_and_all(admin):
    for _ in range(3):
        admin.session("o", "a")
    admin.session("o", "b")
    admin.session("p", "a")
    admin("member", "add", "o", "a")
    r = admin("session", "kill", "--account", "o", "a")
    assert "3 sessions ended" in r.stderr
    assert len(admin.json("member", "list")) == 1
    assert len(admin.json("session", "list")) == 2
    n = admin.n_audit()
    admin("session", "kill", "--account", "o", "a", status=NOT_FOUND)
    assert admin.n_audit() == n
    r = admin("session", "kill", "--all")
    assert "2 sessions ended" in r.stderr
    assert admin.json("session", "list") == []
    admin("session", "kill", "--all")
    assert {a["event"] for a in admin.audit()} >= {
        "session.killed", "session.drained", "admin.command"}


def test_nothing_half_done(admin):
    """The change and its audit are one: without the right to audit there is
    no change."""
    admin.sql.run("REVOKE INSERT ON mcp.audit_event FROM mcp_admin")
    admin.sql.run("REVOKE INSERT (event, issuer, account_id, organization_id,"
                  " session_hint, detail) ON mcp.audit_event FROM mcp_admin")
    try:
        sid = admin.session("o", "a")
        for argv in (["org", "add", "o"], ["member", "add", "o", "a"],
                     ["token", "issue", "o", "a"],
                     ["session", "kill", sid], ["session", "kill", "--all"]):
            assert admin(*argv, status=FAILED).stdout == ""
        for table in "organization", "membership", "api_token":
            assert admin.sql.one("SELECT count(*) FROM mcp." + table) == 0
        assert admin.sql.one("SELECT count(*) FROM mcp.session") == 1
        assert admin.n_audit() == 0
    finally:
        r = run(admin.owner_dsn, "migrate")     # sets privileges again
        assert r.returncode == OK, r.stderr
    admin("org", "add", "o")
