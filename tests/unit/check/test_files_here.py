"""`check` warns of files that a stack names and that aren't on this machine, with the place that was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from slinky_iac.commands.cli import main
from slinky_iac.config.base import Section
from slinky_iac.config.reading.files_here import is_path, missing
from slinky_iac.config.reading.levels import model_in
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from tests.stacks import minimal

CERTIFICATES = ("caFile", "clientCertFile", "clientKeyFile")


def said(folder: Path, **more: Any) -> dict[str, str]:
    return {each.path: each.message for each in missing(load({**minimal(), **more}), folder)}


def paths(model: type[BaseModel], path: str = "", depth: int = 0) -> Iterator[str]:
    elsewhere = model.elsewhere if issubclass(model, Section) else frozenset[str]()
    for name, field in model.model_fields.items():
        here = f"{path}.{field.alias or name}".lstrip(".")
        if is_path(field) and name not in elsewhere:
            yield here
        inner = model_in(field.annotation)
        if inner is not None and depth < 5:
            yield from paths(inner, here, depth + 1)


def test_each_setting_with_a_path_is_looked_at_or_said_to_be_elsewhere() -> None:
    """A new one is in this list, or its section says that it is elsewhere."""
    found = set(paths(StackConfig))
    of_slurmrestd = {f"{at}.{name}" for at in ("slurmrest", "external.slurmrestd") for name in CERTIFICATES}
    own = {"identity.oidc.jwksFile", "identity.sssd.caFile", "jobs.script.file", "kubernetes.kubeconfig"}
    assert found == of_slurmrestd | own | {"clients.jupyterhub.chart.path", "operator.chart.path"}


@pytest.mark.parametrize(
    ("more", "path", "named"),
    [
        ({"operator": {"chart": {"path": "./charts"}}}, "operator.chart.path", "charts"),
        ({"kubernetes": {"kubeconfig": "/no/such/file"}}, "kubernetes.kubeconfig", "/no/such/file"),
        (
            {"jobs": {"b": {"script": {"file": "nope.sh"}, "user": "a", "workingDirectory": "/home/a"}}},
            "jobs.b.script.file",
            "nope.sh",
        ),
    ],
)
def test_what_is_not_there_is_named_with_its_whole_path(more: dict[str, Any], path: str, named: str, tmp_path: Path) -> None:
    message = said(tmp_path, **more)[path]
    assert message.startswith(f"{(tmp_path / named).absolute()} isn't on this machine")


def test_a_checkout_s_charts_lack_what_they_depend_on(tmp_path: Path) -> None:
    for name, more in (("slurm-operator", "dependencies: [{name: slurm-operator-crds}]\n"), ("slurm-operator-crds", "")):
        (tmp_path / "helm" / name).mkdir(parents=True)
        (tmp_path / "helm" / name / "Chart.yaml").write_text(f"name: {name}\n{more}")
    given = {"operator": {"chart": {"path": "helm"}}}
    message = said(tmp_path, **given)["operator.chart.path"]
    assert message.endswith(f"run `helm dependency build {tmp_path / 'helm' / 'slurm-operator'}`")
    (tmp_path / "helm" / "slurm-operator" / "charts").mkdir()
    assert said(tmp_path, **given) == {}


def test_the_command_warns_and_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(
        "config:\n  slinky-iac:cluster: {name: c}\n  slinky-iac:accounting: {enabled: false}\n"
        "  slinky-iac:kubernetes: {kubeconfig: gone}\n"
    )
    assert main(["check", str(file)]) == 0
    assert f"{file}:4: warning: kubernetes.kubeconfig: {tmp_path / 'gone'} isn't on this machine" in capsys.readouterr().out
