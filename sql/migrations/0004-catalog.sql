-- Purpose: the catalogue of each organisation: sources, tools, policies,
--   secrets and upstream sessions; search; the catalogue's version and number
--   of listed tools in what mcp.enter returns.
-- Locks: none that matter; mcp.enter is replaced, requests under way finish
--   with the old one.
-- Online: yes.  Programs built for 0003 do not start afterwards.
-- Way back: drop what is new here and create mcp.enter of 0002 again; sources,
--   tools, policies and secrets are lost.
--
-- pg_trgm (contrib, trusted since PostgreSQL 13: CREATE on the database is
-- enough) is used where it is already installed, else put in a schema of its
-- own: not in mcp, where privileges.sql closes every function, and not in
-- public, which others may write.  Functions here pin search_path, so the
-- index and four small functions name that schema, and nothing else does.
DO $do$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension
        WHERE extname = 'pg_trgm')
    THEN
        CREATE SCHEMA IF NOT EXISTS mcp_trgm;
        REVOKE ALL ON SCHEMA mcp_trgm FROM PUBLIC;
        COMMENT ON SCHEMA mcp_trgm IS 'mcp-fcgi: the extension pg_trgm';
        CREATE EXTENSION pg_trgm WITH SCHEMA mcp_trgm;
    END IF;
    EXECUTE replace($sql$
    CREATE FUNCTION mcp.similarity(a text, b text) RETURNS real
        LANGUAGE sql STABLE PARALLEL SAFE
        RETURN TRGM.similarity(a, b);
    CREATE FUNCTION mcp.is_similar(a text, b text) RETURNS boolean
        LANGUAGE sql STABLE PARALLEL SAFE
        RETURN a OPERATOR(TRGM.%) b;
    CREATE FUNCTION mcp.word_similarity(word text, words text) RETURNS real
        LANGUAGE sql STABLE PARALLEL SAFE
        RETURN TRGM.word_similarity(word, words);
    CREATE FUNCTION mcp.is_word_similar(word text, words text)
        RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
        RETURN word OPERATOR(TRGM.<%) words;
    $sql$, 'TRGM', (SELECT quote_ident(n.nspname) FROM pg_catalog.pg_extension x
        JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace
        WHERE x.extname = 'pg_trgm'));
END
$do$;
COMMENT ON FUNCTION mcp.similarity(text, text) IS
    'similarity() of pg_trgm, wherever it is installed; inlined';
COMMENT ON FUNCTION mcp.is_similar(text, text) IS
    'Operator % of pg_trgm, wherever it is installed; inlined';
COMMENT ON FUNCTION mcp.word_similarity(text, text) IS
    'word_similarity() of pg_trgm, wherever it is installed; inlined';
COMMENT ON FUNCTION mcp.is_word_similar(text, text) IS
    'Operator <% of pg_trgm, wherever it is installed; inlined';

-- The words of a path, a name or a query: camelCase split, punctuation gone,
-- lower case, one blank between words.  Immutable: generated columns use it.
CREATE FUNCTION mcp.words(t text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(lower(regexp_replace(regexp_replace(t,
    '([a-z0-9])([A-Z])', '\1 \2', 'g'), '([A-Z])([A-Z][a-z])', '\1 \2', 'g')),
    '[][[:space:]_./:,;(){}<>"''`|+*=&%$#@!?~^\\-]+', ' ', 'g'));
COMMENT ON FUNCTION mcp.words(text) IS
    'Words in lower case: issues.createForRepo gives issues create for repo';

CREATE FUNCTION mcp.iso(t timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
COMMENT ON FUNCTION mcp.iso(timestamptz) IS 'ISO 8601, UTC, seconds';

-- Internal.  Each word in the index begins with six digits for its
-- organisation, so that a search reads what is its own, however many
-- organisations have imported the same document.
CREATE FUNCTION mcp.search_scope(p_organization_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(md5(p_organization_id), 6);
COMMENT ON FUNCTION mcp.search_scope(text) IS
    'Beginning of an organisation''s words in tool.search';

CREATE FUNCTION mcp.search_vector(p_organization_id text, p_path text,
    p_title text, p_description text)
RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT mcp.search_scope(p_organization_id) || v.lexeme
        FROM unnest(to_tsvector('pg_catalog.simple', mcp.words(p_path))
            || to_tsvector('pg_catalog.english', coalesce(p_title, '') || ' '
                || left(coalesce(p_description, ''), 4000))) v))
$$;
COMMENT ON FUNCTION mcp.search_vector(text, text, text, text) IS
    'What tool.search holds: words of the path as they are, of title and '
    'description by their English stems';

-- The query for one word: its English stem as a prefix; the word itself, too,
-- where it does not begin with the stem (happy: happi).
CREATE FUNCTION mcp.search_token(p_scope text, p_word text) RETURNS tsquery
LANGUAGE sql IMMUTABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg('''' || p_scope
        || replace(replace(w, '\', '\\'), '''', '''''') || ''':*', ' | ')
        ::tsquery
    FROM (SELECT (ts_lexize('pg_catalog.english_stem', p_word))[1] AS stem) s,
        unnest(CASE WHEN starts_with(p_word, s.stem) THEN ARRAY[s.stem]
            ELSE ARRAY[p_word, s.stem] END) w
    WHERE w <> ''
$$;
COMMENT ON FUNCTION mcp.search_token(text, text) IS
    'Text search query for one word of mcp.words and its English stem';

CREATE TABLE mcp.source (
    source_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    name text COLLATE "C" NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    kind text NOT NULL CHECK (kind IN ('script', 'sql', 'http', 'mcp')),
    title text CHECK (octet_length(title) BETWEEN 1 AND 512),
    config jsonb NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(config) = 'object'
            AND octet_length(config::text) <= 65536),
    is_enabled boolean NOT NULL DEFAULT true,
    refreshed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, name),
    -- what mcp.tool refers to: renaming a source renames its tools' paths
    UNIQUE (source_id, organization_id, name)
);
COMMENT ON TABLE mcp.source IS
    'Where tools come from, per organisation. A change counts on the next '
    'request, on every host';
COMMENT ON COLUMN mcp.source.source_id IS 'Key';
COMMENT ON COLUMN mcp.source.organization_id IS
    'Whose; deliberately no foreign key';
COMMENT ON COLUMN mcp.source.name IS
    'First part of the paths of its tools; the namespace';
COMMENT ON COLUMN mcp.source.kind IS
    'script: JavaScript in rows; sql: functions; http: an HTTP API; mcp: '
    'another MCP server';
COMMENT ON COLUMN mcp.source.title IS 'For people; NULL: the name';
COMMENT ON COLUMN mcp.source.config IS
    'How to reach it, by kind. Names secrets, never holds one';
COMMENT ON COLUMN mcp.source.is_enabled IS
    'false: its tools can be neither seen nor called';
COMMENT ON COLUMN mcp.source.refreshed_at IS
    'When its tools were last imported';
COMMENT ON COLUMN mcp.source.created_at IS 'When it was added';

CREATE TABLE mcp.tool (
    tool_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_id bigint NOT NULL,
    organization_id text COLLATE "C" NOT NULL,
    source_name text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL
        CHECK (name ~ '^[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*$'
            AND octet_length(name) <= 192),
    path text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (source_name || '.' || name) STORED,
    title text CHECK (octet_length(title) <= 1024),
    description text CHECK (octet_length(description) <= 65536),
    input_schema json NOT NULL DEFAULT '{"type":"object"}'
        CHECK (json_typeof(input_schema) = 'object'
            AND octet_length(input_schema::text) <= 1048576),
    output_schema json
        CHECK (json_typeof(output_schema) = 'object'
            AND octet_length(output_schema::text) <= 1048576),
    annotations json NOT NULL DEFAULT '{}'
        CHECK (json_typeof(annotations) = 'object'
            AND octet_length(annotations::text) <= 65536),
    definition jsonb NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(definition) = 'object'
            AND octet_length(definition::text) <= 1048576),
    is_listed boolean NOT NULL DEFAULT false,
    is_enabled boolean NOT NULL DEFAULT true,
    needs_approval boolean NOT NULL DEFAULT false,
    approval_text text CHECK (octet_length(approval_text) <= 1024),
    updated_at timestamptz NOT NULL DEFAULT now(),
    words text NOT NULL
        GENERATED ALWAYS AS (mcp.words(source_name || '.' || name)) STORED,
    head tsvector NOT NULL GENERATED ALWAYS AS (
        setweight(to_tsvector('pg_catalog.simple',
            mcp.words(source_name || '.' || name)), 'A')
        || setweight(to_tsvector('pg_catalog.english',
            coalesce(left(title, 256), '')), 'B')) STORED,
    search tsvector NOT NULL GENERATED ALWAYS AS (
        mcp.search_vector(organization_id, source_name || '.' || name,
            title, description)) STORED,
    -- the lookup of a call; lists in path order
    UNIQUE (organization_id, path),
    -- the import's upsert; a source's tools
    UNIQUE (source_id, name),
    FOREIGN KEY (source_id, organization_id, source_name)
        REFERENCES mcp.source (source_id, organization_id, name)
        ON UPDATE CASCADE ON DELETE CASCADE
);
-- tools.search.  fastupdate off: an import pays, not the first search after.
CREATE INDEX tool_search_idx ON mcp.tool USING gin (search)
    WITH (fastupdate = off);
-- misspelt paths and queries
DO $do$
BEGIN
    EXECUTE format('CREATE INDEX tool_words_idx ON mcp.tool '
        'USING gin (words %I.gin_trgm_ops) WITH (fastupdate = off)',
        (SELECT n.nspname FROM pg_catalog.pg_extension x
            JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace
            WHERE x.extname = 'pg_trgm'));
END
$do$;
-- tools/list, and counting for it
CREATE INDEX tool_listed_idx ON mcp.tool (organization_id, path)
    WHERE is_listed;
COMMENT ON TABLE mcp.tool IS 'What a program may call, per organisation';
COMMENT ON COLUMN mcp.tool.tool_id IS 'Key; kept when a source is refreshed';
COMMENT ON COLUMN mcp.tool.source_id IS 'Where it comes from';
COMMENT ON COLUMN mcp.tool.organization_id IS 'As of the source';
COMMENT ON COLUMN mcp.tool.source_name IS
    'As of the source; follows when that is renamed';
COMMENT ON COLUMN mcp.tool.name IS 'Name within the source; may have dots';
COMMENT ON COLUMN mcp.tool.path IS
    'What a program writes after tools., and policies match';
COMMENT ON COLUMN mcp.tool.title IS 'For people';
COMMENT ON COLUMN mcp.tool.description IS 'What it does';
COMMENT ON COLUMN mcp.tool.input_schema IS
    'JSON Schema of its argument, byte for byte as imported';
COMMENT ON COLUMN mcp.tool.output_schema IS
    'JSON Schema of its result, byte for byte as imported; NULL: unknown';
COMMENT ON COLUMN mcp.tool.annotations IS 'MCP tool annotations';
COMMENT ON COLUMN mcp.tool.definition IS
    'How to call it, by kind of the source';
COMMENT ON COLUMN mcp.tool.is_listed IS
    'true: in tools/list itself, beside execute';
COMMENT ON COLUMN mcp.tool.is_enabled IS
    'false: can be neither seen nor called';
COMMENT ON COLUMN mcp.tool.needs_approval IS
    'What counts when no policy matches';
COMMENT ON COLUMN mcp.tool.approval_text IS
    'What an approval says; NULL: a text made from the path';
COMMENT ON COLUMN mcp.tool.updated_at IS 'Last import or change of meaning';
COMMENT ON COLUMN mcp.tool.words IS 'Words of the path, for misspelt ones';
COMMENT ON COLUMN mcp.tool.head IS
    'What a query ranks by: path (A) and title (B); short, so that ranking '
    'thousands reads no text out of line';
COMMENT ON COLUMN mcp.tool.search IS
    'What a query finds: path (words as they are), title and description '
    '(English)';

CREATE TABLE mcp.tool_policy (
    tool_policy_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    pattern text COLLATE "C" NOT NULL
        CHECK (pattern ~ ('^(\*|[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*(\.\*)?)$')
            AND octet_length(pattern) <= 256),
    action text NOT NULL
        CHECK (action IN ('approve', 'require_approval', 'block')),
    position numeric NOT NULL DEFAULT 0,
    note text NOT NULL DEFAULT '' CHECK (octet_length(note) <= 1024),
    created_at timestamptz NOT NULL DEFAULT now()
);
-- the decision on a call, in the order that counts
CREATE INDEX tool_policy_order_idx
    ON mcp.tool_policy (organization_id, position, tool_policy_id);
COMMENT ON TABLE mcp.tool_policy IS
    'Who decides on calls. The first that matches counts, by position, then '
    'by age; none: tool.needs_approval';
COMMENT ON COLUMN mcp.tool_policy.tool_policy_id IS 'Key; breaks ties';
COMMENT ON COLUMN mcp.tool_policy.organization_id IS 'Whose';
COMMENT ON COLUMN mcp.tool_policy.pattern IS
    '* for every tool, a path, or PREFIX.* for PREFIX and all below it';
COMMENT ON COLUMN mcp.tool_policy.action IS
    'approve: runs unasked; require_approval: a human is asked; block: can '
    'be neither seen nor called';
COMMENT ON COLUMN mcp.tool_policy.position IS
    'Lowest first; a fraction fits between any two';
COMMENT ON COLUMN mcp.tool_policy.note IS 'Why';
COMMENT ON COLUMN mcp.tool_policy.created_at IS 'When it was added';

CREATE TABLE mcp.secret (
    organization_id text COLLATE "C" NOT NULL
        CHECK (octet_length(organization_id) BETWEEN 1 AND 512),
    name text COLLATE "C" NOT NULL
        CHECK (name ~ '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$'),
    key_id text COLLATE "C" NOT NULL
        CHECK (key_id ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$'),
    sealed bytea NOT NULL CHECK (octet_length(sealed) BETWEEN 28 AND 131072),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, name)
);
COMMENT ON TABLE mcp.secret IS
    'Values that calls need, sealed. Without the keyring, a file on the '
    'hosts, nothing here can be read';
COMMENT ON COLUMN mcp.secret.organization_id IS 'Whose; sealed in';
COMMENT ON COLUMN mcp.secret.name IS 'What source.config calls it; sealed in';
COMMENT ON COLUMN mcp.secret.key_id IS 'File of the keyring that opens it';
COMMENT ON COLUMN mcp.secret.sealed IS
    'AES-256-GCM: nonce, ciphertext and tag; bound to organisation and name';
COMMENT ON COLUMN mcp.secret.updated_at IS 'When it was set or sealed anew';

CREATE TABLE mcp.upstream_session (
    source_id bigint PRIMARY KEY
        REFERENCES mcp.source ON DELETE CASCADE,
    session_id text COLLATE "C" CHECK (octet_length(session_id) <= 1024),
    protocol_version text NOT NULL
        CHECK (protocol_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'),
    updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE mcp.upstream_session IS
    'The session that all hosts share with an upstream MCP server';
COMMENT ON COLUMN mcp.upstream_session.source_id IS 'The source, of kind mcp';
COMMENT ON COLUMN mcp.upstream_session.session_id IS
    'As given by the server; NULL: it keeps none';
COMMENT ON COLUMN mcp.upstream_session.protocol_version IS 'Negotiated';
COMMENT ON COLUMN mcp.upstream_session.updated_at IS
    'When it was initialized';

CREATE TABLE mcp.catalog_version (
    organization_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL CHECK (version > 0),
    listed integer NOT NULL DEFAULT 0 CHECK (listed >= 0)
)
WITH (fillfactor = 50);
COMMENT ON TABLE mcp.catalog_version IS
    'Says that a catalogue has changed; written by triggers only';
COMMENT ON COLUMN mcp.catalog_version.organization_id IS 'Whose catalogue';
COMMENT ON COLUMN mcp.catalog_version.version IS
    'Another number after every change, also after a restored backup: '
    'microseconds of the clock, or one more than before';
COMMENT ON COLUMN mcp.catalog_version.listed IS
    'Tools in tools/list: listed, enabled, not blocked';

-- Internal: does PATTERN match PATH?  Inlined.
CREATE FUNCTION mcp.policy_matches(pattern text, path text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pattern = '*' OR pattern = path
    OR right(pattern, 2) = '.*' AND (path = left(pattern, -2)
        OR starts_with(path, left(pattern, -1)));
COMMENT ON FUNCTION mcp.policy_matches(text, text) IS
    'true: the pattern of a policy matches the path';

-- Internal: approve, require_approval or block by the first policy that
-- matches, NULL when none does.
CREATE FUNCTION mcp.policy_action(p_organization_id text, p_path text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT p.action FROM mcp.tool_policy p
    WHERE p.organization_id = p_organization_id
        AND mcp.policy_matches(p.pattern, p_path)
    ORDER BY p.position, p.tool_policy_id LIMIT 1
$$;
COMMENT ON FUNCTION mcp.policy_action(text, text) IS
    'approve, require_approval or block by the first policy that matches; '
    'NULL: none does, tool.needs_approval decides';

-- Internal: a catalogue has changed.  Two statements: the count is taken
-- after the row is locked, so that it sees what others have committed.
CREATE FUNCTION mcp.catalog_bump(p_organization_ids text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO mcp.catalog_version AS v (organization_id, version)
        SELECT o, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
        FROM unnest(p_organization_ids) o
        ORDER BY o -- two that change several must not deadlock
        ON CONFLICT (organization_id) DO UPDATE
            SET version = greatest(v.version + 1, excluded.version);
    UPDATE mcp.catalog_version v SET listed = n.listed
        FROM (SELECT o, (SELECT count(*) FROM mcp.tool t
                JOIN mcp.source s USING (source_id)
                WHERE t.organization_id = o AND t.is_listed
                    AND t.is_enabled AND s.is_enabled
                    AND mcp.policy_action(o, t.path)
                        IS DISTINCT FROM 'block') AS listed
            FROM unnest(p_organization_ids) o) n
        WHERE v.organization_id = n.o AND v.listed <> n.listed;
END
$$;
COMMENT ON FUNCTION mcp.catalog_bump(text[]) IS
    'Give these organisations'' catalogues another version, count what is '
    'listed';

CREATE FUNCTION mcp.catalog_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM mcp.catalog_bump(ARRAY(
            SELECT DISTINCT organization_id FROM new_row));
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM mcp.catalog_bump(ARRAY(
            SELECT DISTINCT organization_id FROM old_row));
    ELSE
        PERFORM mcp.catalog_bump(ARRAY(
            SELECT organization_id FROM old_row
            UNION SELECT organization_id FROM new_row));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION mcp.catalog_changed() IS
    'Trigger of source, tool and tool_policy: catalog_bump';

DO $do$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['source', 'tool', 'tool_policy'] LOOP
        EXECUTE replace($sql$
        CREATE TRIGGER catalog_insert AFTER INSERT ON mcp.T
            REFERENCING NEW TABLE AS new_row
            FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();
        CREATE TRIGGER catalog_update AFTER UPDATE ON mcp.T
            REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row
            FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();
        CREATE TRIGGER catalog_delete AFTER DELETE ON mcp.T
            REFERENCING OLD TABLE AS old_row
            FOR EACH STATEMENT EXECUTE FUNCTION mcp.catalog_changed();
        $sql$, 'mcp.T', 'mcp.' || t);
    END LOOP;
END
$do$;

-- Internal: paths like this one, for somebody who misspelt it.
CREATE FUNCTION mcp.tool_suggest(p_organization_id text, p_path text,
    p_limit integer)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    w text := mcp.words(left(p_path, 256));
    blocked text := mcp.policy_block_pattern(p_organization_id);
BEGIN
    PERFORM set_config('pg_trgm.similarity_threshold', '0.4', true);
    RETURN ARRAY(
        SELECT t.path FROM mcp.tool t JOIN mcp.source s USING (source_id)
        WHERE t.organization_id = p_organization_id
            AND mcp.is_similar(t.words, w)
            AND t.is_enabled AND s.is_enabled
            AND (blocked IS NULL OR t.path !~ blocked
                OR mcp.policy_action(p_organization_id, t.path)
                    IS DISTINCT FROM 'block')
        ORDER BY mcp.similarity(t.words, w) DESC, t.path
        LIMIT p_limit);
END
$$;
COMMENT ON FUNCTION mcp.tool_suggest(text, text, integer) IS
    'Paths of visible tools most like this one, best first';

-- One round trip before a call: the tool, how to reach it, and who decides.
CREATE FUNCTION mcp.tool_find(p_organization_id text, p_path text,
    OUT outcome text, OUT tool_id bigint, OUT source_id bigint,
    OUT kind text, OUT source_name text, OUT name text, OUT path text,
    OUT title text, OUT description text, OUT config text,
    OUT definition text, OUT input_schema text, OUT output_schema text,
    OUT annotations text, OUT action text, OUT policy_pattern text,
    OUT approval_text text, OUT suggestions text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t record;
    p record;
BEGIN
    SELECT x.*, s.kind, s.config, s.is_enabled AS is_source_enabled
        INTO t FROM mcp.tool x JOIN mcp.source s USING (source_id)
        WHERE x.organization_id = p_organization_id AND x.path = p_path;
    IF FOUND AND t.is_enabled AND t.is_source_enabled THEN
        SELECT y.action, y.pattern INTO p FROM mcp.tool_policy y
            WHERE y.organization_id = p_organization_id
                AND mcp.policy_matches(y.pattern, p_path)
            ORDER BY y.position, y.tool_policy_id LIMIT 1;
        path := t.path;
        policy_pattern := p.pattern;
        IF p.action = 'block' THEN
            outcome := 'blocked';
            RETURN;
        END IF;
        outcome := 'ok';
        tool_id := t.tool_id;
        source_id := t.source_id;
        kind := t.kind;
        source_name := t.source_name;
        name := t.name;
        title := t.title;
        description := t.description;
        config := t.config;
        definition := t.definition;
        input_schema := t.input_schema;
        output_schema := t.output_schema;
        annotations := t.annotations;
        action := coalesce(p.action, CASE WHEN t.needs_approval
            THEN 'require_approval' ELSE 'approve' END);
        approval_text := t.approval_text;
    ELSE
        outcome := 'not_found';
        suggestions := array_to_json(mcp.tool_suggest(p_organization_id,
            p_path, 5));
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.tool_find(text, text) IS
    'A tool by its path; always one row. outcome: ok, with action approve or '
    'require_approval and the pattern of the policy that says so (NULL: '
    'tool.needs_approval); blocked; not_found (unknown or disabled), with up '
    'to five suggestions as a JSON array';

-- What is in tools/list beside execute.
CREATE FUNCTION mcp.tool_listed(p_organization_id text)
RETURNS TABLE (path text, title text, description text, input_schema text,
    output_schema text, annotations text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT t.path, t.title, t.description, t.input_schema, t.output_schema,
        t.annotations
    FROM mcp.tool t JOIN mcp.source s USING (source_id)
    WHERE t.organization_id = p_organization_id AND t.is_listed
        AND t.is_enabled AND s.is_enabled
        AND mcp.policy_action(p_organization_id, t.path)
            IS DISTINCT FROM 'block'
    ORDER BY t.path
$$;
COMMENT ON FUNCTION mcp.tool_listed(text) IS
    'Tools of tools/list: listed, enabled, not blocked; by path';

CREATE FUNCTION mcp.source_inventory(p_organization_id text)
RETURNS TABLE (name text, title text, kind text, tools bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT s.name, s.title, s.kind, count(*)
    FROM mcp.source s JOIN mcp.tool t USING (source_id)
    WHERE s.organization_id = p_organization_id
        AND s.is_enabled AND t.is_enabled
        AND mcp.policy_action(p_organization_id, t.path)
            IS DISTINCT FROM 'block'
    GROUP BY s.source_id ORDER BY s.name
$$;
COMMENT ON FUNCTION mcp.source_inventory(text) IS
    'Namespaces with tools that can be seen, and how many; by name';

-- Internal: tools that match one of K of N words, as a query: any K.
CREATE FUNCTION mcp.search_some(p_tokens tsquery[], p_needed integer)
RETURNS tsquery
LANGUAGE sql IMMUTABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE token AS (
        SELECT q, n FROM unnest(p_tokens) WITH ORDINALITY u (q, n)
    ), part (q, n, k) AS (
        SELECT q, n, 1 FROM token
        UNION ALL
        SELECT s.q && t.q, t.n, s.k + 1 FROM part s
        JOIN token t ON t.n > s.n
        WHERE s.k < p_needed
    )
    SELECT string_agg('(' || q::text || ')', ' | ')::tsquery FROM part
    WHERE k = p_needed
$$;
COMMENT ON FUNCTION mcp.search_some(tsquery[], integer) IS
    'Text search query: at least so many of these';

-- Internal: a regular expression for the paths that some policy of the
-- organisation blocks (unless one before it says otherwise); NULL: none does.
CREATE FUNCTION mcp.policy_block_pattern(p_organization_id text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '^(' || string_agg(CASE
            WHEN p.pattern = '*' THEN '.*'
            WHEN right(p.pattern, 2) = '.*' THEN
                regexp_replace(left(p.pattern, -2), '([.$])', '\\\1', 'g')
                    || '(\..*)?'
            ELSE regexp_replace(p.pattern, '([.$])', '\\\1', 'g') END, '|')
        || ')$'
    FROM mcp.tool_policy p
    WHERE p.organization_id = p_organization_id AND p.action = 'block'
$$;
COMMENT ON FUNCTION mcp.policy_block_pattern(text) IS
    'Matches the paths that may be blocked; policy_action decides; NULL: none';

-- One pass over what the index finds, ranked by path and title, with the
-- texts fetched for the page alone.
CREATE FUNCTION mcp.tool_search(p_organization_id text, p_query text,
    p_namespace text, p_limit integer, p_offset integer,
    OUT total bigint, OUT items text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    q text := coalesce(left(mcp.words(left(p_query, 512)), 256), '');
    ns text := nullif(mcp.words(left(p_namespace, 256)), '') || ' ';
    blocked text := mcp.policy_block_pattern(p_organization_id);
    tokens tsquery[];
    keys tsquery[];
    any_token tsquery;
    wanted tsquery;
BEGIN
    IF q = '' THEN
        WITH hit AS MATERIALIZED (
            SELECT t.tool_id, t.path
            FROM mcp.tool t JOIN mcp.source s USING (source_id)
            WHERE t.organization_id = p_organization_id
                AND starts_with(t.words || ' ', ns) -- NULL: nothing
                AND t.is_enabled AND s.is_enabled
                AND (blocked IS NULL OR t.path !~ blocked
                    OR mcp.policy_action(p_organization_id, t.path)
                        IS DISTINCT FROM 'block')
        )
        SELECT (SELECT count(*) FROM hit),
                (SELECT coalesce(json_agg(mcp.search_item(t.path, t.name,
                        t.title, t.description, t.source_name, 0)
                        ORDER BY t.path), '[]')
                    FROM (SELECT * FROM hit ORDER BY path
                        LIMIT p_limit OFFSET p_offset) page
                    JOIN mcp.tool t USING (tool_id))
            INTO total, items;
        RETURN;
    END IF;

    -- Words that say nothing ("the") do not count unless there are no others.
    SELECT array_agg(mcp.search_token('', w.word) ORDER BY w.n),
            array_agg(mcp.search_token(mcp.search_scope(p_organization_id),
                w.word) ORDER BY w.n)
        INTO tokens, keys
        FROM (SELECT v.* FROM (SELECT u.word, min(u.n) AS n,
                    ts_lexize('pg_catalog.english_stem', u.word) = '{}'
                        AS is_stop,
                    bool_and(ts_lexize('pg_catalog.english_stem', u.word)
                        = '{}') OVER () AS are_all_stop
                FROM unnest(string_to_array(q, ' '))
                    WITH ORDINALITY u (word, n)
                GROUP BY u.word) v
            WHERE NOT v.is_stop OR v.are_all_stop
            ORDER BY v.n LIMIT 6) w;
    any_token := mcp.search_some(tokens, 1);
    -- All of one or two words, three fifths of more.
    wanted := mcp.search_some(keys, CASE WHEN cardinality(tokens) <= 2
        THEN cardinality(tokens)
        ELSE round(cardinality(tokens) * 0.6)::integer END);

    WITH hit AS MATERIALIZED (
        SELECT t.tool_id, t.path,
            ts_rank('{0, 0, 0.3, 1}', t.head, any_token) * 10
                + length(q) * 5.0::real / length(t.words)
                + CASE WHEN strpos(t.words, q) > 0 THEN 5 ELSE 0 END AS score
        FROM mcp.tool t JOIN mcp.source s USING (source_id)
        WHERE t.organization_id = p_organization_id
            AND t.search @@ wanted
            AND (ns IS NULL OR starts_with(t.words || ' ', ns))
            AND t.is_enabled AND s.is_enabled
            AND (blocked IS NULL OR t.path !~ blocked
                OR mcp.policy_action(p_organization_id, t.path)
                    IS DISTINCT FROM 'block')
    )
    SELECT (SELECT count(*) FROM hit),
            (SELECT coalesce(json_agg(mcp.search_item(t.path, t.name, t.title,
                    t.description, t.source_name,
                    round(page.score::numeric, 3))
                    ORDER BY page.score DESC, t.path), '[]')
                FROM (SELECT * FROM hit ORDER BY score DESC, path
                    LIMIT p_limit OFFSET p_offset) page
                JOIN mcp.tool t USING (tool_id))
        INTO total, items;
    IF total > 0 THEN
        RETURN;
    END IF;

    -- Nothing: what looks alike.
    PERFORM set_config('pg_trgm.word_similarity_threshold', '0.5', true);
    WITH hit AS MATERIALIZED (
        SELECT t.tool_id, t.path, mcp.word_similarity(q, t.words) * 5
            AS score
        FROM mcp.tool t JOIN mcp.source s USING (source_id)
        WHERE t.organization_id = p_organization_id
            AND mcp.is_word_similar(q, t.words)
            AND (ns IS NULL OR starts_with(t.words || ' ', ns))
            AND t.is_enabled AND s.is_enabled
            AND (blocked IS NULL OR t.path !~ blocked
                OR mcp.policy_action(p_organization_id, t.path)
                    IS DISTINCT FROM 'block')
    )
    SELECT (SELECT count(*) FROM hit),
            (SELECT coalesce(json_agg(mcp.search_item(t.path, t.name, t.title,
                    t.description, t.source_name,
                    round(page.score::numeric, 3))
                    ORDER BY page.score DESC, t.path), '[]')
                FROM (SELECT * FROM hit ORDER BY score DESC, path
                    LIMIT p_limit OFFSET p_offset) page
                JOIN mcp.tool t USING (tool_id))
        INTO total, items;
END
$$;
COMMENT ON FUNCTION mcp.tool_search(text, text, text, integer, integer) IS
    'A page of the visible tools that fit, best first, equals by path; total '
    'counts all. Namespace: the first words of the path. Without a query: '
    'the whole namespace by path. items: JSON array';

CREATE FUNCTION mcp.search_item(p_path text, p_name text, p_title text,
    p_description text, p_source_name text, p_score numeric)
RETURNS json
LANGUAGE sql IMMUTABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT json_strip_nulls(json_build_object('path', p_path, 'name', p_name,
        'title', p_title,
        'description', CASE WHEN length(p_description) > 500
            THEN left(p_description, 499) || U&'\2026'
            ELSE p_description END,
        'sourceId', p_source_name, 'score', p_score))
$$;
COMMENT ON FUNCTION mcp.search_item(text, text, text, text, text, numeric) IS
    'One item of tool_search';

-- Internal: add or change tools of a source, the source's row being locked.
-- What people have set stays: is_listed, is_enabled, and the key.
CREATE FUNCTION mcp.tool_put(p_source_id bigint, p_tools json,
    OUT added bigint, OUT changed bigint)
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH put AS (
        INSERT INTO mcp.tool AS t (source_id, organization_id, source_name,
            name, title, description, input_schema, output_schema,
            annotations, definition, is_listed, needs_approval, approval_text)
        SELECT s.source_id, s.organization_id, s.name, e ->> 'name',
            e ->> 'title', e ->> 'description',
            coalesce(e -> 'input_schema', '{"type":"object"}'),
            CASE WHEN json_typeof(e -> 'output_schema') <> 'null'
                THEN e -> 'output_schema' END,
            coalesce(e -> 'annotations', '{}'),
            coalesce((e -> 'definition')::text::jsonb, '{}'),
            coalesce((e ->> 'is_listed')::boolean, false),
            coalesce((e ->> 'needs_approval')::boolean, false),
            e ->> 'approval_text'
        FROM mcp.source s, json_array_elements(p_tools) e
        WHERE s.source_id = p_source_id
        ON CONFLICT (source_id, name) DO UPDATE
            SET title = excluded.title,
                description = excluded.description,
                input_schema = excluded.input_schema,
                output_schema = excluded.output_schema,
                annotations = excluded.annotations,
                definition = excluded.definition,
                needs_approval = excluded.needs_approval,
                approval_text = excluded.approval_text,
                updated_at = now()
            WHERE (t.title, t.description, t.input_schema::text,
                    t.output_schema::text, t.annotations::text, t.definition,
                    t.needs_approval, t.approval_text)
                IS DISTINCT FROM (excluded.title, excluded.description,
                    excluded.input_schema::text,
                    excluded.output_schema::text,
                    excluded.annotations::text, excluded.definition,
                    excluded.needs_approval, excluded.approval_text)
        RETURNING t.xmax = 0 AS is_added
    )
    SELECT count(*) FILTER (WHERE is_added),
        count(*) FILTER (WHERE NOT is_added) FROM put
$$;
COMMENT ON FUNCTION mcp.tool_put(bigint, json) IS
    'Add or change tools of a source; those that are as given stay untouched';

CREATE FUNCTION mcp.tool_import(p_source_id bigint, p_tools json,
    OUT added bigint, OUT changed bigint, OUT removed bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM mcp.source s WHERE s.source_id = p_source_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such source';
    END IF;
    DELETE FROM mcp.tool t WHERE t.source_id = p_source_id
        AND NOT EXISTS (SELECT FROM json_array_elements(p_tools) e
            WHERE e ->> 'name' = t.name);
    GET DIAGNOSTICS removed = ROW_COUNT;
    SELECT p.added, p.changed INTO added, changed
        FROM mcp.tool_put(p_source_id, p_tools) p;
    UPDATE mcp.source s SET refreshed_at = now()
        WHERE s.source_id = p_source_id;
END
$$;
COMMENT ON FUNCTION mcp.tool_import(bigint, json) IS
    'Make these the tools of a source: a JSON array of objects with the '
    'columns of mcp.tool. Others of the source go; is_listed and is_enabled '
    'of those that stay are kept';

CREATE FUNCTION mcp.tool_save(p_source_id bigint, p_tool json)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM FROM mcp.source s WHERE s.source_id = p_source_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no such source';
    END IF;
    RETURN (SELECT p.added > 0
        FROM mcp.tool_put(p_source_id, json_build_array(p_tool)) p);
END
$$;
COMMENT ON FUNCTION mcp.tool_save(bigint, json) IS
    'Add one tool to a source or change it; true: it is new';

CREATE FUNCTION mcp.secret_find(p_organization_id text, p_name text,
    OUT key_id text, OUT sealed bytea)
RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT s.key_id, s.sealed FROM mcp.secret s
    WHERE s.organization_id = p_organization_id AND s.name = p_name
$$;
COMMENT ON FUNCTION mcp.secret_find(text, text) IS
    'The sealed envelope of a secret; no row: there is none';

CREATE FUNCTION mcp.secret_save(p_organization_id text, p_name text,
    p_key_id text, p_sealed bytea)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    is_new boolean;
BEGIN
    INSERT INTO mcp.secret AS s (organization_id, name, key_id, sealed)
        VALUES (p_organization_id, p_name, p_key_id, p_sealed)
        ON CONFLICT (organization_id, name) DO UPDATE
            SET key_id = excluded.key_id, sealed = excluded.sealed,
                updated_at = now()
        RETURNING s.xmax = 0 INTO is_new;
    PERFORM mcp.audit_write('secret.set', NULL, NULL, p_organization_id,
        NULL, jsonb_build_object('name', p_name, 'key_id', p_key_id));
    RETURN is_new;
END
$$;
COMMENT ON FUNCTION mcp.secret_save(text, text, text, bytea) IS
    'Add or replace a secret; true: it is new. Audited';

CREATE FUNCTION mcp.secret_rotate(p_organization_id text, p_name text,
    p_old_sealed bytea, p_key_id text, p_sealed bytea)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE mcp.secret s
        SET key_id = p_key_id, sealed = p_sealed, updated_at = now()
        WHERE s.organization_id = p_organization_id AND s.name = p_name
            AND s.sealed = p_old_sealed;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION mcp.secret_rotate(text, text, bytea, text, bytea) IS
    'Put an envelope sealed with another key in place of this one; false: '
    'the secret has been set or removed meanwhile';

CREATE FUNCTION mcp.secret_remove(p_organization_id text, p_name text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM mcp.secret s
        WHERE s.organization_id = p_organization_id AND s.name = p_name;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM mcp.audit_write('secret.removed', NULL, NULL, p_organization_id,
        NULL, jsonb_build_object('name', p_name));
    RETURN true;
END
$$;
COMMENT ON FUNCTION mcp.secret_remove(text, text) IS
    'Remove a secret; false: there is none. Audited';

CREATE FUNCTION mcp.upstream_find(p_organization_id text, p_source_id bigint,
    OUT session_id text, OUT protocol_version text, OUT age_s bigint)
RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.session_id, u.protocol_version,
        floor(extract(epoch FROM now() - u.updated_at))::bigint
    FROM mcp.upstream_session u JOIN mcp.source s USING (source_id)
    WHERE u.source_id = p_source_id AND s.organization_id = p_organization_id
$$;
COMMENT ON FUNCTION mcp.upstream_find(text, bigint) IS
    'The shared session with an upstream server; no row: none yet';

CREATE FUNCTION mcp.upstream_save(p_organization_id text, p_source_id bigint,
    p_session_id text, p_protocol_version text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO mcp.upstream_session (source_id, session_id,
            protocol_version)
        SELECT s.source_id, p_session_id, p_protocol_version
        FROM mcp.source s WHERE s.source_id = p_source_id
            AND s.organization_id = p_organization_id
        ON CONFLICT (source_id) DO NOTHING;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION mcp.upstream_save(text, bigint, text, text) IS
    'Share a session just initialized; false: another process was first, '
    'use what upstream_find says';

CREATE FUNCTION mcp.upstream_drop(p_organization_id text, p_source_id bigint,
    p_session_id text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM mcp.upstream_session u USING mcp.source s
        WHERE u.source_id = p_source_id AND s.source_id = u.source_id
            AND s.organization_id = p_organization_id
            AND u.session_id IS NOT DISTINCT FROM p_session_id;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION mcp.upstream_drop(text, bigint, text) IS
    'Forget the session that the server has lost; false: it has been '
    'replaced already';

-- Every request with a bearer: as in 0002, and what tools/list needs to know
-- without another round trip.
DROP FUNCTION mcp.enter(text, text, text, text, bytea, text);
CREATE FUNCTION mcp.enter(p_session_id text, p_issuer text,
    p_account_id text, p_organization_id text, p_token_sha256 bytea,
    p_membership text,
    OUT outcome text, OUT issuer text, OUT account_id text,
    OUT organization_id text, OUT protocol_version text,
    OUT client_capabilities text, OUT is_initialized boolean,
    OUT end_reason text, OUT catalog_version bigint, OUT listed_tools integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    tok record;
    ses record;
    is_member boolean;
BEGIN
    IF p_token_sha256 IS NULL THEN
        issuer := p_issuer;
        account_id := p_account_id;
        organization_id := p_organization_id;
    ELSE
        SELECT t.issuer, t.account_id, t.organization_id, t.revoked_at,
                t.expires_at, t.last_used_at
            INTO tok FROM mcp.api_token t
            WHERE t.token_sha256 = p_token_sha256;
        IF NOT FOUND OR tok.revoked_at IS NOT NULL THEN
            outcome := 'bad_token';
            RETURN;
        ELSIF tok.expires_at <= now() THEN
            outcome := 'expired_token';
            RETURN;
        END IF;
        issuer := tok.issuer;
        account_id := tok.account_id;
        organization_id := tok.organization_id;
    END IF;

    IF p_membership = 'sql' THEN
        is_member := EXISTS (SELECT FROM mcp.membership m
            WHERE m.organization_id = enter.organization_id
                AND m.account_id = enter.account_id);
    ELSIF p_membership IN ('yes', 'no') THEN
        is_member := p_membership = 'yes';
    ELSE
        RAISE invalid_parameter_value
            USING MESSAGE = 'membership must be sql, yes or no';
    END IF;
    IF NOT is_member THEN
        -- Only the owner's own row: a stranger who holds the id and lost
        -- another membership must not end the session.
        IF p_session_id IS NOT NULL THEN
            PERFORM mcp.session_bury(ARRAY[s.session_id], 'revoked')
                FROM mcp.session s
                WHERE s.session_id = p_session_id
                    AND s.issuer = enter.issuer
                    AND s.account_id = enter.account_id
                    AND s.organization_id = enter.organization_id;
        END IF;
        outcome := 'not_member';
        RETURN;
    END IF;

    IF p_session_id IS NULL THEN
        outcome := 'ok';
    ELSE
        -- Another look follows a lost race: with a touch, the reaper, DELETE,
        -- or another request that takes the session up again.
        FOR attempt IN 1 .. 3 LOOP
            SELECT s.issuer, s.account_id, s.organization_id,
                    s.protocol_version, s.client_capabilities,
                    s.initialized_at, s.last_activity_at,
                    mcp.session_expired_by(s.created_at, s.last_activity_at,
                        s.idle_s, s.lifetime_s) AS expired_by,
                    s.last_activity_at + make_interval(
                        secs => s.idle_s + s.readopt_s) > now()
                        AS is_readoptable
                INTO ses FROM mcp.session s
                WHERE s.session_id = p_session_id;
            IF NOT FOUND THEN
                end_reason := (SELECT d.reason
                    FROM mcp.session_tombstone d
                    WHERE d.session_id = p_session_id
                        AND d.issuer = enter.issuer
                        AND d.account_id = enter.account_id
                        AND d.organization_id = enter.organization_id);
                EXIT WHEN NOT mcp.session_readopt(p_session_id, issuer,
                    account_id, organization_id) AND attempt > 1;
                CONTINUE;
            END IF;
            IF (ses.issuer, ses.account_id, ses.organization_id)
                IS DISTINCT FROM (issuer, account_id, organization_id)
            THEN
                EXIT WHEN ses.expired_by IS NOT NULL;
                PERFORM mcp.audit_foreign(issuer, account_id,
                    organization_id, p_session_id, ses.organization_id);
                outcome := 'foreign';
                RETURN;
            END IF;
            IF ses.expired_by = 'lifetime'
                OR ses.expired_by = 'idle' AND NOT ses.is_readoptable
            THEN
                end_reason := ses.expired_by;
                EXIT;
            END IF;
            IF ses.last_activity_at >= now() - interval '1 second' THEN
                outcome := 'ok';
                EXIT;
            END IF;
            -- Losing the last moments of activity in a crash is harmless,
            -- so nobody waits for the disk.
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE mcp.session s SET last_activity_at = now()
                WHERE s.session_id = p_session_id
                    AND s.last_activity_at < now() - interval '1 second';
            IF FOUND THEN
                outcome := 'ok';
                EXIT;
            END IF;
        END LOOP;
        IF outcome IS NULL THEN
            outcome := 'no_session';
            RETURN;
        END IF;
        end_reason := NULL;
        protocol_version := ses.protocol_version;
        client_capabilities := ses.client_capabilities;
        is_initialized := ses.initialized_at IS NOT NULL;
    END IF;
    SELECT v.version, v.listed INTO catalog_version, listed_tools
        FROM mcp.catalog_version v
        WHERE v.organization_id = enter.organization_id;
    catalog_version := coalesce(catalog_version, 0);
    listed_tools := coalesce(listed_tools, 0);

    IF p_token_sha256 IS NOT NULL THEN
        IF tok.last_used_at IS NULL
            OR tok.last_used_at < now() - interval '1 minute'
        THEN
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE mcp.api_token t SET last_used_at = now()
                WHERE t.token_sha256 = p_token_sha256
                    AND (t.last_used_at IS NULL
                        OR t.last_used_at < now() - interval '1 minute');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION mcp.enter(text, text, text, text, bytea, text) IS
    'Admit one request; always one row. p_session_id NULL: no session is '
    'meant. p_token_sha256 given: the principal is the token''s. '
    'p_membership: sql (rows decide), yes, no (decided elsewhere). outcome: '
    'ok, bad_token, expired_token, not_member (the caller''s own session is '
    'ended), no_session (unknown, ended or expired; end_reason if it was the '
    'caller''s), foreign (audited, untouched). With ok: the catalogue''s '
    'version and the number of tools in tools/list, 0 without one';
