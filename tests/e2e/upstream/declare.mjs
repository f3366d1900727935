// SPDX-License-Identifier: ISC
// declare: the tools of both upstream servers.
import * as z from 'zod';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk' +
    'YAAAAAYAAjCB0C8AAAAASUVORK5CYII=';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let count = 0;

export function declare(server, log) {
    server.registerTool('Add Numbers', {
        title: 'Add',
        description: 'Adds two numbers.',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        outputSchema: z.object({ sum: z.number() }),
        annotations: { readOnlyHint: true, openWorldHint: false }
    }, ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })),
        structuredContent: { sum: a + b } }));
    server.registerTool('count', {
        description: 'Counts up; not to be repeated.',
        inputSchema: z.object({})
    }, () => text(String(++count)));
    server.registerTool('wipe', {
        inputSchema: z.object({ what: z.string() }),
        annotations: { title: 'Wipe it all', destructiveHint: true }
    }, ({ what }) => text('wiped ' + what));
    server.registerTool('fail', { inputSchema: z.object({}) },
        () => ({ ...text('it cannot be done'), isError: true }));
    server.registerTool('picture', { inputSchema: z.object({}) }, () => ({
        content: [{ type: 'text', text: 'a pixel' },
            { type: 'image', data: PIXEL, mimeType: 'image/png' },
            { type: 'resource', resource: { uri: 'file:///a.txt',
                mimeType: 'text/plain', text: 'of a file' } }] }));
    server.registerTool('hold', {
        inputSchema: z.object({ ms: z.number() })
    }, async ({ ms }, ctx) => {
        const signal = ctx.signal ?? ctx.mcpReq?.signal;
        signal?.addEventListener('abort', () =>
            log.push({ aborted: 'hold' }));
        for (let i = 0; i < ms && !signal?.aborted; i += 20)
            await sleep(20);
        return text('held');
    });
}
