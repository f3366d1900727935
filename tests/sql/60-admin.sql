-- Goal: what administrators do counts on the next request; the views show
-- what they say.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.id(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT rpad(lpad(to_hex(n), 8, '0'), 64, 'f')$$;
CREATE FUNCTION pg_temp.enter(n integer, a text, o text) RETURNS text
LANGUAGE sql AS $$SELECT outcome FROM mcp.enter(pg_temp.id(n), 'i', a, o,
    NULL, 'sql')$$;
INSERT INTO mcp.organization (organization_id, name) VALUES
    ('x', 'Example'), ('empty', 'Nobody');
INSERT INTO mcp.membership (organization_id, account_id) VALUES
    ('x', 'a'), ('x', 'b'), ('y', 'a');
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    client_info, last_activity_at) VALUES
    (pg_temp.id(1), 'i', 'a', 'x', '{"name": "c1", "version": "2"}', now()),
    (pg_temp.id(2), 'i', 'a', 'x', '{}', now() - interval '1 hour'),
    (pg_temp.id(3), 'j', 'a', 'x', '{}', now()),
    (pg_temp.id(4), 'i', 'b', 'x', '{}', now() - interval '10 s'),
    (pg_temp.id(5), 'i', 'a', 'y', '{}', now());
INSERT INTO mcp.api_token (token_sha256, token_hint, account_id,
    organization_id, expires_at, revoked_at) VALUES
    (sha256('1'), 'tok1', 'a', 'x', NULL, NULL),
    (sha256('2'), 'tok2', 'b', 'x', NULL, NULL),
    (sha256('3'), 'tok3', 'a', 'x', now(), NULL),
    (sha256('4'), 'tok4', 'a', 'x', NULL, now());

-- Views.
SELECT results_eq('SELECT organization_id COLLATE "default", name, members, tokens_live,
    sessions_live, sessions_expired, last_activity_at
    FROM mcp.organization_usage ORDER BY 1',
    $$VALUES ('empty', 'Nobody', 0::bigint, 0::bigint, 0::bigint, 0::bigint,
        NULL::timestamptz), ('x', 'Example', 2, 2, 3, 1, now()),
        ('y', NULL, 1, 0, 1, 0, now())$$, 'organization_usage');
SELECT is(to_jsonb(v), jsonb_build_object('session_hint', '00000001',
    'organization_id', 'x', 'account_id', 'a', 'issuer', 'i', 'client_name',
    'c1', 'client_version', '2', 'protocol_version', '2025-06-18',
    'is_initialized', false, 'created_at', now(), 'last_activity_at', now(),
    'expires_at', now() + interval '300 s', 'alarm_at',
    now() + interval '30 s'), 'session_live')
FROM mcp.session_live v WHERE session_hint = '00000001';
SELECT results_eq('SELECT token_hint FROM mcp.api_token_live ORDER BY 1',
    ARRAY['tok1', 'tok2'], 'api_token_live');

-- Killing one.
SELECT throws_ok($$SELECT mcp.kill_session('0000000')$$, '22023', NULL,
    'seven characters are too few');
SELECT throws_ok($$SELECT mcp.kill_session('0000000%')$$, '22023', NULL,
    'no patterns');
SELECT throws_ok('SELECT mcp.kill_session(NULL)', '22023', NULL, 'NULL');
SELECT is(mcp.kill_session('0000000a'), false, 'nothing there');
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id)
    VALUES (rpad('00000001', 64, '0'), 'i', 'b', 'x');
SELECT throws_ok($$SELECT mcp.kill_session('00000001')$$, '22023', NULL,
    'an ambiguous beginning');
SELECT is(mcp.kill_session('00000001f'), true, 'a unique one');
SELECT is(pg_temp.enter(1, 'a', 'x'), 'no_session', 'its next request');
SELECT is(mcp.kill_session(rpad('00000001', 64, '0')), true, 'a whole id');
SELECT is(mcp.kill_session(rpad('00000001', 64, '0')), false, 'once');
SELECT results_eq('SELECT session_hint::text COLLATE "default", reason
    FROM mcp.session_ended', $$VALUES ('00000001', 'killed'),
    ('00000001', 'killed')$$, 'session_ended');
SELECT is(count(*), 2::bigint, 'both audited') FROM mcp.audit_recent
    WHERE event = 'session.killed' AND session_hint = '00000001'
        AND db_user = session_user;

-- Revoking an account.
SELECT is(r::text, '(1,2,2)', 'revoke_account counts')
FROM mcp.revoke_account('x', 'a') r;
SELECT is(pg_temp.enter(3, 'a', 'x'), 'not_member', 'its next request');
SELECT is(outcome, 'bad_token', 'its token''s')
FROM mcp.enter(NULL, NULL, NULL, NULL, sha256('1'), 'sql');
SELECT is(pg_temp.enter(5, 'a', 'y'), 'ok', 'other organisation: goes on');
SELECT is(pg_temp.enter(4, 'b', 'x'), 'ok', 'other account: goes on');
SELECT is(count(*), 2::bigint, 'tombstones') FROM mcp.session_ended
    WHERE reason = 'revoked';
SELECT is(detail,
    '{"runs": 0, "tokens": 2, "sessions": 2, "memberships": 1}'::jsonb, 'audited') FROM mcp.audit_event WHERE event = 'account.revoked';
SELECT is(r::text, '(0,0,0)', 'again: nothing left')
FROM mcp.revoke_account('x', 'a') r;

-- By hand: one DELETE ends a membership or a session.
DELETE FROM mcp.membership WHERE organization_id = 'y' AND account_id = 'a';
SELECT is(pg_temp.enter(5, 'a', 'y'), 'not_member', 'membership deleted');
DELETE FROM mcp.session WHERE session_id = pg_temp.id(4);
SELECT is(pg_temp.enter(4, 'b', 'x'), 'no_session', 'session deleted');

-- Draining.
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id)
    SELECT pg_temp.id(n), 'i', 'b', 'x' FROM generate_series(100, 149) n;
SELECT is(mcp.drain(), 50::bigint, 'drain');
SELECT is(pg_temp.enter(100, 'b', 'x'), 'no_session', 'next request');
SELECT is(count(*), 0::bigint, 'nothing is left') FROM mcp.session;
SELECT is(detail, '{"sessions": 50}'::jsonb, 'audited')
FROM mcp.audit_event WHERE event = 'session.drained';

SELECT * FROM finish();
ROLLBACK;
