"""A message about a value or a word says what to write in its place."""

from __future__ import annotations

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.commands.mend import mended
from slinky_iac.config.findings import Level

HEAD = "config:\n  slinky-iac:cluster: {name: atlas}\n  slinky-iac:accounting: {enabled: false}\n"
GPU = f"{HEAD}  slinky-iac:nodesets:\n    gpu:\n      replicas: 1\n"


def errors(text: str) -> list[str]:
    return [str(each.finding) for each in judge(text)[1] if each.finding.level is Level.ERROR]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}  slinky-iac:drain: 30m\n", "write, for example, slinky-iac:drain: {deadline: 2h"),
        (f"{HEAD}  slinky-iac:controller:\n    extraConf: [a]\n", "got a list: write, for example, extraConf: {Slurm"),
        (f"{HEAD}  slinky-iac:controller:\n    prolog: {{p.sh: 5}}\n", "write `p.sh: |`"),
        (f"{HEAD}  slinky-iac:drain:\n    limits: {{maxShare: 150%}}\n", "must be at most 100%, got '150%'"),
        (f"{GPU}      features: a100\n", "must be a list, got a text: write features: [a100]"),
        (f"{GPU}      minReplicas: 0\n", "it is `autoscale.minReplicas`, with `owner: autoscaler`"),
        (f"{GPU}      partitions: [long]\n", "the other way round: `partitions.NAME.nodesets: [gpu]`"),
        (
            f"{GPU}      replicas:\n".replace("replicas: 1\n      ", ""),
            "give it a value, for example replicas: ",
        ),
        (f"{GPU}  slinky-iac:partitions:\n    a: {{nodesets: [gpu], maxTime: 9}}\n", "it is `config.MaxTime`"),
        (f"{GPU}      volumes: [{{name: a, mountPath: /a, nfs: {{}}}}]\n", "goes below `source`: source: {nfs: …}"),
        (HEAD.replace("name: atlas", 'name: atlas, slurmVersion: "26.5"'), "its year and its month, as 26.05"),
        (HEAD.replace("name: atlas", "name: atlas, slurmVersion: 24.11"), "24.11 is older than 25.11, which slurm-operator"),
    ],
)
def test_what_to_write_is_said_and_nothing_that_follows_from_it(text: str, said: str) -> None:
    (found,) = errors(text)
    assert said in found


@pytest.mark.parametrize("order", [("requests", "limits"), ("limits", "requests")])
def test_sizes_as_kubernetes_writes_them_become_one_size_in_either_order(order: tuple[str, str]) -> None:
    both = {"requests": "requests: {cpu: 1}", "limits": "limits: {cpu: 16, memory: 64Gi}"}
    text = f"{GPU}      resources: {{{', '.join(both[each] for each in order)}}}\n"
    (found,) = errors(text)
    assert "cpu is 16 (requests say 1)" in found
    new = mended(text, "slinky-iac", lambda text, project: judge(text, project)[1]).text
    assert "      resources:\n        cpus: 16\n        memory: 64Gi\n" in new.replace('"', "")
    assert errors(new) == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("config:\n  slinky-iac:cluster:\n    name: atlas: prod\n", 3, "has `: ` in it: put quotes around it"),
        ('config:\n  slinky-iac:cluster:\n    name: "atlas\n    maxNodeCount: 3\n', 3, "the quote that opens in line 3"),
        ("config:\n  slinky-iac:nodesets:\n    gpu:\n      replicas 2\n      gres: [a]\n", 4, "line 4 has no `:`"),
    ],
)
def test_a_slip_of_yaml_is_named_with_its_own_line(text: str, line: int, said: str) -> None:
    (found,) = judge(text)[1]
    assert (found.line, said in found.finding.message) == (line, True), found
