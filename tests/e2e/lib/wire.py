# SPDX-License-Identifier: ISC
"""A legacy MCP server that misbehaves: `how` is the shape of its answers,
`status` a refusal, `lose` the loss of its session.  `methods` is what it was
asked, `calls` the tools that it ran."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON, SSE = "application/json", "text/event-stream"
TYPES = {"json": JSON, "sse": SSE, "json as sse": SSE, "sse as json": JSON,
         "json as html": "text/html", "sse as nothing": None}


class Wire:
    def __init__(self):
        self.n = 0
        self.reset()
        wire = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_POST(self):
                n = int(self.headers.get("content-length") or 0)
                m = json.loads(self.rfile.read(n))
                method = m.get("method")
                if method:
                    wire.methods.append(method)
                if method == "initialize":
                    wire.n += 1
                    wire.is_lost = wire.is_lost and wire.is_always
                    return self.send(200, JSON, self.reply(m, {
                        "protocolVersion": "2025-11-25", "capabilities": {},
                        "serverInfo": {"name": "wire", "version": "1"}}),
                        session="s%d" % wire.n)
                if "id" not in m or method is None:
                    return self.send(202, None, "")
                if wire.is_lost or self.headers.get(
                        "mcp-session-id") != "s%d" % wire.n:
                    wire_status, text = wire.loss
                    return self.refuse(wire_status, m, text)
                if wire.status:
                    return self.send(wire.status, "text/plain", "no")
                wire.calls.append(m["params"]["name"])
                data = m["params"]["arguments"]
                self.answer(m, {"content": [{
                    "type": "text", "text": json.dumps(data)}],
                    "structuredContent": data})

            def do_DELETE(self):
                self.send(200, None, "")

            def reply(self, m, result):
                return json.dumps({"jsonrpc": "2.0", "id": m["id"],
                                   "result": result})

            def refuse(self, status, m, text):
                self.send(status, JSON, json.dumps({
                    "jsonrpc": "2.0", "id": m["id"],
                    "error": {"code": -32001, "message": text}}))

            def answer(self, m, result):
                how = wire.how
                text = self.reply(m, result)
                event = "event: message\ndata: %s\n\n" % text
                if how in TYPES:
                    return self.send(200, TYPES[how], event
                                     if how.startswith("sse") else text)
                if how == "sse crlf":
                    return self.send(200, SSE, ": hello\r\n\r\nid: 1\r\n" +
                                     event.replace("\n", "\r\n"))
                if how == "json in an array":
                    return self.send(200, JSON, "[%s]" % text)
                if how == "json id as text":
                    m["id"] = str(m["id"])
                    return self.send(200, JSON, self.reply(m, result))
                if how == "another id":
                    m["id"] += 1000
                    return self.send(200, JSON, self.reply(m, result))
                if how == "nonsense":
                    return self.send(200, "text/html", "<html>Hello</html>")
                if how == "nothing":
                    return self.send(200, JSON, "")
                if how == "silence":
                    wire.gate.wait(20)
                    self.close_connection = True
                    return None
                if how == "hang up":
                    self.close_connection = True
                    return None
                return self.stream(how, event)

            def stream(self, how, event):
                self.send_response(200)
                self.send_header("content-type", SSE)
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                first = 'data: {"jsonrpc":"2.0","method":"%s","params":{' \
                    '"level":"info","data":"x"}%s}\n\n'
                if how == "sse with a request before":
                    self.put(first % ("roots/list", ',"id":"r1"'))
                if how == "sse cut":
                    return self.put(first % ("notifications/message", "") +
                                    event[:30])
                if how == "sse without end":
                    # The answer is the last; the stream stays open.
                    self.put(event)
                    wire.gate.wait(20)
                    return None
                for i in range(0, len(event), 7):
                    self.put(event[i:i + 7])
                    time.sleep(0.001)
                return None

            def put(self, text):
                try:
                    self.wfile.write(text.encode())
                    self.wfile.flush()
                except OSError:
                    pass

            def send(self, status, ctype, text, session=None):
                self.send_response(status)
                if ctype:
                    self.send_header("content-type", ctype)
                if session:
                    self.send_header("Mcp-Session-Id", session)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.put(text)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass    # clients that hang up are part of the tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/mcp" % self.server.server_port
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def reset(self):
        if getattr(self, "gate", None):
            self.gate.set()
        self.gate = threading.Event()
        self.how = "json"
        self.status = None
        self.loss = (404, "Session not found")
        self.is_lost = self.is_always = False
        self.methods = []
        self.calls = []

    def lose(self, status, text, always=False):
        """Until the next initialize, or for ALWAYS."""
        self.loss = (status, text)
        self.is_lost = True
        self.is_always = always

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
