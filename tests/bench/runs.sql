-- Purpose: the catalogue of the benchmark of runs. Needs the variables api
-- (URL of its HTTP API) and n (how many tools besides).
BEGIN;
INSERT INTO mcp.source (organization_id, name, kind, config) VALUES
    ('demo', 'api', 'http', json_build_object('base_url', :'api',
        'allow', json_build_array('127.0.0.0/8'))),
    ('demo', 'util', 'script', '{}'),
    ('demo', 'erp', 'http', json_build_object('base_url', :'api'));

INSERT INTO mcp.tool (source_id, organization_id, source_name, name,
        definition, input_schema, needs_approval)
    SELECT source_id, organization_id, name, t.tool, t.definition::jsonb,
            t.schema::json, t.approve
        FROM mcp.source, (VALUES
            ('api', 'get', '{"method": "GET", "path": "/get/{id}",
                "params": [{"name": "id", "in": "path", "required": true}]}',
                '{"type": "object", "properties": {"id": {"type": "string"}},
                "required": ["id"]}', false),
            ('api', 'post', '{"method": "POST", "path": "/post/{id}",
                "params": [{"name": "id", "in": "path", "required": true}]}',
                '{"type": "object", "properties": {"id": {"type": "string"}},
                "required": ["id"]}', true),
            ('api', 'wait', '{"method": "GET", "path": "/wait/{ms}",
                "params": [{"name": "ms", "in": "path", "required": true}]}',
                '{"type": "object", "properties": {"ms": {"type": "integer"}},
                "required": ["ms"]}', false),
            ('util', 'noop', '{"body": "return null"}',
                '{"type": "object"}', false))
            t (source, tool, definition, schema, approve)
        WHERE organization_id = 'demo' AND name = t.source;

INSERT INTO mcp.tool (source_id, organization_id, source_name, name, title,
        description, definition, input_schema)
    SELECT source_id, organization_id, s.name,
            format('%s.%s%s%s', thing, verb, initcap(thing), n),
            format('%s %s %s', initcap(verb), thing, n),
            format('%s one %s of the %s area, by its number; answers with '
                'the %s as it is afterwards.', initcap(verb), thing,
                area, thing),
            '{"method": "GET", "path": "/get/1"}',
            '{"type": "object", "properties": {"id": {"type": "string"}}}'
        FROM mcp.source s, generate_series(0, :n - 1) n,
            LATERAL (SELECT (ARRAY['create', 'list', 'get', 'update',
                    'delete', 'approve', 'archive', 'export'])[n % 8 + 1],
                (ARRAY['invoice', 'user', 'order', 'report', 'refund', 'team',
                    'project', 'ticket', 'product', 'contract', 'payment',
                    'webhook', 'label'])[n % 13 + 1],
                (ARRAY['sales', 'finance', 'support', 'operations',
                    'people'])[n % 5 + 1]) w (verb, thing, area)
        WHERE s.organization_id = 'demo' AND s.name = 'erp';
COMMIT;
