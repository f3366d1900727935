/*
 * Goal of this test: mcp-remote, the bridge by which hosts that speak only
 * stdio reach an HTTP server, works with a token given by --header.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { done, url } from './lib.mjs';
import { scenario } from './scenario.mjs';

/* It keeps state in the home directory; it gets one of its own. */
const home = mkdtempSync(join(tmpdir(), 'interop-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const program = fileURLToPath(new URL('node_modules/.bin/' + 'mcp-remote', import.meta.url));

function bridge(token) {
    return new StdioClientTransport({
        command: program,
        args: [url, '--header', `Authorization: Bearer ${token}`,
            '--allow-http', '--transport', 'http-only'],
        env: { PATH: process.env.PATH, HOME: home, MCP_REMOTE_CONFIG_DIR: join(home, 'auth'), BROWSER: 'true' },
        stderr: 'ignore'
    });
}

async function connect(token) {
    const client = new Client({ name: 'interop-mcp-remote', version: '1.0.0' });
    try {
        await client.connect(bridge(token), { timeout: 15_000 });
    } catch (e) {
        await client.close();
        throw e;
    }
    return {
        serverName: client.getServerVersion()?.name,
        tools: async () => (await client.listTools()).tools,
        call: (name, args) => client.callTool({ name, arguments: args }),
        ping: () => client.ping(),
        close: () => client.close()
    };
}

await scenario('mcp-remote 0.15.1', connect);
done();
