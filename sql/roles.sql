-- The group roles of mcp-fcgi.  Once per cluster, by a role that may create
-- roles and owns the database (or a superuser):
--
--     psql -X -v ON_ERROR_STOP=1 -d DATABASE -f roles.sql
--
-- Idempotent.  The groups cannot log in: give a login role one of them with
-- login.sql.  Privileges on objects are in privileges.sql.
--
-- Where only one database role can be had (shared hosting), leave this file
-- out: that role then owns the schema and does everything.

DO $$
DECLARE
    r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['mcp_owner', 'mcp_responder', 'mcp_reaper',
        'mcp_admin', 'mcp_readonly']
    LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = r) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', r);
        END IF;
    END LOOP;
    -- mcp-admin migrate acts as mcp_owner, so whoever runs this must be able
    -- to.
    IF NOT pg_catalog.pg_has_role(current_user, 'mcp_owner', 'MEMBER') THEN
        EXECUTE pg_catalog.format('GRANT mcp_owner TO %I', current_user);
    END IF;
    EXECUTE pg_catalog.format('GRANT CREATE ON DATABASE %I TO mcp_owner',
        pg_catalog.current_database());
END
$$;

COMMENT ON ROLE mcp_owner IS 'mcp-fcgi: owns the schema mcp; migrations';
COMMENT ON ROLE mcp_responder IS 'mcp-fcgi: what answering requests needs';
COMMENT ON ROLE mcp_reaper IS 'mcp-fcgi: what a sweep needs';
COMMENT ON ROLE mcp_admin IS 'mcp-fcgi: mcp-admin and administrators';
COMMENT ON ROLE mcp_readonly IS 'mcp-fcgi: the views, for monitoring';
