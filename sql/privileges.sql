-- Who may do what, whole.  mcp-admin migrate applies it after the migrations,
-- as the owner, in one transaction; idempotent.  Taking a line out here takes
-- the privilege away.
--
-- The responder and the reaper call functions and touch no table (reason:
-- migration 0002).  What a leaked responder password still allows: opening,
-- extending and ending a session whose id and owner are known, reading the
-- catalogue and sealed secrets (of no use without the keyring), reading and
-- ending a run whose id is known, and storing a key set (audited as
-- jwks.changed) - the responder must trust the keys it shares, so guard this
-- password like the issuer's.

-- Nothing for PUBLIC: the functions run with their owner's rights.
REVOKE ALL ON SCHEMA mcp FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA mcp FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA mcp FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mcp FROM PUBLIC;

DO $do$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles
        WHERE rolname = 'mcp_responder')
    THEN
        RAISE NOTICE 'no group roles (see roles.sql): one role does all';
        RETURN;
    END IF;

    EXECUTE $sql$
    REVOKE ALL ON SCHEMA mcp
        FROM mcp_responder, mcp_reaper, mcp_admin, mcp_readonly;
    REVOKE ALL ON ALL TABLES IN SCHEMA mcp
        FROM mcp_responder, mcp_reaper, mcp_admin, mcp_readonly;
    REVOKE ALL ON ALL SEQUENCES IN SCHEMA mcp
        FROM mcp_responder, mcp_reaper, mcp_admin, mcp_readonly;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mcp
        FROM mcp_responder, mcp_reaper, mcp_admin, mcp_readonly;

    GRANT USAGE ON SCHEMA mcp
        TO mcp_responder, mcp_reaper, mcp_admin, mcp_readonly;
    GRANT EXECUTE ON FUNCTION mcp.schema_version()
        TO mcp_responder, mcp_reaper, mcp_admin, mcp_readonly;

    GRANT EXECUTE ON FUNCTION
        mcp.enter(text, text, text, text, bytea, text),
        mcp.api_token_find(bytea),
        mcp.session_open(text, text, text, text, text, jsonb, jsonb,
            integer, integer, integer, integer, integer),
        mcp.session_initialized(text),
        mcp.session_end(text, text, text, text),
        mcp.jwks_find(text),
        mcp.jwks_claim(text, boolean, integer),
        mcp.jwks_save(text, boolean, text),
        mcp.jwks_fail(text, text),
        mcp.tool_find(text, text),
        mcp.tool_listed(text),
        mcp.tool_search(text, text, text, integer, integer),
        mcp.source_inventory(text),
        mcp.secret_find(text, text),
        mcp.upstream_find(text, bigint),
        mcp.upstream_save(text, bigint, text, text),
        mcp.upstream_drop(text, bigint, text),
        mcp.execution_open(uuid, text, text, text, text, bytea, text,
            integer),
        mcp.execution_renew(uuid, integer, integer),
        mcp.execution_release(uuid, integer),
        mcp.execution_suspend(uuid, integer, bytea, bigint, integer),
        mcp.execution_settle(uuid, integer, text, text, text, text, bigint),
        mcp.execution_state(uuid, text, text, text),
        mcp.execution_resume(uuid, text, text, text, integer, text, text,
            text, integer),
        mcp.execution_calls(uuid),
        mcp.call_begin(uuid, integer, integer, text, text, bytea),
        mcp.call_ask(uuid, integer, integer, text, text, bytea, bytea, text,
            text, text, integer),
        mcp.call_go(uuid, integer, integer),
        mcp.call_settle(uuid, integer, integer, text, boolean, text, bytea)
        TO mcp_responder;

    GRANT EXECUTE ON FUNCTION
        mcp.reap_sessions(integer, integer, timestamptz),
        mcp.reap_records(integer),
        mcp.reap_executions(integer, bigint),
        mcp.reap_preview(bigint),
        mcp.sweep_save(bigint, text, bigint, bigint, bigint, boolean, bigint,
            bigint, bigint)
        TO mcp_reaper;

    GRANT SELECT ON mcp.session_live, mcp.session_expired,
        mcp.session_ended, mcp.api_token_live, mcp.organization_usage,
        mcp.audit_recent, mcp.sweep_recent, mcp.execution_waiting,
        mcp.execution_recent, mcp.call_recent
        TO mcp_admin, mcp_readonly;
    -- The views call it with the rights of whoever reads them.
    GRANT EXECUTE ON FUNCTION mcp.session_expired_by(timestamptz,
        timestamptz, integer, integer)
        TO mcp_admin, mcp_readonly;

    -- Administrators see every row but no token digest, and may change the
    -- limits of running sessions.  The audit can be added to, not altered.
    GRANT SELECT, INSERT, UPDATE, DELETE
        ON mcp.organization, mcp.membership TO mcp_admin;
    GRANT SELECT (api_token_id, token_hint, issuer, account_id,
            organization_id, name, created_at, expires_at, revoked_at,
            last_used_at),
        INSERT (token_sha256, token_hint, issuer, account_id,
            organization_id, name, expires_at),
        UPDATE (name, expires_at, revoked_at)
        ON mcp.api_token TO mcp_admin;
    GRANT SELECT, DELETE, UPDATE (idle_s, lifetime_s, readopt_s)
        ON mcp.session TO mcp_admin;
    GRANT SELECT ON mcp.session_tombstone, mcp.sweep, mcp.migration
        TO mcp_admin;
    GRANT SELECT, DELETE ON mcp.jwks TO mcp_admin;
    GRANT SELECT, INSERT (event, issuer, account_id, organization_id,
            session_hint, detail)
        ON mcp.audit_event TO mcp_admin;
    -- The catalogue is theirs.  Columns that follow from others are not.
    GRANT SELECT, DELETE,
        INSERT (organization_id, name, kind, title, config, is_enabled),
        UPDATE (name, title, config, is_enabled, refreshed_at)
        ON mcp.source TO mcp_admin;
    GRANT SELECT, DELETE,
        INSERT (source_id, organization_id, source_name, name, title,
            description, input_schema, output_schema, annotations,
            definition, is_listed, is_enabled, needs_approval,
            approval_text),
        UPDATE (title, description, input_schema, output_schema, annotations,
            definition, is_listed, is_enabled, needs_approval, approval_text,
            updated_at)
        ON mcp.tool TO mcp_admin;
    GRANT SELECT, DELETE,
        INSERT (organization_id, pattern, action, position, note),
        UPDATE (pattern, action, position, note)
        ON mcp.tool_policy TO mcp_admin;
    GRANT SELECT ON mcp.catalog_version TO mcp_admin;
    GRANT SELECT (source_id, protocol_version, updated_at), DELETE
        ON mcp.upstream_session TO mcp_admin;
    -- Changes of secrets are audited, so they go through functions.
    GRANT SELECT (organization_id, name, key_id, updated_at)
        ON mcp.secret TO mcp_admin;
    GRANT EXECUTE ON FUNCTION
        mcp.tool_import(bigint, json),
        mcp.tool_save(bigint, json),
        mcp.tool_find(text, text),
        mcp.tool_search(text, text, text, integer, integer),
        mcp.source_inventory(text),
        mcp.policy_action(text, text),
        mcp.policy_matches(text, text),
        mcp.secret_find(text, text),
        mcp.secret_save(text, text, text, bytea),
        mcp.secret_rotate(text, text, bytea, text, bytea),
        mcp.secret_remove(text, text)
        TO mcp_admin;
    GRANT EXECUTE ON FUNCTION
        mcp.kill_session(text),
        mcp.revoke_account(text, text),
        mcp.drain(),
        mcp.reap_preview(bigint),
        mcp.approve(uuid, integer, text),
        mcp.approve(uuid, text),
        mcp.decline(uuid, integer, text),
        mcp.decline(uuid, text),
        mcp.cancel_execution(uuid, text)
        TO mcp_admin;

    -- Runs can be read, all but the heap and sealed arguments, and removed;
    -- their state is changed by functions alone.
    GRANT SELECT (execution_id, issuer, account_id, organization_id,
            session_hint, status, code_sha256, engine, generation,
            heap_generation, created_at, lease_until, waiting_since,
            deadline_at, ended_at, alarm_at, wall_used_ms, outcome, result,
            error),
        DELETE
        ON mcp.execution TO mcp_admin;
    GRANT SELECT (execution_id, seq, generation, path, status, args,
            args_sha256, created_at, started_at, ended_at, is_error, result,
            result_sha256, interaction_kind, message, schema, deadline_at,
            action, answer, decided_at, decided_by, decided_via, note)
        ON mcp.execution_call TO mcp_admin;
    GRANT SELECT ON mcp.call_waiting TO mcp_admin;
    GRANT EXECUTE ON FUNCTION mcp.iso(timestamptz) TO mcp_admin;
    $sql$;
END
$do$;
