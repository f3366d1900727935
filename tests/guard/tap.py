# SPDX-License-Identifier: ISC
"""What all guards share: where the tree is, its files, and TAP."""
import os
import sys

SRC = os.environ.get("MCP_SRC") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MCP_BUILD") or os.getcwd()

# Not ours, or made by the build.
SKIPPED = {".git", "autom4te.cache", "node_modules", "__pycache__", "run",
           "engine", ".pytest_cache"}


def files(*below, ext=()):
    """Files of the source tree, relative to it, in a fixed order."""
    found = []
    for top in below or ("",):
        for at, dirs, names in os.walk(os.path.join(SRC, top)):
            rel = os.path.relpath(at, SRC)
            dirs[:] = sorted(d for d in dirs if not d.startswith("build") and
                             (d not in SKIPPED or rel.startswith("src") or
                              rel.startswith("build-aux")))
            dirs[:] = [d for d in dirs if d != "__pycache__"]
            # A build within the tree (./configure there, make distcheck).
            dirs[:] = [d for d in dirs if not os.path.exists(
                os.path.join(at, d, "config.status"))]
            for name in sorted(names):
                if not ext or name.endswith(ext):
                    found.append(os.path.normpath(os.path.join(rel, name)))
    return found


def read(name):
    with open(os.path.join(SRC, name), encoding="utf-8") as f:
        return f.read()


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def check(self, name, faults):
        """One test: it passes when there are no faults."""
        self.n += 1
        for fault in faults:
            print("# %s" % fault)
        print("%sok %d - %s" % ("not " if faults else "", self.n, name))
        self.failed += bool(faults)

    def end(self):
        print("1..%d" % self.n)
        sys.exit(1 if self.failed else 0)
