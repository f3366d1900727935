# SPDX-License-Identifier: ISC
# Every fuzz target, named once: here and in the fragments that add to FUZZ.
# A target is LLVMFuzzerTestOneInput of libFuzzer.  With --enable-fuzz it gets
# libFuzzer's main; otherwise that of standalone.c, which replays
# tests/fuzz/corpus/NAME in `make check` (an empty corpus fails).

FUZZ = \
	tests/fuzz/fuzz_cj \
	tests/fuzz/fuzz_conf

FUZZ_LIBS = $(UNIT_LIBS)
if ENABLE_FUZZ
FUZZ_MAIN =
FUZZ_LINK = $(FUZZ_LDFLAGS)
else
FUZZ_MAIN = tests/fuzz/standalone.c
FUZZ_LINK =
TESTS += $(FUZZ)
endif
check_PROGRAMS += $(FUZZ)
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/standalone.c

tests_fuzz_fuzz_cj_SOURCES = tests/fuzz/fuzz_cj.c $(FUZZ_MAIN)
tests_fuzz_fuzz_cj_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_cj_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c $(FUZZ_MAIN)
tests_fuzz_fuzz_conf_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_conf_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

# For scripts: the list, one name a line.
.PHONY: fuzz-list
fuzz-list:
	@for f in $(FUZZ); do echo "$$f"; done
