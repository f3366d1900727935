-- Goal: rows that make no sense are refused.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.session(col text, val text) RETURNS text
LANGUAGE sql AS $$
    SELECT format('INSERT INTO mcp.session (session_id, issuer, account_id,
        organization_id) VALUES (%L, ''i'', ''a'', ''o''); UPDATE mcp.session
        SET %I = %s', repeat('c', 64), col, val)
$$;
SELECT lives_ok(pg_temp.session('idle_s', '1'), 'a good session');
DELETE FROM mcp.session;
SELECT throws_ok(pg_temp.session(c, v), s, NULL, c || ' = ' || left(v, 40))
FROM (VALUES
    ('session_id', quote_literal(repeat('C', 64)), '23514'),
    ('session_id', quote_literal(repeat('c', 63)), '23514'),
    ('session_id', quote_literal(repeat('c', 65)), '23514'),
    ('session_id', quote_literal(repeat('c', 64) || E'\n'), '23514'),
    ('session_id', 'NULL', '23502'),
    ('issuer', '''''', '23514'),
    ('issuer', 'NULL', '23502'),
    ('account_id', '''''', '23514'),
    ('account_id', quote_literal(repeat('x', 513)), '23514'),
    ('account_id', 'NULL', '23502'),
    ('organization_id', '''''', '23514'),
    ('organization_id', 'NULL', '23502'),
    ('protocol_version', '''draft''', '23514'),
    ('client_info', '''[]''', '23514'),
    ('client_info', '''null''', '23514'),
    ('client_info', quote_literal('{"x":"' || repeat('x', 65536) || '"}'),
        '23514'),
    ('client_capabilities', '''1''', '23514'),
    ('idle_s', '0', '23514'),
    ('idle_s', 'NULL', '23502'),
    ('lifetime_s', '-1', '23514'),
    ('readopt_s', '604801', '23514'),
    ('readopt_s', '-1', '23514'),
    ('last_activity_at', 'NULL', '23502'),
    ('alarm_at', 'NULL', '23502')) t (c, v, s);

-- The longest principal still fits the index.
SELECT lives_ok(format('INSERT INTO mcp.session (session_id, issuer,
    account_id, organization_id) SELECT %L, string_agg(md5(i::text), ''''),
        (SELECT string_agg(md5(i::text), '''')
            FROM generate_series(101, 116) i),
        (SELECT string_agg(md5(i::text), '''')
            FROM generate_series(201, 216) i)
    FROM generate_series(1, 32) i', repeat('d', 64)),
    'issuer of 1024, account and organisation of 512 bytes');

SELECT throws_ok($$INSERT INTO mcp.api_token (token_sha256, token_hint,
    account_id, organization_id) VALUES ('\x00', 'abcd', 'a', 'o')$$,
    '23514', NULL, 'a digest has 32 bytes');
SELECT throws_ok($$INSERT INTO mcp.api_token (token_sha256, token_hint,
    account_id, organization_id) VALUES (sha256('x'), 'abcde', 'a', 'o')$$,
    '23514', NULL, 'a hint has 4 characters');
SELECT throws_ok($$INSERT INTO mcp.api_token (token_sha256, token_hint,
    account_id, organization_id) VALUES (sha256('x'), '', 'a', 'o'),
    (sha256('x'), '', 'a', 'o')$$, '23505', NULL, 'a digest is unique');
SELECT throws_ok($$INSERT INTO mcp.membership VALUES ('', 'a')$$,
    '23514', NULL, 'a member needs an organisation');
SELECT throws_ok($$INSERT INTO mcp.membership VALUES ('o', 'a'),
    ('o', 'a')$$, '23505', NULL, 'a member is one once');
SELECT throws_ok($$INSERT INTO mcp.session_tombstone (session_id, issuer,
    account_id, organization_id, reason) VALUES (repeat('c', 64), 'i', 'a',
    'o', 'bored')$$, '23514', NULL, 'a tombstone has a known reason');
SELECT throws_ok($$INSERT INTO mcp.session_tombstone (session_id, issuer,
    account_id, organization_id, reason, readopt_until, state) VALUES
    (repeat('c', 64), 'i', 'a', 'o', 'killed', now(), '{}')$$, '23514', NULL,
    'only an idle session may be taken up again');
SELECT throws_ok($$INSERT INTO mcp.session_tombstone (session_id, issuer,
    account_id, organization_id, reason) VALUES ('cc', 'i', 'a', 'o',
    'idle')$$, '23514', NULL, 'a tombstone has an id of the right length');
SELECT throws_ok($$INSERT INTO mcp.jwks (issuer, document) VALUES ('i',
    '{}')$$, '23514', NULL, 'a key set has a time');
SELECT throws_ok($$INSERT INTO mcp.audit_event (event, session_hint)
    VALUES ('x.y', repeat('a', 64))$$, '23514', NULL,
    'the audit has no whole session id');
SELECT throws_ok($$INSERT INTO mcp.audit_event (event) VALUES ('X')$$,
    '23514', NULL, 'an event has a proper name');
SELECT throws_ok($$INSERT INTO mcp.migration VALUES (0, 'x',
    repeat('0', 64))$$, '23514', NULL, 'migrations count from 1');

SELECT * FROM finish();
ROLLBACK;
