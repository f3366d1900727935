# SPDX-License-Identifier: ISC
# http, rpc, mcp, app

if HAVE_CMOCKA
UNIT_RPC = \
	tests/unit/test_fault \
	tests/unit/test_msg \
	tests/unit/test_reply \
	tests/unit/test_req \
	tests/unit/test_res \
	tests/unit/test_revision \
	tests/unit/test_route \
	tests/unit/test_run \
	tests/unit/test_sse \
	tests/unit/test_worker

check_PROGRAMS += $(UNIT_RPC)
TESTS += $(UNIT_RPC)

tests_unit_test_fault_LDADD = $(UNIT_LIBS)
tests_unit_test_msg_LDADD = $(UNIT_LIBS)
tests_unit_test_reply_LDADD = $(UNIT_LIBS)
tests_unit_test_req_LDADD = $(UNIT_LIBS)
tests_unit_test_res_LDADD = $(UNIT_LIBS)
tests_unit_test_revision_LDADD = $(UNIT_LIBS)
tests_unit_test_route_LDADD = $(UNIT_LIBS)
tests_unit_test_run_LDADD = $(UNIT_LIBS)
tests_unit_test_sse_LDADD = $(UNIT_LIBS)
tests_unit_test_worker_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=socket
tests_unit_test_worker_LDADD = $(UNIT_LIBS)
endif
