"""Siblings of what a fourteenth set found: of each opening evil neighbours beside what it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from slurm_rules import scripts
from slurm_rules.clear_text import keys_not_in_clear, no_secrets_in_outputs
from slurm_rules.closed import cluster_as_made
from slurm_rules.model import REDACTED, UNKNOWN, Stack

from slinky_iac.config.slurm import scripts as script_faults
from tests.policies.in_memory import in_memory, one
from tests.policies.judging import judged, messages, spec
from tests.policies.pack import plain_stack
from tests.policies.test_siblings import said
from tests.policies.test_siblings_of_thirteenth import cloud

Data = dict[str, Any]
MACHINES: list[tuple[str, str, Data]] = [
    ("metal3.io/v1alpha1:BareMetalHost", "metal3", {"online": False, "bmc": {"address": "redfish://10.20.1.11"}}),
    ("metal3.io/v1alpha1:HostFirmwareSettings", "metal3", {"settings": {"ProcVirtualization": "Disabled"}}),
    ("bmc.tinkerbell.org/v1alpha1:Job", "tink", {"machineRef": {"name": "m"}, "tasks": [{"powerAction": "off"}]}),
    ("tinkerbell.org/v1alpha1:Workflow", "tink", {"templateRef": "reinstall", "hardwareRef": "metal-1"}),
    (
        "cluster.x-k8s.io/v1beta1:MachineDeployment",
        "capi",
        {"replicas": 0, "template": {"spec": {"version": "v1.33.0", "bootstrap": {"dataSecretName": "b"}}}},
    ),
]
WITHIN: list[tuple[str, str, Data]] = [
    ("mlops.example.org/v1:Model", "ml", {"image": "registry.example.org/m:1", "replicas": 2}),
    ("db.example.org/v1:Cluster", "shop", {"instances": 3, "storage": {"size": "5Gi", "storageClassName": "ceph"}}),
    ("jobs.example.org/v1:Run", "shop", {"steps": [{"resources": {"limits": {"cpu": "2"}}}]}),
    ("k8up.io/v1:Backup", "wiki", {"backend": {"s3": {"endpoint": "https://s3.example.org", "bucket": "b"}}}),
    ("cluster.redpanda.com/v1alpha2:Topic", "shop", {"partitions": 3, "replicationFactor": 3}),
]


@pytest.mark.parametrize(("kind", "namespace", "body"), MACHINES, ids=lambda each: each if isinstance(each, str) else None)
def test_an_unknown_kind_that_shows_no_pods_may_switch_machines_off(kind: str, namespace: str, body: Data) -> None:
    assert said(kind, namespace, spec=body) != ""


@pytest.mark.parametrize(("kind", "namespace", "body"), WITHIN, ids=lambda each: each if isinstance(each, str) else None)
def test_what_makes_pods_or_is_known_to_act_in_its_namespace_passes(kind: str, namespace: str, body: Data) -> None:
    assert said(kind, namespace, spec=body) == ""
    assert said(kind, "slurm", spec=body) != ""


def added(line: str) -> str:
    partition, _, node = line.partition("|")
    text = f"MaxNodeCount=16\nNodeName=metal-[1-2] CPUs=64{node}\nPartitionName=all Nodes=gpu{partition}\n"
    return messages(judged(cluster_as_made, spec("controller", extraConf=text)))


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        (" DefaultTime=1", False),
        (" DefaultTime=00:00:30", False),
        (" DefaultTime=0-0:04:00", False),
        (" MaxTime=4", False),
        (" DefaultTime=00:10:00 MaxTime=7-00:00:00 State=UP", True),
        (" DefaultTime=1:00:00 MaxTime=INFINITE OverSubscribe=EXCLUSIVE AllowQos=ALL GraceTime=300", True),
        (" PreemptMode=CANCEL", False),
        ("| State=DOWN", False),
        ("| State=FAIL", False),
        ("| RealMemory=512000 Sockets=2 Gres=gpu:a100:4 Feature=a100,ib Weight=10 State=UNKNOWN", True),
    ],
)
def test_each_parameter_of_a_partition_and_a_node_has_a_row(line: str, passes: bool) -> None:
    assert (added(line) == "") is passes, added(line)


def filed(name: str, text: str) -> str:
    return messages(judged(cluster_as_made, {"resources": {"cgroup": {"properties": {"data": {name: text}}}}}))


@pytest.mark.parametrize(
    ("name", "text", "passes"),
    [
        ("job_container.conf", "BasePath=/var/spool/slurm Dirs=/tmp,/scratch\n", False),
        ("job_container.conf", "BasePath=/var/spool/slurm Dirs=/home\n", False),
        ("job_container.conf", "BasePath=/var/spool/slurm CloneNSEpilog=/scratch/x.sh\n", False),
        ("job_container.conf", "AutoBasePath=true\nBasePath=/var/spool/ns Dirs=/tmp,/var/tmp,/dev/shm\n", True),
        ("job_container.conf", "BasePath=/var/spool/ns Dirs=/localscratch Shared=true\n", True),
        ("namespace.yaml", "defaults:\n  base_path: /var/spool/ns\n  dirs: /home,/tmp\n", False),
        ("burst_buffer.conf", "GetSysState=/scratch/x\n", False),
        ("oci.conf", "NewParameter=1\n", False),
        ("oci.conf", "SrunPath=/scratch/srun\n", False),
        ("mpi.conf", "PMIxEnv=LD_PRELOAD=/scratch/x.so\n", False),
        ("mpi.conf", "PMIxDirectConn=true\nPMIxTimeout=600\nPMIxEnv=UCX_TLS=rc;X=1\n", True),
        ("helpers.conf", "AllowUserBoot=*\n", False),
        ("helpers.conf", "NodeName=metal-1 Feature=nps1 Helper=/usr/local/bin/nps\nBootTime=600\n", True),
        ("acct_gather.conf", "ProfileHDF5Dir=/scratch/prof\nProfileHDF5Default=None\n", True),
        ("topology.conf", "SwitchName=s1 Nodes=metal-[1-2] LinkSpeed=100\n", True),
    ],
)
def test_each_parameter_of_a_file_has_a_row(name: str, text: str, passes: bool) -> None:
    assert (filed(name, text) == "") is passes, filed(name, text)


EVIL = (
    "nvidia-smi --gpu-reset",
    "nvidia-smi mig -dci",
    "nvidia-smi --query-compute-apps=pid --format=csv,noheader | xargs -r kill -9",
    "for p in $(nvidia-smi --query-compute-apps=pid --format=csv,noheader); do kill -9 $p; done",
    "setfacl -R -m g:users:rwX /home/$SLURM_JOB_USER",
    'x="$(hostname)"; reboot; y="$(date)"',
    "systemctl restart slurmd",
    "echo b > /proc/sysrq-trigger",
    "echo 1 > /sys/bus/pci/devices/0000:3b:00.0/remove",
    "mount --bind /scratch/x /usr/local",
    "chown -R $SLURM_JOB_UID /scratch",
    "chmod 1777 /scratch/jobs",
    "find / -uid $SLURM_JOB_UID -exec chmod o+r {} \\;",
    "if true; then dd if=/dev/zero of=/dev/sda; fi",
    "sudo -u root bash /x",
    "ipcs -m | awk '{print $2}' | xargs -n1 ipcrm -m",
    "fuser -k /scratch",
    "scontrol update partitionname=gpu state=down",
    "scontrol requeue $(squeue -h -o %A)",
    "cp -a /home/$SLURM_JOB_USER /scratch/public/",
    "mkdir -m 777 /scratch/x",
    "timeout 9 bash -c 'reboot'",
    "echo `reboot`",
    "$PROGRAM -r",
    "case $x in a) reboot ;; esac",
)
SOUND = (
    "echo 3 > /proc/sys/vm/drop_caches",
    'echo "export TMPDIR=/local/$SLURM_JOB_ID"',
    'for d in /tmp /var/tmp; do\n  find "$d" -xdev -user "$SLURM_JOB_UID" -mmin +60 -delete 2>/dev/null\ndone',
    'log() { logger -t "prolog[$SLURM_JOB_ID]" "$*"; }\n[[ -d /scratch ]] || log "no (scratch); sorry"',
    "if (( $(nvidia-smi -L | wc -l) < 4 )); then exit 1; fi",
    'while read -r gpu used; do [ "$used" -gt 9 ] && exit 1; done < <(nvidia-smi --query-gpu=index --format=csv)',
    'case "$SLURM_JOB_PARTITION" in\n gpu*) modprobe nvidia_peermem ;;\n debug|test)\n  exit 0\n  ;;\n *) : ;;\nesac',
    'cat <<EOF >> "/var/log/slurm/jobs.log"\njob $SLURM_JOB_ID of (uid); reboot\nEOF',
    'dirs=("/local/$SLURM_JOB_ID" "/dev/shm/$SLURM_JOB_ID")\nfor d in "${dirs[@]}"; do mkdir -p -m 700 "$d"; done',
    "awk '\n/MemFree/ { free = $2 }\nEND { if (free < 1000) exit 1 }\n' /proc/meminfo || exit 1",
    "mem=$(free -m | awk '/^Mem:/{print $(NF-1)}')",
    "trap 'echo \"failed on line $LINENO\" >&2' ERR",
    '(\n  flock -n 9 || exit 1\n) 9>"/run/lock/prolog"',
    'nvidia-smi --gpu-reset -i "$SLURM_JOB_GPUS"',
    '/opt/site/bin/prolog-check --gpu "$SLURM_JOB_GPUS"',
    "systemctl is-active --quiet nvidia-dcgm || logger off",
)


@pytest.mark.parametrize("line", EVIL)
def test_a_command_of_a_prolog_that_is_on_no_list_is_refused(line: str) -> None:
    text = f"#!/bin/bash\n{line}\n"
    assert list(scripts.shell_faults(text)) != []


@pytest.mark.parametrize("line", SOUND)
def test_what_prologs_run_every_day_is_on_the_list(line: str) -> None:
    text = f"#!/bin/bash\n{line}\n"
    assert list(scripts.shell_faults(text)) == list(script_faults.of_script(text)) == []


def test_a_program_of_slurmctlds_prolog_is_one_that_the_stack_makes() -> None:
    over = spec("controller", prologSlurmctldScriptRefs=[{"name": "note"}])
    assert "which this stack doesn't make" in messages(judged(cluster_as_made, over))


def program(*args: str, **env: str) -> str:
    pairs = [{"name": name, "value": value} for name, value in env.items()]
    pod = {"containers": [{"name": "a", "image": "registry.example.org/a:1", "args": list(args), "env": pairs}]}
    return said("apps/v1:Deployment", spec={"selector": {}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}})


@pytest.mark.parametrize(
    ("args", "env", "passes"),
    [
        (["--ssh-user=root"], {}, False),
        (["--ssh-user", "root"], {}, False),
        ([], {"SSHUSER": "root"}, False),
        (["ttyd", "-W", "ssh", "root@slurmctld.example.org"], {}, False),
        (["--noauth", "--root=/srv"], {}, False),
        (["--auth", "none"], {}, False),
        (["--ServerApp.token="], {}, False),
        ([], {"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD": "1"}, False),
        ([], {"POSTGRES_HOST_AUTH_METHOD": "trust"}, False),
        (["--ssh-host=login.example.org", "--ssh-auth=password"], {}, True),
        (["--auth", "password"], {"MYSQL_ALLOW_EMPTY_PASSWORD": "no", "POSTGRES_USER": "shop"}, True),
    ],
)
def test_who_comes_says_who_he_is_and_is_no_root(args: list[str], env: dict[str, str], passes: bool) -> None:
    assert (program(*args, **env) == "") is passes


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        (["noperm"], False),
        (["hard", "nfsvers=4.2", "nconnect=8", "noatime"], True),
        (["dir_mode=0777", "file_mode=0777", "mfsymlinks", "cache=strict", "actimeo=30", "nosharesock"], True),
        (["region eu-central-1", "allow-other", "uid=1000", "read-only"], True),
    ],
)
def test_options_of_a_mount_are_on_a_list(options: list[str], passes: bool) -> None:
    assert (said("storage.k8s.io/v1:StorageClass", "", provisioner="smb.csi.k8s.io", mountOptions=options) == "") is passes


def volume(**fields: Any) -> str:
    attributes = {"server": "files.example.org", "share": "/home", **fields.pop("attributes", {})}
    body = {"csi": {"driver": "nfs.csi.k8s.io", "volumeHandle": "x", "volumeAttributes": attributes}, **fields}
    return said("core/v1:PersistentVolume", "", spec=body)


def test_a_volume_of_all_users_files_is_kept_and_open_to_nobody_else() -> None:
    assert volume() == volume(persistentVolumeReclaimPolicy="Retain") == ""
    assert volume(persistentVolumeReclaimPolicy="Recycle") != ""
    assert volume(attributes={"mountPermissions": "0777"}) != ""
    assert volume(attributes={"mountPermissions": "0755"}) == ""
    assert volume(mountOptions=["dir_mode=0777"]) != ""


POD = "spec:\n  containers:\n  - name: a\n    image: x\n"


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (POD + "    securityContext:\n      privileged: true\n", False),
        ("[runners.kubernetes]\n  privileged = true\n", False),
        (POD + "  volumes:\n  - name: h\n    hostPath:\n      path: /var/lib/kubelet\n", False),
        ('{"volumes": [{"hostPath": {"path": "/"}}]}', False),
        (POD + "  volumes:\n  - name: h\n    hostPath:\n      path: /scratch\n", True),
        (POD + "    securityContext:\n      privileged: false\n", True),
    ],
)
def test_a_pod_in_a_text_is_no_root_of_a_node(text: str, passes: bool) -> None:
    assert (said("core/v1:ConfigMap", data={"pod.yaml": text}) == "") is passes


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJzbHVybSJ9abc.c2lnbmF0dXJlLW9mLWl0"


def test_no_other_provider_is_given_a_token_or_a_rulers_name() -> None:
    kind = "datadog:index/syntheticsTest:SyntheticsTest"
    assert cloud(kind, requestHeaders={"X-SLURM-USER-TOKEN": TOKEN}) != ""
    assert cloud(kind, requestHeaders={"X-SLURM-USER-NAME": "root"}) != ""
    assert cloud(kind, requestHeaders={"X-SLURM-USER-NAME": "probe"}) == ""


def test_a_users_token_may_be_refused_to_users() -> None:
    for value, passes in (("disable_token_creation,max_token_lifespan=3600", True), ("jwt_key=/scratch/x", False)):
        text = f"MaxNodeCount=16\nNodeName=metal-[1-2] CPUs=64\nPartitionName=all Nodes=gpu\nAuthAltParameters={value}\n"
        assert (messages(judged(cluster_as_made, spec("controller", extraConf=text))) == "") is passes


def outputs(**values: Any) -> Stack:
    root, *others = in_memory(plain_stack("inside")).resources
    return Stack((replace(root, props={**root.props, **values}), *others))


def test_times_of_keys_are_times_and_none_before_their_secrets_are_made() -> None:
    for rule in (no_secrets_in_outputs, keys_not_in_clear):
        before = one(rule, outputs())
        assert one(rule, outputs(keysSince={"slurmKey": "2026-11-28T15:40:02Z", "jwtKey": ""})) == before
        assert one(rule, outputs(keysSince={"slurmKey": UNKNOWN})) == before
        assert one(rule, outputs(keysSinceThen={"slurmKey": UNKNOWN})).not_judged != before.not_judged
        assert one(rule, outputs(keysSince={"slurmKey": REDACTED})).not_judged != before.not_judged
    assert "holds what is no time" in messages(one(no_secrets_in_outputs, outputs(keysSince={"slurmKey": "c2VjcmV0"})))
