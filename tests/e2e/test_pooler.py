# SPDX-License-Identifier: ISC
"""Goal of this test: B-54, the endpoint works through PgBouncer in
transaction mode, and after PgBouncer was restarted."""

import os
import shutil
import tempfile

import pytest

from conftest import Stack
from lib import proc

PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
pytestmark = pytest.mark.skipif(not PGBOUNCER,
                                reason="pgbouncer is not installed")


class Pooler:
    def __init__(self, folder, cluster):
        self.folder = proc.hand_over(folder)
        self.ini = os.path.join(folder, "pgbouncer.ini")
        self.child = None
        with open(os.path.join(folder, "users"), "w") as f:
            f.write('"e2e_responder" ""\n')
        with open(self.ini, "w") as f:
            f.write("""\
[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = trust
auth_file = %s/users
pool_mode = transaction
default_pool_size = 2
logfile = %s/log
pidfile = %s/pid
""" % ((cluster.root, cluster.port) + (folder,) * 4))

    def start(self):
        self.child = proc.start([PGBOUNCER, self.ini],
                                os.path.join(self.folder, "out"))
        proc.wait_for(lambda: os.path.exists(
            os.path.join(self.folder, ".s.PGSQL.6432")), about="pgbouncer")

    def stop(self):
        proc.stop(self.child)


@pytest.fixture(scope="module")
def pooled(root, cluster, idp, front_kind):
    pooler = Pooler(tempfile.mkdtemp(prefix="pgbouncer-", dir=root), cluster)
    name = cluster.database("pooled_" + front_kind.replace("-", "_"))
    pooler.start()
    s = Stack(root, cluster, idp, front_kind, {
        "database": "host=%s port=6432 dbname=%s user=e2e_responder" % (
            pooler.folder, name),
        "database_pooler": "transaction"}, database=name).start()
    s.pooler = pooler
    yield s
    s.stop()
    pooler.stop()


def test_sessions_through_the_pooler(pooled):
    clients = [pooled.user().connect() for _ in range(4)]
    for _ in range(5):
        for c in clients:
            assert c.list_tools().status == 200
    assert clients[0].execute("1")["content"][0]["text"] == "1"
    s = clients[1].get()
    assert s.status == 200
    s.hang_up()
    clients[2].session = clients[3].session
    assert clients[2].list_tools().status == 403
    assert clients[3].delete().status == 204


def test_responders_share_two_connections(pooled):
    client = pooled.user().connect()
    for _ in range(10):
        client.list_tools()
    assert pooled.sql.one(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = "
        "'e2e_responder' AND datname = current_database()") <= 2


def test_pooler_restart(pooled):
    client = pooled.user().connect()
    pooled.pooler.stop()
    assert client.list_tools().status == 503
    pooled.pooler.start()
    proc.wait_for(lambda: client.list_tools().status == 200, 10, 0.2,
                  about="recovery through the pooler")
