# SPDX-License-Identifier: ISC
"""Goal of this test: hostile OpenAPI documents are imported in part or not at
all, in time, and reach nothing; what comes of them can be called."""

import json
import os
import resource
import time

import pytest

from lib import paths, proc, tools
from lib.upstream import Upstream


@pytest.fixture(scope="module")
def api():
    u = Upstream()
    yield u
    u.close()


@pytest.fixture(scope="module")
def user(make_stack, front_kind, root):
    s = make_stack(front_kind, {
        "fetch_timeout_ms": 1000,
        "keyring_dir": tools.keyring(root, "keys-import-" + front_kind)})
    u = s.user().connect()
    u.stack = s
    return u


def document(paths_, **more):
    return json.dumps(dict({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": paths_}, **more))


def op(**more):
    return {"get": dict({"responses": {"200": {"description": "d"}}}, **more)}


def body(schema):
    return {"requestBody": {"content": {"application/json": {
        "schema": schema}}}}


def cycle():
    return document({"/a": op(operationId="a", **body({"$ref": "#/x/a"}))},
                    x={"a": {"$ref": "#/x/b"}, "b": {"$ref": "#/x/a"},
                       "c": {"properties": {"c": {"$ref": "#/x/c"}}}})


def fan(n, width):
    """Each level names the next several times: width ** n when expanded."""
    s = {"s%d" % i: {"type": "object", "properties": {
        "p%d" % k: {"$ref": "#/components/schemas/s%d" % (i + 1)}
        for k in range(width)}} for i in range(n)}
    s["s%d" % n] = {"type": "string"}
    return document({"/a": op(operationId="a", **body(
        {"$ref": "#/components/schemas/s0"}))}, components={"schemas": s})


def refs(n):
    return document({"/a": op(operationId="a", **body({"properties": {
        "p%d" % i: {"$ref": "#/components/schemas/s%d" % (i % 50)}
        for i in range(n)}}))}, components={"schemas": {
            "s%d" % i: {"type": "string"} for i in range(50)}})


def chain(n):
    s = {"s%d" % i: {"$ref": "#/components/schemas/s%d" % (i + 1)}
         for i in range(n)}
    s["s%d" % n] = {"type": "string"}
    return document({"/a": op(operationId="a", **body(
        {"$ref": "#/components/schemas/s0"}))}, components={"schemas": s})


def nested(n):
    return document({"/a": op(operationId="a")})[:-1] + ', "x": ' + \
        "[" * n + "]" * n + "}"


def bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 12):
        lines.append("a%d: &a%d [%s]" % (i, i, ", ".join(
            ["*a%d" % (i - 1)] * 10)))
    return "openapi: 3.0.0\ninfo: {title: t, version: '1'}\npaths: {}\n" + \
        "\n".join(lines)


HOSTILE = {
    "cycle": cycle, "fan": lambda: fan(30, 8),
    "refs": lambda: refs(60000), "chain": lambda: chain(50000),
    "nested": lambda: nested(500000), "bomb": bomb,
    "own alias": lambda: "openapi: 3.0.0\npaths: &p {/a: *p}\n",
    "tags": lambda: "openapi: 3.0.0\ninfo: !!python/object/apply:os.system "
    "['touch /tmp/pwned']\npaths: !<tag:x> {}\n",
    "enum": lambda: document({"/a": op(operationId="a", **body(
        {"enum": ["e%d" % i for i in range(200000)]}))}),
    "operations": lambda: document({"/a%d" % i: op(operationId="o")
                                    for i in range(20000)}),
    "file": lambda: document({"/a": {"$ref": "file:///etc/passwd"},
                              "/b": op(operationId="b", **body(
                                  {"$ref": "file:///etc/passwd#/x"}))}),
    "metadata": lambda: document({"/b": op(operationId="b", **body(
        {"$ref": "http://169.254.169.254/latest#/x"}))}),
    "dots": lambda: document({"/../../admin": op(operationId="d")}),
    "long name": lambda: document({"/a": op(operationId="n" * 100000)}),
    "long path": lambda: document({"/" + "p" * 200000: op()}),
    "not text": lambda: "\x00\x01\x02",
    "nothing": lambda: "", "null": lambda: "null", "list": lambda: "[]",
    "wrong types": lambda: json.dumps({
        "openapi": 3, "info": [], "paths": {"/a": [1], "/b": {"get": 5},
                                            "/c": {"get": {"parameters": {},
                                                           "requestBody": 7,
                                                           "responses": 1}}},
        "components": "x", "servers": {"url": 1}}),
}


def add(user, root, name, text, url, *more):
    path = os.path.join(root, "import-%s.json" % name.replace(" ", "-"))
    with open(path, "w") as f:
        f.write(text)
    return proc.run(
        [paths.program("mcp-admin"), "-c", user.stack.front.conf_file,
         "source", "add", "openapi", user.organization,
         name.replace(" ", "_"), path, "--base-url", url,
         "--allow", "127.0.0.0/8"] + list(more), input="")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document(user, root, api, name):
    start = time.monotonic()
    r = add(user, root, name, HOSTILE[name](), api.url)
    assert time.monotonic() - start < 20, r.stderr[:500]
    assert r.returncode in (0, 1), (r.returncode, r.stderr[:500])
    assert "root:" not in r.stdout + r.stderr
    assert not os.path.exists("/tmp/pwned")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert used < 1 << 20, used         # KiB
    assert user.execute("return 1").get("structuredContent")


NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "then",
         "valueOf", "prototype", "name", "length", "call", "toJSON"]


def test_names_that_objects_have_already(user, root, api):
    r = add(user, root, "proto", document({
        "/%s/{__proto__}" % n: op(operationId=n, parameters=[
            {"name": p, "in": where, "required": where == "path",
             "schema": {"type": "string"}}
            for p, where in (("__proto__", "path"), ("constructor", "query"),
                             ("toString", "query"))]) for n in NAMES}),
        api.url)
    assert r.returncode == 0, r.stderr
    got = [t["path"] for t in user.stack.sql.all(
        "SELECT path FROM mcp.tool WHERE organization_id = %s AND "
        "source_name = 'proto' ORDER BY 1", user.organization)]
    assert len(got) == len(NAMES), got
    for path in got:
        r = user.execute(
            "const args = JSON.parse('{\"__proto__\": \"v\", "
            "\"constructor\": \"c\"}');"
            "const d = await tools.describe({path: '%s'});"
            "const r = await tools['%s'](args);"
            "return [d.inputTypeScript, r.ok ? r.data.path : r.error]" % (
                path, path))
        assert not r.get("isError"), (path, r)
        ts, end = r["structuredContent"]["result"]
        assert "__proto__" in ts and "constructor" in ts, (path, ts)
        assert isinstance(end, str) and end.endswith("/v?constructor=c"), (
            path, end)
        # and what is no string is still found out
        r = user.execute(
            "return await tools['%s'](JSON.parse('{\"__proto__\": 5}'))"
            % path)
        assert r["structuredContent"]["result"]["error"]["code"] == \
            "invalid_tool_arguments", (path, r)
