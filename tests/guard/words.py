# SPDX-License-Identifier: ISC
"""Words and forms that do not belong into this tree."""
import re
import sys

sys.dont_write_bytecode = True
import tap

ME = "tests/guard/words.py"
TEXT = (".c", ".h", ".py", ".sh", ".sql", ".mk", ".am", ".ac", ".in", ".md",
        ".js", ".mjs", ".json", ".conf", ".sample", ".ini", ".5", ".8",
        "README", "NEWS", "bootstrap", "run", "fetch")

# Package managers know where packages are; a host written here would keep
# the tree from building behind a mirror.
HOSTS = re.compile(r"registry\.(npmjs|yarnpkg)|pypi\.org|pythonhosted\.org|"
                   r"(deb|security)\.debian\.org|archive\.ubuntu|"
                   r"proxy\.golang\.org|crates\.io", re.I)
# A path of somebody's machine.
PATHS = re.compile(r"(?<![\w.$}~/-])/(work|home|root|Users|tmp/plan)/\w")

t = tap.Tap()
hosts, paths, form, licence = [], [], [], []
for f in tap.files(ext=TEXT):
    if f == ME or "/corpus/" in f or f in ("configure", "aclocal.m4",
                                           "Makefile.in", "config.h.in"):
        continue
    # made by the autotools
    if f.startswith("build-aux/") and f.count("/") == 1 and \
            f.rsplit("/", 1)[1] in ("ar-lib", "compile", "depcomp",
                                    "install-sh", "missing", "tap-driver.sh",
                                    "test-driver"):
        continue
    try:
        text = tap.read(f)
    except UnicodeDecodeError:
        form.append("%s: not UTF-8" % f)
        continue
    for i, line in enumerate(text.split("\n"), 1):
        if HOSTS.search(line):
            hosts.append("%s:%d: %s" % (f, i, HOSTS.search(line).group()))
        if PATHS.search(line):
            paths.append("%s:%d: %s" % (f, i, PATHS.search(line).group()))
        if f.endswith((".c", ".h", ".py", ".sql")) and line != line.rstrip():
            form.append("%s:%d: white space at the end" % (f, i))
    if f.endswith((".c", ".h")):
        if "SPDX-License-Identifier: ISC" not in text[:200]:
            licence.append(f)
        body = re.sub(r'"(\\.|[^"\\\n])*"|/\*.*?\*/', "", text, flags=re.S)
        for m in re.finditer(r"^[^\n]*(//[^\n]*)", body, re.M):
            form.append("%s: a // comment: %s" % (f, m.group(1)[:40]))

t.check("no host of a package registry", hosts)
t.check("no path of one machine", paths)
t.check("C files name the licence", licence)
t.check("form", form)
t.end()
