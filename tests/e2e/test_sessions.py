# SPDX-License-Identifier: ISC
"""Goal of this test: settings of sessions: idle time, absolute lifetime, and
taking an expired id up again (B-05)."""

import time

import pytest


@pytest.fixture(scope="module")
def short(make_stack, front_kind):
    return make_stack(front_kind, {
        "session_idle_s": 60, "session_lifetime_s": 600,
        "session_readopt_s": 3600})


@pytest.fixture(scope="module")
def strict(make_stack, front_kind):
    return make_stack(front_kind, {"session_idle_s": 2})


def due(stack, session):
    stack.sql.run("UPDATE mcp.session SET alarm_at = now() - interval '1 s' "
                  "WHERE session_id = %s", session)


def test_idle_time_is_configurable(strict):
    client = strict.user().connect()
    time.sleep(1.5)
    assert client.list_tools().status == 200
    time.sleep(2.5)
    a = client.list_tools()
    assert a.status == 404 and a.error["code"] == -32001


def test_b05_expired_id_is_taken_up_again_by_its_owner(short):
    client = short.user().connect()
    short.age(client.session, 100)
    due(short, client.session)
    assert short.reaper().returncode == 0
    assert short.row(client.session) is None
    other = short.user()
    other.session = client.session
    assert other.list_tools().status == 404
    assert client.list_tools().status == 200
    assert short.row(client.session)["account_id"] == client.account


def test_b05_before_the_reaper_too(short):
    client = short.user().connect()
    short.age(client.session, 100)
    assert client.list_tools().status == 200


def test_b05_not_after_the_window(short):
    client = short.user().connect()
    short.age(client.session, 60 + 3600 + 10)
    assert client.list_tools().status == 404
    due(short, client.session)
    assert short.reaper().returncode == 0
    assert client.list_tools().status == 404


def test_b05_not_what_was_ended_on_purpose(short):
    client = short.user().connect()
    assert client.delete().status == 204
    assert client.list_tools().status == 404
    client.connect()
    short.sql.one("SELECT mcp.kill_session(%s)", client.session)
    assert client.list_tools().status == 404
    client.connect()
    short.remove_member(client.account, client.organization)
    assert client.list_tools().status == 403
    short.add_member(client.account, client.organization)
    assert client.list_tools().status == 404


def test_lifetime_ends_a_session_in_use(short):
    client = short.user().connect()
    short.sql.run("UPDATE mcp.session SET created_at = created_at - "
                  "interval '601 s' WHERE session_id = %s", client.session)
    a = client.list_tools()
    assert a.status == 404 and a.error["code"] == -32001


def test_default_takes_nothing_up_again(stack):
    client = stack.user().connect()
    stack.age(client.session, 301)
    due(stack, client.session)
    assert stack.reaper().returncode == 0
    assert client.list_tools().status == 404
