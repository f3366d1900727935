# SPDX-License-Identifier: ISC
# What goes out: envelopes, requests, tools of other servers.

if HAVE_CMOCKA
UNIT_OUTBOUND = \
	tests/unit/test_fetchcalls \
	tests/unit/test_openapi \
	tests/unit/test_seal \
	tests/unit/test_tool_http \
	tests/unit/test_tool_mcp \
	tests/unit/test_yaml

check_PROGRAMS += $(UNIT_OUTBOUND)
TESTS += $(UNIT_OUTBOUND)

tests_unit_test_fetchcalls_SOURCES = tests/unit/test_fetchcalls.c \
	$(UNIT_STUBHTTP)
tests_unit_test_fetchcalls_LDADD = $(UNIT_LIBS) -lz
tests_unit_test_openapi_LDADD = $(UNIT_LIBS)
tests_unit_test_seal_LDADD = $(UNIT_LIBS)
tests_unit_test_tool_http_SOURCES = tests/unit/test_tool_http.c \
	$(UNIT_STUBHTTP)
tests_unit_test_tool_http_LDADD = $(UNIT_LIBS)
tests_unit_test_tool_mcp_LDADD = $(UNIT_LIBS)
tests_unit_test_yaml_LDADD = $(UNIT_LIBS)
endif
