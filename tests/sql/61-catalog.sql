-- Goal: the catalogue shows an organisation its own enabled, unblocked tools
-- and nothing else; a change is a new version; search is paged, deterministic
-- and forgiving.
BEGIN;
SELECT no_plan();

CREATE FUNCTION pg_temp.paths(q text, ns text DEFAULT NULL,
    lim integer DEFAULT 12, off integer DEFAULT 0) RETURNS text[]
LANGUAGE sql AS $$SELECT ARRAY(SELECT e ->> 'path'
    FROM json_array_elements(r.items::json) WITH ORDINALITY t (e, n)
    ORDER BY n) FROM mcp.tool_search('o', q, ns, lim, off) r$$;
CREATE FUNCTION pg_temp.total(q text, ns text DEFAULT NULL) RETURNS bigint
LANGUAGE sql AS $$SELECT total FROM mcp.tool_search('o', q, ns, 1, 0)$$;
CREATE FUNCTION pg_temp.version(o text) RETURNS bigint LANGUAGE sql
AS $$SELECT catalog_version FROM mcp.enter(NULL, 'i', 'a', o, NULL, 'yes')$$;
CREATE FUNCTION pg_temp.listed(o text) RETURNS integer LANGUAGE sql
AS $$SELECT listed_tools FROM mcp.enter(NULL, 'i', 'a', o, NULL, 'yes')$$;
CREATE TEMP TABLE seen (version bigint);
-- true when the version of o has not been seen before
CREATE FUNCTION pg_temp.is_new_version() RETURNS boolean LANGUAGE sql AS $$
    WITH v AS (SELECT pg_temp.version('o') AS version),
    known AS (SELECT count(*) AS n FROM seen JOIN v USING (version)),
    put AS (INSERT INTO seen SELECT version FROM v, known)
    SELECT n = 0 FROM known$$;

SELECT is(pg_temp.version('o'), 0::bigint, 'no catalogue: version 0');
SELECT is(pg_temp.listed('o'), 0, 'no catalogue: nothing listed');
SELECT is(r::text, '(0,[])', 'no catalogue: nothing found')
FROM mcp.tool_search('o', 'x', NULL, 12, 0) r;
SELECT is(outcome || coalesce(suggestions, 'NULL'), 'not_found[]',
    'no catalogue: no tool, no suggestion') FROM mcp.tool_find('o', 'a.b');

INSERT INTO mcp.source (organization_id, name, kind, config) VALUES
    ('o', 'github', 'http', '{"base_url": "https://x"}'),
    ('o', 'gitlab', 'http', '{}'), ('p', 'github', 'http', '{}');
SELECT source_id AS gh FROM mcp.source
    WHERE organization_id = 'o' AND name = 'github' \gset
SELECT source_id AS gl FROM mcp.source
    WHERE organization_id = 'o' AND name = 'gitlab' \gset
SELECT source_id AS other FROM mcp.source WHERE organization_id = 'p' \gset
SELECT is(pg_temp.is_new_version(), true, 'sources: a version');

-- Import.
SELECT is(r::text, '(4,0,0)', 'import: four added')
FROM mcp.tool_import(:gh, '[
    {"name": "issues.create", "title": "Create an issue",
     "description": "Any user with pull access can create an issue.",
     "input_schema": {"type":"object",   "b":1, "a":2, "a":3},
     "output_schema": {"type":  "object"},
     "annotations": {"z":1,"a":true},
     "definition": {"method": "POST", "path": "/issues"},
     "needs_approval": true, "approval_text": "POST /issues"},
    {"name": "issues.list", "title": "List issues"},
    {"name": "issues.listEventsForTimeline", "title": "List timeline events"},
    {"name": "repos.mergeBranch", "title": "Merge a branch",
     "description": "Merges a branch into another."}]') r;
SELECT is(pg_temp.is_new_version(), true, 'an import: another version');
SELECT is(input_schema || output_schema || annotations,
    '{"type":"object",   "b":1, "a":2, "a":3}{"type":  "object"}'
    '{"z":1,"a":true}', 'schemas and annotations, byte for byte')
FROM mcp.tool_find('o', 'github.issues.create');
SELECT is((outcome, kind, source_name, name, path, config, definition,
    action, policy_pattern, approval_text)::text,
    '(ok,http,github,issues.create,github.issues.create,'
    '"{""base_url"": ""https://x""}",'
    '"{""path"": ""/issues"", ""method"": ""POST""}",'
    'require_approval,,"POST /issues")', 'found with all that a call needs')
FROM mcp.tool_find('o', 'github.issues.create');
SELECT is(outcome, 'not_found', 'another organisation does not see it')
FROM mcp.tool_find('p', 'github.issues.create');
UPDATE mcp.tool SET is_listed = true, is_enabled = false
    WHERE name = 'issues.list';
SELECT tool_id AS kept FROM mcp.tool WHERE name = 'issues.list' \gset
SELECT is(r::text, '(1,1,1)', 'again: one added, changed, removed')
FROM mcp.tool_import(:gh, '[
    {"name": "issues.create", "title": "Create an issue",
     "description": "Any user with pull access can create an issue.",
     "input_schema": {"type":"object",   "b":1, "a":2, "a":3},
     "output_schema": {"type":  "object"},
     "annotations": {"z":1,"a":true},
     "definition": {"method": "POST", "path": "/issues"},
     "needs_approval": true, "approval_text": "POST /issues"},
    {"name": "issues.list", "title": "List all issues"},
    {"name": "issues.listEventsForTimeline", "title": "List timeline events"},
    {"name": "issues.close", "title": "Close an issue"}]') r;
SELECT is((tool_id, is_listed, is_enabled)::text, '(' || :kept || ',t,f)',
    'what people set on a tool outlives a refresh')
FROM mcp.tool WHERE name = 'issues.list';
SELECT isnt(refreshed_at, NULL, 'refreshed_at') FROM mcp.source
    WHERE source_id = :gh;
SELECT throws_ok($$SELECT mcp.tool_import(0, '[]')$$, '22023', NULL,
    'no such source');
SELECT throws_ok(format($$SELECT mcp.tool_import(%s,
    '[{"name": "a"}, {"name": "a"}]')$$, :gh), '21000', NULL,
    'one name twice');
SELECT throws_ok(format($$SELECT mcp.tool_import(%s,
    '[{"name": "a b"}]')$$, :gh), '23514', NULL, 'not a name');
SELECT is(mcp.tool_save(:gl, '{"name": "issues.create"}'), true,
    'one tool: new');
SELECT is(mcp.tool_save(:gl, '{"name": "issues.create", "title": "Add one"}'),
    false, 'one tool: changed');
SELECT mcp.tool_save(:other, '{"name": "issues.secret"}');
UPDATE mcp.tool SET is_enabled = true, is_listed = false
    WHERE tool_id = :kept;

-- Search.
SELECT is(pg_temp.paths('list issues'), ARRAY['github.issues.list',
    'github.issues.listEventsForTimeline'], 'the shorter path first');
SELECT is((pg_temp.paths('github.issues.list'))[1], 'github.issues.list',
    'a path finds its tool');
SELECT is(pg_temp.paths('timelineEvents'),
    ARRAY['github.issues.listEventsForTimeline'], 'camelCase is words');
SELECT is(pg_temp.paths('creating'), ARRAY['github.issues.create',
    'gitlab.issues.create'], 'stems; equals by path');
SELECT is((pg_temp.paths('create a new issue in the repository'))[1],
    'github.issues.create', 'a sentence');
SELECT is(pg_temp.paths('access'), ARRAY['github.issues.create'],
    'the description counts');
SELECT is(pg_temp.paths('creat isue')::text, pg_temp.paths('creat isue')::text,
    'misspelt: the same each time');
SELECT ok('github.issues.create' = ANY (pg_temp.paths('isues creat')),
    'misspelt: found all the same');
SELECT is(pg_temp.total('secret'), 0::bigint, 'not another organisation''s');
SELECT is(pg_temp.total('quantum'), 0::bigint, 'nothing fits');
SELECT is(pg_temp.total('issue'), 5::bigint, 'total');
SELECT is(pg_temp.paths('issue', NULL, 2, 0) || pg_temp.paths('issue', NULL,
    2, 2) || pg_temp.paths('issue', NULL, 2, 4), pg_temp.paths('issue'),
    'pages make the whole');
SELECT is(r::text, '(5,[])', 'behind the end: no items, the total still')
FROM mcp.tool_search('o', 'issue', NULL, 12, 99) r;
SELECT is(pg_temp.paths('create', 'gitlab'), ARRAY['gitlab.issues.create'],
    'a namespace');
SELECT is(pg_temp.paths('create', 'gitlab.issues'),
    ARRAY['gitlab.issues.create'], 'a namespace of two words');
SELECT is(pg_temp.total('create', 'git'), 0::bigint,
    'a namespace is whole words');
SELECT is(pg_temp.paths('', 'github issues'), ARRAY['github.issues.close',
    'github.issues.create', 'github.issues.list',
    'github.issues.listEventsForTimeline'], 'no query: all by path');
SELECT is(pg_temp.paths('', 'github', 2, 1), ARRAY['github.issues.create',
    'github.issues.list'], 'paged');
SELECT is(r::text, '(0,[])', 'neither query nor namespace')
FROM mcp.tool_search('o', '  ', ' ', 12, 0) r;
SELECT is(r::text, '(0,[])', 'NULL')
FROM mcp.tool_search('o', NULL, NULL, 12, 0) r;
SELECT lives_ok(format('SELECT mcp.tool_search(%L, %L, NULL, 12, 0)', 'o', q),
    'any text: ' || left(q, 20))
FROM unnest(ARRAY['''', '\', ''':*', '& | ! ( )', '<->', 'a''b\c:*d', '%_',
    repeat('x', 5000), repeat('a b c d e f g h i ', 400), 'größe Übung',
    E'\t\n', '*.*', '[', ']', '日本語', '-', '--', '$1']) q;
SELECT is(json_object_keys, k, 'item: ' || k)
FROM (SELECT json_object_keys((items::json) -> 0) FROM mcp.tool_search('o',
    'pull access', NULL, 12, 0)) i FULL JOIN unnest(ARRAY['path', 'name',
    'title', 'description', 'sourceId', 'score']) k
    ON k = json_object_keys;
SELECT is(suggestions::json ->> 0, 'github.issues.create',
    'a misspelt path: suggestions') FROM mcp.tool_find('o',
    'github.isues.craete');
SELECT ok(json_array_length(suggestions::json) <= 5, 'five at most')
FROM mcp.tool_find('o', 'issues');

-- What cannot be seen.
UPDATE mcp.tool SET is_enabled = false WHERE path = 'gitlab.issues.create';
SELECT is(pg_temp.is_new_version(), true, 'a tool disabled: a version');
SELECT is(pg_temp.total('create', 'gitlab'), 0::bigint, 'not found');
SELECT is(outcome, 'not_found', 'not called')
FROM mcp.tool_find('o', 'gitlab.issues.create');
SELECT is(suggestions, '["github.issues.create"]', 'not suggested')
FROM mcp.tool_find('o', 'gitlab.issues.creat');
SELECT results_eq($$SELECT name COLLATE "default", tools
    FROM mcp.source_inventory('o')$$, $$VALUES ('github', 4::bigint)$$,
    'not counted');
UPDATE mcp.source SET is_enabled = false WHERE source_id = :gh;
SELECT is(pg_temp.is_new_version(), true, 'a source disabled: a version');
SELECT is(pg_temp.total('issue'), 0::bigint, 'its tools are not found');
SELECT is(outcome, 'not_found', 'nor called')
FROM mcp.tool_find('o', 'github.issues.create');
UPDATE mcp.source SET is_enabled = true;

-- Listed.
UPDATE mcp.tool SET is_listed = true WHERE path ~ '^github.issues.c';
SELECT is(pg_temp.listed('o'), 2, 'enter says how many are listed');
SELECT results_eq('SELECT path COLLATE "default" FROM mcp.tool_listed(''o'')',
    ARRAY['github.issues.close', 'github.issues.create'], 'by path');
INSERT INTO mcp.tool_policy (organization_id, pattern, action)
    VALUES ('o', 'github.issues.close', 'block');
SELECT is(pg_temp.listed('o'), 1, 'a blocked one does not count');
SELECT is(pg_temp.is_new_version(), true, 'a policy: a version');
SELECT is(count(*), 1::bigint, 'nor is listed') FROM mcp.tool_listed('o');
UPDATE mcp.tool_policy SET pattern = '*';
SELECT is(pg_temp.listed('o'), 0, 'all blocked');
DELETE FROM mcp.tool_policy;
SELECT is(pg_temp.listed('o'), 2, 'and free again');
SELECT is(pg_temp.is_new_version(), true, 'no policy: a version');
SELECT is(pg_temp.listed('p'), 0, 'the other organisation has none');

-- A renamed source takes its tools along.
UPDATE mcp.source SET name = 'hub' WHERE source_id = :gh;
SELECT is(outcome, 'ok', 'renamed: found by the new path')
FROM mcp.tool_find('o', 'hub.issues.create');
SELECT is(pg_temp.total('', 'github'), 0::bigint, 'not by the old');
SELECT is((pg_temp.paths('hub create'))[1], 'hub.issues.create', 'searched');
SELECT is(pg_temp.is_new_version(), true, 'renamed: a version');
DELETE FROM mcp.source WHERE source_id = :gh;
SELECT is(pg_temp.listed('o'), 0, 'removed with its tools');
SELECT is(pg_temp.is_new_version(), true, 'removed: a version');
DELETE FROM mcp.catalog_version;
UPDATE mcp.source SET is_enabled = true;
SELECT is(pg_temp.is_new_version(), true,
    'a version row lost (restore): no number comes again');

-- Secrets.
SELECT is(mcp.secret_save('o', 'TOKEN', 'k1', sha256('a')), true, 'new');
SELECT is(mcp.secret_save('o', 'TOKEN', 'k1', sha256('b')), false, 'set');
SELECT is(sealed, sha256('b'), 'found') FROM mcp.secret_find('o', 'TOKEN');
SELECT is(count(*), 0::bigint, 'none') FROM mcp.secret_find('p', 'TOKEN');
SELECT is(mcp.secret_rotate('o', 'TOKEN', sha256('a'), 'k2', sha256('c')),
    false, 'rotation does not undo a set meanwhile');
SELECT is(mcp.secret_rotate('o', 'TOKEN', sha256('b'), 'k2', sha256('c')),
    true, 'rotated');
SELECT is(key_id, 'k2', 'with the new key') FROM mcp.secret_find('o', 'TOKEN');
SELECT is(mcp.secret_remove('o', 'TOKEN'), true, 'removed');
SELECT is(mcp.secret_remove('o', 'TOKEN'), false, 'once');
SELECT is(array_agg(event ORDER BY audit_event_id), ARRAY['secret.set',
    'secret.set', 'secret.removed'], 'audited') FROM mcp.audit_event;
SELECT ok(NOT detail ?| ARRAY['sealed', 'value'], 'without the value')
FROM mcp.audit_event;
SELECT throws_ok($$SELECT mcp.secret_save('o', 'a b', 'k', sha256('a'))$$,
    '23514', NULL, 'not a name');
SELECT throws_ok($$SELECT mcp.secret_save('o', 'a', '../k', sha256('a'))$$,
    '23514', NULL, 'a key id is not a path');
SELECT throws_ok($$SELECT mcp.secret_save('o', 'a', 'k', 'plain')$$, '23514',
    NULL, 'too short for an envelope');

-- Upstream sessions.
SELECT is(mcp.upstream_save('o', :gl, 's1', '2025-06-18'), true, 'shared');
SELECT is(mcp.upstream_save('o', :gl, 's2', '2025-06-18'), false,
    'the first counts');
SELECT is(session_id, 's1', 'found') FROM mcp.upstream_find('o', :gl);
SELECT is(count(*), 0::bigint, 'not another organisation''s')
FROM mcp.upstream_find('p', :gl);
SELECT is(mcp.upstream_drop('o', :gl, 's0'), false, 'another one: stays');
SELECT is(mcp.upstream_drop('p', :gl, 's1'), false, 'a stranger: stays');
SELECT is(mcp.upstream_drop('o', :gl, 's1'), true, 'dropped');
SELECT is(mcp.upstream_save('o', :gl, NULL, '2026-07-28'), true,
    'a server without sessions');
SELECT is(mcp.upstream_drop('o', :gl, NULL), true, 'dropped');
SELECT is(mcp.upstream_save('p', :gl, 's', '2025-06-18'), false,
    'a stranger saves nothing');

SELECT * FROM finish();
ROLLBACK;
