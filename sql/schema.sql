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

CREATE FUNCTION mcp.approve(execution_id uuid, note text) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$SELECT mcp.execution_decide($1, NULL, 'accept', $2)$_$;

COMMENT ON FUNCTION mcp.approve(execution_id uuid, note text) IS 'Approve the only call that a run waits with. Audited';

CREATE FUNCTION mcp.approve(execution_id uuid, seq integer DEFAULT NULL::integer, note text DEFAULT NULL::text) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$SELECT mcp.execution_decide($1, $2, 'accept', $3)$_$;

COMMENT ON FUNCTION mcp.approve(execution_id uuid, seq integer, note text) IS 'Approve the call that a run waits with; seq where several wait. The run goes on when its owner resumes it. Audited';

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

CREATE FUNCTION mcp.call_ask(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea, p_pending bytea, p_kind text, p_message text, p_schema text, p_window_s integer, OUT outcome text, OUT deadline text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.call_ask(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea, p_pending bytea, p_kind text, p_message text, p_schema text, p_window_s integer, OUT outcome text, OUT deadline text) IS 'Note a call that waits for somebody''s word: ok, again, cancelled, lost';

CREATE FUNCTION mcp.call_begin(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.call_begin(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea) IS 'Note a call about to be sent. ok: send it, once this is committed; again: it is there already, send nothing that may have been sent; cancelled, lost: stop';

CREATE FUNCTION mcp.call_decide(p_execution_id uuid, p_seq integer, p_action text, p_answer text, p_by text, p_via text, p_note text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    UPDATE mcp.execution_call c
        SET action = p_action, answer = p_answer, decided_at = now(),
            decided_by = p_by, decided_via = p_via, note = p_note
        WHERE c.execution_id = p_execution_id AND c.seq = p_seq;
    UPDATE mcp.execution e
        SET alarm_at = mcp.execution_alarm(e.execution_id, e.deadline_at)
        WHERE e.execution_id = p_execution_id AND e.status = 'waiting'
$$;

COMMENT ON FUNCTION mcp.call_decide(p_execution_id uuid, p_seq integer, p_action text, p_answer text, p_by text, p_via text, p_note text) IS 'Write a decision';

CREATE FUNCTION mcp.call_go(p_execution_id uuid, p_generation integer, p_seq integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.call_go(p_execution_id uuid, p_generation integer, p_seq integer) IS 'An approved call is about to be sent. ok: send it, once this is committed; refused: not approved (any more); again: sent or settled already; cancelled, lost: stop';

CREATE FUNCTION mcp.call_settle(p_execution_id uuid, p_generation integer, p_seq integer, p_status text, p_is_error boolean, p_result text, p_result_sha256 bytea) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.call_settle(p_execution_id uuid, p_generation integer, p_seq integer, p_status text, p_is_error boolean, p_result text, p_result_sha256 bytea) IS 'Note what came of a call: done, failed, unknown, or (never sent) declined. ok; again: known already; late: the run was given up before; refused: still waits for a decision; cancelled, lost: not noted';

CREATE FUNCTION mcp.cancel_execution(execution_id uuid, note text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.cancel_execution(execution_id uuid, note text) IS 'End a run; false: there is none, or it is over. A running one stops at its next call or heartbeat; what it has sent is unknown until it says. Audited';

CREATE FUNCTION mcp.catalog_bump(p_organization_ids text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO mcp.catalog_version AS v (organization_id, version)
        SELECT o, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
        FROM unnest(p_organization_ids) o
        ORDER BY o -- two that change several must not deadlock
        ON CONFLICT (organization_id) DO UPDATE
            SET version = greatest(v.version + 1, excluded.version);
    UPDATE mcp.catalog_version v SET listed = n.listed
        FROM (SELECT o, (SELECT count(*) FROM mcp.tool t
                JOIN mcp.source s USING (source_id)
                WHERE t.organization_id = o AND t.is_listed
                    AND t.is_enabled AND s.is_enabled
                    AND mcp.policy_action(o, t.path)
                        IS DISTINCT FROM 'block') AS listed
            FROM unnest(p_organization_ids) o) n
        WHERE v.organization_id = n.o AND v.listed <> n.listed;
END
$$;

COMMENT ON FUNCTION mcp.catalog_bump(p_organization_ids text[]) IS 'Give these organisations'' catalogues another version, count what is listed';

CREATE FUNCTION mcp.catalog_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM mcp.catalog_bump(ARRAY(
            SELECT DISTINCT organization_id FROM new_row));
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM mcp.catalog_bump(ARRAY(
            SELECT DISTINCT organization_id FROM old_row));
    ELSE
        PERFORM mcp.catalog_bump(ARRAY(
            SELECT organization_id FROM old_row
            UNION SELECT organization_id FROM new_row));
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION mcp.catalog_changed() IS 'Trigger of source, tool and tool_policy: catalog_bump';

CREATE FUNCTION mcp.decline(execution_id uuid, note text) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$SELECT mcp.execution_decide($1, NULL, 'decline', $2)$_$;

COMMENT ON FUNCTION mcp.decline(execution_id uuid, note text) IS 'Refuse the only call that a run waits with. Audited';

CREATE FUNCTION mcp.decline(execution_id uuid, seq integer DEFAULT NULL::integer, note text DEFAULT NULL::text) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$SELECT mcp.execution_decide($1, $2, 'decline', $3)$_$;

COMMENT ON FUNCTION mcp.decline(execution_id uuid, seq integer, note text) IS 'Refuse the call that a run waits with, or an approval that has not been used; seq where several wait. The program is told. Audited';

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

CREATE FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text, OUT catalog_version bigint, OUT listed_tools integer) RETURNS record
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
    SELECT v.version, v.listed INTO catalog_version, listed_tools
        FROM mcp.catalog_version v
        WHERE v.organization_id = enter.organization_id;
    catalog_version := coalesce(catalog_version, 0);
    listed_tools := coalesce(listed_tools, 0);

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

COMMENT ON FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text, OUT catalog_version bigint, OUT listed_tools integer) IS 'Admit one request; always one row. p_session_id NULL: no session is meant. p_token_sha256 given: the principal is the token''s. p_membership: sql (rows decide), yes, no (decided elsewhere). outcome: ok, bad_token, expired_token, not_member (the caller''s own session is ended), no_session (unknown, ended or expired; end_reason if it was the caller''s), foreign (audited, untouched). With ok: the catalogue''s version and the number of tools in tools/list, 0 without one';

CREATE FUNCTION mcp.execution_alarm(p_execution_id uuid, p_deadline_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT least(p_deadline_at, min(c.deadline_at))
    FROM mcp.execution_call c
    WHERE c.execution_id = p_execution_id AND c.status = 'waiting'
        AND c.action IS NULL
$$;

COMMENT ON FUNCTION mcp.execution_alarm(p_execution_id uuid, p_deadline_at timestamp with time zone) IS 'The next moment at which a waiting run changes by itself';

CREATE FUNCTION mcp.execution_calls(p_execution_id uuid) RETURNS TABLE(seq integer, path text, status text, generation integer, args text, args_sha256 text, pending bytea, interaction_kind text, message text, schema text, deadline text, action text, answer text, decided_via text, note text, is_error boolean, ms bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT c.seq, c.path, c.status, c.generation, c.args,
        encode(c.args_sha256, 'hex'), c.pending, c.interaction_kind,
        c.message, c.schema, mcp.iso(c.deadline_at), c.action, c.answer,
        c.decided_via, c.note, c.is_error,
        (extract(epoch FROM c.ended_at - c.started_at) * 1000)::bigint
    FROM mcp.execution_call c WHERE c.execution_id = p_execution_id
    ORDER BY c.seq
$$;

COMMENT ON FUNCTION mcp.execution_calls(p_execution_id uuid) IS 'The calls of a run, by number; ms: from sending to the answer. Call it after execution_resume or execution_state has let the owner in';

CREATE FUNCTION mcp.execution_close(p_execution_id uuid, p_status text, p_outcome text, p_result text, p_error text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_close(p_execution_id uuid, p_status text, p_outcome text, p_result text, p_error text) IS 'End a run and the calls it leaves';

CREATE FUNCTION mcp.execution_decide(p_execution_id uuid, p_seq integer, p_action text, p_note text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_decide(p_execution_id uuid, p_seq integer, p_action text, p_note text) IS 'What approve and decline do';

CREATE FUNCTION mcp.execution_hold(p_execution_id uuid, p_generation integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_hold(p_execution_id uuid, p_generation integer) IS 'ok, cancelled or lost; the run''s state is locked';

CREATE FUNCTION mcp.execution_open(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_code_sha256 bytea, p_engine text, p_lease_s integer) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    INSERT INTO mcp.execution (execution_id, issuer, account_id,
        organization_id, session_hint, status, code_sha256, engine,
        lease_until, alarm_at)
    VALUES (p_execution_id, p_issuer, p_account_id, p_organization_id,
        left(p_session_id, 8), 'running', p_code_sha256, p_engine,
        now() + make_interval(secs => p_lease_s),
        now() + make_interval(secs => p_lease_s))
$$;

COMMENT ON FUNCTION mcp.execution_open(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_code_sha256 bytea, p_engine text, p_lease_s integer) IS 'A run begins, as generation 1';

CREATE FUNCTION mcp.execution_overdue(p_execution_id uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_overdue(p_execution_id uuid) IS 'Decline the calls of a run that nobody decided in time; how many';

CREATE FUNCTION mcp.execution_reclaim(p_execution_id uuid) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_reclaim(p_execution_id uuid) IS 'The run''s process is gone: waiting again if no call has begun since its heap was stored, else failed, with calls under way unknown';

CREATE FUNCTION mcp.execution_release(p_execution_id uuid, p_generation integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_release(p_execution_id uuid, p_generation integer) IS 'A run that was taken up and cannot be gone on with here waits as before, decisions kept, as if it had not been taken up. ok; lost, cancelled; refused: a call of it has begun';

CREATE FUNCTION mcp.execution_renew(p_execution_id uuid, p_generation integer, p_lease_s integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_renew(p_execution_id uuid, p_generation integer, p_lease_s integer) IS 'Extend the lease: ok, or stop: cancelled, lost';

CREATE FUNCTION mcp.execution_resume(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_seq integer, p_action text, p_answer text, p_engine text, p_lease_s integer, OUT outcome text, OUT status text, OUT generation integer, OUT heap_generation integer, OUT engine text, OUT heap bytea, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_resume(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_seq integer, p_action text, p_answer text, p_engine text, p_lease_s integer, OUT outcome text, OUT status text, OUT generation integer, OUT heap_generation integer, OUT engine text, OUT heap bytea, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text) IS 'Note a decision of the owner (p_action; NULL: none) on call p_seq (NULL: the only one ever asked about) and take the run up if it can go on; always one row. outcome: claimed (you run it, with heap and generation), running (another does), waiting (nothing decided), seq_required, no_call, settled (with the answer recorded), expired, other_engine, not_found, forbidden';

CREATE FUNCTION mcp.execution_settle(p_execution_id uuid, p_generation integer, p_status text, p_outcome text, p_result text, p_error text, p_wall_used_ms bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_settle(p_execution_id uuid, p_generation integer, p_status text, p_outcome text, p_result text, p_error text, p_wall_used_ms bigint) IS 'The run is over, with its answer: ok, again, cancelled, lost. Calls still under way become unknown, those that wait cancelled';

CREATE FUNCTION mcp.execution_state(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, OUT outcome text, OUT status text, OUT generation integer, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text, OUT deadline text, OUT is_claimable boolean) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_state(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, OUT outcome text, OUT status text, OUT generation integer, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text, OUT deadline text, OUT is_claimable boolean) IS 'How a run stands, for its owner; always one row. outcome: running, waiting, settled, expired, not_found, forbidden. is_claimable: execution_resume without an action would get further';

CREATE FUNCTION mcp.execution_suspend(p_execution_id uuid, p_generation integer, p_heap bytea, p_wall_used_ms bigint, p_keep_s integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.execution_suspend(p_execution_id uuid, p_generation integer, p_heap bytea, p_wall_used_ms bigint, p_keep_s integer) IS 'Store the heap; the run waits, at most p_keep_s beyond its last call''s deadline: ok, again, cancelled, lost';

CREATE FUNCTION mcp.is_similar(a text, b text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (a OPERATOR(mcp_trgm.%) b);

COMMENT ON FUNCTION mcp.is_similar(a text, b text) IS 'Operator % of pg_trgm, wherever it is installed; inlined';

CREATE FUNCTION mcp.is_word_similar(word text, words text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (word OPERATOR(mcp_trgm.<%) words);

COMMENT ON FUNCTION mcp.is_word_similar(word text, words text) IS 'Operator <% of pg_trgm, wherever it is installed; inlined';

CREATE FUNCTION mcp.iso(t timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_char((t AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'::text);

COMMENT ON FUNCTION mcp.iso(t timestamp with time zone) IS 'ISO 8601, UTC, seconds';

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

CREATE FUNCTION mcp.policy_action(p_organization_id text, p_path text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT p.action FROM mcp.tool_policy p
    WHERE p.organization_id = p_organization_id
        AND mcp.policy_matches(p.pattern, p_path)
    ORDER BY p.position, p.tool_policy_id LIMIT 1
$$;

COMMENT ON FUNCTION mcp.policy_action(p_organization_id text, p_path text) IS 'approve, require_approval or block by the first policy that matches; NULL: none does, tool.needs_approval decides';

CREATE FUNCTION mcp.policy_block_pattern(p_organization_id text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT '^(' || string_agg(CASE
            WHEN p.pattern = '*' THEN '.*'
            WHEN right(p.pattern, 2) = '.*' THEN
                regexp_replace(left(p.pattern, -2), '([.$])', '\\\1', 'g')
                    || '(\..*)?'
            ELSE regexp_replace(p.pattern, '([.$])', '\\\1', 'g') END, '|')
        || ')$'
    FROM mcp.tool_policy p
    WHERE p.organization_id = p_organization_id AND p.action = 'block'
$_$;

COMMENT ON FUNCTION mcp.policy_block_pattern(p_organization_id text) IS 'Matches the paths that may be blocked; policy_action decides; NULL: none';

CREATE FUNCTION mcp.policy_matches(pattern text, path text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((pattern = '*'::text) OR (pattern = path) OR (("right"(pattern, 2) = '.*'::text) AND ((path = "left"(pattern, '-2'::integer)) OR starts_with(path, "left"(pattern, '-1'::integer)))));

COMMENT ON FUNCTION mcp.policy_matches(pattern text, path text) IS 'true: the pattern of a policy matches the path';

CREATE FUNCTION mcp.reap_executions(p_batch integer, p_retention_s bigint, OUT due bigint, OUT declined bigint, OUT failed bigint, OUT expired bigint, OUT purged bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.reap_executions(p_batch integer, p_retention_s bigint, OUT due bigint, OUT declined bigint, OUT failed bigint, OUT expired bigint, OUT purged bigint) IS 'One batch: calls not decided in time are declined, runs without a process fail (or wait as before), runs that waited too long expire, old ones go. due and purged < p_batch: nothing is left';

CREATE FUNCTION mcp.reap_preview(p_retention_s bigint DEFAULT 604800, OUT expired bigint, OUT renewed bigint, OUT purged bigint, OUT runs_failed bigint, OUT runs_expired bigint, OUT calls_declined bigint) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.reap_preview(p_retention_s bigint, OUT expired bigint, OUT renewed bigint, OUT purged bigint, OUT runs_failed bigint, OUT runs_expired bigint, OUT calls_declined bigint) IS 'What a sweep would do now; changes nothing';

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

CREATE FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, p_after timestamp with time zone DEFAULT '-infinity'::timestamp with time zone, OUT due bigint, OUT expired bigint, OUT renewed bigint, OUT last_alarm_at timestamp with time zone) RETURNS record
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

COMMENT ON FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, p_after timestamp with time zone, OUT due bigint, OUT expired bigint, OUT renewed bigint, OUT last_alarm_at timestamp with time zone) IS 'One batch of due alarms: expired sessions go, live ones get the next alarm. due < p_batch: the queue is empty. p_after: last_alarm_at of the batch before';

CREATE FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

COMMENT ON FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) IS 'Take an account out of an organisation: membership, API tokens, sessions, runs. With membership = http the provider must be told as well';

CREATE FUNCTION mcp.schema_version() RETURNS integer
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(max(migration_id), 0) FROM mcp.migration
$$;

COMMENT ON FUNCTION mcp.schema_version() IS 'Number of the last migration; programs refuse another than their own';

CREATE FUNCTION mcp.search_item(p_path text, p_name text, p_title text, p_description text, p_source_name text, p_score numeric) RETURNS json
    LANGUAGE sql IMMUTABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT json_strip_nulls(json_build_object('path', p_path, 'name', p_name,
        'title', p_title,
        'description', CASE WHEN length(p_description) > 500
            THEN left(p_description, 499) || U&'\2026'
            ELSE p_description END,
        'sourceId', p_source_name, 'score', p_score))
$$;

COMMENT ON FUNCTION mcp.search_item(p_path text, p_name text, p_title text, p_description text, p_source_name text, p_score numeric) IS 'One item of tool_search';

CREATE FUNCTION mcp.search_scope(p_organization_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "left"(md5(p_organization_id), 6);

COMMENT ON FUNCTION mcp.search_scope(p_organization_id text) IS 'Beginning of an organisation''s words in tool.search';

CREATE FUNCTION mcp.search_some(p_tokens tsquery[], p_needed integer) RETURNS tsquery
    LANGUAGE sql IMMUTABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH RECURSIVE token AS (
        SELECT q, n FROM unnest(p_tokens) WITH ORDINALITY u (q, n)
    ), part (q, n, k) AS (
        SELECT q, n, 1 FROM token
        UNION ALL
        SELECT s.q && t.q, t.n, s.k + 1 FROM part s
        JOIN token t ON t.n > s.n
        WHERE s.k < p_needed
    )
    SELECT string_agg('(' || q::text || ')', ' | ')::tsquery FROM part
    WHERE k = p_needed
$$;

COMMENT ON FUNCTION mcp.search_some(p_tokens tsquery[], p_needed integer) IS 'Text search query: at least so many of these';

CREATE FUNCTION mcp.search_token(p_scope text, p_word text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT string_agg('''' || p_scope
        || replace(replace(w, '\', '\\'), '''', '''''') || ''':*', ' | ')
        ::tsquery
    FROM (SELECT (ts_lexize('pg_catalog.english_stem', p_word))[1] AS stem) s,
        unnest(CASE WHEN starts_with(p_word, s.stem) THEN ARRAY[s.stem]
            ELSE ARRAY[p_word, s.stem] END) w
    WHERE w <> ''
$$;

COMMENT ON FUNCTION mcp.search_token(p_scope text, p_word text) IS 'Text search query for one word of mcp.words and its English stem';

CREATE FUNCTION mcp.search_vector(p_organization_id text, p_path text, p_title text, p_description text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT mcp.search_scope(p_organization_id) || v.lexeme
        FROM unnest(to_tsvector('pg_catalog.simple', mcp.words(p_path))
            || to_tsvector('pg_catalog.english', coalesce(p_title, '') || ' '
                || left(coalesce(p_description, ''), 4000))) v))
$$;

COMMENT ON FUNCTION mcp.search_vector(p_organization_id text, p_path text, p_title text, p_description text) IS 'What tool.search holds: words of the path as they are, of title and description by their English stems';

CREATE FUNCTION mcp.secret_find(p_organization_id text, p_name text, OUT key_id text, OUT sealed bytea) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT s.key_id, s.sealed FROM mcp.secret s
    WHERE s.organization_id = p_organization_id AND s.name = p_name
$$;

COMMENT ON FUNCTION mcp.secret_find(p_organization_id text, p_name text, OUT key_id text, OUT sealed bytea) IS 'The sealed envelope of a secret; no row: there is none';

CREATE FUNCTION mcp.secret_remove(p_organization_id text, p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM mcp.secret s
        WHERE s.organization_id = p_organization_id AND s.name = p_name;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM mcp.audit_write('secret.removed', NULL, NULL, p_organization_id,
        NULL, jsonb_build_object('name', p_name));
    RETURN true;
END
$$;

COMMENT ON FUNCTION mcp.secret_remove(p_organization_id text, p_name text) IS 'Remove a secret; false: there is none. Audited';

CREATE FUNCTION mcp.secret_rotate(p_organization_id text, p_name text, p_old_sealed bytea, p_key_id text, p_sealed bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE mcp.secret s
        SET key_id = p_key_id, sealed = p_sealed, updated_at = now()
        WHERE s.organization_id = p_organization_id AND s.name = p_name
            AND s.sealed = p_old_sealed;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION mcp.secret_rotate(p_organization_id text, p_name text, p_old_sealed bytea, p_key_id text, p_sealed bytea) IS 'Put an envelope sealed with another key in place of this one; false: the secret has been set or removed meanwhile';

CREATE FUNCTION mcp.secret_save(p_organization_id text, p_name text, p_key_id text, p_sealed bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    is_new boolean;
BEGIN
    INSERT INTO mcp.secret AS s (organization_id, name, key_id, sealed)
        VALUES (p_organization_id, p_name, p_key_id, p_sealed)
        ON CONFLICT (organization_id, name) DO UPDATE
            SET key_id = excluded.key_id, sealed = excluded.sealed,
                updated_at = now()
        RETURNING s.xmax = 0 INTO is_new;
    PERFORM mcp.audit_write('secret.set', NULL, NULL, p_organization_id,
        NULL, jsonb_build_object('name', p_name, 'key_id', p_key_id));
    RETURN is_new;
END
$$;

COMMENT ON FUNCTION mcp.secret_save(p_organization_id text, p_name text, p_key_id text, p_sealed bytea) IS 'Add or replace a secret; true: it is new. Audited';

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

CREATE FUNCTION mcp.similarity(a text, b text) RETURNS real
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN mcp_trgm.similarity(a, b);

COMMENT ON FUNCTION mcp.similarity(a text, b text) IS 'similarity() of pg_trgm, wherever it is installed; inlined';

CREATE FUNCTION mcp.source_inventory(p_organization_id text) RETURNS TABLE(name text, title text, kind text, tools bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT s.name, s.title, s.kind, count(*)
    FROM mcp.source s JOIN mcp.tool t USING (source_id)
    WHERE s.organization_id = p_organization_id
        AND s.is_enabled AND t.is_enabled
        AND mcp.policy_action(p_organization_id, t.path)
            IS DISTINCT FROM 'block'
    GROUP BY s.source_id ORDER BY s.name
$$;

COMMENT ON FUNCTION mcp.source_inventory(p_organization_id text) IS 'Namespaces with tools that can be seen, and how many; by name';

CREATE FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean, p_runs_failed bigint, p_runs_expired bigint, p_calls_declined bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    INSERT INTO mcp.sweep (started_at, host, expired, renewed, purged,
        is_complete, runs_failed, runs_expired, calls_declined)
    VALUES (now() - make_interval(secs => p_elapsed_ms / 1000.0), p_host,
        p_expired, p_renewed, p_purged, p_is_complete, p_runs_failed,
        p_runs_expired, p_calls_declined)
$$;

COMMENT ON FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean, p_runs_failed bigint, p_runs_expired bigint, p_calls_declined bigint) IS 'Record a finished run of the reaper';

CREATE FUNCTION mcp.tool_find(p_organization_id text, p_path text, OUT outcome text, OUT tool_id bigint, OUT source_id bigint, OUT kind text, OUT source_name text, OUT name text, OUT path text, OUT title text, OUT description text, OUT config text, OUT definition text, OUT input_schema text, OUT output_schema text, OUT annotations text, OUT action text, OUT policy_pattern text, OUT approval_text text, OUT suggestions text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t record;
    p record;
BEGIN
    SELECT x.*, s.kind, s.config, s.is_enabled AS is_source_enabled
        INTO t FROM mcp.tool x JOIN mcp.source s USING (source_id)
        WHERE x.organization_id = p_organization_id AND x.path = p_path;
    IF FOUND AND t.is_enabled AND t.is_source_enabled THEN
        SELECT y.action, y.pattern INTO p FROM mcp.tool_policy y
            WHERE y.organization_id = p_organization_id
                AND mcp.policy_matches(y.pattern, p_path)
            ORDER BY y.position, y.tool_policy_id LIMIT 1;
        path := t.path;
        policy_pattern := p.pattern;
        IF p.action = 'block' THEN
            outcome := 'blocked';
            RETURN;
        END IF;
        outcome := 'ok';
        tool_id := t.tool_id;
        source_id := t.source_id;
        kind := t.kind;
        source_name := t.source_name;
        name := t.name;
        title := t.title;
        description := t.description;
        config := t.config;
        definition := t.definition;
        input_schema := t.input_schema;
        output_schema := t.output_schema;
        annotations := t.annotations;
        action := coalesce(p.action, CASE WHEN t.needs_approval
            THEN 'require_approval' ELSE 'approve' END);
        approval_text := t.approval_text;
    ELSE
        outcome := 'not_found';
        suggestions := array_to_json(mcp.tool_suggest(p_organization_id,
            p_path, 5));
    END IF;
END
$$;

COMMENT ON FUNCTION mcp.tool_find(p_organization_id text, p_path text, OUT outcome text, OUT tool_id bigint, OUT source_id bigint, OUT kind text, OUT source_name text, OUT name text, OUT path text, OUT title text, OUT description text, OUT config text, OUT definition text, OUT input_schema text, OUT output_schema text, OUT annotations text, OUT action text, OUT policy_pattern text, OUT approval_text text, OUT suggestions text) IS 'A tool by its path; always one row. outcome: ok, with action approve or require_approval and the pattern of the policy that says so (NULL: tool.needs_approval); blocked; not_found (unknown or disabled), with up to five suggestions as a JSON array';

CREATE FUNCTION mcp.tool_import(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint, OUT removed bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM mcp.source s WHERE s.source_id = p_source_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such source';
    END IF;
    DELETE FROM mcp.tool t WHERE t.source_id = p_source_id
        AND NOT EXISTS (SELECT FROM json_array_elements(p_tools) e
            WHERE e ->> 'name' = t.name);
    GET DIAGNOSTICS removed = ROW_COUNT;
    SELECT p.added, p.changed INTO added, changed
        FROM mcp.tool_put(p_source_id, p_tools) p;
    UPDATE mcp.source s SET refreshed_at = now()
        WHERE s.source_id = p_source_id;
END
$$;

COMMENT ON FUNCTION mcp.tool_import(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint, OUT removed bigint) IS 'Make these the tools of a source: a JSON array of objects with the columns of mcp.tool. Others of the source go; is_listed and is_enabled of those that stay are kept';

CREATE FUNCTION mcp.tool_listed(p_organization_id text) RETURNS TABLE(path text, title text, description text, input_schema text, output_schema text, annotations text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT t.path, t.title, t.description, t.input_schema, t.output_schema,
        t.annotations
    FROM mcp.tool t JOIN mcp.source s USING (source_id)
    WHERE t.organization_id = p_organization_id AND t.is_listed
        AND t.is_enabled AND s.is_enabled
        AND mcp.policy_action(p_organization_id, t.path)
            IS DISTINCT FROM 'block'
    ORDER BY t.path
$$;

COMMENT ON FUNCTION mcp.tool_listed(p_organization_id text) IS 'Tools of tools/list: listed, enabled, not blocked; by path';

CREATE FUNCTION mcp.tool_put(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH put AS (
        INSERT INTO mcp.tool AS t (source_id, organization_id, source_name,
            name, title, description, input_schema, output_schema,
            annotations, definition, is_listed, needs_approval, approval_text)
        SELECT s.source_id, s.organization_id, s.name, e ->> 'name',
            e ->> 'title', e ->> 'description',
            coalesce(e -> 'input_schema', '{"type":"object"}'),
            CASE WHEN json_typeof(e -> 'output_schema') <> 'null'
                THEN e -> 'output_schema' END,
            coalesce(e -> 'annotations', '{}'),
            coalesce((e -> 'definition')::text::jsonb, '{}'),
            coalesce((e ->> 'is_listed')::boolean, false),
            coalesce((e ->> 'needs_approval')::boolean, false),
            e ->> 'approval_text'
        FROM mcp.source s, json_array_elements(p_tools) e
        WHERE s.source_id = p_source_id
        ON CONFLICT (source_id, name) DO UPDATE
            SET title = excluded.title,
                description = excluded.description,
                input_schema = excluded.input_schema,
                output_schema = excluded.output_schema,
                annotations = excluded.annotations,
                definition = excluded.definition,
                needs_approval = excluded.needs_approval,
                approval_text = excluded.approval_text,
                updated_at = now()
            WHERE (t.title, t.description, t.input_schema::text,
                    t.output_schema::text, t.annotations::text, t.definition,
                    t.needs_approval, t.approval_text)
                IS DISTINCT FROM (excluded.title, excluded.description,
                    excluded.input_schema::text,
                    excluded.output_schema::text,
                    excluded.annotations::text, excluded.definition,
                    excluded.needs_approval, excluded.approval_text)
        RETURNING t.xmax = 0 AS is_added
    )
    SELECT count(*) FILTER (WHERE is_added),
        count(*) FILTER (WHERE NOT is_added) FROM put
$$;

COMMENT ON FUNCTION mcp.tool_put(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint) IS 'Add or change tools of a source; those that are as given stay untouched';

CREATE FUNCTION mcp.tool_save(p_source_id bigint, p_tool json) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM mcp.source s WHERE s.source_id = p_source_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such source';
    END IF;
    RETURN (SELECT p.added > 0
        FROM mcp.tool_put(p_source_id, json_build_array(p_tool)) p);
END
$$;

COMMENT ON FUNCTION mcp.tool_save(p_source_id bigint, p_tool json) IS 'Add one tool to a source or change it; true: it is new';

CREATE FUNCTION mcp.tool_search(p_organization_id text, p_query text, p_namespace text, p_limit integer, p_offset integer, OUT total bigint, OUT items text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    q text := coalesce(left(mcp.words(left(p_query, 512)), 256), '');
    ns text := nullif(mcp.words(left(p_namespace, 256)), '') || ' ';
    blocked text := mcp.policy_block_pattern(p_organization_id);
    tokens tsquery[];
    keys tsquery[];
    any_token tsquery;
    wanted tsquery;
BEGIN
    IF q = '' THEN
        WITH hit AS MATERIALIZED (
            SELECT t.tool_id, t.path
            FROM mcp.tool t JOIN mcp.source s USING (source_id)
            WHERE t.organization_id = p_organization_id
                AND starts_with(t.words || ' ', ns) -- NULL: nothing
                AND t.is_enabled AND s.is_enabled
                AND (blocked IS NULL OR t.path !~ blocked
                    OR mcp.policy_action(p_organization_id, t.path)
                        IS DISTINCT FROM 'block')
        )
        SELECT (SELECT count(*) FROM hit),
                (SELECT coalesce(json_agg(mcp.search_item(t.path, t.name,
                        t.title, t.description, t.source_name, 0)
                        ORDER BY t.path), '[]')
                    FROM (SELECT * FROM hit ORDER BY path
                        LIMIT p_limit OFFSET p_offset) page
                    JOIN mcp.tool t USING (tool_id))
            INTO total, items;
        RETURN;
    END IF;

    -- Words that say nothing ("the") do not count unless there are no others.
    SELECT array_agg(mcp.search_token('', w.word) ORDER BY w.n),
            array_agg(mcp.search_token(mcp.search_scope(p_organization_id),
                w.word) ORDER BY w.n)
        INTO tokens, keys
        FROM (SELECT v.* FROM (SELECT u.word, min(u.n) AS n,
                    ts_lexize('pg_catalog.english_stem', u.word) = '{}'
                        AS is_stop,
                    bool_and(ts_lexize('pg_catalog.english_stem', u.word)
                        = '{}') OVER () AS are_all_stop
                FROM unnest(string_to_array(q, ' '))
                    WITH ORDINALITY u (word, n)
                GROUP BY u.word) v
            WHERE NOT v.is_stop OR v.are_all_stop
            ORDER BY v.n LIMIT 6) w;
    any_token := mcp.search_some(tokens, 1);
    -- All of one or two words, three fifths of more.
    wanted := mcp.search_some(keys, CASE WHEN cardinality(tokens) <= 2
        THEN cardinality(tokens)
        ELSE round(cardinality(tokens) * 0.6)::integer END);

    WITH hit AS MATERIALIZED (
        SELECT t.tool_id, t.path,
            ts_rank('{0, 0, 0.3, 1}', t.head, any_token) * 10
                + length(q) * 5.0::real / length(t.words)
                + CASE WHEN strpos(t.words, q) > 0 THEN 5 ELSE 0 END AS score
        FROM mcp.tool t JOIN mcp.source s USING (source_id)
        WHERE t.organization_id = p_organization_id
            AND t.search @@ wanted
            AND (ns IS NULL OR starts_with(t.words || ' ', ns))
            AND t.is_enabled AND s.is_enabled
            AND (blocked IS NULL OR t.path !~ blocked
                OR mcp.policy_action(p_organization_id, t.path)
                    IS DISTINCT FROM 'block')
    )
    SELECT (SELECT count(*) FROM hit),
            (SELECT coalesce(json_agg(mcp.search_item(t.path, t.name, t.title,
                    t.description, t.source_name,
                    round(page.score::numeric, 3))
                    ORDER BY page.score DESC, t.path), '[]')
                FROM (SELECT * FROM hit ORDER BY score DESC, path
                    LIMIT p_limit OFFSET p_offset) page
                JOIN mcp.tool t USING (tool_id))
        INTO total, items;
    IF total > 0 THEN
        RETURN;
    END IF;

    -- Nothing: what looks alike.
    PERFORM set_config('pg_trgm.word_similarity_threshold', '0.5', true);
    WITH hit AS MATERIALIZED (
        SELECT t.tool_id, t.path, mcp.word_similarity(q, t.words) * 5
            AS score
        FROM mcp.tool t JOIN mcp.source s USING (source_id)
        WHERE t.organization_id = p_organization_id
            AND mcp.is_word_similar(q, t.words)
            AND (ns IS NULL OR starts_with(t.words || ' ', ns))
            AND t.is_enabled AND s.is_enabled
            AND (blocked IS NULL OR t.path !~ blocked
                OR mcp.policy_action(p_organization_id, t.path)
                    IS DISTINCT FROM 'block')
    )
    SELECT (SELECT count(*) FROM hit),
            (SELECT coalesce(json_agg(mcp.search_item(t.path, t.name, t.title,
                    t.description, t.source_name,
                    round(page.score::numeric, 3))
                    ORDER BY page.score DESC, t.path), '[]')
                FROM (SELECT * FROM hit ORDER BY score DESC, path
                    LIMIT p_limit OFFSET p_offset) page
                JOIN mcp.tool t USING (tool_id))
        INTO total, items;
END
$$;

COMMENT ON FUNCTION mcp.tool_search(p_organization_id text, p_query text, p_namespace text, p_limit integer, p_offset integer, OUT total bigint, OUT items text) IS 'A page of the visible tools that fit, best first, equals by path; total counts all. Namespace: the first words of the path. Without a query: the whole namespace by path. items: JSON array';

CREATE FUNCTION mcp.tool_suggest(p_organization_id text, p_path text, p_limit integer) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    w text := mcp.words(left(p_path, 256));
    blocked text := mcp.policy_block_pattern(p_organization_id);
BEGIN
    PERFORM set_config('pg_trgm.similarity_threshold', '0.4', true);
    RETURN ARRAY(
        SELECT t.path FROM mcp.tool t JOIN mcp.source s USING (source_id)
        WHERE t.organization_id = p_organization_id
            AND mcp.is_similar(t.words, w)
            AND t.is_enabled AND s.is_enabled
            AND (blocked IS NULL OR t.path !~ blocked
                OR mcp.policy_action(p_organization_id, t.path)
                    IS DISTINCT FROM 'block')
        ORDER BY mcp.similarity(t.words, w) DESC, t.path
        LIMIT p_limit);
END
$$;

COMMENT ON FUNCTION mcp.tool_suggest(p_organization_id text, p_path text, p_limit integer) IS 'Paths of visible tools most like this one, best first';

CREATE FUNCTION mcp.upstream_drop(p_organization_id text, p_source_id bigint, p_session_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM mcp.upstream_session u USING mcp.source s
        WHERE u.source_id = p_source_id AND s.source_id = u.source_id
            AND s.organization_id = p_organization_id
            AND u.session_id IS NOT DISTINCT FROM p_session_id;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION mcp.upstream_drop(p_organization_id text, p_source_id bigint, p_session_id text) IS 'Forget the session that the server has lost; false: it has been replaced already';

CREATE FUNCTION mcp.upstream_find(p_organization_id text, p_source_id bigint, OUT session_id text, OUT protocol_version text, OUT age_s bigint) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT u.session_id, u.protocol_version,
        floor(extract(epoch FROM now() - u.updated_at))::bigint
    FROM mcp.upstream_session u JOIN mcp.source s USING (source_id)
    WHERE u.source_id = p_source_id AND s.organization_id = p_organization_id
$$;

COMMENT ON FUNCTION mcp.upstream_find(p_organization_id text, p_source_id bigint, OUT session_id text, OUT protocol_version text, OUT age_s bigint) IS 'The shared session with an upstream server; no row: none yet';

CREATE FUNCTION mcp.upstream_save(p_organization_id text, p_source_id bigint, p_session_id text, p_protocol_version text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO mcp.upstream_session (source_id, session_id,
            protocol_version)
        SELECT s.source_id, p_session_id, p_protocol_version
        FROM mcp.source s WHERE s.source_id = p_source_id
            AND s.organization_id = p_organization_id
        ON CONFLICT (source_id) DO NOTHING;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION mcp.upstream_save(p_organization_id text, p_source_id bigint, p_session_id text, p_protocol_version text) IS 'Share a session just initialized; false: another process was first, use what upstream_find says';

CREATE FUNCTION mcp.word_similarity(word text, words text) RETURNS real
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN mcp_trgm.word_similarity(word, words);

COMMENT ON FUNCTION mcp.word_similarity(word text, words text) IS 'word_similarity() of pg_trgm, wherever it is installed; inlined';

CREATE FUNCTION mcp.words(t text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN btrim(regexp_replace(lower(regexp_replace(regexp_replace(t, '([a-z0-9])([A-Z])'::text, '\1 \2'::text, 'g'::text), '([A-Z])([A-Z][a-z])'::text, '\1 \2'::text, 'g'::text)), '[][[:space:]_./:,;(){}<>"''`|+*=&%$#@!?~^\\-]+'::text, ' '::text, 'g'::text));

COMMENT ON FUNCTION mcp.words(t text) IS 'Words in lower case: issues.createForRepo gives issues create for repo';

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

COMMENT ON COLUMN mcp.audit_event.event IS 'session.foreign, session.killed, session.drained, account.revoked, token.issued, token.revoked, member.added, member.removed, jwks.changed, source.saved, source.removed, policy.added, policy.removed, secret.set, secret.removed, execution.approved, execution.declined, execution.cancelled';

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

CREATE TABLE mcp.execution (
    execution_id uuid NOT NULL,
    issuer text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    session_hint text,
    status text NOT NULL,
    code_sha256 bytea NOT NULL,
    engine text NOT NULL COLLATE pg_catalog."C",
    generation integer DEFAULT 1 NOT NULL,
    heap_generation integer,
    heap bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    lease_until timestamp with time zone,
    waiting_since timestamp with time zone,
    deadline_at timestamp with time zone,
    ended_at timestamp with time zone,
    alarm_at timestamp with time zone,
    wall_used_ms bigint DEFAULT 0 NOT NULL,
    outcome text,
    result text,
    error text,
    CONSTRAINT execution_account_id_check CHECK (((octet_length(account_id) >= 1) AND (octet_length(account_id) <= 512))),
    CONSTRAINT execution_check CHECK ((heap_generation <= generation)),
    CONSTRAINT execution_check1 CHECK (((heap IS NULL) = (heap_generation IS NULL))),
    CONSTRAINT execution_check2 CHECK (((status = 'running'::text) = (lease_until IS NOT NULL))),
    CONSTRAINT execution_check3 CHECK (((status = 'waiting'::text) = (waiting_since IS NOT NULL))),
    CONSTRAINT execution_check4 CHECK (((status <> 'waiting'::text) OR ((heap IS NOT NULL) AND (deadline_at IS NOT NULL)))),
    CONSTRAINT execution_check5 CHECK (((status = ANY (ARRAY['running'::text, 'waiting'::text])) = (ended_at IS NULL))),
    CONSTRAINT execution_check6 CHECK (((ended_at IS NULL) = (alarm_at IS NOT NULL))),
    CONSTRAINT execution_check7 CHECK (((ended_at IS NULL) OR ((heap IS NULL) AND (outcome IS NOT NULL)))),
    CONSTRAINT execution_code_sha256_check CHECK ((octet_length(code_sha256) = 32)),
    CONSTRAINT execution_engine_check CHECK (((octet_length(engine) >= 1) AND (octet_length(engine) <= 256))),
    CONSTRAINT execution_error_check CHECK ((octet_length(error) <= 65536)),
    CONSTRAINT execution_generation_check CHECK ((generation > 0)),
    CONSTRAINT execution_heap_check CHECK ((octet_length(heap) <= 134217728)),
    CONSTRAINT execution_issuer_check CHECK (((octet_length(issuer) >= 1) AND (octet_length(issuer) <= 1024))),
    CONSTRAINT execution_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512))),
    CONSTRAINT execution_outcome_check CHECK ((outcome ~ '^[a-z_]{1,63}$'::text)),
    CONSTRAINT execution_result_check CHECK ((octet_length(result) <= 16777216)),
    CONSTRAINT execution_session_hint_check CHECK ((octet_length(session_hint) <= 8)),
    CONSTRAINT execution_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting'::text, 'completed'::text, 'failed'::text, 'expired'::text, 'cancelled'::text]))),
    CONSTRAINT execution_wall_used_ms_check CHECK ((wall_used_ms >= 0))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='500', toast.autovacuum_vacuum_scale_factor='0.05', toast.autovacuum_vacuum_threshold='5000');
ALTER TABLE ONLY mcp.execution ALTER COLUMN heap SET STORAGE EXTERNAL;

COMMENT ON TABLE mcp.execution IS 'Runs of programs that make calls. A waiting run is this row and nothing else: any host can go on with it';

COMMENT ON COLUMN mcp.execution.execution_id IS 'Random; knowing it is not enough to use it';

COMMENT ON COLUMN mcp.execution.issuer IS 'Owner: issuer, account and organisation together';

COMMENT ON COLUMN mcp.execution.account_id IS 'Owner';

COMMENT ON COLUMN mcp.execution.organization_id IS 'Owner';

COMMENT ON COLUMN mcp.execution.session_hint IS 'First eight characters of the session that started it; the run does not depend on it';

COMMENT ON COLUMN mcp.execution.status IS 'running, waiting (for somebody''s word), or over: completed, failed, expired, cancelled';

COMMENT ON COLUMN mcp.execution.code_sha256 IS 'Digest of the program';

COMMENT ON COLUMN mcp.execution.engine IS 'Build of the engine; another cannot read the heap';

COMMENT ON COLUMN mcp.execution.generation IS 'How often it was taken up; who holds an older number has lost it';

COMMENT ON COLUMN mcp.execution.heap_generation IS 'Generation that stored the heap; sealed in';

COMMENT ON COLUMN mcp.execution.heap IS 'The suspended program, compressed and sealed (AES-256-GCM); gone when the run is over';

COMMENT ON COLUMN mcp.execution.created_at IS 'Start of the run';

COMMENT ON COLUMN mcp.execution.lease_until IS 'While running: without an extension its process is given up then';

COMMENT ON COLUMN mcp.execution.waiting_since IS 'While waiting: since when';

COMMENT ON COLUMN mcp.execution.deadline_at IS 'A run that still waits then expires';

COMMENT ON COLUMN mcp.execution.ended_at IS 'When it was over';

COMMENT ON COLUMN mcp.execution.alarm_at IS 'When the reaper looks at the row; NULL: the run is over';

COMMENT ON COLUMN mcp.execution.wall_used_ms IS 'Time it ran; the clock stands while it waits';

COMMENT ON COLUMN mcp.execution.outcome IS 'One word on how it ended: finished, failed, timed_out, process_lost, expired, cancelled';

COMMENT ON COLUMN mcp.execution.result IS 'The answer as given, JSON; a resume that comes again gets it again';

COMMENT ON COLUMN mcp.execution.error IS 'Why it failed';

CREATE TABLE mcp.execution_call (
    execution_id uuid NOT NULL,
    seq integer NOT NULL,
    generation integer NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    args text,
    args_sha256 bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    is_error boolean,
    result text,
    result_sha256 bytea,
    interaction_kind text,
    message text,
    schema text,
    deadline_at timestamp with time zone,
    pending bytea,
    action text,
    answer text,
    decided_at timestamp with time zone,
    decided_by text,
    decided_via text,
    note text,
    CONSTRAINT execution_call_action_check CHECK ((action = ANY (ARRAY['accept'::text, 'decline'::text, 'cancel'::text]))),
    CONSTRAINT execution_call_answer_check CHECK ((octet_length(answer) <= 1048576)),
    CONSTRAINT execution_call_args_check CHECK ((octet_length(args) <= 1048576)),
    CONSTRAINT execution_call_args_sha256_check CHECK ((octet_length(args_sha256) = 32)),
    CONSTRAINT execution_call_check CHECK (((interaction_kind IS NULL) = (deadline_at IS NULL))),
    CONSTRAINT execution_call_check1 CHECK (((interaction_kind IS NOT NULL) OR ((message IS NULL) AND (schema IS NULL) AND (action IS NULL)))),
    CONSTRAINT execution_call_check2 CHECK ((((action IS NULL) = (decided_at IS NULL)) AND ((action IS NULL) = (decided_via IS NULL)))),
    CONSTRAINT execution_call_check3 CHECK (((status = ANY (ARRAY['running'::text, 'waiting'::text])) = (ended_at IS NULL))),
    CONSTRAINT execution_call_check4 CHECK (((status <> 'waiting'::text) OR ((interaction_kind IS NOT NULL) AND (started_at IS NULL)))),
    CONSTRAINT execution_call_check5 CHECK (((started_at IS NULL) OR (interaction_kind IS NULL) OR ((interaction_kind = 'approval'::text) AND (NOT (action IS DISTINCT FROM 'accept'::text))))),
    CONSTRAINT execution_call_check6 CHECK (((status <> ALL (ARRAY['running'::text, 'unknown'::text])) OR (started_at IS NOT NULL))),
    CONSTRAINT execution_call_check7 CHECK (((status <> ALL (ARRAY['declined'::text, 'cancelled'::text])) OR (started_at IS NULL))),
    CONSTRAINT execution_call_check8 CHECK (((status <> 'declined'::text) OR (COALESCE(action, ''::text) = ANY (ARRAY['decline'::text, 'cancel'::text])))),
    CONSTRAINT execution_call_check9 CHECK (((pending IS NULL) OR (status = 'waiting'::text))),
    CONSTRAINT execution_call_decided_via_check CHECK ((decided_via = ANY (ARRAY['resume'::text, 'sql'::text, 'timeout'::text]))),
    CONSTRAINT execution_call_generation_check CHECK ((generation > 0)),
    CONSTRAINT execution_call_interaction_kind_check CHECK ((interaction_kind = ANY (ARRAY['approval'::text, 'elicit'::text]))),
    CONSTRAINT execution_call_message_check CHECK ((octet_length(message) <= 65536)),
    CONSTRAINT execution_call_note_check CHECK ((octet_length(note) <= 4096)),
    CONSTRAINT execution_call_path_check CHECK ((octet_length(path) <= 512)),
    CONSTRAINT execution_call_pending_check CHECK ((octet_length(pending) <= 16777216)),
    CONSTRAINT execution_call_result_check CHECK ((octet_length(result) <= 1048576)),
    CONSTRAINT execution_call_result_sha256_check CHECK ((octet_length(result_sha256) = 32)),
    CONSTRAINT execution_call_schema_check CHECK ((octet_length(schema) <= 1048576)),
    CONSTRAINT execution_call_seq_check CHECK ((seq >= 0)),
    CONSTRAINT execution_call_status_check CHECK ((status = ANY (ARRAY['running'::text, 'waiting'::text, 'done'::text, 'failed'::text, 'unknown'::text, 'declined'::text, 'cancelled'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY mcp.execution_call ALTER COLUMN pending SET STORAGE EXTERNAL;

COMMENT ON TABLE mcp.execution_call IS 'The ledger: what each run called. After a crash it says what ran (done, failed), what may have run (unknown) and what did not (declined, cancelled)';

COMMENT ON COLUMN mcp.execution_call.execution_id IS 'The run';

COMMENT ON COLUMN mcp.execution_call.seq IS 'Number of the call within the run; survives suspension';

COMMENT ON COLUMN mcp.execution_call.generation IS 'Generation of the run that last wrote here';

COMMENT ON COLUMN mcp.execution_call.path IS 'The tool''s path';

COMMENT ON COLUMN mcp.execution_call.status IS 'running: sent, or about to be; waiting: asked, not sent; done, failed: answered; unknown: sent or not, the process is gone; declined: refused; cancelled: the run ended before it was sent';

COMMENT ON COLUMN mcp.execution_call.args IS 'JSON; NULL: too long or not to be kept';

COMMENT ON COLUMN mcp.execution_call.args_sha256 IS 'Of the whole JSON text';

COMMENT ON COLUMN mcp.execution_call.created_at IS 'When it was called';

COMMENT ON COLUMN mcp.execution_call.started_at IS 'Committed just before it was sent; NULL: never sent';

COMMENT ON COLUMN mcp.execution_call.ended_at IS 'When it was settled';

COMMENT ON COLUMN mcp.execution_call.is_error IS 'The tool answered with an error';

COMMENT ON COLUMN mcp.execution_call.result IS 'JSON; NULL: none, too long, or not to be kept';

COMMENT ON COLUMN mcp.execution_call.result_sha256 IS 'Of the whole JSON text';

COMMENT ON COLUMN mcp.execution_call.interaction_kind IS 'approval: may it be made; elicit: a question to the user; NULL: neither';

COMMENT ON COLUMN mcp.execution_call.message IS 'What is asked';

COMMENT ON COLUMN mcp.execution_call.schema IS 'JSON Schema of the answer wanted';

COMMENT ON COLUMN mcp.execution_call.deadline_at IS 'Not decided by then: declined';

COMMENT ON COLUMN mcp.execution_call.pending IS 'While waiting: the whole arguments, sealed, for when it is sent';

COMMENT ON COLUMN mcp.execution_call.action IS 'The decision; NULL: none yet. Until the call is sent a refusal takes the place of an approval, never the other way round';

COMMENT ON COLUMN mcp.execution_call.answer IS 'What came with it, JSON';

COMMENT ON COLUMN mcp.execution_call.decided_at IS 'When it was decided';

COMMENT ON COLUMN mcp.execution_call.decided_by IS 'Account (resume) or database login (sql)';

COMMENT ON COLUMN mcp.execution_call.decided_via IS 'resume: by the owner''s client; sql: mcp.approve or mcp.decline; timeout: by nobody in time';

COMMENT ON COLUMN mcp.execution_call.note IS 'Words of whoever decided; approval_timeout';

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
    ((EXTRACT(epoch FROM (c.ended_at - c.started_at)) * (1000)::numeric))::bigint AS ms,
    c.is_error,
    c.interaction_kind,
    c.action,
    c.decided_at,
    c.decided_via,
    c.decided_by,
    encode(c.args_sha256, 'hex'::text) AS args_sha256,
    encode(c.result_sha256, 'hex'::text) AS result_sha256
   FROM (mcp.execution_call c
     JOIN mcp.execution e USING (execution_id))
  WHERE (c.created_at > (now() - '1 day'::interval));

COMMENT ON VIEW mcp.call_recent IS 'Calls of the last day, without arguments and results';

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
   FROM (mcp.execution e
     JOIN mcp.execution_call c USING (execution_id))
  WHERE ((e.alarm_at IS NOT NULL) AND (e.status = 'waiting'::text) AND (c.status = 'waiting'::text));

COMMENT ON VIEW mcp.execution_waiting IS 'Calls that wait for a word (action NULL) or, decided, for their owner to resume the run';

CREATE VIEW mcp.call_waiting AS
 SELECT w.execution_id,
    w.seq,
    w.organization_id,
    w.account_id,
    w.interaction_kind,
    w.path,
    w.message,
    w.asked_at,
    w.deadline_at,
    w.action,
    w.decided_at,
    w.decided_via,
    w.decided_by,
    w.created_at,
    w.waiting_since,
    c.args,
    c.schema
   FROM (mcp.execution_waiting w
     JOIN mcp.execution_call c USING (execution_id, seq));

COMMENT ON VIEW mcp.call_waiting IS 'execution_waiting with the arguments, for who approves';

CREATE TABLE mcp.catalog_version (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    listed integer DEFAULT 0 NOT NULL,
    CONSTRAINT catalog_version_listed_check CHECK ((listed >= 0)),
    CONSTRAINT catalog_version_version_check CHECK ((version > 0))
)
WITH (fillfactor='50');

COMMENT ON TABLE mcp.catalog_version IS 'Says that a catalogue has changed; written by triggers only';

COMMENT ON COLUMN mcp.catalog_version.organization_id IS 'Whose catalogue';

COMMENT ON COLUMN mcp.catalog_version.version IS 'Another number after every change, also after a restored backup: microseconds of the clock, or one more than before';

COMMENT ON COLUMN mcp.catalog_version.listed IS 'Tools in tools/list: listed, enabled, not blocked';

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
    ( SELECT count(*) AS count
           FROM mcp.execution_call c
          WHERE (c.execution_id = e.execution_id)) AS calls,
    e.error
   FROM mcp.execution e
  WHERE ((e.alarm_at IS NOT NULL) OR (e.ended_at > (now() - '1 day'::interval)));

COMMENT ON VIEW mcp.execution_recent IS 'Runs that are not over, and those that ended in the last day';

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

CREATE TABLE mcp.tool (
    tool_id bigint NOT NULL,
    source_id bigint NOT NULL,
    organization_id text NOT NULL COLLATE pg_catalog."C",
    source_name text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    path text GENERATED ALWAYS AS (((source_name || '.'::text) || name)) STORED NOT NULL COLLATE pg_catalog."C",
    title text,
    description text,
    input_schema json DEFAULT '{"type":"object"}'::json NOT NULL,
    output_schema json,
    annotations json DEFAULT '{}'::json NOT NULL,
    definition jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_listed boolean DEFAULT false NOT NULL,
    is_enabled boolean DEFAULT true NOT NULL,
    needs_approval boolean DEFAULT false NOT NULL,
    approval_text text,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    words text GENERATED ALWAYS AS (mcp.words(((source_name || '.'::text) || name))) STORED NOT NULL,
    head tsvector GENERATED ALWAYS AS ((setweight(to_tsvector('simple'::regconfig, mcp.words(((source_name || '.'::text) || name))), 'A'::"char") || setweight(to_tsvector('english'::regconfig, COALESCE("left"(title, 256), ''::text)), 'B'::"char"))) STORED NOT NULL,
    search tsvector GENERATED ALWAYS AS (mcp.search_vector(organization_id, ((source_name || '.'::text) || name), title, description)) STORED NOT NULL,
    CONSTRAINT tool_annotations_check CHECK (((json_typeof(annotations) = 'object'::text) AND (octet_length((annotations)::text) <= 65536))),
    CONSTRAINT tool_approval_text_check CHECK ((octet_length(approval_text) <= 1024)),
    CONSTRAINT tool_definition_check CHECK (((jsonb_typeof(definition) = 'object'::text) AND (octet_length((definition)::text) <= 1048576))),
    CONSTRAINT tool_description_check CHECK ((octet_length(description) <= 65536)),
    CONSTRAINT tool_input_schema_check CHECK (((json_typeof(input_schema) = 'object'::text) AND (octet_length((input_schema)::text) <= 1048576))),
    CONSTRAINT tool_name_check CHECK (((name ~ '^[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*$'::text) AND (octet_length(name) <= 192))),
    CONSTRAINT tool_output_schema_check CHECK (((json_typeof(output_schema) = 'object'::text) AND (octet_length((output_schema)::text) <= 1048576))),
    CONSTRAINT tool_title_check CHECK ((octet_length(title) <= 1024))
);

COMMENT ON TABLE mcp.tool IS 'What a program may call, per organisation';

COMMENT ON COLUMN mcp.tool.tool_id IS 'Key; kept when a source is refreshed';

COMMENT ON COLUMN mcp.tool.source_id IS 'Where it comes from';

COMMENT ON COLUMN mcp.tool.organization_id IS 'As of the source';

COMMENT ON COLUMN mcp.tool.source_name IS 'As of the source; follows when that is renamed';

COMMENT ON COLUMN mcp.tool.name IS 'Name within the source; may have dots';

COMMENT ON COLUMN mcp.tool.path IS 'What a program writes after tools., and policies match';

COMMENT ON COLUMN mcp.tool.title IS 'For people';

COMMENT ON COLUMN mcp.tool.description IS 'What it does';

COMMENT ON COLUMN mcp.tool.input_schema IS 'JSON Schema of its argument, byte for byte as imported';

COMMENT ON COLUMN mcp.tool.output_schema IS 'JSON Schema of its result, byte for byte as imported; NULL: unknown';

COMMENT ON COLUMN mcp.tool.annotations IS 'MCP tool annotations';

COMMENT ON COLUMN mcp.tool.definition IS 'How to call it, by kind of the source';

COMMENT ON COLUMN mcp.tool.is_listed IS 'true: in tools/list itself, beside execute';

COMMENT ON COLUMN mcp.tool.is_enabled IS 'false: can be neither seen nor called';

COMMENT ON COLUMN mcp.tool.needs_approval IS 'What counts when no policy matches';

COMMENT ON COLUMN mcp.tool.approval_text IS 'What an approval says; NULL: a text made from the path';

COMMENT ON COLUMN mcp.tool.updated_at IS 'Last import or change of meaning';

COMMENT ON COLUMN mcp.tool.words IS 'Words of the path, for misspelt ones';

COMMENT ON COLUMN mcp.tool.head IS 'What a query ranks by: path (A) and title (B); short, so that ranking thousands reads no text out of line';

COMMENT ON COLUMN mcp.tool.search IS 'What a query finds: path (words as they are), title and description (English)';

CREATE VIEW mcp.organization_usage AS
 SELECT u.organization_id,
    o.name,
    (sum(u.members))::bigint AS members,
    (sum(u.tokens_live))::bigint AS tokens_live,
    (sum(u.sessions_live))::bigint AS sessions_live,
    (sum(u.sessions_expired))::bigint AS sessions_expired,
    max(u.last_activity_at) AS last_activity_at,
    (sum(u.tools))::bigint AS tools,
    (sum(u.runs_waiting))::bigint AS runs_waiting,
    (sum(u.calls_day))::bigint AS calls_day
   FROM (( SELECT organization.organization_id,
            0 AS members,
            0 AS tokens_live,
            0 AS sessions_live,
            0 AS sessions_expired,
            NULL::timestamp with time zone AS last_activity_at,
            0 AS tools,
            0 AS runs_waiting,
            0 AS calls_day
           FROM mcp.organization
        UNION ALL
         SELECT membership.organization_id,
            count(*) AS count,
            0,
            0,
            0,
            NULL::timestamp with time zone,
            0,
            0,
            0
           FROM mcp.membership
          GROUP BY membership.organization_id
        UNION ALL
         SELECT api_token_live.organization_id,
            0,
            count(*) AS count,
            0,
            0,
            NULL::timestamp with time zone,
            0,
            0,
            0
           FROM mcp.api_token_live
          GROUP BY api_token_live.organization_id
        UNION ALL
         SELECT s.organization_id,
            0,
            0,
            (count(*) - count(s.expired_by)),
            count(s.expired_by) AS count,
            max(s.last_activity_at) AS max,
            0,
            0,
            0
           FROM ( SELECT session.organization_id,
                    session.last_activity_at,
                    mcp.session_expired_by(session.created_at, session.last_activity_at, session.idle_s, session.lifetime_s) AS expired_by
                   FROM mcp.session) s
          GROUP BY s.organization_id
        UNION ALL
         SELECT tool.organization_id,
            0,
            0,
            0,
            0,
            NULL::timestamp with time zone,
            count(*) AS count,
            0,
            0
           FROM mcp.tool
          GROUP BY tool.organization_id
        UNION ALL
         SELECT execution.organization_id,
            0,
            0,
            0,
            0,
            NULL::timestamp with time zone,
            0,
            count(*) AS count,
            0
           FROM mcp.execution
          WHERE ((execution.alarm_at IS NOT NULL) AND (execution.status = 'waiting'::text))
          GROUP BY execution.organization_id
        UNION ALL
         SELECT call_recent.organization_id,
            0,
            0,
            0,
            0,
            NULL::timestamp with time zone,
            0,
            0,
            count(*) AS count
           FROM mcp.call_recent
          GROUP BY call_recent.organization_id) u
     LEFT JOIN mcp.organization o USING (organization_id))
  GROUP BY u.organization_id, o.name;

COMMENT ON VIEW mcp.organization_usage IS 'Members, tokens, sessions, tools, waiting runs and calls of the last day of each organisation that has any';

CREATE TABLE mcp.secret (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT secret_key_id_check CHECK ((key_id ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$'::text)),
    CONSTRAINT secret_name_check CHECK ((name ~ '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$'::text)),
    CONSTRAINT secret_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512))),
    CONSTRAINT secret_sealed_check CHECK (((octet_length(sealed) >= 28) AND (octet_length(sealed) <= 131072)))
);

COMMENT ON TABLE mcp.secret IS 'Values that calls need, sealed. Without the keyring, a file on the hosts, nothing here can be read';

COMMENT ON COLUMN mcp.secret.organization_id IS 'Whose; sealed in';

COMMENT ON COLUMN mcp.secret.name IS 'What source.config calls it; sealed in';

COMMENT ON COLUMN mcp.secret.key_id IS 'File of the keyring that opens it';

COMMENT ON COLUMN mcp.secret.sealed IS 'AES-256-GCM: nonce, ciphertext and tag; bound to organisation and name';

COMMENT ON COLUMN mcp.secret.updated_at IS 'When it was set or sealed anew';

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

CREATE TABLE mcp.source (
    source_id bigint NOT NULL,
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    title text,
    config jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_enabled boolean DEFAULT true NOT NULL,
    refreshed_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT source_config_check CHECK (((jsonb_typeof(config) = 'object'::text) AND (octet_length((config)::text) <= 65536))),
    CONSTRAINT source_kind_check CHECK ((kind = ANY (ARRAY['script'::text, 'sql'::text, 'http'::text, 'mcp'::text]))),
    CONSTRAINT source_name_check CHECK ((name ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    CONSTRAINT source_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512))),
    CONSTRAINT source_title_check CHECK (((octet_length(title) >= 1) AND (octet_length(title) <= 512)))
);

COMMENT ON TABLE mcp.source IS 'Where tools come from, per organisation. A change counts on the next request, on every host';

COMMENT ON COLUMN mcp.source.source_id IS 'Key';

COMMENT ON COLUMN mcp.source.organization_id IS 'Whose; deliberately no foreign key';

COMMENT ON COLUMN mcp.source.name IS 'First part of the paths of its tools; the namespace';

COMMENT ON COLUMN mcp.source.kind IS 'script: JavaScript in rows; sql: functions; http: an HTTP API; mcp: another MCP server';

COMMENT ON COLUMN mcp.source.title IS 'For people; NULL: the name';

COMMENT ON COLUMN mcp.source.config IS 'How to reach it, by kind. Names secrets, never holds one';

COMMENT ON COLUMN mcp.source.is_enabled IS 'false: its tools can be neither seen nor called';

COMMENT ON COLUMN mcp.source.refreshed_at IS 'When its tools were last imported';

COMMENT ON COLUMN mcp.source.created_at IS 'When it was added';

ALTER TABLE mcp.source ALTER COLUMN source_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mcp.source_source_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE mcp.sweep (
    sweep_id bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    host text DEFAULT ''::text NOT NULL,
    expired bigint DEFAULT 0 NOT NULL,
    renewed bigint DEFAULT 0 NOT NULL,
    purged bigint DEFAULT 0 NOT NULL,
    is_complete boolean NOT NULL,
    runs_failed bigint DEFAULT 0 NOT NULL,
    runs_expired bigint DEFAULT 0 NOT NULL,
    calls_declined bigint DEFAULT 0 NOT NULL,
    CONSTRAINT sweep_calls_declined_check CHECK ((calls_declined >= 0)),
    CONSTRAINT sweep_expired_check CHECK ((expired >= 0)),
    CONSTRAINT sweep_purged_check CHECK ((purged >= 0)),
    CONSTRAINT sweep_renewed_check CHECK ((renewed >= 0)),
    CONSTRAINT sweep_runs_expired_check CHECK ((runs_expired >= 0)),
    CONSTRAINT sweep_runs_failed_check CHECK ((runs_failed >= 0))
);

COMMENT ON TABLE mcp.sweep IS 'One row per run of mcp-reaper. Kept a week';

COMMENT ON COLUMN mcp.sweep.sweep_id IS 'Order of writing';

COMMENT ON COLUMN mcp.sweep.started_at IS 'Start of the run';

COMMENT ON COLUMN mcp.sweep.finished_at IS 'End of the run';

COMMENT ON COLUMN mcp.sweep.host IS 'Where it ran';

COMMENT ON COLUMN mcp.sweep.expired IS 'Sessions removed';

COMMENT ON COLUMN mcp.sweep.renewed IS 'Sessions alive, alarm set again';

COMMENT ON COLUMN mcp.sweep.purged IS 'Old tombstones, audit events, sweeps and runs removed';

COMMENT ON COLUMN mcp.sweep.is_complete IS 'false: stopped by its budget with work left';

COMMENT ON COLUMN mcp.sweep.runs_failed IS 'Runs whose process was gone';

COMMENT ON COLUMN mcp.sweep.runs_expired IS 'Runs that waited too long';

COMMENT ON COLUMN mcp.sweep.calls_declined IS 'Calls that nobody decided in time';

CREATE VIEW mcp.sweep_recent AS
 SELECT sweep.sweep_id,
    sweep.started_at,
    sweep.finished_at,
    sweep.host,
    sweep.expired,
    sweep.renewed,
    sweep.purged,
    sweep.is_complete,
    sweep.runs_failed,
    sweep.runs_expired,
    sweep.calls_declined
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

CREATE TABLE mcp.tool_policy (
    tool_policy_id bigint NOT NULL,
    organization_id text NOT NULL COLLATE pg_catalog."C",
    pattern text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    "position" numeric DEFAULT 0 NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT tool_policy_action_check CHECK ((action = ANY (ARRAY['approve'::text, 'require_approval'::text, 'block'::text]))),
    CONSTRAINT tool_policy_note_check CHECK ((octet_length(note) <= 1024)),
    CONSTRAINT tool_policy_organization_id_check CHECK (((octet_length(organization_id) >= 1) AND (octet_length(organization_id) <= 512))),
    CONSTRAINT tool_policy_pattern_check CHECK (((pattern ~ '^(\*|[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*(\.\*)?)$'::text) AND (octet_length(pattern) <= 256)))
);

COMMENT ON TABLE mcp.tool_policy IS 'Who decides on calls. The first that matches counts, by position, then by age; none: tool.needs_approval';

COMMENT ON COLUMN mcp.tool_policy.tool_policy_id IS 'Key; breaks ties';

COMMENT ON COLUMN mcp.tool_policy.organization_id IS 'Whose';

COMMENT ON COLUMN mcp.tool_policy.pattern IS '* for every tool, a path, or PREFIX.* for PREFIX and all below it';

COMMENT ON COLUMN mcp.tool_policy.action IS 'approve: runs unasked; require_approval: a human is asked; block: can be neither seen nor called';

COMMENT ON COLUMN mcp.tool_policy."position" IS 'Lowest first; a fraction fits between any two';

COMMENT ON COLUMN mcp.tool_policy.note IS 'Why';

COMMENT ON COLUMN mcp.tool_policy.created_at IS 'When it was added';

ALTER TABLE mcp.tool_policy ALTER COLUMN tool_policy_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mcp.tool_policy_tool_policy_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE mcp.tool ALTER COLUMN tool_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mcp.tool_tool_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE mcp.upstream_session (
    source_id bigint NOT NULL,
    session_id text COLLATE pg_catalog."C",
    protocol_version text NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT upstream_session_protocol_version_check CHECK ((protocol_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'::text)),
    CONSTRAINT upstream_session_session_id_check CHECK ((octet_length(session_id) <= 1024))
);

COMMENT ON TABLE mcp.upstream_session IS 'The session that all hosts share with an upstream MCP server';

COMMENT ON COLUMN mcp.upstream_session.source_id IS 'The source, of kind mcp';

COMMENT ON COLUMN mcp.upstream_session.session_id IS 'As given by the server; NULL: it keeps none';

COMMENT ON COLUMN mcp.upstream_session.protocol_version IS 'Negotiated';

COMMENT ON COLUMN mcp.upstream_session.updated_at IS 'When it was initialized';

ALTER TABLE ONLY mcp.api_token
    ADD CONSTRAINT api_token_pkey PRIMARY KEY (api_token_id);

ALTER TABLE ONLY mcp.api_token
    ADD CONSTRAINT api_token_token_sha256_key UNIQUE (token_sha256);

ALTER TABLE ONLY mcp.audit_event
    ADD CONSTRAINT audit_event_pkey PRIMARY KEY (audit_event_id);

ALTER TABLE ONLY mcp.catalog_version
    ADD CONSTRAINT catalog_version_pkey PRIMARY KEY (organization_id);

ALTER TABLE ONLY mcp.execution_call
    ADD CONSTRAINT execution_call_pkey PRIMARY KEY (execution_id, seq);

ALTER TABLE ONLY mcp.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (execution_id);

ALTER TABLE ONLY mcp.jwks
    ADD CONSTRAINT jwks_pkey PRIMARY KEY (issuer);

ALTER TABLE ONLY mcp.membership
    ADD CONSTRAINT membership_pkey PRIMARY KEY (organization_id, account_id);

ALTER TABLE ONLY mcp.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (migration_id);

ALTER TABLE ONLY mcp.organization
    ADD CONSTRAINT organization_pkey PRIMARY KEY (organization_id);

ALTER TABLE ONLY mcp.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (organization_id, name);

ALTER TABLE ONLY mcp.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY mcp.session_tombstone
    ADD CONSTRAINT session_tombstone_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY mcp.source
    ADD CONSTRAINT source_organization_id_name_key UNIQUE (organization_id, name);

ALTER TABLE ONLY mcp.source
    ADD CONSTRAINT source_pkey PRIMARY KEY (source_id);

ALTER TABLE ONLY mcp.source
    ADD CONSTRAINT source_source_id_organization_id_name_key UNIQUE (source_id, organization_id, name);

ALTER TABLE ONLY mcp.sweep
    ADD CONSTRAINT sweep_pkey PRIMARY KEY (sweep_id);

ALTER TABLE ONLY mcp.tool
    ADD CONSTRAINT tool_organization_id_path_key UNIQUE (organization_id, path);

ALTER TABLE ONLY mcp.tool
    ADD CONSTRAINT tool_pkey PRIMARY KEY (tool_id);

ALTER TABLE ONLY mcp.tool_policy
    ADD CONSTRAINT tool_policy_pkey PRIMARY KEY (tool_policy_id);

ALTER TABLE ONLY mcp.tool
    ADD CONSTRAINT tool_source_id_name_key UNIQUE (source_id, name);

ALTER TABLE ONLY mcp.upstream_session
    ADD CONSTRAINT upstream_session_pkey PRIMARY KEY (source_id);

CREATE INDEX api_token_principal_idx ON mcp.api_token USING btree (organization_id, account_id);

CREATE INDEX audit_event_account_idx ON mcp.audit_event USING btree (organization_id, account_id, at);

CREATE INDEX audit_event_at_idx ON mcp.audit_event USING btree (at);

CREATE INDEX execution_alarm_idx ON mcp.execution USING btree (alarm_at) WHERE (alarm_at IS NOT NULL);

CREATE INDEX execution_call_created_idx ON mcp.execution_call USING btree (created_at);

CREATE INDEX execution_ended_idx ON mcp.execution USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX execution_organization_idx ON mcp.execution USING btree (organization_id, created_at);

CREATE INDEX session_alarm_idx ON mcp.session USING btree (alarm_at);

CREATE INDEX session_principal_idx ON mcp.session USING btree (organization_id, account_id, issuer);

CREATE INDEX session_tombstone_ended_idx ON mcp.session_tombstone USING btree (ended_at);

CREATE INDEX sweep_finished_idx ON mcp.sweep USING btree (finished_at);

CREATE INDEX tool_listed_idx ON mcp.tool USING btree (organization_id, path) WHERE is_listed;

CREATE INDEX tool_policy_order_idx ON mcp.tool_policy USING btree (organization_id, "position", tool_policy_id);

CREATE INDEX tool_search_idx ON mcp.tool USING gin (search) WITH (fastupdate=off);

CREATE INDEX tool_words_idx ON mcp.tool USING gin (words mcp_trgm.gin_trgm_ops) WITH (fastupdate=off);

CREATE TRIGGER catalog_delete AFTER DELETE ON mcp.source REFERENCING OLD TABLE AS old_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_delete AFTER DELETE ON mcp.tool REFERENCING OLD TABLE AS old_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_delete AFTER DELETE ON mcp.tool_policy REFERENCING OLD TABLE AS old_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_insert AFTER INSERT ON mcp.source REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_insert AFTER INSERT ON mcp.tool REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_insert AFTER INSERT ON mcp.tool_policy REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_update AFTER UPDATE ON mcp.source REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_update AFTER UPDATE ON mcp.tool REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

CREATE TRIGGER catalog_update AFTER UPDATE ON mcp.tool_policy REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();

ALTER TABLE ONLY mcp.execution_call
    ADD CONSTRAINT execution_call_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES mcp.execution(execution_id) ON DELETE CASCADE;

ALTER TABLE ONLY mcp.tool
    ADD CONSTRAINT tool_source_id_organization_id_source_name_fkey FOREIGN KEY (source_id, organization_id, source_name) REFERENCES mcp.source(source_id, organization_id, name) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY mcp.upstream_session
    ADD CONSTRAINT upstream_session_source_id_fkey FOREIGN KEY (source_id) REFERENCES mcp.source(source_id) ON DELETE CASCADE;

GRANT USAGE ON SCHEMA mcp TO mcp_responder;
GRANT USAGE ON SCHEMA mcp TO mcp_reaper;
GRANT USAGE ON SCHEMA mcp TO mcp_admin;
GRANT USAGE ON SCHEMA mcp TO mcp_readonly;

REVOKE ALL ON FUNCTION mcp.api_token_find(p_token_sha256 bytea, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.api_token_find(p_token_sha256 bytea, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.approve(execution_id uuid, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.approve(execution_id uuid, note text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.approve(execution_id uuid, seq integer, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.approve(execution_id uuid, seq integer, note text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.audit_foreign(p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_owner_organization_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.audit_write(p_event text, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_detail jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.call_ask(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea, p_pending bytea, p_kind text, p_message text, p_schema text, p_window_s integer, OUT outcome text, OUT deadline text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.call_ask(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea, p_pending bytea, p_kind text, p_message text, p_schema text, p_window_s integer, OUT outcome text, OUT deadline text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.call_begin(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.call_begin(p_execution_id uuid, p_generation integer, p_seq integer, p_path text, p_args text, p_args_sha256 bytea) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.call_decide(p_execution_id uuid, p_seq integer, p_action text, p_answer text, p_by text, p_via text, p_note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.call_go(p_execution_id uuid, p_generation integer, p_seq integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.call_go(p_execution_id uuid, p_generation integer, p_seq integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.call_settle(p_execution_id uuid, p_generation integer, p_seq integer, p_status text, p_is_error boolean, p_result text, p_result_sha256 bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.call_settle(p_execution_id uuid, p_generation integer, p_seq integer, p_status text, p_is_error boolean, p_result text, p_result_sha256 bytea) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.cancel_execution(execution_id uuid, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.cancel_execution(execution_id uuid, note text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.catalog_bump(p_organization_ids text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.catalog_changed() FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.decline(execution_id uuid, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.decline(execution_id uuid, note text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.decline(execution_id uuid, seq integer, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.decline(execution_id uuid, seq integer, note text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.drain() FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.drain() TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text, OUT catalog_version bigint, OUT listed_tools integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.enter(p_session_id text, p_issuer text, p_account_id text, p_organization_id text, p_token_sha256 bytea, p_membership text, OUT outcome text, OUT issuer text, OUT account_id text, OUT organization_id text, OUT protocol_version text, OUT client_capabilities text, OUT is_initialized boolean, OUT end_reason text, OUT catalog_version bigint, OUT listed_tools integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_alarm(p_execution_id uuid, p_deadline_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.execution_calls(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_calls(p_execution_id uuid) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_close(p_execution_id uuid, p_status text, p_outcome text, p_result text, p_error text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.execution_decide(p_execution_id uuid, p_seq integer, p_action text, p_note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.execution_hold(p_execution_id uuid, p_generation integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.execution_open(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_code_sha256 bytea, p_engine text, p_lease_s integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_open(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_session_id text, p_code_sha256 bytea, p_engine text, p_lease_s integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_overdue(p_execution_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.execution_reclaim(p_execution_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.execution_release(p_execution_id uuid, p_generation integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_release(p_execution_id uuid, p_generation integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_renew(p_execution_id uuid, p_generation integer, p_lease_s integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_renew(p_execution_id uuid, p_generation integer, p_lease_s integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_resume(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_seq integer, p_action text, p_answer text, p_engine text, p_lease_s integer, OUT outcome text, OUT status text, OUT generation integer, OUT heap_generation integer, OUT engine text, OUT heap bytea, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_resume(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, p_seq integer, p_action text, p_answer text, p_engine text, p_lease_s integer, OUT outcome text, OUT status text, OUT generation integer, OUT heap_generation integer, OUT engine text, OUT heap bytea, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_settle(p_execution_id uuid, p_generation integer, p_status text, p_outcome text, p_result text, p_error text, p_wall_used_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_settle(p_execution_id uuid, p_generation integer, p_status text, p_outcome text, p_result text, p_error text, p_wall_used_ms bigint) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_state(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, OUT outcome text, OUT status text, OUT generation integer, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text, OUT deadline text, OUT is_claimable boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_state(p_execution_id uuid, p_issuer text, p_account_id text, p_organization_id text, OUT outcome text, OUT status text, OUT generation integer, OUT wall_used_ms bigint, OUT run_outcome text, OUT result text, OUT error text, OUT deadline text, OUT is_claimable boolean) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.execution_suspend(p_execution_id uuid, p_generation integer, p_heap bytea, p_wall_used_ms bigint, p_keep_s integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.execution_suspend(p_execution_id uuid, p_generation integer, p_heap bytea, p_wall_used_ms bigint, p_keep_s integer) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.is_similar(a text, b text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.is_word_similar(word text, words text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.iso(t timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.iso(t timestamp with time zone) TO mcp_admin;

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

REVOKE ALL ON FUNCTION mcp.policy_action(p_organization_id text, p_path text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.policy_action(p_organization_id text, p_path text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.policy_block_pattern(p_organization_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.policy_matches(pattern text, path text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.policy_matches(pattern text, path text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.reap_executions(p_batch integer, p_retention_s bigint, OUT due bigint, OUT declined bigint, OUT failed bigint, OUT expired bigint, OUT purged bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_executions(p_batch integer, p_retention_s bigint, OUT due bigint, OUT declined bigint, OUT failed bigint, OUT expired bigint, OUT purged bigint) TO mcp_reaper;

REVOKE ALL ON FUNCTION mcp.reap_preview(p_retention_s bigint, OUT expired bigint, OUT renewed bigint, OUT purged bigint, OUT runs_failed bigint, OUT runs_expired bigint, OUT calls_declined bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_preview(p_retention_s bigint, OUT expired bigint, OUT renewed bigint, OUT purged bigint, OUT runs_failed bigint, OUT runs_expired bigint, OUT calls_declined bigint) TO mcp_reaper;
GRANT ALL ON FUNCTION mcp.reap_preview(p_retention_s bigint, OUT expired bigint, OUT renewed bigint, OUT purged bigint, OUT runs_failed bigint, OUT runs_expired bigint, OUT calls_declined bigint) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.reap_records(p_batch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_records(p_batch integer) TO mcp_reaper;

REVOKE ALL ON FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, p_after timestamp with time zone, OUT due bigint, OUT expired bigint, OUT renewed bigint, OUT last_alarm_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.reap_sessions(p_batch integer, p_heartbeat_s integer, p_after timestamp with time zone, OUT due bigint, OUT expired bigint, OUT renewed bigint, OUT last_alarm_at timestamp with time zone) TO mcp_reaper;

REVOKE ALL ON FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.revoke_account(p_organization_id text, p_account_id text, OUT memberships bigint, OUT tokens bigint, OUT sessions bigint) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.schema_version() FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_responder;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_reaper;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_admin;
GRANT ALL ON FUNCTION mcp.schema_version() TO mcp_readonly;

REVOKE ALL ON FUNCTION mcp.search_item(p_path text, p_name text, p_title text, p_description text, p_source_name text, p_score numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.search_scope(p_organization_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.search_some(p_tokens tsquery[], p_needed integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.search_token(p_scope text, p_word text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.search_vector(p_organization_id text, p_path text, p_title text, p_description text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.secret_find(p_organization_id text, p_name text, OUT key_id text, OUT sealed bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.secret_find(p_organization_id text, p_name text, OUT key_id text, OUT sealed bytea) TO mcp_responder;
GRANT ALL ON FUNCTION mcp.secret_find(p_organization_id text, p_name text, OUT key_id text, OUT sealed bytea) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.secret_remove(p_organization_id text, p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.secret_remove(p_organization_id text, p_name text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.secret_rotate(p_organization_id text, p_name text, p_old_sealed bytea, p_key_id text, p_sealed bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.secret_rotate(p_organization_id text, p_name text, p_old_sealed bytea, p_key_id text, p_sealed bytea) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.secret_save(p_organization_id text, p_name text, p_key_id text, p_sealed bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.secret_save(p_organization_id text, p_name text, p_key_id text, p_sealed bytea) TO mcp_admin;

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

REVOKE ALL ON FUNCTION mcp.similarity(a text, b text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.source_inventory(p_organization_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.source_inventory(p_organization_id text) TO mcp_responder;
GRANT ALL ON FUNCTION mcp.source_inventory(p_organization_id text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean, p_runs_failed bigint, p_runs_expired bigint, p_calls_declined bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.sweep_save(p_elapsed_ms bigint, p_host text, p_expired bigint, p_renewed bigint, p_purged bigint, p_is_complete boolean, p_runs_failed bigint, p_runs_expired bigint, p_calls_declined bigint) TO mcp_reaper;

REVOKE ALL ON FUNCTION mcp.tool_find(p_organization_id text, p_path text, OUT outcome text, OUT tool_id bigint, OUT source_id bigint, OUT kind text, OUT source_name text, OUT name text, OUT path text, OUT title text, OUT description text, OUT config text, OUT definition text, OUT input_schema text, OUT output_schema text, OUT annotations text, OUT action text, OUT policy_pattern text, OUT approval_text text, OUT suggestions text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.tool_find(p_organization_id text, p_path text, OUT outcome text, OUT tool_id bigint, OUT source_id bigint, OUT kind text, OUT source_name text, OUT name text, OUT path text, OUT title text, OUT description text, OUT config text, OUT definition text, OUT input_schema text, OUT output_schema text, OUT annotations text, OUT action text, OUT policy_pattern text, OUT approval_text text, OUT suggestions text) TO mcp_responder;
GRANT ALL ON FUNCTION mcp.tool_find(p_organization_id text, p_path text, OUT outcome text, OUT tool_id bigint, OUT source_id bigint, OUT kind text, OUT source_name text, OUT name text, OUT path text, OUT title text, OUT description text, OUT config text, OUT definition text, OUT input_schema text, OUT output_schema text, OUT annotations text, OUT action text, OUT policy_pattern text, OUT approval_text text, OUT suggestions text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.tool_import(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint, OUT removed bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.tool_import(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint, OUT removed bigint) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.tool_listed(p_organization_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.tool_listed(p_organization_id text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.tool_put(p_source_id bigint, p_tools json, OUT added bigint, OUT changed bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.tool_save(p_source_id bigint, p_tool json) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.tool_save(p_source_id bigint, p_tool json) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.tool_search(p_organization_id text, p_query text, p_namespace text, p_limit integer, p_offset integer, OUT total bigint, OUT items text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.tool_search(p_organization_id text, p_query text, p_namespace text, p_limit integer, p_offset integer, OUT total bigint, OUT items text) TO mcp_responder;
GRANT ALL ON FUNCTION mcp.tool_search(p_organization_id text, p_query text, p_namespace text, p_limit integer, p_offset integer, OUT total bigint, OUT items text) TO mcp_admin;

REVOKE ALL ON FUNCTION mcp.tool_suggest(p_organization_id text, p_path text, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.upstream_drop(p_organization_id text, p_source_id bigint, p_session_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.upstream_drop(p_organization_id text, p_source_id bigint, p_session_id text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.upstream_find(p_organization_id text, p_source_id bigint, OUT session_id text, OUT protocol_version text, OUT age_s bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.upstream_find(p_organization_id text, p_source_id bigint, OUT session_id text, OUT protocol_version text, OUT age_s bigint) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.upstream_save(p_organization_id text, p_source_id bigint, p_session_id text, p_protocol_version text) FROM PUBLIC;
GRANT ALL ON FUNCTION mcp.upstream_save(p_organization_id text, p_source_id bigint, p_session_id text, p_protocol_version text) TO mcp_responder;

REVOKE ALL ON FUNCTION mcp.word_similarity(word text, words text) FROM PUBLIC;

REVOKE ALL ON FUNCTION mcp.words(t text) FROM PUBLIC;

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

GRANT DELETE ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(execution_id) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(issuer) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(account_id) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(organization_id) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(session_hint) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(status) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(code_sha256) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(engine) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(generation) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(heap_generation) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(created_at) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(lease_until) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(waiting_since) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(deadline_at) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(ended_at) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(alarm_at) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(wall_used_ms) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(outcome) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(result) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(error) ON TABLE mcp.execution TO mcp_admin;

GRANT SELECT(execution_id) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(seq) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(generation) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(path) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(status) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(args) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(args_sha256) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(created_at) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(started_at) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(ended_at) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(is_error) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(result) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(result_sha256) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(interaction_kind) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(message) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(schema) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(deadline_at) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(action) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(answer) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(decided_at) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(decided_by) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(decided_via) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT(note) ON TABLE mcp.execution_call TO mcp_admin;

GRANT SELECT ON TABLE mcp.call_recent TO mcp_admin;
GRANT SELECT ON TABLE mcp.call_recent TO mcp_readonly;

GRANT SELECT ON TABLE mcp.execution_waiting TO mcp_admin;
GRANT SELECT ON TABLE mcp.execution_waiting TO mcp_readonly;

GRANT SELECT ON TABLE mcp.call_waiting TO mcp_admin;

GRANT SELECT ON TABLE mcp.catalog_version TO mcp_admin;

GRANT SELECT ON TABLE mcp.execution_recent TO mcp_admin;
GRANT SELECT ON TABLE mcp.execution_recent TO mcp_readonly;

GRANT SELECT,DELETE ON TABLE mcp.jwks TO mcp_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE mcp.membership TO mcp_admin;

GRANT SELECT ON TABLE mcp.migration TO mcp_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE mcp.organization TO mcp_admin;

GRANT SELECT,DELETE ON TABLE mcp.session TO mcp_admin;

GRANT UPDATE(idle_s) ON TABLE mcp.session TO mcp_admin;

GRANT UPDATE(lifetime_s) ON TABLE mcp.session TO mcp_admin;

GRANT UPDATE(readopt_s) ON TABLE mcp.session TO mcp_admin;

GRANT SELECT,DELETE ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(source_id) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(organization_id) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(source_name) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(name) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(title),UPDATE(title) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(description),UPDATE(description) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(input_schema),UPDATE(input_schema) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(output_schema),UPDATE(output_schema) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(annotations),UPDATE(annotations) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(definition),UPDATE(definition) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(is_listed),UPDATE(is_listed) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(is_enabled),UPDATE(is_enabled) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(needs_approval),UPDATE(needs_approval) ON TABLE mcp.tool TO mcp_admin;

GRANT INSERT(approval_text),UPDATE(approval_text) ON TABLE mcp.tool TO mcp_admin;

GRANT UPDATE(updated_at) ON TABLE mcp.tool TO mcp_admin;

GRANT SELECT ON TABLE mcp.organization_usage TO mcp_admin;
GRANT SELECT ON TABLE mcp.organization_usage TO mcp_readonly;

GRANT SELECT(organization_id) ON TABLE mcp.secret TO mcp_admin;

GRANT SELECT(name) ON TABLE mcp.secret TO mcp_admin;

GRANT SELECT(key_id) ON TABLE mcp.secret TO mcp_admin;

GRANT SELECT(updated_at) ON TABLE mcp.secret TO mcp_admin;

GRANT SELECT ON TABLE mcp.session_tombstone TO mcp_admin;

GRANT SELECT ON TABLE mcp.session_ended TO mcp_admin;
GRANT SELECT ON TABLE mcp.session_ended TO mcp_readonly;

GRANT SELECT ON TABLE mcp.session_expired TO mcp_admin;
GRANT SELECT ON TABLE mcp.session_expired TO mcp_readonly;

GRANT SELECT ON TABLE mcp.session_live TO mcp_admin;
GRANT SELECT ON TABLE mcp.session_live TO mcp_readonly;

GRANT SELECT,DELETE ON TABLE mcp.source TO mcp_admin;

GRANT INSERT(organization_id) ON TABLE mcp.source TO mcp_admin;

GRANT INSERT(name),UPDATE(name) ON TABLE mcp.source TO mcp_admin;

GRANT INSERT(kind) ON TABLE mcp.source TO mcp_admin;

GRANT INSERT(title),UPDATE(title) ON TABLE mcp.source TO mcp_admin;

GRANT INSERT(config),UPDATE(config) ON TABLE mcp.source TO mcp_admin;

GRANT INSERT(is_enabled),UPDATE(is_enabled) ON TABLE mcp.source TO mcp_admin;

GRANT UPDATE(refreshed_at) ON TABLE mcp.source TO mcp_admin;

GRANT SELECT ON TABLE mcp.sweep TO mcp_admin;

GRANT SELECT ON TABLE mcp.sweep_recent TO mcp_admin;
GRANT SELECT ON TABLE mcp.sweep_recent TO mcp_readonly;

GRANT SELECT,DELETE ON TABLE mcp.tool_policy TO mcp_admin;

GRANT INSERT(organization_id) ON TABLE mcp.tool_policy TO mcp_admin;

GRANT INSERT(pattern),UPDATE(pattern) ON TABLE mcp.tool_policy TO mcp_admin;

GRANT INSERT(action),UPDATE(action) ON TABLE mcp.tool_policy TO mcp_admin;

GRANT INSERT("position"),UPDATE("position") ON TABLE mcp.tool_policy TO mcp_admin;

GRANT INSERT(note),UPDATE(note) ON TABLE mcp.tool_policy TO mcp_admin;

GRANT DELETE ON TABLE mcp.upstream_session TO mcp_admin;

GRANT SELECT(source_id) ON TABLE mcp.upstream_session TO mcp_admin;

GRANT SELECT(protocol_version) ON TABLE mcp.upstream_session TO mcp_admin;

GRANT SELECT(updated_at) ON TABLE mcp.upstream_session TO mcp_admin;
