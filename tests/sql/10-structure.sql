-- Goal: the tables, views and functions are there, documented, closed to
-- PUBLIC, and built the way their reasons say.
BEGIN;
SELECT no_plan();

SELECT has_table('mcp', t, t) FROM unnest(ARRAY['api_token', 'audit_event',
    'catalog_version', 'execution', 'execution_call', 'jwks', 'membership',
    'migration', 'organization', 'secret', 'session', 'session_tombstone',
    'source', 'sweep', 'tool', 'tool_policy', 'upstream_session']::name[]) t;
SELECT has_view('mcp', v, v) FROM unnest(ARRAY['api_token_live',
    'audit_recent', 'call_recent', 'call_waiting', 'execution_recent',
    'execution_waiting', 'organization_usage', 'session_ended',
    'session_expired', 'session_live', 'sweep_recent']::name[]) v;
SELECT schema_owner_is('mcp', 'mcp_owner');
SELECT columns_are('mcp', 'session', ARRAY['session_id', 'issuer',
    'account_id', 'organization_id', 'protocol_version', 'client_info',
    'client_capabilities', 'idle_s', 'lifetime_s', 'readopt_s', 'created_at',
    'initialized_at', 'last_activity_at', 'alarm_at']);
SELECT col_is_pk('mcp', 'session', 'session_id', 'session key');
SELECT col_is_pk('mcp', 'membership', ARRAY['organization_id', 'account_id'],
    'membership key');
SELECT col_is_unique('mcp', 'api_token', 'token_sha256', 'digest is unique');
SELECT is(count(*), 0::bigint, 'an organisation needs no row')
FROM pg_constraint
WHERE contype = 'f' AND confrelid = 'mcp.organization'::regclass;

-- Stable columns of the views: tools of DBAs read them.
SELECT columns_are('mcp', 'session_live', ARRAY['session_hint',
    'organization_id', 'account_id', 'issuer', 'client_name',
    'client_version', 'protocol_version', 'is_initialized', 'created_at',
    'last_activity_at', 'expires_at', 'alarm_at']);
SELECT columns_are('mcp', 'session_expired', ARRAY['session_hint',
    'organization_id', 'account_id', 'issuer', 'expired_by', 'created_at',
    'last_activity_at', 'alarm_at']);
SELECT columns_are('mcp', 'organization_usage', ARRAY['organization_id',
    'name', 'members', 'tokens_live', 'sessions_live', 'sessions_expired',
    'last_activity_at', 'tools', 'runs_waiting', 'calls_day']);

-- Everything has a comment.
SELECT is(string_agg(c.relname, ' '), NULL, 'every table and view has a comment')
FROM pg_class c
WHERE c.relnamespace = 'mcp'::regnamespace AND c.relkind IN ('r', 'v')
    AND obj_description(c.oid, 'pg_class') IS NULL;
SELECT is(string_agg(c.relname || '.' || a.attname, ' '), NULL,
    'every column of a table has a comment')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'mcp'::regnamespace AND c.relkind = 'r'
    AND a.attnum > 0 AND NOT a.attisdropped
    AND col_description(c.oid, a.attnum) IS NULL;
SELECT is(string_agg(p.proname, ' '), NULL, 'every function has a comment')
FROM pg_proc p WHERE p.pronamespace = 'mcp'::regnamespace
    AND obj_description(p.oid, 'pg_proc') IS NULL;

-- Times are timestamptz, durations integers.
SELECT is(string_agg(c.relname || '.' || a.attname, ' '), NULL,
    'every *_at is timestamptz')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'mcp'::regnamespace AND c.relkind IN ('r', 'v')
    AND a.attname ~ '_at$' AND a.atttypid <> 'timestamptz'::regtype;

-- Functions that run with the owner's rights mean the same for everybody.
SELECT is(string_agg(p.proname, ' '), NULL,
    'every SECURITY DEFINER function pins search_path')
FROM pg_proc p WHERE p.pronamespace = 'mcp'::regnamespace AND p.prosecdef
    AND NOT coalesce(p.proconfig, '{}')
        @> ARRAY['search_path=pg_catalog, pg_temp'];
SELECT is(string_agg(p.proname, ' '), NULL,
    'every other function was bound when it was made')
FROM pg_proc p WHERE p.pronamespace = 'mcp'::regnamespace
    AND NOT p.prosecdef AND p.prosqlbody IS NULL;
SELECT is(string_agg(p.proname, ' '), NULL,
    'every function belongs to mcp_owner')
FROM pg_proc p WHERE p.pronamespace = 'mcp'::regnamespace
    AND p.proowner <> 'mcp_owner'::regrole;

-- The predicate is inlined: the reaper's plan shows no function call.
CREATE FUNCTION pg_temp.plan(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || q;
END $$;
SELECT unalike(string_agg(l, E'\n'), '%session_expired_by%',
    'session_expired_by is inlined')
FROM pg_temp.plan('SELECT mcp.session_expired_by(created_at,
    last_activity_at, idle_s, lifetime_s) FROM mcp.session') l;

-- HOT: room in the page, and no index on what a request changes.
SELECT ok(reloptions @> ARRAY['fillfactor=75'], 'session has a fillfactor')
FROM pg_class WHERE oid = 'mcp.session'::regclass;
SELECT is(count(*), 0::bigint, 'no index has last_activity_at')
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
    AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = 'mcp.session'::regclass
    AND a.attname IN ('last_activity_at', 'initialized_at');
SELECT has_index('mcp', 'session', 'session_alarm_idx', 'alarm_at',
    'the reaper''s queue');
SELECT has_index('mcp', 'session', 'session_principal_idx',
    ARRAY['organization_id', 'account_id', 'issuer'], 'the cap');

SELECT is(mcp.schema_version(), (SELECT max(migration_id)
    FROM mcp.migration), 'schema_version is the last migration');
SELECT is((SELECT array_agg(migration_id ORDER BY migration_id)
    FROM mcp.migration), ARRAY(SELECT generate_series(1,
    mcp.schema_version())), 'no migration is missing');

SELECT * FROM finish();
ROLLBACK;
