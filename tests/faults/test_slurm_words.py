"""slurmctld itself, asked about every line of :mod:`tests.slurm_conf_cases`.

It reads its whole file before its key, which it looks for beside the file: one that ends for want of the key takes the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.slurm.cluster import Cluster
from tests.e2e.own_hosts import hosts_up
from tests.slurm_conf_cases import CONF, NODE, PARTITION, cases

HOST = "ctl"
FILE = "/tmp/words/slurm.conf"
STATE = "/tmp/words/state"
READ = "cannot stat '/tmp/words/slurm.key'"
PROBE = f"install -d -o slurm -g slurm {STATE} && timeout -s KILL 20 slurmctld -D -i -f {FILE}"


@pytest.fixture(scope="module")
def slurmctlds_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Hosts of these tests' own, whose slurmctld is stopped."""
    with hosts_up(tmp_path_factory.mktemp("site")) as made:
        made.stop(HOST, "slurmctld")
        yield made


def taken(cluster: Cluster, conf: dict[str, str], node: dict[str, str], partition: dict[str, str]) -> tuple[bool, str]:
    """Whether slurmctld takes the file that it had, with these in it, and what it says."""
    lines = cluster.hosts.run(HOST, ["cat", "/etc/slurm/slurm.conf"]).stdout.splitlines()
    own = {"statesavelocation", "nodename", "partitionname", "nodeset", *(key.lower() for key in conf)}
    kept = [line for line in lines if line.partition("=")[0].strip().lower() not in own]
    pairs = {"CPUs": "2"} | node
    kept += [f"{key}={value}" for key, value in conf.items()] + [f"StateSaveLocation={STATE}"]
    kept.append("NodeName=words-1 " + " ".join(f"{key}={value}" for key, value in pairs.items()))
    kept.append("PartitionName=words Nodes=words-1 " + " ".join(f"{key}={value}" for key, value in partition.items()))
    write = f"install -d -m 755 /tmp/words && cat > {FILE}"
    cluster.hosts.run(HOST, ["sh", "-c", write], stdin="\n".join(kept) + "\n")
    done = cluster.hosts.run(HOST, ["sh", "-c", PROBE], check=False)
    said = done.stdout + done.stderr
    return READ in said, said[-800:]


def test_slurmctld_takes_and_refuses_what_the_rules_say(slurmctlds_host: Cluster) -> None:
    wrong = []
    for parameters, wanted in cases(CONF):
        got, said = taken(slurmctlds_host, parameters, {}, {})
        wrong += [(parameters, said)] if got != wanted else []
    for parameters, wanted in cases(PARTITION):
        got, said = taken(slurmctlds_host, {}, {}, parameters)
        wrong += [(parameters, said)] if got != wanted else []
    for parameters, wanted in cases(NODE):
        got, said = taken(slurmctlds_host, {}, parameters, {})
        wrong += [(parameters, said)] if got != wanted else []
    assert wrong == []
