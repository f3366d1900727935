# SPDX-License-Identifier: ISC
# Runs that make calls.

if HAVE_CMOCKA
UNIT_LOOP = \
	tests/unit/test_toolsql \
	tests/unit/test_vault

check_PROGRAMS += $(UNIT_LOOP)
TESTS += $(UNIT_LOOP)

tests_unit_test_toolsql_LDADD = $(UNIT_LIBS)
tests_unit_test_vault_LDADD = $(UNIT_LIBS)
endif
