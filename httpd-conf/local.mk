# SPDX-License-Identifier: ISC
# Configuration of web servers and services, with the paths of this build.
# The end-to-end tests run these very files.

httpdconfdir = $(pkgdatadir)/httpd-conf
httpd_conf_files = \
	httpd-conf/apache-cgi.conf \
	httpd-conf/apache-fcgid.conf \
	httpd-conf/apache-proxy-fcgi.conf \
	httpd-conf/htaccess \
	httpd-conf/lighttpd-cgi.conf \
	httpd-conf/lighttpd.conf \
	httpd-conf/mcp-fcgi-stream.service \
	httpd-conf/mcp-fcgi.service \
	httpd-conf/mcp.fcgi
httpd_conf_templates = \
	httpd-conf/apache-cgi.conf.in \
	httpd-conf/apache-fcgid.conf.in \
	httpd-conf/apache-proxy-fcgi.conf.in \
	httpd-conf/htaccess.in \
	httpd-conf/lighttpd-cgi.conf.in \
	httpd-conf/lighttpd.conf.in \
	httpd-conf/mcp-fcgi-stream.service.in \
	httpd-conf/mcp-fcgi.service.in \
	httpd-conf/mcp.fcgi.in

nodist_httpdconf_DATA = $(httpd_conf_files)
EXTRA_DIST += $(httpd_conf_templates)
CLEANFILES += $(httpd_conf_files)

$(httpd_conf_files): $(httpd_conf_templates) Makefile
	$(AM_V_GEN)$(MKDIR_P) httpd-conf && \
	sed -e 's,@sbindir[@],$(sbindir),g' \
	    -e 's,@sysconfdir[@],$(sysconfdir),g' \
	    -e 's,@runstatedir[@],$(runstatedir),g' \
	    -e 's,@pkgdatadir[@],$(pkgdatadir),g' \
	    $(srcdir)/$@.in >$@.tmp && mv -f $@.tmp $@

# mod_fcgid tells its pools apart by the name of the command.
install-exec-hook:
	cd "$(DESTDIR)$(sbindir)" && rm -f mcp-fcgi-stream && \
	ln -s mcp-fcgi mcp-fcgi-stream
uninstall-hook:
	rm -f "$(DESTDIR)$(sbindir)/mcp-fcgi-stream"
