"""Settings that a release of slurm-operator drops without a word: one check over all specs that a stack renders.

From 1.1.0 on the operator merges what a custom resource says into pods of its own making, and takes what is empty there
for "not given": false, 0, an empty text, at any depth of mappings; not inside lists (``internal/utils/structutils/kube.go``,
``removeEmpty``, 1.1.0 to 1.2.1 and main of August 2026). 1.0 merges what it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec
from slinky_iac.specs.shared import Spec
from slinky_iac.specs.workers import loginset_spec, nodeset_spec

CONSEQUENCES: Final = {
    "securityContext.privileged": ("privileged", "slurmd would run privileged all the same; leave the setting out"),
    "terminationGracePeriodSeconds": (
        "pod.terminationGrace",
        "the pod would have the operator's own period; give 1 or more",
    ),
    "nodeSelector": (
        "pod.nodeSelector",
        "pods would be placed as if it weren't there; give such a label in pod.affinity, as a matchExpressions entry with"
        " operator: Exists",
    ),
}
"""What follows and what to do instead, by the field's place in the spec; and what the setting is called."""


def dropped(config: StackConfig) -> tuple[Finding, ...]:
    """An error for each value that this release would leave out of the pods."""
    if not config.operator_version.drops_empty_values or not config.auth.makes_daemons:
        return ()
    found = [finding for path, spec in _specs(config) for finding in _of(path, spec, config.operator.version)]
    return tuple(dict.fromkeys(found))


def _specs(config: StackConfig) -> Iterator[tuple[str, Spec]]:
    yield "controller", controller_spec(config)
    if config.accounting.enabled:
        yield "accounting", accounting_spec(config)
    yield "restapi", restapi_spec(config)
    for name in config.nodesets:
        yield f"nodesets.{name}", nodeset_spec(config, name, config.nodesets[name])
    for name in config.logins:
        yield f"logins.{name}", loginset_spec(config, name, config.logins[name])


def _of(path: str, spec: Spec, version: str) -> Iterator[Finding]:
    merged = [value for value in spec.values() if isinstance(value, dict) and "image" in value]
    merged.append(spec.get("template", {}).get("spec", {}))
    for part in merged:
        for field, value in empty(part):
            known = next((place for place in CONSEQUENCES if field == place or field.startswith(f"{place}.")), None)
            setting, then = CONSEQUENCES[known] if known else (field, "the pod would have the operator's own value")
            yield at(f"{path}.{setting}").error(
                f"is {_text(value)}, which slurm-operator {version} drops silently, since it treats empty values as"
                f" missing: {then}"
            )


def empty(part: Any, at: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a piece of JSON
    """Places in mappings, mappings in mappings included, that hold an empty value, and that value."""
    for key, value in part.items():
        here = f"{at}.{key}" if at else str(key)
        if isinstance(value, dict) and value:
            yield from empty(value, here)
        elif not value and value is not None:
            yield here, value


def _text(value: Any) -> str:  # noqa: ANN401 - a piece of JSON
    return str(value).lower() if isinstance(value, bool) else str(value) if value == 0 else "empty"
