"""What values take as given: objects of others in the namespace, and numbers that only Kubernetes knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands import cli
from tests.unit.chart.reading import found, taken


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("controller: {persistence: {existingClaim: state}}", "claim state"),
        ("accounting: {enabled: true}", "Secret mariadb-password"),
        ("accounting: {enabled: true, storageConfig: {passwordKeyRef: {name: db, key: p}}}", "Secret db"),
        ("sssd: {secretRef: {name: sssd, key: sssd.conf}}\nloginsets: {a: {}}", "Secret sssd"),
        ("imagePullSecrets: [{name: pull}]", "Secret pull"),
        (
            "nodesets: {a: {slurmd: {volumeMounts: [{name: h, mountPath: /home}]}, podSpec: {volumes: [{name: h,"
            " persistentVolumeClaim: {claimName: home}}]}}}",
            "claim home",
        ),
        ("slurmKey: {create: false, secretRef: {name: k}}", "Secret k"),
        ("nodesets: {a: {slurmd: {env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}]}}}", "ConfigMap m"),
    ],
)
def test_a_namespace_that_has_objects_of_others_is_not_the_stack_s(values: str, said: str) -> None:
    read = found(values)
    assert read.taken.settings["cluster"]["createNamespace"] is False
    (note,) = (each for each in read.notes if each.startswith("cluster.createNamespace: false"))
    assert said in note


def test_a_namespace_without_objects_of_others_is_the_stack_s() -> None:
    settings, _ = taken("nodesets: {a: {podSpec: {volumes: [{name: t, emptyDir: {}}]}}}\naccounting: {enabled: false}")
    assert "createNamespace" not in settings["cluster"]


def test_a_pod_for_each_node_is_no_number_and_stops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values, out = tmp_path / "values.yaml", tmp_path / "Pulumi.prod.yaml"
    values.write_text("nodesets: {gpu: {scalingMode: DaemonSet, replicas: 3}, cpu: {scalingMode: StatefulSet}}\n")
    assert cli.main(["import-chart", str(values), "--out", str(out)]) == 6
    told = " ".join(capsys.readouterr().out.split())
    assert "nodesets.gpu.scalingMode: a NodeSet is a number of pods: set `replicas`" in told
    assert "error: nodesets.gpu.replicas: is missing" in told
    assert "nodesets.cpu.replicas" not in told
