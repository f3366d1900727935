/*
 * Goal of this test: the MCP Inspector's command line, an independent front
 * end, lists and calls tools, and its exit codes tell the outcomes apart.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXECUTE, canDisturb, disturb, done, skip, test, token, url } from './lib.mjs';

const home = mkdtempSync(join(tmpdir(), 'interop-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const program = fileURLToPath(new URL('node_modules/.bin/' + 'mcp-inspector', import.meta.url));
const OK = 0, AUTH_REQUIRED = 3, TOOL_ERROR = 5;

function inspect(...args) {
    return inspectAs(token, ...args);
}

function inspectAs(bearer, ...args) {
    return new Promise((resolve, reject) => {
        const child = spawn(program, ['--cli', url, '--transport', 'http',
            '--header', `Authorization: Bearer ${bearer}`,
            '--protocol-era', 'legacy', '--format', 'json',
            '--stored-auth-only', ...args], {
            env: { PATH: process.env.PATH, HOME: home },
            stdio: ['ignore', 'pipe', 'pipe']
        });
        let out = '', err = '';
        child.stdout.on('data', (d) => { out += d; });
        child.stderr.on('data', (d) => { err += d; });
        child.on('error', reject);
        child.on('close', (status) => resolve({ status, out, err }));
    });
}

/* The document may be the result itself or wrapped; find the part by key. */
function find(value, key) {
    if (value === null || typeof value !== 'object')
        return undefined;
    if (key in value)
        return value[key];
    return Object.values(value).map((v) => find(v, key)).find((v) => v !== undefined);
}

function ok(r) {
    assert.equal(r.status, OK, `exit ${r.status}\n${r.out}\n${r.err}`);
    return JSON.parse(r.out);
}

await test('inspector 2.12.0: lists tools, exit 0', async () => {
    const tools = find(ok(await inspect('--method', 'tools/list')), 'tools');
    assert.ok(tools.some((t) => t.name === EXECUTE));
});
await test('inspector 2.12.0: --strict finds no fault in the tool schemas', async () => {
    const r = await inspect('--method', 'tools/list', '--strict');
    assert.equal(r.status, OK, `exit ${r.status}\n${r.err}`);
});
await test('inspector 2.12.0: calls execute, exit 0', async () => {
    const doc = ok(await inspect('--method', 'tools/call', '--tool-name', EXECUTE,
        '--tool-args-json', '{"code":"return 6 * 7"}'));
    assert.equal(find(doc, 'structuredContent').result, 42);
});
await test('inspector 2.12.0: a failing program, exit 5', async () => {
    const r = await inspect('--method', 'tools/call', '--tool-name', EXECUTE,
        '--tool-args-json', '{"code":"throw new Error(\\"boom\\")"}');
    assert.equal(r.status, TOOL_ERROR, `exit ${r.status}\n${r.out}\n${r.err}`);
    assert.match(r.out + r.err, /boom/);
});
await test('inspector 2.12.0: a wrong token, exit 3', async () => {
    const r = await inspectAs('mcp_' + 'A'.repeat(43), '--method', 'tools/list');
    assert.equal(r.status, AUTH_REQUIRED, `exit ${r.status}\n${r.out}\n${r.err}`);
});
await test('inspector 2.12.0: auto negotiation finds what the server speaks', async () => {
    const r = await inspect('--protocol-era', 'auto', '--method', 'tools/list');
    assert.equal(r.status, OK, `exit ${r.status}\n${r.out}\n${r.err}`);
});
await test('inspector 2.12.0: 50 calls from 4 at once, none lost', async () => {
    const r = await inspect('--method', 'tools/call', '--tool-name', EXECUTE,
        '--tool-args-json', '{"code":"1"}', '--load', '--load-requests', '50',
        '--load-concurrency', '4');
    assert.equal(r.status, OK, `exit ${r.status}\n${r.out}\n${r.err}`);
});
if (canDisturb) {
    await test('inspector 2.12.0: lists tools after kill -9 of every responder', async () => {
        disturb('responders');
        /* A new handshake each time: 503 in the first moments is no loss. */
        for (let i = 0; ; i++) {
            const r = await inspect('--method', 'tools/list');
            if (r.status === OK)
                return;
            assert.ok(i < 10 && /503/.test(r.out + r.err), `exit ${r.status}\n${r.out}\n${r.err}`);
        }
    });
} else {
    skip('inspector 2.12.0: lists tools after kill -9 of every responder', 'MCP_DISTURB is not set');
}
done();
