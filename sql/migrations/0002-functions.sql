-- Purpose: everything the responder, the reaper and administrators do to the
--   tables of 0001, as functions.
-- Locks: none that matter; everything here is new.
-- Online: yes.
-- Way back: drop the functions; the data stays.
--
-- The functions are SECURITY DEFINER: the responder and the reaper hold no
-- privilege on any table.  A leaked responder password can then neither list
-- sessions or token digests, nor make itself a member, issue a token, or
-- empty a table.  Each function pins search_path, so it means the same
-- through a pooler and whatever the caller has set.

-- Only for functions that the owner of this schema makes from here on:
-- without this every new function starts executable by PUBLIC.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE FUNCTION mcp.schema_version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(max(migration_id), 0) FROM mcp.migration
$$;
COMMENT ON FUNCTION mcp.schema_version() IS
    'Number of the last migration; programs refuse another than their own';

-- The one definition of "expired".  A standard SQL body is bound when the
-- function is made, so no search_path can change it; without SET or SECURITY
-- DEFINER the planner inlines it.
CREATE FUNCTION mcp.session_expired_by(created_at timestamptz,
    last_activity_at timestamptz, idle_s integer, lifetime_s integer)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN lifetime_s > 0
        AND created_at + make_interval(secs => lifetime_s) <= now()
        THEN 'lifetime'
    WHEN last_activity_at + make_interval(secs => idle_s) <= now()
        THEN 'idle'
    END;
COMMENT ON FUNCTION mcp.session_expired_by(timestamptz, timestamptz, integer,
    integer) IS
    'idle or lifetime when a session with these columns has expired by the '
    'database''s clock, NULL while it is live';

-- Internal: an audit row.  p_session_id may be NULL.
CREATE FUNCTION mcp.audit_write(p_event text, p_issuer text,
    p_account_id text, p_organization_id text, p_session_id text,
    p_detail jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO mcp.audit_event (event, issuer, account_id, organization_id,
        session_hint, detail)
    VALUES (p_event, p_issuer, p_account_id, p_organization_id,
        left(p_session_id, 8), coalesce(p_detail, '{}'))
$$;
COMMENT ON FUNCTION mcp.audit_write(text, text, text, text, text, jsonb) IS
    'Append an audit event';

-- Internal: the use of somebody else's session.  At most one row a minute
-- for the same stranger and session, so that a loop cannot fill the disk.
CREATE FUNCTION mcp.audit_foreign(p_issuer text, p_account_id text,
    p_organization_id text, p_session_id text, p_owner_organization_id text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM mcp.audit_event a
        WHERE a.organization_id = p_organization_id
            AND a.account_id = p_account_id
            AND a.at > now() - interval '1 minute'
            AND a.event = 'session.foreign'
            AND a.issuer = p_issuer
            AND a.session_hint = left(p_session_id, 8))
    THEN
        PERFORM mcp.audit_write('session.foreign', p_issuer, p_account_id,
            p_organization_id, p_session_id,
            jsonb_build_object('owner_organization_id',
                p_owner_organization_id));
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.audit_foreign(text, text, text, text, text) IS
    'Append a session.foreign event, at most one a minute for the same use';

CREATE FUNCTION mcp.api_token_find(p_token_sha256 bytea,
    OUT outcome text, OUT issuer text, OUT account_id text,
    OUT organization_id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t record;
BEGIN
    SELECT a.issuer, a.account_id, a.organization_id, a.revoked_at,
            a.expires_at
        INTO t FROM mcp.api_token a WHERE a.token_sha256 = p_token_sha256;
    IF NOT FOUND OR t.revoked_at IS NOT NULL THEN
        outcome := 'bad_token';
    ELSIF t.expires_at <= now() THEN
        outcome := 'expired_token';
    ELSE
        outcome := 'ok';
        issuer := t.issuer;
        account_id := t.account_id;
        organization_id := t.organization_id;
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.api_token_find(bytea) IS
    'Whose token: ok with the principal, bad_token (unknown, revoked) or '
    'expired_token; always one row, nothing is written';

-- Internal: end sessions.  The only writer of tombstones.
CREATE FUNCTION mcp.session_bury(p_session_ids text[], p_reason text)
RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM mcp.session s WHERE s.session_id = ANY (p_session_ids)
        RETURNING s.*, coalesce(p_reason, mcp.session_expired_by(s.created_at,
            s.last_activity_at, s.idle_s, s.lifetime_s)) AS reason
    ), buried AS (
        INSERT INTO mcp.session_tombstone (session_id, issuer, account_id,
            organization_id, reason, readopt_until, state)
        SELECT g.session_id, g.issuer, g.account_id, g.organization_id,
            g.reason,
            CASE WHEN g.reason = 'idle' AND g.readopt_s > 0 THEN
                g.last_activity_at
                    + make_interval(secs => g.idle_s + g.readopt_s) END,
            CASE WHEN g.reason = 'idle' AND g.readopt_s > 0 THEN
                jsonb_build_object(
                    'protocol_version', g.protocol_version,
                    'client_info', g.client_info,
                    'client_capabilities', g.client_capabilities,
                    'idle_s', g.idle_s,
                    'lifetime_s', g.lifetime_s,
                    'readopt_s', g.readopt_s,
                    'created_at', g.created_at,
                    'initialized_at', g.initialized_at) END
        FROM gone g
        ORDER BY g.session_id -- neighbours in the index
        -- an id can have been taken up again before
        ON CONFLICT (session_id) DO UPDATE SET reason = excluded.reason,
            ended_at = excluded.ended_at,
            readopt_until = excluded.readopt_until, state = excluded.state
    )
    SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION mcp.session_bury(text[], text) IS
    'Remove these sessions and leave tombstones; reason NULL: as expired';

-- Internal: take up an idle-expired session again.
CREATE FUNCTION mcp.session_readopt(p_session_id text, p_issuer text,
    p_account_id text, p_organization_id text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Of several requests at once the DELETE lets one through.
    WITH taken AS (
        DELETE FROM mcp.session_tombstone d
        WHERE d.session_id = p_session_id
            AND d.issuer = p_issuer
            AND d.account_id = p_account_id
            AND d.organization_id = p_organization_id
            AND d.readopt_until > now()
        RETURNING d.*
    )
    INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
        protocol_version, client_info, client_capabilities, idle_s,
        lifetime_s, readopt_s, created_at, initialized_at)
    SELECT t.session_id, t.issuer, t.account_id, t.organization_id,
        r.protocol_version, r.client_info, r.client_capabilities, r.idle_s,
        r.lifetime_s, r.readopt_s, r.created_at, r.initialized_at
    FROM taken t, jsonb_populate_record(NULL::mcp.session, t.state) r;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION mcp.session_readopt(text, text, text, text) IS
    'Make the session of this tombstone live again, if its owner asks in '
    'time';

-- Every request with a bearer, one round trip.  The order is the contract:
-- token, membership, owner, session.
CREATE FUNCTION mcp.enter(p_session_id text, p_issuer text,
    p_account_id text, p_organization_id text, p_token_sha256 bytea,
    p_membership text,
    OUT outcome text, OUT issuer text, OUT account_id text,
    OUT organization_id text, OUT protocol_version text,
    OUT client_capabilities text, OUT is_initialized boolean,
    OUT end_reason text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    tok record;
    ses record;
    is_member boolean;
BEGIN
    IF p_token_sha256 IS NULL THEN
        issuer := p_issuer;
        account_id := p_account_id;
        organization_id := p_organization_id;
    ELSE
        SELECT t.issuer, t.account_id, t.organization_id, t.revoked_at,
                t.expires_at, t.last_used_at
            INTO tok FROM mcp.api_token t
            WHERE t.token_sha256 = p_token_sha256;
        IF NOT FOUND OR tok.revoked_at IS NOT NULL THEN
            outcome := 'bad_token';
            RETURN;
        ELSIF tok.expires_at <= now() THEN
            outcome := 'expired_token';
            RETURN;
        END IF;
        issuer := tok.issuer;
        account_id := tok.account_id;
        organization_id := tok.organization_id;
    END IF;

    IF p_membership = 'sql' THEN
        is_member := EXISTS (SELECT FROM mcp.membership m
            WHERE m.organization_id = enter.organization_id
                AND m.account_id = enter.account_id);
    ELSIF p_membership IN ('yes', 'no') THEN
        is_member := p_membership = 'yes';
    ELSE
        RAISE invalid_parameter_value
            USING MESSAGE = 'membership must be sql, yes or no';
    END IF;
    IF NOT is_member THEN
        -- Only the owner's own row: a stranger who holds the id and lost
        -- another membership must not end the session.
        IF p_session_id IS NOT NULL THEN
            PERFORM mcp.session_bury(ARRAY[s.session_id], 'revoked')
                FROM mcp.session s
                WHERE s.session_id = p_session_id
                    AND s.issuer = enter.issuer
                    AND s.account_id = enter.account_id
                    AND s.organization_id = enter.organization_id;
        END IF;
        outcome := 'not_member';
        RETURN;
    END IF;

    IF p_session_id IS NULL THEN
        outcome := 'ok';
    ELSE
        -- Another look follows a lost race: with a touch, the reaper, DELETE,
        -- or another request that takes the session up again.
        FOR attempt IN 1 .. 3 LOOP
            SELECT s.issuer, s.account_id, s.organization_id,
                    s.protocol_version, s.client_capabilities,
                    s.initialized_at, s.last_activity_at,
                    mcp.session_expired_by(s.created_at, s.last_activity_at,
                        s.idle_s, s.lifetime_s) AS expired_by,
                    s.last_activity_at + make_interval(
                        secs => s.idle_s + s.readopt_s) > now()
                        AS is_readoptable
                INTO ses FROM mcp.session s
                WHERE s.session_id = p_session_id;
            IF NOT FOUND THEN
                end_reason := (SELECT d.reason
                    FROM mcp.session_tombstone d
                    WHERE d.session_id = p_session_id
                        AND d.issuer = enter.issuer
                        AND d.account_id = enter.account_id
                        AND d.organization_id = enter.organization_id);
                EXIT WHEN NOT mcp.session_readopt(p_session_id, issuer,
                    account_id, organization_id) AND attempt > 1;
                CONTINUE;
            END IF;
            IF (ses.issuer, ses.account_id, ses.organization_id)
                IS DISTINCT FROM (issuer, account_id, organization_id)
            THEN
                EXIT WHEN ses.expired_by IS NOT NULL;
                PERFORM mcp.audit_foreign(issuer, account_id,
                    organization_id, p_session_id, ses.organization_id);
                outcome := 'foreign';
                RETURN;
            END IF;
            IF ses.expired_by = 'lifetime'
                OR ses.expired_by = 'idle' AND NOT ses.is_readoptable
            THEN
                end_reason := ses.expired_by;
                EXIT;
            END IF;
            IF ses.last_activity_at >= now() - interval '1 second' THEN
                outcome := 'ok';
                EXIT;
            END IF;
            -- Losing the last moments of activity in a crash is harmless,
            -- so nobody waits for the disk.
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE mcp.session s SET last_activity_at = now()
                WHERE s.session_id = p_session_id
                    AND s.last_activity_at < now() - interval '1 second';
            IF FOUND THEN
                outcome := 'ok';
                EXIT;
            END IF;
        END LOOP;
        IF outcome IS NULL THEN
            outcome := 'no_session';
            RETURN;
        END IF;
        end_reason := NULL;
        protocol_version := ses.protocol_version;
        client_capabilities := ses.client_capabilities;
        is_initialized := ses.initialized_at IS NOT NULL;
    END IF;

    IF p_token_sha256 IS NOT NULL THEN
        IF tok.last_used_at IS NULL
            OR tok.last_used_at < now() - interval '1 minute'
        THEN
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE mcp.api_token t SET last_used_at = now()
                WHERE t.token_sha256 = p_token_sha256
                    AND (t.last_used_at IS NULL
                        OR t.last_used_at < now() - interval '1 minute');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.enter(text, text, text, text, bytea, text) IS
    'Admit one request; always one row. p_session_id NULL: no session is '
    'meant. p_token_sha256 given: the principal is the token''s. '
    'p_membership: sql (rows decide), yes, no (decided elsewhere). outcome: '
    'ok, bad_token, expired_token, not_member (the caller''s own session is '
    'ended), no_session (unknown, ended or expired; end_reason if it was the '
    'caller''s), foreign (audited, untouched)';

CREATE FUNCTION mcp.session_open(p_session_id text, p_issuer text,
    p_account_id text, p_organization_id text, p_protocol_version text,
    p_client_info jsonb, p_client_capabilities jsonb, p_idle_s integer,
    p_lifetime_s integer, p_readopt_s integer, p_heartbeat_s integer,
    p_max_sessions integer)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n_displaced bigint := 0;
BEGIN
    IF p_max_sessions > 0 THEN
        -- Two at once of one principal would each see room for one more.
        PERFORM pg_advisory_xact_lock(hashtextextended(
            jsonb_build_array('mcp.session', p_issuer, p_account_id,
                p_organization_id)::text, 0));
        n_displaced := mcp.session_bury(ARRAY(
            SELECT s.session_id FROM mcp.session s
            WHERE s.organization_id = p_organization_id
                AND s.account_id = p_account_id
                AND s.issuer = p_issuer
            ORDER BY s.last_activity_at DESC, s.created_at DESC
            OFFSET p_max_sessions - 1), 'displaced');
    END IF;
    INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
        protocol_version, client_info, client_capabilities, idle_s,
        lifetime_s, readopt_s, alarm_at)
    VALUES (p_session_id, p_issuer, p_account_id, p_organization_id,
        p_protocol_version, p_client_info, p_client_capabilities, p_idle_s,
        p_lifetime_s, p_readopt_s,
        now() + make_interval(secs => p_heartbeat_s));
    RETURN n_displaced;
END
$$;
COMMENT ON FUNCTION mcp.session_open(text, text, text, text, text, jsonb,
    jsonb, integer, integer, integer, integer, integer) IS
    'Make a session; returns how many of the principal''s others gave way to '
    'p_max_sessions (0: no cap), least recently used first';

CREATE FUNCTION mcp.session_initialized(p_session_id text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE mcp.session s SET initialized_at = now()
        WHERE s.session_id = p_session_id AND s.initialized_at IS NULL;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION mcp.session_initialized(text) IS
    'Note notifications/initialized; true the first time. Call it after '
    'mcp.enter said ok';

CREATE FUNCTION mcp.session_end(p_session_id text, p_issuer text,
    p_account_id text, p_organization_id text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ses record;
BEGIN
    SELECT s.issuer, s.account_id, s.organization_id,
            mcp.session_expired_by(s.created_at, s.last_activity_at,
                s.idle_s, s.lifetime_s) AS expired_by
        INTO ses FROM mcp.session s WHERE s.session_id = p_session_id;
    IF NOT FOUND OR ses.expired_by IS NOT NULL THEN
        RETURN 'none';
    ELSIF (ses.issuer, ses.account_id, ses.organization_id)
        IS DISTINCT FROM (p_issuer, p_account_id, p_organization_id)
    THEN
        PERFORM mcp.audit_foreign(p_issuer, p_account_id, p_organization_id,
            p_session_id, ses.organization_id);
        RETURN 'foreign';
    ELSIF mcp.session_bury(ARRAY[p_session_id], 'deleted') = 0 THEN
        RETURN 'none';
    END IF;
    RETURN 'ended';
END
$$;
COMMENT ON FUNCTION mcp.session_end(text, text, text, text) IS
    'End a session for its owner: ended, foreign (audited, untouched) or '
    'none (unknown, ended or expired)';

-- Key sets.  Ages are returned rather than times, so that no caller compares
-- its clock with this one.
CREATE FUNCTION mcp.jwks_find(p_issuer text, OUT document text,
    OUT document_age_s bigint, OUT document_version text,
    OUT metadata text, OUT metadata_age_s bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT j.document, floor(extract(epoch FROM now() - j.fetched_at))::bigint,
        extract(epoch FROM j.fetched_at)::text, j.metadata,
        floor(extract(epoch FROM now() - j.metadata_fetched_at))::bigint
    FROM (SELECT) one LEFT JOIN mcp.jwks j ON j.issuer = p_issuer
$$;
COMMENT ON FUNCTION mcp.jwks_find(text) IS
    'Key set and metadata of an issuer with their ages; one row of NULLs '
    'before the first fetch';

CREATE FUNCTION mcp.jwks_claim(p_issuer text, p_is_metadata boolean,
    p_min_interval_s integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_is_metadata THEN
        INSERT INTO mcp.jwks AS j (issuer, metadata_attempted_at)
            VALUES (p_issuer, now())
            ON CONFLICT (issuer) DO UPDATE SET metadata_attempted_at = now()
            WHERE j.metadata_attempted_at IS NULL
                OR j.metadata_attempted_at
                    <= now() - make_interval(secs => p_min_interval_s);
    ELSE
        INSERT INTO mcp.jwks AS j (issuer, attempted_at)
            VALUES (p_issuer, now())
            ON CONFLICT (issuer) DO UPDATE SET attempted_at = now()
            WHERE j.attempted_at IS NULL
                OR j.attempted_at
                    <= now() - make_interval(secs => p_min_interval_s);
    END IF;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION mcp.jwks_claim(text, boolean, integer) IS
    'true: the caller may fetch now, and nobody else within the interval, on '
    'any host. The fetch itself happens outside any transaction';

CREATE FUNCTION mcp.jwks_save(p_issuer text, p_is_metadata boolean,
    p_document text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    old_document text;
BEGIN
    IF p_is_metadata THEN
        INSERT INTO mcp.jwks AS j (issuer, metadata, metadata_fetched_at)
            VALUES (p_issuer, p_document, now())
            ON CONFLICT (issuer) DO UPDATE SET metadata = excluded.metadata,
                metadata_fetched_at = now(), failure = NULL;
        RETURN;
    END IF;
    SELECT j.document INTO old_document FROM mcp.jwks j
        WHERE j.issuer = p_issuer FOR UPDATE;
    INSERT INTO mcp.jwks AS j (issuer, document, fetched_at)
        VALUES (p_issuer, p_document, now())
        ON CONFLICT (issuer) DO UPDATE SET document = excluded.document,
            fetched_at = now(), failure = NULL;
    -- Whoever can write keys can make tokens: a change leaves a trace.
    IF old_document IS DISTINCT FROM p_document THEN
        PERFORM mcp.audit_write('jwks.changed', p_issuer, NULL, NULL, NULL,
            jsonb_build_object(
                'old_sha256', encode(sha256(
                    convert_to(old_document, 'UTF8')), 'hex'),
                'new_sha256', encode(sha256(
                    convert_to(p_document, 'UTF8')), 'hex')));
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.jwks_save(text, boolean, text) IS
    'Store a fetched key set or metadata document; a changed key set is '
    'audited';

CREATE FUNCTION mcp.jwks_fail(p_issuer text, p_failure text)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE mcp.jwks SET failure = left(p_failure, 64)
        WHERE issuer = p_issuer
$$;
COMMENT ON FUNCTION mcp.jwks_fail(text, text) IS
    'Note why a fetch failed; the stored document stays';

-- The reaper.  Each call is one short transaction over one batch.
CREATE FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer,
    p_after timestamptz DEFAULT '-infinity',
    OUT due bigint, OUT expired bigint, OUT renewed bigint,
    OUT last_alarm_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    expired_ids text[];
    live_ids text[];
BEGIN
    -- A batch lost in a crash is still due, and still refused, afterwards.
    PERFORM set_config('synchronous_commit', 'off', true);
    -- SKIP LOCKED: two reapers share the queue without waiting, and a
    -- request that holds its row is not waited for either.
    -- p_after: while an old transaction is open somewhere (pg_dump), the
    -- index keeps entries of what earlier batches did; do not wade through
    -- them in each batch anew.
    SELECT count(*), max(q.alarm_at),
            coalesce(array_agg(q.session_id)
                FILTER (WHERE q.expired_by IS NOT NULL), '{}'),
            coalesce(array_agg(q.session_id)
                FILTER (WHERE q.expired_by IS NULL), '{}')
        INTO due, last_alarm_at, expired_ids, live_ids
        FROM (SELECT s.session_id, s.alarm_at,
                    mcp.session_expired_by(s.created_at, s.last_activity_at,
                        s.idle_s, s.lifetime_s) AS expired_by
                FROM mcp.session s
                WHERE s.alarm_at BETWEEN p_after AND now()
                ORDER BY s.alarm_at
                LIMIT p_batch
                FOR UPDATE SKIP LOCKED) q;
    expired := 0;
    IF cardinality(expired_ids) > 0 THEN
        expired := mcp.session_bury(expired_ids, NULL);
    END IF;
    renewed := 0;
    IF cardinality(live_ids) > 0 THEN
        UPDATE mcp.session s
            SET alarm_at = now() + make_interval(secs => p_heartbeat_s)
            WHERE s.session_id = ANY (live_ids);
        GET DIAGNOSTICS renewed = ROW_COUNT;
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.reap_sessions(integer, integer, timestamptz) IS
    'One batch of due alarms: expired sessions go, live ones get the next '
    'alarm. due < p_batch: the queue is empty. p_after: last_alarm_at of the '
    'batch before';

CREATE FUNCTION mcp.reap_records(p_batch integer)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint;
    total bigint := 0;
BEGIN
    DELETE FROM mcp.session_tombstone WHERE session_id = ANY (ARRAY(
        SELECT d.session_id FROM mcp.session_tombstone d
        WHERE d.ended_at < now() - interval '7 days'
        ORDER BY d.ended_at LIMIT p_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM mcp.audit_event WHERE audit_event_id = ANY (ARRAY(
        SELECT a.audit_event_id FROM mcp.audit_event a
        WHERE a.at < now() - interval '90 days'
        ORDER BY a.at LIMIT p_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM mcp.sweep WHERE sweep_id = ANY (ARRAY(
        SELECT w.sweep_id FROM mcp.sweep w
        WHERE w.finished_at < now() - interval '7 days'
        ORDER BY w.finished_at LIMIT p_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN total + n;
END
$$;
COMMENT ON FUNCTION mcp.reap_records(integer) IS
    'One batch of tombstones and sweeps past 7 days and audit events past 90 '
    'days; 0: none left';

CREATE FUNCTION mcp.reap_preview(OUT expired bigint, OUT renewed bigint,
    OUT purged bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT count(*) FILTER (WHERE q.expired_by IS NOT NULL),
        count(*) FILTER (WHERE q.expired_by IS NULL),
        (SELECT count(*) FROM mcp.session_tombstone d
            WHERE d.ended_at < now() - interval '7 days')
        + (SELECT count(*) FROM mcp.audit_event a
            WHERE a.at < now() - interval '90 days')
        + (SELECT count(*) FROM mcp.sweep w
            WHERE w.finished_at < now() - interval '7 days')
    FROM (SELECT mcp.session_expired_by(s.created_at, s.last_activity_at,
            s.idle_s, s.lifetime_s) AS expired_by
        FROM mcp.session s WHERE s.alarm_at <= now()) q
$$;
COMMENT ON FUNCTION mcp.reap_preview() IS
    'What a sweep would do now; changes nothing';

CREATE FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text,
    p_expired bigint, p_renewed bigint, p_purged bigint,
    p_is_complete boolean)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO mcp.sweep (started_at, host, expired, renewed, purged,
        is_complete)
    VALUES (now() - make_interval(secs => p_elapsed_ms / 1000.0), p_host,
        p_expired, p_renewed, p_purged, p_is_complete)
$$;
COMMENT ON FUNCTION mcp.sweep_save(bigint, text, bigint, bigint, bigint,
    boolean) IS 'Record a finished run of the reaper';

-- For people.  The effect is on the next request, on every host.
CREATE FUNCTION mcp.kill_session(p_session_id text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ses record;
    n integer := 0;
    id text;
BEGIN
    IF p_session_id IS NULL OR p_session_id !~ '^[0-9a-f]{8,64}$' THEN
        RAISE invalid_parameter_value USING MESSAGE =
            'a session id, or at least its first 8 characters, is needed';
    END IF;
    -- 'g' sorts behind every hex digit
    FOR ses IN SELECT s.session_id, s.issuer, s.account_id, s.organization_id
        FROM mcp.session s
        WHERE s.session_id >= p_session_id
            AND s.session_id < p_session_id || 'g'
        LIMIT 2
    LOOP
        n := n + 1;
    END LOOP;
    IF n > 1 THEN
        RAISE invalid_parameter_value USING MESSAGE =
            'several sessions begin like this; give more characters';
    ELSIF n = 0 OR mcp.session_bury(ARRAY[ses.session_id], 'killed') = 0 THEN
        RETURN false;
    END IF;
    PERFORM mcp.audit_write('session.killed', ses.issuer, ses.account_id,
        ses.organization_id, ses.session_id, NULL);
    RETURN true;
END
$$;
COMMENT ON FUNCTION mcp.kill_session(text) IS
    'End one session, named by its id or a unique beginning of at least 8 '
    'characters; false: there is none';

CREATE FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text,
    OUT memberships bigint, OUT tokens bigint, OUT sessions bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
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
    PERFORM mcp.audit_write('account.revoked', NULL, p_account_id,
        p_organization_id, NULL, jsonb_build_object('memberships',
            memberships, 'tokens', tokens, 'sessions', sessions));
END
$$;
COMMENT ON FUNCTION mcp.revoke_account(text, text) IS
    'Take an account out of an organisation: membership, API tokens, '
    'sessions. With membership = http the provider must be told as well';

CREATE FUNCTION mcp.drain()
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint;
BEGIN
    n := mcp.session_bury(ARRAY(SELECT session_id FROM mcp.session),
        'killed');
    PERFORM mcp.audit_write('session.drained', NULL, NULL, NULL, NULL,
        jsonb_build_object('sessions', n));
    RETURN n;
END
$$;
COMMENT ON FUNCTION mcp.drain() IS
    'End every session; clients initialize anew. Returns how many';
