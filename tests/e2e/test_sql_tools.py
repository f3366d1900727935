# SPDX-License-Identifier: ISC
"""Goal of this test: PostgreSQL functions as tools: called from programs,
under their own role, within their limits, with errors that say enough."""

import pytest

from lib.tools import Catalogue

ANY_FRONT = True

FUNCTIONS = """
CREATE ROLE {role} NOLOGIN;
GRANT {role} TO e2e_responder;
CREATE SCHEMA shop;
GRANT USAGE ON SCHEMA shop TO {role};
CREATE TABLE shop.item (id bigint PRIMARY KEY, name text NOT NULL);
GRANT SELECT, INSERT ON shop.item TO {role};
INSERT INTO shop.item SELECT g, 'item ' || g FROM generate_series(1, 50) g;
CREATE FUNCTION shop.items(below bigint DEFAULT 3)
    RETURNS TABLE (id bigint, name text) STABLE LANGUAGE sql AS
    'SELECT id, name FROM shop.item WHERE id < below ORDER BY id';
CREATE FUNCTION shop.add(id bigint, name text) RETURNS bigint VOLATILE
    LANGUAGE sql AS 'INSERT INTO shop.item VALUES (id, name) RETURNING id';
CREATE FUNCTION shop.who() RETURNS text STABLE LANGUAGE sql AS
    'SELECT current_user::text';
CREATE FUNCTION shop.spy() RETURNS bigint STABLE LANGUAGE sql AS
    'SELECT count(*) FROM mcp.api_token';
CREATE FUNCTION shop.sleep(s double precision) RETURNS void STABLE
    LANGUAGE sql AS 'SELECT pg_sleep(s)';
CREATE FUNCTION shop.complain() RETURNS void STABLE LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''No such customer''; END';
"""

TOOLS = {
    "items": (["below"], ["bigint"], 1, False, True, "record"),
    "add": (["id", "name"], ["bigint", "text"], 0, True, False, "bigint"),
    "who": ([], [], 0, False, False, "text"),
    "spy": ([], [], 0, False, False, "bigint"),
    "sleep": (["s"], ["double precision"], 0, False, False, "void"),
    "complain": ([], [], 0, False, False, "void"),
}


@pytest.fixture(scope="module")
def user(make_stack, front_kind):
    s = make_stack(front_kind, {"fetch_timeout_ms": 1000})
    role = "shop_" + s.name
    s.sql.run(FUNCTIONS.format(role=role))
    u = s.user().connect()
    c = Catalogue(s.sql, u.organization)
    c.source("shop", "sql", {"role": role, "max_rows": 10,
                             "timeout_ms": 800})
    for name, (args, types, optional, volatile, is_set,
               returns) in TOOLS.items():
        c.tool("shop", name, {
            "schema": "shop", "function": name, "arg_names": args,
            "arg_types": types, "optional": optional, "volatile": volatile,
            "returns_set": is_set, "returns": returns})
    u.role = role
    yield u
    s.sql.run("DROP OWNED BY " + role)
    s.sql.run("DROP ROLE " + role)


def run(user, code):
    r = user.execute(code)
    assert not r.get("isError"), r
    return r["structuredContent"]


def test_rows(user):
    s = run(user, "return await tools.shop.items({below: 3})")
    assert s["result"] == {"ok": True, "data": {
        "rows": [{"id": 1, "name": "item 1"}, {"id": 2, "name": "item 2"}],
        "truncated": False}}
    assert [(c["path"], c["status"]) for c in s["calls"]] == [
        ("shop.items", "done")]


def test_too_many_rows_are_cut_and_say_so(user):
    d = run(user, "return (await tools.shop.items({below: 40})).data")[
        "result"]
    assert len(d["rows"]) == 10
    assert d["truncated"] is True


def test_defaults(user):
    d = run(user, "return (await tools.shop.items()).data")["result"]
    assert len(d["rows"]) == 2


def test_it_runs_as_its_role(user):
    assert run(user, "return (await tools.shop.who()).data")[
        "result"] == user.role
    e = run(user, "return (await tools.shop.spy()).error")["result"]
    assert e["code"] == "permission_denied"
    assert "api_token" not in repr(e)


def test_writes_are_done_once(user):
    s = run(user, "return await tools.shop.add({id: 1000, name: 'x'})")
    assert s["result"] == {"ok": True, "data": 1000}
    e = run(user, "return (await tools.shop.add({id: 1000, name: 'x'}))"
                  ".error")["result"]
    assert e["code"] == "constraint"
    assert e["details"]["sqlstate"] == "23505"


def test_errors(user):
    e = run(user, "return (await tools.shop.complain()).error")["result"]
    assert e == {"code": "sql_error", "message": "No such customer",
                 "retryable": False, "details": {"sqlstate": "P0001"}}
    e = run(user, "return (await tools.shop.sleep({s: 20})).error")["result"]
    assert e["code"] == "timeout"
    e = run(user, "return (await tools.shop.items({below: 'x'})).error")[
        "result"]
    assert e["code"] == "invalid_tool_arguments"


def test_several_at_once(user):
    s = run(user, "const t = await Promise.all([1,2,3,4,5,6,7,8].map(() => "
                  "tools.shop.sleep({s: 0.4}))); return t.every(x => x.ok)")
    assert s["result"] is True
    assert max(c["ms"] for c in s["calls"]) < 800


def test_behind_a_transaction_pooler(make_stack, front_kind):
    """The settings of one call are not the next one's."""
    s = make_stack(front_kind, {"fetch_timeout_ms": 1000,
                                "database_pooler": "transaction"})
    role = "pooled_" + s.name
    s.sql.run("CREATE ROLE %s NOLOGIN; GRANT %s TO e2e_responder; "
              "CREATE SCHEMA p; GRANT USAGE ON SCHEMA p TO %s; "
              "CREATE FUNCTION p.who() RETURNS text STABLE LANGUAGE sql AS "
              "'SELECT current_user::text'" % (role, role, role))
    try:
        u = s.user().connect()
        c = Catalogue(s.sql, u.organization)
        c.source("p", "sql", {"role": role})
        c.tool("p", "who", {"schema": "p", "function": "who",
                            "arg_names": [], "arg_types": [],
                            "volatile": False, "returns_set": False,
                            "returns": "text"})
        for _ in range(3):
            assert run(u, "return (await tools.p.who()).data")[
                "result"] == role
    finally:
        s.sql.run("DROP OWNED BY " + role)
        s.sql.run("DROP ROLE " + role)
