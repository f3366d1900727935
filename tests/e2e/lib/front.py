# SPDX-License-Identifier: ISC
"""A web server in front of responders, configured by the shipped files.

Each class writes only what the main configuration of a distribution has
(modules, port, user, logs) and includes the file of httpd-conf/ with its
paths filled in, as `make install` does.
"""

import os
import re
import shutil
import signal
import time

from . import paths, proc
from .client import Http

APACHE_MODULES = "/usr/lib/apache2/modules"
# What Debian enables, and compression of JSON, which a site may well have.
APACHE_COMMON = """\
ServerRoot {root}
ServerName localhost
PidFile {root}/run/apache.pid
DefaultRuntimeDir {root}/run
Listen 127.0.0.1:{port}
ErrorLog {root}/log/error.log
LogLevel info
LoadModule mpm_event_module {modules}/mod_mpm_event.so
{load}
<IfModule mpm_event_module>
StartServers 1
ServerLimit 4
ThreadsPerChild 32
ThreadLimit 64
MaxRequestWorkers 128
MinSpareThreads 16
MaxSpareThreads 128
</IfModule>
User {user}
Group #{gid}
DocumentRoot {root}/www
TypesConfig /etc/mime.types
<Directory />
	AllowOverride None
	Require all denied
</Directory>
<Directory {root}/www>
	AllowOverride All
	Require all granted
</Directory>
RequestReadTimeout header=20-40,minrate=500
RequestReadTimeout body=10,minrate=500
AddOutputFilterByType DEFLATE text/html application/json text/event-stream
ErrorDocument 404 "a page of the site"
"""
APACHE_LOAD = ["access_compat", "alias", "authz_core", "authz_host", "deflate",
               "dir", "env", "filter", "mime", "negotiation", "reqtimeout",
               "rewrite", "setenvif"]

LIGHTTPD_COMMON = """\
server.modules = ( "mod_indexfile", "mod_access", "mod_alias",
	"mod_redirect", "mod_setenv" )
server.document-root = "{root}/www"
server.upload-dirs = ( "{root}/run" )
server.errorlog = "{root}/log/error.log"
server.breakagelog = "{root}/log/breakage.log"
server.pid-file = "{root}/run/lighttpd.pid"
server.bind = "127.0.0.1"
server.port = {port}
server.feature-flags += ( "server.h2proto" => "enable" )
server.feature-flags += ( "server.h2c" => "enable" )
server.feature-flags += ( "server.graceful-shutdown-timeout" => 5 )
server.http-parseopts = (
	"header-strict" => "enable",
	"host-strict" => "enable",
	"host-normalize" => "enable",
	"url-normalize-unreserved" => "enable",
	"url-normalize-required" => "enable",
	"url-ctrls-reject" => "enable",
	"url-path-2f-decode" => "enable",
	"url-path-dotseg-remove" => "enable",
)
index-file.names = ( "index.html" )
include "{include}"
server.modules += ( "mod_dirlisting", "mod_staticfile" )
"""


class Front:
    """One running server.  `conf` is the contents of mcp-fcgi.conf."""

    kind = None
    template = None
    # Held streams that the shipped file has room for.
    n_streams = 8
    n_responders = 4

    def __init__(self, root, conf, program=None, env=None):
        self.root = root
        self.conf = dict(conf)
        self.env = env or {}
        self.program = program or paths.program("mcp-fcgi")
        self.port = proc.free_port()
        self.web = Http(self.port)
        self.child = None
        for sub in ("", "run", "run/mcp-fcgi", "log", "www"):
            proc.hand_over(os.path.join(root, sub))
        for sub in ("etc/mcp-fcgi", "sbin", "httpd-conf"):
            os.makedirs(os.path.join(root, sub), exist_ok=True)
        for name in ("mcp-fcgi", "mcp-fcgi-stream"):
            os.symlink(self.program, self.path("sbin", name))
        self.write_conf()

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    @property
    def conf_file(self):
        return self.path("etc/mcp-fcgi/mcp-fcgi.conf")

    def write_conf(self):
        with open(self.conf_file, "w") as f:
            for k, v in self.conf.items():
                f.write("%s = %s\n" % (k, v))

    def render(self, template):
        """The shipped file with the paths of this stage, and nothing else."""
        with open(paths.shipped(template)) as f:
            text = f.read()
        for name, value in (("sbindir", self.path("sbin")),
                            ("sysconfdir", self.path("etc")),
                            ("runstatedir", self.path("run")),
                            ("pkgdatadir", self.path("share"))):
            text = text.replace("@%s@" % name, value)
        left = re.findall(r"@\w+@", text)
        assert not left, "not filled in: %r" % left
        out = self.path("httpd-conf", template[:-len(".in")])
        with open(out, "w") as f:
            f.write(text)
        return out

    # Life.

    def start(self, ready=None):
        self.start_responders()
        self.child = proc.start(self.argv(), self.path("log/server.log"),
                                self.server_env())
        self.wait_ready(ready)
        return self

    def argv(self):
        raise NotImplementedError

    def server_env(self):
        return self.env

    def start_responders(self):
        """Where the web server does not do it."""

    def wait_ready(self, ready=None, timeout_s=20):
        def serving():
            assert self.child.poll() is None, "server ended:\n" + self.logs()
            try:
                a = self.web.request("OPTIONS", "/mcp", {}, timeout=5)
            except OSError:
                return False
            return a.status in (ready or (204,))
        try:
            proc.wait_for(serving, timeout_s, about=self.kind + " to serve")
        except AssertionError as e:
            raise AssertionError("%s\n%s" % (e, self.logs()[-4000:]))

    def stop(self):
        mine = self.all_pids()
        # A web server waits for what its responders have in hand.
        for pid in self.responders():
            proc.kill(pid, signal.SIGTERM)
        if self.child:
            proc.stop(self.child, signal.SIGTERM, 3)
            self.child = None
        self.stop_responders()
        mine |= self.all_pids()     # what was started meanwhile
        for pid in mine:
            proc.kill(pid, signal.SIGTERM)
        try:
            proc.wait_for(lambda: not any(map(proc.is_running, mine)), 3)
        except AssertionError:
            for pid in filter(proc.is_running, mine):
                proc.kill(pid)

    def stop_responders(self):
        pass

    def all_pids(self):
        found = set(proc.with_environ(self.conf_file))
        if self.child:
            found |= {self.child.pid} | set(proc.descendants_of(
                self.child.pid))
        return found

    # Responders.

    def responders(self):
        """Every process of the program, a --listen parent included."""
        real = os.path.realpath(self.program)
        found = []
        for pid in self.all_pids():
            try:
                exe = os.readlink("/proc/%d/exe" % pid)
            except OSError:
                continue
            if exe == real and proc.is_running(pid):
                found.append(pid)
        return found

    def kill_responders(self):
        """The contract's "end every responder process": kill -9, all."""
        victims = self.responders()
        for pid in victims:
            proc.kill(pid)
        proc.wait_for(lambda: not any(map(proc.is_running, victims)), 5,
                      about="killed responders to be gone")
        self.after_kill()
        return victims

    def after_kill(self):
        """What a service manager would do now."""

    def logs(self):
        text = ""
        folder = self.path("log")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), errors="replace") as f:
                text += "== %s\n%s" % (name, f.read())
        return text

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


class Lighttpd(Front):
    kind = "lighttpd"
    template = "lighttpd.conf.in"
    last_kill = 0

    def kill_responders(self):
        # lighttpd starts a responder again at most once a second.
        time.sleep(max(0, self.last_kill + 1.2 - time.monotonic()))
        try:
            return Front.kill_responders(self)
        finally:
            self.last_kill = time.monotonic()

    def start(self, ready=None):
        Front.start(self, ready)
        self.last_kill = time.monotonic()
        return self

    def argv(self):
        with open(self.path("lighttpd.conf"), "w") as f:
            f.write(LIGHTTPD_COMMON.format(
                root=self.root, port=self.port,
                include=self.render(self.template)))
        return ["/usr/sbin/lighttpd", "-D", "-f", self.path("lighttpd.conf")]


class LighttpdCgi(Lighttpd):
    kind = "lighttpd-cgi"
    template = "lighttpd-cgi.conf.in"


class Apache(Front):
    modules = []

    def main(self):
        user = proc.service_user()
        load = "\n".join(
            "LoadModule %s_module %s/mod_%s.so" % (m, APACHE_MODULES, m)
            for m in APACHE_LOAD + self.modules)
        return APACHE_COMMON.format(
            root=self.root, port=self.port, modules=APACHE_MODULES,
            load=load, user=user.pw_name, gid=user.pw_gid)

    def argv(self):
        with open(self.path("apache.conf"), "w") as f:
            f.write(self.main())
            f.write("Include %s\n" % self.render(self.template))
        return ["/usr/sbin/apache2", "-DFOREGROUND", "-d", self.root,
                "-f", self.path("apache.conf")]


class ApacheFcgid(Apache):
    kind = "apache-fcgid"
    template = "apache-fcgid.conf.in"
    modules = ["fcgid"]
    n_streams = 16
    n_responders = 8

    def main(self):
        return Apache.main(self) + (
            "FcgidIPCDir %s\nFcgidProcessTableFile %s\n" % (
                self.path("run"), self.path("run/fcgid_shm")))


class ApacheProxy(Apache):
    kind = "apache-proxy-fcgi"
    template = "apache-proxy-fcgi.conf.in"
    modules = ["proxy", "proxy_fcgi"]
    pools = (("rpc", 4), ("stream", 8))

    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.parents = {}

    def start_responders(self):
        for name, workers in self.pools:
            self.start_pool(name, workers)

    def start_pool(self, name, workers):
        sock = self.path("run/mcp-fcgi", name + ".sock")
        env = {"MCP_FCGI_CONF": self.conf_file}
        env.update(self.env)
        self.parents[name] = proc.start(
            [self.path("sbin/mcp-fcgi"), "--listen", "unix:" + sock,
             "--workers", str(workers)],
            self.path("log", name + ".log"), env)
        child = self.parents[name]

        def up():
            assert child.poll() is None, "responders ended:\n" + self.logs()
            return os.path.exists(sock) and proc.children_of(child.pid)
        proc.wait_for(up, about="responders at " + sock)

    def all_pids(self):
        found = super().all_pids()
        for child in self.parents.values():
            found |= {child.pid} | set(proc.descendants_of(child.pid))
        return found

    def after_kill(self):
        for child in self.parents.values():
            child.wait(5)
        self.start_responders()

    def stop_responders(self):
        for child in self.parents.values():
            proc.stop(child)


class ApacheCgi(Apache):
    kind = "apache-cgi"
    template = "apache-cgi.conf.in"
    modules = ["cgid"]

    def main(self):
        return Apache.main(self) + "ScriptSock %s\n" % self.path(
            "run/cgisock")


class ApacheShared(ApacheFcgid):
    """Shared hosting: an .htaccess file and nothing else is ours."""
    kind = "apache-htaccess"

    def argv(self):
        shutil.copy(self.render("htaccess.in"), self.path("www/.htaccess"))
        os.makedirs(self.path("www/mcp-fcgi"), exist_ok=True)
        shutil.copy(self.render("mcp.fcgi.in"),
                    self.path("www/mcp-fcgi/mcp.fcgi"))
        os.chmod(self.path("www/mcp-fcgi/mcp.fcgi"), 0o755)
        with open(self.path("apache.conf"), "w") as f:
            f.write(self.main())
            # As Debian's fcgid.conf, and what a host allows.
            f.write("FcgidConnectTimeout 20\n"
                    "AddHandler fcgid-script .fcgi\n"
                    "<Directory %s>\nOptions +ExecCGI\n</Directory>\n"
                    % self.path("www"))
        return ["/usr/sbin/apache2", "-DFOREGROUND", "-d", self.root,
                "-f", self.path("apache.conf")]


KINDS = {c.kind: c for c in (Lighttpd, ApacheProxy, ApacheFcgid, LighttpdCgi,
                             ApacheCgi, ApacheShared)}
FULL = ["lighttpd", "apache-proxy-fcgi", "apache-fcgid"]
