# SPDX-License-Identifier: ISC
# auth

FUZZ += \
	tests/fuzz/fuzz_jwks \
	tests/fuzz/fuzz_jws

tests_fuzz_fuzz_jwks_SOURCES = tests/fuzz/fuzz_jwks.c $(FUZZ_MAIN)
tests_fuzz_fuzz_jwks_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_jwks_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_jws_SOURCES = tests/fuzz/fuzz_jws.c $(FUZZ_MAIN)
tests_fuzz_fuzz_jws_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_jws_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)
