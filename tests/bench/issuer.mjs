/*
 * issuer: an authorization server as far as the benchmark needs one. Makes an
 * RSA key, serves it as a key set, and writes a token for each account named.
 *
 *   node issuer.mjs PORT AUDIENCE DIRECTORY ACCOUNT...
 *
 * DIRECTORY/ACCOUNT.jwt holds the token; the organisation is `demo`.
 */
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';

const [port, audience, directory, ...accounts] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const kid = 'bench-1';
const { publicKey, privateKey } = await generateKeyPair('RS256', { modulusLength: 2048 });
const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' }] });
const metadata = JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks.json` });

for (const account of accounts) {
    const token = await new SignJWT({ org_id: 'demo' })
        .setProtectedHeader({ alg: 'RS256', kid, typ: 'at+jwt' })
        .setIssuer(issuer).setAudience(audience).setSubject(account)
        .setIssuedAt().setExpirationTime('12h').sign(privateKey);
    writeFileSync(join(directory, `${account}.jwt`), token, { mode: 0o600 });
}

http.createServer((req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(req.url === '/jwks.json' ? jwks : metadata);
}).listen(Number(port), '127.0.0.1', () => console.log(`listening ${port}`));
