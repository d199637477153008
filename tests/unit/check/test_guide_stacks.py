"""Stacks as a new user writes them from Slinky's guide: sound at the second try, by pasting what each error prints."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Finding, Level
from tests.stacks import merged, read_yaml, yaml_of

BOTH_OUTSIDE = """\
config:
  slinky-iac:cluster:
    name: atlas
    slurmVersion: 26.05
  slinky-iac:controller:
    external: true
    externalConfig: {host: ctl.example.net, port: 6817}
    slurmKeyRef: {name: slurm-auth-slurm, key: slurm.key}
    jwtHs256KeyRef: {name: slurm-auth-jwths256, key: jwt_hs256.key}
  slinky-iac:accounting:
    external: true
    externalConfig: {host: dbd.example.net, port: 6819}
  slinky-iac:nodesets:
    cpu: {replicas: 2}
"""
SLURMDBD_OUTSIDE = """\
config:
  slinky-iac:clusterName: atlas
  slinky-iac:controller:
    slurmKeyRef: {name: slurm-auth-slurm, key: slurm.key}
    jwtHs256KeyRef: {name: slurm-auth-jwths256, key: jwt_hs256.key}
  slinky-iac:accounting:
    external: true
    externalConfig: {host: dbd.example.net, port: 6819}
  slinky-iac:nodesets:
    cpu: {count: 4}
"""
HOST_NETWORK = """\
config:
  slinky-iac:cluster: {name: atlas, slurmVersion: "26.05"}
  slinky-iac:keys: {source: imported}
  slinky-iac:controller:
    external: {host: ctl.example.net, port: 6817}
  slinky-iac:accounting:
    external: {host: dbd.example.net, port: 6819}
  slinky-iac:nodesets:
    cpu:
      replicas: 2
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      slurmd:
        resources: {limits: {cpu: 8}}
"""
GPUS = """\
config:
  slinky-iac:cluster: {name: atlas, slurmVersion: "26.05.2"}
  slinky-iac:keys: {source: imported}
  slinky-iac:controller:
    external: {host: ctl.example.net}
  slinky-iac:accounting:
    external: {host: dbd.example.net}
  slinky-iac:nodesets:
    gpu:
      replicas: 2
      gpus: 8
      partition: {configMap: {MaxTime: UNLIMITED}}
  slinky-iac:drain:
    limits: {maxShare: 50%}
"""


def errors(data: dict[str, Any]) -> list[Finding]:
    return [place.finding for place in judge(yaml_of(data))[1] if place.finding.level is Level.ERROR]


def pasted(data: dict[str, Any], finding: Finding) -> dict[str, Any]:
    """The stack as somebody leaves it who removes what the error names and pastes what it prints, with a Secret's name."""
    config = dict(data["config"])
    section, *rest = finding.path.split(".")
    key = f"slinky-iac:{section}"
    if "is not a setting" in finding.message or (finding.paste and isinstance(within(config, [key, *rest]), bool | float)):
        config = without(config, [key, *rest])
    paste = finding.paste.replace("NAME", "slurm-auth").replace("IMAGE", "registry.example.net/slurmd:26.05")
    return {"config": merged(config, read_yaml(paste) or {})}


def within(data: Any, path: list[str]) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def without(data: dict[str, Any], path: list[str]) -> dict[str, Any]:
    if len(path) == 1:
        return {name: value for name, value in data.items() if name != path[0]}
    inner = data.get(path[0])
    return {**data, path[0]: without(inner, path[1:])} if isinstance(inner, dict) else data


@pytest.mark.parametrize(
    ("text", "faults"),
    [(BOTH_OUTSIDE, 7), (SLURMDBD_OUTSIDE, 8), (HOST_NETWORK, 3), (GPUS, 2)],
    ids=["slurmctld and slurmdbd outside", "slurmdbd outside", "host network", "GPUs"],
)
def test_a_stack_of_the_guide_is_sound_at_the_second_try(text: str, faults: int) -> None:
    first = errors(read_yaml(text))
    assert len(first) == faults, "all are listed at once"
    second = read_yaml(text)
    for finding in first:
        second = pasted(second, finding)
    assert [str(each) for each in errors(second)] == []


def test_what_was_typed_is_kept() -> None:
    second = read_yaml(BOTH_OUTSIDE)
    for finding in errors(second):
        second = pasted(second, finding)
    config, _ = judge(yaml_of(second))
    assert config is not None
    assert config.controller.external is not None
    assert (config.controller.external.host, config.controller.external.port) == ("ctl.example.net", 6817)
    assert config.accounting.external is not None
    assert (config.accounting.external.host, config.accounting.external.port) == ("dbd.example.net", 6819)
    assert config.nodesets["cpu"].replicas == 2
