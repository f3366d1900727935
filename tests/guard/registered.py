# SPDX-License-Identifier: ISC
"""Every test and source is in a makefile: none is forgotten silently."""
import os
import re
import sys

sys.dont_write_bytecode = True
import tap

t = tap.Tap()
mk = "\n".join(tap.read(f) for f in tap.files(ext=(".mk", "Makefile.am")))


def unregistered(names, what="in no makefile"):
    return ["%s is %s" % (n, what) for n in names
            if not re.search(r"(?<![\w/.-])%s(?![\w.-])" % re.escape(n), mk)]


tests = [f[:-2] for f in tap.files("tests/unit", ext=(".c",))
         if os.path.basename(f).startswith("test_")]
t.check("unit tests", unregistered(tests) or
        ([] if tests else ["there are none"]))
t.check("helpers of unit tests", unregistered(
    f for f in tap.files("tests/unit", ext=(".c", ".h"))
    if not os.path.basename(f).startswith("test_")))

fuzz = [f[:-2] for f in tap.files("tests/fuzz", ext=(".c",))
        if os.path.basename(f).startswith("fuzz_")]
t.check("fuzz targets", unregistered(fuzz) or
        ([] if fuzz else ["there are none"]))

# Which seed takes the success path, where its name does not say so (ok*).
SUCCESS = {"msg": "request", "req": "post"}

faults = []
corpora = os.path.join(tap.SRC, "tests", "fuzz", "corpus")
dirs = sorted(os.listdir(corpora))
for f in fuzz:
    name = os.path.basename(f)[len("fuzz_"):]
    seeds = os.listdir(os.path.join(corpora, name)) if name in dirs else []
    good = [s for s in seeds if s.startswith("ok") or s == SUCCESS.get(name)]
    if not good:
        faults.append("corpus/%s has no seed that succeeds (ok*)" % name)
    if len(good) == len(seeds):
        faults.append("corpus/%s has no seed that fails" % name)
for d in dirs:
    if "tests/fuzz/fuzz_" + d not in fuzz:
        faults.append("corpus/%s has no target" % d)
t.check("corpora", faults)

t.check("guards", unregistered(
    f for f in tap.files("tests/guard", ext=(".py", ".sh", ".c"))))
t.check("sources", unregistered(
    f for f in tap.files("src", ext=(".c", ".h"))))
t.check("migrations and manuals", unregistered(
    tap.files("sql/migrations", ext=(".sql",)) +
    tap.files("man", ext=tuple(".%d" % i for i in range(1, 9)))))

# tests/unit/test_dbstmt.c prepares those that DB_STMT lists.
plain = re.compile(r"struct\s+db_stmt\s+\w+(\[[^]]*\])?\s*=")
t.check("statements are listed", [
    "%s: a db_stmt without DB_STMT" % f
    for f in tap.files("src", ext=(".c",)) if plain.search(tap.read(f))])
t.end()
