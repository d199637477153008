"""What the stack would refuse isn't written: the importer leaves it out by the chart's key, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.config.chart.translation import as_yaml
from slinky_iac.config.findings import Level
from tests.unit.chart.reading import found, taken

NOT_ROOT = "podSpec: {securityContext: {runAsNonRoot: false, fsGroup: 401}}"
EMPTY: list[tuple[str, str]] = [
    (f"controller: {{{NOT_ROOT}}}", "controller.podSpec.securityContext.runAsNonRoot"),
    (
        f"accounting: {{enabled: true, storageConfig: {{host: db}}, {NOT_ROOT}}}",
        "accounting.podSpec.securityContext.runAsNonRoot",
    ),
    (f"restapi: {{{NOT_ROOT}}}", "restapi.podSpec.securityContext.runAsNonRoot"),
    (f"loginsets: {{a: {{{NOT_ROOT}}}}}", "loginsets.a.podSpec.securityContext.runAsNonRoot"),
    (f"nodesets: {{a: {{{NOT_ROOT}}}}}", "nodesets.a.podSpec.securityContext.runAsNonRoot"),
    (f"nodesetDefaults: {{{NOT_ROOT}}}\nnodesets: {{a: {{}}}}", "nodesetDefaults.podSpec.securityContext.runAsNonRoot"),
    (
        "nodesets: {a: {slurmd: {securityContext: {privileged: false}}}}",
        "nodesets.a.slurmd.securityContext.privileged",
    ),
    (
        "nodesets: {a: {podSpec: {nodeSelector: {node-role.kubernetes.io/gpu: ''}}}}",
        "nodesets.a.podSpec.nodeSelector.node-role.kubernetes.io/gpu",
    ),
    ("nodesets: {a: {podSpec: {terminationGracePeriodSeconds: 0}}}", "nodesets.a.podSpec.terminationGracePeriodSeconds"),
    (
        "controller: {slurmctld: {securityContext: {readOnlyRootFilesystem: false, runAsUser: 401}}}",
        "controller.slurmctld.securityContext.readOnlyRootFilesystem",
    ),
]


def errors(settings: dict[str, Any]) -> list[str]:
    text = "config:\n" + "".join(f"  {line}\n" for line in as_yaml(settings).splitlines())
    return [str(each.finding) for each in judge(text)[1] if each.finding.level is Level.ERROR]


@pytest.mark.parametrize(("values", "key"), EMPTY, ids=[key for _, key in EMPTY])
def test_an_empty_value_that_the_operator_drops_is_left_out_by_name(values: str, key: str) -> None:
    text = f"clusterName: a\n{values}"
    read = found(text)
    left = dict(read.taken.left)
    assert "so this has no effect with Helm either" in left[key]
    assert key not in dict(read.taken.used)
    assert not [each for each in errors(read.taken.settings) if "drops silently" in each]
    assert key not in taken(text, (1, 0))[1], "1.0 takes what it is given"


def test_what_stands_beside_it_is_carried_over() -> None:
    settings, _ = taken(
        f"controller: {{{NOT_ROOT}}}\nnodesets: {{a: {{slurmd: {{securityContext: {{privileged: false}}}}}}}}"
    )
    assert settings["controller"]["raw"] == {"pod": {"securityContext": {"fsGroup": 401}}}
    assert "privileged" not in settings["nodesets"]["a"]


DOWN = "scontrol update nodename=$(hostname) state=down reason=x"
DELETE = "scontrol delete nodename=$(hostname)"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"[sh, -c, '{DOWN}']", "which ends its jobs"),
        (f"[/bin/bash, -ec, 'set -x; {DOWN}; {DELETE}']", "which ends its jobs"),
        ("[scontrol, update, NodeName=x, State=DOWN]", "which ends its jobs"),
        (f"[sh, -c, '{DELETE}']", "deletes a node's record"),
        (f"[/usr/bin/env, bash, -e, -c, '{DELETE}']", "deletes a node's record"),
        ("[sh, -c, '\"$@\"', x, scontrol, delete, nodename=y]", "deletes a node's record"),
        ("[scancel, --state=RUNNING, sh, -c, 'true']", "ends jobs of others"),
        ("[/usr/bin/scontrol, delete, node, x]", "deletes a node's record"),
        ("[sh, -c, 'scancel --state=RUNNING']", "ends jobs of others"),
    ],
)
@pytest.mark.parametrize("hook", ["preStop", "postStart"])
@pytest.mark.parametrize("line", [(1, 0), (1, 2)])
def test_a_hook_that_ends_jobs_is_left_out_by_name(command: str, words: str, hook: str, line: tuple[int, int]) -> None:
    other = "preStop" if hook == "postStart" else "postStart"
    lifecycle = f"{{{hook}: {{exec: {{command: {command}}}}}, {other}: {{exec: {{command: ['true']}}}}}}"
    settings, left = taken(f"clusterName: a\nnodesets: {{a: {{slurmd: {{lifecycle: {lifecycle}}}}}}}", line)
    assert words in left[f"nodesets.a.slurmd.lifecycle.{hook}"]
    assert settings["nodesets"]["a"]["raw"]["container"] == {"lifecycle": {other: {"exec": {"command": ["true"]}}}}


@pytest.mark.parametrize("command", ["[sh, -e, -c, 'echo $(hostname) > /tmp/x']", "[/usr/bin/touch, /tmp/x]", "none"])
def test_a_hook_that_does_no_harm_is_carried_over(command: str) -> None:
    _, left = taken(f"nodesets: {{a: {{slurmd: {{lifecycle: {{preStop: {{exec: {{command: {command}}}}}}}}}}}}}")
    assert left == {}
