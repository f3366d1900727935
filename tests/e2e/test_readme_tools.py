# SPDX-License-Identifier: ISC
"""Goal of this test: the chapter "Tools in ten minutes" of README works.  Its
very blocks run, in their order, in one shell, against a database, lighttpd
and responders; what they print is what the chapter says."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import Stack
from lib import paths, proc

CHAPTER = "Tools in ten minutes"
# Stands in for ./bootstrap: hands over the lines of --conf.
BOOTSTRAP = """\
#!/bin/sh
[ "$1" = demo ] && [ "$5" = --conf ] && cat "$6" >"$(dirname "$0")/asked"
"""
# What the chapter's shell runs with: no block waits for longer.
BLOCK_S = 60


def blocks():
    """The blocks of the chapter, without the tab that indents them."""
    with open(os.path.join(paths.SRC, "README")) as f:
        text = f.read()
    chapter = re.search(r"^%s\n-+\n(.*?)(?=^[^\n]+\n-+\n|\Z)" % CHAPTER, text,
                        re.S | re.M).group(1)
    found = re.split(r"\n(?!\t|\n)[^\n]*", "\n" + chapter)
    found = [re.sub(r"^\t", "", b, flags=re.M).strip("\n") for b in found]
    return [b + "\n" for b in found if b]


class Shell:
    """One sh, given a block at a time."""

    def __init__(self, folder, env):
        self.folder = folder
        self.n = 0
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as out:
            self.child = subprocess.Popen(
                ["sh", "-eu"], stdin=subprocess.PIPE, stdout=out, stderr=out,
                cwd=folder, env=proc.environment(env), text=True,
                start_new_session=True, **proc._identity())
        self.read = 0

    def __call__(self, block):
        """Run BLOCK; what it prints."""
        self.n += 1
        name = os.path.join(self.folder, "block-%d" % self.n)
        with open(name, "w") as f:
            f.write(block)
        self.child.stdin.write(". %s </dev/null\n: >%s.done\n" % (name, name))
        self.child.stdin.flush()
        deadline = time.monotonic() + BLOCK_S
        while not os.path.exists(name + ".done"):
            assert self.child.poll() is None and \
                time.monotonic() < deadline, block + self.rest()
            time.sleep(0.02)
        return self.rest()

    def rest(self):
        with open(self.log, errors="replace") as f:
            f.seek(self.read)
            text = f.read()
            self.read = f.tell()
            return text

    def close(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.stdin.close()
        self.child.wait(5)


@pytest.fixture(scope="module")
def place(root, cluster, idp):
    """A tree as ./bootstrap demo leaves it, its endpoint not yet up."""
    s = Stack(root, cluster, idp, "lighttpd",
              {"issuer": None, "fetch_allow": None}, login="mcp_web")
    cluster.psql(s.database, "login.sql", login="mcp_web",
                 group="mcp_responder")
    folder = proc.hand_over(os.path.join(root, "readme-tools"))
    proc.hand_over(os.path.join(folder, "run"))
    os.symlink(paths.BUILD, os.path.join(folder, "build"))
    os.symlink(s.front.root, os.path.join(folder, "run", "8765"))
    with open(os.path.join(folder, "bootstrap"), "w") as f:
        f.write(BOOTSTRAP)
    os.chmod(os.path.join(folder, "bootstrap"), 0o755)
    tokens = []
    for organization in ("demo", "other"):
        s.add_member(organization + "-user", organization)
        r = s.admin("token", "issue", organization, organization + "-user")
        assert r.returncode == 0, r.stderr
        tokens.append(r.stdout.strip())
    with open(os.path.join(folder, "run", "demo.env"), "w") as f:
        f.write("MCP_URL=http://127.0.0.1:%d/mcp\nMCP_TOKEN=%s\n"
                "MCP_TOKEN_OTHER=%s\nMCP_DSN='%s'\n" % (
                    (s.front.port,) + tuple(tokens) +
                    (cluster.dsn(s.database),)))
    s.folder = folder
    yield s
    s.stop()


@pytest.fixture(scope="module")
def outputs(place):
    """What each block printed, by a word that only it has."""
    shell = Shell(place.folder, {"PORT": str(proc.free_port())})
    said = []
    try:
        for block in blocks():
            said.append((block, shell(block)))
            asked = os.path.join(place.folder, "asked")
            if os.path.exists(asked):       # demo --conf: now it starts
                with open(asked) as f, open(place.front.conf_file, "a") as c:
                    c.write(f.read())
                os.unlink(asked)
                place.start()
        # "Sent again, the answer is the same": the first of those.
        block = next(b for b, _ in said if "tool resume" in b)
        first = place.sql.one(
            "SELECT execution_id FROM mcp.execution_call "
            "WHERE decided_via = 'resume'")
        place.again = shell("ID=%s\n%s" % (first, block))
        yield said
    finally:
        shell.close()


@pytest.fixture
def said(outputs):
    def find(word):
        found = [o for b, o in outputs if word in b]
        assert len(found) == 1, "%s: in %d blocks" % (word, len(found))
        return found[0]
    return find


def results(text):
    """The results of tools/call in what a block printed."""
    return [json.loads(line)["result"] for line in text.splitlines()
            if line.startswith('{"jsonrpc"')]


def value(result):
    assert not result.get("isError"), result
    content = result["structuredContent"]
    assert content["status"] == "completed", content
    return content["result"]


def is_waiting(result, path):
    content = result["structuredContent"]
    assert content["status"] == "waiting_for_interaction", content
    assert content["interaction"]["kind"] == "approval"
    assert content["interaction"]["tool"] == path
    assert content["deadline"] and content["executionId"]
    return content


def test_a_script(said):
    hello, = results(said("source add script"))
    assert value(hello) == {"ok": True, "data": "Hello, Ada"}


def test_a_listed_tool(said):
    hello, = results(said("tool hello_greet"))
    assert hello["content"][0]["text"] == "Hello, Ada"


def test_sql_functions(said):
    found, = results(said("source add sql"))
    assert value(found) == [{"customer_id": 2, "name": "Hopper Inc"}]


def test_an_openapi_document(said):
    text = said("source add openapi")
    price, = results(text)
    assert value(price) == 0.25
    assert "shop.items.get" in text


def test_an_upstream_server(said, place):
    answer, = results(said("source add mcp"))
    assert "42" in json.dumps(value(answer)["data"])
    assert value(answer)["ok"] is True


def test_search_and_describe(said):
    found, types = results(said("tools.search"))
    assert [i["path"] for i in value(found)["items"]][0].startswith("crm.")
    assert "new_name" in json.dumps(value(types))


def test_approval_by_resume(said):
    asked, = results(said("name.replace"))
    waiting = is_waiting(asked, "crm.rename")
    assert waiting["interaction"]["args"] == {
        "id": 2, "new_name": "Hopper SE"}


def test_every_approval_is_carried_out(outputs, place):
    done = [results(o)[-1] for b, o in outputs if "tool resume" in b]
    assert len(done) == 3
    assert value(done[0]) == [{"customer_id": 2, "name": "Hopper Inc"},
                              {"ok": True, "data": "Hopper SE"}]
    assert value(done[1]) == {"ok": True, "data": "Turing GmbH"}
    assert value(done[2]) == {"ok": True, "data": "Turing AG"}
    again, = results(place.again)
    assert again == results([o for b, o in outputs if "tool resume" in b][0])[0]
    assert place.sql.all("SELECT name FROM crm.customer ORDER BY name") == [
        {"name": "Hopper SE"}, {"name": "Turing AG"}]
    assert place.sql.all(
        "SELECT decided_via, count(*)::int AS n FROM mcp.call_recent "
        "WHERE action = 'accept' GROUP BY 1 ORDER BY 1") == [
            {"decided_via": "resume", "n": 1}, {"decided_via": "sql", "n": 2}]


def test_approval_by_an_administrator(said):
    text = said("execution approve")
    is_waiting(results(text)[0], "crm.rename")
    assert "approved" in text


def test_approval_by_psql(said):
    text = said("mcp.approve(")
    is_waiting(results(text)[0], "crm.rename")
    assert "crm.rename (call 1): approved" in text


def test_the_ledger_shows_it(said):
    text = said("mcp.call_recent")
    for path in ("hello.greet", "crm.find", "crm.rename", "shop.items.get",
                 "other.execute"):
        assert path in text, text


def test_rules(said):
    gone, = results(said("policy add"))
    assert value(gone)["ok"] is False
    assert value(gone)["error"]["code"] == "tool_not_found"


def test_the_token_is_in_no_row(place, outputs):
    """Nor is it in what the chapter printed."""
    with open(os.path.join(place.folder, "run", "demo.env")) as f:
        token = re.search("MCP_TOKEN_OTHER=(.*)", f.read()).group(1)
    r = proc.run([paths.postgres("pg_dump"), "-d",
                  place.cluster.dsn(place.database), "-n", "mcp"])
    assert r.returncode == 0 and "other.execute" in r.stdout
    assert token not in r.stdout
    assert not any(token in o for _, o in outputs)
    assert token not in place.front.logs()
