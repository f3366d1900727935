# SPDX-License-Identifier: ISC
"""Includes go downward only (the layers of the design)."""
import os
import re
import sys

sys.dont_write_bytecode = True
import tap

LEVEL = {
    "base": 0,
    "store": 1, "net": 1, "http": 1, "rpc": 1,
    "auth": 2, "run": 2,
    "mcp": 3,
    "app": 4, "admin": 4,
    "": 5,  # the mains
}
# Downward, and nevertheless not allowed.
FORBIDDEN = {
    ("run", "http"): "run does not know HTTP",
    ("mcp", "http"): "mcp does not know HTTP",
    ("admin", "http"): "mcp-admin is no FastCGI program",
    ("store", "net"): "rows do not fetch",
}
# (file, included directory): why.
EXCEPTIONS = {
    ("src/run/heap.c", "sandbox"):
        "what is kept is made of frames",
    ("src/run/link.h", "sandbox"):
        "both ends of the pipe share the frame format",
    ("src/run/process.c", "sandbox"):
        "the descriptor of the pipe",
}
ISLAND = "sandbox"  # mcp-sandbox: base, itself and the generated engine
GENERATED = {"config.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

t = tap.Tap()
up, missing, first, own = [], [], [], []
used = set()
for name in tap.files("src", ext=(".c", ".h")):
    text = tap.read(name)
    here = os.path.dirname(name)[len("src/"):]
    includes = INCLUDE.findall(text)
    for inc in includes:
        if inc in GENERATED:
            continue
        there = os.path.dirname(inc)
        if not os.path.exists(os.path.join(tap.SRC, "src", inc)):
            if here != ISLAND:
                missing.append("%s: %s: not below src/" % (name, inc))
            continue
        if there == here:
            continue
        if (name, there) in EXCEPTIONS:
            used.add((name, there))
        elif here == ISLAND:
            if there != "base":
                up.append("%s: %s: %s stands on base alone" %
                          (name, inc, ISLAND))
        elif (here, there) in FORBIDDEN:
            up.append("%s: %s: %s" % (name, inc, FORBIDDEN[here, there]))
        elif here not in LEVEL or there not in LEVEL:
            up.append("%s: %s: a directory without a level" % (name, inc))
        elif LEVEL[there] >= LEVEL[here]:
            up.append("%s: %s: not below %s" % (name, inc, here or "src"))
    if name.endswith(".c"):
        if includes[:1] != ["base/compat.h"]:
            first.append("%s: the first include is not base/compat.h" % name)
        header = name[len("src/"):-1] + "h"
        # On the island the headers need the types of frame.h before them.
        before = [i for i in includes[1:] if i != "sandbox/frame.h"] \
            if here == ISLAND else includes[1:]
        if os.path.exists(os.path.join(tap.SRC, "src", header)) and \
                before[:1] != [header] and includes[1:2] != [header]:
            own.append("%s: the second include is not its own header" % name)

t.check("includes go downward", up)
t.check("included files exist", missing)
t.check("base/compat.h comes first", first)
t.check("the own header comes second", own)
t.check("exceptions are needed",
        ["%s %s" % e for e in EXCEPTIONS if e not in used])
t.end()
