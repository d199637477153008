"""slurmctld itself, asked about every line of :mod:`tests.slurm_conf_cases` by the hand-off's ``try.sh``.

It is cut off from the living slurmctld of its host, comes to serve or ends, and leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import given_slurm
from lab.slurm.cluster import Cluster
from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import try_script
from slinky_iac.commands.handoff.model import Role
from slinky_iac.commands.handoff.role_sheets import handoff
from tests.e2e.own_hosts import hosts_up
from tests.slurm_conf_cases import CONF, METAL, NODE, PARTITION, cases
from tests.stacks import form

HOST = "ctl"
FOLDER = "/tmp/words"
TRACES = """
ls -A /run /run/slurmctld /tmp
stat -c %i /run/slurmctld/sack.socket
ip -br address
cat /etc/hosts
pgrep slurmctld
"""


@pytest.fixture(scope="module")
def slurmctlds_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Hosts of these tests' own."""
    with hosts_up(tmp_path_factory.mktemp("site")) as made:
        (sheet,) = handoff(form("all-outside"), Known(), [Role.SLURMCTLD]).sheets
        made.hosts.run(HOST, ["sh", "-c", f"mkdir -p {FOLDER} && cat > /tmp/try.sh"], stdin=try_script(sheet))
        yield made


def taken(cluster: Cluster, conf: dict[str, str], node: dict[str, str], partition: dict[str, str]) -> tuple[bool, str]:
    """Whether slurmctld takes the file that it had, with these in it, and what it says."""
    lines = cluster.hosts.run(HOST, ["cat", "/etc/slurm/slurm.conf"]).stdout.splitlines()
    own = {"nodename", "partitionname", "nodeset", "accountingstoragetype", *(key.lower() for key in conf)}
    kept = [line for line in lines if line.partition("=")[0].strip().lower() not in own]
    pairs = {"CPUs": "2"} | node
    kept += [f"{key}={value}" for key, value in conf.items()]
    kept.append("NodeName=words-1 " + " ".join(f"{key}={value}" for key, value in pairs.items()))
    kept.append("PartitionName=words Nodes=words-1 " + " ".join(f"{key}={value}" for key, value in partition.items()))
    cluster.hosts.run(HOST, ["sh", "-c", f"cat > {FOLDER}/slurm.conf"], stdin="\n".join(kept) + "\n")
    done = cluster.hosts.run(HOST, ["bash", "/tmp/try.sh", FOLDER], check=False, timeout=120)
    assert done.returncode in (0, 6), done.stdout + done.stderr
    return done.returncode == 0, done.stdout[-800:]


def of(text: str) -> list[tuple[dict[str, str], bool]]:
    return cases(text, given_slurm.release(), tried=True)


def test_slurmctld_takes_and_refuses_what_the_rules_say(slurmctlds_host: Cluster) -> None:
    wrong = []
    for parameters, wanted in of(CONF):
        got, said = taken(slurmctlds_host, parameters, {}, {})
        wrong += [(parameters, said)] if got != wanted else []
    for parameters, wanted in of(PARTITION):
        got, said = taken(slurmctlds_host, {}, {}, parameters)
        wrong += [(parameters, said)] if got != wanted else []
    for parameters, wanted in of(NODE) + of(METAL):
        got, said = taken(slurmctlds_host, {}, parameters, {})
        wrong += [(parameters, said)] if got != wanted else []
    assert not wrong, "\n".join(f"{parameters}: {said}" for parameters, said in wrong)


def test_a_trial_leaves_the_living_slurmctld_as_it_is(slurmctlds_host: Cluster) -> None:
    def look() -> tuple[str, str]:
        where = slurmctlds_host.hosts.run(HOST, ["sh", "-c", TRACES]).stdout
        living = slurmctlds_host.hosts.run(HOST, ["scontrol", "show", "config"]).stdout
        return where, "\n".join(line for line in living.splitlines() if not line.startswith("Configuration data"))

    before = look()
    assert taken(slurmctlds_host, {"KillWait": "17"}, {}, {})[0]
    assert not taken(slurmctlds_host, {"SelectTypo": "x"}, {}, {})[0]
    assert look() == before
