"""What stands at any place of a chart's values and looks like a secret is in no message of `slinky import-chart`."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from slinky_iac.commands.cli import main
from slinky_iac.config.chart.said import veiled
from tests.stacks import read_yaml
from tests.unit.config.test_shown import places

VALUES = """
clusterName: atlas
imagePullSecrets: [{name: pull}]
slurmKey: {create: false, secretRef: {name: auth, key: slurm.key}}
jwtKey: {create: false, secretRef: {name: jwt, key: jwt.key}}
sssd: {conf: '[sssd]'}
configFiles: {gres.conf: AutoDetect=nvidia}
prologScripts: {a.sh: '#!/bin/sh'}
controller:
  slurmctld: {image: {repository: ghcr.io/slinkyproject/slurmctld, tag: 26.05-ubuntu24.04}, env: [{name: TZ, value: UTC}]}
  persistence: {enabled: true, existingClaim: state, storageClassName: fast}
  extraConf: SlurmctldDebug=debug2
  extraConfMap: {MinJobAge: 300}
  podSpec: {nodeSelector: {pool: hpc}, tolerations: [{key: a, operator: Exists}]}
  service: {spec: {type: LoadBalancer}}
accounting:
  enabled: true
  storageConfig: {host: db, port: 3306, database: slurm, username: slurm, passwordKeyRef: {name: maria, key: password}}
restapi: {replicas: 1, slurmrestd: {args: [-v]}}
loginsets:
  main:
    enabled: true
    rootSshAuthorizedKeys: ssh-ed25519 AAAA root
    extraSshdConfig: X11Forwarding no
    login: {env: [{name: A, value: b}], volumeMounts: [{name: home, mountPath: /home}]}
    podSpec: {volumes: [{name: home, nfs: {server: nfs, path: /home}}]}
nodesets:
  gpu:
    enabled: true
    replicas: 2
    slurmd: {env: [{name: A, value: b}], resources: {limits: {cpu: 8, nvidia.com/gpu: 2}}}
    extraConf: Gres=gpu:2
    extraConfMap: {Weight: 1}
    partition: {enabled: true, config: MaxTime=1}
    updateStrategy: {type: RollingUpdate}
    taintKubeNodes: true
partitions: {all: {enabled: true, nodesets: [ALL], configMap: {State: UP}}}
vendor: {nvidia: {dcgm: {enabled: true}}}
mariadb: {auth: {password: x}}
"""
OPERATOR = """
namespaceOverride: slinky
operator: {replicas: 1, image: {tag: 1.2.1}, env: [{name: A, value: b}]}
webhook: {enabled: true}
certManager: {enabled: true, secretName: ca}
nameOverride: x
"""
AT_ONCE = 12
"""Places that one file of values has a marker at, none of them inside another."""
Where = tuple[Any, ...]
MARKERS = {
    "a key": "{:03d}hbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQgbm93aGVyZSBlbHNl",
    "a password": "{:03d}er2-S3cret!with&more",
}


def groups(every: list[Where]) -> Iterator[list[Where]]:
    while every:
        taken: list[Where] = []
        for where in every:
            apart = all(where[: len(each)] != each and each[: len(where)] != where for each in taken)
            if len(taken) < AT_ONCE and apart:
                taken.append(where)
        yield taken
        every = [where for where in every if where not in taken]


def marked(data: dict[str, Any], where: Where, marker: str, *, as_key: bool) -> None:
    inner: Any = data
    for part in where[:-1]:
        inner = inner[part]
    if not as_key:
        inner[where[-1]] = marker
    elif isinstance(inner, dict):
        inner[marker] = inner.pop(where[-1])


@pytest.mark.parametrize("as_key", [False, True], ids=["as a value", "as a name"])
@pytest.mark.parametrize("kind", MARKERS)
@pytest.mark.parametrize("file", ["VALUES", "--operator"])
def test_no_secret_in_values_is_in_what_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, kind: str, as_key: bool
) -> None:
    texts = {"VALUES": VALUES, "--operator": OPERATOR}
    shows = []
    for number, group in enumerate(groups(list(places(read_yaml(texts[file]))))):
        data = copy.deepcopy(read_yaml(texts[file]))
        markers = {MARKERS[kind].format(at): where for at, where in enumerate(group)}
        for marker, where in sorted(markers.items(), key=lambda each: str(each[1]), reverse=True):
            marked(data, where, marker, as_key=as_key)
        for name, text in (texts | {file: yaml.safe_dump(data)}).items():
            (tmp_path / f"{name.strip('-')}.yaml").write_text(text)
        for form in ([], ["--json"]):
            out = tmp_path / f"Pulumi.x{number}{len(form)}.yaml"
            files = [str(tmp_path / "VALUES.yaml"), "--operator", str(tmp_path / "operator.yaml")]
            main(["import-chart", *files, "--out", str(out), *form])
            said = "".join(capsys.readouterr())
            shows += [where for marker, where in markers.items() if marker[:13] in said]
    assert shows == []


def test_of_values_the_names_are_shown_and_the_rest_in_part() -> None:
    veil = veiled(
        {"image": "registry.example.org/hpc/a-long-folder/slurmctld:26.05-ubuntu24.04", "b": ["hunter2-S3cret!with&more"]}
    )
    assert veil("it has registry.example.org/hpc/a-long-folder/slurmctld:26.05-ubuntu24.04").endswith("-ubuntu24.04")
    assert veil("it has hunter2-S3cret!with&more") == "it has 'hunter2-'… (24 characters)"
