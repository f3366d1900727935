# SPDX-License-Identifier: ISC
"""Processes: started unprivileged, found by id, ended by id."""

import ctypes
import os
import pwd
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def service_user():
    """The account that servers run as: ours, or `nobody` when we are root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 \
        else pwd.getpwuid(os.geteuid())


def hand_over(path, mode=0o755):
    """Make directory PATH and give it to the service user."""
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    if os.geteuid() == 0:
        user = service_user()
        os.chown(path, user.pw_uid, user.pw_gid)
    return path


def hand_over_file(path, mode=0o600):
    os.chmod(path, mode)
    if os.geteuid() == 0:
        user = service_user()
        os.chown(path, user.pw_uid, user.pw_gid)


def _identity():
    if os.geteuid() != 0:
        return {}
    user = service_user()
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def environment(extra=None):
    user = service_user()
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
                   "/sbin:/bin",
           "LANG": "C.UTF-8", "HOME": "/tmp", "USER": user.pw_name}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(extra or {})
    return env


def start(argv, log, env=None, cwd="/tmp"):
    """Start ARGV as the service user, output appended to file LOG.

    It is told to stop when this process goes, however that happens.
    """
    with open(log, "ab") as out:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd,
            env=environment(env), start_new_session=True,
            preexec_fn=lambda: _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM),
            **_identity())


def run(argv, env=None, timeout=60, input=None, cwd="/tmp"):
    """Run ARGV to its end as the service user; text output captured."""
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=timeout, cwd=cwd,
        input=input, env=environment(env), **_identity())


def stop(child, sig=signal.SIGTERM, patience_s=10):
    """End CHILD (a Popen): SIG, then SIGKILL.  True if SIG was enough."""
    if child.poll() is not None:
        return True
    child.send_signal(sig)
    try:
        child.wait(patience_s)
        return True
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(5)
        return False


def kill(pid, sig=signal.SIGKILL):
    try:
        os.kill(pid, sig)
        return True
    except ProcessLookupError:
        return False


def pids():
    return [int(n) for n in os.listdir("/proc") if n.isdigit()]


def stat(pid):
    """(command, state, parent) of PID, or None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            text = f.read()
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:].rsplit(")", 1)
    fields = rest.split()
    return name, fields[0], int(fields[1])


def is_running(pid):
    s = stat(pid)
    return s is not None and s[1] not in "ZX"


def children_of(pid):
    return [p for p in pids() if (stat(p) or ("", "", 0))[2] == pid]


def descendants_of(pid):
    parent = {p: s[2] for p in pids() for s in [stat(p)] if s}
    found, wave = [], [pid]
    while wave:
        wave = [p for p, pp in parent.items() if pp in wave]
        found += wave
    return found


def environ_of(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as f:
            return f.read()
    except OSError:
        return b""


def with_environ(text):
    """Processes (zombies aside) whose environment contains TEXT."""
    text = text.encode()
    return [p for p in pids() if is_running(p) and text in environ_of(p)]


def rss_kb(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def fd_count(pid):
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except OSError:
        return 0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, timeout_s=10, every_s=0.05, about="condition"):
    """Poll WHAT until it is true; its value.  AssertionError on timeout."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("timed out waiting for " + about)
        time.sleep(every_s)
