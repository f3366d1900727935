-- Goal: sealed values and heaps are read by the responder's functions alone,
-- the state of a run is changed by functions alone, the catalogue is the
-- administrators'.
BEGIN;
SELECT no_plan();
GRANT USAGE ON SCHEMA public TO PUBLIC;

SELECT is(string_agg(x.grantee::regrole::text, ' '), NULL,
    'the schema of pg_trgm is the owner''s')
FROM pg_namespace n, aclexplode(n.nspacl) x
WHERE n.nspname = 'mcp_trgm' AND x.grantee <> n.nspowner;

SET LOCAL ROLE mcp_admin;
SELECT lives_ok($$INSERT INTO mcp.source (organization_id, name, kind)
    VALUES ('o', 's', 'http')$$, 'admin adds a source');
SELECT lives_ok($$SELECT mcp.tool_import(source_id, '[{"name": "t"}]')
    FROM mcp.source$$, 'admin imports');
SELECT lives_ok('UPDATE mcp.tool SET is_listed = true', 'admin lists a tool');
SELECT throws_ok($$UPDATE mcp.tool SET organization_id = 'p'$$, '42501', NULL,
    'admin moves no tool to another organisation');
SELECT throws_ok($$UPDATE mcp.source SET organization_id = 'p'$$, '42501',
    NULL, 'nor a source');
SELECT lives_ok($$INSERT INTO mcp.tool_policy (organization_id, pattern,
    action) VALUES ('o', '*', 'approve')$$, 'admin adds a policy');
SELECT throws_ok('UPDATE mcp.catalog_version SET version = 1', '42501', NULL,
    'admin sets no version');
SELECT lives_ok($$SELECT mcp.secret_save('o', 'T', 'k', sha256('x'))$$,
    'admin sets a secret');
SELECT throws_ok('SELECT sealed FROM mcp.secret', '42501', NULL,
    'admin reads no envelopes wholesale');
SELECT throws_ok($$DELETE FROM mcp.secret$$, '42501', NULL,
    'a secret is removed by the function, which audits');
SELECT throws_ok('UPDATE mcp.execution SET status = ''running''', '42501',
    NULL, 'admin changes no run by hand');
SELECT throws_ok('UPDATE mcp.execution_call SET action = ''accept''', '42501',
    NULL, 'nor a decision');
SELECT throws_ok('SELECT heap FROM mcp.execution', '42501', NULL,
    'admin reads no heap');
SELECT throws_ok('SELECT pending FROM mcp.execution_call', '42501', NULL,
    'nor sealed arguments');
SELECT lives_ok('SELECT args FROM mcp.call_waiting',
    'admin sees what is asked');
SELECT throws_ok($$SELECT mcp.execution_resume(gen_random_uuid(), 'i', 'a',
    'o', NULL, 'accept', NULL, 'e', 30)$$, '42501', NULL,
    'admin resumes nothing in the owner''s name');

SET LOCAL ROLE mcp_responder;
SELECT is(outcome, 'ok', 'responder finds a tool')
FROM mcp.tool_find('o', 's.t');
SELECT is(sealed, sha256('x'), 'responder gets an envelope')
FROM mcp.secret_find('o', 'T');
SELECT throws_ok('SELECT * FROM mcp.secret', '42501', NULL,
    'responder lists no secrets');
SELECT throws_ok('SELECT * FROM mcp.tool', '42501', NULL,
    'responder lists no tools of others');
SELECT throws_ok($$SELECT mcp.secret_save('o', 'T', 'k', sha256('y'))$$,
    '42501', NULL, 'responder sets no secret');
SELECT throws_ok($$SELECT mcp.tool_import(1, '[]')$$, '42501', NULL,
    'responder imports nothing');
SELECT throws_ok($$SELECT mcp.approve(gen_random_uuid())$$, '42501', NULL,
    'responder approves nothing');
SELECT throws_ok($$SELECT mcp.call_decide(gen_random_uuid(), 1, 'accept', NULL,
    'x', 'sql', NULL)$$, '42501', NULL, 'nor by the inner function');
SELECT throws_ok('SELECT * FROM mcp.execution', '42501', NULL,
    'responder lists no runs');
SELECT throws_ok('SELECT * FROM mcp.reap_executions(1, 0)', '42501', NULL,
    'responder does not reap');

SET LOCAL ROLE mcp_reaper;
SELECT lives_ok('SELECT * FROM mcp.reap_executions(1, 0)', 'reaper reaps');
SELECT throws_ok($$SELECT mcp.execution_state(gen_random_uuid(), 'i', 'a',
    'o')$$, '42501', NULL, 'reaper reads no run');

SET LOCAL ROLE mcp_readonly;
SELECT lives_ok('SELECT * FROM ' || v, 'readonly reads ' || v)
FROM unnest(ARRAY['mcp.execution_waiting', 'mcp.execution_recent',
    'mcp.call_recent', 'mcp.organization_usage', 'mcp.sweep_recent']) v;
SELECT throws_ok('SELECT * FROM mcp.call_waiting', '42501', NULL,
    'readonly sees no arguments');
SELECT throws_ok('SELECT * FROM mcp.tool', '42501', NULL,
    'readonly reads no table');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
