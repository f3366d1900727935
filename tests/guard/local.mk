# SPDX-License-Identifier: ISC
# Rules about the tree itself.

GUARDS = \
	tests/guard/conf.py \
	tests/guard/events.py \
	tests/guard/layers.py \
	tests/guard/registered.py \
	tests/guard/schema.sh \
	tests/guard/symbols.py \
	tests/guard/words.py

TESTS += $(GUARDS)
EXTRA_DIST += $(GUARDS) tests/guard/tap.py

check_PROGRAMS += tests/guard/conf_rows
tests_guard_conf_rows_SOURCES = tests/guard/conf_rows.c
tests_guard_conf_rows_LDADD = libcore.a $(INIH_LIBS)
