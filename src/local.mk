# SPDX-License-Identifier: ISC
# libcore = base + store: what mcp-reaper may link.  libmcp = the rest.

noinst_LIBRARIES += libcore.a libmcp.a

libcore_a_SOURCES = \
	src/base/arena.c src/base/arena.h \
	src/base/banned.h \
	src/base/buf.c src/base/buf.h \
	src/base/clock.c src/base/clock.h \
	src/base/compat.h \
	src/base/conf.c src/base/conf.h \
	src/base/conffile.c src/base/conffile.h \
	src/base/confurl.c src/base/confurl.h \
	src/base/err.c src/base/err.h \
	src/base/hex.c src/base/hex.h \
	src/base/log.c src/base/log.h \
	src/base/mem.c src/base/mem.h \
	src/base/rnd.c src/base/rnd.h \
	src/base/scope.h \
	src/base/seal.c src/base/seal.h \
	src/store/apitoken.c src/store/apitoken.h \
	src/store/audit.c src/store/audit.h \
	src/store/bytea.c src/store/bytea.h \
	src/store/catalog.c src/store/catalog.h \
	src/store/db.c src/store/db.h \
	src/store/dbtask.c src/store/dbtask.h \
	src/store/drain.c src/store/drain.h \
	src/store/health.c src/store/health.h \
	src/store/execution.c src/store/execution.h \
	src/store/keyset.c src/store/keyset.h \
	src/store/ledger.c src/store/ledger.h \
	src/store/listing.c src/store/listing.h \
	src/store/member.c src/store/member.h \
	src/store/migration.c src/store/migration.h \
	src/store/organization.c src/store/organization.h \
	src/store/policy.c src/store/policy.h \
	src/store/secret.c src/store/secret.h \
	src/store/session.c src/store/session.h \
	src/store/source.c src/store/source.h \
	src/store/sweep.c src/store/sweep.h \
	src/store/upstream.c src/store/upstream.h

libmcp_a_SOURCES = \
	src/base/cj.c src/base/cj.h \
	src/base/jscan.c src/base/jscan.h \
	src/base/sip.c src/base/sip.h \
	src/net/addr.c src/net/addr.h \
	src/net/fetch.c src/net/fetch.h \
	src/net/header.c src/net/header.h \
	src/net/url.c src/net/url.h \
	src/http/fcgi.c src/http/fcgi.h \
	src/http/req.c src/http/req.h \
	src/http/res.c src/http/res.h \
	src/http/route.c src/http/route.h \
	src/http/sse.c src/http/sse.h \
	src/http/worker.c src/http/worker.h \
	src/auth/bearer.c src/auth/bearer.h \
	src/auth/jwks.c src/auth/jwks.h \
	src/auth/jws.c src/auth/jws.h \
	src/auth/keys.c src/auth/keys.h \
	src/auth/membership.c src/auth/membership.h \
	src/auth/metadata.c src/auth/metadata.h \
	src/auth/opaque.c src/auth/opaque.h \
	src/auth/outage.h \
	src/auth/seen.c src/auth/seen.h \
	src/rpc/msg.c src/rpc/msg.h \
	src/rpc/reply.c src/rpc/reply.h \
	src/run/call.c src/run/call.h \
	src/run/builtin.c src/run/builtin.h \
	src/run/dispatch.c src/run/dispatch.h \
	src/run/engine.c src/run/engine.h \
	src/run/loop.c src/run/loop.h \
	src/run/loopcall.c src/run/loopcall.h \
	src/run/pending.c src/run/pending.h \
	src/run/policy.c src/run/policy.h \
	src/run/vault.c src/run/vault.h \
	src/run/render.c src/run/render.h \
	src/run/run.c src/run/run.h \
	src/run/sandbox.c src/run/sandbox.h \
	src/run/mcpimport.c src/run/mcpimport.h \
	src/run/tool_mcp.c src/run/tool_mcp.h \
	src/run/eventstream.c src/run/eventstream.h \
	src/run/mcpwire.c src/run/mcpwire.h \
	src/run/yaml.c src/run/yaml.h \
	src/run/openapi_schema.c src/run/openapi_schema.h \
	src/run/openapi_ref.c src/run/openapi_ref.h \
	src/run/openapi_op.c src/run/openapi_op.h \
	src/run/openapi_name.c src/run/openapi_name.h \
	src/run/openapi.c src/run/openapi.h \
	src/run/tool_http.c src/run/tool_http.h \
	src/run/httpbody.c src/run/httpbody.h \
	src/run/httpargs.c src/run/httpargs.h \
	src/run/outbound.c src/run/outbound.h \
	src/run/sqlimport.c src/run/sqlimport.h \
	src/run/tool_sql.c src/run/tool_sql.h \
	src/mcp/lifecycle.c src/mcp/lifecycle.h \
	src/mcp/listed.c src/mcp/listed.h \
	src/mcp/method.c src/mcp/method.h \
	src/mcp/resume.c src/mcp/resume.h \
	src/mcp/revision.c src/mcp/revision.h \
	src/mcp/tools.c src/mcp/tools.h \
	src/app/admit.c src/app/admit.h \
	src/app/app.c src/app/app.h \
	src/app/discover.c src/app/discover.h \
	src/app/fault.c src/app/fault.h \
	src/app/hold.c src/app/hold.h \
	src/app/pipeline.c src/app/pipeline.h \
	src/app/post.c src/app/post.h \
	src/app/turn.c src/app/turn.h

sbin_PROGRAMS += mcp-fcgi mcp-reaper mcp-admin

mcp_fcgi_SOURCES = src/mcp-fcgi.c
mcp_fcgi_LDADD = libmcp.a libcore.a $(FCGI_LIBS) $(CJSON_LIBS) \
	$(CURL_LIBS) $(PQ_LIBS) $(CRYPTO_LIBS) $(INIH_LIBS)

mcp_reaper_SOURCES = src/mcp-reaper.c
mcp_reaper_LDADD = libcore.a $(PQ_LIBS) $(CRYPTO_LIBS) $(INIH_LIBS)

mcp_admin_SOURCES = src/mcp-admin.c \
	src/admin/admin.c src/admin/admin.h \
	src/admin/authcheck.c src/admin/authcheck.h \
	src/admin/dbcheck.c src/admin/dbcheck.h \
	src/admin/doctor.c src/admin/doctor.h \
	src/admin/executions.c src/admin/executions.h \
	src/admin/imports.c src/admin/imports.h \
	src/admin/keycheck.c src/admin/keycheck.h \
	src/admin/keyring.c src/admin/keyring.h \
	src/admin/login.c src/admin/login.h \
	src/admin/members.c src/admin/members.h \
	src/admin/migrate.c src/admin/migrate.h \
	src/admin/options.c src/admin/options.h \
	src/admin/orgs.c src/admin/orgs.h \
	src/admin/policies.c src/admin/policies.h \
	src/admin/prompt.c src/admin/prompt.h \
	src/admin/report.c src/admin/report.h \
	src/admin/scriptcheck.c src/admin/scriptcheck.h \
	src/admin/secrets.c src/admin/secrets.h \
	src/admin/sessions.c src/admin/sessions.h \
	src/admin/sourceadd.c \
	src/admin/sourceconf.c src/admin/sourceconf.h \
	src/admin/sources.c src/admin/sources.h \
	src/admin/table.c src/admin/table.h \
	src/admin/tokens.c src/admin/tokens.h \
	src/admin/tooladd.c \
	src/admin/tools.c src/admin/tools.h \
	src/admin/verbs.c src/admin/verbs.h \
	src/admin/webcheck.c src/admin/webcheck.h
mcp_admin_CPPFLAGS = $(AM_CPPFLAGS) -DSBINDIR='"$(sbindir)"' \
	-DSQL_SOURCE_DIR='"$(abs_top_srcdir)/sql"'
mcp_admin_LDADD = libmcp.a libcore.a $(CJSON_LIBS) $(CURL_LIBS) \
	$(PQ_LIBS) $(CRYPTO_LIBS) $(INIH_LIBS) $(YAML_LIBS)
