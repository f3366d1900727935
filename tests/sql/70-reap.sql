-- Goal: BEHAVIOUR 8: due and expired goes, due and live gets the next alarm
-- and is otherwise unchanged; nothing else is looked at.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.id(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT lpad(to_hex(n), 64, '0')$$;
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    last_activity_at, alarm_at) VALUES
    (pg_temp.id(1), 'i', 'live', 'x', now(), now() - interval '1 s'),
    (pg_temp.id(2), 'i', 'over', 'x', now() - interval '301 s', now()),
    (pg_temp.id(3), 'i', 'later', 'x', now() - interval '301 s',
        now() + interval '1 s');
CREATE TEMP TABLE before AS SELECT * FROM mcp.session;
SELECT is(r::text, '(1,1,0,0,0,0)', 'preview') FROM mcp.reap_preview() r;
SELECT is(count(*), 3::bigint, 'changes nothing')
FROM mcp.session JOIN before USING (session_id, alarm_at, last_activity_at);
SELECT is((due, expired, renewed)::text, '(2,1,1)', 'one pass: two due, one gone, one renewed')
FROM mcp.reap_sessions(100, 30);
SELECT is(to_jsonb(s) - 'alarm_at', to_jsonb(b) - 'alarm_at',
    'live: only the alarm has moved')
FROM mcp.session s JOIN before b USING (session_id)
WHERE session_id = pg_temp.id(1);
SELECT is(alarm_at, now() + interval '30 s', 'live: to the next heartbeat')
FROM mcp.session WHERE session_id = pg_temp.id(1);
SELECT is(count(*), 0::bigint, 'expired: row, activity and alarm are gone')
FROM mcp.session WHERE session_id = pg_temp.id(2);
SELECT is(to_jsonb(s), to_jsonb(b), 'not due: not looked at')
FROM mcp.session s JOIN before b USING (session_id)
WHERE session_id = pg_temp.id(3);
SELECT is((due, expired, renewed)::text, '(0,0,0)', 'again: nothing is due')
FROM mcp.reap_sessions(100, 30);

-- Batches: oldest alarm first, never more than asked for.
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    last_activity_at, alarm_at)
SELECT pg_temp.id(100 + n), 'i', 'a', 'x', now() - interval '1 hour',
    now() - n * interval '1 s' FROM generate_series(1, 25) n;
SELECT is((due, expired, renewed)::text, '(10,10,0)', 'a batch')
FROM mcp.reap_sessions(10, 30);
SELECT is(min(alarm_at), now() - interval '15 s', 'the oldest went first')
FROM mcp.session WHERE account_id = 'a';
SELECT is((due, expired, renewed)::text, '(10,10,0)', 'a batch')
FROM mcp.reap_sessions(10, 30);
SELECT is((due, expired, renewed)::text, '(5,5,0)', 'the last: less than asked for')
FROM mcp.reap_sessions(10, 30);

-- From where the batch before left off, what has the same alarm included.
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    last_activity_at, alarm_at)
SELECT pg_temp.id(200 + n), 'i', 'a', 'x', now() - interval '1 hour',
    now() - (n / 2) * interval '1 s' FROM generate_series(2, 7) n;
SELECT is((due, expired, last_alarm_at)::text,
    (3, 3, now() - interval '2 s')::text, 'a batch tells where it ended')
FROM mcp.reap_sessions(3, 30, now() - interval '3 s');
SELECT is((due, expired)::text, '(3,3)', 'the next goes on there')
FROM mcp.reap_sessions(10, 30, now() - interval '2 s');
SELECT is(last_alarm_at, NULL, 'nothing due: no such time')
FROM mcp.reap_sessions(10, 30);

-- Records.
DELETE FROM mcp.session_tombstone;
INSERT INTO mcp.session_tombstone (session_id, issuer, account_id,
    organization_id, reason, ended_at)
SELECT pg_temp.id(n::integer), 'i', 'a', 'x', 'idle', now() - d
FROM unnest(ARRAY['6 days 23:59', '7 days', '7 days 00:01', '8 days']
    ::interval[]) WITH ORDINALITY t (d, n);
INSERT INTO mcp.audit_event (at, event) VALUES
    (now() - interval '89 days', 'x.y'), (now() - interval '91 days', 'x.y');
INSERT INTO mcp.sweep (started_at, finished_at, is_complete) VALUES
    (now(), now() - interval '6 days', true),
    (now(), now() - interval '8 days', true);
SELECT is((mcp.reap_preview()).purged, 4::bigint, 'preview');
SELECT is(mcp.reap_records(1), 3::bigint, 'at most one of each kind');
SELECT is(mcp.reap_records(1), 1::bigint, 'the rest');
SELECT is(mcp.reap_records(1), 0::bigint, 'none left');
SELECT is(ARRAY[(SELECT count(*) FROM mcp.session_tombstone),
    (SELECT count(*) FROM mcp.audit_event),
    (SELECT count(*) FROM mcp.sweep)], ARRAY[2, 1, 1]::bigint[],
    'what is younger stays');
INSERT INTO mcp.api_token (token_sha256, token_hint, account_id,
    organization_id, expires_at) VALUES (sha256('t'), '', 'a', 'x',
    now() - interval '10 years');
SELECT mcp.reap_records(100);
SELECT is(count(*), 1::bigint, 'expired tokens stay, for the record')
FROM mcp.api_token;

SELECT mcp.sweep_save(1500, 'host', 1, 2, 3, true, 4, 5, 6);
SELECT is(started_at || host || expired || renewed || purged || is_complete
    || runs_failed || runs_expired || calls_declined,
    (now() - interval '1.5 s') || 'host123true456', 'sweep_save')
FROM mcp.sweep_recent WHERE host = 'host';

SELECT * FROM finish();
ROLLBACK;
