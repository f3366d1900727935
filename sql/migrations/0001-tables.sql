-- Purpose: the schema mcp and the tables that sessions, members, tokens, keys
--   and the reaper need.
-- Locks: none that matter; everything here is new.
-- Online: yes.
-- Way back: DROP SCHEMA mcp CASCADE; (all sessions and tokens are lost).
--
-- Run by the role that is to own the schema (mcp_owner where sql/roles.sql
-- has been applied).  Nothing here names another role: privileges are one
-- file, sql/privileges.sql, applied after every migration.

CREATE SCHEMA mcp;
COMMENT ON SCHEMA mcp IS 'mcp-fcgi: all state of the MCP endpoint';

-- Schemas are closed by default; said once more because the functions below
-- run with their owner's rights.
REVOKE ALL ON SCHEMA mcp FROM PUBLIC;

-- Identifiers are compared byte by byte everywhere: collation "C".  Their
-- lengths are capped so that an index entry over (organization_id,
-- account_id, issuer) always fits a btree page (2704 bytes).

CREATE TABLE mcp.migration (
    migration_id integer PRIMARY KEY CHECK (migration_id > 0),
    slug text NOT NULL CHECK (slug ~ '^[a-z0-9-]+$'),
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE mcp.migration IS
    'Migrations applied, in order; written by mcp-admin migrate only';
COMMENT ON COLUMN mcp.migration.migration_id IS 'Number of the file';
COMMENT ON COLUMN mcp.migration.slug IS 'Name of the file after the number';
COMMENT ON COLUMN mcp.migration.sha256 IS
    'Digest of the file as applied; a file edited since is refused';
COMMENT ON COLUMN mcp.migration.applied_at IS 'When it was applied';

CREATE TABLE mcp.organization (
    organization_id text COLLATE "C" PRIMARY KEY
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 512),
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE mcp.organization IS
    'Names of organisations. An organisation works without a row here: no '
    'other table refers to this one';
COMMENT ON COLUMN mcp.organization.organization_id IS
    'As in the token''s organisation claim';
COMMENT ON COLUMN mcp.organization.name IS 'For people';
COMMENT ON COLUMN mcp.organization.created_at IS 'When the row was made';

CREATE TABLE mcp.membership (
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    account_id text COLLATE "C" NOT NULL
        CHECK (octet_length(account_id) BETWEEN 1 AND 512),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- read by mcp.enter on every request (membership = sql)
    PRIMARY KEY (organization_id, account_id)
);
COMMENT ON TABLE mcp.membership IS
    'Who belongs to which organisation, when membership = sql. Deleting a '
    'row refuses the account''s next request, on every host';
COMMENT ON COLUMN mcp.membership.organization_id IS
    'Deliberately no foreign key: the organisation need not have a row';
COMMENT ON COLUMN mcp.membership.account_id IS
    'As in the token''s account claim';
COMMENT ON COLUMN mcp.membership.created_at IS 'Member since';

CREATE TABLE mcp.api_token (
    api_token_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- unique: the lookup of a presented token
    token_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
    token_hint text NOT NULL CHECK (octet_length(token_hint) <= 4),
    issuer text COLLATE "C" NOT NULL DEFAULT 'local'
        CHECK (octet_length(issuer) BETWEEN 1 AND 1024),
    account_id text COLLATE "C" NOT NULL
        CHECK (octet_length(account_id) BETWEEN 1 AND 512),
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    name text NOT NULL DEFAULT '' CHECK (octet_length(name) <= 256),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
)
-- last_used_at moves once a minute: leave room to do that in the same page.
WITH (fillfactor = 90);
-- revoke_account() and the listing of one account's tokens
CREATE INDEX api_token_principal_idx
    ON mcp.api_token (organization_id, account_id);
COMMENT ON TABLE mcp.api_token IS
    'Opaque API tokens (mcp_...). Only the digest is kept; a lost token is '
    'replaced, never shown again. Rows stay after expiry, for the record';
COMMENT ON COLUMN mcp.api_token.api_token_id IS 'For listing and revoking';
COMMENT ON COLUMN mcp.api_token.token_sha256 IS
    'SHA-256 of the whole token; 32 random bytes need no salt';
COMMENT ON COLUMN mcp.api_token.token_hint IS
    'Last four characters, to tell tokens apart';
COMMENT ON COLUMN mcp.api_token.issuer IS
    'ISSUER of the configuration when issued, or local; part of the identity '
    'that owns a session';
COMMENT ON COLUMN mcp.api_token.account_id IS 'Acts as this account';
COMMENT ON COLUMN mcp.api_token.organization_id IS 'In this organisation';
COMMENT ON COLUMN mcp.api_token.name IS 'What the owner calls it';
COMMENT ON COLUMN mcp.api_token.created_at IS 'Issued';
COMMENT ON COLUMN mcp.api_token.expires_at IS 'NULL: does not expire';
COMMENT ON COLUMN mcp.api_token.revoked_at IS
    'NULL: not revoked. Setting it refuses the next request, on every host';
COMMENT ON COLUMN mcp.api_token.last_used_at IS
    'Last accepted request, exact to a minute';

-- A session carries its own limits, given when it was opened.  So expiry is
-- a function of the row alone: the responder, the reaper and the views cannot
-- disagree, whatever their configuration files say, and a DBA changes the
-- limits of running sessions by UPDATE.
--
-- No CHECK ties last_activity_at or alarm_at to created_at: both are compared
-- with the clock only, and a clock may be set back.
CREATE TABLE mcp.session (
    session_id text COLLATE "C" PRIMARY KEY
        CHECK (session_id ~ '^[0-9a-f]{64}$'),
    issuer text COLLATE "C" NOT NULL
        CHECK (octet_length(issuer) BETWEEN 1 AND 1024),
    account_id text COLLATE "C" NOT NULL
        CHECK (octet_length(account_id) BETWEEN 1 AND 512),
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    protocol_version text NOT NULL DEFAULT '2025-06-18'
        CHECK (protocol_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
    client_info jsonb NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(client_info) = 'object'
            AND octet_length(client_info::text) <= 65536),
    client_capabilities jsonb NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(client_capabilities) = 'object'
            AND octet_length(client_capabilities::text) <= 65536),
    idle_s integer NOT NULL DEFAULT 300 CHECK (idle_s > 0),
    lifetime_s integer NOT NULL DEFAULT 0 CHECK (lifetime_s >= 0),
    readopt_s integer NOT NULL DEFAULT 0
        CHECK (readopt_s BETWEEN 0 AND 604800),
    created_at timestamptz NOT NULL DEFAULT now(),
    initialized_at timestamptz,
    last_activity_at timestamptz NOT NULL DEFAULT now(),
    alarm_at timestamptz NOT NULL DEFAULT now() + interval '30 seconds'
)
-- fillfactor: the touch of last_activity_at (not indexed) stays in the page,
-- HOT.  autovacuum: the default waits for a fifth of the table; with a
-- million rows that is 200,000 dead ones.
WITH (fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05);
-- The reaper's queue.  alarm_at is written at creation and by the reaper
-- only, so this index never makes a request's update non-HOT.
CREATE INDEX session_alarm_idx ON mcp.session (alarm_at);
-- The cap on sessions of one principal, revoke_account(), usage per
-- organisation.
CREATE INDEX session_principal_idx
    ON mcp.session (organization_id, account_id, issuer);
COMMENT ON TABLE mcp.session IS
    'Live MCP sessions. Deleting a row ends the session at once, on every '
    'host';
COMMENT ON COLUMN mcp.session.session_id IS
    '32 random bytes in hex; knowing it is not enough to use it';
COMMENT ON COLUMN mcp.session.issuer IS
    'Owner: issuer, account and organisation together';
COMMENT ON COLUMN mcp.session.account_id IS 'Owner';
COMMENT ON COLUMN mcp.session.organization_id IS 'Owner';
COMMENT ON COLUMN mcp.session.protocol_version IS
    'Negotiated by initialize';
COMMENT ON COLUMN mcp.session.client_info IS 'As sent by the client';
COMMENT ON COLUMN mcp.session.client_capabilities IS 'As sent by the client';
COMMENT ON COLUMN mcp.session.idle_s IS
    'Ends after so long without an accepted request';
COMMENT ON COLUMN mcp.session.lifetime_s IS
    'Ends so long after created_at, used or not; 0: never';
COMMENT ON COLUMN mcp.session.readopt_s IS
    'For so long after idle expiry the same owner may take the id up again';
COMMENT ON COLUMN mcp.session.created_at IS 'initialize was answered';
COMMENT ON COLUMN mcp.session.initialized_at IS
    'notifications/initialized came; NULL: not yet';
COMMENT ON COLUMN mcp.session.last_activity_at IS
    'Last accepted request, exact to a second';
COMMENT ON COLUMN mcp.session.alarm_at IS
    'When the reaper looks at the row again';

-- The ids come from mcp.session, which has checked them: a regular expression
-- here would be a quarter of the reaper's time.
CREATE TABLE mcp.session_tombstone (
    session_id text COLLATE "C" PRIMARY KEY
        CHECK (octet_length(session_id) = 64),
    issuer text COLLATE "C" NOT NULL,
    account_id text COLLATE "C" NOT NULL,
    organization_id text COLLATE "C" NOT NULL,
    reason text NOT NULL CHECK (reason IN ('idle', 'lifetime', 'deleted',
        'killed', 'revoked', 'displaced')),
    ended_at timestamptz NOT NULL DEFAULT now(),
    readopt_until timestamptz,
    state jsonb,
    CHECK ((readopt_until IS NULL) = (state IS NULL)),
    CHECK (readopt_until IS NULL OR reason = 'idle')
)
WITH (autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000);
-- retention, by the reaper
CREATE INDEX session_tombstone_ended_idx ON mcp.session_tombstone (ended_at);
COMMENT ON TABLE mcp.session_tombstone IS
    'Why a session is gone; kept seven days for support and, if configured, '
    'for taking an idle session up again';
COMMENT ON COLUMN mcp.session_tombstone.session_id IS 'Id of the session';
COMMENT ON COLUMN mcp.session_tombstone.issuer IS 'Its owner';
COMMENT ON COLUMN mcp.session_tombstone.account_id IS 'Its owner';
COMMENT ON COLUMN mcp.session_tombstone.organization_id IS 'Its owner';
COMMENT ON COLUMN mcp.session_tombstone.reason IS
    'idle, lifetime: expired; deleted: by the client; killed: by an '
    'administrator; revoked: membership gone; displaced: over the cap';
COMMENT ON COLUMN mcp.session_tombstone.ended_at IS
    'When the row was removed, not when it expired';
COMMENT ON COLUMN mcp.session_tombstone.readopt_until IS
    'Until then the owner may take it up again; NULL: never';
COMMENT ON COLUMN mcp.session_tombstone.state IS
    'Columns of the session that taking up again needs';

CREATE TABLE mcp.jwks (
    issuer text COLLATE "C" PRIMARY KEY
        CHECK (octet_length(issuer) BETWEEN 1 AND 1024),
    document text CHECK (octet_length(document) <= 1048576),
    fetched_at timestamptz,
    attempted_at timestamptz,
    metadata text CHECK (octet_length(metadata) <= 1048576),
    metadata_fetched_at timestamptz,
    metadata_attempted_at timestamptz,
    failure text CHECK (octet_length(failure) <= 256),
    CHECK ((document IS NULL) = (fetched_at IS NULL)),
    CHECK ((metadata IS NULL) = (metadata_fetched_at IS NULL))
);
COMMENT ON TABLE mcp.jwks IS
    'Key set and metadata of each issuer, shared by all processes';
COMMENT ON COLUMN mcp.jwks.issuer IS 'ISSUER of the configuration';
COMMENT ON COLUMN mcp.jwks.document IS 'RFC 7517 key set, as received';
COMMENT ON COLUMN mcp.jwks.fetched_at IS 'When the document came';
COMMENT ON COLUMN mcp.jwks.attempted_at IS
    'Last claim of the right to fetch; at most one per interval';
COMMENT ON COLUMN mcp.jwks.metadata IS 'RFC 8414 document, as received';
COMMENT ON COLUMN mcp.jwks.metadata_fetched_at IS 'When the metadata came';
COMMENT ON COLUMN mcp.jwks.metadata_attempted_at IS
    'Last claim of the right to fetch the metadata';
COMMENT ON COLUMN mcp.jwks.failure IS
    'Why the last fetch failed; NULL: it did not';

CREATE TABLE mcp.audit_event (
    audit_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    event text NOT NULL CHECK (event ~ '^[a-z]+\.[a-z_]+$'),
    issuer text COLLATE "C",
    account_id text COLLATE "C",
    organization_id text COLLATE "C",
    session_hint text CHECK (octet_length(session_hint) <= 8),
    db_user text NOT NULL DEFAULT session_user,
    detail jsonb NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(detail) = 'object')
);
-- retention, and "what happened last night"
CREATE INDEX audit_event_at_idx ON mcp.audit_event (at);
-- one account's events; the damping of repeated session.foreign events
CREATE INDEX audit_event_account_idx
    ON mcp.audit_event (organization_id, account_id, at);
COMMENT ON TABLE mcp.audit_event IS
    'What a security officer asks for: use of foreign sessions, kills, '
    'revocations, tokens, members, keys. Kept ninety days';
COMMENT ON COLUMN mcp.audit_event.audit_event_id IS 'Order of writing';
COMMENT ON COLUMN mcp.audit_event.at IS 'When';
COMMENT ON COLUMN mcp.audit_event.event IS
    'session.foreign, session.killed, session.drained, account.revoked, '
    'token.issued, token.revoked, member.added, member.removed, jwks.changed';
COMMENT ON COLUMN mcp.audit_event.issuer IS 'Who did it, or to whom';
COMMENT ON COLUMN mcp.audit_event.account_id IS 'Who did it, or to whom';
COMMENT ON COLUMN mcp.audit_event.organization_id IS
    'Who did it, or to whom';
COMMENT ON COLUMN mcp.audit_event.session_hint IS
    'First eight characters of the session id';
COMMENT ON COLUMN mcp.audit_event.db_user IS 'Database login that wrote it';
COMMENT ON COLUMN mcp.audit_event.detail IS 'Facts that depend on the event';

CREATE TABLE mcp.sweep (
    sweep_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT now(),
    host text NOT NULL DEFAULT '',
    expired bigint NOT NULL DEFAULT 0 CHECK (expired >= 0),
    renewed bigint NOT NULL DEFAULT 0 CHECK (renewed >= 0),
    purged bigint NOT NULL DEFAULT 0 CHECK (purged >= 0),
    is_complete boolean NOT NULL
);
-- the latest sweep (mcp-admin doctor), and retention
CREATE INDEX sweep_finished_idx ON mcp.sweep (finished_at);
COMMENT ON TABLE mcp.sweep IS 'One row per run of mcp-reaper. Kept a week';
COMMENT ON COLUMN mcp.sweep.sweep_id IS 'Order of writing';
COMMENT ON COLUMN mcp.sweep.started_at IS 'Start of the run';
COMMENT ON COLUMN mcp.sweep.finished_at IS 'End of the run';
COMMENT ON COLUMN mcp.sweep.host IS 'Where it ran';
COMMENT ON COLUMN mcp.sweep.expired IS 'Sessions removed';
COMMENT ON COLUMN mcp.sweep.renewed IS 'Sessions alive, alarm set again';
COMMENT ON COLUMN mcp.sweep.purged IS
    'Old tombstones, audit events and sweeps removed';
COMMENT ON COLUMN mcp.sweep.is_complete IS
    'false: stopped by its budget with work left';
