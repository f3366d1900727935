# SPDX-License-Identifier: ISC
# net, auth

if HAVE_CMOCKA
UNIT_AUTH = \
	tests/unit/test_opaque \
	tests/unit/test_bearer \
	tests/unit/test_fetch \
	tests/unit/test_jwks \
	tests/unit/test_jws \
	tests/unit/test_keys \
	tests/unit/test_membership \
	tests/unit/test_metadata

check_PROGRAMS += $(UNIT_AUTH)
TESTS += $(UNIT_AUTH)

UNIT_STUBHTTP = tests/unit/stubhttp.c tests/unit/stubhttp.h
UNIT_TESTKEY = tests/unit/testkey.c tests/unit/testkey.h
UNIT_FAKESTORE = tests/unit/fakestore.c tests/unit/fakestore.h
FAKESTORE_LINK = $(AM_LDFLAGS) \
	-Wl,--wrap=keyset_find,--wrap=keyset_claim,--wrap=keyset_save \
	-Wl,--wrap=keyset_fail,--wrap=apitoken_find \
	-Wl,--wrap=clock_wall_s,--wrap=clock_mono_ms

tests_unit_test_opaque_LDADD = $(UNIT_LIBS)
tests_unit_test_bearer_SOURCES = tests/unit/test_bearer.c \
	$(UNIT_STUBHTTP) $(UNIT_TESTKEY) $(UNIT_FAKESTORE)
tests_unit_test_bearer_LDFLAGS = $(FAKESTORE_LINK)
tests_unit_test_bearer_LDADD = $(UNIT_LIBS)
tests_unit_test_fetch_SOURCES = tests/unit/test_fetch.c $(UNIT_STUBHTTP)
tests_unit_test_fetch_LDADD = $(UNIT_LIBS)
tests_unit_test_jwks_SOURCES = tests/unit/test_jwks.c $(UNIT_TESTKEY)
tests_unit_test_jwks_LDADD = $(UNIT_LIBS)
tests_unit_test_jws_SOURCES = tests/unit/test_jws.c $(UNIT_TESTKEY)
tests_unit_test_jws_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_jws_CFLAGS = $(AM_CFLAGS)
tests_unit_test_jws_LDADD = $(UNIT_LIBS)
if HAVE_JWT
tests_unit_test_jws_CPPFLAGS += -DHAVE_JWT
tests_unit_test_jws_CFLAGS += $(JWT_CFLAGS)
tests_unit_test_jws_LDADD += $(JWT_LIBS)
endif
tests_unit_test_keys_SOURCES = tests/unit/test_keys.c \
	$(UNIT_STUBHTTP) $(UNIT_TESTKEY)
tests_unit_test_keys_LDADD = $(UNIT_LIBS)
tests_unit_test_membership_SOURCES = tests/unit/test_membership.c \
	$(UNIT_STUBHTTP)
tests_unit_test_membership_LDADD = $(UNIT_LIBS)
tests_unit_test_metadata_SOURCES = tests/unit/test_metadata.c \
	$(UNIT_STUBHTTP) $(UNIT_FAKESTORE)
tests_unit_test_metadata_LDFLAGS = $(FAKESTORE_LINK)
tests_unit_test_metadata_LDADD = $(UNIT_LIBS)
endif
