-- Purpose: views for database administrators and for monitoring.  Their
--   columns are stable: columns may be added at the end, none goes away.
-- Locks: none that matter; everything here is new.
-- Online: yes.
-- Way back: drop the views; no data is in them.
--
-- A view reads with its owner's rights, so mcp_readonly needs no table.  No
-- view shows a token digest or a whole session id: the first eight
-- characters name a session in the logs, in the audit and to kill_session().

CREATE VIEW mcp.session_live AS
SELECT left(s.session_id, 8) AS session_hint,
    s.organization_id,
    s.account_id,
    s.issuer,
    s.client_info ->> 'name' AS client_name,
    s.client_info ->> 'version' AS client_version,
    s.protocol_version,
    s.initialized_at IS NOT NULL AS is_initialized,
    s.created_at,
    s.last_activity_at,
    -- LEAST ignores NULL
    least(s.last_activity_at + make_interval(secs => s.idle_s),
        CASE WHEN s.lifetime_s > 0 THEN
            s.created_at + make_interval(secs => s.lifetime_s) END)
        AS expires_at,
    s.alarm_at
FROM mcp.session s
WHERE mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s,
    s.lifetime_s) IS NULL;
COMMENT ON VIEW mcp.session_live IS
    'Sessions that a request would be answered in';

CREATE VIEW mcp.session_expired AS
SELECT left(s.session_id, 8) AS session_hint,
    s.organization_id,
    s.account_id,
    s.issuer,
    mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s,
        s.lifetime_s) AS expired_by,
    s.created_at,
    s.last_activity_at,
    s.alarm_at
FROM mcp.session s
WHERE mcp.session_expired_by(s.created_at, s.last_activity_at, s.idle_s,
    s.lifetime_s) IS NOT NULL;
COMMENT ON VIEW mcp.session_expired IS
    'Sessions that are over and wait for the reaper; many with an old '
    'alarm_at: cron does not run';

CREATE VIEW mcp.session_ended AS
SELECT left(d.session_id, 8) AS session_hint,
    d.organization_id,
    d.account_id,
    d.issuer,
    d.reason,
    d.ended_at,
    d.readopt_until
FROM mcp.session_tombstone d;
COMMENT ON VIEW mcp.session_ended IS
    'Sessions removed in the last seven days, and why';

CREATE VIEW mcp.api_token_live AS
SELECT t.api_token_id,
    t.token_hint,
    t.organization_id,
    t.account_id,
    t.issuer,
    t.name,
    t.created_at,
    t.expires_at,
    t.last_used_at
FROM mcp.api_token t
WHERE t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now());
COMMENT ON VIEW mcp.api_token_live IS 'API tokens that work';

CREATE VIEW mcp.organization_usage AS
SELECT u.organization_id,
    o.name,
    sum(u.members)::bigint AS members,
    sum(u.tokens_live)::bigint AS tokens_live,
    sum(u.sessions_live)::bigint AS sessions_live,
    sum(u.sessions_expired)::bigint AS sessions_expired,
    max(u.last_activity_at) AS last_activity_at
FROM (
    SELECT organization_id, 0 AS members, 0 AS tokens_live,
        0 AS sessions_live, 0 AS sessions_expired,
        NULL::timestamptz AS last_activity_at
    FROM mcp.organization
    UNION ALL
    SELECT organization_id, count(*), 0, 0, 0, NULL
    FROM mcp.membership GROUP BY organization_id
    UNION ALL
    SELECT organization_id, 0, count(*), 0, 0, NULL
    FROM mcp.api_token_live GROUP BY organization_id
    UNION ALL
    SELECT s.organization_id, 0, 0, count(*) - count(s.expired_by),
        count(s.expired_by), max(s.last_activity_at)
    FROM (SELECT organization_id, last_activity_at,
            mcp.session_expired_by(created_at, last_activity_at, idle_s,
                lifetime_s) AS expired_by
        FROM mcp.session) s
    GROUP BY s.organization_id
) u
LEFT JOIN mcp.organization o USING (organization_id)
GROUP BY u.organization_id, o.name;
COMMENT ON VIEW mcp.organization_usage IS
    'Members, tokens and sessions of each organisation that has any';

CREATE VIEW mcp.audit_recent AS
SELECT audit_event_id, at, event, organization_id, account_id, issuer,
    session_hint, db_user, detail
FROM mcp.audit_event
WHERE at > now() - interval '7 days';
COMMENT ON VIEW mcp.audit_recent IS 'Audit events of the last seven days';

CREATE VIEW mcp.sweep_recent AS
SELECT sweep_id, started_at, finished_at, host, expired, renewed, purged,
    is_complete
FROM mcp.sweep
WHERE finished_at > now() - interval '1 day';
COMMENT ON VIEW mcp.sweep_recent IS 'Runs of the reaper in the last day';
