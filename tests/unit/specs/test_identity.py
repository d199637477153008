"""Users of `identity.passwd`: what is rendered, what pods get, and what the sidecar's script does with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.identity import Passwd, User
from slinky_iac.config.reading.load import load
from slinky_iac.config.resources import SecretReference
from slinky_iac.config.rules.identity import rendered_size
from slinky_iac.config.workers import LoginSet
from slinky_iac.errors import ConfigError
from slinky_iac.specs.daemons import accounting_spec, controller_spec
from slinky_iac.specs.identity import FILES, PAGE, passwd_files, users_pod
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from slinky_iac.specs.workers import loginset_spec, nodeset_spec
from tests.clusters import recorded
from tests.stacks import minimal, outside

CAROL = {"uid": 3001, "gid": 3001, "groups": ["physics"]}
GIVEN: dict[str, Any] = {"passwd": {"users": {"carol": CAROL}, "groups": {"physics": 3000}}}
MOUNTS = [
    {"name": "slurm-users", "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": True},
    {"name": "slurm-users", "mountPath": "/etc/group", "subPath": "group", "readOnly": True},
]
VOLUMES = [
    {
        "name": "slurm-users-given",
        "configMap": {
            "name": "slurm-users",
            "items": [{"key": "users", "path": "passwd"}, {"key": "groups", "path": "group"}],
        },
    },
    {"name": "slurm-users", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
]
HOME = {"name": "home", "mountPath": "/home", "source": {"hostPath": {"path": "/srv/home"}}}


def many(count: int) -> Passwd:
    users = {f"user{n}": User(uid=10_000 + n, gid=3000, groups=("all",)) for n in range(count)}
    return Passwd(users=users, groups={"all": 3000})


def test_the_files_whole() -> None:
    config = load(minimal(identity=GIVEN | {"passwd": GIVEN["passwd"] | {"users": {"carol": CAROL, "bill": BILL}}}))
    assert config.identity.passwd is not None
    assert passwd_files(config.identity.passwd) == {
        "users": "bill:*:2500:3000::/srv/bill:/bin/sh\ncarol:*:3001:3001::/home/carol:/bin/bash\n",
        "groups": "physics:*:3000:carol\ncarol:*:3001:\n",
    }


BILL = {"uid": 2500, "gid": 3000, "home": "/srv/bill", "shell": "/bin/sh"}


def test_every_daemon_that_looks_up_users_mounts_both_files_and_runs_the_sidecar_of_its_own_image() -> None:
    plain = load(minimal(nodesets={"gpu": {"replicas": 1}}))
    config = load(minimal(nodesets={"gpu": {"replicas": 1}}, identity=GIVEN))
    login = LoginSet(sssd_conf_from=SecretReference(secret="sssd"))
    for part, before, after in (
        ("slurmctld", controller_spec(plain), controller_spec(config)),
        ("slurmd", nodeset_spec(plain, "gpu", plain.nodesets["gpu"]), nodeset_spec(config, "gpu", config.nodesets["gpu"])),
        ("login", loginset_spec(plain, "main", login), loginset_spec(config, "main", login)),
    ):
        pod = after["template"]["spec"]
        (sidecar,) = pod.pop("initContainers")
        assert pod.pop("volumes") == VOLUMES
        assert after[part].pop("volumeMounts") == MOUNTS
        assert sidecar["image"] == after[part]["image"]
        assert sidecar["securityContext"]["runAsNonRoot"] is True
        assert sidecar["restartPolicy"] == "Always"
        if not pod:
            del after["template"]
        assert after == before, "nothing else changes"


def test_volumes_of_a_nodeset_and_a_login_set_stay_beside_the_users() -> None:
    config = load(minimal(nodesets={"gpu": {"replicas": 1, "volumes": [HOME]}}, identity=GIVEN))
    own = {"name": "home", "hostPath": {"path": "/srv/home"}}
    mount = {"name": "home", "mountPath": "/home", "readOnly": False}
    login = LoginSet.model_validate({"sssdConfFrom": {"secret": "sssd"}, "volumes": [HOME]})
    for part, spec in (
        ("slurmd", nodeset_spec(config, "gpu", config.nodesets["gpu"])),
        ("login", loginset_spec(config, "main", login)),
    ):
        assert spec["template"]["spec"]["volumes"] == [own, *VOLUMES]
        assert spec[part]["volumeMounts"] == [mount, *MOUNTS]


def test_another_user_changes_no_pod_template() -> None:
    def specs(**users: dict[str, Any]) -> list[dict[str, Any]]:
        identity = {"passwd": {"users": users, "groups": {"physics": 3000}}}
        config = load(minimal(nodesets={"gpu": {"replicas": 1}}, identity=identity))
        return [controller_spec(config), nodeset_spec(config, "gpu", config.nodesets["gpu"])]

    assert specs(carol=CAROL) == specs(carol=CAROL, bill=BILL)


def test_a_stack_without_identity_makes_none_and_one_with_it_makes_one_config_map() -> None:
    assert not [each for each in recorded("dev").of("ConfigMap") if each.inputs["metadata"]["name"] == "slurm-users"]
    (made,) = [
        each for each in recorded("dev", identity=GIVEN).of("ConfigMap") if each.inputs["metadata"]["name"] == "slurm-users"
    ]
    assert set(made.inputs["data"]) == {"users", "groups"}


@given(st.lists(st.integers(1, 200), max_size=400))
def test_no_entry_goes_over_the_end_of_a_page_and_none_is_lost(homes: list[int]) -> None:
    users = {f"u{n}": User(uid=1000 + n, gid=3000, home="/" + "h" * length) for n, length in enumerate(homes)}
    text = passwd_files(Passwd(users=users))["users"]
    pages = [text[at : at + PAGE] for at in range(0, len(text), PAGE)]
    assert all(page.endswith("\n") for page in pages)
    assert len([line for line in text.splitlines() if line]) == len(users)


def test_ten_thousand_users_fit_a_config_map_and_the_rule_counts_at_least_what_is_rendered() -> None:
    given = many(10_000)
    size = sum(map(len, passwd_files(given).values()))
    assert size <= rendered_size(given)
    assert size < 2**20


def test_a_group_without_members_and_a_user_without_a_group_of_her_own_are_whole_entries() -> None:
    given = Passwd(users={"carol": User(uid=3001, gid=3000)}, groups={"physics": 3000, "empty": 3005, "carol": 3009})
    assert passwd_files(given)["groups"] == "physics:*:3000:\nempty:*:3005:\ncarol:*:3009:\n"


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("a:b", {}),
        ("a\n", {}),
        ("a\nroot", {}),
        ("-x", {}),
        ("", {}),
        ("x" * 65, {}),
        ("carol", {"home": "/a:0:0"}),
        ("carol", {"home": "/a\nmallory:*:0:0::/:/bin/sh"}),
        ("carol", {"home": "home"}),
        ("carol", {"shell": "/bin/sh\n"}),
        ("carol", {"uid": -1}),
        ("carol", {"uid": 2**31}),
        ("carol", {"groups": ["a,b"]}),
        ("carol", {"password": "x"}),
    ],
)
def test_what_would_make_another_entry_of_the_file_is_refused(name: str, over: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        load(minimal(identity={"passwd": {"users": {name: {"uid": 3001, "gid": 3001} | over}}}))


def test_a_group_with_more_members_than_a_page_has_several_lines() -> None:
    lines = [line for line in passwd_files(many(2000))["groups"].splitlines() if line]
    assert len(lines) > 1
    assert {line.rpartition(":")[0] for line in lines} == {"all:*:3000"}
    assert [name for line in lines for name in line.rpartition(":")[2].split(",")] == [f"user{n}" for n in range(2000)]
    assert max(map(len, lines)) < PAGE


OIDC = {"oidc": {"jwksFile": "idp.json", "userClaim": "preferred_username"}}


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("1.1.0", "jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json,userclaimfield=preferred_username"),
        ("1.2.1", "userclaimfield=preferred_username"),
    ],
)
def test_the_claim_stands_in_the_files_of_daemons_in_kubernetes(release: str, line: str) -> None:
    more = {"operator": {"version": release}, "keys": {"tokens": "rs256"}, "accounting": {"database": {"host": "db"}}}
    config = load(minimal(identity=OIDC, **more))
    assert f"AuthAltParameters={line}" in controller_spec(config)["extraConf"].splitlines()
    assert f"AuthAltParameters={line}" in accounting_spec(config)["extraConf"].splitlines()
    plain = load(minimal(**more))
    assert "AuthAltParameters" not in controller_spec(plain).get("extraConf", "")
    assert "extraConf" not in accounting_spec(plain)


def test_the_claim_stands_in_the_lines_for_daemons_outside() -> None:
    config = load(outside(identity=OIDC, keys={"tokens": "rs256"}))
    wanted = "jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json,userclaimfield=preferred_username"
    assert f"AuthAltParameters={wanted}" in outside_slurm_conf(config).splitlines()


IMAGE = "root:x:0:0:root:/root:/bin/sh\nslurm:x:401:401::/:/bin/false\n"
IMAGE_GROUP = "root:x:0:\nslurm:x:401:\n"


class Pod:
    """The sidecar's script on folders of this machine, in the place of the pod's."""

    def __init__(self, root: Path) -> None:
        self.etc, self.given, self.joined = root / "etc", root / "given", root / "joined"
        for folder in (self.etc, self.given, self.joined):
            folder.mkdir()
        (self.etc / "passwd").write_text(IMAGE)
        (self.etc / "group").write_text(IMAGE_GROUP)

    def give(self, passwd: Passwd) -> None:
        """What kubelet does with a new ConfigMap."""
        for name, text in passwd_files(passwd).items():
            (self.given / f"{name}.new").write_text(text)
            (self.given / f"{name}.new").rename(self.given / FILES[name])

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        (sidecar,) = users_pod(load(minimal(identity=GIVEN)), "image:1")["initContainers"]
        script = sidecar["command"][-1].replace("/etc/", f"{self.etc}/").replace("from=/identity to=/users", self.where())
        command = ["sh", "-euc", script.replace("sleep 5", "sleep 0.1")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(5)

    def where(self) -> str:
        return f"from={self.given} to={self.joined}"

    def entries(self) -> list[str]:
        """Entries as glibc reads them: empty lines are none."""
        path = self.joined / "passwd"
        return [line for line in path.read_text().splitlines() if line] if path.exists() else []

    def await_entries(self, wanted: list[str]) -> None:
        until = time.monotonic() + 10
        while self.entries() != wanted:
            assert time.monotonic() < until, self.entries()
            time.sleep(0.02)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def lines(passwd: Passwd) -> list[str]:
    return [*IMAGE.splitlines(), *(line for line in passwd_files(passwd)["users"].splitlines() if line)]


def test_changes_come_into_the_same_file_and_the_images_own_entries_stay_first(pod: Pod) -> None:
    pod.give(many(3))
    with pod.running():
        pod.await_entries(lines(many(3)))
        inode = (pod.joined / "passwd").stat().st_ino
        for count in (200, 5, 0, 300):
            pod.give(many(count))
            pod.await_entries(lines(many(count)))
            assert (pod.joined / "passwd").stat().st_ino == inode, "a bind mount shows this file and no other"


def test_a_reader_finds_the_image_and_each_entry_whole_while_they_change(pod: Pod) -> None:
    pod.give(many(400))
    allowed = {*lines(many(400)), ""}
    with pod.running():
        pod.await_entries(lines(many(400)))
        path = pod.joined / "passwd"
        for count in (100, 400, 250, 400):
            pod.give(many(count))
            wanted = lines(many(count))
            while pod.entries() != wanted:
                with path.open("rb", buffering=0) as file:  # pages, as glibc reads them
                    read = b"".join(iter(lambda file=file: os.read(file.fileno(), PAGE), b""))  # type: ignore[misc]
                seen = read.decode().split("\n")
                assert seen[: len(IMAGE.splitlines())] == IMAGE.splitlines()
                assert set(seen) <= allowed


@pytest.mark.parametrize(
    ("own", "word"),
    [("user0:x:1000:1000::/:/bin/sh\n", "user0"), ("ubuntu:x:10000:1000::/:/bin/sh\n", "ubuntu")],
    ids=["name", "number"],
)
def test_an_image_that_has_the_name_or_the_number_otherwise_starts_no_daemon(pod: Pod, own: str, word: str) -> None:
    (pod.etc / "passwd").write_text(IMAGE + own)
    pod.give(many(1))
    with pod.running() as process:
        assert process.wait(10) == 1
        assert process.stderr is not None
        assert word in process.stderr.read()
    assert pod.entries() == []


def test_an_image_that_has_the_same_user_is_fine(pod: Pod) -> None:
    (pod.etc / "passwd").write_text(IMAGE + "user0:x:10000:3000::/srv:/bin/sh\n")
    pod.give(many(1))
    with pod.running():
        pod.await_entries([*IMAGE.splitlines(), "user0:x:10000:3000::/srv:/bin/sh", *lines(many(1))[2:]])
