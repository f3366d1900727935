# SPDX-License-Identifier: ISC
"""Fixtures of the end-to-end tests.

One private PostgreSQL for the run, one identity provider, one membership
service; for each front server a `stack`: a database, a configuration, the
web server with its shipped file, and responders.  Tests that need other
settings take `make_stack`.
"""

import itertools
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

import pytest                                           # noqa: E402

from lib import front as fronts                         # noqa: E402
from lib import paths, proc                             # noqa: E402
from lib.client import Mcp                              # noqa: E402
from lib.cluster import Cluster, Sql                    # noqa: E402
from lib.idp import IdP, MembershipAPI                  # noqa: E402

RESOURCE = "https://mcp.test.example/mcp"
PRM = "https://mcp.test.example/.well-known/oauth-protected-resource/mcp"
ALLOWED_ORIGIN = "https://app.test.example"
_serial = itertools.count(1)


def pytest_addoption(parser):
    parser.addoption("--front", default="all", help="front servers, comma "
                     "separated: all, %s" % ", ".join(fronts.FULL))
    parser.addoption("--keep", action="store_true",
                     help="leave the temporary directory behind")


def chosen_fronts(config):
    given = config.getoption("--front")
    return fronts.FULL if given == "all" else given.split(",")


def pytest_generate_tests(metafunc):
    if "front_kind" in metafunc.fixturenames:
        kinds = chosen_fronts(metafunc.config)
        # What lies wholly behind the front server is the same with any.
        if getattr(metafunc.module, "ANY_FRONT", False):
            kinds = kinds[:1]
        metafunc.parametrize("front_kind", kinds, scope="session")


def pytest_sessionstart(session):
    for name in ("mcp-fcgi", "mcp-admin", "mcp-reaper"):
        if not paths.program(name):
            pytest.exit("%s is not built in %s (set MCP_BUILD)" % (
                name, paths.BUILD), 2)
    if not paths.postgres("initdb"):
        pytest.exit("no PostgreSQL server on this machine", 2)


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.when == "call" and report.failed and stack is not None:
        lines = [x for x in stack.front.logs().splitlines()
                 if "gw_backend.c" not in x]
        report.sections.append(("log of the stack", "\n".join(lines[-25:])))


@pytest.fixture(scope="session")
def root(request):
    base = tempfile.mkdtemp(prefix="mcp-e2e-")
    os.chmod(base, 0o755)
    yield base
    if not request.config.getoption("--keep"):
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(root):
    c = Cluster(os.path.join(root, "pg"))
    c.start()
    yield c
    c.stop()


@pytest.fixture(scope="session")
def idp():
    provider = IdP(RESOURCE)
    yield provider
    provider.close()


@pytest.fixture(scope="session")
def members():
    api = MembershipAPI()
    yield api
    api.close()


class Stack:
    """Everything one front needs, and shorthands that tests use."""

    def __init__(self, root, cluster, idp, front_kind, settings=None,
                 database=None, name=None, login="e2e_responder"):
        name = name or "s%d" % next(_serial)
        self.cluster = cluster
        self.idp = idp
        self.name = name
        self.owns_database = database is None
        self.database = database or cluster.database("mcp_" + name)
        conf = {
            "resource_url": RESOURCE,
            "issuer": idp.issuer,
            "fetch_allow": "127.0.0.0/8",
            "fetch_timeout_ms": 2000,
            "database": cluster.dsn(self.database, login),
            "admin_database": cluster.dsn(self.database, "e2e_admin"),
            "reaper_database": cluster.dsn(self.database, "e2e_reaper"),
            "log_level": "info",
        }
        sandbox = paths.program("mcp-sandbox")
        if sandbox:
            conf["sandbox"] = sandbox
        conf.update(settings or {})
        conf = {k: v for k, v in conf.items() if v is not None}
        self.conf = conf
        self.front = fronts.KINDS[front_kind](
            os.path.join(root, name), conf)
        self.kind = front_kind
        self.web = self.front.web
        self.sql = Sql(cluster.dsn(self.database))

    def start(self):
        self.front.start()
        return self

    def stop(self):
        self.front.stop()
        self.sql.close()

    def reconnect_sql(self):
        self.sql.close()
        self.sql = Sql(self.cluster.dsn(self.database))

    # Principals.

    def add_member(self, account, organization):
        self.sql.run("INSERT INTO mcp.membership (organization_id, account_id)"
                     " VALUES (%s, %s) ON CONFLICT DO NOTHING",
                     organization, account)

    def remove_member(self, account, organization):
        self.sql.run("DELETE FROM mcp.membership WHERE organization_id = %s "
                     "AND account_id = %s", organization, account)

    def user(self, account=None, organization=None, member=True, **claims):
        """A client whose token names ACCOUNT of ORGANIZATION; both are
        fresh unless given."""
        n = next(_serial)
        account = account or "acct-%d" % n
        organization = organization or "org-%d" % n
        if member:
            self.add_member(account, organization)
        client = Mcp(self.web, self.idp.token(account, organization, **claims))
        client.account = account
        client.organization = organization
        return client

    # Rows.

    def row(self, session_id):
        return self.sql.row("SELECT * FROM mcp.session WHERE session_id = %s",
                            session_id)

    def age(self, session_id, seconds):
        """Make the last activity of a session so much older."""
        self.sql.run("UPDATE mcp.session SET last_activity_at = "
                     "last_activity_at - make_interval(secs => %s) "
                     "WHERE session_id = %s", seconds, session_id)

    def n_sessions(self, client):
        return self.sql.one(
            "SELECT count(*) FROM mcp.session WHERE account_id = %s AND "
            "organization_id = %s", client.account, client.organization)

    # Programs.

    def admin(self, *argv):
        return proc.run([paths.program("mcp-admin"), "-c",
                         self.front.conf_file] + list(argv))

    def reaper(self, *argv):
        return proc.run([paths.program("mcp-reaper"), "-c",
                         self.front.conf_file] + list(argv), timeout=120)


@pytest.fixture(scope="session")
def stack(root, cluster, idp, front_kind):
    """The front with its default settings; shared, so leave it in order."""
    s = Stack(root, cluster, idp, front_kind,
              {"jwks_min_interval_s": 1}).start()
    yield s
    s.stop()


@pytest.fixture(scope="module")
def make_stack(root, cluster, idp):
    """Make further stacks; they live as long as the module's tests."""
    made = []

    def make(front_kind, settings=None, **more):
        s = Stack(root, cluster, more.pop("idp", idp), front_kind, settings,
                  **more)
        made.append(s)
        return s.start()
    yield make
    for s in made:
        s.stop()


@pytest.fixture
def a_user(stack):
    """A member with a fresh session."""
    return stack.user().connect()
