# SPDX-License-Identifier: ISC
"""What each object file of the build imports and exports."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import tap

# Pattern of imported names: the sources that may use them.
IMPORTS = [
    # dbtask: statements that run beside each other, on connections of theirs
    (r"PQ.*", {"src/store/db.c", "src/store/dbtask.c"}),
    (r"curl_.*", {"src/net/fetch.c"}),
    (r"FCGX_.*", {"src/http/fcgi.c"}),
    # signs tokens for a test; src/auth/jws.h says why it reads none
    (r"jwt_.*", set()),
    (r"ini_.*", {"src/base/conffile.c"}),
    (r"cJSON_.*", {"src/base/cj.c"}),
    # one connection, parameters only
    (r"PQ(escape|exec|unescape).*", set()),
    # case-insensitive, or accepts what follows the value
    (r"cJSON_(GetObjectItem|HasObjectItem|Parse)", set()),
    (r"cJSON_InitHooks", set()),
    # start a shell, or are not reentrant
    (r"system|popen|strtok|gmtime|localtime|gets|tmpnam|mktemp", set()),
    # no memory is for base/mem; vm and rt end the sandbox's own process
    (r"abort", {"src/sandbox/vm.c", "src/sandbox/rt.c"}),
    # a library ends its program only where nothing can be returned
    (r"exit", {
        "src/base/arena.c",    # memory beyond the cap
        "src/base/mem.c",      # no memory
        "src/base/rnd.c",      # no random bytes
        "src/sandbox/main.c",  # a program of its own
        "src/sandbox/engine.c",  # the program under test exits
    }),
]

# Exports that do not begin with the name of their file, and why.
EXPORTS = {
    "src/sandbox/rt.c": r"wasm_rt_.*",  # names that wasm2c's code calls
    "src/sandbox/engine.c": r"(Z_|w2c_|wasi_|env_).*",  # imports of it
}

t = tap.Tap()


def nm(path, *flags):
    out = subprocess.run(["nm", *flags, path], check=True,
                         stdout=subprocess.PIPE).stdout.decode()
    # Those of the compiler and its sanitizers are not ours.
    return sorted({line.split()[-1] for line in out.splitlines()
                   if line.strip() and
                   not line.split()[-1].startswith("__")})


objects = []
for src in tap.files("src", ext=(".c",)):
    obj = os.path.join(tap.BUILD, src[:-1] + "o")
    if os.path.exists(obj):
        objects.append((src, obj))
if not objects:
    print("1..0 # SKIP no object files in %s" % tap.BUILD)
    sys.exit(0)

imports, exports, reserved = [], [], []
for src, obj in objects:
    for name in nm(obj, "-u"):
        for pattern, allowed in IMPORTS:
            if re.fullmatch(pattern, name) and src not in allowed and \
                    not (name == "exit" and src.count("/") == 1):
                imports.append("%s uses %s" % (src, name))
    stem = os.path.splitext(os.path.basename(src))[0].replace("-", "_")
    for name in nm(obj, "-g", "--defined-only"):
        if re.match(r"(json|jwt|jwk|curl|pg|cJSON|PQ|FCGX|seccomp)_", name):
            reserved.append("%s exports %s: a library's prefix" % (src, name))
        if name == "main" or name == stem or name.startswith(stem + "_"):
            continue
        if re.fullmatch(EXPORTS.get(src, "(?!)"), name):
            continue
        exports.append("%s exports %s" % (src, name))

print("# %d objects" % len(objects))
t.check("libraries are used where they may be", imports)
t.check("exports begin with the name of their file", exports)
t.check("no export has the prefix of a library", reserved)
t.end()
