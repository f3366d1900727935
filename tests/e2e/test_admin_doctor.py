# SPDX-License-Identifier: ISC
"""Goal of this test: mcp-admin doctor finds each fault it promises to find,
names the remedy, and is content with an installation in order."""

import http.server
import json
import os
import re
import threading
import time

import pytest

from conftest import Stack
from lib import paths, proc
from lib.cluster import Sql

LINE = re.compile(r"^(PASS|FAIL|WARN)  ([a-z]+): (.*)$")


class Site(http.server.ThreadingHTTPServer):
    """What a web server with responders answers, or one with a fault."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server_port
        self.fault = None
        self.agents = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        site = self.server
        well_known = "/.well-known/oauth-protected-resource"
        if self.path.startswith("/members/"):
            status = {"members 401": 401, "members 500": 500}.get(
                site.fault, 404)
            return self.answer(status, b"{}")
        if not self.path.startswith(well_known) or \
                site.fault == "well-known" or \
                (site.fault == "root" and self.path == well_known):
            return self.answer(403, b"forbidden by the host")
        if site.fault == "not JSON":
            return self.answer(200, b"<html>")
        resource = site.base + "/mcp"
        if site.fault == "resource":
            resource = resource.replace("127.0.0.1", "localhost")
        self.answer(200, json.dumps({"resource": resource}).encode())

    def do_POST(self):
        site = self.server
        self.rfile.read(int(self.headers["Content-Length"]))
        site.agents.append(self.headers.get("User-Agent"))
        if site.fault == "agent" and "Claude" in (site.agents[-1] or ""):
            return self.answer(403, b"bots keep out")
        if site.fault == "no agent" and site.agents[-1] is None:
            return self.answer(403, b"bots keep out")
        if site.fault == "404":
            return self.answer(404, b"no such page")
        if site.fault == "basic":
            return self.answer(401, b"", WWW_Authenticate='Basic realm="x"')
        challenge = 'resource_metadata="%s/.well-known/' \
            'oauth-protected-resource/mcp"' % site.base
        bearer = self.headers.get("Authorization")
        if site.fault == "503" and bearer:
            return self.answer(503, b"")
        if site.fault == "200" and bearer:
            return self.answer(200, b"{}")
        if bearer and site.fault != "stripped":
            assert re.fullmatch(r"Bearer mcp_[A-Za-z0-9_-]{43}", bearer)
            challenge = 'error="invalid_token", ' + challenge
        self.answer(401, b'{"error":"unauthorized"}',
                    WWW_Authenticate="Bearer " + challenge)


@pytest.fixture(scope="module")
def site():
    s = Site()
    yield s
    s.close()


class Doctor:
    def __init__(self, cluster, root, site):
        self.cluster = cluster
        self.site = site
        self.name = cluster.database("doctor")
        self.file = os.path.join(root, "doctor.conf")
        self.sql = Sql(cluster.dsn(self.name))
        self.conf = {}

    def reset(self):
        self.site.fault = None
        self.sql.run("TRUNCATE mcp.sweep, mcp.session, mcp.jwks")
        self.sweep(0)
        self.conf = {
            "resource_url": self.site.base + "/mcp",
            "database": self.cluster.dsn(self.name, "e2e_responder"),
            "admin_database": self.cluster.dsn(self.name, "e2e_admin"),
            "fetch_allow": "127.0.0.0/8",
            "fetch_timeout_ms": 1000,
        }
        sandbox = paths.program("mcp-sandbox")
        if sandbox:
            self.conf["sandbox"] = sandbox

    def sweep(self, age_s, is_complete=True):
        self.sql.run(
            "INSERT INTO mcp.sweep (started_at, finished_at, host, "
            "is_complete) VALUES (now() - make_interval(secs => %s), now() - "
            "make_interval(secs => %s), 'a-host', %s)", age_s, age_s,
            is_complete)

    def __call__(self, *argv, **settings):
        """The lines by check, each (mark, text, remedy)."""
        with open(self.file, "w") as f:
            for k, v in {**self.conf, **settings}.items():
                if v is not None:
                    f.write("%s = %s\n" % (k, v))
        r = proc.run([paths.program("mcp-admin"), "-c", self.file, "doctor"]
                     + list(argv))
        self.out, self.status = r.stdout + r.stderr, r.returncode
        found = {}
        for line in r.stdout.splitlines():
            if line.startswith("      -> "):
                found[last][-1][2] += line[9:]
                continue
            mark, last, text = LINE.match(line).groups()
            found.setdefault(last, []).append([mark, text, ""])
        marks = [x[0] for xs in found.values() for x in xs]
        assert self.status == (1 if "FAIL" in marks else 0), self.out
        for xs in found.values():
            assert all(x[2] for x in xs if x[0] == "FAIL"), self.out
        return found

    def one(self, check, *argv, **settings):
        lines = self(*argv, **settings)
        assert check in lines, self.out
        return lines[check][-1]


@pytest.fixture(scope="module")
def made(cluster, root, site):
    d = Doctor(cluster, root, site)
    yield d
    d.sql.close()


@pytest.fixture
def doctor(made):
    made.reset()
    return made


def test_all_is_well(doctor):
    lines = doctor("--workers", "8")
    assert {x[0] for xs in lines.values() for x in xs} <= {"PASS"} or \
        "sandbox" not in doctor.conf, doctor.out
    assert set(lines) == {
        "configuration", "database", "encoding", "schema", "privileges",
        "clock", "connections", "reaper", "keys", "membership", "keyring",
        "secrets", "sandbox", "url", "metadata", "endpoint", "authorization"}
    assert len(lines["metadata"]) == 2
    assert doctor.file in lines["configuration"][0][1]


@pytest.mark.skipif(not paths.program("mcp-sandbox"), reason="not built")
def test_sandbox(doctor):
    assert doctor.one("sandbox")[0] == "PASS"


def test_sandbox_is_absent(doctor):
    mark, text, _ = doctor.one("sandbox", sandbox="/nonexistent/sandbox")
    assert mark == "FAIL" and "/nonexistent/sandbox" in text


def test_configuration(doctor):
    lines = doctor(resource_url="gopher://x/mcp")
    assert list(lines) == ["configuration"]
    assert "doctor.conf:1" in lines["configuration"][0][1]
    assert doctor.one("configuration", issue="x")[0] == "FAIL"
    assert doctor.one("configuration", database=None)[0] == "FAIL"


def test_bad_number_of_workers(doctor):
    for bad in "0", "x", "":
        r = proc.run([paths.program("mcp-admin"), "-c", doctor.file,
                      "doctor", "--workers", bad])
        assert r.returncode == 2


def test_database_is_down(doctor):
    lines = doctor(database="host=/nonexistent user=x dbname=y")
    mark, text, _ = lines["database"][0]
    assert mark == "FAIL" and "/nonexistent" in text
    assert "schema" not in lines and "reaper" not in lines
    assert lines["authorization"][0][0] == "PASS"     # the rest is looked at


def test_schema(doctor):
    name = "doctor_empty"
    with Sql(doctor.cluster.dsn("postgres")) as sql:
        if not sql.one("SELECT 1 FROM pg_database WHERE datname = %s", name):
            sql.run("CREATE DATABASE %s" % name)
    mark, text, remedy = doctor.one(
        "schema", database=doctor.cluster.dsn(name, "e2e_responder"))
    assert mark == "FAIL" and "version 0" in text
    assert "mcp-admin migrate" in remedy


def test_database_refuses(doctor):
    mark, text, remedy = doctor.one(
        "database", database=doctor.cluster.dsn("doctor_nowhere"))
    assert mark == "FAIL" and "doctor_nowhere" in text
    assert "pg_hba.conf" in remedy


def test_encoding(doctor):
    name = "doctor_latin1"
    with Sql(doctor.cluster.dsn("postgres")) as sql:
        if not sql.one("SELECT 1 FROM pg_database WHERE datname = %s", name):
            sql.run("CREATE DATABASE %s ENCODING LATIN1 LOCALE 'C' "
                    "TEMPLATE template0" % name)
    mark, text, remedy = doctor.one(
        "encoding", database=doctor.cluster.dsn(name, "e2e_responder"))
    assert mark == "FAIL" and "LATIN1" in text
    assert "createdb -E UTF8 -T template0" in remedy


def test_role_without_privileges(doctor):
    mark, text, remedy = doctor.one(
        "privileges",
        database=doctor.cluster.dsn(doctor.name, "e2e_reaper"))
    assert mark == "FAIL" and "enter" in text and "login-role" in remedy
    doctor.sql.run("DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE "
                   "rolname = 'e2e_nobody') THEN CREATE ROLE e2e_nobody "
                   "LOGIN; END IF; END $$")
    mark, text, remedy = doctor.one(
        "schema", database=doctor.cluster.dsn(doctor.name, "e2e_nobody"))
    assert mark == "FAIL" and "permission denied" in text


def test_role_with_too_many_privileges(doctor):
    mark, text, _ = doctor.one("privileges",
                               database=doctor.cluster.dsn(doctor.name))
    assert mark == "WARN" and "postgres" in text


def test_connections(doctor):
    """B-54.  The cluster of the tests has max_connections 150."""
    mark, text, _ = doctor.one("connections", "--workers", "20")
    assert mark == "PASS" and "max_connections 150" in text
    mark, text, remedy = doctor.one("connections", "--workers", "500")
    assert mark == "FAIL" and "500 responders" in text
    assert "PgBouncer" in remedy
    # Other tests' responders have the same role.
    others = doctor.sql.one("SELECT count(*) FROM pg_stat_activity WHERE "
                            "usename = 'e2e_responder'")
    limit = others + 12
    doctor.sql.run("ALTER ROLE e2e_responder CONNECTION LIMIT %d" % limit)
    try:
        assert doctor.one("connections", "--workers", str(limit - 2))[
            0] == "FAIL"
        assert doctor.one("connections", "--workers", str(limit - 3))[
            0] == "PASS"
    finally:
        doctor.sql.run("ALTER ROLE e2e_responder CONNECTION LIMIT -1")
    mark, text, _ = doctor.one("connections", "--workers", "500",
                               database_pooler="transaction")
    assert mark == "PASS" and "pooler" in text


def test_connections_of_running_responders(doctor):
    dsn = doctor.cluster.dsn(doctor.name, "e2e_responder")
    several = [Sql(dsn + " application_name=mcp-fcgi") for _ in range(3)]
    try:
        mark, text, _ = doctor.one("connections")
        assert mark == "PASS"
        assert int(re.match(r"(\d+) responders connected", text)[1]) >= 3
    finally:
        for s in several:
            s.close()


def test_reaper(doctor):
    doctor.sql.run("TRUNCATE mcp.sweep")
    mark, text, remedy = doctor.one("reaper")
    assert mark == "FAIL" and "* * * * * mcp-reaper" in remedy
    doctor.sweep(299)
    assert doctor.one("reaper")[0] == "PASS"
    doctor.sql.run("TRUNCATE mcp.sweep")
    doctor.sweep(400)
    mark, text, _ = doctor.one("reaper")
    assert mark == "FAIL" and "a-host" in text


def test_reaper_does_not_keep_up(doctor):
    doctor.sweep(0, is_complete=False)
    assert doctor.one("reaper")[0] == "PASS"
    doctor.sql.run(
        "INSERT INTO mcp.session (session_id, issuer, account_id, "
        "organization_id, last_activity_at, alarm_at) VALUES (%s, 'i', 'a', "
        "'o', now() - interval '1 day', now() - interval '1 hour')", "a" * 64)
    mark, text, _ = doctor.one("reaper")
    assert mark == "WARN" and "1 session overdue" in text


def test_reaper_cannot_be_seen(doctor):
    mark, _, remedy = doctor.one("reaper", admin_database=None)
    assert mark == "WARN" and "admin_database" in remedy


def test_real_reaper_is_seen(doctor):
    doctor.sql.run("TRUNCATE mcp.sweep")
    r = proc.run([paths.program("mcp-reaper"), "-d",
                  doctor.cluster.dsn(doctor.name, "e2e_reaper")])
    assert r.returncode == 0, r.stderr
    assert doctor.one("reaper")[0] == "PASS"


def test_keys(doctor, idp):
    mark, text, _ = doctor.one("keys", issuer=idp.issuer)
    assert mark == "PASS" and idp.issuer in text
    assert doctor.one("issuer", issuer=idp.issuer)[0] == "PASS"
    assert doctor.sql.one("SELECT fetched_at IS NOT NULL FROM mcp.jwks")


def test_keys_out_of_reach(doctor):
    port = proc.free_port()
    start = time.monotonic()
    lines = doctor(issuer="http://127.0.0.1:%d" % port)
    assert time.monotonic() - start < 15
    assert lines["keys"][0][0] == "FAIL" and lines["issuer"][0][0] == "WARN"
    mark, _, remedy = doctor.one("keys", issuer="http://127.0.0.1:%d" % port,
                                 fetch_allow="10.0.0.0/8")
    assert mark == "FAIL" and "fetch_allow" in remedy


def test_keys_that_are_none(doctor, site):
    site.fault = None
    mark, text, _ = doctor.one(
        "keys", issuer=site.base, jwks_url=site.base +
        "/.well-known/oauth-protected-resource/mcp")
    assert mark == "FAIL"


@pytest.mark.parametrize("fault,mark", [
    (None, "PASS"), ("members 401", "FAIL"), ("members 500", "FAIL")])
def test_membership(doctor, site, fault, mark):
    site.fault = fault
    got = doctor.one("membership", membership="http", membership_url=site.base
                     + "/members/{account}/{organization}")
    assert got[0] == mark
    assert fault is None or fault[-3:] in got[1]


def test_membership_out_of_reach(doctor):
    url = "http://127.0.0.1:%d/{account}/{organization}" % proc.free_port()
    assert doctor.one("membership", membership="http",
                      membership_url=url)[0] == "FAIL"


def test_web_server_is_down(doctor):
    """What cannot be asked is no fault by itself."""
    lines = doctor(resource_url="http://127.0.0.1:%d/mcp" % proc.free_port())
    assert lines["metadata"][0][0] == "WARN"
    assert "endpoint" not in lines and doctor.status == 0


def test_https_is_configured_but_not_served(doctor, site):
    """B-34."""
    url = site.base.replace("http:", "https:") + "/mcp"
    mark, text, remedy = doctor.one("metadata", resource_url=url)
    assert mark == "FAIL" and "http only" in text
    assert "certificate" in remedy


@pytest.mark.parametrize("fault,check,remedy", [
    ("well-known", "metadata", "well-known"),
    ("root", "metadata", "root"),
    ("not JSON", "metadata", "well-known"),
    ("resource", "metadata", "another resource_url"),
    ("404", "endpoint", "httpd-conf"),
    ("basic", "endpoint", "WWW-Authenticate"),
    ("stripped", "authorization", "CGIPassAuth On"),
    ("503", "authorization", "database"),
    ("200", "authorization", "log")])
def test_faults_of_the_site(doctor, site, fault, check, remedy):
    """B-29, B-32, B-34 and their kin."""
    site.fault = fault
    lines = doctor()[check]
    assert any(mark == "FAIL" and remedy in what_to_do
               for mark, _, what_to_do in lines), doctor.out


def test_external(doctor, site):
    """B-38: a site on loopback by http is not reachable from outside, but
    user agents are let through."""
    site.agents.clear()
    lines = doctor("--external")["external"]
    text = [(mark, t) for mark, t, _ in lines]
    assert ("PASS", "user agent Claude-User is let through") in text
    assert ("PASS", "user agent none is let through") in text
    assert any(m == "FAIL" and "https" in t for m, t in text)
    assert any(m == "FAIL" and "private address" in t for m, t in text)
    assert "Claude-User" in site.agents and None in site.agents


@pytest.mark.parametrize("fault,agent", [("agent", "Claude-User"),
                                         ("no agent", "none")])
def test_bots_are_kept_out(doctor, site, fault, agent):
    site.fault = fault
    lines = doctor("--external")["external"]
    assert any(m == "FAIL" and agent in t and "403" in t
               for m, t, _ in lines), doctor.out


@pytest.fixture
def real(front_kind, root, cluster, idp, doctor):
    """Each front server with its shipped file, at the address it really
    has."""
    s = Stack(root, cluster, idp, front_kind, database=doctor.name)
    s.front.conf["resource_url"] = "http://127.0.0.1:%d/mcp" % s.front.port
    s.front.conf["allowed_hosts"] = ""
    s.front.write_conf()
    s.start()
    yield s
    s.stop()


def test_real_installation(doctor, real):
    doctor.conf = real.front.conf
    lines = doctor()
    marks = {check: [x[0] for x in xs] for check, xs in lines.items()}
    assert "FAIL" not in [m for ms in marks.values() for m in ms], doctor.out
    for check in ("url", "metadata", "endpoint", "authorization", "keys",
                  "issuer", "reaper", "privileges"):
        assert set(marks[check]) == {"PASS"}, doctor.out
    assert len(lines["metadata"]) == 2


def test_configuration_that_is_not_the_responders(doctor, real):
    """B-34: the file was changed and nobody restarted them."""
    doctor.conf = dict(real.front.conf)
    doctor.conf["resource_url"] = doctor.conf["resource_url"].replace(
        "127.0.0.1", "localhost")
    mark, text, remedy = doctor.one("metadata")
    assert mark == "FAIL" and "restarted" in remedy


def test_apache_without_cgipassauth(doctor, root, cluster, idp):
    """B-32, with the real Apache."""
    if not os.path.exists("/usr/lib/apache2/modules/mod_proxy_fcgi.so"):
        pytest.skip("no Apache")
    s = Stack(root, cluster, idp, "apache-proxy-fcgi",
              database=doctor.name)
    s.front.conf["resource_url"] = "http://127.0.0.1:%d/mcp" % s.front.port
    s.front.write_conf()
    render = s.front.render

    def stripped(template):
        path = render(template)
        with open(path) as f:
            text = f.read()
        assert "CGIPassAuth On" in text
        with open(path, "w") as f:
            f.write(text.replace("CGIPassAuth On", "CGIPassAuth Off"))
        return path
    s.front.render = stripped
    s.start()
    try:
        doctor.conf = s.front.conf
        mark, _, remedy = doctor.one("authorization")
        assert mark == "FAIL" and "CGIPassAuth On" in remedy, doctor.out
    finally:
        s.stop()


def test_secrets_are_not_shown(doctor, root, site):
    secret = os.path.join(root, "doctor.secret")
    with open(secret, "w") as f:
        f.write("sesame-open\n")
    proc.hand_over_file(secret, 0o600)
    doctor("--external", membership="http", membership_url=site.base +
           "/members/{account}/{organization}", membership_token_file=secret)
    assert "sesame" not in doctor.out
    os.chmod(secret, 0o644)
    assert doctor.one("membership", membership="http",
                      membership_url=site.base +
                      "/members/{account}/{organization}",
                      membership_token_file=secret)[0] == "FAIL"
