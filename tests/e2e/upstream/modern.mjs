// SPDX-License-Identifier: ISC
// modern: an upstream server on the official SDK 2.x that serves the
// 2026-07-28 revision and nothing older.
//
//     node modern.mjs [auto|sse|json]
//
// Prints "listening PORT".  GET /log is what it was asked.
import { createServer } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { declare } from './declare.mjs';

const [responseMode = 'auto'] = process.argv.slice(2);
const log = [];

const handler = toNodeHandler(createMcpHandler(() => {
    const server = new McpServer({ name: 'modern', version: '4.5.6' });
    declare(server, log);
    return server;
}, { legacy: 'reject', responseMode }));

createServer((req, res) => {
    if (req.url === '/log') {
        res.writeHead(200, { 'content-type': 'application/json' });
        return res.end(JSON.stringify(log));
    }
    log.push({ http: req.method, method: req.headers['mcp-method'] ?? null,
        name: req.headers['mcp-name'] ?? null,
        version: req.headers['mcp-protocol-version'] ?? null,
        session: req.headers['mcp-session-id'] ?? null });
    return handler(req, res);
}).listen(0, '127.0.0.1', function () {
    console.log('listening', this.address().port);
});
