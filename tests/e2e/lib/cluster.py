# SPDX-License-Identifier: ISC
"""A private PostgreSQL: its own directory, a unix socket, no TCP."""

import os
import signal

import psycopg2
import psycopg2.extras

from . import paths, proc

LOGINS = {"e2e_responder": "mcp_responder", "e2e_reaper": "mcp_reaper",
          "e2e_admin": "mcp_admin", "e2e_readonly": "mcp_readonly"}


class Cluster:
    """One server, one database per name asked for."""

    def __init__(self, root, is_durable=False):
        self.root = proc.hand_over(root)
        self.data = os.path.join(root, "data")
        self.log = os.path.join(root, "postgres.log")
        self.port = 5432
        self.child = None
        self.has_template = False
        with open(self.log, "ab"):
            pass
        proc.hand_over_file(self.log, 0o644)
        self._init(is_durable)

    def _init(self, is_durable):
        r = proc.run([paths.postgres("initdb"), "-N", "-U", "postgres",
                      "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8",
                      "-D", self.data])
        assert r.returncode == 0, r.stderr
        with open(os.path.join(self.data, "postgresql.conf"), "a") as f:
            f.write("\n".join([
                "listen_addresses = ''",
                "unix_socket_directories = '%s'" % self.root,
                "max_connections = 150",
                "fsync = %s" % ("on" if is_durable else "off"),
                "full_page_writes = %s" % ("on" if is_durable else "off"),
                "shared_buffers = 64MB",
                "autovacuum_naptime = 10s",
                "shared_preload_libraries = 'pg_stat_statements'",
                "pg_stat_statements.track = top",
                "pg_stat_statements.track_utility = on",
                "log_line_prefix = '%m [%p] %u@%d '",
                ""]))

    def start(self):
        self.child = proc.start([paths.postgres("postgres"), "-D", self.data],
                                self.log)
        proc.wait_for(self.is_up, 30, about="PostgreSQL (see %s)" % self.log)

    def is_up(self):
        assert self.child.poll() is None, "postgres ended, see " + self.log
        try:
            psycopg2.connect(self.dsn("postgres")).close()
            return True
        except psycopg2.OperationalError:
            return False

    def stop(self, sig=signal.SIGINT):
        """SIGINT is PostgreSQL's fast shutdown, SIGQUIT the immediate one."""
        if self.child:
            proc.stop(self.child, sig, 20)
            self.child = None

    def kill(self):
        """The whole server dies at once, as in a crash."""
        victims = [self.child.pid] + proc.descendants_of(self.child.pid)
        for pid in victims:
            proc.kill(pid)
        self.child.wait(10)
        self.child = None
        pidfile = os.path.join(self.data, "postmaster.pid")
        proc.wait_for(lambda: not any(proc.is_running(p) for p in victims))
        if os.path.exists(pidfile):
            os.unlink(pidfile)

    def restart(self, sig=signal.SIGINT):
        self.stop(sig)
        self.start()

    def dsn(self, dbname, user="postgres"):
        return "host=%s port=%d dbname=%s user=%s" % (
            self.root, self.port, dbname, user)

    def psql(self, dbname, script, **variables):
        """Run a file of sql/, as an administrator does by hand."""
        argv = [paths.postgres("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1",
                "-d", self.dsn(dbname), "-f",
                os.path.join(paths.SRC, "sql", script)]
        for k, v in variables.items():
            argv += ["-v", "%s=%s" % (k, v)]
        r = proc.run(argv)
        assert r.returncode == 0, script + ": " + r.stderr

    def _template(self):
        """The database that others are copied from, made the way an
        administrator does: roles, migrations, a login for each role."""
        if self.has_template:
            return
        name = "mcp_template"
        with Sql(self.dsn("postgres")) as sql:
            sql.run('CREATE DATABASE "%s"' % name)
        with Sql(self.dsn(name)) as sql:
            sql.run("CREATE EXTENSION pg_stat_statements")
        self.psql(name, "roles.sql")
        r = proc.run([paths.program("mcp-admin"), "-d", self.dsn(name),
                      "migrate"])
        assert r.returncode == 0, "mcp-admin migrate: " + r.stdout + r.stderr
        for login, group in LOGINS.items():
            self.psql(name, "login.sql", login=login, group=group)
        self.has_template = True

    def database(self, name):
        """Create a database, migrated, with its logins; its name, which is
        NAME when that is free."""
        self._template()
        with Sql(self.dsn("postgres")) as sql:
            taken = {r["datname"] for r in sql.all(
                "SELECT datname FROM pg_database")}
            name = next(n for i in range(1, 1000)
                        for n in ["%s_%d" % (name, i) if i > 1 else name]
                        if n not in taken)
            sql.run('CREATE DATABASE "%s" TEMPLATE mcp_template' % name)
        # What belongs to a database and is not copied.
        self.psql(name, "roles.sql")
        self.psql(name, "login.sql", login="e2e_responder",
                  group="mcp_responder")
        return name


class Sql:
    """One autocommit connection, small answers."""

    def __init__(self, dsn):
        self.conn = psycopg2.connect(dsn)
        self.conn.autocommit = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.conn.close()

    def close(self):
        self.conn.close()

    def run(self, text, *params):
        with self.conn.cursor() as c:
            c.execute(text, params or None)
            return c.rowcount

    def all(self, text, *params):
        with self.conn.cursor(
                cursor_factory=psycopg2.extras.RealDictCursor) as c:
            c.execute(text, params or None)
            return [dict(row) for row in c.fetchall()]

    def row(self, text, *params):
        rows = self.all(text, *params)
        return rows[0] if rows else None

    def one(self, text, *params):
        row = self.row(text, *params)
        return next(iter(row.values())) if row else None
