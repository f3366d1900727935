# SPDX-License-Identifier: ISC
"""Goal of this test: mcp-admin makes and changes a catalogue, its policies
and secrets, and decides on runs, as its manual says; what goes wrong has the
right exit status, a clear message, and leaves nothing half done."""

import hashlib
import itertools
import json
import os
import pty
import stat
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib import paths, proc, tools
from lib.cluster import Sql

OK, FAILED, USAGE, NOT_FOUND = 0, 1, 2, 3
ORG = "demo"
_serial = itertools.count(1)

DOCUMENT = {
    "openapi": "3.1.0", "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.test.example/v1"}],
    "paths": {
        "/items": {
            "get": {"operationId": "listItems", "tags": ["items"],
                    "responses": {"200": {"description": "all"}}},
            "post": {"operationId": "addItem", "tags": ["items"],
                     "responses": {"201": {"description": "made"}}}}}}

FUNCTIONS = """
CREATE SCHEMA shop;
CREATE ROLE {role} NOLOGIN;
GRANT {role} TO e2e_responder;
GRANT USAGE ON SCHEMA shop TO {role};
CREATE FUNCTION shop.price(item bigint) RETURNS numeric STABLE LANGUAGE sql
    AS 'SELECT 1.5::numeric';
CREATE FUNCTION shop.buy(item bigint) RETURNS void VOLATILE LANGUAGE sql
    AS 'SELECT';
CREATE FUNCTION shop.nameless(bigint) RETURNS bigint STABLE LANGUAGE sql
    AS 'SELECT $1';
CREATE SCHEMA other;
GRANT USAGE ON SCHEMA other TO {role};
CREATE FUNCTION other.price() RETURNS numeric STABLE LANGUAGE sql
    AS 'SELECT 2::numeric';
CREATE FUNCTION other.stock_of() RETURNS int STABLE LANGUAGE sql
    AS 'SELECT 2';
"""


class Admin:
    """mcp-admin with a file of settings, as a role of mcp_admin."""

    def __init__(self, cluster, root):
        name = cluster.database("catalog")
        self.root = proc.hand_over(os.path.join(root, "admin-catalog"))
        self.sql = Sql(cluster.dsn(name))
        self.keys = tools.keyring(root, "keys-admin")
        self.conf = os.path.join(self.root, "mcp-fcgi.conf")
        self.settings = {
            "database": cluster.dsn(name, "e2e_responder"),
            "admin_database": cluster.dsn(name, "e2e_admin"),
            "keyring_dir": self.keys,
            "sandbox": paths.program("mcp-sandbox"),
        }
        self.write()

    def write(self, **more):
        with open(self.conf, "w") as f:
            for k, v in dict(self.settings, **more).items():
                f.write("%s = %s\n" % (k, v))

    def file(self, name, content):
        path = os.path.join(self.root, name)
        with open(path, "w") as f:
            f.write(content if isinstance(content, str)
                    else json.dumps(content))
        return path

    def __call__(self, *argv, status=OK, input=None):
        r = proc.run([paths.program("mcp-admin"), "-c", self.conf]
                     + list(argv), input=input or "")
        assert r.returncode == status, "%s: %d\n%s%s" % (
            " ".join(argv), r.returncode, r.stdout, r.stderr)
        return r

    def json(self, *argv):
        return json.loads(self("--json", *argv).stdout)

    def refused(self, *argv, status=FAILED, words="", **more):
        """Says why, and changes nothing."""
        before = self.everything()
        r = self(*argv, status=status, **more)
        assert words in r.stderr, r.stderr
        assert self.everything() == before
        return r

    def everything(self):
        return [self.sql.all("SELECT * FROM mcp." + t + " ORDER BY 1, 2")
                for t in ("source", "tool", "tool_policy", "secret",
                          "catalog_version", "audit_event", "execution",
                          "execution_call")]

    def commands(self):
        return [r["command"] for r in self.sql.all(
            "SELECT detail ->> 'command' AS command FROM mcp.audit_event "
            "WHERE event = 'admin.command' ORDER BY audit_event_id")]

    def tool(self, path):
        return self.sql.row("SELECT * FROM mcp.tool WHERE path = %s AND "
                            "organization_id = %s", path, ORG)

    def source(self, name):
        return self.sql.row("SELECT * FROM mcp.source WHERE name = %s AND "
                            "organization_id = %s", name, ORG)


@pytest.fixture(scope="module")
def database(cluster, root):
    a = Admin(cluster, root)
    yield a
    a.sql.close()


@pytest.fixture
def admin(database):
    """The database, empty."""
    database.sql.run(
        "TRUNCATE mcp.source, mcp.tool, mcp.tool_policy, mcp.secret, "
        "mcp.catalog_version, mcp.upstream_session, mcp.execution, "
        "mcp.execution_call, mcp.audit_event")
    database.write()
    return database


@pytest.fixture
def scripts(admin):
    """A source of scripts with three tools."""
    admin("source", "add", "script", ORG, "util")
    for name in ("one", "two", "more.three"):
        admin("tool", "add", ORG, "util." + name, "-", input="return 1")
    return admin


# The command line.

@pytest.mark.parametrize("argv", [
    ["source"], ["source", "add"], ["source", "add", "script", ORG],
    ["source", "add", "nothing", ORG, "x"], ["source", "show", ORG],
    ["source", "add", "script", ORG, "x", "--role", "r"],
    ["source", "add", "sql", ORG, "x", "--role", "r"],
    ["source", "add", "sql", ORG, "x", "--function", "noschema"],
    ["source", "add", "sql", ORG, "x", "--schema", "s", "--max-rows", "0"],
    ["source", "add", "mcp", ORG, "x"],
    ["source", "add", "mcp", ORG, "x", "ftp://h/"],
    ["source", "add", "mcp", ORG, "x", "https://h/", "--allow", "10/33"],
    ["source", "add", "mcp", ORG, "x", "https://h/", "--header", "nothing"],
    ["source", "add", "mcp", ORG, "x", "https://h/", "--header", "Host: x"],
    ["source", "add", "mcp", ORG, "x", "https://h/", "--header",
     "A: secret:9"],
    ["source", "add", "mcp", ORG, "x", "https://h/", "--header",
     "A: b secret:c d"],
    ["tool"], ["tool", "add", ORG, "a.b"], ["tool", "add", ORG, "a", "-"],
    ["tool", "add", ORG, "a..b", "-"], ["tool", "add", ORG, "a.b c", "-"],
    ["tool", "add", ORG, "a.b", "-", "--read-only", "--destructive"],
    ["tool", "list"], ["tool", "approval", ORG, "a.b", "perhaps"],
    ["policy", "add", ORG, "*"], ["policy", "add", ORG, "*", "allow"],
    ["policy", "add", ORG, "a.*.b", "block"],
    ["policy", "add", ORG, "a*", "block"],
    ["policy", "add", ORG, "*", "block", "--position", "first"],
    ["policy", "add", ORG, "*", "block", "--position", "1", "--before", "1"],
    ["policy", "remove", ORG, "x"], ["policy", "test", ORG],
    ["secret", "set", ORG], ["secret", "set", ORG, "name", "value"],
    ["secret", "set", ORG, "a b"], ["keyring", "init"],
    ["keyring", "add", "relative"], ["execution", "show"],
    ["execution", "show", "x"], ["execution", "list", "--status", "bad"],
    ["execution", "approve", str(uuid.uuid4()), "--seq", "x"],
    ["execution", "cancel", str(uuid.uuid4()), "--seq", "1"]])
def test_usage(admin, argv):
    r = admin.refused(*argv, status=USAGE, input="x")
    assert r.stdout == "" and r.stderr


def test_a_noun_alone_tells_its_verbs(admin):
    r = admin("policy", status=USAGE)
    assert len(r.stderr.splitlines()) == 4 and "policy test" in r.stderr


@pytest.mark.parametrize("argv", [
    ["source", "show", ORG, "none"], ["source", "refresh", ORG, "none"],
    ["source", "remove", ORG, "none"], ["source", "enable", ORG, "none"],
    ["source", "disable", ORG, "none"], ["tool", "show", ORG, "a.b"],
    ["tool", "list", ORG, "--source", "none"],
    ["tool", "add", ORG, "none.b", "-"], ["tool", "remove", ORG, "a.b"],
    ["tool", "enable", ORG, "a.b"], ["tool", "disable", ORG, "a.b"],
    ["tool", "list-in", ORG, "a.b"], ["tool", "unlist", ORG, "a.b"],
    ["tool", "approval", ORG, "a.b", "on"], ["policy", "remove", ORG, "7"],
    ["policy", "add", ORG, "*", "block", "--before", "7"],
    ["policy", "test", ORG, "a.b"], ["secret", "remove", ORG, "none"],
    ["keyring", "add", "/nonexistent/keys"],
    ["execution", "show", str(uuid.uuid4())],
    ["execution", "approve", str(uuid.uuid4())],
    ["execution", "decline", str(uuid.uuid4())],
    ["execution", "cancel", str(uuid.uuid4())]])
def test_not_found(admin, argv):
    admin.refused(*argv, status=NOT_FOUND, input="return 1")


# Sources and tools.

def test_scripts(admin):
    admin("source", "add", "script", ORG, "util", "--title", "Utilities")
    schema = '{"type": "object",  "properties": {"n": {"type": "number"}}}'
    body = "// double\nreturn args.n * 2\n"
    admin("tool", "add", ORG, "util.double", admin.file("double.js", body),
          "--description", "Double it.", "--title", "Double",
          "--input-schema", admin.file("in.json", schema),
          "--output-schema", admin.file("out.json", '{"type": "object"}'),
          "--listed", "--read-only")
    t = admin.tool("util.double")
    assert t["definition"] == {"body": body}
    assert (t["title"], t["description"]) == ("Double", "Double it.")
    assert t["is_listed"] and t["is_enabled"] and not t["needs_approval"]
    assert t["annotations"] == {"readOnlyHint": True}
    assert admin.sql.one("SELECT input_schema::text FROM mcp.tool") == schema
    assert admin.commands() == ["source add script", "tool add"]
    s, = admin.json("source", "list", ORG)
    assert (s["name"], s["kind"], s["title"], s["tools"],
            s["is_enabled"]) == ("util", "script", "Utilities", 1, True)
    s = admin.json("source", "show", ORG, "util")
    assert s["config"] == {} and s["tools"] == 1
    t, = admin.json("tool", "list", ORG, "--source", "util")
    assert t == {"path": "util.double", "kind": "script", "is_listed": True,
                 "is_enabled": True, "action": "approve", "title": "Double"}


def test_tool_is_replaced(scripts):
    scripts("tool", "list-in", ORG, "util.one")
    before = scripts.tool("util.one")
    r = scripts("tool", "add", ORG, "util.one", "-", "--destructive",
                input="return 2")
    assert "replaced" in r.stderr
    t = scripts.tool("util.one")
    assert t["tool_id"] == before["tool_id"] and t["is_listed"]
    assert t["definition"] == {"body": "return 2"} and t["needs_approval"]
    assert t["annotations"]["destructiveHint"] is True
    assert scripts.tool("util.two")["definition"] == {"body": "return 1"}
    scripts("tool", "add", ORG, "util.two", "-", "--listed", input="return 3")
    assert scripts.tool("util.two")["is_listed"]


@pytest.mark.parametrize("schema", [
    "", "nothing", "[]", '{"a": 1, "a": 2', '{"type": "object"} x'])
def test_schema_is_bad(scripts, schema):
    scripts.refused("tool", "add", ORG, "util.new", "-", "--input-schema",
                    scripts.file("bad.json", schema), input="return 1")


@pytest.mark.parametrize("body", ["", " \n\t", "a\0b"])
def test_body_is_bad(scripts, body):
    scripts.refused("tool", "add", ORG, "util.new", "-", input=body)


@pytest.mark.parametrize("body", [
    "return 1 +", "}", "let a = 1;\nlet a = 2;", "await (", "return 1 }; {"])
def test_script_does_not_parse(scripts, body):
    scripts.refused("tool", "add", ORG, "util.new", "-", input=body,
                    words="standard input: line ")
    scripts.refused("tool", "add", ORG, "util.new",
                    scripts.file("bad.js", body), words="bad.js: line ")


@pytest.mark.parametrize("body", [
    "args.n * 2", "({a: 1})", "{a: 1, b: 2}", "// only\nreturn args.n",
    "const r = await tools.a.b({}); return r", "async () => 1",
    "for (;;) {}", "throw new Error('x')", "function () { return 1 }"])
def test_script_parses(scripts, body):
    r = scripts("tool", "add", ORG, "util.new", "-", input=body)
    assert "errors" not in r.stderr
    assert scripts.tool("util.new")["definition"] == {"body": body}


def test_no_sandbox_no_parser(scripts):
    scripts.write(sandbox="/nonexistent")
    r = scripts("tool", "add", ORG, "util.new", "-", input="}")
    assert "not looked for errors" in r.stderr


def test_files_are_absent(scripts):
    scripts.refused("tool", "add", ORG, "util.new", "/nonexistent.js",
                    words="/nonexistent.js")
    scripts.refused("tool", "add", ORG, "util.new", "-", "--input-schema",
                    "/nonexistent.json", words="/nonexistent.json",
                    input="return 1")


def test_source_is_there_already(scripts):
    scripts.refused("source", "add", "script", ORG, "util",
                    words="already")
    scripts.refused("source", "refresh", ORG, "util", words="scripts")


def test_enable_and_list(scripts):
    assert not scripts.tool("util.one")["is_listed"]
    scripts("tool", "list-in", ORG, "util.one")
    scripts("tool", "disable", ORG, "util.two")
    assert scripts.tool("util.one")["is_listed"]
    assert not scripts.tool("util.two")["is_enabled"]
    assert scripts.sql.one("SELECT listed FROM mcp.catalog_version") == 1
    scripts("source", "disable", ORG, "util")
    assert not scripts.source("util")["is_enabled"]
    assert {t["is_enabled"] for t in scripts.json("tool", "list", ORG)} == {
        False}
    assert scripts.sql.one("SELECT listed FROM mcp.catalog_version") == 0
    scripts("source", "enable", ORG, "util")
    scripts("tool", "enable", ORG, "util.two")
    scripts("tool", "unlist", ORG, "util.one")
    assert not scripts.tool("util.one")["is_listed"]
    assert scripts.tool("util.two")["is_enabled"]


def test_remove(scripts):
    scripts("tool", "remove", ORG, "util.more.three")
    assert scripts.tool("util.more.three") is None
    scripts("source", "remove", ORG, "util")
    assert scripts.json("source", "list") == []
    assert scripts.json("tool", "list", ORG) == []


def test_misspelt(scripts):
    r = scripts.refused("tool", "show", ORG, "util.onee", status=NOT_FOUND)
    assert "util.one" in r.stderr


def test_another_organisation_is_another(scripts):
    scripts.refused("tool", "show", "other", "util.one", status=NOT_FOUND)
    scripts.refused("source", "remove", "other", "util", status=NOT_FOUND)
    scripts("source", "add", "script", "other", "util")
    assert len(scripts.json("source", "list")) == 2


def test_show_has_types(admin):
    admin("source", "add", "script", ORG, "util")
    admin("tool", "add", ORG, "util.double", "-", "--input-schema",
          admin.file("n.json", {"type": "object", "required": ["n"],
                                "properties": {"n": {"type": "number"}}}),
          input="return args.n")
    t = admin.json("tool", "show", ORG, "util.double")
    assert "n: number" in t["input_type"]
    assert t["output_type"] is None and t["policy"] is None
    assert t["input_schema"]["required"] == ["n"]
    assert t["definition"] == {"body": "return args.n"}
    r = admin("tool", "show", ORG, "util.double")
    assert "n: number" in r.stdout
    admin("tool", "add", ORG, "util.long", "-", "--description",
          "One.\n\ntitle: Two\n", input="return 1")
    r = admin("tool", "show", ORG, "util.long")
    assert "\n   " in r.stdout and "\ntitle" not in r.stdout
    admin("policy", "add", ORG, "util.*", "block")
    t = admin.json("tool", "show", ORG, "util.double")
    assert t["action"] == "block" and "util.*" in t["policy"]
    admin.write(sandbox="/nonexistent")
    t = admin.json("tool", "show", ORG, "util.double")
    assert t["input_type"] is None


# Functions.

@pytest.fixture(scope="module")
def functions(database):
    role = "shop_catalog"
    database.sql.run(FUNCTIONS.format(role=role))
    yield role
    database.sql.run("DROP OWNED BY " + role)
    database.sql.run("DROP ROLE " + role)


def test_sql(admin, functions):
    r = admin("source", "add", "sql", ORG, "shop", "--role", functions,
              "--schema", "shop", "--max-rows", "10", "--timeout-ms", "900")
    assert "imported 2 (added 2, changed 0, removed 0), refused 1" in r.stdout
    assert "refused: shop.nameless: argument" in r.stdout
    assert admin.source("shop")["config"] == {
        "role": functions, "max_rows": 10, "timeout_ms": 900,
        "import": [{"schema": "shop", "pattern": "%"}]}
    assert admin.source("shop")["refreshed_at"]
    assert not admin.tool("shop.price")["needs_approval"]
    assert admin.tool("shop.buy")["needs_approval"]
    assert admin.commands() == ["source add sql"]


def test_sql_refresh(admin, functions):
    admin("source", "add", "sql", ORG, "shop", "--role", functions,
          "--schema", "shop")
    admin("tool", "list-in", ORG, "shop.price")
    admin("tool", "disable", ORG, "shop.buy")
    admin.sql.run("CREATE FUNCTION shop.gone() RETURNS int STABLE "
                  "LANGUAGE sql AS 'SELECT 1'")
    admin.sql.run("ALTER FUNCTION shop.price(bigint) VOLATILE")
    c = admin.json("source", "refresh", ORG, "shop")
    assert (c["imported"], c["added"], c["changed"], c["removed"]) == (
        3, 1, 1, 0)
    assert c["refused"][0]["what"] == "shop.nameless"
    t = admin.tool("shop.price")
    assert t["is_listed"] and t["needs_approval"]
    assert not admin.tool("shop.buy")["is_enabled"]
    admin.sql.run("DROP FUNCTION shop.gone()")
    admin.sql.run("ALTER FUNCTION shop.price(bigint) STABLE")
    c = admin.json("source", "refresh", ORG, "shop")
    assert (c["changed"], c["removed"]) == (1, 1)
    c = admin.json("source", "refresh", ORG, "shop")
    assert (c["added"], c["changed"], c["removed"]) == (0, 0, 0)


def test_sql_selections(admin, functions):
    r = admin("source", "add", "sql", ORG, "shop", "--role", functions,
              "--schema", "shop", "--function", "shop.pri*", "--function",
              "other.*", "--function", "other.stockXof")
    assert "imported 3" in r.stdout
    assert "refused: other.price: shop.price has that name" in r.stdout
    assert "noted: other, stockXof" in r.stdout
    admin("source", "add", "sql", ORG, "two", "--role", functions,
          "--function", "other.stock_of")
    assert [t["path"] for t in admin.json("tool", "list", ORG, "--source",
                                          "two")] == ["two.stock_of"]


@pytest.mark.parametrize("argv, words", [
    (["--schema", "shop"], "role is needed"),
    (["--schema", "nothing", "--role", "shop_catalog"], "no tool to import"),
    (["--function", "shop.nameless", "--role", "shop_catalog"],
     "no tool to import"),
    (["--schema", "shop", "--role", "nobody_at_all"], "nobody_at_all"),
    (["--schema", "shop", "--role", "postgres"], "what no tool may"),
    (["--schema", "mcp", "--role", "e2e_responder"], "what no tool may"),
    (["--schema", "shop", "--service", "no_such_service"], "not answer")])
def test_sql_fails(admin, functions, argv, words):
    admin.refused("source", "add", "sql", ORG, "shop", *argv, words=words)


def test_sql_refresh_of_nothing(admin, functions):
    admin("source", "add", "sql", ORG, "shop", "--role", functions,
          "--function", "shop.price")
    admin.sql.run("ALTER FUNCTION shop.price(bigint) RENAME TO cost")
    try:
        admin.refused("source", "refresh", ORG, "shop",
                      words="nothing is changed")
    finally:
        admin.sql.run("ALTER FUNCTION shop.cost(bigint) RENAME TO price")


# OpenAPI.

def test_openapi(admin):
    doc = admin.file("shop.json", DOCUMENT)
    r = admin("source", "add", "openapi", ORG, "api", doc,
              "--header", "Authorization: secret:shop Bearer",
              "--header", "X-Plain: yes", "--header", "X-Key: Key secret:k",
              "--query", "key=secret:shop", "--allow", "10.0.0.0/8",
              "--timeout-ms", "2000")
    assert "imported 2 (added 2" in r.stdout
    assert "secret set demo shop" in r.stderr
    s = admin.source("api")
    assert s["kind"] == "http" and s["title"] == "Shop"
    assert s["config"] == {
        "document": os.path.realpath(doc),
        "base_url": "https://shop.test.example/v1",
        "headers": {"Authorization": {"secret": "shop",
                                      "prefix": "Bearer "},
                    "X-Plain": "yes",
                    "X-Key": {"secret": "k", "prefix": "Key "}},
        "query": {"key": {"secret": "shop"}},
        "allow": ["10.0.0.0/8"], "timeout_ms": 2000}
    assert admin.tool("api.items.addItem")["needs_approval"]
    assert not admin.tool("api.items.listItems")["needs_approval"]
    admin.refused("tool", "remove", ORG, "api.items.addItem",
                  words="imported")
    admin.refused("tool", "add", ORG, "api.mine", "-", input="return 1",
                  words="imported")


def test_openapi_refresh(admin):
    doc = admin.file("shop.json", DOCUMENT)
    admin("source", "add", "openapi", ORG, "api", doc, "--base-url",
          "https://elsewhere.test.example", "--title", "Mine")
    admin("tool", "list-in", ORG, "api.items.listItems")
    more = json.loads(json.dumps(DOCUMENT))
    del more["paths"]["/items"]["post"]
    more["paths"]["/things"] = {"get": {
        "operationId": "things", "responses": {"200": {"description": "x"}}}}
    c = admin.json("source", "refresh", ORG, "api",
                   admin.file("second.json", more))
    assert (c["added"], c["changed"], c["removed"]) == (1, 0, 1)
    s = admin.source("api")
    assert s["config"] == {
        "document": os.path.realpath(os.path.join(admin.root,
                                                  "second.json")),
        "base_url": "https://elsewhere.test.example"}
    assert s["title"] == "Mine"
    assert admin.tool("api.items.listItems")["is_listed"]
    os.unlink(os.path.join(admin.root, "second.json"))
    admin.refused("source", "refresh", ORG, "api", words="second.json")
    admin("source", "refresh", ORG, "api", doc)


def test_openapi_asks_for_secrets(admin):
    doc = dict(DOCUMENT, security=[{"token": []}], components={
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}})
    r = admin("source", "add", "openapi", ORG, "api",
              admin.file("secure.json", doc))
    assert "--header 'Authorization: Bearer secret:token'" in r.stderr


@pytest.mark.parametrize("document, words", [
    ("nothing: [", ""), ({"swagger": "2.0"}, ""), ({"a": 1}, ""),
    (dict(DOCUMENT, paths={}), "no tool to import"),
    (dict(DOCUMENT, servers=[]), "--base-url")])
def test_openapi_is_bad(admin, document, words):
    admin.refused("source", "add", "openapi", ORG, "api",
                  admin.file("bad.json", document), words=words)


def test_openapi_is_absent(admin):
    admin.refused("source", "add", "openapi", ORG, "api", "/nonexistent",
                  words="/nonexistent")


def test_row_does_not_take_it(admin):
    """The database refuses the second tool: the first is not there, nor is
    the source."""
    admin.sql.run("ALTER TABLE mcp.tool ADD CONSTRAINT no_adding "
                  "CHECK (name <> 'items.addItem')")
    try:
        admin.refused("source", "add", "openapi", ORG, "api",
                      admin.file("shop.json", DOCUMENT), words="no_adding")
    finally:
        admin.sql.run("ALTER TABLE mcp.tool DROP CONSTRAINT no_adding")


class Server:
    """Serves DOCUMENT at /doc and a small MCP server at /mcp, by HTTP."""

    def __init__(self):
        self.tools = [{"name": "Get-It", "inputSchema": {"type": "object"}},
                      {"name": "wipe", "inputSchema": {"type": "object"},
                       "annotations": {"destructiveHint": True}}]
        self.seen = []
        me = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self, status, value):
                data = json.dumps(value).encode() if value else b""
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                authorization = self.headers.get("authorization")
                me.seen.append((self.path, authorization))
                self.answer(*{
                    "/doc": (200, DOCUMENT),
                    "/items": (200, {"authorization": authorization}),
                }.get(self.path, (404, {"no": 1})))

            def do_DELETE(self):
                self.answer(200, None)

            def do_POST(self):
                n = int(self.headers.get("content-length") or 0)
                m = json.loads(self.rfile.read(n))
                me.seen.append((m.get("method"),
                                self.headers.get("authorization")))
                if self.path != "/mcp":
                    return self.answer(404, {"no": 1})
                if "id" not in m:
                    return self.answer(202, None)
                result = {
                    "initialize": {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "small", "version": "1"}},
                    "tools/list": {"tools": me.tools},
                    "tools/call": {"content": [
                        {"type": "text", "text": "got it"}]},
                }.get(m["method"])
                if result is None:
                    return self.answer(200, {
                        "jsonrpc": "2.0", "id": m["id"], "error": {
                            "code": -32601, "message": "no such method"}})
                self.answer(200, {"jsonrpc": "2.0", "id": m["id"],
                                  "result": result})

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()


@pytest.fixture
def server():
    s = Server()
    yield s
    s.server.shutdown()


def test_openapi_by_http(admin, server):
    admin.refused("source", "add", "openapi", ORG, "api",
                  server.url + "/doc")
    admin.refused("source", "add", "openapi", ORG, "api",
                  server.url + "/none", "--allow", "127.0.0.0/8")
    admin("source", "add", "openapi", ORG, "api", server.url + "/doc",
          "--allow", "127.0.0.0/8")
    assert admin.source("api")["config"]["document"] == server.url + "/doc"
    assert admin.json("source", "refresh", ORG, "api")["imported"] == 2


# Upstream servers.

def test_mcp(admin, server):
    url = server.url + "/mcp"
    admin.refused("source", "add", "mcp", ORG, "up", url)
    admin("source", "add", "mcp", ORG, "up", url, "--allow", "127.0.0.0/8")
    s = admin.source("up")
    assert s["kind"] == "mcp" and s["title"] == "small 1"
    assert s["config"] == {"url": url, "allow": ["127.0.0.0/8"],
                           "era": "legacy"}
    assert admin.tool("up.wipe")["needs_approval"]
    server.tools.pop()
    c = admin.json("source", "refresh", ORG, "up")
    assert (c["imported"], c["removed"]) == (1, 1)
    server.tools.clear()
    admin.refused("source", "refresh", ORG, "up",
                  words="nothing is changed")


def test_mcp_with_a_secret(admin, server):
    argv = ["source", "add", "mcp", ORG, "up", server.url + "/mcp",
            "--allow", "127.0.0.0/8", "--header",
            "Authorization: Bearer secret:up"]
    admin.refused(*argv, words="up")
    admin("secret", "set", ORG, "up", input="sesame-7\n")
    r = admin(*argv)
    assert "sesame" not in r.stdout + r.stderr
    assert {a for _, a in server.seen} == {"Bearer sesame-7"}


def test_mcp_is_none(admin, server):
    admin.refused("source", "add", "mcp", ORG, "up", server.url + "/other",
                  "--allow", "127.0.0.0/8")
    port = proc.free_port()
    admin.refused("source", "add", "mcp", ORG, "up",
                  "http://127.0.0.1:%d/mcp" % port, "--allow", "127.0.0.0/8")


# Policies.

def rules(admin):
    return [(p["pattern"], p["action"])
            for p in admin.json("policy", "list", ORG)]


def test_policies(scripts):
    scripts("policy", "add", ORG, "*", "require_approval", "--note", "why")
    scripts("policy", "add", ORG, "util.more.*", "block")
    first = scripts.json("policy", "list", ORG)[0]
    assert (first["note"], first["tools"]) == ("why", 3)
    scripts("policy", "add", ORG, "util.one", "approve", "--before",
            str(first["id"]))
    scripts("policy", "add", ORG, "util.two", "approve", "--before",
            str(first["id"]))
    scripts("policy", "add", ORG, "util.more", "approve", "--position",
            "-7.5")
    assert rules(scripts) == [
        ("util.more", "approve"), ("util.one", "approve"),
        ("util.two", "approve"), ("*", "require_approval"),
        ("util.more.*", "block")]
    t = scripts.json("policy", "test", ORG, "util.more.three")
    assert (t["action"], t["decided_by"], t["rule"], t["pattern"]) == (
        "require_approval", "rule", first["id"], "*")
    scripts("policy", "remove", ORG, str(first["id"]))
    t = scripts.json("policy", "test", ORG, "util.more.three")
    assert (t["action"], t["pattern"]) == ("block", "util.more.*")
    scripts("tool", "add", ORG, "util.new", "-", input="return 1")
    t = scripts.json("policy", "test", ORG, "util.new")
    assert (t["action"], t["decided_by"], t["rule"]) == (
        "approve", "tool", None)
    scripts.refused("policy", "remove", "other", str(first["id"]),
                    status=NOT_FOUND)


def test_many_places_between_two(admin):
    admin("policy", "add", ORG, "a", "approve")
    admin("policy", "add", ORG, "z", "approve")
    last = str(admin.json("policy", "list", ORG)[1]["id"])
    names = ["p%d" % i for i in range(20)]
    for name in names:
        admin("policy", "add", ORG, name, "block", "--before", last)
    assert [p for p, _ in rules(admin)] == ["a"] + names + ["z"]


def test_no_place(admin):
    admin("policy", "add", ORG, "a", "approve", "--position", "1")
    admin("policy", "add", ORG, "b", "approve", "--position", "1")
    last = str(admin.json("policy", "list", ORG)[1]["id"])
    admin.refused("policy", "add", ORG, "c", "block", "--before", last,
                  words="--position")


def test_approval(scripts):
    def action(path):
        return scripts.json("policy", "test", ORG, path)["action"]
    scripts("policy", "add", ORG, "util.*", "approve")
    scripts("tool", "approval", ORG, "util.one", "on")
    assert action("util.one") == "require_approval"
    scripts("tool", "approval", ORG, "util.one", "off")
    assert action("util.one") == "approve"
    assert len(rules(scripts)) == 2
    scripts("tool", "approval", ORG, "util.one", "on")
    scripts("tool", "approval", ORG, "util.one", "default")
    assert rules(scripts) == [("util.*", "approve")]
    scripts("policy", "add", ORG, "util.two", "block", "--position", "0")
    scripts.refused("tool", "approval", ORG, "util.two", "off",
                    words="blocked")


# Secrets and keys.

def test_secrets(admin):
    admin("secret", "set", ORG, "token", input="s3same value\n")
    s, = admin.json("secret", "list", ORG)
    assert sorted(s) == ["key_id", "name", "organization", "updated_at"]
    assert (s["name"], s["key_id"]) == ("token", "2026-01-01")
    row = admin.sql.row("SELECT * FROM mcp.secret")
    assert b"s3same" not in bytes(row["sealed"])
    assert len(row["sealed"]) == len("s3same value") + 28
    assert "replaced" in admin("secret", "set", ORG, "token",
                               input="another").stderr
    assert bytes(admin.sql.one("SELECT sealed FROM mcp.secret")) != bytes(
        row["sealed"])
    for argv in (["secret", "list"], ["--json", "secret", "list"]):
        r = admin(*argv)
        assert "another" not in r.stdout + r.stderr
    assert "another" not in repr(admin.sql.all(
        "SELECT * FROM mcp.audit_event"))
    admin("secret", "remove", ORG, "token")
    assert admin.json("secret", "list") == []


@pytest.mark.parametrize("value", ["", "\n", "abc", "a\nbcde", "abc\x07de",
                                   "x" * 70000])
def test_value_is_bad(admin, value):
    r = admin.refused("secret", "set", ORG, "token", input=value)
    assert not value.strip() or value.strip() not in r.stderr


def test_no_keyring(admin):
    admin.write(keyring_dir="")
    admin.refused("secret", "set", ORG, "token", input="sesame",
                  words="keyring init")
    admin.refused("secret", "rotate", words="keyring init")


def test_prompt_does_not_echo(admin):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(paths.program("mcp-admin"), [
            "mcp-admin", "-c", admin.conf, "secret", "set", ORG, "token"],
            proc.environment())
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(fd, 1000)
    time.sleep(0.1)
    os.write(fd, b"s3same\n")
    try:
        while True:
            more = os.read(fd, 1000)
            if not more:
                break
            shown += more
    except OSError:
        pass
    assert os.waitpid(pid, 0)[1] == 0, shown
    assert b"s3same" not in shown
    assert admin.sql.one("SELECT octet_length(sealed) FROM mcp.secret") == \
        len("s3same") + 28


def test_rotation(admin, root):
    keys = os.path.join(root, "keys-rotate-%d" % next(_serial))
    proc.hand_over(os.path.dirname(keys))
    os.makedirs(keys, 0o700)
    proc.hand_over(keys, 0o700)
    old = admin("keyring", "init", keys).stdout.strip()
    admin.write(keyring_dir=keys)
    for org, name in ((ORG, "a"), (ORG, "b"), ("other", "a")):
        admin("secret", "set", org, name, input="value-" + org + name)
    admin("secret", "rotate")
    assert {s["key_id"] for s in admin.json("secret", "list")} == {old}
    time.sleep(1.1)
    new = admin("keyring", "add", keys).stdout.strip()
    assert new > old
    r = admin("secret", "rotate", ORG)
    assert "2 secrets" in r.stderr
    assert {(s["organization"], s["key_id"])
            for s in admin.json("secret", "list")} == {
        (ORG, new), ("other", old)}
    os.rename(os.path.join(keys, old), os.path.join(root, "lost-" + old))
    admin.refused("secret", "rotate", words="other")
    os.rename(os.path.join(root, "lost-" + old), os.path.join(keys, old))
    admin("secret", "rotate")
    assert {s["key_id"] for s in admin.json("secret", "list")} == {new}
    os.unlink(os.path.join(keys, old))
    time.sleep(1.1)
    admin("keyring", "add", keys)
    admin("secret", "rotate")


def test_envelope_of_another_row(admin):
    admin("secret", "set", ORG, "a", input="value-a")
    admin("secret", "set", ORG, "b", input="value-b")
    admin.sql.run("UPDATE mcp.secret SET sealed = (SELECT sealed FROM "
                  "mcp.secret WHERE name = 'a'), key_id = '2026-01-01'")
    key = os.path.join(admin.keys, "2026-02-01")
    with open(key, "w") as f:
        f.write(os.urandom(32).hex())
    proc.hand_over_file(key, 0o640)
    try:
        r = admin.refused("secret", "rotate", words="secret b of demo")
        assert "secret a" not in r.stderr
    finally:
        os.unlink(key)


def test_keyring(admin, root):
    parent = proc.hand_over(os.path.join(root, "ring-%d" % next(_serial)))
    ring = os.path.join(parent, "keys")
    made = admin("keyring", "init", ring).stdout.strip()
    assert stat.S_IMODE(os.stat(ring).st_mode) == 0o700
    key = os.path.join(ring, made)
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    with open(key) as f:
        text = f.read().strip()
    assert len(text) == 64 and int(text, 16)
    admin("keyring", "init", ring, status=FAILED)
    time.sleep(1.1)
    second = admin("keyring", "add", ring).stdout.strip()
    assert sorted(os.listdir(ring)) == [made, second]
    os.chmod(ring, 0o755)
    r = admin("keyring", "add", ring, status=FAILED)
    assert "chmod" in r.stderr and len(os.listdir(ring)) == 2
    os.chmod(ring, 0o750)
    time.sleep(1.1)
    third = admin("keyring", "add", ring).stdout.strip()
    assert stat.S_IMODE(os.stat(os.path.join(ring, third)).st_mode) == 0o640
    with open(os.path.join(ring, "zzz"), "w") as f:
        f.write("nothing")
    proc.hand_over_file(os.path.join(ring, "zzz"))
    admin("keyring", "add", ring, status=FAILED)
    admin("keyring", "init", "/nonexistent/keys", status=FAILED)
    empty = proc.hand_over(os.path.join(parent, "open"), 0o755)
    admin("keyring", "init", empty, status=FAILED)
    assert os.listdir(empty) == []


def test_doctor(admin):
    def line(check):
        r = proc.run([paths.program("mcp-admin"), "-c", admin.conf,
                      "doctor"])
        return next((x for x in r.stdout.splitlines()
                     if "  %s: " % check in x), r.stderr)
    more = {"resource_url": "http://127.0.0.1:1/mcp"}
    admin.write(**more)
    assert line("keyring").startswith("PASS") and "2026" in line("keyring")
    assert line("secrets").startswith("PASS")
    admin("secret", "set", ORG, "token", input="sesame")
    assert line("secrets") == "PASS  secrets: 1, and a key for each"
    admin.sql.run("UPDATE mcp.secret SET key_id = 'gone'")
    assert line("secrets").startswith("FAIL") and "gone" in line("secrets")
    admin.write(keyring_dir="/nonexistent", **more)
    assert line("keyring").startswith("FAIL")


def test_organisation_goes(scripts):
    scripts("secret", "set", ORG, "token", input="sesame")
    scripts("org", "add", ORG)
    r = scripts("org", "remove", ORG)
    assert "1 sources and 1 secrets" in r.stderr


# Runs.

def sha(text):
    return hashlib.sha256(text.encode()).digest()


def run_that_waits(admin, n=1, args='{"x": 1}', kind="approval"):
    """A run with a call that is done and N that wait."""
    i = str(uuid.uuid4())
    admin.sql.run("SELECT mcp.execution_open(%s, 'local', 'user', %s, %s, "
                  "%s, 'e1', 30)", i, ORG, "ab" * 32, sha("code"))
    admin.sql.run("SELECT mcp.call_begin(%s, 1, 0, 'shop.get', %s, %s)",
                  i, args, sha(args))
    admin.sql.run("SELECT mcp.call_settle(%s, 1, 0, 'done', false, "
                  "'{\"y\":2}', %s)", i, sha('{"y":2}'))
    for k in range(1, n + 1):
        admin.sql.run("SELECT mcp.call_ask(%s, 1, %s, 'shop.buy', %s, %s, "
                      "'\\xfe', %s, 'Buy it?', NULL, 3600)",
                      i, k, args, sha(args), kind)
    assert admin.sql.one("SELECT mcp.execution_suspend(%s, 1, '\\xabcd', 12, "
                         "3600)", i) == "ok"
    return i


def call(admin, i, seq=1):
    return admin.sql.row("SELECT * FROM mcp.execution_call WHERE "
                         "execution_id = %s AND seq = %s", i, seq)


def test_executions(admin):
    a = run_that_waits(admin)
    b = run_that_waits(admin, args=json.dumps({"long": "y" * 500}))
    rows = admin.json("execution", "list", "--org", ORG)
    assert [r["execution"] for r in rows] == [b, a]
    assert (rows[0]["status"], rows[0]["calls"], rows[0]["heap_bytes"]) == (
        "waiting", 2, 2)
    assert len(admin.json("execution", "list", "--status", "waiting")) == 2
    assert admin.json("execution", "list", "--status", "failed") == []
    assert admin.json("execution", "list", "--org", "other") == []
    assert len(admin.json("execution", "list", "--limit", "1")) == 1
    e = admin.json("execution", "show", b.upper())
    assert (e["status"], e["account"], e["organization"], e["session"]) == (
        "waiting", "user", ORG, "abababab")
    assert [(c["seq"], c["path"], c["status"]) for c in e["calls"]] == [
        (0, "shop.get", "done"), (1, "shop.buy", "waiting")]
    assert e["calls"][1]["message"] == "Buy it?"
    assert "y" * 500 in e["calls"][1]["args"]
    r = admin("execution", "show", b)
    assert "Buy it?" in r.stdout and "yyy\u2026" in r.stdout
    assert r.stdout.count("y" * 500) == 1       # for who approves


def test_approve(admin):
    i = run_that_waits(admin)
    r = admin("execution", "approve", i, "--note", "fine")
    assert "approved" in r.stderr
    c = call(admin, i)
    assert (c["action"], c["decided_via"], c["decided_by"], c["note"]) == (
        "accept", "sql", "e2e_admin", "fine")
    assert admin.commands() == ["execution approve"]
    shown = admin.json("execution", "show", i)["calls"][1]
    assert (shown["action"], shown["decided_by"]) == ("accept", "e2e_admin")
    assert "before" in admin("execution", "approve", i, "--seq", "1").stderr
    admin("execution", "decline", i, "--note", "no")
    assert call(admin, i)["action"] == "decline"
    admin.refused("execution", "approve", i, "--seq", "1", words="before")


def test_approve_one_of_several(admin):
    i = run_that_waits(admin, 3)
    admin.refused("execution", "approve", i, words="several")
    admin("execution", "approve", i, "--seq", "2")
    admin("execution", "decline", i, "--seq", "3")
    assert [call(admin, i, k)["action"] for k in (1, 2, 3)] == [
        None, "accept", "decline"]
    admin.refused("execution", "approve", i, "--seq", "9", words="no such")
    admin.refused("execution", "approve", i, "--seq", "0",
                  words="not waiting")


def test_a_question_is_not_for_administrators(admin):
    i = run_that_waits(admin, kind="elicit")
    admin.refused("execution", "approve", i, words="declined")
    admin("execution", "decline", i)


def test_cancel(admin):
    i = run_that_waits(admin)
    admin("execution", "cancel", i, "--note", "enough")
    assert admin.json("execution", "show", i)["status"] == "cancelled"
    assert call(admin, i)["status"] == "cancelled"
    admin.refused("execution", "cancel", i, words="over")
    admin.refused("execution", "approve", i, words="over")


# A catalogue made by mcp-admin, used by programs.

def test_programs_use_it(make_stack, front_kind, root, server):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000, "call_timeout_ms": 5000,
        "keyring_dir": tools.keyring(root, "keys-cat-" + front_kind)})
    u = s.user().connect()
    org = u.organization

    def admin(*argv, input=""):
        r = proc.run([paths.program("mcp-admin"), "-c", s.front.conf_file]
                     + list(argv), input=input)
        assert r.returncode == OK, r.stderr
        return r

    def value(code):
        r = u.execute(code)
        assert not r.get("isError"), r
        return r["structuredContent"]

    reach = ["--allow", "127.0.0.0/8", "--header",
             "Authorization: secret:token Bearer"]
    admin("secret", "set", org, "token", input="s3same-and-more")
    admin("source", "add", "openapi", org, "api", server.url + "/doc",
          "--base-url", server.url, *reach)
    admin("source", "add", "mcp", org, "up", server.url + "/mcp", *reach)
    admin("source", "add", "script", org, "util")
    admin("tool", "add", org, "util.double", "-", "--listed",
          input="return args.n * 2")
    server.seen.clear()
    r = value("const a = await tools.api.items.listItems({});"
              "const b = await tools.up.get_it({});"
              "return [a.data, b.data, (await tools.util.double({n: 4}))"
              ".data]")["result"]
    assert r[1:] == ["got it", 8] and "s3same" not in repr(r), r
    assert {a for _, a in server.seen if a} == {"Bearer s3same-and-more"}
    listed = [t["name"] for t in u.call("tools/list").result["tools"]]
    assert "util_double" in listed
    admin("tool", "unlist", org, "util.double")
    listed = [t["name"] for t in u.call("tools/list").result["tools"]]
    assert "util_double" not in listed
    admin("policy", "add", org, "util.*", "block")
    assert value("return (await tools.util.double({n: 4})).ok")[
        "result"] is False
    x = value("return (await tools.up.wipe({})).data")
    assert x["status"] == "waiting_for_interaction"
    assert admin("execution", "list", "--status", "waiting").stdout.count(
        x["executionId"]) == 1
    admin("execution", "approve", x["executionId"], "--note", "go")
    r = u.call("tools/call", {"name": "resume", "arguments": {
        "executionId": x["executionId"], "action": "accept"}},
        timeout=30).result
    assert r["structuredContent"]["result"] == "got it"
    assert "admin" in admin("execution", "show", x["executionId"]).stdout


def test_terminal_is_safe(scripts):
    scripts("tool", "add", ORG, "util.bad", "-", "--title", "a\x1b[2Jb",
            input="return 1")
    assert "\x1b" not in scripts("tool", "list", ORG).stdout
    assert "\x1b" not in scripts("tool", "show", ORG, "util.bad").stdout
