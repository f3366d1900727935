# SPDX-License-Identifier: ISC
"""Goal of this test: API tokens from mcp-admin: shown once, stored as a
digest, revoked at once on every process; and the other verbs of mcp-admin
that change what a client sees."""

import hashlib
import re

import pytest

from conftest import RESOURCE
from lib.client import Mcp, initialize_message

TOKEN = re.compile(r"\bmcp_[A-Za-z0-9_-]{43}\b")


def issue(stack, account, organization, *more):
    r = stack.admin("token", "issue", organization, account, *more)
    assert r.returncode == 0, r.stdout + r.stderr
    found = TOKEN.findall(r.stdout)
    assert len(found) == 1, r.stdout
    return found[0]


@pytest.fixture
def member(stack):
    """(account, organization) known to the database."""
    client = stack.user()
    return client.account, client.organization


def test_issue_use_revoke(stack, member):
    token = issue(stack, *member)
    row = stack.sql.row("SELECT * FROM mcp.api_token WHERE account_id = %s",
                        member[0])
    assert bytes(row["token_sha256"]) == hashlib.sha256(
        token.encode()).digest()
    assert row["token_hint"] == token[-4:]
    assert not any(token in repr(v) for v in row.values())
    client = Mcp(stack.web, token).connect()
    assert client.list_tools().status == 200
    assert stack.row(client.session)["account_id"] == member[0]
    r = stack.admin("token", "revoke", str(row["api_token_id"]))
    assert r.returncode == 0, r.stderr
    for _ in range(10):             # every process
        a = client.list_tools()
        assert a.status == 401
        assert a.body == b'{"error":"unauthorized"}'
        assert 'error="invalid_token"' in a.header("www-authenticate")


def test_list_never_shows_the_token(stack, member):
    token = issue(stack, *member)
    r = stack.admin("token", "list", member[1])
    assert r.returncode == 0, r.stderr
    assert token not in r.stdout
    assert token[-4:] in r.stdout


def test_expired_token(stack, member):
    token = issue(stack, *member)
    client = Mcp(stack.web, token).connect()
    stack.sql.run("UPDATE mcp.api_token SET expires_at = now() - "
                  "interval '1 s' WHERE account_id = %s", member[0])
    for _ in range(6):
        a = client.list_tools()
        assert a.status == 401
        assert "expired" in a.header("www-authenticate")


def test_membership_counts_for_api_tokens_too(stack, member):
    client = Mcp(stack.web, issue(stack, *member)).connect()
    r = stack.admin("member", "remove", member[1], member[0])
    assert r.returncode == 0, r.stderr
    a = client.list_tools()
    assert a.status == 403 and a.error["code"] == -32001
    assert stack.row(client.session) is None


@pytest.mark.parametrize("token", [
    "mcp_", "mcp_x", "mcp_" + "A" * 43, "mcp_" + "A" * 42, "mcp_" + "A" * 44,
    "mcp_" + "A" * 42 + "=", "MCP_" + "A" * 43, "mcp_' OR 1=1 --" + "A" * 28,
    "mcp_" + "A" * 9000], ids=lambda t: t[:12] + "-%d" % len(t))
def test_bad_api_tokens(stack, token):
    a = Mcp(stack.web, token).post(initialize_message())
    assert a.status == 401, a
    assert 'error="invalid_token"' in a.header("www-authenticate")


def test_api_token_and_jwt_of_one_principal_share_sessions(stack, member):
    """The issuer of a token is the configured one."""
    client = Mcp(stack.web, issue(stack, *member)).connect()
    jwt_client = stack.user(*member)
    jwt_client.session = client.session
    assert jwt_client.list_tools().status == 200


def test_api_tokens_without_an_issuer(make_stack, front_kind):
    s = make_stack(front_kind, {"issuer": None})
    s.add_member("acct-l", "org-l")
    client = Mcp(s.web, issue(s, "acct-l", "org-l")).connect()
    assert client.list_tools().status == 200
    a = s.web.request("GET", "/.well-known/oauth-protected-resource/mcp")
    assert a.status == 200
    assert a.json["resource"] == RESOURCE
    # a JWT cannot be checked against anything
    client.token = s.idp.token("acct-l", "org-l")
    assert client.list_tools().status == 401
    a = s.web.request("GET", "/.well-known/oauth-authorization-server")
    assert a.status in (404, 502)


def test_admin_session_kill_is_seen_at_once(stack):
    client = stack.user().connect()
    r = stack.admin("session", "show", client.session)
    assert r.returncode == 0, r.stderr
    r = stack.admin("session", "kill", client.session)
    assert r.returncode == 0, r.stderr
    a = client.list_tools()
    assert a.status == 404 and a.error["code"] == -32001
    assert stack.sql.one("SELECT reason FROM mcp.session_tombstone WHERE "
                         "session_id = %s", client.session) == "killed"


def test_admin_member_add_lets_in(stack):
    client = stack.user(member=False)
    assert client.post(initialize_message()).status == 403
    r = stack.admin("member", "add", client.organization, client.account)
    assert r.returncode == 0, r.stderr
    assert client.post(initialize_message()).status == 200


def test_dba_functions_act_on_the_next_request(stack):
    client = stack.user().connect()
    stack.sql.one("SELECT mcp.kill_session(%s)", client.session)
    assert client.list_tools().status == 404
    client.connect()
    stack.sql.one("SELECT mcp.revoke_account(%s, %s)", client.organization,
                  client.account)
    assert client.list_tools().status in (403, 404)
    assert stack.n_sessions(client) == 0


def test_doctor_runs(stack):
    r = stack.admin("doctor")
    lines = [x for x in r.stdout.splitlines() if x.strip()]
    assert any("PASS" in x for x in lines), r.stdout + r.stderr
    assert all(("PASS" in x) or ("FAIL" in x) or x.startswith(" ")
               or ":" in x for x in lines)
    assert stack.idp.token() not in r.stdout
