# SPDX-License-Identifier: ISC
# Manuals, and the annotated settings that are installed beside the file.

dist_man_MANS += man/mcp-fcgi.conf.5 man/mcp-fcgi.8 man/mcp-reaper.8 \
	man/mcp-admin.8

# Directories are those of this installation.
install-data-hook:
	for page in $(dist_man_MANS); do \
		name=$${page##*/}; \
		at="$(DESTDIR)$(mandir)/man$${name##*.}/$$name"; \
		rm -f "$$at"; \
		sed -e 's,@sbindir[@],$(sbindir),g' \
		    -e 's,@sysconfdir[@],$(sysconfdir),g' \
		    -e 's,@runstatedir[@],$(runstatedir),g' \
		    -e 's,@pkgdatadir[@],$(pkgdatadir),g' \
		    -e 's,@pkglibexecdir[@],$(pkglibexecdir),g' \
		    $(srcdir)/$$page >"$$at" || exit 1; \
		chmod 644 "$$at"; \
	done

confdir = $(sysconfdir)/mcp-fcgi
dist_conf_DATA = man/mcp-fcgi.conf.sample
