"""Stacks of somebody who hadn't seen the rules, at their default levels; docs/evidence/security.md has the counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm_rules.catalogue import RULES

from tests.policies.in_memory import in_memory, speaking
from tests.policies.pack import bad_stack

FOLDER = Path(__file__).parent / "unseen"
EVIL = sorted((FOLDER / "evil").glob("*.yaml"))
SOUND = sorted((FOLDER / "sound").glob("*.yaml"))
"""Five of the sound ones are the unchanged objects that evil ones begin with. An evil one ``…-on-own`` has the words of a
resource that its writer added on the stack's own one, where no neighbour is missing that would refuse it."""
MANDATORY = {rule.name for rule in RULES if rule.level == "mandatory"}
PASS = {
    "gate-deleted-with": "the engine doesn't show deletedWith to policies; verify-state and plan refuse it",
    "gate-hides-diffs": "the engine doesn't show hideDiffs to policies; verify-state refuses it",
    "controller-jwt-key-of-web": "a site may name a key that others make, by any name",
    "gate-ca-in-tmp": "whose a file of the machine is that runs `pulumi`, no preview shows",
    "accounting-store-elsewhere": "whether an address that a setting asks for is the right one",
    "net-database-moved": "the same: whose the Service is that slurmdbd's setting names",
    "dns-endpoint-of-dbd": "the same: no host of this stack has the name",
    "dbd-database-elsewhere": "the same: whose the database's host is, no preview shows",
    "scale-cron-job": "what a program of another namespace runs; the rights that it needs are judged",
    "dbd-database-of-a-stranger-on-own": "the same: the database's host",
    "accounting-database-elsewhere": "the same: the database's host",
    "net-pod-pool-with-nat": "how pods' packets leave: a pool of addresses has no word of Slurm",
    "fence-alias-of-nodeset": "the engine doesn't show aliases to policies; a ConfigMap that nothing reads has any name",
    "conf-exit-when-database-is-away-on-own": "slurm.conf(5): to end rather than to drop records of jobs is a site's choice",
    "options-alias-of-the-fence-binding": "the engine doesn't show aliases to policies",
    "conf-ipv4-disabled-on-own": "sound with IPv6; which of the two pods have, no preview shows",
    "operator-rook-wipes-disks": "what a storage system does with the disks that it is given",
    "provider-mysql-slurm-from-anywhere": "whether a value of another provider is one of Pulumi's secrets, no preview shows",
    "volume-state-on-users-scratch": "no pod of this stack mounts the claim",
    "options-controller-hides-diffs": "the engine doesn't show hideDiffs to policies",
    "nodeset-replaced": "the engine doesn't show replaceOnChanges to policies; verify-state refuses it",
    "nodeset-replaced-on-changes": "the same",
    "dbd-other-database": "whether a database that a setting names is the right one",
    "accounting-dev-database": "the same",
    "dbd-storage-at-free-host": "whether the database that a setting names is the right one, no preview shows",
    "archive-script-null": "what a program of slurmdbd's image does; settings and pack take any of its folders",
    "gate-deleted-with-nodeset": "the engine doesn't show deletedWith to policies; verify-state and plan refuse it",
    "alert-cancels-all-jobs": "what a program of another namespace runs, as it reads its own ConfigMap",
    "healthcheck-kills-big-processes": "a process that a script reads from a list: whose it is, no rule can tell",
    "mariadb-name-leads-outside": "whose the Service is that slurmdbd's setting names",
}
"""Evil stacks that pass, and why."""
DECLARED = {
    "fluent-bit": "DaemonSet/logging/fluent-bit:spec.template.spec.volumes[0].hostPath",
    "priority-classes": "PriorityClass//hpc-workers:value",
    "dcgm-exporter": "DaemonSet/monitoring/dcgm-exporter:spec.template.spec.containers[0].securityContext.capabilities",
    "own-status-job": "Role/slurm/slinky-status-slurm-slurm:rules[0]",
    "aws-registry-and-web-nodes": "NodeGroup//x4:capacityType",
    "azure-vault-logs-and-zone": "RoleAssignment//x5",
    "external-dns-for-web-zone": "RolePolicyAttachment//x3",
    "keycloak-clients-of-grafana": "Role//x3",
    "rbac-of-portal-team": "Role/portal/pipeline:rules[1]",
    "repositories-and-records-of-docs": "RepositoryDeployKey//x5",
    "conf-private-tmp": "NodeSet/slurm/slurm-worker-gpu:spec.template.spec.volumes.0",
    "nodeset-waits-for-drivers": "NodeSet/slurm/slurm-worker-gpu:spec.template.spec.initContainers.0",
    "other-entra-groups-for-grafana": "Application//application",
    "other-gitlab-project-of-the-wiki": "ProjectVariable//variable",
    "other-gpu-plugin-of-intel": "GpuDevicePlugin//visualisation",
    "other-license-server-in-vsphere": "VirtualMachine//machine",
    "other-vault-for-the-shop": "SecretBackendRole//database",
    "prolog-maps-jobs-for-dcgm": "NodeSet/slurm/slurm-worker-gpu:spec.template.spec.volumes.0",
    "images-by-mirror": "Controller/slurm/slurm:spec.slurmctld.image",
    "command-renders-docs": "Command//x",
    "command-checks-portal": "Command//portal-well",
    "homes-backup-cronjob": "CronJob/backup/homes:"
    "spec.jobTemplate.spec.template.spec.containers[0].securityContext.capabilities",
    "nodeset-dcgm": "NodeSet/slurm/slurm-worker-gpu:spec.template.spec.containers.0",
    "login-network": "NetworkPolicy/slurm/slurm-login-ssh:spec.policyTypes",
    "login-set-hardened": "NetworkPolicy/slurm/slurm-login:spec.podSelector",
    "open-ondemand": "Deployment/ondemand/ondemand:spec.template.spec.containers[0].volumeMounts",
    "beside-fluent-bit-of-docs": "Release//fluent-bit:values.daemonSetVolumes[0].hostPath",
    "fence-keeps-and-audits": "ValidatingAdmissionPolicyBinding//slinky-iac-nodesets.slurm.slurm:spec",
    "scripts-job-folder": "ConfigMap/slurm/slurm-prolog:data.10-job-folder.sh",
}
"""Sound stacks that a site must declare, with the place that its entry names."""


def refused_by(file: Path) -> set[str]:
    return speaking(in_memory(bad_stack(file))) & MANDATORY


@pytest.mark.parametrize("file", EVIL, ids=lambda file: file.stem)
def test_an_evil_stack_is_refused(file: Path) -> None:
    assert bool(refused_by(file)) is (file.stem not in PASS)


@pytest.mark.parametrize("file", SOUND, ids=lambda file: file.stem)
def test_a_sound_stack_passes_or_is_one_to_declare(file: Path) -> None:
    assert refused_by(file) == ({"cluster-as-made"} if file.stem in DECLARED else set())


@pytest.mark.parametrize("name", DECLARED)
def test_what_a_site_must_declare_is_named(name: str) -> None:
    stack = in_memory(bad_stack(FOLDER / "sound" / f"{name}.yaml"))
    rule = next(rule for rule in RULES if rule.name == "cluster-as-made")
    assert any(f"(what: {DECLARED[name]})" in said for _, said in rule.judge(stack).violations)


def test_at_most_five_of_a_hundred_pass_and_one_of_twenty_is_refused() -> None:
    assert (len(EVIL), len(SOUND)) == (1477, 832)
    assert len(PASS) * 100 <= len(EVIL) * 5
    assert len(DECLARED) * 20 <= len(SOUND)
