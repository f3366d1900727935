-- Goal: the life of a session: opened, initialized, ended by its owner,
-- displaced by the cap, taken up again.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.id(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT lpad(to_hex(n), 64, '0')$$;
CREATE FUNCTION pg_temp.open(n integer, cap integer, a text DEFAULT 'a',
    readopt integer DEFAULT 0, lifetime integer DEFAULT 0)
RETURNS bigint LANGUAGE sql AS $$
    SELECT mcp.session_open(pg_temp.id(n), 'i', a, 'o', '2025-11-25',
        '{"name": "c", "version": "1"}', '{"roots": {}}', 300, lifetime,
        readopt, 30, cap)
$$;

SELECT is(pg_temp.open(1, 0), 0::bigint, 'opened');
SELECT is(to_jsonb(s) - ARRAY['session_id', 'created_at', 'alarm_at',
    'last_activity_at'], '{"issuer": "i", "account_id": "a",
    "organization_id": "o", "protocol_version": "2025-11-25",
    "client_info": {"name": "c", "version": "1"},
    "client_capabilities": {"roots": {}}, "idle_s": 300, "lifetime_s": 0,
    "readopt_s": 0, "initialized_at": null}'::jsonb, 'as given')
FROM mcp.session s;
SELECT is(alarm_at, now() + interval '30 seconds', 'first alarm')
FROM mcp.session;
SELECT throws_ok('SELECT pg_temp.open(1, 0)', '23505', NULL,
    'an id is used once');
SELECT is(mcp.session_initialized(pg_temp.id(1)), true, 'initialized');
SELECT is(mcp.session_initialized(pg_temp.id(1)), false, 'only once');
SELECT is(initialized_at, now(), 'is noted') FROM mcp.session;

-- The end, by its owner.
SELECT is(mcp.session_end(pg_temp.id(1), 'i', 'b', 'o'), 'foreign',
    'a stranger cannot end it');
SELECT is(mcp.session_end(pg_temp.id(1), 'j', 'a', 'o'), 'foreign',
    'nor the same name from another issuer');
SELECT is((SELECT count(*) FROM mcp.session), 1::bigint, 'it is there');
SELECT is((SELECT count(*) FROM mcp.audit_event
    WHERE event = 'session.foreign'), 2::bigint, 'both are audited');
SELECT is(mcp.session_end(pg_temp.id(1), 'i', 'a', 'o'), 'ended', 'ended');
SELECT is(mcp.session_end(pg_temp.id(1), 'i', 'a', 'o'), 'none', 'once');
SELECT is((mcp.enter(pg_temp.id(1), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'no_session', 'gone at once');
SELECT is(reason, 'deleted', 'with a tombstone') FROM mcp.session_tombstone;
SELECT is(mcp.session_end('malformed', 'i', 'a', 'o'), 'none', 'malformed');

-- The cap: the least recently used one of the same principal gives way.
SELECT pg_temp.open(n, 3) FROM generate_series(11, 13) n;
SELECT pg_temp.open(20, 3, 'b');
UPDATE mcp.session SET last_activity_at = now() - CASE session_id
    WHEN pg_temp.id(11) THEN interval '1 second'
    WHEN pg_temp.id(12) THEN interval '9 seconds'
    WHEN pg_temp.id(13) THEN interval '5 seconds'
    ELSE interval '60 seconds' END;
SELECT is(pg_temp.open(14, 3), 1::bigint, 'one is displaced');
SELECT results_eq('SELECT session_id FROM mcp.session ORDER BY 1',
    $$SELECT pg_temp.id(n) COLLATE "C" FROM unnest(ARRAY[11, 13, 14, 20])
    n$$, 'the least recently used, of this principal');
SELECT is(reason, 'displaced', 'with a tombstone')
FROM mcp.session_tombstone WHERE session_id = pg_temp.id(12);
SELECT is(pg_temp.open(15, 1), 3::bigint, 'a lower cap displaces the rest');
SELECT is(pg_temp.open(16, 0), 0::bigint, 'no cap');

-- Taking up again.
DELETE FROM mcp.session;
SELECT pg_temp.open(31, 0, 'a', 600), pg_temp.open(32, 0, 'a', 600),
    pg_temp.open(33, 0, 'a', 0), pg_temp.open(34, 0, 'a', 600, 3600);
UPDATE mcp.session SET last_activity_at = now() - interval '899 seconds',
    created_at = now() - interval '1000 seconds',
    initialized_at = now() - interval '999 seconds', alarm_at = now();
SELECT is((mcp.enter(pg_temp.id(31), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'ok', 'idle, not yet reaped: goes on');
SELECT is(last_activity_at, now(), 'and is live') FROM mcp.session
    WHERE session_id = pg_temp.id(31);
SELECT is((mcp.enter(pg_temp.id(32), 'i', 'b', 'o', NULL, 'yes')).outcome,
    'no_session', 'not for a stranger');
SELECT is((mcp.enter(pg_temp.id(33), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'no_session', 'not without readopt_s');
SELECT is((due, expired, renewed)::text, '(4,3,1)', 'reaped: 3 idle, 1 live')
FROM mcp.reap_sessions(100, 30);
SELECT is((mcp.enter(pg_temp.id(32), 'i', 'b', 'o', NULL, 'yes')).outcome,
    'no_session', 'reaped: not for a stranger');
SELECT is((mcp.enter(pg_temp.id(32), 'i', 'a', 'o', NULL, 'no')).outcome,
    'not_member', 'reaped: not for a former member');
SELECT is((outcome, issuer, account_id, organization_id, protocol_version,
    client_capabilities, is_initialized, end_reason)::text,
    '(ok,i,a,o,2025-11-25,"{""roots"": {}}",t,)',
    'reaped: the owner goes on with all that was negotiated')
FROM mcp.enter(pg_temp.id(32), 'i', 'a', 'o', NULL, 'yes');
SELECT is(to_jsonb(s) - ARRAY['session_id'], to_jsonb(t) - ARRAY['session_id'],
    'the row is as if never gone')
FROM mcp.session s, mcp.session t WHERE s.session_id = pg_temp.id(32)
    AND t.session_id = pg_temp.id(31);
SELECT is((SELECT count(*) FROM mcp.session_tombstone
    WHERE session_id = pg_temp.id(32)), 0::bigint, 'without a tombstone');
SELECT is((mcp.enter(pg_temp.id(33), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'no_session', 'reaped: not without readopt_s');
UPDATE mcp.session_tombstone SET readopt_until = now()
    WHERE session_id = pg_temp.id(34);
SELECT is((mcp.enter(pg_temp.id(34), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'no_session', 'not when readopt_s is over');
-- ended on purpose is ended
SELECT mcp.session_end(pg_temp.id(32), 'i', 'a', 'o');
SELECT is((mcp.enter(pg_temp.id(32), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'no_session', 'what its owner ended is not taken up again');
-- nor beyond its lifetime
SELECT pg_temp.open(35, 0, 'a', 600, 3600);
UPDATE mcp.session SET last_activity_at = now() - interval '400 seconds',
    created_at = now() - interval '3599 seconds', alarm_at = now()
    WHERE session_id = pg_temp.id(35);
SELECT mcp.reap_sessions(100, 30);
UPDATE mcp.session_tombstone SET state = state || jsonb_build_object(
    'created_at', now() - interval '3600 seconds')
    WHERE session_id = pg_temp.id(35);
SELECT is((mcp.enter(pg_temp.id(35), 'i', 'a', 'o', NULL, 'yes')).outcome,
    'no_session', 'not beyond lifetime_s');

-- HOT: touching and initializing change no index.
SELECT pg_temp.open(41, 0);
CREATE TEMP TABLE before AS SELECT
    pg_stat_get_xact_tuples_updated('mcp.session'::regclass) AS n,
    pg_stat_get_xact_tuples_hot_updated('mcp.session'::regclass) AS hot;
DO $$
BEGIN
    FOR i IN 1 .. 10 LOOP
        UPDATE mcp.session SET last_activity_at = now() - interval '9 s'
            WHERE session_id = pg_temp.id(41);
        PERFORM mcp.enter(pg_temp.id(41), 'i', 'a', 'o', NULL, 'yes');
    END LOOP;
    PERFORM mcp.session_initialized(pg_temp.id(41));
END $$;
SELECT is(ARRAY[
    pg_stat_get_xact_tuples_updated('mcp.session'::regclass) - n,
    pg_stat_get_xact_tuples_hot_updated('mcp.session'::regclass) - hot],
    ARRAY[21, 21]::bigint[], 'all updates are HOT') FROM before;

SELECT * FROM finish();
ROLLBACK;
