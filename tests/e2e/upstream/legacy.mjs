// SPDX-License-Identifier: ISC
// legacy: an upstream server on the official SDK 1.x, sessions in memory.
//
//     node legacy.mjs [json|sse] [TOKEN]
//
// Prints "listening PORT".  Beside /mcp: GET /log is what it was asked, and
// POST /forget loses all sessions, as a restart does.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport }
    from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { declare } from './declare.mjs';

const [mode = 'json', token] = process.argv.slice(2);
const sessions = new Map();
const log = [];

async function open() {
    const server = new McpServer({ name: 'legacy', version: '1.2.3' });
    declare(server, log);
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: mode === 'json',
        onsessioninitialized: (id) => sessions.set(id, transport),
        onsessionclosed: (id) => sessions.delete(id)
    });
    await server.connect(transport);
    return transport;
}

async function body(req) {
    let text = '';
    for await (const chunk of req)
        text += chunk;
    return text === '' ? undefined : JSON.parse(text);
}

function say(res, status, value) {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify(value));
}

function refuse(res, status, message) {
    say(res, status, { jsonrpc: '2.0', id: null,
        error: { code: -32001, message } });
}

createServer(async (req, res) => {
    if (req.url === '/log')
        return say(res, 200, log);
    if (req.url === '/forget') {
        for (const transport of sessions.values())
            await transport.close();
        sessions.clear();
        return say(res, 200, {});
    }
    const id = req.headers['mcp-session-id'];
    const message = req.method === 'POST' ? await body(req) : undefined;
    log.push({ http: req.method, method: message?.method ?? null,
        name: message?.params?.name ?? null,
        requestId: message?.params?.requestId ?? null,
        version: req.headers['mcp-protocol-version'] ?? null,
        session: id ?? null });
    if (token && req.headers.authorization !== `Bearer ${token}`)
        return refuse(res, 401, 'Unauthorized');
    if (id && !sessions.has(id))
        return refuse(res, 404, 'Session not found');
    const transport = id ? sessions.get(id) : await open();
    await transport.handleRequest(req, res, message);
}).listen(0, '127.0.0.1', function () {
    console.log('listening', this.address().port);
});
