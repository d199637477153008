"""Variables of daemons' containers: the program's settings and the pack give one answer, whatever the name."""

from __future__ import annotations

import random
from string import ascii_letters, digits
from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made
from slurm_rules.made import Asked, Judging
from slurm_rules.model import Stack
from slurm_rules.values import fault_of
from slurm_rules.world import world_of

from slinky_iac.config.operator.pod_places import fault_of_prefix, fault_of_variable
from slinky_iac.config.operator.raw_fields import KINDS
from slinky_iac.daemon_variables import OWN
from slinky_iac.releases import LINES, OperatorVersion
from tests.policies.judging import judged, messages, spec

KNOWN = (
    *OWN,
    *(OperatorVersion(1, minor, line.newest).topology_variable for minor, line in LINES.items()),
    *("KRB5_CONFIG", "KRB5CCNAME", "SLURMRESTD_DEBUG", "SLURMRESTD_DEBUG_SYSLOG", "SLURMRESTD_JSON", "SLURMRESTD_LISTEN"),
    *(
        "SLURMRESTD_SECURITY",
        "SLURM_TIME_FORMAT",
        "SBATCH_ACCOUNT",
        "MUNGE_X",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PATH",
        "ENV",
    ),
    *("BASH_ENV", "SHELLOPTS", "PS4", "LUA_PATH", "LUA_CPATH", "LDAPRC", "SSS_NSS_X", "SSL_CERT_FILE", "NSS_X", "DBUS_X"),
    *("MALLOC_TRACE", "MALLOC_ARENA_MAX", "LIBMYSQL_PLUGINS", "MARIADB_PLUGIN_DIR", "MARIADB_TLS_DISABLE_PEER_VERIFICATION"),
    *(
        "HTTPS_PROXY",
        "LOCPATH",
        "TZDIR",
        "TZ",
        "LANG",
        "LC_ALL",
        "LANGUAGES",
        "NCCL_DEBUG",
        "NCCL_NET_PLUGIN",
        "UCX_TLS",
        "SITE",
    ),
    *("NVIDIA_VISIBLE_DEVICES", "path", "A=B", "", "with blank", "KUBERNETES_SERVICE_HOST", "UCX_MODULE_DIR"),
)
VALUES = (
    "",
    "1",
    "16",
    "debug",
    "Europe/Berlin",
    "C.UTF-8",
    "/scratch/x.so",
    "/usr/local/nvidia/lib64",
    "/opt/../home/lib",
    "ofi",
)


def pack(kind: str, name: str, value: str, **more: Any) -> str | None:
    judging = Judging(world_of(Stack(())))
    return fault_of("env", Asked({"name": name, "value": value, **more}, "env", judging, {}, f"slinky.slurm.net/{kind}"))


def _random_names() -> list[str]:
    draw = random.Random(43)
    words = ("SLURM", "LD", "SITE", "NCCL", "PLUGIN", "OPTIONS", "POD", "PATH", "KRB5", "SSL", "X", "MODULE_DIR")
    of_words = ["_".join(draw.choices(words, k=draw.randint(1, 3))) for _ in range(300)]
    return [*of_words, *("".join(draw.choices(ascii_letters + digits + "_.-", k=draw.randint(1, 20))) for _ in range(300))]


@pytest.mark.parametrize("section", KINDS)
def test_both_doors_give_one_answer(section: str) -> None:
    """Of what the program or the operator sets, the pack takes what the program writes, too; nothing else differs."""
    kind, differ = KINDS[section], []
    for name in (*KNOWN, *_random_names()):
        for value in VALUES:
            refused, said = fault_of_variable(name, section, value), pack(kind, name, value)
            if bool(refused) != bool(said) and name not in OWN:
                differ.append((name, value, refused, said))
    assert differ == []


@pytest.mark.parametrize("section", KINDS)
@pytest.mark.parametrize("name", OWN)
def test_what_is_set_already_passes_the_pack_as_the_program_writes_it_alone(section: str, name: str) -> None:
    kind, own = KINDS[section], OWN[name]
    for value in (
        *VALUES,
        "evil",
        "/tmp/slurm.conf",
        "h:1",
        "/etc/slurm-jwks/slurm.jwks",
        "/etc/slinky-slurmctld/slurm.conf",
    ):
        written = kind in own.kinds and own.written is not None and own.written.fullmatch(value) is not None
        assert (pack(kind, name, value) is None) is (written or not fault_of_variable(name, section, value)), value


@pytest.mark.parametrize(
    ("section", "name", "value", "free"),
    [
        ("nodesets", "KRB5_CONFIG", "/scratch/krb5.conf", False),
        ("logins", "KRB5_CONFIG", "/etc/krb5.conf", False),
        ("restapi", "SLURMRESTD_DEBUG", "debug", True),
        ("restapi", "SLURMRESTD_DEBUG", "loud", False),
        ("restapi", "SLURMRESTD_LISTEN", "0.0.0.0:1", False),
        ("controller", "SITE", "north", False),
        ("controller", "MARIADB_TLS_DISABLE_PEER_VERIFICATION", "1", False),
        ("controller", "TZ", "Europe/Berlin", True),
        ("controller", "TZ", "/tmp/zone", False),
        ("nodesets", "SITE", "north", True),
        ("nodesets", "POD_TOPOLOGY", "x", False),
        ("nodesets", "SLINKY_TOPOLOGY", "x", False),
        ("nodesets", "LD_LIBRARY_PATH", "/usr/local/nvidia/lib64", True),
        ("nodesets", "LD_LIBRARY_PATH", "/scratch/lib", False),
        ("nodesets", "NCCL_NET_PLUGIN", "ofi", True),
        ("nodesets", "NCCL_NET_PLUGIN", "/scratch/x.so", False),
        ("nodesets", "NCCL_NET_PLUGIN", "", False),
        ("nodesets", "LUA_CPATH", "/scratch/?.so", False),
    ],
)
def test_the_answer_is_this_one(section: str, name: str, value: str, free: bool) -> None:
    assert (fault_of_variable(name, section, value) == "") is free
    assert (pack(KINDS[section], name, value) is None) is free


def nodeset(limits: dict[str, str], **variables: str) -> str:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    own = {"image": "ghcr.io/slinkyproject/slurmd:26.05", "resources": {"requests": limits, "limits": limits}, "env": env}
    return messages(judged(cluster_as_made, spec("nodeset", slurmd=own)))


@pytest.mark.parametrize(
    ("limits", "variables", "passes"),
    [
        ({"cpu": "7500m", "memory": "1500Mi"}, {"POD_CPUS": "8", "POD_MEMORY": "1500"}, True),
        ({"cpu": "64", "memory": "256Gi"}, {"POD_CPUS": "64", "POD_MEMORY": "262144"}, True),
        ({"cpu": "64"}, {"POD_CPUS": "16"}, False),
        ({"cpu": "64"}, {"POD_CPUS": "all"}, False),
        ({"memory": "64Gi"}, {"POD_CPUS": "16"}, False),
        ({"cpu": "64", "memory": "256Gi"}, {"POD_MEMORY": "999999"}, False),
        ({"cpu": "64"}, {"POD_TOPOLOGY": "tree:r1"}, False),
    ],
)
def test_what_slurmd_takes_for_its_size_is_what_its_limits_give(
    limits: dict[str, str], variables: dict[str, str], passes: bool
) -> None:
    """With more, slurmctld would start more on the node than the pod has, and Kubernetes would end it with its jobs."""
    assert ("env" not in nodeset(limits, **variables)) is passes


def test_keys_of_a_config_map_are_unknown_names() -> None:
    for section in ("controller", "accounting", "restapi"):
        assert "this daemon has the cluster's keys" in fault_of_prefix("SITE_", section)
    for prefix in ("", "SITE_", "NCCL_"):
        assert fault_of_prefix(prefix, "nodesets") == ""
    for prefix in ("LD_", "POD_", "SLURM_", "BASH_", "KRB5_", "LUA_", "SACKD_"):
        assert "Take another prefix" in fault_of_prefix(prefix, "nodesets")
