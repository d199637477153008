"""Resources and gates go to one Kubernetes cluster: a provider that only one of them would use is refused."""

from __future__ import annotations

from collections.abc import Callable

import pulumi
import pytest
from pulumi_kubernetes import Provider
from pulumi_kubernetes.core.v1 import ConfigMap

from components import HybridCluster, HybridClusterArgs, LoginSet, LoginSetArgs, NodeSet, NodeSetArgs, kubernetes_provider
from slinky_iac.config.reading.engine import StackRefused
from slinky_iac.config.resources import SecretReference
from slinky_iac.config.sections import Cluster, Operator
from slinky_iac.config.stack import ClusterConfig, Kubernetes
from slinky_iac.config.workers import LoginSet as Login
from slinky_iac.config.workers import NodeSet as Settings
from tests.program import run, run_stack
from tests.stacks import minimal

WHERE = Kubernetes(kubeconfig="/etc/kube/eks.yaml", context="eks")
ATLAS = ClusterConfig(cluster=Cluster(name="atlas"), operator=Operator(version="1.2.1"), kubernetes=WHERE)
PROVIDER = "pulumi:providers:kubernetes"
OPTIONS: list[Callable[[pulumi.ProviderResource], pulumi.ResourceOptions]] = [
    lambda found: pulumi.ResourceOptions(provider=found),
    lambda found: pulumi.ResourceOptions(providers=[found]),
    lambda found: pulumi.ResourceOptions(providers={"kubernetes": found}),
    lambda found: pulumi.ResourceOptions(parent=_Group("group", found)),
]


class _Group(pulumi.ComponentResource):
    def __init__(self, name: str, provider: pulumi.ProviderResource) -> None:
        super().__init__("site:x:Group", name, None, pulumi.ResourceOptions(providers=[provider]))


def cpu(opts: pulumi.ResourceOptions | None = None, name: str = "cpu") -> NodeSet:
    return NodeSet(name, NodeSetArgs(cluster=ATLAS, name=name, settings=Settings(replicas=1)), opts)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("access", [("/etc/kube/eks.yaml", "eks"), (None, None)])
def test_a_provider_that_the_gate_can_not_use_is_refused(
    options: Callable[[pulumi.ProviderResource], pulumi.ResourceOptions], access: tuple[str | None, str | None]
) -> None:
    """Even one of the same words: what is in its kubeconfig isn't known here."""
    made: list[NodeSet] = []

    def program() -> None:
        with pytest.raises(StackRefused, match=r"NodeSet cpu: .* Nothing of it was made"):
            made.append(cpu(options(Provider("eks", kubeconfig=access[0], context=access[1]))))

    recording = run(program)
    assert not made
    assert not [each for each in recording.resources if "slurm" in each.type]


def test_a_whole_cluster_refuses_a_provider_too() -> None:
    def build(settings: object) -> pulumi.Resource:
        opts = pulumi.ResourceOptions(provider=Provider("eks", context="eks"))
        with pytest.raises(StackRefused, match="HybridCluster atlas: "):
            HybridCluster("atlas", HybridClusterArgs(settings=settings), opts)  # type: ignore[arg-type]
        return Provider("end")

    recording = run_stack(minimal(), build)
    assert {each.type for each in recording.resources} == {PROVIDER}


def test_parts_of_a_program_share_one_connection_and_one_record_of_the_cluster() -> None:
    def program() -> None:
        cpu()
        cpu(name="gpu")
        LoginSet(
            "login", LoginSetArgs(cluster=ATLAS, name="main", settings=Login(sssd_conf_from=SecretReference(secret="sssd")))
        )
        ConfigMap("mine", opts=pulumi.ResourceOptions(provider=kubernetes_provider(ATLAS)))

    recording = run(program)
    provider, identity = recording.one(PROVIDER), recording.one("ClusterIdentity")
    assert (provider.inputs["kubeconfig"], provider.inputs["context"]) == (WHERE.kubeconfig, WHERE.context)
    assert identity.urn in provider.dependencies
    for each in recording.resources:
        if each.type.startswith("kubernetes:"):
            assert each.provider.rpartition("::")[0] == provider.urn, each.name
    for gate in recording.of("NodeSetScale"):
        assert (gate.inputs["kubeconfig"], gate.inputs["context"]) == (WHERE.kubeconfig, WHERE.context)
    assert (identity.inputs["kubeconfig"], identity.inputs["context"]) == (WHERE.kubeconfig, WHERE.context)


def test_a_second_program_of_the_process_has_a_connection_of_its_own() -> None:
    for _ in range(2):
        assert len(run(cpu).of(PROVIDER)) == 1


def test_two_clusters_have_two_connections() -> None:
    other = ATLAS.model_copy(update={"kubernetes": Kubernetes(kubeconfig="/etc/kube/gke.yaml", context="gke")})

    def program() -> None:
        cpu()
        NodeSet("far", NodeSetArgs(cluster=other, name="far", settings=Settings(replicas=1)))

    recording = run(program)
    by_urn = {each.urn: each.inputs["context"] for each in recording.of(PROVIDER)}
    found = {each.name: by_urn[each.provider.rpartition("::")[0]] for each in recording.of("NodeSet") if each.custom}
    assert sorted(found.values()) == ["eks", "gke"]


def test_the_connection_of_the_program_is_taken() -> None:
    recording = run(lambda: cpu(pulumi.ResourceOptions(provider=kubernetes_provider(ATLAS))))
    assert len(recording.of(PROVIDER)) == 1
