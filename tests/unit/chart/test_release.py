"""Release, namespace and version that `slinky import-chart` reads values as: flags, objects of Flux and Argo CD, images."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from slinky_iac.commands import cli
from slinky_iac.config.chart.gitops import given_in
from slinky_iac.config.operator.chart_keys import KEYS, read_by
from slinky_iac.releases import OperatorVersion
from tests.stacks import read_yaml

VALUES = "valuesObject: {clusterName: a, nodesets: {gpu: {}}}"
APPLICATION = f"""
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: app, namespace: argocd}}
spec:
  destination: {{namespace: hpc}}
  source: {{repoURL: ghcr.io/slinkyproject/charts, chart: slurm, targetRevision: 1.1.0, helm: {{{VALUES}}}}}
"""
RELEASE = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: rel, namespace: flux}
spec: {chart: {spec: {chart: slurm, version: 1.1.0}}, values: {clusterName: a, nodesets: {gpu: {}}}}
"""


def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: str, *more: str
) -> tuple[dict[str, dict[str, str]], str]:
    """Sections of the file, and all that is said on lines of any length."""
    file, out = tmp_path / "values.yaml", tmp_path / "Pulumi.a.yaml"
    file.write_text(values)
    place = [] if "--out" in more else ["--out", str(out)]
    code = cli.main(["import-chart", str(file), *place, *more])
    told = " ".join("".join(capsys.readouterr()).split())
    sections = yaml.safe_load(out.read_text())["config"] if code in (0, 3, 6) else {}
    return {name.removeprefix("slinky-iac:"): each for name, each in sections.items()}, told


@pytest.mark.parametrize(("text", "release", "space"), [(APPLICATION, "app", "hpc"), (RELEASE, "rel", "flux")])
def test_an_object_says_what_it_installs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, release: str, space: str
) -> None:
    sections, told = run(tmp_path, capsys, text)
    assert sections["cluster"]["resourceName"] == f"{release}-slurm"
    assert sections["cluster"]["namespace"] == space
    assert sections["operator"]["version"] == "1.1.0"
    assert "slinky" in sections["nodesets"]  # 1.1 makes it beside the file's own
    kind = read_yaml(text)["kind"]
    for word, value in (("release", release), ("namespace", space), ("chart-version", "1.1.0")):
        assert f"note: --{word}: {value}, as the {kind} says" in told


def test_a_flag_counts_and_is_named_where_it_contradicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--release", "slurm", "--namespace", "hpc", "--chart-version", "1.2")
    sections, told = run(tmp_path, capsys, APPLICATION, *flags)
    assert (sections["cluster"]["resourceName"], sections["operator"]["version"]) == ("slurm", "1.2.2")
    assert "--release slurm counts, while the Application says app: look which is right" in told
    assert "--chart-version 1.2 counts, while the Application says 1.1.0" in told
    assert "--namespace" not in re.sub("import-chart .* --json", "", told)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("targetRevision: 1.1.0", "targetRevision: main", "main is a branch or a range, and no release of the chart"),
        ("targetRevision: 1.1.0", "targetRevision: 1.1.*", "1.1.* is a branch or a range, and no release of the chart"),
        ("chart: slurm, ", "path: helm/slurm, ", "targetRevision is a revision of a Git repository"),
        ("chart: slurm, ", "chart: site, ", "it is that of the chart site"),
        ("targetRevision: 1.1.0, ", "", "targetRevision isn't set"),
    ],
)
def test_a_version_that_is_none_is_named_and_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, why: str
) -> None:
    sections, told = run(tmp_path, capsys, APPLICATION.replace(old, new))
    assert sections["operator"]["version"] == "1.2.1"
    assert f"--chart-version: the Application's isn't taken ({why}), so it is 1.2.1: give it where that is wrong" in told


def test_names_of_flux_are_helm_controller_s() -> None:
    whole = read_yaml(RELEASE)
    whole["spec"]["targetNamespace"] = "hpc"
    assert given_in(whole).said | {"chart-version": ""} == {"release": "hpc-rel", "namespace": "hpc", "chart-version": ""}
    whole["spec"]["releaseName"] = "own"
    assert given_in(whole).said["release"] == "own"
    whole["spec"] = {"chartRef": {"kind": "OCIRepository", "name": "slurm"}, "values": {}}
    assert given_in(whole).unsure == (("chart-version", "spec.chartRef names an object that has it"),)


def test_templates_of_an_applicationset_are_no_names() -> None:
    template = {"metadata": {"name": "{{name}}-slurm"}, **{"spec": read_yaml(APPLICATION)["spec"]}}
    given = given_in({"apiVersion": "a", "kind": "ApplicationSet", "spec": {"template": template}})
    assert given.said == {"namespace": "hpc", "chart-version": "1.1.0"}
    ((word, why),) = given.unsure
    assert word == "release"
    assert why.endswith("is a template")


@pytest.mark.parametrize(
    ("tag", "flags", "version", "said"),
    [
        ("1.1.0", ["--chart-version", "1.1.2"], "1.1.0", "operator.version is 1.1.0, which the tag names, and not 1.1.2"),
        ("1.1.0", [], "1.1.0", "operator.version is 1.1.0, which the tag names, and not 1.2.1"),
        ("1.1.2", ["--chart-version", "1.1.2"], "1.1.2", ""),
        ("1.1.0", ["--chart-version", "1.2.1"], "1.2.1", "1.1.0 is of another line than chart 1.2.1"),
        ("latest", [], "1.2.1", "latest isn't a release of slurm-operator: set operator.version (now 1.2.1)"),
    ],
)
def test_the_operator_that_runs_is_its_image_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tag: str, flags: list[str], version: str, said: str
) -> None:
    operator = tmp_path / "operator.yaml"
    operator.write_text(f"operator: {{image: {{tag: {tag}}}, logLevel: debug}}\n")
    sections, told = run(tmp_path, capsys, "nodesets: {}", "--operator", str(operator), *flags)
    assert sections["operator"]["version"] == version
    kept = "image" in sections["operator"]["values"]["operator"]  # type: ignore[index, operator]
    assert kept == (tag == "latest" or "another line" in said)
    assert ("--operator operator.image.tag" in told) == bool(said)
    assert said in told


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ("operator: {nodesetWorker: 8}", "operator.nodesetWorker", "did you mean operator.nodesetWorkers?"),
        ("nodesetWorkers: 8", "nodesetWorkers", "did you mean operator.nodesetWorkers?"),
        ("webook: {enabled: true}", "webook", "did you mean webhook?"),
        ("mterics: {enabled: true}", "mterics", "isn't a key of the operator's chart 1.1.0, and has no effect"),
        ("operator: {loglevel: debug}", "operator.loglevel", "did you mean operator.logLevel?"),
        ("operator: {namespaces: a}", "operator.namespaces", "of each line these do, and newer ones: 1.1.1, 1.2.0, 1.3.0"),
        ("webhook: {podSecurityContext: {a: 1}}", "webhook.podSecurityContext", "1.2.0, 1.3.0"),
    ],
)
def test_keys_that_the_operator_s_chart_does_not_read_are_named(values: str, key: str, said: str) -> None:
    left: list[tuple[str, str]] = []
    assert read_by(read_yaml(values), OperatorVersion(1, 1, 0), left) == {}
    ((path, why),) = left
    assert path == key
    assert said in why


def test_each_key_of_the_operator_s_chart_is_read_with_all_that_is_below_it() -> None:
    for minor in range(4):
        for path, first in KEYS.items():
            value: object = {"any": ["thing"]}
            for part in reversed(path):
                value = {part: value}
            left: list[tuple[str, str]] = []
            assert isinstance(value, dict)
            if (since := first[minor]) is not None:
                assert read_by(value, OperatorVersion(1, minor, since), left) == value
                assert left == []
            if since is None or since > 0:
                assert read_by(value, OperatorVersion(1, minor, (since or 10) - 1), left) == {}


def test_what_the_operator_s_chart_does_not_read_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operator = tmp_path / "operator.yaml"
    operator.write_text("operator: {nodesetWorker: 8, nodesetWorkers: 4}\ncertManager: {enabled: false}\n")
    sections, told = run(tmp_path, capsys, "nodesets: {}", "--operator", str(operator))
    assert sections["operator"]["values"] == {"operator": {"nodesetWorkers": 4}}
    assert "1 left out" in told
    assert "--operator operator.nodesetWorker: isn't a key" in told


@pytest.mark.parametrize(
    ("values", "flags", "said"),
    [
        ("a: 1\nb:\n\tc: 1\n", [], "values.yaml, line 3: a tab indents here, YAML takes spaces. Nothing was written"),
        ("{}", ["--chart-version", "1.5"], "1.5 isn't known; known are 1.0, 1.1, 1.2 and 1.3, and a release of one"),
        ("{}", ["--chart-version", "2.0"], "2.0 isn't known; known are 1.0, 1.1, 1.2 and 1.3, and a release of one"),
        ("{}", ["--chart-version", "0.4"], "0.4 has other kinds of objects, and can't be taken over as it runs; known are"),
        ("{}", ["--out", "gone/Pulumi.a.yaml"], "can't be written: the folder gone isn't there. Nothing was written"),
    ],
)
def test_what_can_not_be_is_said_with_what_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: str, flags: list[str], said: str
) -> None:
    assert said in run(tmp_path, capsys, values, *flags)[1]


def test_a_file_that_pulumi_does_not_read_is_to_be_moved_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`pulumi stack init site` would read Pulumi.site.yaml, and find no settings."""
    file = tmp_path / "values.yaml"
    file.write_text("{}")
    cli.main(["import-chart", str(file), "--out", str(tmp_path / "site.yaml")])
    told = " ".join(capsys.readouterr().out.split())
    assert f"Next: mv {tmp_path / 'site.yaml'} Pulumi.STACK.yaml # STACK is your stack's name" in told
    assert "check Pulumi.STACK.yaml pulumi stack init STACK " in told


def test_errors_are_the_first_of_what_is_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, told = run(tmp_path, capsys, "nodesets: {gpu: {slurmd: {image: 'r.example/a b:1'}}}")
    assert f"Next: correct the errors above in {tmp_path / 'Pulumi.a.yaml'}" in told


@pytest.mark.parametrize("where", ["valueFiles: [a.yaml]", "parameters: [{name: a, value: b}]"])
def test_argo_cd_s_files_and_parameters_are_asked_for_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    _, told = run(tmp_path, capsys, APPLICATION.replace(VALUES, f"{VALUES}, {where}"))
    assert "give the files in valueFiles, in order, as VALUES and -f" in told
    assert "helm get values" not in told
