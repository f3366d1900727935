# SPDX-License-Identifier: ISC
# The sandbox: frames, what the process gives up, and whole runs.

UNIT_LIBS += $(ZLIB_LIBS)

if HAVE_CMOCKA
UNIT_SANDBOX = \
	tests/unit/test_calls \
	tests/unit/test_check \
	tests/unit/test_escape \
	tests/unit/test_frame \
	tests/unit/test_sandbox

check_PROGRAMS += $(UNIT_SANDBOX)
TESTS += $(UNIT_SANDBOX)

# The product's own fence.c: what it installs is what is tried.
tests_unit_test_escape_SOURCES = tests/unit/test_escape.c \
	src/sandbox/fence.c src/sandbox/fence.h
tests_unit_test_escape_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)
tests_unit_test_escape_LDADD = $(UNIT_LIBS) $(SECCOMP_LIBS)

tests_unit_test_calls_LDADD = $(UNIT_LIBS)
tests_unit_test_check_LDADD = $(UNIT_LIBS)
tests_unit_test_frame_LDADD = $(UNIT_LIBS)
tests_unit_test_sandbox_LDADD = $(UNIT_LIBS)
endif
