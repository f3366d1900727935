/*
 * Goal of this test: the sequences of requests that well-known hosts send,
 * header by header, get answers those hosts can live with. The hosts are not
 * run; their requests are re-enacted from what they put on the wire.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { EXECUTE, done, riding503, skip, test, token, tokenOther, url } from './lib.mjs';

const BOTH = 'application/json, text/event-stream';

/* name: what the host sends beside the bearer; null leaves a header away. */
const HOSTS = [
    { name: 'Claude connector', version: '2025-06-18',
        headers: { 'user-agent': 'Claude-User', accept: BOTH } },
    { name: 'Claude Code', version: '2025-11-25', stream: true,
        headers: { 'user-agent': 'claude-code/2.1.0 (cli)', accept: BOTH } },
    { name: 'Cursor', version: '2025-06-18', stream: true, probe: true,
        headers: { 'user-agent': 'Cursor/2.4.0 (linux x64)', accept: BOTH } },
    { name: 'VS Code', version: '2025-11-25', stream: true,
        headers: { 'user-agent': 'Visual Studio Code/1.108.0', accept: 'text/event-stream, application/json' } },
    { name: 'Codex (rmcp)', version: '2025-06-18', emptyNotification: true,
        headers: { 'user-agent': 'codex-mcp-client/0.99', accept: BOTH } },
    { name: 'browser', version: '2025-06-18', preflight: true,
        headers: { 'user-agent': 'Mozilla/5.0', accept: BOTH, origin: 'https://app.example.com', 'sec-fetch-mode': 'cors' } },
    { name: 'Java client', version: '2024-11-05',
        headers: { 'user-agent': 'Java-http-client/17.0.1', accept: BOTH, connection: 'Upgrade, HTTP2-Settings' } },
    { name: 'script without a user agent', version: '2025-03-26',
        headers: { accept: '*/*' } },
    { name: 'client that accepts JSON only', version: '2025-06-18',
        headers: { 'user-agent': 'python-httpx/0.28', accept: 'application/json', 'accept-encoding': 'gzip, deflate, br' } }
];

/* Leave away what is null. */
function without(headers) {
    return Object.fromEntries(Object.entries(headers).filter(([, v]) => v !== null));
}

/* A bare client: fetch() would add headers of its own. */
function send(method, headers, body) {
    return new Promise((resolve, reject) => {
        const at = new URL(url);
        const req = http.request(at, { method, headers: without({
            authorization: `Bearer ${token}`, ...headers,
            ...(body === undefined ? {} : {
                'content-type': headers['content-type'] ?? 'application/json',
                'content-length': Buffer.byteLength(body)
            })
        }) }, (res) => {
            if (/event-stream/.test(res.headers['content-type'] ?? '') && method === 'GET') {
                resolve({ status: res.statusCode, headers: res.headers, hangUp: () => req.destroy() });
                return;
            }
            let text = '';
            res.setEncoding('utf8');
            res.on('data', (d) => { text += d; });
            res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, text }));
        });
        req.on('error', reject);
        req.end(body);
    });
}

async function post(headers, message) {
    const r = await send('POST', headers, JSON.stringify({ jsonrpc: '2.0', ...message }));
    if (r.status === 503)
        throw Object.assign(new Error('503'), { status: 503 });
    return r;
}

function answer(r, id) {
    assert.equal(r.status, 200, r.text);
    let text = r.text;
    if (/event-stream/.test(r.headers['content-type']))
        text = text.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5)).pop();
    const message = JSON.parse(text);
    assert.equal(message.jsonrpc, '2.0');
    assert.deepEqual(message.id, id);
    return message;
}

async function preflight(host) {
    const r = await send('OPTIONS', { ...host.headers, authorization: null,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,mcp-protocol-version,mcp-session-id' });
    assert.equal(r.status, 204);
    assert.equal(r.headers['access-control-allow-origin'], '*');
    for (const h of ['authorization', 'content-type', 'mcp-session-id', 'mcp-protocol-version'])
        assert.ok(r.headers['access-control-allow-headers'].toLowerCase().includes(h), h);
}

async function handshake(host) {
    const r = await riding503(() => post(host.headers, { id: 0, method: 'initialize', params: {
        protocolVersion: host.version,
        capabilities: { roots: { listChanged: true } },
        clientInfo: { name: host.name, version: '1.0.0' } } }));
    const { result } = answer(r, 0);
    assert.equal(result.protocolVersion, host.version);
    const session = { ...host.headers, 'mcp-session-id': r.headers['mcp-session-id'] };
    if (host.version >= '2025-06-18')
        session['mcp-protocol-version'] = host.version;
    if (host.preflight)
        assert.match(r.headers['access-control-expose-headers'], /mcp-session-id/i);
    const n = await post(session, { method: 'notifications/initialized' });
    assert.equal(n.status, 202);
    assert.equal(n.text, '');
    assert.equal(n.headers['content-type'], undefined);
    return session;
}

async function re_enact(host) {
    if (host.preflight)
        await preflight(host);
    if (host.probe) {
        /* Asks with GET before it has a session: any 4xx but 401 will do. */
        const r = await send('GET', { ...host.headers, accept: 'text/event-stream' });
        assert.ok([400, 405].includes(r.status), `GET without a session: ${r.status}`);
    }
    const session = await handshake(host);
    let stream;
    if (host.stream) {
        stream = await send('GET', { ...session, accept: 'text/event-stream' });
        assert.ok([200, 405].includes(stream.status), `stream: ${stream.status}`);
    }
    const list = answer(await post(session, { id: 'a-1', method: 'tools/list' }), 'a-1');
    assert.ok(list.result.tools.some((t) => t.name === EXECUTE));
    const run = answer(await post(session, { id: 2, method: 'tools/call',
        params: { name: EXECUTE, arguments: { code: 'return 6 * 7' }, _meta: { progressToken: 2 } } }), 2);
    assert.equal(run.result.content[0].text, '42');
    stream?.hangUp?.();
    const end = await send('DELETE', session);
    assert.equal(end.status, 204);
    const late = await post(session, { id: 3, method: 'ping' });
    assert.equal(late.status, 404, 'an ended session is 404, so that the host starts anew');
}

for (const host of HOSTS)
    await test(`${host.name}: connects, lists, executes, leaves`, () => re_enact(host));

await test('no token: 401 with the challenge that starts the sign-in', async () => {
    const r = await send('POST', { authorization: null, accept: BOTH, 'user-agent': 'Claude-User' },
        '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}');
    assert.equal(r.status, 401);
    const at = /resource_metadata="([^"]+)"/.exec(r.headers['www-authenticate']);
    assert.ok(at, r.headers['www-authenticate']);
    const doc = await (await fetch(at[1])).json();
    assert.equal(doc.resource, url);
});
await test('a host that repeats a dead id hears 404, never 400', async () => {
    const r = await post({ accept: BOTH, 'mcp-session-id': '0'.repeat(64) }, { id: 1, method: 'tools/list' });
    assert.equal(r.status, 404);
});
if (tokenOther) {
    await test('another account cannot use the session', async () => {
        const session = await handshake(HOSTS[0]);
        const r = await post({ ...session, authorization: `Bearer ${tokenOther}` }, { id: 1, method: 'tools/list' });
        assert.equal(r.status, 403);
        assert.equal(JSON.parse(r.text).error.code, -32003);
        answer(await post(session, { id: 2, method: 'ping' }), 2);
    });
} else {
    skip('another account cannot use the session', 'MCP_TOKEN_OTHER is not set');
}
done();
