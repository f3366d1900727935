-- Goal: login.sql makes a login role that can do its work, with settings
-- that hold behind a pooler; again it changes nothing.
BEGIN;
SELECT no_plan();
\set file `echo "$MCP_SRC/sql/login.sql"`
\set login mcp_test_web
\set group mcp_responder
\i :file
\i :file
\set login mcp_test_dba
\set group mcp_admin
\i :file

SELECT is(array_agg(rolname || rolcanlogin || rolsuper ORDER BY rolname),
    ARRAY['mcp_test_dbatruefalse', 'mcp_test_webtruefalse'], 'can log in')
FROM pg_roles WHERE rolname ~ '^mcp_test_';
SELECT ok(pg_has_role('mcp_test_web', 'mcp_responder', 'USAGE')
    AND NOT pg_has_role('mcp_test_web', 'mcp_admin', 'MEMBER'),
    'in its group and no other');
SELECT is(setconfig, ARRAY['search_path=pg_catalog', 'statement_timeout=5s',
    'lock_timeout=2s', 'idle_in_transaction_session_timeout=10s'],
    'settings of this database')
FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
WHERE setrole = 'mcp_test_web'::regrole AND datname = current_database();
SELECT is(count(*), 0::bigint, 'none for people and migrations')
FROM pg_db_role_setting WHERE setrole = 'mcp_test_dba'::regrole;
SET LOCAL ROLE mcp_test_web;
SELECT public.lives_ok($$SELECT mcp.enter(NULL, 'i', 'a', 'o', NULL, 'sql')$$,
    'it enters');
SELECT public.throws_ok('SELECT * FROM mcp.session', '42501', NULL,
    'and sees no table');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
