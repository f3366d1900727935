/*
 * abandon: COUNT handshakes that nobody ends, 16 at a time, as clients do
 * that crash or never heard of DELETE.
 *
 *   BENCH_TOKEN=... node abandon.mjs URL COUNT
 */
import http from 'node:http';

const [url, count] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'abandon', version: '1' } } });

function initialize() {
    return new Promise((resolve) => {
        const req = http.request(url, { method: 'POST', agent, headers: {
            authorization: `Bearer ${process.env.BENCH_TOKEN}`,
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
            'content-length': body.length } }, (res) => {
            res.resume();
            res.on('end', () => resolve(res.statusCode === 200 && Boolean(res.headers['mcp-session-id'])));
        });
        req.on('error', () => resolve(false));
        req.end(body);
    });
}

let left = Number(count);
let failures = 0;
await Promise.all(Array.from({ length: 16 }, async () => {
    while (left-- > 0)
        if (!await initialize())
            failures++;
}));
console.log(`failures ${failures}`);
process.exit(0);
