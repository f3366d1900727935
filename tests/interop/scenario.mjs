/*
 * scenario: what every official client must be able to do, told once.
 *
 * CONNECT(token) resolves to an object with
 *   serverName, version, sessionId       what the handshake gave (sessionId
 *                                        undefined if the client hides it)
 *   tools() call(name, args) ping()      as the client offers them
 *   end()                                DELETE the session, or undefined
 *   close()
 */
import assert from 'node:assert/strict';
import { EXECUTE, canDisturb, disturb, riding503, skip, test, textOf, token } from './lib.mjs';

export async function scenario(client, connect, expect = {}) {
    let c;
    await test(`${client}: connects with a token`, async () => {
        c = await connect(token);
        assert.ok(c.serverName, 'the server has a name');
        if (expect.version)
            assert.equal(c.version, expect.version);
        if (c.sessionId !== undefined)
            assert.match(c.sessionId, /^[0-9a-f]{64}$/);
    });
    if (!c)
        return;
    await working(client, c);
    await surviving(client, c);
    await ending(client, connect, c);
}

async function working(client, c) {
    await test(`${client}: lists tools, execute with its schema among them`, async () => {
        const tool = (await c.tools()).find((t) => t.name === EXECUTE);
        assert.ok(tool, 'a tool named execute');
        assert.ok(tool.description.length > 40, 'a description for a model');
        assert.equal(tool.inputSchema.type, 'object');
        assert.equal(tool.inputSchema.properties.code.type, 'string');
        assert.deepEqual(tool.inputSchema.required, ['code']);
    });
    await test(`${client}: executes a program`, async () => {
        const r = await c.call(EXECUTE, { code: 'return 6 * 7' });
        assert.ok(!r.isError, textOf(r));
        assert.equal(r.structuredContent.status, 'completed');
        assert.equal(r.structuredContent.result, 42);
        assert.equal(textOf(r), '42');
    });
    await test(`${client}: reads what the program logged`, async () => {
        const r = await c.call(EXECUTE, { code: 'console.log("seen"); return {a: [1]}' });
        assert.deepEqual(r.structuredContent.result, { a: [1] });
        assert.deepEqual(r.structuredContent.logs, ['[log] seen']);
        assert.match(textOf(r), /Logs:\n\[log\] seen/);
    });
    await test(`${client}: a failing program is a result, not a broken call`, async () => {
        const r = await c.call(EXECUTE, { code: 'throw new Error("boom")' });
        assert.equal(r.isError, true);
        assert.match(textOf(r), /^Error: .*boom/);
        assert.equal(r.structuredContent.status, 'error');
    });
    await test(`${client}: a tool that is not there is refused`, async () => {
        const outcome = await c.call('no-such-tool', {}).then(
            (r) => (r.isError ? 'refused' : 'accepted'), () => 'refused');
        assert.equal(outcome, 'refused');
        await c.ping();
    });
}

async function surviving(client, c) {
    const still = async () => {
        const r = await riding503(() => c.call(EXECUTE, { code: '"still here"' }));
        assert.equal(r.structuredContent.result, 'still here');
        const names = (await c.tools()).map((t) => t.name);
        assert.ok(names.includes(EXECUTE));
    };
    for (const [what, words] of [
        ['responders', 'kill -9 of every responder'],
        ['database', 'a restart of PostgreSQL'],
        ['both', 'both at once']]) {
        const name = `${client}: the same session goes on after ${words}`;
        if (!canDisturb) {
            skip(name, 'MCP_DISTURB is not set');
            continue;
        }
        await test(name, async () => {
            disturb(what);
            await still();
        });
    }
}

async function ending(client, connect, c) {
    if (c.end) {
        await test(`${client}: ends its session, which then is gone`, async () => {
            await c.end();
            await assert.rejects(c.afterEnd());
        });
    }
    await c.close();
    await test(`${client}: a wrong token does not connect`, async () => {
        await assert.rejects(async () => {
            const bad = await connect('mcp_' + 'A'.repeat(43));
            await bad.close();
        });
    });
}
