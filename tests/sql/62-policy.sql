-- Goal: the first policy that matches decides, by position, then age; without
-- one the tool's own default; what is blocked can be neither seen nor called.
BEGIN;
SELECT no_plan();

INSERT INTO mcp.source (organization_id, name, kind) VALUES ('o', 's', 'http'),
    ('o', 'st', 'http'), ('p', 's', 'http');
SELECT mcp.tool_import(source_id, '[{"name": "a.get"},
    {"name": "a.post", "needs_approval": true}, {"name": "ab"},
    {"name": "a"}, {"name": "a$b.c-d"}]') FROM mcp.source;
CREATE FUNCTION pg_temp.decide(p text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE outcome WHEN 'ok' THEN action ELSE outcome END
        || coalesce(' by ' || policy_pattern, '')
    FROM mcp.tool_find('o', p)$$;

SELECT is(pg_temp.decide('s.a.get'), 'approve', 'default: runs');
SELECT is(pg_temp.decide('s.a.post'), 'require_approval', 'default: asks');

-- Patterns.
SELECT is(mcp.policy_matches(pattern, path), expected,
    pattern || ' and ' || path)
FROM (VALUES ('*', 's.a', true), ('s.a', 's.a', true),
    ('s.a', 's.a.get', false), ('s.a.*', 's.a', true),
    ('s.a.*', 's.a.get', true), ('s.a.*', 's.a.b.c', true),
    ('s.a.*', 's.ab', false), ('s.*', 'st.a', false),
    ('s.*', 's.a$b.c-d', true), ('s.a$b.*', 's.a$b.c-d', true),
    ('S.*', 's.a', false)) t (pattern, path, expected);
SELECT throws_ok(format('INSERT INTO mcp.tool_policy (organization_id, '
    'pattern, action) VALUES (%L, %L, %L)', 'o', p, 'block'), '23514', NULL,
    'not a pattern: ' || p)
FROM unnest(ARRAY['', '**', '*.a', 'a.*.b', 'a*', 'a.', '.a', 'a..b', 'a b',
    'a.**', E'a\n']) p;
SELECT throws_ok($$INSERT INTO mcp.tool_policy (organization_id, pattern,
    action) VALUES ('o', '*', 'allow')$$, '23514', NULL, 'no such action');

-- Order.
INSERT INTO mcp.tool_policy (organization_id, pattern, action, position)
    VALUES ('o', '*', 'require_approval', 10);
SELECT is(pg_temp.decide('s.a.get'), 'require_approval by *', 'a policy');
INSERT INTO mcp.tool_policy (organization_id, pattern, action, position)
    VALUES ('o', 's.a.*', 'approve', 5);
SELECT is(pg_temp.decide('s.a.post'), 'approve by s.a.*',
    'a lower position first; it beats the default');
SELECT is(pg_temp.decide('s.ab'), 'require_approval by *', 'the others');
INSERT INTO mcp.tool_policy (organization_id, pattern, action, position)
    VALUES ('o', 's.a.post', 'block', 5);
SELECT is(pg_temp.decide('s.a.post'), 'approve by s.a.*',
    'the same position: the older');
UPDATE mcp.tool_policy SET position = 4.5 WHERE pattern = 's.a.post';
SELECT is(pg_temp.decide('s.a.post'), 'blocked by s.a.post', 'in between');
INSERT INTO mcp.tool_policy (organization_id, pattern, action, position)
    VALUES ('p', '*', 'block', 0);
SELECT is(pg_temp.decide('s.a.get'), 'approve by s.a.*',
    'another organisation''s policy');
SELECT is(input_schema IS NULL AND definition IS NULL AND config IS NULL, true,
    'blocked: nothing is said about it') FROM mcp.tool_find('o', 's.a.post');

-- Invisible, also where an earlier policy makes an exception.
SELECT is(items::jsonb @> '[{"path": "s.a.post"}]', false, 'not listed')
FROM mcp.tool_search('o', '', 's', 100, 0);
SELECT is(total, 4::bigint, 'not counted')
FROM mcp.tool_search('o', '', 's', 100, 0);
SELECT is(total, 1::bigint, 'not found') -- that of st
FROM mcp.tool_search('o', 'post', NULL, 100, 0);
SELECT is(suggestions::jsonb ? 's.a.post', false, 'not suggested')
FROM mcp.tool_find('o', 's.a.pots');
DELETE FROM mcp.tool_policy;
INSERT INTO mcp.tool_policy (organization_id, pattern, action, position)
    VALUES ('o', 's.a$b.*', 'approve', 1), ('o', 's.*', 'block', 2);
SELECT is(items::json -> 0 ->> 'path', 's.a$b.c-d', 'an exception is seen')
FROM mcp.tool_search('o', '', 's', 100, 0);
SELECT is(total, 1::bigint, 'alone') FROM mcp.tool_search('o', '', 's', 9, 0);
SELECT is(total, 5::bigint, 'st is not s')
FROM mcp.tool_search('o', '', 'st', 9, 0);

SELECT * FROM finish();
ROLLBACK;
