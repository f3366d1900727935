-- Goal: every outcome of mcp.enter, in the order of the contract (token,
-- membership, owner, session), and what each leaves behind.
BEGIN;
SELECT no_plan();

INSERT INTO mcp.membership (organization_id, account_id)
    VALUES ('x', 'a'), ('y', 'b');
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    protocol_version, client_capabilities, last_activity_at, alarm_at)
VALUES (repeat('1', 64), 'i', 'a', 'x', '2025-11-25',
    '{"elicitation": {}}', now() - interval '10 seconds',
    now() + interval '20 seconds');
INSERT INTO mcp.api_token (token_sha256, token_hint, issuer, account_id,
    organization_id, expires_at, revoked_at) VALUES
    (sha256('good'), 'good', 'i', 'a', 'x', now() + interval '1 hour', NULL),
    (sha256('old'), 'old', 'i', 'a', 'x', now(), NULL),
    (sha256('gone'), 'gone', 'i', 'a', 'x', NULL, now()),
    (sha256('goneold'), 'gold', 'i', 'a', 'x', now(), now()),
    (sha256('stray'), 'tray', 'i', 'z', 'x', NULL, NULL);

CREATE FUNCTION pg_temp.activity(id text) RETURNS interval LANGUAGE sql AS $$
    SELECT now() - last_activity_at FROM mcp.session WHERE session_id = id
$$;
CREATE FUNCTION pg_temp.enter(id text, i text, a text, o text,
    t bytea DEFAULT NULL, m text DEFAULT 'sql') RETURNS text LANGUAGE sql AS
    $$SELECT outcome FROM mcp.enter(id, i, a, o, t, m)$$;

-- A live session.
SELECT is(current_setting('synchronous_commit'), 'on', 'durable at first');
SELECT is((outcome, issuer, account_id, organization_id, protocol_version,
    client_capabilities, is_initialized, end_reason)::text,
    '(ok,i,a,x,2025-11-25,"{""elicitation"": {}}",f,)', 'ok, whole row')
FROM mcp.enter(repeat('1', 64), 'i', 'a', 'x', NULL, 'sql');
SELECT is(pg_temp.activity(repeat('1', 64)), '0'::interval, 'ok extends');
SELECT is(alarm_at, now() + interval '20 seconds', 'ok leaves the alarm')
FROM mcp.session;
SELECT is(current_setting('synchronous_commit'), 'off',
    'the touch does not wait for the disk');
SET LOCAL synchronous_commit = on;
UPDATE mcp.session SET last_activity_at = now() - interval '1 second';
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'a', 'x'), 'ok', 'fresh: ok');
SELECT is(pg_temp.activity(repeat('1', 64)), interval '1 second',
    'activity of a second ago is recent enough');
SELECT is(current_setting('synchronous_commit'), 'on',
    'without a touch nothing is changed');
UPDATE mcp.session SET last_activity_at = now() - interval '10 seconds',
    initialized_at = now();
SELECT is(is_initialized, true, 'initialized is told')
FROM mcp.enter(repeat('1', 64), 'i', 'a', 'x', NULL, 'yes');
UPDATE mcp.session SET last_activity_at = now() - interval '10 seconds';

-- Owner: issuer, account and organisation.
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'b', 'y'), 'foreign',
    'another account and organisation');
SELECT is(pg_temp.enter(repeat('1', 64), 'j', 'a', 'x'), 'foreign',
    'another issuer');
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'a', 'y', NULL, 'yes'),
    'foreign', 'another organisation');
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'b', 'x', NULL, 'yes'),
    'foreign', 'another account');
SELECT is(protocol_version || client_capabilities || end_reason, NULL,
    'a stranger learns nothing')
FROM mcp.enter(repeat('1', 64), 'i', 'b', 'y', NULL, 'sql');
SELECT is(pg_temp.activity(repeat('1', 64)), interval '10 seconds',
    'foreign use does not extend');
SELECT results_eq($$SELECT account_id, organization_id, issuer, session_hint,
    detail FROM mcp.audit_event WHERE event = 'session.foreign'
    ORDER BY audit_event_id$$,
    $$VALUES ('b' COLLATE "C", 'y' COLLATE "C", 'i' COLLATE "C", '11111111',
        '{"owner_organization_id": "x"}'::jsonb),
    ('a', 'x', 'j', '11111111', '{"owner_organization_id": "x"}'),
    ('a', 'y', 'i', '11111111', '{"owner_organization_id": "x"}'),
    ('b', 'x', 'i', '11111111', '{"owner_organization_id": "x"}')$$,
    'each foreign use is audited, a repeated one once');

-- Membership comes before the owner, and ends the caller's own session only.
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'c', 'x'), 'not_member',
    'a stranger without membership');
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'b', 'y', NULL, 'no'),
    'not_member', 'a stranger denied by the provider');
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'a', NULL), 'not_member',
    'no organisation in the token');
SELECT is(pg_temp.enter(repeat('1', 64), 'j', 'a', 'x', NULL, 'no'),
    'not_member', 'same names, another issuer');
SELECT is(pg_temp.enter(NULL, 'i', 'c', 'x'), 'not_member',
    'no session is needed to be denied');
SELECT is(pg_temp.activity(repeat('1', 64)), interval '10 seconds',
    'none of them touched the session');
DELETE FROM mcp.membership WHERE account_id = 'a';
SELECT is(pg_temp.enter(repeat('1', 64), 'i', 'a', 'x'), 'not_member',
    'the owner, membership lost');
SELECT is((SELECT count(*) FROM mcp.session), 0::bigint,
    'the owner''s session is gone');
SELECT is(reason, 'revoked', 'with a tombstone')
FROM mcp.session_tombstone WHERE session_id = repeat('1', 64);
INSERT INTO mcp.membership (organization_id, account_id) VALUES ('x', 'a');
SELECT is(outcome || ' ' || end_reason, 'no_session revoked',
    'a member again, but the session stays ended')
FROM mcp.enter(repeat('1', 64), 'i', 'a', 'x', NULL, 'sql');
SELECT is(end_reason, NULL, 'a stranger is not told why')
FROM mcp.enter(repeat('1', 64), 'i', 'b', 'y', NULL, 'sql');
SELECT throws_ok($$SELECT mcp.enter(NULL, 'i', 'a', 'x', NULL, 'maybe')$$,
    '22023', NULL, 'an unknown membership mode is a fault');
SELECT throws_ok($$SELECT mcp.enter(NULL, 'i', 'a', 'x', NULL, NULL)$$,
    '22023', NULL, 'so is none');

-- No session.
SELECT is(pg_temp.enter(NULL, 'i', 'a', 'x'), 'ok', 'initialize: ok');
SELECT is(pg_temp.enter(repeat('0', 64), 'i', 'a', 'x'), 'no_session',
    'unknown id');
SELECT is(pg_temp.enter('malformed', 'i', 'a', 'x'), 'no_session',
    'malformed id');
SELECT is(pg_temp.enter(repeat('0', 64), 'i', 'a', 'x', NULL, 'yes'),
    'no_session', 'the organisation needs no row');

-- Expired is no session, whoever asks; and is not touched.
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    last_activity_at) VALUES (repeat('2', 64), 'i', 'a', 'x',
    now() - interval '300 seconds');
SELECT is(outcome || ' ' || end_reason, 'no_session idle', 'expired, owner')
FROM mcp.enter(repeat('2', 64), 'i', 'a', 'x', NULL, 'sql');
SELECT is(pg_temp.enter(repeat('2', 64), 'i', 'b', 'y'), 'no_session',
    'expired, stranger');
SELECT is(pg_temp.activity(repeat('2', 64)), interval '300 seconds',
    'expired is not extended');
SELECT is((SELECT count(*) FROM mcp.audit_event), 4::bigint,
    'a stranger''s use of an expired session is no event');

-- API tokens.
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    last_activity_at) VALUES (repeat('3', 64), 'i', 'a', 'x',
    now() - interval '10 seconds');
SELECT is(pg_temp.enter(repeat('3', 64), NULL, NULL, NULL, sha256('x')),
    'bad_token', 'unknown token');
SELECT is(pg_temp.enter(repeat('3', 64), NULL, NULL, NULL, sha256('gone')),
    'bad_token', 'revoked token');
SELECT is(pg_temp.enter(repeat('3', 64), NULL, NULL, NULL,
    sha256('goneold')), 'bad_token', 'revoked and expired token');
SELECT is(pg_temp.enter(repeat('3', 64), NULL, NULL, NULL, sha256('old')),
    'expired_token', 'expired token, to the second');
SELECT is(pg_temp.enter(repeat('3', 64), 'i', 'a', 'x', sha256('x')),
    'bad_token', 'a bad token is not saved by a claimed principal');
SELECT is(pg_temp.enter(repeat('3', 64), 'i', 'a', 'x', sha256('stray')),
    'not_member', 'the token''s account counts, not the claimed one');
SELECT is(pg_temp.activity(repeat('3', 64)), interval '10 seconds',
    'none of them touched the session');
SELECT is((SELECT count(last_used_at) FROM mcp.api_token), 0::bigint,
    'none of them counts as use of a token');
SELECT is((outcome, issuer, account_id, organization_id, protocol_version,
    client_capabilities, is_initialized, end_reason)::text,
    '(ok,i,a,x,2025-06-18,{},f,)', 'good token, whole row')
FROM mcp.enter(repeat('3', 64), NULL, NULL, NULL, sha256('good'), 'sql');
SELECT is(pg_temp.activity(repeat('3', 64)), '0'::interval,
    'a good token extends');
SELECT is(last_used_at, now(), 'and its use is noted') FROM mcp.api_token
    WHERE token_hint = 'good';
UPDATE mcp.api_token SET last_used_at = now() - interval '59 seconds'
    WHERE token_hint = 'good';
SELECT is(pg_temp.enter(NULL, NULL, NULL, NULL, sha256('good')), 'ok',
    'again within the minute');
SELECT is(last_used_at, now() - interval '59 seconds',
    'which is not noted again') FROM mcp.api_token WHERE token_hint = 'good';
SELECT is(pg_temp.enter(NULL, NULL, NULL, NULL, sha256('good'), 'no'),
    'not_member', 'the provider says no to the token''s account');

SELECT is(r::text, e, 'api_token_find: ' || t) FROM (VALUES
    ('good', '(ok,i,a,x)'), ('old', '(expired_token,,,)'),
    ('gone', '(bad_token,,,)'), ('goneold', '(bad_token,,,)'),
    ('x', '(bad_token,,,)')) v (t, e),
    LATERAL mcp.api_token_find(sha256(t::bytea)) r;
SELECT is((SELECT count(*) FROM mcp.api_token_find(NULL)), 1::bigint,
    'api_token_find: one row always');

SELECT * FROM finish();
ROLLBACK;
