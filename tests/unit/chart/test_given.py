"""What values take as given: objects of others in the namespace, and numbers that only Kubernetes knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from slinky_iac.commands import cli
from slinky_iac.commands.import_chart import release_of
from slinky_iac.config.chart.release import read
from slinky_iac.config.reading.load import load
from slinky_iac.errors import ProjectError
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


@pytest.mark.parametrize("create", ["true", "false"])
def test_the_namespace_of_others_is_said_once(create: str) -> None:
    """Two keys and the namespace were three notes, of which two said the same and the third the contrary."""
    ref = f"{{create: {create}, secretRef: {{name: %s}}}}"
    read = found(f"clusterName: c\nslurmKey: {ref.replace('true', 'false') % 'a'}\njwtKey: {ref % 'b'}")
    assert len([note for note in read.notes if "createNamespace" in note]) == 1
    assert len([note for note in read.notes if note.startswith("jwtKey")]) == (create == "true")


@pytest.mark.parametrize(
    ("values", "setting", "keys"),
    [
        ("controller: {logfile: {resources: {limits: {cpu: 1}}}}", "sidecarResources", "controller.logfile.resources"),
        (
            "nodesets: {a: {logfile: {image: {tag: '3'}}}}\nloginsets: {b: {initconf: {image: {tag: '3'}}}}",
            "images.sidecar",
            "nodesets.a.logfile.image, loginsets.b.initconf.image",
        ),
        ("restapi: {slurmrestd: {imagePullPolicy: Always}}", "images.pullPolicy", "restapi.slurmrestd.imagePullPolicy"),
        (
            "nodesets: {a: {podSpec: {imagePullSecrets: [{name: s}]}}}",
            "images.pullSecrets",
            "nodesets.a.podSpec.imagePullSecrets",
        ),
    ],
)
def test_a_key_of_one_part_that_becomes_a_setting_for_all_is_named(values: str, setting: str, keys: str) -> None:
    (note,) = (each for each in found(values).notes if f"`cluster.{setting}`" in each)
    assert note.startswith(f"{keys}: ")


def test_a_key_for_all_that_becomes_a_setting_for_all_is_not_named() -> None:
    notes = found("imagePullPolicy: Always\nimagePullSecrets: [{name: s}]\nasciiArt: true").notes
    assert not [each for each in notes if "one for every" in each]


def test_a_namespace_without_objects_of_others_is_the_stack_s() -> None:
    settings, _ = taken("nodesets: {a: {podSpec: {volumes: [{name: t, emptyDir: {}}]}}}\naccounting: {enabled: false}")
    assert "createNamespace" not in settings["cluster"]


def test_a_pod_for_each_node_is_taken_over_without_a_number() -> None:
    settings, left = taken("nodesets: {gpu: {scalingMode: daemonset, replicas: 3}, cpu: {scalingMode: StatefulSet}}\n")
    assert settings["nodesets"]["gpu"]["scalingMode"] == "DaemonSet"
    assert "replicas" not in settings["nodesets"]["gpu"]
    assert settings["nodesets"]["cpu"]["replicas"] == 1
    assert "scalingMode" not in settings["nodesets"]["cpu"]
    assert not {each for each in left if "scalingMode" in each}
    assert load(settings).nodesets["gpu"].on_each_node


def test_another_mode_is_left_out_with_its_reason() -> None:
    _, left = taken("nodesets: {gpu: {scalingMode: Deployment}}\n")
    assert left["nodesets.gpu.scalingMode"] == "it is StatefulSet or DaemonSet"


def test_keys_of_a_release_that_runs_are_named_with_what_helm_does_to_them() -> None:
    for line, jwt, leaves in (((1, 0), "jwths256", "leaves them"), ((1, 2), "jwt", "deletes them")):
        (note,) = (each for each in found("clusterName: a", line).notes if "keys.source: generated" in each)
        assert f"Secrets slurm-auth-slurm and slurm-auth-{jwt}, and `helm uninstall` {leaves}" in note
        assert "keys.source: existing" in note
    _, left = taken("slurmKey: {annotations: {helm.sh/resource-policy: keep}}")
    assert "keys.source: existing" in left["slurmKey.annotations"]
    assert not [each for each in found("slurmKey: {create: false}\njwtKey: {create: false}").notes if "generated" in each]


@pytest.mark.parametrize(("line", "unmade"), [((1, 0), ["nodesets.a"]), ((1, 1), ["nodesets.a"]), ((1, 2), [])])
def test_a_part_that_the_chart_would_not_make_is_named(line: tuple[int, int], unmade: list[str]) -> None:
    """Templates ask partitions, and in 1.0 and 1.1 sets, themselves; 1.2 has nodesetDefaults with true."""
    parts = "{a: {nodesets: [a]}, b: {enabled: true, nodesets: [b]}, c: {enabled: false}}"
    read = found(f"nodesets: {parts.replace('nodesets: [a]', '').replace(', nodesets: [b]', '')}\npartitions: {parts}", line)
    assert [each.split(":")[0] for each in read.notes if "the chart doesn't make it" in each] == [*unmade, "partitions.a"]
    assert {"a", "b"} <= set(read.taken.settings["nodesets"]) & set(read.taken.settings["partitions"])


def test_keys_are_of_one_source() -> None:
    read = found("slurmKeyRef: {name: mine, key: slurm.key}", (1, 0))
    assert read.taken.settings["keys"] == {
        "source": "existing", "slurmKeyFrom": {"secret": "mine", "key": "slurm.key"},
        "jwtKeyFrom": {"secret": "slurm-auth-jwths256", "key": "jwt_hs256.key"},
    }  # fmt: skip
    assert [note for note in read.notes if note.startswith("jwtKey: the chart makes Secret slurm-auth-jwths256")]


def test_an_outside_slurmctld_of_chart_1_0_has_its_keys_under_1_0_s_names() -> None:
    settings, _ = taken("controller: {external: true, externalConfig: {host: ctl}}", (1, 0))
    assert settings["keys"]["jwtKeyFrom"] == {"secret": "slurm-auth-jwths256", "key": "jwt_hs256.key"}


@pytest.mark.parametrize(
    ("values", "read_as", "fitting"),
    [
        ("slurmKeyRef: {name: a, key: b}", "", "--chart-version 1.0"),
        ("nodesets: {a: {useResourceLimits: true, taintKubeNodes: false}}", "", "--chart-version 1.0"),
        ("nodesets: {a: {taintKubeNodes: false}}", "", "--chart-version 1.1"),
        ("nodesets: {a: {taintKubeNodes: false}}", "v1.2.1", ""),
        ("nodesets: {a: {taintKubeNodes: true}}", "v1.2.1", "They fit chart 1.0 and 1.1: look which release runs"),
        ("nodesetDefaults: {replicas: 2}", "1.0", "They fit chart 1.2 and 1.3: look which release runs"),
        ("slurmKeyRef: {name: a, key: b}\nsssd: {}", "1.2", "No release of the chart reads all keys"),
        ("slurmKeyRef: {name: a, key: b}", "1.0", ""),
        ("nodesets: {a: {replicas: 1}}", "1.1", ""),
    ],
)
def test_keys_of_another_release_are_named_with_the_release_that_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: str, read_as: str, fitting: str
) -> None:
    file, out = tmp_path / "values.yaml", tmp_path / "Pulumi.prod.yaml"
    file.write_text(f"{values}\n")
    version = ["--chart-version", read_as] if read_as else []
    cli.main(["import-chart", str(file), *version, "--out", str(out)])
    told = " ".join(capsys.readouterr().out.split())
    assert ("the values are read as those of chart" in told) == bool(fitting)
    assert fitting in told
    assert ("remove the new file, and run this again" in told) == (not read_as)
    assert ("note: read as chart 1.2.1 (assumed; --chart-version names another)" in told) == (not read_as)
    cli.main(["import-chart", str(file), *version, "--out", "-"])
    assert "remove the new file" not in " ".join(capsys.readouterr().err.split()), "there is none"


def test_a_key_that_no_setting_has_is_left_out_also_where_it_says_no() -> None:
    _, left = taken("nodesets: {a: {taintKubeNodes: false}}")
    assert list(left) == ["nodesets.a.taintKubeNodes"]
    assert left["nodesets.a.taintKubeNodes"].startswith("chart 1.2 doesn't read it, only 1.0 and 1.1, so it has no effect")


def test_a_cluster_of_chart_0_is_not_to_be_taken_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("compute: {nodesets: []}\nslurm: {}\nmariadb: {}\n")
    cli.main(["import-chart", str(file), "--out", "-"])
    told = capsys.readouterr().err
    first = next(line for line in told.splitlines() if line.startswith("note: "))
    assert "these are values of chart 0.x, and 1.x can't take over" in first
    assert "adopt" not in told.partition("Next:")[2]


def test_where_the_list_of_settings_is_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("clusterName: a\n")
    cli.main(["import-chart", str(file), "--chart-version", "1.2", "--out", "-"])
    assert f"import-chart {file} --chart-version 1.2 --json --out - 2>keys.json >/dev/null" in capsys.readouterr().err
    cli.main(["import-chart", str(file), "--chart-version", "1.2", "--json", "--out", "-"])
    assert json.loads(capsys.readouterr().err)["taken"] == [{"key": "clusterName", "setting": "cluster.name"}]


@pytest.mark.parametrize(
    ("given", "written"), [("1.0", "1.0.6"), ("v1.2.1", "1.2.1"), ("v1.1", "1.1.2"), ("1.2.0", "1.2.0")]
)
def test_a_line_of_releases_is_its_newest_and_a_v_is_dropped(given: str, written: str) -> None:
    assert str(release_of(given)) == written


def test_a_release_that_is_not_known_is_refused() -> None:
    for text in ("1.9", "2.0", "0.4", "1", "newest"):
        with pytest.raises(ProjectError, match="--chart-version"):
            release_of(text)


SECRET = "ldap_default_authtok = hunter2"


@pytest.mark.parametrize(
    ("values", "operator", "said"),
    [
        ("nodesets: {}", f"sssd: {{conf: '{SECRET}'}}", "the key sssd is of the chart slurm"),
        ("nodesets: {}", f"slurm: {{sssd: {{conf: '{SECRET}'}}, nodesets: {{}}}}", "the key slurm is of the chart slurm"),
        (
            "nodesets: {}",
            f"mine: {{sssd: {{conf: '{SECRET}'}}, nodesets: {{}}, jwtKey: {{}}}}",
            "the key sssd is of the chart slurm",
        ),
        ("operator: {replicas: 1}\nwebhook: {enabled: true}", "{}", "the key operator is of the chart slurm-operator"),
    ],
)
def test_files_that_are_swapped_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: str, operator: str, said: str
) -> None:
    files = tmp_path / "slurm.yaml", tmp_path / "operator.yaml", tmp_path / "Pulumi.prod.yaml"
    files[0].write_text(values)
    files[1].write_text(operator)
    assert cli.main(["import-chart", str(files[0]), "--operator", str(files[1]), "--out", str(files[2])]) == 1
    told = capsys.readouterr()
    assert said in " ".join(told.err.split())
    assert "hunter2" not in told.out + told.err
    assert not files[2].exists()


def test_only_keys_that_the_values_have_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, (text, said) in enumerate(
        (("{}", "0 keys are settings"), ("nodesetDefaults: {replicas: 2}\nnodesets: {a: {}, b: {}}", "1 key is a setting"))
    ):
        file, out = tmp_path / f"{number}.yaml", tmp_path / f"Pulumi.a{number}.yaml"
        file.write_text(text)
        cli.main(["import-chart", str(file), "--out", str(out)])
        assert f"{said}, 0 left out" in capsys.readouterr().out


def test_a_release_that_runs_is_led_to_adopt_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, text in enumerate(("{}", "slurmKey: {create: false}\njwtKey: {create: false}")):
        file, out = tmp_path / f"{number}.yaml", tmp_path / f"Pulumi.a{number}.yaml"
        file.write_text(text)
        cli.main(["import-chart", str(file), "--out", str(out)])
        _, after = capsys.readouterr().out.split("Next:\n")
        assert after.splitlines()[0] == "  python -m slinky_iac docs chart 'A cluster that runs'"
        assert "`python -m slinky_iac adopt` takes it over" in " ".join(after.split())


def test_a_secret_of_the_operators_images_is_asked_for_in_its_own_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A namespace that `pulumi up` makes has no Secret of others, and the Helm release would wait until it fails."""
    values, own, out = tmp_path / "values.yaml", tmp_path / "operator.yaml", tmp_path / "Pulumi.a.yaml"
    values.write_text("imagePullSecrets: [{name: regcred}]\n")
    own.write_text("imagePullSecrets: [{name: opcred}]\nnamespaceOverride: ops\n")
    cli.main(["import-chart", str(values), "--operator", str(own), "--out", str(out)])
    told = " ".join(capsys.readouterr().out.split())
    assert "which must be in namespace slurm before `pulumi up`: Secret regcred note" in told
    assert "operator.createNamespace: false" in told
    assert "which must be in namespace ops before `pulumi up`: Secret opcred" in told
    assert yaml.safe_load(out.read_text())["config"]["slinky-iac:operator"]["createNamespace"] is False


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (
            {"partitions": {"all": {"enabled": True, "configMap": {"MaxTime": "1-0"}}}},
            "partitions.all.configMap by the chart's default: Default=YES, which these values leave so",
        ),
        (
            {"sssd": {"secretRef": {"name": "a", "key": "sssd.conf"}}, "loginsets": {"main": {"enabled": True}}},
            "sssd.secretRef: here it is `identity.sssd`, by which slurmctld's pod has a sidecar with sssd, too;",
        ),
    ],
)
def test_what_the_chart_adds_or_this_adds_is_said(values: dict[str, object], note: str) -> None:
    found = read(values, release="slurm", namespace="slurm", line=(1, 2))
    assert [each for each in found.notes if each.startswith(note)]
    assert not [
        each for each in read({}, release="slurm", namespace="slurm", line=(1, 2)).notes if each.startswith(note[:16])
    ]
