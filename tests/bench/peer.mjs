/*
 * peer: the server that the benchmark compares with, written the way the
 * official TypeScript SDK's own examples are: Express, one transport and one
 * server object per session in memory, the SDK's bearer middleware, and jose
 * verifying the token against the issuer's key set.
 *
 *   node peer.mjs PORT ISSUER JWKS_URL AUDIENCE
 */
import { randomBytes } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const [port, issuer, jwksUrl, audience] = process.argv.slice(2);
const keys = createRemoteJWKSet(new URL(jwksUrl));

const verifier = {
    async verifyAccessToken(token) {
        try {
            const { payload } = await jwtVerify(token, keys, { issuer, audience, algorithms: ['RS256'] });
            return { token, clientId: payload.sub, scopes: [], expiresAt: payload.exp,
                extra: { organization: payload.org_id } };
        } catch (e) {
            throw new InvalidTokenError(e.message);
        }
    }
};

/*
 * The same one tool as mcp-fcgi lists, word for word where PEER_TOOLS names
 * a file with its tools/list result, so that both send the same bytes.
 */
const tools = process.env.PEER_TOOLS
    ? JSON.parse((await import('node:fs')).readFileSync(process.env.PEER_TOOLS, 'utf8'))
    : [{ name: 'noop', description: 'Answers at once.', inputSchema: { type: 'object', properties: {} } }];

export const handlers = {
    call: async () => ({ content: [{ type: 'text', text: 'ok' }] })
};

function newServer() {
    const server = new Server({ name: 'peer', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, (request) => handlers.call(request));
    return server;
}

const transports = new Map();

async function open() {
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomBytes(32).toString('hex'),
        enableJsonResponse: true,
        onsessioninitialized: (id) => transports.set(id, transport)
    });
    transport.onclose = () => transports.delete(transport.sessionId);
    await newServer().connect(transport);
    return transport;
}

async function handle(req, res) {
    const id = req.headers['mcp-session-id'];
    let transport = transports.get(id);
    if (!transport && !id && req.method === 'POST' && isInitializeRequest(req.body))
        transport = await open();
    if (!transport) {
        res.status(id ? 404 : 400).json({ jsonrpc: '2.0', id: null,
            error: { code: -32001, message: id ? 'Session not found' : 'Bad Request: no session id' } });
        return;
    }
    await transport.handleRequest(req, res, req.body);
}

const app = express();
app.use(express.json({ limit: '4mb' }));
app.all('/mcp', requireBearerAuth({ verifier }), handle);
app.listen(Number(port), '127.0.0.1', () => console.log(`listening ${port}`));
