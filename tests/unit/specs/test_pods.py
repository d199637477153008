"""Pods as slurm-operator makes them of a stack's custom resources, by both of its ways of merging, and what is refused of
whole pods. A real API server judges the same pods in tests/integration/test_pods_accepted.py."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.daemon_variables import is_written, written_for
from slinky_iac.errors import ConfigError
from slinky_iac.specs.pods import pod_of, resources
from slinky_iac.specs.refused import pod_faults, refused
from slinky_iac.specs.workers import nodeset_spec
from tests.clusters import MUNGE, STACKS, stack_sections
from tests.stacks import FORMS, form, merged, minimal, outside

MOUNT = {"name": "nope", "mountPath": "/x"}
LOGIN = {"main": {"sssdConfFrom": {"secret": "sssd"}}}


def config_of(version: str = "1.2.1", **over: Any) -> StackConfig:
    own = {"operator": {"version": version, "webhook": {"enabled": False}}, "logins": LOGIN}
    return form("all-in-kubernetes", **merged(own, over))


def spec_of(config: StackConfig, path: str) -> dict[str, Any]:
    (pod,) = [pod_of(config, each) for each in resources(config) if each.path == path]
    assert pod is not None
    found: dict[str, Any] = pod["spec"]
    return found


def gpu(config: StackConfig) -> dict[str, Any]:
    return spec_of(config, "nodesets.gpu")


@pytest.mark.parametrize("stack", FORMS)
def test_a_daemon_outside_has_no_pod(stack: str) -> None:
    config = form(stack)
    made = {each.path for each in resources(config) if pod_of(config, each) is not None}
    assert ("controller" in made) == bool(config.slurmctld.pods)
    assert ("accounting" in made) == (config.accounting.enabled and not config.slurmdbd.hosts)
    assert "restapi" in made
    assert made >= {f"nodesets.{name}" for name in config.nodesets}


@pytest.mark.parametrize("version", ["1.0.5", "1.2.1"])
def test_lists_merge_by_the_operators_release(version: str) -> None:
    volumes = [{"name": "slurm-logfile", "mountPath": "/a", "source": {"emptyDir": {"sizeLimit": "1Gi"}}}]
    tolerations = [{"key": "a", "operator": "Exists"}]
    over = {"volumes": volumes, "pod": {"tolerations": tolerations}}
    data = merged(minimal(operator={"version": version}), {"nodesets": {"gpu": {"replicas": 1, **over}}})
    spec = gpu(load(data))  # a rule refuses a volume of this name: it shows how lists merge
    found = [each["emptyDir"] for each in spec["volumes"] if each["name"] == "slurm-logfile"]
    if version == "1.0.5":  # one behind the other
        assert found == [{"medium": "Memory"}, {"sizeLimit": "1Gi"}]
        assert spec["tolerations"][1:] == tolerations
    else:
        assert found == [{"medium": "Memory", "sizeLimit": "1Gi"}]
        assert spec["tolerations"] == tolerations


@pytest.mark.parametrize("version", ["1.0.5", "1.1.2"])
def test_the_operators_rights_stay_beside_a_users(version: str) -> None:
    over = {"gpu": {"raw": {"container": {"securityContext": {"runAsUser": 1000}}}}}
    context = gpu(config_of(version, nodesets=over))["containers"][0]["securityContext"]
    assert context["runAsUser"] == 1000
    assert context["privileged"] is True


def test_a_claim_of_a_template_takes_the_place_of_the_volume_of_its_name() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}}
    over = {
        "volumes": [{"name": "disk", "mountPath": "/disk", "source": {"emptyDir": {}}}],
        "raw": {"spec": {"volumeClaimTemplates": [{"metadata": {"name": "disk"}, "spec": claim}]}},
    }
    volumes = [each for each in gpu(config_of(nodesets={"gpu": over}))["volumes"] if each["name"] == "disk"]
    assert [each.keys() for each in volumes] == [{"name", "persistentVolumeClaim"}]


def test_in_daemonset_mode_a_pod_has_the_placement_that_a_gate_writes() -> None:
    over = {"each": {"scalingMode": "DaemonSet", "maxReplicas": 2, "pod": {"nodeSelector": {"pool": "hpc"}}}}
    config = config_of(nodesets=over)
    assert spec_of(config, "nodesets.each")["nodeSelector"] == {"pool": "hpc"}
    (each,) = [one for one in resources(config) if one.path == "nodesets.each"]
    assert "nodeSelector" not in each.spec["template"]["spec"]


@pytest.mark.parametrize("version", ["1.0.5", "1.1.2", "1.2.1"])
@pytest.mark.parametrize("stack", [each for each in STACKS if each not in MUNGE])
def test_nothing_that_a_shipped_stack_renders_is_refused(stack: str, version: str) -> None:
    config = load(merged(stack_sections(stack), {"operator": {"version": version, "webhook": {"enabled": False}}}))
    for each in resources(config):
        if (pod := pod_of(config, each)) is not None:
            assert [*pod_faults(pod["spec"])] == [], each.path


@pytest.mark.parametrize(
    ("over", "path", "words"),
    [
        (
            {"raw": {"pod": {"initContainers": [{"name": "a", "image": "a:1", "volumeMounts": [MOUNT]}]}}},
            "raw.pod.initContainers",
            "has nope, and the pod has no such volume",
        ),
        ({"raw": {"container": {"resources": {"claims": [{"name": "imex"}]}}}}, "raw.container.resources.claims", "imex"),
        (
            {"raw": {"container": {"volumeDevices": [{"name": "own", "devicePath": "/dev/x"}]}}},
            "raw.container.volumeDevices",
            "no such volume",
        ),
    ],
)
def test_what_does_not_fit_the_operators_pod_is_refused_at_its_setting(over: Any, path: str, words: str) -> None:
    (found,) = refused(config_of(nodesets={"gpu": over}))
    assert found.path == f"nodesets.gpu.{path}"
    assert words in found.message


def test_a_volume_at_two_places_is_one_volume_with_two_mounts() -> None:
    source = {"persistentVolumeClaim": {"claimName": "nfs"}}
    volumes = [{"name": "home", "mountPath": f"/{at}", "subPath": at, "source": source} for at in ("home", "scratch")]
    config = config_of("1.0.5", nodesets={"gpu": {"volumes": volumes}})
    assert refused(config) == ()
    assert [each for each in gpu(config)["volumes"] if each["name"] == "home"] == [{"name": "home", **source}]


def names_of(config: StackConfig) -> list[str]:
    return [each["name"] for each in gpu(config)["containers"][0]["env"]]


@pytest.mark.parametrize("version", ["1.0.5", "1.2.1"])
def test_a_variable_comes_after_those_of_ours_that_it_names(version: str) -> None:
    over = {"resources": {"cpus": 4, "memory": "8Gi"}, "env": {"THREADS": "$(POD_CPUS)", "SITE": "north"}}
    found = names_of(config_of(version, nodesets={"gpu": over}))
    assert found.index("SITE") < found.index("POD_CPUS") < found.index("THREADS")
    kept = names_of(config_of(version, nodesets={"gpu": {**over, "env": {"B": "$(A)", "A": "x"}}}))
    assert kept.index("B") < kept.index("A") < kept.index("POD_CPUS"), "no pod gets another template for its other variables"


def test_each_variable_that_a_nodeset_can_have_of_ours_is_in_the_table_of_them() -> None:
    """With all that makes one: amounts, a bundle of keys, two outside slurmctlds. A value that names one comes behind it."""
    naming = {f"AFTER_{name}": f"$({name})" for name in written_for("NodeSet")}
    gpu = {"replicas": 1, "resources": {"cpus": 4, "memory": "8Gi"}, "env": naming}
    hosts = {"external": {"host": "ctl.example.org", "backups": ["10.0.0.6"]}}
    config = load(outside(keys={"source": "imported", "jwks": True}, controller=hosts, nodesets={"gpu": gpu}))
    env = nodeset_spec(config, "gpu", config.nodesets["gpu"])["slurmd"]["env"]
    ours = {variable["name"]: variable["value"] for variable in env if variable["name"] not in naming}
    assert ours.keys() == set(written_for("NodeSet"))
    assert [name for name, value in ours.items() if not is_written("NodeSet", name, value)] == []
    assert [variable["name"] for variable in env] == [*ours, *naming]


@pytest.mark.parametrize(
    ("version", "own", "other"),
    [
        ("1.1.2", "POD_TOPOLOGY", "SLINKY_TOPOLOGY"),
        ("1.2.1", "POD_TOPOLOGY", "SLINKY_TOPOLOGY"),
        ("1.3.0", "SLINKY_TOPOLOGY", "POD_TOPOLOGY"),
    ],
)
def test_the_variable_of_a_pods_place_is_that_of_the_release(version: str, own: str, other: str) -> None:
    """1.3 calls it otherwise (``workerContainer`` of worker_app.go)."""
    over = {"resources": {"cpus": 4}, "env": {"PLACE": f"$({own})", "OTHER": f"$({other})"}}
    found = names_of(config_of(version, nodesets={"gpu": over}))
    assert own in found
    assert other not in found
    assert found.index("OTHER") < found.index("POD_CPUS") < found.index("PLACE")

    for path, setting in (  # that of another release too: a newer operator would take it for the place of the pod
        *((f"nodesets.gpu.env.{each}", {"env": {each: "x"}}) for each in (own, other)),
        ("nodesets.gpu.raw.container.env", {"raw": {"container": {"env": [{"name": own, "value": "x"}]}}}),
    ):
        with pytest.raises(ConfigError, match=f"{path}: .*set already"):
            config_of(version, nodesets={"gpu": setting})
