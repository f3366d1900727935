-- Goal: expired means one thing, to the microsecond, for enter, the reaper
-- and the views.
BEGIN;
SELECT no_plan();

CREATE TEMP TABLE expectation (n serial, name text, created interval,
    activity interval, idle_s integer, lifetime_s integer, expected text);
INSERT INTO expectation (name, created, activity, idle_s, lifetime_s,
    expected) VALUES
    ('new', '0', '0', 300, 0, NULL),
    ('last moment', '1 hour', '299.999999 s', 300, 0, NULL),
    ('exactly idle_s', '1 hour', '300 s', 300, 0, 'idle'),
    ('a moment later', '1 hour', '300.000001 s', 300, 0, 'idle'),
    ('own idle_s, live', '1 hour', '300 s', 301, 0, NULL),
    ('own idle_s, expired', '1 hour', '2 s', 2, 0, 'idle'),
    ('no lifetime', '10 years', '1 s', 300, 0, NULL),
    ('lifetime, live', '59.999999 s', '1 s', 300, 60, NULL),
    ('lifetime, over', '60 s', '0', 300, 60, 'lifetime'),
    ('both over', '1 hour', '1 hour', 300, 60, 'lifetime'),
    ('clock set back', '-1 hour', '-1 hour', 300, 60, NULL);
SELECT is(mcp.session_expired_by(now() - created, now() - activity, idle_s,
    lifetime_s), expected, 'predicate: ' || name) FROM expectation;

INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    created_at, last_activity_at, idle_s, lifetime_s, alarm_at)
SELECT lpad(to_hex(n), 64, '0'), 'i', 'a', name, now() - created,
    now() - activity, idle_s, lifetime_s, now() FROM expectation;
SELECT is((SELECT expired_by FROM mcp.session_expired v
    WHERE v.organization_id = name), expected, 'session_expired: ' || name)
FROM expectation;
SELECT is(EXISTS (SELECT FROM mcp.session_live v
    WHERE v.organization_id = name), expected IS NULL,
    'session_live: ' || name) FROM expectation;
SELECT ok(expires_at > now(), 'session_live: expires_at is ahead: '
    || organization_id) FROM mcp.session_live;
SELECT is((mcp.enter(lpad(to_hex(n), 64, '0'), 'i', 'a', name, NULL,
    'yes')).outcome, CASE WHEN expected IS NULL THEN 'ok' ELSE 'no_session'
    END, 'enter: ' || name) FROM expectation;
SELECT is(mcp.session_end(lpad(to_hex(n), 64, '0'), 'i', 'a', 'nobody'),
    CASE WHEN expected IS NULL THEN 'foreign' ELSE 'none' END,
    'session_end: ' || name) FROM expectation;
UPDATE mcp.session s SET last_activity_at = now() - activity
    FROM expectation e WHERE e.name = s.organization_id;
SELECT is((SELECT expired FROM mcp.reap_preview()), (SELECT count(expected)
    FROM expectation), 'reap_preview counts the same');
SELECT mcp.reap_sessions(100, 30);
SELECT is(EXISTS (SELECT FROM mcp.session
    WHERE organization_id = name), expected IS NULL, 'reaper: ' || name)
FROM expectation;
SELECT is((SELECT reason FROM mcp.session_tombstone
    WHERE organization_id = name), expected, 'tombstone: ' || name)
FROM expectation;

-- A DBA changes the limits of what runs; it counts at once.
UPDATE mcp.session SET last_activity_at = now() - interval '100 s',
    idle_s = 50 WHERE organization_id = 'new';
SELECT is((mcp.enter(session_id, 'i', 'a', 'new', NULL, 'yes')).outcome,
    'no_session', 'shortened by UPDATE') FROM mcp.session
    WHERE organization_id = 'new';
UPDATE mcp.session SET idle_s = 86400 WHERE organization_id = 'new';
SELECT is((mcp.enter(session_id, 'i', 'a', 'new', NULL, 'yes')).outcome,
    'ok', 'prolonged by UPDATE') FROM mcp.session
    WHERE organization_id = 'new';

SELECT * FROM finish();
ROLLBACK;
