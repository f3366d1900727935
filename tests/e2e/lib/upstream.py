# SPDX-License-Identifier: ISC
"""An HTTP API on loopback that counts what it is asked for."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Upstream:
    """Answers every path with JSON.  `calls` holds (method, path, body);
    `delay_s` is how long an answer takes, `gate` holds answers back."""

    def __init__(self):
        self.calls = []
        self.delay_s = 0
        self.gate = None
        self._lock = threading.Lock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1               # one segment for head and body
            disable_nagle_algorithm = True

            def do(self):
                n = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(n)
                with api._lock:
                    api.calls.append((self.command, self.path, body))
                    serial = len(api.calls)
                if api.delay_s:
                    time.sleep(api.delay_s)
                if api.gate is not None:
                    api.gate.wait(30)
                if self.path.startswith("/image"):
                    return self.answer("image/png", b"\x89PNG" + b"\0" * 90)
                self.answer("application/json", json.dumps({
                    "n": serial, "method": self.command, "path": self.path,
                    "body": json.loads(body) if body else None}).encode())

            def answer(self, ctype, data):
                try:
                    self.send_response(200)
                    self.send_header("content-type", ctype)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    self.wfile.flush()
                except OSError:
                    pass

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass    # clients that hang up are part of the tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def paths(self):
        with self._lock:
            return [p for _, p, _ in self.calls]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
