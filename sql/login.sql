-- Give a login role one of the groups, with the settings its connections
-- need.  By a role that may create roles:
--
--     psql -X -v ON_ERROR_STOP=1 -d DATABASE \
--         -v login=mcp_web -v group=mcp_responder -f login.sql
--
-- Idempotent.  It sets no password: use \password, or peer authentication.
--
-- A pooler in transaction mode drops settings that a client asks for at
-- connect, and ALTER ROLE ... SET counts for the role that logs in, not for
-- the groups it belongs to: so the settings are put on the login role, in
-- this database alone.

SELECT pg_catalog.format('CREATE ROLE %I LOGIN', :'login')
    WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles
        WHERE rolname = :'login') \gexec
SELECT pg_catalog.format('GRANT %I TO %I', :'group', :'login')
    WHERE NOT pg_catalog.pg_has_role(:'login', :'group', 'MEMBER') \gexec
SELECT pg_catalog.format('ALTER ROLE %I IN DATABASE %I SET %I TO %L',
        :'login', pg_catalog.current_database(), name, setting)
    FROM (VALUES
        ('search_path', 'pg_catalog'),
        ('statement_timeout', '5s'),
        ('lock_timeout', '2s'),
        ('idle_in_transaction_session_timeout', '10s')) s (name, setting)
    WHERE :'group' IN ('mcp_responder', 'mcp_reaper', 'mcp_readonly') \gexec
