# SPDX-License-Identifier: ISC
# Manuals, and the annotated settings that are installed beside the file.

dist_man_MANS += man/mcp-fcgi.conf.5

confdir = $(sysconfdir)/mcp-fcgi
dist_conf_DATA = man/mcp-fcgi.conf.sample
