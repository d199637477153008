"""Siblings of what a fifteenth set found: of each opening evil neighbours beside what it is for."""

from __future__ import annotations

import inspect
from typing import Any

import pulumi_kubernetes
import pytest
from slurm_rules.catalogue import RULES
from slurm_rules.closed import cluster_as_made
from slurm_rules.model import UNKNOWN, Resource, Stack

from slinky_iac.config.rules import slurm_reach as rules_slurm_reach
from tests.policies.judging import judged, messages
from tests.policies.test_siblings import said
from tests.policies.test_siblings_of_thirteenth import cloud

Data = dict[str, Any]
PROVIDER = {
    "cluster": ("edge", True),
    "clusterIdentifier": ("edge", True),
    "context": ("edge", True),
    "deleteUnreachable": (True, False),
    "enableConfigMapMutable": (True, True),
    "enableSecretMutable": (True, True),
    "enableServerSideApply": (True, True),
    "helmReleaseSettings": ({"driver": "configmap"}, False),
    "kubeClientSettings": ({"burst": 120, "qps": 50.5}, True),
    "kubeconfig": ("/home/ops/.kube/config", True),
    "namespace": ("slurm", False),
    "renderYamlToDirectory": ("/srv/www", False),
    "skipUpdateUnreachable": (True, False),
    "suppressDeprecationWarnings": (True, True),
    "suppressHelmHookWarnings": (True, True),
}
"""Every input of a provider, and whether it gives nothing away."""


@pytest.mark.parametrize("field", PROVIDER)
def test_each_input_of_a_provider_is_decided(field: str) -> None:
    value, passes = PROVIDER[field]
    assert (cloud("pulumi:providers:kubernetes", **{field: value}) == "") is passes


def test_no_input_of_the_provider_is_left_out() -> None:
    names = {each for each in inspect.signature(pulumi_kubernetes.Provider._internal_init).parameters if each[0] != "_"}
    decided = {"".join(f"_{each.lower()}" if each.isupper() else each for each in field) for field in PROVIDER}
    assert decided == names - {"resource_name", "opts"}


def test_a_provider_that_changes_what_is_there_is_refused() -> None:
    for field, value in (("enableServerSideApply", False), ("enablePatchForce", True), ("upsertExistingObjects", True)):
        assert field in cloud("pulumi:providers:kubernetes", **{field: value})
    assert "kubeClientSettings" in cloud("pulumi:providers:kubernetes", kubeClientSettings={"proxyUrl": "http://x"})


UNPRIVILEGED = {"runAsNonRoot": True, "runAsUser": 65534}
LOCKED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def looks(path: str, pod: Data | None = None, *more: Data, read_only: bool = True, **own: Any) -> str:
    """What is said of a DaemonSet that mounts a folder of its nodes."""
    mount = {"name": "root", "mountPath": "/host", "readOnly": read_only}
    body = {"name": "a", "image": "x/a:1", "securityContext": {**LOCKED, **own}, "volumeMounts": [mount]}
    volumes = [{"name": "root", "hostPath": {"path": path}}]
    template = {
        "spec": {"securityContext": UNPRIVILEGED if pod is None else pod, "containers": [body, *more], "volumes": volumes}
    }
    return said("apps/v1:DaemonSet", "monitoring", spec={"template": template})


def test_nobody_reads_of_a_node_what_everybody_may() -> None:
    assert looks("/") == ""
    assert looks("/", {**UNPRIVILEGED, "runAsGroup": 65534, "fsGroup": 65534}) == ""
    assert looks("/", capabilities={"add": ["SYS_TIME"], "drop": ["ALL"]}) == ""
    assert looks("/", {}, runAsUser=65534) == ""


@pytest.mark.parametrize(
    ("pod", "own", "more"),
    [
        ({}, {}, ()),
        ({"runAsNonRoot": True}, {}, ()),
        ({"runAsUser": 0}, {}, ()),
        ({"runAsUser": 401, "runAsNonRoot": True}, {}, ()),
        ({"runAsUser": 20001, "runAsNonRoot": True}, {}, ()),
        ({**UNPRIVILEGED, "runAsGroup": 0}, {}, ()),
        ({**UNPRIVILEGED, "fsGroup": 6}, {}, ()),
        ({**UNPRIVILEGED, "supplementalGroups": [0]}, {}, ()),
        (UNPRIVILEGED, {"allowPrivilegeEscalation": True}, ()),
        (UNPRIVILEGED, {"runAsUser": 0}, ()),
        (UNPRIVILEGED, {"capabilities": {"add": ["DAC_READ_SEARCH"]}}, ()),
        (UNPRIVILEGED, {"capabilities": {"add": ["SETUID"]}}, ()),
        (UNPRIVILEGED, {}, ({"name": "b", "image": "x/b:1"},)),
        ({}, {"runAsUser": 65534}, ({"name": "b", "image": "x/b:1", "securityContext": LOCKED},)),
    ],
)
def test_somebody_reads_of_a_node_what_is_his(pod: Data, own: Data, more: tuple[Data, ...]) -> None:
    assert "opens / of the node" in looks("/", pod, *more, **own)


def test_nobody_writes_to_a_node() -> None:
    assert "opens / of the node" in looks("/", read_only=False)


def sent(parameter: str, value: str, file: str = "task.sh", text: str = "#!/bin/sh\necho x\n") -> str:
    """What is said of a program by its plain name beside slurm.conf."""
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts", "namespace": "slurm"}}
    extra = f"MaxNodeCount=16\nNodeName=metal-[1-2] CPUs=64\nPartitionName=all Nodes=gpu\n{parameter}={value}\n"
    spec = {"configFileRefs": [{"name": "scripts"}], "extraConf": extra}
    scripts = {"type": "kubernetes:core/v1:ConfigMap", "properties": {**head, "data": {file: text}}}
    stack = {"resources": {"controller": {"properties": {"spec": spec}}, "scripts": scripts}}
    return messages(judged(cluster_as_made, stack))


@pytest.mark.parametrize(
    ("parameter", "value", "passes"),
    [
        *((each, "task.sh", True) for each in ("Prolog", "Epilog", "TaskProlog", "TaskEpilog")),
        *((each, "task.sh", False) for each in ("PrologSlurmctld", "SrunProlog", "HealthCheckProgram", "MailProg")),
        ("TaskProlog", "other.sh", False),
        ("TaskProlog", "../task.sh", False),
        ("TaskProlog", "x/task.sh", False),
        ("TaskProlog", "/home/alice/task.sh", False),
        ("TaskProlog", "/etc/slurm/task.sh", True),
    ],
)
def test_a_plain_name_is_a_file_beside_slurm_conf_to_pack_and_settings(parameter: str, value: str, passes: bool) -> None:
    assert (sent(parameter, value) == "") is passes
    assert (rules_slurm_reach.of_parameter(parameter, value, files=["task.sh"]) is None) is passes


def test_what_is_sent_to_nodes_is_judged_as_a_script() -> None:
    assert "runs reboot" in sent("TaskProlog", "task.sh", text="#!/bin/sh\nreboot\n")


def archived(kind: str, folder: str, mount: str) -> str:
    daemon = {"accounting": "slurmdbd", "controller": "slurmctld"}[kind]
    volumes = [{"name": "a", "persistentVolumeClaim": {"claimName": "archive"}}]
    body: Data = {daemon: {"volumeMounts": [{"name": "a", "mountPath": mount}]}, "template": {"spec": {"volumes": volumes}}}
    stack: Data = {"resources": {"accounting": {"properties": {"spec": {"extraConf": f"ArchiveDir={folder}\n"}}}}}
    stack["resources"].setdefault(kind, {"properties": {"spec": {}}})["properties"]["spec"].update(body)
    return messages(judged(cluster_as_made, stack))


@pytest.mark.parametrize(
    ("kind", "folder", "mount", "passes"),
    [
        ("accounting", "/var/spool/slurmdbd", "/var/spool/slurmdbd", True),
        ("accounting", "/var/spool/slurmdbd/archive", "/var/spool/slurmdbd/archive", True),
        ("accounting", "/var/spool/slurmdbd", "/var/spool/other", False),
        ("accounting", "/etc/slurm", "/etc/slurm", False),
        ("controller", "/var/spool/slurmctld", "/var/spool/slurmctld", False),
    ],
)
def test_of_spool_folders_slurmdbds_alone_is_empty(kind: str, folder: str, mount: str, passes: bool) -> None:
    assert (archived(kind, folder, mount) == "") is passes


MACHINE = {"ami": "ami-1", "instanceType": "t3.small", "subnetId": "s", "metadataOptions": {"httpTokens": "required"}}


@pytest.mark.parametrize(
    ("more", "passes"),
    [
        ({"userData": "#!/bin/sh\napt-get install -y chrony\n"}, True),
        ({"rootBlockDevice": {"encrypted": True, "volumeSize": 20}, "keyName": "ops", "tags": {"Name": "login"}}, True),
        ({"iamInstanceProfile": "admin"}, False),
        ({"ebsBlockDevices": [{"deviceName": "/dev/sdb", "snapshotId": "snap-1"}]}, False),
        ({"privateIp": "10.20.0.5"}, False),
        ({"sourceDestCheck": False}, False),
        ({"metadataOptions": {"httpTokens": "optional"}}, False),
        ({"instanceMarketOptions": {"marketType": "spot"}}, False),
        ({"userDataBase64": "aGVsbG8="}, False),
        ({"userData": "#!/bin/sh\ncurl -s https://x.example.net/p | sh\n"}, False),
        ({"userData": "#!/bin/sh\nsystemctl start slurmd\n"}, False),
        ({"userData": "#cloud-config\nwrite_files: [{path: /etc/munge/munge.key, content: x}]\n"}, False),
        ({"userData": "#!/bin/sh\necho aGk= | base64 -d | sh\n"}, False),
        ({"userData": "#!/bin/sh\nkubectl delete pod x\n"}, False),
    ],
)
def test_a_machine_without_rights_and_words_of_the_cluster_touches_none(more: Data, passes: bool) -> None:
    assert (cloud("aws:ec2/instance:Instance", **{**MACHINE, **more}) == "") is passes


def test_a_machine_of_another_cloud_has_no_account_and_no_disk_of_others() -> None:
    disk = {"initializeParams": {"image": "debian-12"}}
    google: Data = {"bootDisk": disk, "networkInterfaces": [{"subnetwork": "x"}], "metadata": {"enable-oslogin": "TRUE"}}
    assert cloud("gcp:compute/instance:Instance", **google) == ""
    for more in (
        {"serviceAccount": {"email": "x@y.iam.gserviceaccount.com"}},
        {"bootDisk": {**disk, "source": "slurmctld"}},
        {"attachedDisks": [{"source": "homes"}]},
        {"canIpForward": True},
        {"metadata": {"startup-script": "scontrol update nodename=x state=down"}},
        {"resourcePolicies": "nightly"},
    ):
        assert cloud("gcp:compute/instance:Instance", **{**google, **more}) != "", more


def test_what_a_preview_does_not_know_of_what_a_machine_runs_is_said() -> None:
    rule = next(rule for rule in RULES if rule.name == "cluster-as-made")
    verdict = rule.judge(Stack((Resource("aws:ec2/instance:Instance", "x", "urn:x", {**MACHINE, "userData": UNKNOWN}),)))
    assert verdict.violations == ()
    assert verdict.not_judged


def record(name: str, *leads: str, outside: bool = False) -> str:
    """What is said of a record, in a stack whose slurmctld is ``ctl.hpc.example.org`` where it is outside."""
    props = {"zoneId": "Z1", "name": name, "type": "A", "records": list(leads)}
    own = {"type": "aws:route53/record:Record", "properties": props}
    host = {"properties": {"spec": {"storageConfig": {"host": "db.hpc.example.org"}}}} if outside else {}
    stack = {"resources": {"record": own, **({"accounting": host} if host else {})}}
    return messages(judged(cluster_as_made, stack))


@pytest.mark.parametrize(
    ("name", "leads", "passes"),
    [
        ("slurmctld.hpc.internal", "10.20.4.17", True),
        ("slurmctld.example.org", "ctl-1.example.org.", True),
        ("_slurmctld._tcp.example.org", "0 0 6817 ctl.example.org.", True),
        ("_slurmctld._tcp.example.org", "0 0 6817 ctl.example.net.", False),
        ("slurmctld.example.org", "203.0.113.66", False),
        ("slurmctld.example.org", "ctl.example.net", False),
        ("slurmrestd", "203.0.113.66", False),
        ("login.example.org", "203.0.113.66", True),
        ("*.apps.example.org", "203.0.113.66", True),
    ],
)
def test_a_daemons_name_leads_to_no_stranger(name: str, leads: str, passes: bool) -> None:
    assert (record(name, leads) == "") is passes


@pytest.mark.parametrize("name", ["db.hpc.example.org", "DB.hpc.example.org.", "*.hpc.example.org", "*", "db", "db.hpc"])
def test_a_record_for_a_name_that_the_stack_asks_is_refused(name: str) -> None:
    assert "says who answers for db.hpc.example.org" in record(name, "10.20.0.5", outside=True)
    assert record("portal.hpc.example.org", "10.20.0.5", outside=True) == ""


def test_a_source_port_is_no_address() -> None:
    rule = {
        "direction": "Inbound",
        "sourceAddressPrefix": "192.0.2.0/24",
        "sourcePortRange": "*",
        "destinationPortRange": "22",
    }
    group = "azure-native:network:NetworkSecurityGroup"
    assert cloud(group, securityRules=[{**rule, "destinationAddressPrefix": "*"}]) == ""
    assert "opens more" in cloud(group, securityRules=[{**rule, "sourceAddressPrefix": "*"}])
