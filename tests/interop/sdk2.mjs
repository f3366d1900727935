/*
 * Goal of this test: the official TypeScript SDK 2.x works in its default
 * (session) mode, and in `auto` mode, where it first asks for the stateless
 * 2026-07-28 revision and must find its way to whatever the server speaks.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { done, url } from './lib.mjs';
import { scenario } from './scenario.mjs';

function connector(options) {
    return async (token) => {
        const client = new Client({ name: 'interop-sdk2', version: '1.0.0' }, options);
        const transport = new StreamableHTTPClientTransport(new URL(url), {
            requestInit: { headers: { Authorization: `Bearer ${token}` } }
        });
        await client.connect(transport);
        const sessionId = transport.sessionId;
        return {
            serverName: client.getServerVersion()?.name,
            version: transport.protocolVersion,
            sessionId,
            tools: async () => (await client.listTools()).tools,
            call: (name, args) => client.callTool({ name, arguments: args }),
            ping: () => client.ping(),
            end: sessionId && (() => transport.terminateSession()),
            afterEnd: async () => {
                const r = await fetch(url, {
                    method: 'POST',
                    headers: {
                        authorization: `Bearer ${token}`,
                        accept: 'application/json, text/event-stream',
                        'content-type': 'application/json',
                        'mcp-session-id': sessionId
                    },
                    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}'
                });
                if (r.status === 404)
                    throw new Error('gone, as it should be');
            },
            close: () => client.close()
        };
    };
}

await scenario('client 2.4.0', connector({}), { version: '2025-11-25' });
await scenario('client 2.4.0 auto',
    connector({ versionNegotiation: { mode: 'auto' } }));
done();
