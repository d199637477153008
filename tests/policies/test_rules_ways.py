"""Ways to Slurm's daemons, their nodes and their jobs: what leads to none of them passes, and what a site has named."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.ending import jobs_ended_by_few
from slurm_rules.host_folders import host_folders_within_bounds
from slurm_rules.traffic import slurm_traffic_left_alone

from tests.policies.judging import Change, judged, messages, spec
from tests.policies.pack import BAD, bad_stack

RBAC = "rbac.authorization.k8s.io"


def role(*rules: Change, namespace: str = "slurm", **meta: Any) -> Change:
    body = {"metadata": {"name": "helper", "namespace": namespace, **meta}, "rules": list(rules)}
    return {"resources": {"helper": {"type": f"kubernetes:{RBAC}/v1:Role", "properties": body}}}


def entry(group: str, resource: str, *verbs: str, names: tuple[str, ...] = ()) -> Change:
    limited = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs), **limited}


def pods(folder: str, *, read_only: bool = False, **meta: str) -> Change:
    mount = {"name": "p", "mountPath": "/p", "readOnly": read_only}
    pod = {
        "containers": [{"name": "a", "image": "registry.example.org/a:1.2", "volumeMounts": [mount]}],
        "volumes": [{"name": "p", "hostPath": {"path": folder}}],
    }
    body = {"metadata": {"name": "helper", "namespace": "monitoring", **meta}, "spec": {"template": {"spec": pod}}}
    return {"resources": {"helper": {"type": "kubernetes:apps/v1:DaemonSet", "properties": body}}}


HOMES = spec(
    "nodeset",
    slurmd={"volumeMounts": [{"name": "h", "mountPath": "/home"}]},
    template={"spec": {"volumes": [{"name": "h", "hostPath": {"path": "/home"}}]}},
)


@pytest.mark.parametrize(
    "change",
    [
        role(entry("", "services", "get", "list", "watch"), entry("discovery.k8s.io", "endpointslices", "list")),
        role(entry("", "services", "update", "patch", names=("web",)), entry("", "endpoints", "update", names=("leader",))),
        role(entry("discovery.k8s.io", "endpointslices", "update"), namespace="web"),
        role(entry("networking.k8s.io", "ingresses", "create"), namespace="web"),
        role(entry("", "configmaps", "update", names=("my-leader",)), namespace="kube-system"),
        role(entry("", "configmaps", "update", names=("coredns",)), namespace="web"),
    ],
    ids=["reads", "its own by name", "slices elsewhere", "routes elsewhere", "another's settings", "another coredns"],
)
def test_a_role_that_leads_none_of_slurms_connections_elsewhere_passes(change: Change) -> None:
    assert messages(judged(slurm_traffic_left_alone, change)) == ""


def test_a_reviewed_ingress_controller_passes_and_a_patch_by_its_name_does_not() -> None:
    change = role(entry("", "services", "patch"))
    assert not judged(slurm_traffic_left_alone, change, {"reviewed": ["hel*"]}).violations
    change["resources"]["helper"]["type"] = f"kubernetes:{RBAC}/v1:RolePatch"
    assert judged(slurm_traffic_left_alone, change, {"reviewed": ["hel*"]}).violations


def test_an_own_service_of_the_namespace_passes() -> None:
    web = {"metadata": {"name": "web", "namespace": "slurm"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    change = {"resources": {"web": {"type": "kubernetes:core/v1:Service", "properties": web}}}
    assert messages(judged(slurm_traffic_left_alone, change)) == ""


def test_a_service_that_leads_to_an_outside_slurmdbd_is_the_stacks_own_to_make() -> None:
    meta = {"name": "slurm-accounting", "namespace": "slurm"}
    service = {"metadata": meta, "spec": {"ports": [{"port": 6819}]}}
    slice_ = {"metadata": meta | {"labels": {"kubernetes.io/service-name": "slurm-accounting"}}, "endpoints": []}
    change = {
        "resources": {
            "accounting": {"properties": {"spec": {"external": True}}},
            "endpoints": {"type": "kubernetes:core/v1:Service", "properties": service},
            "slice": {"type": "kubernetes:discovery.k8s.io/v1:EndpointSlice", "properties": slice_},
        }
    }
    assert messages(judged(slurm_traffic_left_alone, change)) == ""
    change["resources"]["accounting"] = {"properties": {"spec": {"external": False}}}
    assert len(judged(slurm_traffic_left_alone, change).violations) == 2


@pytest.mark.parametrize("folder", ["/scratch", "/scratch/a", "/mnt/fast/", "/dev/infiniband", "/dev/nvidia0", "/dev//shm"])
def test_data_and_devices_of_jobs_are_mounted(folder: str) -> None:
    assert messages(judged(host_folders_within_bounds, pods(folder))) == ""


@pytest.mark.parametrize("folder", ["/etc/localtime", "/lib/modules/6.8", "/cvmfs"])
def test_what_only_is_looked_up_is_mounted_read_only(folder: str) -> None:
    assert messages(judged(host_folders_within_bounds, pods(folder, read_only=True))) == ""


def test_one_container_that_may_write_makes_the_folder_written() -> None:
    change = pods("/lib/modules", read_only=True)
    more = {"name": "b", "image": "x:1", "volumeMounts": [{"name": "p", "mountPath": "/p"}]}
    change["resources"]["helper"]["properties"]["spec"]["template"]["spec"]["initContainers"] = [more]
    assert "may write /lib/modules" in messages(judged(host_folders_within_bounds, change))


def test_homes_that_a_site_names_are_mounted_in_slurmd_pods_and_nothing_beside_them() -> None:
    site = {"folders": ["/home", "/opt/software"]}
    assert "may write /home" in messages(judged(host_folders_within_bounds, HOMES))
    assert messages(judged(host_folders_within_bounds, HOMES, site)) == ""
    assert "may write /opt " in messages(judged(host_folders_within_bounds, pods("/opt"), site))
    assert "may write /home2 " in messages(judged(host_folders_within_bounds, pods("/home2"), site))


def test_a_pattern_of_the_site_ends_at_a_slash() -> None:
    site = {"folders": ["/dev/nvidia*", "/srv/*/data"]}
    assert messages(judged(host_folders_within_bounds, pods("/srv/a/data/b"), site)) == ""
    assert judged(host_folders_within_bounds, pods("/srv/a/b/data"), site).violations
    assert judged(host_folders_within_bounds, pods("/srv"), site).violations


def test_a_reviewed_log_collector_mounts_its_folder() -> None:
    site = {"reviewed": ["monitoring/helper"]}
    assert messages(judged(host_folders_within_bounds, pods("/var/log"), site)) == ""
    assert judged(host_folders_within_bounds, pods("/var/log", name="other"), site).violations


@pytest.mark.parametrize(
    "change",
    [
        role(entry("", "pods", "get", "list", "watch")),
        role(entry("", "pods", "delete"), namespace="web"),
        role(entry("", "pods", "delete", names=("web-0",))),
        role(entry("", "nodes", "patch")),
    ],
    ids=["reads", "elsewhere", "its own by name", "nodes, by a Role that gives none"],
)
def test_a_role_that_ends_no_job_passes(change: Change) -> None:
    assert messages(judged(jobs_ended_by_few, change)) == ""


def test_a_reviewed_role_deletes_pods_unless_it_goes_into_a_role_of_kubernetes() -> None:
    site = {"reviewedRoles": ["helper"]}
    assert not judged(jobs_ended_by_few, role(entry("", "pods", "delete")), site).violations
    label = {f"{RBAC}/aggregate-to-edit": "true"}
    assert judged(jobs_ended_by_few, role(entry("", "pods", "delete"), labels=label), site).violations


@pytest.mark.parametrize("file", [file for file in BAD if file.stem.startswith("host-folders")], ids=lambda file: file.stem)
def test_every_folder_that_is_refused_is_named(file: Any) -> None:
    change = bad_stack(file)
    found = messages(judged(host_folders_within_bounds, change))
    assert "of its node, which this site doesn't name" in found
