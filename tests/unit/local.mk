# SPDX-License-Identifier: ISC
# base and store

EXTRA_DIST += tests/unit/with-db

if HAVE_CMOCKA
UNIT_BASE = \
	tests/unit/test_arena \
	tests/unit/test_buf \
	tests/unit/test_cj \
	tests/unit/test_conf \
	tests/unit/test_db \
	tests/unit/test_dblive \
	tests/unit/test_dbstmt \
	tests/unit/test_err \
	tests/unit/test_hex \
	tests/unit/test_log \
	tests/unit/test_mem

check_PROGRAMS += $(UNIT_BASE)
TESTS += $(UNIT_BASE)

tests_unit_test_arena_LDADD = $(UNIT_LIBS)
tests_unit_test_buf_LDADD = $(UNIT_LIBS)
tests_unit_test_cj_LDADD = $(UNIT_LIBS)
tests_unit_test_conf_LDADD = $(UNIT_LIBS)
tests_unit_test_db_LDADD = $(UNIT_LIBS)
tests_unit_test_dblive_LDADD = $(UNIT_LIBS)
tests_unit_test_err_LDADD = $(UNIT_LIBS)
tests_unit_test_hex_LDADD = $(UNIT_LIBS)
tests_unit_test_log_LDADD = $(UNIT_LIBS)
tests_unit_test_log_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=syslog,--wrap=__syslog_chk
tests_unit_test_mem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_test_mem_LDADD = $(UNIT_LIBS)

# All objects of the archives: a statement that no test calls is walked too.
tests_unit_test_dbstmt_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--whole-archive,libmcp.a,libcore.a,--no-whole-archive
tests_unit_test_dbstmt_LDADD = $(UNIT_LIBS)
endif
