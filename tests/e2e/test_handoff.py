"""A bare-metal slurmd host and a login host join the lab with nothing but the hand-off, run a job, and leave.

The tests of this file are one life and run in this order. The hosts are blank: Debian with Slurm's packages and systemd, no
key, no configuration. What is rendered is carried out without a person: by install.sh, Ansible or cloud-init.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lab import charts, demo, paths
from lab import slurm as outside
from lab.slurm import blank, site
from lab.slurm.cluster import LAB as CLUSTER
from lab.slurm.hosts import LAB as HOSTS
from lab.stacks import Stack, imported_keys
from slinky_iac.config.reading.load import load
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from tests.clusters import traces
from tests.e2e.joining import LOGIN, METAL, SPARE, Joining, private, settings
from tests.e2e.world import lab_environment

KEYS = ("slurm.key", "jwt_hs256.key")


@pytest.fixture(scope="module")
def joining(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joining]:
    """Both hosts up and blank, a stack that names them, and slurm.conf as the stack's NodeSets need it."""
    before = site.LAB.nodesets.read_text()
    addresses = {name: blank.LAB.up(name) for name in (METAL, LOGIN)}
    config = settings(addresses)
    stack = Stack("handoff", paths.STATE / "projects" / "handoff", lab_environment())
    draft = tmp_path_factory.mktemp("draft") / "Pulumi.handoff.yaml"
    draft.write_text(yaml.safe_dump({"config": config}))
    stack.init(draft, charts.chart_dir(), imported_keys())
    sections = {key.split(":", 1)[1]: value for key, value in config.items()}
    outside.apply_nodesets_conf(demo.nodeset_lines(outside_slurm_conf(load(sections))))
    joined = Joining(stack, addresses, tmp_path_factory.mktemp("handoff"))
    yield joined
    outside.set_nodesets_conf(before)
    joined.leave()
    stack.pulumi("stack", "rm", "--yes", "--force")


def key_traces() -> set[str]:
    """Forms in which one of the lab's keys could show."""
    return {trace for name in KEYS for trace in traces((site.LAB.keys / name).read_bytes())}


def shows_a_key(text: str) -> bool:
    return any(trace in text for trace in key_traces())


def test_a_hand_off_without_the_flag_holds_no_key(joining: Joining) -> None:
    said = joining.handoff("folder")
    texts = [said.stdout, said.stderr, *(p.read_bytes().decode("latin-1") for p in files(joining.folder / "folder"))]
    assert not any(shows_a_key(text) for text in texts)
    assert {path.name for path in (joining.folder / "folder").iterdir() if path.is_dir()} == {
        "slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"
    }  # fmt: skip


def test_a_hand_off_with_keys_is_private_and_prints_none(joining: Joining) -> None:
    said = joining.handoff("ansible", "--format", "ansible", "--with-keys", "--json", "--role", "slurmd", "--role", "login")
    assert not shows_a_key(said.stdout + said.stderr)
    told = json.loads(said.stdout)
    assert told["schema"] == 1
    assert [role["role"] for role in told["roles"]] == ["slurmd", "login"]
    assert all(key["fingerprint"].startswith("SHA256:") for role in told["roles"] for key in role["keys"])
    assert private(joining.folder / "ansible")
    assert [p.name for p in files(joining.folder / "ansible") if shows_a_key(p.read_bytes().decode("latin-1"))] == [
        "slurm.key"
    ]
    assert (joining.folder / "ansible" / "keys" / "slurm.key").read_bytes() == (site.LAB.keys / "slurm.key").read_bytes()


def test_keys_are_not_written_where_others_can_read(joining: Joining) -> None:
    (joining.folder / "open").mkdir(mode=0o755)
    said = joining.handoff("open", "--with-keys", check=False)
    assert said.returncode == 1
    assert "chmod 700" in said.stderr
    assert list((joining.folder / "open").iterdir()) == []


def test_slurmctld_lacks_one_line_which_is_named_then_added(joining: Joining) -> None:
    there = joining.carry("folder/slurmctld", "ctl")
    line = f"NodeName={METAL} NodeAddr={joining.addresses[METAL]} CPUs=2 RealMemory=1000"
    HOSTS.run("ctl", ["truncate", "-s", "-1", "/etc/slurm/slurm.conf"])  # as an editor may leave it: no last line break
    first = HOSTS.run("ctl", [f"{there}/install.sh"], check=False)
    assert first.returncode == 1
    assert first.stderr.splitlines()[1:] == [line]
    HOSTS.run("ctl", [f"{there}/install.sh", "--edit"])
    CLUSTER.reconfigure()
    assert "missing" not in joining.await_checked("ctl", "slurmctld")


def test_slurmdbd_and_slurmrestd_of_the_lab_pass_their_checks(joining: Joining) -> None:
    for role, host in (("slurmdbd", "dbd"), ("slurmrestd", "rest")):
        there = joining.carry(f"folder/{role}/files", host)
        said = HOSTS.run(host, [f"{there}/usr/local/sbin/slurm-check-{role}"], check=False).stdout
        faults = [line for line in said.splitlines() if line.startswith(("bad", "missing"))]
        # The lab runs slurmrestd by hand, so the drop-in isn't there; all else holds.
        assert [fault for fault in faults if "slurmrestd.service.d" not in fault] == [], said


def test_a_playbook_joins_the_slurmd_host(joining: Joining) -> None:
    assert "bad" in HOSTS.run(METAL, ["sh", "-c", "ls /etc/slurm/slurm.key || echo bad"], check=False).stdout
    done = joining.playbook("ansible", "--limit", METAL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not shows_a_key(done.stdout + done.stderr)
    assert f"slurmctld has {METAL} as IDLE" in joining.checked(METAL, "slurmd").stdout
    again = joining.playbook("ansible", "--limit", METAL, "--check")
    assert "changed=0" in again.stdout, again.stdout


def test_a_playbook_stops_before_a_host_whose_key_is_not_the_cluster_s(joining: Joining) -> None:
    joining.handoff("keyless", "--format", "ansible", "--role", "login")
    place = "head -c 64 /dev/urandom | install -D -o slurm -g slurm -m 600 /dev/stdin /etc/slurm/slurm.key"
    HOSTS.run(LOGIN, ["sh", "-c", place])
    done = joining.playbook("keyless", "--limit", LOGIN)
    assert done.returncode == 2
    assert "/etc/slurm/slurm.key is not there, or is not the cluster's" in done.stdout
    assert "TASK [Start sackd]" not in done.stdout
    HOSTS.run(LOGIN, ["rm", "/etc/slurm/slurm.key"])


def test_a_folder_joins_the_login_host_once_the_key_is_placed(joining: Joining) -> None:
    there = joining.carry("folder/login", LOGIN)
    lacking = HOSTS.run(LOGIN, [f"{there}/install.sh"], check=False)
    assert lacking.returncode == 1
    assert "lacking   /etc/slurm/slurm.key: place it first" in lacking.stderr
    key = (site.LAB.keys / "slurm.key").read_bytes()
    place = ["sh", "-c", "base64 -d | install -o slurm -g slurm -m 600 /dev/stdin /etc/slurm/slurm.key"]
    HOSTS.run(LOGIN, place, stdin=base64.b64encode(key).decode())
    said = HOSTS.run(LOGIN, [f"{there}/install.sh"]).stdout
    assert "slurmctld takes this host's key" in said
    assert [line for line in said.splitlines() if line.startswith(("bad", "missing"))] == []
    process = ["systemctl", "show", "-p", "MainPID", "--value", "sackd"]
    before = HOSTS.run(LOGIN, process).stdout
    assert "installed" not in HOSTS.run(LOGIN, [f"{there}/install.sh"]).stdout
    assert HOSTS.run(LOGIN, process).stdout == before  # a second run restarts nothing


def test_a_job_from_the_new_login_host_runs_on_the_new_slurmd_host(joining: Joining) -> None:
    printed = HOSTS.run(LOGIN, ["srun", "-w", METAL, "-t1", "hostname"], user="alice", timeout=90).stdout
    assert printed.split() == [METAL]


def test_both_survive_a_reconfiguration(joining: Joining) -> None:
    """They restart themselves by the path that they were started with."""
    CLUSTER.reconfigure()
    joining.await_checked(METAL, "slurmd")
    joining.await_checked(LOGIN, "login")
    for host, service in ((METAL, "slurmd"), (LOGIN, "sackd")):
        shown = HOSTS.run(host, ["systemctl", "show", "-p", "ActiveState", "-p", "NRestarts", service]).stdout.split()
        assert sorted(shown) == ["ActiveState=active", "NRestarts=0"]


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("chmod 644 /etc/slurm/slurm.key", "/etc/slurm/slurm.key has mode 644"),
        ("echo >> /etc/slurm/slurm.key", "/etc/slurm/slurm.key is another key"),
        ("touch /etc/slurm/slurm.conf", "/etc/slurm/slurm.conf is there"),
        ("mv /etc/slurm/slurm.key /etc/slurm/away", "/etc/slurm/slurm.key is not there"),
    ],
)
def test_the_check_names_what_is_wrong(joining: Joining, harm: str, told: str) -> None:
    joining.await_checked(LOGIN, "login")
    HOSTS.run(LOGIN, ["sh", "-c", f"mkdir -p /srv/was && cp -a /etc/slurm/. /srv/was/ && {harm}"])
    try:
        found = joining.checked(LOGIN, "login")
        assert found.returncode == 1
        assert [line for line in found.stdout.splitlines() if line.startswith("bad") and told in line]
    finally:
        HOSTS.run(LOGIN, ["sh", "-c", "find /etc/slurm -maxdepth 1 -type f -delete && cp -a /srv/was/. /etc/slurm/"])


def test_user_data_is_what_cloud_init_reads(joining: Joining) -> None:
    joining.handoff("plain-cloud", "--format", "cloud-init")
    there = joining.carry("plain-cloud", LOGIN)
    for name in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"):
        said = HOSTS.run(LOGIN, ["cloud-init", "schema", "--config-file", f"{there}/{name}.yaml"])
        assert "Valid schema" in said.stdout


def test_user_data_joins_a_login_host_at_its_first_boot(joining: Joining) -> None:
    joining.handoff("cloud", "--format", "cloud-init", "--role", "login", "--with-keys")
    blank.LAB.up(SPARE)
    try:
        joining.boot(SPARE, "cloud/login.yaml")
        joining.await_checked(SPARE, "login")
        assert HOSTS.run(SPARE, ["srun", "-w", METAL, "-t1", "hostname"], user="bob", timeout=90).stdout.split() == [METAL]
    finally:
        blank.LAB.down(SPARE)


def test_a_folder_makes_a_slurmrestd_host_that_holds_no_key(joining: Joining) -> None:
    blank.LAB.up(SPARE)
    try:
        there = joining.carry("folder/slurmrestd", SPARE)
        HOSTS.run(SPARE, [f"{there}/install.sh"])
        joining.await_checked(SPARE, "slurmrestd")
        get = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "X-SLURM-USER-NAME: slurm"]
        token = HOSTS.run("ctl", ["scontrol", "token", "username=slurm", "lifespan=60"]).stdout.partition("=")[2].strip()
        url = "http://127.0.0.1:6820/slurm/v0.0.44/diag/"
        assert HOSTS.run(SPARE, [*get, url]).stdout == "401"
        assert HOSTS.run(SPARE, [*get, "-H", "@-", url], stdin=f"X-SLURM-USER-TOKEN: {token}\n").stdout == "200"
        assert not HOSTS.inside(SPARE, "etc/slurm/slurm.key").exists()
    finally:
        blank.LAB.down(SPARE)


def test_both_leave_and_nothing_knows_them_any_more(joining: Joining) -> None:
    joining.leave()
    nodes = HOSTS.run("ctl", ["sinfo", "-Nh", "-o", "%N"]).stdout
    assert METAL not in nodes
    assert not any(HOSTS.is_up(host) for host in joining.addresses)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
