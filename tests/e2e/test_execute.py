# SPDX-License-Identifier: ISC
"""Goal of this test: `execute` through HTTP: results, console, errors, each
limit with its own message, hostile programs that end and hurt nobody."""

import os
import threading
import time

import pytest

from lib import paths, proc

pytestmark = pytest.mark.skipif(not paths.program("mcp-sandbox"),
                                reason="mcp-sandbox is not built")


@pytest.fixture(scope="module")
def user(stack):
    return stack.user().connect()


@pytest.fixture(scope="module")
def tight(make_stack, front_kind):
    s = make_stack(front_kind, {
        "execute_wall_ms": 1500, "execute_cpu_ms": 700,
        "execute_heap_bytes": 16777216, "execute_output_bytes": 65536,
        "execute_log_lines": 10, "fetch_timeout_ms": 500})
    return s


def text(r):
    return r["content"][0]["text"]


@pytest.mark.parametrize("code, want", [
    ("return 1", "1"), ("1 + 1", "2"), ("return 'x'", "x"),
    ("return {a: 1}", '{\n  "a": 1\n}'), ("return [1]", "[\n  1\n]"),
    ("return null", "(no result)"), ("return undefined", "(no result)"),
    ("let x = 1;", "(no result)"), ("return false", "false"),
    ("return ''", ""), ("return 0", "0"),
    ("return await Promise.resolve(3)", "3"), ("() => 4", "4"),
    ("async () => { return 5 }", "5"), ("function f() { return 6 }", "6"),
    ("export default 7", "7"), ("export default () => 8", "8"),
    ("```js\nreturn 9\n```", "9"), ("const x: number = 10; return x", "10"),
    ("return [...new Set([1,1,2])].length", "2"),
    ("return Array.from((function*(){yield 1; yield 2})()).join()", "1,2"),
    ("return '\u00e9\u4e2d\U0001f600'", "\u00e9\u4e2d\U0001f600"),
    ("return 2n ** 64n + ''", "18446744073709551616")])
def test_results(user, code, want):
    r = user.execute(code)
    assert not r.get("isError"), r
    assert text(r) == want


def test_shape_of_a_result(user):
    r = user.execute("console.log('a', {b: 1}); console.warn('w'); return [1]")
    s = r["structuredContent"]
    assert list(s)[:3] == ["status", "result", "logs"]
    assert s["status"] == "completed"
    assert s["result"] == [1]
    assert s["logs"] == ['[log] a {"b":1}', "[warn] w"]
    assert "Logs:\n[log] a" in text(r)
    assert s["outcome"] == "finished"
    assert s["calls"] == []


def test_shape_of_an_error(user):
    r = user.execute("console.log('before');\nthrow new Error('boom')")
    assert r["isError"] is True
    assert text(r).startswith("Error: boom")
    s = r["structuredContent"]
    assert s["status"] == "error"
    assert "boom" in s["error"]
    assert s["logs"] == ["[log] before"]
    assert s["outcome"] != "finished"


def test_errors_name_the_line_of_the_program(user):
    r = user.execute("const a = 1;\nconst b = 2;\nundefinedFunction();\n")
    assert r["isError"] is True
    assert "undefinedFunction" in text(r)
    assert "3" in text(r), text(r)
    r = user.execute("const a = 1;\nconst = 2;\n")
    assert r["isError"] is True
    assert "2" in text(r), text(r)


@pytest.mark.parametrize("code, hint", [
    ("await fetch('https://x.example')", "fetch"),
    ("setTimeout(() => 1, 1)", "setTimeout"),
    ("require('fs')", "require"),
    ("await import('fs')", "import"),
    ("import fs from 'fs'; return 1", "import")])
def test_absent_things_say_so(user, code, hint):
    r = user.execute(code)
    assert r["isError"] is True, r
    assert hint in text(r)
    assert "process" not in r


def test_long_text_is_cut_and_says_so(user):
    r = user.execute("return 'x'.repeat(50000)")
    assert len(text(r)) < 30200
    assert "truncated 20000 chars" in text(r)


def test_huge_output_is_capped_valid_json(user):
    r = user.execute("return 'x'.repeat(5000000)")
    assert len(repr(r)) < 3000000
    assert r["structuredContent"]["status"] in ("completed", "error")


# Limits: each its own message.

LIMITS = [
    ("while (true) {}", ("time", "CPU")),
    ("for (;;) { await null }", ("time", "CPU")),
    ("await new Promise(() => {})", ("time", "never", "settle", "wait")),
    ("const a = []; for (;;) a.push('x'.repeat(100000) + a.length)",
     ("memory",)),
    ("new Array(1e9).fill(1)", ("memory", "time", "CPU", "Array")),
    ("return 'x'.repeat(2 ** 29)", ("memory", "output", "large", "string")),
    ("(function f() { f() })()", ("nested too deeply",)),
    ("return /(a+)+$/.test('a'.repeat(40) + 'b')", ("time", "CPU")),
    ("const f = () => Promise.resolve().then(f); await f()",
     ("time", "CPU", "memory")),
]


@pytest.mark.parametrize("code, words", LIMITS)
def test_limits(tight, code, words):
    client = tight.user().connect()
    t = time.monotonic()
    r = client.execute(code)
    assert time.monotonic() - t < 6
    assert r["isError"] is True, r
    assert any(w.lower() in text(r).lower() for w in words), text(r)
    assert r["structuredContent"]["status"] == "error"
    assert r["structuredContent"]["outcome"]
    assert client.execute("1 + 1")["content"][0]["text"] == "2"


def test_b57_outcome_tells_ran_from_never_ran(tight):
    client = tight.user().connect()
    late = client.execute("console.log('started'); while (true) {}")
    never = client.execute("this is not a program")
    a = late["structuredContent"]
    b = never["structuredContent"]
    assert a["outcome"] != b["outcome"]
    assert b["outcome"] == "not_started"
    assert a["calls"] == [] and b["calls"] == []


def test_console_lines_are_capped(tight):
    client = tight.user().connect()
    r = client.execute("for (let i = 0; i < 1e4; i++) console.log(i)")
    assert len(r["structuredContent"]["logs"]) <= 12
    r = client.execute("console.log('x'.repeat(1e6)); return 1")
    assert len(repr(r)) < 500000


# Hostile programs

@pytest.mark.parametrize("code", [
    "return typeof process + typeof require + typeof fetch + typeof std + "
    "typeof os + typeof Deno + typeof WebAssembly",
    "return Object.getOwnPropertyNames(globalThis)",
    "return [].constructor.constructor('return this')() === globalThis",
    "return (0, eval)('1+1')",
    "globalThis.JSON.stringify = () => '{\"evil\":1}'; return {a: 1}",
    "Object.prototype.toJSON = () => { throw new Error('x') }; return {a: 1}",
    "Promise.prototype.then = null; return 1",
    "Array.prototype.push = () => { throw 1 }; console.log(1); return 1",
    "globalThis.console = null; return 1",
    "return new Proxy({}, { get() { throw new Error('trap') }, ownKeys() { "
    "throw new Error('trap') } })",
    "return { toJSON() { while (true) {} } }",
    "throw { toString() { throw new Error('again') } }",
    "throw null", "throw undefined", "throw 'x'.repeat(1e6)",
    "return Symbol('x')", "return () => 1", "return 1n",
    "return new Date(NaN)", "return NaN", "return Infinity",
    "return '\\u0000\\ud800\\n\\u2028'", "console.log('\\x1b[31m\\u0000')",
    "})(); throw new Error('outside'); (() => {", "return 1 }) } {",
    "/* unterminated", "`${", "'use strict'; delete Object.prototype",
    "async function* g() { yield* g() } for await (const x of g()) {}",
    "new Function('while(1);')()", "return new ArrayBuffer(2 ** 40)",
    "return new SharedArrayBuffer(8)", "Atomics.wait(new Int32Array("
    "new SharedArrayBuffer(8)), 0, 0)",
    "return Array(1e8).join('x').length",
    "let s = 'x'; for (;;) s += s", "return [..'x'.repeat(1e7)]",
    "JSON.parse('['.repeat(1e6))", "new RegExp('('.repeat(1e5))",
    "let o = {}; let p = o; for (let i = 0; i < 1e5; i++) p = p.x = {}; "
    "return o", "const a = []; a[0] = a; return a",
    "\x01\x02", "\ufeffreturn 1", "#!/usr/bin/node\nreturn 1",
    "<!-- x\nreturn 1", "return import.meta", "debugger; return 1",
    "with ({a: 1}) { return a }", "await 0; return new.target"])
def test_hostile_programs_end(tight, code):
    client = tight.user().connect()
    t = time.monotonic()
    a = client.call("tools/call", {"name": "execute",
                                   "arguments": {"code": code}})
    assert time.monotonic() - t < 6
    r = a.result
    assert r["content"][0]["type"] == "text"
    assert r["structuredContent"]["status"] in ("completed", "error")
    assert '"evil"' not in text(r)


def test_nul_in_the_program_is_refused(user):
    a = user.call("tools/call", {"name": "execute",
                                 "arguments": {"code": "1\x00"}})
    assert a.status in (200, 400)
    assert "error" in a.json or a.result["isError"]


def test_source_of_4_mib_less_a_bit(user):
    r = user.execute("return " + "1+" * 100000 + "1")
    assert "content" in r
    r = user.execute("/*" + "x" * 3000000 + "*/ return 1")
    assert "content" in r


def test_runs_see_nothing_of_each_other(user):
    user.execute("globalThis.secret = 42; Array.prototype.leak = 1")
    r = user.execute("return typeof secret + typeof [].leak")
    assert text(r) == "undefinedundefined"


def test_runs_in_parallel(user):
    got = []
    threads = [threading.Thread(target=lambda i=i: got.append(
        (i, text(user.execute("let s = 0; for (let i = 0; i < 1e5; i++) "
                              "s += %d; return s" % i)))))
        for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(got) == [(i, str(i * 100000)) for i in range(8)]


def test_no_sandbox_is_left_behind(tight):
    client = tight.user().connect()
    for code in ("while (true) {}", "return 1", "await new Promise(()=>{})"):
        client.execute(code)

    def sandboxes():
        return [p for p in tight.front.all_pids()
                if (proc.stat(p) or ("",))[0].startswith("mcp-sandbox")]
    proc.wait_for(lambda: not sandboxes(), 3, about="sandboxes to go")


def test_t51_client_that_leaves_does_not_break_the_responder(tight):
    client = tight.user().connect()
    body = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":'
            '"execute","arguments":{"code":"while(true){}"}}}').encode()
    import socket
    head = "".join("%s: %s\r\n" % kv for kv in client.headers().items())
    for _ in range(6):
        with socket.create_connection(("127.0.0.1", tight.front.port)) as s:
            s.sendall(("POST /mcp HTTP/1.1\r\nHost: localhost\r\n%s"
                       "Content-Length: %d\r\n\r\n" % (head, len(body))
                       ).encode() + body)
            time.sleep(0.1)
    time.sleep(2)
    t = time.monotonic()
    assert client.call("ping").result == {}
    assert time.monotonic() - t < 3


def test_o23_nothing_of_the_request_reaches_the_sandbox(tight):
    """Environment and descriptors of a running sandbox."""
    client = tight.user().connect()
    seen = {}

    def look():
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and not seen:
            for p in proc.descendants_of(os.getpid()):
                if (proc.stat(p) or ("",))[0].startswith("mcp-sandbox"):
                    env = proc.environ_of(p)
                    try:
                        fds = {int(f): os.readlink("/proc/%d/fd/%s" % (p, f))
                               for f in os.listdir("/proc/%d/fd" % p)}
                    except OSError:
                        continue
                    if 3 in fds and proc.is_running(p):
                        seen.update(env=env, fds=fds)
            time.sleep(0.01)
    t = threading.Thread(target=look)
    t.start()
    client.execute("while (true) {}")
    t.join()
    assert seen, "no sandbox was seen"
    assert b"Bearer" not in seen["env"]
    assert b"dbname" not in seen["env"] and b"MCP_FCGI_" not in seen["env"]
    assert set(seen["fds"]) <= {0, 1, 2, 3}, seen["fds"]
