# SPDX-License-Identifier: ISC
# The end-to-end tests travel with the tarball; tests/e2e/run runs them.

EXTRA_DIST += \
	tests/e2e/REQUIREMENTS \
	tests/e2e/conftest.py \
	tests/e2e/lib/__init__.py \
	tests/e2e/lib/api.py \
	tests/e2e/lib/client.py \
	tests/e2e/lib/cluster.py \
	tests/e2e/lib/front.py \
	tests/e2e/lib/idp.py \
	tests/e2e/lib/paths.py \
	tests/e2e/lib/proc.py \
	tests/e2e/lib/tools.py \
	tests/e2e/lib/upstream.py \
	tests/e2e/lib/wire.py \
	tests/e2e/pytest.ini \
	tests/e2e/run \
	tests/e2e/test_admin.py \
	tests/e2e/test_admin_catalog.py \
	tests/e2e/test_admin_doctor.py \
	tests/e2e/test_auth_api_tokens.py \
	tests/e2e/test_auth_keys.py \
	tests/e2e/test_auth_membership.py \
	tests/e2e/test_auth_tokens.py \
	tests/e2e/test_behaviour_discovery.py \
	tests/e2e/test_behaviour_reaper.py \
	tests/e2e/test_behaviour_sessions.py \
	tests/e2e/test_break_import.py \
	tests/e2e/test_break_limits.py \
	tests/e2e/test_break_outside.py \
	tests/e2e/test_break_runs.py \
	tests/e2e/test_break_upstream.py \
	tests/e2e/test_concurrency.py \
	tests/e2e/test_crash_runs.py \
	tests/e2e/test_execute.py \
	tests/e2e/test_host_calls.py \
	tests/e2e/test_limits.py \
	tests/e2e/test_outages.py \
	tests/e2e/test_pooler.py \
	tests/e2e/test_processes.py \
	tests/e2e/test_protocol_lifecycle.py \
	tests/e2e/test_protocol_messages.py \
	tests/e2e/test_readme_tools.py \
	tests/e2e/test_sessions.py \
	tests/e2e/test_sql_tools.py \
	tests/e2e/test_streams.py \
	tests/e2e/test_suspend.py \
	tests/e2e/test_upstream_http.py \
	tests/e2e/test_upstream_mcp.py \
	tests/e2e/upstream/declare.mjs \
	tests/e2e/upstream/legacy.mjs \
	tests/e2e/upstream/modern.mjs
