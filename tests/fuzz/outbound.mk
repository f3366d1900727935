# SPDX-License-Identifier: ISC

FUZZ += tests/fuzz/fuzz_eventstream tests/fuzz/fuzz_openapi

tests_fuzz_fuzz_eventstream_SOURCES = tests/fuzz/fuzz_eventstream.c \
	$(FUZZ_MAIN)
tests_fuzz_fuzz_eventstream_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_eventstream_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_openapi_SOURCES = tests/fuzz/fuzz_openapi.c $(FUZZ_MAIN)
tests_fuzz_fuzz_openapi_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_openapi_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)
