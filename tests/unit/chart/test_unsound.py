"""What the rules of raw pieces refuse isn't in the file that `slinky import-chart` writes: it is named by its key in the
chart, with the rule's reason, and nothing else goes with it."""

from __future__ import annotations

import pytest

from slinky_iac.commands.check import errors_of
from slinky_iac.config.chart.refused import leave_unsound
from slinky_iac.config.paths import value_at
from tests.unit.chart.reading import found


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("controller.podSpec.hostname", "ctl", "the operator's own"),
        ("restapi.podSpec.subdomain", "x", "the operator's own"),
        ("nodesets.a.podSpec.hostPID", "true", "with their keys"),
        ("nodesets.a.podSpec.resources", "{limits: {cpu: 4}}", "use resources"),
        ("nodesets.a.podSpec.serviceAccountName", "sa", "a cloud mounts a token"),
        ("nodesets.a.slurmd.command", "[x]", "the operator's own"),
        ("nodesets.a.slurmd.args", "[-N, other]", "has -N"),
        ("nodesets.a.logfile.env", "[{name: a, value: b}]", "cluster.sidecarResources"),
        ("controller.service.spec.externalIPs", "[10.0.0.1]", "any address"),
    ],
)
def test_a_refused_piece_is_left_out_by_its_key_and_its_neighbours_stay(key: str, value: str, why: str) -> None:
    text = value
    for part in reversed(key.split(".")):
        text = f"{{{part}: {text}}}"
    read = found(f"{{clusterName: a, nodesetDefaults: {{podSpec: {{runtimeClassName: nvidia}}}}, {text[1:]}")
    before = read.taken.left[:]
    leave_unsound(read.taken, errors_of)
    ((place, said),) = [each for each in read.taken.left if each not in before]
    assert place == key
    assert said.startswith("`slinky check` refuses it here: ")
    assert why in said
    assert not said.endswith(("Leave it out", "Remove it"))
    assert key not in {each for each, _ in read.taken.used}
    assert errors_of(read.taken.settings) == []
    if key.startswith("nodesets"):
        assert value_at(read.taken.settings, ("nodesets", "a", "raw", "pod", "runtimeClassName")) == "nvidia"


def test_of_a_list_the_one_entry_goes_over_which_there_is_an_error() -> None:
    read = found(
        """
        clusterName: a
        controller:
          podSpec:
            volumes: [{name: good, emptyDir: {}}, {name: bad, hostPath: {path: /x}}]
            initContainers: [{name: i, image: "r.example/i:1", volumeMounts: [{name: good, mountPath: /good}]}]
        """
    )
    leave_unsound(read.taken, errors_of)
    ((key, said),) = read.taken.left
    assert key == "controller.podSpec.volumes (bad)"
    assert "has a hostPath" in said
    assert value_at(read.taken.settings, ("controller", "raw", "pod", "volumes")) == [{"name": "good", "emptyDir": {}}]
    assert errors_of(read.taken.settings) == []


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ("controller: {podSpec: {hostNetwork: true, nodeSelector: {a: b}}}", "controller.podSpec.hostNetwork"),
        (
            "nodesets: {a: {metadata: {labels: {app.kubernetes.io/name: x, own: x}}}}",
            "nodesets.a.metadata.labels.app.kubernetes.io/name",
        ),
        (
            "nodesets: {a: {slurmd: {volumeMounts: [{name: k, mountPath: /etc/slurm}, {name: k, mountPath: /k}]},"
            " podSpec: {volumes: [{name: k, emptyDir: {}}]}}}",
            "nodesets.a.slurmd.volumeMounts (/etc/slurm)",
        ),
    ],
)
def test_a_setting_that_a_rule_says_to_remove_is_left_out_alone(values: str, key: str) -> None:
    read = found(f"{values}\n")
    leave_unsound(read.taken, errors_of)
    assert [each for each, _ in read.taken.left] == [key]
    assert errors_of(read.taken.settings) == []
    settings = read.taken.settings
    assert (
        value_at(settings, ("controller", "pod", "nodeSelector")) == {"a": "b"}
        or value_at(settings, ("nodesets", "a", "pod", "labels")) == {"own": "x"}
        or [each["mountPath"] for each in settings["nodesets"]["a"]["volumes"]] == ["/k"]
    )


def test_as_many_are_left_out_as_there_are() -> None:
    sets = ", ".join(f"n{number}: {{}}" for number in range(25))
    read = found(f"nodesetDefaults: {{podSpec: {{hostPID: true, hostname: x}}}}\nnodesets: {{{sets}}}\n")
    leave_unsound(read.taken, errors_of)
    assert [key for key, _ in read.taken.left] == ["nodesetDefaults.podSpec.hostPID", "nodesetDefaults.podSpec.hostname"]
    assert errors_of(read.taken.settings) == []


def test_an_error_about_a_setting_stays_to_be_put_right() -> None:
    read = found("{clusterName: a, nodesets: {a: {slurmd: {image: 'r.example/foo bar:1'}}}}")
    leave_unsound(read.taken, errors_of)
    assert [path for path, _ in errors_of(read.taken.settings)] == ["nodesets.a.image"]
    assert read.taken.left == []
