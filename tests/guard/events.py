# SPDX-License-Identifier: ISC
"""Names of log events: well formed, and the list that the manual has."""
import os
import re
import sys

sys.dont_write_bytecode = True
import tap

t = tap.Tap()
EVENT = re.compile(r'\blog_(?:event|err)\s*\(\s*([^,]*),\s*([^,)]*)', re.S)
# The event of a request is kept until the line at its end.
KEPT = re.compile(r'(?:->|\.)event = "([a-z_.]+)";')

names, form = {}, []
for f in tap.files("src", ext=(".c",)):
    for level, event in EVENT.findall(tap.read(f)):
        if f == "src/base/log.c":
            continue
        m = re.fullmatch(r'"([^"]*)"', event.strip())
        # A variable is fine where it is chosen among literals nearby.
        if m is None:
            continue
        names.setdefault(m.group(1), f)
    if f.startswith("src/app/"):
        for name in KEPT.findall(tap.read(f)):
            names.setdefault(name, f)
for name, f in names.items():
    if not re.fullmatch(r"[a-z]+(\.[a-z_]+)+", name):
        form.append("%s: %s" % (f, name))
t.check("event names look like part.what", form)

page = "man/mcp-fcgi.8"
if os.path.exists(os.path.join(tap.SRC, page)):
    text = tap.read(page)
    t.check("%d event names in mcp-fcgi(8)" % len(names), [
        "%s (%s) is not documented" % (n, f) for n, f in sorted(names.items())
        if not re.search(r"(?<![\w.])%s(?![\w.])" % re.escape(n), text)])
    t.check("mcp-fcgi(8) has no other events", [
        "%s is in no source" % n
        for n in re.findall(r"^\.It Sy ([a-z]+\.[a-z_.]+)$", text, re.M)
        if n not in names])
else:
    t.check("event names # SKIP there is no mcp-fcgi(8) yet", [])
t.end()
