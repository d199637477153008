"""Lines of configuration files and amounts of resources: one that can't be carried over takes no other with it."""

from __future__ import annotations

import pytest
import yaml

from slinky_iac.commands.check import judge
from slinky_iac.config.chart.translation import advice, as_yaml, merged
from slinky_iac.config.findings import Level
from tests.unit.chart.reading import found, taken

METAL = """
clusterName: atlas
nodesets: {gpu: {replicas: 1}}
controller:
  extraConf: |
    SlurmctldParameters=enable_configless  # for hosts
    NodeName=metal-[001-002] NodeAddr=10.0.0.[1-2] \\
      CPUs=64 RealMemory=256000
    nodename=big CPUs=128
    PartitionName=metal Nodes=metal-[001-002],big Default=YES MaxTime=UNLIMITED
    PartitionName=both Nodes=gpu,big
    PartitionName=none
    MinJobAge=2
"""


def test_hosts_and_partitions_of_slurm_conf_are_settings() -> None:
    settings, left = taken(METAL)
    assert left == {}
    assert settings["controller"]["extraConf"] == {"SlurmctldParameters": "enable_configless", "MinJobAge": "2"}
    assert settings["external"]["slurmdHosts"] == [
        {"name": "metal-[001-002]", "address": "10.0.0.[1-2]", "config": {"CPUs": "64", "RealMemory": "256000"}},
        {"name": "big", "config": {"CPUs": "128"}},
    ]
    assert settings["partitions"] == {
        "metal": {"nodesets": ["metal-[001-002]", "big"], "config": {"Default": "YES", "MaxTime": "UNLIMITED"}},
        "both": {"nodesets": ["gpu", "big"]},
        "none": {"nodesets": []},
    }
    config, places = judge("config:\n" + "".join(f"  {line}\n" for line in as_yaml(settings).splitlines()))
    assert not [place for place in places if place.finding.level is Level.ERROR]
    assert config is not None
    assert [host.name for host in config.external.slurmd_hosts] == ["metal-001", "metal-002", "big"]


def test_a_line_that_has_no_setting_is_left_out_alone_with_what_check_would_say() -> None:
    settings, left = taken(
        """
        controller:
          extraConf: |
            MinJobAge=2
            SlurmctldHost=a
            SlurmctldHost=b
            DownNodes=x State=DOWN
            DownNodes=y State=DOWN
            Include other.conf
            NodeName=a CPUs=4
            NodeName=DEFAULT CPUs=2
            NodeName=b
            a line of words
        """
    )
    assert settings["controller"]["extraConf"]["MinJobAge"] == "2"
    hosts = settings["external"]["slurmdHosts"]
    assert hosts == [{"name": "a", "config": {"CPUs": "4"}}, {"name": "b", "config": {"CPUs": "2"}}]
    assert {key.removeprefix("controller.extraConf ") for key in left} == {
        "(SlurmctldHost=a)", "(SlurmctldHost=b)", "(DownNodes=x)", "(DownNodes=y)", "(Include)", "(a)",
    }  # fmt: skip
    assert "set controller.external.host. Leave it out" in left["controller.extraConf (SlurmctldHost=a)"]
    assert "below extraConf" in left["controller.extraConf (Include)"]


def test_defaults_of_lines_are_in_each_that_follows_as_slurm_reads_them() -> None:
    settings, left = taken(
        """
        controller:
          extraConf: |
            PartitionName=early Nodes=a
            PartitionName=DEFAULT MaxTime=1-0 State=UP
            PartitionName=all Nodes=ALL maxtime=7-0
            PartitionName=DEFAULT State=DOWN DefMemPerCPU=100
            PartitionName=late Nodes=b
        """
    )
    assert left == {}
    assert {name: each.get("config", {}) for name, each in settings["partitions"].items()} == {
        "early": {},
        "all": {"maxtime": "7-0", "State": "UP"},
        "late": {"MaxTime": "1-0", "State": "DOWN", "DefMemPerCPU": "100"},
    }


@pytest.mark.parametrize("as_mapping", [False, True])
def test_what_the_operator_or_a_setting_writes_is_left_out_and_a_password_is_nowhere(as_mapping: bool) -> None:
    controller = {"SlurmUser": "slurm", "StateSaveLocation": "/var/spool/x", "MaxNodeCount": "300", "MinJobAge": "300"}
    database = {"StoragePass": "hunter2", "DbdHost": "db", "PurgeJobAfter": "12months"}
    written = [controller, database]
    if not as_mapping:
        written = ["".join(f"{key}={value}\n" for key, value in each.items()) for each in written]
    name = "extraConfMap" if as_mapping else "extraConf"
    values = {"controller": {name: written[0]}, "accounting": {"enabled": True, name: written[1]}}
    read = found(yaml.safe_dump(values))
    settings = read.taken.settings
    assert settings["controller"]["extraConf"] == {"MinJobAge": "300"}
    assert settings["accounting"]["extraConf"] == {"PurgeJobAfter": "12months"}
    assert settings["cluster"]["maxNodeCount"] == 300
    assert "hunter2" not in str(read)


def test_of_a_parameter_that_is_there_twice_the_last_one_counts_as_for_slurm() -> None:
    read = found(
        'controller: {extraConf: "MinJobAge=2\\nminjobage=3\\n"}\n'
        'accounting: {enabled: true, extraConf: "DebugLevel=info\\nDebugLevel=debug\\nArchiveJobs=no\\n"}\n'
        "nodesets: {a: {extraConf: 'Weight=1 Weight=2'}}\n"
    )
    settings = read.taken.settings
    assert settings["controller"]["extraConf"] == {"minjobage": "3"}
    assert settings["accounting"]["extraConf"] == {"DebugLevel": "debug", "ArchiveJobs": "no"}
    assert settings["nodesets"]["a"]["extraConf"] == {"Weight": "2"}
    assert [note.split(":")[0] for note in read.notes if "Slurm takes the last one" in note] == [
        "nodesets.a.extraConf", "accounting.extraConf", "controller.extraConf",
    ]  # fmt: skip


def test_a_text_counts_and_the_mapping_beside_it_does_not_as_in_the_chart() -> None:
    read = found(
        "controller: {extraConf: MaxJobCount=10000, extraConfMap: {MaxJobCount: 5000, KillWait: 60}}\n"
        "nodesetDefaults: {extraConf: Weight=1}\n"
        "nodesets: {a: {extraConfMap: {Weight: 2}, partition: {enabled: true, config: MaxTime=1-0, configMap: {LLN: NO}}}}\n"
        "partitions: {p: {enabled: true, nodesets: [a], config: MaxTime=2-0, configMap: {State: UP}}}\n"
    )
    settings = read.taken.settings
    assert (read.taken.left, settings["controller"]["extraConf"]) == ([], {"MaxJobCount": "10000"})
    assert settings["nodesets"]["a"]["extraConf"] == {"Weight": "1"}
    assert settings["nodesets"]["a"]["partition"]["config"] == {"MaxTime": "1-0"}
    assert settings["partitions"]["p"]["config"] == {"MaxTime": "2-0"}
    assert {note.split(":")[0] for note in read.notes if "doesn't read it beside" in note} == {
        "controller.extraConfMap", "nodesets.a.extraConfMap", "nodesets.a.partition.configMap", "partitions.p.configMap",
    }  # fmt: skip


def test_of_a_mapping_the_chart_writes_no_line_for_what_is_0_false_or_empty() -> None:
    read = found(
        "controller: {extraConfMap: {ReturnToService: 0, DebugFlags: [], UsePAM: false, MCSPlugin: '', KillWait: '0', A: ~}}"
    )
    assert read.taken.settings["controller"]["extraConf"] == {"KillWait": "0"}
    (note,) = (each for each in read.notes if "0, false or empty" in each)
    assert note.startswith("controller.extraConfMap: ReturnToService, DebugFlags, UsePAM, MCSPlugin: ")


def test_a_line_that_goes_on_is_joined_with_nothing_between_as_by_slurm() -> None:
    settings, left = taken(
        'controller: {extraConf: "SchedulerParameters=bf_continue,\\\\ \\ndefer\\nKillWait=60 \\\\\\n MinJobAge=9"}'
    )
    assert left == {}
    assert settings["controller"]["extraConf"] == {
        "SchedulerParameters": "bf_continue,defer", "KillWait": "60", "MinJobAge": "9",
    }  # fmt: skip


def test_the_chart_s_dash_is_the_empty_storage_class() -> None:
    settings, _ = taken("controller: {persistence: {storageClassName: '-'}}")
    assert settings["controller"]["persistence"] == {"storageClass": ""}


def test_a_partition_of_the_chart_s_own_is_not_replaced_by_a_line() -> None:
    settings, left = taken(
        "controller: {extraConf: 'PartitionName=all Nodes=x'}\npartitions: {all: {enabled: true, nodesets: [ALL]}}"
    )
    assert settings["partitions"]["all"]["nodesets"] == ["ALL"]
    assert "has it already" in left["controller.extraConf (all)"]


def test_the_chart_s_mapping_may_hold_such_a_line() -> None:
    settings, _ = taken("controller: {extraConfMap: {NodeName: 'big CPUs=128', MinJobAge: 2, LaunchParameters: [a, b]}}")
    assert settings["external"]["slurmdHosts"] == [{"name": "big", "config": {"CPUs": "128"}}]
    assert settings["controller"]["extraConf"] == {"MinJobAge": "2", "LaunchParameters": "a,b"}


def test_check_says_the_same_of_such_a_text_in_a_stack_s_file() -> None:
    known = advice("controller.extraConf", "NodeName=a CPUs=4\nNodeName=b\nSlurmctldHost=a\nSlurmctldHost=b\n")
    assert known is not None
    assert known.settings["external"]["slurmdHosts"] == [{"name": "a", "config": {"CPUs": "4"}}, {"name": "b"}]
    assert not known.is_whole
    assert "SlurmctldHost" not in known.paste


RESOURCES = """
nodesets:
  gpu:
    slurmd:
      resources:
        requests: {cpu: 30, memory: 120Gi, ephemeral-storage: 1Gi}
        limits: {cpu: 32, memory: 128Gi, nvidia.com/gpu: 8, ephemeral-storage: 2Gi}
  half: {slurmd: {resources: {requests: {cpu: 30, memory: 120Gi}, limits: {cpu: 30}, claims: [{name: a}]}}}
  same: {slurmd: {resources: {requests: {cpu: 2}, limits: {cpu: 2, memory: 4Gi}}}}
controller: {slurmctld: {resources: {limits: {memory: 4Gi, ephemeral-storage: 2Gi}}}}
"""


def test_an_amount_that_has_no_setting_is_a_raw_piece_and_takes_no_other_with_it() -> None:
    settings, left = taken(RESOURCES)
    assert settings["nodesets"]["gpu"]["resources"] == {
        "cpus": "32", "memory": "128Gi", "extended": {"nvidia.com/gpu": 8},
    }  # fmt: skip
    assert settings["controller"]["resources"] == {"memory": "4Gi"}
    assert settings["nodesets"]["gpu"]["raw"]["container"]["resources"] == {
        "limits": {"ephemeral-storage": "2Gi"}, "requests": {"ephemeral-storage": "1Gi"},
    }  # fmt: skip
    assert settings["controller"]["raw"]["container"]["resources"] == {"limits": {"ephemeral-storage": "2Gi"}}
    assert left == {}


def test_claims_of_devices_are_a_raw_piece_beside_the_amounts() -> None:
    settings, _ = taken(RESOURCES)
    half = settings["nodesets"]["half"]
    assert half["raw"]["container"]["resources"] == {"claims": [{"name": "a"}]}
    assert half["resources"] == {"cpus": "30", "memory": "120Gi"}


def test_huge_pages_are_a_raw_piece_beside_the_amounts() -> None:
    """They were left out: "can't be said here"."""
    limits = "{cpu: 8, memory: 64Gi, hugepages-2Mi: 5120Mi}"
    settings, left = taken(f"nodesets:\n  gpu: {{slurmd: {{resources: {{limits: {limits}}}}}}}\n")
    assert settings["nodesets"]["gpu"]["raw"]["container"]["resources"] == {"limits": {"hugepages-2Mi": "5120Mi"}}
    assert settings["nodesets"]["gpu"]["resources"] == {"cpus": "8", "memory": "64Gi"}
    assert not left


def test_requests_that_become_others_are_named_with_both_numbers() -> None:
    notes = [note for note in found(RESOURCES).notes if "requests equal limits" in note]
    assert [note.split(". ")[0] for note in notes] == [
        "nodesets.gpu.slurmd.resources: requests equal limits here: cpu is 32 (requests say 30), memory is 128Gi (requests"
        " say 120Gi)",
        "nodesets.half.slurmd.resources: requests equal limits here: memory 120Gi is a limit too",
    ]


@pytest.mark.parametrize("value", ["x", 3, ["a"], {"limits": "x"}, {"limits": {"cpu": None}}])
def test_no_kind_of_resources_stops_the_command(value: object) -> None:
    assert advice("nodesets.gpu.slurmd.resources", value) is not None


@pytest.mark.parametrize(
    ("text", "settings", "left"),
    [
        # Source: _get_next_line of parse_config.c.
        ("MailDomain=x\\#y\nMinJobAge=2", {"MinJobAge": "2"}, {"MailDomain": "'#'"}),
        ("MinJobAge=2 # as of May \\\nKillWait=30", {"MinJobAge": "2", "KillWait": "30"}, {}),
        ('MailProg=""\nMinJobAge=2', {"MailProg": '""', "MinJobAge": "2"}, {}),
        ("MinJobAge=2\nMailProg=", {"MinJobAge": "2"}, {"MailProg": "has no value"}),
        ("NodeName=h CPUs=2 Reason=a\\#b\nMinJobAge=2", {"MinJobAge": "2"}, {"Reason": "'#'"}),
    ],
)
def test_a_value_that_no_setting_holds_is_left_out_with_why_and_takes_no_other_with_it(
    text: str, settings: dict[str, str], left: dict[str, str]
) -> None:
    got, why = taken(yaml.safe_dump({"controller": {"extraConf": text}}))
    assert got["controller"]["extraConf"] == settings
    assert why.keys() == {f"controller.extraConf ({key})" for key in left}
    assert all(words in why[f"controller.extraConf ({key})"] for key, words in left.items())


@pytest.mark.parametrize(
    "at",
    [
        "controller.extraConfMap",
        "accounting.extraConfMap",
        "nodesets.a.extraConfMap",
        "nodesets.a.partition.configMap",
        "partitions.p.configMap",
    ],
)
def test_a_parameter_that_is_a_mapping_is_left_out_alone(at: str) -> None:
    values: object = {"Weight": 2, "Wrong": {"a": 1}, "List": [["a"]]}
    for part in reversed(at.split(".")):
        values = {part: values}
    _, left = taken(yaml.safe_dump(merged({"accounting": {"enabled": True}}, values)))  # type: ignore[arg-type]
    assert left.keys() == {f"{at}.Wrong", f"{at}.List"}


@pytest.mark.parametrize(
    "config", ["config: 'Nodes=b,h[1-2] MaxTime=1-0'", "configMap: {nodes: [b, 'h[1-2]'], MaxTime: 1-0}"]
)
def test_nodes_in_a_partition_s_parameters_are_its_nodes_as_for_slurm(config: str) -> None:
    """The chart writes them behind its own Nodes=, and of two Slurm takes the last one."""
    read = found(f"partitions: {{p: {{enabled: true, nodesets: [ALL], {config}}}}}\nnodesets: {{a: {{}}, b: {{}}}}\n")
    assert read.taken.settings["partitions"]["p"] == {"nodesets": ["b", "h[1-2]"], "config": {"MaxTime": "1-0"}}
    assert [note for note in read.notes if "counts, and not `nodesets`" in note]
    assert read.taken.left == []


SIGNS = """
controller:
  extraConf: |
    SchedulerParameters=a
    SchedulerParameters+=bf_window=120,bf_max_job_test=50
    MinJobAge -= 3
    NodeName=m-1 CPUs*=4
    PartitionName+=metal Nodes=m-1 MaxTime/=60
    a line+=x
nodesets: {gpu: {replicas: 1, extraConf: "Weight+=5"}}
"""


def test_a_sign_before_the_equals_sign_changes_nothing() -> None:
    """Slurm reads it and looks at it nowhere, so the value is the parameter's (``keyvalue_pattern``, ``_handle_common``)."""
    read = found(SIGNS)
    settings = read.taken.settings
    conf = {"SchedulerParameters": "bf_window=120,bf_max_job_test=50", "MinJobAge": "3"}
    assert settings["controller"]["extraConf"] == conf
    assert settings["external"]["slurmdHosts"] == [{"name": "m-1", "config": {"CPUs": "4"}}]
    assert settings["partitions"] == {"metal": {"nodesets": ["m-1"], "config": {"MaxTime": "60"}}}
    assert settings["nodesets"]["gpu"]["extraConf"] == {"Weight": "5"}
    assert list(dict(read.taken.left)) == ["controller.extraConf (a)"]
    signs = [note.partition(" sets")[0].rpartition(": ")[2] for note in read.notes if "changes nothing" in note]
    said = ["CPUs*=", "MaxTime/=", "MinJobAge-=", "PartitionName+=", "SchedulerParameters+=", "Weight+="]
    assert sorted(signs) == said
