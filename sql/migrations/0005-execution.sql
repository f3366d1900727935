-- Purpose: runs of programs as rows: their state, their suspended heap, and
--   the ledger of the calls they made; approvals; what the reaper does to them.
-- Locks: mcp.sweep for an instant (three columns with constant defaults);
--   mcp.sweep_save and mcp.reap_preview are replaced.
-- Online: yes.  Programs built for 0004 do not start afterwards.
-- Way back: drop what is new here and create the two functions and two views
--   of 0002 and 0003 again; waiting runs are lost.
--
-- What must never happen is that a call is made twice, or made without the
-- word it needed.  So:
-- - every change of a run's state is made under a lock on its row in
--   mcp.execution, taken before any lock on its calls, so that a resume, an
--   administrator and the reaper at the same instant come one after another;
-- - whoever runs a run holds a number, its generation; a claim makes a new
--   one, and whoever holds an old one is told "lost" and can begin nothing;
-- - a call is committed as running before it is sent, and nothing is sent
--   that is already there; a run whose process is gone is not run again
--   unless no call of it has begun since its heap was stored.

CREATE TABLE mcp.execution (
    execution_id uuid PRIMARY KEY,
    issuer text COLLATE "C" NOT NULL
        CHECK (octet_length(issuer) BETWEEN 1 AND 1024),
    account_id text COLLATE "C" NOT NULL
        CHECK (octet_length(account_id) BETWEEN 1 AND 512),
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    session_hint text CHECK (octet_length(session_hint) <= 8),
    status text NOT NULL CHECK (status IN ('running', 'waiting', 'completed',
        'failed', 'expired', 'cancelled')),
    code_sha256 bytea NOT NULL CHECK (octet_length(code_sha256) = 32),
    engine text COLLATE "C" NOT NULL
        CHECK (octet_length(engine) BETWEEN 1 AND 256),
    generation integer NOT NULL DEFAULT 1 CHECK (generation > 0),
    heap_generation integer CHECK (heap_generation <= generation),
    heap bytea CHECK (octet_length(heap) <= 134217728),
    created_at timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    waiting_since timestamptz,
    deadline_at timestamptz,
    ended_at timestamptz,
    alarm_at timestamptz,
    wall_used_ms bigint NOT NULL DEFAULT 0 CHECK (wall_used_ms >= 0),
    outcome text CHECK (outcome ~ '^[a-z_]{1,63}$'),
    result text CHECK (octet_length(result) <= 16777216),
    error text CHECK (octet_length(error) <= 65536),
    CHECK ((heap IS NULL) = (heap_generation IS NULL)),
    CHECK ((status = 'running') = (lease_until IS NOT NULL)),
    CHECK ((status = 'waiting') = (waiting_since IS NOT NULL)),
    CHECK (status <> 'waiting'
        OR heap IS NOT NULL AND deadline_at IS NOT NULL),
    CHECK ((status IN ('running', 'waiting')) = (ended_at IS NULL)),
    CHECK ((ended_at IS NULL) = (alarm_at IS NOT NULL)),
    CHECK (ended_at IS NULL OR heap IS NULL AND outcome IS NOT NULL)
)
-- fillfactor: a lease is extended in the page, HOT.  toast: a heap comes and
-- goes with each pause, some 30 rows of it at a time.
WITH (fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 500,
    toast.autovacuum_vacuum_scale_factor = 0.05,
    toast.autovacuum_vacuum_threshold = 5000);
-- Compressed and sealed already: trying again would only cost time.
ALTER TABLE mcp.execution ALTER COLUMN heap SET STORAGE EXTERNAL;
-- The reaper's queue, and all runs that are not over.  alarm_at is not
-- written by the extension of a lease.
CREATE INDEX execution_alarm_idx ON mcp.execution (alarm_at)
    WHERE alarm_at IS NOT NULL;
-- retention
CREATE INDEX execution_ended_idx ON mcp.execution (ended_at)
    WHERE ended_at IS NOT NULL;
-- an organisation's runs, latest first
CREATE INDEX execution_organization_idx
    ON mcp.execution (organization_id, created_at);
COMMENT ON TABLE mcp.execution IS
    'Runs of programs that make calls. A waiting run is this row and nothing '
    'else: any host can go on with it';
COMMENT ON COLUMN mcp.execution.execution_id IS
    'Random; knowing it is not enough to use it';
COMMENT ON COLUMN mcp.execution.issuer IS
    'Owner: issuer, account and organisation together';
COMMENT ON COLUMN mcp.execution.account_id IS 'Owner';
COMMENT ON COLUMN mcp.execution.organization_id IS 'Owner';
COMMENT ON COLUMN mcp.execution.session_hint IS
    'First eight characters of the session that started it; the run does not '
    'depend on it';
COMMENT ON COLUMN mcp.execution.status IS
    'running, waiting (for somebody''s word), or over: completed, failed, '
    'expired, cancelled';
COMMENT ON COLUMN mcp.execution.code_sha256 IS 'Digest of the program';
COMMENT ON COLUMN mcp.execution.engine IS
    'Build of the engine; another cannot read the heap';
COMMENT ON COLUMN mcp.execution.generation IS
    'How often it was taken up; who holds an older number has lost it';
COMMENT ON COLUMN mcp.execution.heap_generation IS
    'Generation that stored the heap; sealed in';
COMMENT ON COLUMN mcp.execution.heap IS
    'The suspended program, compressed and sealed (AES-256-GCM); gone when '
    'the run is over';
COMMENT ON COLUMN mcp.execution.created_at IS 'Start of the run';
COMMENT ON COLUMN mcp.execution.lease_until IS
    'While running: without an extension its process is given up then';
COMMENT ON COLUMN mcp.execution.waiting_since IS 'While waiting: since when';
COMMENT ON COLUMN mcp.execution.deadline_at IS
    'A run that still waits then expires';
COMMENT ON COLUMN mcp.execution.ended_at IS 'When it was over';
COMMENT ON COLUMN mcp.execution.alarm_at IS
    'When the reaper looks at the row; NULL: the run is over';
COMMENT ON COLUMN mcp.execution.wall_used_ms IS
    'Time it ran; the clock stands while it waits';
COMMENT ON COLUMN mcp.execution.outcome IS
    'One word on how it ended: finished, failed, timed_out, process_lost, '
    'expired, cancelled';
COMMENT ON COLUMN mcp.execution.result IS
    'The answer as given, JSON; a resume that comes again gets it again';
COMMENT ON COLUMN mcp.execution.error IS 'Why it failed';

CREATE TABLE mcp.execution_call (
    execution_id uuid NOT NULL
        REFERENCES mcp.execution ON DELETE CASCADE,
    seq integer NOT NULL CHECK (seq >= 0),
    generation integer NOT NULL CHECK (generation > 0),
    path text COLLATE "C" NOT NULL CHECK (octet_length(path) <= 512),
    status text NOT NULL CHECK (status IN ('running', 'waiting', 'done',
        'failed', 'unknown', 'declined', 'cancelled')),
    args text CHECK (octet_length(args) <= 1048576),
    args_sha256 bytea NOT NULL CHECK (octet_length(args_sha256) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    ended_at timestamptz,
    is_error boolean,
    result text CHECK (octet_length(result) <= 1048576),
    result_sha256 bytea CHECK (octet_length(result_sha256) = 32),
    interaction_kind text CHECK (interaction_kind IN ('approval', 'elicit')),
    message text CHECK (octet_length(message) <= 65536),
    schema text CHECK (octet_length(schema) <= 1048576),
    deadline_at timestamptz,
    pending bytea CHECK (octet_length(pending) <= 16777216),
    action text CHECK (action IN ('accept', 'decline', 'cancel')),
    answer text CHECK (octet_length(answer) <= 1048576),
    decided_at timestamptz,
    decided_by text,
    decided_via text CHECK (decided_via IN ('resume', 'sql', 'timeout')),
    note text CHECK (octet_length(note) <= 4096),
    PRIMARY KEY (execution_id, seq),
    CHECK ((interaction_kind IS NULL) = (deadline_at IS NULL)),
    CHECK (interaction_kind IS NOT NULL
        OR message IS NULL AND schema IS NULL AND action IS NULL),
    CHECK ((action IS NULL) = (decided_at IS NULL)
        AND (action IS NULL) = (decided_via IS NULL)),
    CHECK ((status IN ('running', 'waiting')) = (ended_at IS NULL)),
    CHECK (status <> 'waiting'
        OR interaction_kind IS NOT NULL AND started_at IS NULL),
    -- what needed a word was not sent without it
    CHECK (started_at IS NULL OR interaction_kind IS NULL
        OR interaction_kind = 'approval'
            AND action IS NOT DISTINCT FROM 'accept'),
    CHECK (status NOT IN ('running', 'unknown') OR started_at IS NOT NULL),
    CHECK (status NOT IN ('declined', 'cancelled') OR started_at IS NULL),
    CHECK (status <> 'declined'
        OR coalesce(action, '') IN ('decline', 'cancel')),
    CHECK (pending IS NULL OR status = 'waiting')
)
WITH (fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000);
ALTER TABLE mcp.execution_call ALTER COLUMN pending SET STORAGE EXTERNAL;
-- call_recent, usage of the last day
CREATE INDEX execution_call_created_idx ON mcp.execution_call (created_at);
COMMENT ON TABLE mcp.execution_call IS
    'The ledger: what each run called. After a crash it says what ran (done, '
    'failed), what may have run (unknown) and what did not (declined, '
    'cancelled)';
COMMENT ON COLUMN mcp.execution_call.execution_id IS 'The run';
COMMENT ON COLUMN mcp.execution_call.seq IS
    'Number of the call within the run; survives suspension';
COMMENT ON COLUMN mcp.execution_call.generation IS
    'Generation of the run that last wrote here';
COMMENT ON COLUMN mcp.execution_call.path IS 'The tool''s path';
COMMENT ON COLUMN mcp.execution_call.status IS
    'running: sent, or about to be; waiting: asked, not sent; done, failed: '
    'answered; unknown: sent or not, the process is gone; declined: refused; '
    'cancelled: the run ended before it was sent';
COMMENT ON COLUMN mcp.execution_call.args IS
    'JSON; NULL: too long or not to be kept';
COMMENT ON COLUMN mcp.execution_call.args_sha256 IS 'Of the whole JSON text';
COMMENT ON COLUMN mcp.execution_call.created_at IS 'When it was called';
COMMENT ON COLUMN mcp.execution_call.started_at IS
    'Committed just before it was sent; NULL: never sent';
COMMENT ON COLUMN mcp.execution_call.ended_at IS 'When it was settled';
COMMENT ON COLUMN mcp.execution_call.is_error IS
    'The tool answered with an error';
COMMENT ON COLUMN mcp.execution_call.result IS
    'JSON; NULL: none, too long, or not to be kept';
COMMENT ON COLUMN mcp.execution_call.result_sha256 IS
    'Of the whole JSON text';
COMMENT ON COLUMN mcp.execution_call.interaction_kind IS
    'approval: may it be made; elicit: a question to the user; NULL: neither';
COMMENT ON COLUMN mcp.execution_call.message IS 'What is asked';
COMMENT ON COLUMN mcp.execution_call.schema IS
    'JSON Schema of the answer wanted';
COMMENT ON COLUMN mcp.execution_call.deadline_at IS
    'Not decided by then: declined';
COMMENT ON COLUMN mcp.execution_call.pending IS
    'While waiting: the whole arguments, sealed, for when it is sent';
COMMENT ON COLUMN mcp.execution_call.action IS
    'The decision; NULL: none yet. Until the call is sent a refusal takes '
    'the place of an approval, never the other way round';
COMMENT ON COLUMN mcp.execution_call.answer IS 'What came with it, JSON';
COMMENT ON COLUMN mcp.execution_call.decided_at IS 'When it was decided';
COMMENT ON COLUMN mcp.execution_call.decided_by IS
    'Account (resume) or database login (sql)';
COMMENT ON COLUMN mcp.execution_call.decided_via IS
    'resume: by the owner''s client; sql: mcp.approve or mcp.decline; '
    'timeout: by nobody in time';
COMMENT ON COLUMN mcp.execution_call.note IS
    'Words of whoever decided; approval_timeout';

-- Internal: when the reaper must look at a waiting run.
CREATE FUNCTION mcp.execution_alarm(p_execution_id uuid,
    p_deadline_at timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT least(p_deadline_at, min(c.deadline_at))
    FROM mcp.execution_call c
    WHERE c.execution_id = p_execution_id AND c.status = 'waiting'
        AND c.action IS NULL
$$;
COMMENT ON FUNCTION mcp.execution_alarm(uuid, timestamptz) IS
    'The next moment at which a waiting run changes by itself';

-- Internal, the run's row being locked: decline what nobody decided in time.
CREATE FUNCTION mcp.execution_overdue(p_execution_id uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n integer;
BEGIN
    UPDATE mcp.execution_call c
        SET action = 'decline', decided_at = now(), decided_via = 'timeout',
            note = 'approval_timeout'
        WHERE c.execution_id = p_execution_id AND c.status = 'waiting'
            AND c.action IS NULL AND c.deadline_at <= now();
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
COMMENT ON FUNCTION mcp.execution_overdue(uuid) IS
    'Decline the calls of a run that nobody decided in time; how many';

-- Internal, the run's row being locked: the run is over.  Calls that were
-- sent may have run, calls that were not sent have not.
CREATE FUNCTION mcp.execution_close(p_execution_id uuid, p_status text,
    p_outcome text, p_result text, p_error text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE mcp.execution_call c
        SET status = CASE WHEN c.status = 'running' THEN 'unknown'
                WHEN c.action IN ('decline', 'cancel') THEN 'declined'
                ELSE 'cancelled' END,
            ended_at = now(), pending = NULL
        WHERE c.execution_id = p_execution_id
            AND c.status IN ('running', 'waiting');
    UPDATE mcp.execution e
        SET status = p_status, outcome = p_outcome, result = p_result,
            error = p_error, ended_at = now(), lease_until = NULL,
            waiting_since = NULL, alarm_at = NULL, heap = NULL,
            heap_generation = NULL
        WHERE e.execution_id = p_execution_id;
END
$$;
COMMENT ON FUNCTION mcp.execution_close(uuid, text, text, text, text) IS
    'End a run and the calls it leaves';

-- Internal, the run's row being locked: its process is gone.  When no call
-- has begun since the heap was stored nothing can have happened, and the run
-- waits as before, decisions kept; three times, in case it is this program
-- that kills its process.
CREATE FUNCTION mcp.execution_reclaim(p_execution_id uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE mcp.execution e
        SET status = 'waiting', lease_until = NULL, waiting_since = now(),
            alarm_at = mcp.execution_alarm(e.execution_id, e.deadline_at)
        WHERE e.execution_id = p_execution_id
            AND e.generation - e.heap_generation <= 3
            AND NOT EXISTS (SELECT FROM mcp.execution_call c
                WHERE c.execution_id = e.execution_id
                    AND c.generation > e.heap_generation);
    IF FOUND THEN
        RETURN 'waiting';
    END IF;
    PERFORM mcp.execution_close(p_execution_id, 'failed', 'process_lost',
        NULL, 'The process that ran this has ended. Calls marked unknown may '
        'or may not have taken effect; the others are as listed.');
    RETURN 'failed';
END
$$;
COMMENT ON FUNCTION mcp.execution_reclaim(uuid) IS
    'The run''s process is gone: waiting again if no call has begun since '
    'its heap was stored, else failed, with calls under way unknown';

-- The responder.  P_GENERATION is what it was given by execution_open (1) or
-- execution_resume; a run taken from it answers "lost" (or "cancelled").

CREATE FUNCTION mcp.execution_open(p_execution_id uuid, p_issuer text,
    p_account_id text, p_organization_id text, p_session_id text,
    p_code_sha256 bytea, p_engine text, p_lease_s integer)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO mcp.execution (execution_id, issuer, account_id,
        organization_id, session_hint, status, code_sha256, engine,
        lease_until, alarm_at)
    VALUES (p_execution_id, p_issuer, p_account_id, p_organization_id,
        left(p_session_id, 8), 'running', p_code_sha256, p_engine,
        now() + make_interval(secs => p_lease_s),
        now() + make_interval(secs => p_lease_s))
$$;
COMMENT ON FUNCTION mcp.execution_open(uuid, text, text, text, text, bytea,
    text, integer) IS 'A run begins, as generation 1';

-- Internal: may generation P_GENERATION go on?  Locks the run against a
-- change of its state until the transaction ends.
CREATE FUNCTION mcp.execution_hold(p_execution_id uuid, p_generation integer)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e record;
BEGIN
    SELECT x.status, x.generation INTO e FROM mcp.execution x
        WHERE x.execution_id = p_execution_id FOR SHARE;
    RETURN CASE
        WHEN e.status = 'running' AND e.generation = p_generation THEN 'ok'
        WHEN e.status = 'cancelled' THEN 'cancelled'
        ELSE 'lost' END;
END
$$;
COMMENT ON FUNCTION mcp.execution_hold(uuid, integer) IS
    'ok, cancelled or lost; the run''s state is locked';

CREATE FUNCTION mcp.execution_renew(p_execution_id uuid,
    p_generation integer, p_lease_s integer)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE mcp.execution e
        SET lease_until = now() + make_interval(secs => p_lease_s)
        WHERE e.execution_id = p_execution_id AND e.status = 'running'
            AND e.generation = p_generation;
    RETURN CASE WHEN FOUND THEN 'ok'
        ELSE mcp.execution_hold(p_execution_id, p_generation) END;
END
$$;
COMMENT ON FUNCTION mcp.execution_renew(uuid, integer, integer) IS
    'Extend the lease: ok, or stop: cancelled, lost';

CREATE FUNCTION mcp.execution_release(p_execution_id uuid,
    p_generation integer)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM FROM mcp.execution x
        WHERE x.execution_id = p_execution_id FOR UPDATE;
    UPDATE mcp.execution e
        SET status = 'waiting', generation = e.generation - 1,
            lease_until = NULL, waiting_since = now(),
            alarm_at = mcp.execution_alarm(e.execution_id, e.deadline_at)
        WHERE e.execution_id = p_execution_id AND e.status = 'running'
            AND e.generation = p_generation
            AND e.heap_generation < p_generation
            AND NOT EXISTS (SELECT FROM mcp.execution_call c
                WHERE c.execution_id = e.execution_id
                    AND c.generation > e.heap_generation);
    RETURN CASE WHEN FOUND THEN 'ok'
        ELSE coalesce(nullif(mcp.execution_hold(p_execution_id,
            p_generation), 'ok'), 'refused') END;
END
$$;
COMMENT ON FUNCTION mcp.execution_release(uuid, integer) IS
    'A run that was taken up and cannot be gone on with here waits as '
    'before, decisions kept, as if it had not been taken up. ok; lost, '
    'cancelled; refused: a call of it has begun';

CREATE FUNCTION mcp.call_begin(p_execution_id uuid, p_generation integer,
    p_seq integer, p_path text, p_args text, p_args_sha256 bytea)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    o text := mcp.execution_hold(p_execution_id, p_generation);
BEGIN
    IF o <> 'ok' THEN
        RETURN o;
    END IF;
    INSERT INTO mcp.execution_call (execution_id, seq, generation, path,
            status, args, args_sha256, started_at)
        VALUES (p_execution_id, p_seq, p_generation, p_path, 'running',
            p_args, p_args_sha256, now())
        ON CONFLICT (execution_id, seq) DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'ok' ELSE 'again' END;
END
$$;
COMMENT ON FUNCTION mcp.call_begin(uuid, integer, integer, text, text,
    bytea) IS
    'Note a call about to be sent. ok: send it, once this is committed; '
    'again: it is there already, send nothing that may have been sent; '
    'cancelled, lost: stop';

CREATE FUNCTION mcp.call_ask(p_execution_id uuid, p_generation integer,
    p_seq integer, p_path text, p_args text, p_args_sha256 bytea,
    p_pending bytea, p_kind text, p_message text, p_schema text,
    p_window_s integer, OUT outcome text, OUT deadline text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    outcome := mcp.execution_hold(p_execution_id, p_generation);
    IF outcome <> 'ok' THEN
        RETURN;
    END IF;
    INSERT INTO mcp.execution_call (execution_id, seq, generation, path,
            status, args, args_sha256, pending, interaction_kind, message,
            schema, deadline_at)
        VALUES (p_execution_id, p_seq, p_generation, p_path, 'waiting',
            p_args, p_args_sha256, p_pending, p_kind, p_message, p_schema,
            now() + make_interval(secs => p_window_s))
        ON CONFLICT (execution_id, seq) DO NOTHING;
    outcome := CASE WHEN FOUND THEN 'ok' ELSE 'again' END;
    deadline := mcp.iso(now() + make_interval(secs => p_window_s));
END
$$;
COMMENT ON FUNCTION mcp.call_ask(uuid, integer, integer, text, text, bytea,
    bytea, text, text, text, integer) IS
    'Note a call that waits for somebody''s word: ok, again, cancelled, lost';

CREATE FUNCTION mcp.call_go(p_execution_id uuid, p_generation integer,
    p_seq integer)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    o text := mcp.execution_hold(p_execution_id, p_generation);
    c record;
BEGIN
    IF o <> 'ok' THEN
        RETURN o;
    END IF;
    UPDATE mcp.execution_call x
        SET status = 'running', started_at = now(), pending = NULL,
            generation = p_generation
        WHERE x.execution_id = p_execution_id AND x.seq = p_seq
            AND x.status = 'waiting' AND x.interaction_kind = 'approval'
            AND x.action = 'accept';
    IF FOUND THEN
        RETURN 'ok';
    END IF;
    SELECT x.status, x.action INTO c FROM mcp.execution_call x
        WHERE x.execution_id = p_execution_id AND x.seq = p_seq;
    RETURN CASE WHEN c.status = 'waiting' THEN 'refused' ELSE 'again' END;
END
$$;
COMMENT ON FUNCTION mcp.call_go(uuid, integer, integer) IS
    'An approved call is about to be sent. ok: send it, once this is '
    'committed; refused: not approved (any more); again: sent or settled '
    'already; cancelled, lost: stop';

CREATE FUNCTION mcp.call_settle(p_execution_id uuid, p_generation integer,
    p_seq integer, p_status text, p_is_error boolean, p_result text,
    p_result_sha256 bytea)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c record;
    o text;
BEGIN
    IF p_status NOT IN ('done', 'failed', 'unknown', 'declined') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such status';
    END IF;
    -- Only the generation that sent it knows what came of it, and it may say
    -- so after the run was taken from it: then unknown becomes known.
    UPDATE mcp.execution_call x
        SET status = p_status, ended_at = now(), is_error = p_is_error,
            result = p_result, result_sha256 = p_result_sha256
        FROM mcp.execution_call old
        WHERE x.execution_id = p_execution_id AND x.seq = p_seq
            AND x.generation = p_generation
            AND x.status IN ('running', 'unknown')
            AND (p_status IN ('done', 'failed')
                OR p_status = 'unknown' AND x.status = 'running')
            AND old.execution_id = x.execution_id AND old.seq = x.seq
        RETURNING old.status INTO c;
    IF FOUND THEN
        RETURN CASE WHEN c.status = 'unknown' THEN 'late' ELSE 'ok' END;
    END IF;
    SELECT x.status, x.generation INTO c FROM mcp.execution_call x
        WHERE x.execution_id = p_execution_id AND x.seq = p_seq;
    IF c.status = p_status THEN
        RETURN 'again';
    ELSIF c.status IS DISTINCT FROM 'waiting' THEN
        RETURN 'lost';
    END IF;
    -- Not sent: a refusal, or the answer to a question.
    o := mcp.execution_hold(p_execution_id, p_generation);
    IF o <> 'ok' THEN
        RETURN o;
    END IF;
    UPDATE mcp.execution_call x
        SET status = p_status, ended_at = now(), is_error = p_is_error,
            result = p_result, result_sha256 = p_result_sha256,
            pending = NULL, generation = p_generation
        WHERE x.execution_id = p_execution_id AND x.seq = p_seq
            AND x.status = 'waiting'
            AND (p_status = 'declined' AND x.action IN ('decline', 'cancel')
                OR p_status IN ('done', 'failed')
                    AND x.interaction_kind = 'elicit'
                    AND x.action IS NOT NULL);
    RETURN CASE WHEN FOUND THEN 'ok' ELSE 'refused' END;
END
$$;
COMMENT ON FUNCTION mcp.call_settle(uuid, integer, integer, text, boolean,
    text, bytea) IS
    'Note what came of a call: done, failed, unknown, or (never sent) '
    'declined. ok; again: known already; late: the run was given up before; '
    'refused: still waits for a decision; cancelled, lost: not noted';

CREATE FUNCTION mcp.execution_suspend(p_execution_id uuid,
    p_generation integer, p_heap bytea, p_wall_used_ms bigint,
    p_keep_s integer)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e record;
    c record;
BEGIN
    SELECT x.status, x.generation, x.heap_generation INTO e
        FROM mcp.execution x
        WHERE x.execution_id = p_execution_id FOR UPDATE;
    IF e.status = 'waiting' AND e.generation = p_generation
        AND e.heap_generation = p_generation
    THEN
        RETURN 'again';
    ELSIF e.status = 'cancelled' THEN
        RETURN 'cancelled';
    ELSIF e.status IS DISTINCT FROM 'running'
        OR e.generation <> p_generation
    THEN
        RETURN 'lost';
    END IF;
    SELECT count(*) FILTER (WHERE x.status = 'running') AS n_running,
            count(*) FILTER (WHERE x.status = 'waiting') AS n_waiting,
            max(x.deadline_at) FILTER (WHERE x.status = 'waiting')
                + make_interval(secs => p_keep_s) AS deadline_at
        INTO c FROM mcp.execution_call x
        WHERE x.execution_id = p_execution_id;
    IF c.n_running > 0 OR c.n_waiting = 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE =
            'a run is suspended when no call is under way and one waits';
    END IF;
    UPDATE mcp.execution x
        SET status = 'waiting', heap = p_heap,
            heap_generation = p_generation, wall_used_ms = p_wall_used_ms,
            waiting_since = now(), lease_until = NULL,
            deadline_at = c.deadline_at,
            alarm_at = mcp.execution_alarm(p_execution_id, c.deadline_at)
        WHERE x.execution_id = p_execution_id;
    RETURN 'ok';
END
$$;
COMMENT ON FUNCTION mcp.execution_suspend(uuid, integer, bytea, bigint,
    integer) IS
    'Store the heap; the run waits, at most p_keep_s beyond its last call''s '
    'deadline: ok, again, cancelled, lost';

CREATE FUNCTION mcp.execution_settle(p_execution_id uuid,
    p_generation integer, p_status text, p_outcome text, p_result text,
    p_error text, p_wall_used_ms bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e record;
BEGIN
    IF p_status NOT IN ('completed', 'failed', 'cancelled') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such status';
    END IF;
    SELECT x.status, x.generation INTO e FROM mcp.execution x
        WHERE x.execution_id = p_execution_id FOR UPDATE;
    IF e.generation = p_generation AND e.status = 'running' THEN
        UPDATE mcp.execution x SET wall_used_ms = p_wall_used_ms
            WHERE x.execution_id = p_execution_id;
        PERFORM mcp.execution_close(p_execution_id, p_status, p_outcome,
            p_result, p_error);
        RETURN 'ok';
    END IF;
    RETURN CASE
        WHEN e.generation = p_generation AND e.status = p_status THEN 'again'
        WHEN e.status = 'cancelled' THEN 'cancelled'
        ELSE 'lost' END;
END
$$;
COMMENT ON FUNCTION mcp.execution_settle(uuid, integer, text, text, text,
    text, bigint) IS
    'The run is over, with its answer: ok, again, cancelled, lost. Calls '
    'still under way become unknown, those that wait cancelled';

CREATE FUNCTION mcp.execution_state(p_execution_id uuid, p_issuer text,
    p_account_id text, p_organization_id text,
    OUT outcome text, OUT status text, OUT generation integer,
    OUT wall_used_ms bigint, OUT run_outcome text, OUT result text,
    OUT error text, OUT deadline text, OUT is_claimable boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    e record;
BEGIN
    SELECT x.issuer, x.account_id, x.organization_id, x.status, x.generation,
            x.wall_used_ms, x.outcome, x.result, x.error, x.deadline_at,
            x.lease_until
        INTO e FROM mcp.execution x WHERE x.execution_id = p_execution_id;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    ELSIF (e.issuer, e.account_id, e.organization_id)
        IS DISTINCT FROM (p_issuer, p_account_id, p_organization_id)
    THEN
        outcome := 'forbidden';
        RETURN;
    END IF;
    status := e.status;
    generation := e.generation;
    wall_used_ms := e.wall_used_ms;
    run_outcome := e.outcome;
    result := e.result;
    error := e.error;
    deadline := mcp.iso(e.deadline_at);
    outcome := CASE
        WHEN e.status = 'expired'
            OR e.status = 'waiting' AND e.deadline_at <= now() THEN 'expired'
        WHEN e.status IN ('running', 'waiting') THEN e.status
        ELSE 'settled' END;
    is_claimable := outcome = 'running' AND e.lease_until <= now()
        OR outcome = 'waiting' AND EXISTS (SELECT FROM mcp.execution_call c
            WHERE c.execution_id = p_execution_id AND c.status = 'waiting'
                AND (c.action IS NOT NULL OR c.deadline_at <= now()));
END
$$;
COMMENT ON FUNCTION mcp.execution_state(uuid, text, text, text) IS
    'How a run stands, for its owner; always one row. outcome: running, '
    'waiting, settled, expired, not_found, forbidden. is_claimable: '
    'execution_resume without an action would get further';

CREATE FUNCTION mcp.execution_resume(p_execution_id uuid, p_issuer text,
    p_account_id text, p_organization_id text, p_seq integer, p_action text,
    p_answer text, p_engine text, p_lease_s integer,
    OUT outcome text, OUT status text, OUT generation integer,
    OUT heap_generation integer, OUT engine text, OUT heap bytea,
    OUT wall_used_ms bigint, OUT run_outcome text, OUT result text,
    OUT error text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    e record;
    c record;
    target integer;
    n_asked integer;
    n_open integer;
BEGIN
    IF p_action NOT IN ('accept', 'decline', 'cancel') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such action';
    END IF;
    -- Strangers are answered before anything is locked.
    SELECT x.issuer, x.account_id, x.organization_id INTO e
        FROM mcp.execution x WHERE x.execution_id = p_execution_id;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    ELSIF (e.issuer, e.account_id, e.organization_id)
        IS DISTINCT FROM (p_issuer, p_account_id, p_organization_id)
    THEN
        outcome := 'forbidden';
        RETURN;
    END IF;
    SELECT x.status, x.lease_until, x.deadline_at INTO e
        FROM mcp.execution x WHERE x.execution_id = p_execution_id
        FOR UPDATE;
    IF NOT FOUND THEN -- the reaper, just now
        outcome := 'not_found';
        RETURN;
    END IF;
    -- What the reaper would do, if it has not come by.
    IF e.status = 'running' AND e.lease_until <= now() THEN
        PERFORM mcp.execution_reclaim(p_execution_id);
    END IF;
    SELECT x.status, x.deadline_at INTO e FROM mcp.execution x
        WHERE x.execution_id = p_execution_id;
    IF e.status = 'waiting' AND e.deadline_at <= now() THEN
        PERFORM mcp.execution_close(p_execution_id, 'expired', 'expired',
            NULL, NULL);
    ELSIF e.status IN ('waiting', 'running') THEN
        PERFORM mcp.execution_overdue(p_execution_id);
    END IF;

    SELECT x.* INTO e FROM mcp.execution x
        WHERE x.execution_id = p_execution_id;
    status := e.status;
    generation := e.generation;
    engine := e.engine;
    wall_used_ms := e.wall_used_ms;
    run_outcome := e.outcome;
    result := e.result;
    error := e.error;
    IF e.ended_at IS NOT NULL THEN
        outcome := CASE WHEN e.status = 'expired' THEN 'expired'
            ELSE 'settled' END;
        RETURN;
    END IF;

    -- Whose word is it?  Without a number only where it cannot be meant for
    -- anything else: a resume that comes twice must not approve the next
    -- question, which nobody has seen.
    IF p_action IS NOT NULL THEN
        SELECT count(*) FILTER (WHERE x.interaction_kind IS NOT NULL),
                count(*) FILTER (WHERE x.status = 'waiting'
                    AND x.action IS NULL),
                min(x.seq) FILTER (WHERE x.interaction_kind IS NOT NULL)
            INTO n_asked, n_open, target FROM mcp.execution_call x
            WHERE x.execution_id = p_execution_id;
        IF p_seq IS NOT NULL THEN
            target := p_seq;
        ELSIF n_asked <> 1 THEN
            IF e.status = 'waiting' AND n_open > 0 THEN
                outcome := 'seq_required';
                RETURN;
            END IF;
            target := NULL;
        END IF;
        IF target IS NOT NULL THEN
            SELECT x.status, x.action, x.interaction_kind INTO c
                FROM mcp.execution_call x
                WHERE x.execution_id = p_execution_id AND x.seq = target;
            IF c.interaction_kind IS NULL THEN
                outcome := 'no_call';
                RETURN;
            ELSIF c.status = 'waiting' AND (c.action IS NULL
                OR c.action = 'accept' AND p_action <> 'accept')
            THEN
                PERFORM mcp.call_decide(p_execution_id, target, p_action,
                    p_answer, p_account_id, 'resume', NULL);
            END IF;
        END IF;
    END IF;

    IF e.status = 'running' THEN
        outcome := 'running';
    ELSIF NOT EXISTS (SELECT FROM mcp.execution_call x
        WHERE x.execution_id = p_execution_id AND x.status = 'waiting'
            AND x.action IS NOT NULL)
    THEN
        outcome := 'waiting';
    ELSIF e.engine <> p_engine THEN
        outcome := 'other_engine';
    ELSE
        UPDATE mcp.execution x
            SET status = 'running', generation = x.generation + 1,
                waiting_since = NULL,
                lease_until = now() + make_interval(secs => p_lease_s),
                alarm_at = now() + make_interval(secs => p_lease_s)
            WHERE x.execution_id = p_execution_id;
        outcome := 'claimed';
        status := 'running';
        generation := e.generation + 1;
        heap_generation := e.heap_generation;
        heap := e.heap;
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.execution_resume(uuid, text, text, text, integer,
    text, text, text, integer) IS
    'Note a decision of the owner (p_action; NULL: none) on call p_seq (NULL: '
    'the only one ever asked about) and take the run up if it can go on; '
    'always one row. outcome: claimed (you run it, with heap and generation), '
    'running (another does), waiting (nothing decided), seq_required, '
    'no_call, settled (with the answer recorded), expired, other_engine, '
    'not_found, forbidden';

-- Internal, the run's row being locked.
CREATE FUNCTION mcp.call_decide(p_execution_id uuid, p_seq integer,
    p_action text, p_answer text, p_by text, p_via text, p_note text)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE mcp.execution_call c
        SET action = p_action, answer = p_answer, decided_at = now(),
            decided_by = p_by, decided_via = p_via, note = p_note
        WHERE c.execution_id = p_execution_id AND c.seq = p_seq;
    UPDATE mcp.execution e
        SET alarm_at = mcp.execution_alarm(e.execution_id, e.deadline_at)
        WHERE e.execution_id = p_execution_id AND e.status = 'waiting'
$$;
COMMENT ON FUNCTION mcp.call_decide(uuid, integer, text, text, text, text,
    text) IS 'Write a decision';

CREATE FUNCTION mcp.execution_calls(p_execution_id uuid)
RETURNS TABLE (seq integer, path text, status text, generation integer,
    args text, args_sha256 text, pending bytea, interaction_kind text,
    message text, schema text, deadline text, action text, answer text,
    decided_via text, note text, is_error boolean, ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.seq, c.path, c.status, c.generation, c.args,
        encode(c.args_sha256, 'hex'), c.pending, c.interaction_kind,
        c.message, c.schema, mcp.iso(c.deadline_at), c.action, c.answer,
        c.decided_via, c.note, c.is_error,
        (extract(epoch FROM c.ended_at - c.started_at) * 1000)::bigint
    FROM mcp.execution_call c WHERE c.execution_id = p_execution_id
    ORDER BY c.seq
$$;
COMMENT ON FUNCTION mcp.execution_calls(uuid) IS
    'The calls of a run, by number; ms: from sending to the answer. Call it '
    'after execution_resume or execution_state has let the owner in';

-- For people.  They note a decision only: the run goes on when its owner's
-- client resumes it.

CREATE FUNCTION mcp.execution_decide(p_execution_id uuid, p_seq integer,
    p_action text, p_note text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e record;
    c record;
BEGIN
    SELECT x.* INTO e FROM mcp.execution x
        WHERE x.execution_id = p_execution_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such execution';
    ELSIF e.ended_at IS NOT NULL THEN
        RAISE invalid_parameter_value
            USING MESSAGE = 'the run is over: ' || e.status;
    ELSIF e.deadline_at <= now() AND e.status = 'waiting' THEN
        RAISE invalid_parameter_value
            USING MESSAGE = 'the run has expired';
    END IF;
    BEGIN
        SELECT x.* INTO STRICT c FROM mcp.execution_call x
            WHERE x.execution_id = p_execution_id
                AND CASE WHEN p_seq IS NULL
                    THEN x.status = 'waiting' AND (x.action IS NULL
                        OR x.action = 'accept' AND p_action <> 'accept')
                    ELSE x.seq = p_seq END;
    EXCEPTION
        WHEN too_many_rows THEN
            RAISE invalid_parameter_value USING MESSAGE =
                'several calls wait; name one by its seq',
                HINT = 'SELECT seq, path, message FROM '
                    'mcp.execution_waiting WHERE execution_id = '''
                    || p_execution_id || '''';
        WHEN no_data_found THEN
            RAISE invalid_parameter_value
                USING MESSAGE = 'no such call waits';
    END;
    IF c.status <> 'waiting' THEN
        RAISE invalid_parameter_value
            USING MESSAGE = format('call %s is not waiting: %s', c.seq,
                c.status);
    ELSIF c.action = p_action THEN
        RETURN format('%s (call %s) was decided before: %s', c.path, c.seq,
            c.action);
    ELSIF c.action IS NOT NULL
        AND NOT (c.action = 'accept' AND p_action <> 'accept')
    THEN
        RAISE invalid_parameter_value
            USING MESSAGE = format('call %s was decided before: %s', c.seq,
                c.action);
    ELSIF c.action IS NULL AND c.deadline_at <= now() THEN
        RAISE invalid_parameter_value
            USING MESSAGE = format('the time for call %s is over', c.seq);
    ELSIF p_action = 'accept' AND c.interaction_kind <> 'approval' THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'call %s asks the user a question; it can only be declined',
            c.seq);
    END IF;
    PERFORM mcp.call_decide(p_execution_id, c.seq, p_action, NULL,
        session_user, 'sql', p_note);
    PERFORM mcp.audit_write(CASE p_action WHEN 'accept'
            THEN 'execution.approved' ELSE 'execution.declined' END,
        e.issuer, e.account_id, e.organization_id, e.session_hint,
        jsonb_strip_nulls(jsonb_build_object('execution_id', p_execution_id,
            'seq', c.seq, 'path', c.path, 'note', p_note)));
    RETURN format('%s (call %s): %s; the run goes on when its owner resumes '
        'it', c.path, c.seq, CASE p_action WHEN 'accept' THEN 'approved'
            ELSE 'declined' END);
END
$$;
COMMENT ON FUNCTION mcp.execution_decide(uuid, integer, text, text) IS
    'What approve and decline do';

CREATE FUNCTION mcp.approve(execution_id uuid, seq integer DEFAULT NULL,
    note text DEFAULT NULL)
RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$SELECT mcp.execution_decide($1, $2, 'accept', $3)$$;
COMMENT ON FUNCTION mcp.approve(uuid, integer, text) IS
    'Approve the call that a run waits with; seq where several wait. The run '
    'goes on when its owner resumes it. Audited';

CREATE FUNCTION mcp.approve(execution_id uuid, note text) RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$SELECT mcp.execution_decide($1, NULL, 'accept', $2)$$;
COMMENT ON FUNCTION mcp.approve(uuid, text) IS
    'Approve the only call that a run waits with. Audited';

CREATE FUNCTION mcp.decline(execution_id uuid, seq integer DEFAULT NULL,
    note text DEFAULT NULL)
RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$SELECT mcp.execution_decide($1, $2, 'decline', $3)$$;
COMMENT ON FUNCTION mcp.decline(uuid, integer, text) IS
    'Refuse the call that a run waits with, or an approval that has not been '
    'used; seq where several wait. The program is told. Audited';

CREATE FUNCTION mcp.decline(execution_id uuid, note text) RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$SELECT mcp.execution_decide($1, NULL, 'decline', $2)$$;
COMMENT ON FUNCTION mcp.decline(uuid, text) IS
    'Refuse the only call that a run waits with. Audited';

CREATE FUNCTION mcp.cancel_execution(execution_id uuid,
    note text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    e record;
BEGIN
    SELECT x.* INTO e FROM mcp.execution x
        WHERE x.execution_id = cancel_execution.execution_id FOR UPDATE;
    IF NOT FOUND OR e.ended_at IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM mcp.execution_close(e.execution_id, 'cancelled', 'cancelled',
        NULL, 'An administrator has ended this run.');
    PERFORM mcp.audit_write('execution.cancelled', e.issuer, e.account_id,
        e.organization_id, e.session_hint, jsonb_strip_nulls(
            jsonb_build_object('execution_id', e.execution_id, 'was',
                e.status, 'note', cancel_execution.note)));
    RETURN true;
END
$$;
COMMENT ON FUNCTION mcp.cancel_execution(uuid, text) IS
    'End a run; false: there is none, or it is over. A running one stops at '
    'its next call or heartbeat; what it has sent is unknown until it says. '
    'Audited';

-- As in 0002, and an account's runs end with its membership.
CREATE OR REPLACE FUNCTION mcp.revoke_account(p_organization_id text,
    p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    e record;
    runs bigint := 0;
BEGIN
    DELETE FROM mcp.membership m
        WHERE m.organization_id = p_organization_id
            AND m.account_id = p_account_id;
    GET DIAGNOSTICS memberships = ROW_COUNT;
    -- Sessions before tokens, the order in which mcp.enter touches them: the
    -- other way round the two could wait for each other.
    sessions := mcp.session_bury(ARRAY(SELECT s.session_id
        FROM mcp.session s WHERE s.organization_id = p_organization_id
            AND s.account_id = p_account_id), 'revoked');
    UPDATE mcp.api_token t SET revoked_at = now()
        WHERE t.organization_id = p_organization_id
            AND t.account_id = p_account_id AND t.revoked_at IS NULL;
    GET DIAGNOSTICS tokens = ROW_COUNT;
    FOR e IN SELECT x.execution_id FROM mcp.execution x
        WHERE x.organization_id = p_organization_id
            AND x.account_id = p_account_id AND x.alarm_at IS NOT NULL
        ORDER BY x.execution_id FOR UPDATE
    LOOP
        PERFORM mcp.execution_close(e.execution_id, 'cancelled', 'cancelled',
            NULL, 'The account has been taken out of the organisation.');
        runs := runs + 1;
    END LOOP;
    PERFORM mcp.audit_write('account.revoked', NULL, p_account_id,
        p_organization_id, NULL, jsonb_build_object('memberships',
            memberships, 'tokens', tokens, 'sessions', sessions, 'runs', runs));
END
$$;
COMMENT ON FUNCTION mcp.revoke_account(text, text) IS
    'Take an account out of an organisation: membership, API tokens, '
    'sessions, runs. With membership = http the provider must be told as well';

-- The reaper.
CREATE FUNCTION mcp.reap_executions(p_batch integer, p_retention_s bigint,
    OUT due bigint, OUT declined bigint, OUT failed bigint,
    OUT expired bigint, OUT purged bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    e record;
BEGIN
    due := 0;
    declined := 0;
    failed := 0;
    expired := 0;
    -- SKIP LOCKED: who holds a run is at work on it.
    FOR e IN SELECT x.execution_id, x.status, x.lease_until, x.deadline_at
        FROM mcp.execution x
        WHERE x.alarm_at <= now()
        ORDER BY x.alarm_at
        LIMIT p_batch
        FOR UPDATE SKIP LOCKED
    LOOP
        due := due + 1;
        IF e.status = 'running' AND e.lease_until > now() THEN
            UPDATE mcp.execution x SET alarm_at = x.lease_until
                WHERE x.execution_id = e.execution_id;
        ELSIF e.status = 'running' THEN
            IF mcp.execution_reclaim(e.execution_id) = 'failed' THEN
                failed := failed + 1;
            END IF;
        ELSIF e.deadline_at <= now() THEN
            PERFORM mcp.execution_close(e.execution_id, 'expired', 'expired',
                NULL, NULL);
            expired := expired + 1;
        ELSE
            declined := declined + mcp.execution_overdue(e.execution_id);
            UPDATE mcp.execution x
                SET alarm_at = mcp.execution_alarm(x.execution_id,
                    x.deadline_at)
                WHERE x.execution_id = e.execution_id;
        END IF;
    END LOOP;
    DELETE FROM mcp.execution WHERE execution_id = ANY (ARRAY(
        SELECT x.execution_id FROM mcp.execution x
        WHERE x.ended_at < now() - make_interval(secs => p_retention_s)
        ORDER BY x.ended_at LIMIT p_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS purged = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION mcp.reap_executions(integer, bigint) IS
    'One batch: calls not decided in time are declined, runs without a '
    'process fail (or wait as before), runs that waited too long expire, '
    'old ones go. due and purged < p_batch: nothing is left';

ALTER TABLE mcp.sweep
    ADD COLUMN runs_failed bigint NOT NULL DEFAULT 0
        CHECK (runs_failed >= 0),
    ADD COLUMN runs_expired bigint NOT NULL DEFAULT 0
        CHECK (runs_expired >= 0),
    ADD COLUMN calls_declined bigint NOT NULL DEFAULT 0
        CHECK (calls_declined >= 0);
COMMENT ON COLUMN mcp.sweep.runs_failed IS 'Runs whose process was gone';
COMMENT ON COLUMN mcp.sweep.runs_expired IS 'Runs that waited too long';
COMMENT ON COLUMN mcp.sweep.calls_declined IS
    'Calls that nobody decided in time';
COMMENT ON COLUMN mcp.sweep.purged IS
    'Old tombstones, audit events, sweeps and runs removed';

DROP FUNCTION mcp.sweep_save(bigint, text, bigint, bigint, bigint, boolean);
CREATE FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text,
    p_expired bigint, p_renewed bigint, p_purged bigint,
    p_is_complete boolean, p_runs_failed bigint, p_runs_expired bigint,
    p_calls_declined bigint)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO mcp.sweep (started_at, host, expired, renewed, purged,
        is_complete, runs_failed, runs_expired, calls_declined)
    VALUES (now() - make_interval(secs => p_elapsed_ms / 1000.0), p_host,
        p_expired, p_renewed, p_purged, p_is_complete, p_runs_failed,
        p_runs_expired, p_calls_declined)
$$;
COMMENT ON FUNCTION mcp.sweep_save(bigint, text, bigint, bigint, bigint,
    boolean, bigint, bigint, bigint) IS 'Record a finished run of the reaper';

DROP FUNCTION mcp.reap_preview();
CREATE FUNCTION mcp.reap_preview(p_retention_s bigint DEFAULT 604800,
    OUT expired bigint, OUT renewed bigint, OUT purged bigint,
    OUT runs_failed bigint, OUT runs_expired bigint,
    OUT calls_declined bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT q.expired, q.renewed, q.purged, r.failed, r.expired,
        (SELECT count(*) FROM mcp.execution e
            JOIN mcp.execution_call c USING (execution_id)
            WHERE e.alarm_at <= now() AND e.status = 'waiting'
                AND e.deadline_at > now() AND c.status = 'waiting'
                AND c.action IS NULL AND c.deadline_at <= now())
    FROM (SELECT count(*) FILTER (WHERE s.expired_by IS NOT NULL) AS expired,
            count(*) FILTER (WHERE s.expired_by IS NULL) AS renewed,
            (SELECT count(*) FROM mcp.session_tombstone d
                WHERE d.ended_at < now() - interval '7 days')
            + (SELECT count(*) FROM mcp.audit_event a
                WHERE a.at < now() - interval '90 days')
            + (SELECT count(*) FROM mcp.sweep w
                WHERE w.finished_at < now() - interval '7 days')
            + (SELECT count(*) FROM mcp.execution x WHERE x.ended_at
                < now() - make_interval(secs => p_retention_s)) AS purged
        FROM (SELECT mcp.session_expired_by(s.created_at,
                s.last_activity_at, s.idle_s, s.lifetime_s) AS expired_by
            FROM mcp.session s WHERE s.alarm_at <= now()) s) q,
        (SELECT count(*) FILTER (WHERE e.status = 'running'
                AND e.lease_until <= now()
                AND NOT coalesce(e.generation - e.heap_generation <= 3
                    AND NOT EXISTS (SELECT FROM mcp.execution_call c
                        WHERE c.execution_id = e.execution_id
                            AND c.generation > e.heap_generation), false))
                AS failed,
            count(*) FILTER (WHERE e.status = 'waiting'
                AND e.deadline_at <= now()) AS expired
        FROM mcp.execution e WHERE e.alarm_at <= now()) r
$$;
COMMENT ON FUNCTION mcp.reap_preview(bigint) IS
    'What a sweep would do now; changes nothing';

-- Views.
CREATE VIEW mcp.execution_waiting AS
SELECT c.execution_id,
    c.seq,
    e.organization_id,
    e.account_id,
    c.interaction_kind,
    c.path,
    c.message,
    c.created_at AS asked_at,
    c.deadline_at,
    c.action,
    c.decided_at,
    c.decided_via,
    c.decided_by,
    e.created_at,
    e.waiting_since
FROM mcp.execution e JOIN mcp.execution_call c USING (execution_id)
WHERE e.alarm_at IS NOT NULL AND e.status = 'waiting'
    AND c.status = 'waiting';
COMMENT ON VIEW mcp.execution_waiting IS
    'Calls that wait for a word (action NULL) or, decided, for their owner '
    'to resume the run';

CREATE VIEW mcp.call_waiting AS
SELECT w.*, c.args, c.schema
FROM mcp.execution_waiting w
JOIN mcp.execution_call c USING (execution_id, seq);
COMMENT ON VIEW mcp.call_waiting IS
    'execution_waiting with the arguments, for who approves';

CREATE VIEW mcp.execution_recent AS
SELECT e.execution_id,
    e.organization_id,
    e.account_id,
    e.session_hint,
    e.status,
    e.outcome,
    e.created_at,
    e.waiting_since,
    e.deadline_at,
    e.ended_at,
    e.wall_used_ms,
    octet_length(e.heap) AS heap_bytes,
    (SELECT count(*) FROM mcp.execution_call c
        WHERE c.execution_id = e.execution_id) AS calls,
    e.error
FROM mcp.execution e
WHERE e.alarm_at IS NOT NULL OR e.ended_at > now() - interval '1 day';
COMMENT ON VIEW mcp.execution_recent IS
    'Runs that are not over, and those that ended in the last day';

CREATE VIEW mcp.call_recent AS
SELECT c.execution_id,
    c.seq,
    e.organization_id,
    e.account_id,
    c.path,
    c.status,
    c.created_at,
    c.started_at,
    c.ended_at,
    (extract(epoch FROM c.ended_at - c.started_at) * 1000)::bigint AS ms,
    c.is_error,
    c.interaction_kind,
    c.action,
    c.decided_at,
    c.decided_via,
    c.decided_by,
    encode(c.args_sha256, 'hex') AS args_sha256,
    encode(c.result_sha256, 'hex') AS result_sha256
FROM mcp.execution_call c JOIN mcp.execution e USING (execution_id)
WHERE c.created_at > now() - interval '1 day';
COMMENT ON VIEW mcp.call_recent IS
    'Calls of the last day, without arguments and results';

CREATE OR REPLACE VIEW mcp.organization_usage AS
SELECT u.organization_id,
    o.name,
    sum(u.members)::bigint AS members,
    sum(u.tokens_live)::bigint AS tokens_live,
    sum(u.sessions_live)::bigint AS sessions_live,
    sum(u.sessions_expired)::bigint AS sessions_expired,
    max(u.last_activity_at) AS last_activity_at,
    sum(u.tools)::bigint AS tools,
    sum(u.runs_waiting)::bigint AS runs_waiting,
    sum(u.calls_day)::bigint AS calls_day
FROM (
    SELECT organization_id, 0 AS members, 0 AS tokens_live,
        0 AS sessions_live, 0 AS sessions_expired,
        NULL::timestamptz AS last_activity_at, 0 AS tools,
        0 AS runs_waiting, 0 AS calls_day
    FROM mcp.organization
    UNION ALL
    SELECT organization_id, count(*), 0, 0, 0, NULL, 0, 0, 0
    FROM mcp.membership GROUP BY organization_id
    UNION ALL
    SELECT organization_id, 0, count(*), 0, 0, NULL, 0, 0, 0
    FROM mcp.api_token_live GROUP BY organization_id
    UNION ALL
    SELECT s.organization_id, 0, 0, count(*) - count(s.expired_by),
        count(s.expired_by), max(s.last_activity_at), 0, 0, 0
    FROM (SELECT organization_id, last_activity_at,
            mcp.session_expired_by(created_at, last_activity_at, idle_s,
                lifetime_s) AS expired_by
        FROM mcp.session) s
    GROUP BY s.organization_id
    UNION ALL
    SELECT organization_id, 0, 0, 0, 0, NULL, count(*), 0, 0
    FROM mcp.tool GROUP BY organization_id
    UNION ALL
    SELECT organization_id, 0, 0, 0, 0, NULL, 0, count(*), 0
    FROM mcp.execution
    WHERE alarm_at IS NOT NULL AND status = 'waiting'
    GROUP BY organization_id
    UNION ALL
    SELECT organization_id, 0, 0, 0, 0, NULL, 0, 0, count(*)
    FROM mcp.call_recent GROUP BY organization_id
) u
LEFT JOIN mcp.organization o USING (organization_id)
GROUP BY u.organization_id, o.name;
COMMENT ON VIEW mcp.organization_usage IS
    'Members, tokens, sessions, tools, waiting runs and calls of the last '
    'day of each organisation that has any';

CREATE OR REPLACE VIEW mcp.sweep_recent AS
SELECT sweep_id, started_at, finished_at, host, expired, renewed, purged,
    is_complete, runs_failed, runs_expired, calls_declined
FROM mcp.sweep
WHERE finished_at > now() - interval '1 day';

COMMENT ON COLUMN mcp.audit_event.event IS
    'session.foreign, session.killed, session.drained, account.revoked, '
    'token.issued, token.revoked, member.added, member.removed, '
    'jwks.changed, source.saved, source.removed, policy.added, '
    'policy.removed, secret.set, secret.removed, execution.approved, '
    'execution.declined, execution.cancelled';
