# SPDX-License-Identifier: ISC
"""Goal of this test: membership is asked on every request; only a positive no
refuses and ends the session; "don't know" is 503 and touches nothing."""

import os

import pytest

from lib import proc
from lib.client import initialize_message


@pytest.fixture(scope="module")
def http(make_stack, front_kind, members, root):
    secret = os.path.join(root, "membership-%s.token" % front_kind)
    with open(secret, "w") as f:
        f.write(members.token + "\n")
    proc.hand_over_file(secret)
    return make_stack(front_kind, {
        "membership": "http", "membership_url": members.template,
        "membership_token_file": secret, "fetch_timeout_ms": 1000})


@pytest.fixture
def user(http, members):
    client = http.user(member=False)
    members.answers[(client.account, client.organization)] = "active"
    client.answer = lambda x: members.answers.update(
        {(client.account, client.organization): x})
    yield client
    members.recover()


def test_active_member(user):
    user.connect()
    assert user.list_tools().status == 200


@pytest.mark.parametrize("answer", [
    "none", "inactive", "pending", 401, 403, 404])
def test_b37_no_ends_the_session(http, user, answer):
    user.connect()
    user.answer(answer)
    a = user.list_tools()
    assert a.status == 403, a
    assert a.error["code"] == -32001
    assert "No organization" in a.error["message"]
    assert http.row(user.session) is None


@pytest.mark.parametrize("answer", ["none", 403, 404])
def test_4_no_on_initialize(http, user, answer):
    user.answer(answer)
    a = user.post(initialize_message())
    assert a.status == 403 and a.error["code"] == -32001
    assert http.n_sessions(user) == 0


@pytest.mark.parametrize("answer", [429, 500, 502, 503, 504])
def test_4_dont_know_touches_nothing(http, user, answer):
    user.connect()
    http.age(user.session, 100)
    before = http.row(user.session)
    user.answer(answer)
    a = user.list_tools()
    assert a.status == 503, a
    assert a.error["code"] == -32001
    assert "temporarily unavailable" in a.error["message"]
    assert a.header("retry-after") == "2"
    assert http.row(user.session) == before
    user.answer("active")
    assert user.list_tools().status == 200


@pytest.mark.parametrize("mode", ["down", "slow", "garbage", "huge"])
def test_4_service_out_of_order(http, members, user, mode):
    user.connect()
    before = http.row(user.session)
    members.mode = mode
    a = user.list_tools()
    assert a.status == 503, a
    assert a.header("retry-after") == "2"
    assert http.row(user.session) == before
    members.recover()
    assert user.list_tools().status == 200


def test_asked_on_every_request_with_the_right_names(http, members, user):
    user.connect()
    members.forget()
    for _ in range(5):
        assert user.list_tools().status == 200
    asked = [r for r in members.requests if user.account in r[1]]
    assert len(asked) == 5
    assert all(user.organization in r[1] for r in asked)


def test_names_are_percent_encoded(http, members):
    account = "a&organization_id=org-evil#/..%2f \u00e9+?"
    client = http.user(account, "org&x=1", member=False)
    members.answers[(account, "org&x=1")] = "active"
    client.connect()
    members.answers.clear()
    assert client.list_tools().status == 403


def test_membership_of_another_organization_does_not_count(
        http, members, user):
    other = http.user(user.account, "org-else", member=False)
    assert other.post(initialize_message()).status == 403


def test_inbound_token_is_not_forwarded(http, members, user):
    """O-23: the service gets its own token, never the caller's."""
    members.forget()
    user.connect()
    for _, _, headers in members.requests:
        assert headers["Authorization"] == "Bearer " + members.token
        assert user.token not in repr(headers)


def test_stranger_without_membership_ends_nothing(http, members, user):
    owner = user.connect()
    stranger = http.user(member=False)
    stranger.session = owner.session
    assert stranger.list_tools().status == 403
    assert http.row(owner.session) is not None


def test_b37_sql_membership_is_live(stack):
    client = stack.user().connect()
    assert client.list_tools().status == 200
    stack.remove_member(client.account, client.organization)
    s = client.get()
    assert s.status == 403
    s.hang_up()
    assert stack.row(client.session) is None


def test_sql_no_row_of_the_organization_is_needed(stack):
    client = stack.user().connect()
    assert stack.sql.one("SELECT count(*) FROM mcp.organization WHERE "
                         "organization_id = %s", client.organization) == 0
    assert client.list_tools().status == 200


def test_b12_interleaved_sessions_of_one_principal(stack):
    one = stack.user()
    two = stack.user(one.account, one.organization)
    one.connect("2025-06-18")
    two.connect("2025-11-25")
    for _ in range(5):
        assert one.list_tools().status == 200
        assert two.list_tools().status == 200
    assert one.session != two.session
    one.delete()
    assert two.list_tools().status == 200


def test_b16_same_account_in_two_organizations(stack):
    one = stack.user()
    two = stack.user(one.account)
    one.connect()
    two.session = one.session
    assert two.list_tools().status == 403
    assert one.list_tools().status == 200
