# SPDX-License-Identifier: ISC
"""Goal of this test: the process models. Responders under the --listen
parent end and are replaced without losing a request; plain CGI and shared
hosting answer the same; a wrong configuration does not start."""

import os
import signal
import threading
import time

import pytest

from conftest import RESOURCE, Stack
from lib import paths, proc
from lib.client import initialize_message


@pytest.fixture(scope="module")
def pool(root, cluster, idp):
    """Responders under their own parent, few requests each."""
    s = Stack(root, cluster, idp, "apache-proxy-fcgi",
              {"requests_per_process": 25, "stream_hold_s": 2}).start()
    yield s
    s.stop()


def load(stack, client, seconds, during):
    """Answers while DURING() is called every 0.3 s."""
    stop = threading.Event()
    seen = []

    def work():
        while not stop.is_set():
            try:
                seen.append(client.list_tools(timeout=15).status)
            except Exception as e:      # noqa: B902
                seen.append(repr(e))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.3)
        during()
    stop.set()
    for t in threads:
        t.join()
    return seen


def workers(stack, name="rpc"):
    return [p for p in proc.children_of(stack.front.parents[name].pid)
            if proc.is_running(p)]


def test_exit_after_n_requests_loses_none(pool):
    client = pool.user().connect()
    before = set(workers(pool))
    seen = load(pool, client, 2, lambda: None)
    assert len(seen) > 150
    assert set(seen) == {200}, set(seen)
    assert not before & set(workers(pool))
    proc.wait_for(lambda: len(workers(pool)) == 4, 5)


def test_hup_replaces_every_responder_and_loses_none(pool):
    client = pool.user().connect()
    parent = pool.front.parents["rpc"]
    before = set(workers(pool))

    seen = load(pool, client, 2, lambda: parent.send_signal(signal.SIGHUP))
    assert set(seen) == {200}, set(seen)
    proc.wait_for(lambda: not before & set(workers(pool)), 5)
    proc.wait_for(lambda: len(workers(pool)) == 4, 5)
    assert parent.poll() is None


def test_term_of_single_responders_loses_none(pool):
    client = pool.user().connect()

    def term_one():
        for pid in workers(pool)[:1]:
            proc.kill(pid, signal.SIGTERM)
    seen = load(pool, client, 2, term_one)
    assert set(seen) == {200}, set(seen)


def test_killed_responders_are_replaced(pool):
    for pid in workers(pool):
        proc.kill(pid)
    proc.wait_for(lambda: len(workers(pool)) == 4, 5)
    client = pool.user().connect()
    assert client.list_tools().status == 200


def test_term_of_the_parent_finishes_what_is_in_hand(pool):
    client = pool.user().connect()
    result = []
    t = threading.Thread(target=lambda: result.append(client.execute(
        "const t = Date.now(); while (Date.now() - t < 1500) {} "
        "return 'done'")))
    t.start()
    time.sleep(0.5)
    parent = pool.front.parents["rpc"]
    parent.send_signal(signal.SIGTERM)
    t.join()
    assert result and result[0]["content"][0]["text"] == "done"
    assert parent.wait(10) == 0
    assert not os.path.exists(pool.front.path("run/mcp-fcgi/rpc.sock"))
    pool.front.start_pool("rpc", 4)
    assert client.list_tools().status == 200


def test_killed_parent_takes_no_responder_slot_for_ever(pool):
    """A new parent starts on the stale socket."""
    parent = pool.front.parents["rpc"]
    old = workers(pool)
    parent.kill()
    parent.wait()
    pool.front.start_pool("rpc", 4)
    client = pool.user().connect()
    assert client.list_tools().status == 200
    # The orphans have no socket any more and end by themselves or idle.
    for pid in old:
        proc.kill(pid)


def test_parent_refuses_a_socket_in_use(pool):
    sock = pool.front.path("run/mcp-fcgi/rpc.sock")
    r = proc.run([paths.program("mcp-fcgi"), "-c", pool.front.conf_file,
                  "--listen", "unix:" + sock, "--workers", "1"])
    assert r.returncode != 0
    client = pool.user().connect()
    assert client.list_tools().status == 200


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:00",
                                     "127.0.0.1:"])
def test_parent_refuses_a_port_nobody_knows(pool, address):
    r = proc.run([paths.program("mcp-fcgi"), "-c", pool.front.conf_file,
                  "--listen", address], timeout=10)
    assert r.returncode == 1
    assert "1 to 65535" in r.stderr
    # said once, for people who do not read the source
    assert r.stderr.count("\n") == 1 and " at=" not in r.stderr


def test_check_of_the_settings_says_what_is_wrong(pool):
    argv = [paths.program("mcp-fcgi"), "-t"]
    r = proc.run(argv, env={"MCP_FCGI_CONF": "/dev/null"})
    assert r.returncode == 1
    assert r.stderr == "mcp-fcgi: resource_url is required: set it in " \
        "/dev/null, or MCP_FCGI_RESOURCE_URL in the environment\n"
    r = proc.run(argv + ["-c", pool.front.conf_file], env={
        "MCP_FCGI_DATABASE": "host=/nonexistent dbname=x user=y"})
    assert r.returncode == 1
    assert r.stderr.startswith("mcp-fcgi: database: connection to server")


def test_mode_of_the_socket(pool):
    sock = pool.front.path("run/mode.sock")
    child = proc.start([paths.program("mcp-fcgi"), "-c",
                        pool.front.conf_file, "--listen", "unix:" + sock,
                        "--workers", "1", "--mode", "0600"],
                       pool.front.path("log/mode.log"))
    try:
        proc.wait_for(lambda: os.path.exists(sock))
        assert os.stat(sock).st_mode & 0o777 == 0o600
    finally:
        proc.stop(child)


def test_tcp_socket(pool):
    port = proc.free_port()
    child = proc.start([paths.program("mcp-fcgi"), "-c",
                        pool.front.conf_file, "--listen",
                        "127.0.0.1:%d" % port, "--workers", "1"],
                       pool.front.path("log/tcp.log"))
    import socket

    def up():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False
    try:
        proc.wait_for(up)
    finally:
        assert proc.stop(child)


# Started by the web server

def test_exit_after_n_requests_under_every_front(make_stack, front_kind):
    """The web server replaces a responder that has done its share."""
    s = make_stack(front_kind, {"requests_per_process": 20})
    client = s.user().connect()
    seen = load(s, client, 4, lambda: None)
    assert len(seen) > 100
    bad = [x for x in seen if x != 200]
    assert not bad, (len(bad), len(seen), set(bad))


# Plain CGI and shared hosting, a smoke test.

@pytest.mark.parametrize("kind", ["lighttpd-cgi", "apache-cgi",
                                  "apache-htaccess"])
def test_cgi_smoke(make_stack, kind):
    s = make_stack(kind)
    assert s.web.request("OPTIONS", "/mcp", {
        "Origin": "https://x.example",
        "Access-Control-Request-Method": "POST"}).status == 204
    a = s.web.request("GET", "/.well-known/oauth-protected-resource/mcp")
    assert a.status == 200 and a.json["resource"] == RESOURCE
    a = s.web.request("POST", "/mcp", {}, b"{}")
    assert a.status == 401 and a.header("www-authenticate")
    client = s.user().connect()
    assert client.list_tools().ctype == "application/json"
    assert client.execute("1 + 1")["content"][0]["text"] == "2"
    g = client.get()
    assert g.status == 200 and "text/event-stream" in g.header("content-type")
    assert g.read_until("retry:", 15)
    g.hang_up()
    outsider = s.user(member=False)
    outsider.session = client.session
    assert outsider.list_tools().status == 403
    big = client.call("ping", {"pad": "x" * 100000})
    assert big.status == 200
    assert client.delete().status == 204
    assert client.list_tools().status == 404
    assert not [p for p in s.front.all_pids()
                if (proc.stat(p) or ("", ""))[1] == "Z"
                and (proc.stat(p))[0] == "mcp-fcgi"]


def test_b32_redirected_authorization(make_stack):
    """mod_rewrite renames the header where CGIPassAuth is not allowed."""
    s = make_stack("apache-htaccess", name="rewritten")
    htaccess = s.front.path("www/.htaccess")
    with open(htaccess) as f:
        text = f.read()
    with open(htaccess, "w") as f:
        f.write(text.replace("CGIPassAuth On", ""))
    client = s.user().connect()
    assert client.list_tools().status == 200


def test_b32_header_absent_is_logged(make_stack):
    """Stripped on the way: the log says what to check."""
    s = make_stack("apache-htaccess", name="stripped")
    htaccess = s.front.path("www/.htaccess")
    with open(htaccess) as f:
        lines = [x for x in f if "Authorization" not in x
                 and "CGIPassAuth" not in x]
    with open(htaccess, "w") as f:
        f.write("".join(lines))
    client = s.user()
    a = client.post(initialize_message())
    assert a.status == 401
    assert "error=" not in a.header("www-authenticate")
    proc.wait_for(lambda: "CGIPassAuth" in s.front.logs(), 3,
                  about="a hint in the log")


# Configuration

def check(tmp_path, settings, *argv, env=None):
    conf = os.path.join(str(tmp_path), "t.conf")
    with open(conf, "w") as f:
        f.write(settings)
    os.chmod(conf, 0o644)
    import subprocess
    return subprocess.run(
        [paths.program("mcp-fcgi"), "-c", conf, "-t"] + list(argv),
        capture_output=True, text=True, env=proc.environment(env), timeout=30)


@pytest.fixture
def good(stack_conf):
    return "".join("%s = %s\n" % kv for kv in stack_conf.items())


@pytest.fixture(scope="module")
def stack_conf(pool):
    return dict(pool.conf)


def test_conf_good(tmp_path, good):
    r = check(tmp_path, good)
    assert r.returncode == 0, r.stderr


@pytest.mark.parametrize("line, word", [
    ("no_such_key = 1", "no_such_key"), ("heartbeat_s = x", "heartbeat_s"),
    ("heartbeat_s = -1", "heartbeat_s"), ("membership = ldap", "membership"),
    ("max_body_bytes = 99999999999999999999", "max_body_bytes"),
    ("heartbeat_s = 30\nheartbeat_s = 30", "heartbeat_s"),
    ("fetch_allow = 1.2.3.4/99", "fetch_allow")])
def test_conf_bad_line(tmp_path, good, line, word):
    r = check(tmp_path, good + line + "\n")
    assert r.returncode == 1
    n = good.count("\n") + line.count("\n") + 1
    assert word in r.stderr
    assert "t.conf:%d" % n in r.stderr, r.stderr


def test_conf_required(tmp_path):
    assert check(tmp_path, "").returncode == 1


def test_conf_no_inline_secret(tmp_path, good):
    text = "".join(x for x in good.splitlines(True)
                   if not x.startswith("database ="))
    r = check(tmp_path, text + "database = host=/x password=hunter2\n")
    assert r.returncode == 1
    assert "hunter2" not in r.stderr + r.stdout


@pytest.mark.parametrize("lines", [
    "execute_wall_ms = 60000\n", "front_timeout_s = 10\n",
    "fetch_timeout_ms = 40000\n"])
def test_b59_nested_timeouts_out_of_order(tmp_path, good, lines):
    keys = {x.split(" =")[0] for x in lines.splitlines()}
    text = "".join(x for x in good.splitlines(True)
                   if x.split(" =")[0] not in keys)
    r = check(tmp_path, text + lines)
    assert r.returncode == 1, r.stderr


def test_conf_environment_wins(tmp_path, good):
    r = check(tmp_path, good, env={"MCP_FCGI_HEARTBEAT_S": "nonsense"})
    assert r.returncode == 1
    assert "HEARTBEAT_S" in r.stderr.upper()
    r = check(tmp_path, "heartbeat_s = nonsense\n" + good,
              env={"MCP_FCGI_HEARTBEAT_S": "30"})
    assert r.returncode in (0, 1)


def test_schema_of_another_build_is_refused(root, cluster, idp):
    s = Stack(root, cluster, idp, "apache-proxy-fcgi")
    s.sql.run("INSERT INTO mcp.migration (migration_id, slug, sha256) VALUES "
              "(9999, 'from-the-future', repeat('0', 64))")
    import subprocess
    r = subprocess.run([paths.program("mcp-fcgi"), "-c", s.front.conf_file,
                        "-t"], capture_output=True, text=True, timeout=30)
    assert r.returncode == 1, r.stderr
    r = s.admin("migrate")
    assert r.returncode != 0
    s.sql.close()
