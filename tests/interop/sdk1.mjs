/*
 * Goal of this test: the official TypeScript SDK 1.x, the client inside most
 * hosts, works against this server and keeps its session through restarts.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { done, url } from './lib.mjs';
import { scenario } from './scenario.mjs';

function open(token, sessionId) {
    return new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
        sessionId
    });
}

async function connect(token) {
    const client = new Client({ name: 'interop-sdk1', version: '1.0.0' });
    const transport = open(token);
    await client.connect(transport);
    const sessionId = transport.sessionId;
    return {
        serverName: client.getServerVersion()?.name,
        version: transport.protocolVersion,
        sessionId,
        tools: async () => (await client.listTools()).tools,
        call: (name, args) => client.callTool({ name, arguments: args }),
        ping: () => client.ping(),
        end: () => transport.terminateSession(),
        afterEnd: async () => {
            /* A client that did not hear of the end and still uses the id. */
            const late = new Client({ name: 'interop-sdk1-late', version: '1.0.0' });
            const again = open(token, sessionId);
            await late.connect(again);
            await late.listTools();
        },
        close: () => client.close()
    };
}

await scenario('sdk 1.32.2', connect, { version: '2025-11-25' });
done();
