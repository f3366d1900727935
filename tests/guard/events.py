# SPDX-License-Identifier: ISC
"""The log events of the sources are those of mcp-fcgi(8), and once each."""
import re
import sys

sys.dont_write_bytecode = True
import tap

CALL = re.compile(r'\blog_(?:event|err)\s*\(([^;"]*)"([^"]*)"')
KEPT = re.compile(r'\w(?:->|\.)event = "([^"]*)"')  # logged at the end
NAME = re.compile(r'^[a-z]+\.[a-z_]+$')

t = tap.Tap()
in_source, odd = {}, []
for name in tap.files("src", ext=(".c",)):
    text = tap.read(name)
    events = [e for before, e in CALL.findall(text)
              if "event," not in before.replace("->", " ")]
    for e in events + KEPT.findall(text):
        if NAME.match(e):
            in_source.setdefault(e, name)
        else:
            odd.append('%s: "%s" is no name of an event' % (name, e))
in_man = re.findall(r"^\.It Sy (\S+)$", tap.read("man/mcp-fcgi.8"), re.M)

t.check("names are two words with a dot", odd)
t.check("%d events are in mcp-fcgi(8)" % len(in_source),
        ["%s of %s is not in the manual" % (e, in_source[e])
         for e in sorted(in_source) if e not in in_man])
t.check("mcp-fcgi(8) has no other",
        ["%s is in the manual only" % e for e in in_man
         if e not in in_source] +
        ["%s is there twice" % e for e in set(in_man)
         if in_man.count(e) > 1])
t.check("some were found", [] if len(in_source) > 10 else ["too few"])
t.end()
