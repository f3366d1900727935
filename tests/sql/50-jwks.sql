-- Goal: one fetch per issuer and interval over all processes; what was
-- fetched stays when a fetch fails; a changed key set leaves a trace.
BEGIN;
SELECT no_plan();

SELECT is(r::text, '(,,,,)', 'unknown issuer: one row of NULLs')
FROM mcp.jwks_find('i') r;
SELECT is(mcp.jwks_claim('i', false, 30), true, 'first claim');
SELECT is(mcp.jwks_claim('i', false, 30), false, 'second claim: too early');
SELECT is(mcp.jwks_claim('i', true, 30), true, 'metadata has its own claim');
SELECT is(mcp.jwks_claim('i', true, 30), false, 'once');
SELECT is(mcp.jwks_claim('j', false, 30), true, 'another issuer its own');
UPDATE mcp.jwks SET attempted_at = now() - interval '29.999999 s';
SELECT is(mcp.jwks_claim('i', false, 30), false, 'not before the interval');
UPDATE mcp.jwks SET attempted_at = now() - interval '30 s';
SELECT is(mcp.jwks_claim('i', false, 30), true, 'after the interval');
SELECT is(mcp.jwks_claim('i', false, 30), false, 'which begins anew');
SELECT is(r::text, '(,,,,)', 'a claim is not a document')
FROM mcp.jwks_find('i') r;

SELECT mcp.jwks_save('i', false, '{"keys":[]}');
SELECT mcp.jwks_save('i', true, '{"issuer":"i"}');
UPDATE mcp.jwks SET fetched_at = now() - interval '10.9 s'
    WHERE issuer = 'i';
SELECT is(document || document_age_s || metadata || metadata_age_s,
    '{"keys":[]}10{"issuer":"i"}0', 'documents and whole ages')
FROM mcp.jwks_find('i');
CREATE TEMP TABLE seen AS SELECT document_version AS v
    FROM mcp.jwks_find('i');
SELECT mcp.jwks_fail('i', 'timeout ' || repeat('x', 1000));
SELECT is(document, '{"keys":[]}', 'a failure keeps the document')
FROM mcp.jwks_find('i');
SELECT is(document_version, v, 'and its version')
FROM mcp.jwks_find('i'), seen;
SELECT matches(failure, '^timeout x+$', 'and is noted') FROM mcp.jwks
    WHERE issuer = 'i';
SELECT mcp.jwks_save('i', false, '{"keys":[]}');
SELECT isnt(document_version, v, 'a fetch makes a new version')
FROM mcp.jwks_find('i'), seen;
SELECT is(failure, NULL, 'and clears the failure') FROM mcp.jwks
    WHERE issuer = 'i';
SELECT is((SELECT count(*) FROM mcp.audit_event), 1::bigint,
    'the same keys again are no event');
SELECT mcp.jwks_save('i', false, '{"keys":[1]}');
SELECT is(detail ->> 'old_sha256', encode(sha256('{"keys":[]}'), 'hex'),
    'other keys are: old digest')
FROM mcp.audit_event ORDER BY audit_event_id DESC LIMIT 1;
SELECT is(detail ->> 'new_sha256', encode(sha256('{"keys":[1]}'), 'hex'),
    'new digest') FROM mcp.audit_event ORDER BY audit_event_id DESC LIMIT 1;
SELECT is(event || issuer, 'jwks.changedi', 'event and issuer')
FROM mcp.audit_event ORDER BY audit_event_id DESC LIMIT 1;
SELECT throws_ok($$SELECT mcp.jwks_save('i', false,
    repeat('x', 1048577))$$, '23514', NULL, 'documents have a limit');

SELECT * FROM finish();
ROLLBACK;
