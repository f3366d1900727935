# SPDX-License-Identifier: ISC
# mcp-sandbox and the heap image it starts from.
#
# ENGINE_DIR (configure --with-engine-dir) holds quickjs.wasm, typescript.js and
# validator.js, put there by build-aux/engine/fetch.  quickjs.wasm is translated to C here;
# its object is kept in ENGINE_DIR for other build directories.

# The parent's side.
libmcp_a_SOURCES += \
	src/sandbox/frame.c src/sandbox/frame.h \
	src/run/check.c src/run/check.h \
	src/run/heap.c src/run/heap.h \
	src/run/link.c src/run/link.h \
	src/run/process.c src/run/process.h
mcp_fcgi_LDADD += $(ZLIB_LIBS)
mcp_admin_LDADD += $(ZLIB_LIBS)

pkglibexec_PROGRAMS += mcp-sandbox

# Never sanitized: the program runs under seccomp on a stack of its own.
mcp_sandbox_SOURCES = \
	src/sandbox/engine.c src/sandbox/engine.h \
	src/sandbox/frame.c src/sandbox/frame.h \
	src/sandbox/image.c src/sandbox/image.h \
	src/sandbox/imports.c src/sandbox/imports.h \
	src/sandbox/main.c \
	src/sandbox/realm.c src/sandbox/realm.h \
	src/sandbox/rt.c src/sandbox/rt.h \
	src/sandbox/fence.c src/sandbox/fence.h \
	src/sandbox/suspend.c src/sandbox/suspend.h \
	src/sandbox/vm.c src/sandbox/vm.h \
	src/sandbox/wire.c src/sandbox/wire.h
mcp_sandbox_CPPFLAGS = -I$(top_srcdir)/src -I$(top_builddir)/src \
	-I$(top_builddir) $(HARDEN_CPPFLAGS)
mcp_sandbox_CFLAGS = -std=gnu11 -fvisibility=hidden $(WARN_CFLAGS) \
	$(HARDEN_CFLAGS) $(SECCOMP_CFLAGS)
mcp_sandbox_LDFLAGS = $(HARDEN_LDFLAGS)
mcp_sandbox_LDADD = src/sandbox/quickjs.$(OBJEXT) $(SECCOMP_LIBS) -lm
mcp_sandbox_DEPENDENCIES = src/sandbox/quickjs.$(OBJEXT)

# Next to the program: mcp-sandbox looks for its own path + ".image".
sandboximagedir = $(pkglibexecdir)
nodist_sandboximage_DATA = mcp-sandbox.image

mcp-sandbox.image: mcp-sandbox$(EXEEXT) src/sandbox/prelude.js \
		$(ENGINE_DIR)/typescript.js src/sandbox/judge.js
	$(AM_V_GEN)./mcp-sandbox$(EXEEXT) --make-image $@.tmp \
		$(srcdir)/src/sandbox/prelude.js \
		'$(ENGINE_DIR)/typescript.js' src/sandbox/judge.js
	@mv -f $@.tmp $@

src/sandbox/judge.js: $(ENGINE_DIR)/validator.js src/sandbox/checker.js
	@$(MKDIR_P) src/sandbox
	$(AM_V_GEN)cat '$(ENGINE_DIR)/validator.js' \
		$(srcdir)/src/sandbox/checker.js >$@.tmp
	@mv -f $@.tmp $@

src/sandbox/mcp_sandbox-engine.$(OBJEXT): src/sandbox/quickjs.h
src/sandbox/mcp_sandbox-image.$(OBJEXT): src/sandbox/quickjs.h \
	src/sandbox/engine-id.h
src/sandbox/mcp_sandbox-imports.$(OBJEXT): src/sandbox/quickjs.h
src/sandbox/mcp_sandbox-main.$(OBJEXT): src/sandbox/quickjs.h
src/sandbox/mcp_sandbox-realm.$(OBJEXT): src/sandbox/quickjs.h
src/sandbox/mcp_sandbox-suspend.$(OBJEXT): src/sandbox/quickjs.h
src/sandbox/mcp_sandbox-vm.$(OBJEXT): src/sandbox/quickjs.h

# An image fits exactly one engine and set of scripts; what else goes into it
# (the C around them) is in a sum over its bytes.
src/sandbox/engine-id.h: $(ENGINE_DIR)/quickjs.wasm \
		$(ENGINE_DIR)/typescript.js src/sandbox/prelude.js \
		src/sandbox/judge.js
	@$(MKDIR_P) src/sandbox
	$(AM_V_GEN)cat '$(ENGINE_DIR)/quickjs.wasm' \
		'$(ENGINE_DIR)/typescript.js' src/sandbox/judge.js \
		$(srcdir)/src/sandbox/prelude.js | sha256sum | \
		$(SED) 's/ .*//; s/../0x&, /g; s/.*/#define ENGINE_ID { & }/' \
		>$@.tmp
	@mv -f $@.tmp $@

src/sandbox/quickjs.h: src/sandbox/quickjs.c

src/sandbox/quickjs.c: $(ENGINE_DIR)/quickjs.wasm
	@$(MKDIR_P) src/sandbox
	$(AM_V_GEN)$(WASM2C) '$(ENGINE_DIR)/quickjs.wasm' -n quickjs -o $@
	@grep -q Z_quickjsZ_qjs_eval src/sandbox/quickjs.h || { \
		rm -f $@; \
		echo 'wasm2c of wabt 1.0.32 is needed; this is' \
			"`$(WASM2C) --version`" >&2; \
		exit 1; }

# Optimized whatever CFLAGS say, and without warnings: nobody wrote it.
src/sandbox/quickjs.$(OBJEXT): src/sandbox/quickjs.c src/sandbox/quickjs.h
	$(AM_V_CC)$(SHELL) $(srcdir)/build-aux/engine/compile \
		'$(ENGINE_DIR)' $@ $(CC) -std=gnu11 -O2 -w \
		-fno-strict-aliasing -fvisibility=hidden -fPIE \
		-fstack-protector-strong src/sandbox/quickjs.c

$(ENGINE_DIR)/quickjs.wasm $(ENGINE_DIR)/typescript.js \
$(ENGINE_DIR)/validator.js:
	@echo 'The JavaScript engine is not in $(ENGINE_DIR).' >&2; \
	echo 'Fetch it (needs npm and the network):' >&2; \
	echo "  $(abs_srcdir)/build-aux/engine/fetch '$(ENGINE_DIR)'" >&2; \
	exit 1

AM_DISTCHECK_CONFIGURE_FLAGS = --with-engine-dir='$(ENGINE_DIR)'

CLEANFILES += mcp-sandbox.image mcp-sandbox.image.tmp \
	src/sandbox/engine-id.h src/sandbox/judge.js \
	src/sandbox/quickjs.c src/sandbox/quickjs.h \
	src/sandbox/quickjs.$(OBJEXT)

EXTRA_DIST += src/sandbox/prelude.js src/sandbox/checker.js \
	build-aux/engine/SHA256SUMS build-aux/engine/compile \
	build-aux/engine/fetch build-aux/engine/package-lock.json \
	build-aux/engine/package.json build-aux/engine/typescript.mjs \
	build-aux/engine/url.mjs build-aux/engine/validator.mjs
