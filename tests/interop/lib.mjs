/*
 * lib: what the interop tests share. TAP on standard output; where the
 * server is comes from the environment:
 *   MCP_URL, MCP_TOKEN, MCP_TOKEN_OTHER   as ./bootstrap demo writes them
 *   MCP_DISTURB   a command; with `responders` it ends every responder with
 *                 kill -9, with `database` it restarts PostgreSQL
 */
import { spawnSync } from 'node:child_process';

export const url = need('MCP_URL');
export const token = need('MCP_TOKEN');
export const tokenOther = process.env.MCP_TOKEN_OTHER ?? '';
const TEST_TIMEOUT_MS = 90_000;
const RECOVERY_MS = 15_000;

let count = 0;
let failed = 0;

function need(name) {
    const value = process.env[name];
    if (!value)
        throw new Error(`${name} is not set: run these through tests/interop/run`);
    return value;
}

export function diag(text) {
    for (const line of String(text).split('\n'))
        console.log(`# ${line}`);
}

/* Run one test; a failure is reported and the next test still runs. */
export async function test(name, fn) {
    count++;
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error('timed out')), TEST_TIMEOUT_MS);
    });
    try {
        await Promise.race([fn(), late]);
        console.log(`ok ${count} - ${name}`);
    } catch (e) {
        failed++;
        console.log(`not ok ${count} - ${name}`);
        diag(e?.stack ?? e);
    } finally {
        clearTimeout(timer);
    }
}

export function skip(name, why) {
    count++;
    console.log(`ok ${count} - ${name} # SKIP ${why}`);
}

/* Print the plan and leave, whatever a client still holds open. */
export function done() {
    console.log(`1..${count}`);
    process.exit(failed > 0 || count === 0 ? 1 : 0);
}

export function disturb(what) {
    const command = process.env.MCP_DISTURB;
    if (!command)
        throw new Error('MCP_DISTURB is not set');
    const r = spawnSync('/bin/sh', ['-c', `${command} ${what}`],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    if (r.status !== 0)
        throw new Error(`${command} ${what}: exit ${r.status}\n${r.stdout}${r.stderr}`);
}

export const canDisturb = Boolean(process.env.MCP_DISTURB);

/*
 * A server that is being restarted may say 503 for a moment; that is the only
 * answer that is tried again. Anything else, a lost session above all, fails.
 */
export async function riding503(fn) {
    const deadline = Date.now() + RECOVERY_MS;
    for (let retries = 0; ; retries++) {
        try {
            const result = await fn();
            if (retries > 0)
                diag(`answered after ${retries} times 503`);
            return result;
        } catch (e) {
            if (!is503(e) || Date.now() > deadline)
                throw e;
            await new Promise((r) => setTimeout(r, 500));
        }
    }
}

function is503(e) {
    return e?.code === 503 || e?.status === 503 || e?.data?.status === 503 ||
        /\b503\b/.test(String(e?.message)) ||
        /temporarily unavailable/i.test(String(e?.message));
}

export const EXECUTE = 'execute';

export function textOf(result) {
    return result.content.filter((c) => c.type === 'text').map((c) => c.text).join('\n');
}
