# SPDX-License-Identifier: ISC
"""Goal of this test: key sets. Rotation is seen at once, a flood of unknown
kids costs one fetch an interval over all processes, and an issuer that is
down or talks nonsense stops nobody whose key is known."""

import threading
import time

import pytest

from lib import proc
from lib.client import initialize_message
from lib.idp import IdP, Key, shared_key


@pytest.fixture
def own(make_stack, front_kind, idp):
    """A stack with an issuer of its own: (stack, issuer)."""
    issuers = []

    def make(**settings):
        issuer = IdP(idp.audience)
        issuers.append(issuer)
        settings.setdefault("jwks_min_interval_s", 1)
        return make_stack(front_kind, settings, idp=issuer), issuer
    yield make
    for i in issuers:
        i.close()


def test_b35_rotation_within_one_request(own):
    stack, issuer = own()
    client = stack.user().connect()
    time.sleep(1.1)
    issuer.rotate("rsa-2")
    client.token = issuer.token(client.account, client.organization)
    assert client.list_tools().status == 200


def test_b35_old_keys_end_with_the_rotation(own):
    stack, issuer = own()
    client = stack.user().connect()
    old = client.token
    time.sleep(1.1)
    issuer.rotate("rsa-2")
    client.token = issuer.token(client.account, client.organization)
    for _ in range(12):             # every process has seen the new set
        assert client.list_tools().status == 200
    client.token = old
    codes = [client.list_tools().status for _ in range(12)]
    assert codes[-1] == 401, codes


def test_b35_same_kid_new_key(own):
    """Some issuers keep the name."""
    stack, issuer = own(jwks_ttl_s=1)
    client = stack.user().connect()
    time.sleep(1.2)
    issuer.keys = [Key("rsa-1")] + issuer.keys[1:]
    client.token = issuer.token(client.account, client.organization)
    proc.wait_for(lambda: client.list_tools().status == 200, 5,
                  about="the new key under the old name")


def test_b35_flood_of_unknown_kids(own):
    """A thousand tokens with random kids, on every process at once."""
    stack, issuer = own(jwks_min_interval_s=30)
    client = stack.user().connect()
    evil = shared_key("evil")
    before = issuer.count("/jwks")
    tokens = [issuer.token(client.account, client.organization, key=evil,
                           headers={"kid": "kid-%d" % i})
              for i in range(300)]
    codes = []

    def hammer(part):
        for token in part:
            a = stack.web.request("POST", "/mcp", {
                "Authorization": "Bearer " + token,
                "Content-Type": "application/json"}, b"{}")
            codes.append(a.status)
    threads = [threading.Thread(target=hammer, args=(tokens[i::6],))
               for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(codes) == 300
    assert set(codes) <= {401}, set(codes)
    assert issuer.count("/jwks") <= before + 1
    assert client.list_tools().status == 200


def test_b35_cold_start_of_many_processes_fetches_once(own):
    stack, issuer = own(jwks_min_interval_s=30)
    clients = [stack.user() for _ in range(8)]
    codes = []
    threads = [threading.Thread(
        target=lambda c=c: codes.append(c.post(initialize_message()).status))
        for c in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert codes == [200] * 8
    assert issuer.count("/jwks") == 1


def test_keys_are_shared_through_the_database(own):
    """New processes do not ask again."""
    stack, issuer = own(jwks_min_interval_s=30)
    client = stack.user().connect()
    n = issuer.count("/jwks")
    stack.front.kill_responders()
    for _ in range(8):
        assert client.list_tools().status == 200
    assert issuer.count("/jwks") == n


@pytest.mark.parametrize("mode", ["down", "error", "garbage", "huge"])
def test_b35_issuer_out_of_order_known_keys_stay(own, mode):
    stack, issuer = own(jwks_ttl_s=1)
    client = stack.user().connect()
    issuer.mode = mode
    time.sleep(1.2)                 # stale now
    stack.front.kill_responders()
    for _ in range(6):
        assert client.list_tools().status == 200
    # an unknown kid cannot be decided or is refused; nobody is let in
    client.token = issuer.token(client.account, client.organization,
                                key=shared_key("evil"))
    assert client.list_tools().status in (401, 503)
    issuer.recover()


def test_b35_slow_issuer_does_not_stop_the_others(own):
    """One request an interval may wait for the issuer, not each."""
    stack, issuer = own(jwks_ttl_s=60, jwks_min_interval_s=30,
                        fetch_timeout_ms=1500)
    client = stack.user().connect()
    stack.sql.run("UPDATE mcp.jwks SET fetched_at = now() - interval '2 min', "
                  "attempted_at = now() - interval '2 min', "
                  "metadata_fetched_at = now() - interval '2 min', "
                  "metadata_attempted_at = now() - interval '2 min'")
    stack.front.kill_responders()
    issuer.mode = "slow"
    t = time.monotonic()
    codes = [client.list_tools().status for _ in range(10)]
    assert codes == [200] * 10
    assert time.monotonic() - t < 10
    issuer.recover()


def test_hard_limit_of_stale_keys(own):
    stack, issuer = own(jwks_ttl_s=1, jwks_hard_ttl_s=3600)
    client = stack.user().connect()
    issuer.mode = "down"
    stack.sql.run("UPDATE mcp.jwks SET fetched_at = now() - interval '2 h', "
                  "attempted_at = now() - interval '1 h'")
    stack.front.kill_responders()
    a = client.list_tools()
    assert a.status == 503, a
    assert a.header("retry-after") == "2"
    assert stack.row(client.session) is not None
    issuer.recover()
    stack.sql.run("UPDATE mcp.jwks SET attempted_at = now() - interval '1 h'")
    proc.wait_for(lambda: client.list_tools().status == 200, 5,
                  about="recovery of the issuer")


def test_unreachable_from_the_start_then_up(own):
    stack, issuer = own()
    issuer.mode = "down"
    client = stack.user()
    a = client.post(initialize_message())
    assert a.status == 503
    assert a.error["code"] == -32001
    assert stack.n_sessions(client) == 0
    issuer.recover()
    proc.wait_for(lambda: client.post(initialize_message()).status == 200, 6,
                  about="recovery without restart")


def test_metadata_of_another_issuer_is_not_believed(own):
    """RFC 8414 3.3: the issuer in the document must be ours."""
    stack, issuer = own()
    good = issuer.metadata
    issuer.metadata = lambda: dict(good(), issuer="https://evil.example")
    client = stack.user()
    assert client.post(initialize_message()).status in (401, 503)
    assert issuer.count("/jwks") == 0


def test_jwks_url_can_be_given(make_stack, front_kind, idp):
    issuer = IdP(idp.audience)
    stack = make_stack(front_kind, {"jwks_url": issuer.url + "/jwks"},
                       idp=issuer)
    stack.user().connect()
    assert issuer.count("/.well-known") == 0
    issuer.close()


def test_odd_keys_in_the_set_do_not_spoil_the_others(own):
    stack, issuer = own()

    class Odd:
        family = "odd"

        def __init__(self, jwk):
            self.value = jwk

        def jwk(self):
            return self.value
    issuer.keys = issuer.keys + [Odd(x) for x in (
        {}, {"kty": "oct", "k": "c2VjcmV0", "kid": "oct-1"},
        {"kty": "RSA", "kid": "short", "n": "AQAB", "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "kid": "off-curve", "x": "AA",
         "y": "AA"}, {"kty": "EC", "crv": "secp256k1", "kid": "k1",
                      "x": "AA", "y": "AA"}, {"kty": 7}, {"kid": "nokty"},
        {"kty": "RSA", "kid": "enc", "use": "enc", "n": "AQAB",
         "e": "AQAB"})]
    stack.user().connect()


def test_key_for_encryption_does_not_sign(own):
    stack, issuer = own()
    key = Key("enc-1")
    jwk = key.jwk(use="enc")
    key.jwk = lambda: jwk
    issuer.keys = issuer.keys + [key]
    client = stack.user()
    client.token = issuer.token(client.account, client.organization, key=key)
    assert client.post(initialize_message()).status == 401


def test_key_bound_to_one_algorithm(own):
    stack, issuer = own()
    key = Key("ps-only")
    jwk = key.jwk(alg="PS256")
    key.jwk = lambda: jwk
    issuer.keys = issuer.keys + [key]
    client = stack.user()
    client.token = issuer.token(client.account, client.organization, key=key,
                                alg="RS256")
    assert client.post(initialize_message()).status == 401
    client.token = issuer.token(client.account, client.organization, key=key,
                                alg="PS256")
    assert client.post(initialize_message()).status == 200


def test_9_issuer_metadata_that_cannot_be_had(own):
    stack, issuer = own()
    for mode in ("down", "garbage", "error"):
        issuer.mode = mode
        a = stack.web.request("GET", "/.well-known/oauth-authorization-server")
        assert a.status == 502, a
        assert a.json == {"error": "upstream_error"}
        assert a.header("access-control-allow-origin") == "*"
    issuer.recover()
    proc.wait_for(lambda: stack.web.request(
        "GET", "/.well-known/oauth-authorization-server").status == 200, 5)
    issuer.mode = "down"
    # from now on there is a copy
    assert stack.web.request(
        "GET", "/.well-known/oauth-authorization-server").status == 200


def test_private_addresses_are_refused(own):
    """The SSRF guard: without fetch_allow loopback is not fetched."""
    stack, issuer = own(fetch_allow="")
    client = stack.user()
    a = client.post(initialize_message())
    assert a.status == 503
    assert issuer.count() == 0
