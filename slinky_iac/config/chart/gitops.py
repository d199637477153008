"""The chart's values where Flux and Argo CD keep them: in a HelmRelease, an Application or an ApplicationSet, which also say
the release's name, namespace and version. Pure.

Source: helm-controller's ``HelmReleaseSpec`` (``GetReleaseName``, ``GetReleaseNamespace``), Argo CD's ``ApplicationSpec``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import safe_yaml
from slinky_iac.config.paths import mapping, value_at
from slinky_iac.config.shown import name_of
from slinky_iac.releases import OperatorVersion

_ELSEWHERE: Final = {
    "valuesFrom": "spec.valuesFrom",
    "postRenderers": "spec.postRenderers",
    "valueFiles": "helm.valueFiles",
    "parameters": "helm.parameters",
    "fileParameters": "helm.fileParameters",
}
"""What else decides what such an object installs."""
_ASK: Final = "run `helm get values RELEASE -n NAMESPACE -o yaml` where Helm or Flux installed it"
_ASK_ARGO: Final = (
    "give the files in valueFiles, in order, as VALUES and -f, then the values of this object in a file of their own; write"
    " parameters into one more file"
)
_CHART: Final = "slurm"


@dataclass(frozen=True)
class Given:
    """What a file gives: the chart's values; and an object of Flux or Argo CD also its release."""

    values: Mapping[str, Any]
    kind: str = ""
    """HelmRelease, Application or ApplicationSet; empty for plain values."""
    said: Mapping[str, str] = field(default_factory=dict)
    """``release``, ``namespace`` and ``chart-version``, as far as it says them."""
    unsure: tuple[tuple[str, str], ...] = ()
    """What it says of them that can't be taken, by the same names, and why."""


def given_in(document: Mapping[str, Any]) -> Given:
    """What a HelmRelease, an Application or an ApplicationSet gives, or the document itself as values.

    Raises ValueError, which says what to do, for one that takes values from elsewhere too, and for any other object.
    """
    if not {"apiVersion", "kind"} <= document.keys():
        return Given(document)
    kind = str(document["kind"])
    if kind == "HelmRelease":
        spec = mapping(document.get("spec"))
        _require_whole(spec, kind)
        return _given(mapping(spec.get("values")), kind, *_of_flux(spec, mapping(document.get("metadata"))))
    if kind in ("Application", "ApplicationSet"):
        whole = mapping(value_at(document, ("spec", "template"))) if kind == "ApplicationSet" else document
        spec = mapping(whole.get("spec"))
        sources = list(_of_sources(spec, kind))
        if len(sources) == 1:
            source, values = sources[0]
            return _given(values, kind, *_of_argo(source, spec, mapping(whole.get("metadata"))))
        raise ValueError(
            f"this is an {kind} with {len(sources)} sources that have values, and one is needed: write the values of Slurm's"
            " chart into a file, and give that"
        )
    raise ValueError(f"this is an object of Kubernetes ({name_of(kind)}) and no file of the chart's values; {_ASK}")


def _given(values: Mapping[str, Any], kind: str, said: Mapping[str, object], version: str) -> Given:
    """``version``: why ``said`` has none, where the object names another thing than a release."""
    known = {key: str(text) for key, text in said.items() if text}
    unsure = {key: f"{name_of(text)} is a template" for key, text in known.items() if "{{" in text}
    if version:
        unsure["chart-version"] = version
    elif "chart-version" in known and "chart-version" not in unsure and not _is_release(known["chart-version"]):
        unsure["chart-version"] = f"{name_of(known['chart-version'])} is a branch or a range, and no release of the chart"
    return Given(values, kind, {key: text for key, text in known.items() if key not in unsure}, tuple(unsure.items()))


def _is_release(text: str) -> bool:
    try:
        OperatorVersion.parse(text)
    except ValueError:
        return False
    return True


def _of_flux(spec: Mapping[str, Any], meta: Mapping[str, Any]) -> tuple[dict[str, object], str]:
    chart = mapping(value_at(spec, ("chart", "spec")))
    target, name = spec.get("targetNamespace"), meta.get("name")
    said = {
        "release": spec.get("releaseName") or (f"{target}-{name}" if target and name else name),
        "namespace": target or meta.get("namespace"),
        "chart-version": chart.get("version"),
    }
    if spec.get("chartRef"):
        return said, "spec.chartRef names an object that has it"
    return said, _another_chart(chart.get("chart")) or ("" if said["chart-version"] else "spec.chart.spec.version isn't set")


def _of_argo(source: Mapping[str, Any], spec: Mapping[str, Any], meta: Mapping[str, Any]) -> tuple[dict[str, object], str]:
    said = {
        "release": value_at(source, ("helm", "releaseName")) or meta.get("name"),
        "namespace": value_at(spec, ("destination", "namespace")),
        "chart-version": source.get("targetRevision"),
    }
    if not source.get("chart") and not str(source.get("repoURL")).startswith("oci://"):
        return said, "targetRevision is a revision of a Git repository"
    return said, _another_chart(source.get("chart")) or ("" if said["chart-version"] else "targetRevision isn't set")


def _another_chart(name: object) -> str:
    """Why a version isn't that of the chart slurm."""
    last = str(name or _CHART).rstrip("/").rpartition("/")[2]
    return "" if last == _CHART else f"it is that of the chart {name_of(last)}"


def _of_sources(spec: Mapping[str, Any], kind: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Sources with the values that each has."""
    several = spec.get("sources")
    for raw_source in several if isinstance(several, Sequence) and not isinstance(several, str) else [spec.get("source")]:
        source = mapping(raw_source)
        helm = mapping(source.get("helm"))
        if not helm:
            continue
        _require_whole(helm, kind)
        text = helm.get("values")
        if helm.get("valuesObject") is not None:  # it counts before the text
            yield source, mapping(helm["valuesObject"])
        elif isinstance(text, str):
            try:
                yield source, mapping(safe_yaml.read(text, safe_yaml.HelmLoader))
            except safe_yaml.NotYamlError as wrong:
                raise ValueError(f"helm.values {wrong}") from None


def _require_whole(part: Mapping[str, Any], kind: str) -> None:
    if more := [where for key, where in _ELSEWHERE.items() if part.get(key)]:
        ask = _ASK if kind == "HelmRelease" else _ASK_ARGO
        raise ValueError(f"this {kind} takes values from {' and '.join(more)} too, which aren't in this file: {ask}")
