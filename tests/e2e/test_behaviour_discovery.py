# SPDX-License-Identifier: ISC
"""Goal of this test: BEHAVIOUR 1-3, what a client without a usable token
sees: preflight, metadata, challenges."""

import time

import pytest

from conftest import PRM, RESOURCE
from lib.client import initialize_message, Mcp

PREFLIGHT = {"Origin": "https://browser.example",
             "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers":
             "authorization,content-type,mcp-session-id"}
METADATA = ["/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-authorization-server"]
ALLOWED_HEADERS = {"authorization", "content-type", "mcp-session-id",
                   "accept", "mcp-protocol-version", "last-event-id",
                   "mcp-method", "mcp-name"}


def words(value):
    return {w.strip().lower() for w in value.split(",")}


def assert_preflight(a):
    assert a.status == 204
    assert a.body == b""
    assert a.header("access-control-allow-origin") == "*"
    assert a.header("access-control-allow-methods") == \
        "GET, POST, DELETE, OPTIONS"
    assert ALLOWED_HEADERS <= words(a.header("access-control-allow-headers"))
    assert a.header("access-control-expose-headers") == "mcp-session-id"


def test_1_preflight_of_the_endpoint(stack):
    assert_preflight(stack.web.request("OPTIONS", "/mcp", PREFLIGHT))


@pytest.mark.parametrize("path", METADATA)
def test_1_preflight_of_the_metadata(stack, path):
    assert_preflight(stack.web.request("OPTIONS", path, PREFLIGHT))


def test_1_preflight_without_the_request_headers(stack):
    assert_preflight(stack.web.request("OPTIONS", "/mcp", {
        "Origin": "https://browser.example"}))


def test_1_preflight_needs_no_database_and_no_token(stack):
    a = stack.web.request("OPTIONS", "/mcp", dict(
        PREFLIGHT, Authorization="Bearer garbage"))
    assert_preflight(a)


def test_2_protected_resource_metadata(stack):
    a = stack.web.request("GET", "/.well-known/oauth-protected-resource/mcp")
    assert a.status == 200
    assert a.header("content-type").split(";")[0] == "application/json"
    assert a.header("access-control-allow-origin") == "*"
    assert a.json == {"resource": RESOURCE,
                      "authorization_servers": [stack.idp.issuer],
                      "bearer_methods_supported": ["header"],
                      "scopes_supported": []}


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"},
    {"X-Forwarded-Proto": "http"}, {"Forwarded": "host=evil.example"}])
def test_2_metadata_comes_from_configuration(stack, headers):
    a = stack.web.request("GET", "/.well-known/oauth-protected-resource/mcp",
                          headers)
    # A foreign Host may be refused, but never believed.
    assert b"evil" not in a.body
    if a.status == 200:
        assert a.json["resource"] == RESOURCE


@pytest.mark.parametrize("path", [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/mcp/.well-known/oauth-protected-resource"])
def test_9_every_form_of_the_metadata_path(stack, path):
    a = stack.web.request("GET", path)
    assert a.status == 200
    assert a.json["resource"] == RESOURCE


def test_2_metadata_with_a_browser_origin(stack):
    a = stack.web.request("GET", "/.well-known/oauth-protected-resource/mcp",
                          {"Origin": "https://any.example"})
    assert a.status == 200


def challenge(stack, token, method="POST", body=None):
    client = Mcp(stack.web, token)
    return stack.web.request(
        method, "/mcp", client.headers(),
        body if body is not None else b'{"jsonrpc":"2.0","id":1,'
        b'"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}')


def assert_401(a, error=None):
    assert a.status == 401
    assert a.body == b'{"error":"unauthorized"}'
    assert a.ctype == "application/json"
    prefix = "" if error is None else \
        'error="invalid_token", error_description="The access token %s", ' \
        % error
    assert a.header("www-authenticate") == \
        'Bearer %sresource_metadata="%s"' % (prefix, PRM)


def test_3_no_authorization_header(stack):
    a = challenge(stack, None)
    assert_401(a)
    assert "error=" not in a.header("www-authenticate")


@pytest.mark.parametrize("value", ["Basic dXNlcjpwYXNz", "Token abc"])
def test_3_another_scheme_is_no_token(stack, value):
    a = stack.web.request("POST", "/mcp", {
        "Authorization": value, "Content-Type": "application/json"}, b"{}")
    assert_401(a)


def test_3_garbage_token(stack):
    assert_401(challenge(stack, "not-a-token"), "is invalid")


def test_3_expired_token(stack):
    now = int(time.time())
    token = stack.idp.token(iat=now - 7200, exp=now - 3600)
    assert_401(challenge(stack, token), "expired")


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_3_every_method_is_challenged(stack, method):
    for body in (b"", b"{}") if method == "POST" else (None,):
        a = stack.web.request(method, "/mcp", {
            "Accept": "text/event-stream"}, body)
        assert_401(a)


@pytest.mark.parametrize("method", ["initialize", "tools/list", "ping",
                                    "server/discover",
                                    "notifications/initialized"])
def test_3_every_message_is_challenged(stack, method):
    body = '{"jsonrpc":"2.0","id":1,"method":"%s"}' % method
    assert_401(challenge(stack, None, body=body.encode()))


@pytest.mark.parametrize("where", [
    "/mcp?access_token=%s", "/mcp?token=%s", "/mcp?authorization=Bearer%%20%s"])
def test_3_a_token_in_the_query_is_no_token(stack, where):
    stack.add_member("acct-q", "org-q")
    token = stack.idp.token("acct-q", "org-q")
    a = stack.web.request("POST", where % token, {
        "Content-Type": "application/json"}, b"{}")
    assert_401(a)


def test_9_issuer_metadata_is_copied(stack):
    a = stack.web.request("GET", "/.well-known/oauth-authorization-server")
    assert a.status == 200
    assert a.ctype == "application/json"
    assert a.json == stack.idp.metadata()
    assert a.header("access-control-allow-origin") == "*"


def test_9_issuer_metadata_is_a_cached_copy(stack):
    stack.web.request("GET", "/.well-known/oauth-authorization-server")
    before = stack.idp.count("/.well-known/oauth-authorization-server")
    for _ in range(10):
        a = stack.web.request("GET",
                              "/.well-known/oauth-authorization-server")
        assert a.status == 200
    assert stack.idp.count(
        "/.well-known/oauth-authorization-server") <= before + 1


def test_9_foreign_paths_are_not_claimed(stack):
    for path in ("/", "/mcpx", "/mcp/x", "/.well-known/openid-configuration"):
        a = stack.web.request("GET", path)
        assert a.status in (401, 403, 404), (path, a)
        assert a.status != 401 or path == "/mcp/x"


def test_3_nothing_is_stored_for_strangers(stack):
    before = stack.sql.one("SELECT count(*) FROM mcp.session")
    challenge(stack, None)
    challenge(stack, "garbage")
    assert stack.sql.one("SELECT count(*) FROM mcp.session") == before
    assert initialize_message()["method"] == "initialize"
