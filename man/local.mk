# SPDX-License-Identifier: ISC
# Manuals, and the annotated settings that are installed beside the file.

dist_man_MANS += man/mcp-fcgi.conf.5 man/mcp-fcgi.8 man/mcp-reaper.8 \
	man/mcp-admin.8

confdir = $(sysconfdir)/mcp-fcgi
dist_conf_DATA = man/mcp-fcgi.conf.sample
