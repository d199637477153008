"""A mistake that people make is named with what they typed, the line where it is, and what to write."""

from __future__ import annotations

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Level

STACK = """\
config:
  slinky-iac:cluster:
    name: hpc1
    maxNodeCount: 70
  slinky-iac:keys:
    source: imported
  slinky-iac:controller:
    external:
      host: ctl1.example.org
      port: 6817
  slinky-iac:accounting:
    external:
      host: dbd1.example.org
  slinky-iac:nodesets:
    cpu:
      replicas: 4
      resources: {cpus: 32, memory: 128Gi}
    gpu:
      replicas: 2
      gres: ["gpu:4"]
      resources:
        cpus: 64
        extended: {nvidia.com/gpu: 4}
"""
CPU = "      resources: {cpus: 32, memory: 128Gi}\n"


@pytest.mark.parametrize(
    "line", ["replicas: 2", "backups: [ctl2.example.org]", "ha: {enabled: true}", "raw: {spec: {ha: {backups: 1}}}"]
)
def test_a_second_slurmctld_in_kubernetes_is_told_what_there_is_instead(line: str) -> None:
    section = "slinky-iac:controller:\n"
    (found,) = [each for each in said(section, f"{section}    {line}\n") if "is one pod here" in each]
    assert "A slurmctld outside can have backups (`controller.external.backups`)" in found


def said(old: str, new: str, *levels: Level) -> list[str]:
    assert old in STACK
    text = STACK.replace(old, new, 1)
    return [f"{each.line}: {each.finding}" for each in judge(text)[1] if each.finding.level in (levels or (Level.ERROR,))]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("memory: 128Gi", "memory: 131072", "for example 131072Mi, or 128Gi (Slurm counts MB, and Kubernetes bytes)"),
        ("memory: 128Gi", "memory: 128GB", "got '128GB'; write 128G or 128Gi"),
        ("memory: 128Gi", "memory: lots", "an amount of memory is a number with a unit, for example 512Mi or 16Gi"),
        ("cpus: 32", "cpus: some", "for example 500m or 4"),
        (
            "port: 6817",
            "port: 6819",
            "controller.external: port 6819 is slurmdbd's usual one, and slurmctld's is 6817: leave port out. If slurmctld",
        ),
        (
            "host: dbd1.example.org",
            "host: dbd1.example.org\n      port: 6817",
            "accounting.external: port 6817 is slurmctld's usual one, and slurmdbd's is 6819: leave port out. If slurmdbd",
        ),
        ("name: hpc1", "name: Hydra Cluster", "cluster.name: got 'Hydra Cluster'; ClusterName is 1 to 40 of letters"),
        ("name: hpc1", "name: a b c d e f g h", "cluster.name: got 'a b c'… (15 characters); ClusterName is 1 to 40"),
        ("    gpu:\n", "    gpu_a100_training:\n", "at most 63 characters, for example gpu-a100-training"),
        (
            "    gpu:\n",
            "    gpu_a:\n",
            "got 'gpu_a'; Kubernetes allows lower-case letters, digits and inner dashes, at most 63",
        ),
        ("port: 6817", "port: 7000", "port 7000 with a host name: the operator always writes port 6817"),
        ("host: ctl1.example.org", "host: 10.0.0.300", "an IPv4 address is four numbers of 0 to 255, and 300 is above 255"),
        ("host: ctl1.example.org", "host: 10.0.0.010", "of 0 to 255, and none of them begins with 0"),
        (
            "host: ctl1.example.org",
            "host: [ctl1.example.org, ctl2.example.org]",
            "one host; further ones go in controller.ext",
        ),
        (
            "host: ctl1.example.org",
            "host: ctl1,ctl2",
            "got 'ctl1,ctl2': one host; further ones go in controller.external.backups",
        ),
        (
            "host: ctl1.example.org",
            "hosts: [ctl1.example.org]",
            "controller.external.hosts: is not a setting; it is `host`, one",
        ),
        (
            "host: ctl1.example.org",
            "host: ctl1.example.org:6817",
            "controller.external.host: got 'ctl1.example.org:6817'; the port goes in `port`",
        ),
        ("host: ctl1.example.org", "host: ctl1.Example.org", "got 'ctl1.Example.org'"),
        ("port: 6817", "port: 6817-6818", "controller.external.port: got 6817-6818; give one port of the range"),
        ('gres: ["gpu:4"]', "gres: gpu:4", '20: nodesets.gpu.gres: must be a list: write gres: ["gpu:4"]'),
        (
            "extended: {nvidia.com/gpu: 4}",
            "nvidia.com/gpu: 4",
            "resources.nvidia.com/gpu: is not a setting; a device goes below",
        ),
        (
            "extended: {nvidia.com/gpu: 4}",
            'extended: {nvidia.com/gpu: "gpu:4"}',
            "must be a whole number: 4 here; gpu:4 goes in gres",
        ),
        (
            CPU,
            "      partition: {MaxTime: 1-00:00:00}\n",
            "partition.MaxTime: is not a setting; it goes below partition.config",
        ),
        (
            "maxNodeCount: 70",
            "images: {slurmrestd: {repository: a/b, tag: c}}",
            "cluster.images.slurmrestd: an image is one",
        ),
        (
            "source: imported",
            "source: munge",
            "keys.source: got munge; the setting is `keys.auth: auth/munge`",
        ),
        ("    cpu:\n", "    cpu-[0-3]:\n", "a NodeSet's pods are numbered: name it cpu and give replicas: 4"),
        ("    name: hpc1", "    name: hpc1\n    namespace: kube-system", "cluster.namespace: is kube-system, which is"),
        (
            "slinky-iac:controller",
            "slinky-iac:slurmctld",
            "slurmctld: is not a setting; the section of slurmctld is `controller`",
        ),
        (
            "    source: imported",
            "    source: existing\n    jwtHs256KeyRef: {name: b, key: jwt.key}",
            "keys.jwtHs256KeyRef: is not a setting; it is `jwtKeyFrom: {secret: …, key: …}`",
        ),
        (
            "replicas: 4",
            "replicas: 80",
            "check counts only what this file names, and `slinky preflight` counts slurm.conf's",
        ),
        ("      replicas: 4", "      replicas:4", "16: a space is missing after `:`"),
        (
            "    cpu:\n      replicas: 4\n",
            "    cpu:\n    replicas: 4\n",
            "17: line 17 is indented more than line 16",
        ),
        (
            "    cpu:\n      replicas: 4\n",
            "    cpu:\n       replicas: 4\n",
            "17: line 17 is indented less than line 16",
        ),
        (
            "    gpu:\n      replicas: 2\n",
            "      gpu:\n        replicas: 2\n",
            "18: nodesets.cpu.gpu: is not a setting; a NodeSet named gpu? Then indent it by 4",
        ),
        (
            "  slinky-iac:accounting:",
            "      slinky-iac:accounting:",
            "11: controller.external.slinky-iac:accounting: is a section",
        ),
    ],
)
def test_a_mistake_is_named_with_what_to_write(old: str, new: str, expected: str) -> None:
    found = said(old, new)
    assert any(expected in each for each in found), found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slinky-iac:controller", "slinky-iac:slurmctld"),
        (
            "    external:\n      host: ctl1.example.org\n      port: 6817",
            "    external: true\n    externalConfig:\n      host: ctl1.example.org",
        ),
    ],
)
def test_nothing_is_said_that_only_follows_from_a_section_that_could_not_be_read(old: str, new: str) -> None:
    text = STACK.replace(old, new, 1).replace("name: hpc1", 'name: hpc1\n    slurmVersion: "25.11"')
    assert [each.finding.path for each in judge(text)[1] if each.finding.path.startswith("cluster")] == []


def test_a_section_in_another_one_is_named_with_its_place() -> None:
    found = said(CPU, "      slinky-iac:external: {loginHosts: []}\n")
    assert found == [
        "17: nodesets.cpu.slinky-iac:external: is a section and stands inside nodesets.cpu; move it out to 2 spaces"
    ]


def test_a_section_without_prefix_beside_config_is_not_passed_over() -> None:
    moved = "    external:\n      host: dbd1.example.org\n"
    assert said(f"  slinky-iac:accounting:\n{moved}", f"accounting:\n{moved}slinky:\n")[-2:] == [
        "11: accounting: stands beside `config:` and not below it, so it isn't read: indent it, and all that is below it, by"
        " two",
        "14: slinky: stands beside `config:` and not below it, so it isn't read. Remove it, or write it below `config:`",
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('      gres: ["gpu:4"]\n', "", "nodesets.gpu.resources.extended: asks Kubernetes for 4 GPUs, and gres names none"),
        ('gres: ["gpu:4"]', 'gres: ["gpu"]', "nodesets.gpu.gres: has 1 GPU, and resources.extended asks Kubernetes for 4"),
        ("nvidia.com/gpu: 4", "nvidia.com/gpus: 4", "did you mean nvidia.com/gpu?"),
    ],
)
def test_gpus_that_slurm_does_not_give_to_jobs_are_a_warning(old: str, new: str, expected: str) -> None:
    assert any(expected in each for each in said(old, new, Level.WARNING, Level.ERROR)), said(old, new, *Level)


def test_an_outside_slurmctld_is_asked_for_gres_conf() -> None:
    found = said("gres:", "gres:", Level.INFO)
    assert any("gres.conf" in each and "AutoDetect=nvidia" in each for each in found), found


@pytest.mark.parametrize("line", ["limits: {nvidia.com/gpu: 8}", "requests: {cpu: 64, memory: 128Gi}"])
def test_sizes_without_resources_around_them_are_no_limits_of_a_drain(line: str) -> None:
    (found,) = said(CPU, f"      {line}\n")
    assert "is not a setting; a pod's sizes are below `resources`: " in found
    assert "drain" not in found


def test_a_setting_of_a_level_below_is_named_for_what_can_be_one() -> None:
    assert "it is `nodesets.cpu.drain.limits`" in said(CPU, "      limits: {maxShare: 0.5}\n")[0]
    (found,) = said(CPU, "      maxUnavailable: {a: b}\n")
    assert "it is `nodesets.cpu.updateStrategy.maxUnavailable`" in found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            CPU,
            "      partition: {name: batch}\n",
            "a NodeSet's own partition has its name; another one is `partitions.NAME` with",
        ),
        (
            "      host: dbd1.example.org\n",
            "      host: dbd1.example.org\n      backup: dbd2.example.org\n",
            "one host: a second slurmdbd is AccountingStorageBackupHost of the outside slurm.conf",
        ),
        (
            "  slinky-iac:nodesets:\n",
            "  slinky-iac:logins:\n    main: {sssd: x}\n  slinky-iac:nodesets:\n",
            "mean sssdConfFrom?",
        ),
        (
            "  slinky-iac:nodesets:\n",
            "  slinky-iac:logins:\n    main: {port: 2222}\n  slinky-iac:nodesets:\n",
            "stays sshd's, 22",
        ),
    ],
)
def test_a_word_of_another_place_leads_to_what_there_is(old: str, new: str, expected: str) -> None:
    assert any("is not a setting; " in each and expected in each for each in said(old, new)), said(old, new)
