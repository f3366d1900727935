# SPDX-License-Identifier: ISC
"""An HTTP API on loopback with an OpenAPI document: it keeps what it was
asked, counts how many ask at once, and misbehaves on request."""

import json
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108040000"
    "00b51c0c020000000b4944415478da6364600000000600023081d02f"
    "0000000049454e44ae426082")


def parameter(name, place, schema=None, **more):
    return dict({"name": name, "in": place,
                 "schema": schema or {"type": "string"}}, **more)


def operation(name, *parameters, **more):
    return dict({"operationId": name, "tags": ["things"],
                 "parameters": list(parameters),
                 "responses": {"200": {"description": "ok"}}}, **more)


def in_path(name, schema=None):
    return parameter(name, "path", schema, required=True)


def document(url, title="Things"):
    """The API as its owner describes it."""
    item = {"type": "object", "required": ["title"], "properties": {
        "title": {"type": "string", "maxLength": 40},
        "tags": {"type": "array", "items": {"type": "string"}}}}
    whole = {"type": "integer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "servers": [{"url": url + "/v1"}],
        "components": {"schemas": {"Item": item}},
        "paths": {
            "/items/{id}": {
                "get": operation(
                    "getItem", in_path("id"),
                    parameter("verbose", "query", {"type": "boolean"}),
                    parameter("fields", "query", {
                        "type": "array", "items": {"type": "string"}},
                        explode=False),
                    parameter("filter", "query", {
                        "type": "object"}, style="deepObject",
                        explode=True),
                    parameter("X-Trace", "header"),
                    summary="One item"),
                "delete": operation("deleteItem", in_path("id"))},
            "/items": {"post": operation(
                "createItem", parameter("dry", "query", {"type": "boolean"}),
                summary="A new item",
                requestBody={"required": True, "content": {
                    "application/json": {"schema": {
                        "$ref": "#/components/schemas/Item"}}}})},
            "/form": {"post": operation("sendForm", requestBody={
                "content": {"application/x-www-form-urlencoded": {
                    "schema": {"type": "object", "properties": {
                        "a": {"type": "string"}}}}}})},
            "/status/{code}": {
                "get": operation("getStatus", in_path("code", whole)),
                "post": operation("setStatus", in_path("code", whole))},
            "/wait/{ms}": {
                "get": operation("wait", in_path("ms", whole)),
                "post": operation("waitAndSee", in_path("ms", whole))},
            "/meet/{n}": {"get": operation("meet", in_path("n", whole))},
            "/hold": {"get": operation("hold"),
                      "post": operation("holdOn")},
            "/big/{bytes}": {"get": operation(
                "big", in_path("bytes", whole),
                parameter("type", "query"))},
            "/go": {"get": operation(
                "go", parameter("to", "query", required=True)),
                "post": operation(
                    "goAndPost", parameter("to", "query", required=True))},
            "/mirror": {"get": operation("mirror")},
            "/file/{kind}": {"get": operation("getFile", in_path("kind"))},
            "/cut": {"get": operation("cut"), "post": operation("cutPost")},
        }}


class Api:
    """`asked`: (method, target, headers in lower case, body) in order of
    arrival.  `most`: how many were being answered at once.  `hung_up`: paths
    whose clients left before the answer.  `gate`: holds /hold back."""

    def __init__(self):
        self.asked = []
        self.hung_up = []
        self.gate = threading.Event()
        self.most = self.now = 0
        self._lock = threading.Condition()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do(self):
                n = int(self.headers.get("content-length") or 0)
                self.body = self.rfile.read(n)
                url = urlsplit(self.path)
                if url.path == "/openapi.json":
                    return self.answer(200, document(api.url))
                with api._lock:
                    api.asked.append((
                        self.command, self.path,
                        {k.lower(): v for k, v in self.headers.items()},
                        self.body))
                    api.now += 1
                    api.most = max(api.most, api.now)
                    api._lock.notify_all()
                try:
                    parts = url.path.split("/")[2:]
                    query = {k: v[0] for k, v in parse_qs(url.query).items()}
                    what = getattr(self, "on_" + parts[0], self.on_items)
                    what(query, *parts[1:2])
                finally:
                    with api._lock:
                        api.now -= 1
                        api._lock.notify_all()

            def on_items(self, query, *_):
                self.answer(200, {"method": self.command, "path": self.path,
                                  "body": self.body.decode()})

            def on_status(self, query, code):
                code = int(code)
                more = {"retry-after": "7"} if code == 429 else {}
                self.answer(code, None if code == 204 else {
                    "message": "it is %d" % code, "field": "x"}, **more)

            def on_wait(self, query, ms):
                time.sleep(int(ms) / 1000)
                self.answer(200, {"waited": int(ms)})

            def on_meet(self, query, n):
                """Answers when N are here."""
                with api._lock:
                    met = api._lock.wait_for(lambda: api.most >= int(n), 8)
                self.answer(200 if met else 500, {"met": met})

            def on_hold(self, query):
                while not api.gate.wait(0.02):
                    if select.select([self.connection], [], [], 0)[0] and \
                       not self.connection.recv(1, socket.MSG_PEEK):
                        api.hung_up.append(self.path)
                        return
                self.answer(200, {"held": True})

            def on_big(self, query, n):
                kind = query.get("type", "application/json")
                data = b"x" * int(n)
                self.send(200, kind, data if kind == "text/plain"
                          else b'{"x":"' + data + b'"}')

            def on_go(self, query):
                self.answer(302, {}, location=query["to"])

            def on_mirror(self, query):
                """What servers do that print requests in their errors."""
                self.answer(200, {
                    "path": self.path, "authorization":
                    self.headers.get("authorization"), "list":
                    ["key=" + query.get("key", "")]}, **{
                        "x-echo": self.headers.get("authorization") or "-"})

            def on_file(self, query, kind):
                if kind == "png":
                    return self.send(200, "image/png", PNG)
                self.send(200, "application/pdf", b"%PDF-1.4 \xff\x00")

            def on_cut(self, query):
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "1000")
                self.end_headers()
                self.wfile.write(b'{"half":')
                self.wfile.flush()
                self.close_connection = True

            def answer(self, status, value, **headers):
                self.send(status, "application/json", b"" if value is None
                          else json.dumps(value).encode(), **headers)

            def send(self, status, ctype, data, **headers):
                try:
                    self.send_response(status)
                    self.send_header("content-type", ctype)
                    self.send_header("content-length", str(len(data)))
                    for k, v in headers.items():
                        self.send_header(k.replace("_", "-"), v)
                    self.end_headers()
                    self.wfile.write(data)
                    self.wfile.flush()
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 64

            def handle_error(self, *_):
                pass    # clients that hang up are part of the tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def targets(self, method=None):
        return [t for m, t, _, _ in list(self.asked)
                if method in (None, m)]

    def forget(self):
        with self._lock:
            self.asked.clear()
            self.hung_up.clear()
            self.most = self.now

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
