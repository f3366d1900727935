-- Goal: each role can do its work and nothing else.
BEGIN;
SELECT no_plan();

-- PUBLIC has nothing at all.
SELECT is(string_agg(c.relname, ' '), NULL, 'PUBLIC: no table, no view')
FROM pg_class c, aclexplode(c.relacl) x
WHERE c.relnamespace = 'mcp'::regnamespace AND x.grantee = 0;
SELECT is(string_agg(p.proname, ' '), NULL, 'PUBLIC: no function')
FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
WHERE p.pronamespace = 'mcp'::regnamespace AND x.grantee = 0;
SELECT is(string_agg(x.privilege_type, ' '), NULL, 'PUBLIC: no schema')
FROM pg_namespace n, aclexplode(n.nspacl) x
WHERE n.nspname = 'mcp' AND x.grantee = 0;

SELECT is(string_agg(rolname, ' '), NULL, 'the groups cannot log in')
FROM pg_roles WHERE rolname ~ '^mcp_(owner|responder|reaper|admin|readonly)$'
    AND (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb
        OR rolreplication OR rolbypassrls);

CREATE FUNCTION pg_temp.tables(r text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(DISTINCT c.relname::text, ' ' ORDER BY c.relname::text)
    FROM pg_class c
    WHERE c.relnamespace = 'mcp'::regnamespace
        AND c.relkind IN ('r', 'v', 'm', 'p', 'S')
        AND (c.relkind = 'S' AND has_sequence_privilege(r, c.oid,
                'USAGE, SELECT, UPDATE')
            OR c.relkind <> 'S' AND (has_table_privilege(r, c.oid,
                'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, '
                'TRIGGER')
            OR has_any_column_privilege(r, c.oid,
                'SELECT, INSERT, UPDATE, REFERENCES')))
$$;
CREATE FUNCTION pg_temp.functions(r text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(p.proname::text, ' ' ORDER BY p.proname::text)
    FROM pg_proc p WHERE p.pronamespace = 'mcp'::regnamespace
        AND has_function_privilege(r, p.oid, 'EXECUTE')
$$;
SELECT is(pg_temp.tables('mcp_responder'), NULL, 'responder: no table');
SELECT is(pg_temp.functions('mcp_responder'),
    'api_token_find call_ask call_begin call_go call_settle enter '
    'execution_calls execution_open execution_release execution_renew '
    'execution_resume '
    'execution_settle execution_state execution_suspend '
    'jwks_claim jwks_fail jwks_find jwks_save '
    'schema_version secret_find session_end session_initialized session_open '
    'source_inventory tool_find tool_listed tool_search upstream_drop '
    'upstream_find upstream_save',
    'responder: its functions');
SELECT is(pg_temp.tables('mcp_reaper'), NULL, 'reaper: no table');
SELECT is(pg_temp.functions('mcp_reaper'),
    'reap_executions reap_preview reap_records reap_sessions schema_version '
    'sweep_save', 'reaper: its functions');
SELECT is(pg_temp.tables('mcp_readonly'),
    'api_token_live audit_recent call_recent execution_recent '
    'execution_waiting organization_usage session_ended '
    'session_expired session_live sweep_recent', 'readonly: the views');
SELECT is(pg_temp.functions('mcp_readonly'),
    'schema_version session_expired_by', 'readonly: harmless functions');
SELECT is(pg_temp.functions('mcp_admin'),
    'approve approve cancel_execution decline decline drain iso kill_session '
    'policy_action policy_matches reap_preview revoke_account '
    'schema_version secret_find secret_remove secret_rotate secret_save '
    'session_expired_by source_inventory tool_find tool_import tool_save '
    'tool_search',
    'admin: the functions for people');
SELECT is(string_agg(n || ' ' || r, ', '), NULL, 'nobody may create here')
FROM unnest(ARRAY['mcp_responder', 'mcp_reaper', 'mcp_admin',
    'mcp_readonly']) r, unnest(ARRAY['mcp']) n
WHERE has_schema_privilege(r, n, 'CREATE');

INSERT INTO mcp.membership (organization_id, account_id) VALUES ('o', 'a');
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id)
    VALUES (repeat('a', 64), 'i', 'a', 'o');
INSERT INTO mcp.api_token (token_sha256, token_hint, account_id,
    organization_id) VALUES (sha256('t'), 'abcd', 'a', 'o');

-- pgTAP runs as the role under test.
GRANT USAGE ON SCHEMA public TO PUBLIC;

SET LOCAL ROLE mcp_responder;
SELECT results_eq($$SELECT outcome FROM mcp.enter(repeat('a', 64), 'i', 'a',
    'o', NULL, 'sql')$$, ARRAY['ok'], 'responder enters');
SELECT results_eq($$SELECT outcome FROM mcp.api_token_find(sha256('t'))$$,
    ARRAY['ok'], 'responder finds a token by digest');
SELECT throws_ok('SELECT session_id FROM mcp.session', '42501', NULL,
    'responder cannot list sessions');
SELECT throws_ok('SELECT token_sha256 FROM mcp.api_token', '42501', NULL,
    'responder cannot read token digests');
SELECT throws_ok($$INSERT INTO mcp.membership VALUES ('o', 'x')$$, '42501',
    NULL, 'responder cannot make members');
SELECT throws_ok('DELETE FROM mcp.audit_event', '42501', NULL,
    'responder cannot alter the audit');
SELECT throws_ok('SELECT mcp.drain()', '42501', NULL,
    'responder cannot drain');
SELECT throws_ok($$SELECT mcp.session_bury('{}', 'killed')$$, '42501', NULL,
    'responder cannot call inner functions');
SELECT throws_ok($$SELECT mcp.reap_sessions(1, 30)$$, '42501', NULL,
    'responder cannot reap');
SELECT throws_ok('CREATE TABLE mcp.x (y int)', '42501', NULL,
    'responder cannot create');

SET LOCAL ROLE mcp_reaper;
SELECT lives_ok('SELECT * FROM mcp.reap_sessions(10, 30)', 'reaper reaps');
SELECT lives_ok('SELECT * FROM mcp.reap_preview()', 'reaper previews');
SELECT throws_ok('DELETE FROM mcp.session', '42501', NULL,
    'reaper cannot delete live sessions');
SELECT throws_ok($$SELECT mcp.enter(NULL, 'i', 'a', 'o', NULL, 'yes')$$,
    '42501', NULL, 'reaper cannot enter');

SET LOCAL ROLE mcp_readonly;
SELECT is(session_hint, 'aaaaaaaa', 'readonly reads a view')
FROM mcp.session_live;
SELECT lives_ok('SELECT * FROM mcp.organization_usage',
    'readonly reads usage');
SELECT lives_ok('SELECT * FROM mcp.session_expired',
    'readonly reads expired sessions');
SELECT throws_ok('SELECT * FROM mcp.session', '42501', NULL,
    'readonly reads no table');
SELECT throws_ok('DELETE FROM mcp.session_live', '42501', NULL,
    'readonly writes no view');
SELECT throws_ok($$SELECT mcp.kill_session(repeat('a', 64))$$, '42501', NULL,
    'readonly kills nothing');

SET LOCAL ROLE mcp_admin;
SELECT lives_ok('SELECT session_id FROM mcp.session', 'admin reads sessions');
SELECT lives_ok('UPDATE mcp.session SET idle_s = 600',
    'admin changes limits of running sessions');
SELECT throws_ok($$UPDATE mcp.session SET account_id = 'x'$$, '42501', NULL,
    'admin cannot give a session to somebody else');
SELECT throws_ok('SELECT token_sha256 FROM mcp.api_token', '42501', NULL,
    'admin cannot read token digests');
SELECT lives_ok($$INSERT INTO mcp.api_token (token_sha256, token_hint,
    account_id, organization_id) VALUES (sha256('u'), 'abcd', 'a', 'o')
    RETURNING api_token_id$$, 'admin issues tokens');
SELECT lives_ok('UPDATE mcp.api_token SET revoked_at = now()',
    'admin revokes tokens');
SELECT throws_ok('DELETE FROM mcp.audit_event', '42501', NULL,
    'admin cannot alter the audit');
SELECT lives_ok($$INSERT INTO mcp.audit_event (event) VALUES ('x.y')$$,
    'admin appends to the audit');
SELECT throws_ok($$INSERT INTO mcp.audit_event (event, db_user)
    VALUES ('x.y', 'somebody')$$, '42501', NULL,
    'admin cannot audit in another name');
SELECT throws_ok($$INSERT INTO mcp.migration VALUES (99, 'x',
    repeat('0', 64))$$, '42501', NULL, 'admin cannot fake a migration');
SELECT lives_ok($$SELECT * FROM mcp.revoke_account('o', 'a')$$,
    'admin revokes an account');
RESET ROLE;

-- The owner's functions cannot be turned by the caller's search_path.
CREATE SCHEMA evil;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql
    AS $$SELECT 'epoch'::timestamptz$$;
CREATE FUNCTION evil.left(text, integer) RETURNS text LANGUAGE sql
    AS $$SELECT 'evil'$$;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id,
    last_activity_at) VALUES (repeat('b', 64), 'i', 'a', 'o',
    now() - interval '301 seconds');
SET LOCAL search_path = evil, public, pg_catalog;
SELECT public.results_eq($$SELECT outcome FROM mcp.enter(repeat('b', 64),
    'i', 'a', 'o', NULL, 'yes')$$, ARRAY['no_session'],
    'a foreign search_path changes nothing');
SET LOCAL search_path = public;

SELECT * FROM finish();
ROLLBACK;
