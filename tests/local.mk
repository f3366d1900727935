# SPDX-License-Identifier: ISC
# What `make check` runs: unit programs, corpus replay and guards.  The suites
# that need servers (sql, e2e, interop, bench) are run by ./bootstrap check.

UNIT_LIBS = libmcp.a libcore.a $(CMOCKA_LIBS) $(FCGI_LIBS) $(CJSON_LIBS) \
	$(CURL_LIBS) $(PQ_LIBS) $(CRYPTO_LIBS) $(INIH_LIBS) \
	$(YAML_LIBS)

include tests/unit/local.mk
include tests/unit/auth.mk
include tests/unit/loop.mk
include tests/unit/outbound.mk
include tests/unit/rpc.mk
include tests/unit/sandbox.mk
include tests/fuzz/local.mk
include tests/fuzz/outbound.mk
include tests/fuzz/auth.mk
include tests/fuzz/rpc.mk
include tests/fuzz/sandbox.mk
include tests/e2e/local.mk
include tests/guard/local.mk
