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
    assert [each.path for each in errors_of(read.taken.settings)] == ["nodesets.a.image"]
    assert read.taken.left == []


KEY = "-----BEGIN RSA PRIVATE KEY-----\\nMIIEowIBAAKCAQEAz0zZyq8mT3Q5c1hXx9q2sRvW\\n-----END RSA PRIVATE KEY-----"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyb290IiwiZXhwIjo5OTk5OTk5OTk5fQ.dGhpc2lzYXNpZ25hdHVyZWZvcnRlc3Rz"


OF_A = "nodesets: {a: {}}"
VARIABLES = "[{name: DB_PASSWORD, value: hunter2}, {name: B, value: c}]"


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ("controller: {extraConf: JobCompPass=hunter2-x}", "controller.extraConf.JobCompPass"),
        ("controller: {extraConf: StoragePass=hunter2-x}", "controller.extraConf.StoragePass"),
        (
            "controller: {extraConfMap: {AccountingStoragePass: hunter2-x}}",
            "controller.extraConfMap.AccountingStoragePass",
        ),
        ("accounting: {enabled: true, extraConf: StoragePass=hunter2-x}", "accounting.extraConf (StoragePass)"),
        (f'prologScripts: {{a.sh: "#!/bin/sh\\n{KEY}"}}', "prologScripts.a.sh"),
        (f"nodesets: {{a: {{slurmd: {{env: {VARIABLES}}}}}}}", "nodesets.a.slurmd.env.DB_PASSWORD"),
        (f"nodesetDefaults: {{slurmd: {{env: {VARIABLES}}}}}\n{OF_A}", "nodesetDefaults.slurmd.env.DB_PASSWORD"),
        (f"nodesets: {{a: {{slurmd: {{env: [{{name: X, value: {TOKEN}}}]}}}}}}", "nodesets.a.slurmd.env.X"),
        (f"loginsets: {{a: {{enabled: true, login: {{env: {VARIABLES}}}}}}}", "loginsets.a.login.env (DB_PASSWORD)"),
    ],
)
def test_a_secret_in_plain_text_is_in_no_file_that_is_made(values: str, key: str) -> None:
    """The file is committed to git, and a secret in it would stay in the history."""
    read = found(f"clusterName: a\n{values}\n")
    leave_unsound(read.taken, errors_of)
    left = dict(read.taken.left)
    shown = f"{read.taken.settings} {left}"
    assert not [secret for secret in ("hunter2", "MIIE", "eyJ") if secret in shown]
    assert key in left, left.keys()
    assert not any("acknowledge" in said for said in left.values())
