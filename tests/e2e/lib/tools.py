# SPDX-License-Identifier: ISC
"""Catalogues for tests: sources, tools and policies as rows; a keyring."""

import json
import os
import secrets

from . import proc


def keyring(root, name="keys"):
    """A keyring directory that responders can read, with one key."""
    path = proc.hand_over(os.path.join(root, name), 0o750)
    key = os.path.join(path, "2026-01-01")
    with open(key, "w") as f:
        f.write(secrets.token_hex(32) + "\n")
    proc.hand_over_file(key, 0o640)
    return path


class Catalogue:
    """The tools of one organisation, written by an administrator."""

    def __init__(self, sql, organization):
        self.sql = sql
        self.organization = organization

    def source(self, name, kind, config=None, title=None):
        return self.sql.one(
            "INSERT INTO mcp.source (organization_id, name, kind, title, "
            "config) VALUES (%s, %s, %s, %s, %s) RETURNING source_id",
            self.organization, name, kind, title, json.dumps(config or {}))

    def tool(self, source, name, definition, schema=None, approve=False,
             listed=False, output=None, annotations=None, description=None,
             title=None, approval_text=None):
        self.sql.run(
            "INSERT INTO mcp.tool (source_id, organization_id, source_name, "
            "name, definition, input_schema, output_schema, annotations, "
            "needs_approval, is_listed, description, title, approval_text) "
            "SELECT source_id, organization_id, name, %s, %s, %s::json, "
            "%s::json, %s::json, %s, %s, %s, %s, %s FROM mcp.source "
            "WHERE organization_id = %s AND name = %s",
            name, json.dumps(definition),
            schema if isinstance(schema, str)
            else json.dumps(schema or {"type": "object"}),
            output if output is None or isinstance(output, str)
            else json.dumps(output),
            json.dumps(annotations or {}), approve, listed, description,
            title, approval_text, self.organization, source)

    def script(self, source, name, body, **more):
        self.tool(source, name, {"body": body}, **more)

    def policy(self, pattern, action, position=0):
        self.sql.run("INSERT INTO mcp.tool_policy (organization_id, pattern, "
                     "action, position) VALUES (%s, %s, %s, %s)",
                     self.organization, pattern, action, position)


def http_api(catalogue, name, url, approve_post=True):
    """Source NAME of an Upstream: get, post, and slow."""
    catalogue.source(name, "http", {"base_url": url,
                                    "allow": ["127.0.0.0/8"]})
    params = [{"name": "id", "in": "path", "required": True}]
    schema = {"type": "object", "properties": {"id": {"type": "string"}},
              "required": ["id"]}
    catalogue.tool(name, "get", {"method": "GET", "path": "/get/{id}",
                                 "params": params}, schema)
    catalogue.tool(name, "post", {
        "method": "POST", "path": "/post/{id}", "params": params,
        "body": {"content_type": "application/json", "required": False}},
        {"type": "object", "properties": {"id": {"type": "string"},
                                          "body": {}}, "required": ["id"]},
        approve=approve_post)
