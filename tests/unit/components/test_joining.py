"""A NodeSet that joins a HybridCluster of the program: the order, the gates, the connection and the outputs are those of the
cluster's own NodeSets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi import Output

from components import program
from components.connection import kubernetes_provider
from components.program_parts import HybridCluster, NodeSet
from slinky_iac.config.reading.engine import StackRefused
from tests.clusters import SECRETS
from tests.program import Recording, Registered, configured, run
from tests.stacks import minimal

CR = "kubernetes:slinky.slurm.net/v1beta1:"
KEYS = {name: SECRETS[name] for name in ("slurmKey", "jwtKey")}
OUTSIDE: dict[str, Any] = {
    "slurmctld": "ctl.example.org",
    "accounting": {"enabled": False},
    "keys": {"source": "imported"},
    "nodesets": {"gpu": {"replicas": 2}},
}
INSIDE: dict[str, Any] = {"accounting": {"enabled": False}, "nodesets": {"gpu": {"replicas": 2}}}
CLUSTERS = pytest.mark.parametrize("settings", [OUTSIDE, INSIDE], ids=["outside", "inside"])


def made(settings: dict[str, Any], **more: Any) -> tuple[Recording, dict[str, Any]]:
    """A cluster with NodeSet gpu, and cpu joins it; and the outputs of the program."""
    outputs: dict[str, Any] = {}

    def built() -> None:
        atlas = HybridCluster("atlas", **settings)
        NodeSet("cpu", cluster=atlas, replicas=1, **more)
        for name in ("nodesets", "scale_in_plans", "outside_slurm_conf"):
            getattr(atlas, name).apply(lambda known, name=name: outputs.update({name: known}))

    with configured({}, KEYS if "keys" in settings else {}):
        return run(built), outputs


def gate(recording: Recording, nodeset: str) -> Registered:
    (found,) = [each for each in recording.of("NodeSetScale") if each.inputs["nodeset"] == nodeset]
    return found


def named(urns: set[str], own: str) -> set[str]:
    """Names of resources that aren't a NodeSet's own."""
    return {urn.rpartition("::")[2] for urn in urns if own not in urn}


def joined(program: Callable[[HybridCluster], object]) -> str:
    """How it is refused."""
    said: list[str] = []

    def built() -> None:
        atlas = HybridCluster("atlas", **OUTSIDE)
        try:
            program(atlas)
        except StackRefused as error:
            said.append(str(error))

    with configured({}, KEYS):
        recording = run(built)
    assert {each.inputs["nodeset"] for each in recording.of("NodeSetScale")} == {"gpu"}
    return said[0]


@CLUSTERS
def test_it_is_made_after_and_removed_before_all_that_the_clusters_own_nodesets_are(settings: dict[str, Any]) -> None:
    """Without slurmrestd the gate couldn't tell a busy node on a destroy; without the CRDs an `up` fails."""
    recording, _ = made(settings)
    own, cpu = recording.before(gate(recording, "gpu")), recording.before(gate(recording, "cpu"))
    assert named(own, "gpu") - {"atlas"} <= named(cpu, "cpu")
    assert {"slurm-slurm-restapi", "atlas-namespace", "atlas-slurmctld"} <= named(cpu, "cpu")


def test_the_queue_is_waited_for_before_it_is_drained() -> None:
    recording, _ = made(INSIDE)
    assert gate(recording, "cpu").urn in recording.before(recording.one("QueueGate"))


@CLUSTERS
def test_the_gates_of_the_cluster_know_it(settings: dict[str, Any]) -> None:
    recording, _ = made(settings)
    assert set(recording.one("Removals").inputs["stands"]) == {"gpu", "cpu"}
    slurmctld = recording.one("ControllerGate").inputs
    assert set(slurmctld["partitions"]) == {"gpu", "cpu"}
    assert set(slurmctld["nodesets"]) == ({"gpu", "cpu"} if settings is INSIDE else set())


def test_there_is_one_connection_and_the_outputs_have_it() -> None:
    recording, outputs = made(OUTSIDE)
    assert len(recording.of("pulumi:providers:kubernetes")) == len(recording.of("ClusterIdentity")) == 1
    assert outputs["nodesets"] == {"gpu": 2, "cpu": 1}
    assert set(outputs["scale_in_plans"]) == {"gpu", "cpu"}
    assert "PartitionName=cpu Nodes=cpu" in outputs["outside_slurm_conf"]


def test_outputs_of_the_cluster_are_in_its_specs_and_no_placeholder_is() -> None:
    external = {"host": Output.from_input("ctl.example.org"), "backups": ["spare.example.org"]}
    given = {**OUTSIDE, "slurmctld": None, "controller": {"external": external}}
    recording, outputs = made(given, image=Output.from_input("r.example.org/slurmd:1"))
    assert "slinky-output" not in repr([each.inputs for each in recording.resources])
    assert "slinky-output" not in repr([recording.outputs, outputs])
    (own,) = [each for each in recording.of(f"{CR}NodeSet") if "cpu" in each.name]
    assert own.inputs["spec"]["slurmd"]["image"] == "r.example.org/slurmd:1"
    assert "ctl.example.org:6817,spare.example.org:6817" in repr(own.inputs["spec"])


def test_rules_of_the_whole_cluster_hold_for_it() -> None:
    said = joined(lambda atlas: NodeSet("cpu", cluster=atlas, replicas=5000))
    assert "5002" in said
    assert "maxNodeCount" in said


def test_a_name_that_the_cluster_has_is_refused_and_another_slurm_name_is_taken() -> None:
    said = joined(lambda atlas: NodeSet("gpu", cluster=atlas, replicas=1))
    assert "HybridCluster atlas has a NodeSet gpu already; remove one" in said
    recording, _ = made(OUTSIDE, slurm_name="fat")
    assert recording.one("slinky:slurm:NodeSet", "cpu").name == "cpu"
    assert recording.one(f"{CR}NodeSet", "slurm-slurm-worker-fat-nodeset").inputs["spec"]["slurmd"]


def test_a_cluster_of_a_file_is_joined_in_the_same_order() -> None:
    def built() -> None:
        NodeSet("cpu", cluster=program.hybrid_cluster(), replicas=1)

    sections = minimal(nodesets={"gpu": {"replicas": 2}})
    with configured(sections):
        recording = run(built)
    own, cpu = recording.before(gate(recording, "gpu")), recording.before(gate(recording, "cpu"))
    assert named(own, "gpu") - {minimal()["cluster"]["name"]} <= named(cpu, "cpu")


def test_it_is_too_late_once_the_engine_has_the_cluster() -> None:
    """The gate of the queue is registered without it then."""
    said: list[str] = []

    def built() -> None:
        atlas = HybridCluster("atlas", **OUTSIDE)

        def late(_: str) -> None:
            try:
                NodeSet("cpu", cluster=atlas, replicas=1)
            except StackRefused as error:
                said.append(str(error))

        atlas.urn.apply(late)

    with configured({}, KEYS):
        recording = run(built)
    assert "HybridCluster atlas is with the engine already" in said[0]
    assert len(recording.of("NodeSetScale")) == 1


def test_nodesets_of_one_slurm_name_in_two_namespaces_have_hooks_of_their_own() -> None:
    def built() -> None:
        for space in ("one", "two"):
            NodeSet(f"fat-{space}", cluster={"cluster": {"name": "a", "namespace": space}}, replicas=1, slurm_name="fat")

    hooks = [each.hooks for each in run(built).of(f"{CR}NodeSet")]
    assert len(hooks) == 2
    assert not hooks[0] & hooks[1]


def test_a_second_cluster_of_a_program_is_refused() -> None:
    said = joined(lambda _: HybridCluster("borea", **OUTSIDE))
    assert said.startswith("HybridCluster borea: this stack has atlas already; one stack is one cluster")


def test_a_cluster_of_the_file_beside_one_of_the_program_is_refused_by_what_it_is() -> None:
    """The stack's file has no settings then, and "cluster: is missing" would send its reader to write some."""
    said = joined(lambda _: program.hybrid_cluster())
    assert said.startswith("hybrid_cluster(): this program has HybridCluster atlas already")


@pytest.mark.parametrize("known", [lambda value: value, lambda value: Output.from_input(value).apply(str)])
def test_a_cluster_in_an_apply_is_refused(known: Callable[[str], Output[str]]) -> None:
    """A preview that doesn't know the value wouldn't run the apply: it would show the deletion of the whole cluster."""
    said: list[str] = []

    def late(host: str) -> None:
        try:
            HybridCluster("atlas", **{**OUTSIDE, "slurmctld": host})
        except StackRefused as error:
            said.append(str(error))

    def built() -> None:
        Output.from_input(known("ctl.example.org")).apply(late)

    with configured({}, KEYS):
        recording = run(built)
    (sentence,) = said
    assert sentence.startswith("HybridCluster atlas: is made in an apply")
    assert "slurmctld=vm.access_ip_v4" in sentence
    assert not recording.of("slinky:slurm:HybridCluster")


def test_the_provider_of_a_cluster_is_its_own_connection() -> None:
    def built() -> None:
        atlas = HybridCluster("atlas", **OUTSIDE)
        assert kubernetes_provider(atlas) is kubernetes_provider(atlas.config)

    with configured({}, KEYS):
        assert len(run(built).of("pulumi:providers:kubernetes")) == 1
    wrong: Any = "atlas"
    with pytest.raises(StackRefused, match="takes a HybridCluster, or its config; got 'atlas'"):
        kubernetes_provider(wrong)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"cluster": "atlas"}, "cluster: takes a HybridCluster, its config, or sections by name; got 'atlas'"),
        ({"replicas": "2"}, "nodesets.cpu.replicas: takes a whole number, got the text '2'; use config.require_int"),
        ({"opts": pulumi.ResourceOptions(ignore_changes=["replicas"])}, "opts.ignore_changes: has no effect on a component"),
        ({"opts": pulumi.ResourceOptions(retain_on_delete=True)}, "opts.retain_on_delete: has no effect on a component"),
    ],
)
def test_what_it_does_not_take_is_named(wrong: dict[str, Any], sentence: str) -> None:
    assert sentence in joined(lambda atlas: NodeSet("cpu", **{"cluster": atlas, "replicas": 1, **wrong}))


REFUSED: Any = {"container": {"volumeDevices": [{"name": "own", "devicePath": "/dev/x"}]}}
GPU: dict[str, Any] = {"replicas": 2, "gres": ["gpu:a100:4"], "resources": {"cpus": 32}}
"""A NodeSet whose GPUs no pod asks for."""


def said_of(
    build: Callable[[], object], sections: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> tuple[list[str], Any]:
    """What a run says, and its output ``findings``."""
    caplog.clear()
    with configured(sections, KEYS), caplog.at_level(logging.INFO):
        recording = run(build)
    cluster = recording.one("slinky:slurm:HybridCluster")
    said = sorted(
        f"{each.levelname.lower()} {each.getMessage()}" for each in caplog.records if each.getMessage().endswith("]")
    )
    return said, recording.outputs[cluster.urn]["findings"]


def test_it_has_the_findings_that_it_has_among_the_clusters_nodesets(caplog: pytest.LogCaptureFixture) -> None:
    nodesets = {**OUTSIDE["nodesets"], "fat": GPU}
    inside = said_of(lambda: HybridCluster("atlas", **{**OUTSIDE, "nodesets": nodesets}), {}, caplog)
    joined = said_of(lambda: NodeSet("fat", cluster=HybridCluster("atlas", **OUTSIDE), **GPU), {}, caplog)
    assert joined == inside
    assert any("warning nodesets.fat.gres: names devices" in each for each in joined[0])
    assert any("(partitions: gpu, fat)" in each for each in joined[0])


def test_it_has_them_with_a_cluster_of_a_file(caplog: pytest.LogCaptureFixture) -> None:
    sections = minimal(nodesets={"gpu": {"replicas": 2}}, controller={"external": {"host": "ctl.example.org"}})
    sections |= {"keys": {"source": "imported"}, "nodesetDefaults": {"pod": {"hostNetwork": True}}}
    whole = {**sections, "nodesets": {**sections["nodesets"], "fat": GPU}}
    inside = said_of(program.hybrid_cluster, whole, caplog)
    joined = said_of(lambda: NodeSet("fat", cluster=program.hybrid_cluster(), **GPU), sections, caplog)
    assert joined == inside


def test_errors_with_a_cluster_of_a_file_are_those_of_its_nodesets() -> None:
    said: list[str] = []

    def built() -> None:
        cluster = program.hybrid_cluster()
        try:
            NodeSet("cpu", cluster=cluster, owner="autoscaler", replicas=1)
        except StackRefused as error:
            said.append(str(error))

    with configured(minimal(nodesets={"gpu": {"replicas": 2}})):
        run(built)
    assert "nodesets.cpu.max_replicas: is needed with owner: autoscaler" in said[0].replace("maxReplicas", "max_replicas")


def test_what_kubernetes_would_refuse_of_its_pods_is_refused() -> None:
    said = joined(lambda atlas: NodeSet("cpu", cluster=atlas, replicas=1, raw=REFUSED))
    assert "nodesets.cpu.raw" in said
    assert "Kubernetes would refuse the pod" in said


def test_a_cluster_of_another_program_has_the_findings_of_its_nodesets(caplog: pytest.LogCaptureFixture) -> None:
    """Its other sections are another program's to judge, as far as this one has them."""
    there: Any = {"cluster": {"name": "atlas"}}
    with caplog.at_level(logging.INFO):
        run(lambda: NodeSet("fat", cluster=there, **GPU))
    said = [each.getMessage() for each in caplog.records]
    assert any("nodesets.fat.gres: names devices" in each for each in said)
    assert not any(each.startswith(("accounting", "keys", "cluster")) for each in said)
    with pytest.raises(StackRefused, match=r"nodesets\.fat\.maxReplicas: is needed with owner: autoscaler"):
        run(lambda: NodeSet("fat", cluster=there, replicas=1, owner="autoscaler"))
