-- Goal: the reaper declines what nobody decided in time, fails runs whose
-- process is gone with what may have run marked unknown, lets a run wait
-- again when nothing has happened, expires what waited too long, and removes
-- what is old; requests do the same without it.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.id(n integer) RETURNS uuid LANGUAGE sql IMMUTABLE AS
    $$SELECT lpad(to_hex(n), 32, '0')::uuid$$;
CREATE FUNCTION pg_temp.make(n integer) RETURNS void LANGUAGE sql AS
    $$SELECT mcp.execution_open(pg_temp.id(n), 'i', 'a', 'o', NULL,
        sha256('code'), 'e1', 30)$$;
CREATE FUNCTION pg_temp.run(n integer, g integer, s integer) RETURNS void
LANGUAGE sql AS $$SELECT mcp.call_begin(pg_temp.id(n), g, s, 's.get',
    '{}', sha256('{}'))$$;
CREATE FUNCTION pg_temp.want(n integer, g integer, s integer, w integer)
RETURNS void LANGUAGE sql AS $$SELECT mcp.call_ask(pg_temp.id(n), g, s,
    's.post', '{}', sha256('{}'), '\xfe', 'approval', 'Post?', '{}', w)$$;
CREATE FUNCTION pg_temp.rest(n integer, g integer) RETURNS void
LANGUAGE sql AS $$SELECT mcp.execution_suspend(pg_temp.id(n), g, '\xabcd',
    12, 3600)$$;
CREATE FUNCTION pg_temp.resume(n integer, act text DEFAULT 'accept')
RETURNS text LANGUAGE sql AS $$SELECT outcome || coalesce(' ' || generation,
    '') FROM mcp.execution_resume(pg_temp.id(n), 'i', 'a', 'o', NULL, act,
    NULL, 'e1', 30)$$;
-- the lease of a run is over
CREATE FUNCTION pg_temp.lapse(n integer) RETURNS void LANGUAGE sql AS
    $$UPDATE mcp.execution SET lease_until = now(), alarm_at = now()
        WHERE execution_id = pg_temp.id(n)$$;
CREATE FUNCTION pg_temp.reap() RETURNS text LANGUAGE sql AS
    $$SELECT r::text FROM mcp.reap_executions(100, 604800) r$$;
CREATE FUNCTION pg_temp.look(n integer) RETURNS text LANGUAGE sql AS
    $$SELECT status || coalesce(' ' || outcome, '') FROM mcp.execution
        WHERE execution_id = pg_temp.id(n)$$;
CREATE FUNCTION pg_temp.calls(n integer) RETURNS text LANGUAGE sql AS
    $$SELECT string_agg(status || coalesce(' ' || action || ' '
        || decided_via, ''), ', ' ORDER BY seq) FROM mcp.execution_call
        WHERE execution_id = pg_temp.id(n)$$;

SELECT is(pg_temp.reap(), '(0,0,0,0,0)', 'nothing to do');

-- A lease that is extended.
SELECT pg_temp.make(1);
UPDATE mcp.execution SET alarm_at = now();
SELECT is(pg_temp.reap(), '(1,0,0,0,0)', 'due, but at work');
SELECT is(alarm_at, lease_until, 'next look: at the end of the lease')
FROM mcp.execution;

-- A process gone.
SELECT pg_temp.run(1, 1, 0);
SELECT count(mcp.call_settle(pg_temp.id(1), 1, 0, 'done', false, NULL, NULL));
SELECT pg_temp.run(1, 1, 1);
SELECT pg_temp.want(1, 1, 2, 3600);
SELECT pg_temp.lapse(1);
SELECT is(r::text, '(0,0,0,1,0,0)', 'preview: a run to fail')
FROM mcp.reap_preview() r;
SELECT is(pg_temp.reap(), '(1,0,1,0,0)', 'failed');
SELECT is(pg_temp.look(1), 'failed process_lost', 'why');
SELECT is(pg_temp.calls(1), 'done, unknown, cancelled',
    'what ran, what may have run, what did not');
SELECT is(mcp.call_settle(pg_temp.id(1), 1, 1, 'done', false, NULL, NULL),
    'late', 'a process that was only slow says what it knows');
SELECT is(pg_temp.calls(1), 'done, done, cancelled', 'the ledger is right');
SELECT is(mcp.execution_renew(pg_temp.id(1), 1, 30), 'lost', 'and it stops');
SELECT is(pg_temp.reap(), '(0,0,0,0,0)', 'once');

-- A process gone before it began anything: the run waits as before.
SELECT pg_temp.make(2);
SELECT pg_temp.run(2, 1, 0);
SELECT count(mcp.call_settle(pg_temp.id(2), 1, 0, 'done', false, NULL, NULL));
SELECT pg_temp.want(2, 1, 1, 3600);
SELECT pg_temp.rest(2, 1);
SELECT is(pg_temp.resume(2), 'claimed 2', 'taken up');
SELECT pg_temp.lapse(2);
SELECT is(r::text, '(0,0,0,0,0,0)', 'preview: nothing lost')
FROM mcp.reap_preview() r;
SELECT is(pg_temp.reap(), '(1,0,0,0,0)', 'nothing failed');
SELECT is(pg_temp.look(2), 'waiting', 'waits again');
SELECT is(pg_temp.calls(2), 'done, waiting accept resume',
    'the decision is kept');
SELECT is(mcp.call_go(pg_temp.id(2), 2, 1), 'lost',
    'the former process sends nothing');
SELECT is(pg_temp.resume(2), 'claimed 3', 'taken up again');
SELECT pg_temp.lapse(2);
SELECT is(pg_temp.resume(2), 'claimed 4', 'without the reaper, too');
SELECT pg_temp.lapse(2);
SELECT is(pg_temp.resume(2), 'claimed 5', 'three times');
SELECT pg_temp.lapse(2);
SELECT is(pg_temp.resume(2), 'settled 5', 'but not for ever');
SELECT is(pg_temp.look(2), 'failed process_lost', 'it kills its processes');
SELECT is(pg_temp.calls(2), 'done, cancelled accept resume', 'not sent');

-- A process gone after it began something.
SELECT pg_temp.make(3);
SELECT pg_temp.want(3, 1, 0, 3600);
SELECT pg_temp.rest(3, 1);
SELECT is(pg_temp.resume(3), 'claimed 2', 'taken up');
SELECT is(mcp.call_go(pg_temp.id(3), 2, 0), 'ok', 'sent');
SELECT pg_temp.lapse(3);
SELECT is(pg_temp.reap(), '(1,0,1,0,0)', 'failed');
SELECT is(pg_temp.calls(3), 'unknown accept resume', 'may have run');
SELECT is(pg_temp.resume(3), 'settled 2', 'and is not run again');

-- Nobody decides.
SELECT pg_temp.make(4);
SELECT pg_temp.want(4, 1, 0, 0), pg_temp.want(4, 1, 1, 60);
SELECT pg_temp.rest(4, 1);
SELECT is(r::text, '(0,0,0,0,0,1)', 'preview: a call to decline')
FROM mcp.reap_preview() r;
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(4), 0)', '22023', NULL,
    'too late to approve');
SELECT is(pg_temp.reap(), '(1,1,0,0,0)', 'one declined');
SELECT is(pg_temp.calls(4), 'waiting decline timeout, waiting',
    'the other still waits');
SELECT is(note, 'approval_timeout', 'why') FROM mcp.execution_call
WHERE execution_id = pg_temp.id(4) AND seq = 0;
SELECT is(alarm_at, now() + interval '60 s', 'next look: the other''s end')
FROM mcp.execution WHERE execution_id = pg_temp.id(4);
SELECT is(pg_temp.reap(), '(0,0,0,0,0)', 'once');
SELECT is(pg_temp.resume(4, NULL), 'claimed 2', 'its owner is told');
-- without the reaper
SELECT pg_temp.make(5);
SELECT pg_temp.want(5, 1, 0, 0);
SELECT pg_temp.rest(5, 1);
SELECT is(pg_temp.resume(5), 'claimed 2', 'accepted too late');
SELECT is(pg_temp.calls(5), 'waiting decline timeout', 'is declined');
SELECT is(mcp.call_go(pg_temp.id(5), 2, 0), 'refused', 'and not sent');

-- Waited too long.
SELECT pg_temp.make(6);
SELECT pg_temp.want(6, 1, 0, 60);
SELECT pg_temp.rest(6, 1);
UPDATE mcp.execution SET deadline_at = now(), alarm_at = now()
    WHERE execution_id = pg_temp.id(6);
SELECT is(outcome, 'expired', 'state: expired before any reaper')
FROM mcp.execution_state(pg_temp.id(6), 'i', 'a', 'o');
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(6))', '22023', NULL,
    'not to be approved');
SELECT is(r::text, '(0,0,0,0,1,0)', 'preview: a run to expire')
FROM mcp.reap_preview() r;
SELECT is(pg_temp.reap(), '(1,0,0,1,0)', 'expired');
SELECT is(pg_temp.look(6), 'expired expired', 'so it says');
SELECT is(pg_temp.calls(6), 'cancelled', 'not sent');
SELECT is(pg_temp.resume(6), 'expired 1', 'the owner is told');
SELECT is(heap, NULL, 'no heap is left') FROM mcp.execution
WHERE execution_id = pg_temp.id(6);
-- without the reaper
SELECT pg_temp.make(7);
SELECT pg_temp.want(7, 1, 0, 60);
SELECT pg_temp.rest(7, 1);
UPDATE mcp.execution SET deadline_at = now(), alarm_at = now()
    WHERE execution_id = pg_temp.id(7);
SELECT is(pg_temp.resume(7), 'expired 1', 'expired when asked for');
SELECT is(pg_temp.look(7), 'expired expired', 'and closed');

-- Old ones go, with their calls; what is not over stays, however old.
UPDATE mcp.execution SET created_at = now() - interval '1 year';
UPDATE mcp.execution SET ended_at = now() - interval '8 days'
    WHERE execution_id IN (pg_temp.id(1), pg_temp.id(2), pg_temp.id(3));
SELECT is((mcp.reap_preview()).purged, 3::bigint, 'preview');
SELECT is(r::text, '(0,0,0,0,2)', 'a batch')
FROM mcp.reap_executions(2, 604800) r;
SELECT is(pg_temp.reap(), '(0,0,0,0,1)', 'the rest');
SELECT is(pg_temp.reap(), '(0,0,0,0,0)', 'none left');
SELECT is(count(*), 0::bigint, 'nor their calls') FROM mcp.execution_call
WHERE execution_id IN (pg_temp.id(1), pg_temp.id(2), pg_temp.id(3));
SELECT is(count(*), 4::bigint, 'the others are there') FROM mcp.execution;

-- Both queues are indexes.
CREATE FUNCTION pg_temp.plan(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || q;
END $$;
SET LOCAL enable_seqscan = off;
SELECT alike(string_agg(l, ' '), '%Index Scan using execution_alarm_idx%',
    'what is due: by the index')
FROM pg_temp.plan('SELECT 1 FROM mcp.execution WHERE alarm_at <= now()
    ORDER BY alarm_at LIMIT 9 FOR UPDATE SKIP LOCKED') l;
SELECT alike(string_agg(l, ' '), '%Index Scan using execution_ended_idx%',
    'what is old: by the index')
FROM pg_temp.plan('SELECT 1 FROM mcp.execution WHERE ended_at < now()
    ORDER BY ended_at LIMIT 9 FOR UPDATE SKIP LOCKED') l;
SELECT is(count(*), 0::bigint, 'a lease is extended in the page (HOT)')
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
    AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = 'mcp.execution'::regclass AND a.attname = 'lease_until';

SELECT * FROM finish();
ROLLBACK;
