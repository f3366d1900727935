# SPDX-License-Identifier: ISC
"""Where the built programs and the shipped files are.

MCP_SRC is the source tree (default: this one), MCP_BUILD the directory that
was configured in (default: the source tree, else build/ in it).
"""

import os

SRC = os.path.abspath(os.environ.get("MCP_SRC") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


def _build():
    if os.environ.get("MCP_BUILD"):
        return os.path.abspath(os.environ["MCP_BUILD"])
    for place in (os.path.join(SRC, "build"), SRC):
        if os.path.exists(os.path.join(place, "config.status")):
            return place
    return SRC


BUILD = _build()


def program(name):
    """Path of a built program, or None."""
    for folder in ("", "src", "src/sandbox", "sandbox"):
        path = os.path.join(BUILD, folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def shipped(name):
    """Path of a template in httpd-conf/."""
    return os.path.join(SRC, "httpd-conf", name)


def postgres(name):
    base = "/usr/lib/postgresql"
    if os.path.isdir(base):
        for version in sorted(os.listdir(base), key=float, reverse=True):
            path = os.path.join(base, version, "bin", name)
            if os.access(path, os.X_OK):
                return path
    for folder in os.environ.get("PATH", "").split(":"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return None
