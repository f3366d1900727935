# SPDX-License-Identifier: ISC
# ./bootstrap and what it runs; the tests that need servers and Node.

EXTRA_DIST += build-aux/build.sh build-aux/ci.sh build-aux/demo.sh \
	build-aux/demo-minder.sh build-aux/deps.sh \
	tests/interop/demo.sh tests/interop/disturb tests/interop/run \
	tests/interop/hosts.mjs tests/interop/inspector.mjs \
	tests/interop/lib.mjs tests/interop/mcp-remote.mjs \
	tests/interop/package.json tests/interop/package-lock.json \
	tests/interop/scenario.mjs tests/interop/sdk1.mjs \
	tests/interop/sdk2.mjs \
	tests/bench/abandon.mjs tests/bench/ceiling.c \
	tests/bench/issuer.mjs tests/bench/lib.sh tests/bench/peer.mjs \
	tests/bench/post.lua tests/bench/run tests/bench/runs \
	tests/bench/runs.mjs tests/bench/runs.sql
