-- Generated from migrations/ and privileges.sql by
-- tests/guard/schema.sh --write, for reading.  Not for applying: that is
-- mcp-admin migrate.

CREATE SCHEMA mcp;

COMMENT ON SCHEMA mcp IS 'mcp-fcgi: all state of the MCP endpoint';

CREATE FUNCTION mcp.api_token_find(p_token_sha256 bytea, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.api_token_find(p_token_sha256 bytea, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text) IS 'Whose token: ok with the principal, bad_token (unknown, revoked) or expired_token; always one row, nothing is written';

CREATE FUNCTION mcp.audit_foreign(p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_owner_organization_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.audit_foreign(p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_owner_organization_id text) IS 'Append a session.foreign event, at most one a minute for the same use';

CREATE FUNCTION mcp.audit_write(p_event text, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_detail jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    INSERT INTO mcp.audit_event (event, issuer, account_id, organization_id,
        session_hint, detail)
    VALUES (p_event, p_issuer, p_account_id, p_organization_id,
        left(p_session_id, 8), coalesce(p_detail, '{}'))
$$;

COMMENT ON FUNCTION mcp.audit_write(p_event text, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_detail jsonb) IS 'Append an audit event';

CREATE FUNCTION mcp.drain() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.drain() IS 'End every session; clients initialize anew. Returns how many';

CREATE FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text) IS 'Admit one request; always one row. p_session_id NULL: no session is meant. p_token_sha256 given: the principal is the token''s. p_membership: sql (rows decide), yes, no (decided elsewhere). outcome: ok, bad_token, expired_token, not_member (the caller''s own session is ended), no_session (unknown, ended or expired; end_reason if it was the caller''s), foreign (audited, untouched)';

CREATE FUNCTION mcp.jwks_claim(p_issuer text, p_is_metadata boolean, p_min_interval_s integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.jwks_claim(p_issuer text, p_is_metadata boolean, p_min_interval_s integer) IS 'true: the caller may fetch now, and nobody else within the interval, on any host. The fetch itself happens outside any transaction';

CREATE FUNCTION mcp.jwks_fail(p_issuer text, p_failure text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    UPDATE mcp.jwks SET failure = left(p_failure, 64)
        WHERE issuer = p_issuer
$$;

COMMENT ON FUNCTION mcp.jwks_fail(p_issuer text, p_failure text) IS 'Note why a fetch failed; the stored document stays';

CREATE FUNCTION mcp.jwks_find(p_issuer text, OUT document text, OUT document_age_s bigint, OUT document_version text, OUT metadata text, OUT metadata_age_s bigint) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT j.document, floor(extract(epoch FROM now() - j.fetched_at))::bigint,
        extract(epoch FROM j.fetched_at)::text, j.metadata,
        floor(extract(epoch FROM now() - j.metadata_fetched_at))::bigint
    FROM (SELECT) one LEFT JOIN mcp.jwks j ON j.issuer = p_issuer
$$;

COMMENT ON FUNCTION mcp.jwks_find(p_issuer text, OUT document text, OUT document_age_s bigint, OUT document_version text, OUT metadata text, OUT metadata_age_s bigint) IS 'Key set and metadata of an issuer with their ages; one row of NULLs before the first fetch';

CREATE FUNCTION mcp.jwks_save(p_issuer text, p_is_metadata boolean, p_document text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.jwks_save(p_issuer text, p_is_metadata boolean, p_document text) IS 'Store a fetched key set or metadata document; a changed key set is audited';

CREATE FUNCTION mcp.kill_session(p_session_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;

COMMENT ON FUNCTION mcp.kill_session(p_session_id text) IS 'End one session, named by its id or a unique beginning of at least 8 characters; false: there is none';

CREATE FUNCTION mcp.reap_preview(OUT expired bigint, OUT renewed bigint, OUT purged bigint) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.reap_preview(OUT expired bigint, OUT renewed bigint, OUT purged bigint) IS 'What a sweep would do now; changes nothing';

CREATE FUNCTION mcp.reap_records(p_batch integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.reap_records(p_batch integer) IS 'One batch of tombstones and sweeps past 7 days and audit events past 90 days; 0: none left';

CREATE FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, OUT due bigint, OUT expired bigint, OUT renewed bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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
    SELECT count(*),
            coalesce(array_agg(q.session_id)
                FILTER (WHERE q.expired_by IS NOT NULL), '{}'),
            coalesce(array_agg(q.session_id)
                FILTER (WHERE q.expired_by IS NULL), '{}')
        INTO due, expired_ids, live_ids
        FROM (SELECT s.session_id, mcp.session_expired_by(s.created_at,
                    s.last_activity_at, s.idle_s, s.lifetime_s) AS expired_by
                FROM mcp.session s
                WHERE s.alarm_at <= now()
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

COMMENT ON FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, OUT due bigint, OUT expired bigint, OUT renewed bigint) IS 'One batch of due alarms: expired sessions go, live ones get the next alarm. due < p_batch: the queue is empty';

CREATE FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM mcp.membership m
        WHERE m.organization_id = p_organization_id
            AND m.account_id = p_account_id;
    GET DIAGNOSTICS memberships = ROW_COUNT;
    UPDATE mcp.api_token t SET revoked_at = now()
        WHERE t.organization_id = p_organization_id
            AND t.account_id = p_account_id AND t.revoked_at IS NULL;
    GET DIAGNOSTICS tokens = ROW_COUNT;
    sessions := mcp.session_bury(ARRAY(SELECT s.session_id
        FROM mcp.session s WHERE s.organization_id = p_organization_id
            AND s.account_id = p_account_id), 'revoked');
    PERFORM mcp.audit_write('account.revoked', NULL, p_account_id,
        p_organization_id, NULL, jsonb_build_object('memberships',
            memberships, 'tokens', tokens, 'sessions', sessions));
END
$$;

COMMENT ON FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) IS 'Take an account out of an organisation: membership, API tokens, sessions. With membership = http the provider must be told as well';

CREATE FUNCTION mcp.schema_version() RETURNS integer
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(max(migration_id), 0) FROM mcp.migration
$$;

COMMENT ON FUNCTION mcp.schema_version() IS 'Number of the last migration; programs refuse another than their own';

CREATE FUNCTION mcp.session_bury(p_session_ids text[], p_reason text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.session_bury(p_session_ids text[], p_reason text) IS 'Remove these sessions and leave tombstones; reason NULL: as expired';

CREATE FUNCTION mcp.session_end(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.session_end(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) IS 'End a session for its owner: ended, foreign (audited, untouched) or none (unknown, ended or expired)';

CREATE FUNCTION mcp.session_expired_by(created_at timestamp with time zone, last_activity_at timestamp with time zone, idle_s integer, lifetime_s integer) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN ((lifetime_s > 0) AND ((created_at + make_interval(secs => (lifetime_s)::double precision)) <= now())) THEN 'lifetime'::text WHEN ((last_activity_at + make_interval(secs => (idle_s)::double precision)) <= now()) THEN 'idle'::text ELSE NULL::text END;

COMMENT ON FUNCTION mcp.session_expired_by(created_at timestamp with time zone, last_activity_at timestamp with time zone, idle_s integer, lifetime_s integer) IS 'idle or lifetime when a session with these columns has expired by the database''s clock, NULL while it is live';

CREATE FUNCTION mcp.session_initialized(p_session_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE mcp.session s SET initialized_at = now()
        WHERE s.session_id = p_session_id AND s.initialized_at IS NULL;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION mcp.session_initialized(p_session_id text) IS 'Note notifications/initialized; true the first time. Call it after mcp.enter said ok';

CREATE FUNCTION mcp.session_open(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_protocol_version text, p_client_info jsonb, p_client_capabilities jsonb, p_idle_s integer, p_lifetime_s integer, p_readopt_s integer, p_heartbeat_s integer, p_max_sessions integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.session_open(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_protocol_version text, p_client_info jsonb, p_client_capabilities jsonb, p_idle_s integer, p_lifetime_s integer, p_readopt_s integer, p_heartbeat_s integer, p_max_sessions integer) IS 'Make a session; returns how many of the principal''s others gave way to p_max_sessions (0: no cap), least recently used first';

CREATE FUNCTION mcp.session_readopt(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.session_readopt(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) IS 'Make the session of this tombstone live again, if its owner asks in time';

CREATE FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    INSERT INTO mcp.sweep (started_at, host, expired, renewed, purged,
        is_complete)
    VALUES (now() - make_interval(secs => p_elapsed_ms / 1000.0), p_host,
        p_expired, p_renewed, p_purged, p_is_complete)
$$;

COMMENT ON FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean) IS 'Record a finished run of the reaper';

CREATE TABLE mcp.api_token (
    api_token_id bigint NOT NULL,
    token_sha256 bytea NOT NULL,
    token_hint text NOT NULL,
    issuer text DEFAULT 'local'::text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_token_account_id_check CHECK (((octet_length(account_id) >= 1) AND (octet_length(account_id) <= 512))),
    CONSTRAINT api_token_issuer_check CHECK (((octet_length(issuer) >= 1) AND (octet_length(issuer) <= 1024))),
    CONSTRAINT api_token_name_check CHECK ((octet_length(name) <= 256)),
    CONSTRAINT api_token_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512))),
    CONSTRAINT api_token_token_hint_check CHECK ((octet_length(token_hint) <= 4)),
    CONSTRAINT api_token_token_sha256_check CHECK ((octet_length(token_sha256) = 32))
)
WITH (fillfactor='90');

COMMENT ON TABLE mcp.api_token IS 'Opaque API tokens (mcp_...). Only the digest is kept; a lost token is replaced, never shown again. Rows stay after expiry, for the record';

COMMENT ON COLUMN mcp.api_token.api_token_id IS 'For listing and revoking';

COMMENT ON COLUMN mcp.api_token.token_sha256 IS 'SHA-256 of the whole token; 32 random bytes need no salt';

COMMENT ON COLUMN mcp.api_token.token_hint IS 'Last four characters, to tell tokens apart';

COMMENT ON COLUMN mcp.api_token.issuer IS 'ISSUER of the configuration when issued, or local; part of the identity that owns a session';

COMMENT ON COLUMN mcp.api_token.account_id IS 'Acts as this account';

COMMENT ON COLUMN mcp.api_token.organization_id IS 'In this organisation';

COMMENT ON COLUMN mcp.api_token.name IS 'What the owner calls it';

COMMENT ON COLUMN mcp.api_token.created_at IS 'Issued';

COMMENT ON COLUMN mcp.api_token.expires_at IS 'NULL: does not expire';

COMMENT ON COLUMN mcp.api_token.revoked_at IS 'NULL: not revoked. Setting it refuses the next request, on every host';

COMMENT ON COLUMN mcp.api_token.last_used_at IS 'Last accepted request, exact to a minute';

ALTER TABLE mcp.api_token ALTER COLUMN api_token_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mcp.api_token_api_token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW mcp.api_token_live AS
 SELECT t.api_token_id,
    t.token_hint,
    t.organization_id,
    t.account_id,
    t.issuer,
    t.name,
    t.created_at,
    t.expires_at,
    t.last_used_at
   FROM mcp.api_token t
  WHERE ((t.revoked_at IS NULL) AND ((t.expires_at IS NULL) OR (t.expires_at > now())));

COMMENT ON VIEW mcp.api_token_live IS 'API tokens that work';

CREATE TABLE mcp.audit_event (
    audit_event_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    event text NOT NULL,
    issuer text COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    session_hint text,
    db_user text DEFAULT SESSION_USER NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT audit_event_detail_check CHECK ((jsonb_typeof(detail) = 'object'::text)),
    CONSTRAINT audit_event_event_check CHECK ((event ~ '^[a-z]+\.[a-z_]+$'::text)),
    CONSTRAINT audit_event_session_hint_check CHECK ((octet_length(session_hint) <= 8))
);

COMMENT ON TABLE mcp.audit_event IS 'What a security officer asks for: use of foreign sessions, kills, revocations, tokens, members, keys. Kept ninety days';

COMMENT ON COLUMN mcp.audit_event.audit_event_id IS 'Order of writing';

COMMENT ON COLUMN mcp.audit_event.at IS 'When';

COMMENT ON COLUMN mcp.audit_event.event IS 'session.foreign, session.killed, session.drained, account.revoked, token.issued, token.revoked, member.added, member.removed, jwks.changed';

COMMENT ON COLUMN mcp.audit_event.issuer IS 'Who did it, or to whom';

COMMENT ON COLUMN mcp.audit_event.account_id IS 'Who did it, or to whom';

COMMENT ON COLUMN mcp.audit_event.organization_id IS 'Who did it, or to whom';

COMMENT ON COLUMN mcp.audit_event.session_hint IS 'First eight characters of the session id';

COMMENT ON COLUMN mcp.audit_event.db_user IS 'Database login that wrote it';

COMMENT ON COLUMN mcp.audit_event.detail IS 'Facts that depend on the event';

ALTER TABLE mcp.audit_event ALTER COLUMN audit_event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mcp.audit_event_audit_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW mcp.audit_recent AS
 SELECT audit_event.audit_event_id,
    audit_event.at,
    audit_event.event,
    audit_event.organization_id,
    audit_event.account_id,
    audit_event.issuer,
    audit_event.session_hint,
    audit_event.db_user,
    audit_event.detail
   FROM mcp.audit_event
  WHERE (audit_event.at > (now() - '7 days'::interval));

COMMENT ON VIEW mcp.audit_recent IS 'Audit events of the last seven days';

CREATE TABLE mcp.jwks (
    issuer text NOT NULL COLLATE pg_catalog."C",
    document text,
    fetched_at timestamp with time zone,
    attempted_at timestamp with time zone,
    metadata text,
    metadata_fetched_at timestamp with time zone,
    metadata_attempted_at timestamp with time zone,
    failure text,
    CONSTRAINT jwks_check CHECK (((document IS NULL) = (fetched_at IS NULL))),
    CONSTRAINT jwks_check1 CHECK (((metadata IS NULL) = (metadata_fetched_at IS NULL))),
    CONSTRAINT jwks_document_check CHECK ((octet_length(document) <= 1048576)),
    CONSTRAINT jwks_failure_check CHECK ((octet_length(failure) <= 256)),
    CONSTRAINT jwks_issuer_check CHECK (((octet_length(issuer) >= 1) AND (octet_length(issuer) <= 1024))),
    CONSTRAINT jwks_metadata_check CHECK ((octet_length(metadata) <= 1048576))
);

COMMENT ON TABLE mcp.jwks IS 'Key set and metadata of each issuer, shared by all processes';

COMMENT ON COLUMN mcp.jwks.issuer IS 'ISSUER of the configuration';

COMMENT ON COLUMN mcp.jwks.document IS 'RFC 7517 key set, as received';

COMMENT ON COLUMN mcp.jwks.fetched_at IS 'When the document came';

COMMENT ON COLUMN mcp.jwks.attempted_at IS 'Last claim of the right to fetch; at most one per interval';

COMMENT ON COLUMN mcp.jwks.metadata IS 'RFC 8414 document, as received';

COMMENT ON COLUMN mcp.jwks.metadata_fetched_at IS 'When the metadata came';

COMMENT ON COLUMN mcp.jwks.metadata_attempted_at IS 'Last claim of the right to fetch the metadata';

COMMENT ON COLUMN mcp.jwks.failure IS 'Why the last fetch failed; NULL: it did not';

CREATE TABLE mcp.membership (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT membership_account_id_check CHECK (((octet_length(account_id) >= 1) AND (octet_length(account_id) <= 512))),
    CONSTRAINT membership_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512)))
);

COMMENT ON TABLE mcp.membership IS 'Who belongs to which organisation, when membership = sql. Deleting a row refuses the account''s next request, on every host';

COMMENT ON COLUMN mcp.membership.organization_id IS 'Deliberately no foreign key: the organisation need not have a row';

COMMENT ON COLUMN mcp.membership.account_id IS 'As in the token''s account claim';

COMMENT ON COLUMN mcp.membership.created_at IS 'Member since';

CREATE TABLE mcp.migration (
    migration_id integer NOT NULL,
    slug text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT migration_migration_id_check CHECK ((migration_id > 0)),
    CONSTRAINT migration_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT migration_slug_check CHECK ((slug ~ '^[a-z0-9-]+$'::text))
);

COMMENT ON TABLE mcp.migration IS 'Migrations applied, in order; written by mcp-admin migrate only';

COMMENT ON COLUMN mcp.migration.migration_id IS 'Number of the file';

COMMENT ON COLUMN mcp.migration.slug IS 'Name of the file after the number';

COMMENT ON COLUMN mcp.migration.sha256 IS 'Digest of the file as applied; a file edited since is refused';

COMMENT ON COLUMN mcp.migration.applied_at IS 'When it was applied';

CREATE TABLE mcp.organization (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT organization_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 512))),
    CONSTRAINT organization_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512)))
);

COMMENT ON TABLE mcp.organization IS 'Names of organisations. An organisation works without a row here: no other table refers to this one';

COMMENT ON COLUMN mcp.organization.organization_id IS 'As in the token''s organisation claim';

COMMENT ON COLUMN mcp.organization.name IS 'For people';

COMMENT ON COLUMN mcp.organization.created_at IS 'When the row was made';

CREATE TABLE mcp.session (
    session_id text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    protocol_version text DEFAULT '2025-06-18'::text NOT NULL,
    client_info jsonb DEFAULT '{}'::jsonb NOT NULL,
    client_capabilities jsonb DEFAULT '{}'::jsonb NOT NULL,
    idle_s integer DEFAULT 300 NOT NULL,
    lifetime_s integer DEFAULT 0 NOT NULL,
    readopt_s integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    initialized_at timestamp with time zone,
    last_activity_at timestamp with time zone DEFAULT now() NOT NULL,
    alarm_at timestamp with time zone DEFAULT (now() + '00:00:30'::interval) NOT NULL,
    CONSTRAINT session_account_id_check CHECK (((octet_length(account_id) >= 1) AND (octet_length(account_id) <= 512))),
    CONSTRAINT session_client_capabilities_check CHECK (((jsonb_typeof(client_capabilities) = 'object'::text) AND (octet_length((client_capabilities)::text) <= 65536))),
    CONSTRAINT session_client_info_check CHECK (((jsonb_typeof(client_info) = 'object'::text) AND (octet_length((client_info)::text) <= 65536))),
    CONSTRAINT session_idle_s_check CHECK ((idle_s > 0)),
    CONSTRAINT session_issuer_check CHECK (((octet_length(issuer) >= 1) AND (octet_length(issuer) <= 1024))),
    CONSTRAINT session_lifetime_s_check CHECK ((lifetime_s >= 0)),
    CONSTRAINT session_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512))),
    CONSTRAINT session_protocol_version_check CHECK ((protocol_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'::text)),
    CONSTRAINT session_readopt_s_check CHECK (((readopt_s >= 0) AND (readopt_s <= 604800))),
    CONSTRAINT session_session_id_check CHECK ((session_id ~ '^[0-9a-f]{64}$'::text))
)
WITH (fillfactor='75', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05');

COMMENT ON TABLE mcp.session IS 'Live MCP sessions. Deleting a row ends the session at once, on every host';

COMMENT ON COLUMN mcp.session.session_id IS '32 random bytes in hex; knowing it is not enough to use it';

COMMENT ON COLUMN mcp.session.issuer IS 'Owner: issuer, account and organisation together';

COMMENT ON COLUMN mcp.session.account_id IS 'Owner';

COMMENT ON COLUMN mcp.session.organization_id IS 'Owner';

COMMENT ON COLUMN mcp.session.protocol_version IS 'Negotiated by initialize';

COMMENT ON COLUMN mcp.session.client_info IS 'As sent by the client';

COMMENT ON COLUMN mcp.session.client_capabilities IS 'As sent by the client';

COMMENT ON COLUMN mcp.session.idle_s IS 'Ends after so long without an accepted request';

COMMENT ON COLUMN mcp.session.lifetime_s IS 'Ends so long after created_at, used or not; 0: never';

COMMENT ON COLUMN mcp.session.readopt_s IS 'For so long after idle expiry the same owner may take the id up again';

COMMENT ON COLUMN mcp.session.created_at IS 'initialize was answered';

COMMENT ON COLUMN mcp.session.initialized_at IS 'notifications/initialized came; NULL: not yet';

COMMENT ON COLUMN mcp.session.last_activity_at IS 'Last accepted request, exact to a second';

COMMENT ON COLUMN mcp.session.alarm_at IS 'When the reaper looks at the row again';

CREATE VIEW mcp.organization_usage AS
 SELECT u.organization_id,
    o.name,
    (sum(u.members))::bigint AS members,
    (sum(u.tokens_live))::bigint AS tokens_live,
    (sum(u.sessions_live))::bigint AS sessions_live,
    (sum(u.sessions_expired))::bigint AS sessions_expired,
    max(u.last_activity_at) AS last_activity_at
   FROM (( SELECT organization.organization_id,
            0 AS members,
            0 AS tokens_live,
            0 AS sessions_live,
            0 AS sessions_expired,
            NULL::timestamp with time zone AS last_activity_at
           FROM mcp.organization
        UNION ALL
         SELECT membership.organization_id,
            count(*) AS count,
            0,
            0,
            0,
            NULL::timestamp with time zone
           FROM mcp.membership
          GROUP BY membership.organization_id
        UNION ALL
         SELECT api_token_live.organization_id,
            0,
            count(*) AS count,
            0,
            0,
            NULL::timestamp with time zone
           FROM mcp.api_token_live
          GROUP BY api_token_live.organization_id
        UNION ALL
         SELECT s.organization_id,
            0,
            0,
            (count(*) - count(s.expired_by)),
            count(s.expired_by) AS count,
            max(s.last_activity_at) AS max
           FROM ( SELECT session.organization_id,
                    session.last_activity_at,
                    mcp.session_expired_by(session.created_at, session.last_activity_at, session.idle_s, session.lifetime_s) AS expired_by
                   FROM mcp.session) s
          GROUP BY s.organization_id) u
     LEFT JOIN mcp.organization o USING (organization_id))
  GROUP BY u.organization_id, o.name;

COMMENT ON VIEW mcp.organization_usage IS 'Members, tokens and sessions of each organisation that has any';

CREATE TABLE mcp.session_tombstone (
    session_id text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    readopt_until timestamp with time zone,
    state jsonb,
    CONSTRAINT session_tombstone_check CHECK (((readopt_until IS NULL) = (state IS NULL))),
    CONSTRAINT session_tombstone_check1 CHECK (((readopt_until IS NULL) OR (reason = 'idle'::text))),
    CONSTRAINT session_tombstone_reason_check CHECK ((reason = ANY (ARRAY['idle'::text, 'lifetime'::text, 'deleted'::text, 'killed'::text, 'revoked'::text, 'displaced'::text]))),
    CONSTRAINT session_tombstone_session_id_check CHECK ((octet_length(session_id) = 64))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='1000');

COMMENT ON TABLE mcp.session_tombstone IS 'Why a session is gone; kept seven days for support and, if configured, for taking an idle session up again';

COMMENT ON COLUMN mcp.session_tombstone.session_id IS 'Id of the session';

COMMENT ON COLUMN mcp.session_tombstone.issuer IS 'Its owner';

COMMENT ON COLUMN mcp.session_tombstone.account_id IS 'Its owner';

COMMENT ON COLUMN mcp.session_tombstone.organization_id IS 'Its owner';

COMMENT ON COLUMN mcp.session_tombstone.reason IS 'idle, lifetime: expired; deleted: by the client; killed: by an administrator; revoked: membership gone; displaced: over the cap';

COMMENT ON COLUMN mcp.session_tombstone.ended_at IS 'When the row was removed, not when it expired';

COMMENT ON COLUMN mcp.session_tombstone.readopt_until IS 'Until then the owner may take it up again; NULL: never';

COMMENT ON COLUMN mcp.session_tombstone.state IS 'Columns of the session that taking up again needs';

CREATE VIEW mcp.session_ended AS
 SELECT "left"(d.session_id, 8) AS session_hint,
    d.organization_id,
    d.account_id,
    d.issuer,
    d.reason,
    d.ended_at,
    d.readopt_until
   FROM mcp.session_tombstone d;

COMMENT ON VIEW mcp.session_ended IS 'Sessions removed in the last seven days, and why';

CREATE VIEW mcp.session_expired AS
 SELECT "left"(s.session_id, 8) AS session_hint,
    s.organization_id,
    s.account_id,
    s.issuer,
    mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s, s.lifetime_s) AS expired_by,
    s.created_at,
    s.last_activity_at,
    s.alarm_at
   FROM mcp.session s
  WHERE (mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s, s.lifetime_s) IS NOT NULL);

COMMENT ON VIEW mcp.session_expired IS 'Sessions that are over and wait for the reaper; many with an old alarm_at: cron does not run';

CREATE VIEW mcp.session_live AS
 SELECT "left"(s.session_id, 8) AS session_hint,
    s.organization_id,
    s.account_id,
    s.issuer,
    (s.client_info ->> 'name'::text) AS client_name,
    (s.client_info ->> 'version'::text) AS client_version,
    s.protocol_version,
    (s.initialized_at IS NOT NULL) AS is_initialized,
    s.created_at,
    s.last_activity_at,
    LEAST((s.last_activity_at + make_interval(secs => (s.idle_s)::double precision)),
        CASE
            WHEN (s.lifetime_s > 0) THEN (s.created_at + make_interval(secs => (s.lifetime_s)::double precision))
            ELSE NULL::timestamp with time zone
        END) AS expires_at,
    s.alarm_at
   FROM mcp.session s
  WHERE (mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s, s.lifetime_s) IS NULL);

COMMENT ON VIEW mcp.session_live IS 'Sessions that a request would be answered in';

CREATE TABLE mcp.sweep (
    sweep_id bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    host text DEFAULT ''::text NOT NULL,
    expired bigint DEFAULT 0 NOT NULL,
    renewed bigint DEFAULT 0 NOT NULL,
    purged bigint DEFAULT 0 NOT NULL,
    is_complete boolean NOT NULL,
    CONSTRAINT sweep_expired_check CHECK ((expired >= 0)),
    CONSTRAINT sweep_purged_check CHECK ((purged >= 0)),
    CONSTRAINT sweep_renewed_check CHECK ((renewed >= 0))
);

COMMENT ON TABLE mcp.sweep IS 'One row per run of mcp-reaper. Kept a week';

COMMENT ON COLUMN mcp.sweep.sweep_id IS 'Order of writing';

COMMENT ON COLUMN mcp.sweep.started_at IS 'Start of the run';

COMMENT ON COLUMN mcp.sweep.finished_at IS 'End of the run';

COMMENT ON COLUMN mcp.sweep.host IS 'Where it ran';

COMMENT ON COLUMN mcp.sweep.expired IS 'Sessions removed';

COMMENT ON COLUMN mcp.sweep.renewed IS 'Sessions alive, alarm set again';

COMMENT ON COLUMN mcp.sweep.purged IS 'Old tombstones, audit events and sweeps removed';

COMMENT ON COLUMN mcp.sweep.is_complete IS 'false: stopped by its budget with work left';

CREATE VIEW mcp.sweep_recent AS
 SELECT sweep.sweep_id,
    sweep.started_at,
    sweep.finished_at,
    sweep.host,
    sweep.expired,
    sweep.renewed,
    sweep.purged,
    sweep.is_complete
   FROM mcp.sweep
  WHERE (sweep.finished_at > (now() - '1 day'::interval));

COMMENT ON VIEW mcp.sweep_recent IS 'Runs of the reaper in the last day';

ALTER TABLE mcp.sweep ALTER COLUMN sweep_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mcp.sweep_sweep_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY mcp.api_token
    ADD CONSTRAINT api_token_pkey PRIMARY KEY (api_token_id);

ALTER TABLE ONLY mcp.api_token
    ADD CONSTRAINT api_token_token_sha256_key UNIQUE (token_sha256);

ALTER TABLE ONLY mcp.audit_event
    ADD CONSTRAINT audit_event_pkey PRIMARY KEY (audit_event_id);

ALTER TABLE ONLY mcp.jwks
    ADD CONSTRAINT jwks_pkey PRIMARY KEY (issuer);

ALTER TABLE ONLY mcp.membership
    ADD CONSTRAINT membership_pkey PRIMARY KEY (organization_id, account_id);

ALTER TABLE ONLY mcp.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (migration_id);

ALTER TABLE ONLY mcp.organization
    ADD CONSTRAINT organization_pkey PRIMARY KEY (organization_id);

ALTER TABLE ONLY mcp.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY mcp.session_tombstone
    ADD CONSTRAINT session_tombstone_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY mcp.sweep
    ADD CONSTRAINT sweep_pkey PRIMARY KEY (sweep_id);

CREATE INDEX api_token_principal_idx ON mcp.api_token USING btree (organization_id, account_id);

CREATE INDEX audit_event_account_idx ON mcp.audit_event USING btree (organization_id, account_id, at);

CREATE INDEX audit_event_at_idx ON mcp.audit_event USING btree (at);

CREATE INDEX session_alarm_idx ON mcp.session USING btree (alarm_at);

CREATE INDEX session_principal_idx ON mcp.session USING btree (organization_id, account_id, issuer);

CREATE INDEX session_tombstone_ended_idx ON mcp.session_tombstone USING btree (ended_at);

CREATE INDEX sweep_finished_idx ON mcp.sweep USING btree (finished_at);

GRANT USAGE ON SCHEMA mcp TO mcp_responder;
GRANT USAGE ON SCHEMA mcp TO mcp_reaper;
GRANT USAGE ON SCHEMA mcp TO mcp_admin;
GRANT USAGE ON SCHEMA mcp TO mcp_readonly;

REVOKE ALL ON FUNCTION mcp.api_token_find(p_token_sha256 bytea, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.api_token_find(p_token_sha256 bytea, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.audit_foreign(p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_owner_organization_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.audit_write(p_event text, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_detail jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.drain() FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.drain() TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.jwks_claim(p_issuer text, p_is_metadata boolean, p_min_interval_s integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.jwks_claim(p_issuer text, p_is_metadata boolean, p_min_interval_s integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.jwks_fail(p_issuer text, p_failure text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.jwks_fail(p_issuer text, p_failure text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.jwks_find(p_issuer text, OUT document text, OUT document_age_s bigint, OUT document_version text, OUT metadata text, OUT metadata_age_s bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.jwks_find(p_issuer text, OUT document text, OUT document_age_s bigint, OUT document_version text, OUT metadata text, OUT metadata_age_s bigint) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.jwks_save(p_issuer text, p_is_metadata boolean, p_document text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.jwks_save(p_issuer text, p_is_metadata boolean, p_document text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.kill_session(p_session_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.kill_session(p_session_id text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.reap_preview(OUT expired bigint, OUT renewed bigint, OUT purged bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_preview(OUT expired bigint, OUT renewed bigint, OUT purged bigint) TO mcp_reaper;
GRANT ALL ON FUNCTION mcp.reap_preview(OUT expired bigint, OUT renewed bigint, OUT purged bigint) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.reap_records(p_batch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_records(p_batch integer) TO mcp_reaper;

REVOKE ALL ON FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, OUT due bigint, OUT expired bigint, OUT renewed bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, OUT due bigint, OUT expired bigint, OUT renewed bigint) TO mcp_reaper;

REVOKE ALL ON FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.schema_version() FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_responder;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_reaper;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_admin;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_readonly;

REVOKE ALL ON FUNCTION mcp.session_bury(p_session_ids text[], p_reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.session_end(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.session_end(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.session_expired_by(created_at timestamp with time zone, last_activity_at timestamp with time zone, idle_s integer, lifetime_s integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.session_expired_by(created_at timestamp with time zone, last_activity_at timestamp with time zone, idle_s integer, lifetime_s integer) TO mcp_admin;
GRANT ALL ON FUNCTION mcp.session_expired_by(created_at timestamp with time zone, last_activity_at timestamp with time zone, idle_s integer, lifetime_s integer) TO mcp_readonly;

REVOKE ALL ON FUNCTION mcp.session_initialized(p_session_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.session_initialized(p_session_id text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.session_open(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_protocol_version text, p_client_info jsonb, p_client_capabilities jsonb, p_idle_s integer, p_lifetime_s integer, p_readopt_s integer, p_heartbeat_s integer, p_max_sessions integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.session_open(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_protocol_version text, p_client_info jsonb, p_client_capabilities jsonb, p_idle_s integer, p_lifetime_s integer, p_readopt_s integer, p_heartbeat_s integer, p_max_sessions integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.session_readopt(p_session_id text, p_issuer text, p_account_id text, p_organization_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean) TO mcp_reaper;

GRANT SELECT(api_token_id) ON TABLE mcp.api_token TO mcp_admin;

GRANT INSERT(token_sha256) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(token_hint),INSERT(token_hint) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(issuer),INSERT(issuer) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(account_id),INSERT(account_id) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(organization_id),INSERT(organization_id) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(name),INSERT(name),UPDATE(name) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(created_at) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(expires_at),INSERT(expires_at),UPDATE(expires_at) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(revoked_at),UPDATE(revoked_at) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT(last_used_at) ON TABLE mcp.api_token TO mcp_admin;

GRANT SELECT ON TABLE mcp.api_token_live TO mcp_admin;
GRANT SELECT ON TABLE mcp.api_token_live TO mcp_readonly;

GRANT SELECT ON TABLE mcp.audit_event TO mcp_admin;

GRANT INSERT(event) ON TABLE mcp.audit_event TO mcp_admin;

GRANT INSERT(issuer) ON TABLE mcp.audit_event TO mcp_admin;

GRANT INSERT(account_id) ON TABLE mcp.audit_event TO mcp_admin;

GRANT INSERT(organization_id) ON TABLE mcp.audit_event TO mcp_admin;

GRANT INSERT(session_hint) ON TABLE mcp.audit_event TO mcp_admin;

GRANT INSERT(detail) ON TABLE mcp.audit_event TO mcp_admin;

GRANT SELECT ON TABLE mcp.audit_recent TO mcp_admin;
GRANT SELECT ON TABLE mcp.audit_recent TO mcp_readonly;

GRANT SELECT,DELETE ON TABLE mcp.jwks TO mcp_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE mcp.membership TO mcp_admin;

GRANT SELECT ON TABLE mcp.migration TO mcp_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE mcp.organization TO mcp_admin;

GRANT SELECT,DELETE ON TABLE mcp.session TO mcp_admin;

GRANT UPDATE(idle_s) ON TABLE mcp.session TO mcp_admin;

GRANT UPDATE(lifetime_s) ON TABLE mcp.session TO mcp_admin;

GRANT UPDATE(readopt_s) ON TABLE mcp.session TO mcp_admin;

GRANT SELECT ON TABLE mcp.organization_usage TO mcp_admin;
GRANT SELECT ON TABLE mcp.organization_usage TO mcp_readonly;

GRANT SELECT ON TABLE mcp.session_tombstone TO mcp_admin;

GRANT SELECT ON TABLE mcp.session_ended TO mcp_admin;
GRANT SELECT ON TABLE mcp.session_ended TO mcp_readonly;

GRANT SELECT ON TABLE mcp.session_expired TO mcp_admin;
GRANT SELECT ON TABLE mcp.session_expired TO mcp_readonly;

GRANT SELECT ON TABLE mcp.session_live TO mcp_admin;
GRANT SELECT ON TABLE mcp.session_live TO mcp_readonly;

GRANT SELECT ON TABLE mcp.sweep TO mcp_admin;

GRANT SELECT ON TABLE mcp.sweep_recent TO mcp_admin;
GRANT SELECT ON TABLE mcp.sweep_recent TO mcp_readonly;
