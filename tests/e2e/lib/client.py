# SPDX-License-Identifier: ISC
"""HTTP as the tests need it: exact requests, whole answers, held streams."""

import http.client
import json
import socket
import time


class Answer:
    """Status, headers (names in lower case, repeats kept) and body."""

    def __init__(self, response, body):
        self.status = response.status
        self.header_list = [(k.lower(), v) for k, v in response.getheaders()]
        self.body = body

    def header(self, name):
        """The value, None when absent; a repeated header is a fault."""
        values = [v for k, v in self.header_list if k == name.lower()]
        assert len(values) <= 1, "%s repeated: %r" % (name, values)
        return values[0] if values else None

    @property
    def ctype(self):
        return (self.header("content-type") or "").split(";")[0].strip()

    @property
    def json(self):
        """The JSON body; of an event stream the last message."""
        if self.ctype == "text/event-stream":
            return [json.loads(d) for d in events(self.body) if d][-1]
        assert self.ctype == "application/json", (self.status, self.ctype,
                                                  self.body[:300])
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    @property
    def result(self):
        assert self.status == 200, (self.status, self.body[:500])
        message = self.json
        assert "result" in message, message
        return message["result"]

    def __repr__(self):
        return "<%d %r %r>" % (self.status, dict(self.header_list),
                               self.body[:400])


def events(body):
    """The data of each event of an SSE body."""
    text = body.decode() if isinstance(body, bytes) else body
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].lstrip(" ") for line in block.split("\n")
                if line.startswith("data:")]
        if data:
            found.append("\n".join(data))
    return found


class Stream:
    """A response that is read as it arrives."""

    def __init__(self, connection, response):
        self.connection = connection
        self.response = response
        self.status = response.status
        self.text = ""
        self.ended = False
        self.started_at = time.monotonic()

    def header(self, name):
        return self.response.getheader(name)

    def read_some(self, timeout_s):
        """What arrives within the time; "" on silence or at the end."""
        if self.ended:
            return ""
        self.connection.sock.settimeout(max(timeout_s, 0.01))
        try:
            chunk = self.response.read1(65536)
        except (socket.timeout, TimeoutError):
            # http.client would refuse to go on after a time-out.
            raw = getattr(self.response.fp, "raw", None)
            if raw is not None and hasattr(raw, "_timeout_occurred"):
                raw._timeout_occurred = False
            return ""
        except (http.client.HTTPException, OSError):
            self.ended = True
            return ""
        if not chunk:
            self.ended = True
        self.text += chunk.decode()
        return chunk.decode()

    def read_until(self, what, timeout_s):
        """True when WHAT (a text) has arrived in time."""
        deadline = time.monotonic() + timeout_s
        while what not in self.text and not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self.read_some(left)
        return what in self.text

    def read_to_end(self, timeout_s):
        """Seconds until the server ended it; None if it did not."""
        deadline = time.monotonic() + timeout_s
        while not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.read_some(left)
        return time.monotonic() - self.started_at

    def hang_up(self):
        try:
            if self.connection.sock:
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.response.close()
        self.connection.close()


class Http:
    """Requests to one server.  Nothing is added that is not asked for."""

    def __init__(self, port, host="127.0.0.1", host_header=None):
        self.host = host
        self.port = port
        self.host_header = host_header or "%s:%d" % (host, port)

    def _send(self, method, path, headers, body, timeout):
        c = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        names = {k.lower() for k, _ in headers}
        if "host" not in names:
            c.putheader("Host", self.host_header)
        for k, v in headers:
            if v is not None:
                c.putheader(k, v)
        if body is not None and not names & {"content-length",
                                             "transfer-encoding"}:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders()
        try:
            if body:
                c.send(body)
        except (BrokenPipeError, ConnectionResetError):
            pass        # refused early; the answer is there to read
        return c, c.getresponse()

    def request(self, method, path, headers=(), body=None, timeout=30):
        """HEADERS: a dict or pairs; a value None leaves the header out."""
        headers = list(headers.items()) if isinstance(headers, dict) \
            else list(headers)
        if isinstance(body, str):
            body = body.encode()
        c, response = self._send(method, path, headers, body, timeout)
        try:
            return Answer(response, response.read())
        finally:
            c.close()

    def stream(self, method, path, headers=(), body=None, timeout=30):
        headers = list(headers.items()) if isinstance(headers, dict) \
            else list(headers)
        return Stream(*self._send(method, path, headers, body, timeout))

    def raw(self, data, timeout=10):
        """Send DATA as it is; all that comes back until the end."""
        with socket.create_connection((self.host, self.port), timeout) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            got = b""
            try:
                while True:
                    chunk = s.recv(65536)
                    if not chunk:
                        return got
                    got += chunk
            except OSError:
                return got


ACCEPT = "application/json, text/event-stream"
SKIP = object()


def message(method, params=None, id=1):
    m = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        m["id"] = id
    if params is not None:
        m["params"] = params
    return m


def initialize_message(version="2025-11-25", id=0, **params):
    p = {"protocolVersion": version, "capabilities": {},
         "clientInfo": {"name": "e2e", "version": "1"}}
    p.update(params)
    return message("initialize", {k: v for k, v in p.items()
                                  if v is not SKIP}, id)


class Mcp:
    """A client of the endpoint with one token; `session` is its id."""

    def __init__(self, web, token, path="/mcp"):
        self.web = web
        self.token = token
        self.path = path
        self.session = None
        self.version = None

    def headers(self, **more):
        h = {"Content-Type": "application/json", "Accept": ACCEPT}
        if self.token is not None:
            h["Authorization"] = "Bearer " + self.token
        if self.session:
            h["Mcp-Session-Id"] = self.session
        if self.version:
            h["MCP-Protocol-Version"] = self.version
        for k, v in more.items():
            h[k.replace("_", "-")] = v
        return h

    def post(self, body, timeout=30, **headers):
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        return self.web.request("POST", self.path, self.headers(**headers),
                                body, timeout)

    def call(self, method, params=None, id=1, timeout=30, **headers):
        return self.post(message(method, params, id), timeout, **headers)

    def list_tools(self, **headers):
        return self.call("tools/list", **headers)

    def initialize(self, version="2025-11-25", **params):
        """Handshake without the notification; the answer, which is 200."""
        self.session = self.version = None
        a = self.post(initialize_message(version, **params))
        assert a.status == 200, a
        self.session = a.header("mcp-session-id")
        assert self.session, a
        self.version = a.json["result"]["protocolVersion"]
        return a

    def connect(self, version="2025-11-25", **params):
        """The whole handshake; self."""
        self.initialize(version, **params)
        a = self.notify("notifications/initialized")
        assert a.status == 202, a
        return self

    def notify(self, method, params=None, **headers):
        return self.post(message(method, params, None), **headers)

    def get(self, timeout=30, **headers):
        """Open the event stream."""
        h = self.headers(Content_Type=None, Accept="text/event-stream")
        h.update({k.replace("_", "-"): v for k, v in headers.items()})
        return self.web.stream("GET", self.path, h, timeout=timeout)

    def delete(self, **headers):
        return self.web.request("DELETE", self.path, self.headers(
            Content_Type=None, Accept=None, **headers))

    def execute(self, code, timeout=45):
        return self.call("tools/call", {"name": "execute",
                                        "arguments": {"code": code}},
                         timeout=timeout).result
