# SPDX-License-Identifier: ISC
"""Every setting is in the manual and in the sample, with its default."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import tap

t = tap.Tap()
program = os.path.join(tap.BUILD, "tests", "guard", "conf_rows")
rows = [line.split("\t") for line in subprocess.run(
    [program], check=True,
    stdout=subprocess.PIPE).stdout.decode().splitlines()]
man = tap.read("man/mcp-fcgi.conf.5")
sample = tap.read("man/mcp-fcgi.conf.sample")

in_man, in_sample = [], []
for name, default, _ in rows:
    value = " =" + (" " + default if default else "")
    line = ".It Va " + name + (" (required)" if default == "required"
                               else value)
    if man.split("\n").count(line) != 1:
        in_man.append("not once in the manual: %s" % line)
    if default == "required":
        if len(re.findall(r"^%s = \S" % name, sample, re.M)) != 1:
            in_sample.append("not once in the sample: %s = ..." % name)
    elif sample.split("\n").count("#" + name + value) != 1:
        in_sample.append("not once in the sample: #%s%s" % (name, value))

names = {r[0] for r in rows}
in_man += ["%s is in the manual only" % n
           for n in re.findall(r"^\.It Va (\w+)", man, re.M)
           if n not in names]
in_sample += ["%s is in the sample only" % n
              for n in re.findall(r"^#?(\w+) =", sample, re.M)
              if n not in names]
t.check("%d settings in mcp-fcgi.conf(5)" % len(rows), in_man)
t.check("%d settings in mcp-fcgi.conf.sample" % len(rows), in_sample)

# Variables that look like settings, wherever the tree sets them.
faults = []
for f in tap.files("httpd-conf", "man", "src", "tests/e2e", "tests/bench",
                   "tests/interop") + ["bootstrap", "README"]:
    try:
        text = tap.read(f)
    except (UnicodeDecodeError, FileNotFoundError):
        continue
    for v in re.findall(r"\bMCP_FCGI_([A-Z][A-Z_]*)\b", text):
        if v != "CONF" and v != "KEY" and v.lower() not in names:
            faults.append("%s: MCP_FCGI_%s is no setting" % (f, v))
t.check("environment variables are settings", faults)
t.end()
