-- Goal: every query in sql/README runs, as the role it is for, and every
-- table and view is described there.
BEGIN;
SELECT no_plan();
\set readme `cat "$MCP_SRC/sql/README"`

CREATE TEMP TABLE query AS
SELECT n, m[1] AS role, m[2] AS sql
FROM regexp_matches(:'readme',
    '\n[0-9]+\. [^()\t]*(?:\([^()\t]*\)[^()\t]*)*\((mcp_[a-z]+)\)\n\n'
    '((?:\t[^\n]*\n)+)', 'g')
    WITH ORDINALITY t (m, n);
SELECT is(count(*), 15::bigint, 'fifteen queries') FROM query;

INSERT INTO mcp.membership (organization_id, account_id)
    VALUES ('demo', 'demo-user');
INSERT INTO mcp.session (session_id, issuer, account_id, organization_id)
    VALUES (rpad('1a2b3c4d', 64, '0'), 'i', 'demo-user', 'demo');

CREATE FUNCTION pg_temp.try(r text, q text, n bigint) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', r);
    EXECUTE q;
    RESET ROLE;
    RETURN ok(true, 'query ' || n || ' runs as ' || r);
EXCEPTION WHEN OTHERS THEN
    RESET ROLE;
    RETURN ok(false, 'query ' || n || ' as ' || r || ': ' || SQLERRM);
END $$;
SELECT pg_temp.try(role, sql, n) FROM query ORDER BY n;

SELECT ok(:'readme' ~ ('\n' || relname || '\M'), 'described: ' || relname)
FROM pg_class WHERE relnamespace = 'mcp'::regnamespace
    AND relkind IN ('r', 'v') ORDER BY relname;

SELECT * FROM finish();
ROLLBACK;
