"""Pods of slurm-operator 1.0 under a newer one: told before the update that would replace them all."""

from __future__ import annotations

from pathlib import Path

from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.preflight.kube_questions import OTHERS, answered, replaced
from tests.api_server import ApiServer
from tests.stacks import minimal


def stack(version: str = "1.1.0") -> StackConfig:
    return load(minimal(operator={"version": version}, nodesets={"gpu": {"replicas": 2}}))


def test_pods_without_the_label_are_named_with_the_command_that_gives_it() -> None:
    config = stack()
    (found,) = replaced(config, ["w-0", "w-1", "w-2", "w-3", "w-4"])
    assert (found.level, found.path) == (Level.WARNING, "operator.version")
    assert "slurm-operator 1.0 made the worker pods w-0, w-1, w-2 and 2 more without the label" in found.message
    assert f"`kubectl label pods -n {config.cluster.namespace} -l app.kubernetes.io/name=slurmd " in found.message
    assert " nodeset.slinky.slurm.net/scaling-mode=StatefulSet`" in found.message
    assert [*replaced(config, [])] == []
    (two,) = replaced(config, ["w-0", "w-1"])
    assert "more" not in two.message.partition(" were ")[0]


def test_a_stack_that_stays_with_1_0_asks_nobody(tmp_path: Path) -> None:
    with ApiServer() as api, KubeConnection(KubeSource(path=Path(api.kubeconfig(tmp_path)))) as way:
        questions = [each for each in OTHERS if each.findings is replaced]
        assert list(answered(stack("1.0.5"), way, questions)) == []
        assert api.asked == []
        list(answered(stack("1.1.0"), way, questions))
        assert api.asked == ["/api/v1/namespaces/slurm/pods"]
