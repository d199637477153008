"""TLS from slurmdbd in Kubernetes to a real MariaDB that takes nothing else and asks for a client certificate."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from lab.slurm import cluster, keys, site
from lab.slurm.hosts import Hosts
from lab.stacks import Stack
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import GRACE, IMAGE, INSIDE, exec_in, inside
from tests.e2e.world import Settings, World, dev_settings, ready
from tests.faults.sniffer import Sniffer
from tests.pki import Pair, authority, issued

HOST, PORT, DATABASE = "dbd", 3307, "slurm_acct_db_tls"
FOLDER, SOCKET = "/srv/mariadb-tls", "/run/mysqld/tls.sock"
POD = "inside-accounting-0"
TLS = {"caSecret": "db-ca", "clientSecret": "db-client"}
DATA = b"research-in-the-open"
"""An account's name, as an INSERT would have it."""


@dataclass
class Server:
    """A MariaDB of the test's own on the host dbd. It reads its certificate when it starts, and on FLUSH SSL."""

    hosts: Hosts
    ca: Pair

    def offer(self, pair: Pair) -> None:
        for name, content in (("ca", self.ca.pem), ("server", pair.pem), ("key", pair.key_pem)):
            self.hosts.run(HOST, ["sh", "-c", f"umask 077; cat > {FOLDER}/{name}.pem"], stdin=content.decode())
        self.hosts.run(HOST, ["chown", "-R", "mysql:mysql", FOLDER])

    def up(self, pair: Pair) -> None:
        self.hosts.run(HOST, ["mkdir", "-p", FOLDER])
        self.hosts.run(HOST, ["mariadb-install-db", "--user=mysql", f"--datadir={FOLDER}/data"], timeout=120)
        self.offer(pair)
        argv = [
            *("mariadbd", "--no-defaults", "--user=mysql", f"--datadir={FOLDER}/data", f"--socket={SOCKET}"),
            *(f"--port={PORT}", "--bind-address=0.0.0.0", "--skip-name-resolve", "--require-secure-transport=ON"),
            *(f"--ssl-ca={FOLDER}/ca.pem", f"--ssl-cert={FOLDER}/server.pem", f"--ssl-key={FOLDER}/key.pem"),
            *("--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-snapshot-isolation=OFF"),
        ]
        self.hosts.spawn(HOST, "mariadb-tls", argv)
        ping = ["mariadb-admin", f"--socket={SOCKET}", "ping"]
        await_true("MariaDB answers", lambda: self.hosts.run(HOST, ping, check=False).returncode == 0, 60)
        password = keys.ensure(site.LAB.keys).database
        self.sql(
            f"CREATE DATABASE {DATABASE}; CREATE USER slurm@'10.%' IDENTIFIED BY '{password}' REQUIRE X509;"
            f"GRANT ALL ON {DATABASE}.* TO slurm@'10.%';"
        )

    def sql(self, statement: str) -> str:
        return self.hosts.run(HOST, ["mariadb", "-N", "--skip-ssl", f"--socket={SOCKET}"], stdin=statement).stdout

    def down(self) -> None:
        self.hosts.site.supervisor.stop(self.hosts.process(HOST, "mariadb-tls"), 20)
        self.hosts.run(HOST, ["rm", "-rf", FOLDER])


@dataclass
class Site:
    """The stack, its database, and both sides' certificates."""

    world: World
    stack: Stack
    server: Server
    good: Pair

    def trust(self, ca: Pair) -> None:
        """Let slurmdbd believe this authority."""
        self._secret("db-ca", "Opaque", {"ca.crt": ca.pem})

    def show(self, pair: Pair) -> None:
        """Make this slurmdbd's own certificate."""
        self._secret("db-client", "kubernetes.io/tls", {"tls.crt": pair.pem, "tls.key": pair.key_pem})

    def _secret(self, name: str, kind: str, files: dict[str, bytes]) -> None:
        data = {entry: base64.b64encode(content).decode() for entry, content in files.items()}
        metadata = {"name": name, "namespace": INSIDE}
        body = yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data})
        self.world.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=body)

    def restart(self) -> None:
        """Let slurmdbd begin with the files as they are now."""
        self.world.kubectl("delete", "pod", "-n", INSIDE, POD)

    def log(self) -> str:
        """slurmdbd's log since its container's start, and that of the container before."""
        said = [self.world.kubectl("logs", "-n", INSIDE, POD, *more, check=False).stdout for more in ((), ("-p",))]
        return "".join(said)

    def await_ready(self) -> None:
        """Wait until slurmdbd listens, which it does once it has its database, and slurmctld knows it."""

        def there() -> bool:
            pods = {pod["metadata"]["name"]: pod for pod in self.world.objects("pods", INSIDE)}
            return POD in pods and ready(pods[POD])

        await_true("slurmdbd is ready", there, 180)


def settings(tls: dict[str, str]) -> Settings:
    """slurmctld and slurmdbd in Kubernetes."""

    def edit(found: Settings) -> None:
        inside(found)
        found["slinky-iac:cluster"]["createNamespace"] = False
        found["slinky-iac:cluster"]["images"]["slurmdbd"] = IMAGE
        database: dict[str, Any] = {"host": HOST, "port": PORT, "name": DATABASE, "username": "slurm", "tls": tls}
        found["slinky-iac:accounting"] = {"database": database, "pod": GRACE}

    return dev_settings(edit)


@pytest.fixture(scope="module")
def database(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    world.vacate()
    ca = authority("the database's authority")
    server, good = Server(cluster.LAB.hosts, ca), issued(ca, HOST)
    world.kubectl("create", "namespace", INSIDE)
    try:
        server.up(good)
        stack = world.stack("database-tls", settings(TLS))
        stack.pulumi("config", "set", "--secret", "databasePassword", stdin=keys.ensure(site.LAB.keys).database)
        found = Site(world, stack, server, good)
        found.trust(ca)
        found.show(issued(ca, client="slurmdbd"))
        stack.up()
        found.await_ready()
        yield found
    finally:
        world.vacate()
        world.kubectl("delete", "namespace", INSIDE)
        server.down()


def test_accounts_and_jobs_are_stored_and_nothing_of_them_can_be_read_on_the_way(database: Site, world: World) -> None:
    with Sniffer() as wire:
        exec_in(world, "sacctmgr", "-i", "add", "account", DATA.decode())
        await_true(
            "it is stored", lambda: DATA.decode() in database.server.sql(f"SELECT name FROM {DATABASE}.acct_table;"), 30
        )
    said = wire.said(PORT)
    assert said.count(b"\x17\x03\x03") > 5, "slurmdbd went another way"
    assert DATA not in said
    assert b"acct_table" not in said
    listed = database.server.sql("SHOW GLOBAL VARIABLES LIKE 'require_secure_transport';")
    assert listed.split() == ["require_secure_transport", "ON"]


@pytest.mark.parametrize("fault", ["another CA", "expired", "another name"])
def test_a_server_that_is_not_to_be_believed_is_refused_and_the_log_says_so(database: Site, fault: str) -> None:
    ca = database.server.ca
    offered = {
        "another CA": issued(authority("somebody else's"), HOST),
        "expired": issued(ca, HOST, days=-1),
        "another name": issued(ca, "db.example.org"),
    }[fault]
    database.server.offer(offered)
    database.server.sql("FLUSH SSL;")
    database.restart()
    try:
        await_true("slurmdbd's log tells it", lambda: "TLS/SSL error" in database.log(), 90)
        print(fault, [line for line in database.log().splitlines() if "SSL" in line][-1])
    finally:
        database.server.offer(database.good)
        database.server.sql("FLUSH SSL;")
        database.restart()
    database.await_ready()


def test_a_replaced_authority_is_used_from_the_next_connection_on(database: Site) -> None:
    later = authority("the next authority")
    old, database.server.ca, database.good = database.server.ca, later, issued(later, HOST)
    assert old != later
    database.trust(later)
    database.show(issued(later, client="slurmdbd"))
    read = ("exec", "-n", INSIDE, POD, "--", "cat", "/etc/slinky-database-tls/ca/ca.crt")
    await_true("the pod has it", lambda: later.pem.decode() in database.world.kubectl(*read, check=False).stdout, 180)
    database.server.offer(database.good)
    database.server.sql("FLUSH SSL;")
    ids = database.server.sql("SELECT id FROM information_schema.processlist WHERE user = 'slurm';").split()
    assert ids
    database.server.sql("".join(f"KILL {number};" for number in ids))
    name = "after-the-rotation"

    def stored() -> bool:
        database.world.kubectl(
            *("exec", "-n", INSIDE, "inside-controller-0", "-c", "slurmctld", "--"),
            *("sacctmgr", "-i", "add", "account", name),
            check=False,
        )
        return name in database.server.sql(f"SELECT name FROM {DATABASE}.acct_table;")

    await_true("slurmdbd has connected again, in the same pod", stored, 120)


def test_without_a_client_certificate_a_user_that_needs_one_is_refused(database: Site) -> None:
    shown = ("--path", "slinky-iac:accounting.database.tls.clientSecret")
    database.stack.pulumi("config", "rm", *shown)
    database.stack.up()
    try:
        await_true("slurmdbd's log tells it", lambda: "Access denied" in database.log(), 180)
    finally:  # without slurmdbd a destroy waits, rightly, for what it has to say of jobs
        database.stack.pulumi("config", "set", *shown, TLS["clientSecret"])
        database.stack.up()
        database.await_ready()
