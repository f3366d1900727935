-- Goal: a run is begun, suspended, resumed and settled by whoever holds it;
-- its calls are noted before they are sent and settled once; nothing is sent
-- without the word it needed; what comes twice does nothing twice.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.id(n integer) RETURNS uuid LANGUAGE sql IMMUTABLE AS
    $$SELECT lpad(to_hex(n), 32, '0')::uuid$$;
CREATE FUNCTION pg_temp.open(n integer) RETURNS void LANGUAGE sql AS
    $$SELECT mcp.execution_open(pg_temp.id(n), 'i', 'a', 'o',
        repeat('f', 64), sha256('code'), 'e1', 30)$$;
CREATE FUNCTION pg_temp.begin(n integer, g integer, s integer) RETURNS text
LANGUAGE sql AS $$SELECT mcp.call_begin(pg_temp.id(n), g, s, 's.get',
    '{"x":1}', sha256('{"x":1}'))$$;
CREATE FUNCTION pg_temp.ask(n integer, g integer, s integer,
    k text DEFAULT 'approval', w integer DEFAULT 3600) RETURNS text
LANGUAGE sql AS $$SELECT outcome FROM mcp.call_ask(pg_temp.id(n), g, s,
    's.post', '{"x":1}', sha256('{"x":1}'), '\xfe', k, 'Post?', '{}', w)$$;
CREATE FUNCTION pg_temp.settle(n integer, g integer, s integer,
    st text DEFAULT 'done') RETURNS text
LANGUAGE sql AS $$SELECT mcp.call_settle(pg_temp.id(n), g, s, st, st <> 'done',
    '{"y":2}', sha256('{"y":2}'))$$;
CREATE FUNCTION pg_temp.suspend(n integer, g integer) RETURNS text
LANGUAGE sql AS $$SELECT mcp.execution_suspend(pg_temp.id(n), g,
    '\xabcd', 12, 3600)$$;
CREATE FUNCTION pg_temp.finish(n integer, g integer,
    st text DEFAULT 'completed') RETURNS text
LANGUAGE sql AS $$SELECT mcp.execution_settle(pg_temp.id(n), g, st,
    'finished', '{"r":1}', NULL, 50)$$;
-- outcome and generation
CREATE FUNCTION pg_temp.resume(n integer, s integer DEFAULT NULL,
    act text DEFAULT 'accept', eng text DEFAULT 'e1', acc text DEFAULT 'a',
    org text DEFAULT 'o', iss text DEFAULT 'i') RETURNS text
LANGUAGE sql AS $$SELECT outcome || coalesce(' ' || generation, '')
    FROM mcp.execution_resume(pg_temp.id(n), iss, acc, org, s, act,
    '{"z":3}', eng, 30)$$;
CREATE FUNCTION pg_temp.state(n integer) RETURNS text
LANGUAGE sql AS $$SELECT outcome || CASE WHEN is_claimable
    THEN ' claimable' ELSE '' END
    FROM mcp.execution_state(pg_temp.id(n), 'i', 'a', 'o')$$;
CREATE FUNCTION pg_temp.call(n integer, s integer) RETURNS text
LANGUAGE sql AS $$SELECT status || coalesce(' ' || action || ' ' ||
    decided_via, '') FROM mcp.execution_call
    WHERE execution_id = pg_temp.id(n) AND seq = s$$;

-- A run without questions.
SELECT pg_temp.open(1) \g /dev/null
SELECT is(pg_temp.state(1), 'running', 'a run');
SELECT is(pg_temp.begin(1, 1, 0), 'ok', 'a call');
SELECT is(pg_temp.call(1, 0), 'running', 'noted before it is sent');
SELECT is(pg_temp.begin(1, 1, 0), 'again', 'the same call is not sent twice');
SELECT is(pg_temp.begin(1, 2, 1), 'lost', 'a generation that is not');
SELECT is(pg_temp.begin(9, 1, 1), 'lost', 'a run that is not');
SELECT is(pg_temp.settle(1, 1, 0), 'ok', 'answered');
SELECT is(pg_temp.settle(1, 1, 0), 'again', 'settling is idempotent');
SELECT is(pg_temp.settle(1, 1, 0, 'failed'), 'lost', 'and final');
SELECT is(pg_temp.settle(1, 1, 5), 'lost', 'no such call');
SELECT is((args, encode(args_sha256, 'hex'), result, is_error)::text,
    '("{""x"":1}",' || encode(sha256('{"x":1}'), 'hex')
    || ',"{""y"":2}",f)', 'the ledger') FROM mcp.execution_call;
SELECT is(mcp.execution_renew(pg_temp.id(1), 1, 60), 'ok', 'lease');
SELECT is(lease_until, now() + interval '60 s', 'extended')
FROM mcp.execution;
SELECT is(mcp.execution_renew(pg_temp.id(1), 2, 60), 'lost', 'not for others');
SELECT pg_temp.begin(1, 1, 1) \g /dev/null
SELECT is(pg_temp.finish(1, 1), 'ok', 'settled');
SELECT is(pg_temp.call(1, 1), 'unknown', 'a call nobody waited for');
SELECT is(pg_temp.settle(1, 1, 1), 'late', 'its answer is still taken');
SELECT is(pg_temp.call(1, 1), 'done', 'as it was');
SELECT is(pg_temp.finish(1, 1), 'again', 'settling a run is idempotent');
SELECT is(pg_temp.finish(1, 1, 'failed'), 'lost', 'and final');
SELECT is(pg_temp.begin(1, 1, 2), 'lost', 'no call afterwards');
SELECT is(pg_temp.resume(1), 'settled 1', 'nothing to resume');
SELECT is((outcome, status, run_outcome, result)::text,
    '(settled,completed,finished,"{""r"":1}")', 'the answer is kept')
FROM mcp.execution_state(pg_temp.id(1), 'i', 'a', 'o');

-- An approval.
SELECT pg_temp.open(2) \g /dev/null
SELECT throws_ok('SELECT pg_temp.suspend(2, 1)', '55000', NULL,
    'nothing waits: no suspension');
SELECT pg_temp.begin(2, 1, 0) \g /dev/null
SELECT is(pg_temp.ask(2, 1, 1), 'ok', 'asked');
SELECT is(pg_temp.ask(2, 1, 1), 'again', 'once');
SELECT is(mcp.call_go(pg_temp.id(2), 1, 1), 'refused', 'not sent unasked');
SELECT is(pg_temp.settle(2, 1, 1), 'refused', 'nor answered');
SELECT throws_ok('SELECT pg_temp.suspend(2, 1)', '55000', NULL,
    'a call is under way: no suspension');
SELECT pg_temp.settle(2, 1, 0) \g /dev/null
SELECT is(pg_temp.suspend(2, 2), 'lost', 'not by others');
SELECT is(pg_temp.suspend(2, 1), 'ok', 'suspended');
SELECT is(pg_temp.suspend(2, 1), 'again', 'suspending is idempotent');
SELECT is(pg_temp.state(2), 'waiting', 'waits');
SELECT is(pg_temp.begin(2, 1, 2), 'lost', 'no call while it waits');
SELECT is(alarm_at, now() + interval '3600 s', 'the reaper: at the deadline')
FROM mcp.execution WHERE execution_id = pg_temp.id(2);
SELECT is(deadline_at, now() + interval '7200 s', 'the run waits on a while')
FROM mcp.execution WHERE execution_id = pg_temp.id(2);
SELECT is(pg_temp.resume(2, acc => 'b'), 'forbidden', 'another account');
SELECT is(pg_temp.resume(2, org => 'p'), 'forbidden', 'another organisation');
SELECT is(pg_temp.resume(2, iss => 'j'), 'forbidden', 'another issuer');
SELECT is(outcome || coalesce(status, ' -') || coalesce(result, ' -'),
    'forbidden - -', 'state: nothing is said to strangers')
FROM mcp.execution_state(pg_temp.id(2), 'i', 'b', 'o');
SELECT is(pg_temp.resume(99), 'not_found', 'unknown');
SELECT is(pg_temp.resume(2, act => NULL), 'waiting 1', 'without a word');
SELECT is(pg_temp.resume(2, 7), 'no_call 1', 'a call that is not');
SELECT is(pg_temp.resume(2, 0), 'no_call 1', 'a call that asks nothing');
SELECT throws_ok('SELECT pg_temp.resume(2, act => ''maybe'')', '22023', NULL,
    'no such action');
SELECT is(pg_temp.call(2, 1), 'waiting', 'all that has decided nothing');
SELECT is(pg_temp.resume(2, eng => 'e2'), 'other_engine 1',
    'another build: the word is kept, the heap untouched');
SELECT is(pg_temp.state(2), 'waiting claimable', 'by the right one');
SELECT is((outcome, generation, heap_generation, heap, wall_used_ms)::text,
    '(claimed,2,1,"\\xabcd",12)', 'taken up, with its heap')
FROM mcp.execution_resume(pg_temp.id(2), 'i', 'a', 'o', NULL, 'accept', NULL,
    'e1', 30);
SELECT is(pg_temp.resume(2), 'running 2', 'a second finds it running');
SELECT is((pending, action, answer)::text, '("\\xfe",accept,"{""z"":3}")',
    'the call, as it was asked about')
FROM mcp.execution_calls(pg_temp.id(2)) WHERE seq = 1;
SELECT is(mcp.call_go(pg_temp.id(2), 1, 1), 'lost', 'not by the former');
SELECT is(mcp.call_go(pg_temp.id(2), 2, 1), 'ok', 'sent');
SELECT is(mcp.call_go(pg_temp.id(2), 2, 1), 'again', 'once');
SELECT is(pending, NULL, 'its arguments are not kept sealed any more')
FROM mcp.execution_calls(pg_temp.id(2)) WHERE seq = 1;
SELECT is(pg_temp.settle(2, 2, 1), 'ok', 'answered');
SELECT is(pg_temp.call(2, 1), 'done accept resume', 'who decided');
SELECT is(decided_by, 'a', 'by the account') FROM mcp.execution_call
WHERE execution_id = pg_temp.id(2) AND seq = 1;
SELECT is(pg_temp.finish(2, 2), 'ok', 'settled');
SELECT is(heap IS NULL AND heap_generation IS NULL, true, 'the heap is gone')
FROM mcp.execution WHERE execution_id = pg_temp.id(2);
SELECT is(pg_temp.resume(2), 'settled 2', 'a resume once more: the answer');

-- A resume that comes twice must not approve what comes next.
SELECT pg_temp.open(3) \g /dev/null
SELECT pg_temp.ask(3, 1, 0) \g /dev/null
SELECT pg_temp.suspend(3, 1) \g /dev/null
SELECT is(pg_temp.resume(3), 'claimed 2', 'the first question');
SELECT mcp.call_go(pg_temp.id(3), 2, 0), pg_temp.settle(3, 2, 0) \g /dev/null
SELECT pg_temp.ask(3, 2, 1) \g /dev/null
SELECT is(pg_temp.resume(3), 'running 2', 'again, before it waits');
SELECT is(pg_temp.call(3, 1), 'waiting', 'decides nothing');
SELECT pg_temp.suspend(3, 2) \g /dev/null
SELECT is(pg_temp.resume(3), 'seq_required 2', 'again, when it waits');
SELECT is(pg_temp.resume(3, 0), 'waiting 2', 'again, by its number');
SELECT is(pg_temp.call(3, 1), 'waiting', 'decides nothing');
SELECT is(pg_temp.resume(3, 1, 'decline'), 'claimed 3', 'by its own number');
SELECT is(mcp.call_go(pg_temp.id(3), 3, 1), 'refused', 'declined: not sent');
SELECT is(pg_temp.settle(3, 3, 1), 'refused', 'nor answered');
SELECT is(pg_temp.settle(3, 3, 1, 'declined'), 'ok', 'settled as declined');
SELECT pg_temp.finish(3, 3) \g /dev/null

-- Several at once.
SELECT pg_temp.open(4) \g /dev/null
SELECT pg_temp.ask(4, 1, 0), pg_temp.ask(4, 1, 1),
    pg_temp.ask(4, 1, 2, 'elicit') \g /dev/null
SELECT pg_temp.suspend(4, 1) \g /dev/null
SELECT is(pg_temp.resume(4), 'seq_required 1', 'which?');
SELECT is(pg_temp.resume(4, 1), 'claimed 2', 'the second');
SELECT is(pg_temp.resume(4, 2), 'running 2', 'another, while it runs');
SELECT is(pg_temp.call(4, 2), 'waiting accept resume', 'is kept');
SELECT mcp.call_go(pg_temp.id(4), 2, 1), pg_temp.settle(4, 2, 1) \g /dev/null
SELECT is(pg_temp.suspend(4, 2), 'ok', 'the others still wait');
SELECT is(pg_temp.state(4), 'waiting claimable', 'and one can go on');
SELECT is(pg_temp.resume(4, act => NULL), 'claimed 3', 'without a word');
SELECT is(pg_temp.settle(4, 3, 2), 'ok', 'the answer to a question');
SELECT is(pg_temp.settle(4, 3, 0), 'refused', 'the undecided one');
SELECT is(pg_temp.finish(4, 3), 'ok', 'the program ends without it');
SELECT is(pg_temp.call(4, 0), 'cancelled', 'it was not sent');

-- A refusal takes the place of an approval until the call is sent; never the
-- other way round.
SELECT pg_temp.open(5) \g /dev/null
SELECT pg_temp.ask(5, 1, 0), pg_temp.ask(5, 1, 1) \g /dev/null
SELECT pg_temp.suspend(5, 1) \g /dev/null
SELECT alike(mcp.approve(pg_temp.id(5), 0, 'go'), 's.post (call 0): approved%',
    'approved by SQL');
SELECT is(pg_temp.state(5), 'waiting claimable', 'the owner may go on');
SELECT is(pg_temp.resume(5, 0, 'decline', 'other'), 'other_engine 1',
    'declined by the owner');
SELECT is(pg_temp.call(5, 0), 'waiting decline resume', 'counts');
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(5), 0)', '22023', NULL,
    'no approval afterwards');
SELECT is(pg_temp.resume(5, 0, 'accept'), 'claimed 2', 'not by the owner');
SELECT is(pg_temp.call(5, 0), 'waiting decline resume', 'either');
SELECT alike(mcp.approve(pg_temp.id(5), 1), '%approved%', 'the other one');
SELECT alike(mcp.decline(pg_temp.id(5), 1, 'no'), '%declined%', 'taken back');
SELECT is(mcp.call_go(pg_temp.id(5), 2, 1), 'refused', 'in time');
SELECT pg_temp.settle(5, 2, 0, 'declined'),
    pg_temp.settle(5, 2, 1, 'declined') \g /dev/null
SELECT pg_temp.finish(5, 2) \g /dev/null

-- For administrators.
SELECT pg_temp.open(6) \g /dev/null
SELECT pg_temp.ask(6, 1, 0), pg_temp.ask(6, 1, 1), pg_temp.ask(6, 1, 2,
    'elicit') \g /dev/null
SELECT pg_temp.suspend(6, 1) \g /dev/null
SELECT is(count(*), 3::bigint, 'execution_waiting')
FROM mcp.execution_waiting WHERE execution_id = pg_temp.id(6);
SELECT is(args, '{"x":1}', 'call_waiting shows what is asked about')
FROM mcp.call_waiting WHERE execution_id = pg_temp.id(6) AND seq = 0;
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(6))', '22023', NULL, 'which?');
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(6), 2)', '22023', NULL,
    'a question to the user cannot be approved');
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(6), 5)', '22023', NULL,
    'no such call');
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(99))', '22023', NULL,
    'no such run');
SELECT throws_ok('SELECT mcp.approve(pg_temp.id(1))', '22023', NULL,
    'a run that is over');
SELECT alike(mcp.decline(pg_temp.id(6), 2), '%declined%',
    'but it can be declined');
SELECT alike(mcp.approve(pg_temp.id(6), 0, note => 'ok with me'),
    '%approved%', 'approved');
SELECT alike(mcp.approve(pg_temp.id(6), 0), '%was decided before: accept',
    'twice: says so');
SELECT alike(mcp.approve(pg_temp.id(6), 'the last one'), '%(call 1)%',
    'the only one left needs no number');
SELECT is((decided_by, decided_via, note)::text, '(' || session_user
    || ',sql,"ok with me")', 'who, how and why') FROM mcp.execution_call
WHERE execution_id = pg_temp.id(6) AND seq = 0;
SELECT is(array_agg(event ORDER BY audit_event_id), ARRAY[
    'execution.approved', 'execution.approved', 'execution.declined',
    'execution.declined', 'execution.approved', 'execution.approved'],
    'audited') FROM mcp.audit_event;
SELECT is(mcp.cancel_execution(pg_temp.id(6), 'enough'), true, 'cancelled');
SELECT is(mcp.cancel_execution(pg_temp.id(6)), false, 'once');
SELECT is(mcp.cancel_execution(pg_temp.id(99)), false, 'nothing there');
SELECT is(pg_temp.call(6, 0), 'cancelled accept sql', 'not sent');
SELECT is(pg_temp.call(6, 2), 'declined decline sql', 'declined as before');
SELECT is(pg_temp.resume(6), 'settled 1', 'the owner: it is over');
SELECT is(run_outcome, 'cancelled', 'and how')
FROM mcp.execution_state(pg_temp.id(6), 'i', 'a', 'o');
-- a running one
SELECT pg_temp.open(7) \g /dev/null
SELECT pg_temp.begin(7, 1, 0) \g /dev/null
SELECT is(mcp.cancel_execution(pg_temp.id(7)), true, 'a running one');
SELECT is(mcp.execution_renew(pg_temp.id(7), 1, 30), 'cancelled', 'is told');
SELECT is(pg_temp.begin(7, 1, 1), 'cancelled', 'begins nothing');
SELECT is(pg_temp.ask(7, 1, 1), 'cancelled', 'asks nothing');
SELECT is(pg_temp.suspend(7, 1), 'cancelled', 'is not suspended');
SELECT is(pg_temp.finish(7, 1), 'cancelled', 'does not finish');
SELECT is(pg_temp.settle(7, 1, 0, 'failed'), 'late', 'but says what it knows');

-- An account that is taken out of the organisation.
SELECT pg_temp.open(10), pg_temp.open(11) \g /dev/null
SELECT pg_temp.ask(10, 1, 0), pg_temp.suspend(10, 1) \g /dev/null
SELECT pg_temp.begin(11, 1, 0) \g /dev/null
SELECT is(r::text, '(0,0,0)', 'revoked') FROM mcp.revoke_account('o', 'a') r;
SELECT is(pg_temp.resume(10), 'settled 1', 'what waited is over');
SELECT is(pg_temp.begin(11, 1, 1), 'cancelled', 'what ran is told');
SELECT is(detail ->> 'runs', n::text, 'audited')
FROM mcp.audit_event, (SELECT count(*) AS n FROM mcp.execution
    WHERE status = 'cancelled' AND error ~ 'taken out') c
WHERE event = 'account.revoked';

-- The row refuses what no function does.
SELECT pg_temp.open(8) \g /dev/null
SELECT pg_temp.ask(8, 1, 0) \g /dev/null
SELECT throws_ok($$UPDATE mcp.execution_call SET status = 'running',
    started_at = now(), pending = NULL WHERE execution_id = pg_temp.id(8)$$,
    '23514', NULL, 'sent without approval');
SELECT throws_ok($$UPDATE mcp.execution SET status = 'waiting'
    WHERE execution_id = pg_temp.id(8)$$, '23514', NULL,
    'waiting without a heap');
SELECT throws_ok($$UPDATE mcp.execution SET status = 'completed'
    WHERE execution_id = pg_temp.id(8)$$, '23514', NULL,
    'over without an end');
SELECT is(attstorage, 'e', 'the heap is not compressed again')
FROM pg_attribute WHERE attrelid = 'mcp.execution'::regclass
    AND attname = 'heap';

-- A word that comes after its time, for a run that is busy with another.
SELECT pg_temp.open(20) \g /dev/null
SELECT pg_temp.ask(20, 1, 0) \g /dev/null
SELECT pg_temp.ask(20, 1, 1, 'approval', 1) \g /dev/null
SELECT is(pg_temp.suspend(20, 1), 'ok', 'two questions');
SELECT is(pg_temp.resume(20, 0), 'claimed 2', 'one is answered');
UPDATE mcp.execution_call SET deadline_at = now()
WHERE execution_id = pg_temp.id(20) AND seq = 1;
SELECT is(pg_temp.resume(20, 1), 'running 2', 'the other too late');
SELECT is(pg_temp.call(20, 1), 'waiting decline timeout',
    'and it does not count');

-- Taken up where it cannot go on, more often than a process may be lost.
SELECT pg_temp.open(21) \g /dev/null
SELECT pg_temp.ask(21, 1, 0) \g /dev/null
SELECT pg_temp.suspend(21, 1) \g /dev/null
SELECT is(pg_temp.resume(21, 0), 'claimed 2', 'taken up');
SELECT is(mcp.execution_release(pg_temp.id(21), 1), 'lost', 'not by others');
SELECT is(mcp.execution_release(pg_temp.id(21), 2), 'ok', 'given back');
SELECT is(mcp.execution_release(pg_temp.id(21), 2), 'lost', 'once');
SELECT is(pg_temp.state(21), 'waiting claimable', 'and waits, word kept');
SELECT pg_temp.resume(21, 0), mcp.execution_release(pg_temp.id(21), 2)
FROM generate_series(1, 5) \g /dev/null
SELECT is(pg_temp.resume(21, 0), 'claimed 2', 'as often as needed');
SELECT is(mcp.call_go(pg_temp.id(21), 2, 0), 'ok', 'the call is made');
SELECT is(mcp.execution_release(pg_temp.id(21), 2), 'refused',
    'then it is not given back');
SELECT is(status, 'running', 'it runs') FROM mcp.execution
WHERE execution_id = pg_temp.id(21);

-- Views.
SELECT is((path, status, action, decided_via, ms IS NOT NULL)::text,
    '(s.post,done,accept,resume,t)', 'call_recent')
FROM mcp.call_recent WHERE execution_id = pg_temp.id(2) AND seq = 1;
SELECT hasnt_column('mcp', 'call_recent', 'args', 'call_recent: no values');
SELECT hasnt_column('mcp', 'execution_waiting', 'args',
    'execution_waiting: no values');
SELECT is((status, outcome, calls, heap_bytes)::text, '(completed,finished,2,)',
    'execution_recent')
FROM mcp.execution_recent WHERE execution_id = pg_temp.id(2);
SELECT ok(runs_waiting = 0 AND calls_day > 10, 'organization_usage')
FROM mcp.organization_usage WHERE organization_id = 'o';

SELECT * FROM finish();
ROLLBACK;
