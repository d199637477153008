"""Pieces of specs: quantities as slurmd counts them, host network, services, scripts, Helm values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.quantities import mebibytes, whole_cpus
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec, script_maps
from slinky_iac.specs.operator import chart, merge, operator_values, service_monitor_stub
from slinky_iac.specs.workers import loginset_spec, nodeset_spec, template_digest
from tests.stacks import minimal


def config(**sections: Any) -> StackConfig:
    return load(minimal(**sections))


def nodeset(**settings: Any) -> dict[str, Any]:
    stack = config(nodesets={"gpu": {"replicas": 1} | settings})
    return nodeset_spec(stack, "gpu", stack.nodesets["gpu"])


@pytest.mark.parametrize(("text", "cpus"), [("4", 4), ("500m", 1), ("2500m", 3), ("1.5", 2), ("64000m", 64), ("0", 1)])
def test_slurmd_is_told_whole_cpus(text: str, cpus: int) -> None:
    assert whole_cpus(text) == cpus


@given(cpus=st.integers(1, 4096))
def test_whole_cpus_written_in_thousandths_are_not_rounded_up(cpus: int) -> None:
    assert whole_cpus(f"{cpus * 1000}m") == cpus


@pytest.mark.parametrize(
    ("text", "mib"), [("512Mi", 512), ("16Gi", 16384), ("1G", 953), ("1T", 953674), ("1.5Gi", 1536), ("1048576", 1)]
)
def test_memory_is_mebibytes_never_more_than_there_is(text: str, mib: int) -> None:
    assert mebibytes(text) == mib


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "-1"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="isn't a Kubernetes quantity"):
        whole_cpus(text)


LOGIN = config(logins={"a": {"sssdConfFrom": {"secret": "s"}, "pod": {"hostNetwork": True}}})


@pytest.mark.parametrize(
    "spec",
    [
        nodeset(pod={"hostNetwork": True})["template"]["spec"],
        restapi_spec(config(restapi={"pod": {"hostNetwork": True}}))["template"]["spec"],
        loginset_spec(LOGIN, "a", LOGIN.logins["a"])["template"]["spec"],
    ],
    ids=["NodeSet", "RestApi", "LoginSet"],
)
def test_a_pod_on_the_hosts_network_still_finds_services(spec: dict[str, Any]) -> None:
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def test_a_pod_without_host_network_keeps_the_clusters_dns() -> None:
    assert nodeset()["template"]["spec"] == {"hostname": "gpu-"}


def test_pod_settings_reach_the_template() -> None:
    pod = {
        "priorityClass": "high",
        "terminationGrace": "5m",
        "annotations": {"a": "1"},
        "labels": {"b": "2"},
        "affinity": {"nodeAffinity": {}},
    }
    assert nodeset(pod=pod)["template"] == {
        "metadata": {"annotations": {"a": "1"}, "labels": {"b": "2"}},
        "spec": {
            "hostname": "gpu-",
            "affinity": {"nodeAffinity": {}},
            "priorityClassName": "high",
            "terminationGracePeriodSeconds": 300,
        },
    }


def test_a_grace_of_zero_seconds_is_said() -> None:
    assert nodeset(pod={"terminationGrace": 0})["template"]["spec"]["terminationGracePeriodSeconds"] == 0


def test_ssh_and_privileges_are_said_only_where_set() -> None:
    assert "ssh" not in nodeset()
    assert "securityContext" not in nodeset()["slurmd"]
    assert nodeset(privileged=False)["slurmd"]["securityContext"] == {"privileged": False}
    assert nodeset(ssh={"enabled": True, "sssdConfFrom": {"secret": "sssd"}})["ssh"] == {
        "enabled": True,
        "extraSshdConfig": "",
        "sssdConfRef": {"name": "sssd", "key": "sssd.conf"},
    }


@pytest.mark.parametrize("external", [None, {"host": "ctl"}])
def test_whether_a_partition_is_on_is_always_said(external: dict[str, str] | None) -> None:
    """The default is true in 1.0 and false from 1.1 on, and an outside slurmctld never sees it."""
    controller = {} if external is None else {"external": external}
    for enabled in (True, False):
        stack = config(controller=controller, nodesets={"gpu": {"replicas": 1, "partition": {"enabled": enabled}}})
        assert nodeset_spec(stack, "gpu", stack.nodesets["gpu"])["partition"] == {"enabled": enabled and external is None}


def test_on_delete_has_no_rolling_part() -> None:
    assert nodeset(updateStrategy={"type": "OnDelete"})["updateStrategy"] == {"type": "OnDelete"}


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        ({"enabled": False}, {"enabled": False}),
        ({"existingClaim": "state"}, {"enabled": True, "existingClaim": "state"}),
        (
            {"storageClass": "fast", "size": "10Gi"},
            {
                "enabled": True,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
                "storageClassName": "fast",
            },
        ),
        (
            {"storageClass": ""},
            {
                "enabled": True,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "4Gi"}},
                "storageClassName": "",
            },
        ),
    ],
)
def test_slurmctlds_state_is_kept_as_asked(settings: dict[str, Any], spec: dict[str, Any]) -> None:
    assert controller_spec(config(controller={"persistence": settings}))["persistence"] == spec


def test_scripts_and_files_are_config_maps_that_the_controller_refers_to() -> None:
    stack = config(
        operator={"version": "1.1.0"},
        controller={"configFiles": {"cgroup.conf": "x"}, "prolog": {"p.sh": "y"}},
    )
    spec = controller_spec(stack)
    assert spec["configFileRefs"] == [{"name": "slurm-config-files", "namespace": "slurm"}]
    assert spec["prologScriptRefs"] == [{"name": "slurm-prolog", "namespace": "slurm"}]
    assert "epilogScriptRefs" not in spec
    assert [(name, files) for _, name, files in script_maps(stack)] == [
        ("slurm-config-files", {"cgroup.conf": "x"}),
        ("slurm-prolog", {"p.sh": "y"}),
        ("slurm-epilog", {}),
    ]


@pytest.mark.parametrize("field", ["configFiles", "prolog", "epilog"])
@pytest.mark.parametrize(("version", "seen"), [("1.0.1", False), ("1.1.2", False), ("1.2.1", True)])
def test_a_content_that_changes_alone_reaches_slurmctld(field: str, version: str, *, seen: bool) -> None:
    """Up to 1.1 by the operator's sidecar, which compares the files; from 1.2 on by another pod."""
    before, after = (
        controller_spec(config(operator={"version": version}, controller={field: {"f": text}})) for text in ("#!a", "#!b")
    )
    assert (before != after) is seen
    if seen:
        before["template"].pop("metadata")
        after["template"].pop("metadata")
        assert before == after, "nothing but the note on the pod"


def test_the_stacks_own_topology_reaches_slurmctld() -> None:
    def note(switch: str) -> object:
        topologies = {"fabric": {"tree": {switch: ["leaf-1"]}, "default": True}}
        made = load(minimal(operator={"version": "1.2.1"}, nodes={"topologies": topologies}))
        return controller_spec(made)["template"]["metadata"]["annotations"]["slinky-iac/files"]

    assert note("core-1") != note("core-2")


def test_a_slurmctld_without_files_has_no_note() -> None:
    assert "template" not in controller_spec(config())


FULL = {"cpus": 2, "memory": "4Gi", "requests": {"cpus": "500m"}}
FULL_SPEC = {"requests": {"cpu": "500m", "memory": "4Gi"}, "limits": {"cpu": "2", "memory": "4Gi"}}


def test_each_container_gets_the_resources_that_are_asked_for_it() -> None:
    made = config(
        cluster={"name": "c", "sidecarResources": {"requests": {"cpus": "5m"}}},
        controller={"resources": FULL},
        restapi={"resources": FULL},
        accounting={"database": {"host": "db"}, "resources": FULL},
        logins={"l": {"sssdConfFrom": {"secret": "s"}, "resources": FULL}},
        nodesets={"gpu": {"replicas": 1}},
    )
    sidecar = {"requests": {"cpu": "5m"}}
    controller = controller_spec(made)
    assert controller["slurmctld"]["resources"] == FULL_SPEC
    assert [controller[name]["resources"] for name in ("reconfigure", "logfile")] == [sidecar, sidecar]
    assert accounting_spec(made)["slurmdbd"]["resources"] == FULL_SPEC
    assert restapi_spec(made)["slurmrestd"]["resources"] == FULL_SPEC
    login = loginset_spec(made, "l", made.logins["l"])
    assert (login["login"]["resources"], login["initconf"]["resources"]) == (FULL_SPEC, sidecar)
    nodeset = nodeset_spec(made, "gpu", made.nodesets["gpu"])
    assert (nodeset["logfile"]["resources"], "resources" in nodeset["slurmd"]) == (sidecar, False)


def containers(spec: Any) -> list[dict[str, Any]]:
    """Everything with an image in a spec."""
    if isinstance(spec, list):
        return [found for each in spec for found in containers(each)]
    if not isinstance(spec, dict):
        return []
    return ([spec] if "image" in spec else []) + [found for each in spec.values() for found in containers(each)]


def all_specs(**cluster: Any) -> list[Any]:
    made = config(
        cluster={"name": "c", **cluster},
        accounting={"database": {"host": "db"}},
        logins={"l": {"sssdConfFrom": {"secret": "s"}}},
        nodesets={"gpu": {"replicas": 1, "resources": {"cpus": 4, "memory": "8Gi"}}},
        restapi={"tls": {"source": "existing", "secret": "rest-cert"}},
    )
    login, nodeset = made.logins["l"], made.nodesets["gpu"]
    daemons = [controller_spec(made), accounting_spec(made), restapi_spec(made)]
    return [*daemons, loginset_spec(made, "l", login), nodeset_spec(made, "gpu", nodeset)]


def test_with_defaults_no_container_asks_for_nothing() -> None:
    """Else a quota of CPU or memory, or a policy that asks for requests, admits no pod of the stack's."""
    found = containers(all_specs(defaultResources=True))
    assert len(found) == 10
    assert all({"cpu", "memory"} <= each["resources"]["requests"].keys() for each in found)
    assert all("memory" in each["resources"]["limits"] for each in found)


def test_without_a_setting_of_it_no_pod_changes() -> None:
    bare = [each for each in containers(all_specs()) if "resources" in each]
    assert [each["image"].partition(":")[0].rpartition("/")[2] for each in bare] == ["slurmd"]


def test_raw_pieces_stand_beside_what_is_rendered() -> None:
    pod = {"runtimeClassName": "nvidia", "resourceClaims": [{"name": "imex", "resourceClaimTemplateName": "t"}]}
    container = {"env": [{"name": "A", "value": "1"}], "resources": {"claims": [{"name": "imex"}]}, "args": ["-v"]}
    raw = {"pod": pod, "container": container, "spec": {"minReadySeconds": 5}}
    plain = {"replicas": 1, "env": {"B": "2"}, "resources": {"cpus": 4}, "pod": {"priorityClass": "high"}}
    made = config(nodesets={"gpu": plain | {"raw": raw}, "cpu": plain})
    spec = nodeset_spec(made, "gpu", made.nodesets["gpu"])
    bare = nodeset_spec(made, "gpu", made.nodesets["cpu"])
    assert spec["slurmd"]["resources"] == {**bare["slurmd"]["resources"], "claims": [{"name": "imex"}]}
    assert spec["slurmd"]["env"] == [*bare["slurmd"]["env"], {"name": "A", "value": "1"}]
    assert spec["slurmd"]["args"] == ["-v"]
    assert spec["template"]["spec"] == {**bare["template"]["spec"], **pod}
    assert spec["minReadySeconds"] == 5
    assert template_digest(spec) != template_digest(bare)


def test_raw_pieces_of_a_daemon_and_of_its_service() -> None:
    raw = {"service": {"externalTrafficPolicy": "Local"}, "container": {"args": ["-v"]}, "pod": {"runtimeClassName": "x"}}
    made = config(
        controller={"raw": raw, "service": {"type": "LoadBalancer"}},
        restapi={"raw": raw},
        accounting={"database": {"host": "db"}, "raw": raw},
        logins={"l": {"sssdConfFrom": {"secret": "s"}, "raw": raw}},
    )
    assert controller_spec(made)["service"]["spec"] == {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    found = {
        "slurmctld": controller_spec(made),
        "slurmdbd": accounting_spec(made),
        "slurmrestd": restapi_spec(made),
        "login": loginset_spec(made, "l", made.logins["l"]),
    }
    for name, spec in found.items():
        assert spec[name]["args"] == ["-v"]
        assert spec["template"]["spec"]["runtimeClassName"] == "x"
        assert spec["service"]["spec"]["externalTrafficPolicy"] == "Local"


def test_a_folder_of_a_volume_is_mounted_alone() -> None:
    volume = {"name": "v", "mountPath": "/a", "source": {}, "subPath": "b", "mountPropagation": "HostToContainer"}
    made = config(nodesets={"gpu": {"replicas": 1, "volumes": [volume]}})
    (mounted,) = nodeset_spec(made, "gpu", made.nodesets["gpu"])["slurmd"]["volumeMounts"]
    del volume["source"]
    assert mounted == {**volume, "readOnly": False}


def test_the_databases_password_may_be_in_a_secret_of_others() -> None:
    database = {"host": "db", "passwordFrom": {"secret": "mariadb", "key": "root-password"}}
    spec = accounting_spec(config(accounting={"database": database}))
    assert spec["storageConfig"]["passwordKeyRef"] == {"name": "mariadb", "key": "root-password"}


def test_a_services_node_port_and_annotations_are_set_at_creation() -> None:
    service = {"type": "NodePort", "nodePort": 30817, "annotations": {"lb": "x"}}
    assert controller_spec(config(controller={"service": service}))["service"] == {
        "port": 6817,
        "spec": {"type": "NodePort"},
        "nodePort": 30817,
        "metadata": {"annotations": {"lb": "x"}},
    }


def test_charts_are_slinkys_unless_a_source_is_given() -> None:
    assert chart(config(), "slurm-operator") == ("oci://ghcr.io/slinkyproject/charts/slurm-operator", "1.2.1")
    own = config(operator={"chart": {"oci": "oci://r.example.org/c"}, "version": "1.1.1"})
    assert chart(own, "slurm-operator-crds") == ("oci://r.example.org/c/slurm-operator-crds", "1.1.1")
    assert chart(config(operator={"chart": {"path": "charts"}}), "slurm-operator") == ("./charts/slurm-operator", None)
    operator, crds = (f"sha256:{digit * 64}" for digit in "01")
    pinned = config(operator={"chart": {"digest": operator, "crdsDigest": crds}})
    charts = "oci://ghcr.io/slinkyproject/charts"
    assert chart(pinned, "slurm-operator") == (f"{charts}/slurm-operator@{operator}", "1.2.1")
    assert chart(pinned, "slurm-operator-crds") == (f"{charts}/slurm-operator-crds@{crds}", "1.2.1")


@pytest.mark.parametrize(
    ("webhook", "enabled", "issuer"),
    [
        ({}, False, False),
        ({"enabled": True}, True, True),
        ({"enabled": True, "certManager": False}, True, False),
        ({"certManager": True}, False, False),
    ],
)
def test_the_webhook_and_its_issuer_are_on_only_where_asked(webhook: dict[str, Any], enabled: bool, issuer: bool) -> None:
    assert operator_values(config(operator={"webhook": webhook})) == {
        "crds": {"enabled": False},
        "webhook": {"enabled": enabled},
        "certManager": {"enabled": issuer},
    }


def test_the_users_values_win_and_keep_their_neighbours() -> None:
    values = operator_values(config(operator={"values": {"webhook": {"replicas": 2}, "crds": {"enabled": True}}}))
    assert values["webhook"] == {"enabled": False, "replicas": 2}
    assert values["crds"] == {"enabled": True}


_TREES = st.recursive(st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8)
_MAPS = st.dictionaries(st.sampled_from("abc"), _TREES)


@given(base=_MAPS, over=_MAPS)
def test_merging_changes_neither_side_and_the_second_wins(base: dict[str, Any], over: dict[str, Any]) -> None:
    before = (repr(base), repr(over))
    merged = merge(base, over)
    assert (repr(base), repr(over)) == before
    assert merge(merged, over) == merged
    assert {k: merged[k] for k in base if k not in over} == {k: base[k] for k in base if k not in over}


def test_the_service_monitor_stub_is_the_kind_that_the_operator_asks_for() -> None:
    stub = service_monitor_stub()
    assert stub["metadata"]["name"] == "servicemonitors.monitoring.coreos.com"
    assert stub["spec"]["group"] == "monitoring.coreos.com"
    assert stub["spec"]["names"]["kind"] == "ServiceMonitor"
    assert [(v["name"], v["served"], v["storage"]) for v in stub["spec"]["versions"]] == [("v1", True, True)]
