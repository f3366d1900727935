# SPDX-License-Identifier: ISC

FUZZ += tests/fuzz/fuzz_frame tests/fuzz/fuzz_heap

tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz_frame.c $(FUZZ_MAIN)
tests_fuzz_fuzz_frame_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_frame_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_heap_SOURCES = tests/fuzz/fuzz_heap.c $(FUZZ_MAIN)
tests_fuzz_fuzz_heap_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_heap_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)
