# SPDX-License-Identifier: ISC

FUZZ += tests/fuzz/fuzz_frame

tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz_frame.c $(FUZZ_MAIN)
tests_fuzz_fuzz_frame_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_frame_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)
