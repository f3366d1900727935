# SPDX-License-Identifier: ISC

FUZZ += tests/fuzz/fuzz_msg tests/fuzz/fuzz_req

tests_fuzz_fuzz_msg_SOURCES = tests/fuzz/fuzz_msg.c $(FUZZ_MAIN)
tests_fuzz_fuzz_msg_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_msg_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_req_SOURCES = tests/fuzz/fuzz_req.c $(FUZZ_MAIN)
tests_fuzz_fuzz_req_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_req_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)
