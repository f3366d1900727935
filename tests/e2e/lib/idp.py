# SPDX-License-Identifier: ISC
"""An identity provider on loopback: metadata, key set, tokens good and bad."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa


def b64u(data):
    if isinstance(data, str):
        data = data.encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_token(header, payload, signature=b""):
    """A token from parts that a library would refuse to make."""
    def part(x):
        return b64u(x if isinstance(x, (bytes, str)) else json.dumps(x))
    return "%s.%s.%s" % (part(header), part(payload), b64u(signature))


class Key:
    """One signing key of family RSA, EC or OKP."""

    def __init__(self, kid, family="RSA", curve="P-256", bits=2048):
        self.kid = kid
        self.family = family
        self.curve = curve
        if family == "RSA":
            self.private = rsa.generate_private_key(65537, bits)
            self.alg = "RS256"
        elif family == "EC":
            self.private = ec.generate_private_key(
                {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(),
                 "P-521": ec.SECP521R1()}[curve])
            self.alg = {"P-256": "ES256", "P-384": "ES384",
                        "P-521": "ES512"}[curve]
        else:
            self.private = ed25519.Ed25519PrivateKey.generate()
            self.alg = "EdDSA"

    def jwk(self, **extra):
        public = self.private.public_key()
        jwk = {"kty": self.family, "kid": self.kid, "use": "sig"}
        if self.family == "RSA":
            n = public.public_numbers()
            jwk["n"] = b64u(n.n.to_bytes((n.n.bit_length() + 7) // 8, "big"))
            jwk["e"] = b64u(n.e.to_bytes(3, "big"))
        elif self.family == "EC":
            n, size = public.public_numbers(), (public.key_size + 7) // 8
            jwk["crv"] = self.curve
            jwk["x"] = b64u(n.x.to_bytes(size, "big"))
            jwk["y"] = b64u(n.y.to_bytes(size, "big"))
        else:
            jwk["crv"] = "Ed25519"
            jwk["x"] = b64u(public.public_bytes(
                serialization.Encoding.Raw, serialization.PublicFormat.Raw))
        jwk.update(extra)
        return jwk

    def public_pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM,
            serialization.PublicFormat.SubjectPublicKeyInfo)


class Stub:
    """A loopback HTTP server whose mood the test chooses."""

    def __init__(self):
        self.mode = "ok"        # ok, down, slow, garbage, error, huge
        self.slow_s = 30
        self.requests = []
        self._lock = threading.Lock()
        self._release = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with stub._lock:
                    stub.requests.append((time.monotonic(), self.path,
                                          dict(self.headers)))
                if stub.mode == "down":
                    self.close_connection = True
                    self.connection.close()
                    return
                if stub.mode == "slow":
                    stub._release.wait(stub.slow_s)
                if stub.mode == "garbage":
                    self.answer(200, b"<html>not json \xff", "text/html")
                elif stub.mode == "error":
                    self.answer(500, b'{"error":"boom"}')
                elif stub.mode == "huge":
                    self.answer(200, b'{"keys":[' + b" " * 4000000 + b"]}")
                else:
                    self.answer(*stub.reply(self.path, dict(self.headers)))

            def answer(self, status, body, ctype="application/json"):
                if not isinstance(body, bytes):
                    body = json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", ctype)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(
            target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def reply(self, path, headers):
        raise NotImplementedError

    def count(self, part=""):
        with self._lock:
            return sum(1 for _, path, _ in self.requests if part in path)

    def forget(self):
        with self._lock:
            self.requests.clear()

    def recover(self):
        self.mode = "ok"
        self._release.set()
        self._release = threading.Event()

    def close(self):
        self.recover()
        self.server.shutdown()
        self.server.server_close()


# RSA generation is slow; the tests of one run share these.
_keys = {}


def shared_key(kid, family="RSA", curve="P-256", bits=2048):
    name = (kid, family, curve, bits)
    if name not in _keys:
        _keys[name] = Key(kid, family, curve, bits)
    return _keys[name]


class IdP(Stub):
    """RFC 8414 metadata and a JWK set, with rotation."""

    def __init__(self, audience):
        self.audience = audience
        self.keys = [shared_key("rsa-1"),
                     shared_key("ec-256", "EC", "P-256"),
                     shared_key("ec-384", "EC", "P-384"),
                     shared_key("ec-521", "EC", "P-521"),
                     shared_key("ed-1", "OKP")]
        super().__init__()

    @property
    def issuer(self):
        return self.url

    def metadata(self):
        return {"issuer": self.issuer,
                "authorization_endpoint": self.url + "/authorize",
                "token_endpoint": self.url + "/token",
                "registration_endpoint": self.url + "/register",
                "jwks_uri": self.url + "/jwks",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"]}

    def reply(self, path, headers):
        if path.startswith("/.well-known/oauth-authorization-server"):
            return 200, self.metadata()
        if path.startswith("/jwks"):
            return 200, {"keys": [k.jwk() for k in self.keys]}
        return 404, {"error": "not_found"}

    def rotate(self, kid):
        """A new first key under the name KID; the old RSA keys go."""
        key = Key(kid)
        self.keys = [key] + [k for k in self.keys if k.family != "RSA"]
        return key

    def claims(self, account="acct-a", organization="org-x", **more):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.audience, "sub": account,
                  "iat": now, "exp": now + 3600}
        if organization is not None:
            claims["org_id"] = organization
        claims.update(more)
        return {k: v for k, v in claims.items() if v is not None}

    def token(self, account="acct-a", organization="org-x", key=None,
              alg=None, headers=None, **more):
        """A good token; None removes a claim, HEADERS adds to the header."""
        key = key or self.keys[0]
        h = {"kid": key.kid}
        h.update(headers or {})
        h = {k: v for k, v in h.items() if v is not None}
        return jwt.encode(self.claims(account, organization, **more),
                          key.private, algorithm=alg or key.alg, headers=h)


class MembershipAPI(Stub):
    """A WorkOS-shaped list of organisation memberships.

    answers[(account, organization)] is "active", "pending", "inactive",
    "none", or an HTTP status; absent means none.
    """

    def __init__(self, token="membership-secret"):
        self.token = token
        self.answers = {}
        super().__init__()

    @property
    def template(self):
        return self.url + "/user_management/organization_memberships" \
            "?user_id={account}&organization_id={organization}"

    def reply(self, path, headers):
        from urllib.parse import parse_qs, urlsplit
        if headers.get("Authorization") != "Bearer " + self.token:
            return 401, {"message": "Unauthorized"}
        q = parse_qs(urlsplit(path).query)
        account = q.get("user_id", [""])[0]
        organization = q.get("organization_id", [""])[0]
        answer = self.answers.get((account, organization), "none")
        if isinstance(answer, int):
            return answer, {"message": "status %d" % answer}
        data = []
        if answer != "none":
            data.append({"object": "organization_membership", "id": "om_1",
                         "user_id": account,
                         "organization_id": organization,
                         "status": answer, "role": {"slug": "member"}})
        return 200, {"object": "list", "data": data,
                     "list_metadata": {"before": None, "after": None}}
