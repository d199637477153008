"""The chart's values where Flux and Argo CD keep them: in a HelmRelease, an Application or an ApplicationSet. Pure.

Source: helm-controller's ``HelmReleaseSpec``, Argo CD's ``ApplicationSourceHelm``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from slinky_iac import safe_yaml
from slinky_iac.config.paths import value_at
from slinky_iac.config.shown import name_of

_ELSEWHERE: Final = {
    "valuesFrom": "spec.valuesFrom",
    "postRenderers": "spec.postRenderers",
    "valueFiles": "helm.valueFiles",
    "parameters": "helm.parameters",
    "fileParameters": "helm.fileParameters",
}
"""What else decides what such an object installs."""
_ASK: Final = "run `helm get values RELEASE -n NAMESPACE -o yaml` where Helm or Flux installed it"


def values_in(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of the chart: those of a HelmRelease, an Application or an ApplicationSet, or the document itself.

    Raises ValueError, which says what to do, for one that takes values from elsewhere too, and for any other object.
    """
    if not {"apiVersion", "kind"} <= document.keys():
        return document
    kind = str(document["kind"])
    if kind == "HelmRelease":
        spec = _mapping(value_at(document, ("spec",)))
        _require_whole(spec, kind)
        return _mapping(spec.get("values"))
    if kind in ("Application", "ApplicationSet"):
        spec = _mapping(value_at(document, ("spec", "template", "spec") if kind == "ApplicationSet" else ("spec",)))
        found = list(_of_sources(spec, kind))
        if len(found) == 1:
            return found[0]
        raise ValueError(f"this is an {kind} with {len(found)} sources that have values; give the chart's values alone")
    raise ValueError(f"this is an object of Kubernetes ({name_of(kind)}) and no file of the chart's values; {_ASK}")


def _of_sources(spec: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    several = spec.get("sources")
    for source in several if isinstance(several, Sequence) and not isinstance(several, str) else [spec.get("source")]:
        helm = _mapping(_mapping(source).get("helm"))
        if not helm:
            continue
        _require_whole(helm, kind)
        text = helm.get("values")
        if helm.get("valuesObject") is not None:  # it counts before the text
            yield _mapping(helm["valuesObject"])
        elif isinstance(text, str):
            try:
                yield _mapping(safe_yaml.read(text))
            except safe_yaml.NotYamlError as wrong:
                raise ValueError(f"helm.values {wrong}") from None


def _require_whole(part: Mapping[str, Any], kind: str) -> None:
    if more := [where for key, where in _ELSEWHERE.items() if part.get(key)]:
        raise ValueError(f"this {kind} takes values from {' and '.join(more)} too, which aren't in this file; {_ASK}")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
