/*
 * runs: what programs that call tools cost. An HTTP API for them to call, or
 * the client that measures.
 *
 *   node runs.mjs api PORT
 *   node runs.mjs measure URL API_URL
 *   node runs.mjs wait URL API_URL N
 *
 * The token is in MCP_TOKEN. `measure` prints lines "NAME N P50 P99" in
 * milliseconds; `wait` leaves N runs that wait.
 */
import http from 'node:http';
import { performance } from 'node:perf_hooks';

const agent = new http.Agent({ keepAlive: true });

function api(port) {
    let slowest = 0;
    const server = http.createServer((req, res) => {
        const begin = performance.now();
        const ms = Number(/^\/wait\/(\d+)/.exec(req.url)?.[1] ?? 0);
        const answer = () => {
            res.setHeader('content-type', 'application/json');
            res.end(`{"path":${JSON.stringify(req.url)}}`);
            slowest = Math.max(slowest, performance.now() - begin);
        };
        if (req.url === '/slowest') {
            res.end(String(slowest));
            slowest = 0;
        } else {
            req.resume().on('end', () => ms ? setTimeout(answer, ms) : answer());
        }
    });
    server.keepAliveTimeout = 60000;
    server.listen(port, '127.0.0.1', () => console.log(`listening ${port}`));
}

function exchange(url, options, body) {
    return new Promise((resolve, reject) => {
        const req = http.request(url, { agent, ...options }, (res) => {
            let text = '';
            res.setEncoding('utf8').on('data', (s) => { text += s; })
                .on('end', () => resolve({ res, text }));
        });
        req.on('error', reject);
        req.end(body);
    });
}

let url;
let session;

async function rpc(method, params) {
    const { res, text } = await exchange(url, { method: 'POST', headers: {
        authorization: `Bearer ${process.env.MCP_TOKEN}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...session && { 'mcp-session-id': session,
            'mcp-protocol-version': '2025-11-25' } } },
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    session ??= res.headers['mcp-session-id'];
    const message = JSON.parse(text);
    if (!message.result || message.result.isError)
        throw new Error(`${method}: ${text.slice(0, 500)}`);
    return message.result;
}

const call = async (name, args) =>
    (await rpc('tools/call', { name, arguments: args })).structuredContent;
const execute = (code) => call('execute', { code });

async function timed(fn) {
    const begin = performance.now();
    const value = await fn();
    return [performance.now() - begin, value];
}

function must(s, status, check = () => true) {
    if (s.status !== status || !check(s.result))
        throw new Error(`not measured: ${JSON.stringify(s).slice(0, 500)}`);
    return s;
}

const figures = new Map();

function note(name, ms) {
    figures.set(name, [...figures.get(name) ?? [], ms]);
}

function print() {
    for (const [name, values] of figures) {
        const v = values.sort((a, b) => a - b);
        const at = (q) => v[Math.min(v.length - 1, Math.ceil(q * v.length) - 1)];
        console.log(name, v.length, at(0.5).toFixed(2), at(0.99).toFixed(2));
    }
}

const POST = `const r = await tools.api.post({ id: '1' }); return r.ok`;
const OBJECTS = `const kept = Array.from({ length: 10000 },
    (_, i) => ({ i, name: 'object ' + i }));
    const r = await tools.api.post({ id: '1' }); return kept.length`;

/* What one more of N calls costs, of the whole request. */
async function perCall(name, body, n) {
    const program = (k) => `for (let i = 0; i < ${k}; i++) { ${body} }
        return 'done'`;
    const [one] = await timed(async () =>
        must(await execute(program(1)), 'completed', (x) => x === 'done'));
    const [all] = await timed(async () =>
        must(await execute(program(n + 1)), 'completed', (x) => x === 'done'));
    note(name, (all - one) / n);
}

async function connect() {
    await rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {},
        clientInfo: { name: 'bench', version: '1' } });
}

async function wait(n) {
    for (let i = 0; i < n; i++)
        must(await execute(POST), 'waiting_for_interaction');
}

async function measure(apiUrl) {
    for (let i = 0; i < 40; i++) {          // every responder is warm
        await rpc('ping');
        await execute(`return (await tools.api.get({ id: '1' })).ok`);
    }
    for (let round = 0; round < 60; round++) {
        note('ping', (await timed(() => rpc('ping')))[0]);
        note('execute', (await timed(() => execute('return 1')))[0]);
        note('execute-call', (await timed(() =>
            execute(`return (await tools.api.get({ id: '1' })).ok`)))[0]);
        for (const [name, code] of [['', POST], ['-objects', OBJECTS]]) {
            if (name && round % 3)
                continue;
            const [out, x] = await timed(() => execute(code));
            must(x, 'waiting_for_interaction');
            note('suspend' + name, out);
            const [back, y] = await timed(() => call('resume',
                { executionId: x.executionId, action: 'accept' }));
            must(y, 'completed', (r) => r === true || r === 10000);
            note('resume' + name, back);
        }
    }
    for (let round = 0; round < 20; round++) {
        note('direct', (await timed(() => exchange(apiUrl + '/get/1', {})))[0]);
        await perCall('host-call', `const r = await tools.api.get({ id: '1' });
            if (!r.ok) throw new Error(JSON.stringify(r));`, 100);
        await perCall('script-call', `const r = await tools.util.noop();
            if (!r.ok) throw new Error(JSON.stringify(r));`, 100);
        await perCall('search', `const r = await tools.search({ query:
            ['create invoice', 'list of users', 'refund', 'delete old report',
             'update order status', 'zzzz', 'team'][i % 7] });
            if (r.total === undefined) throw new Error(JSON.stringify(r));`,
        70);
        await exchange(apiUrl + '/slowest', {});
        const [ms, s] = await timed(() => execute(`
            const all = await Promise.all(Array.from({ length: 10 },
                () => tools.api.wait({ ms: 300 })));
            return all.filter(r => r.ok).length`));
        must(s, 'completed', (r) => r === 10);
        note('ten-calls', ms);
        note('slowest', Number((await exchange(apiUrl + '/slowest', {})).text));
    }
    print();
}

const [what, ...rest] = process.argv.slice(2);
if (what === 'api') {
    api(Number(rest[0]));
} else {
    url = rest[0];
    await connect();
    await (what === 'wait' ? wait(Number(rest[2])) : measure(rest[1]));
    agent.destroy();
}
