"""Users of a directory: slapd with TLS, sssd beside slurmctld and in slurmd's and login pods. No image knows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from lab import engine, paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import ldap
from tests import pki
from tests.e2e.running import results
from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import IMAGE, INSIDE, inside
from tests.e2e.world import Settings, World, dev_settings, ready
from tests.faults.identity_parts import HOMES, VOLUME, by_ssh, home, on_node
from tests.faults.inside_parts import await_login, queue_volume
from tests.faults.later_operator import Inside
from tests.integration import leaks

SPACE, HOST = "directory", "ldap.directory.svc.cluster.local"
BIND = "bind-5c1f0a7e93d84b6fa2"
"""The password with which sssd reads the directory."""
SLAPD = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
TLSCertificateFile /conf/tls.crt
TLSCertificateKeyFile /conf/tls.key
access to dn.base="" by * read
access to dn.base="cn=Subschema" by * read
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix dc=lab
rootdn cn=admin,dc=lab
directory /tmp/db
access to * by dn=cn=reader,dc=lab read by anonymous auth
"""
LDIF = f"""dn: dc=lab
objectClass: dcObject
objectClass: organization
o: lab
dc: lab

dn: cn=reader,dc=lab
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: {BIND}

dn: uid=erin,dc=lab
objectClass: account
objectClass: posixAccount
uid: erin
cn: erin
uidNumber: 5001
gidNumber: 5000
homeDirectory: /home/erin
loginShell: /bin/bash

dn: cn=physics,dc=lab
objectClass: posixGroup
cn: physics
gidNumber: 5000

dn: cn=lasers,dc=lab
objectClass: posixGroup
cn: lasers
gidNumber: 5007
memberUid: erin
"""
START = (
    "mkdir /tmp/db && slapadd -f /conf/slapd.conf -l /conf/lab.ldif && exec slapd -f /conf/slapd.conf -h ldaps://:636 -d 0"
)
SSSD = f"""[sssd]
services = nss, pam
domains = lab

[domain/lab]
id_provider = ldap
auth_provider = none
access_provider = permit
ldap_uri = ldaps://{HOST}
ldap_tls_cacert = /etc/slinky-sssd/ca.crt
ldap_search_base = dc=lab
ldap_default_bind_dn = cn=reader,dc=lab
ldap_default_authtok = {BIND}
"""


def settings() -> Settings:
    """All in Kubernetes; slurmctld's image has no sssd."""

    def edit(found: Settings) -> None:
        inside(found)
        found["slinky-iac:cluster"]["images"] |= {"login": ldap.IMAGE, "slurmd": ldap.IMAGE, "sidecar": IMAGE}
        found["slinky-iac:identity"] = {"sssd": {"caFile": "directory.crt"}}
        found["slinky-iac:controller"]["persistence"] = {"enabled": True, "size": "1Gi"}
        found["slinky-iac:nodesets"]["solo"] |= {"volumes": [VOLUME]}
        found["slinky-iac:logins"] = {"main": {"volumes": [VOLUME]}}

    return dev_settings(edit)


@pytest.fixture(scope="module")
def authority() -> pki.Pair:
    return pki.authority("the directory's authority")


@pytest.fixture(scope="module")
def directory(world: World, authority: pki.Pair) -> Iterator[None]:
    """slapd in a namespace of its own."""
    KUBERNETES.load(ldap.image())
    served = pki.issued(authority, HOST)
    files = {
        "slapd.conf": SLAPD,
        "lab.ldif": LDIF,
        "tls.crt": served.pem.decode(),
        "tls.key": served.key_pem.decode(),
    }
    labels = {"app": "ldap"}
    container = {
        "name": "slapd",
        "image": ldap.IMAGE,
        "command": ["sh", "-c", START],
        "volumeMounts": [{"name": "conf", "mountPath": "/conf"}],
        "readinessProbe": {"tcpSocket": {"port": 636}, "periodSeconds": 1},
    }
    spec = {"containers": [container], "volumes": [{"name": "conf", "secret": {"secretName": "ldap"}}]}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ldap", "namespace": SPACE}, "stringData": files},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "ldap", "namespace": SPACE},
            "spec": {"selector": labels, "ports": [{"port": 636}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "ldap", "namespace": SPACE, "labels": labels},
            "spec": spec,
        },
    ]
    world.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(objects))
    try:
        await_true("slapd answers", lambda: all(map(ready, world.objects("pods", SPACE))), 60)
        yield
    finally:
        world.kubectl("delete", "namespace", SPACE)


@pytest.fixture(scope="module")
def cluster(world: World, directory: None, authority: pki.Pair) -> Iterator[Inside]:
    world.vacate()
    home("erin", 5001)
    with queue_volume(world):
        try:
            found = Inside(world, world.stack("ldap", settings()))
            (found.stack.folder / "directory.crt").write_bytes(authority.pem)
            found.stack.pulumi("config", "set", "--secret", "sssdConf", stdin=SSSD)
            found.stack.up()
            await_login(world)
            yield found
            assert leaks.find(BIND.encode(), engine.BACKEND, found.stack.folder, paths.LOGS) == [], "the bind password"
        finally:
            world.vacate()
            on_node("rm", "-rf", HOMES)


def test_a_rest_job_of_a_user_of_the_directory_runs_with_her_groups(cluster: Inside) -> None:
    job = {"user": "erin", "command": ["id"], "partition": "solo", "workingDirectory": "/tmp", "output": "/tmp/id-erin"}
    cluster.write({**settings(), "slinky-iac:jobs": {"id-erin": job}})
    done = cluster.stack.up()
    assert "job-user-unknown" not in done.stdout
    assert results(cluster.stack)["id-erin"]["state"] == "COMPLETED"
    said = cluster.on("solo-0", "cat", "/tmp/id-erin")
    assert said.strip() == "uid=5001(erin) gid=5000(physics) groups=5000(physics),5007(lasers)"


def test_ssh_into_a_login_pod_as_her_has_her_home_and_submits(cluster: Inside) -> None:
    said = by_ssh(cluster, "erin", 5001, "id -un; id -Gn; pwd; srun -p solo -t1 id -un; srun -p solo -t1 pwd")
    assert said == ["erin", "physics lasers", "/home/erin", "erin", "/home/erin"]


def test_the_bind_password_is_in_no_object_but_its_secret(cluster: Inside) -> None:
    holding = {
        f"{each['kind']}/{each['metadata']['name']}"
        for kind in ("configmaps", "pods", "controllers.slinky.slurm.net", "nodesets.slinky.slurm.net", "statefulsets")
        for each in cluster.world.objects(kind, INSIDE)
        if BIND in str(each)
    }
    assert holding == set()
    there = ("exec", "-n", INSIDE, "inside-controller-0", "-c", "slurmctld", "--", "ls", "/etc/slinky-sssd")
    assert cluster.world.kubectl(*there, check=False).returncode != 0, "slurmctld has no sssd.conf"


def test_a_directory_that_is_down_keeps_slurmctld_running_and_known_users_known(cluster: Inside) -> None:
    cluster.world.kubectl("delete", "pod", "-n", SPACE, "ldap", "--grace-period=1")
    cluster.world.kubectl("delete", "pod", "-n", INSIDE, "inside-controller-0")

    def back() -> bool:
        pods = [each for each in cluster.world.objects("pods", INSIDE) if each["metadata"]["name"] == "inside-controller-0"]
        return len(pods) == 1 and "deletionTimestamp" not in pods[0]["metadata"] and ready(pods[0])

    await_true("slurmctld is back without the directory", back, 90)
    assert cluster.slurm("sinfo", "-h", "-o", "%N").strip() == "solo-0"
